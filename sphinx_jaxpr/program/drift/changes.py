"""How the parameters of one equation differ from those of another, by the table's rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..dtypes import short_dtype
from ..model import Equation, Program
from ..query.blocks import dtype_of, shape_of
from ..renames import ParameterRename, table
from .levels import Difference, Level
from .recorded import MISSING, RecordedProgram, RecordedValue, collapsed, normal

#: Compares two nested programs; the places in its answer start in them.
Inner = Callable[[Program, Program], list[Difference]]

_LEVELS: Final = {"printing": Level.PRINTING, "neutral": Level.NEUTRAL, "renamed": Level.RENAMED}
_FALSES: Final = re.compile(r"\((False, ?)*(False)?\)")


class ParameterChanges:
    """The parameters of two equations of one primitive."""

    def __init__(
        self,
        old: RecordedProgram,
        new: RecordedProgram,
        before: Equation,
        after: Equation,
        inner: Inner,
    ) -> None:
        self.sides = (old, new)
        self.equations = (before, after)
        self.inner = inner
        self.primitive = old.primitive(before)
        self.old = old.parameters(before)
        self.new = new.parameters(after)

    def differences(self) -> list[Difference]:
        """All of them; places start at the equation."""
        changes: list[Difference] = []
        old, new = self.equations
        # Layouts and the like belong to the operands, which are compared separately.
        arity = len(old.inputs) == len(new.inputs) and len(old.outputs) == len(new.outputs)
        for name in self.old:
            if name in self.new and (arity or self.is_printed(name)):
                changes += self.values(name, name)
        before = {name: v for name, v in self.old.items() if name not in self.new}
        after = {name: v for name, v in self.new.items() if name not in self.old}
        changes += self.renamed(before, after)
        for left, is_new in ((before, False), (after, True)):
            for name, value in left.items():
                if value.text is not None:
                    changes.append(self.alone(name, value, is_new))
        return changes

    def is_printed(self, name: str) -> bool:
        """Whether the text of one of the programs has the parameter."""
        return (self.old[name].text or self.new[name].text) is not None

    # -- a parameter on both sides

    def values(self, name: str, other: str) -> list[Difference]:
        """What differs between the values of ``name``, before, and ``other``, now."""
        old, new = self.old[name], self.new[other]
        if old.members or new.members:
            differences = self.programs(other, old, new)
            if normal(old.rest) != normal(new.rest):
                differences.append(
                    Difference(
                        Level.PROGRAM,
                        "",
                        f"parameter {other}, around its programs",
                        old.rest,
                        new.rest,
                    )
                )
            return differences
        level = self.level(name, old, new)
        if level is Level.SAME:
            return []
        noun = f"parameter {other}"
        if level is Level.PRINTING and (old.text is None or new.text is None):
            noun = f"printed {noun}"
            texts = ["" if value.text is None else value.shown for value in (old, new)]
        else:
            texts = [old.shown, new.shown]
        return [Difference(level, "", noun, *texts)]

    def level(self, name: str, old: RecordedValue, new: RecordedValue) -> Level:
        """How much it matters that one value of a parameter became another."""
        if old.text is None or new.text is None:
            are_known = old.plain is not MISSING and new.plain is not MISSING
            if are_known and old.plain == new.plain and type(old.plain) is type(new.plain):
                return Level.SAME if old.text is new.text else Level.PRINTING
            return self.spelled(name, old, new)
        if _differ(old.plain, new.plain):
            return self.spelled(name, old, new)
        if old.text == new.text:
            return Level.SAME
        texts = normal(old.text), normal(new.text)
        if (self.primitive, name) in table().unordered:
            texts = _sorted(texts[0]), _sorted(texts[1])
        if texts[0] == texts[1]:
            return Level.PRINTING
        return self.spelled(name, old, new)

    def spelled(self, name: str, old: RecordedValue, new: RecordedValue) -> Level:
        """The level at which two texts, or one and none, are one value by the table."""
        level = table().spelling(self.primitive, name, old.text or "", new.text or "")
        return _LEVELS.get(level, Level.PROGRAM)

    def programs(self, name: str, old: RecordedValue, new: RecordedValue) -> list[Difference]:
        """What differs in the programs that a parameter holds."""
        if len(old.members) != len(new.members):
            counts = [f"{len(value.members)} programs" for value in (old, new)]
            return [Difference(Level.PROGRAM, "", f"parameter {name}", *counts)]
        differences = []
        for index, (before, after) in enumerate(zip(old.members, new.members, strict=True)):
            within = f".{name}[{index}]" if len(new.members) > 1 else f".{name}"
            differences += [
                Difference(d.level, within + d.place, d.what, d.old, d.new)
                for d in self.inner(before, after)
            ]
        return differences

    # -- a parameter on one side

    def renamed(
        self, before: dict[str, RecordedValue], after: dict[str, RecordedValue]
    ) -> list[Difference]:
        """Take what goes by another name on the other side out of both."""
        differences: list[Difference] = []
        explained: set[str] = set()
        for row in (row for name in before | after for row in table().about(self.primitive, name)):
            if row.old in explained or not row.old:
                continue
            for ours, theirs in ((before, after), (after, before)):
                if row.old not in ours:
                    continue
                names = [name for name in row.new if name in theirs]
                if row.carries and names:
                    pair = (row.old, names[0]) if ours is before else (names[0], row.old)
                    differences += [
                        Difference(Level.RENAMED, "", "parameter", *pair),
                        *self.values(*pair),
                    ]
                elif row.groups and _in_groups(row, ours[row.old], theirs):
                    sides = f"{row.old}={ours[row.old].shown}", " and ".join(row.new)
                    texts = sides if ours is before else sides[::-1]
                    differences.append(Difference(Level.RENAMED, "", "parameter", *texts))
                else:
                    continue
                explained.update((row.old, *(names[:1] if row.carries else row.groups)))
        for name in explained:
            before.pop(name, None)
            after.pop(name, None)
        return differences

    def alone(self, name: str, value: RecordedValue, is_new: bool) -> Difference:
        """A parameter that came or went."""
        rows = table().about(self.primitive, name)
        neutral = any(self.is_neutral(row, value, is_new) for row in rows)
        level = Level.NEUTRAL if neutral else self.spelled(name, value, RecordedValue(None))
        text = f"{name}={value.shown}"
        return Difference(level, "", "parameter", *(("", text) if is_new else (text, "")))

    def is_neutral(self, row: ParameterRename, value: RecordedValue, is_new: bool) -> bool:
        """Whether a value says nothing that was not so without it."""
        text = collapsed(value.text or "")
        for meant in row.neutral:
            if meant in ("last axis", "operand's dtype"):
                operands = self.equations[is_new].inputs
                kind = self.sides[is_new].type_of(operands[0]) if operands else ""
                if meant == "last axis":
                    shape = shape_of(kind)
                    good = shape is not None and text == str(len(shape) - 1)
                else:
                    good = bool(kind) and short_dtype(text) == dtype_of(kind)
            else:
                good = text == meant or (meant == "False" and bool(_FALSES.fullmatch(text)))
            if good:
                return True
        return False


def _differ(old: Any, new: Any) -> bool:
    """Whether two plain values are texts or numbers that differ, however they are printed."""
    plain = all(isinstance(value, (str, int, float)) for value in (old, new))
    return plain and type(old) is type(new) and old != new


def _sorted(text: str) -> str:
    """A tuple of names in one order."""
    return ", ".join(sorted(re.findall(r"[^\s(),]+", text)))


def _in_groups(row: ParameterRename, old: RecordedValue, new: dict[str, RecordedValue]) -> bool:
    """Whether the groups that replaced ``old`` have as many leaves as it says."""
    for name, index in row.groups.items():
        groups = _groups(new[name].text or "") if name in new else []
        if index >= len(groups) or str(groups[index]) != old.text:
            return False
    return bool(row.groups)


def _groups(text: str) -> list[int]:
    """How many leaves each group of a printed flat tree has; empty if it is not understood."""
    tree = text.partition("tree=PyTreeDef(")[2] if not text.startswith("(") else ""
    if tree:
        if "Left(" in text:
            return []
        return [part.count("*") for part in _parts(tree)]
    # A side that was split off and left out is not a leaf here.
    return [part.count("None") - part.count("Left(None") for part in _parts(text)]


def _parts(text: str) -> Iterator[str]:
    """The texts between the commas of a tuple."""
    depth, start = 0, 1
    for index, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if (sign == "," and depth == 1) or (sign == ")" and depth == 0):
            if text[start:index].strip():
                yield text[start:index]
            start = index + 1
        if depth == 0:
            return
