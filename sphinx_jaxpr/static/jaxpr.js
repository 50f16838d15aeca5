/* Adds to blocks, complete without it.  It looks things up when they are first wanted. */
(() => {
"use strict";
if (window.sphinxJaxpr) return;
window.sphinxJaxpr = true;

const FIGURE = "figure.jaxpr";
const VARIABLE = `${FIGURE} .jaxpr-var[data-var]`;
const STOP = `${VARIABLE}:not(summary *)`; // a button holds no tab stop at rest

const ON = {}; // event -> handler
const every = (selector, root = document) => [...root.querySelectorAll(selector)];
const near = (node, selector) => node?.closest?.(selector);
const variableAt = (node) => near(node, VARIABLE);
const focusOn = (node) => node.focus({ preventScroll: true });
const owner = (node) => near(node, ".jaxpr-eqn");
/** The figure around a node, or of a letter in a sentence. */
const figureOf = (node) => node.closest(FIGURE) ?? document.getElementById(node.dataset.block);

const stateOf = (figure) => (figure.sphinxJaxpr ??= {}); // tab stop, equation, lists

/** Nodes by the value of an attribute. */
const group = (nodes, name) => Object.groupBy(nodes, (one) => one.getAttribute(name));
/** A block's variables in printed order, and those of some bindings. */
const allOf = (figure) => (stateOf(figure).all ??= every(VARIABLE, figure));
const sameAs = (node) => {
  const figure = figureOf(node);
  if (!figure) return [];
  const same = (stateOf(figure).same ??= group(allOf(figure), "data-var"));
  return node.dataset.var.split(" ").flatMap((at) => same[at] ?? []);
};
const binding = (node) => {
  const all = sameAs(node);
  const binder = all.find((one) => one.matches(".jaxpr-binder"));
  return [binder, all.filter((one) => one !== binder)];
};

// -- folds

/** The part of a closed fold around a node; a summary stays in sight. */
const hiding = (node) => node.closest("details:not([open]) > :not(summary)");
/** Open the folds around a node; whether one was closed. */
const unfold = (node) => {
  const first = hiding(node);
  for (let part = first; part; part = hiding(node)) part.parentElement.open = true;
  return first;
};
ON.beforematch = (event) => unfold(event.target);
const scrollTo = (node, block) => {
  const { matches: still } = matchMedia("(prefers-reduced-motion: reduce)");
  node.scrollIntoView({ block, behavior: still ? "instant" : "auto" });
};

// -- light what belongs together

/** A line of Python and its equations, or the other way. */
const placeOf = (node) => near(node, "[data-source] [data-line]");
const made = {}; // source -> line -> places
const partners = (place) => {
  const { source } = place.closest("[data-source]").dataset;
  made[source] ??= group(every(`[data-source="${source}"] [data-line]`), "data-line");
  const all = made[source][place.dataset.line];
  return place === all[0] ? all : all.slice(0, 1);
};

const LIGHTS = [
  ["jaxpr-hit", (node) => near(node, `${VARIABLE}, [data-block]`), sameAs],
  ["jaxpr-made", placeOf, partners],
];
const lit = {}; // class -> because of what
/** Light a node, or else what has the focus. */
const light = (node) => {
  for (const [name, find, found] of LIGHTS) {
    const from = find(node) ?? find(document.activeElement);
    if (from === lit[name]) continue;
    for (const node of [lit[name], from]) {
      for (const one of node ? found(node) : []) one.classList.toggle(name, node === from);
    }
    lit[name] = from;
  }
};

const say = (figure, text) => {
  const status = (stateOf(figure).status ??= figure.querySelector(".jaxpr-status"));
  if (status) status.textContent = text;
};

/** What binds: a primitive, or the header of a program. */
const origin = (binder) => {
  const equation = owner(binder);
  const name = equation?.dataset.primitive;
  const primitive = equation?.querySelector(".jaxpr-prim");
  const isOutput = !primitive || binder.compareDocumentPosition(primitive) & 4; // FOLLOWING
  if (equation && isOutput) return `bound by ${name}`;
  const before = document.createRange(); // { lambda constants ; inputs
  before.setStart(equation ?? figureOf(binder), 0);
  before.setEndBefore(binder);
  const kind = before.toString().split("lambda").pop().includes(";") ? "input" : "constant";
  return equation ? `${kind} of ${name}` : `${kind} ${binder.title}`.trim();
};

const describe = (node) => {
  const [binder, uses] = binding(node);
  const used = ["not used", "used once"][uses.length] ?? `used ${uses.length} times`;
  if (!binder) return `${node.textContent}, ${used}`;
  const type = binder.nextElementSibling;
  const shown = type?.matches(".jaxpr-type") ? `: ${type.textContent}` : "";
  return `${node.textContent}${shown}, ${origin(binder)}, ${used}`;
};

// -- one tab stop a block

const rove = (node) => {
  const state = node && stateOf(figureOf(node));
  if (!state || state.current === node) return;
  for (const name of ["tabindex", "role"]) state.current?.removeAttribute(name);
  node.tabIndex = 0;
  node.setAttribute("role", "link");
  state.current = node;
};

const goTo = (node) => {
  unfold(node);
  rove(node);
  focusOn(node);
  scrollTo(node, "nearest");
};

let trail; // where following a variable has come to
const followed = (node) => {
  if (trail && (node === trail.from || node === trail.steps[trail.at])) {
    trail.at = (trail.at + 1) % trail.steps.length;
  } else {
    const [binder, uses] = binding(node);
    const next = uses.indexOf(node) + 1;
    const steps = [binder, ...uses.slice(next), ...uses.slice(0, next)].filter(Boolean);
    trail = { steps, at: steps[0] === node ? 1 % steps.length : 0 };
  }
  trail.from = node;
  return trail.steps[trail.at];
};

const seek = (all, place, step, wanted = () => true) => {
  for (let at = place + step; all[at]; at += step) {
    if (wanted(all[at]) && !hiding(all[at])) return all[at];
  }
};
/** The tab stop leaves a closed fold, and a summary without focus. */
const settle = (figure, selector) => {
  const { current } = stateOf(figure);
  if (!current || (current.matches(selector) && !hiding(current))) return;
  const all = allOf(figure);
  const find = (step) => seek(all, all.indexOf(current), step, (one) => one.matches(STOP));
  rove(find(-1) ?? find(1));
};
ON.toggle = ({ target }) => near(target, FIGURE) && settle(figureOf(target), VARIABLE);
const elsewhere = (node) => (one) => owner(one) !== owner(node);
const MOVES = {
  Enter: (all, at) => followed(all[at]),
  ArrowRight: (all, at) => seek(all, at, 1),
  ArrowLeft: (all, at) => seek(all, at, -1),
  Home: (all) => seek(all, -1, 1),
  End: (all) => seek(all, all.length, -1),
  ArrowDown: (all, at) => seek(all, at, 1, elsewhere(all[at])),
  ArrowUp: (all, at) => {
    const last = seek(all, at, -1, elsewhere(all[at]));
    return last && seek(all, -1, 1, (one) => owner(one) === owner(last));
  },
};

const isPlain = (event) => !["ctrl", "alt", "meta", "shift"].some((key) => event[`${key}Key`]);
ON.keydown = (event) => {
  const node = variableAt(event.target);
  if (event.key === "Escape") {
    if (node ?? placeOf(event.target)) event.target.blur();
    light();
  }
  const move = MOVES[event.key];
  if (!node || !move || !isPlain(event)) return;
  const all = allOf(figureOf(node));
  const next = move(all, all.indexOf(node));
  if (next) goTo(next);
  event.preventDefault();
  event.stopPropagation();
};

ON.focusin = ({ target }) => {
  light(target);
  const node = variableAt(target);
  if (!node) return;
  const figure = figureOf(node);
  rove(node);
  stateOf(figure).equation = owner(node);
  say(figure, describe(node));
};
ON.focusout = (event) => {
  event.relatedTarget ?? light();
  const figure = near(event.target, FIGURE);
  if (!figure) return;
  if (!variableAt(event.relatedTarget)) settle(figure, STOP);
  if (!figure.contains(event.relatedTarget)) say(figure, "");
};

// -- a first tap does what hovering does, a second one follows

ON.pointerover = (event) => {
  if (event.pointerType !== "touch") light(event.target);
};
ON.pointerout = (event) => event.relatedTarget ?? light();
let isFirstTap;
ON.pointerdown = (event) => {
  const tapped = variableAt(event.target) ?? near(event.target, "a");
  isFirstTap = event.pointerType === "touch" && document.activeElement !== tapped;
};
ON.click = (event) => {
  if (!isPlain(event)) return;
  const node = variableAt(event.target);
  const button = near(event.target, "[data-copy]");
  const link = near(event.target, "a[href]");
  if (isFirstTap) light(event.target);
  if (button) {
    copy(button);
  } else if (isFirstTap && near(link, ".jaxpr-source")) {
    event.preventDefault();
  } else if (link) {
    // No hashchange comes of a link to where one is.
    if (link.href === location.href) setTimeout(reveal);
  } else if (node && getSelection().isCollapsed) {
    event.preventDefault(); // don't fold
    if (!isFirstTap) return goTo(followed(node));
    rove(node);
    focusOn(node);
  }
  isFirstTap = false;
};

// -- what an address names

const reveal = () => {
  let node;
  try {
    node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {} // not valid
  const figure = near(node, `${FIGURE}, .jaxpr-meanings`);
  if (!figure) return;
  const opened = unfold(node);
  stateOf(figure).equation = owner(node);
  rove(owner(node)?.querySelector(STOP));
  if (node.tabIndex < 0) node.tabIndex = -1;
  focusOn(node);
  // Else the browser has gone there.
  if (opened) scrollTo(node, "start");
};

// -- copying

const textOf = (node) => every(".jaxpr-line", node).map((one) => one.textContent).join("\n");
/** Lines that are selected, with those that are folded. */
ON.copy = (event) => {
  const selection = getSelection();
  const chosen = selection.rangeCount && selection.getRangeAt(0);
  const code = near(chosen.commonAncestorContainer, ".jaxpr-code");
  const text = code && textOf(chosen.cloneContents());
  if (!text) return;
  event.clipboardData.setData("text/plain", text);
  event.preventDefault();
};
const COPIES = { // what it needs, and its text
  jaxpr: [".jaxpr-line", textOf],
  call: [".jaxpr-call", (figure) => figure.querySelector(".jaxpr-call").textContent],
  link: ["*", (figure) => new URL(`#${(stateOf(figure).equation ?? figure).id}`, location).href],
};
const write = async (text, from) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    focusOn(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focusOn(from);
    return done;
  }
};
const copy = async (button) => {
  const figure = figureOf(button);
  const what = button.dataset.copy;
  const name = stateOf(figure).equation?.dataset.primitive ?? "this block";
  const thing = what === "link" ? `a link to ${name}` : `the ${what}`;
  say(figure, ""); // so that the same words are read again
  const done = await write(COPIES[what][1](figure), button);
  say(figure, done ? `Copied ${thing}` : "Could not copy");
};

const equip = (figure) => {
  const details = figure.querySelector(":scope > details");
  if (!details || figure.querySelector(":scope > .jaxpr-tools")) return;
  const buttons = Object.keys(COPIES)
    .filter((what) => figure.querySelector(COPIES[what][0]))
    .map((what) => `<button type="button" data-copy="${what}">Copy ${what}</button>`);
  const tools = `${buttons.join("")}<span class="jaxpr-status" role="status"></span>`;
  details.insertAdjacentHTML("afterend", `<div class="jaxpr-tools" role="group">${tools}</div>`);
  details.nextSibling.ariaLabel = `Copy ${figure.id.slice(6)}`;
  rove(figure.querySelector(STOP));
};

// -- paper

const closed = [];
addEventListener("beforeprint", () => {
  closed.push(...every(`:is(${FIGURE} details, .jaxpr-meanings):not([open])`));
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed.splice(0)) fold.open = false;
});

const start = () => {
  every(FIGURE).forEach(equip);
  // In the capture phase: themes turn pages with the arrow keys.
  for (const name in ON) document.addEventListener(name, ON[name], true);
  addEventListener("hashchange", reveal);
  reveal();
};
// After others have put blocks into folds.
if (document.readyState === "complete") start();
else addEventListener("DOMContentLoaded", start);
})();
