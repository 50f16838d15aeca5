"""Registers the parts of lessons with Sphinx."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.singlehtml import SingleFileHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from .. import __version__
from ..ext.api import copy_static, register_node, report, report_setting, writes_pages
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
from .nodes import UNSHOWN, is_interactive, lesson_element
from .paths import LessonPaths, ShowPaths
from .show import ShowChecklists, ShowReveals

STATIC: Final = Path(__file__).parents[1] / "static"
STYLE: Final = "lesson.css"
SCRIPT: Final = "lesson.js"


def connect(app: Sphinx) -> dict[str, Any]:
    """Register all parts; the metadata of the extension."""
    app.add_config_value(settings.NAME, settings.CARDS[0], "html", types=Any)
    for kind, visitors in UNSHOWN.items():
        register_node(app, kind, visitors)
    register_node(app, lesson_element, html=lesson_element.html)
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
    app.connect("env-updated", update, priority=600)  # after blocks have been traced
    app.connect("write-started", copy_assets)
    app.connect("html-page-context", add_assets)
    return {
        "version": __version__,
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def check_config(app: Sphinx, config: Config) -> None:
    """Report mistakes in conf.py."""
    if problem := settings.problem(config):
        report_setting(app, settings.NAME, problem, "lesson")


def read_again(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Paths whose pages were added or removed: a toctree is filled when its page is read."""
    return [
        page
        for page, paths in LessonDomain.of(env).paths.items()
        if any(step.docname in added | removed for path in paths for step in path.steps)
    ]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the parts of a page, once it is read."""
    domain, docname = LessonDomain.of(app.env), app.env.docname
    domain.collect(docname, doctree)
    if terms := cards.digests_of(doctree):
        domain.terms[docname] = terms
    if uses := cards.used(doctree):
        domain.uses[docname] = uses


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Report the findings on all pages; return the pages that must be written again."""
    if app.builder.name == "gettext":  # messages of the pages alone
        return []
    domain = LessonDomain.of(env)
    report(findings(env, domain), str(app.srcdir), "lesson")
    if not writes_pages(app.builder):
        return []
    domain.glossaries.clear()
    texts = LessonPaths(env, domain).digests()
    if is_interactive(app.builder) and settings.cards(app.config) != "off":
        for page, digest in cards.digests(env, domain).items():
            texts[page] = texts.get(page, "") + digest
    return domain.outdated_pages(app, texts)


def copy_assets(app: Sphinx, builder: Any) -> None:
    """Copy the style sheet and the script to the output."""
    if is_interactive(builder) and LessonDomain.of(app.env).has_parts:
        copy_static(STATIC, (STYLE, SCRIPT), Path(app.outdir))


def add_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the style sheet and the script on pages with a part only."""
    if doctree is None or not is_interactive(app.builder):
        return
    if next(iter(doctree.findall(_is_shown)), None) is not None:
        if isinstance(app.builder, SingleFileHTMLBuilder):  # before Sphinx 8 no `write-started`
            copy_assets(app, app.builder)
        app.add_css_file(STYLE)
        app.add_js_file(SCRIPT, loading_method="defer")


def _is_shown(node: nodes.Node) -> bool:
    return isinstance(node, lesson_element) or (
        isinstance(node, nodes.admonition) and "lesson-goal" in node["classes"]
    )
