"""``jaxpr``: pasted text as a figure, pointed at, in every format; nothing is traced."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tests.ext.cases import warned
from tests.support import Build, Project

pytestmark = pytest.mark.once

DATA = Path(__file__).parents[2] / "program/data"

#: As JAX 0.4.38 printed it: a shared program, and others inside parameters.
OLD = re.sub(" +$", "", (DATA / "jax-0.4.38.txt").read_text("utf-8").strip(), flags=re.MULTILINE)
#: The style of 2019: no types, other columns.
OLDEST = (DATA / "2019.txt").read_text("utf-8").strip("\n")
SMALL = "{ lambda ; a:f32[8]. let b:f32[8] = sin a; c:f32[8] = mul 2.0:f32[] b in (c,) }"
HOSTILE = (
    "{ lambda ; a:f32[8]. let b:f32[8] = <b>&sin[name=</pre><script>alert(1)</script>] a in (b,) }"
)


def body(text: str, indent: str = "") -> str:
    return textwrap.indent(text, indent)


MARKDOWN = f"""# Old ones

```{{jaxpr}}
:name: old
:caption: As *JAX* printed it; {{jaxpr:eqn}}`the scan <old[scan]>`.
:version: JAX 0.4.38
:open: all
:class: wide

{OLD}
```

```{{jaxpr}}
:open: none
{OLDEST}
```

```{{jaxpr}}
{HOSTILE}
```

There are {{jaxpr:val}}`len(old)` equations; {{jaxpr:claim}}`many <len(old) > 1>`,
{{jaxpr:claim}}`few <len(small) == 1>`, {{jaxpr:prim}}`scan`, {{jaxpr:ref}}`small`,
{{jaxpr:val}}`old[scan].jaxpr[pjit][0].params[name]`, {{jaxpr:val}}`small[sin].phase`.
"""

RESTRUCTURED = f"""Small
=====

.. jaxpr::
   :name: small
   :caption: As *it* is.
   :version: some JAX

{body(SMALL, "   ")}

.. jaxpr:: {SMALL}
"""

FILES = {
    "docs/index.md": MARKDOWN + "\n```{toctree}\nsmall\n```\n",
    "docs/small.rst": RESTRUCTURED,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("pasted"), FILES)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    return project.build("html", "-n", "-j", "auto")


def test_the_lines_are_the_text(built: Build) -> None:
    assert built.texts("index") == {
        "jaxpr-old": OLD,
        "jaxpr-pasted": OLDEST,
        "jaxpr-pasted-2": HOSTILE,
    }
    assert built.texts("small") == {"jaxpr-small": SMALL, "jaxpr-pasted": SMALL}
    assert built.traced == 0
    assert "<script>alert" not in (built.out / "index.html").read_text("utf-8")


def test_it_is_the_same_figure(built: Build) -> None:
    page = built.page("index")
    old = page.find(id="jaxpr-old")
    assert old["class"] == ["jaxpr", "wide"]
    assert old.details.has_attr("open")
    assert not page.find(id="jaxpr-pasted").details.has_attr("open")
    assert old.summary.get_text(" ", strip=True).startswith("Pasted jaxpr 8 equations")
    footer = [about.get_text() for about in old.select("figcaption .jaxpr-about")]
    assert footer == ["pasted, not checked", "JAX 0.4.38"]
    assert old.select_one("figcaption em").get_text() == "JAX"
    assert old.select_one(".jaxpr-call") is None  # there is none to copy
    scan = old.find(id="jaxpr-old-eqn-2")
    assert scan["data-primitive"] == "scan"
    assert not scan.has_attr("data-phase") and not scan.has_attr("data-change")
    assert old.find(id="jaxpr-old-eqn-2-0-0")["data-primitive"] == "pjit"
    assert old.find(id="jaxpr-old-let-0-eqn-0")["data-primitive"] == "mul"
    assert old.select("details.jaxpr-body")
    uses = old.select(".jaxpr-binder[data-var]")
    assert len({use["data-var"] for use in uses}) == len(uses) > 10
    assert old.select_one('a.jaxpr-prim[href="#jaxpr-old-prim-scan"]')
    assert page.find(id="jaxpr-old-prim-scan")  # below the figure, once a page


def test_paths_values_and_claims(built: Build) -> None:
    page = built.page("index")
    texts = page.select_one("section > p:last-of-type").get_text()
    assert "There are 8 equations" in " ".join(texts.split())
    assert page.select_one('figcaption a[href="#jaxpr-old-eqn-2"]').get_text() == "the scan"
    assert page.select_one('p > a[href="small.html#jaxpr-small"]')
    assert "half" in [value.get_text() for value in page.select(".jaxpr-value")]
    assert {(one.kind, one.file.rpartition("/")[2]) for one in warned(built)} == {
        ("claim", "index.md"),
        ("path", "index.md"),
    }
    claim, phase = sorted(warned(built), key=lambda one: one.kind)
    # On no JAX: the text is what it is.
    assert claim.text.startswith("claim 'few' is false: `len(small)` is 2")
    assert "its phase is unknown" in phase.text
    for found in (claim, phase):
        line = MARKDOWN.splitlines()[found.line - 1]
        assert "len(small)" in line or "phase" in line


def test_both_parsers_give_one_figure(tmp_path: Path) -> None:
    options = ":name: old\n:caption: As *it* was.\n:version: JAX 0.4.38\n"
    files = {
        "docs/index.md": f"# P\n\n```{{jaxpr}}\n{options}\n{OLD}\n```\n",
        "docs/other.rst": f"P\n=\n\n.. jaxpr::\n{body(options, '   ')}\n{body(OLD, '   ')}\n",
    }
    pages = []
    for name, text in files.items():
        project = Project(tmp_path / name.replace("/", "-"), {name: text})
        project.write("docs/conf.py", f"extensions = ['myst_parser', 'sphinx_jaxpr']\n"
                      f"root_doc = {Path(name).stem!r}\n")  # fmt: skip
        build = project.build("html", "-W", "-n")
        assert (build.code, build.stderr) == (0, "")
        page = build.page(Path(name).stem)
        pages.append(str(page.select_one("figure.jaxpr")))
        assert page.select('script[src*="jaxpr.js"]')
        assert page.select('link[href*="jaxpr.css"]')
        assert (build.out / "_static/jaxpr.js").exists()
    assert pages[0] == pages[1]


MISTAKES = """# P

```{jaxpr}
:naem: x
:open: base
:name: while
{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
```

```{jaxpr} of_dense
{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
```

```{jaxpr}
:caption: Empty.
```

```{jaxpr}

print("no jaxpr")
```

```{jaxpr}
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    ...
    c:f32[] is what b
  in (b,) }
```

```{jaxpr}
{ lambda ; a:f32[]. let
    b:f32[] = sin a
```

```{jaxpr}
{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }

{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
```

```{jaxpr}
{ lambda a. let b = sin a in (b,) }
```
"""


def test_mistakes_are_told_at_their_lines(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": MISTAKES})
    build = project.build()
    again = project.build()
    assert again.stderr == build.stderr  # told by every build
    lines = MISTAKES.splitlines()
    found = [(lines[one.line - 1], one.kind, one.text) for one in warned(build)]
    assert [(line, kind) for line, kind, _ in found] == [
        (":naem: x", "option"),
        (":name: while", "option"),
        (":open: base", "option"),
        ("```{jaxpr} of_dense", "option"),
        ("```{jaxpr}", "option"),
        ('print("no jaxpr")', "option"),
        ("    c:f32[] is what b", "option"),
        ("    b:f32[] = sin a", "option"),
        ("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }", "option"),
        ("{ lambda a. let b = sin a in (b,) }", "option"),
    ]
    for (_, _, text), says in zip(
        found,
        [
            "unknown option 'naem', did you mean 'name'? (known: caption",
            "name 'while' is a reserved word, try 'while_'",
            "open: 'base' is not one of auto, all, none",
            "'of_dense' precedes the jaxpr",
            "the body is empty",
            "expected a jaxpr, which begins like `{ lambda ; a:f32[8]. let`",
            "'c:f32[] is what b' cannot be read as an equation",
            "the end is missing: `in (...) }`",
            "each jaxpr needs its own directive",
            "no jaxpr begins at '{ lambda a. let b = sin a in (b,) }'",
        ],
        strict=True,
    ):
        assert says in text
    # What can't be read is shown as it is, and nothing else is missing.
    texts = list(build.texts("index").values())
    assert 'print("no jaxpr")' in texts
    assert "    c:f32[] is what b" in "\n".join(texts)
    assert len(build.page("index").select("figure.jaxpr")) == 8
    assert len(build.page("index").select("figure.jaxpr-error")) == 1


def test_names_clash_and_are_found(tmp_path: Path) -> None:
    block = f"```{{jaxpr}}\n:name: one\n{SMALL}\n```\n"
    local = f"```{{jaxpr}}\n{SMALL}\n```\n"
    role = "{jaxpr:eqn}`pasted[sin]` {jaxpr:eqn}`one[mul]`"
    text = f"# P\n\n{local}\n{local}\n{block}\n{role}\n\n```{{toctree}}\nq\n```\n"
    project = Project(tmp_path, {"docs/index.md": text, "docs/q.md": f"# Q\n\n{block}"})
    build = project.build()
    (clash,) = warned(build)
    assert "name 'one' is also used at index.md:" in clash.text
    links = [link["href"] for link in build.page("index").select("section > p a")]
    assert links == ["#jaxpr-pasted-eqn-0", "#jaxpr-one-eqn-1"]


def test_an_edit_writes_the_pages_that_point_at_it(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "# P\n\n{jaxpr:val}`len(small)`\n\n```{toctree}\nsmall\n```\n",
        "docs/small.rst": RESTRUCTURED,
    }
    project = Project(tmp_path, files)
    assert ">2<" in (project.build("html", "-W").out / "index.html").read_text("utf-8")
    project.write(
        "docs/small.rst", RESTRUCTURED.replace(" = sin a; ", " = sin a; d:f32[8] = cos a; ")
    )
    assert ">3<" in (project.build("html", "-W").out / "index.html").read_text("utf-8")
    idle = project.build("html", "-W")
    assert not re.search(r"writing output\.\.\. \[", idle.stdout)


@pytest.mark.parametrize("mode", ["trace", "skip"])
def test_it_needs_no_jax(mode: str, tmp_path: Path) -> None:
    files = {"docs/index.md": f"# P\n\n```{{jaxpr}}\n:name: one\n{SMALL}\n```\n"}
    conf = f"jaxpr_mode = {mode!r}\njaxpr_python = '/nowhere/python'\n"
    build = Project(tmp_path, files, conf).build("html", "-W")
    assert (build.code, build.stderr) == (0, "")
    assert build.texts("index") == {"jaxpr-one": SMALL}


@pytest.mark.parametrize(
    ("builder", "file"),
    [("text", "index.txt"), ("latex", "p.tex"), ("man", "p.1"), ("texinfo", "p.texi"),
     ("xml", "index.xml"), ("gettext", "index.pot"),
     ("singlehtml", "index.html"), ("dirhtml", "index.html"), ("json", "index.fjson")],
)  # fmt: skip
def test_every_builder(project: Project, builder: str, file: str) -> None:
    build = project.build(builder)
    assert build.code == 0, build.stderr
    assert {one.kind for one in warned(build)} <= {"claim", "path"}
    (found,) = (
        [build.out / file]
        if (build.out / file).exists()
        else build.out.glob(f"*{Path(file).suffix}")
    )
    text = found.read_text("utf-8")
    if builder == "gettext":
        assert "As *JAX* printed it" in text and "lambda" not in text
        return
    assert "Pasted jaxpr" in text
    assert "pasted, not checked" in text
    if builder == "text":
        assert body(OLD, "   ") in text
        assert "Pasted jaxpr - 8 equations" in text
    if builder == "singlehtml":
        page = build.page("index")
        ids = [tag["id"] for tag in page.select("[id]")]
        assert len(ids) == len(set(ids))
        assert page.find(id="jaxpr-pasted-3") is not None
