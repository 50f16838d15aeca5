"""``lesson-path``: lessons in their order; a table of contents with what leads on."""

from __future__ import annotations

import re
from typing import Final

from docutils import nodes
from sphinx import addnodes
from sphinx.util import docname_join

from .nodes import lesson_steps
from .parts import Part
from .records import Path, Step

_BULLET: Final = re.compile(r"^(?:[-*+]|\d+[.)])\s+")


class LessonPath(Part):
    """One name of a page a line, as in a toctree; bullets and numbers are welcome."""

    def run(self) -> list[nodes.Node]:
        """Leave a hidden toctree, for all that Sphinx does with one, and the list to show."""
        self.begin()
        page = self.env.docname
        first = self.place.content(list(self.content))
        steps: list[Step] = []
        for number, line in enumerate(self.content):
            written = _BULLET.sub("", line.strip())
            if not written:
                continue
            step = Step(self.docname(page, written), written, first + number)
            if problem := self.problem(step, page, steps):
                self.tell(f"has {written!r}, {problem}", "path", step.line)
                continue
            steps.append(step)
        if not steps:
            self.tell("is empty; write the name of a page on each line", "path")
        path = Path(tuple(steps), self.place.source, self.place.line)
        # The list first: where pages are put together they stand in the toctree's place.
        return [self.signed(lesson_steps(path=path), []), self.toctree(page, path)]

    def problem(self, step: Step, page: str, before: list[Step]) -> str:
        """Why a page can't be a lesson of the path, or ``""``."""
        if step.docname == page:
            return "which is this page itself"
        if step.docname == self.config.root_doc:  # Sphinx would go around for ever
            return "which is the page that all others are below"
        return "which it has already" if any(step.docname == o.docname for o in before) else ""

    def docname(self, page: str, written: str) -> str:
        """The page that a line names, from where the path stands."""
        for suffix in self.config.source_suffix:
            written = written.removesuffix(suffix)
        return docname_join(page, written)

    def toctree(self, page: str, path: Path) -> nodes.Node:
        """What Sphinx's own directive leaves, hidden: the list is shown by us."""
        names = [step.docname for step in path.steps if step.docname in self.env.found_docs]
        tree = addnodes.toctree(
            parent=page,
            entries=[(None, name) for name in names],
            includefiles=names,
            maxdepth=1,
            caption=None,
            glob=False,
            hidden=True,
            includehidden=False,
            numbered=0,
            titlesonly=True,
        )
        tree.source, tree.line = path.source, path.line
        return nodes.compound("", tree, classes=["toctree-wrapper"])
