"""What to tell the author about lessons, at every build."""

from __future__ import annotations

from sphinx.environment import BuildEnvironment

from ..ext.records import Finding
from .domain import LessonDomain


def findings(env: BuildEnvironment, domain: LessonDomain) -> list[Finding]:
    """All findings, page by page."""
    return list(domain.findings())
