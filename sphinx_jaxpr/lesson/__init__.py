"""Parts of a lesson: goals, questions, checklists, paths, glossary cards.

An extension of its own: ``extensions = [..., "sphinx_jaxpr.lesson"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension (Sphinx calls this)."""
    from .extension import connect

    return connect(app)
