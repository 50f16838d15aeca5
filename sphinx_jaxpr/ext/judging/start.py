"""Puts the parts of a build together: the one place that hands them settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import cast

from sphinx.application import Sphinx

from ...tracing.masking import PathMasker
from ...tracing.request import seconds
from .. import config as settings
from ..links import ShownIds
from ..records import DirectiveRecord
from .build import RunningBuild
from .domain import JaxprDomain
from .meanings import Meanings
from .path_targets import PathTargets
from .scopes import Scopes
from .session import PAGES, BuildSession, TracePolicy, TraceSettings
from .storage import Storage
from .verdicts import Addresses, VerdictCache


def start(
    app: Sphinx,
    directives: Mapping[str, list[DirectiveRecord]],
    policy: TracePolicy = PAGES,
) -> RunningBuild:
    """Begin a build that shows or judges ``directives``; nothing is traced yet."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    session = _session(app, policy)
    ids = ShownIds()
    glossary = settings.value(app.config, "jaxpr_glossary")
    meanings = Meanings(glossary, app.env, app.builder)
    scopes = Scopes(session, directives, domain.all_directives, meanings.own_primitives)
    lists = domain.visible_lists(app.tags)
    addresses = Addresses(session, meanings, app.builder, ids, directives, lists)
    verdicts = VerdictCache(session, scopes, meanings, addresses, domain.data["judged"])
    targets = PathTargets(verdicts, session.mode, settings.value(app.config, "jaxpr_elide"))
    build = RunningBuild(session, verdicts, targets, meanings, ids)
    domain.begin(build)
    return build


def running(app: Sphinx) -> RunningBuild:
    """The build that runs; one is begun where a tree is shown outside of any."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    return domain.build or start(app, domain.visible(app.tags))


def _session(app: Sphinx, policy: TracePolicy) -> BuildSession:
    config, confdir = app.config, Path(app.confdir)
    masker = PathMasker(str(app.srcdir), settings.roots(config, confdir))
    trace_settings = TraceSettings(
        mode=settings.value(config, "jaxpr_mode"),
        timeout=seconds(settings.value(config, "jaxpr_timeout")),
        total_timeout=settings.value(config, "jaxpr_total_timeout") or 0,
        lock_folder=settings.lock_folder(config, confdir),
        setup=partial(settings.setup_of, config, confdir),
        verbosity=app.verbosity,
    )
    return BuildSession(trace_settings, masker, Storage(app, masker), policy)
