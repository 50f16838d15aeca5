"""The letters of values, against an independent reading of JAX's text and the jaxpr's object."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.extend import core

from sphinx_jaxpr.program.query.evaluate import resolve_values
from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.program.query.syntax import PathError

# --- programs


def generated(draw: random.Random, depth: int = 2) -> Callable[..., Any]:
    """A function of two vectors that returns two; some of its operations hold programs."""
    steps = [(draw.randrange(8 if depth else 4), draw.random()) for _ in range(draw.randint(2, 5))]
    inner = generated(draw, depth - 1) if depth else lambda x, y: (x, y)

    def function(x: Any, y: Any) -> tuple[Any, Any]:
        for kind, chance in steps:
            match kind:
                case 0:
                    x = jnp.sin(x) * y
                case 1:
                    x, y = y * 2.0, x + 1.0
                case 2:
                    y = jnp.where(x > chance, x, y)
                case 3:
                    y = jax.jit(jnp.cosh)(x) - y  # printed once, in front, where it is used twice
                case 4:
                    x, y = jax.jit(inner)(x, y)
                case 5:
                    x, y = jax.lax.cond(chance > x[0], inner, lambda a, b: (b, a), x, y)
                case 6:
                    (x, _), y = jax.lax.scan(lambda c, e: (inner(*c), c[0] * e), (x, y), y)
                    y = y[0]
                case 7:
                    x = jax.lax.while_loop(
                        lambda a: a[0] < 3.0, lambda a, y=y: inner(a, a)[0] + y, x
                    )
        return x, y

    return function


# --- an independent reading: the tokens between the brackets


def outside(text: str) -> str:
    """A text without what it has in brackets."""
    kept, depth = [], 0
    for sign in text:
        depth += sign in "[{"
        if not depth:
            kept.append(sign)
        depth -= sign in "]}"
    return "".join(kept)


def braces(text: str) -> Iterator[str]:
    """The outermost parts of a text in braces, without these."""
    depth = begin = 0
    for at, sign in enumerate(text):
        if sign == "{":
            depth += 1
            begin = at + 1 if depth == 1 else begin
        elif sign == "}":
            depth -= 1
            if not depth:
                yield text[begin:at]


def letters(tokens: list[str]) -> list[str]:
    return [token.partition(":")[0] for token in tokens]


def is_binder(token: str) -> bool:
    return bool(re.fullmatch(r"(_|[a-z]+):\w+", token))


class Read:
    """A program as its text says: the letters of its header and of each of its equations."""

    def __init__(self, body: str) -> None:
        header, _, rest = body.partition(" let")
        constants, _, inputs = header.removeprefix(" lambda").partition(";")
        self.inputs = letters(outside(inputs.rstrip(".")).split())
        self.consts = letters(outside(constants).split())
        # Programs of equations are in brackets too, so these have no other `in`.
        equations, _, result = outside(rest).rpartition(" in (")
        self.outputs = letters(result.rstrip(") \n").replace(",", " ").split())
        self.equations: list[tuple[list[str], list[str]]] = []
        binders: list[str] = []
        for token in equations.replace(";", " ").split():
            if is_binder(token):
                binders.append(token)
            elif token == "=":
                self.equations.append((letters(binders), []))
                binders = []
            else:
                self.equations[-1][1].append(token)
        self.equations = [(made, letters(used[1:])) for made, used in self.equations]


def programs_in(text: str) -> Iterator[str]:
    """The programs of a text, outermost first, in the order in which they begin."""
    for body in braces(text):
        if body.lstrip().startswith("lambda"):
            yield body
            yield from programs_in(body)


def held(jaxpr: Any) -> Iterator[tuple[int, str, int, Any]]:
    """The programs that equations hold, as the object says: with the path from their own."""
    for position, equation in enumerate(jaxpr.eqns):
        for name, value in equation.params.items():
            several = value if isinstance(value, tuple | list) else [value]
            for index, each in enumerate(several):
                inner = each.jaxpr if isinstance(each, core.ClosedJaxpr) else each
                if isinstance(inner, core.Jaxpr):
                    yield position, name, index if isinstance(value, tuple | list) else -1, inner


def check(path: str, jaxpr: Any, scope: Scope, texts: list[Read]) -> int:
    """Compare a program and those inside it; how many lists of letters were compared."""
    asked = 0

    def shown(of: str) -> list[str]:
        try:
            values, _ = resolve_values(of, scope)
        except PathError as error:
            assert "has no values" in error.message, of
            return []
        return [value.letter for value in values]

    alike = [shown(f"{path}.inputs"), shown(f"{path}.consts"), shown(f"{path}.outputs")]
    rows = [
        [shown(f"{path}[{n}].outputs"), shown(f"{path}[{n}].inputs")]
        for n in range(len(jaxpr.eqns))
    ]
    # The object knows how many there are, and what is a literal.
    assert [len(row[1]) for row in rows] == [len(equation.invars) for equation in jaxpr.eqns]
    for row, equation in zip(rows, jaxpr.eqns, strict=True):
        for letter, operand in zip(row[1], equation.invars, strict=True):
            assert isinstance(operand, core.Literal) == (not re.fullmatch(r"[a-z]+", letter)), (
                letter
            )
    fits = [each for each in texts if [each.inputs, each.consts, each.outputs] == alike]
    assert any([[*map(list, pair)] for pair in each.equations] == rows for each in fits), (
        path,
        rows,
    )
    asked += 3 + 2 * len(rows)
    for position, name, index, inner in held(jaxpr):
        place = f"[{index}]" if index >= 0 else ""
        asked += check(f"{path}[{position}].{name}{place}", inner, scope, texts)
    return asked


@pytest.mark.parametrize("seed", range(8))
def test_letters_are_those_of_the_text(seed: int) -> None:
    function = generated(random.Random(seed))
    closed = jax.make_jaxpr(function)(jnp.zeros(3), jnp.zeros(3))
    text = str(closed)
    texts = [Read(body) for body in programs_in(text)]
    assert check("f", closed.jaxpr, Scope.of({"f": text}), texts) > 5


PROGRAM = """{ lambda ; a:f32[] b:f32[]. let
    _:f32[] c:f32[] = while[
      body_jaxpr={ lambda ; d:f32[] e:f32[]. let g:f32[] = add e 1.0:f32[] in (g, d) }
      body_nconsts=0
      cond_jaxpr={ lambda ; i:f32[] j:f32[]. let k:bool[] = lt i 5.0:f32[] in (k,) }
      cond_nconsts=0
    ] b 0.0:f32[]
    l:f32[] = add c a
    m:f32[] = add l l
  in (m,) }"""
LETTERS = [
    # path, letters, where each is bound: the text of the equation's beginning
    ('f["while"].inputs', "b 0.0", ["", ""]),
    ('f["while"].outputs', "_ c", ["_", "_"]),
    ('f["while"].body_jaxpr.inputs', "d e", ["_", "_"]),
    ('f["while"].body_jaxpr[add].outputs[0]', "g", ["g"]),
    ("f.inputs[1]", "b", [""]),
    ("f.outputs", "m", ["m"]),
    ("[e.outputs[0] for e in f[add]]", "l m", ["l", "m"]),
]


@pytest.mark.parametrize(("path", "wanted", "bound"), LETTERS)
def test_letters_and_where_they_are_bound(path: str, wanted: str, bound: list[str]) -> None:
    values, _ = resolve_values(path, Scope.of({"f": PROGRAM}))
    assert " ".join(value.letter for value in values) == wanted
    begins = [PROGRAM[v.bound_at] if v.bound_at >= 0 else "" for v in values]
    assert begins == bound


REFUSED = {
    "f": "this is `f` (a program), which has no letter; results are `f.outputs`",
    'f["while"]': 'results are `f["while"].outputs`',
    "f[add]": "results are `f[add][0].outputs`",
    "len(f)": "this is a number, not a value of a program",
    "f.consts": "`f.consts` has no values, so there is no letter",
    "[v for x in [f, g] for v in x.inputs]": "values of several blocks",
}


@pytest.mark.parametrize(("path", "message"), REFUSED.items())
def test_what_has_no_letter(path: str, message: str) -> None:
    scope = Scope.of({"f": PROGRAM, "g": "{ lambda ; a:f32[]. let  in (a,) }"})
    with pytest.raises(PathError, match=re.escape(message)):
        resolve_values(path, scope)
