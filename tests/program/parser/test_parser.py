"""Printed text -> structure, held against the jaxpr objects themselves."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.program import model
from sphinx_jaxpr.program.model import Equation, Operand, Printed, Program, Variable
from sphinx_jaxpr.program.parser import values
from sphinx_jaxpr.program.parser.parser import MAX_DEPTH, parse
from tests.program import corpus

DATA = Path(__file__).parents[1] / "data"
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
        assert shared in comparison.seen_shared or printed_again.count(operations(program)) > 1


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_what_is_not_understood_stays_text(name: str) -> None:
    printed = parse(str(traced(name)))
    check_tokens(printed)
    assert printed.program is not None
    (equation,) = printed.program.equations
    assert not equation.programs
    assert any(parameter.is_opaque for parameter in equation.parameters)
    assert len(equation.outputs) == 2


def test_only_texts_that_begin_like_a_program_are_opaque() -> None:
    found = set()
    for name, program in corpus.PROGRAMS.items():
        if name not in NOT_UNDERSTOOD and not program.missing():
            found |= set(opaque_programs(parse(str(program()))))
    # Texts of this corpus, which only begin like a program.
    assert found <= {"debug_print[fmt]", "my-one[value]", "my_two[value]", "my.none[value]"}
    assert found


def operations(program: Program) -> list[str]:
    return [equation.primitive for equation in model.walk(program)]


def opaque_programs(printed: Printed) -> list[str]:
    """The parameters whose values show programs that could not be read."""
    return [
        f"{equation.primitive}[{parameter.name}]"
        for equation in printed.walk()
        for parameter in equation.parameters
        if parameter.is_opaque
    ]


def bare(jaxpr: Any) -> Any:
    """A jaxpr without its constants' values (before 0.12 there were two classes)."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def held(value: Any) -> list[Any]:
    """The jaxprs in a parameter's value, in the order in which they are printed."""
    if hasattr(bare(value), "eqns"):
        return [bare(value)]
    if isinstance(value, (tuple, list)):
        return [jaxpr for item in value for jaxpr in held(item)]
    if "{ lambda" not in str(value) or isinstance(value, str):
        return []
    parts = value.values() if isinstance(value, dict) else vars(value).values()
    return [jaxpr for item in parts for jaxpr in held(item)]


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
        self.shared = printed.named
        self.seen_shared: set[str] = set()
        assert len(self.shared) == len(printed.shared) + len(printed.local)

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
        # A primitive that is an object itself has the parameters that are printed.
        params = eqn.params["_prim"].params if "_prim" in eqn.params else eqn.params
        if equation.primitive not in PRINTED_DIFFERENTLY:
            extra = found.keys() - params.keys()
            assert extra <= {"name", "jvp", "fwd", "bwd"} or "_prim" in eqn.params
        for key, parameter in found.items():
            assert self.text[parameter.start - len(key) - 1 : parameter.start] == f"{key}="
            self.value(parameter, params.get(key))
        for key, value in params.items():
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


# --- texts ---------------------------------------------------------------------------


def data(name: str) -> str:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8")


DATA_NAMES = sorted(path.stem for path in DATA.glob("*.txt"))


def outline(text: str) -> list[str]:
    """Every equation in one line: outputs, primitive, parameter names, inputs."""
    printed = parse(text)
    check_tokens(printed)
    lines = []
    for equation in printed.walk():
        outputs = " ".join(f"{v.name}.{v.index}" for v in equation.outputs)
        names = " ".join(p.name for p in equation.parameters)
        inputs = " ".join(
            operand.text if operand.variable is None else f"{operand.text}.{operand.variable.index}"
            for operand in equation.inputs
        )
        lines.append(f"{outputs} = {equation.primitive}[{names}] {inputs}".strip())
    return lines


def tree(program: Program) -> list[Any]:
    """Names of primitives, with those of the programs in them."""
    return [[e.primitive.replace("pjit", "jit"), *map(tree, e.programs)] for e in program.equations]


JAX_VERSIONS = [name for name in DATA_NAMES if name.startswith("jax-")]


@pytest.mark.parametrize("name", JAX_VERSIONS)
def test_one_function_as_seven_versions_of_jax_print_it(name: str) -> None:
    printed = parse(data(name))
    check_tokens(printed)
    assert [(shared, tree(program)) for shared, program in printed.shared] == [("half", [["mul"]])]
    assert printed.program is not None
    max_ = [["max"]]
    assert tree(printed.program) == [
        ["slice"],
        ["squeeze"],
        [
            "scan",
            [
                ["jit"],
                ["jit"],
                ["add"],
                ["reduce_sum"],
                ["gt"],
                ["convert_element_type"],
                ["cond", [["custom_jvp_call", max_]], [["neg"]]],
            ],
        ],
        ["convert_element_type"],
        ["clamp"],
        ["cond", [], [["sin"]]],
        ["iota"],
        ["mul"],
    ]
    references = [p.references for e in printed.walk() for p in e.parameters if p.references]
    assert references == [("half",), ("half",)]
    assert [o.text for o in printed.program.outputs] == ["be", "z", "True"]
    assert printed.program.outputs[1].variable == printed.program.equations[5].outputs[1]


def test_there_are_seven_versions() -> None:
    assert len(JAX_VERSIONS) == 7


LESSON = {
    "lesson-grad": "dot_general broadcast_in_dim add tanh sub convert_element_type reduce_sum"
    " convert_element_type broadcast_in_dim convert_element_type mul mul add_any dot_general"
    " transpose",
    "lesson-vmap": "dot_general broadcast_in_dim broadcast_in_dim add tanh",
    "lesson-scan": "scan dot_general broadcast_in_dim add tanh",
    "lesson-checkpoint": "dot_general broadcast_in_dim add tanh convert_element_type reduce_sum"
    " convert_element_type broadcast_in_dim convert_element_type remat2 dot_general"
    " broadcast_in_dim add tanh sub mul mul add_any dot_general transpose",
}


@pytest.mark.parametrize("name", LESSON)
def test_the_blocks_of_the_lesson(name: str) -> None:
    printed = parse(data(name))
    check_tokens(printed)
    assert [e.primitive for e in printed.walk()] == LESSON[name].split()
    assert printed.program is not None
    assert [v.name for v in printed.program.inputs] == ["a", "b", "c"]
    assert all(o.variable is not None for o in printed.program.outputs)


def test_the_style_of_2019() -> None:
    assert outline(data("2019")) == [
        "c.2 = mul[] a.1 2.0",
        "d.3 = xla_call[call_jaxpr name] c.2",
        "b.5 = sin[] a.4",
        "e.6 f.7 = cond[branches linear] 0 d.3",
        "b.9 = neg[] a.8",
        "g.11 = add[] e.6 b.0",
    ]


def test_comments_of_pretty_print() -> None:
    assert outline(data("annotated")) == [
        "b.1 = jit[name jaxpr] a.0",
        "b.3 = sin[] a.2",
        "c.4 = reduce_sum[axes out_sharding] b.1",
        "d.5 = get[] b.1",
        "e.6 = mul[] d.5 c.4",
    ]


# One equation, in a program on one line and in one over several lines, and what
# is read there.  ``a`` and ``r`` are inputs.
EQUATIONS = {
    "b:f32[] = mul a 2.0": "b.2 = mul[] a.0 2.0",
    "b:f32[] = add 1.0:f32[] -1:i32[]": "b.2 = add[] 1.0 -1",
    "b:bool[] = or True:bool[] False": "b.2 = or[] True False",
    "b:f32[] = add inf:f32[] -inf": "b.2 = add[] inf -inf",
    "b:f32[] = add nan nan:f32[]": "b.2 = add[] nan nan",
    "b:c64[] = mul (1+2j):c64[] 1j": "b.2 = mul[] (1+2j) 1j",
    "b:c64[] = mul (-0-1j) (nan+infj):c64[]": "b.2 = mul[] (-0-1j) (nan+infj)",
    "b:f32[] = add 1e-30:f32[] a": "b.2 = add[] 1e-30 a.0",
    "b:i32[2] = add [...]:i32[2] a": "b.2 = add[] [...] a.0",
    "b:i32[] = add Literal(val=1) a": "b.2 = add[] Literal(val=1) a.0",
    "b:f32[] = mul a unknown": "b.2 = mul[] a.0 unknown",
    "b:f32[] = f": "b.2 = f[]",
    "f": "= f[]",
    "f a": "= f[] a.0",
    "f[x=1] a": "= f[x] a.0",
    "f[x=1]": "= f[x]",
    "semaphore_wait[dec] r[...] 1:i32[]": "= semaphore_wait[] r.1 1",
    "dma_start(p0, add) r[:4] -> r[a] a": "= dma_start[] r.1 r.1 a.0 a.0",
    "_:f32[] b:key<fry>[2] = f a": "_.2 b.3 = f[] a.0",
    "b c = f a": "b.2 c.3 = f[] a.0",
    "b:bf16[4,64]{V:data} = f a": "b.2 = f[] a.0",
    "b:f32[8@x]{V:(x,y), U:z} = f a": "b.2 = f[] a.0",
    "b:f32[a,2*b + 1,floordiv(a, 2)] = f a": "b.2 = f[] a.0",
    "b:Ref<vmem>{f32[8,4]} c:Tok = f a": "b.2 c.3 = f[] a.0",
    "b:f32[] <- r[0,a,:,a:a+2,3:5,...]": "b.2 = get[] r.1 0 a.0 a.0",
    "b:f32[] <- r[a]{reshape([2, 2])}[:]": "b.2 = get[] r.1 a.0",
    "b:f32[] <- r[:] mask=a other=0.0:f32[]": "b.2 = masked_load[] r.1 a.0 0.0",
    "r[a,1] <- 2.0": "= swap[] r.1 2.0 a.0 1",
    "b:f32[], r[a] <- r[a], 2.0": "b.2 = swap[] r.1 2.0 a.0",
    "b:f32[], r[...] <- r[...], a mask=a": "b.2 = masked_swap[] r.1 a.0 a.0",
    "r[...] += a": "= addupdate[] r.1 a.0",
    "b:f32[] = f[x={} ] y=] z] a": "b.2 = f[x y] a.0",
    "b:f32[] = f[fmt={} x=1 ] ordered=False] a": "b.2 = f[fmt ordered] a.0",
    "b:f32[] = f[name=f{ y=1] a": "b.2 = f[name y] a.0",
    "b:f32[] = f[x='] ' y=\"z=\"] a": "b.2 = f[x y] a.0",
    "b:f32[] = f[x=it's y=don't] a": "b.2 = f[x y] a.0",
    "b:f32[] = f[x=<function f.<locals>.g at 0x7f> y=()] a": "b.2 = f[x y] a.0",
    "b:f32[] = f[x= y=2] a": "b.2 = f[x y] a.0",
    "b:f32[] = f[x={ lambda ] a": "b.2 = f[x] a.0",
    "b:f32[] = scatter-add[x=1] a": "b.2 = scatter-add[x] a.0",
    "b:f32[] = <lambda>[x=1] a": "b.2 = <lambda>[x] a.0",
    "in:f32[] = sin a": "in.2 = sin[] a.0",
}


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("flat", [True, False])
def test_an_equation(equation: str, flat: bool) -> None:
    header = "{ lambda ; a:f32[] r:Ref{f32[8]}. let"
    after = "zz:f32[] = sin a"
    if flat:
        text = f"{header} {equation}; {after} in (zz,) }}"
    else:
        text = f"{header}\n    {equation}\n    {after}\n  in (zz,) }}"
    *lines, last = outline(text)
    assert lines == [EQUATIONS[equation]]
    assert last.endswith("= sin[] a.0")
    first = parse(text).walk()[0]
    assert text[first.start : first.end] == equation


def test_types_and_literals_are_kept_apart() -> None:
    printed = parse("{ lambda ; a:f32[]. let b:f32[4]{V:x} = f a 1.0:f32[] 2 in (b, 3:i32[]) }")
    (equation,) = printed.walk()
    assert [(o.text, o.type) for o in equation.inputs] == [
        ("a", "f32[]"),
        ("1.0", "f32[]"),
        ("2", ""),
    ]
    assert equation.outputs[0].type == "f32[4]{V:x}"
    assert printed.program is not None
    assert [(o.text, o.type) for o in printed.program.outputs] == [
        ("b", "f32[4]{V:x}"),
        ("3", "i32[]"),
    ]
    kinds = [(printed.text[t.start : t.end], t.kind) for t in printed.tokens]
    assert ("1.0", model.LITERAL) in kinds
    assert ("f32[4]{V:x}", model.TYPE) in kinds


def test_values_are_coloured_only_where_plain() -> None:
    printed = parse(
        "{ lambda ; . let f[a=1 b=True c=None d='x' e=-2.5e-3 g=(1, 2) h=int8]  in () }"
    )
    literals = [printed.text[t.start : t.end] for t in printed.tokens if t.kind == model.LITERAL]
    assert literals == ["1", "True", "None", "'x'", "-2.5e-3"]


@pytest.mark.parametrize(
    ("header", "constants", "inputs"),
    [
        ("{ lambda ; . let", "", ""),
        ("{ lambda a:f32[4]; b:f32[]. let", "a", "b"),
        ("{ lambda a:f32[4] b:i32[]; . let", "a b", ""),
        ("{ lambda a:f32[4]\n    b:f32[4]\n    ; c:f32[4]\n    d:f32[4]. let", "a b", "c d"),
        ("{ lambda  ; a b.\n  let", "", "a b"),
    ],
)
def test_headers(header: str, constants: str, inputs: str) -> None:
    printed = parse(header + "  in () }")
    check_tokens(printed)
    assert printed.program is not None
    assert [v.name for v in printed.program.constants] == constants.split()
    assert [v.name for v in printed.program.inputs] == inputs.split()
    assert printed.program.header_end == len(header)
    assert printed.program.end == len(printed.text)


def test_letters_mean_the_innermost_binding() -> None:
    assert outline(
        "{ lambda ; a:f32[] b:f32[]. let"
        " c:f32[] = jit[jaxpr={ lambda ; b:f32[]. let"
        " c:f32[] = add a b; d:f32[] = neg c in (d,) }] b;"
        " e:f32[] = add c b; d:f32[] = sin e in (d,) }"
    ) == [
        "c.2 = jit[jaxpr] b.1",
        "c.4 = add[] a.0 b.3",
        "d.5 = neg[] c.4",
        "e.6 = add[] c.2 b.1",
        "d.7 = sin[] e.6",
    ]


def test_a_use_of_a_dropped_value_is_resolved_where_there_is_one() -> None:
    one = "{ lambda ; a:f32[]. let _:f32[] = sin a; b:f32[] = neg _ in (b, _) }"
    assert outline(one)[-1] == "b.2 = neg[] _.1"
    two = "{ lambda ; a:f32[]. let _:f32[] = sin a; _:f32[] = cos a in (_, _) }"
    program = parse(two).program
    assert program is not None
    assert [o.variable for o in program.outputs] == [None, None]


def test_shared_programs_and_their_references() -> None:
    printed = parse(
        "let relu = { lambda ; a:f32[]. let b:f32[] = max a 0.0 in (b,) } in\n"
        "let f g = { lambda ; a:f32[]. let b:f32[] = jit[name=relu jaxpr=relu] a in (b,) } in\n"
        "{ lambda ; c:f32[]. let\n"
        "    d:f32[] = cond[\n"
        "      branches=(\n"
        "        relu\n"
        "        { lambda ; e:f32[]. let  in (e,) }\n"
        "        relu\n"
        "      )\n"
        "    ] 0 c\n"
        "    g:f32[] = jit[name=f g jaxpr=f g] d\n"
        "  in (g,) }"
    )
    check_tokens(printed)
    assert [name for name, _ in printed.shared] == ["relu", "f g"]
    values = {p.name: p for e in printed.walk() for p in e.parameters}
    assert values["branches"].references == ("relu", "relu")
    (program,) = values["branches"].programs
    assert values["branches"].members == ("relu", program, "relu")
    assert values["jaxpr"].references == ("f g",)
    assert values["name"].references == ()


def test_a_broken_equation_leaves_its_neighbours_alone() -> None:
    for broken in (
        "b:f32[] == ] f",
        "???",
        "...",
        "b:f32[] = f[x=",
        "b:f32[] = f[\n      x=1\n      y=2",
    ):
        text = f"{{ lambda ; a:f32[]. let\n    c:f32[] = sin a\n    {broken}\n"
        text += "    d:f32[] = cos c\n  in (d, b) }"
        assert [line.split("= ")[1] for line in outline(text)] == ["sin[] a.0", "cos[] c.1"]


@pytest.mark.parametrize(
    "text", ["", " ", "x", "{ lambda", "let", "{}", "in (a,) }", "\0", "{ lambda ;"]
)
def test_what_is_no_jaxpr_has_no_program(text: str) -> None:
    assert parse(text) == Printed(text, None, (), ())


def test_text_around_a_program_does_not_matter() -> None:
    for name in DATA_NAMES:
        text = data(name)
        assert outline(f"\n  {text}\n\nAnd so on: [") == outline(text)


@pytest.mark.parametrize("indent", [2, 7])
def test_an_indented_program_reads_the_same(indent: int) -> None:
    for name in DATA_NAMES:
        text = data(name)
        moved = "".join(" " * indent + line for line in text.splitlines(keepends=True))
        assert outline(moved) == outline(text)


# --- robustness --------------------------------------------------------------------------

PIECES = """{ lambda ; |let| in (|]|[|{|}|(|)|; |
|\n    |=| = | <- |'|"|_| |#|:f32[]|a|1.0|,|.|<|>|\\|é|\t""".split("|")


def mutated(text: str, choose: random.Random) -> str:
    for _ in range(choose.randrange(1, 6)):
        start = choose.randrange(len(text) + 1)
        end = min(len(text), start + choose.choice([0, 0, 1, 1, 3, 30]))
        text = text[:start] + choose.choice([*PIECES, "", text[end : end + 40]]) + text[end:]
    return text


@pytest.mark.parametrize("name", DATA_NAMES)
def test_mutations_never_raise(name: str) -> None:
    choose = random.Random(name)
    text = data(name)
    for _ in range(150):
        changed = mutated(text, choose)
        printed = parse(changed)
        assert printed.text == changed
        check_tokens(printed)
        check_structure(printed)


@pytest.mark.parametrize("name", DATA_NAMES)
def test_truncations_never_raise(name: str) -> None:
    text = data(name)
    whole = outline(text)
    for end in range(0, len(text), 7):
        printed = parse(text[:end])
        check_tokens(printed)
        check_structure(printed)
        assert len(list(printed.walk())) <= len(whole)
        for back in (text[end:], text[end : end + 200]):
            check_tokens(parse(back))


def check_structure(printed: Printed) -> None:
    """Everything lies inside what holds it, in order and apart."""

    def check(program: Program, start: int, end: int) -> None:
        assert start <= program.start <= program.header_end <= program.end <= end
        position = program.header_end
        for equation in program.equations:
            assert position <= equation.start < equation.end <= program.end
            position = equation.end
            inner = equation.start
            for parameter in equation.parameters:
                assert inner <= parameter.start <= parameter.end <= equation.end
                inner = parameter.end
                for nested in parameter.programs:
                    check(nested, parameter.start, parameter.end)

    position = 0
    programs = [program for _, program in printed.shared]
    for program in [*programs, *([printed.program] if printed.program else [])]:
        check(program, position, len(printed.text))
        position = program.end


def nested(depth: int) -> str:
    return (
        "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=" * depth
        + "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"
        + "] a in (b,) }" * depth
    )


def test_deep_nesting() -> None:
    printed = parse(nested(500))
    check_tokens(printed)
    assert [e.primitive for e in printed.walk()] == ["jit"] * 500 + ["sin"]


def test_nesting_beyond_the_limit_stays_text() -> None:
    printed = parse(nested(MAX_DEPTH + 100))
    check_tokens(printed)
    assert [e.primitive for e in printed.walk()] == ["jit"] * MAX_DEPTH


# Texts that repeat one thing, sound or not.
REPEATED: dict[str, tuple[str, str, str]] = {
    "equations": ("{ lambda ; a:f32[]. let\n", "    b:f32[] = mul a 2.0\n", "  in (b,) }"),
    "one line": ("{ lambda ; a:f32[]. let ", "b:f32[] = mul[x=(1, 2)] a 2.0; ", " in (b,) }"),
    "parameters": (
        "{ lambda ; . let\n",
        "    f[\n      x=1\n      y=(2, 3)\n    ] 1\n",
        "  in () }",
    ),
    "programs": (
        "{ lambda ; . let\n",
        "    f[j={ lambda ; a. let b = g a in (b,) }] 1\n",
        "  in () }",
    ),
    "unclosed": ("{ lambda ; . let\n", "    b:f32[] = f[x={ y=1 a\n", "  in () }"),
    "unclosed lists": ("{ lambda ; . let\n", "    f[\n      x=3\n      y=2\n", "  in () }"),
    "unclosed on one line": ("{ lambda ; . let ", "b:f32[] = f[x=( a; ", " in () }"),
    "half programs": ("{ lambda ; . let\n", "    f[\n      x={ lambda ; q. let\n", "  in () }"),
    "openings": ("", "{ lambda ; a. let b = f[x=", ""),
    "brackets": ("{ lambda ; . let f[x=", "] ", " in () }"),
    "lets": ("", "let a = { lambda ; a. let  in () } in\n", "{ lambda ; . let  in () }"),
}


@pytest.mark.once
@pytest.mark.parametrize("name", REPEATED)
def test_work_grows_with_the_length_of_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start, repeated, end = REPEATED[name]

    def work(times: int) -> int:
        """Matches made, and characters that failed guesses looked at."""
        scanned: list[values.Scanner] = []
        initial = values.Scanner.__init__

        def keep(self: values.Scanner, text: str) -> None:
            initial(self, text)
            scanned.append(self)

        monkeypatch.setattr(values.Scanner, "__init__", keep)
        calls = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        text = start + repeated * times + end
        sys.setprofile(count)
        try:
            parse(text)
        finally:
            sys.setprofile(None)
        monkeypatch.setattr(values.Scanner, "__init__", initial)
        for used in scanned:
            # The last guess may go over the budget, and the list it ends too.
            assert used.budget >= -2 * len(text)
        return calls

    small, large = work(1000), work(3000)
    assert large <= 4 * small
