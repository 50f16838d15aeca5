"""One directive on its way to nodes: what every format shows of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from docutils import nodes

from ...program.html.folding import CAST, UNUSED, reasons
from ...program.matching import summary
from ...program.matching.match import Match
from ...program.matching.summary import SummaryPart, counts, dropped
from ...program.model import Equation, Printed
from ...tracing.grammar import Mesh
from ...tracing.options import starts_open
from ...tracing.outcome import remarks
from ..judging.findings import unmet
from ..judging.path_targets import PathTarget, elided_targets, elided_words, note_targets
from ..judging.session import BuildSession
from ..locale import _
from ..nodes import jaxpr_blocks, jaxpr_note
from ..records import Block, DirectiveRecord
from .notes import as_list

#: Equations of the base that are listed where a variant lacks them.
MOST_DROPPED: Final = 8


def only_in_base() -> str:
    """What that list begins with."""
    return _("Only in the base: ")


class BlockRenderer:
    """The blocks of one directive that are shown, and what to say about each."""

    def __init__(
        self, session: BuildSession, directive: DirectiveRecord, node: jaxpr_blocks, taken: set[str]
    ) -> None:
        self.session = session
        self.taken = taken
        self.directive = directive
        self.caption = next(iter(node.findall(nodes.caption)), None)
        self.note_nodes = [child for child in node.children if isinstance(child, jaxpr_note)]
        others = (self.caption, *self.note_nodes)
        self.rest = [child for child in node.children if child not in others]
        self.placed = note_targets(session, directive)
        self.blocks = [block for block in directive.blocks if block.shown]
        self.ids = {block.identity: free(block.identity, taken) for block in directive.blocks}
        #: The nodes that show blocks, for the event ``jaxpr-figure``.
        self.figures: list[tuple[Block, nodes.Element]] = []
        self.in_table = _stands_in(node, nodes.entry)
        self.epub = session.app.builder.format == "html" and session.app.builder.name == "epub"

    def id_of(self, block: Block) -> str:
        return self.ids[block.identity]

    def is_skipped(self, block: Block) -> bool:
        """Whether there is nothing but a placeholder."""
        return self.session.mode == "skip"

    def shown(self) -> list[nodes.Node]:
        """The blocks, with all that belongs to each."""
        raise NotImplementedError

    def closing(self) -> list[nodes.Node]:
        """What follows the last block."""
        return []

    # -- facts for all formats

    def call(self, block: Block) -> str:
        result = self.session.result(block)
        if result is not None and "call" in result:
            return str(result["call"])
        target = block.request.target if block.request else block.name
        last = target.replace(":", ".").rpartition(".")[2]
        return f"{last}, {block.label}" if block.label else last

    def context(self, block: Block) -> str:
        """The statement that the call is to be traced under, where it needs a mesh."""
        mesh = block.request.mesh if block.request else None
        if mesh is None:
            return ""
        if isinstance(mesh, Mesh):
            source = mesh.source
        else:  # a function that returns one says so in the result
            result = self.session.result(block) or {}
            source = f"{result.get('mesh', mesh.text)}.abstract_mesh"
        return f"with jax.sharding.use_abstract_mesh({source}):"

    def matched(self, block: Block) -> Match:
        """How the equations of a variant are those of the base."""
        return self.session.matched(self.directive.blocks[0], block)

    def acted(self, block: Block) -> list[SummaryPart]:
        """The computed line: first the counts of equations, then how the transform acted."""
        found = self.session.printed(block)
        if found is None:
            return []
        first = self.directive.blocks[0]
        base = self.session.printed(first) if block.label else None
        return summary.acted(
            found[0],
            base[0] if base else None,
            self.matched(block),
            self.session.places(block),
            self.session.places(first),
        )

    def phases(self, block: Block) -> list[str]:
        """The phases that a block's equations are in, in printed order; none if only one."""
        found = self.session.printed(block)
        return summary.phases(*found) if found is not None else []

    def marks(self, block: Block) -> list[tuple[str, str]]:
        """What colours and gutter show in HTML, as text: a mark, and the letters it is on.

        An equation without a letter of its own is named by its primitive.
        """
        found = self.session.printed(block)
        if found is None:
            return []
        why = self.elided(block)
        more = {start: _REASONS[reason] for start, reason in why.items() if reason in _REASONS}
        return summary.marks(*found, self.matched(block).change, more)

    def dropped(self, block: Block) -> tuple[list[Equation], int]:
        """Equations of the base that have no partner here: some, and how many more there are."""
        base = self.session.printed(self.directive.blocks[0]) if block.label else None
        if base is None:
            return [], 0
        gone = dropped(base[0], self.matched(block), self.session.places(self.directive.blocks[0]))
        return gone[:MOST_DROPPED], max(0, len(gone) - MOST_DROPPED)

    def remarks(self, block: Block) -> list[str]:
        """Effects, effects that a transform lost, captured arrays."""
        result = self.session.result(block) or {}
        base = (self.session.result(self.directive.blocks[0]) or {}) if block.label else {}
        return remarks(result, base)

    def version(self, block: Block) -> str:
        result = self.session.result(block) or {}
        if "jax" not in result:
            return ""
        made = f"JAX {result['jax']}"
        if block.locked:
            return _("from the lock, made with {version}").format(version=made)
        return made

    def error(self, block: Block) -> dict[str, Any] | None:
        """What to show instead of a program."""
        if block.problem:
            return _problem(block.problem)
        outcome = self.session.outcome(block)
        if outcome is None:
            return _problem("it was not traced")
        if outcome.error is not None:
            return outcome.error
        result = self.session.result(block)
        if result is None:
            outcome = self.session.outcome(block)
            return (outcome.error if outcome else None) or _problem("its stored result is damaged")
        error: dict[str, Any] | None = result.get("error")
        expects = block.request is not None and block.request.expects_error
        if error is None and expects and self.directive.raises:
            return _problem(f"expected {self.directive.raises}, but no error occurred")
        return error

    def is_expected(self, block: Block) -> bool:
        """Whether a block's error is the one that the page wants to show."""
        expects = block.request is not None and block.request.expects_error
        return expects and not (
            self.directive.raises and unmet(self.session, self.directive, block)
        )

    def is_open(self, block: Block, printed: Printed) -> bool:
        if self.epub:  # readers of books may not be able to open anything
            return True
        opened = self.directive.opened
        if opened in ("", "auto"):
            limit = self.session.settings.max_equations
            if counts(printed)[1] > limit:
                return False
            opened = opened or self.session.settings.opened
        return starts_open(opened, block.label, printed.text)

    @cached_property
    def elided_words(self) -> frozenset[str]:
        """What is folded, or set apart where nothing can be."""
        return elided_words(self.session, self.directive)

    def elides_parameters(self) -> bool:
        """Whether neutral and huge parameters start folded; in a book nothing may."""
        return "params" in self.elided_words and not self.epub

    def elided(self, block: Block) -> dict[int, str]:
        """The equations that are folded away, each with its reason; none that has a note."""
        found = self.session.printed(block)
        if found is None:
            return {}
        at = [start for one in self.pointed if one.block is block for start in one.starts]
        why = reasons(*found, self.elided_words, at)
        noted = {one.start for one in self.placed if one.block is block}
        return {start: reason for start, reason in why.items() if start not in noted}

    @cached_property
    def pointed(self) -> list[PathTarget]:
        """Where the paths of ``elide`` lead."""
        return elided_targets(self.session, self.directive)

    def notes_of(self, block: Block) -> list[tuple[PathTarget, jaxpr_note, str]]:
        """The notes at equations of a block, with the ids of their texts."""
        pairs = zip(self.placed, self.note_nodes, strict=False)
        mine = [(found, node) for found, node in pairs if found.block is block]
        identity = self.id_of(block)
        return [
            (found, node, f"{identity}-note-{number}")
            for number, (found, node) in enumerate(mine, 1)
        ]

    def lost_notes(self) -> list[nodes.Node]:
        """The texts of notes whose equation is not there: nothing that was written is lost."""
        pairs = zip(self.placed, self.note_nodes, strict=False)
        lost = [(f, node, "") for f, node in pairs if f.block is None or not f.block.shown]
        rows = as_list(lost, lambda found: nodes.literal(found.note.path, found.note.path))
        for item in (item for row in rows for item in row.findall(nodes.list_item)):
            item["ids"] = []
        return rows

    def source_of(self) -> dict[str, Any] | None:
        """The function's Python source, where it was asked for and is known."""
        result = self.session.result(self.directive.blocks[0]) or {}
        return (result.get("source") or None) if self.directive.with_source else None

    def source(self) -> list[nodes.Node]:
        """A listing of the function's Python source."""
        known = self.source_of()
        if known is None:
            return []
        shown = nodes.literal_block(known["text"], known["text"], language="python")
        shown["translatable"] = False
        shown["classes"].append("jaxpr-source")
        return [shown]


_REASONS: Final = {CAST: "casts", UNUSED: "unused"}


def _stands_in(node: nodes.Node, kind: type[nodes.Node]) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent
    return parent is not None


def free(identity: str, taken: set[str]) -> str:
    """An id that is unique also where several pages are put together."""
    found, count = identity, 2
    while found in taken:
        found = f"{identity}-{count}"
        count += 1
    taken.add(found)
    return found


def _problem(message: str) -> dict[str, Any]:
    return {"kind": "option", "type": "", "message": message, "frames": []}
