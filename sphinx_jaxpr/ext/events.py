"""Connects everything with Sphinx: what happens when in a build."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .. import __version__
from ..program.characters import on_one_line
from . import config as settings
from .check import CheckBuilder, Checked
from .claims import JaxprClaims
from .complaints import COMPLAINTS
from .conditions import JaxprWhen
from .directives import JaxprTransform
from .domain import JaxprDomain, every_kind
from .glossary import JaxprGlossary, ShowGlossaries
from .judge import findings, report
from .lexing import JaxprOnDemand
from .lockbuilder import JaxprLock, JaxprRecord
from .nodes import (
    HIDDEN,
    HTML,
    PLAIN,
    SOURCE,
    jaxpr_claims,
    jaxpr_figure,
    jaxpr_gallery,
    jaxpr_note,
    jaxpr_primitives,
    jaxpr_quote,
    jaxpr_source,
    jaxpr_when,
    jaxpr_words,
)
from .pageless import PagelessBuilder
from .pages import Written, copy_static
from .pasted import JaxprPasted
from .quotes import take_from_titles
from .quoting import ShowQuotes
from .roles import ROLES
from .sentences import Sentences
from .show import ShowBlocks
from .verdicts import judging

logger = logging.getLogger(__name__)

STYLE: Final = "jaxpr.css"
BESIDE: Final = "jaxpr-compare.css"  # for pages where blocks stand side by side
SCRIPT: Final = "jaxpr.js"
_BUILDERS: Final = ("html", "latex", "text", "man", "texinfo")


def connect(app: Sphinx) -> dict[str, Any]:
    """Register all parts; the metadata of the extension."""
    for option in settings.OPTIONS:
        # Of any type for Sphinx: what is wrong with a value is told by us, once.
        app.add_config_value(option.name, option.registered, option.rebuild, types=Any)
    plain: dict[str, Any] = dict.fromkeys(_BUILDERS, PLAIN)
    for kind in (jaxpr_gallery, jaxpr_primitives, jaxpr_note, jaxpr_quote, jaxpr_when):
        app.add_node(kind, **plain)
    app.add_node(jaxpr_figure, **{**plain, "html": HTML})
    app.add_node(jaxpr_source, **{**plain, "html": SOURCE})
    hidden: dict[str, Any] = dict.fromkeys(_BUILDERS, HIDDEN)
    app.add_node(jaxpr_words, **hidden)
    app.add_node(jaxpr_claims, **hidden)
    # The entry point is there only where the package is installed.
    app.add_lexer("jaxpr", JaxprOnDemand)
    JaxprDomain.connect(app)
    app.add_directive("jaxpr-transform", JaxprTransform)
    app.add_directive("jaxpr", JaxprPasted)
    app.add_directive("jaxpr-glossary", JaxprGlossary)
    app.add_directive("jaxpr-claims", JaxprClaims)
    app.add_directive("jaxpr-when", JaxprWhen)
    for name, role in ROLES.items():
        app.add_role_to_domain("jaxpr", name, role)
    app.add_builder(CheckBuilder)
    app.add_builder(JaxprLock)
    app.add_builder(JaxprRecord)
    app.add_post_transform(ShowBlocks)
    app.add_post_transform(ShowGlossaries)
    app.add_post_transform(ShowQuotes)
    COMPLAINTS.install()
    app.connect("config-inited", check_config)
    app.connect("doctree-read", clear_titles, priority=100)  # before Sphinx copies them
    app.connect("doctree-read", collect)
    app.connect("env-updated", update)
    app.connect("doctree-resolved", note_page)
    app.connect("write-started", copy_assets)
    app.connect("html-page-context", add_assets)
    app.connect("build-finished", finish)
    return {
        "version": __version__,
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def check_config(app: Sphinx, config: Config) -> None:
    """Tell what is wrong in conf.py."""
    for name, problem in settings.problems(config).items():
        place = settings.place_of(name, Path(app.confdir))
        logger.warning("%s", on_one_line(problem), location=place, type="jaxpr", subtype="option")
    settings.settle(config)


def _domain(env: BuildEnvironment) -> JaxprDomain:
    return cast(JaxprDomain, env.get_domain("jaxpr"))


def clear_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Find the lines of all roles; take those out of titles that can't stand there."""
    _domain(app.env).note(app.env.docname, take_from_titles(doctree))


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note what a page asks for, once it is read."""
    _domain(app.env).collect(app.env.docname, doctree)


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Trace what is new, judge all pages, name those that must be written again."""
    domain = _domain(env)
    if app.builder.name == "gettext":  # messages of the pages alone
        return []
    pageless = app.builder if isinstance(app.builder, PagelessBuilder) else None
    if pageless and pageless.is_refused:
        pageless.refuse()
        app.statuscode = 1
        return []
    tags = every_kind(app.tags) if pageless else app.tags
    galleries = pageless.galleries(domain) if pageless else domain.visible(tags)
    domain.engine = engine = judging(app, galleries)
    engine.prepare(gallery for page in galleries.values() for gallery in page)
    sentences = Sentences(engine, domain.visible_quotes(tags))
    if engine.mode != "skip":
        found = [*findings(engine, galleries), *domain.findings(), *sentences.findings()]
        checks = pageless if isinstance(pageless, CheckBuilder) else None
        found += checks.compared(engine, galleries, domain.galleries) if checks else []
        engine.findings = report(found, str(app.srcdir))
        if checks:
            checks.checked = Checked(engine, galleries, sentences, checks.drifts)
    shown = sentences.digests() if engine.mode != "skip" else {}
    engine.verdicts.save()
    if pageless:
        return []
    engine.pages = engine.page_digests(galleries, domain.visible_lists(tags), shown)
    engine.written = Written(app, Path(app.doctreedir) / "jaxpr", engine.pages)
    return engine.written.outdated()


def note_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """A page is about to be written: a list of files on the command line leaves some out."""
    engine = _domain(app.env).engine
    if engine is not None and engine.written is not None:
        engine.written.resolved.add(docname)


def _assets(builder: Any) -> list[str]:
    """What pages with a block load: no script in books and help files."""
    if not isinstance(builder, StandaloneHTMLBuilder):
        return []
    return [STYLE] if builder.embedded else [STYLE, BESIDE, SCRIPT]


def copy_assets(app: Sphinx, builder: Any) -> None:
    """Put style sheet and script where pages look for them."""
    if _domain(app.env).galleries:
        copy_static(_assets(builder), Path(app.outdir))


def add_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Only pages that have a block load style sheet and script."""
    figures = list(doctree.findall(jaxpr_figure)) if doctree is not None else []
    if not figures:
        return
    app.add_css_file(STYLE)
    if SCRIPT in _assets(app.builder):
        app.add_js_file(SCRIPT, loading_method="defer")
        if any(figure.get("is_beside") for figure in figures):
            app.add_css_file(BESIDE)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Remember what the pages show now."""
    engine = _domain(app.env).engine
    if engine is not None and engine.written is not None and exception is None:
        engine.written.keep()
