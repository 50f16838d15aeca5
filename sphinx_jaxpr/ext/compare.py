"""``layout: compare``: each variant beside the base, what was matched on one row."""

from __future__ import annotations

from docutils import nodes

from ..program.rows import Side, Unaligned, align
from .figure import Figures, Look
from .notes import as_list
from .records import Block
from .shown import free

_BEFORE = '<div class="jaxpr-compare">\n'
_AFTER = "</div>\n"


class Pairs(Figures):
    """The base is shown once for each variant: first under its own id, then as a copy."""

    def shown(self) -> list[nodes.Node]:
        base, *variants = self.gallery.blocks
        if self.epub or not variants or self.engine.printed(base) is None:
            return super().shown()
        found: list[nodes.Node] = [*self.rest, *self.source()]
        self.caption_left = self.caption
        self.base_shown = False
        pairs = [block for block in variants if self.engine.printed(block) is not None]
        if not pairs:
            found += self.once(base)
        for block in variants:
            found += self.pair(base, block) if block in pairs else [self.figure(block, None)]
            found += as_list(self.notes_of(block), self.back)
        return [*found, *self.lost_notes()]

    def once(self, base: Block, look: Look | None = None) -> list[nodes.Node]:
        """The base under its own id, with the caption; its notes follow the pair."""
        self.base_shown = True
        caption, self.caption_left = self.caption_left, None
        found: list[nodes.Node] = [self.figure(base, caption, look or Look())]
        return found if look else [*found, *as_list(self.notes_of(base), self.back)]

    def pair(self, base: Block, block: Block) -> list[nodes.Node]:
        """Two figures in one box."""
        left, right = self.sides(base, block)
        one, two = self.engine.printed(base), self.engine.printed(block)
        assert one is not None and two is not None
        opened = self.is_open(block, two[0])
        wide = self.is_open(base, one[0]) or opened
        beside = Look(side=right, opened=opened, after=_AFTER)
        if self.base_shown:
            identity = free(f"{self.id_of(block)}-base", self.taken)
            look = Look(identity, left, wide, copy=True, beside=block.label, before=_BEFORE)
            return [self.figure(base, None, look), self.figure(block, None, beside)]
        first = self.once(base, Look(side=left, opened=wide, before=_BEFORE))
        notes = as_list(self.notes_of(base), self.back)
        return [*first, self.figure(block, None, beside), *notes]

    def sides(self, base: Block, block: Block) -> tuple[Side | None, Side | None]:
        """The rows of both programs, where their lines can be put into rows."""
        one, two = self.engine.printed(base), self.engine.printed(block)
        if one is None or two is None or not (one[0].program and two[0].program):
            return None, None
        try:
            sides = Side(one[0], self.runs(base)), Side(two[0], self.runs(block))
            aligned = align(*sides, self.matched(block))
        except Unaligned:
            aligned = False
        return sides if aligned else (None, None)
