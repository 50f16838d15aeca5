"""What other extensions may use: base classes for directives, domains and nodes, and blocks.

Everything in ``__all__`` keeps its name and meaning; the rest of :mod:`sphinx_jaxpr.ext` is
internal.  ``sphinx_jaxpr.lesson`` is written with this module alone.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging

from ..program.text import echoed, nearest, on_one_line
from .assets import copy_static
from .builders.pageless import PagelessBuilder
from .config import conf_location
from .judging.domain import JaxprDomain
from .judging.findings import report
from .links import link
from .locale import add_catalog, translator
from .nodes import (
    HIDDEN,
    PLAIN,
    HtmlNode,
    Visitors,
    jaxpr_blocks,
    jaxpr_figure,
    register_node,
)
from .pages import PageDomain, PageTransform, data_version_of
from .reading.options import CheckedDirective
from .reading.source_lines import SourceSpan, find_lines, locate
from .records import BlockReport, Finding

__all__ = [
    "HIDDEN",
    "PLAIN",
    "BlockReport",
    "CheckedDirective",
    "Finding",
    "HtmlNode",
    "PageDomain",
    "PageTransform",
    "ProjectBlocks",
    "SourceSpan",
    "Visitors",
    "add_catalog",
    "copy_static",
    "data_version_of",
    "echoed",
    "find_lines",
    "jaxpr_blocks",
    "jaxpr_figure",
    "link",
    "locate",
    "nearest",
    "register_node",
    "report",
    "report_setting",
    "translator",
    "writes_pages",
]

logger = logging.getLogger(__name__)


class ProjectBlocks:
    """The jaxpr blocks of a project; none where ``sphinx_jaxpr`` isn't among its extensions."""

    def __init__(self, env: BuildEnvironment) -> None:
        try:
            self._domain: JaxprDomain | None = JaxprDomain.of(env)
        except ExtensionError:
            self._domain = None

    def ids(self, docname: str) -> dict[str, str]:
        """The ids of the blocks that a page shows, by name, parts in any ``only`` included."""
        return self._domain.ids_on(docname) if self._domain else {}

    def shown_id(self, docname: str, name: str) -> str:
        """The id of a block in the output, where pages may be combined, or ``""``.

        Call it in a post-transform with a priority above 5, which is that of the blocks.
        """
        identity = self.ids(docname).get(name, "")
        return self._domain.ids.of_block(docname, identity) if self._domain else identity

    def page_digest(self, docname: str) -> str | None:
        """A text that changes with what the blocks and sentences of a page show.

        Call it in a handler of ``env-updated`` with a priority above 500, when blocks have been
        traced.  ``None`` for a page without any.
        """
        digests = self._domain.digests if self._domain else None
        return digests.current.get(docname) if digests else None


def report_setting(app: Sphinx, name: str, problem: str, family: str) -> None:
    """Warn about a value in conf.py, at its line, as ``family.option``."""
    line = conf_location(name, Path(app.confdir))
    logger.warning("%s", on_one_line(problem), location=line, type=family, subtype="option")


def writes_pages(builder: Builder) -> bool:
    """Whether a builder writes pages, unlike those that only check or record jaxprs."""
    return not isinstance(builder, PagelessBuilder)
