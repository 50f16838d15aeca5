"""Roles and claims: what they give, in both markups, and wrong ones told at their lines."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from docutils import nodes

from sphinx_jaxpr.ext.judging.verdicts import sealed, unsealed
from sphinx_jaxpr.ext.links import is_page
from sphinx_jaxpr.ext.records import Verdict
from sphinx_jaxpr.tracing.files import canonical, digest
from tests.support import DENSE, Build, Project, once

BLOCK = """
```{jaxpr-transform} layers:dense
:name: dense
:args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
:transforms: grad(argnums=w), vmap(axis_size=8)
:caption: Has {jaxpr:val}`len(dense)` equations, {jaxpr:eqn}`the sum <dense[add]>`.

[tanh]
    Read {jaxpr:val}`dense.grad[tanh].uses` times by {jaxpr:ref}`its gradient <dense.grad>`.
```
"""
#: The same sentences in both markups: in rST ``{role}`` is ``:role:``.
SENTENCES = """
See {jaxpr:ref}`dense.grad`, {jaxpr:ref}`the base <dense>`, {jaxpr:eqn}`dense[tanh]`,
{jaxpr:eqn}`the kept tanh <dense.grad[tanh]>`, {jaxpr:prim}`tanh`,
{jaxpr:val}`len(dense.vmap) - len(dense)` more, {jaxpr:val}`dense.vmap[tanh].shape` and
{jaxpr:claim}`more equations <len(dense.grad) > len(dense) < 99>`.
"""
MD = f"# Page\n{BLOCK}{SENTENCES}"
RST = "Other\n=====\n\n:any:`dense`\n" + re.sub(r"\{(jaxpr:\w+)\}", r":\1:", SENTENCES)
TREE = "\n```{toctree}\nother\n```\n"


def parts(page: BeautifulSoup) -> dict[str, list[str]]:
    """The texts of links, values and claims in sentences, by kind."""
    return {
        kind: [" ".join(one.get_text().split()) for one in page.select(f".{kind}")]
        for kind in ("jaxpr-link", "jaxpr-value", "jaxpr-claim")
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {"docs/index.md": MD + TREE, "docs/other.rst": RST}
    return Project(tmp_path_factory.mktemp("roles"), files)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


def test_links_values_and_words(built: Build) -> None:
    page = built.page("index")
    read = page.select_one(".jaxpr-notes .jaxpr-value").get_text()
    assert read in ("2", "3", "4")
    assert parts(page) == {
        "jaxpr-link": [
            "the sum",
            "its gradient",
            *("dense.grad", "the base", "dense[tanh]", "the kept tanh", "tanh"),
        ],
        "jaxpr-value": ["4", read, "1", "(8, 32, 64)"],
        "jaxpr-claim": ["more equations"],
    }
    for link in page.select("a:has(> .jaxpr-link)"):
        target = page.find(id=str(link["href"]).removeprefix("#"))
        assert target is not None, link
    named = {a.get_text(): a["href"] for a in page.select("a:has(> .jaxpr-link)")}
    assert named["the kept tanh"].startswith("#jaxpr-dense.grad-eqn-")
    assert page.find(id=named["the kept tanh"][1:])["data-primitive"] == "tanh"
    assert named["dense.grad"] == "#jaxpr-dense.grad"


def test_from_another_page_in_the_other_markup(built: Build) -> None:
    assert parts(built.page("other"))["jaxpr-value"] == ["1", "(8, 32, 64)"]
    links = built.page("other").select("a:has(> .jaxpr-link)")
    internal = [str(link["href"]) for link in links if "internal" in link["class"]]
    assert len(internal) == 4
    for link in internal:
        page, _, identity = link.partition("#")
        assert page == "index.html"
        assert built.page("index").find(id=identity) is not None


def test_nothing_of_ours_is_mistaken_for_an_equation(built: Build) -> None:
    for name in ("index", "other"):
        for equation in built.page(name).select(".jaxpr-eqn"):
            assert equation.has_attr("data-primitive")


@pytest.mark.parametrize(
    "builder",
    ["text", "latex", "singlehtml", *once("man", "texinfo", "dirhtml", "gettext")],
)
def test_other_formats(project: Project, built: Build, builder: str) -> None:
    done = project.build(builder, "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    if builder == "text":
        text = " ".join((done.out / "other.txt").read_text("utf-8").split())
        assert text.endswith("1 more, (8, 32, 64) and more equations.")
    if builder == "latex":
        text = (done.out / "p.tex").read_text("utf-8")
        assert r"\hyperref[\detokenize{index:jaxpr-dense.grad}]" in text
    if builder == "singlehtml":
        page = done.page("index")
        links = [str(a["href"]) for a in page.select("a.internal:has(> .jaxpr-link)")]
        links += [str(a["href"]) for a in page.select("p > a.internal")]
        assert len(links) > 10
        for link in links:
            assert link.startswith("#")
            assert page.find(id=link[1:]) is not None, link


def test_pages_with_claims_in_every_place_tell_the_exact_line(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Deep in paragraphs, lists, tables, quotes, notes, definitions, captions, footnotes."""
    md = f"""\
# P
{BLOCK.replace("of {jaxpr:val}`len", "of {jaxpr:val}`len")}
A first line, a second
line and {{jaxpr:claim}}`one <len(dense) == 101>` and
{{jaxpr:val}}`len(dense)` and {{jaxpr:claim}}`two
words <len(dense) ==
102>`, {{jaxpr:claim}}`one <len(dense) == 101>`.

- item
  - deeper, on

    paragraphs with {{jaxpr:claim}}`three <len(dense) == 103>`
  - other
    {{jaxpr:claim}}`four <len(dense) == 104>`

> quoted
> text {{jaxpr:claim}}`five
> lines <len(dense)
> == 105>`

| a | b |
|---|---|
| x | y |
| {{jaxpr:claim}}`six <len(dense) == 106>` | z |

Term
: Definition
  and {{jaxpr:claim}}`seven <len(dense) == 107>`

```{{note}}
Text and

{{jaxpr:claim}}`eight <len(dense) == 108>`
```

```{{figure}} none.png
A caption with
{{jaxpr:claim}}`nine <len(dense) == 109>`.
```

Text[^f].

[^f]: A footnote with {{jaxpr:claim}}`ten <len(dense) == 110>`.

```{{glossary}}
word
    Explained {{jaxpr:claim}}`eleven <len(dense) == 111>`.
```

```{{include}} part.md
```
"""
    rst = """\
R
=

A paragraph
over lines, :jaxpr:claim:`one <len(dense) == 201>` and :jaxpr:claim:`two
words <len(dense) == 202>`.

* item

  * deeper
    :jaxpr:claim:`three <len(dense) == 203>`

    quoted :jaxpr:claim:`four <len(dense) == 204>`

term
   Definition over
   lines :jaxpr:claim:`five <len(dense) == 205>`.

.. list-table::

   * - cell
     - other

       :jaxpr:claim:`six <len(dense) == 206>`

.. [#f] A footnote,
   with :jaxpr:claim:`seven <len(dense) == 207>`; [#f]_

.. include:: part.txt

.. jaxpr-claims::

   len(dense) == 4
   # a comment
   len(dense) == 208  # another
   all(len(v.shape) == 2
     for v in dense.variables
   )
"""
    part = "Included,\nwith `x` and :jaxpr:claim:`part <len(dense) == 301>`.\n"
    files = {"docs/index.md": md + "\n```{toctree}\nr\n```\n", "docs/r.rst": rst}
    folder = tmp_path_factory.mktemp("lines")
    conf = 'myst_enable_extensions = ["deflist"]\nexclude_patterns = ["part.*"]\n'
    project = Project(folder, files, conf + 'default_role = "code"\n')
    project.write("docs/part.txt", part)
    project.write("docs/part.md", part.replace(":jaxpr:claim:", "{jaxpr:claim}"))
    (project.docs / "none.png").write_bytes(b"")
    for _ in range(2):
        told = [one for one in project.build("html").warnings if "[jaxpr.claim]" in one]
        parts = [("part.md", 2, 301), ("part.txt", 2, 301)]
        expected = [*_expected("index.md", md), *_expected("r.rst", rst), *parts]
        assert sorted(map(_number, told)) == sorted(expected)


def _expected(name: str, text: str) -> list[tuple[str, int, int]]:
    """Where numbers of three digits stand: on the line where their role begins."""
    found = []
    for match in re.finditer(r"[`:]?jaxpr:claim[}:]`[^`]*?==\s+(\d{3})>`", text):
        found.append((name, text.count("\n", 0, match.start()) + 1, int(match[1])))
    found += [
        (name, text.count("\n", 0, match.start()) + 1, int(match[1]))
        for match in re.finditer(r"^   len\(dense\) == (\d{3})", text, re.MULTILINE)
    ]
    if name == "r.rst":
        found.append((name, text[: text.index("all(len")].count("\n") + 1, 0))
    return found


def _number(warning: str) -> tuple[str, int, int]:
    place = re.match(r".*/docs/([\w.]+):(\d+): WARNING: ", warning)
    number = re.search(r"== (\d{3})\]", warning)
    assert place, warning
    return place[1], int(place[2]), int(number[1]) if number else 0


def test_what_shows_a_role_as_written_is_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same text in code, in a literal or a comment, above a role or in its paragraph."""
    page = f"""\
# P
{BLOCK}
```md
{{jaxpr:claim}}`code <len(dense) == 101>`
```

{{jaxpr:claim}}`code <len(dense) == 101>`

% {{jaxpr:claim}}`comment <len(dense) == 102>`

{{jaxpr:claim}}`comment <len(dense) == 102>`

`` {{jaxpr:claim}}`literal <len(dense) == 103>` `` gives
{{jaxpr:claim}}`literal <len(dense) == 103>`, and once more
{{jaxpr:claim}}`literal <len(dense) == 103>`.

What `dense[x]` is:
{{jaxpr:eqn}}`dense[x]`.

```{{eval-rst}}
+---------------+--------------------------------------+
| A table       | :jaxpr:claim:`cell over              |
|               | lines <len(dense) == 104>`           |
+---------------+--------------------------------------+
```
"""
    project = Project(tmp_path_factory.mktemp("shown"), {"docs/index.md": page})
    due = [
        page[: page.index(start)].count("\n") + 1 + below
        for start, below in (
            ("```md", 4),
            ("% {", 2),
            ("`` {", 1),
            ("`` {", 2),
            ("What `dense", 1),
            ("| A table", 0),
        )
    ]
    told = project.build("html").warnings
    assert [int(re.search(r"index\.md:(\d+): ", one)[1]) for one in told] == due, told


@pytest.mark.once
def test_many_roles_on_one_page_are_found_fast(tmp_path_factory: pytest.TempPathFactory) -> None:
    from docutils.utils import new_document

    from sphinx_jaxpr.ext.nodes import jaxpr_statement
    from sphinx_jaxpr.ext.reading.source_lines import find_lines

    file = tmp_path_factory.mktemp("many") / "page.md"
    lines = [f"A line of text, {{jaxpr:val}}`len(dense) + {n % 50}`.\n" for n in range(4000)]
    file.write_text("\n".join(lines), "utf-8")
    document = new_document(str(file))
    for n in range(4000):
        node = jaxpr_statement("", raw=f":jaxpr:val:`len(dense) + {n % 50}`")
        node.source, node.line = str(file), 2 * n + 1
        document += nodes.paragraph("", "", node)
    start = time.perf_counter()
    found = find_lines(document)
    assert time.perf_counter() - start < 2
    assert [node.line for node in found] == [2 * n + 1 for n in range(4000)]


def test_a_link_holds_no_link(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The words of one are those of what is around it."""
    page = f"""# P
{BLOCK}
[see {{jaxpr:ref}}`dense`, *{{jaxpr:eqn}}`it <dense[tanh]>`*](https://example.org)
and [{{jaxpr:val}}`len(dense)` {{jaxpr:prim}}`tanh`](other.md)
"""
    files = {"docs/index.md": page + TREE, "docs/other.md": "# O\n"}
    project = Project(tmp_path_factory.mktemp("linked"), files)
    for builder in ("html", "text"):
        done = project.build(builder, "-W", "-n")
        assert (done.code, done.stderr) == (0, "")
    done = project.build("html")
    assert not done.page("index").select("a a")
    texts = [a.get_text() for a in done.page("index").select("p > a")]
    assert texts[-2:] == ["see dense, it", "4 tanh"]


def test_lists_of_primitives_in_one_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    double = """
```{jaxpr-transform} layers:double
:name: double
:args: x=f32[3]
```

```{jaxpr-glossary}
:scope: page
```

{jaxpr:prim}`mul`
"""
    files = {"docs/index.md": MD + TREE, "docs/other.md": f"# O\n{double}"}
    project = Project(tmp_path_factory.mktemp("lists"), files)
    project.write("src/layers.py", f"{DENSE}\n\ndef double(x):\n    return x * 2\n")
    done = project.build("singlehtml", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    page = done.page("index")
    assert [dt.get_text() for dt in page.select("dl.jaxpr-glossary > dt")] == ["mul"]
    links = [str(a["href"]) for a in page.select("dl.jaxpr-glossary a, p > a.internal")]
    assert links
    assert all(link.startswith("#") and page.find(id=link[1:]) for link in links), links


WRONG = [
    ("{jaxpr:ref}`dens`", "path", "block 'dens': there is no block `dens`, did you mean `dense`"),
    ("{jaxpr:eqn}`dense[tan]`", "path", "has no equation `tan`; nearest: tanh"),
    ("{jaxpr:eqn}`it <dense.grad[mul].x>`", "path", "equation 'dense.grad[mul].x'"),
    ("{jaxpr:eqn}`all <dense>`", "path", "is a program, not one equation"),
    ("{jaxpr:prim}`tanhh`", "path", "there is no primitive `tanhh`, did you mean `tanh`"),
    ("{jaxpr:val}`len(dense) +`", "path", "value 'len(dense) +': this is not a Python expression"),
    ("{jaxpr:val}`dense + 1`", "path", "`+` can't be used"),
    ("{jaxpr:val}`open('x')`", "path", "open"),
    ("{jaxpr:claim}`words alone`", "claim", "jaxpr:claim: 'words alone' has no predicate"),
    ("{jaxpr:claim}`<#nothing>`", "claim", "jaxpr:claim: no line of jaxpr-claims on this page"),
    ("{jaxpr:claim}`w <len(dense) == 5>`", "claim", "`len(dense)` is 4 [len(dense) == 5]"),
    (
        "{jaxpr:claim}`the list is unchanged <ops(dense.vmap) == ops(dense)>`",
        "claim",
        "claim 'the list is unchanged' is false on JAX",
    ),
    ("{jaxpr:claim}`w <dense.grad[nul]>`", "path", "claim 'dense.grad[nul]'"),
    ("{jaxpr:claim}`w <lenn(dense)>`", "path", "lenn"),
]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Build:
    lines = "\n".join(f"- {text}\n" for text, _, _ in WRONG)
    project = Project(tmp_path_factory.mktemp("wrong"), {"docs/index.md": f"# P\n{BLOCK}\n{lines}"})
    done = project.build("html")
    assert done.code == 0
    return done


@pytest.mark.parametrize(("text", "kind", "part"), WRONG)
def test_what_is_wrong_is_told_with_what_is_near(
    wrong: Build, text: str, kind: str, part: str
) -> None:
    source = (wrong.out.parents[1] / "docs" / "index.md").read_text("utf-8")
    line = source[: source.index(f"- {text}\n")].count("\n") + 1
    mine = [one for one in wrong.warnings if f"index.md:{line}: " in one]
    assert len(mine) == 1, wrong.warnings
    assert part in mine[0]
    assert mine[0].endswith(f"[jaxpr.{kind}]")


def test_a_wrong_one_costs_nothing_else(wrong: Build) -> None:
    page = wrong.page("index")
    assert len(page.select("figure.jaxpr")) == 3
    items = [
        " ".join(item.get_text().split()) for item in page.select("div.body > section > ul li")
    ]
    assert items[0] == "dens"
    assert items[1] == "dense[tan]"
    assert items[5] == "?"
    assert items[8] == "words alone"
    assert len(items) == len(WRONG)


def test_titles_keep_their_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    page = f"""# Of {{jaxpr:ref}}`dense`, {{jaxpr:val}}`len(dense)`
{BLOCK}

## The {{jaxpr:eqn}}`tanh <dense[tanh]>` and {{jaxpr:claim}}`more <len(dense) == 5>`

```{{note}}
{{jaxpr:val}}`len(dense)`
```
"""
    tree = "# Start\n\n```{toctree}\npage\n```\n"
    files = {"docs/index.md": tree, "docs/page.md": page}
    project = Project(tmp_path_factory.mktemp("titles"), files)
    for builder in ("html", "text", "latex", "html"):
        done = project.build(builder)
        assert done.code == 0
        told = [re.sub(r".*/docs/", "", one) for one in done.warnings]
        assert len(told) == 3, told
        if builder == "latex":  # a running head would name the label in capitals
            text = (done.out / "p.tex").read_text("utf-8")
            assert re.search(r"chapter\{Of (?!.*hyperref).*dense", text)
        assert all("cannot be used in a title" in one and "[jaxpr.option]" in one for one in told)
        assert [one.split(":")[1] for one in told] == ["1", "14", "14"]
    assert "Of dense, len(dense)" in done.page("index").get_text()
    assert "The tanh and more" in done.page("index").get_text()
    assert done.page("page").select_one(".note .jaxpr-value").get_text() == "4"


WHEN = f"""# P
{BLOCK}

```{{jaxpr-when}} jax >= "0.1"
Shown {{jaxpr:val}}`len(dense)` {{jaxpr:claim}}`false <len(dense) == 5>`.
```

```{{jaxpr-when}} jax < "0.1"
Hidden {{jaxpr:claim}}`not judged <len(dense) == 6>`.
```

````{{jaxpr-when}} len(dense) == 4
Outer.

```{{jaxpr-when}} len(dense) == 5
Inner.
```
````

```{{jaxpr-when}} jaxx >= "0.1"
Kept, since nobody can tell.
```

```{{jaxpr-when}} jax >= "0.1"
(label)=
Text.
```

```{{jaxpr-when}}
Without a condition.
```
"""


@pytest.mark.once
def test_parts_under_a_condition(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = Project(tmp_path_factory.mktemp("when"), {"docs/index.md": WHEN})
    for _ in range(2):
        done = project.build("html")
        told = [re.sub(r".*/docs/", "", one) for one in done.warnings]
        assert len(told) == 4, told
        text = done.page("index").get_text()
        assert "Shown 4 false." in text
        assert "Outer." in text
        assert "nobody can tell" in text
        assert "Without a condition" in text
        assert "Hidden" not in text
        assert "Inner" not in text
    assert any(
        "'jaxx >= \"0.1\"': there is no block `jaxx`, did you mean `jax`" in one for one in told
    )
    assert any("a label cannot be used in jaxpr-when" in one for one in told)
    assert any("has no condition" in one for one in told)
    done = project.build("text", "-D", "jaxpr_mode=skip")
    assert not [one for one in done.warnings if "no block" in one]
    assert "Hidden" in (done.out / "index.txt").read_text("utf-8")


@pytest.mark.parametrize("builder", ["latex", *once("texinfo", "man")])
def test_a_page_that_is_in_no_book(tmp_path_factory: pytest.TempPathFactory, builder: str) -> None:
    """The words of a link stand alone where its page is left out of the book."""
    page = "# P\n\n{jaxpr:ref}`dense` {jaxpr:eqn}`dense[tanh]` {jaxpr:prim}`tanh`\n"
    page += "{jaxpr:prim}`add` {jaxpr:val}`len(dense)` {any}`dense` [](dense)\n"
    page += "\n```{jaxpr-glossary}\n```\n"
    away = f"---\norphan: true\n---\n# O\n{BLOCK}\n```{{glossary}}\nadd\n    Sum.\n```\n"
    files = {"docs/index.md": page, "docs/away.md": away}
    project = Project(tmp_path_factory.mktemp("book"), files)
    done = project.build(builder, "-W", "-n")
    assert (done.code, done.stderr) == (0, "")


def test_links_follow_lists_and_hidden_blocks(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A page is written again when what its links lead to comes, goes or is hidden."""
    tree = "# P\n\n```{toctree}\n:glob:\n*\n```\n"
    listed = "# L\n\n```{jaxpr-glossary}\n```\n"
    files = {
        "docs/index.md": tree,
        "docs/block.md": f"# B\n{BLOCK}",
        "docs/listed.md": listed,
        "docs/prim.md": "# R\n\n{jaxpr:prim}`tanh`\n",
        "docs/link.md": "# L\n\n{jaxpr:eqn}`dense[tanh]` {jaxpr:val}`len(dense)`\n",
    }
    project = Project(tmp_path_factory.mktemp("follow"), files)

    def targets(page: str) -> list[str]:
        done = Build(0, project.folder / "out" / "html", "", "")
        return [str(a["href"]) for a in done.page(page).select("div.body a.internal")]

    project.build("html")
    assert targets("prim") == ["listed.html#jaxpr-primitive-tanh"]
    assert "block.html#jaxpr-dense" in targets("listed")
    (project.docs / "listed.md").rename(project.docs / "moved.md")
    project.build("html")
    assert targets("prim") == ["moved.html#jaxpr-primitive-tanh"]
    project.write(
        "docs/block.md", f"# B\n{BLOCK.replace(':name', ':base: hide' + chr(10) + ':name')}"
    )
    told = project.build("html").warnings
    assert len([one for one in told if "is hidden by base: hide" in one]) == len(told) > 0
    assert targets("link") == []
    assert "block.html#jaxpr-dense" not in targets("moved")
    (project.docs / "moved.md").unlink()
    project.build("html")
    assert targets("prim") == []


@pytest.mark.once
def test_a_page_is_written_again_when_what_it_refers_to_changes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files = {
        "docs/index.md": f"# P\n{BLOCK}\n```{{toctree}}\nvalue\nlink\nplain\n```\n",
        "docs/value.md": "# V\n\n{jaxpr:val}`len(dense)`\n",
        "docs/link.md": "# L\n\n{jaxpr:eqn}`dense[tanh]` {jaxpr:claim}`four <len(dense) == 4>`\n",
        "docs/plain.md": "# N\n\nNothing.\n",
    }
    project = Project(tmp_path_factory.mktemp("refer"), files)

    def build() -> tuple[Build, list[str]]:
        before = {path: path.stat().st_mtime_ns for path in out.glob("*.html")}
        done = project.build("html")
        names = sorted(p.stem for p in out.glob("*.html") if before.get(p) != p.stat().st_mtime_ns)
        return done, [name for name in names if name in ("index", "value", "link", "plain")]

    out = project.folder / "out" / "html"
    assert build()[1] == ["index", "link", "plain", "value"]
    done, pages = build()
    assert (done.warnings, pages) == ([], [])
    code = (project.folder / "src" / "layers.py").read_text("utf-8")
    project.write("src/layers.py", code.replace("jnp.tanh(x @ w + b)", "jnp.tanh(2 * (x @ w + b))"))
    done, pages = build()
    assert pages == ["index", "link", "value"]
    assert done.page("value").select_one(".jaxpr-value").get_text() == "5"
    assert len(done.warnings) == 1
    assert "link.md:3: WARNING: claim 'four' is false" in done.warnings[0]
    # A finding is told until it is gone, from what was judged before.
    done, pages = build()
    assert (len(done.warnings), done.traced, pages) == (1, 0, [])


def test_what_was_judged_is_not_judged_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No parser, no evaluator and no result is loaded where nothing changed."""
    watch = """
def setup(app):
    def finished(app, exception):
        print("loaded:", sorted(n for n in sys.modules if n.startswith("sphinx_jaxpr.program")))
    app.connect("build-finished", finished)
"""
    sentences = MD.replace("{jaxpr:prim}`tanh`,", "")  # which needs the definitions
    files = {"docs/index.md": f"{sentences}\n{{jaxpr:claim}}`false <len(dense) == 5>`\n"}
    project = Project(tmp_path_factory.mktemp("memo"), files, watch)
    assert "query.evaluate" in project.build("html").stdout
    done = project.build("html")
    assert len(done.warnings) == 1
    loaded = re.search(r"loaded: (.*)", done.stdout)
    assert loaded
    # Nor are definitions, though the index of primitives, which every build writes, has them.
    allowed = ("", *(f".{name}" for name in ("text", "dtypes", "html", "html.definitions")))
    assert set(re.findall(r"'([\w.]+)'", loaded[1])) <= {
        f"sphinx_jaxpr.program{n}" for n in allowed
    }


@pytest.mark.once
def test_what_is_kept_is_sealed() -> None:
    """Whatever is done to it, no other verdict comes out."""
    kept = {
        "a" * 24: Verdict("false", "no", ("a hint",), "dense", (3, 14)),
        "b" * 24: Verdict("true", is_empty=True),
    }
    text = sealed(kept)
    assert unsealed(text) == kept
    data = text.encode()
    for place in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        assert unsealed(damaged.decode("latin-1")) == {}
    for other in (None, 3, "", "{", "[]", {}, text[1:], text[:-1], text + " ", f"{text[:65]}[]"):
        assert unsealed(other) == {}
    for row in (
        ["maybe", "no", [], "dense", [3], True],
        ["false", 3, [], "dense", [3], True],
        ["false", "no", "hint", "dense", [3], True],
        ["false", "no", [None], "dense", [3], True],
        ["false", "no", [], {}, [3], True],
        ["false", "no", [], "dense", [-1], True],
        ["false", "no", [], "dense", [True], True],
        ["false", "no", [], "dense", [3], 1],
        ["false", "no", [], "dense", [3], True, "javascript:alert(1)"],
        ["false"],
        {},
    ):
        said = {"a" * 24: row}
        assert unsealed(f"{digest(said)} {canonical(said)}") == {}, row


def test_addresses_of_other_projects_are_of_pages() -> None:
    for good in ("https://x.y/z.html#a:b", "HTTP://x", "../a/b.html#c", "/a", "a.html?b=c:d", "#a"):
        assert is_page(good), good
    bad = ("", "javascript:alert(1)", " java\tscript:x", "\x01javascript:x", "data:text/html,x")
    for one in (*bad, "vbscript:x", "file:///etc/passwd", "JaVaScRiPt:x#https:"):
        assert not is_page(one), one


@pytest.mark.once
def test_a_damaged_memory_is_judged_anew(tmp_path: Path) -> None:
    """A false claim that an environment calls true: no digest, no belief; nor for a check."""
    files = {"docs/index.md": f"{MD}\n{{jaxpr:claim}}`false <len(dense) == 5>`\n"}
    project = Project(tmp_path, files)
    doctrees = ("-d", str(tmp_path / "doctrees"))
    assert len(project.build("html", *doctrees).warnings) == 1
    kept = tmp_path / "doctrees/environment.pickle"
    data = kept.read_bytes()
    assert data.count(b'"false"') == 1
    assert not list((tmp_path / "doctrees").rglob("verdicts*"))
    kept.write_bytes(data.replace(b'"false"', b'"true" ', 1))
    assert len(project.build("html", *doctrees).warnings) == 1
    # Even where whoever did it may run code: no word of a check comes from there.
    (said,) = re.findall(rb'[0-9a-f]{64} \{"[0-9a-f]{24}":\[.*?\]\}', data, re.DOTALL)
    forged = said[65:].replace(b'"false","', b'"true","_')
    new = b"%s %s" % (digest(json.loads(forged)).encode(), forged)
    assert len(new) == len(said)
    kept.write_bytes(data.replace(said, new))
    assert len(project.build("jaxpr-check", *doctrees).warnings) == 1
    assert len(project.build("html", *doctrees, "-E").warnings) == 1


@pytest.mark.once
def test_of_a_block_that_failed_nothing_more_is_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    page = """
        # P

        ```{jaxpr-transform} layers:dense
        :name: dense
        :args: x=f32[2,3], w=f32[3,4], b=f32[4]
        :transforms: grad(sum=False), vmap(axis_size=8)
        ```

        {jaxpr:val}`len(dense.grad)` {jaxpr:eqn}`dense.grad[tanh]` {jaxpr:ref}`dense.grad`
        {jaxpr:claim}`true <len(dense.vmap) == 5>` {jaxpr:claim}`same <same(dense.grad, dense)>`
        {jaxpr:claim}`false <len(dense) == 5>`
        """
    project = Project(tmp_path_factory.mktemp("failed"), {"docs/index.md": page})
    told = project.build("html").warnings
    assert len(told) == 2, told
    assert "[jaxpr.trace]" in told[0]
    assert "index.md:11: WARNING: claim 'false' is false" in told[1]


def test_names_are_those_of_the_page_first(tmp_path_factory: pytest.TempPathFactory) -> None:
    block = "```{{jaxpr-transform}} pkg:{}\n:args: x=f32[3]\n{}```\n"
    files = {
        "src/pkg.py": """
            def one(x):
                return x + 1

            def two(x):
                return (x + 1) * 2
            """,
        "docs/index.md": "# A\n\n"
        + block.format("two", ":name: one\n")
        + "\n{jaxpr:val}`len(one)`\n\n```{toctree}\nb\nc\n```\n",
        "docs/b.md": "# B\n\n" + block.format("one", "") + "\n{jaxpr:val}`len(one)`\n",
        "docs/c.md": "# C\n\n{jaxpr:val}`len(one)` {jaxpr:val}`len(two)`\n",
    }
    project = Project(tmp_path_factory.mktemp("names"), files)
    done = project.build("html")
    values = [done.page(page).select_one(".jaxpr-value").get_text() for page in "bc"]
    assert done.page("index").select_one(".jaxpr-value").get_text() == "2"
    assert values == ["1", "2"]
    assert len(done.warnings) == 1
    assert "c.md:3: WARNING: value 'len(two)': there is no block `two`" in done.warnings[0]


def test_marks_for_readers(tmp_path_factory: pytest.TempPathFactory) -> None:
    page = f"# P\n{BLOCK}\n{{jaxpr:claim}}`true <len(dense) == 4>`\n"
    page += "{jaxpr:claim}`false <len(dense) == 5>`\n"
    project = Project(tmp_path_factory.mktemp("marks"), {"docs/index.md": page})
    assert not project.build("html").page("index").select(".jaxpr-checked")
    done = project.build("html", "-D", "jaxpr_claim_mark=1")
    marks = done.page("index").select(".jaxpr-checked")
    assert [mark.parent.get_text() for mark in marks] == ["true\u00a0\u2713"]


def test_docstrings_tell_their_lines(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "src/pkg.py": '''
            """A module."""


            def double(x):
                """Doubles.

                .. jaxpr-transform:: double
                   :args: x=f32[3]

                One line, and
                another with :jaxpr:claim:`two <len(double) == 2>`.
                """
                return x * 2
            ''',
        "docs/index.rst": "P\n=\n\n.. automodule:: pkg\n   :members:\n",
    }
    conf = 'extensions.append("sphinx.ext.autodoc")\n'
    project = Project(tmp_path_factory.mktemp("docstring"), files, conf)
    told = project.build("html").warnings
    assert len(told) == 1
    assert re.search(r"pkg\.py:docstring of pkg\.double:7: WARNING: claim 'two' is false", told[0])


def test_a_translation_is_judged_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = {
        "docs/index.md": f"# P\n{BLOCK}\nIt has {{jaxpr:val}}`len(dense)` equations,\nand so on.\n",
        "docs/locale/de/LC_MESSAGES/index.po": """
            msgid ""
            msgstr "Content-Type: text/plain; charset=UTF-8"

            msgid "It has {jaxpr:val}`len(dense)` equations, and so on."
            msgstr "Es hat {jaxpr:val}`len(dense)` Gleichungen, {jaxpr:claim}`5 <len(dense) == 5>`."
            """,
    }
    conf = 'language = "de"\nlocale_dirs = ["locale"]\ngettext_compact = False\n'
    project = Project(tmp_path_factory.mktemp("german"), files, conf)
    done = project.build("html")
    assert "Es hat 4 Gleichungen, 5." in done.page("index").get_text()
    assert len(done.warnings) == 1, done.warnings
    assert re.search(r"index\.md:13: WARNING: claim '5' is false", done.warnings[0])


def test_a_block_of_another_project(tmp_path_factory: pytest.TempPathFactory) -> None:
    first = Project(tmp_path_factory.mktemp("first"), {"docs/index.md": MD})
    assert first.build("html").code == 0
    inventory = first.folder / "out" / "html" / "objects.inv"
    conf = (
        'extensions.append("sphinx.ext.intersphinx")\n'
        f'intersphinx_mapping = {{"p": ("https://example.org/p/", {str(inventory)!r})}}\n'
    )
    page = "# Q\n\n{jaxpr:ref}`there <dense.grad>` {jaxpr:ref}`dense.gard`\n\n[](dense.vmap)\n"
    second = Project(tmp_path_factory.mktemp("second"), {"docs/index.md": page}, conf)
    done = second.build("html", "-n")
    links = [str(a["href"]) for a in done.page("index").select("a.external")]
    assert "https://example.org/p/index.html#jaxpr-dense.grad" in links
    assert any("block 'dense.gard'" in one for one in done.warnings), done.warnings
