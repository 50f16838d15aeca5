"""20,000 texts that a page may hold: each has a value or is refused, soon, and runs nothing.

Seeded, so that every run tries the same ones.  Valid texts are mutated, others are
made of pieces; what a page's author writes goes the same ways as here.
"""

from __future__ import annotations

import builtins
import functools
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.ext.reading.claims.lines import expressions
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.parser.unparsed import unread
from sphinx_jaxpr.program.query.base import MAX_SHOWN, words
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import (
    PathError,
    Scope,
    evaluate,
    resolve_block,
    resolve_equation,
)
from sphinx_jaxpr.program.query.explain import explain
from sphinx_jaxpr.tracing.grammar import GrammarError, arguments, static, transforms
from sphinx_jaxpr.tracing.request import Request, check_chain, variants
from tests.program import lesson
from tests.program.query.test_evaluate import _PIECES, _SEEDS
from tests.tracing.test_grammar import REFUSED, SPECS

pytestmark = pytest.mark.slow

EXPRESSIONS = 11_000
OPTIONS = 9_000
#: Seconds of this process that one text may take.
LIMIT = 0.1

# -- what proves that nothing is run ---------------------------------------------------------

HAPPENED: list[str] = []


class Canary(QueryBlock):
    """A block with more to it than the language knows."""

    @property
    def secret(self) -> str:
        HAPPENED.append("secret")
        return "secret"

    def launch(self, *_: Any) -> str:
        HAPPENED.append("launch")
        return "launched"

    __call__ = launch
    __getitem__ = launch


_LISTENING = [False]
_WATCHED = ("exec", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "shutil.")


#: What functions of the standard library that we call look up for themselves.
_OWN = {"re", "collections", "heapq", "unicodedata"}


def _hook(event: str, _: object) -> None:
    if _LISTENING[0] and event.startswith(_WATCHED):
        HAPPENED.append(event)


sys.addaudithook(_hook)  # it can't be removed: one for all tests here


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Note whatever is run, imported, opened or reached that should not be."""
    HAPPENED.clear()
    for name in ("eval", "exec", "open", "__import__", "input", "breakpoint"):
        plain = getattr(builtins, name)

        def canary(*given: Any, _name: str = name, _plain: Any = plain, **named: Any) -> Any:
            if _LISTENING[0] and not (_name == "__import__" and given[0] in _OWN):
                HAPPENED.append(f"{_name} {given[0] if given else ''}".rstrip())
            return _plain(*given, **named)

        monkeypatch.setattr(builtins, name, canary)
    _LISTENING[0] = True
    try:
        yield
    finally:
        _LISTENING[0] = False
        monkeypatch.undo()


def slow_ones(run: Callable[[str], object], texts: list[str]) -> list[str]:
    """The texts that take too long, also when tried again.

    On a busy machine all code is slower: by how much, fixed work beside it tells.
    """
    slow = []
    quiet = min(_took(_fixed, "") for _ in range(30))
    for text in texts:
        took = _took(run, text)
        for _ in range(5):
            if took > LIMIT:
                before = _took(_fixed, "")
                again = _took(run, text)
                busy = max(quiet, (before + _took(_fixed, "")) / 2)
                took = min(took, again * quiet / busy)
        if took > LIMIT:
            slow.append(f"{took:.3f} s: {text[:200]!r}")
    return slow


def _took(run: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    run(text)
    return time.process_time() - start


def _fixed(_: str) -> dict[int, str]:
    return {n: str(n) for n in range(20_000)}


def _work(text: str) -> None:
    for _ in range(100):
        _fixed(text)


def test_the_canaries_sing(monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(monkeypatch):
        eval("1 + 1")  # noqa: S307 - that it is noticed is what is tested
        canary: Any = scope().blocks["dense"]
        _ = canary.secret, canary.launch(), canary[0]
        Path(__file__).read_bytes()
    assert {"eval 1 + 1", "exec", "open", "secret", "launch"} <= set(HAPPENED)
    assert slow_ones(lambda _: time.sleep(0.2), ["sleeps"]) == []
    assert slow_ones(_work, ["works"])


# -- texts ----------------------------------------------------------------------------------

_INNER = """.secret .launch( .launch() .block .printed .facts .attribute( .members() .words()
 .__class__ .__init__.__globals__ .__subclasses__() .format( .index .mro() __import__('os')
 exec( open('/etc/passwd') getattr(dense, vars( globals() locals() compile( (lambda:0)()
 [x:=1] f'{dense}' await yield *dense **dense print( type( str( repr( help( memoryview(""".split()

#: Each with a loop around it, these come near the bound of what may be worked.
_HEAVY = [
    *("same(dense.grad, dense)", "dense.grad.variables", "dense.grad.all[mul].calls", "a == 1"),
    *("ops(dense.grad.all)", "sorted(ops(dense.grad))", "[0] * 20000", "'x' * 99999 in 'y' * 99"),
    *("dense.shard_map[shard_map].params", "dense.vmap.reshaped", "(a,) * 9999", "2 ** 255 // 7"),
]
_LOOPS = [
    "[{} for a in [0] * 20000]",
    "all({} != 1 for a in [0] * 20000 for b in dense)",
    "not any({} for a in dense for b in dense for c in dense for d in dense for e in dense)",
    "{{len([{}]) for a in [(1,) * 9999] for b in [(a,) * 9999]}}",
]

_OPTIONS = [
    *SPECS,
    *(text for _, text, *_ in REFUSED if len(text) < 200),
    "x=bf16[32,64], w=bf16[64,64], b=bf16[64]",
    "params={'w': f32[2], 'b': (f32[], 3)}, key=key<fry>[]",
    'n=3, act=jax.nn.relu, 1=4, mode="a", flag=True, t=(1, "x")',
    "grad(argnums=w), vmap(axis_size=8), scan(over=w, length=4), remat | grad, shard_map",
    "vmap(in_axes={x: 0, w: None}, out_axes=0, axis_name=i) | jit as both",
    'remat(policy=save_only_these_names("a", "b"))\nshard_map(mesh={"data": 8}, in_specs={x: 1})',
]
_MARKS = [*"()[]{},:=|<>\"'\\ \n\t#+-.*@;$%&!?~^`", "as", "1e9", "key<", "f32[", "\0", "\ufeff"]
_MARKS += [
    "\u00e9",
    "\ud800",
    "\u202e",
    "__class__",
    "grad",
    "None",
    "True",
    "9" * 50,
    "1_0",
    "inf",
]


def mutated(chance: random.Random, seeds: list[str], pieces: list[str]) -> str:
    """A seed with some of its text replaced, repeated or left out; or pieces alone."""
    if chance.randrange(5) == 0:
        return chance.choice(["", " "]).join(chance.choices(pieces, k=chance.randrange(1, 25)))
    text = chance.choice(seeds)
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.randrange(8))
        middle = [*chance.choices(pieces, k=3), chance.choice(seeds), text[start:end] * 9, ""]
        text = text[:start] + chance.choice(middle) + text[end:]
    return text


def worded(chance: random.Random, seeds: list[str]) -> str:
    """A seed with words of another one: much of that has a value."""
    parts = re.findall(r"\w+|\W", chance.choice(seeds))
    for _ in range(chance.randrange(1, 3)):
        place = chance.randrange(len(parts))
        if parts[place].isalnum():
            parts[place] = chance.choice(re.findall(r"\w+", chance.choice(seeds)) or ["x"])
    return "".join(parts)


def expression_texts() -> list[str]:
    chance = random.Random(20_000)
    pieces = [*_PIECES, *_INNER]
    texts = [loop.format(text) for loop in _LOOPS for text in _HEAVY]
    while len(texts) < EXPRESSIONS:
        kind = chance.randrange(10)
        text = worded(chance, _SEEDS) if kind < 4 else mutated(chance, _SEEDS, pieces)
        texts.append(text * 40 if kind == 9 and chance.randrange(5) == 0 else text)
    return texts


def option_texts() -> list[str]:
    chance = random.Random(9_000)
    texts = [
        *("(" * 9_999, "a," * 4_999, "{" * 39 + "a:" * 4_000, '"' + "\\" * 9_990, "1e" * 4_999),
        *("x=f32[" + "1," * 4_900 + "]", "1_" * 4_999, "grad|" * 1_999, "a." * 4_999, "-" * 9_999),
        *(",".join(f"a{n}=1" for n in range(1_300)), ",".join(f"grad as a{n}" for n in range(600))),
    ]
    while len(texts) < OPTIONS:
        kind = chance.randrange(10)
        texts.append(worded(chance, _OPTIONS) if kind < 4 else mutated(chance, _OPTIONS, _MARKS))
    return texts


# -- what is tried --------------------------------------------------------------------------


@functools.cache
def scope() -> Scope:
    """The lesson's programs, in blocks that tell who reaches into them."""
    found = lesson.scope()
    blocks = {}
    for name, block in found.blocks.items():
        known = {key: getattr(block, key) for key in block.__dataclass_fields__}
        blocks[name] = Canary(**{**known, "base": blocks.get("dense") if block.base else None})
    return replace(found, blocks=blocks)


def judge(text: str) -> str:
    """What becomes of a claim: ``true``, ``false`` or ``refused``; anything else escapes."""
    try:
        found = evaluate(text, scope())
    except PathError as error:
        assert error.message and error.offset >= 0
        return "refused"
    assert len(words(found.value)) <= MAX_SHOWN + 3
    if found.is_true:
        return "true"
    assert explain(text, scope())
    return "false"


def point(text: str) -> str:
    """What becomes of a role, or of a note."""
    answers = []
    for resolve in (resolve_block, resolve_equation, _in_directive):
        try:
            resolve(text, scope())
        except PathError as error:
            assert error.message and error.offset >= 0
            answers.append("refused")
        else:
            answers.append("found")
    return "found" if "found" in answers else "refused"


def _in_directive(text: str, where: Scope) -> Any:
    return resolve_equation(text, where, inside="dense")


def read(text: str, grammar: Callable[[str], Any]) -> str:
    """What becomes of an option: read or refused."""
    try:
        found = grammar(text)
    except GrammarError as error:
        assert str(error) and 0 <= error.offset <= len(text)
        return "refused"
    if len(text) > 1_000:
        return "read"  # the time is the grammar's own
    if grammar is transforms:
        assert all(isinstance(check_chain(chain, {}), str) for chain in found)
        try:
            assert len(variants(Request("m:f"), found, {})) == len(found)
        except ValueError as problem:
            assert str(problem)
    else:
        field = "args" if grammar is arguments else "static"
        request = replace(Request("m:f"), **{field: found})
        assert Request.from_json(request.to_json()) == request
    return "read"


# -- tests ----------------------------------------------------------------------------------


def test_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = expression_texts()
    assert len(texts) + OPTIONS == 20_000
    for text in _SEEDS:  # what is loaded at first use
        judge(text)
        point(text)
    outcomes: list[str] = []
    with watched(monkeypatch):
        slow = slow_ones(lambda text: outcomes.append(judge(text)), texts)
        slow += slow_ones(point, texts[len(_HEAVY) * len(_LOOPS) :: 4])
    assert HAPPENED == []
    assert slow == []
    for outcome in ("true", "false", "refused"):  # it tries something
        assert outcomes.count(outcome) > 500, outcome


def test_options(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = option_texts()
    outcomes: list[str] = []
    slow: list[str] = []
    for grammar in (arguments, static, transforms):
        read("x=1", grammar)
        tried = functools.partial(read, grammar=grammar)
        with watched(monkeypatch):
            slow += slow_ones(lambda text, tried=tried: outcomes.append(tried(text)), texts)
        assert HAPPENED == []
    assert slow == []
    assert outcomes.count("read") > 2_000
    assert outcomes.count("refused") > 2_000


def test_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the directives that hold claims, and of the one that holds a program."""
    chance = random.Random(3)
    claims = [
        mutated(chance, _SEEDS, [*_PIECES, "\n", "  ", "# why", "'", '"']) for _ in range(1_000)
    ]
    data = Path(__file__).parent / "program/data"
    programs = [path.read_text("utf-8") for path in sorted(data.glob("*.txt"))]
    pasted = [mutated(chance, programs, _MARKS) for _ in range(300)]
    lengths: list[int] = []
    unread(parse(programs[0]))
    with watched(monkeypatch):
        slow = slow_ones(lambda text: lengths.append(len(expressions(text.split("\n")))), claims)
        for text in pasted:
            found = unread(parse(text))
            assert all(0 <= one.offset <= len(text) and one.message for one in found)
    assert HAPPENED == []
    assert slow == []
    assert max(lengths) > 1
