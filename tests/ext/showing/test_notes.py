"""Notes at equations: in MyST and rST, in every format, wrong ones told at their line."""

from __future__ import annotations

import re

import pytest

from tests.support import Build, Project

pytestmark = pytest.mark.once

CALL = "layers:dense"
ARGS = "x=bf16[32,64], w=bf16[64,64], b=bf16[64]"
BODY = """
[tanh]
    The *activation*, see {doc}`other`.

    A second paragraph with `code`.

grad.transpose[dot_general]
    The cotangent of the weights.

scan[scan].jaxpr[add]
    Inside the body.
"""
OPTIONS = f":args: {ARGS}\n:transforms: grad(argnums=w), scan\n"
PAGE = f"# P\n\n```{{jaxpr-transform}} {CALL}\n{OPTIONS}{BODY}```\n"
WRONG = """
[tanhh]
    Kept text.

grad[mul_by_two]
    More kept text.

    [add]
        Indented.

[add]

grad[convert_element_type]
    Which of them?
"""


def rst(body: str) -> str:
    lines = f".. jaxpr-transform:: {CALL}\n{OPTIONS}{body}".splitlines()
    indented = [lines[0], *(f"   {line}" if line else "" for line in lines[1:])]
    return "Other\n=====\n\n" + "\n".join(indented) + "\n"


def as_rst(body: str) -> str:
    return body.replace("{doc}`other`", ":doc:`index`").replace("`code`", "``code``")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {
        "docs/index.md": f"{PAGE}\n```{{toctree}}\nother\n```\n",
        "docs/other.rst": rst(as_rst(BODY)),
    }
    return Project(tmp_path_factory.mktemp("notes"), files)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


@pytest.mark.parametrize("name", ["index", "other"])
def test_markers_and_texts_lead_to_one_another(built: Build, name: str) -> None:
    page = built.page(name)
    markers = page.select("a.jaxpr-marker")
    primitives = [marker.find_parent(class_="jaxpr-eqn")["data-primitive"] for marker in markers]
    assert primitives == ["tanh", "dot_general", "add"]
    for marker in markers:
        item = page.find(id=str(marker["href"]).removeprefix("#"))
        assert item.name == "li"
        back = str(item.select_one("a.reference.internal")["href"]).removeprefix("#")
        assert page.find(id=back) is marker.find_parent(class_="jaxpr-eqn")
    first = page.select_one("ol.jaxpr-notes li")
    assert first.select_one("em").get_text() == "activation"
    assert len(first.select("p")) == 3
    assert not page.select(".jaxpr-line .jaxpr-marker")


def test_texts_are_those_of_jax_all_the_same(built: Build) -> None:
    assert built.texts("index") == built.texts("other")


@pytest.mark.parametrize("builder", ["text", "latex", "man", "texinfo", "singlehtml"])
def test_other_formats(project: Project, built: Build, builder: str) -> None:
    doctrees = str(project.folder / "out" / "html" / ".doctrees")
    done = project.build(builder, "-W", "-n", "-d", doctrees)
    assert (done.code, done.stderr, done.traced) == (0, "", 0)
    if builder == "text":
        text = (done.out / "index.txt").read_text("utf-8")
        assert "([tanh])" in text
        assert "The cotangent of the weights." in text
    if builder == "latex":
        text = next(done.out.glob("*.tex")).read_text("utf-8")
        for start, name in (("index", "note-1"), ("other", "2-note-1")):
            back = rf"\hyperref[\detokenize{{{start}:jaxpr-dense.grad}}]"
            there = rf"\hyperref[\detokenize{{{start}:jaxpr-dense.grad-{name}}}]"
            label = rf"\label{{\detokenize{{{start}:jaxpr-dense.grad-{name}}}}}"
            assert back in text and there in text and label in text
    if builder == "texinfo":
        text = next(done.out.glob("*.texi")).read_text("utf-8")
        note, block = (
            re.search(rf"@anchor{{index {name}}}@anchor{{(\w+)}}", text)[1]
            for name in ("jaxpr-dense grad-note-1", "jaxpr-dense grad")
        )
        assert f"@ref{{{note},,1}}" in text and f"@ref{{{block},,p}} (grad.transpose" in text


@pytest.mark.parametrize("markup", ["md", "rst"])
def test_wrong_notes_are_told_at_their_lines_and_kept(
    tmp_path_factory: pytest.TempPathFactory, markup: str
) -> None:
    page = PAGE.replace(BODY, WRONG) if markup == "md" else rst(WRONG)
    project = Project(tmp_path_factory.mktemp(markup), {f"docs/index.{markup}": page})
    lines = page.splitlines()

    def line_of(text: str) -> int:
        return next(n for n, line in enumerate(lines, 1) if line.strip() == text)

    for _ in range(2):
        done = project.build("html")
        told = {warning.partition("docs/")[2] for warning in done.warnings}
        expected = {
            f"index.{markup}:{line_of('[tanhh]')}": "nearest: tanh (1)",
            f"index.{markup}:{line_of('grad[mul_by_two]')}": "`dense.grad` has no equation",
            f"index.{markup}:{line_of('grad[convert_element_type]')}": "convert_element_type",
        }
        for place, part in expected.items():
            assert any(one.startswith(place) and part in one for one in told), (place, told)
        empty = [n for n, line in enumerate(lines, 1) if line.strip() == "[add]"][-1]
        assert any(one.startswith(f"index.{markup}:{empty}") for one in told), told
        assert any("has no text" in one for one in told)
    shown = done.page("index").get_text()
    for text in ("Kept text.", "More kept text.", "Which of them?"):
        assert text in shown


def test_texts_stay_where_nothing_is_traced(project: Project, built: Build) -> None:
    done = project.build("text", "-W", "-D", "jaxpr_mode=skip")
    assert (done.code, done.stderr, done.traced) == (0, "", 0)
    assert "Inside the body." in (done.out / "index.txt").read_text("utf-8")


def test_a_block_that_fails_hides_no_wrong_note_of_another(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    page = """
        # P

        ```{jaxpr-transform} layers:dense
        :args: x=f32[2,3], w=f32[3,4], b=f32[4]
        :transforms: scan(carry=b), grad(sum=False)
        :raises: TypeError

        [mul]
            Told.

        scan[tanh]
            Of a block that failed, which was told.

        grad[add]
            Told: there is the error that was expected, and no program.
        ```
        """
    project = Project(tmp_path_factory.mktemp("raises"), {"docs/index.md": page})
    told = [one for one in project.build("html").warnings if "[jaxpr.path]" in one]
    assert len(told) == 2, told
    assert "index.md:8: WARNING: note at '[mul]': `dense` has no equation `mul`" in told[0]
    assert "index.md:14: WARNING: note at 'grad[add]': `dense.grad` has no program" in told[1]
