"""What changed in a recorded program, and how much that matters.

Two programs are followed along their data flow.  Equations are paired
where they apply one primitive to the same values and the table ``renames.toml``
explains what is different about them.  Whatever no rule explains is another
program: then the longest common sequence shows where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from ..facts import Facts
from ..matching.numbering import bare
from ..model import MAX_REPR, Equation, Operand, Printed, Program
from ..parser.unparsed import unread
from ..text import clipped, inert
from .changes import ParameterChanges
from .flow import Flow
from .levels import Difference, Level
from .recorded import (
    Places,
    RecordedProgram,
    RecordedText,
    Recording,
    collapsed,
    kind,
    literal,
)

# --- the longest common sequence of two lists of equations

#: Cells of the table up to which the best common sequence is searched.
MAX_CELLS: Final = 400_000


def common(base: list[Equation], variant: list[Equation]) -> list[tuple[Equation, Equation]]:
    """The best common sequence: same primitives in order, equal types preferred."""
    if len(base) * len(variant) > MAX_CELLS:
        return _in_passing(base, variant)
    rows, columns = len(base), len(variant)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        row, below, old = best[i], best[i + 1], base[i]
        for j in range(columns - 1, -1, -1):
            value = max(below[j], row[j + 1])
            if old.primitive == variant[j].primitive:
                value = max(value, below[j + 1] + _likeness(old, variant[j]))
            row[j] = value
    pairs = []
    i = j = 0
    while i < rows and j < columns:
        old, new = base[i], variant[j]
        alike = old.primitive == new.primitive
        if alike and best[i][j] == best[i + 1][j + 1] + _likeness(old, new):
            pairs.append((old, new))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Equation, new: Equation) -> float:
    """More for equal types; the same number of operands is worth a little."""
    value = 1.0
    if _result_types(old) == _result_types(new):
        value += 0.5
    if len(old.inputs) == len(new.inputs):
        value += 0.25
    return value


def _in_passing(base: list[Equation], variant: list[Equation]) -> list[tuple[Equation, Equation]]:
    """For long programs: each equation of the base with the next of its kind."""
    pairs = []
    start = 0
    for equation in base:
        for ahead in range(start, min(start + 50, len(variant))):
            if variant[ahead].primitive == equation.primitive:
                pairs.append((equation, variant[ahead]))
                start = ahead + 1
                break
    return pairs


def _result_types(equation: Equation) -> list[str]:
    return [bare(variable.type) for variable in equation.outputs]


# --- what changed in a recorded program, and how much that matters


@dataclass(frozen=True, slots=True, repr=False)
class Drift:
    """The highest level of all differences, and these, in printed order."""

    level: Level
    differences: tuple[Difference, ...] = ()

    @property
    def highest(self) -> tuple[Difference, ...]:
        """The differences that decide the level."""
        return tuple(d for d in self.differences if d.level is self.level)

    def __repr__(self) -> str:
        text = "; ".join(d.words() for d in self.highest[:3])
        return f"<Drift {self.level.words}{': ' if text else ''}{clipped(inert(text), MAX_REPR)}>"


def drift_between(
    old: Printed | str | Mapping[str, Any], new: Printed | str | Mapping[str, Any]
) -> Drift:
    """How ``new`` differs from ``old``: one program as two versions of JAX print it.

    Each is a program, its text, or the data of a :doc:`lock file </reference/lock>`, which
    has facts beside the text, or an error in place of it.  A text alone says less: it does
    not show, for example, that a program has no effects, so that its equations may be
    reordered.

    Raises :exc:`TypeError` for anything else, and :exc:`ValueError` for a mapping that is
    not such data.

    >>> old = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }"
    >>> drift_between(old, "{ lambda ; x:f32[8]. let y:f32[8] = tanh x in (y,) }")
    <Drift printing: letters, layout, or the order of parameters>
    >>> drift_between(old, old.replace("f32", "bf16")).level.words
    'program'
    """
    return compare(RecordedText.of(old), RecordedText.of(new))


def compare(old: Recording, new: Recording) -> Drift:
    """How ``new`` differs from ``old``; each is a program or an error."""
    if old.text is None or new.text is None:
        return _drift(_errors(old, new))
    renamed = _names(old, new)
    if old.text == new.text and _without_lines(old.facts) == _without_lines(new.facts):
        return _drift(renamed)
    before, after = RecordedProgram(old), RecordedProgram(new)
    if unread(before.printed) or unread(after.printed):  # or what is not a jaxpr at all
        return _drift([*renamed, *_texts(old.text, new.text)])
    assert before.printed.program is not None and after.printed.program is not None
    comparison = _DriftComparison(before, after)
    try:
        differences = comparison.everything(before.printed.program, after.printed.program)
    except RecursionError:
        differences = _texts(old.text, new.text)
    if not differences and old.text != new.text:
        layout = "letters, layout, or the order of parameters"
        differences = [Difference(Level.PRINTING, "", layout)]
    return _drift([*renamed, *differences])


def _drift(found: Iterable[Difference]) -> Drift:
    differences = tuple(found)
    return Drift(max((d.level for d in differences), default=Level.SAME), differences)


def _without_lines(facts: Facts) -> list[Any]:
    """The facts without lines of the source."""
    return [
        (
            (program.inputs, program.constants, program.outputs, program.effects, program.unused),
            [(e.primitive, e.phase, e.types, e.parameters, e.programs) for e in program.equations],
        )
        for program in facts.programs
    ]


def _names(old: Recording, new: Recording) -> list[Difference]:
    """Of the names of the arguments, by which sentences point at inputs."""
    names = old.argument_names, new.argument_names
    if names[0] == names[1] or not all(names):
        return []
    return [Difference(Level.RENAMED, "", "names of the arguments", *map(", ".join, names))]


def _errors(old: Recording, new: Recording) -> list[Difference]:
    kinds = [_kind(recording) for recording in (old, new)]
    if kinds[0] != kinds[1]:
        return [Difference(Level.PROGRAM, "", "result", *kinds)]
    messages = [collapsed(recording.error_words[1]) for recording in (old, new)]
    if messages[0] == messages[1]:
        return []
    return [Difference(Level.PRINTING, "", "message of the error", *messages)]


def _kind(recording: Recording) -> str:
    return "a program" if recording.text is not None else recording.error_words[0]


def _texts(old: str, new: str) -> list[Difference]:
    """Of texts that can't be read: do they differ in more than white space?"""
    if old == new:
        return []
    same = collapsed(old) == collapsed(new)
    return [Difference(Level.PRINTING if same else Level.PROGRAM, "", "printed text")]


def _types(noun: str, old: list[str], new: list[str]) -> list[Difference]:
    """Of two lists of types; a type that is not printed is not a difference."""
    pairs = list(zip(old, new, strict=False))
    if len(old) == len(new) and all(a == b or not (a and b) for a, b in pairs):
        return []
    alike = len(old) == len(new) and all(kind(a) == kind(b) or not (a and b) for a, b in pairs)
    texts = [" ".join(kinds) or "none" for kinds in (old, new)]
    return [Difference(Level.PRINTING if alike else Level.PROGRAM, "", noun, *texts)]


class _DriftComparison:
    """Of two sides; each pair of programs is compared once, since no jaxpr reads outside."""

    def __init__(self, old: RecordedProgram, new: RecordedProgram) -> None:
        self.old = old
        self.new = new
        self.known: dict[tuple[int, int], list[Difference]] = {}

    def everything(self, old: Program, new: Program) -> list[Difference]:
        """The differences of the whole, also in programs printed first that no equation names."""
        differences = list(self.programs(old, new))
        met = [{pair[side] for pair in self.known} for side in (0, 1)]
        left = [
            [(name, program) for name, program in side.printed.shared if program.start not in seen]
            for side, seen in zip((self.old, self.new), met, strict=True)
        ]
        if len(left[0]) != len(left[1]):  # JAX also prints some that nothing names at all
            left = [
                [(name, program) for name, program in programs if name in side.hidden]
                for side, programs in zip((self.old, self.new), left, strict=True)
            ]
        if len(left[0]) != len(left[1]):
            counts = [", ".join(name for name, _ in programs) or "none" for programs in left]
            return [*differences, Difference(Level.PROGRAM, "", "programs printed first", *counts)]
        for (_, before), (name, after) in zip(*left, strict=True):
            inner = self.programs(before, after)
            differences += [replace(d, what=f"{d.what} in `{name}`, printed first") for d in inner]
        return differences

    def programs(self, old: Program, new: Program) -> list[Difference]:
        """The differences of two programs; places start in them."""
        key = (old.start, new.start)
        if key not in self.known:
            self.known[key] = self.whole(old, new)
        return self.known[key]

    def whole(self, old: Program, new: Program) -> list[Difference]:
        differences = self.outside(old, new)
        inside = None
        if not any(d.level is Level.PROGRAM for d in differences):
            inside = Flow(self, old, new).explained()
        if inside is None:
            inside = _Sequence(self, old, new).differences()
        differences += inside
        return differences

    def outside(self, old_program: Program, new_program: Program) -> list[Difference]:
        """Inputs, constants and effects."""
        differences = []
        for noun, old, new in (
            ("inputs", old_program.inputs, new_program.inputs),
            ("constants", old_program.constants, new_program.constants),
        ):
            before = [self.old.type_of(variable) for variable in old]
            after = [self.new.type_of(variable) for variable in new]
            differences += _types(noun, before, after)
        effects = self.old.effects(old_program), self.new.effects(new_program)
        if None not in effects and effects[0] != effects[1]:
            texts = [", ".join(names or ()) or "none" for names in effects]
            # Versions name the reference that is read or written in different ways.
            kinds = [{name.partition("<")[0] for name in names or ()} for names in effects]
            level = Level.PRINTING if kinds[0] == kinds[1] else Level.PROGRAM
            differences.append(Difference(level, "", "effects", *texts))
        return differences

    def literals(self, old: Operand, new: Operand) -> list[Difference]:
        """Of two literals with one value: how they are printed."""
        if (old.text, old.type) == (new.text, new.type):
            return []
        texts = [f"{o.text}:{o.type}" if o.type else o.text for o in (old, new)]
        typed = old.type and new.type and old.type != new.type
        alike = literal(old.text) == literal(new.text) and not typed
        return [Difference(Level.PRINTING if alike else Level.PROGRAM, "", "literal", *texts)]

    def equations(self, old: Equation, new: Equation) -> list[Difference]:
        """All but the wiring; places start at the equation."""
        differences = []
        if old.primitive != new.primitive:
            texts = (old.primitive, new.primitive)
            differences.append(Difference(Level.RENAMED, "", "primitive", *texts))
        differences += _types("type", self.old.types(old), self.new.types(new))
        differences += ParameterChanges(self.old, self.new, old, new, self.programs).differences()
        phases = self.old.phase(old), self.new.phase(new)
        if None not in phases and phases[0] != phases[1]:
            named = [phase or "none" for phase in phases]
            differences.append(Difference(Level.RENAMED, "", "phase", *named))
        return differences


class _Sequence:
    """Shows where two programs differ that are not the same one."""

    def __init__(self, comparison: _DriftComparison, old: Program, new: Program) -> None:
        self.comparison = comparison
        self.old_program, self.new_program = old, new

    def differences(self) -> list[Difference]:
        old, new = self.comparison.old, self.comparison.new
        before, after = Places(self.old_program), Places(self.new_program)
        originals = {e.start: e for e in self.old_program.equations}
        partners: dict[int, Equation] = {}
        for base, variant in common(_newest(old, self.old_program), _newest(new, self.new_program)):
            partners[variant.start] = originals[base.start]
        kept = {partner.start for partner in partners.values()}
        gone = [e for e in self.old_program.equations if e.start not in kept]
        changes = [
            Difference(Level.PROGRAM, before.of(e), "equation", old.brief(e), "") for e in gone
        ]
        for equation in self.new_program.equations:
            path = after.of(equation)
            partner = partners.get(equation.start)
            if partner is None:
                text = new.brief(equation)
                changes.append(Difference(Level.PROGRAM, path, "equation", "", text))
                continue
            pair = self.comparison.equations(partner, equation) + self.operands(partner, equation)
            changes += [replace(d, place=path + d.place) for d in pair]
        counts = [f"{len(program.outputs)}" for program in (self.old_program, self.new_program)]
        if counts[0] != counts[1]:
            changes.append(Difference(Level.PROGRAM, "", "number of outputs", *counts))
        if not any(d.level is Level.PROGRAM for d in changes):
            changes.append(Difference(Level.PROGRAM, "", "what the equations are applied to"))
        return changes

    def operands(self, before: Equation, after: Equation) -> list[Difference]:
        """What can be said of the operands; inserted equations are listed separately."""
        if len(before.inputs) != len(after.inputs):
            counts = [str(len(e.inputs)) for e in (before, after)]
            return [Difference(Level.PROGRAM, "", "number of operands", *counts)]
        differences: list[Difference] = []
        for index, (old, new) in enumerate(zip(before.inputs, after.inputs, strict=True)):
            if old.variable is None and new.variable is None:
                differences += self.comparison.literals(old, new)
            elif old.variable is None or new.variable is None:
                texts = [o.text if o.variable is None else "a value" for o in (old, new)]
                differences.append(Difference(Level.PROGRAM, "", f"operand {index}", *texts))
        return differences


def _newest(side: RecordedProgram, program: Program) -> list[Equation]:
    """The equations under the newest names of their primitives."""
    return [replace(e, primitive=side.primitive(e)) for e in program.equations]


# --- a drift as a table: where, old, new, level

#: Widest cell of each column, in characters.
WIDEST: Final = (60, 40, 40, 40)
#: Most rows of one block.
MOST: Final = 24


def rows(drift: Drift) -> list[tuple[str, str, str, str]]:
    """Place, old, new and level of each difference; those that mean most first."""
    ordered = sorted(drift.differences, key=lambda d: -d.level)
    listed = [(f"{d.place} {d.what}".strip(), d.old, d.new, d.level.words) for d in ordered]
    # The same difference in many equations is one row, with a count.
    kinds = [(row, len(list(same))) for row, same in groupby(listed)]
    return [(f"{row[0]} ({n} times)" if n > 1 else row[0], *row[1:]) for row, n in kinds]


def table(drift: Drift, most: int = MOST) -> list[str]:
    """The lines of the table, without a title; a long one is cut, and says so.

    Where there is more than printing, what is printing alone is only counted.
    """
    listed = rows(drift)
    printing = [row for row in listed if row[3] == Level.PRINTING.words]
    if drift.level is not Level.PRINTING:
        listed = [row for row in listed if row not in printing]
    head = ("where", "old", "new", "level")
    cells = [head, *(tuple(map(_cut, row, WIDEST)) for row in listed[:most])]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if len(listed) > most:
        lines.append(f"... and {len(listed) - most} more")
    if printing and drift.level is not Level.PRINTING:
        lines.append(f"... and {len(printing)} of printing alone")
    return lines


def counted(drifts: list[Drift]) -> str:
    """How many blocks are of which level: ``3 same, 1 program``."""
    parts = []
    for level in Level:
        count = sum(drift.level is level for drift in drifts)
        if count:
            parts.append(f"{count} {level.words}")
    return ", ".join(parts)


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."
