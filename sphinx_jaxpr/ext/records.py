"""The records of a page, and the bytes in which the environment keeps them.

Every build loads these classes, so they are named tuples: Python makes such a class in a fifth of
the time that a frozen dataclass takes.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..tracing.files import canonical

if TYPE_CHECKING:
    from ..tracing.request import Request

# --- the records

#: The layout in which each variant is shown beside the base.
COMPARE: Final = "compare"


class Finding(NamedTuple):
    """A message to the author, reported as a warning at its line in every build.

    ``kind`` is the subtype of the warning (``option`` in ``jaxpr.option``);
    ``source`` is a file, or a docstring as Sphinx names it.
    """

    kind: str
    message: str
    source: str
    line: int


class Note(NamedTuple):
    """A path in a note or in ``elide``, and where it was written."""

    path: str
    source: str
    line: int


class Statement(NamedTuple):
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


class Pasted(NamedTuple):
    """A program in the text of a page; ``version`` is the author's word for what printed it."""

    text: str
    version: str = ""


class Asked(NamedTuple):
    """A request as pages keep it: its canonical JSON, and what a look-up has to know of it.

    The request itself is read when its program is traced or shown.
    """

    text: str
    x64: bool
    expects_error: bool

    @classmethod
    def of(cls, request: Request) -> Asked:
        """The form of a request that pages keep."""
        return cls.of_json(request, request.to_json())

    @classmethod
    def of_json(cls, request: Request, data: Mapping[str, Any]) -> Asked:
        """The same, given the JSON data of the request."""
        return cls(canonical(data), request.x64, request.expects_error)

    @property
    def digest(self) -> str:
        """The digest of the request."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def request(self) -> Request:
        """The request itself."""
        return _request(self.text)


@lru_cache(maxsize=64)
def _request(text: str) -> Request:
    """The request of a canonical text; a page asks for each several times in a row."""
    from ..tracing.request import Request

    return Request.from_json(json.loads(text))


class Block(NamedTuple):
    """The base of a directive or one of its variants; each is shown as a figure.

    ``identity`` is the id of its HTML figure.  ``asked`` is ``None`` where the options can't
    be read; ``problem`` then says why.  ``line`` is that of its transform, or of the directive.
    ``lock`` is its file in the lock; with ``locked`` it always comes from there.  A ``pasted``
    block has a text instead of a request: nothing is traced.
    """

    name: str
    label: str
    identity: str
    asked: Asked | None
    digest: str
    problem: str = ""
    is_shown: bool = True
    line: int = 0
    lock: str = ""
    locked: bool = False
    pasted: Pasted | None = None

    @property
    def request(self) -> Request | None:
        """The request, if the options could be read."""
        return self.asked.request if self.asked else None

    @property
    def full_name(self) -> str:
        """The name in the whole project: with the page, if the name is local to it."""
        return self.lock.removesuffix(".json")


class BlockReport(NamedTuple):
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


class DirectiveRecord(NamedTuple):
    """One directive: its blocks, base first, and how to show them.

    ``elide`` are the words, and ``elided`` the paths, for parts to fold away.  ``lines`` has
    the line of each option that only the worker, or the result, can prove wrong.  ``modules`` are
    those that its requests name.
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
    modules: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def line_of(self, option: str) -> int:
        """The line of an option, or of the directive."""
        return dict(self.lines).get(option, self.line)

    def tolerates(self, block: Block) -> bool:
        """Whether ``block`` may fail: a hidden base that only its variants are compared with."""
        return not block.label and not block.is_shown and len(self.blocks) > 1


class PrimitiveList(NamedTuple):
    """A list of primitives of a ``page`` or of the ``project``, with the ``only`` around it.

    ``number`` is its position among the lists of its page, from 1.
    """

    scope: str
    number: int
    only: tuple[str, ...] = ()


class PageRecords(NamedTuple):
    """The records of one page, in order; ``findings`` don't depend on tracing."""

    directives: tuple[DirectiveRecord, ...] = ()
    lists: tuple[PrimitiveList, ...] = ()
    statements: tuple[Statement, ...] = ()
    findings: tuple[Finding, ...] = ()


# --- how the environment keeps them


def packed(page: PageRecords) -> bytes:
    """The records of a page as few bytes: they repeat each other, and most fields are empty."""
    return zlib.compress(json.dumps(page, separators=(",", ":")).encode(), level=1)


def unpacked(data: bytes) -> PageRecords:
    """The inverse of :func:`packed`."""
    directives, lists, statements, findings = json.loads(zlib.decompress(data))
    return PageRecords(
        tuple(_directive(DirectiveRecord(*row)) for row in directives),
        tuple(PrimitiveList(scope, number, tuple(only)) for scope, number, only in lists),
        tuple(_statement(Statement(*row)) for row in statements),
        _each(Finding, findings),
    )


def _directive(read: DirectiveRecord) -> DirectiveRecord:
    """A directive whose parts are records again, not the lists that JSON makes of them."""
    return read._replace(
        blocks=tuple(_block(*row) for row in read.blocks),
        elide=tuple(read.elide),
        elided=_each(Note, read.elided),
        classes=tuple(read.classes),
        findings=_each(Finding, read.findings),
        lines=tuple((option, line) for option, line in read.lines),
        notes=_each(Note, read.notes),
        modules=tuple(read.modules),
        only=tuple(read.only),
    )


def _block(name: str, label: str, identity: str, asked: Any, *more: Any) -> Block:
    *others, pasted = more
    request = Asked(*asked) if asked else None
    text = Pasted(*pasted) if pasted else None
    return Block._make([name, label, identity, request, *others, text])


def _statement(read: Statement) -> Statement:
    return read._replace(only=tuple(read.only), when=tuple(read.when))


def _each(kind: Any, rows: Any) -> tuple[Any, ...]:
    return tuple(kind(*row) for row in rows)


# --- blocks and statements of a running build


class BlockOnPage(NamedTuple):
    """A block with its directive and its page."""

    page: str
    directive: DirectiveRecord
    block: Block


#: States of a statement.  ``UNJUDGED``: its block could not be traced, as the block's finding says.
TRUE: Final = "true"
FALSE: Final = "false"
WRONG: Final = "wrong"
UNJUDGED: Final = "unjudged"
STATES: Final = (TRUE, FALSE, WRONG, UNJUDGED)


class Verdict(NamedTuple):
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
