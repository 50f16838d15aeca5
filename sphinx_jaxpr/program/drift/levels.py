"""How much a difference between two recordings of a program matters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from ..model import MAX_REPR
from ..text import clipped, inert


class Level(IntEnum):
    """From no difference to another program.

    The first three change no answer about equations, values and phases; the last two can.
    """

    SAME = 0
    PRINTING = 1
    NEUTRAL = 2
    RENAMED = 3
    PROGRAM = 4

    @property
    def words(self) -> str:
        """The level as authors read it."""
        return _WORDS[self]


_WORDS = {
    Level.SAME: "same",
    Level.PRINTING: "printing",
    Level.NEUTRAL: "neutral parameter",
    Level.RENAMED: "renamed or reordered",
    Level.PROGRAM: "program",
}


@dataclass(frozen=True, slots=True, repr=False)
class Difference:
    """One difference between two recordings.

    ``place`` is a path within the block (``[scan].jaxpr[mul]``, ``""`` for the
    program itself), ``what`` says of what; ``old`` or ``new`` is empty where
    there is nothing on that side.
    """

    level: Level
    place: str
    what: str
    old: str = ""
    new: str = ""

    def words(self, block: str = "") -> str:
        """The difference as a sentence part; ``block`` is the name before the place."""
        where = f"`{block}{self.place}`: " if block or self.place else ""
        return f"{where}{self.what}{self.change()}"

    def __repr__(self) -> str:
        return f"<Difference {self.level.words}: {clipped(inert(self.words()), MAX_REPR)}>"

    def change(self) -> str:
        """From what to what."""
        if self.old and self.new:
            return f" `{self.old}` -> `{self.new}`"
        if self.old:
            return f" `{self.old}` is gone"
        return f" `{self.new}` is new" if self.new else ""
