"""Every builder writes every block, whole and without a warning."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.ext.builds import book
from tests.support import Build, Project, once, require

FOREIGN = '''
"""Builders that the extension can't know."""

from docutils import nodes
from sphinx import addnodes
from sphinx.builders import Builder
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util.docutils import SphinxTranslator

STANDARD = {*nodes.node_class_names, *dir(addnodes)} - {"raw"}


class Translator(SphinxTranslator):
    """Writes all text; a node that is not docutils' or Sphinx's is a mistake."""

    def __init__(self, document, builder):
        super().__init__(document, builder)
        self.body = []

    def dispatch_visit(self, node):
        if type(node).__name__ not in STANDARD:
            raise NotImplementedError(f"unknown node {node!r}")
        if isinstance(node, nodes.Text):
            self.body.append(node.astext())
        elif isinstance(node, nodes.Body):
            self.body.append("\\n")

    def dispatch_departure(self, node):
        if isinstance(node, (nodes.literal_block, nodes.caption)):
            self.body.append("\\n")


class Foreign(Builder):
    name = "foreign"
    format = "foreign"
    default_translator_class = Translator

    def prepare_writing(self, docnames):
        pass  # before Sphinx 8 a builder must have it

    def get_outdated_docs(self):
        return self.env.found_docs

    def get_target_uri(self, docname, typ=None):
        return docname

    def write_doc(self, docname, doctree):
        translator = self.create_translator(doctree, self)
        doctree.walkabout(translator)
        (self.outdir / f"{docname}.txt").write_text("".join(translator.body), "utf-8")


class Slides(StandaloneHTMLBuilder):
    name = "slides"
    format = "slides"
    search = False


def setup(app):
    app.add_builder(Foreign)
    app.add_builder(Slides)
'''

CAPTIONS = (
    "One small layer, w as in there.",
    "On one line.",
    "Scan in scan.",
    "What a refusal looks like.",
    "In an admonition.",
    "In a list.",
    "In a table.",
    "The same local name as elsewhere.",
    "In an included file, with a link.",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    conf = book.CONF + 'extensions.append("foreign")\n'
    files = {**book.FILES, "src/foreign.py": FOREIGN}
    return Project(tmp_path_factory.mktemp("book"), files, conf)


@pytest.fixture(scope="module")
def build(project: Project) -> Callable[[str], Build]:
    """A clean build of the book, made once."""
    known: dict[str, Build] = {}

    def made(builder: str) -> Build:
        if builder not in known:
            doctrees = project.folder / "doctrees" / builder
            done = project.build(builder, "-W", "--keep-going", "-n", "-d", str(doctrees))
            assert (done.code, done.warnings) == (0, []), done.stderr
            known[builder] = done
        return known[builder]

    return made


@pytest.fixture(scope="module")
def texts(build: Callable[[str], Build]) -> dict[str, dict[str, str]]:
    """JAX's texts by page, as the HTML has them (``test_html`` compares those with JAX)."""
    done = build("html")
    found = {page: done.texts(page) for page in ("blocks", "places", "other")}
    return {page: {k: v for k, v in texts.items() if v} for page, texts in found.items()}


# --- what each format did to the text, undone -------------------------------


def from_tex(text: str) -> str:
    text = re.sub(r"\\PYG\{[^}]*\}\{((?:[^{}]|\\PYGZ\w\w\{\})*)\}", r"\1", text)
    signs = {
        "ob": "{", "cb": "}", "lt": "<", "gt": ">", "us": "_", "sh": "#", "dl": "$", "pc": "%",
        "am": "&", "ti": "~", "ca": "^", "bs": "\\", "sq": "'", "hy": "-", "dq": '"', "lb": "[",
        "rb": "]",
    }  # fmt: skip
    text = re.sub(r"\\PYGZ(\w\w)\{\}", lambda sign: signs[sign[1]], text)
    text = re.sub(r"\\sphinx(?:code|upquote|style\w+|crossref)\{", "", text)
    text = re.sub(r"\{\\hyperref\[[^]]*\]\{|\\DUrole\{[\w-]+\}\{", "", text)
    return text


def from_man(text: str) -> str:
    text = re.sub(r"\\f.", "", text)
    text = text.replace("\\%<#\\:there>\\&", "")
    for sign, meant in {"\\(dq": '"', "\\(aq": "'", "\\-": "-", "\\e": "\\", "\\&": ""}.items():
        text = text.replace(sign, meant)
    return re.sub(r"\\\((\w\w)", r"\1", text)


def from_texinfo(text: str) -> str:
    text = re.sub(r"@code\{(\w*)\}", r"\1", text)
    text = re.sub(r"@ref\{\w+,,([^}]*)\}", r"\1", text)
    text = re.sub(r"@strong\{(\w*)\}|@emph\{(\w*)\}", r"\1\2", text)
    return re.sub(r"@([{}@])", r"\1", text)


def from_xml(text: str) -> str:
    root = ElementTree.fromstring(text)
    kinds = ("literal_block", "caption", "paragraph")
    return "\n".join("".join(node.itertext()) for node in root.iter() if node.tag in kinds)


def words(text: str) -> str:
    """Letters and digits alone, for sentences whose mark-up differs."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def holds(output: str, text: str) -> bool:
    """Whether the lines of ``text`` stand one after the other in ``output``."""
    lines = [line.strip() for line in output.splitlines()]
    wanted = [line.strip() for line in text.splitlines()]
    return any(
        lines[start : start + len(wanted)] == wanted
        for start, line in enumerate(lines)
        if line == wanted[0]
    )


FORMATS = {
    "text": (("blocks.txt", "places.txt", "other.txt"), str),
    "man": (("book.1",), from_man),
    "latex": (("book.tex",), from_tex),
    "texinfo": (("book.texi",), from_texinfo),
    "xml": (("blocks.xml", "places.xml", "other.xml"), from_xml),
    "pseudoxml": (("blocks.pseudoxml", "places.pseudoxml", "other.pseudoxml"), str),
    "foreign": (("blocks.txt", "places.txt", "other.txt"), str),
}


@pytest.mark.parametrize(
    "builder", ["text", "man", "latex", "texinfo", *once("xml", "pseudoxml", "foreign")]
)
def test_plain_formats_hold_every_line_and_caption(
    builder: str, build: Callable[[str], Build], texts: dict[str, dict[str, str]]
) -> None:
    names, unescape = FORMATS[builder]
    output = "\n".join(unescape((build(builder).out / name).read_text("utf-8")) for name in names)
    for page, blocks in texts.items():
        for identity, text in blocks.items():
            if (page, identity) == ("places", "jaxpr-double-4"):  # for html alone
                assert not holds(output, text)
            elif builder == "text" and "f32[4]" in text:
                # Sphinx wraps what stands in a table.
                assert "".join(text.split()) in re.sub(r"[\s|]", "", output)
            else:
                assert holds(output, text), (page, identity)
    if builder != "pseudoxml":  # every word of a caption has a line of its own there
        for caption in CAPTIONS:
            assert words(caption) in words(output), caption
    assert "ForhtmlAlone".lower() not in words(output)
    assert (words("For latex alone") in words(output)) == (builder == "latex")
    assert (words("a:f32[6]. let") in words(output)) == (builder == "latex")
    assert "TypeError: x <must> be & small \\ {braces} 100% #1 $2 a_b ^ ~ @code" in output
    assert "not traced" not in output


PAGES = {
    "html": "{}.html",
    "dirhtml": "{}/index.html",
    "htmlhelp": "{}.html",
    "epub": "{}.xhtml",
    "slides": "{}.html",
    "json": "{}.fjson",
}


def soup(path: Path) -> BeautifulSoup:
    text = path.read_text("utf-8")
    return BeautifulSoup(
        json.loads(text)["body"] if path.suffix == ".fjson" else text, "html.parser"
    )


def shown(page: BeautifulSoup) -> dict[str, str]:
    return {
        str(figure["id"]): "\n".join(line.get_text() for line in figure.select(".jaxpr-line"))
        for figure in page.select("figure.jaxpr")
        if figure.select(".jaxpr-line")
    }


@pytest.mark.parametrize(
    "builder", ["html", "epub", *once("dirhtml", "htmlhelp", "slides", "json")]
)
def test_html_like_formats_show_the_same_figures(
    builder: str, build: Callable[[str], Build], texts: dict[str, dict[str, str]]
) -> None:
    done = build(builder)
    for name, blocks in texts.items():
        page = soup(done.out / PAGES[builder].format(name))
        ours = shown(page)
        if builder == "slides":  # the tag of its name holds, that of html does not
            blocks = {k: v for k, v in blocks.items() if "f32[5]" not in v}
        assert sorted(ours.values()) == sorted(blocks.values())
        ids = [element["id"] for element in page.select("[id]")]
        assert len(ids) == len(set(ids))
    assert "figure" not in (done.out / PAGES[builder].format("plain")).read_text("utf-8")


def test_single_page_has_every_figure_once_and_unique_ids(
    build: Callable[[str], Build], texts: dict[str, dict[str, str]]
) -> None:
    page = soup(build("singlehtml").out / "index.html")
    all_texts = [text for blocks in texts.values() for text in blocks.values()]
    assert sorted(shown(page).values()) == sorted(all_texts)
    ids = [element["id"] for element in page.select("figure.jaxpr, figure.jaxpr [id]")]
    assert len(ids) == len(set(ids)) > 100
    assert {"jaxpr-double", "jaxpr-double-2", "jaxpr-dense.grad"} <= set(ids)


@pytest.mark.parametrize("builder", ["pickle", *once("linkcheck", "doctest", "dummy", "changes")])
def test_builders_without_pages_of_their_own(builder: str, build: Callable[[str], Build]) -> None:
    build(builder)


def test_latex_keeps_headings_and_labels(build: Callable[[str], Build]) -> None:
    tex = (build("latex").out / "book.tex").read_text("utf-8")
    headings = re.findall(r"\\(?:chapter|(?:sub)*section|paragraph)\*?\{(.*?)\}", tex)
    assert headings == ["Blocks", "Places", "Where blocks stand", "Other", "Plain"]
    labels = re.findall(r"\\label\{\\detokenize\{([^}]*)\}\}", tex)
    ours = [label for label in labels if ":jaxpr-" in label]
    assert len(ours) == len(set(ours)) > 20
    # What links to a block on another page uses its name there.
    assert {"blocks:jaxpr-double", "places:jaxpr-double", "other:jaxpr-double"} <= set(ours)


def test_text_has_no_decoration_of_ours_beyond_ascii(build: Callable[[str], Build]) -> None:
    for name in ("latex/book.tex", "man/book.1", "texinfo/book.texi", "text/blocks.txt"):
        build(name.partition("/")[0])
        text = (build("text").out.parent / name).read_text("utf-8")
        ours = re.findall(r".*(?:equations?|captured|effects).*", text)
        assert len(ours) > 20
        assert "".join(ours).isascii()


def test_info_and_man_pages_render(build: Callable[[str], Build]) -> None:
    require(bool(shutil.which("makeinfo")), "makeinfo")
    require(bool(shutil.which("nroff")), "nroff")
    out = build("texinfo").out
    command = ["makeinfo", "--no-split", "book.texi"]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    info = (out / "book.info").read_text("utf-8")
    assert "g:bf16[32,64] = tanh f" in info
    page = build("man").out / "book.1"
    done = subprocess.run(
        ["nroff", "-man", "-ww", "-Tutf8", page], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "g:bf16[32,64] = tanh f" in done.stdout


def test_search_knows_functions_and_primitives_but_no_letters(
    build: Callable[[str], Build],
) -> None:
    index = (build("html").out / "searchindex.js").read_text("utf-8")
    terms = json.loads(index.removeprefix("Search.setIndex(").rstrip(")"))["terms"]
    assert {"scan", "dot_gener", "select_n", "elsewher"} <= set(terms)  # stems
    assert {"relu", "relus"} & set(terms)
    assert not [term for term in terms if "32" in term or "64" in term]
    assert "num_carri" not in terms
