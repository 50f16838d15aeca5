"""Sizes, kinds, costs, operands by what they are, and residuals, compared over the corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .facts import Aligned, Facts
from .meanings import Refused, Unsure
from .phases import is_literal, is_store
from .reading import Equation
from .report import Report

OF_VALUES = "type size bytes weak varying".split()
OF_EQUATIONS = "index kind contracts flops".split()
GROUPS = {
    "scan": "consts carry xs".split(),
    "while": "cond_consts body_consts carry".split(),
    "cond": ["operands"],
}
#: The counters of a report.
KINDS = [*OF_VALUES, "read_count", "value", *OF_EQUATIONS, "groups", "residuals"]


def check(found: dict[str, Aligned], report: Report) -> None:
    """Compare them for all blocks of a function."""
    for aligned in found.values():
        for path, program in aligned.programs:
            facts = Facts(aligned, path, program)
            for what in OF_VALUES:
                get = _each_value(what, "inputs")
                facts.each(what, f"[v.{what} for v in e.inputs]", get)
            get = _each_value("read_count", "outputs")
            facts.each("read_count", "[v.read_count for v in e.outputs]", get)
            facts.each("value", '[v.value for v in e.inputs if v.origin == "literal"]', _literals)
            facts.each("index", "e.index", lambda equation: equation.index)
            for place, equation in enumerate(program.items):
                _equation(facts, f"{path}[{place}]", equation)
        _residuals(aligned, report)


def _each_value(what: str, side: str) -> Callable[[Equation], tuple[Any, ...]]:
    def get(equation: Equation) -> tuple[Any, ...]:
        if side == "outputs" and is_store(equation.raw, equation.program.body):
            raise Unsure("a store")
        values = getattr(equation, side)
        if any(v.bare for v in values):
            raise Unsure("no type is printed")
        return tuple(_sure(v, what) for v in values)

    return get


def _literals(equation: Equation) -> tuple[Any, ...]:
    literals = [v for v in equation.inputs if is_literal(v.thing)]
    if any(v.bare for v in literals):
        raise Unsure("no type is printed")
    return tuple(_sure(v, "value") for v in literals)


def _sure(thing: Any, what: str) -> Any:
    """A fact; what isn't an array has none that the reference tells."""
    try:
        return getattr(thing, what)
    except Refused as error:
        raise Unsure(str(error)) from None


def _equation(facts: Facts, path: str, equation: Equation) -> None:
    for what in OF_EQUATIONS[1:]:
        try:
            oracle = _sure(equation, what)
        except Unsure:
            facts.report.skipped[what] += 1
            continue
        facts.one(what, f"{path}.{what}", oracle)
    operands = {id(v.thing): n for n, v in enumerate(equation.inputs)}
    for name in GROUPS.get(equation.primitive, []):
        # An operand that is read twice is known by its first place.
        places = [operands[id(v.thing)] for v in getattr(equation, name)]
        same = " and ".join(
            f"{path}.{name}[{k}] == {path}.inputs[{n}]"
            for k, n in enumerate(places)
            if not is_literal(equation.raw.invars[n])
        )
        facts.one("groups", f"len({path}.{name})", len(places))
        if same:
            facts.one("groups", same, True)


def _residuals(aligned: Aligned, report: Report) -> None:
    block, ask, name = aligned.block, aligned.traced.product.ask, aligned.name
    try:
        if not any(e.phase in ("transpose", "recomputed") for e in block):
            return
        known = _places(block)
        oracle = sorted(known[id(v.thing)] for v in block.residuals)
    except (Unsure, KeyError):
        report.skipped["residuals"] += 1
        return
    try:
        places = {view: n for n, view in enumerate(ask(f"[v for v in {name}.variables]"))}
        product: Any = sorted(places[view] for view in ask(f"[v for v in {name}.residuals]"))
    except ValueError as error:
        product = error
    report.check("residuals", aligned.where, product, oracle, 1 + len(oracle))


def _places(block: Any) -> dict[int, int]:
    """The variables of a block by their ids; with a store among them, sides may differ."""
    if any(is_store(equation, block.body) for equation in block.body.eqns):
        raise Unsure("a store")
    return {id(v.thing): n for n, v in enumerate(block.variables)}
