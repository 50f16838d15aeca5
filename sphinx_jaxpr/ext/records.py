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

from ..program.text import CELL
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


def docstring_of(source: str) -> str:
    """The docstring that a text is in, which has names of its own; ``""`` for those of the page."""
    return source if ":docstring of " in source else ""


class Statement(NamedTuple):
    """A statement about a program: a role, a line of ``jaxpr-claims``, or a condition.

    ``role`` is the role's name: ``claim`` or ``let`` for a line of claims, ``when`` for a
    condition.  ``only`` are the conditions of ``only`` around it, ``when`` those of
    ``jaxpr-when``.  ``problem`` says what is wrong with its form; then it is reported, not judged.
    ``label`` is the label that a short ``ref`` means where it names no block.  A claim with
    ``named``, the keys of a line of claims, has its expression there; ``at`` is where that is,
    once it was looked up.
    """

    role: str
    expression: str
    words: str
    source: str
    line: int
    only: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    problem: str = ""
    label: str = ""
    named: tuple[str, ...] = ()
    at: tuple[str, int] = ("", 0)

    @property
    def docstring(self) -> str:
        """The docstring that it is in."""
        return docstring_of(self.source)


#: Kinds of lines with a name.
CLAIM: Final = "claim"
LET: Final = "let"


class NamedLine(NamedTuple):
    """A line of ``jaxpr-claims`` with a name: a claim for sentences, or a let for expressions.

    ``keys`` are the forms of its name by which a sentence finds a claim.  What ``is_broken`` can't
    be read, which is reported at the line; ``problem`` says what is wrong with a let.
    """

    kind: str
    name: str
    keys: tuple[str, ...]
    expression: str
    source: str
    line: int
    only: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    is_broken: bool = False
    problem: str = ""

    @property
    def docstring(self) -> str:
        """The docstring that it is in."""
        return docstring_of(self.source)

    @property
    def position(self) -> tuple[str, int]:
        """Its file and line."""
        return self.source, self.line


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


class CodeSpan(NamedTuple):
    """The place of a :class:`CodePart` that a directive's blocks may use.

    ``number`` is its position in ``PageRecords.code``; it has so many ``lines``.
    """

    number: int
    lines: int
    source: str
    line: int
    cell: int = 0


class LeftOut(NamedTuple):
    """A name that a block needs and that a line of its page binds which isn't run.

    ``reason`` says why; it is empty if a tag of the cell would make that line count.
    """

    name: str
    source: str
    line: int
    reason: str = ""


class DirectiveRecord(NamedTuple):
    """One directive: its blocks, base first, and how to show them.

    ``elide`` are the words, and ``elided`` the paths, for parts to fold away.  ``lines`` has
    the line of each option that only the worker, or the result, can prove wrong.  ``modules`` are
    those that its requests name, ``code`` the parts of the page's code that they may use, and
    ``left_out`` the names that these lack.  ``hidden_by`` is the option that hides blocks, as
    written; ``hints`` are no warnings.  ``number`` is its position among what shows blocks on its
    page.  ``focus`` is the name of the block that ``jaxpr-show`` shows, in which paths then begin.
    ``page`` is where it was read, whose lets its paths may use.
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
    hidden_by: str = ""
    hints: tuple[Finding, ...] = ()
    number: int = 0
    focus: str = ""
    page: str = ""
    code: tuple[CodeSpan, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def inside(self) -> str:
        """The name of the block in which the paths of its notes begin."""
        return self.focus or self.name

    def line_of(self, option: str) -> int:
        """The line of an option, or of the directive."""
        return dict(self.lines).get(option, self.line)

    def tolerates(self, block: Block) -> bool:
        """Whether ``block`` may fail: a hidden base that only its variants are compared with."""
        return not block.label and not block.is_shown and len(self.blocks) > 1


class ShowRecord(NamedTuple):
    """A ``jaxpr-show``: where a block that is declared elsewhere appears, and how.

    ``path`` names the block.  The other fields are those of a :class:`DirectiveRecord`, for this
    appearance alone.
    """

    source: str
    line: int
    path: str
    opened: str = ""
    elide: tuple[str, ...] = ()
    elided: tuple[Note, ...] = ()
    layout: str = ""
    with_source: bool = False
    classes: tuple[str, ...] = ()
    caption: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    only: tuple[str, ...] = ()
    number: int = 0


class PrimitiveList(NamedTuple):
    """A list of primitives of a ``page`` or of the ``project``, with the ``only`` around it.

    ``number`` is its position among the lists of its page, from 1.
    """

    scope: str
    number: int
    only: tuple[str, ...] = ()


class CodePart(NamedTuple):
    """A piece of a page's code.

    ``text`` is Python source, in which lines that don't count are blank, so that line n of the
    text is line ``line + n - 1`` of ``source``.  ``cell`` is, in a notebook, the number of the
    cell from 1, and ``line`` then counts from the first line of that cell; else it is 0.
    """

    text: str
    source: str
    line: int
    cell: int = 0

    def line_of(self, number: int) -> int:
        """The line of ``source``, as findings have it, of a line of the text, from 1."""
        return self.cell * CELL + self.line + number - 1


class PageRecords(NamedTuple):
    """The records of one page, in order; ``findings`` don't depend on tracing.

    ``links`` are the targets of links without a role of ours (``any``, Markdown links) that
    may be names of blocks.  A block may use the parts of ``code`` above it.
    """

    directives: tuple[DirectiveRecord, ...] = ()
    lists: tuple[PrimitiveList, ...] = ()
    statements: tuple[Statement, ...] = ()
    findings: tuple[Finding, ...] = ()
    shows: tuple[ShowRecord, ...] = ()
    links: tuple[str, ...] = ()
    named: tuple[NamedLine, ...] = ()
    code: tuple[CodePart, ...] = ()


# --- how the environment keeps them


def packed(page: PageRecords) -> bytes:
    """The records of a page as few bytes: they repeat each other, and most fields are empty."""
    return zlib.compress(json.dumps(page, separators=(",", ":")).encode(), level=1)


def unpacked(data: bytes) -> PageRecords:
    """The inverse of :func:`packed`."""
    directives, lists, statements, findings, *more = json.loads(zlib.decompress(data))
    shows, links, named, code = more
    return PageRecords(
        tuple(_directive(DirectiveRecord(*row)) for row in directives),
        tuple(PrimitiveList(scope, number, tuple(only)) for scope, number, only in lists),
        tuple(_statement(Statement(*row)) for row in statements),
        _each(Finding, findings),
        tuple(_show(ShowRecord(*row)) for row in shows),
        tuple(links),
        tuple(_named(NamedLine(*row)) for row in named),
        _each(CodePart, code),
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
        hints=_each(Finding, read.hints),
        code=_each(CodeSpan, read.code),
        left_out=_each(LeftOut, read.left_out),
    )


def _show(read: ShowRecord) -> ShowRecord:
    return read._replace(
        elide=tuple(read.elide),
        elided=_each(Note, read.elided),
        classes=tuple(read.classes),
        findings=_each(Finding, read.findings),
        notes=_each(Note, read.notes),
        only=tuple(read.only),
    )


def _block(name: str, label: str, identity: str, asked: Any, *more: Any) -> Block:
    *others, pasted = more
    request = Asked(*asked) if asked else None
    text = Pasted(*pasted) if pasted else None
    return Block._make([name, label, identity, request, *others, text])


def _statement(read: Statement) -> Statement:
    named, at = tuple(read.named), (str(read.at[0]), int(read.at[1]))
    return read._replace(only=tuple(read.only), when=tuple(read.when), named=named, at=at)


def _named(read: NamedLine) -> NamedLine:
    return read._replace(keys=tuple(read.keys), only=tuple(read.only), when=tuple(read.when))


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
    """The ``state`` of a statement; ``text`` is a value in words, or what is wrong.

    ``block`` and ``starts`` are the block and the equations that a path resolves to.
    ``where`` is the address of anything but a block of this build: a primitive's page,
    another project.  ``is_empty`` marks a claim that looked at nothing.  ``letters`` are those of
    values: each as printed, its variable, and the equation at which that is bound; -1 for none.
    """

    state: str
    text: str = ""
    hints: tuple[str, ...] = ()
    block: str = ""
    starts: tuple[int, ...] = ()
    where: str = ""
    is_empty: bool = False
    letters: tuple[tuple[str, int, int], ...] = ()

    @property
    def start(self) -> int:
        """The equation of a path to exactly one, else -1."""
        return self.starts[0] if self.starts else -1

    @property
    def kind(self) -> str:
        """The type of its warning."""
        return "claim" if self.state == FALSE else "path"
