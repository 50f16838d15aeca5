"""What a worker does once, or not at all: counts, since times vary."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing.options import read_options
from sphinx_jaxpr.tracing.request import variants
from sphinx_jaxpr.tracing.result import Result
from sphinx_jaxpr.worker.facts import facts
from sphinx_jaxpr.worker.isolation import isolation
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.tracer import Tracer
from tests.support import PROJECT

PACKAGE = str(PROJECT / "sphinx_jaxpr")


def scaled(x: Any) -> Any:
    return jnp.tanh(x) * 2.0


def traced(transforms: str = "", *args: str, target: str = f"{__name__}:scaled") -> list[Result]:
    """The results of a function and its variants, for each text of arguments."""
    recorder = DependencyRecorder(PACKAGE)
    tracer = Tracer(recorder, sys.path)
    found = []
    for text in args or ("x=f32[3]",):
        options = read_options(text, "", transforms)
        base = options.request(target)
        for request in (base, *(other for _, other in variants(base, options.transforms, {}))):
            found.append(tracer.trace(request, tracer.prepare(request, lambda name: None)))
    return found


class Counter:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        return self.function(*args, **options)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Count the calls of a function of a module."""

    def counted(module: Any, name: str) -> Counter:
        counter = Counter(getattr(module, name))
        monkeypatch.setattr(module, name, counter)
        return counter

    return counted


# -- sources


def test_the_source_of_a_function_is_read_once(count: Any, tmp_path: Path) -> None:
    reads = count(inspect, "getsourcelines")
    (tmp_path / "read_once.py").write_text("def f(x):\n    return x + 1\n", "utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        found = traced(
            "grad, vmap, jvp, remat, jit", "x=f32[3]", "x=f32[4]", "x=f32[5]", target="read_once:f"
        )
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["read_once"]
    assert reads.calls == 1
    assert [r.source.text for r in found if r.source] == ["def f(x):\n    return x + 1"] * 3


def test_a_reloaded_function_has_its_new_source(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    sys.path.insert(0, str(tmp_path))
    texts = []
    try:
        for text in ("def f(x):\n    return x + 1\n", "def f(x):\n    # more\n    return x + 1\n"):
            file.write_text(text, "utf-8")
            sys.modules.pop("edited", None)
            source = traced(target="edited:f")[0].source
            assert source is not None
            texts.append(source.text)
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["edited"]
    assert ["# more" in text for text in texts] == [False, True]


def test_replaced_code_has_its_own_source() -> None:
    def changing(x: Any) -> Any:
        return x + 1

    def other(x: Any) -> Any:
        return x - 1

    texts = []
    globals()["changing"] = changing
    try:
        for code in (changing.__code__, other.__code__):
            changing.__code__ = code
            source = traced(target=f"{__name__}:changing")[0].source
            texts.append(source.text if source else "")
    finally:
        del globals()["changing"]
    assert [text.splitlines()[0].split("(")[0] for text in texts] == ["def changing", "def other"]


# -- shapes


@pytest.mark.parametrize("transform", ["remat", "checkpoint", "jit"])
def test_a_result_of_the_same_type_is_not_traced_again(transform: str, count: Any) -> None:
    """``grad`` asks for the type of what it differentiates; the trace of the base has it."""
    made = count(jax, "make_jaxpr")
    base, variant = traced(f"{transform} | grad")
    assert base.program is not None and variant.program is not None
    assert made.calls == 2


# -- facts


def test_phases_are_sought_where_something_is_differentiated(count: Any) -> None:
    sought = count(facts, "phases")
    x = jax.ShapeDtypeStruct((3,), jnp.float32)
    for fn in (scaled, jax.vmap(scaled), jax.jit(scaled), jax.remat(scaled)):
        found = facts.collect(jax.make_jaxpr(fn)(x)).facts
        assert {row.phase for program in found.programs for row in program.equations} == {""}
    assert sought.calls == 0
    found = facts.collect(jax.make_jaxpr(jax.grad(lambda x: scaled(x).sum()))(x)).facts
    phases = {row.phase for program in found.programs for row in program.equations}
    assert sought.calls == 1 and {"forward", "transpose"} <= phases


# -- memory


def test_the_caches_of_jax_are_emptied_now_and_then(count: Any) -> None:
    emptied = count(isolation, "_clear_caches")
    state = isolation.Isolation(lambda module: "")
    for _ in range(2 * isolation.CACHED + 1):
        with state.of_request():
            state.prepared()
    assert emptied.calls == 2


# -- distributions


def test_a_distribution_is_asked_for_by_name(count: Any) -> None:
    every = count(importlib.metadata, "packages_distributions")
    recorder = DependencyRecorder(PACKAGE)
    # A module of this project belongs to none: its files count.
    needs = recorder.dependencies([__name__, "numpy", "jax.numpy"], "")
    assert needs.distributions == ["jax", "numpy"]
    assert every.calls == 0


def test_a_distribution_of_another_name_is_found(count: Any) -> None:
    every = count(importlib.metadata, "packages_distributions")
    recorder = DependencyRecorder(PACKAGE)
    for module in ("_pytest.main", "bs4", "_pytest"):
        needs = recorder.dependencies([module], "")
        assert needs.distributions == ["beautifulsoup4" if module == "bs4" else "pytest"]
    assert every.calls == 1


# -- the start


def test_what_few_programs_need_is_not_imported() -> None:
    """Pallas alone takes a tenth of the time that JAX takes."""
    code = "import sys, jax; before = set(sys.modules)\nimport sphinx_jaxpr.worker.server\n"
    code += "print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "sphinx_jaxpr.worker.tracer" in loaded
    assert not [name for name in loaded if name.startswith(("jax.extend", "jax._src.pallas"))]
