"""How the work of a page's parts grows with the length of a text: each part with each shape.

``python -m tests.faults.curves`` doubles texts up to 1 MB and prints, for each part and
shape, how the processor's time grows (the exponent of the last doublings) and the time
at the end.  Tests count instead of timing, see :func:`work`: calls of functions, and the
characters of the text that are cut out of it.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, SupportsIndex

from docutils import nodes

from sphinx_jaxpr.ext.reading import elide, notes
from sphinx_jaxpr.ext.showing import listings
from sphinx_jaxpr.lexer import JaxprLexer
from sphinx_jaxpr.program.drift.compare import compare
from sphinx_jaxpr.program.facts import align as align_facts
from sphinx_jaxpr.program.glossary import glossary
from sphinx_jaxpr.program.html import code, definitions, folding
from sphinx_jaxpr.program.html.side_by_side import Column, Unaligned, align
from sphinx_jaxpr.program.matching import summary
from sphinx_jaxpr.program.matching.match import match
from sphinx_jaxpr.program.model import Printed, Program
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.parser.unparsed import unread
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import evaluate
from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.program.query.syntax import PathError
from sphinx_jaxpr.tracing import checks, lock, result
from sphinx_jaxpr.tracing.result import ErrorKind, TraceError
from tests.program.recordings import facts as facts_of
from tests.program.recordings import recording

from .rows import Tally, as_row

#: Characters of the longest text; the exponent above which a part isn't linear.
MB: Final = 1_000_000
LIMIT: Final = 1.3

# -- shapes of texts ---------------------------------------------------------------------


def _repeated(start: str, piece: str, end: str = "") -> Callable[[int], str]:
    def made(size: int) -> str:
        return start + piece * max(1, (size - len(start) - len(end)) // len(piece)) + end

    return made


def _chain(before: str, between: str, after: str) -> Callable[[int], str]:
    """Equations of which each reads the one before."""

    def made(size: int) -> str:
        found, length, count = [], 0, 0
        while not found or length < size:
            found.append(f"v{count + 1}:f32[] = mul[precision=None] v{count} 2.0")
            length += len(found[-1]) + len(between)
            count += 1
        return f"{{ lambda ; v0:f32[]. let{before}{between.join(found)}{after} in (v{count},) }}"

    return made


def _nested(before: str, after: str) -> Callable[[int], str]:
    """One program in another, as deep as it is read; then many of these."""

    def made(size: int) -> str:
        once = len(before) + len(after)
        depth = min(max(1, size // once), 3000)
        inner = "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"
        return before * depth + inner + after * depth

    return made


def _names(size: int) -> str:
    name = "x" * (size // 4)
    return f"{{ lambda ; {name}:f32[]. let y:f32[] = sin {name}; z:f32[] = mul y {name} in (z,) }}"


def _shared(size: int) -> str:
    count = max(1, size // 90)
    lets = "".join(
        f"let f{n} = {{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }} in\n" for n in range(count)
    )
    uses = "\n".join(f"    c{n}:f32[] = jit[name=f{n} jaxpr=f{n}] d" for n in range(count))
    return f"{lets}{{ lambda ; d:f32[]. let\n{uses}\n  in (c0,) }}"


_ONE: Final = "{ lambda ; a:f32[]. let b:f32[] = "
SHAPES: Final[dict[str, Callable[[int], str]]] = {
    "one line": _chain(" ", "; ", ""),
    "many lines": _chain("\n    ", "\n    ", "\n "),
    "deep on one line": _nested("{ lambda ; a:f32[]. let b:f32[] = jit[jaxpr=", "] a in (b,) }"),
    "deep over lines": _nested(
        "{ lambda ; a:f32[]. let\n  b:f32[] = jit[\n jaxpr=", "\n ] a\n in (b,) }"
    ),
    "a huge parameter": _repeated(_ONE + "f[x=(", "1, ", ")] a in (b,) }"),
    "a huge word": _repeated(_ONE + "f[x=", "q", "] a in (b,) }"),
    "many parameters": _repeated(_ONE + "f[\n", "      x=None\n", "    ] a\n  in (b,) }"),
    "many operands": _repeated(_ONE + "f", " a", " in (b,) }"),
    "many outputs": _repeated("{ lambda ; a:f32[]. let ", "b:f32[] ", "= f a in (b,) }"),
    "many results": _repeated("{ lambda ; a:f32[]. let  in (", "a, ", ") }"),
    "many inputs": _repeated("{ lambda ; ", "a:f32[] ", ". let b:f32[] = f a in (b,) }"),
    "many bodies": _repeated(
        "{ lambda ; a:f32[]. let\n",
        "    b:f32[] = jit[\n      name=f\n      jaxpr={ lambda ; c:f32[]. let\n"
        "          d:f32[] = sin c\n        in (d,) }\n    ] a\n",
        "  in (b,) }",
    ),
    "bodies of one equation": _repeated(
        "{ lambda ; a:f32[]. let b:f32[] = cond[branches=(",
        "{ lambda ; c:f32[]. let d:f32[] = sin c in (d,) } ",
        ")] a in (b,) }",
    ),
    "shared programs": _shared,
    "long names": _names,
    "semicolons": _repeated("{ lambda ; a:f32[]. let ", ";", " in (a,) }"),
    "newlines": _repeated("{ lambda ; a:f32[]. let", "\n", "in (a,) }"),
    "newlines alone": _repeated("", "\n"),
    "spaces": _repeated("{ lambda ; a:f32[]. let ", " ", "b:f32[] = sin a in (b,) }"),
    "backslashes": _repeated(_ONE + "f[x='", "\\", "'] a in (b,) }"),
    "backslashes alone": _repeated("", "\\"),
    "opening brackets": _repeated(_ONE + "f[x=", "[", " in (b,) }"),
    "closing brackets": _repeated(_ONE + "f[x=", "]", " in (b,) }"),
    "brackets that cross": _repeated(_ONE + "f[x=", "([{)]}", "] a in (b,) }"),
    "statements": _repeated(_ONE + "f[x=", "'", "] a in (b,) }"),
    "nested quotes": _repeated(_ONE + "f[x=", "'\"'\"", "] a in (b,) }"),
    "half programs": _repeated("", "{ lambda ; a. let b = f[x="),
    "lambdas": _repeated("", "{ lambda "),
    "lets": _repeated("", "let a = "),
    "equal signs": _repeated("{ lambda ; a:f32[]. let ", "= ", " in (a,) }"),
    "wide letters": _repeated(_ONE + "f[x=", "中\U0001f600é ", "] a in (b,) }"),
    "no jaxpr": _repeated("", "Traceback: no <b>program</b> & more "),
}

# -- what is done with a text --------------------------------------------------------------


class Text(str):
    """A text that counts the characters that are cut out of it."""

    cut = 0

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        found = super().__getitem__(place)
        Text.cut += len(found)
        return found


def _counted(printed: Printed) -> Printed:
    return replace(printed, text=Text(printed.text))


def recorded(text: str) -> dict[str, Any]:
    """A result as the worker would send it, as far as the text says it."""
    printed = parse(text)
    programs: list[dict[str, Any]] = []
    places: dict[int, int] = {}

    def place(program: Program) -> int:
        if program.start not in places:
            places[program.start] = len(places)
            todo.append(program)
        return places[program.start]

    todo: list[Program] = []
    if printed.program is not None:
        place(printed.program)
    while todo:
        program = todo.pop(0)
        rows = []
        for equation in program.equations:
            held = {
                parameter.name: [
                    place(printed.named[m] if isinstance(m, str) else m) for m in parameter.members
                ]
                for parameter in equation.parameters
                if all(not isinstance(m, str) or m in printed.named for m in parameter.members)
            }
            types = [variable.type for variable in equation.outputs]
            held = {name: found for name, found in held.items() if found}
            rows.append([equation.primitive, "", -1, types, {}, held])
        fields: dict[str, Any] = {"equations": rows, "constants": [], "effects": [], "unused": []}
        fields["inputs"] = [variable.type for variable in program.inputs]
        fields["outputs"] = [operand.type for operand in program.outputs]
        programs.append(fields)
    facts = {"programs": programs, "sources": []} if programs else {}
    data = {"text": text, "jax": "0.10.2", "effects": [], "constants": [], "args": []}
    return {**data, "inputs": [], "call": "f", "facts": facts}


def _figure(text: str) -> Callable[[], object]:
    printed = _counted(parse(text))

    def run() -> object:
        marks = code.Marks(folded=folding.folds(printed), names=["x"])
        return code.code(printed, {}, "b", marks)

    return run


def _elided(text: str) -> Callable[[], object]:
    printed = _counted(parse(text))
    why = {equation.start: folding.CAST for equation in printed.walk() if equation.start % 3}

    def run() -> object:
        found = folding.reasons(printed, {}, frozenset(["casts", "dead"]), list(why))
        return code.code(printed, {}, "b", code.Marks(runs=folding.runs(printed, found)))

    return run


def _beside(text: str) -> Callable[[], object]:
    one, two = _counted(parse(text)), _counted(parse(text.replace("mul", "cos")))
    found = match(one, two)

    def run() -> object:
        if one.program is None or two.program is None:
            return None
        try:
            sides = Column(one), Column(two)
            is_aligned = align(*sides, found)
        except Unaligned:
            return None
        both = zip(sides, (one, two), strict=True)
        return is_aligned and [code.code(p, {}, "b", code.Marks(side=s)) for s, p in both]

    return run


def _compared(text: str) -> Callable[[], object]:
    one, two = _counted(parse(text)), _counted(parse(text.replace("sin", "cos")))

    def run() -> object:
        return summary.acted(two, one, match(one, two), {}, {})

    return run


def _drifted(text: str) -> Callable[[], object]:
    old, new = recorded(text), recorded(text.replace("mul", "add").replace("sin", "cos"))
    return lambda: (
        compare(recording(old), recording(new)),
        compare(recording(old), recording(old)),
    )


def _explained(text: str) -> Callable[[], object]:
    printed = _counted(parse(text))
    words = glossary.builtin()

    def run() -> object:
        ids = code.equation_ids(printed, "b")
        known = definitions.of_block(words, printed, {}, ids, {})
        explained = definitions.Explained({})
        explained.add(known, "b", "")
        return explained.as_html(False)

    return run


def _listed(text: str) -> Callable[[], object]:
    printed = _counted(parse(text))

    def run() -> object:
        cut, _ = listings._cut(printed, 20)
        shown = printed.text[:cut]
        found: list[nodes.Node] = [nodes.literal_block(shown, shown)]
        letters = listings.letter_definitions(printed.text)
        return listings._has_long_word(printed.text), letters, found

    return run


def _aligned(text: str) -> Callable[[], object]:
    printed, facts = parse(text), facts_of(recorded(text)["facts"])

    def run() -> object:
        found = align_facts(printed, facts)
        return summary.marks(printed, found.equations, {}, {})

    return run


def _judged(text: str) -> Callable[[], object]:
    printed, facts = parse(text), facts_of(recorded(text)["facts"])

    def run() -> object:
        scope = Scope({"f": QueryBlock("f", printed, facts)})
        for expression in ("len(f.all)", "ops(f)", "f.all[sin]", "f[0].uses", "same(f, f)"):
            with suppress(PathError):  # a text may have no program, or no such equation
                evaluate(expression, scope)
        return scope

    return run


def _stored(text: str) -> Callable[[], object]:
    result = recorded(text)

    def run() -> object:
        return checks.problem(result), lock._pretty(result["facts"], 1)

    return run


def _read(text: str) -> Callable[[], object]:
    printed = parse(text)
    return lambda: unread(printed)


def _failed(text: str) -> Callable[[], object]:
    from sphinx_jaxpr.program.html import markup

    error = TraceError(ErrorKind.TRACE, text, "E", ("E",))
    return lambda: (
        markup.error(*result.error_parts(error)),
        result.describe(error),
        result.unmet("E: x", error),
    )


def _options(text: str) -> Callable[[], object]:
    return lambda: (elide.split(text), notes.split(text.split("\n")))


PARTS: Final[dict[str, Callable[[str], Callable[[], object]]]] = {
    "parse": lambda text: lambda: parse(Text(text)),
    "lexer": lambda text: lambda: list(JaxprLexer().get_tokens_unprocessed(text)),
    "html": _figure,
    "html, elided": _elided,
    "compare": _beside,
    "match": _compared,
    "drift": _drifted,
    "definitions": _explained,
    "listing": _listed,
    "facts": _aligned,
    "paths": _judged,
    "results": _stored,
    "unread": _read,
    "errors": _failed,
    "options": _options,
}

# -- measuring -------------------------------------------------------------------------------


@contextmanager
def _profiled(count: Callable[[Any, str, Any], None]) -> Iterator[None]:
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


def work(run: Callable[[], object]) -> int:
    """How much is done: calls, and the characters cut out of the text, 5 as one call."""
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    Text.cut = 0
    with _profiled(count):
        run()
    return calls + Text.cut // 5


def seconds(run: Callable[[], object]) -> float:
    """The time that this process had the processor."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


def curve(part: str, shape: str, sizes: Sequence[int], most: float) -> list[tuple[int, float]]:
    """The time at each size, up to one that takes more than ``most`` seconds."""
    found = []
    for size in sizes:
        text = SHAPES[shape](size)
        found.append((len(text), seconds(PARTS[part](text))))
        if found[-1][1] > most:
            break
    return found


def exponent(found: Sequence[tuple[int, float]], least: float = 0.02) -> float:
    """How the time grows over the last two doublings; 0 where it is too short to say."""
    if len(found) < 3 or found[-3][1] < least:
        return 0.0
    (size, before), (longer, after) = found[-3], found[-1]
    return math.log(after / before) / math.log(longer / size) if longer > size else 0.0


def text_curves(chance: random.Random, count: int) -> Tally:
    """Texts of up to 1 MB in many shapes, through each part of a page: time grows as they do."""
    tally = Tally()
    pairs = [(part, shape) for part in PARTS for shape in SHAPES]
    for part, shape in chance.sample(pairs, min(count, len(pairs))):
        problems = []
        try:
            found = curve(part, shape, [MB >> shift for shift in range(4, -1, -1)], most=20.0)
            if (grows := exponent(found)) > LIMIT:
                problems.append(f"grows by {grows:.2f}: {found[-1][1]:.1f} s for {found[-1][0]}")
        except RecursionError:
            problems.append("too deep")
        tally.note(f"{part}, {shape}", problems)
    return tally


#: In CI test_curves.py counts instead.
ROWS: Final = [as_row(text_curves, short=0, long=len(PARTS) * len(SHAPES))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status is 1 where something grows faster than ``--limit``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--size", type=int, default=MB, help="the longest text")
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--most", type=float, default=20.0, help="seconds that end a curve")
    options = parser.parse_args(arguments)
    sizes = [options.size >> shift for shift in range(4, -1, -1)]
    failed = 0
    for part in options.parts:
        for shape in options.shapes:
            try:
                found = curve(part, shape, sizes, options.most)
            except RecursionError:
                sys.stdout.write(f"{part:14} {shape:24} RecursionError\n")
                failed += 1
                continue
            grows = exponent(found)
            mark = "  <--" if grows > options.limit else ""
            failed += bool(mark)
            sys.stdout.write(f"{part:14} {shape:24} {grows:5.2f} {found[-1][1]:8.2f} s{mark}\n")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
