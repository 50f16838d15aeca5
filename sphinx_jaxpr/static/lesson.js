/* Adds to lessons: ticks that stay in the reader's browser, counts, cards, all open on paper. */
(() => {
"use strict";
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (tag, name, properties) =>
  Object.assign(document.createElement(tag), { className: `lesson-${name}` }, properties);

// -- what is ticked: keys of items, by lesson

const unsaved = new Map(); // where the browser keeps nothing: until the page is left
const placeOf = (node, lesson) => `sphinx-jaxpr-lesson:1:${node.dataset.project}:${lesson}`;
const load = (place) => {
  if (unsaved.has(place)) return unsaved.get(place);
  try {
    return new Set(JSON.parse(localStorage.getItem(place)));
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
const shown = []; // what to do when a tick has changed
const refresh = () => shown.forEach((show) => show());
const tick = (place, key, isDone) => {
  const done = load(place);
  done[isDone ? "add" : "delete"](key);
  save(place, done);
  refresh();
};

// -- counts: of one lesson, of all of a path

const counter = (parts, after = "") => {
  const made = make("span", "count", after ? { role: "status" } : {});
  shown.push(() => {
    let [done, total] = [0, 0];
    for (const { place, keys } of parts) {
      const ticked = load(place);
      done += keys.filter((key) => ticked.has(key)).length;
      total += keys.length;
    }
    const text = `${done} of ${total}${after}`;
    if (made.textContent !== text) made.textContent = text; // else it is told again
  });
  return made;
};
const foot = (parts) => {
  const button = make("button", "reset", { type: "button", textContent: "Reset" });
  button.onclick = () => {
    for (const { place } of parts) save(place, new Set());
    refresh();
  };
  const made = make("p", "foot");
  made.append(counter(parts, " done"), " ", button);
  return made;
};

// -- checklists, paths

const watched = new Map(); // fold -> what to tick when it opens
const equipItem = (item, place) => {
  const { key, watch: target } = item.dataset;
  const words = item.querySelector("p") ?? item;
  const said = make("span", "said");
  said.append(...words.childNodes);
  if (target) {
    const mark = make("span", "mark", { role: "img" });
    words.append(mark, " ", said);
    shown.push(() => {
      const isDone = load(place).has(key);
      mark.classList.toggle("lesson-done", isDone);
      mark.ariaLabel = isDone ? "done" : "not done yet";
    });
    const fold = document.getElementById(target)?.querySelector(":scope > details");
    if (fold) watched.set(fold, [...(watched.get(fold) ?? []), () => tick(place, key, true)]);
  } else {
    const [label, box] = [make("label", "tick"), make("input", "box", { type: "checkbox" })];
    label.append(box, " ", said);
    words.append(label);
    box.onchange = () => tick(place, key, box.checked);
    shown.push(() => { box.checked = load(place).has(key); });
  }
};
const equip = (list) => {
  const { lesson } = list.dataset;
  const place = placeOf(list, lesson);
  all("[data-key]", list).forEach((item) => equipItem(item, place));
  // A lesson may have several lists.
  const lists = all(".lesson-checklist").filter((one) => one.dataset.lesson === lesson);
  const keys = lists.flatMap((one) => all("[data-key]", one).map((item) => item.dataset.key));
  if (keys.length) list.append(foot([{ place, keys }]));
};
const equipPath = (node) => {
  const parts = Object.entries(JSON.parse(node.dataset.path)).map(([name, keys]) => ({
    name, keys: keys.split(" "), place: placeOf(node, name),
  }));
  const words = node.querySelector(".lesson-place");
  words?.append(", ", counter(parts, " done along the path"));
  for (const step of all("[data-lesson]", node)) {
    const own = parts.filter(({ name }) => name === step.dataset.lesson);
    if (own.length) step.querySelector("p").append(" ", counter(own));
  }
  if (!words) node.append(foot(parts));
};

// -- folds: what a reader opened, what paper needs

let printing = false;
let closed = [];
const before = new Map(); // fold -> whether it was open: those that start open toggle too
const finish = (fold) => watched.get(fold).forEach((done) => done());
const toggled = ({ target: fold }) => {
  if (!watched.has(fold) || before.get(fold) === fold.open) return;
  before.set(fold, fold.open);
  if (fold.open && !printing) finish(fold);
};
// What starts open is seen when it comes into view.
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    if (target.open) finish(target);
    seen.unobserve(target);
  }
});
addEventListener("beforeprint", () => {
  printing = true;
  closed = all("details.lesson-fold:not([open])");
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
  setTimeout(() => { printing = false; });
});

// -- cards: shown by pointing, by the keyboard, by a first tap

let open = null; // what is shown: its term, its link, its card
const hide = () => {
  if (!open) return;
  const { link, card } = open;
  if (card.contains(document.activeElement)) link.focus();
  card.hidePopover();
  open = null;
};
const put = () => {
  if (!open) return;
  const { link, card: { style, offsetWidth, offsetHeight } } = open;
  const { left, top, bottom } = link.getClientRects()[0];
  const above = top - offsetHeight - 4;
  const fits = bottom + offsetHeight + 4 <= innerHeight || above < 0;
  style.top = `${fits ? bottom + 4 : above}px`;
  style.left = `${Math.max(8, Math.min(left, document.body.clientWidth - offsetWidth - 8))}px`;
};
const equipTerm = (term) => {
  const link = term.querySelector("a");
  const card = document.getElementById(`lesson-card-${decodeURIComponent(link.hash.split("#").pop())}`);
  if (!card) return;
  card.popover = "manual";
  // In a label or a summary a click would be one on those.
  card.onclick = (event) => event.target.closest("a") || event.preventDefault();
  link.setAttribute("aria-describedby", card.id);
  let timer, isFirstTap;
  const show = () => {
    if (open?.term === term) return;
    hide();
    term.append(card); // the keyboard goes from a term into its card
    card.showPopover();
    open = { term, link, card };
    put();
  };
  const leave = (isStill) => open?.term === term && !isStill && hide();
  // Not by touch, which leaves as soon as it is there.
  const byMouse = (what, delay) => ({ pointerType }) => {
    if (pointerType === "touch") return;
    clearTimeout(timer);
    timer = setTimeout(what, delay);
  };
  term.onpointerenter = byMouse(show, 150);
  term.onpointerleave = byMouse(() => leave(term.contains(document.activeElement)), 250);
  term.addEventListener("focusin", show);
  term.addEventListener("focusout", ({ relatedTarget: to }) =>
    leave(!to || term.contains(to) || term.matches(":hover")));
  link.onpointerdown = ({ pointerType }) => {
    isFirstTap = pointerType === "touch" && open?.term !== term;
  };
  link.onclick = (event) => {
    if (!isFirstTap) return;
    event.preventDefault();
    isFirstTap = false;
    show();
  };
};

// -- a deferred script finds the page whole

all(".lesson-checklist").forEach(equip);
all("[data-path]").forEach(equipPath);
for (const fold of watched.keys()) {
  before.set(fold, fold.open);
  if (fold.open) seen.observe(fold);
}
document.addEventListener("toggle", toggled, true);
for (const name of ["storage", "pageshow"]) addEventListener(name, refresh);
refresh();
if (!("popover" in HTMLElement.prototype)) return;
all(".lesson-term:has(> a)").forEach(equipTerm);
addEventListener("keydown", ({ key }) => key === "Escape" && hide(), true);
addEventListener("pointerdown", ({ target }) => open?.term.contains(target) || hide(), true);
for (const name of ["scroll", "resize"]) addEventListener(name, put, true);
})();
