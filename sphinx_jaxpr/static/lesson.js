/* Adds to lessons: ticks that stay in the reader's browser, counts, all open on paper.
   A page is complete without it. */
(() => {
"use strict";
if (window.sphinxJaxprLesson) return;
window.sphinxJaxprLesson = true;

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, name, text = "", attributes = {}) => {
  const made = document.createElement(tag);
  made.className = `lesson-${name}`;
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const FOLD = "details.lesson-predict, details.lesson-check";

// -- what is ticked: the keys of items, for each lesson of a project

const unsaved = new Map(); // where the browser keeps nothing: until the page is left
const placeOf = (project, lesson) => `sphinx-jaxpr-lesson:1:${project}:${lesson}`;
const load = (place) => {
  if (unsaved.has(place)) return unsaved.get(place);
  try {
    const found = JSON.parse(localStorage.getItem(place));
    return new Set(Array.isArray(found) ? found : []);
  } catch {
    return new Set();
  }
};
const save = (place, done) => {
  try {
    if (done.size) localStorage.setItem(place, JSON.stringify([...done]));
    else localStorage.removeItem(place);
    unsaved.delete(place);
  } catch {
    unsaved.set(place, done);
  }
};
const tick = (place, key, isDone = true) => {
  const done = load(place);
  if (done.has(key) === isDone) return;
  if (isDone) done.add(key);
  else done.delete(key);
  save(place, done);
  refresh();
};

// -- checklists

const listed = (keys, place) => keys.filter((key) => load(place).has(key)).length;
const say = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};
const shown = []; // what to do when a tick has changed
const refresh = () => shown.forEach((show) => show());

const foot = (count, reset) => {
  const made = make("p", "foot");
  const button = make("button", "reset", "Reset", { type: "button" });
  button.addEventListener("click", reset);
  made.append(make("span", "count", "", { role: "status" }), " ", button);
  shown.push(() => say(made.firstChild, count()));
  return made;
};

const watched = new Map(); // fold -> what to tick when it opens
const watch = (id, done) => {
  const node = document.getElementById(id);
  const fold = node?.matches("details") ? node : node?.querySelector(":scope > details");
  if (fold) watched.set(fold, [...(watched.get(fold) ?? []), done]);
};

const equipItem = (item, place) => {
  const { key, watch: target } = item.dataset;
  const words = item.querySelector(":scope > p") ?? item;
  const said = make("span", "said");
  said.append(...words.childNodes);
  if (target) {
    const mark = make("span", "mark", "", { role: "img" });
    words.append(mark, " ", said);
    shown.push(() => {
      const isDone = load(place).has(key);
      mark.classList.toggle("lesson-done", isDone);
      mark.setAttribute("aria-label", isDone ? "done" : "not done yet");
    });
    watch(target, () => tick(place, key));
    return;
  }
  const label = make("label", "tick");
  const box = make("input", "box", "", { type: "checkbox" });
  label.append(box, " ", said);
  words.append(label);
  box.addEventListener("change", () => tick(place, key, box.checked));
  shown.push(() => { box.checked = load(place).has(key); });
};
const equip = (list) => {
  const place = placeOf(list.dataset.project, list.dataset.lesson);
  const items = all("[data-key]", list);
  for (const item of items) equipItem(item, place);
  // Of the whole lesson, which may have several lists.
  const lists = all(".lesson-checklist").filter((one) => one.dataset.lesson === list.dataset.lesson);
  const keys = lists.flatMap((one) => all("[data-key]", one).map((item) => item.dataset.key));
  const reset = () => {
    save(place, new Set());
    refresh();
  };
  if (items.length) list.append(foot(() => `${listed(keys, place)} of ${keys.length} done`, reset));
};

// -- folds: what a reader opened, what paper needs, what an address names

let printing = false;
let closed = [];
const before = new Map(); // fold -> whether it was open: folds that start open say so too
const opened = ({ target: fold }) => {
  if (!watched.has(fold) || before.get(fold) === fold.open) return;
  before.set(fold, fold.open);
  if (fold.open && !printing) watched.get(fold).forEach((done) => done());
};
/** What starts open is seen when it comes into view. */
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    if (target.open) watched.get(target).forEach((done) => done());
    seen.unobserve(target);
  }
});
addEventListener("beforeprint", () => {
  printing = true;
  closed = all(FOLD).filter((fold) => !fold.open);
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
  setTimeout(() => { printing = false; });
});
const reveal = () => {
  let node = null;
  try {
    node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return; // not valid
  }
  let moved = false;
  // A link to a question is none to its answer.
  for (let fold = node?.parentElement.closest(FOLD); fold; fold = fold.parentElement.closest(FOLD)) {
    if (!fold.open) moved = fold.open = true;
  }
  if (moved) node.scrollIntoView();
};

const start = () => {
  all(".lesson-checklist").forEach(equip);
  for (const fold of watched.keys()) {
    before.set(fold, fold.open);
    if (fold.open) seen.observe(fold);
  }
  document.addEventListener("toggle", opened, true);
  addEventListener("hashchange", reveal);
  for (const name of ["storage", "pageshow"]) addEventListener(name, refresh);
  refresh();
  reveal();
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
})();
