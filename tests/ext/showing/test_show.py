"""``jaxpr-show`` and ``show`` in real builds: figures, links, findings, what is written again."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bs4 import Tag
from sphinx.util.inventory import InventoryFile

from tests.links import broken
from tests.support import Build, Project

pytestmark = pytest.mark.once

ARGS = "x=f32[2,3], w=f32[3,4], b=f32[4]"
CONF = """
suppress_warnings = ["toc.not_included", "epub"]
copyright = "2026"
version = release = "1"
"""
INDEX = f"""
# Index

A link to {{jaxpr:ref}}`on B <dense.grad>`, to {{jaxpr:eqn}}`an equation <dense.vmap[tanh]>`, to
{{any}}`dense.grad`, and [in Markdown](#dense.vmap).
{{jaxpr:claim}}`Five <len(dense.vmap) == 5>`.

```{{jaxpr-transform}} layers:dense
:name: dense
:args: {ARGS}
:transforms: grad(argnums=w), vmap, jit as never
:show: none
:caption: Nothing to caption.
```

```{{jaxpr-glossary}}
:scope: page
```
"""
SHOWS = """
# B

```{jaxpr-show} dense.grad
:caption: The *gradient*.
:open: none
:elide: forward[tanh]
:class: wide

[mul][0]
    It has {jaxpr:val}`len(dense.grad)` equations.
```

```{jaxpr-show} dense.vmap
:layout: compare
:source:

[tanh]
    In the variant.

dense[tanh]
    At the base.
```

```{jaxpr-show} dense.grad
```

{jaxpr:ref}`here <dense.grad>` and {jaxpr:eqn}`there <dense[tanh]>`
"""
#: The same in reStructuredText.
SHOWS_RST = """
C
=

.. jaxpr-show:: dense.grad
   :caption: The *gradient*.
   :open: none
   :elide: forward[tanh]
   :class: wide

   [mul][0]
      It has :jaxpr:val:`len(dense.grad)` equations.

.. jaxpr-show:: dense.vmap
   :layout: compare
   :source:

   [tanh]
      In the variant.

   dense[tanh]
      At the base.

.. jaxpr-show:: dense.grad

:jaxpr:ref:`here <dense.grad>` and :jaxpr:eqn:`there <dense[tanh]>`
"""
TREE = """
```{toctree}
b
c
list
```
"""
LIST = """
# List

```{jaxpr-glossary}
```
"""


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What conf.py says: projects of this module share what was traced."""
    return f"{CONF}jaxpr_cache_dir = {str(tmp_path_factory.mktemp('cache'))!r}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, conf: str) -> Project:
    files = {
        "docs/index.md": INDEX + TREE,
        "docs/b.md": SHOWS,
        "docs/c.rst": SHOWS_RST,
        "docs/list.md": LIST,
    }
    return Project(tmp_path_factory.mktemp("show"), files, conf)


@pytest.fixture(scope="module")
def site(project: Project) -> Build:
    build = project.build("html", "-W", "-n")
    assert build.code == 0, build.stderr
    return build


def figures(build: Build, page: str) -> list[Tag]:
    return list(build.page(page).select("figure.jaxpr"))


def href(build: Build, page: str, words: str) -> str:
    """Where the link with these words leads."""
    (link,) = [a for a in build.page(page).select("a.reference") if a.get_text() == words]
    return str(link["href"])


def test_blocks_stand_where_they_are_shown(site: Build) -> None:
    assert figures(site, "index") == []
    assert [str(figure["id"]) for figure in figures(site, "b")] == [
        "jaxpr-dense.grad", "jaxpr-dense", "jaxpr-dense.vmap", "jaxpr-dense.grad-2",
    ]  # fmt: skip
    first, _base, _vmap, last = figures(site, "b")
    assert "wide" in first["class"] and "wide" not in last["class"]
    assert first.select_one(".jaxpr-caption em") is not None
    assert last.select_one(".jaxpr-caption") is None
    is_open = [
        figure.details is not None and figure.details.has_attr("open") for figure in (first, last)
    ]
    assert is_open == [False, True]
    assert site.texts("b")["jaxpr-dense.grad"] == site.texts("b")["jaxpr-dense.grad-2"] != ""
    page = site.page("b")
    assert [note["id"] for note in page.select("ol.jaxpr-notes > li")] == [
        "jaxpr-dense.grad-note-1", "jaxpr-dense-note-1", "jaxpr-dense.vmap-note-1",
    ]  # fmt: skip
    assert re.search(r"It has \d+ equations\.", page.get_text())
    assert page.select_one(".jaxpr-compare > #jaxpr-dense") is not None
    assert len(page.select("div[data-source]")) == 1


def test_both_markups_show_the_same(site: Build) -> None:
    articles = [site.page(page).select_one("div.body section") for page in ("b", "c")]
    texts = [str(article).partition("</h1>")[2] for article in articles]
    assert texts[0] == texts[1]


def test_links_lead_to_the_nearest_place(site: Build) -> None:
    assert href(site, "index", "on B") == "b.html#jaxpr-dense.grad"
    assert href(site, "index", "an equation").startswith("b.html#jaxpr-dense.vmap-eqn-")
    assert href(site, "index", "dense.grad") == "b.html#jaxpr-dense.grad"
    assert href(site, "index", "in Markdown") == "b.html#jaxpr-dense.vmap"
    assert href(site, "c", "here") == "#jaxpr-dense.grad"
    assert broken(site.out) == []
    inventory = InventoryFile.loads((site.out / "objects.inv").read_bytes(), uri="")
    blocks = inventory.data["jaxpr:block"]
    assert {name: blocks[name].uri for name in blocks} == {
        name: f"b.html#jaxpr-{name}" for name in ("dense", "dense.grad", "dense.vmap")
    }


def test_lists_have_what_is_shown(site: Build) -> None:
    """A list of the project has every block once; one of a page, those that the page shows."""
    assert "No primitives on this page." in site.page("index").get_text()
    listed = {a.get_text(): a["href"] for a in site.page("list").select("dl.jaxpr-glossary a")}
    names = ("dense", "dense.grad", "dense.vmap")
    assert listed == {name: f"b.html#jaxpr-{name}" for name in names}
    index = site.page("jaxpr-primitives")
    links = {str(a["href"]) for a in index.select("table a[href*='#jaxpr-dense']")}
    assert links == {"b.html#jaxpr-dense", "b.html#jaxpr-dense.grad", "b.html#jaxpr-dense.vmap"}


@pytest.mark.parametrize("builder", ["singlehtml", "latex", "texinfo"])
def test_one_document_has_every_id_once(project: Project, site: Build, builder: str) -> None:
    build = project.build(builder, "-n", "-d", str(site.out / ".doctrees"))
    assert build.code == 0 and build.warnings == []
    if builder == "singlehtml":
        assert broken(build.out) == []
        assert len(figures(build, "index")) == 8
        return
    (file,) = [path for path in build.out.iterdir() if path.suffix in (".tex", ".texi")]
    labels = re.findall(
        r"\\label\{\\detokenize\{(.*?)\}\}|@anchor\{(.*?)\}", file.read_text("utf-8")
    )
    names = ["".join(pair) for pair in labels]
    assert len(names) == len({*names}) and sum("jaxpr-dense" in name for name in names) >= 8


def test_messages_of_a_page_are_translated(project: Project) -> None:
    build = project.build("gettext")
    texts = (build.out / "b.pot").read_text("utf-8")
    assert 'msgid "The *gradient*."' in texts and 'msgid "At the base."' in texts


# --- findings

WRONG = f"""
# Wrong

```{{jaxpr-transform}} layers:dense
:name: f
:args: {ARGS}
:transforms: vmap
:show: vmap
```

```{{jaxpr-transform}} layers:dense
:name: old
:args: {ARGS}
:transforms: vmap, jit as twin
:base: hide
```

```{{jaxpr-transform}} layers:dense
:name: failed
:args: x=f32[2,3], w=f32[5,4], b=f32[4]
:show: none
```

```{{jaxpr-show}} failed
```

```{{jaxpr-show}} f.vamp
:opne: all
:caption: Kept.
```

```{{jaxpr-show}} g

[tanh]
    Kept, too.
```

```{{jaxpr-show}} f.vmap[tanh]
:open: jit
```

```{{jaxpr-show}}
```

```{{jaxpr-show}} f.vmap
:elide: tanh

[tahn]
    Nothing there.
```

````{{jaxpr-when}} jax >= "0.1"
```{{jaxpr-show}} f.vmap
```
````

````{{only}} latex
```{{jaxpr-show}} f.twin
```
````

{{jaxpr:ref}}`f` {{jaxpr:ref}}`old`
"""


def test_findings(tmp_path: Path, conf: str) -> None:
    build = Project(tmp_path, {"docs/index.md": WRONG}, conf).build("html")
    kinds = re.findall(r"index\.md:(\d+): WARNING: (.*) \[(jaxpr\.\w+)\]", build.stderr)
    due = [
        (17, "failed: TypeError", "jaxpr.trace"),
        (27, "unknown option 'opne', did you mean 'open'?", "jaxpr.option"),
        (26, "jaxpr-show 'f.vamp': `f` has no variant or attribute `vamp`", "jaxpr.path"),
        (31, "jaxpr-show 'g': there is no block `g`", "jaxpr.path"),
        (38, "open: 'jit' is not a label here", "jaxpr.option"),
        (37, "jaxpr-show 'f.vmap[tanh]': expected the name of a block", "jaxpr.path"),
        (41, "the block is missing", "jaxpr.option"),
        (45, "elide: unknown word 'tanh'", "jaxpr.option"),
        (47, "note at '[tahn]': `f.vmap` has no equation `tahn`", "jaxpr.path"),
        (52, "a block cannot be used in jaxpr-when", "jaxpr.option"),
        (61, "block 'f': `f` is hidden by show: vmap, so", "jaxpr.path"),
        (61, "block 'old': `old` is hidden by base: hide, so", "jaxpr.path"),
    ]
    assert len(kinds) == len(due)
    for (line, message, kind), (at, says, subtype) in zip(kinds, due, strict=True):
        assert (int(line), kind) == (at, subtype) and message.startswith(says)
    page = build.page("index")
    assert page.get_text().count("Kept.") == page.get_text().count("Kept, too.") == 1
    wrong = [figure["id"] for figure in page.select("figure.jaxpr-error")]
    assert wrong == ["jaxpr-failed", "jaxpr-f.vamp", "jaxpr-g", "jaxpr-block", "jaxpr-block-2"]


def test_a_block_has_one_row_and_one_file(tmp_path: Path, conf: str) -> None:
    """The check and the lock have each block once; ``base`` is a hint."""
    old = INDEX.replace(":show: none", ":base: hide")
    project = Project(tmp_path, {"docs/index.md": old, "docs/b.md": SHOWS}, conf)
    check = project.build("jaxpr-check", "-W")
    assert check.code == 0, check.stderr
    data = json.loads((check.out / "output.json").read_text("utf-8"))
    assert sorted(data["blocks"]) == [
        "b#jaxpr-dense", "index#jaxpr-dense.grad", "index#jaxpr-dense.never",
        "index#jaxpr-dense.vmap",
    ]  # fmt: skip
    assert ".all[mul][0]" not in data["blocks"]["index#jaxpr-dense.grad"]["not_mentioned"]
    assert data["pages"]["b"]["note"] == {"true": 3}
    (hint,) = data["hints"]
    assert (hint["source"], hint["line"]) == ("index.md", 11)
    assert hint["message"].endswith("write :show: grad, vmap, never")


def test_the_lock_is_enough(tmp_path: Path, conf: str) -> None:
    project = Project(tmp_path, {"docs/index.md": INDEX, "docs/b.md": SHOWS}, conf)
    lock = project.build("jaxpr-lock")
    assert lock.code == 0, lock.stderr
    files = {file.stem for file in (project.docs / "_jaxprs").rglob("*.json")}
    assert files == {"dense", "dense.grad", "dense.never", "dense.vmap"}
    locked = project.build("text", "-W", "-D", "jaxpr_mode=locked")
    assert (locked.code, locked.traced) == (0, 0), locked.stderr
    assert (locked.out / "b.txt").read_text("utf-8").count("{ lambda ;") == 4


# --- builds after edits


def written(build: Build) -> set[str]:
    return {*re.findall(r"writing output\.\.\. \[ *\d+%\] (\S+)", build.stdout)}


def test_pages_are_written_again(tmp_path: Path, conf: str) -> None:
    one = (
        f"# One\n\n```{{jaxpr-transform}} layers:dense\n:name: f\n:args: {ARGS}\n:show: none\n```\n"
    )
    link = "# Link\n\n{jaxpr:ref}`words <f>`\n"
    show = "# Two\n\n```{jaxpr-show} f\n```\n"
    files = {
        "docs/one.md": one,
        "docs/two.md": show,
        "docs/link.md": link,
        "docs/mark.md": "# Mark\n\n[words](#f)\n",
        "docs/index.md": "# Index\n\n```{toctree}\none\ntwo\nlink\nmark\n```\n",
    }
    project = Project(tmp_path, files, conf)

    def after(name: str, text: str) -> tuple[Build, set[str], list[str]]:
        """What a build writes after an edit, and where the two links lead then."""
        project.write(f"docs/{name}.md", text)
        build = project.build("html")
        links = [
            build.page(page).select_one("a.reference[href*=jaxpr]") for page in ("link", "mark")
        ]
        return build, written(build) - {"index"}, [str(link and link["href"]) for link in links]

    build, pages, links = after("one", one)
    assert (pages, links) == ({"one", "two", "link", "mark"}, ["two.html#jaxpr-f"] * 2)
    # The declaration changes what another page shows; and shows it nearer.
    build, pages, links = after("one", one.replace("f32[4]", "f32[2,4]").replace("none", "base"))
    assert (pages, links) == ({"one", "two", "link", "mark"}, ["one.html#jaxpr-f"] * 2)
    assert (
        "f32[2,4] c:" in build.texts("two")["jaxpr-f"]
        or "c:f32[2,4]" in build.texts("two")["jaxpr-f"]
    )
    # All places are gone: each link, and the page that would show it, says so.
    build, pages, links = after("one", "# One\n")
    assert (pages, links) == ({"one", "two", "link", "mark"}, ["None"] * 2)
    assert build.stderr.count("there is no block `f`") == 2  # the link, the figure


# --- generated pages

LABELS = ("", "grad", "vmap")
CALLS = {"": "dense", "grad": "jax.grad(", "vmap": "jax.vmap("}


@dataclass
class Generated:
    """Three pages of one name, and what must come of them."""

    name: str
    random: random.Random
    texts: dict[str, list[str]] = field(default_factory=dict)
    #: For each page the labels of its figures, in order.
    figures: dict[str, list[str]] = field(default_factory=dict)
    links: list[tuple[str, str, str]] = field(default_factory=list)  # page, words, label
    declaring: str = ""

    def path(self, label: str) -> str:
        return f"{self.name}.{label}" if label else self.name

    def make(self) -> None:
        pages = [f"{self.name}{letter}" for letter in "abc"]
        self.declaring = self.random.choice(pages)
        for page in pages:
            self.texts[page], self.figures[page] = [f"# {page}"], []
            parts = ["show"] * self.random.randrange(4)
            if page == self.declaring:
                parts.insert(self.random.randrange(len(parts) + 1), "declare")
            for part in parts:
                getattr(self, part)(page)
        for page in pages:
            for label in LABELS:
                self.link(page, label)

    def declare(self, page: str) -> None:
        shown = self.random.choice([["none"], [""], ["grad"], ["grad", "vmap"], list(LABELS)])
        option = ", ".join(label or "base" for label in shown)
        self.directive(
            page,
            "jaxpr-transform} layers:dense",
            f":name: {self.name}",
            f":args: {ARGS}",
            ":transforms: grad(argnums=w), vmap",
            f":show: {option}",
        )
        self.figures[page] += [label for label in LABELS if label in shown]

    def show(self, page: str) -> None:
        label = self.random.choice(LABELS)
        compare = self.random.random() < 0.4
        options = [":layout: compare"] * compare + [":source:"] * (self.random.random() < 0.3)
        note = ["", "[tanh]", "    Some words."] * (self.random.random() < 0.4)
        self.directive(page, f"jaxpr-show}} {self.path(label)}", *options, *note)
        self.figures[page] += ["", label] if compare and label else [label]

    def directive(self, page: str, first: str, *lines: str) -> None:
        self.texts[page].append("\n".join([f"```{{{first}", *lines, "```"]))

    def link(self, page: str, label: str) -> None:
        words = f"{page} to {label or 'base'}"
        path, where = self.path(label), self.random.randrange(len(self.texts[page]))
        self.texts[page].insert(where + 1, f"{{jaxpr:ref}}`{words} <{path}>`")
        self.links.append((page, words, label))
        if any(label in shown for shown in self.figures.values()):
            self.texts[page].append(f"[{words} in Markdown](#{path})")
            self.links.append((page, f"{words} in Markdown", label))

    def target(self, page: str, label: str) -> str:
        """The page that a link leads to; ``""`` where the block is shown nowhere."""
        candidates = [page, self.declaring, *sorted(self.figures)]
        return next((each for each in candidates if label in self.figures[each]), "")


def check_generated(folder: Path, conf: str, seed: int, groups: int) -> None:
    made = [Generated(f"g{seed}x{n}", random.Random(f"{seed} {n}")) for n in range(groups)]
    for group in made:
        group.make()
    files = {
        f"docs/{page}.md": "\n\n".join(parts) + "\n"
        for group in made
        for page, parts in group.texts.items()
    }
    project = Project(folder, {**files, "docs/index.md": LIST}, conf)
    build = project.build("html", "-n")
    assert build.code == 0 and broken(build.out) == []
    nowhere = 0
    for group in made:
        for page in group.texts:
            shown = figures(build, page)
            assert len(shown) == len(group.figures[page])
            first: dict[str, str] = {}
            for figure, label in zip(shown, group.figures[page], strict=True):
                assert figure.summary is not None
                assert figure.summary.get_text().strip().startswith(CALLS[label])
                first.setdefault(label, str(figure["id"]))
            assert first == {label: f"jaxpr-{group.path(label)}" for label in first}
        for page, words, label in group.links:
            target = group.target(page, label)
            nowhere += not target
            if target:
                file = "" if target == page else f"{target}.html"
                assert href(build, page, words) == f"{file}#jaxpr-{group.path(label)}"
    assert (
        len(build.warnings) == build.stderr.count("so there is nothing to link to") == nowhere > 0
    )


def test_generated_pages(tmp_path: Path, conf: str) -> None:
    check_generated(tmp_path, conf, 1, 4)


@pytest.mark.parametrize("seed", range(2, 8))
def test_many_generated_pages(tmp_path: Path, conf: str, seed: int) -> None:
    check_generated(tmp_path, conf, seed, 30)
