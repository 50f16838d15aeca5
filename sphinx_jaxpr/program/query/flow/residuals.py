"""What a program keeps for its backward part: ``f.grad.residuals``."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from ...model import CONSTANTS, INPUTS, UNKNOWN, Kept, Program, Variable
from ..blocks import QueryBlock, bytes_of
from ..syntax import PathError
from ..values import in_brackets, no_phases

_BACKWARD: Final = frozenset({"transpose", "recomputed"})
#: How many programs are looked at for one with a backward part.
_MOST_PROGRAMS: Final = 2_000


def residuals(block: QueryBlock, program: Program, path: str) -> tuple[Variable, ...]:
    """The values, in the order of the text; :exc:`PathError` where there is no backward part."""
    index = block.index.tables.get(program.start)
    facts = None if index is None else block.facts.programs[index]
    if facts is None or program.start in block.index.unread:
        raise PathError(f"`{path}.residuals`: only the text of `{path}` is known")
    if facts.flows is None:
        raise PathError(
            f"`{path}.residuals`: an older release recorded `{path}`, without what it keeps"
        )
    if not block.index.has_phases:
        raise PathError(no_phases(path, True))
    if facts.kept is None:
        raise PathError(_nothing(block, program, path))
    if facts.kept == UNKNOWN:
        raise PathError(f"`{path}.residuals`: nothing says which inputs of `{path}` are cotangents")
    return listed(program, facts.kept)


def kept_sizes(block: QueryBlock) -> list[int | None]:
    """The bytes of each value that a block keeps; none where it keeps nothing, or may do so."""
    if block.printed is None or block.printed.program is None:
        return []
    try:
        kept = residuals(block, block.printed.program, block.name)
    except PathError:
        return []
    return [bytes_of(block.index.type_of(value)) for value in kept]


def listed(program: Program, kept: Kept) -> tuple[Variable, ...]:
    """The values of a program at some places."""
    values = []
    for owner, index in kept:
        if owner >= 0:
            own = program.equations[owner].outputs if owner < len(program.equations) else ()
        else:
            own = {CONSTANTS: program.constants, INPUTS: program.inputs}.get(owner, ())
        if index >= len(own):
            raise PathError("what is recorded of this program does not fit its text")
        values.append(own[index])
    return tuple(values)


def _nothing(block: QueryBlock, program: Program, path: str) -> str:
    """That a program has no backward part, and which program inside has one."""
    inner = _inside(block, program, path)
    if inner:
        return (
            f"`{path}` has no backward part of its own; a program inside has one:"
            f" `{inner}.residuals`"
        )
    rows = block.index.facts
    phases = [rows[e.start].phase for e in program.equations if e.start in rows]
    present = " and ".join(dict.fromkeys(filter(None, phases)))
    only = f"; its equations are {present}" if present else ""
    return f"`{path}` has no backward part, so it keeps nothing for one{only}"


def _inside(block: QueryBlock, program: Program, path: str) -> str:
    """The path of the nearest program inside with a backward part, or ``""``."""
    facts, seen = block.index.facts, {program.start}
    todo = deque([(program, path)])
    while todo and len(seen) < _MOST_PROGRAMS:
        current, where = todo.popleft()
        rows = (facts.get(equation.start) for equation in current.equations)
        if any(row is not None and row.phase in _BACKWARD for row in rows):
            return where
        for step, inner in _held(block, current):
            if inner.start not in seen:
                seen.add(inner.start)
                todo.append((inner, where + step))
    return ""


def _held(block: QueryBlock, program: Program) -> Iterator[tuple[str, Program]]:
    """The programs that the equations of a program hold, each with the way there."""
    count, place = Counter(e.primitive for e in program.equations), Counter[str]()
    for equation in program.equations:
        name = equation.primitive
        here = in_brackets(name) + (f"[{place[name]}]" if count[name] > 1 else "")
        place[name] += 1
        for parameter in equation.parameters:
            is_one = len(parameter.members) == 1 and block.index.text[parameter.start] != "("
            for number, member in enumerate(parameter.members):
                inner = block.index.member(member)
                if inner is not None:
                    yield f"{here}.{parameter.name}{'' if is_one else f'[{number}]'}", inner
