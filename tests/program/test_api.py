"""What others use of ``sphinx_jaxpr.program``: documented, lazy, and never another error."""

from __future__ import annotations

import copy
import dataclasses
import doctest
import json
import pickle  # noqa: TID251 - as callers do, to hand programs to other processes
import random
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax.numpy as jnp
import pytest

from sphinx_jaxpr import program
from sphinx_jaxpr.testing import trace
from tests.program import recordings
from tests.support import PROJECT

PAGE = PROJECT / "docs" / "reference" / "program.md"
DATA = PROJECT / "tests" / "program" / "data"
F = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }"
GRAD = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = neg b in (c,) }"
NESTED = f"""{{ lambda ; a:f32[8]. let
    b:f32[8] = jit[
      name=f
      jaxpr={F}
    ] a
  in (b,) }}"""


def examples(text: str, name: str) -> int:
    """Run the examples of a docstring or page; how many there were."""
    names = {public: getattr(program, public) for public in program.__all__}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    failed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=failed.append)
    assert not failed, "".join(failed)
    return len(test.examples)


def docstrings() -> dict[str, str]:
    found = {"sphinx_jaxpr.program": program.__doc__ or ""}
    found.update((name, getattr(program, name).__doc__ or "") for name in program.__all__)
    return found


@pytest.mark.parametrize("name", [name for name, text in docstrings().items() if ">>>" in text])
def test_examples_in_docstrings(name: str) -> None:
    assert examples(docstrings()[name], name)


def test_examples_of_the_page() -> None:
    text = PAGE.read_text("utf-8")
    sessions = re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(sessions) >= 6
    assert examples("\n".join(sessions), PAGE.name) > 12


def test_every_public_name_is_on_the_page_and_has_a_docstring() -> None:
    listed = re.findall(r"^\.\. (?:auto\w+|type):: (\w+)", PAGE.read_text("utf-8"), re.MULTILINE)
    aliases = {"NamedPrograms"}
    assert sorted(listed) == program.__all__
    for name in set(program.__all__) - aliases:
        assert getattr(program, name).__doc__, name
        assert name in dir(program)
    functions = [name for name in program.__all__ if name.islower()]
    assert all(">>>" in docstrings()[name] for name in functions), functions


def test_a_name_is_where_it_says() -> None:
    assert set(program._HOMES) == set(program.__all__)
    for name, module in program._HOMES.items():
        home = import_module(f"sphinx_jaxpr.program.{module}")
        assert getattr(program, name) is getattr(home, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        program.nothing  # noqa: B018 - the access raises


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = """
import json, sys
import sphinx_jaxpr.program.text as text
before = [name for name in sys.modules if name.startswith("sphinx_jaxpr.program.")]
from sphinx_jaxpr.program import *
after = [name for name in sys.modules if name.startswith("sphinx_jaxpr.program.")]
others = [name for name in sys.modules if name.partition(".")[0] in ("jax", "numpy", "sphinx")]
print(json.dumps([before, "sphinx_jaxpr.program.query.evaluate" in after, others]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == [["sphinx_jaxpr.program.text"], True, []]


def test_text_is_kept_to_the_letter() -> None:
    for path in DATA.glob("jax-*.txt"):
        text = path.read_text("utf-8")
        printed = program.parse(text)
        position, pieces = 0, list[str]()
        for token in printed.tokens:
            pieces += [text[position : token.start], printed.text_of(token)]
            position = token.end
        assert "".join([*pieces, text[position:]]) == printed.text == text
        for equation in printed.walk():
            assert equation.primitive in printed.text_of(equation)


def test_a_match_has_equations() -> None:
    found = program.match(program.parse(F), program.parse(GRAD))
    assert [str(e) for e in found.kept] == ["b = tanh a"]
    assert [str(e) for e in found.added] == ["c = neg b"]
    assert [str(e) for e in found.removed] == ["c = mul b b"]
    assert found.reshaped == () and found.partner_of(found.added[0]) is None
    assert str(found.partner_of(found.kept[0])) == "b = tanh a"
    assert program.summarize(found) == "2 \u2192 2 equations; drops mul"


def test_variants_have_their_base() -> None:
    programs: dict[str, Any] = {"f.grad": GRAD, "f": program.parse(F), "g": GRAD}
    assert program.evaluate("len(f.grad.added)", programs).value == 1
    with pytest.raises(program.PathError, match="`g` is a base"):
        program.evaluate("g.added", programs)
    assert program.judge("len(f) == 3", programs).is_true is False
    assert program.explain("len(f) == 3", programs) == "`len(f)` is 2"
    (view,) = program.find("f.grad.added", programs)
    assert (view.path, view.text) == ("f.grad.added[0]", "c:f32[8] = neg b")
    scope = program.Scope.of(programs, versions={"jax": "0.10.2"})
    assert program.judge('jax >= "0.10"', scope).is_true
    later = program.Scope.of(scope, versions={"jax": "0.12"})
    assert program.judge('jax >= "0.12"', later).is_true
    assert program.Scope.of(later) is later
    with pytest.raises(ValueError, match=r"`g\.grad` names a variant of `g`, which is not among"):
        program.evaluate("len(g.grad)", {"f": F, "g.grad": GRAD})


def test_views_have_parameters_as_data() -> None:
    scope = program.Scope.of({"f": NESTED})
    (outer,) = program.find("f[0]", scope)
    assert outer.params["name"] == "f" and repr(outer.params["jaxpr"]).startswith("<ProgramView")
    assert (outer.phase, outer.source) == ("", None)
    traced = trace(jnp.sin, jnp.ones(8), name="f", transforms="grad(argnums=0), vmap")
    (view,) = program.find("f[sin]", traced)
    assert view.params["accuracy"] is None and view.phase == ""


def test_models_are_pickled_and_views_are_not() -> None:
    printed = program.parse(NESTED)
    found = program.match(printed, program.parse(F))
    drift = program.drift_between(printed, F)
    for thing in (printed, found, drift, drift.differences, program.unread(program.parse("x"))):
        again = pickle.loads(pickle.dumps(thing))  # noqa: S301 - made here
        assert again == copy.deepcopy(thing) == thing
    answer = program.evaluate("f", {"f": printed})
    assert copy.deepcopy(answer) == answer and copy.copy(answer.value) is answer.value
    with pytest.raises(TypeError, match="pickle its text"):
        pickle.dumps(answer)
    with pytest.raises(program.PathError) as caught:
        program.evaluate("len(f) + g", {"f": F})
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here
    assert (type(error), str(error)) == (program.PathError, str(caught.value))
    assert error.offset == caught.value.offset == 9


def test_recordings_of_a_lock_are_compared_with_their_facts() -> None:
    def recording(version: str, name: str) -> dict[str, Any]:
        data = json.loads((PROJECT / f"tests/program/versions/{version}.json").read_text())[name]
        lines = data["text"].split("\n")
        return {"schema": 1, "text": lines, "facts": recordings.facts(data["facts"]).to_json()}

    old, new = recording("0.7.2", "grad dense"), recording("0.12.0.1", "grad dense")
    assert program.drift_between(old, old).level is program.Level.SAME
    drift = program.drift_between(old, new)
    assert drift.level > program.Level.SAME and drift.differences
    error = {"error": {"type": "TypeError", "message": "no", "mro": [], "frames": []}}
    failed = program.drift_between(old, error)
    assert failed.level is program.Level.PROGRAM
    assert failed.highest[0].words() == "result `a program` -> `TypeError`"
    for wrong in ({"text": F, "facts": 3}, {"text": F, "facts": {"programs": [{}]}}, {"error": 3}):
        with pytest.raises(ValueError, match="not a recording"):
            program.drift_between(F, wrong)


def test_html_is_marked_and_holds_the_text() -> None:
    shown = program.to_html(program.parse(NESTED), "<f>", base=program.parse(F))
    assert shown.startswith('<figure class="jaxpr" id="jaxpr-&lt;f&gt;">')
    assert 'data-change="added"' in shown and "nests" in shown
    lines = re.findall(r'<(?:pre|span) class="jaxpr-line.*?</(?:pre|span)>\n?', shown)
    assert lines


REPRS: dict[str, Callable[[Any], Any]] = {
    "Printed": lambda p: p,
    "Program": lambda p: p.program,
    "Equation": lambda p: p.program.equations[0],
    "Parameter": lambda p: next(q for e in p.walk() for q in e.parameters),
    "Match": lambda p: program.match(p, p),
    "Evaluation": lambda p: program.evaluate("f", {"f": p}),
    "ProgramView": lambda p: program.evaluate("f", {"f": p}).value,
    "QueryBlock": lambda p: program.find("f", {"f": p})[0].block,
    "EquationView": lambda p: program.find("f[0]", {"f": p})[0],
    "Equations": lambda p: program.evaluate("f[:]", {"f": p}).value,
    "Values": lambda p: program.evaluate("f.inputs", {"f": p}).value,
    "Scope": lambda p: program.Scope.of({"f" * 500: p}),
    "Variable": lambda p: dataclasses.replace(p.program.inputs[0], type="f32[8]\n" * 99),
    "Operand": lambda p: p.program.outputs[0]._replace(text="'\x1b\n'" * 99),
    "Drift": lambda p: program.drift_between(p, F),
    "Difference": lambda p: program.Difference(program.Level.PROGRAM, "", "it", "\n" * 999),
}


@pytest.mark.parametrize("kind", REPRS)
def test_a_repr_is_one_short_line(kind: str) -> None:
    for text in (NESTED, (DATA / "jax-0.10.2.txt").read_text("utf-8")):
        shown = repr(REPRS[kind](program.parse(text)))
        assert shown.startswith("<") and shown.endswith(">")
        assert len(shown) < 200 and "\n" not in shown


WRONG: list[tuple[Callable[[Any], Any], tuple[type[Exception], ...]]] = [
    (program.parse, (TypeError,)),
    (lambda thing: program.match(thing, program.parse(F)), (TypeError,)),
    (lambda thing: program.match(program.parse(F), thing), (TypeError,)),
    (program.summarize, (TypeError,)),
    (program.unread, (TypeError,)),
    (lambda thing: program.evaluate(thing, {"f": F}), (TypeError, program.PathError)),
    (lambda thing: program.judge(thing, {"f": F}), (TypeError, program.PathError)),
    (lambda thing: program.find(thing, {"f": F}), (TypeError, program.PathError)),
    (lambda thing: program.explain(thing, {"f": F}), (TypeError, program.PathError)),
    (lambda thing: program.evaluate("len(f)", thing), (TypeError, ValueError)),
    (lambda thing: program.evaluate("len(f)", {"f": thing}), (TypeError, program.PathError)),
    (lambda thing: program.evaluate("len(f)", {thing: F}), (TypeError, ValueError)),
    (lambda thing: program.drift_between(thing, F), (TypeError, ValueError)),
    (lambda thing: program.drift_between(F, thing), (TypeError, ValueError)),
    (lambda thing: program.Scope.of({"f": F}, thing), (TypeError,)),
    (lambda thing: program.Scope.of({"f": F}, {"jax": thing}), (TypeError,)),
    (lambda thing: program.find("f", {"f": F}, inside=thing), (TypeError, program.PathError)),
    (lambda thing: program.walk(thing), (TypeError,)),
    (program.match(program.parse(F), program.parse(F)).partner_of, (TypeError,)),
    (program.to_html, (TypeError,)),
    (lambda thing: program.to_html(program.parse(F), thing), (TypeError,)),
]


def test_wrong_input_is_refused_with_the_documented_errors() -> None:
    things: list[Any] = [None, 3, 2.5, b"f", "", " ", "f", "f.", "f..g", "len", "jax", "1f", "f g"]
    things += [[], ["f"], (), {}, {"f"}, {"text": 3}, {1: F}, {"f": 3}, {"text": F}, object()]
    things += ["f[", "f.x", "f[tanh].shape", "lambda: f", "\x00", "f" * 5000, "(" * 400, "é"]
    things += [F, GRAD, NESTED, program.parse(F), program.parse("no jaxpr"), program]
    rng = random.Random(4)
    pieces = [*"fab()[]{}.,;:=<>'\"\n \x1b\u202e\ud800", "lambda", "let", " in ", "tanh", "f.grad"]
    things += ["".join(rng.choices(pieces, k=rng.randrange(1, 12))) for _ in range(300)]
    refused = 0
    for call, errors in WRONG:
        for thing in things:
            try:
                call(thing)
            except errors:
                refused += 1
            except TypeError as error:  # of this test's own dict
                assert "unhashable" in str(error)
    assert refused > 1000
