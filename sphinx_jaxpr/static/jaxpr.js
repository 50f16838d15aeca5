/* Adds to blocks: the uses of a variable, links into folds, copying, all open on paper.
   A block is complete without it; what it looks up in one, it looks up when first wanted. */
(() => {
"use strict";
if (window.sphinxJaxpr) return;
window.sphinxJaxpr = true;

const FIGURE = "figure.jaxpr";
const VARIABLE = `${FIGURE} .jaxpr-var[data-var]`;
const STOP = `${VARIABLE}:not(summary *)`; // a button holds no tab stop at rest

const ON = {}; // event -> handler
const near = (node, selector) => (node instanceof Element ? node.closest(selector) : null);
const variableAt = (node) => near(node, VARIABLE);
const focused = () => variableAt(document.activeElement);
const owner = (node) => near(node, ".jaxpr-eqn");
const figureOf = (node) => node.closest(FIGURE);

// -- what is known of a figure

const states = new WeakMap(); // figure -> its tab stop, its chosen equation, what was looked up
const stateOf = (figure) => {
  if (!states.has(figure)) states.set(figure, {});
  return states.get(figure);
};

/** Its variables in printed order, and those of a binding: looked up when first wanted. */
const allOf = (figure) => (stateOf(figure).all ??= [...figure.querySelectorAll(VARIABLE)]);
const sameAs = (node) => {
  const [figure, name] = [figureOf(node), `[data-var="${node.dataset.var}"]`];
  return (stateOf(figure)[name] ??= [...figure.querySelectorAll(`.jaxpr-var${name}`)]);
};
const partsOf = (node) => {
  const [same, isBinder] = [sameAs(node), (one) => one.matches(".jaxpr-binder")];
  return { binder: same.find(isBinder), uses: same.filter((one) => !isBinder(one)) };
};

// -- folds

/** The closed folds that hide a node; what is in a summary stays in sight. */
function* hiding(node) {
  let fold = node.parentElement?.closest("details");
  for (; fold; fold = fold.parentElement?.closest("details")) {
    if (!fold.open && !fold.querySelector(":scope > summary")?.contains(node)) yield fold;
  }
}
const isHidden = (node) => !hiding(node).next().done;
const unfold = (node) => {
  const folds = [...hiding(node)];
  for (const fold of folds) fold.open = true;
  return folds.length > 0;
};
ON.beforematch = (event) => unfold(event.target);
const scrollTo = (node, block) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block, behavior: still ? "instant" : "auto" });
};

// -- light a binding

let lit = [];
const light = (node) => {
  const next = node ? sameAs(node) : [];
  if (next === lit) return;
  for (const one of lit) one.classList.remove("jaxpr-hit");
  for (const one of next) one.classList.add("jaxpr-hit");
  lit = next;
};

const say = (figure, text) => {
  const status = figure.querySelector(".jaxpr-status");
  if (status) status.textContent = text;
};

/** What binds: a primitive, or the header of a program. */
const origin = (binder) => {
  const equation = owner(binder);
  const name = equation?.dataset.primitive;
  const primitive = equation?.querySelector(".jaxpr-prim");
  const isBefore = (one, other) => one.compareDocumentPosition(other) & 4; // FOLLOWING
  if (equation && (!primitive || isBefore(binder, primitive))) return `bound by ${name}`;
  const words = [...figureOf(binder).querySelectorAll(".jaxpr-kw")];
  const lambda = words.findLast((word) => isBefore(word, binder));
  const header = document.createRange(); // { lambda constants ; inputs. let
  if (lambda) header.setStartAfter(lambda);
  header.setEndBefore(binder);
  const kind = header.toString().includes(";") ? "input" : "constant";
  return equation ? `${kind} of ${name}` : kind;
};

const describe = (node) => {
  const { binder, uses } = partsOf(node);
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
  node.setAttribute("tabindex", "0");
  node.setAttribute("role", "link");
  state.current = node;
};

const goTo = (node) => {
  unfold(node);
  rove(node);
  node.focus({ preventScroll: true });
  scrollTo(node, "nearest");
};

let trail = null; // where following a variable has come to
const follow = (node) => {
  if (trail && (node === trail.from || node === trail.steps[trail.at])) {
    trail.at = (trail.at + 1) % trail.steps.length;
  } else {
    const { binder, uses } = partsOf(node);
    const next = uses.indexOf(node) + 1;
    const steps = [...uses.slice(next), ...uses.slice(0, next)];
    if (binder) steps.unshift(binder);
    trail = { steps, at: steps[0] === node ? 1 % steps.length : 0 };
  }
  trail.from = node;
  goTo(trail.steps[trail.at]);
};

const seek = (all, place, step, wanted = () => true) => {
  for (let at = place + step; at >= 0 && at < all.length; at += step) {
    if (wanted(all[at]) && !isHidden(all[at])) return all[at];
  }
};
/** The tab stop leaves a fold that closes over it, and a summary that the focus leaves. */
const settle = (figure, selector) => {
  const { current } = stateOf(figure);
  if (!current || (current.matches(selector) && !isHidden(current))) return;
  const all = allOf(figure);
  const find = (step) => seek(all, all.indexOf(current), step, (one) => one.matches(STOP));
  rove(find(-1) ?? find(1));
};
ON.toggle = ({ target }) => near(target, FIGURE) && settle(figureOf(target), VARIABLE);
const elsewhere = (node) => (one) => owner(one) !== owner(node);
const MOVES = {
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

const isPlain = (event) => !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
ON.keydown = (event) => {
  const node = variableAt(event.target);
  if (event.key === "Escape") {
    node?.blur();
    light(null);
  }
  if (!node || !isPlain(event)) return;
  if (event.key === "Enter") {
    follow(node);
  } else if (Object.hasOwn(MOVES, event.key)) {
    const all = allOf(figureOf(node));
    const next = MOVES[event.key](all, all.indexOf(node));
    if (next) goTo(next);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
};

ON.focusin = (event) => {
  const node = variableAt(event.target);
  if (!node) return;
  const figure = figureOf(node);
  rove(node);
  stateOf(figure).equation = owner(node);
  light(node);
  say(figure, describe(node));
};
ON.focusout = (event) => {
  const figure = near(event.target, FIGURE);
  if (!figure) return;
  if (!variableAt(event.relatedTarget)) settle(figure, STOP);
  if (figure.contains(event.relatedTarget)) return;
  light(null);
  say(figure, "");
};

// -- mouse and touch: a first tap does what hovering does, a second one follows

ON.pointerover = (event) => {
  if (event.pointerType !== "touch") light(variableAt(event.target) ?? focused());
};
ON.pointerout = (event) => event.relatedTarget ?? light(focused());
let isFirstTap = false;
ON.pointerdown = (event) => {
  isFirstTap = event.pointerType === "touch" && focused() !== variableAt(event.target);
};
ON.click = (event) => {
  if (!isPlain(event)) return;
  const node = variableAt(event.target);
  const button = near(event.target, ".jaxpr-tools button");
  const link = near(event.target, "a[href]");
  if (button) {
    copy(button);
  } else if (link) {
    // No hashchange comes of a link to where one is.
    if (link.href === location.href) setTimeout(reveal);
  } else if (node && getSelection().isCollapsed) {
    event.preventDefault(); // in a summary: follow, don't fold
    if (isFirstTap) {
      rove(node);
      node.focus({ preventScroll: true });
    } else {
      follow(node);
    }
  }
  isFirstTap = false;
};

// -- what an address names

const target = () => {
  try {
    return document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null; // not valid
  }
};
const reveal = () => {
  const node = target();
  const figure = near(node, FIGURE);
  if (!figure) return;
  const opened = unfold(node);
  stateOf(figure).equation = owner(node);
  rove(owner(node)?.querySelector(STOP));
  if (node.tabIndex < 0) node.tabIndex = -1;
  node.focus({ preventScroll: true });
  // Else the browser has gone there itself, or back to where the reader was.
  if (opened) scrollTo(node, "start");
};

// -- copying

const TEXTS = {
  jaxpr: (figure) =>
    [...figure.querySelectorAll(".jaxpr-line")].map((line) => line.textContent).join("\n"),
  call: (figure) => figure.querySelector(".jaxpr-call").textContent,
  link: (figure) => {
    const url = new URL(location.href);
    url.hash = (stateOf(figure).equation ?? figure).id;
    return url.href;
  },
};
const write = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.style.cssText = "position: fixed; top: 0; opacity: 0";
    document.body.append(area);
    area.focus({ preventScroll: true });
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return done;
  }
};
const copy = async (button) => {
  const figure = figureOf(button);
  const what = button.dataset.copy;
  const name = stateOf(figure).equation?.dataset.primitive;
  const thing = what !== "link" ? `the ${what}` : `a link to ${name ?? "this block"}`;
  say(figure, ""); // the same words again are told again
  const done = await write(TEXTS[what](figure));
  say(figure, done ? `Copied ${thing}` : "Could not copy");
};

const make = (tag, attributes, text = "") => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const equip = (figure) => {
  const details = figure.querySelector(":scope > details");
  if (!details || figure.querySelector(":scope > .jaxpr-tools")) return;
  const title = figure.id.replace("jaxpr-", "Copy ");
  const tools = make("div", { class: "jaxpr-tools", role: "group", "aria-label": title });
  for (const [what, needed] of [["jaxpr", ".jaxpr-line"], ["call", ".jaxpr-call"], ["link", "*"]]) {
    if (!figure.querySelector(needed)) continue;
    tools.append(make("button", { type: "button", "data-copy": what }, `Copy ${what}`));
  }
  tools.append(make("span", { class: "jaxpr-status", role: "status" }));
  details.after(tools);
  rove(figure.querySelector(STOP));
};

// -- paper

let closed = [];
addEventListener("beforeprint", () => {
  closed.push(...document.querySelectorAll(`${FIGURE} details:not([open])`));
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
  closed = [];
});

const start = () => {
  document.querySelectorAll(FIGURE).forEach(equip);
  // In the capture phase: themes turn pages with the arrow keys.
  for (const [name, handler] of Object.entries(ON)) document.addEventListener(name, handler, true);
  addEventListener("hashchange", reveal);
  reveal();
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
})();
