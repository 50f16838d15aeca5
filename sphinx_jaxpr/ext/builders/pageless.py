"""What the builders have in common that look at all blocks and write no page."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from sphinx.builders import Builder
from sphinx.util import logging

from ..config import ProjectSettings, settings_of
from ..records import Block, DirectiveRecord

if TYPE_CHECKING:
    from ..judging.domain import JaxprDomain
    from ..judging.session import BuildSession


logger = logging.getLogger(__name__)


class PagelessBuilder(Builder):
    """Reads all pages; what it is for happens when they are judged, or at the end."""

    allow_parallel: ClassVar[bool] = True
    fresh = False  # whether stored results are none
    judges_afresh = True  # whatever an earlier build has judged
    needs_programs = True  # nothing can be said where jaxpr_mode is skip

    @property
    def settings(self) -> ProjectSettings:
        """What conf.py says."""
        return settings_of(self.env)

    @property
    def is_refused(self) -> bool:
        """Whether the settings leave nothing to look at, so that success would mislead."""
        return self.needs_programs and self.settings.mode == "skip"

    def refuse(self) -> None:
        """Say so, and what to set."""
        message = (
            f"jaxpr_mode is 'skip', so {self.name} has no programs to look at; set it to 'trace'"
            f" or 'locked', or run sphinx-build -b {self.name} -D jaxpr_mode=trace"
        )
        location = self.settings.location("jaxpr_mode")
        logger.warning("%s", message, location=location, type="jaxpr", subtype="option")

    @property
    def recorder(self) -> PagelessBuilder | None:
        """For the engine: itself, where blocks are traced whatever pages come from."""
        return self

    def traces(self, session: BuildSession, block: Block) -> bool:
        """Whether a block that is ``locked`` is traced all the same."""
        return False

    def directives(self, domain: JaxprDomain) -> dict[str, list[DirectiveRecord]]:
        """The directives to look at: what any builder shows."""
        return domain.visible_anywhere(self.tags)

    def get_outdated_docs(self) -> str | set[str]:
        """All of them: what is true of a page may have changed."""
        return set(self.env.found_docs)

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """No page is written, so none has an address."""
        return ""

    def prepare_writing(self, docnames: Set[str]) -> None:
        """Nothing to prepare."""

    def write_documents(self, docnames: Set[str]) -> None:
        """Nothing to write."""

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Nothing to write."""
