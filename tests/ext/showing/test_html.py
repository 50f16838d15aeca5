"""The HTML of a block keeps its contract, whatever the program."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import html5lib
import jax
import jax.numpy as jnp
import pytest
from bs4 import BeautifulSoup, Tag

from sphinx_jaxpr.program.html.code import Marks, code
from sphinx_jaxpr.program.parser.parser import parse
from tests.ext.builds import book
from tests.support import Build, Project

pytestmark = pytest.mark.once

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("book"), book.FILES, book.CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "--keep-going", "-n")
    assert (done.code, done.warnings) == (0, []), done.stderr
    return done


@pytest.fixture(scope="module")
def page(built: Build) -> BeautifulSoup:
    return built.page("blocks")


@pytest.fixture(scope="module")
def forms(project: Project) -> ModuleType:
    """The code of the book, imported here to be traced without the extension."""
    spec = importlib.util.spec_from_file_location("forms", project.folder / "src" / "forms.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def half(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def direct(forms: ModuleType) -> dict[str, Any]:
    """The programs of the page as a user of JAX makes them."""
    dense = forms.dense
    layer = (half(32, 64), half(64, 64), half(64))
    calls: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "dense": (dense, layer),
        "dense.grad": (jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1), layer),
        "dense.vmap": (
            jax.vmap(dense, in_axes=(0, None, None)),
            (half(8, 32, 64), *layer[1:]),
        ),
        "dense.scan": (
            lambda x, w, b: jax.lax.scan(lambda x, w: (dense(x, w, b), None), x, w, length=4)[0],
            (layer[0], half(4, 64, 64), layer[2]),
        ),
        "dense.remat_grad": (
            jax.grad(lambda x, w, b: jax.remat(dense)(x, w, b).sum(), argnums=1),
            layer,
        ),
        "relus": (forms.relus, (floats(8), floats(8))),
        "relus.grad": (jax.grad(lambda x, y: forms.relus(x, y).sum()), (floats(8), floats(8))),
        "nested": (forms.nested, (floats(),)),
        "nothing": (forms.nothing, ()),
        "noisy": (forms.noisy, (floats(),)),
        "noisy.grad": (jax.grad(forms.noisy), (floats(),)),
        "told": (forms.told, (floats(),)),
        "told.grad": (jax.grad(forms.told), (floats(),)),
        "lookup": (forms.lookup, (floats(2, 4000),)),
    }
    for name in (
        "double",
        "choose",
        "until",
        "clipped",
        "host",
        "identity",
        "silent",
        "compares",
        "tall",
    ):
        calls[name] = (getattr(forms, name), (floats(8),))
    calls["long_parameter"] = (forms.long_parameter, (floats(8),))
    return {name: jax.make_jaxpr(function)(*args) for name, (function, args) in calls.items()}


def test_texts_are_jaxs_to_the_letter(built: Build, forms: ModuleType) -> None:
    wanted = {name: ADDRESS.sub("0x" + "X" * 12, str(p)) for name, p in direct(forms).items()}
    texts = {
        key.removeprefix("jaxpr-"): text for key, text in built.texts("blocks").items() if text
    }
    assert set(texts) - set(wanted) == {"dense.shard_map"}
    for name, text in wanted.items():
        assert texts[name] == text, name
    sharded = texts["dense.shard_map"]
    assert "mesh=AbstractMesh('data': 8" in sharded and sharded.endswith("in (d,) }")
    assert "0xXXXXXXXXXXXX" in texts["host"] or "0x" not in texts["host"]


def walk(jaxpr: Any, stem: str) -> Iterator[tuple[str, str]]:
    """Id and primitive of each equation, of a program that shares none."""
    for place, equation in enumerate(getattr(jaxpr, "jaxpr", jaxpr).eqns):
        identity = f"{stem}-{place}"
        yield identity, equation.primitive.name
        inner = [
            program
            for _, value in sorted(equation.params.items())  # as JAX prints them
            for program in (value if isinstance(value, (tuple, list)) else [value])
            if hasattr(getattr(program, "jaxpr", program), "eqns")
        ]
        for index, program in enumerate(inner):
            yield from walk(program, f"{identity}-{index}")


def equations(figure: Tag) -> list[tuple[str, str]]:
    return [(str(e["id"]), str(e["data-primitive"])) for e in figure.select(".jaxpr-eqn")]


def test_equations_have_ids_by_position(page: BeautifulSoup, forms: ModuleType) -> None:
    programs = direct(forms)
    for name in ("dense", "dense.grad", "nested", "choose", "until", "tall", "dense.remat_grad"):
        figure = page.find(id=f"jaxpr-{name}")
        assert isinstance(figure, Tag)
        wanted = set(walk(programs[name], f"jaxpr-{name}-eqn"))
        assert set(equations(figure)) == wanted, name
    choose = dict(equations(page))
    assert choose["jaxpr-choose-eqn-3"] == "cond"
    assert choose["jaxpr-choose-eqn-3-1-0"] == "sin"  # second branch
    assert choose["jaxpr-nested-eqn-0-0-1"] == "scan"
    assert "jaxpr-relus-let-0-eqn-0" in choose


def test_phases(page: BeautifulSoup) -> None:
    def phases(block: str) -> set[str]:
        figure = page.find(id=f"jaxpr-{block}")
        assert isinstance(figure, Tag)
        return {str(e.get("data-phase")) for e in figure.select(".jaxpr-eqn")}

    assert phases("dense") == {"None"}
    assert {"forward", "transpose"} <= phases("dense.grad") <= {"forward", "transpose", "None"}
    assert {"forward", "transpose", "recomputed"} <= phases("dense.remat_grad")


def test_variables_are_one_number_per_binding(page: BeautifulSoup) -> None:
    figure = page.find(id="jaxpr-compares")
    assert isinstance(figure, Tag)
    variables = figure.select(".jaxpr-var[data-var]")
    binders = [v["data-var"] for v in variables if "jaxpr-binder" in v["class"]]
    assert len(binders) == len(set(binders))
    assert {v["data-var"] for v in variables} == set(binders)
    # JAX reuses letters in the body of the inner jit: other variables.
    letters = [v.get_text() for v in variables if "jaxpr-binder" in v["class"]]
    assert letters.count("d") == 2


def test_one_details_with_a_plain_summary(page: BeautifulSoup, forms: ModuleType) -> None:
    figures = page.select("figure.jaxpr")
    assert len(figures) > 20
    for figure in figures:
        details = figure.find_all("details", recursive=False)
        assert len(details) == 1
        summary = details[0].find(True)
        assert isinstance(summary, Tag) and summary.name == "summary"
        assert summary.get_text().strip()
        assert not summary.select("a, button, pre, div, details")
    summary = page.select_one("#jaxpr-dense\\.grad summary")
    assert summary is not None
    call = "jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)"
    count = len(direct(forms)["dense.grad"].eqns)
    keeps = f"keeps 3 values, {3 * 32 * 64 * 2 / 1000:.1f} kB, for the backward part"
    text = f"{call} grows 4 → {count} equations; {keeps} forward transpose"
    assert summary.get_text() == text


@pytest.mark.parametrize(
    ("block", "changes"),
    [
        ("dense", []),
        ("dense\\.scan", ["added", "kept", "kept", "kept", "kept"]),
        ("dense\\.vmap", ["reshaped", "kept", "added", "reshaped", "reshaped"]),
    ],
)
def test_changes_against_the_base(page: BeautifulSoup, block: str, changes: list[str]) -> None:
    found = page.select(f"#jaxpr-{block} .jaxpr-eqn")
    assert [eqn["data-change"] for eqn in found if "data-change" in eqn.attrs] == changes


def test_marks_are_said_outside_the_lines(page: BeautifulSoup) -> None:
    block = page.select_one("#jaxpr-dense\\.grad")
    assert block is not None
    assert [mark.get_text() for mark in block.select(".jaxpr-phase")] == ["forward", "transpose"]
    spoken = {mark.get_text() for mark in block.select(".jaxpr-spoken")}
    assert spoken == {"forward: ", "added: ", "added, forward: ", "added, transpose: "}
    assert not page.select(".jaxpr-line .jaxpr-phase, .jaxpr-line .jaxpr-spoken")


@pytest.mark.parametrize(
    ("block", "count"),
    [
        ("identity", "0 equations"),
        ("nothing", "0 equations"),
        ("silent", "1 equation"),
        ("dense\\.scan", "4 → 1 equation (5 with nested)"),
        ("nested", "1 equation"),
    ],
)
def test_counts(page: BeautifulSoup, block: str, count: str) -> None:
    found = page.select_one(f"#jaxpr-{block} .jaxpr-count")
    assert found is not None and found.get_text().startswith(count)


def test_nested_bodies_fold_on_their_own(page: BeautifulSoup) -> None:
    bodies = page.select("#jaxpr-nested details.jaxpr-body")
    assert len(bodies) == 2 and bodies[1] in bodies[0].find_all("details")
    assert all(body.has_attr("open") for body in bodies)
    # What a body returns stays in sight when it is folded.
    lines = [line.get_text() for line in page.select("#jaxpr-nested .jaxpr-line")]
    inside = [line.get_text() for line in bodies[0].select(".jaxpr-line")]
    returns = [line for line in lines if line.strip().startswith("in (")]
    assert len(returns) == 3 and returns[1] not in inside
    note = bodies[1].select_one("summary .jaxpr-note")
    assert note is not None and "equation" in note.get_text()
    assert not note.find_parents(class_="jaxpr-line")


def test_effects_and_captured_arrays_are_told(page: BeautifulSoup) -> None:
    def about(block: str) -> str:
        caption = page.select_one(f"#jaxpr-{block} figcaption")
        return caption.get_text() if caption else ""

    assert "effects: Debug" in about("noisy")
    assert "effects: Debug" in about("noisy\\.grad")
    assert "the base has effects that are lost here: Debug" in about("told\\.grad")
    assert "lost" not in about("told")
    assert "64 MB captured: f32[4000,4000]" in about("lookup")
    assert f"JAX {jax.__version__}" in about("dense")
    assert "x: bf16[32,64]" in about("dense")


def test_captured_values_are_nowhere(project: Project, built: Build) -> None:
    [pack] = (project.folder / "cache").glob("*.pack")
    results = pack.read_bytes().splitlines()
    assert len(results) > 20
    assert max(map(len, results)) < 100_000
    figure = built.page("blocks").find(id="jaxpr-lookup")
    assert len(str(figure)) < 3_000


def test_expected_error(page: BeautifulSoup) -> None:
    figure = page.find(id="jaxpr-refused")
    assert isinstance(figure, Tag)
    assert "jaxpr-raises" in figure["class"]
    assert figure.details is not None and figure.details.has_attr("open")
    assert "TypeError: x <must> be & small" in figure.get_text()
    assert not figure.select(".jaxpr-line, must")


def test_source_is_above(page: BeautifulSoup) -> None:
    source = page.select_one(".jaxpr-source")
    assert source is not None
    assert '"""A layer: <tanh> & more."""' in source.get_text()


def test_captions_keep_their_roles(page: BeautifulSoup, built: Build) -> None:
    caption = page.select_one("#jaxpr-dense .jaxpr-caption")
    assert caption is not None and caption.get_text() == "One small layer, w as in there."
    assert caption.em is not None and caption.code is not None
    assert caption.a is not None and caption.a["href"] == "places.html#there"
    assert page.select_one("#jaxpr-dense\\.grad .jaxpr-caption") is None
    for name in ("places", "other"):
        link = built.page(name).select_one("#jaxpr-shared .jaxpr-caption a")
        assert link is not None and str(link["href"]).endswith("#there")


# --- the document around it -------------------------------------------------

#: Elements that stand only where blocks may.
BLOCKS = ("div", "figure", "details", "pre", "p", "ul", "figcaption")


def check_nesting(page: BeautifulSoup) -> None:
    ids = [str(element["id"]) for element in page.select("[id]")]
    assert len(ids) == len(set(ids))
    for figure in page.select("figure.jaxpr"):
        for element in figure.find_all(True):
            if element.name in ("span", "pre", "summary", "code", "p"):
                assert not element.find(BLOCKS), element
        assert not figure.find_parents(("p", "span"))


@pytest.mark.parametrize("name", ["blocks", "places", "other"])
def test_pages_are_valid_html(built: Build, name: str) -> None:
    text = (built.out / f"{name}.html").read_text("utf-8")
    html5lib.HTMLParser(strict=True).parse(text)
    # html5lib closes what has to be closed: the tree is the one that we wrote.
    tree = BeautifulSoup(text, "html5lib")
    ours = BeautifulSoup(text, "html.parser")
    assert [e["id"] for e in tree.select("[id]")] == [e["id"] for e in ours.select("[id]")]
    for one, other in zip(tree.select("figure"), ours.select("figure"), strict=True):
        assert [e.name for e in one.find_all(True)] == [e.name for e in other.find_all(True)]
    check_nesting(ours)


def test_book_pages_are_valid_xhtml(project: Project) -> None:
    done = project.build("epub", "-W", "-n", "-d", str(project.folder / "doctrees"))
    assert (done.code, done.warnings, done.traced) == (0, [], 0), done.stderr
    space = "{http://www.w3.org/1999/xhtml}"
    for name in ("blocks", "places", "other", "plain"):
        root = ElementTree.fromstring((done.out / f"{name}.xhtml").read_text("utf-8"))
        body = root.find(f"{space}body")
        assert body is not None
        assert not list(body.iter(f"{space}script"))
        details = list(body.iter(f"{space}details"))
        assert all(element.get("open") == "" for element in details)
        assert bool(details) == (name != "plain")
        links = [link.get("href", "") for link in root.iter(f"{space}link")]
        assert any("jaxpr.css" in link for link in links) == (name != "plain")
    check_nesting(BeautifulSoup((done.out / "blocks.xhtml").read_text("utf-8"), "html.parser"))
    manifest = (done.out / "content.opf").read_text("utf-8")
    assert 'href="_static/jaxpr.css"' in manifest
    assert "jaxpr.js" not in manifest and not (done.out / "_static" / "jaxpr.js").exists()


def test_style_sheet_and_script_are_where_blocks_are(built: Build, tmp_path: Path) -> None:
    for name in ("blocks", "places", "other", "plain", "index", "genindex"):
        scripts = built.page(name).select("script[src*='jaxpr.js']")
        assert len(scripts) == (name in ("blocks", "places", "other")), name
        for script in scripts:
            assert script.has_attr("defer")
            assert re.fullmatch(r"_static/jaxpr\.js\?v=[0-9a-f]+", str(script["src"]))
    sheets = {
        name: [str(link["href"]) for link in built.page(name).select("link[href*='jaxpr.css']")]
        for name in ("blocks", "places", "other", "plain", "index", "genindex")
    }
    assert not sheets["plain"] and not sheets["index"] and not sheets["genindex"]
    for name in ("blocks", "places", "other"):
        assert len(sheets[name]) == 1
        assert re.fullmatch(r"_static/jaxpr\.css\?v=[0-9a-f]+", sheets[name][0])
    assert (built.out / "_static" / "jaxpr.css").stat().st_size < 16_000
    assert not built.page("blocks").select("link[href*='jaxpr-compare.css']")
    bare = Project(tmp_path, {"docs/index.rst": "Bare\n====\n\nNothing here.\n"}).build()
    assert bare.code == 0 and not (bare.out / "_static" / "jaxpr.css").exists()
    assert not (bare.out / "_static" / "jaxpr.js").exists()


# --- open and closed --------------------------------------------------------

OPTIONS = """
Options
=======

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :transforms: grad, vmap
   :name: plain

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :transforms: grad, vmap
   :open: base
   :name: based

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :transforms: grad, vmap as mapped
   :open: grad, mapped
   :name: labels

.. jaxpr-transform:: forms:tall
   :args: x=f32[8]
   :name: tall

.. jaxpr-transform:: forms:tall
   :args: x=f32[8]
   :name: forced
   :open: all

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :open: none
   :name: closed

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :open: auto
   :name: auto
   :class: wide special

.. jaxpr-transform:: forms:lookup
   :args: x=f32[2,4000]
"""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {"docs/index.rst": OPTIONS, "src/forms.py": book.CODE}
    return Project(tmp_path_factory.mktemp("options"), files, 'jaxpr_cache_dir = "../cache"')


def is_open(build: Build) -> set[str]:
    return {
        str(figure["id"]).removeprefix("jaxpr-")
        for figure in build.page("index").select("figure.jaxpr")
        if figure.details is not None and figure.details.has_attr("open")
    }


def test_open_options_and_limits(options: Project) -> None:
    explicit = {"based", "labels.grad", "labels.mapped", "forced"}
    every = {"plain", "plain.grad", "plain.vmap", "lookup"}
    first = options.build()
    assert first.code == 0
    assert is_open(first) == explicit | every | {"auto"}
    # Above the limit of captured bytes there is one warning.
    assert len(first.warnings) == 1
    assert "lookup: 64 MB captured: f32[4000,4000] (64 MB)" in first.warnings[0]
    assert "[jaxpr.trace]" in first.warnings[0]
    figure = first.page("index").find(id="jaxpr-auto")
    assert isinstance(figure, Tag) and figure["class"] == ["jaxpr", "wide", "special"]

    wanted = {
        "none": explicit | {"auto"},
        "all": explicit | every | {"auto", "tall"},
        "base": explicit | {"plain", "lookup", "auto", "tall"},
    }
    for value, expected in wanted.items():
        done = options.build("html", "-D", f"jaxpr_open={value}")
        assert (is_open(done), done.traced) == (expected, 0), value
    # A program above the limit starts closed, where its author did not say otherwise.
    done = options.build("html", "-D", "jaxpr_open=all", "-D", "jaxpr_max_equations=1")
    assert is_open(done) == explicit | {"lookup"}


def test_limit_in_paged_formats(options: Project) -> None:
    done = options.build("latex", "-D", "jaxpr_max_equations=50")
    tex = (done.out / "p.tex").read_text("utf-8")
    assert tex.count(r"\PYG{n+nf}{cos}") == 2 * 12
    assert "... and 190 more equations, shown in HTML." in tex
    text = options.build("text", "-D", "jaxpr_max_equations=50").out / "index.txt"
    assert text.read_text("utf-8").count(" = cos ") == 2 * 60


def test_skipped_blocks_keep_their_place(options: Project) -> None:
    done = options.build("html", "-W", "-D", "jaxpr_mode=skip")
    assert (done.code, done.traced) == (0, 0)
    figures = done.page("index").select("figure.jaxpr.jaxpr-skipped")
    assert len(figures) == 14
    assert all(figure.details is not None for figure in figures)


def test_failures_are_escaped(tmp_path: Path) -> None:
    code = 'def bad(x):\n    raise ValueError("<b>bold</b> & <script>alert(1)</script>\\nsee https://a.b/c?d=e&f")\n'
    text = "Bad\n===\n\n.. jaxpr-transform:: bad:bad\n   :args: x=f32[2]\n"
    project = Project(tmp_path, {"docs/index.rst": text, "src/bad.py": code})
    done = project.build()
    assert len(done.warnings) == 1
    figure = done.page("index").select_one("figure.jaxpr.jaxpr-error")
    assert figure is not None and figure.find(("b", "script")) is None
    assert "ValueError: <b>bold</b> & <script>alert(1)</script>" in figure.get_text()
    assert figure.a is not None and figure.a["href"] == "https://a.b/c?d=e&f"
    assert str(tmp_path) not in str(figure)


def test_inputs_have_the_names_of_their_leaves() -> None:
    text = "{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }"
    html = code(parse(text), {}, "b", Marks(names=("params['w']", "x")))
    titles = re.findall(r'title="([^"]*)"[^>]*>(\w+)<', html)
    assert titles == [("params[&#x27;w&#x27;]", "a"), ("x", "b")]
