"""Python's own parser, for texts of pages that may be Python.  Nothing is run."""

from __future__ import annotations

import ast
import warnings


def expression(text: str) -> ast.expr | None:
    """The tree of a text that is an expression, to Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that run into words
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
