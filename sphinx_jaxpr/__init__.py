"""Live jaxprs in Sphinx documentation, and checked sentences around them.

The package itself imports nothing but the standard library: the worker
process, which may run under another interpreter, imports it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__version__ = "0.1.0"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension (Sphinx calls this for ``extensions = ["sphinx_jaxpr"]``)."""
    from .ext.extension import connect

    return connect(app)
