"""The blocks that a build read last: parsing is expensive, and memory is bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from ..records import CodeSpan

if TYPE_CHECKING:
    from ...block import TracedBlock

#: Characters of text whose blocks are kept: a parsed and matched program takes about 60 bytes
#: a character, so these take about 20 MB.
MOST: Final = 320 * 1024

#: What a block was made of: its outcome and its base's, its name, the error it may raise, the
#: places of the page's code.
BlockKey = tuple[str, str, str, str, tuple[CodeSpan, ...]]


class RecentBlocks:
    """Blocks by key; beyond ``most`` characters of text, those unused for longest are dropped.

    The newest block is always kept, whatever its size.  One that a variant or an expression
    still holds is the same when it is asked for again: equations of two objects for one
    program would never be equal.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.size = 0
        self._blocks: OrderedDict[BlockKey, TracedBlock] = OrderedDict()
        self._living: WeakValueDictionary[BlockKey, TracedBlock] = WeakValueDictionary()

    @property
    def is_full(self) -> bool:
        """Whether three quarters are used, so that what is needed soon might be pushed out."""
        return 4 * self.size >= 3 * self.most

    def get(self, key: BlockKey) -> TracedBlock | None:
        """The block, if it is still in memory."""
        block = self._living.get(key)
        if key in self._blocks:
            self._blocks.move_to_end(key)
        elif block is not None:
            self.add(key, block)
        return block

    def add(self, key: BlockKey, block: TracedBlock) -> None:
        """Keep a block, and drop others for it."""
        self.drop(key)
        self._blocks[key] = self._living[key] = block
        self.size += _size(block)
        while self.size > self.most and len(self._blocks) > 1:
            _, oldest = self._blocks.popitem(last=False)
            self.size -= _size(oldest)

    def drop(self, key: BlockKey) -> None:
        """Let go of a block."""
        block = self._blocks.pop(key, None)
        if block is not None:
            self.size -= _size(block)


def _size(block: TracedBlock) -> int:
    return len(block.text or "") + 200
