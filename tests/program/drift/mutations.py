"""Small random programs, and changes to them whose meaning is known.

Written apart from the comparison that it tries: programs are lists of operations, their
values are numbered here, and text and facts are printed from them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sphinx_jaxpr.program.drift.levels import Level

KIND = "f32[8]"
UNARY = ("sin", "cos", "tanh", "exp", "neg")
BINARY = ("add", "mul", "sub", "atan2")
COMMUTING = ("add", "mul")
LITERALS = ("2.0", "3.0", "0.5")


@dataclass(frozen=True)
class Op:
    """An equation; an operand is a number of a value, or a text for a literal."""

    primitive: str
    operands: tuple[int | str, ...]
    power: int | None = None
    body: Body | None = None
    results: int = 1


@dataclass(frozen=True)
class Body:
    """Values are numbered from 0: the inputs, then the results of the operations."""

    inputs: int
    ops: tuple[Op, ...]
    outputs: tuple[int, ...]

    def starts(self) -> list[int]:
        """The number of the first result of each operation, and the number behind all."""
        found = [self.inputs]
        for op in self.ops:
            found.append(found[-1] + op.results)
        return found


def body(choose: random.Random, depth: int = 0, inputs: int = 0) -> Body:
    """A random program; one of three operations repeats another."""
    inputs = inputs or choose.randrange(1, 4)
    ops: list[Op] = []
    count = inputs
    for _ in range(choose.randrange(3, 8)):
        if ops and choose.random() < 0.35:
            op = choose.choice(ops)
        elif depth < 2 and choose.random() < 0.25:
            taken = choose.randrange(1, 3)
            inner = body(choose, depth + 1, taken)
            given = tuple(choose.randrange(count) for _ in range(taken))
            op = Op("jit", given, None, inner, len(inner.outputs))
        elif choose.random() < 0.4:
            op = Op(choose.choice(UNARY), (choose.randrange(count),))
        elif choose.random() < 0.2:
            op = Op("integer_pow", (choose.randrange(count),), choose.randrange(2, 5))
        else:
            operands: list[int | str] = [choose.randrange(count), choose.randrange(count)]
            if choose.random() < 0.3:
                operands[1] = choose.choice(LITERALS)
            op = Op(choose.choice(BINARY), tuple(operands))
        ops.append(op)
        count += op.results
    outputs = tuple(choose.randrange(inputs, count) for _ in range(choose.randrange(1, 4)))
    return Body(inputs, tuple(ops), outputs)


# -- text and facts ------------------------------------------------------------------------


@dataclass
class Printer:
    """Prints a program as JAX does, with the facts that the worker collects."""

    letters: Iterator[str]
    programs: list[dict[str, Any]] = field(default_factory=list)

    def recorded(self, whole: Body) -> dict[str, Any]:
        text = self.text(whole, "")
        return {"text": text, "facts": {"programs": self.programs, "sources": []}}

    def text(self, program: Body, margin: str) -> str:
        facts: dict[str, Any] = {
            "inputs": [KIND] * program.inputs,
            "outputs": [KIND] * len(program.outputs),
            "constants": [],
            "effects": [],
            "unused": [],
            "shared": False,
            "equations": [],
        }
        self.programs.append(facts)
        names = [next(self.letters) for _ in range(program.inputs)]
        head = " ".join(f"{name}:{KIND}" for name in names)
        lines = [f"{{ lambda ; {head}. let"]
        for op in program.ops:
            operands = [
                f"{operand}:f32[]" if isinstance(operand, str) else names[operand]
                for operand in op.operands
            ]
            plain, inner, shown = {}, {}, ""
            if op.power is not None:
                plain, shown = {"y": op.power}, f"[y={op.power}]"
            if op.body is not None:
                inner = {"jaxpr": [len(self.programs)]}
                within = self.text(op.body, f"{margin}      ")
                shown = f"[\n{margin}      name=f\n{margin}      jaxpr={within}\n{margin}    ]"
                plain = {"name": "f"}
            made = [next(self.letters) for _ in range(op.results)]
            names += made
            binders = " ".join(f"{name}:{KIND}" for name in made)
            lines.append(f"{margin}    {binders} = {op.primitive}{shown} {' '.join(operands)}")
            facts["equations"].append([op.primitive, "", -1, [KIND] * op.results, plain, inner])
        results = ", ".join(names[output] for output in program.outputs)
        comma = "," if len(program.outputs) == 1 else ""
        return "\n".join([*lines, f"{margin}  in ({results}{comma}) }}"])


def recorded(whole: Body, letters: str = "v") -> dict[str, Any]:
    return Printer(f"{letters}{n}" for n in range(10**6)).recorded(whole)


# -- values --------------------------------------------------------------------------------


def numbers(program: Body) -> list[int]:
    """A number of each value; equal values have the same."""
    known: dict[Any, int] = {}
    found = list(range(program.inputs))
    for op in program.ops:
        operands = [o if isinstance(o, str) else found[o] for o in op.operands]
        if op.primitive in COMMUTING:
            operands.sort(key=str)
        whole = (op.primitive, tuple(operands), op.power, op.body)
        for place in range(op.results):
            found.append(known.setdefault((whole, place), program.inputs + len(known)))
    return found


def has_twins(program: Body) -> bool:
    """Whether two values are equal, here or inside."""
    known = numbers(program)
    inside = any(op.body is not None and has_twins(op.body) for op in program.ops)
    return inside or len(set(known)) < len(known)


# -- mutations -----------------------------------------------------------------------------

Mutation = Callable[[random.Random, Body], Body | None]


def with_op(program: Body, place: int, op: Op) -> Body:
    return replace(program, ops=(*program.ops[:place], op, *program.ops[place + 1 :]))


def renumbered(program: Body, order: list[int], ops: list[Op], outputs: tuple[int, ...]) -> Body:
    """Operations in another order; ``order`` has the old place of each."""
    old, new = program.starts(), Body(program.inputs, tuple(ops), ()).starts()
    moved = {n: n for n in range(program.inputs)}
    for place, before in enumerate(order):
        for result in range(program.ops[before].results):
            moved[old[before] + result] = new[place] + result
    return Body(
        program.inputs,
        tuple(
            replace(op, operands=tuple(o if isinstance(o, str) else moved[o] for o in op.operands))
            for op in ops
        ),
        tuple(moved[output] for output in outputs),
    )


def reordered(choose: random.Random, program: Body) -> Body | None:
    """Two neighbours that don't read each other, in the other order."""
    starts = program.starts()
    places = [
        place
        for place in range(len(program.ops) - 1)
        if not {*program.ops[place + 1].operands} & {*range(starts[place], starts[place + 1])}
        and program.ops[place] != program.ops[place + 1]
    ]
    if not places:
        return None
    place = choose.choice(places)
    order = list(range(len(program.ops)))
    order[place : place + 2] = [place + 1, place]
    return renumbered(program, order, [program.ops[n] for n in order], program.outputs)


def _read_instead(
    choose: random.Random, program: Body, found: list[tuple[int, int, Any]]
) -> Body | None:
    """One of ``found``, (operation, operand, value to read instead), carried out."""
    if not found:
        return None
    place, position, other = choose.choice(found)
    op = program.ops[place]
    operands = (*op.operands[:position], other, *op.operands[position + 1 :])
    return with_op(program, place, replace(op, operands=operands))


def equal_read(choose: random.Random, program: Body) -> Body | None:
    """An operand replaced by another value that is equal to it."""
    known, starts = numbers(program), program.starts()
    found = [
        (place, position, other)
        for place, op in enumerate(program.ops)
        for position, operand in enumerate(op.operands)
        if not isinstance(operand, str)
        for other in range(starts[place])
        if other != operand and known[other] == known[operand]
    ]
    return _read_instead(choose, program, found)


def exchanged_outputs(choose: random.Random, program: Body) -> Body | None:
    pairs = [
        (one, two)
        for two in range(len(program.outputs))
        for one in range(two)
        if program.outputs[one] != program.outputs[two]
    ]
    if not pairs:
        return None
    one, two = choose.choice(pairs)
    outputs = list(program.outputs)
    outputs[one], outputs[two] = outputs[two], outputs[one]
    return replace(program, outputs=tuple(outputs))


def equal_output(choose: random.Random, program: Body) -> Body | None:
    """A result replaced by another value that is equal to it."""
    known = numbers(program)
    found = [
        (place, other)
        for place, output in enumerate(program.outputs)
        for other in range(len(known))
        if other != output and known[other] == known[output]
    ]
    if not found:
        return None
    place, other = choose.choice(found)
    outputs = (*program.outputs[:place], other, *program.outputs[place + 1 :])
    return replace(program, outputs=outputs)


def other_literal(choose: random.Random, program: Body) -> Body | None:
    places = [n for n, op in enumerate(program.ops) if isinstance(op.operands[-1], str)]
    if not places:
        return None
    place = choose.choice(places)
    op = program.ops[place]
    new = choose.choice([text for text in LITERALS if text != op.operands[-1]])
    return with_op(program, place, replace(op, operands=(*op.operands[:-1], new)))


def other_parameter(choose: random.Random, program: Body) -> Body | None:
    places = [n for n, op in enumerate(program.ops) if op.power is not None]
    if not places:
        return None
    place = choose.choice(places)
    return with_op(program, place, replace(program.ops[place], power=7))


def other_operand(choose: random.Random, program: Body) -> Body | None:
    """An operand replaced by a value that differs."""
    known, starts = numbers(program), program.starts()
    found = [
        (place, position, other)
        for place, op in enumerate(program.ops)
        if op.primitive not in COMMUTING
        for position, operand in enumerate(op.operands)
        if not isinstance(operand, str)
        for other in range(starts[place])
        if known[other] != known[operand]
    ]
    return _read_instead(choose, program, found)


def dropped(choose: random.Random, program: Body) -> Body | None:
    """Without an operation that nothing reads."""
    starts = program.starts()
    read = {o for op in program.ops for o in op.operands} | {*program.outputs}
    places = [
        place
        for place in range(len(program.ops))
        if not read & {*range(starts[place], starts[place + 1])}
    ]
    if not places:
        return None
    gone = choose.choice(places)
    order = [place for place in range(len(program.ops)) if place != gone]
    return renumbered(program, order, [program.ops[n] for n in order], program.outputs)


def repeated(choose: random.Random, program: Body) -> Body | None:
    """With an operation done again at the end, to no use."""
    return replace(program, ops=(*program.ops, choose.choice(program.ops)))


def swapped_operands(choose: random.Random, program: Body) -> Body | None:
    """The operands of a function that does not commute, exchanged."""
    known = numbers(program)
    places = [
        place
        for place, op in enumerate(program.ops)
        if op.primitive in ("sub", "atan2")
        and not isinstance(op.operands[1], str)
        and known[op.operands[0]] != known[op.operands[1]]  # type: ignore[index]  # checked above
    ]
    if not places:
        return None
    place = choose.choice(places)
    op = program.ops[place]
    return with_op(program, place, replace(op, operands=op.operands[::-1]))


#: Each with the level that it has at the least.
MUTATIONS: dict[Mutation, Level] = {
    reordered: Level.RENAMED,
    equal_read: Level.RENAMED,
    exchanged_outputs: Level.PROGRAM,
    equal_output: Level.PROGRAM,
    other_literal: Level.PROGRAM,
    other_parameter: Level.PROGRAM,
    other_operand: Level.PROGRAM,
    swapped_operands: Level.PROGRAM,
    dropped: Level.PROGRAM,
    repeated: Level.PROGRAM,
}


def somewhere(choose: random.Random, program: Body, mutation: Mutation) -> Body | None:
    """The program with the change made in it, or in one that it holds."""
    inside = [n for n, op in enumerate(program.ops) if op.body is not None]
    if inside and choose.random() < 0.5:
        place = choose.choice(inside)
        op = program.ops[place]
        assert op.body is not None
        changed = somewhere(choose, op.body, mutation)
        if changed is None:
            return None
        return with_op(program, place, replace(op, body=changed))
    return mutation(choose, program)
