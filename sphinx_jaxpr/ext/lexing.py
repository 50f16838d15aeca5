"""The lexer ``jaxpr`` for Sphinx, loaded when a page first needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer


class JaxprOnDemand(Lexer):
    """Stands for :class:`sphinx_jaxpr.lexer.JaxprLexer`.

    Its grammar and the parser's take longer to compile than the rest of the
    extension to load, and a build in which nothing changed uses neither.
    """

    name = "jaxpr"
    aliases = ("jaxpr",)
    mimetypes = ("text/x-jaxpr",)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Tokens with their offsets; together they are ``text``."""
        from ..lexer import JaxprLexer

        yield from JaxprLexer(**self.options).get_tokens_unprocessed(text)
