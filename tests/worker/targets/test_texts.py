"""The names of a docstring are of the module where the text stands, whatever it is about."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sphinx_jaxpr.worker.targets.target import modules_around

PRIVATE = """
    import dataclasses
    import functools
    from typing import NamedTuple
    import jax

    def act(x): return x

    @jax.jit
    def jitted(x): return x

    @jax.custom_vjp
    def custom(x): return x

    mapped = jax.vmap(act)
    part = functools.partial(act, 3)
    table = {"a": 1}

    class Net:
        @property
        def rate(self): return 1
        @functools.cached_property
        def size(self): return 2
        @classmethod
        def make(cls): return cls()
        twice = functools.partialmethod(lambda self, n: n, 2)
        depth = 3
        class Inner: pass

    class Bare: pass
    class Pair(NamedTuple):
        w: int
    @dataclasses.dataclass
    class Config:
        width: int = 1
    class Wrong(ValueError): pass
"""
MOVED = "Net Bare Pair Config Wrong act"
PUBLIC = f"""
    from private_texts._src.deep import *
    from private_texts._src.deep import act as renamed, Bare as Empty
    from private_texts._src import deep as shallow

    for found in ({", ".join(MOVED.split())}):
        found.__module__ = "private_texts"
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("texts")
    folder = root / "private_texts"
    (folder / "_src").mkdir(parents=True)
    _write(folder / "_src" / "__init__.py", "")
    _write(folder / "_src" / "deep.py", PRIVATE)
    _write(folder / "__init__.py", PUBLIC)
    sys.path.insert(0, str(root))
    yield "private_texts"
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.startswith("private_texts")]:
        del sys.modules[name]


def _write(path: Path, text: str) -> None:
    path.write_text(textwrap.dedent(text), encoding="utf-8")


def _load(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize(
    "path",
    [
        *("act", "jitted", "custom", "mapped", "part", "table", "renamed", "shallow"),
        *("Net", "Net.rate", "Net.size", "Net.make", "Net.twice", "Net.depth", "Net.Inner"),
        *("Bare", "Empty", "Pair", "Pair.w", "Config", "Config.width", "Wrong"),
    ],
)
def test_the_nearest_module_is_that_of_the_text(package: str, path: str) -> None:
    found = [module.__name__ for module in modules_around(f"{package}:{path}", _load)]
    assert found[0] == f"{package}._src.deep"
    assert set(found) <= {f"{package}._src.deep", package}


def test_what_is_nowhere_belongs_to_the_module_that_is_named(package: str) -> None:
    assert modules_around(f"{package}:gone", _load) == [_load(package)]
    assert modules_around(package, _load) == [_load(package)]
