"""Words of roles: where they end, their markup in both languages, letters, and short roles."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from bs4 import BeautifulSoup
from docutils import nodes

from sphinx_jaxpr.ext.nodes import jaxpr_statement
from sphinx_jaxpr.ext.reading.words import split, unescaped, without_links, written
from tests.support import Build, Project

# --- where the words end

SPLIT = [
    # text, words and expression in Markdown, in rST (None: the same)
    ("four <len(f) < 5>", ("four", "len(f) < 5"), None),
    ("`a<b` and ``c`<d`` <f>", ("`a<b` and ``c`<d``", "f"), None),
    ("one ` <f>", ("one `", "f"), None),
    (r"a \< b <f>", (r"a \< b", "f"), None),
    ("see <https://x.y/z> <f>", ("see <https://x.y/z>", "f"), None),
    ("here <https://x.y/z>", ("here", "https://x.y/z"), None),
    ("$a<b$ <f>", ("$a<b$", "f"), ("$a", "b$ <f")),
    ("[t](<a b>) <f>", ("[t](<a b>)", "f"), ("[t](", "a b>) <f")),
    ("<b>x</b><br> <f>", ("<b>x</b><br>", "f"), ("", "b>x</b><br> <f")),
    ('new <jax > "0.7" and jax < "0.9">', ("new", 'jax > "0.7" and jax < "0.9"'), None),
    ("the block <br>", ("the block", "br"), None),
    ("{jaxpr:claim}`x <y>` z <f>", ("{jaxpr:claim}`x <y>` z", "f"), None),
    ("over\n two  lines <f>", ("over two lines", "f"), None),
    ("<#name>", ("", "#name"), None),
    ("a < b", ("a < b", ""), None),
    ("", ("", ""), None),
]


@pytest.mark.parametrize(("text", "markdown", "rst"), SPLIT)
def test_the_first_angle_outside_of_markup_ends_the_words(
    text: str, markdown: tuple[str, str], rst: tuple[str, str] | None
) -> None:
    assert split(text, is_markdown=True) == markdown
    assert split(text, is_markdown=False) == (rst or markdown)


def test_a_split_loses_nothing() -> None:
    draw = random.Random(4)
    signs = [*"`<>$\\[]() ab/#:-!", "``", "</a>", "<a>", "\0"]
    for is_markdown in (True, False):
        for _ in range(3000):
            text = " ".join("".join(draw.choices(signs, k=draw.randrange(14))).split())
            words, expression = split(text, is_markdown=is_markdown)
            assert text.startswith(words)
            if is_markdown and expression:
                parts = rf"{re.escape(words)} ?< ?{re.escape(expression)} ?>"
                assert re.fullmatch(parts, text)
            elif "<" not in text or not text.endswith(">"):
                assert words == text


def test_a_backquote_is_escaped_in_a_role_of_rst() -> None:
    # As docutils gives it: escaped characters are marked with a null.
    text = "\0`\0`a\0`\0` \0*b \0\\\0`c"
    assert written(text, is_markdown=False) == r"``a`` \*b \`c"
    assert unescaped(r"a\*b\ c") == "a*bc"


# --- in pages

#: The same sentences in Markdown and in rST.
SENTENCES = [
    (
        "A {jaxpr:claim}``the weights `w` are *one* **matrix** {math}`a<b` <len(dense) == 5>``.",
        r"A :jaxpr:claim:`the weights \`\`w\`\` are *one* **matrix** :math:\`a<b\`"
        " <len(dense) == 5>`.",
    ),
    (
        "B\n{jaxpr:claim}``[a page](https://a.b/c) and {term}`here`\nare {jaxpr:val}`len(dense)`"
        " \\<i> <len(dense) == 6>``.",
        "B\n:jaxpr:claim:`\\`a page <https://a.b/c>\\`__ and :term:\\`here\\`\n"
        "are :jaxpr:val:\\`len(dense)\\` \\<i> <len(dense) == 6>`.",
    ),
    (
        "> C\n> {jaxpr:eqn}``the *kept* `tanh` {jaxpr:prim}`tanh`[^1]\n> [x](https://a.b)"
        " <dense.grad[tanh]>``.",
        "..\n\n   C\n   :jaxpr:eqn:`the *kept* \\`\\`tanh\\`\\` :jaxpr:prim:\\`tanh\\`\\ [1]_\n"
        "   \\`x <https://a.b>\\`__ <dense.grad[tanh]>`.",
    ),
    (
        "- D {jaxpr:var}`dense.inputs` {jaxpr:var}``the *bias* <dense.inputs[b]>``"
        " {jaxpr:claim}``from {jaxpr:var}`dense[tanh].inputs` <dense[tanh]>``.",
        r"- D :jaxpr:var:`dense.inputs` :jaxpr:var:`the *bias* <dense.inputs[b]>`"
        r" :jaxpr:claim:`from :jaxpr:var:\`dense[tanh].inputs\` <dense[tanh]>`.",
    ),
    (
        "E {jaxpr:var}`dense[tanh]` {jaxpr:ref}``the `grad` <dense.grad>`` {jaxpr:ref}`top`.",
        r"E :jaxpr:var:`dense[tanh]` :jaxpr:ref:`the \`\`grad\`\` <dense.grad>` :jaxpr:ref:`top`.",
    ),
    (
        "```{default-domain} jaxpr\n```\n\nF {claim}``a `q` <len(dense) == 7>`` {val}`len(dense)`"
        " {eqn}`dense[tanh]` {prim}`tanh` {var}`dense.inputs[w]`.",
        ".. default-domain:: jaxpr\n\nF :claim:`a \\`\\`q\\`\\` <len(dense) == 7>`"
        " :val:`len(dense)` :eqn:`dense[tanh]` :prim:`tanh` :var:`dense.inputs[w]`.",
    ),
    (
        "G {ref}``the `grad` <dense.grad>`` {ref}`top` {ref}`T *x* <Top>` {ref}`genindex`"
        " {ref}`tpo` {jaxpr:val}`1` {doc}`last` {math}`b` {ref}`!b` {ref}`ignored`.",
        "G :ref:`the \\`\\`grad\\`\\` <dense.grad>` :ref:`top` :ref:`T *x* <Top>` :ref:`genindex`"
        " :ref:`tpo` :jaxpr:val:`1` :doc:`last` :math:`b` :ref:`!b` :ref:`ignored`.",
    ),
]
BLOCK = "jaxpr-transform} layers:dense\n:name: dense\n:args: x=f32[8,4], w=f32[4,4], b=f32[4]"
MD = f"(top)=\n# Top\n\n```{{{BLOCK}\n:transforms: grad(argnums=w)\n```\n\n"
TITLE = "# H {claim}``*i* `j` {val}`1` <len(dense) == 4>`` {ref}`top`\n"
PAGES = {
    "docs/index.md": MD
    + "\n\n".join(text for text, _ in SENTENCES)
    + "\n\n[^1]: Note.\n\n"
    + TITLE,
    "docs/other.rst": "Other\n=====\n\n"
    + "\n\n".join(text for _, text in SENTENCES)
    + "\n\n.. [1] Note.\n",
    "docs/last.md": "# Last\n\nHere the domain has ended: {ref}`top`, {claim}`x <len(dense)>`.\n\n"
    "One line,\nanother {jaxpr:claim}``x <p>` one.\n"
    "\n```{glossary}\nhere\n  Text.\n```\n\n```{toctree}\nother\n```\n",
}
CONF = """
locale_dirs = ["../locale"]
jaxpr_cache_dir = "../cache"
nitpick_ignore = [("ref", "ignored")]
"""
TREE = "\n```{toctree}\nlast\n```\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {**PAGES, "docs/index.md": PAGES["docs/index.md"] + TREE}
    return Project(tmp_path_factory.mktemp("words"), files, CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-n")
    assert done.code == 0, done.stderr
    return done


def sentences(page: BeautifulSoup) -> list[Any]:
    """The paragraphs of the sentences, by their first letter."""
    texts = [p for p in page.select("p") if re.match(r"[A-G]\s", p.get_text())]
    return sorted(texts, key=lambda paragraph: paragraph.get_text())


def test_both_languages_show_the_same(built: Build) -> None:
    shown = []
    for name in ("index", "other"):
        # What a link is to another page is a link to the same page for the other.
        html = [" ".join(str(one).split()) for one in sentences(built.page(name))]
        html = [re.sub(r' (href|id|data-\w+)="[^"]*"', "", text) for text in html]
        shown.append([text.replace("external", "internal") for text in html])
    for one, other in zip(*shown, strict=True):
        assert one == other
    assert len(shown[0]) == len(SENTENCES)


def test_markup_of_words_is_shown_and_links_are_never_nested(built: Build) -> None:
    for name in ("index", "other"):
        page = built.page(name)
        assert not page.select("a a")
        first, second, third, *_ = sentences(page)
        assert [tag.name for tag in first.select_one(".jaxpr-claim").find_all(True)] == [
            *("code", "span", "em", "strong", "span")
        ]
        assert "".join(second.select_one(".jaxpr-claim").strings).startswith(
            "a page and here are 4 <i>"
        )
        assert [a["href"].rpartition("#")[2] for a in second.select("a")] == [
            *("https://a.b/c", "term-here")
        ]
        link, note = third.select("a")
        assert link["href"].endswith("#jaxpr-dense.grad-eqn-3")
        assert " ".join(link.get_text().split()) == "the kept tanh tanh x"
        assert note["role"] == "doc-noteref"


def test_letters_are_those_of_the_block_and_name_their_variables(built: Build) -> None:
    page = built.page("index")
    letters = sentences(page)[3].select(".jaxpr-letter")
    figure = page.select_one("#jaxpr-dense")
    assert figure is not None
    for one in letters:
        assert one["data-block"] == "jaxpr-dense"
        named = {v.get_text() for v in figure.select(f'.jaxpr-var[data-var="{one["data-var"]}"]')}
        assert named == {one.get_text()} or one.get_text() == "the bias"
    assert [one.get_text() for one in letters] == ["a", "b", "c", "the bias", "f"]
    assert [one.a["href"] for one in letters][2:] == [*["#jaxpr-dense"] * 2, "#jaxpr-dense-eqn-2"]
    assert sentences(page)[4].select_one(".jaxpr-letters").get_text() == "?"
    away = sentences(built.page("other"))[3].select(".jaxpr-letter")
    assert not any(one.has_attr("data-block") for one in away)


def test_short_roles_are_those_of_the_domain_or_what_they_were(built: Build) -> None:
    for name in ("index", "other"):
        short, refs = sentences(built.page(name))[5:]
        assert short.get_text() == "F a q 4 dense[tanh] tanh b."
        assert refs.get_text() == "G the grad Top T *x* Index tpo 1 Last \\(b\\) b ignored."
        classes = [a.span["class"] for a in refs.select("a")]
        assert classes == [["jaxpr-link"], *[["std", "std-ref"]] * 3, ["doc"]]
    assert built.page("last").select_one("p a.reference").get_text() == "Top"


WARNINGS = [
    # page, line, part of the message
    ("other.rst", 13, "jaxpr:eqn: its words 'the kept tanh tanh1 x' are a link"),
    ("index.md", 10, "claim 'the weights w are one matrix a<b' is false"),
    ("index.md", 13, "claim 'a page and here are len(dense) <i>' is false"),
    ("index.md", 17, "'x' links to nothing [jaxpr.option]"),
    ("index.md", 22, "letter of 'dense[tanh]': this is `dense[tanh]`"),
    ("index.md", 22, "block 'top': there is no block `top`"),
    ("index.md", 27, "claim 'a q' is false"),
    ("index.md", 29, "block or label 'tpo': there is no block `tpo`"),
    ("index.md", 29, "and there is no label 'tpo' [jaxpr.path]"),
    ("index.md", 33, "jaxpr:claim cannot be used in a title"),
    ("index.md", 33, "only the words 'i j 1' are kept"),
    ("index.md", 33, "jaxpr:val cannot be used in a title"),
    ("last.md", 6, "{jaxpr:claim} is text here, and nothing is checked: as many backquotes"),
]


def test_findings_have_their_lines_and_plain_words(built: Build, project: Project) -> None:
    for page, line, text in WARNINGS:
        assert any(f"{page}:{line}: " in w and text in w for w in built.warnings), (
            page,
            line,
            text,
        )
    assert not any("ignored" in w for w in built.warnings)
    assert any('Unknown interpreted text role "claim"' in w for w in built.warnings)  # in last.md
    again = project.build("jaxpr-check", "-n")
    report = json.loads((again.out / "output.json").read_text())
    words = {row["words"] for row in report["sentences"] if row["what"] == "claim"}
    assert {"the weights w are one matrix a<b", "a page and here are len(dense) <i>"} <= words
    values = [
        r["value"] for r in report["sentences"] if r["what"] == "var" and r["page"] == "index"
    ]
    assert [*values[:3], values[4]] == ["a b c", "c", "f", "b"]
    refs = [r["expression"] for r in report["sentences"] if r["what"] == "ref"]
    assert refs == [*["dense.grad", "top", "dense.grad", "tpo"] * 2]


def test_a_title_keeps_the_words_with_their_markup(built: Build) -> None:
    title = built.page("index").select("h1")[1]
    assert [tag.name for tag in title.find_all(True)][:3] == ["em", "code", "span"]
    assert title.a.get_text() == "Top"
    entry = built.page("last").select_one('.sphinxsidebar a[href*="#h-i-j"]')
    assert entry is None or entry.code is not None


def test_other_formats_and_translations(project: Project, built: Build) -> None:
    tex = (project.build("latex", "-q").out / "p.tex").read_text("utf-8")
    assert r"are \sphinxstyleemphasis{one} \sphinxstylestrong{matrix} \(a<b\)" in tex
    for link in re.findall(r"\\hyperref\[[^]]*\]\{\\sphinxcrossref\{(.*?)\}\}", tex):
        assert "hyperref" not in link and "href" not in link
    assert r"D \DUrole{jaxpr-letters}{{\hyperref[\detokenize{index:jaxpr-dense}]" in tex
    pots = project.build("gettext", "-q").out
    messages = Catalog(locale="de")
    for name in ("index", "other"):
        with (pots / f"{name}.pot").open(encoding="utf-8") as stream:
            (first,) = (str(m.id) for m in read_po(stream) if str(m.id).startswith("A "))
        assert " ".join(SENTENCES[name == "other"][0].split())[:9] in first or "weights" in first
        messages.add(first, first.replace("the weights", "die *Gewichte*"))
        folder = project.folder / "locale/de/LC_MESSAGES"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.mo").open("wb") as stream:
            write_mo(stream, messages)
    german = project.build("html", "-D", "language=de", "-E")
    for name in ("index", "other"):
        claim = sentences(german.page(name))[0].select_one(".jaxpr-claim")
        assert claim.get_text().startswith("die Gewichte w are one")
        assert [tag.name for tag in claim.find_all("em")] == ["em", "em"]
    assert any("index.md:10: " in w and "die Gewichte w are one" in w for w in german.warnings)


def test_a_link_that_words_lose_leaves_its_ids() -> None:
    wrong = nodes.problematic("x", "x", ids=["id2"], refid="id1")
    statement = jaxpr_statement("", "", wrong)
    paragraph = nodes.paragraph("", "", statement)
    assert without_links(statement) == ["x"]
    assert paragraph.astext() == "x" and statement[0]["ids"] == ["id2"]
