"""Renders one directive as nodes: the part that all formats share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from docutils import nodes

from ...program.html.folding import CAST, UNUSED, reasons
from ...program.matching.summary import counts
from ...tracing.grammar import Mesh
from ...tracing.options import starts_open
from ...tracing.result import ErrorKind, FunctionSource, TraceError
from ..config import ProjectSettings
from ..judging.meanings import Meanings
from ..judging.path_targets import PathTarget, PathTargets
from ..judging.session import BuildSession
from ..locale import _
from ..nodes import jaxpr_blocks, jaxpr_note
from ..records import Block, DirectiveRecord

#: Most equations of the base that are listed if a variant lacks them.
MOST_DROPPED: Final = 8


def only_in_base() -> str:
    """The beginning of that list."""
    return _("Only in the base: ")


@dataclass(frozen=True)
class Rendering:
    """The context for rendering the directives of one tree.

    ``page`` is the page that is written; ``format`` and ``builder`` are the builder's;
    ``latex_engine`` is an option of Sphinx.  ``taken`` are the ids that the tree has already.
    """

    session: BuildSession
    targets: PathTargets
    meanings: Meanings
    page: str
    format: str
    builder: str
    settings: ProjectSettings
    latex_engine: str
    taken: set[str]


class BlockRenderer:
    """The blocks of one directive that are shown, as nodes.

    ``definitions`` has the ids that explain primitives further up in the tree.
    """

    def __init__(
        self,
        rendering: Rendering,
        directive: DirectiveRecord,
        node: jaxpr_blocks,
        definitions: dict[str, str],
    ) -> None:
        self.rendering = rendering
        self.directive = directive
        self.definitions = definitions
        self.caption = next(iter(node.findall(nodes.caption)), None)
        self.note_nodes = [child for child in node.children if isinstance(child, jaxpr_note)]
        others = (self.caption, *self.note_nodes)
        self.rest = [child for child in node.children if child not in others]
        self.note_targets = rendering.targets.notes(directive)
        self.blocks = [block for block in directive.blocks if block.is_shown]
        #: Every block with its program, by its id.
        self.traced = rendering.session.traced_blocks(directive)
        #: The id that each block has in this tree, by its own; a hidden one takes none.
        self.ids = {
            b.identity: free(b.identity, rendering.taken) if b.is_shown else b.identity
            for b in directive.blocks
        }
        #: The notes at equations of each block, by its id: with the ids of their texts.
        self.own_notes = {block.identity: self._notes_of(block) for block in directive.blocks}
        #: The nodes that show blocks, for the event ``jaxpr-figure``.
        self.figures: list[tuple[Block, nodes.Element]] = []
        #: Whether there is nothing but placeholders.
        self.is_skipped = rendering.session.mode == "skip" and directive.blocks[0].pasted is None
        self.in_table = _is_inside(node, nodes.entry)
        self.is_epub = rendering.format == "html" and rendering.builder == "epub"

    def render(self) -> list[nodes.Node]:
        """The blocks with their captions, notes and listings."""
        raise NotImplementedError

    def closing(self) -> list[nodes.Node]:
        """The nodes after the last block."""
        return []

    # -- shared by all formats

    @property
    def base(self) -> Block:
        """The block of the function itself."""
        return self.directive.blocks[0]

    def call(self, block: Block) -> str:
        """The call that makes a block; while that is unknown, its name and label."""
        if call := self.traced[block.identity].call:
            return call
        target = block.request.target if block.request else block.name
        last = target.replace(":", ".").rpartition(".")[2]
        return f"{last}, {block.label}" if block.label else last

    def context(self, block: Block) -> str:
        """The ``with`` statement for the call, if it needs a mesh."""
        mesh = block.request.mesh if block.request else None
        if mesh is None:
            return ""
        if isinstance(mesh, Mesh):
            source = mesh.source
        else:  # a function that returns one is named in the result
            result = self.traced[block.identity].result
            source = f"{(result.mesh if result else '') or mesh.text}.abstract_mesh"
        return f"with jax.sharding.use_abstract_mesh({source}):"

    def remarks(self, block: Block) -> list[str]:
        """The remarks about a block."""
        return self.traced[block.identity].remarks

    def version(self, block: Block) -> str:
        """The version of JAX that traced a block."""
        version = self.traced[block.identity].version
        if version and block.locked:
            return _("from the lock, made with {version}").format(version=version)
        return version

    def error(self, block: Block) -> TraceError | None:
        """The error to show instead of a program."""
        traced = self.traced[block.identity]
        error = traced.error
        if error is None and traced.raises:
            message = f"expected {traced.raises}, but no error occurred"
            return TraceError(ErrorKind.OPTION, message)
        return error

    def marks(self, block: Block) -> list[tuple[str, str]]:
        """The marks that HTML shows by colours and gutter, each with its letters.

        An equation without a letter of its own is named by its primitive.
        """
        elided = self.elided(block).items()
        more = {start: _REASONS[reason] for start, reason in elided if reason in _REASONS}
        return self.traced[block.identity].marks(more)

    def is_open(self, block: Block) -> bool:
        """Whether a block that can be folded starts open."""
        if self.is_epub:  # readers of books may not be able to open folds
            return True
        traced = self.traced[block.identity]
        opened = self.directive.opened
        if opened in ("", "auto"):
            if counts(traced.printed)[1] > self.rendering.settings.max_equations:
                return False
            opened = opened or self.rendering.settings.opened
        return starts_open(opened, block.label, traced.printed.text)

    # -- folds

    @cached_property
    def elided_words(self) -> frozenset[str]:
        """The words for what is folded, or set apart if nothing can be folded."""
        return self.rendering.targets.elided_words(self.directive)

    @cached_property
    def elided_targets(self) -> list[PathTarget]:
        """The equations that the paths of ``elide`` name."""
        return self.rendering.targets.elided(self.directive)

    def elides_parameters(self) -> bool:
        """Whether neutral and huge parameters start folded; never in a book."""
        return "params" in self.elided_words and not self.is_epub

    def elided(self, block: Block) -> dict[int, str]:
        """The equations that are folded away, each with its reason, except those with notes."""
        traced = self.traced[block.identity]
        if not traced.has_program:
            return {}
        chosen = [
            s for target in self.elided_targets if target.block is block for s in target.starts
        ]
        why = reasons(traced.printed, traced.aligned.equations, self.elided_words, chosen)
        noted = {target.start for target in self.note_targets if target.block is block}
        return {start: reason for start, reason in why.items() if start not in noted}

    # -- notes

    def _notes_of(self, block: Block) -> list[tuple[PathTarget, jaxpr_note, str]]:
        pairs = zip(self.note_targets, self.note_nodes, strict=False)
        own = [(target, node) for target, node in pairs if target.block is block]
        identity = self.ids[block.identity]
        return [
            (target, node, f"{identity}-note-{number}")
            for number, (target, node) in enumerate(own, 1)
        ]

    def lost_notes(self) -> list[nodes.Node]:
        """The texts of notes whose equation is missing, so that no text is lost."""
        pairs = zip(self.note_targets, self.note_nodes, strict=False)
        lost = [(t, node, "") for t, node in pairs if t.block is None or not t.block.is_shown]
        rows = as_list(lost, lambda target: nodes.literal(target.note.path, target.note.path))
        for item in (item for row in rows for item in row.findall(nodes.list_item)):
            item["ids"] = []
        return rows

    # -- the function's source

    @cached_property
    def python(self) -> FunctionSource | None:
        """The function's Python source, if it was requested and is known."""
        result = self.traced[self.base.identity].result if self.directive.with_source else None
        return result.source if result is not None else None

    def source(self) -> list[nodes.Node]:
        """A listing of the function's Python source."""
        if self.python is None:
            return []
        listing = nodes.literal_block(self.python.text, self.python.text, language="python")
        listing["translatable"] = False
        listing["classes"].append("jaxpr-source")
        return [listing]


_REASONS: Final = {CAST: "casts", UNUSED: "unused"}


def _is_inside(node: nodes.Node, kind: type[nodes.Node]) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, kind):
        parent = parent.parent
    return parent is not None


def free(identity: str, taken: set[str], ending: str = "") -> str:
    """An id that is unique, with ``ending`` behind it, even if several pages are combined."""
    candidate, count = identity, 2
    while candidate + ending in taken:
        candidate = f"{identity}-{count}"
        count += 1
    taken.add(candidate + ending)
    return candidate


def as_list(
    items: list[tuple[PathTarget, jaxpr_note, str]], link: Callable[[PathTarget], nodes.Node]
) -> list[nodes.Node]:
    """Notes as a numbered list; each item has its id and begins with a link to its equation."""
    if not items:
        return []
    rows = nodes.enumerated_list(classes=["jaxpr-notes"], enumtype="arabic", prefix="", suffix=".")
    for target, node, identity in items:
        item = nodes.list_item("", nodes.paragraph("", "", link(target)), ids=[identity])
        item += node.children
        rows += item
    return [rows]
