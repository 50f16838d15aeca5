"""Errors that a page expects: shown, kept, and missed when they do not come."""

from __future__ import annotations

from pathlib import Path

from tests.ext.cases import Case, Page, problems, warned
from tests.support import Project

CODE = """
import jax
import jax.numpy as jnp


class OwnError(ValueError):
    pass


class Unlisted(BaseException):
    pass


def choose(x):
    if x > 0:
        return x
    return -x


def own(x):
    raise OwnError("the first\\n   of two <b>lines</b>")


def unlisted(x):
    raise Unlisted("no Exception")


def double(x):
    return x * 2


def ends(x):
    import os
    os._exit(4)


def loops(x):
    while True:
        pass


def broken(fn, args):
    def inner(*values):
        raise OwnError("in the transform")
    return inner, args
"""
CONF = """
jaxpr_transforms = {"broken": "expected:broken"}
"""
X = {"args": "x=f32[]"}


def right(name: str, function: str, raises: str, **options: str) -> Case:
    """A directive whose error comes as expected."""
    return Case(name, f"expected:{function}", {**X, "raises": raises, **options}, "", ())


RIGHT = [
    right("exact", "choose", "TracerBoolConversionError"),
    right("dotted", "choose", "jax.errors.TracerBoolConversionError"),
    right("parent", "own", "ValueError"),
    right("words", "own", "OwnError: first of two <b>lines"),
    right("colons", "choose", "TypeError: See https://docs.jax.dev"),
    right("top", "unlisted", "BaseException"),
    right("last", "double", "OwnError", transforms="grad, broken"),
]
WRONG = [
    Case("other_type", "expected:own", {**X, "raises": "TypeError"}, "raises",
         ("other_type: expected TypeError, found OwnError: the first",), page=("OwnError",)),
    Case("other_text", "expected:own", {**X, "raises": "OwnError: third"}, "raises",
         ("other_text: expected a message with 'third', found OwnError",), page=("OwnError",)),
    Case("no_error", "expected:double", {**X, "raises": "ValueError"}, "raises",
         ("no_error: expected ValueError, but no error occurred",),
         page=("expected ValueError, but no error occurred",)),
    Case("no_error_last", "expected:double", {**X, "raises": "ValueError", "transforms": "grad"},
         "raises", ("no_error_last.grad: expected ValueError, but no error",), shown=True),
    Case("base_fails", "expected:choose",
         {**X, "raises": "TypeError", "transforms": "grad"}, "trace",
         ("base_fails: TracerBoolConversionError",), page=("TracerBoolConversionError",)),
    Case("other_fails", "expected:double",
         {**X, "raises": "OwnError", "transforms": "broken as one, broken"}, "trace",
         ("other_fails.one: OwnError: in the transform",), shown=True),
    Case("unknown", "expected:doubel", {**X, "raises": "AttributeError"}, "raises",
         ("unknown: expected AttributeError, found module 'expected' has no",),
         page=("has no attribute 'doubel'",)),
    Case("ended", "expected:ends", {**X, "raises": "SystemExit"}, "raises",
         ("ended: expected SystemExit, found", "exit status 4"), page=("exit status 4",)),
    Case("late", "expected:loops", {**X, "raises": "TimeoutError", "timeout": "1"}, "raises",
         ("late: expected TimeoutError, found still tracing",), page=("still tracing",)),
]  # fmt: skip


def test_an_expected_error_is_shown_and_kept(tmp_path: Path) -> None:
    page = Page.of(RIGHT, markdown=True)
    files = {"src/expected.py": CODE, "docs/index.md": page.text}
    project = Project(tmp_path, files, CONF)
    built = project.build("html", "-W")
    assert (built.code, built.stderr) == (0, "")
    html = built.page("index")
    figures = html.select("figure.jaxpr-raises")
    ids = {figure["id"] for figure in figures}
    assert ids == {f"jaxpr-{case.name}" for case in RIGHT[:-1]} | {"jaxpr-last.broken"}
    assert not html.select("figure.jaxpr-error")
    assert "if x > 0:" in html.find(id="jaxpr-exact").get_text()
    assert "<b>lines</b>" in html.find(id="jaxpr-parent").get_text()
    assert not html.select("figure b:not(.jaxpr-verb)")

    again = project.build("html", "-W")
    assert (again.code, again.traced, again.stderr) == (0, 0, "")
    text = project.build("text", "-W")
    assert (text.code, text.stderr) == (0, "")
    shown = (text.out / "index.txt").read_text("utf-8")
    assert "TracerBoolConversionError: Attempted boolean" in shown
    assert "OwnError: in the transform" in shown
    project.write("src/expected.py", CODE.replace("if x > 0:", "if True:"))
    mended = project.build("html", "-W", "--keep-going")
    assert mended.code == 1
    assert [w.text.partition(":")[0] for w in warned(mended)] == ["exact", "dotted", "colons"]
    assert {w.kind for w in warned(mended)} == {"raises"}
    assert "mul" not in mended.texts("index")["jaxpr-exact"]


def test_an_unmet_expectation_is_a_warning(tmp_path: Path) -> None:
    page = Page.of(WRONG, markdown=False)
    files = {"src/expected.py": CODE, "docs/index.rst": page.text}
    project = Project(tmp_path, files, CONF)
    built = project.build("html", "-W", "--keep-going")
    assert built.code == 1
    assert not problems(built, WRONG, page, "index")
    again = project.build("html", "-W", "--keep-going")
    assert again.code == 1
    assert warned(again) == warned(built)
