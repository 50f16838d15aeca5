"""``sphinx_jaxpr.testing``: claims in a project's own tests, without Sphinx."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import textwrap
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from sphinx_jaxpr import program
from sphinx_jaxpr.testing import Traced, assert_claims, trace
from tests.support import PROJECT

SPECS = "x=f32[8,16], w=f32[16,4]"


def dense(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def scaled(x: Any, by: Any = 1.0, act: Any = None) -> Any:
    return (act or jnp.sin)(x) * by


def broken(x: Any) -> Any:
    raise KeyError("no such thing")


class Pair(NamedTuple):
    one: Any
    two: Any


def test_what_is_true_passes_and_can_be_asked_further() -> None:
    found = assert_claims(
        dense,
        SPECS,
        transforms="grad(argnums=w), vmap(axis_size=3) | jit as both",
        claims=[
            "len(dense) == 2",
            "dense.grad.transpose[dot_general]",
            "dense.both[jit].jaxpr[tanh].shape == (3, 8, 4)",
            "dense.inputs[w].shape == (16, 4)",
            "len(dense.grad.kept) == len(dense)",
            f'jax == "{jax.__version__}" and python >= "3.11"',
        ],
    )
    assert list(found) == ["dense", "dense.grad", "dense.both"]
    assert len(found) == 3
    assert found["dense.grad"].base is found["dense"]
    assert found.evaluate("ops(dense)") == ("dot_general", "tanh")
    assert found.text("dense") == str(jax.make_jaxpr(dense)(jnp.ones((8, 16)), jnp.ones((16, 4))))
    assert found.evaluate("dense[tanh].line") == dense.__code__.co_firstlineno + 1
    with pytest.raises(ValueError, match=r"^dense\[sin\]\.shape: `dense` has no equation `sin`"):
        found.evaluate("dense[sin].shape")


def test_a_value_is_plain_data() -> None:
    found = trace(dense, SPECS)
    assert found.evaluate("dense[dot_general].uses") == 1
    assert found.evaluate("{e.uses for e in dense}") == {0, 1}
    assert found.evaluate("[e.uses for e in dense]") == (1, 0)
    assert found.evaluate("dense[tanh].inputs") == ("f32[8,4]",)
    assert found.evaluate("dense[cos]") == ()
    (equation,) = found.evaluate("dense[tanh]")
    assert equation == found.evaluate("dense[-1]")
    assert equation in found.text("dense")


def test_all_that_is_false_is_told_at_once() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_claims(
            dense,
            SPECS,
            transforms="vmap",
            claims=["len(dense) == 3", "dense.vmpa[tanh]", "ops(dense) == ['tanh']", "len(dense)"],
        )
    assert str(raised.value) == textwrap.dedent(
        f"""\
        3 of 4 claims are false on JAX {jax.__version__}:
          len(dense) == 3
            `len(dense)` is 2
          dense.vmpa[tanh]
            `dense` has no variant or attribute `vmpa`, did you mean `vmap`?
          ops(dense) == ['tanh']
            `ops(dense)` has one more: dot_general (2 and 1 in all)"""
    )
    with pytest.raises(AssertionError, match=r"^the claim is false on JAX"):
        assert_claims(dense, SPECS, claims="len(dense) == 3")
    trace(dense, SPECS).assert_claims([])


ARGUMENTS: list[tuple[tuple[Any, ...], str]] = [
    ((np.ones((8, 16), np.float32), jnp.ones((16, 4))), "f32[8,4]"),
    ((jax.ShapeDtypeStruct((8, 16), jnp.bfloat16), jnp.ones((16, 4), jnp.bfloat16)), "bf16[8,4]"),
    (("f32[2,3], w=f32[3,5]",), "f32[2,5]"),
]


@pytest.mark.parametrize(("given", "result"), ARGUMENTS)
def test_arguments_are_specs_or_values(given: tuple[Any, ...], result: str) -> None:
    assert (
        assert_claims(dense, *given, claims=["len(dense[tanh].shape) == 2"])
        .text("dense")
        .count(f":{result} = tanh")
        == 1
    )


def test_trees_of_any_kind() -> None:
    def add(tree: Any, more: Any) -> Any:
        return jax.tree.reduce(jnp.add, tree) + more

    leaf = jnp.ones(3)
    for tree in (Pair(leaf, leaf), {"b": leaf, "a": leaf}, OrderedDict(b=leaf, a=leaf), [leaf] * 2):
        found = trace(add, tree, 2.0, transforms="vmap(in_axes={tree: 0}, axis_size=4)")
        direct = jax.make_jaxpr(add)(tree, 2.0)
        assert found.text("add") == str(direct)
        assert found.evaluate("len(add.inputs)") == 3


def test_other_callables() -> None:
    assert trace("tests.test_testing:dense", SPECS).text("dense") == trace(dense, SPECS).text(
        "dense"
    )
    assert list(trace(lambda x: x + 1, "f32[]", transforms="jit")) == ["f", "f.jit"]
    assert list(trace(functools.partial(scaled, by=2.0), "f32[3]")) == ["scaled"]
    assert list(trace(jax.jit(dense), SPECS, name="layer")) == ["layer"]
    found = trace(scaled, jnp.ones(3), static="by=2.0, act=jnp.cos", jit=True)
    assert found.evaluate("ops(scaled[jit].jaxpr)") == ("cos", "mul")


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (("x=f32[8",), {}, r"args: expected ',' or '\]'"),
        (("x=f32[8]",), {}, "no spec for 'w' of dense"),
        (("x=f32[8]", "w=f32[8]"), {}, "write all specs in one text"),
        ((SPECS,), {"transforms": "grda"}, "unknown transform 'grda', did you mean 'grad'"),
        ((SPECS,), {"transforms": "grad(argnums=q)"}, "argnums names 'q'"),
        ((SPECS,), {"transforms": "grad("}, "transforms: expected|transforms: an option"),
        ((SPECS,), {"static": "n"}, "static: expected name=value"),
        ((SPECS,), {"name": "while"}, "name 'while' is a reserved word"),
    ],
)
def test_wrong_options(given: tuple[Any, ...], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        trace(dense, *given, **options)


def test_a_function_that_another_returns() -> None:
    momentum = "tests.worker.factories:momentum"
    found = trace(
        momentum, "grads={w: f32[3]}, state=init(grads)", make="0.1, act=jnp.tanh", then="update"
    )
    assert found.evaluate("len(momentum[tanh])") == 1
    with pytest.raises(ValueError, match="name one of its functions, as in then: init or then"):
        trace(momentum, "f32[3]", make="0.1")
    with pytest.raises(
        ValueError, match=r"is not called; write .*momentum with make='0.1' and then"
    ):
        trace(f"{momentum}(0.1).update", "f32[3]")


def test_wrong_targets_and_errors_of_the_code() -> None:
    with pytest.raises(ValueError, match="'dense' does not name a function"):
        trace("dense", SPECS)
    with pytest.raises(ValueError, match="has no attribute 'dens', did you mean 'dense'"):
        trace("tests.test_testing:dens", SPECS)
    with pytest.raises(KeyError, match="no such thing"):
        trace(broken, "f32[]")
    with pytest.raises(TypeError, match="scalar"):
        trace(dense, SPECS, transforms="grad(sum=False)")


def test_the_answer_is_a_mapping() -> None:
    found = trace(dense, SPECS)
    assert isinstance(found, Traced)
    assert dict(found).keys() == {"dense"}
    assert "dense" in found and "other" not in found
    assert repr(found) == f"<Traced dense on JAX {jax.__version__}>"
    assert program.evaluate("len(dense)", found).value == 2
    assert program.evaluate("len(g.more.kept)", {"g": found["dense"], "g.more": found["dense"]})
    with pytest.raises(KeyError):
        found["other"]


SCRIPT = """
import json, sys
import sphinx_jaxpr.testing as testing
before = sorted(name for name in ("jax", "numpy", "sphinx", "docutils") if name in sys.modules)
import builtins
imports = builtins.__import__
testing.trace(lambda x: x, "f32[]")
after = sorted(name for name in ("jax", "sphinx", "docutils") if name in sys.modules)
print(json.dumps([before, after, builtins.__import__ is imports]))
"""


def test_it_has_no_side_effects() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert json.loads(done.stdout) == [[], ["jax"], True]


def test_the_how_to_runs(tmp_path: Path) -> None:
    from tests.test_docs import fences

    page = (PROJECT / "docs/how-to/tests.md").read_text("utf-8")
    test, more, *_ = fences(page, "python")
    (tmp_path / "layers.py").write_text((PROJECT / "docs/layers.py").read_text("utf-8"), "utf-8")
    (tmp_path / "test_layers.py").write_text(test, "utf-8")
    (tmp_path / "more.py").write_text(f"from layers import dense\n{more}", "utf-8")
    for command in (["-m", "pytest", "-q", "-p", "no:cacheprovider"], ["more.py"]):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, check=False,
            env={"PYTHONPATH": str(PROJECT), "JAX_PLATFORMS": "cpu"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    wrong = test.replace(") == 1", ") == 2")
    (tmp_path / "test_layers.py").write_text(wrong, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env={"PYTHONPATH": str(PROJECT), "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert "AssertionError: 1 of 4 claims is false on JAX" in done.stdout
    assert "def assert_claims" not in done.stdout  # the reader's own lines alone


def test_a_character_that_is_spelled_may_be_written_both_ways() -> None:
    odd = jax.extend.core.Primitive("odd")
    odd.def_abstract_eval(lambda x, **_: x)

    def f(x: Any) -> Any:
        return odd.bind(x, text="a\x1b\u202e\\b", names=("c\x00",), **{"key\x07": 1})

    traced = assert_claims(
        f,
        "x=f32[3]",
        claims=[
            r'f[odd].params[text] == "a\x1b\u202e\\b"',
            r'f[odd].params[text] == r"a\x1b\u202e\b"',
            r'"a\x1b" in f[odd].params[text]',
            r'f[odd].params[names] == ("c\x00",)',
            r'f[odd].params["key\x07"] == 1',
            r'"key\x07" in f[odd].params',
        ],
    )
    assert traced.evaluate("f[odd].params[text]") == r"a\x1b\u202e\b"
    assert traced.evaluate(r'"\x1b[31m"') == r"\x1b[31m"
    assert r"text=a\x1b\u202e\b" in traced.text("f")
    assert r"key\x07=1" in traced.text("f")
