"""What to tell the author about lessons, at every build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sphinx.environment import BuildEnvironment

from ..ext.api import BlockIndex, Finding, nearest
from .directives import VERBS
from .domain import LessonDomain
from .records import Auto, Lesson


def findings(env: BuildEnvironment, domain: LessonDomain) -> list[Finding]:
    """All findings, page by page."""
    return [*domain.findings(), *_autos(env, domain), *_steps(env, domain)]


def _autos(env: BuildEnvironment, domain: LessonDomain) -> Iterator[Finding]:
    """Items that complete by what is not there."""
    for docname, lesson in sorted(domain.lessons.items()):
        known: dict[str, dict[str, str]] | None = None
        for auto in (item.auto for item in lesson.items if item.auto):
            known = known or _targets(env, docname, lesson)
            if problem := _problem(auto, known):
                yield Finding("auto", problem, auto.source, auto.line)


def _targets(env: BuildEnvironment, docname: str, lesson: Lesson) -> dict[str, dict[str, str]]:
    return {"open": BlockIndex(env).ids(docname), "answer": dict(lesson.questions)}


def _problem(auto: Auto, known: dict[str, dict[str, str]]) -> str:
    written = f"lesson-auto {f'{auto.verb} {auto.target}'.strip()!r}"
    if auto.verb not in VERBS or not auto.target:
        form = "write 'open' and the name of a block, or 'answer' and that of a question"
        return f"{written}: {form}{nearest(auto.verb, VERBS) if auto.target else ''}"
    names = known[auto.verb]
    if auto.target in names:
        return ""
    what = "block" if auto.verb == "open" else "question"
    text = f"{written}: no {what} of this page is named {auto.target!r}"
    return f"{text}{nearest(auto.target, names)}{_listed(names)}"


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f" (here: {listed})" if listed else " (it has none with a name)"


def _steps(env: BuildEnvironment, domain: LessonDomain) -> Iterator[Finding]:
    """Lines of paths that name no page."""
    for _, paths in sorted(domain.paths.items()):
        for path in paths:
            for step in path.steps:
                if step.docname not in env.found_docs:
                    text = f"lesson-path: no page is named {step.docname!r}"
                    text += nearest(step.docname, sorted(env.found_docs))
                    yield Finding("path", text, path.source, step.line)
