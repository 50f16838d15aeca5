"""What became of a recorded program: the same, or how it differs and how much that means.

Two programs are followed along their data flow.  Equations stand for one another
where they apply one primitive to the same values and the table ``renames.toml``
explains what is different about them.  Whatever no rule explains is another
program: then the longest common sequence shows where.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .changes import Parameters
from .levels import Difference, Level
from .model import Equation, Operand, Program
from .renames import table
from .sequence import common
from .sides import Places, Side, collapsed, kind, literal


@dataclass(frozen=True, slots=True)
class Drift:
    """The highest level of all differences, and these, in printed order."""

    level: Level
    differences: tuple[Difference, ...] = ()

    @property
    def highest(self) -> tuple[Difference, ...]:
        """The differences that decide the level."""
        return tuple(d for d in self.differences if d.level is self.level)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Drift:
    """How ``new`` differs from ``old``: recorded results, with text and facts, or an error."""
    if "text" not in old or "text" not in new:
        return _drift(_errors(old, new))
    if old["text"] == new["text"] and _bare(old) == _bare(new):
        return Drift(Level.SAME)
    one, two = Side(old), Side(new)
    if one.printed.program is None or two.printed.program is None:
        return _drift(_texts(old["text"], new["text"]))
    try:
        found = _Comparison(one, two).everything(one.printed.program, two.printed.program)
    except RecursionError:
        found = _texts(old["text"], new["text"])
    if not found and old["text"] != new["text"]:
        found = [Difference(Level.PRINTING, "", "letters, layout or order of parameters")]
    return _drift(found)


def _drift(found: Iterable[Difference]) -> Drift:
    differences = tuple(found)
    return Drift(max((d.level for d in differences), default=Level.SAME), differences)


def _bare(recorded: Mapping[str, Any]) -> list[Any]:
    """The facts without lines of the source."""
    return [
        {
            **program,
            "equations": [[*row[:2], *row[3:]] for row in program["equations"]],
        }
        for program in recorded["facts"].get("programs") or []
    ]


def _errors(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    kinds = [_kind(recorded) for recorded in (old, new)]
    if kinds[0] != kinds[1]:
        return [Difference(Level.PROGRAM, "", "result", *kinds)]
    messages = [collapsed(recorded["error"]["message"]) for recorded in (old, new)]
    if messages[0] == messages[1]:
        return []
    return [Difference(Level.PRINTING, "", "message of the error", *messages)]


def _kind(recorded: Mapping[str, Any]) -> str:
    if "text" in recorded:
        return "a program"
    error = recorded["error"]
    return str(error["type"] or error["kind"])


def _texts(old: str, new: str) -> list[Difference]:
    """Of texts that can't be read: equal but for white space, or not."""
    if old == new:
        return []
    same = collapsed(old) == collapsed(new)
    return [Difference(Level.PRINTING if same else Level.PROGRAM, "", "printed text")]


def _types(what: str, old: list[str], new: list[str]) -> list[Difference]:
    """Of two lists of types; one that is not printed is no difference."""
    pairs = list(zip(old, new, strict=False))
    if len(old) == len(new) and all(a == b or not (a and b) for a, b in pairs):
        return []
    alike = len(old) == len(new) and all(kind(a) == kind(b) or not (a and b) for a, b in pairs)
    shown = [" ".join(kinds) or "none" for kinds in (old, new)]
    return [Difference(Level.PRINTING if alike else Level.PROGRAM, "", what, *shown)]


class _Comparison:
    """Of two sides; each pair of programs is compared once, since no jaxpr reads outside."""

    def __init__(self, old: Side, new: Side) -> None:
        self.old = old
        self.new = new
        self.known: dict[tuple[int, int], list[Difference]] = {}

    def everything(self, one: Program, two: Program) -> list[Difference]:
        """The differences of the whole, also in programs that are named in opaque text alone."""
        found = list(self.programs(one, two))
        met = [{pair[side] for pair in self.known} for side in (0, 1)]
        left = [
            [
                (name, program)
                for name, program in side.printed.shared
                if name in side.hidden and program.start not in met[place]
            ]
            for place, side in enumerate((self.old, self.new))
        ]
        if len(left[0]) != len(left[1]):
            counts = [", ".join(name for name, _ in programs) or "none" for programs in left]
            return [*found, Difference(Level.PROGRAM, "", "programs printed first", *counts)]
        for (_, before), (name, after) in zip(*left, strict=True):
            inner = self.programs(before, after)
            found += [replace(d, what=f"{d.what} in `{name}`, printed first") for d in inner]
        return found

    def programs(self, one: Program, two: Program) -> list[Difference]:
        """The differences of two programs; places start in them."""
        key = (one.start, two.start)
        if key not in self.known:
            self.known[key] = self.whole(one, two)
        return self.known[key]

    def whole(self, one: Program, two: Program) -> list[Difference]:
        found = self.outside(one, two)
        inside = None
        if not any(d.level is Level.PROGRAM for d in found):
            inside = _Flow(self, one, two).explained()
        if inside is None:
            inside = _Sequence(self, one, two).differences()
        found += inside
        return found

    def outside(self, one: Program, two: Program) -> list[Difference]:
        """Inputs, constants and effects."""
        found = []
        for what, old, new in (
            ("inputs", one.inputs, two.inputs),
            ("constants", one.constants, two.constants),
        ):
            before = [self.old.type_of(variable) for variable in old]
            after = [self.new.type_of(variable) for variable in new]
            found += _types(what, before, after)
        effects = self.old.effects(one), self.new.effects(two)
        if None not in effects and effects[0] != effects[1]:
            shown = [", ".join(names or ()) or "none" for names in effects]
            # Versions name the reference that is read or written in different ways.
            kinds = [{name.partition("<")[0] for name in names or ()} for names in effects]
            level = Level.PRINTING if kinds[0] == kinds[1] else Level.PROGRAM
            found.append(Difference(level, "", "effects", *shown))
        return found

    def literals(self, old: Operand, new: Operand) -> list[Difference]:
        """Of two literals with one value: how they are printed."""
        if (old.text, old.type) == (new.text, new.type):
            return []
        shown = [f"{o.text}:{o.type}" if o.type else o.text for o in (old, new)]
        typed = old.type and new.type and old.type != new.type
        alike = literal(old.text) == literal(new.text) and not typed
        return [Difference(Level.PRINTING if alike else Level.PROGRAM, "", "literal", *shown)]

    def equations(self, one: Equation, two: Equation) -> list[Difference]:
        """All but the wiring; places start at the equation."""
        found = []
        if one.primitive != two.primitive:
            shown = (one.primitive, two.primitive)
            found.append(Difference(Level.RENAMED, "", "primitive", *shown))
        found += _types("type", self.old.types(one), self.new.types(two))
        found += Parameters(self.old, self.new, one, two, self.programs).differences()
        phases = self.old.phase(one), self.new.phase(two)
        if None not in phases and phases[0] != phases[1]:
            named = [phase or "none" for phase in phases]
            found.append(Difference(Level.RENAMED, "", "phase", *named))
        return found


class _Flow:
    """Follows two programs along their data flow, as far as everything is explained."""

    def __init__(self, comparison: _Comparison, one: Program, two: Program) -> None:
        self.comparison = comparison
        self.one, self.two = one, two
        self.ordered = not (comparison.old.is_pure(one) and comparison.new.is_pure(two))
        # The number of a value is the same on both sides; equal values share one.
        self.before: dict[int, int] = {}
        self.after: dict[int, int] = {}
        self.equal: dict[Any, list[int]] = {}
        self.count = 0

    def number(self) -> int:
        self.count += 1
        return self.count

    def operand(self, operand: Operand, numbers: dict[int, int]) -> tuple[str, str]:
        if operand.variable is None:
            return ("literal", literal(operand.text))
        return ("value", str(numbers.get(operand.variable.index, operand.text)))

    def key(self, side: Side, equation: Equation, numbers: dict[int, int]) -> Any:
        """What an equation is applied to; of operands that commute the order means nothing."""
        name = side.primitive(equation)
        operands = [self.operand(operand, numbers) for operand in equation.inputs]
        commutes = name in table().commuting and len(operands) == 2
        return name, tuple(sorted(operands) if commutes else operands), len(equation.outputs)

    def explained(self) -> list[Difference] | None:
        """The differences, none of another program; ``None`` where it is another one."""
        if len(self.one.equations) != len(self.two.equations):
            return None
        if len(self.one.outputs) != len(self.two.outputs):
            return None
        for old, new in zip(
            (*self.one.constants, *self.one.inputs),
            (*self.two.constants, *self.two.inputs),
            strict=True,
        ):
            self.before[old.index] = self.after[new.index] = self.number()
        paired = self.paired(self.numbered())
        if paired is None:
            return None
        found, order = paired
        for old_out, new_out in zip(self.one.outputs, self.two.outputs, strict=True):
            if self.operand(old_out, self.before) != self.operand(new_out, self.after):
                return None
            if old_out.variable is None:
                found += self.comparison.literals(old_out, new_out)
        found += self.moved(order)
        return None if any(d.level is Level.PROGRAM for d in found) else found

    def paired(self, waiting: dict[Any, list[int]]) -> tuple[list[Difference], list[int]] | None:
        """The differences of all equations, and which old one each of the new stands for."""
        places = Places(self.two)
        found: list[Difference] = []
        order: list[int] = []
        for place, equation in enumerate(self.two.equations):
            key = self.key(self.comparison.new, equation, self.after)
            chosen = self.choose(waiting[key], equation, place)
            if chosen is None:
                return None
            partner, differences = chosen
            waiting[key].remove(partner)
            order.append(partner)
            original = self.one.equations[partner]
            differences = differences + self.operands(original, equation)
            found += [replace(d, place=places.of(equation) + d.place) for d in differences]
            for old, new in zip(original.outputs, equation.outputs, strict=True):
                self.after[new.index] = self.before[old.index]
        return found, order

    def numbered(self) -> dict[Any, list[int]]:
        """Give the old values numbers; the old equations by what they are applied to."""
        side = self.comparison.old
        waiting: dict[Any, list[int]] = defaultdict(list)
        for place, equation in enumerate(self.one.equations):
            key = self.key(side, equation, self.before)
            waiting[key].append(place)
            numbers = [self.number() for _ in equation.outputs]
            if not self.ordered and not any(p.members for p in equation.parameters):
                text = [
                    (p.name, collapsed(side.index.text[p.start : p.end]))
                    for p in equation.parameters
                ]
                full = (key, tuple(side.types(equation)), tuple(text))
                numbers = self.equal.setdefault(full, numbers)
            self.before.update(
                (variable.index, number)
                for variable, number in zip(equation.outputs, numbers, strict=True)
            )
        return waiting

    def choose(
        self, waiting: list[int], equation: Equation, place: int
    ) -> tuple[int, list[Difference]] | None:
        """The old equation that ``equation`` stands for: the one in its place, or the first."""
        first = [place] if place in waiting else []
        for partner in first if self.ordered else [*first, *waiting[:8]]:
            differences = self.comparison.equations(self.one.equations[partner], equation)
            if all(d.level is not Level.PROGRAM for d in differences):
                return partner, differences
        return None

    def operands(self, one: Equation, two: Equation) -> list[Difference]:
        """Literals printed otherwise; operands that changed places."""
        before = [self.operand(operand, self.before) for operand in one.inputs]
        after = [self.operand(operand, self.after) for operand in two.inputs]
        pairs = list(zip(one.inputs, two.inputs, strict=True))
        found = []
        if before != after:
            shown = [", ".join(o.text or o.type for o in e.inputs) for e in (one, two)]
            found.append(Difference(Level.RENAMED, "", "order of the operands", *shown))
            pairs = list(zip(one.inputs, two.inputs[::-1], strict=True))
        for old, new in pairs:
            if old.variable is None and new.variable is None:
                found += self.comparison.literals(old, new)
        return found

    def moved(self, order: list[int]) -> list[Difference]:
        """That equations stand in another order."""
        places = [new for new, old in enumerate(order) if new != old]
        if not places:
            return []
        sides = (self.one.equations, self.two.equations)
        shown = [", ".join(side[place].primitive for place in places[:8]) for side in sides]
        more = ", ..." if len(places) > 8 else ""
        shown = [text + more for text in shown]
        return [Difference(Level.RENAMED, "", "order of the equations", *shown)]


class _Sequence:
    """Shows where two programs differ that are not the same one."""

    def __init__(self, comparison: _Comparison, one: Program, two: Program) -> None:
        self.comparison = comparison
        self.one, self.two = one, two

    def differences(self) -> list[Difference]:
        old, new = self.comparison.old, self.comparison.new
        before, after = Places(self.one), Places(self.two)
        originals = {e.start: e for e in self.one.equations}
        partners: dict[int, Equation] = {}
        for one, two in common(_newest(old, self.one), _newest(new, self.two)):
            partners[two.start] = originals[one.start]
        kept = {partner.start for partner in partners.values()}
        gone = [e for e in self.one.equations if e.start not in kept]
        found = [
            Difference(Level.PROGRAM, before.of(e), "equation", old.brief(e), "") for e in gone
        ]
        for equation in self.two.equations:
            place = after.of(equation)
            partner = partners.get(equation.start)
            if partner is None:
                shown = new.brief(equation)
                found.append(Difference(Level.PROGRAM, place, "equation", "", shown))
                continue
            pair = self.comparison.equations(partner, equation) + self.operands(partner, equation)
            found += [replace(d, place=place + d.place) for d in pair]
        counts = [f"{len(program.outputs)}" for program in (self.one, self.two)]
        if counts[0] != counts[1]:
            found.append(Difference(Level.PROGRAM, "", "number of outputs", *counts))
        if not any(d.level is Level.PROGRAM for d in found):
            found.append(Difference(Level.PROGRAM, "", "what the equations are applied to"))
        return found

    def operands(self, one: Equation, two: Equation) -> list[Difference]:
        """What is plain of the operands; what was put in between is told by itself."""
        if len(one.inputs) != len(two.inputs):
            counts = [str(len(e.inputs)) for e in (one, two)]
            return [Difference(Level.PROGRAM, "", "number of operands", *counts)]
        found: list[Difference] = []
        for place, (old, new) in enumerate(zip(one.inputs, two.inputs, strict=True)):
            if old.variable is None and new.variable is None:
                found += self.comparison.literals(old, new)
            elif old.variable is None or new.variable is None:
                shown = [o.text if o.variable is None else "a value" for o in (old, new)]
                found.append(Difference(Level.PROGRAM, "", f"operand {place}", *shown))
        return found


def _newest(side: Side, program: Program) -> list[Equation]:
    """The equations under the newest names of their primitives."""
    return [replace(e, primitive=side.primitive(e)) for e in program.equations]
