"""What claims are written of: places in programs, facts of them, and their values."""

from __future__ import annotations

import keyword
import math
import random
from typing import Any

from .adapter import NAME
from .corpus import Traced
from .costs import parts
from .dataflow import Refused, Unsure
from .facts import Aligned
from .language import truth
from .phases import is_store
from .reading import Program

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

    def of_variables(self) -> str:
        """A number of all values that a program binds."""
        path, program = self.program()
        if any(is_store(equation, program.body) for equation in program.body.eqns):
            raise Retry  # some stores are printed as if they bound a value
        return self.pick(
            f"len({path}.variables)",
            f"sum(v.bytes for v in {path}.variables)",
            f"max(v.size for v in {path}.variables)",
            f"len([v for v in {path}.variables if v.weak])",
        )

    def number(self, depth: int = 0) -> str:
        path, program = self.program()
        name = bracket(self.dice.choice(program.items).primitive)
        choices = [
            f"len({path})",
            f"len({path}[{name}])",
            f"len({self.some()})",
            f"len({path}.inputs)",
            f"len({path}.consts)",
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
            f"len({self.operand()}.varying)",
            f"{self.equation()}.read_count",
            self.literal,
            self.size,
            self.parameter,
            self.part,
            self.of_variables,
            self.of_variables,
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
            f"e.primitive in ({listed(self.dice.sample(self.primitives(), 2))})",
            f"len(e.inputs) {self.dice.choice(SIGNS)} {self.dice.randrange(4)}",
            f'any(v.origin == "{self.dice.choice(ORIGINS)}" for v in e.inputs) and e.inputs',
            f"all(v.dtype in ({listed(self.dice.sample(DTYPES, 2))}) for v in e.outputs)",
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
        return "e.outputs" in condition and any(not shows(e) for e in self.value(equations))


def shows(equation: Any) -> bool:
    """Whether an equation has results; JAX may print a store with one or without."""
    return bool(equation.raw.outvars) and not is_store(equation.raw, equation.program.body)


def simple(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) < 20 and all(map(simple, value))
    return isinstance(value, (bool, int))


def listed(words: list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
