"""What a page asks for, as plain data that the environment can keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..tracing.request import Request


@dataclass(frozen=True)
class Finding:
    """One thing to tell the author, at its line.

    ``kind`` is the subtype of the warning (``option`` in ``jaxpr.option``);
    ``source`` is a file (or a docstring, as Sphinx names it).
    """

    kind: str
    message: str
    source: str
    line: int


@dataclass(frozen=True)
class Note:
    """Where a note points, and where it was written."""

    path: str
    source: str
    line: int


@dataclass(frozen=True)
class Block:
    """One figure: the base of a directive or one of its variants.

    ``identity`` is the id of its HTML figure.  ``request`` is ``None`` where
    the page's text could not be understood; ``problem`` then says why.
    ``line`` is that of its transform, or of the directive.  ``lock`` is its
    file in the lock; ``locked`` where it always comes from there.
    """

    name: str
    label: str
    identity: str
    request: Request | None
    digest: str
    problem: str = ""
    shown: bool = True
    line: int = 0
    lock: str = ""
    locked: bool = False

    @property
    def full_name(self) -> str:
        """The name that no other block has: with the page where it holds for that alone."""
        return self.lock.removesuffix(".json")


@dataclass(frozen=True)
class Gallery:
    """One directive: its blocks, base first, and what decides how they look.

    ``lines`` has the line of each option that may turn out wrong only later.
    """

    source: str
    line: int
    name: str
    explicit: bool
    blocks: tuple[Block, ...]
    opened: str = ""
    elide: str = ""
    with_source: bool = False
    raises: str = ""
    timeout: float = 0.0
    classes: tuple[str, ...] = ()
    caption: str = ""
    findings: tuple[Finding, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    notes: tuple[Note, ...] = ()
    only: tuple[str, ...] = field(default=())

    def line_of(self, option: str) -> int:
        """The line of an option, or of the directive."""
        return dict(self.lines).get(option, self.line)

    def tolerates(self, block: Block) -> bool:
        """Whether a failure of ``block`` may be no fault: a base that only its variants need."""
        return not block.label and not block.shown and len(self.blocks) > 1
