"""The named lines of a page: which sentences and expressions use them, and which nothing does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Final, TypeAlias

from docutils import nodes

from ....program.query.lets import free_names
from ....program.query.syntax import PathError, parse, readable
from ....program.text import clipped, nearest, shorten
from ...nodes import jaxpr_claims
from ...records import (
    CLAIM,
    LET,
    DirectiveRecord,
    Finding,
    NamedLine,
    ShowRecord,
    Statement,
    docstring_of,
)

#: A line without a name is a statement.
Line: TypeAlias = "Statement | NamedLine"
_WORD: Final = re.compile(r"[\w ]+")


def lines_of(node: jaxpr_claims, only: tuple[str, ...], when: tuple[str, ...]) -> list[Line]:
    """The lines of one directive, with the conditions around it."""
    source = str(node.source)
    lines: list[Line] = []
    for number, line, keys in node["lines"]:
        if line.kind == CLAIM and not line.name:
            lines.append(Statement(CLAIM, line.expression, "", source, number, only, when))
            continue
        is_broken = line.is_broken or bool(line.problem)
        head = (line.kind, line.name, keys, line.expression, source, number, only, when)
        lines.append(NamedLine(*head, is_broken, line.problem))
    return lines


class LineNames:
    """The named ``lines`` of a page, and the ``roles`` that name some of them.

    A docstring has names of its own.  Parts that a build leaves out count.
    """

    def __init__(
        self, claims: Mapping[jaxpr_claims, list[Line]], roles: Iterable[nodes.Element]
    ) -> None:
        self.claims = claims
        every = (line for lines in claims.values() for line in lines)
        self.lines = [line for line in every if isinstance(line, NamedLine)]
        self.keys: dict[tuple[str, str], NamedLine] = {}
        for line in self.lines:
            for key in line.keys if line.kind == CLAIM else ():
                self.keys.setdefault((line.docstring, key), line)
        self.used = {
            (docstring_of(str(role.source)), key) for role in roles for key in role["keys"]
        }

    def at_their_lines(self, node: jaxpr_claims) -> Iterator[Statement]:
        """The statements to judge at the lines of a directive: not what sentences say."""
        for line in self.claims[node]:
            if isinstance(line, Statement):
                yield line
            elif line.kind == LET or line.is_broken or not self.is_used(line):
                position = (line.source, line.line, line.only, line.when)
                yield Statement(line.kind, line.expression, line.name, *position, line.problem)

    def is_used(self, line: NamedLine) -> bool:
        """Whether a sentence names a claim."""
        return any((line.docstring, key) in self.used for key in line.keys)

    def problem(self, role: nodes.Element) -> str:
        """Why a role names no line, or ``""``."""
        docstring = docstring_of(str(role.source))
        if any((docstring, key) in self.keys for key in role["keys"]):
            return ""
        name = clipped(role["name"], 60)
        where = "this docstring" if docstring else "this page"
        own = dict.fromkeys(
            line.name for (scope, _), line in self.keys.items() if scope == docstring
        )
        near = nearest(name, own)
        if not role["by_words"]:
            return f"no line of jaxpr-claims on {where} has the name {name!r}{near}"
        if role.get("translated"):
            near += "; in a translation, name the line outright: `words <#name>`"
        near = near or _form_for(role["name"])
        if not near:
            near = f"; write `words <len(dense) == 4>`, or the line `{name}: len(dense) == 4`"
        return (
            f"{name!r} has no predicate, and no line of jaxpr-claims on {where} has this"
            f" name{near}{role['hint']}"
        )

    def unused(
        self, statements: Iterable[Statement], directives: Iterable[DirectiveRecord | ShowRecord]
    ) -> Iterator[Finding]:
        """Findings about lines that nothing uses."""
        texts = list(_expressions(self.lines, statements, directives)) if self.lines else []
        for line in self.lines:
            if line.is_broken:
                continue
            where = "docstring" if line.docstring else "page"
            if line.kind == CLAIM and not self.is_used(line):
                yield Finding(
                    "claim",
                    f"no sentence of this {where} uses the claim {shorten(line.name)}; name it"
                    " in one, as in `words <#name>`, or remove the name",
                    *line.position,
                )
            if line.kind == LET and not any(_uses(line, *text) for text in texts):
                yield Finding(
                    "claim",
                    f"no expression of this {where} uses let {shorten(line.name)}",
                    *line.position,
                )


def _form_for(name: str) -> str:
    """What is missing around words that have an expression in them, or are one."""
    plain = unescape(name)
    if plain != name and _ROLE.fullmatch(plain):
        return f"; write `<` and `>` as they are: `{plain}`"
    if (first := _BEFORE.fullmatch(name)) and readable(first["expression"]):
        return f"; the words come first: `{first['words']} <{first['expression']}>`"
    _, sign, expression = name.partition("<")
    if sign and readable(expression):
        return "; a `>` is missing behind its predicate"
    if name.endswith(">") and not sign:
        return "; a `<` is missing before its predicate"
    if readable(name) and not _WORD.fullmatch(name):
        return f"; for a predicate that readers don't see, write `<{name}>`"
    for blank in re.finditer(" ", name[:200]):  # the first expression that goes on to the end
        words, rest = name[: blank.start()], name[blank.end() :]
        for expression in (rest[1:-1] if rest.startswith("(") else rest, rest):
            if _PREDICATE.search(expression) and readable(expression):
                return f"; write `{words} <{expression}>`"
    return ""


_ROLE: Final = re.compile(r".*<.+>")
#: An expression before its words.
_BEFORE: Final = re.compile(r"<(?P<expression>.+)> *(?P<words>\S.*)")
#: What tells an expression from words.
_PREDICATE: Final = re.compile(r"[=<>!]=|[<>]|\w[\[(]")


def _uses(let: NamedLine, names: frozenset[str], docstring: str, position: object) -> bool:
    """Whether a let is among the names of an expression that can see it."""
    can_see = let.docstring in ("", docstring)
    return can_see and let.name in names and position != let.position


def _expressions(
    lines: Iterable[NamedLine],
    statements: Iterable[Statement],
    directives: Iterable[DirectiveRecord | ShowRecord],
) -> Iterator[tuple[frozenset[str], str, object]]:
    """The names that each expression of a page looks up, its docstring, and where a let is."""
    for line in lines:
        position = line.position if line.kind == LET else None
        yield _names(line.expression), line.docstring, position
    for statement in statements:
        if statement.role not in (LET, "prim"):
            yield _names(statement.expression), statement.docstring, None
    for directive in directives:
        for note in (*directive.notes, *directive.elided):
            yield _names(_in_block(note.path)), docstring_of(note.source), None


def _in_block(path: str) -> str:
    """A path of a directive, which may leave out its block, as in ``[tanh]``."""
    return f"_{path}" if path[:1] in ("[", ".") else path


def _names(text: str) -> frozenset[str]:
    if not text:
        return frozenset()
    try:
        expression = parse(text)
    except PathError:
        return frozenset()
    return frozenset(free_names(expression.body))
