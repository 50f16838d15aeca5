"""``jaxpr-show``: places a block that is declared elsewhere.  Leaves a node; resolves nothing."""

from __future__ import annotations

import re
from typing import Final

from docutils import nodes

from ..nodes import jaxpr_blocks
from ..records import COMPARE, ShowRecord
from .options import BlockDirective

OPTIONS: Final = ("caption", "open", "elide", "layout", "source", "class")
_NAME: Final = re.compile(r"\w+(\.\w+)?")
FLAGS: Final = frozenset({"source"})


class JaxprShow(BlockDirective):
    """One block, ``dense`` or ``dense.grad``.  Leaves in the doctree, for a page with one note::

    <jaxpr_blocks show="ShowRecord(...)">
        <caption>
            ...
        <jaxpr_note path="[tanh]">
            <paragraph>
                ...
    """

    optional_arguments = 1
    final_argument_whitespace = True
    option_names = OPTIONS

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_blocks`` with the caption and the notes as its children."""
        self.begin()
        self._check_characters()
        self.check_option_names()
        self._check_flags(FLAGS)
        misread = self.check_myst_options()
        path = self._path()
        node = jaxpr_blocks()
        self.set_source_info(node)
        caption = self._caption(node)
        # A body without an argument is the argument on the wrong line.
        notes = self._notes() if path and not misread.body else []
        node += [child for _, child in notes]
        label = path.partition(".")[2].strip()
        labels = [label] if label.isidentifier() else []
        words, paths = self._elide(())
        node["show"] = ShowRecord(
            source=self.span.source,
            line=self.span.line,
            path=path,
            opened=self._opened(labels),
            elide=words,
            elided=paths,
            layout=self._choice("layout", ("stack", COMPARE), "stack"),
            with_source="source" in self.options,
            classes=tuple(self._classes()),
            caption=caption,
            findings=tuple(self.findings),
            notes=tuple(note for note, _ in notes),
        )
        return [node]

    def _path(self) -> str:
        path = " ".join(self.arguments[0].split()) if self.arguments else ""
        if not path:
            below = next((line.strip() for line in self.content if line.strip()), "")
            meant = below if _NAME.fullmatch(below) else "dense.grad"
            self.add_finding(
                "the block is missing; write its name on the directive's own line:"
                f" {self._form(meant)}"
            )
        return path
