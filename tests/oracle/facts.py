"""Every fact that the language can ask of a program, asked of both sides."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from .corpus import Traced
from .costs import CONTRACTING, RESULTS, WORDS
from .data import plain, short
from .dataflow import Refused, Unsure, depends, reads
from .phases import is_literal, is_program, is_store, params_of, programs_in
from .reading import Block, Equation, Program
from .report import Report

#: Programs of one block that are looked at; a text has no more characters than this.
MAX_PROGRAMS, MAX_PATH = 60, 1500
#: Pairs of which it is asked whether one depends on the other, for each program.
MAX_PAIRS = 5


class Aligned:
    """The programs of a block by their paths, and the product's views of their equations."""

    def __init__(self, traced: Traced, name: str, report: Report) -> None:
        self.traced, self.name, self.report = traced, name, report
        self.block = traced.blocks[name]
        self.where = f"{traced.case.name} {name}"
        self.programs: list[tuple[str, Program]] = []
        self.raw: dict[Any, Any] = {}  # the product's view of an equation -> the object
        self.views: dict[int, Any] = {}  # id of an equation -> a view
        self.complete = True
        todo = [(name, Program(self.block, self.block.closed))]
        while todo and len(self.programs) < MAX_PROGRAMS:
            path, program = todo.pop(0)
            if len(path) > MAX_PATH or not self.enter(path, program):
                self.complete = False
                continue
            for place, equation in enumerate(program.items):
                todo.extend(self.inner(f"{path}[{place}]", equation))
        self.complete &= not todo

    def enter(self, path: str, program: Program) -> bool:
        """Look at one program; whether both sides list the same primitives."""
        try:
            found = self.traced.product.ask(f"[e for e in {path}]")
            listed = self.traced.product.ask(f"ops({path})") if found else ()
        except ValueError as error:
            self.report.checked["nested"] += 1
            self.report.fail("nested", f"{self.where} {path}", error, "a program")
            return False
        names = tuple(e.primitive for e in program.items)
        if not self.report.check("ops", f"{self.where} {path}", tuple(listed), names, len(names)):
            return False
        self.programs.append((path, program))
        for view, equation in zip(found, program.items, strict=True):
            self.raw[view] = equation.raw
            self.views.setdefault(id(equation.raw), view)
        return True

    def inner(self, path: str, equation: Equation) -> list[tuple[str, Program]]:
        """The programs of an equation, by the parameters that hold them."""
        found = []
        for name, value in params_of(equation.raw).items():
            held = programs_in(value)
            if not held:
                continue
            inner = [Program(self.block, program) for program in held]
            if is_program(value):
                found.append((f"{path}.{name}", inner[0]))
                continue
            try:
                count: Any = self.traced.product.ask(f"len({path}.{name})")
            except ValueError as error:
                count = error
            where = f"{self.where} {path}.{name}"
            if self.report.check("nested", where, count, len(inner)):
                found += [(f"{path}.{name}[{n}]", program) for n, program in enumerate(inner)]
            else:
                self.complete = False
        return found


def check(traced: Traced, report: Report) -> dict[str, Aligned]:
    """Compare all facts of a function's blocks."""
    found = {}
    for name in traced.blocks:
        aligned = found[name] = Aligned(traced, name, report)
        for path, program in aligned.programs:
            Facts(aligned, path, program).check()
        whole(aligned)
    return found


class Facts:
    """The facts of one program."""

    def __init__(self, aligned: Aligned, path: str, program: Program) -> None:
        self.path, self.program = path, program
        self.report, self.ask = aligned.report, aligned.traced.product.ask
        self.where = f"{aligned.where} {path}"
        self.aligned = aligned

    def check(self) -> None:
        path, program = self.path, self.program
        self.one("len", f"len({path})", len(program.items))
        self.values()
        for what, get in _OF_VALUES.items():
            self.each(what, f"[v.{what} for v in e.inputs]", lambda e, g=get: _all(g, e.inputs))
            self.each(what, f"[v.{what} for v in e.outputs]", lambda e, g=get: _all(g, _made(e)))
        self.each("origin", "[v.origin for v in e.inputs]", lambda e: _all(_origin, e.inputs))
        self.each("uses", "[len(v.uses) for v in e.outputs]", lambda e: _all(_uses, _made(e)))
        self.each("uses", "len(e.uses)", lambda e: len(e.uses))
        self.each("calls", "e.calls", lambda e: e.calls, shared=True)
        self.each("phase", "e.phase", lambda e: e.phase)
        self.costs()
        self.each("read_count", "[v.read_count for v in e.outputs]", _reads)
        self.each("read_count", "e.read_count", lambda e: sum(_reads(e)))
        self.each("kind", "e.kind", lambda e: e.kind)
        self.each("index", "e.index", lambda e: e.index)
        self.literals()
        self.parameters()
        self.residuals()
        self.flow()
        self.one("effects", f"{path}.effects", program.effects)
        self.selections()

    def costs(self) -> None:
        """Operands by what they are, contractions and operations."""
        for place, equation in enumerate(self.program.items):
            # Where there are programs inside; of all others one word is an error as well.
            words = WORDS if equation.held else WORDS[place % len(WORDS) :][:1]
            for word in words:
                self.parts(place, equation, word)
            if not place or equation.primitive in CONTRACTING:
                self.contracted(place, equation)
        self.each("flops", "e.flops", lambda e: e.flops)
        self.operations()

    def one(self, kind: str, expression: str, oracle: Any, count: int = 1) -> None:
        try:
            product = self.ask(expression)
        except ValueError as error:
            product = error
        self.report.check(kind, f"{self.where}: {expression}", product, oracle, count)

    def each(
        self, kind: str, expression: str, get: Callable[[Equation], Any], shared: bool = False
    ) -> None:
        """One fact of every equation, asked at once; where that has no value, one by one."""
        if shared and not self.aligned.complete:
            self.report.skipped[kind] += len(self.program.items)
            return
        try:
            product = self.ask(f"[{expression} for e in {self.path}]")
        except ValueError:
            product = None
        for place, equation in enumerate(self.program.items):
            path = f"{self.path}[{place}]"
            try:
                oracle = get(equation)
            except Unsure:
                self.report.skipped[kind] += 1
                continue
            except Refused:
                oracle = Refused
            if product is not None:
                mine = product[place]
            else:
                try:
                    mine = self.ask(_of(expression, path))
                except ValueError as error:
                    mine = Refused if oracle is Refused else error
            count = len(oracle) if isinstance(oracle, tuple) else 1
            self.report.check(kind, f"{self.where}[{place}] {expression}", mine, oracle, count)

    def literals(self) -> None:
        """Each number by its digits, as NumPy has them and in full, and not by another's."""
        for place, equation in enumerate(self.program.items):
            for position, value in enumerate(equation.inputs):
                if not is_literal(value.thing) or value.bare:
                    continue
                where = f"{self.path}[{place}].inputs[{position}].value"
                try:
                    number = value.value
                except Refused:
                    self.one_of("value", where, Refused)
                    continue
                for claim, holds in _claims(where, number):
                    self.one_of("value", claim, holds)

    def one_of(self, kind: str, expression: str, oracle: Any) -> None:
        """A claim about one value, whose path has its equation's in it."""
        try:
            product = self.ask(expression)
        except ValueError as error:
            product = Refused if oracle is Refused else error
        self.report.check(kind, f"{self.where}: {expression}", product, oracle)

    def values(self) -> None:
        """Identity: each operand is the value that the object says."""
        program, path = self.program, self.path
        places = {id(v.thing): n for n, v in enumerate(program.variables)}
        try:
            variables = self.ask(f"[v for v in {path}.variables]")
        except ValueError as error:
            self.report.fail("variables", self.where, error, len(places))
            return
        results = self.ask(f"[[v for v in e.outputs] for e in {path}]")
        stores = [is_store(equation, program.body) for equation in program.body.eqns]
        unread = {v for row, store in zip(results, stores, strict=True) for v in row if store}
        variables = [v for v in variables if v not in unread]
        self.report.check("variables", self.where, len(variables), len(program.variables))
        known = {view: n for n, view in enumerate(variables)}

        def seen(views: Any) -> tuple[Any, ...]:
            return tuple(known.get(view, "literal") for view in views)

        def meant(things: Any) -> tuple[Any, ...]:
            return tuple("literal" if is_literal(v) else places[id(v)] for v in things)

        body = program.body
        for what, things in (
            ("inputs", body.invars),
            ("outputs", body.outvars),
            ("consts", body.constvars),
        ):
            product = seen(self.ask(f"[v for v in {path}.{what}]"))
            self.report.check(what, self.where, product, meant(things), 1 + len(things))
            for kind, get in _OF_VALUES.items():
                try:
                    oracle = _all(get, getattr(program, what))
                except (Refused, Unsure):
                    continue
                self.one(kind, f"[v.{kind} for v in {path}.{what}]", oracle, len(things))
        for what in ("inputs", "outputs"):
            product = self.ask(f"[[v for v in e.{what}] for e in {path}]")
            for views, equation, store in zip(product, body.eqns, stores, strict=True):
                things = equation.invars if what == "inputs" else equation.outvars
                if store and what == "outputs":
                    continue
                where = f"{self.where} {equation.primitive.name}"
                self.report.check("wiring", where, seen(views), meant(things), 1 + len(things))
        readers = self.ask(f"[[v, [u for u in v.uses]] for v in {path}.variables]")
        readers = [views for v, views in readers if v not in unread]
        for views, value in zip(readers, program.variables, strict=False):
            product = [id(self.aligned.raw.get(view)) for view in views]
            oracle = [id(use.raw) for use in value.uses]
            self.report.check("readers", self.where, product, oracle)

    def parts(self, place: int, equation: Equation, word: str) -> None:
        """Operands and results by what they are: the same values as by position."""
        path, where = f"{self.path}[{place}]", f"{self.where}[{place}].{word}"
        try:
            things = equation.part(word)
        except Refused:
            mine = _judged(self.ask, f"{path}.{word}")
            self.report.check("operands", where, isinstance(mine, ValueError), True)
            return
        row = "outputs" if word in RESULTS else "inputs"
        everything = [v.thing for v in getattr(equation, row)]
        wanted = [things.thing] if word == "branch" else [v.thing for v in things]
        spans = (everything[n : n + len(wanted)] for n in range(len(everything) + 1))
        start = next(n for n, span in enumerate(spans) if [*map(id, span)] == [*map(id, wanted)])
        asked = f"[{path}.{word}]" if word == "branch" else f"[v for v in {path}.{word}]"
        try:
            mine = self.ask(asked)
            oracle = self.ask(f"[v for v in {path}.{row}]")[start : start + len(wanted)]
        except ValueError as error:
            mine, oracle = error, wanted
        self.report.check("operands", where, mine, tuple(oracle), 1 + len(wanted))

    def contracted(self, place: int, equation: Equation) -> None:
        """The axes that a contraction sums over; an error of anything else."""
        mine = _judged(self.ask, f"{self.path}[{place}].contracts")
        if equation.primitive in CONTRACTING:
            self.report.check("contracts", f"{self.where}[{place}]", mine, equation.contracts)
        else:
            is_error = isinstance(mine, ValueError)
            self.report.check("contracts", f"{self.where}[{place}]", is_error, True)

    def operations(self) -> None:
        """The operations of the whole program."""
        try:
            oracle: Any = self.program.flops
        except Unsure:
            self.report.skipped["flops"] += 1
            return
        except Refused:
            oracle = Refused
        mine = _judged(self.ask, f"{self.path}.flops")
        mine = Refused if oracle is Refused and isinstance(mine, ValueError) else mine
        self.report.check("flops", f"{self.where}.flops", mine, oracle)

    def residuals(self) -> None:
        """What is kept for the backward part."""
        program, path = self.program, self.path
        try:
            things = {id(v.thing) for v in program.residuals}
        except Refused:
            self.one_of("residuals", f"len({path}.residuals)", Refused)
            return
        except Unsure:
            self.report.skipped["residuals"] += 1
            return
        if any(is_store(equation, program.body) for equation in program.body.eqns):
            return  # sides may list other variables
        kept = tuple(n for n, v in enumerate(program.variables) if id(v.thing) in things)
        mine = self.ask(f"[[v for v in {path}.variables], [v for v in {path}.residuals]]")
        places = {view: n for n, view in enumerate(mine[0])}
        product = tuple(places[view] for view in mine[1])
        self.report.check("residuals", f"{self.where}.residuals", product, kept, 1 + len(kept))

    def flow(self) -> None:
        """What reads and depends on what, for some pairs of equations and of values."""
        program = self.program
        dice = random.Random(self.where)
        for _ in range(min(MAX_PAIRS, len(program.items))):
            one, two = (dice.randrange(len(program.items)) for _ in range(2))
            for name, get in (("reads", reads), ("depends", depends)):
                self.pair(name, get, f"[{one}]", f"[{two}]", program.items[one], program.items[two])
        outputs, inputs = list(program.outputs), list(program.inputs)
        for _ in range(min(MAX_PAIRS, len(outputs) * len(inputs))):
            one, two = dice.randrange(len(outputs)), dice.randrange(len(inputs))
            left, right = f".outputs[{one}]", f".inputs[{two}]"
            self.pair("depends", depends, left, right, outputs[one], inputs[two])

    def pair(
        self, name: str, get: Callable[[Any, Any], bool], left: str, right: str, one: Any, two: Any
    ) -> None:
        """Whether one thing reads or depends on another; an error by both sides alike."""
        try:
            oracle: Any = get(one, two)
        except Refused:
            oracle = Refused
        except Unsure:
            self.report.skipped[name] += 1
            return
        self.one_of(name, f"{name}({self.path}{left}, {self.path}{right})", oracle)

    def parameters(self) -> None:
        """Their names, and each that is plain data; what is no data may be left out."""
        names = self.ask(f"[[n for n in e.params] for e in {self.path}]")
        text = self.aligned.traced.product.text(self.aligned.name)
        for mine, equation in zip(names, self.program.items, strict=True):
            real = params_of(equation.raw)
            # A rule of printing may show a parameter by another name.
            extra = sorted(n for n in set(mine) - set(real) if f"{n}=" not in text)
            self.report.check("params", f"{self.where} {equation.primitive}", extra, [])
        for place, equation in enumerate(self.program.items):
            for name, value in params_of(equation.raw).items():
                where = f"{self.path}[{place}].params[{_key(name)}]"
                if programs_in(value):
                    continue
                try:
                    oracle = _comparable(plain(value))
                except Unsure:
                    self.report.skipped["params"] += 1
                    continue
                try:
                    product = self.ask(where)
                except ValueError as error:
                    product = error
                self.report.check(
                    "params",
                    f"{self.where} {equation.primitive} {name}",
                    _comparable(product),
                    oracle,
                )

    def selections(self) -> None:
        """By primitive, and slices."""
        items = self.program.items
        for name in dict.fromkeys(e.primitive for e in items):
            oracle = [id(e.raw) for e in items if e.primitive == name]
            views = self.ask(f"[e for e in {self.path}[{_key(name)}]]")
            product = [id(self.aligned.raw.get(view)) for view in views]
            self.report.check("selection", f"{self.where}[{name}]", product, oracle, len(oracle))
        count = len(items)
        for start, stop in ((0, count // 2), (count // 3, count), (-2, count)):
            if not items:
                break
            views = self.ask(f"[e for e in {self.path}[{start}:{stop}]]")
            product = [id(self.aligned.raw.get(view)) for view in views]
            oracle = [id(e.raw) for e in items[start:stop]]
            self.report.check("slices", f"{self.where}[{start}:{stop}]", product, oracle)


def _of(expression: str, path: str) -> str:
    """A fact of every ``e`` as one of the equation at ``path``."""
    return expression.replace("e.", f"{path}.")


def _made(equation: Equation) -> Any:
    """The results of an equation; JAX may print a store with one or without."""
    if is_store(equation.raw, equation.program.body):
        raise Unsure("a store")
    return equation.outputs


def _key(name: str) -> str:
    return name if name.isidentifier() and name not in _KEYWORDS else f'"{name}"'


_KEYWORDS = {"while", "and", "or", "not", "if", "else", "for", "in", "is", "return", "pass"}


def _all(get: Callable[[Any], Any], values: Any) -> tuple[Any, ...]:
    return tuple(get(value) for value in values)


def _origin(value: Any) -> str:
    return str(value.origin)


def _uses(value: Any) -> int:
    return len(value.uses)


def _reads(equation: Equation) -> tuple[int, ...]:
    return tuple(value.read_count for value in _made(equation))


def _claims(path: str, number: Any) -> list[tuple[str, bool]]:
    """Claims about the number of a literal."""
    if not isinstance(number, float):
        other = not number if isinstance(number, bool) else number + 1
        return [(f"{path} == {number}", True), (f"{path} == {other}", False)]
    if not math.isfinite(number):
        return [(f'{path} == "{float(number)}"', True), (f"{path} == 1.5", False)]
    scalar = np.asarray(float(number)).astype(number.dtype)[()]
    beside = float(number) + abs(float(number)) + 1
    return [
        (f"{path} == {number.exact!r}", True),
        (f"{path} == {float(str(scalar))!r}", True),
        (f"{path} == {beside!r}", False),
        (f"{path} < {beside!r}", number < beside),
    ]


_OF_VALUES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda value: value.shape,
    "dtype": lambda value: str(value.dtype),
    "type": lambda value: value.type,
    "size": lambda value: value.size,
    "bytes": lambda value: value.bytes,
    "weak": lambda value: value.weak,
    "varying": lambda value: value.varying,
}


def _comparable(value: Any) -> Any:
    """A parameter, dtypes by their short names."""
    if isinstance(value, tuple):
        return tuple(_comparable(item) for item in value)
    if isinstance(value, float) and value != value:
        return "nan"
    if isinstance(value, str):
        return short(str(value))
    return value


def whole(aligned: Aligned) -> None:
    """What is asked of the whole block: any depth, phases, names of inputs, itself."""
    ask, report, name, block = (
        aligned.traced.product.ask, aligned.report, aligned.name, aligned.block,
    )  # fmt: skip
    deep = block.all
    try:
        views = ask(f"[e for e in {name}.all]")
    except ValueError as error:
        views = ()
        report.fail("all", aligned.where, error, len(deep))
    oracle = {id(e.raw) for e in deep}
    product = {id(aligned.raw.get(view)) for view in views}
    missed = sorted({e.primitive for e in deep if id(e.raw) not in product})
    if aligned.complete or not views:
        report.check("all", f"{aligned.where}.all", missed, [], len(oracle))
        # A shared program once; twice where JAX prints it twice.
        counts = (len(deep), len(aligned.raw))
        report.check("all", f"len({aligned.where}.all)", len(views) in counts or len(views), True)
    else:
        report.check("all", f"{aligned.where}.all", len(views) >= len(oracle), True)
    for phase in ("forward", "tangent", "transpose", "recomputed"):
        _phase(aligned, phase)
    _names(aligned, block)
    for a, b in ((f"same({name}, {name})", True), (f"same({name}[:], {name}[:])", True)):
        if deep:
            report.check("same", f"{aligned.where}: {a}", _judged(ask, a), b)


def _judged(ask: Callable[[str], Any], expression: str) -> Any:
    try:
        return ask(expression)
    except ValueError as error:
        return error


def _phase(aligned: Aligned, phase: str) -> None:
    try:
        oracle: Any = len(getattr(aligned.block, phase))
    except Refused:
        oracle = Refused
    except Unsure:
        return
    product = _judged(aligned.traced.product.ask, f"len({aligned.name}.{phase})")
    if oracle is Refused and isinstance(product, ValueError):
        product = Refused
    aligned.report.check("phase", f"len({aligned.where}.{phase})", product, oracle)


def _names(aligned: Aligned, block: Block) -> None:
    """Inputs by the names of arguments and of leaves."""
    ask, name = aligned.traced.product.ask, aligned.name
    made = aligned.traced.made[name]
    for argument in made.names:
        leaves = [place for place, (of, _) in enumerate(block.names) if of == argument]
        if len(leaves) == 1 and block.names[leaves[0]][1] != argument:
            continue  # one leaf of a tree: by its own name
        asked = f"{name}.inputs[{argument}]"
        if len(leaves) == 1:
            found = _judged(ask, f"{asked} == {name}.inputs[{leaves[0]}]")
            aligned.report.check("names", f"{aligned.where}: {asked}", found, True)
        else:
            found = _judged(ask, f"len({asked})")
            aligned.report.check("names", f"{aligned.where}: len({asked})", found, len(leaves))
    for place, (argument, leaf) in enumerate(block.names):
        if leaf != argument:
            asked = f'{name}.inputs["{leaf}"] == {name}.inputs[{place}]'
            found = _judged(ask, asked)
            aligned.report.check("names", f"{aligned.where}: {asked}", found, True)
