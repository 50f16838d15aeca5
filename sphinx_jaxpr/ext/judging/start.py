"""Assembles the parts of a build: the only place that passes settings to them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sphinx.application import Sphinx

from ...tracing.masking import PathMasker
from ..config import settings_of
from ..links import ShownIds
from ..records import DirectiveRecord, ShowRecord
from .build import RunningBuild
from .domain import JaxprDomain
from .meanings import Meanings
from .names.lines import NamedLines
from .names.scopes import Scopes
from .path_targets import PathTargets
from .session import PAGES, BuildSession, TracePolicy
from .storage import Storage
from .verdicts import Addresses, VerdictCache

if TYPE_CHECKING:
    from ...tracing.jobs import CodeToRun
    from .page_modules import PageModules


def begin(app: Sphinx, policy: TracePolicy, docnames: Iterable[str], tags: Any) -> None:
    """Start a worker for pages that were just read, if they need one."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    if domain.early is not None and domain.early.has_begun:
        return
    pages = [
        directives for name in docnames if (directives := domain.visible_directives(tags, name))
    ]
    if pages:
        if domain.early is None:
            domain.early = _session(app, policy, is_early=True)
        domain.early.begin(directive for directives in pages for directive in directives)


def _session(app: Sphinx, policy: TracePolicy, *, is_early: bool = False) -> BuildSession:
    """A session of this build; one that takes over what an earlier one began."""
    settings = settings_of(app.env)
    masker = PathMasker(str(app.srcdir), settings.import_roots())
    storage = Storage(
        settings,
        masker,
        Path(app.outdir),
        Path(app.doctreedir),
        is_fresh=bool(app.fresh_env_used),
        is_early=is_early,
    )

    @functools.cache
    def modules() -> PageModules:
        from .page_modules import PageModules

        return PageModules(cast(JaxprDomain, app.env.get_domain("jaxpr")))

    def code_of(code: str) -> CodeToRun:
        return modules().of(code)

    return BuildSession(settings, masker, storage, policy, app.verbosity, code_of)


def start(
    app: Sphinx,
    directives: Mapping[str, list[DirectiveRecord]],
    shows: Mapping[str, list[ShowRecord]],
    tags: Any,
    policy: TracePolicy = PAGES,
) -> RunningBuild:
    """Begin a build that shows or judges ``directives``; nothing is traced yet.

    ``shows`` place blocks of them on further pages.  ``tags`` may be those of several builders.
    """
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    settings = settings_of(app.env)
    session = _session(app, policy)
    if domain.early is not None:
        session.adopt(domain.early)
        domain.early = None
    ids = ShownIds()
    meanings = Meanings(settings.glossary, app.env, app.builder)
    declared = domain.all_directives
    scopes = Scopes(
        session, directives, declared, meanings.own_primitives, shows, meanings.own_kinds
    )
    appearances = scopes.appearances
    lists = domain.visible_lists(app.tags)
    addresses = Addresses(session, meanings, app.builder, ids, appearances.pages, lists)
    named = NamedLines({page: records.named for page, records in domain.records.items()}, tags)
    verdicts = VerdictCache(session, scopes, meanings, addresses, domain.data["judged"], named)
    targets = PathTargets(verdicts, session.mode, settings.elide)
    build = RunningBuild(session, verdicts, targets, meanings, ids, appearances)
    domain.begin(build)
    return build


def running(app: Sphinx) -> RunningBuild:
    """The running build; one is started if a tree is shown outside a build."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    if domain.build is not None:
        return domain.build
    return start(app, domain.visible(app.tags), domain.visible_shows(app.tags), app.tags)
