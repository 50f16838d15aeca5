"""Assembles the parts of a build: the only place that passes settings to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from sphinx.application import Sphinx

from ...tracing.masking import PathMasker
from ..config import settings_of
from ..links import ShownIds
from ..records import DirectiveRecord
from .build import RunningBuild
from .domain import JaxprDomain
from .meanings import Meanings
from .path_targets import PathTargets
from .scopes import Scopes
from .session import PAGES, BuildSession, TracePolicy
from .storage import Storage
from .verdicts import Addresses, VerdictCache


def start(
    app: Sphinx,
    directives: Mapping[str, list[DirectiveRecord]],
    policy: TracePolicy = PAGES,
) -> RunningBuild:
    """Begin a build that shows or judges ``directives``; nothing is traced yet."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    settings = settings_of(app.env)
    masker = PathMasker(str(app.srcdir), settings.import_roots())
    folders = Path(app.outdir), Path(app.doctreedir)
    storage = Storage(settings, masker, *folders, is_fresh=bool(app.fresh_env_used))
    session = BuildSession(settings, masker, storage, policy, app.verbosity)
    ids = ShownIds()
    meanings = Meanings(settings.glossary, app.env, app.builder)
    scopes = Scopes(session, directives, domain.all_directives, meanings.own_primitives)
    lists = domain.visible_lists(app.tags)
    addresses = Addresses(session, meanings, app.builder, ids, directives, lists)
    verdicts = VerdictCache(session, scopes, meanings, addresses, domain.data["judged"])
    targets = PathTargets(verdicts, session.mode, settings.elide)
    build = RunningBuild(session, verdicts, targets, meanings, ids)
    domain.begin(build)
    return build


def running(app: Sphinx) -> RunningBuild:
    """The running build; one is started if a tree is shown outside a build."""
    domain = cast(JaxprDomain, app.env.get_domain("jaxpr"))
    return domain.build or start(app, domain.visible(app.tags))
