"""Random claims: truth by Python's ``eval`` over the oracle's views, verdict by the product.

:class:`Claims` writes claims that have a truth, half of them true; :class:`Refusals` writes
those of which the reference says that they are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from . import sides
from .adapter import NAME
from .corpus import Traced
from .facts import Aligned
from .reading import Uses
from .report import Report
from .writer import DTYPES, KNOWN, SIGNS, Retry, Writer, bracket, listed, shows, simple


class Claims(Writer):
    """Claims that have a truth."""

    def write(self) -> Iterator[tuple[str, bool]]:
        """Claims without end, as many true as false."""
        kinds: list[Callable[[], str]] = [
            self.of_numbers, self.of_numbers, self.of_words, self.of_shapes, self.of_lists,
            self.of_sets, self.of_all, self.of_all, self.of_wiring, self.of_same, self.of_presence,
            self.of_several, self.of_chain, self.of_parameters, self.of_flow, self.of_residuals,
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
            return f"{one} {self.pick('in', 'not in')} ({listed([chosen, *others])})"
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
        return f"{one} {self.pick('==', '!=')} [{listed(value)}]"

    def of_sets(self) -> str:
        some = self.some()
        kind = self.dice.randrange(4)
        if kind == 0:
            value = {len(e.uses) for e in self.value(some)}
            return f"{{e.uses for e in {some}}} == {{{', '.join(map(str, self.changed(value)))}}}"
        if kind == 1:
            one = f"{{v.dtype for e in {some} for v in e.outputs}}"
            if not all(map(shows, self.value(some))):
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
        return f"{one} {self.pick('==', '<=', '!=')} {{{listed(words)}}}"

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

    def of_flow(self) -> str:
        """What reads or depends on what, in one program."""
        path, program = self.program()
        one, two = self.equation(path, program), self.equation(path, program)
        left, right = [one], [two]
        if count := len(program.outputs):
            left.append(f"{path}.outputs[{self.dice.randrange(count)}]")
        if count := len(program.inputs):
            right.append(f"{path}.inputs[{self.dice.randrange(count)}]")
        if made := self.value(f"len({two}.outputs)"):
            right.append(f"{two}.outputs[{self.dice.randrange(made)}]")
        return self.pick(
            f"reads({one}, {self.pick(*right)})",
            f"depends({self.pick(*left)}, {self.pick(*right)})",
            f"not depends({self.pick(*left)}, {self.pick(*right)})",
            f"any(reads(e, {two}) for e in {path})",
            f"all(depends(e, {self.pick(*right)}) for e in {path}[-2:])",
        )

    def of_residuals(self) -> str:
        """What is kept for the backward part."""
        path, program = self.program()
        count = self.value(f"len({path}.residuals)")
        made = f"{self.equation(path, program)}.outputs"
        if not self.value(f"len({made})"):
            raise Retry
        return self.pick(
            f"len({path}.residuals) {self.dice.choice(SIGNS)} {self.near(count)}",
            f"{made}[0] in {path}.residuals",
            f"{made}[0] not in {path}.residuals",
            f'any(v.origin == "input" for v in {path}.residuals) or {made}[0].uses > 1',
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
        return f"same({one}, {two}{self.pick('', ', shapes=False')})"

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
        plain = [(n, v) for n, v in found if isinstance(v, (bool, int, tuple)) and simple(v)]
        if not plain:
            raise Retry
        name, value = self.dice.choice(plain)
        one = f"{equation}.params[{bracket(name)}]"
        if self.dice.random() < 0.4:
            value = self.pick(None, 7, "nothing", (1, 2, 3))
        return f"{one} {self.pick('==', '!=')} {value!r}"


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
