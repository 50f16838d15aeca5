"""Connects the parts of lessons with Sphinx."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .. import __version__
from ..ext.assets import copy_static
from ..ext.builders.pageless import PagelessBuilder
from ..ext.config import conf_location
from ..ext.judging.findings import report
from ..ext.judging.rewritten import Written
from ..program.text import on_one_line
from . import cards
from . import records as settings
from .directives import (
    LessonAuto,
    LessonCheck,
    LessonChecklist,
    LessonGoal,
    LessonPath,
    LessonPredict,
)
from .domain import LessonDomain
from .findings import findings
from .nodes import ELEMENT, UNSHOWN, is_interactive, lesson_element
from .paths import LessonPaths, ShowPaths
from .show import ShowChecklists, ShowReveals

logger = logging.getLogger(__name__)

STYLE: Final = "lesson.css"
SCRIPT: Final = "lesson.js"
_BUILDERS: Final = ("html", "latex", "text", "man", "texinfo")


def connect(app: Sphinx) -> dict[str, Any]:
    """Register all parts; the metadata of the extension."""
    app.add_config_value(settings.NAME, settings.CARDS[0], "html", types=Any)
    for kind, visitors in UNSHOWN.items():
        plain: dict[str, Any] = dict.fromkeys(_BUILDERS, visitors)
        app.add_node(kind, **plain)
    app.add_node(lesson_element, html=ELEMENT)
    LessonDomain.connect(app)
    app.add_directive("lesson-goal", LessonGoal)
    app.add_directive("lesson-predict", LessonPredict)
    app.add_directive("lesson-check", LessonCheck)
    app.add_directive("lesson-checklist", LessonChecklist)
    app.add_role("lesson-auto", LessonAuto())
    app.add_directive("lesson-path", LessonPath)
    app.add_post_transform(ShowReveals)
    app.add_post_transform(ShowChecklists)
    app.add_post_transform(ShowPaths)
    app.add_post_transform(cards.ShowCards)
    app.connect("config-inited", check_config)
    app.connect("env-get-outdated", read_again)
    app.connect("doctree-read", collect)
    app.connect("env-updated", update, priority=600)  # when blocks have been traced
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
    if problem := settings.problem(config):
        location = conf_location(settings.NAME, Path(app.confdir))
        logger.warning(
            "%s", on_one_line(problem), location=location, type="lesson", subtype="option"
        )


def _domain(env: BuildEnvironment) -> LessonDomain:
    return cast(LessonDomain, env.get_domain("lesson"))


def read_again(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Paths whose pages have come or gone: what a toctree holds is decided when it is read."""
    return [
        page
        for page, paths in _domain(env).paths.items()
        if any(step.docname in added | removed for path in paths for step in path.steps)
    ]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note the parts of a page, once it is read."""
    domain, docname = _domain(app.env), app.env.docname
    domain.collect(docname, doctree)
    if terms := cards.digests_of(doctree):
        domain.terms[docname] = terms
    if uses := cards.used(doctree):
        domain.uses[docname] = uses


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Judge all pages, name those that must be written again."""
    if app.builder.name == "gettext":  # messages of the pages alone
        return []
    domain = _domain(env)
    report(findings(env, domain), str(app.srcdir), "lesson")
    if isinstance(app.builder, PagelessBuilder):
        return []
    domain.glossaries.clear()
    shown = LessonPaths(env, domain).digests()
    if is_interactive(app.builder) and settings.cards(app.config) != "off":
        for page, found in cards.digests(env, domain).items():
            shown[page] = shown.get(page, "") + found
    domain.written = Written(app, Path(app.doctreedir) / "lesson", shown)
    return domain.written.outdated()


def note_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """A page is about to be written: a list of files on the command line leaves some out."""
    written = _domain(app.env).written
    if written is not None:
        written.resolved.add(docname)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Remember what the pages show now."""
    written = _domain(app.env).written
    if written is not None and exception is None:
        written.keep()


def copy_assets(app: Sphinx, builder: Any) -> None:
    """Put style sheet and script where pages look for them."""
    if is_interactive(builder) and _domain(app.env).has_parts:
        copy_static((STYLE, SCRIPT), Path(app.outdir))


def add_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Only pages that have a part load style sheet and script."""
    if doctree is None or not is_interactive(app.builder):
        return
    if next(iter(doctree.findall(_is_shown)), None) is not None:
        app.add_css_file(STYLE)
        app.add_js_file(SCRIPT, loading_method="defer")


def _is_shown(node: nodes.Node) -> bool:
    return isinstance(node, lesson_element) or (
        isinstance(node, nodes.admonition) and "lesson-goal" in node["classes"]
    )
