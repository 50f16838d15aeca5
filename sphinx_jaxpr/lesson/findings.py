"""Findings about lessons that depend on several pages, in every build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sphinx.environment import BuildEnvironment

from ..ext.api import Finding, ProjectBlocks, nearest
from .directives import VERBS
from .domain import LessonDomain
from .records import Auto, Lesson


def findings(env: BuildEnvironment, domain: LessonDomain) -> list[Finding]:
    """All findings, page by page."""
    return [*domain.findings(), *_autos(env, domain), *_steps(env, domain)]


def _autos(env: BuildEnvironment, domain: LessonDomain) -> Iterator[Finding]:
    """Items that wait for a block or a question that the page doesn't have."""
    for docname, lesson in sorted(domain.lessons.items()):
        targets: dict[str, dict[str, str]] | None = None
        for auto in (item.auto for item in lesson.items if item.auto):
            targets = targets or _targets(env, docname, lesson)
            if problem := _problem(auto, targets):
                yield Finding("auto", problem, auto.source, auto.line)


def _targets(env: BuildEnvironment, docname: str, lesson: Lesson) -> dict[str, dict[str, str]]:
    return {"open": ProjectBlocks(env).ids(docname), "answer": dict(lesson.questions)}


def _problem(auto: Auto, targets: dict[str, dict[str, str]]) -> str:
    written = f"lesson-auto {f'{auto.verb} {auto.target}'.strip()!r}"
    if auto.verb not in VERBS or not auto.target:
        form = "write 'open' and the name of a block, or 'answer' and the name of a question"
        return f"{written}: {form}{nearest(auto.verb, VERBS) if auto.target else ''}"
    names = targets[auto.verb]
    if auto.target in names:
        return ""
    noun = "block" if auto.verb == "open" else "question"
    text = f"{written}: this page has no {noun} named {auto.target!r}"
    return f"{text}{nearest(auto.target, names)}{_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f" (here: {listed})" if listed else " (none here has a name)"


def _steps(env: BuildEnvironment, domain: LessonDomain) -> Iterator[Finding]:
    """Lines of paths that don't name a page."""
    for _, paths in sorted(domain.paths.items()):
        for path in paths:
            for step in path.steps:
                if step.docname not in env.found_docs:
                    text = f"lesson-path: there is no page {step.docname!r}"
                    text += nearest(step.docname, sorted(env.found_docs))
                    yield Finding("path", text, path.source, step.line)
