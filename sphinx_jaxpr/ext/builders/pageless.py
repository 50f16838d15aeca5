"""The base of builders that inspect all blocks and write no pages."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from docutils import nodes
from sphinx.builders import Builder
from sphinx.util import logging

from ..config import ProjectSettings, settings_of
from ..judging.build import RunningBuild
from ..judging.findings import StatementChecker
from ..judging.session import BuildSession, TracePolicy
from ..records import DirectiveRecord, Finding

if TYPE_CHECKING:
    from ..judging.domain import JaxprDomain

logger = logging.getLogger(__name__)


class Judged(NamedTuple):
    """The result of judging all pages: the directives and statements, and the findings."""

    build: RunningBuild
    directives: Mapping[str, list[DirectiveRecord]]
    checker: StatementChecker
    findings: list[Finding]

    @property
    def session(self) -> BuildSession:
        """The session with the traced blocks."""
        return self.build.session


class PagelessBuilder(Builder):
    """Reads all pages; does its own work when they are judged, or at the end.

    ``judged`` is the result for all pages; ``None`` if the builder is refused.
    """

    allow_parallel: ClassVar[bool] = True
    judged: Judged | None = None
    needs_programs = True  # with jaxpr_mode skip there is nothing to judge

    @property
    def settings(self) -> ProjectSettings:
        """The settings of conf.py."""
        return settings_of(self.env)

    @property
    def is_refused(self) -> bool:
        """Whether the settings leave nothing to inspect, so that success would mislead."""
        return self.needs_programs and self.settings.mode == "skip"

    def refuse(self) -> None:
        """Report that, and which setting to change."""
        message = (
            f"jaxpr_mode is 'skip', so {self.name} has no programs to look at; set it to 'trace'"
            f" or 'locked', or run sphinx-build -b {self.name} -D jaxpr_mode=trace"
        )
        location = self.settings.location("jaxpr_mode")
        logger.warning("%s", message, location=location, type="jaxpr", subtype="option")

    def fail(self) -> None:
        """Make the build end with exit status 1."""
        # Sphinx 9 deprecates asking a builder for the application.
        cast("JaxprDomain", self.env.get_domain("jaxpr")).app.statuscode = 1

    @property
    def policy(self) -> TracePolicy:
        """How blocks are traced: whatever the pages come from, and judged afresh."""
        return TracePolicy(records=True, judges_afresh=True)

    def compared(
        self,
        session: BuildSession,
        directives: Mapping[str, list[DirectiveRecord]],
        declared: Mapping[str, list[DirectiveRecord]],
    ) -> list[Finding]:
        """Further findings about ``directives``, or about all ``declared`` in the project."""
        return []

    def directives(self, domain: JaxprDomain) -> dict[str, list[DirectiveRecord]]:
        """The directives to inspect: those that any builder shows."""
        return domain.visible_anywhere(self.tags)

    def get_outdated_docs(self) -> str | set[str]:
        """All pages, since what is true of a page may have changed."""
        return set(self.env.found_docs)

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Empty: pages that aren't written have no address."""
        return ""

    def prepare_writing(self, docnames: Set[str]) -> None:
        """Nothing to prepare."""

    def write_documents(self, docnames: Set[str]) -> None:
        """Nothing to write."""

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """Nothing to write."""
