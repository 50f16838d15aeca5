"""The cells of MyST-NB as code of their page: the one module that knows how MyST-NB keeps them.

It leaves each code cell in the doctree, in a container with ``nb_element="cell_code"``, and
writes the whole notebook, hidden cells too, into the folder ``jupyter_execute`` beside the
output.  Without that file only the cells in the doctree count.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

from ....program.text import CELL
from ...nodes import jaxpr_code
from ...records import CodePart, LeftOut
from ..bindings import bindings
from ..source_lines import lines_of
from .definitions import Definitions, definitions, omitted

#: The tag of cells whose assignments count, and those of cells that don't count at all.
TAG: Final = "jaxpr"
SKIPPED: Final = ("jaxpr-skip", "skip-execution")
#: The tag of cells that raise: which of their assignments are carried out is unknown.
RAISES: Final = "raises-exception"


class _Cell(NamedTuple):
    """A code cell: its position in the notebook from 0, its code, tags, and file of its code."""

    position: int
    source: str
    tags: tuple[str, ...] = ()
    loaded: str = ""


def add_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Leave a node ``jaxpr_code`` for each code cell of a page, in the order of the page."""
    page = _Page(app, doctree)
    cells = {id(page.add(cell)): cell for cell in page.cells()}
    above: frozenset[str] = frozenset()  # the names that the page has bound so far
    for node in doctree.findall(jaxpr_code) if cells else ():
        if id(node) in cells:
            cell = cells[id(node)]
            code = _definitions(cell, above)
            part = page.part(cell, code.text)
            node["part"], node["left_out"] = (
                part,
                tuple(
                    LeftOut(name, part.source, part.line_of(line), reason)
                    for name, line, reason in code.left_out
                ),
            )
            above -= {each.name for each in code.left_out}
        above |= bindings(node["part"].text).binds - {each.name for each in node["left_out"]}


def _definitions(cell: _Cell, above: frozenset[str]) -> Definitions:
    for tag in SKIPPED:
        if tag in cell.tags:
            code = omitted(cell.source, f"the cell is tagged `{tag}`")
            # Nobody runs the cell: the names keep the values that they have.
            names = tuple(each for each in code.left_out if each.name not in above)
            return code._replace(left_out=names)
    if RAISES in cell.tags and TAG in cell.tags:
        code = definitions(cell.source, assignments=False, above=above)
        reason = f"assignments don't count in a cell tagged `{RAISES}`"
        names = tuple(each._replace(reason=each.reason or reason) for each in code.left_out)
        return code._replace(left_out=names)
    return definitions(cell.source, assignments=TAG in cell.tags, above=above)


class _Page:
    """A page that is being read: its doctree, and where its cells are in it."""

    def __init__(self, app: Sphinx, doctree: nodes.document) -> None:
        self.app = app
        self.doctree = doctree
        self.env = env = app.env
        self.source = os.path.abspath(env.doc2path(env.docname))
        starts = env.metadata[env.docname].get("source_map")
        #: The line before each cell; empty where MyST-NB counts lines by cells.
        self.starts: list[int] = starts if isinstance(starts, list) else []
        self._blocks = list(_blocks(doctree))

    def cells(self) -> list[_Cell]:
        """The code cells, in order; those of another language than Python don't count."""
        in_doctree = [
            _Cell(node["cell_index"], _code(node), *_metadata(node["cell_metadata"]))
            for node in self._blocks
            if _is_cell(node)
        ]
        if not (in_doctree or self.starts or self._has_cells()):
            return []
        notebook = _written(self.app)
        if not _is_python(self.env.metadata[self.env.docname]):
            return []
        return _cells(notebook) if notebook else in_doctree

    def _has_cells(self) -> bool:
        """Whether MyST-NB reads all pages with the suffix of this one as notebooks."""
        formats = getattr(self.env.config, "nb_custom_formats", {})
        return self.source.endswith((".ipynb", *formats))

    def part(self, cell: _Cell, text: str) -> CodePart:
        """The text of a cell with its position."""
        if cell.loaded:
            file = os.path.abspath(os.path.join(os.path.dirname(self.source), cell.loaded))
            self.env.note_dependency(file)  # MyST-NB forgets to
            return CodePart(text, file, 1)
        if cell.position < len(self.starts):
            return CodePart(text, self.source, self._line(cell))
        return CodePart(text, self.source, 1, cell.position + 1)

    def _line(self, cell: _Cell) -> int:
        """The line of the page at which the code of a cell begins, below its options."""
        first = self.starts[cell.position]
        last = self.starts[cell.position + 1] if cell.position + 1 < len(self.starts) else None
        written = lines_of(self.source)[first:last]
        code = tuple(cell.source.split("\n"))
        for offset in range(len(written) - len(code) + 1):
            if _same(written[offset : offset + len(code)], code):
                return first + offset + 1
        return first + 1

    def add(self, cell: _Cell) -> jaxpr_code:
        """Put a node before the first one that is behind a cell, or is the cell."""
        code = jaxpr_code(findings=[], left_out=())
        index = -1
        for node in self._blocks:
            index = max(index, self._index(node))
            if index > cell.position or (_is_cell(node) and index == cell.position):
                node.parent.insert(node.parent.index(node), code)
                return code
        self.doctree.append(code)
        return code

    def _index(self, node: nodes.Element) -> int:
        """The position in the notebook of the cell that a node comes from; -1 if unknown."""
        if _is_cell(node):
            return int(node["cell_index"])
        for inner in node.findall(nodes.Element):
            if inner.line and inner.source and os.path.abspath(inner.source) == self.source:
                # Options and contents of a directive are behind its first line.
                return self._cell_at(inner.line)
        return -1

    def _cell_at(self, line: int) -> int:
        if self.starts:
            return bisect_right(self.starts, line - 1) - 1
        return line // CELL - 1


def _blocks(parent: nodes.Element) -> Iterator[nodes.Element]:
    """What sections contain, in order: cells and parts of markdown cells, but no sections."""
    for node in parent.children:
        if isinstance(node, nodes.section):
            yield from _blocks(node)
        elif isinstance(node, nodes.Element):
            yield node


def _is_cell(node: nodes.Element) -> bool:
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def _code(cell: nodes.Element) -> str:
    """The code that a cell in the doctree shows; empty if it is hidden."""
    for node in cell.findall(nodes.container):
        if node.get("nb_element") == "cell_code_source":
            return "".join(block.astext() for block in node.findall(nodes.literal_block))
    return ""


def _same(written: tuple[str, ...], code: tuple[str, ...]) -> bool:
    """Whether lines of a page are those of a cell, but for blanks at their ends."""
    return [line.rstrip() for line in written] == [line.rstrip() for line in code]


# --- the notebook as MyST-NB writes it


def _written(app: Sphinx) -> Mapping[str, Any] | None:
    """The notebook that MyST-NB has just made of the page that is being read."""
    file = Path(app.outdir).parent / "jupyter_execute" / f"{app.env.docname}.ipynb"
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _cells(notebook: Mapping[str, Any]) -> list[_Cell]:
    return [
        _Cell(index, "".join(cell["source"]), *_metadata(cell["metadata"]))
        for index, cell in enumerate(notebook.get("cells", ()))
        if cell["cell_type"] == "code"
    ]


def _metadata(metadata: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """The tags of a cell, and the file that its option ``load`` names."""
    tags = metadata.get("tags", ())
    if isinstance(tags, str):  # written without brackets
        tags = re.split(r"[\s,]+", tags)
    return tuple(map(str, tags or ())), str(metadata.get("load") or "")


def _is_python(metadata: Mapping[str, Any]) -> bool:
    """Whether a notebook's language is Python, or isn't said."""
    info, kernel = metadata.get("language_info") or {}, metadata.get("kernelspec") or {}
    language = info.get("name") or kernel.get("language") or kernel.get("name") or "python"
    return "py" in str(language).lower()
