"""Claims by the names of lines, and lets, on real pages: MyST and rST, docstrings, translations."""

from __future__ import annotations

import json
import re

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from tests.support import Build, Project

BLOCK = """
```{jaxpr-transform} layers:dense
:args: x=f32[4,4], w=f32[4,4], b=f32[4]
:transforms: grad(argnums=w), vmap
:elide: g[mul]

g[tanh]
    Read again.
```
"""

GOOD = f"""
# Good

{BLOCK}
Under grad {{jaxpr:claim}}`The forward  part stays`, it
has {{jaxpr:claim}}``an `axes` parameter <#axes>``, as {{jaxpr:claim}}`<#axes>` says.
Both end here. {{jaxpr:claim}}`<len(dense) == 4>`

{{jaxpr:claim}}`<g[tanh]>`

It has {{jaxpr:val}}`len(g) - n` more, see {{jaxpr:eqn}}`tanh <g[tanh]>` of {{jaxpr:ref}}`g`.

```{{jaxpr-when}} new
{{jaxpr:claim}}`only sometimes`.
```

```{{jaxpr-when}} not new
Never {{jaxpr:claim}}`never`, {{jaxpr:claim}}`only sometimes`.
```

```{{only}} latex
{{jaxpr:claim}}`paged`.
```

```{{jaxpr-claims}}
the *forward* part stays: ops(g[:n]) == ops(dense)   # it's appended
axes: all("axes" in e.params
  for e in g[reduce_sum])
let g = f.grad
let f = dense
let n = len(f)
let new = jax >= "0.4"
paged: len(dense) == 5
let early = g[:n]
[e.primitive for e in early] == ops(dense)
```

```{{jaxpr-when}} new
```{{jaxpr-claims}}
only sometimes: dense[tanh]
let old = g
never: old
```
```

```{{jaxpr-when}} not new
```{{jaxpr-claims}}
only sometimes: dense[cos]
```
```
"""

#: Its block has the name of a let of the first page, which comes first there.
OTHER = """
# Other

```{jaxpr-transform} layers:dense
:name: g
:args: x=f32[8,8], w=f32[8,8], b=f32[8]
```

{jaxpr:ref}`g` has {jaxpr:val}`len(g)` equations.
"""

RST = """
Same
====

.. jaxpr-transform:: layers:dense
   :args: x=f32[4,4], w=f32[4,4], b=f32[4]
   :transforms: grad(argnums=w), vmap

   g[tanh]
      Read again.

Under grad :jaxpr:claim:`The forward  part stays`,
as :jaxpr:claim:`<#the axes part>` says. Both end here. :jaxpr:claim:`<len(dense) == 4>`

:jaxpr:claim:`<g[tanh]>`

False :jaxpr:claim:`it is long`, :jaxpr:claim:`again <#it is long>`.

Cut :jaxpr:eqn:`the `tanh` <dense[tanh]>`.

.. jaxpr-claims::

   the *forward* part stays: ops(g[:4]) == ops(dense)
   the ``axes`` part: "axes" in g[reduce_sum].params
   it is long: len(g) == 99
   let g = dense.grad
"""

BAD = f"""
# Bad

{BLOCK.replace("g[", "grad[").replace("layers:dense", "layers:dense")}
Here {{jaxpr:claim}}`the forwad part`, and
there {{jaxpr:claim}}`words <#nothing>`, but
{{jaxpr:claim}}`it is long` and {{jaxpr:claim}}`it is so <#it is long>`
{{jaxpr:val}}`w` {{jaxpr:val}}`w.x` {{jaxpr:val}}`g.gard`
{{jaxpr:claim}}`left out`.
Cut {{jaxpr:eqn}}`the `tanh` <dense[tanh]>` and {{jaxpr:var}}`a letter`;
{{jaxpr:claim}}`len(dense) == 4` and {{jaxpr:claim}}`it is < len(dense) > 3`.

```{{jaxpr-claims}}
the forward part: len(dense) == 5
it is long: len(g) == 99
It Is Long: len(dense) == 4
broken: len(dense[
let g = h
let h = dense.grad
let w = dens.grad
let a = b
let b = a
let dense = 3
let unused = dense
let shape = 1
let forgotten: dense
```

```{{jaxpr-when}} jax < "0.1"
```{{jaxpr-claims}}
left out: dense
```
```
"""

DOCSTRINGS = '''
def one(x):
    """One.

    .. jaxpr-transform:: one
       :args: f32[3]

    It :jaxpr:claim:`has one equation`.

    .. jaxpr-claims::

       has one equation: len(p) == 1
       let p = one
    """
    return x + 1


def two(x):
    """Two.

    .. jaxpr-transform:: two
       :args: f32[3]

    It :jaxpr:claim:`has one equation`.

    .. jaxpr-claims::

       has one equation: len(p) == 1
       let p = two
    """
    return x * 2 + 1
'''

TRANSLATED = f"""
# Translated

{BLOCK.replace("g[", "grad[")}
It has {{jaxpr:claim}}`four equations` and {{jaxpr:claim}}`no loop`.

This {{jaxpr:claim}}`<#is *long*>`.

First {{jaxpr:claim}}`four equations`, then {{jaxpr:claim}}`no loop`.

```{{jaxpr-claims}}
four equations: len(dense) == 4
no loop: not dense[scan]
is *long*: len(dense) == 99
```
"""

CONF = """
extensions += ["sphinx.ext.autodoc"]
suppress_warnings = ["toc.not_included", "myst.xref_missing"]
language = "de"
locale_dirs = ["locale"]
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    pages = {
        "docs/index.md": GOOD,
        "docs/other.md": OTHER,
        "docs/same.rst": RST,
        "docs/bad.md": BAD,
        "docs/api.rst": "API\n===\n\n.. automodule:: api\n   :members:\n",
        "src/api.py": DOCSTRINGS,
        "docs/translated.md": TRANSLATED,
    }
    made = Project(tmp_path_factory.mktemp("claims"), pages, CONF)
    catalog = Catalog(locale="de")
    catalog.add(
        "It has {jaxpr:claim}`four equations` and {jaxpr:claim}`no loop`.",
        "Es hat {jaxpr:claim}`vier Gleichungen` und {jaxpr:claim}`keine Schleife`.",
    )
    catalog.add("is *long*", "ist lang")
    catalog.add(
        "First {jaxpr:claim}`four equations`, then {jaxpr:claim}`no loop`.",
        "Erst {jaxpr:claim}`no loop`, dann {jaxpr:claim}`vier`.",
    )
    folder = made.docs / "locale/de/LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "translated.mo").open("wb") as file:
        write_mo(file, catalog)
    return made


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    return project.build("html")


def findings(build: Build, page: str) -> list[tuple[int, str]]:
    """The line and the message of each warning about a file."""
    found = re.findall(rf"{page}:(?:docstring of [\w.]+:)?(\d+): WARNING: (.*)", build.stderr)
    return [(int(line), text) for line, text in found]


def paragraphs(build: Build, page: str) -> list[str]:
    return [" ".join(p.get_text().split()) for p in build.page(page).select("section > p")]


def test_sentences_name_lines(built: Build) -> None:
    assert findings(built, "index.md") == []
    section = built.page("index").select_one("section")
    assert section is not None
    first, second, third, *_ = section.find_all("p", recursive=False)
    assert " ".join(first.get_text().split()) == (
        "Under grad The forward part stays, it has an axes parameter, as axes says. Both end here."
    )
    assert first.get_text() == first.get_text().rstrip()
    assert first.select_one(".jaxpr-claim code") is not None
    assert "more, see tanh of g." in second.get_text()  # a claim alone leaves no paragraph
    assert third.get_text() == "only sometimes."
    assert [a["href"] for a in second.select("a")] == [
        "#jaxpr-dense.grad-eqn-3",
        "#jaxpr-dense.grad",
    ]


def test_a_let_comes_before_a_block_of_another_page(project: Project, built: Build) -> None:
    assert "g has 4 equations." in paragraphs(built, "other")
    links = built.page("index").select('section > p a[href="#jaxpr-dense.grad"]')
    assert [link.get_text() for link in links] == ["g"]
    again = project.build("html")  # verdicts of the last build
    assert findings(again, "index.md") == findings(again, "other.md") == []


def test_rst_does_the_same(built: Build) -> None:
    line = RST.split("\n").index(
        "False :jaxpr:claim:`it is long`, :jaxpr:claim:`again <#it is long>`."
    )
    at = RST.split("\n").index("   it is long: len(g) == 99")
    end = f"[len(g) == 99 at same.rst:{at}, where g = dense.grad] [jaxpr.claim]"
    first, second, cut = findings(built, "same.rst")
    paragraph = built.page("same").select("section > p")[0]
    assert " ".join(paragraph.get_text().split()) == (
        "Under grad The forward part stays, as the axes part says. Both end here."
    )
    assert paragraph.select_one(".jaxpr-claim code") is not None
    assert first[0] == second[0] == line == cut[0] - 2
    assert "each backquote in a role needs a backslash" in cut[1]
    assert "claim 'it is long' is false on JAX" in first[1] and first[1].endswith(end)
    assert "claim 'again' is false on JAX" in second[1] and second[1].endswith(end)


def test_findings_are_at_the_sentence_or_at_the_line(built: Build) -> None:
    lines = BAD.split("\n")

    def at(text: str) -> int:
        return next(n for n, line in enumerate(lines) if text in line)

    expected = [
        ("the forward part:", "no sentence of this page uses the claim 'the forward part'"),
        ("It Is Long:", "the name 'It Is Long' is also at bad.md:%d, and that one counts"),
        ("let dense", "let 'dense' has the name of a block of this page, which counts;"
                      " try 'dense_'"),
        ("let unused", "no expression of this page uses let 'unused'"),
        ("the forwad", "'the forwad part' has no predicate"),
        ("#nothing", "no line of jaxpr-claims on this page has the name 'nothing'"),
        ("is so", "claim 'it is long' is false on JAX"),
        ("is so", "claim 'it is so' is false on JAX"),
        ("w.x", "value 'g.gard' (where g = h, h = dense.grad): "),
        ("Cut", "put more of them around it: {jaxpr:eqn}``the `tanh` <dense[tanh]>`` [jaxpr.path]"),
        ("Cut", "jaxpr:var: 'a letter' is not a path; behind words write one"),
        ("it is <", "for a predicate that readers don't see, write `<len(dense) == 4>`"),
        ("it is <", "'it is < len(dense) > 3' has no predicate"),
        ("left out`", "claim 'left out': the line with this name is left out here"),
        ("the forward part:", "claim 'the forward part' is false on JAX"),
        ("broken:", "claim 'len(dense[': this is not a Python expression"),
        ("let w", "let 'w' (dens.grad): there is no block `dens`, did you mean `dense`?"
                  " (2 expressions that depend on it can't be judged)"),
        ("let a", "let 'a' (b, where b = a at bad.md:%b): it depends on itself:"
                  " `a` needs `b` needs `a`"),
        ("let shape", "let 'shape' is a reserved word, try 'shape_'"),
        ("let forgotten", "'let forgotten: dense' is not a let; write it as"
                          " `let forgotten = path`"),
    ]  # fmt: skip
    reported = findings(built, "bad.md")
    for text, message in expected:
        message = message.replace("%d", str(at("it is long:")))
        message = message.replace("%b", str(at("let b")))
        assert [f for f in reported if f[0] == at(text) and message in f[1]], (text, reported)
    assert "did you mean 'the forward part'" in dict(reported)[at("the forwad")]
    unused = {"no sentence of this page uses the claim 'broken'"}
    assert not [text for _, text in reported for start in unused if text.startswith(start)]


def test_docstrings_have_names_of_their_own(built: Build) -> None:
    ((line, text),) = re.findall(r"docstring of api\.two:(\d+): WARNING: (.*)", built.stderr)
    assert int(line) == 6 and "claim 'has one equation' is false" in text
    assert ":docstring of api.two:10, where p = two]" in text
    assert "docstring of api.one" not in built.stderr


def test_translated_sentences_keep_their_claims(built: Build) -> None:
    """Translated words are no names; `<#name>` shows the translated words of the line."""
    ((line, text),) = findings(built, "translated.md")
    assert "claim 'is long' is false" in text
    assert TRANSLATED.split("\n")[line].startswith("This {jaxpr:claim}")
    shown = paragraphs(built, "translated")
    assert shown == [
        "Es hat vier Gleichungen und keine Schleife.",
        "This ist lang.",
        "Erst no loop, dann vier.",
    ]


def test_check_judges_sentences_of_all_formats(project: Project) -> None:
    check = project.build("jaxpr-check")
    data = json.loads((check.out / "output.json").read_text("utf-8"))
    rows = [row for row in data["sentences"] if (row["page"], row["what"]) == ("index", "claim")]
    assert {row["state"] for row in rows if row["words"] != "paged"} == {"true"}
    by_words = {row["words"]: row["expression"] for row in rows}
    translated = [row for row in data["sentences"] if row["page"] == "translated"]
    kept = {row["words"]: row["expression"] for row in translated}
    assert (kept["no loop"], kept["vier"]) == ("not dense[scan]", "len(dense) == 4")
    assert by_words["The forward part stays"] == "ops(g[:n]) == ops(dense)"
    (line,) = [line for line, text in findings(check, "index.md") if "'paged' is false" in text]
    assert GOOD.split("\n")[line] == "{jaxpr:claim}`paged`."


def test_gettext_has_the_words_that_lines_show(project: Project) -> None:
    build = project.build("gettext")
    text = (build.out / "translated.pot").read_text("utf-8")
    assert 'msgid "is *long*"' in text and 'msgid "no loop"' not in text
    assert 'msgid "This {jaxpr:claim}`<#is *long*>`."' in text
