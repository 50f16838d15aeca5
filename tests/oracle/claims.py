"""Random claims: truth by Python's ``eval`` over the oracle's views, verdict by the product.

:class:`Claims` writes claims that have a truth, half of them true; :class:`Refusals` writes
those of which the reference says that they are errors.
"""

from __future__ import annotations

import keyword
import math
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from . import sides
from .adapter import NAME
from .corpus import Traced
from .costs import parts
from .dataflow import Refused, Unsure
from .facts import Aligned
from .language import truth
from .phases import is_store
from .reading import Program, Uses
from .report import Report

KNOWN = "sin cos tanh exp log mul add sub div dot_general while cond scan atan2 erf_inv".split()
DTYPES = "f32 i32 bool bf16 f16 float32 int32".split()
PHASES = "forward tangent transpose recomputed".split()
ORIGINS = "input constant literal equation".split()
SIGNS = "== != < <= > >=".split()


class Retry(Exception):
    """This try has led nowhere: another one is made."""


def bracket(word: str) -> str:
    """A word as it stands in brackets."""
    return word if word.isidentifier() and not keyword.iskeyword(word) else f'"{word}"'


class Writer:
    """What is there to be claimed of one function."""

    def __init__(self, traced: Traced, found: dict[str, Aligned], seed: int) -> None:
        self.traced = traced
        self.dice = random.Random(f"{seed} {traced.case.name}")
        self.programs = [
            (path, program)
            for aligned in found.values()
            for path, program in aligned.programs
            if program.items and len(path) < 120
        ]
        self.blocks = [name for name, block in traced.blocks.items() if block.items]
        self.whole = {name for name, aligned in found.items() if aligned.complete}

    def value(self, expression: str) -> Any:
        """What an expression is."""
        try:
            return truth(expression, {NAME: self.traced.base}, {*self.traced.words, *KNOWN})
        except (Refused, Unsure):
            raise Retry from None

    def pick(self, *choices: Any) -> Any:
        """One of several; what is costly or may lead nowhere is a function."""
        found = self.dice.choice(choices)
        return found() if callable(found) else found

    # -- things

    def program(self) -> tuple[str, Program]:
        if not self.programs:
            raise Retry
        return self.dice.choice(self.programs)

    def equation(self, path: str = "", program: Program | None = None) -> str:
        if program is None:
            path, program = self.program()
        place = self.dice.randrange(len(program.items))
        if self.dice.random() < 0.5:
            return f"{path}[{self.pick(place, place - len(program.items))}]"
        name = program.items[place].primitive
        same = [e.place for e in program.items if e.primitive == name]
        return f"{path}[{bracket(name)}][{same.index(place)}]"

    def operand(self) -> str:
        equation = self.equation()
        what = self.pick("inputs", "outputs")
        count = self.value(f"len({equation}.{what})")
        if not count:
            raise Retry
        return f"{equation}.{what}[{self.dice.randrange(count)}]"

    def some(self) -> str:
        """Equations, at least one."""
        path, program = self.program()
        count = len(program.items)
        start = self.dice.randrange(count)
        return self.pick(
            path,
            f"{path}[{start}:{self.dice.randrange(start + 1, count + 1)}]",
            f"{path}[{bracket(self.dice.choice(program.items).primitive)}]",
            path if path not in self.whole else f"{path}.all",
        )

    def absent(self, path: str, program: Program) -> str:
        """A primitive that a program does not have, at any depth."""
        there = {e.primitive for e in program.world.all}
        return self.dice.choice([name for name in KNOWN if name not in there])

    # -- values

    def number(self, depth: int = 0) -> str:
        path, program = self.program()
        name = bracket(self.dice.choice(program.items).primitive)
        choices = [
            f"len({path})",
            f"len({path}[{name}])",
            f"len({self.some()})",
            f"len({path}.inputs)",
            f"len({path}.consts)",
            f"len({path}.variables)",
            f"{self.equation()}.uses",
            f"len({self.equation()}.uses)",
            f"len({self.equation()}.inputs)",
            f"{self.operand()}.uses",
            f"len({self.operand()}.shape)",
            f"len({{e.primitive for e in {self.some()}}})",
            f"len(set(e.uses for e in {self.some()}))",
            f"sum(len(e.inputs) for e in {self.some()})",
            f"sum(e.uses for e in {self.some()})",
            f"max(e.uses for e in {self.some()})",
            f"len([e for e in {self.some()} if {self.of_equation()}])",
            f"{self.operand()}.size",
            f"{self.operand()}.bytes",
            f"sum(v.bytes for v in {path}.variables)",
            f"max(v.size for v in {path}.variables)",
            f"len([v for v in {path}.variables if v.weak])",
            f"len({self.operand()}.varying)",
            f"{self.equation()}.read_count",
            self.literal,
            self.size,
            self.parameter,
            self.part,
            lambda: f"{self.equation()}.flops",
            lambda: f"{self.program()[0]}.flops",
        ]
        if depth < 2:
            choices += [
                lambda: f"{self.number(depth + 1)} + {self.dice.randrange(1, 4)}",
                lambda: f"({self.number(depth + 1)} - {self.number(depth + 1)})",
                lambda: f"max({self.number(depth + 1)}, {self.number(depth + 1)})",
            ]
        return self.pick(*choices)

    def size(self) -> str:
        thing = self.pick(self.operand, self.equation)
        shape = self.value(f"{thing}.shape")
        if not shape:
            raise Retry
        return f"{thing}.shape[{self.dice.randrange(len(shape))}]"

    def part(self) -> str:
        """How many operands an equation has of those that a word means."""
        path, program = self.program()
        places = [place for place, e in enumerate(program.items) if parts(e.raw, e.primitive)]
        place = self.dice.choice(places)
        words = list(parts(program.items[place].raw, program.items[place].primitive))
        return f"len({path}[{place}].{self.dice.choice([w for w in words if w != 'branch'])})"

    def parameter(self) -> str:
        equation = self.equation()
        names = [
            name
            for name in self.value(f"[n for n in {equation}.params]")
            if type(self.quiet(f'{equation}.params["{name}"]')) is int
        ]
        if not names:
            raise Retry
        return f"{equation}.params[{bracket(self.dice.choice(names))}]"

    def literal(self) -> str:
        """The number of a literal that is no NaN and no infinity."""
        path, program = self.program()
        found = [
            f"{path}[{place}].inputs[{position}].value"
            for place, equation in enumerate(program.items)
            for position, value in enumerate(equation.inputs)
            if value.origin == "literal" and not value.bare
        ]
        if not found:
            raise Retry
        one = self.dice.choice(found)
        number = self.value(one)
        if isinstance(number, bool) or not math.isfinite(number):
            raise Retry
        return one

    def quiet(self, expression: str) -> Any:
        try:
            return self.value(expression)
        except Retry:
            return None

    def word(self) -> tuple[str, list[str]]:
        """A text with a closed vocabulary, and words of it."""
        return self.pick(
            lambda: (f"{self.equation()}.primitive", self.primitives()),
            lambda: (f"{self.equation()}.dtype", DTYPES),
            lambda: (f"{self.operand()}.dtype", DTYPES),
            lambda: (f"{self.operand()}.origin", ORIGINS),
            lambda: (f"{self.phased()}.phase", PHASES),
            lambda: (f"{self.equation()}.kind", ["elementwise", "call", "collective", "shape"]),
            lambda: (f"{self.operand()}.type", ["f32[4]", "float32[4, 4]", "i32[]", "bool[3]"]),
        )

    def phased(self) -> str:
        """An equation whose phase is known, in a block that has some."""
        equation = self.equation()
        if not self.quiet(f"{equation}.phase"):
            raise Retry
        return equation

    def primitives(self) -> list[str]:
        return [*KNOWN[:6], *{e.primitive for _, program in self.programs for e in program.items}]

    def of_equation(self) -> str:
        """A condition on ``e``."""
        return self.pick(
            f"e.uses {self.dice.choice(SIGNS)} {self.dice.randrange(3)}",
            f"e.uses in ({self.dice.randrange(3)}, {self.dice.randrange(3)})",
            f'e.primitive {self.pick("==", "!=")} "{self.dice.choice(self.primitives())}"',
            f"e.primitive in ({_listed(self.dice.sample(self.primitives(), 2))})",
            f"len(e.inputs) {self.dice.choice(SIGNS)} {self.dice.randrange(4)}",
            f'any(v.origin == "{self.dice.choice(ORIGINS)}" for v in e.inputs) and e.inputs',
            f"all(v.dtype in ({_listed(self.dice.sample(DTYPES, 2))}) for v in e.outputs)",
            f"e.outputs[0].shape[:1] == ({self.pick(1, 3, 4, 8)},)",
            f'e.kind {self.pick("==", "!=")} "{self.pick("elementwise", "shape", "call")}"',
            "any(v.weak for v in e.inputs) and e.inputs",
            f"e.read_count {self.dice.choice(SIGNS)} {self.dice.randrange(3)}",
        )

    # -- the rules on what says nothing

    def looked_at_nothing(self, equations: str, condition: str) -> bool:
        """Whether a condition on equations asks about operands of an equation without any."""
        if "e.inputs" in condition and "len(" not in condition:
            return any(not e.raw.invars for e in self.value(equations))
        return "e.outputs" in condition and any(not _shows(e) for e in self.value(equations))


class Claims(Writer):
    """Claims that have a truth."""

    def write(self) -> Iterator[tuple[str, bool]]:
        """Claims without end, as many true as false."""
        kinds: list[Callable[[], str]] = [
            self.of_numbers, self.of_numbers, self.of_words, self.of_shapes, self.of_lists,
            self.of_sets, self.of_all, self.of_all, self.of_wiring, self.of_same, self.of_presence,
            self.of_several, self.of_chain, self.of_parameters,
        ]  # fmt: skip
        wanted = True
        misses = 0
        while misses < 400:
            try:
                claim = self.pick(*kinds)
                if len(claim) > 1500:
                    raise Retry
                value = self.value(claim)
            except (Retry, IndexError):
                misses += 1
                continue
            if bool(value) is not wanted:
                misses += 1
                if self.dice.random() < 0.85:
                    continue
            misses = 0
            wanted = not wanted
            yield claim, bool(value)

    def near(self, value: Any) -> Any:
        """A value, or one beside it."""
        if isinstance(value, Uses):
            value = len(value)
        return value if self.dice.random() < 0.6 else value + self.pick(-1, 1, 2)

    def of_numbers(self) -> str:
        one = self.number()
        if self.dice.random() < 0.3:
            return f"{one} {self.dice.choice(SIGNS)} {self.number()}"
        value = self.near(self.value(one))
        form = self.dice.random()
        if form < 0.15:
            return f"{one} {self.pick('in', 'not in')} ({value}, {value + self.dice.randrange(3)})"
        return f"{one} {self.dice.choice(SIGNS)} {value}"

    def of_words(self) -> str:
        one, words = self.word()
        value = str(self.value(one))
        chosen = value if self.dice.random() < 0.5 else self.dice.choice(words)
        if self.dice.random() < 0.3:
            others = self.dice.sample(words, 2)
            return f"{one} {self.pick('in', 'not in')} ({_listed([chosen, *others])})"
        return f'{one} {self.pick("==", "!=")} "{chosen}"'

    def of_shapes(self) -> str:
        one = f"{self.pick(self.operand, self.equation)}.shape"
        value = self.value(one)
        if self.dice.random() < 0.3:
            return f"{one} == {self.operand()}.shape"
        if value and self.dice.random() < 0.5:
            value = (*value[:-1], value[-1] + self.pick(0, 1))
        return f"{one} {self.pick('==', '!=')} {value!r}"

    def of_lists(self) -> str:
        path, program = self.program()
        count = len(program.items)
        start = self.dice.randrange(count)
        one = f"ops({path}[{start}:{min(count, start + self.dice.randrange(1, 4))}])"
        value = list(self.value(one))
        if self.dice.random() < 0.4:
            value[self.dice.randrange(len(value))] = self.dice.choice(self.primitives())
        if self.dice.random() < 0.3:
            one, value = f"sorted({one})", sorted(value)
        return f"{one} {self.pick('==', '!=')} [{_listed(value)}]"

    def of_sets(self) -> str:
        some = self.some()
        kind = self.dice.randrange(4)
        if kind == 0:
            value = {len(e.uses) for e in self.value(some)}
            return f"{{e.uses for e in {some}}} == {{{', '.join(map(str, self.changed(value)))}}}"
        if kind == 1:
            one = f"{{v.dtype for e in {some} for v in e.outputs}}"
            if not all(map(_shows, self.value(some))):
                raise Retry
            value = {str(word) for word in self.value(one)}
            names = {"f32": "float32", "i32": "int32", "bf16": "bfloat16"}
            words = [self.pick(word, names.get(word, word)) for word in sorted(value)]
        else:
            one = self.pick(f"set(ops({some}))", f"{{e.primitive for e in {some}}}")
            words = sorted(self.value(one))
        if self.dice.random() < 0.4:
            words = [*words, self.dice.choice(DTYPES if kind == 1 else self.primitives())]
        if not words:
            raise Retry
        return f"{one} {self.pick('==', '<=', '!=')} {{{_listed(words)}}}"

    def changed(self, value: set[int]) -> list[int]:
        return sorted(value if self.dice.random() < 0.5 else {*value, self.dice.randrange(4)})

    def of_all(self) -> str:
        some, condition = self.some(), self.of_equation()
        if self.looked_at_nothing(some, condition):
            raise Retry
        word = self.pick("all", "any", "not all", "not any")
        return f"{word}({condition} for e in {some})"

    def of_wiring(self) -> str:
        path, program = self.program()
        one, two = self.equation(path, program), self.equation(path, program)
        read = self.value(f"len({one}.inputs)")
        made = self.value(f"len({two}.outputs)")
        if not read or not made:
            raise Retry
        value = f"{one}.inputs[{self.dice.randrange(read)}]"
        return self.pick(
            f"{value} == {two}.outputs[{self.dice.randrange(made)}]",
            f"{value} in {two}.outputs",
            f"{two}.outputs[{self.dice.randrange(made)}] in {one}.inputs",
            f"{value} in {path}.{'inputs' if len(program.inputs) else 'variables'}",
            f"{one} in {path}[{bracket(self.dice.choice(program.items).primitive)}]",
            f"{one} == {two}",
            f"{one}.index {self.dice.choice(SIGNS)} {two}.index",
            f"{one}.index {self.dice.choice(SIGNS)} {self.dice.randrange(len(program.items))}",
        )

    def of_same(self) -> str:
        one, two = self.some(), self.some()
        if self.dice.random() < 0.5:
            path, program = self.program()
            base = self.traced.base
            count = min(len(program.items), len(base.items))
            stop = self.dice.randrange(1, count + 1) if count else 0
            if not stop:
                raise Retry
            one, two = f"{path}[:{stop}]", f"{NAME}[:{stop}]"
        if ".all" in one + two:
            raise Retry  # in printed order, which the object does not know
        return f"same({one}, {two})"

    def of_presence(self) -> str:
        path, program = self.program()
        absent = self.absent(path, program)
        there = bracket(self.dice.choice(program.items).primitive)
        deep = f"{path}.all" if path in self.whole else path
        return self.pick(
            f"not {path}[{bracket(absent)}]",
            f"{path}[{there}]",
            f"not {deep}[{there}]",
            f"len({deep}[{bracket(absent)}]) == 0",
            f'"{absent}" in ops({path})',
            f'{self.pick("", "not ")}"{there.strip(chr(34))}" in ops({path})',
            f"{path}[{bracket(absent)}] and {path}[{bracket(absent)}][0].uses == 1",
            f"[e for e in {path} if e.uses > 50] == []",
        )

    def of_several(self) -> str:
        parts = [self.pick(self.of_numbers, self.of_words, self.of_all) for _ in range(2)]
        for part in parts:
            self.value(part)
        return self.pick("{} and {}", "{} or {}", "not ({} and {})").format(*parts)

    def of_chain(self) -> str:
        one = self.number()
        value = self.near(self.value(one))
        return f"{value - 1} < {one} <= {value + self.dice.randrange(2)}"

    def of_parameters(self) -> str:
        equation = self.equation()
        names = self.value(f"[n for n in {equation}.params]")
        found = [(n, self.quiet(f'{equation}.params["{n}"]')) for n in names]
        plain = [(n, v) for n, v in found if isinstance(v, (bool, int, tuple)) and _simple(v)]
        if not plain:
            raise Retry
        name, value = self.dice.choice(plain)
        one = f"{equation}.params[{bracket(name)}]"
        if self.dice.random() < 0.4:
            value = self.pick(None, 7, "nothing", (1, 2, 3))
        return f"{one} {self.pick('==', '!=')} {value!r}"


def _shows(equation: Any) -> bool:
    """Whether an equation has results; JAX may print a store with one or without."""
    return bool(equation.raw.outvars) and not is_store(equation.raw, equation.program.body)


def _simple(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) < 20 and all(map(_simple, value))
    return isinstance(value, (bool, int))


def _listed(words: list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


class Refusals(Writer):
    """Claims that the reference calls errors: DESIGN's "Nothing passes in silence"."""

    def write(self) -> Iterator[tuple[str, str]]:
        """Claims and the rules that they break, without end."""
        rules: dict[str, Callable[[], str]] = {
            "closed words": self.misspelt,
            "kinds": self.of_two_kinds,
            "nothing": self.of_nothing,
            "slices": self.beyond,
            "skipped": self.skipped,
            "no program": self.of_no_program,
            "two blocks": self.across,
            "one of many": self.of_many,
        }
        misses = 0
        while misses < 200:
            rule = self.dice.choice(list(rules))
            try:
                yield rules[rule](), rule
                misses = 0
            except (Retry, IndexError):
                misses += 1

    def misspelt(self) -> str:
        path, _ = self.program()
        wrong = self.pick("tahn", "cosinus", "dot_genral", "whlie", "matmull")
        return self.pick(
            f'"{wrong}" not in ops({path})',
            f'{self.equation()}.primitive != "{wrong}"',
            f'all(e.primitive != "{wrong}" for e in {path})',
            f'[e for e in {path} if e.primitive == "{wrong}"] == []',
            f'set(ops({path})) != {{"{wrong}"}}',
            f'{self.equation()}.primitive not in ("sin", "{wrong}")',
            lambda: f'{self.phased()}.phase != "{self.pick("backward", "forwards")}"',
            f'{self.operand()}.origin != "{self.pick("argument", "const", "output")}"',
            f'{self.operand()}.dtype != "{self.pick("flaot32", "f33", "single")}"',
            f'{self.operand()}.type != "{self.pick("flaot32[4]", "f33[]", "jnp.f32[]", "f32")}"',
            f'{self.equation()}.kind != "{self.pick("colective", "loop", "matmul")}"',
            f'not any(e.kind == "colective" for e in {path})',
            f'{self.operand()}.varying != ("no_such_axis",)',
            f'"no_such_axis" not in {self.operand()}.varying',
            f'"{self.pick("lenght", "axiss", "branchs")}" not in {self.equation()}.params',
            f"not {path}[{wrong}]",
        )

    def of_two_kinds(self) -> str:
        path, _ = self.program()
        shaped = self.operand()
        self.value(f"{shaped}.shape")
        sign = self.pick("==", "!=")
        return self.pick(
            f"{shaped}.shape {sign} {self.dice.randrange(9)}",
            f'len({path}) {sign} "{self.dice.randrange(9)}"',
            f"{self.equation()}.primitive {sign} {self.dice.randrange(5)}",
            f"{self.equation()} {sign} {self.operand()}",
            f"{self.operand()} {sign} {self.dice.randrange(5)}",
            f'{self.equation()}.uses {sign} "one"',
            f"{path} {sign} {self.dice.randrange(9)}",
            f'{shaped}.shape {sign} "f32"',
            f"{self.dice.randrange(9)} not in ops({path})",
            f"{self.equation()}.dtype {sign} (8,)",
            f'{self.equation()}.uses not in ("one", "two")',
            f"{self.operand()}.type {sign} (8,)",
            f"{self.operand()}.type {sign} 8",
            f'{shaped}.size {sign} "8"',
            f'{shaped}.bytes {sign} "f32"',
            f"{shaped}.weak {sign} {self.dice.randrange(2)}",
            f'{shaped}.varying {sign} "data"',
            f"{self.equation()}.kind {sign} 1",
            lambda: f'{self.literal()} {sign} "0.1"',
            f"{self.equation()}.index {sign} (0,)",
        )

    def of_nothing(self) -> str:
        path, program = self.program()
        other, second = self.program()
        gone = bracket(self.absent(path, program))
        also = bracket(self.absent(other, second))
        there = {e.primitive for _, p in self.programs for e in p.items}
        both = bracket(self.dice.choice([name for name in KNOWN if name not in there]))
        return self.pick(
            f"all(e.uses == 1 for e in {path}[{gone}])",
            f"not any(e.uses > 1 for e in {path}[{gone}])",
            f"same({path}[{gone}], {other}[{also}])",
            f"ops({path}[{both}]) == ops({other}[{both}])",
            f'all(e.uses == 1 for e in {path} if e.primitive == "{gone}")',
            f'all([v.dtype == "f32" for e in {path}[{gone}] for v in e.outputs])',
            f"not any(e.uses for e in {path}[{gone}])",
        )

    def beyond(self) -> str:
        path, program = self.program()
        count = len(program.items) + self.dice.randrange(1, 5)
        return self.pick(
            f"len({path}[{count}:]) == 0",
            f"ops({path}[{count}:{count + 2}]) == []",
            f"not {path}[{count}:{count + 1}]",
            f"len({path}.inputs[{len(program.inputs) + 1}:]) == 0",
        )

    def skipped(self) -> str:
        path, _ = self.program()
        wrong = self.pick(
            "nowhere[sin]",
            f"{NAME}.grda",
            f"{self.equation()}.shpe == (3,)",
            f"{self.equation()}.usess == 1",
            f'{self.equation()}.primitive == "tahn"',
            f'{self.equation()}.phase == "backwards"',
            "len(nowhere) == 3",
        )
        return self.pick(f"len({path}) > 0 or {wrong}", f"len({path}) < 0 and {wrong}")

    def of_no_program(self) -> str:
        number = self.dice.randrange(9)
        return self.pick(
            f"{number} == {number}",
            f"len([1, {number}]) == 2",
            f"{number} < {number + 1} and True",
            '"a" != "b"',
            f"sum([{number}, 1]) == {number + 1}",
        )

    def across(self) -> str:
        names = [name for name in self.blocks if name != NAME]
        if NAME not in self.blocks or not names:
            raise Retry
        other = self.dice.choice(names)
        one, two = self.equation(NAME, self.traced.base), f"{other}[0]"
        return self.pick(
            f"{one} == {two}",
            f"{one} != {two}",
            f"{one} not in {other}",
            f"{one} in {other}",
            f"any(e in {other} for e in {NAME})",
            f"not any(e in {other} for e in {NAME})",
            f"{one} not in [e for e in {other}]",
            f"{one}.index < {two}.index",
            f"{one}.index != {two}.index + 1",
        )

    def of_many(self) -> str:
        path, program = self.program()
        if len(program.items) < 2:
            raise Retry
        return self.pick(
            f"{path}[:2].primitive == {path}[0].primitive",
            f"{path}[{len(program.items) + 3}].uses == 1",
            f"{path}.uses == 1",
            f"{path}[0].params[nothing_of_it] == 1",
        )


def check(
    traced: Traced, found: dict[str, Aligned], report: Report, count: int, seed: int = 0
) -> None:
    """Judge ``count`` claims of a function, and a fifth as many that are errors."""
    writer = Claims(traced, found, seed)
    for _, (claim, value) in zip(range(count), writer.write(), strict=False):
        product = traced.product.judge(claim)
        report.check("claims", f"{traced.case.name}: {claim}", product, value)
        report.skipped["true claims"] += value
        if isinstance(product, bool):
            with suppress(Retry):  # a part of it the oracle can't tell
                sides.check(traced, claim, writer.value, report)
    refusals = Refusals(traced, found, seed)
    for _, (claim, rule) in zip(range(count // 5), refusals.write(), strict=False):
        product = traced.product.judge(claim)
        kind = f"refused: {rule}"
        report.checked[kind] += 1
        if not isinstance(product, str):
            report.fail(kind, f"{traced.case.name}: {claim}", product, "an error")
