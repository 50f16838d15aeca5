"""Connects everything with Sphinx: what happens when in a build."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .. import __version__
from ..program.text import on_one_line
from ..tracing.files import digest
from .assets import add_assets, copy_assets
from .builders.pageless import Judged, PagelessBuilder
from .config import ProjectSettings, conf_line, register, settle
from .judging.domain import JaxprDomain
from .judging.events import add_events, emit_traced
from .judging.findings import (
    BlockFindings,
    StatementChecker,
    ambiguous_modules,
    clashes,
    report,
    unknown_in_glossary,
    wrong_shows,
)
from .judging.names.tags import every_kind
from .judging.rewritten import page_digests
from .judging.session import PAGES
from .judging.start import begin, start
from .locale import CATALOG, FOLDER, add_catalog
from .nodes import register_nodes
from .on_demand import (
    BUILDERS,
    DIRECTIVES,
    POST_TRANSFORMS,
    ROLES,
    JaxprOnDemand,
    NamesTransform,
)
from .reading.parsers import MystWarnings
from .records import Finding
from .showing.index import PrimitiveIndex, changed_pages
from .values import CELLS

if TYPE_CHECKING:
    from .judging.build import RunningBuild
    from .judging.session import BuildSession
    from .records import DirectiveRecord, ShowRecord
    from .showing.ahead import Ahead

# Registration, and the events of a build in their order.  What only reading or writing a page
# needs is imported then: a build without changes does neither.

logger = logging.getLogger(__name__)


def connect(app: Sphinx) -> dict[str, Any]:
    """Register all parts; the metadata of the extension."""
    register(app)
    register_nodes(app)
    # The entry point is there only where the package is installed.
    app.add_lexer("jaxpr", JaxprOnDemand)
    add_catalog(app, CATALOG, FOLDER)
    add_events(app)
    JaxprDomain.connect(app)
    app.add_index_to_domain("jaxpr", PrimitiveIndex)
    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    MystWarnings(app, DIRECTIVES).connect()
    for name, role in ROLES.items():
        app.add_role_to_domain("jaxpr", name, role)
    for builder in BUILDERS:
        app.add_builder(builder)
    app.add_transform(NamesTransform)
    for transform in POST_TRANSFORMS:
        app.add_post_transform(transform)
    app.connect(
        "config-inited", configure, priority=900
    )  # after every handler that may edit values
    app.connect("doctree-read", clear_titles, priority=100)  # before Sphinx copies them
    app.connect("doctree-read", collect_page)
    app.connect("env-merge-info", begin_for_merged)
    app.connect("env-updated", update)
    app.connect("build-finished", end_early)
    app.connect("doctree-resolved", release)
    app.connect("write-started", copy_assets)
    app.connect("html-page-context", add_assets)
    app.connect("html-collect-pages", changed_pages)
    return {
        "version": __version__,
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def configure(app: Sphinx, config: Config) -> None:
    """Create the settings, warn about mistakes in conf.py, and pass them to the domain."""
    settings, wrong = ProjectSettings.from_config(config, Path(app.confdir))
    if CELLS in settings.page_code and "myst_nb" not in app.extensions:
        message = (
            f"jaxpr_page_code lists {CELLS!r}, but pages have no cells: 'myst_nb' is not among the"
            " extensions"
        )
        line = conf_line("jaxpr_page_code", Path(app.confdir))
        wrong.append(Finding("option", message, *line))
    for finding in wrong:
        logger.warning(
            "%s",
            on_one_line(finding.message),
            location=f"{finding.source}:{finding.line}",
            type="jaxpr",
            subtype=finding.kind,
        )
    if wrong:
        settle(config)

    def hand_over(app: Sphinx) -> None:
        domain = JaxprDomain.of(app.env)
        domain.settings = settings
        domain.owner = os.getpid()

    app.connect("builder-inited", hand_over, priority=0)  # as soon as there is a domain


def clear_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Find the lines and words of all roles, and remove those that titles can't have."""
    from .reading.statements import prepare

    JaxprDomain.of(app.env).note(prepare(doctree))


def collect_page(app: Sphinx, doctree: nodes.document) -> None:
    """Store what a page asks for, once it is read."""
    from .reading.collect import collect

    docname = app.env.docname
    domain = JaxprDomain.of(app.env)
    if CELLS in domain.settings.page_code:
        from .reading.notebooks.cells import add_cells

        add_cells(app, doctree)
    domain.keep(docname, collect(docname, doctree, domain.settings))
    if domain.owner == os.getpid():  # else in a forked reader, whose pages are merged later
        _begin(app, [docname])


def begin_for_merged(
    app: Sphinx, env: BuildEnvironment, docnames: Iterable[str], other: BuildEnvironment
) -> None:
    """The same for pages that a forked reader has read."""
    _begin(app, docnames)


def _begin(app: Sphinx, docnames: Iterable[str]) -> None:
    """Start JAX while further pages are read, if programs of these pages must be traced."""
    pageless = app.builder if isinstance(app.builder, PagelessBuilder) else None
    if app.builder.name == "gettext" or (pageless and pageless.is_refused):
        return
    policy = pageless.policy if pageless else PAGES
    begin(app, policy, docnames, every_kind(app.tags) if pageless else app.tags)


def end_early(app: Sphinx, exception: Exception | None) -> None:
    """End a worker that was started while pages were read, if reading failed."""
    if (early := JaxprDomain.of(app.env).early) is not None:
        early.end()


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Trace what is new, judge all pages, and return those that must be written again."""
    domain = JaxprDomain.of(env)
    if app.builder.name == "gettext":  # messages of the pages alone
        return []
    pageless = app.builder if isinstance(app.builder, PagelessBuilder) else None
    if pageless and pageless.is_refused:
        pageless.refuse()
        pageless.fail()
        return []
    tags = every_kind(app.tags) if pageless else app.tags
    directives = pageless.directives(domain) if pageless else domain.visible(tags)
    shows = domain.visible_shows(tags)
    build = start(app, directives, shows, tags, pageless.policy if pageless else PAGES)
    session = build.session
    if not pageless:
        session.idle = _ahead(session, directives)
    session.prepare(directive for page in directives.values() for directive in page)
    if pageless:  # they read every result
        session.mend((d, block) for page in directives.values() for d in page for block in d.blocks)
    emit_traced(app, session, build.appearances)
    checker = StatementChecker(session, build.verdicts, domain.visible_statements(tags))
    findings: list[Finding] = []
    statements: dict[str, str] = {}
    if session.mode != "skip":
        findings = _findings(domain, build, checker, directives, shows)
        if pageless:
            findings += pageless.compared(session, directives, domain.all_directives)
        domain.reported = findings = report(findings, str(app.srcdir))
        statements = checker.digests()
    if kept := build.verdicts.kept():
        domain.data["judged"] = kept  # Sphinx writes it with the pages that it updates
    if pageless:
        pageless.judged = Judged(build, directives, checker, findings)
        return []
    build.verdicts.begin_writing()
    return domain.outdated_pages(app, _digests(app, domain, build, statements))


def _digests(
    app: Sphinx, domain: JaxprDomain, build: RunningBuild, statements: dict[str, str]
) -> dict[str, str]:
    """A digest, for each page, of all that it shows; ``statements`` are those of its statements."""
    session = build.session
    lists = domain.visible_lists(app.tags)
    shown = build.appearances.pages
    pages = page_digests(session, build.meanings.digest, shown, lists, statements)
    shows_findings = session.mode != "skip" and session.settings.shows_findings(app.builder)
    for page in domain.records:
        if addresses := domain.addresses(page):
            pages[page] = f"{pages.get(page, '')} {addresses}"
        if shows_findings:
            pages[page] = f"{pages.get(page, '')} {digest(domain.findings_of(page))}"
    return pages


def _ahead(
    session: BuildSession, directives: dict[str, list[DirectiveRecord]]
) -> Callable[[], bool]:
    """What to do for the pages while programs are traced; most builds trace none."""
    ahead: Ahead | None = None

    def work() -> bool:
        nonlocal ahead
        if ahead is None:
            from .showing.ahead import Ahead

            ahead = Ahead(session, (each for page in directives.values() for each in page))
        return ahead()

    return work


def _findings(
    domain: JaxprDomain,
    build: RunningBuild,
    checker: StatementChecker,
    directives: dict[str, list[DirectiveRecord]],
    shows: dict[str, list[ShowRecord]],
) -> list[Finding]:
    """All findings about the pages themselves, in the order in which they are reported."""
    session = build.session
    settings = session.settings
    traces = session.mode == "trace"
    blocks = BlockFindings(session, build.targets, build.appearances, settings.max_constants)
    return [
        *blocks.of(directives),
        *wrong_shows(build.appearances, shows, build.targets, build.verdicts),
        *(ambiguous_modules(session.masker, directives) if traces else ()),
        *unknown_in_glossary(session, build.meanings, directives, settings.confdir),
        *domain.reading_findings(),
        *domain.name_clashes(),
        *clashes(build.verdicts, session.masker.source),
        *checker.wrong_statements(),
    ]


def release(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """After the nodes of a page are created, free the memory of its programs."""
    domain = JaxprDomain.of(app.env)
    if domain.build is not None:
        domain.build.session.release(domain.build.appearances.pages.get(docname, ()))
