"""A Pygments lexer for printed jaxprs, whole ones and fragments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

from .program import model
from .program.parser import patterns
from .program.parser.parser import parse

_TYPES: Final[dict[str, _TokenType]] = {
    model.BINDER: Name.Variable,
    model.USE: Name.Variable,
    model.TYPE: Keyword.Type,
    model.PRIMITIVE: Name.Function,
    model.KEYWORD: Keyword,
    model.PARAMETER: Name.Attribute,
    model.LITERAL: Number,
}

# What a token of ``parse`` does not cover, and all of a fragment.
_PLAIN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<operator><-|\+=|->|[=@*+-])"
    r"|(?P<punctuation>[\[\](){};,.:<>]+)"
    r"|(?P<text>(?:(?!<-|->|\+=)[^\s\[\](){};,.:=<>@])+)"
)
_FRAGMENT: Final = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<comment>(?<=\s)\#[^\n]*)
    | (?P<keyword>\b(?:lambda|let)\b|\bin\b(?=\s*[(\[]|\s*\Z|\s*\n))
    | (?P<parameter>(?:(?<=\[)|(?<=\s)){patterns.NAME}(?==(?!=)))
    | (?P<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")
    | (?<=:)(?P<type>{patterns.TYPE})
    | (?<==[ ])(?P<primitive>[^\s\[\](){{}};=,:\#]+)
    | (?P<number>(?<![\w.])(?:{patterns.NUMBER.pattern})(?![\w.])|\b(?:True|False|None)\b)
    | (?P<name>{patterns.NAME}(?=[:\s,;)\]\[]|\Z))
    | (?P<operator><-|\+=|->|[=@*+-])
    | (?P<punctuation>[\[\](){{}};,.:<>])
    | (?P<text>\w+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_GROUPS: Final[dict[str, _TokenType]] = {
    "space": Whitespace,
    "comment": Comment.Single,
    "keyword": Keyword,
    "parameter": Name.Attribute,
    "string": String,
    "type": Keyword.Type,
    "primitive": Name.Function,
    "number": Number,
    "name": Name.Variable,
    "operator": Operator,
    "punctuation": Punctuation,
    "text": Text,
}


class JaxprLexer(Lexer):
    """Colours jaxprs as JAX prints them.

    A text that isn't a whole jaxpr, such as a single equation, is coloured
    by its look alone.
    """

    name = "jaxpr"
    url = "https://docs.jax.dev/en/latest/jaxpr.html"
    aliases: ClassVar[list[str]] = ["jaxpr"]
    mimetypes: ClassVar[list[str]] = ["text/x-jaxpr"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield (position, type, value) for pieces that make up all of ``text``."""
        printed = parse(text)
        position = 0
        for token in printed.tokens:
            yield from _pieces(text, position, token.start, _PLAIN)
            yield token.start, _TYPES[token.kind], text[token.start : token.end]
            position = token.end
        rest = _PLAIN if printed.tokens else _FRAGMENT
        yield from _pieces(text, position, len(text), rest)


def _pieces(
    text: str, start: int, end: int, pattern: re.Pattern[str]
) -> Iterator[tuple[int, _TokenType, str]]:
    for match in pattern.finditer(text, start, end):
        assert match.lastgroup is not None
        yield match.start(), _GROUPS[match.lastgroup], match[0]
