/* Adds to lessons: all open on paper.  A page is complete without it. */
(() => {
"use strict";
if (window.sphinxJaxprLesson) return;
window.sphinxJaxprLesson = true;

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const FOLD = "details.lesson-predict, details.lesson-check";

// -- what an address names, and paper

const reveal = () => {
  let node = null;
  try {
    node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return; // not valid
  }
  let opened = false;
  for (let fold = node?.closest(FOLD); fold; fold = fold.parentElement.closest(FOLD)) {
    if (fold === node || fold.open) continue; // a link to a question is none to its answer
    opened = fold.open = true;
  }
  if (opened) node.scrollIntoView();
};

let printing = false;
let closed = [];
addEventListener("beforeprint", () => {
  printing = true;
  closed = all(FOLD).filter((fold) => !fold.open);
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
  closed = [];
  setTimeout(() => { printing = false; });
});

const start = () => {
  addEventListener("hashchange", reveal);
  reveal();
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
})();
