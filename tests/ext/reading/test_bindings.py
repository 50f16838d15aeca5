"""What pieces of code bind and read, and which of them must run for a block."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.ext.reading.bindings import bindings, needed

IMPORTS = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\nimport numpy as np"


def chosen(pieces: list[str], *names: str) -> list[int]:
    return needed([bindings(piece) for piece in pieces], names)


def test_names() -> None:
    piece = bindings(
        "import a.b, c as d\nfrom e import f as g\nx = y = 1\nif x:\n    z: int = 2\n"
        "def h(p):\n    global q, unset\n    q = p\n    import local\n"
        "class K:\n    member = w\n[(t := u) for v in x]\nfor i in ():\n    pass\n"
        "try:\n    pass\nexcept E as error:\n    pass\nwith o as k: pass\n"
    )
    # Python 3.13 takes the variable of a comprehension for one of the module.
    assert piece.binds - {"v"} == frozenset("a d g x y z h q unset K t i error k".split())
    assert {"x", "w", "u", "E", "o", "p"} <= piece.reads
    assert not piece.is_open and not piece.is_quiet and piece.problem is None


@pytest.mark.parametrize(
    ("text", "line"),
    [("x = 1\ndef f(:", 2), ("return 1", 1), ("x = '\0'", 1), ("(" * 400 + ")" * 400, 1)],
)
def test_what_is_not_python(text: str, line: int) -> None:
    piece = bindings(text)
    assert piece.problem is not None and piece.problem[1] == line and piece.is_open


@pytest.mark.parametrize(
    "text",
    [
        "from a import *",
        "globals()['f'] = 1",
        "import sys",
        "f.__dict__",
        "getattr(f, '__glob' + 'als__')",
        "list(map(getattr, objects, names))",
        "class K:\n    def f(self): return __scale",  # is ``_K__scale``
        "def __getattr__(name): return name",
        "def f(x): return x * len(__annotations__)",
    ],
)
def test_open_code_needs_all(text: str) -> None:
    assert chosen(["x = 1", text, "def g(): pass"], "g") == [0, 1, 2]


def test_only_what_a_name_needs() -> None:
    pieces = [IMPORTS, "def f(x): return g(x)", "def other(): pass", "def g(x): return jnp.sin(x)"]
    assert chosen(pieces, "f") == [0, 1, 3]
    assert chosen(pieces, "other") == [2]
    assert chosen(pieces, "nothing") == []
    assert chosen([*pieces, "def g(x): return x"], "f") == [0, 1, 3, 4]
    assert chosen(["def sum(x): return x", "def f(x): return sum(x)"], "f") == [0, 1]
    assert chosen(["class T: pass", "def f(x: 'list[T]'): return x"], "f") == [0, 1]
    assert chosen(["K = 'g'", "def g(): pass", "def f(): return 'g'"], "f") == [1, 2]


QUIET = [
    "from jax import Array, export_of, lax as other",
    "import jax.numpy.linalg as linalg",
    "def f(x): return getattr(x, 'real', x) + (__name__ == '__main__')",
    "@jax.jit\ndef f(x: jax.Array, n: int | None = None) -> dict[str, int]: pass",
    "@partial(jax.jit, static_argnums=(0,))\ndef f(x, act=jax.nn.relu): pass",
    "N = 3\nshape = (N, -1, 2 * 3)\nact = jnp.tanh\nf = lambda x, n=N: print(x)\n'text'",
    "async def f(*a, **k): print(1)",
]
LOUD = [
    "print(1)",
    "import mylib",
    "from . import x",
    "import jax.experimental.sparse as sparse",  # gives ``jax.experimental`` a member
    "from jax.scipy import optimize",
    "from jax import ad_checkpoint",
    "from __future__ import annotations",
    "x = y + 1",
    "x = f()",
    "x = mod.attribute",
    "x.y = 1",
    "x[0] = 1",
    "x, y = 1, 2",
    "x += 1",
    "del x",
    "def f(x=g()): pass",
    "def f(x: g()): pass",
    "@register\ndef f(): pass",
    "@jax.jit(print(1))\ndef f(): pass",
    "@partial(register, 1)\ndef f(): pass",
    "class K: pass",
    "if 1: pass",
    "[print(x) for x in y]",
    "x = f'{y}'",
    "x = {y: 1}",
    "def f() -> unknown[int]: pass",
    "def f() -> A | B: pass",
]


@pytest.mark.parametrize("text", QUIET)
def test_a_definition_that_nobody_uses(text: str) -> None:
    assert chosen([IMPORTS, text], "jnp") == [0]


@pytest.mark.parametrize("text", LOUD)
def test_what_may_do_more(text: str) -> None:
    assert 1 in chosen([IMPORTS, text], "jnp")


def test_a_wrapper_must_be_jaxs_own() -> None:
    wrapped = "@jit\ndef f(x): return x"
    assert chosen(["from jax import jit", wrapped], "jit") == [0]
    for other in ("from mylib import jit", "def jit(f): print(1)", "jit = 3"):
        assert 1 in chosen([other, wrapped], "nothing")
        assert 2 in chosen(["from jax import jit", other, wrapped], "nothing")
        assert 2 in chosen([other, "from jax import jit", wrapped], "nothing")
    both = "from jax import jit\ntry:\n    pass\nfinally:\n    from mylib import jit"
    assert 1 in chosen([both, wrapped], "nothing")


def test_what_is_patched_is_not_harmless() -> None:
    wrapped = "@jax.jit\ndef f(x: int | None): return x"
    assert chosen([IMPORTS, wrapped], "jnp") == [0]
    for patch in (
        "jax.jit = register",
        "setattr(jax, 'jit', register)",
        "mock.patch('jax.jit', register).start()",
        "int = Registering()",
    ):
        assert chosen([IMPORTS, patch, wrapped], "jnp") == [0, 1, 2]
