"""How MyST misreads options that rST takes as written, and the right form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sphinx.util.docutils import SphinxDirective

from .parsers import take_warnings
from .source_lines import SourceSpan

#: Examples for options that are empty.
_EXAMPLES = {
    "args": "x=f32[8]",
    "transforms": "grad, vmap",
    "static": "n=3",
    "make": "1e-3, or () for a call without arguments",
    "then": "update",
}
#: Options whose lines are joined with commas.
_LISTS = ("args", "static", "transforms", "make", "open", "elide")
#: The beginning of MyST's warning about options that it can't read.
_UNREAD = "Invalid options format: "
_MAX = 120  # longest part of a value that a message repeats


@dataclass
class MystProblems:
    """The options that MyST misread in one directive.

    ``messages`` have their lines.  ``options`` need no other message; with ``body`` neither
    does the body, which holds options.
    """

    messages: list[tuple[str, int]] = field(default_factory=list)
    options: set[str] = field(default_factory=set)
    body: bool = False

    def add(self, option: str, message: str, line: int) -> None:
        """Note what happened to an option, or to the body (``""``)."""
        self.messages.append((message, line))
        self.options.add(option)


def myst_problems(directive: SphinxDirective, span: SourceSpan) -> MystProblems:
    """The problems that MyST has with the options of a directive; none in rST.

    MyST reads option lines as a kind of YAML: a ``#`` starts a comment, a quoted value ends
    with its quote, and an indented line doesn't continue a value.
    """
    problems = MystProblems()
    if not span.markdown:
        return problems
    warnings = take_warnings(directive.env, directive.name)
    if span.lines:
        _values(span, directive.options, problems)
        _indented(span, list(directive.content), problems)
        _empty(span, directive.options, problems)
    if not problems.messages:
        for warning in warnings:
            _lost(span, warning, problems)
    return problems


def _lost(span: SourceSpan, warning: str, problems: MystProblems) -> None:
    """MyST's own warning, with the first line that it can't read, if there is one."""
    reason = warning.removeprefix(_UNREAD)
    if reason == warning:
        problems.add("", f"MyST: {warning}", span.line)
        return
    offset = span.stray()
    at = f" at {_short(span.lines[offset].strip())!r}" if offset else ""
    problems.add(
        "",
        f"MyST can't read the options{at} ({reason}), and all were lost; write each as name: value"
        " on a line",
        span.line + offset,
    )


def _values(span: SourceSpan, options: Mapping[str, str], problems: MystProblems) -> None:
    seen: set[str] = set()
    for offset, (key, raw) in span.options().items():
        line = span.line + offset
        value = (options.get(key) or "").strip()
        if key in seen:
            problems.add(key, f"option {key!r} is given twice, and MyST uses the last", line)
        elif raw[:1] in {'"', "'"} and key not in options:
            problems.add(
                key,
                f"option {key!r}: a value that begins with a quote is YAML to MyST, and all"
                f" options were lost; write :{key}: without quotes, or in a --- block as"
                f" {key}: {_quoted(raw)}",
                line,
            )
        elif raw[:1] in {"|", ">"} and key not in options:
            problems.add(
                key,
                f"option {key!r}: a value that begins with {raw[0]} is a block of lines to MyST,"
                f" and all options were lost; quote the whole value, :{key}: {_quoted(raw)}",
                line,
            )
        elif "\t" in raw and key not in options:
            problems.add(
                key,
                f"option {key!r}: a tab ends a value for MyST, and all options were lost; write"
                f" spaces, :{key}: {_short(' '.join(raw.split()))}",
                line,
            )
        elif "#" in raw and len(value) < len(raw) and raw[:1] not in {'"', "'"}:
            problems.add(
                key,
                f"option {key!r}: MyST takes {_short(raw[_comment(raw) :])!r} for a comment; quote"
                f" the whole value, :{key}: {_quoted(raw)}, or leave the comment out",
                line,
            )
        seen.add(key)


def _comment(raw: str) -> int:
    """Where MyST's comment starts: at a ``#`` after a blank."""
    return raw.find(" #") + 1 or raw.index("#")


def _quoted(raw: str) -> str:
    return "'" + _short(raw).replace("'", "''") + "'"


def _short(raw: str) -> str:
    return raw if len(raw) <= _MAX else raw[:_MAX] + "..."


def _indented(span: SourceSpan, content: Sequence[str], problems: MystProblems) -> None:
    lines = [line.strip() for line in content if line.strip()]
    offset = span.body()
    first = span.lines[offset] if offset < len(span.lines) else ""
    if not (lines and first.strip() and first.startswith((" ", "\t"))):
        return
    key, raw = next(reversed(span.options().values()), ("transforms", ""))
    joint = ", " if key in _LISTS else " "
    value = joint.join(line.rstrip(joint) for line in [*filter(None, [raw]), *lines])
    problems.add(
        key,
        f"the body begins indented: MyST ends the options at {_short(first.strip())!r}; write one"
        f" line, :{key}: {_short(value)}, or put several into a --- block",
        span.line + offset,
    )
    problems.body = True


def _empty(span: SourceSpan, options: Mapping[str, str], problems: MystProblems) -> None:
    for offset, (key, raw) in span.options().items():
        empty = key in _EXAMPLES and not raw and not (options.get(key) or "").strip()
        if empty and key not in problems.options:
            problems.add(
                key,
                f"option {key!r} is empty; write its value on its own line, as in"
                f" :{key}: {_EXAMPLES[key]}",
                span.line + offset,
            )
