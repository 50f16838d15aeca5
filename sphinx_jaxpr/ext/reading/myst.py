"""What MyST does to options that rST would take as written, and the right form."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .source_lines import SourceSpan

# --- what MyST does to options that rST would take as written, and the right form

#: Options of which an example helps where they are empty.
_EXAMPLES = {
    "args": "x=f32[8]",
    "transforms": "grad, vmap",
    "static": "n=3",
}
#: Options whose lines are joined with commas.
_LISTS = ("args", "static", "transforms", "open", "elide")
#: How MyST begins what it says where it can't read the options.
_UNREAD = "Invalid options format: "
_MAX = 120  # characters of a value that are shown again


@dataclass
class Traps:
    """Messages with their lines, and what needs no other message after them."""

    found: list[tuple[str, int]] = field(default_factory=list)
    options: set[str] = field(default_factory=set)
    body: bool = False

    def add(self, key: str, message: str, line: int) -> None:
        """Note a trap that an option, or the body (``""``), fell into."""
        self.found.append((message, line))
        self.options.add(key)


def markdown_traps(
    place: SourceSpan, options: Mapping[str, str], content: Sequence[str], complaints: Sequence[str]
) -> Traps:
    """The traps that a directive fell into.

    MyST reads option lines as a kind of YAML: a ``#`` begins a comment, a
    value in quotes ends with them, and an indented line is no continuation.
    ``complaints`` are its own words about this directive.
    """
    traps = Traps()
    if not place.markdown:
        return traps
    if place.lines:
        _values(place, options, traps)
        _indented(place, content, traps)
        _empty(place, options, traps)
    if not traps.found:
        for complaint in complaints:
            _unread(place, complaint, traps)
    return traps


def _unread(place: SourceSpan, complaint: str, traps: Traps) -> None:
    """What else MyST says: of the first line that it can't read, where there is one."""
    reason = complaint.removeprefix(_UNREAD)
    if reason == complaint:
        traps.add("", f"MyST: {complaint}", place.line)
        return
    offset = place.stray()
    at = f" at {_short(place.lines[offset].strip())!r}" if offset else ""
    traps.add(
        "",
        f"MyST can't read the options{at} ({reason}), and all were lost; write each as name: value"
        " on a line",
        place.line + offset,
    )


def _values(place: SourceSpan, options: Mapping[str, str], traps: Traps) -> None:
    seen: set[str] = set()
    for offset, (key, raw) in place.options().items():
        line = place.line + offset
        value = (options.get(key) or "").strip()
        if key in seen:
            traps.add(key, f"option {key!r} is given twice, and MyST takes the last", line)
        elif raw[:1] in {'"', "'"} and key not in options:
            traps.add(
                key,
                f"option {key!r}: a value that begins with a quote is YAML to MyST, and all"
                f" options were lost; write :{key}: without quotes, or in a --- block as"
                f" {key}: {_quoted(raw)}",
                line,
            )
        elif raw[:1] in {"|", ">"} and key not in options:
            traps.add(
                key,
                f"option {key!r}: a value that begins with {raw[0]} is a block of lines to MyST,"
                f" and all options were lost; quote the whole value, :{key}: {_quoted(raw)}",
                line,
            )
        elif "\t" in raw and key not in options:
            traps.add(
                key,
                f"option {key!r}: a tab ends a value for MyST, and all options were lost; write"
                f" spaces, :{key}: {_short(' '.join(raw.split()))}",
                line,
            )
        elif "#" in raw and len(value) < len(raw) and raw[:1] not in {'"', "'"}:
            traps.add(
                key,
                f"option {key!r}: MyST takes {_short(raw[_comment(raw) :])!r} for a comment; quote"
                f" the whole value, :{key}: {_quoted(raw)}, or leave the comment out",
                line,
            )
        seen.add(key)


def _comment(raw: str) -> int:
    """Where MyST's comment begins: at a ``#`` after a blank."""
    found = raw.find(" #") + 1
    return found or raw.index("#")


def _quoted(raw: str) -> str:
    return "'" + _short(raw).replace("'", "''") + "'"


def _short(raw: str) -> str:
    return raw if len(raw) <= _MAX else raw[:_MAX] + "..."


def _indented(place: SourceSpan, content: Sequence[str], traps: Traps) -> None:
    lines = [line.strip() for line in content if line.strip()]
    offset = place.body()
    first = place.lines[offset] if offset < len(place.lines) else ""
    if not (lines and first.strip() and first.startswith((" ", "\t"))):
        return
    key, raw = next(reversed(place.options().values()), ("transforms", ""))
    joint = ", " if key in _LISTS else " "
    value = joint.join(line.rstrip(joint) for line in [*filter(None, [raw]), *lines])
    traps.add(
        key,
        f"the body begins indented: MyST ends the options at {_short(first.strip())!r}; write one"
        f" line, :{key}: {_short(value)}, or put several into a --- block",
        place.line + offset,
    )
    traps.body = True


def _empty(place: SourceSpan, options: Mapping[str, str], traps: Traps) -> None:
    for offset, (key, raw) in place.options().items():
        empty = key in _EXAMPLES and not raw and not (options.get(key) or "").strip()
        if empty and key not in traps.options:
            traps.add(
                key,
                f"option {key!r} is empty; write its value on its own line, as in"
                f" :{key}: {_EXAMPLES[key]}",
                place.line + offset,
            )


# --- what MyST says about the options of our directives: kept, to be told by every build

_LOGGER: Final = "sphinx.myst_parser.warnings_"


class Complaints(logging.Filter):
    """Takes MyST's warnings about the directives ``names`` off its hands."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.prefixes = tuple(f"{name!r}: " for name in names)
        self.kept: list[str] = []

    def install(self) -> None:
        """Listen to MyST; once is enough for a process."""
        logging.getLogger(_LOGGER).addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a warning goes its usual way."""
        message = record.getMessage()
        for prefix in self.prefixes:
            if message.startswith(prefix):
                self.kept.append(message.removeprefix(prefix))
                return False
        return True

    def take(self) -> list[str]:
        """The messages since last asked: MyST warns just before it runs a directive."""
        kept, self.kept = self.kept, []
        return kept


COMPLAINTS: Final = Complaints(
    ["jaxpr-transform", "jaxpr", "jaxpr-glossary", "jaxpr-claims", "jaxpr-when"]
)
