"""The records of a page, as plain data that the environment can keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..tracing.request import Request

#: The layout in which each variant is shown beside the base.
COMPARE: Final = "compare"


@dataclass(frozen=True)
class Finding:
    """A message to the author, reported as a warning at its line in every build.

    ``kind`` is the subtype of the warning (``option`` in ``jaxpr.option``);
    ``source`` is a file, or a docstring as Sphinx names it.
    """

    kind: str
    message: str
    source: str
    line: int


@dataclass(frozen=True)
class Note:
    """A path in a note or in ``elide``, and where it was written."""

    path: str
    source: str
    line: int


@dataclass(frozen=True)
class Statement:
    """A statement about a program: a role, a line of ``jaxpr-claims``, or a condition.

    ``role`` is the role's name: ``claim`` for a line of claims, ``when`` for a condition.
    ``only`` are the conditions of ``only`` around it, ``when`` those of ``jaxpr-when``.
    ``problem`` says what is wrong with its form; then it is reported, not judged.
    """

    role: str
    expression: str
    words: str
    source: str
    line: int
    only: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Pasted:
    """A program in the text of a page; ``version`` is the author's word for what printed it."""

    text: str
    version: str = ""


@dataclass(frozen=True)
class Block:
    """The base of a directive or one of its variants; each is shown as a figure.

    ``identity`` is the id of its HTML figure.  ``request`` is ``None`` where the options can't
    be read; ``problem`` then says why.  ``line`` is that of its transform, or of the directive.
    ``lock`` is its file in the lock; with ``locked`` it always comes from there.  A ``pasted``
    block has a text instead of a request: nothing is traced.
    """

    name: str
    label: str
    identity: str
    request: Request | None
    digest: str
    problem: str = ""
    is_shown: bool = True
    line: int = 0
    lock: str = ""
    locked: bool = False
    pasted: Pasted | None = None

    @property
    def full_name(self) -> str:
        """The name in the whole project: with the page, if the name is local to it."""
        return self.lock.removesuffix(".json")


@dataclass(frozen=True)
class BlockReport:
    """The report of an event about a block.

    ``label`` is ``""`` for the function itself, and ``target`` for a pasted jaxpr.  ``text`` is
    what JAX printed; if there is none, ``error`` says why in one line, unless
    ``jaxpr_mode`` is ``skip``.  ``jax`` is the version that traced it, if known.
    """

    name: str
    label: str
    target: str
    text: str | None
    error: str | None
    jax: str | None


@dataclass(frozen=True)
class DirectiveRecord:
    """One directive: its blocks, base first, and how to show them.

    ``elide`` are the words, and ``elided`` the paths, for parts to fold away.  ``lines`` has
    the line of each option that only the worker, or the result, can prove wrong.
    """

    source: str
    line: int
    name: str
    explicit: bool
    blocks: tuple[Block, ...]
    opened: str = ""
    elide: tuple[str, ...] = ()
    elided: tuple[Note, ...] = ()
    layout: str = ""
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
        """Whether ``block`` may fail: a hidden base that only its variants are compared with."""
        return not block.label and not block.is_shown and len(self.blocks) > 1


@dataclass(frozen=True)
class PrimitiveList:
    """A list of primitives of a ``page`` or of the ``project``, with the ``only`` around it.

    ``number`` is its position among the lists of its page, from 1.
    """

    scope: str
    number: int
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageRecords:
    """The records of one page, in order; ``findings`` don't depend on tracing."""

    directives: tuple[DirectiveRecord, ...] = ()
    lists: tuple[PrimitiveList, ...] = ()
    statements: tuple[Statement, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class BlockOnPage:
    """A block with its directive and its page."""

    page: str
    directive: DirectiveRecord
    block: Block


#: States of a statement.  ``UNJUDGED``: its block could not be traced, as the block's finding says.
TRUE: Final = "true"
FALSE: Final = "false"
WRONG: Final = "wrong"
UNJUDGED: Final = "unjudged"


@dataclass(frozen=True)
class Verdict:
    """The ``state`` of a statement; ``text`` is a value in words, or the message of a warning.

    ``block`` and ``starts`` are the block and the equations that a path resolves to.
    ``where`` is the address of anything but a block of this build: a primitive's page,
    another project.  ``is_empty`` marks a claim that looked at nothing.
    """

    state: str
    text: str = ""
    hints: tuple[str, ...] = ()
    block: str = ""
    starts: tuple[int, ...] = ()
    where: str = ""
    is_empty: bool = False

    @property
    def start(self) -> int:
        """The equation of a path to exactly one, else -1."""
        return self.starts[0] if self.starts else -1

    @property
    def kind(self) -> str:
        """The type of its warning."""
        return "claim" if self.state == FALSE else "path"
