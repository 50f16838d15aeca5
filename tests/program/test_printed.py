"""Printed text -> structure, held against the jaxpr objects themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.program import model
from sphinx_jaxpr.program.model import Equation, Operand, Printed, Program, Variable
from sphinx_jaxpr.program.printed import parse
from tests.program import corpus

DATA = Path(__file__).parent / "data"
RANDOM_PROGRAMS = 200
# JAX prints these in words of their own, so that parameters or operands differ.
PRINTED_DIFFERENTLY = {"get", "swap", "addupdate", "masked_load", "masked_swap"} | {
    "dma_start",
    "dma_wait",
}
# Parameters whose values some JAX prints in a shorter form than ``str`` has.
SHORTENED = {"name", "jvp", "fwd", "bwd", "dimension_numbers"}


#: Programs that hold text which JAX's own layout does not tell from structure.
NOT_UNDERSTOOD = {
    "own equation long": "a value whose second line looks like an equation further out",
}


# --- the corpus ------------------------------------------------------------------


def traced(name: str) -> Any:
    """The jaxpr object of a program of the corpus, or a skip of this one alone."""
    if name.startswith("random "):
        return corpus.random_program(int(name.split()[1]))()
    program = corpus.PROGRAMS[name]
    if missing := program.missing():
        pytest.skip(f"this JAX has no {missing}")
    return program()


NAMES = [
    *(name for name in corpus.PROGRAMS if name not in NOT_UNDERSTOOD),
    *(f"random {seed}" for seed in range(RANDOM_PROGRAMS)),
]


@pytest.mark.parametrize("name", NAMES)
def test_structure_is_that_of_the_object(name: str) -> None:
    jaxpr = traced(name)
    printed = parse(str(jaxpr))
    check_tokens(printed)
    assert printed.program is not None
    comparison = Comparison(printed)
    comparison.program(printed.program, jaxpr, {})
    # Before 0.8 a shared program can be printed again inside another one.
    printed_again = [operations(p) for p in all_programs(printed)]
    for shared, program in printed.shared:
        assert (
            shared in comparison.seen_shared
            or opaque_programs(printed)
            or printed_again.count(operations(program)) > 1
        )


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_what_is_not_understood_stays_text(name: str) -> None:
    printed = parse(str(traced(name)))
    check_tokens(printed)
    assert printed.program is not None
    (equation,) = printed.program.equations
    assert not equation.programs
    assert len(equation.outputs) == 2


def test_only_the_reprs_of_objects_hide_programs() -> None:
    found = set()
    for name, program in corpus.PROGRAMS.items():
        if name not in NOT_UNDERSTOOD and not program.missing():
            found |= set(opaque_programs(parse(str(program()))))
    # JAX prints the four programs of a linear solve with ``str`` of a named tuple.
    # The others are texts of this corpus, which only begin like a program.
    assert "custom_linear_solve[jaxprs]" in found
    assert found <= {
        "custom_linear_solve[jaxprs]",
        "pallas_call[grid_mapping]",  # before 0.6
        "debug_print[fmt]",
        "my-one[value]",
        "my_two[value]",
        "my.none[value]",
    }


def operations(program: Program) -> list[str]:
    return [equation.primitive for equation in model.walk(program)]


def opaque_programs(printed: Printed) -> list[str]:
    """The parameters whose values hold programs inside the text of an object."""
    return [
        f"{equation.primitive}[{parameter.name}]"
        for equation in printed.walk()
        for parameter in equation.parameters
        if not parameter.members and "{ lambda" in printed.text[parameter.start : parameter.end]
    ]


def bare(jaxpr: Any) -> Any:
    """A jaxpr without its constants' values (before 0.12 there were two classes)."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def held(value: Any) -> list[Any]:
    """The jaxprs that JAX prints as such in a parameter's value."""
    values = value if type(value) is tuple else (value,)
    found = [bare(v) for v in values if hasattr(bare(v), "eqns")]
    return found if len(found) == len(values) else []


def is_variable(atom: Any) -> bool:
    return not hasattr(atom, "val")


def is_dropped(var: Any) -> bool:
    return type(var).__name__ == "DropVar"


def short(aval: Any) -> str:
    return aval.str_short(short_dtypes=True)


class Comparison:
    """Walks text and object side by side."""

    def __init__(self, printed: Printed) -> None:
        self.text = printed.text
        self.shared = dict(printed.shared)
        self.seen_shared: set[str] = set()
        assert len(self.shared) == len(printed.shared)

    def program(self, program: Program, jaxpr: Any, outer: dict[Any, Variable]) -> None:
        jaxpr = bare(jaxpr)
        names: dict[Any, Variable] = {}
        self.binders(program.constants, jaxpr.constvars, names)
        self.binders(program.inputs, jaxpr.invars, names)
        text = [e.primitive for e in program.equations]
        assert text == [self.printed_name(e) for e in jaxpr.eqns]
        for equation, eqn in zip(program.equations, jaxpr.eqns, strict=True):
            self.equation(equation, eqn, names)
        self.operands(program.outputs, jaxpr.outvars, names)

    def printed_name(self, eqn: Any) -> str:
        name = str(eqn.primitive.name)
        # Without a mask Pallas prints these in the words of ordinary reads and writes.
        if name in ("masked_load", "masked_swap"):
            *_, third, fourth = eqn.params["args_tree"].unflatten(eqn.invars)
            if (third, fourth) == (None, None):
                return "get"
            if name == "masked_swap" and (fourth is None or is_dropped(eqn.outvars[0])):
                return "swap"  # JAX does not print the mask of a write
        if name == "call_hi_primitive":
            return type(eqn.params["_prim"]).__name__
        return name

    def equation(self, equation: Equation, eqn: Any, names: dict[Any, Variable]) -> None:
        outputs = eqn.outvars
        if equation.primitive == "swap" and not equation.outputs:
            outputs = []
        self.parameters(equation, eqn, names)
        inputs = eqn.invars
        if equation.primitive == "swap" and eqn.primitive.name == "masked_swap":
            inputs = inputs[: len(equation.inputs)]
        if equation.primitive not in ("dma_start", "dma_wait"):  # they print fewer
            self.operands(equation.inputs, inputs, names)
        self.binders(equation.outputs, outputs, names)
        printed = self.text[equation.start : equation.end]
        assert printed == printed.strip().strip(";")
        assert equation.primitive in printed or equation.primitive in PRINTED_DIFFERENTLY

    def binders(self, found: Any, expected: Any, names: dict[Any, Variable]) -> None:
        assert len(found) == len(expected)
        for variable, var in zip(found, expected, strict=True):
            assert variable.type == short(var.aval)
            names[var] = variable

    def operands(
        self, found: tuple[Operand, ...], expected: Any, names: dict[Any, Variable]
    ) -> None:
        assert len(found) == len(expected)
        for operand, atom in zip(found, expected, strict=True):
            text = self.text[operand.start : operand.end]
            if is_variable(atom):
                assert text == names[atom].name
                dropped = [v for v in names.values() if v.name == "_"]
                if text != "_" or len(dropped) == 1:
                    assert operand.variable is names[atom]
                else:
                    assert operand.variable is None
            else:
                assert operand.variable is None
                assert operand.type in ("", short(atom.aval))
                assert text.startswith(operand.text)

    def parameters(self, equation: Equation, eqn: Any, names: dict[Any, Variable]) -> None:
        found = {p.name: p for p in equation.parameters}
        assert len(found) == len(equation.parameters)
        if equation.primitive not in PRINTED_DIFFERENTLY:
            extra = found.keys() - eqn.params.keys()
            assert extra <= {"name", "jvp", "fwd", "bwd"} or "_prim" in eqn.params
        for key, parameter in found.items():
            assert self.text[parameter.start - len(key) - 1 : parameter.start] == f"{key}="
            self.value(parameter, eqn.params.get(key))
        for key, value in eqn.params.items():
            assert not held(value) or key in found

    def value(self, parameter: model.Parameter, value: Any) -> None:
        jaxprs = held(value)
        if value is None:  # not a parameter of the object
            return
        assert len(parameter.members) == len(jaxprs)
        for member, jaxpr in zip(parameter.members, jaxprs, strict=True):
            if isinstance(member, str):
                first = member not in self.seen_shared
                self.seen_shared.add(member)
                if first:
                    self.program(self.shared[member], jaxpr, {})
            else:
                self.program(member, jaxpr, {})
        if not jaxprs and not isinstance(value, frozenset):
            text = unaddressed(self.text[parameter.start : parameter.end])
            expected = unaddressed(str(value))
            if text not in (expected, expected.rstrip()):
                assert parameter.name in SHORTENED, (parameter.name, text, expected)


def unaddressed(text: str) -> str:
    return re.sub(r" at 0x[0-9a-fA-FX]+", " at 0x", text)


# --- tokens ------------------------------------------------------------------------


def check_tokens(printed: Printed) -> None:
    """In order, apart, inside the text, and true to the structure."""
    end = 0
    for token in printed.tokens:
        assert end <= token.start < token.end <= len(printed.text)
        end = token.end
    spans = {(t.start, t.end): t for t in printed.tokens}
    binders = [t.variable for t in printed.tokens if t.kind == model.BINDER]
    assert binders == sorted(set(binders))
    variables = list(all_variables(printed))
    assert sorted(v.index for v in variables) == binders
    names = {v.index: v.name for v in variables}
    for token in printed.tokens:
        if token.variable >= 0:
            assert printed.text[token.start : token.end] == names[token.variable]
    for equation in printed.walk():
        for operand in equation.inputs:
            if operand.variable is not None:
                assert spans[operand.start, operand.end].variable == operand.variable.index


def all_programs(printed: Printed) -> Iterator[Program]:
    yield from (program for _, program in printed.shared)
    if printed.program is not None:
        yield printed.program
    yield from (program for equation in printed.walk() for program in equation.programs)


def all_variables(printed: Printed) -> Iterator[Variable]:
    for program in all_programs(printed):
        yield from program.constants
        yield from program.inputs
        for equation in program.equations:
            yield from equation.outputs
