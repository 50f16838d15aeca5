"""``review.md``: the words of each check beside what is checked, for those who review pages.

Only a person can see whether words and predicate say the same.  The list is Markdown that reads
well as text too: an item for each predicate of a page, in the order of the page.  Places have
lines of their own, so that two lists can be compared without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ...program.text import clipped, inert, plural
from ..judging.verdicts import VerdictCache
from ..records import FALSE, STATES, TRUE, Statement, Verdict

if TYPE_CHECKING:
    from ...program.query.sides import Side

#: Longest words of a sentence, in characters.
MAX_WORDS: Final = 600
#: Longest expression that is shown, in characters; a longer one is not judged.
MAX_EXPRESSION: Final = 2_000
#: Longest message, in characters.
MAX_TEXT: Final = 1_000

# --- values


def sides_of(
    verdicts: VerdictCache, page: str, statement: Statement, verdict: Verdict
) -> tuple[Side, ...]:
    """The values that decide a statement; none where it has no value."""
    from ...program.query.evaluate import resolve_equation
    from ...program.query.sides import Side, sides

    expression = statement.expression
    if statement.role in ("claim", "when") and verdict.state in (TRUE, FALSE):
        return sides(expression, verdicts.scope(page, statement))
    if verdict.state != TRUE:
        return ()
    if statement.role in ("val", "var"):
        return (Side(expression, verdict.text),)
    if statement.role == "eqn":
        view, _ = resolve_equation(expression, verdicts.scope(page, statement))
        return (Side(expression, view.words()),)
    return ()


def as_text(sides: Iterable[Side], expression: str) -> str:
    """Sides in one line; the text of a side that is the whole expression is left out."""
    whole = " ".join(expression.split())
    parts = (value if text == whole else f"`{text}` is {value}" for text, value in sides)
    return "; ".join(parts)


# --- rows


class Words(NamedTuple):
    """What readers see of a check, and its place: ``index.md:14``."""

    text: str
    place: str


class Row(NamedTuple):
    """One predicate of a page, with the words of all sentences that it checks.

    ``message`` says what is wrong.  ``checked_at`` is the place of the expression if that is
    not in the sentence; ``lets`` are those that it needs, as ``g = dense.grad``.
    """

    role: str
    expression: str
    state: str
    words: tuple[Words, ...]
    sides: tuple[Side, ...] = ()
    message: str = ""
    checked_at: str = ""
    lets: tuple[str, ...] = ()


def merged(rows: Iterable[Row]) -> list[Row]:
    """Rows of one page, each predicate once, where its first sentence is."""
    by_predicate: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = (row.role, " ".join(row.expression.split()), row.message, row.checked_at)
        first = by_predicate.setdefault(key, row)
        if first is not row:
            by_predicate[key] = first._replace(words=(*first.words, *row.words))
    return list(by_predicate.values())


# --- Markdown


def review(pages: Mapping[str, list[Row]], versions: Mapping[str, str]) -> str:
    """The whole list."""
    on = ", ".join(f"{name} {prose(version)}" for name, version in versions.items() if version)
    parts = [
        "# Review",
        "",
        "What the pages say, and what is checked for it. Do both say the same?",
        "",
    ]
    rows = [row for page in pages.values() for row in page]
    counts = Counter(row.state for row in rows)
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    total = f"{plural(len(rows), 'check')} on {plural(len(pages), 'page')}"
    parts.append(f"{total}{f': {states}' if states else ''}; {on or 'nothing was traced'}.")
    for page, listed in pages.items():
        parts += ["", f"## {prose(page)}", ""]
        parts += [line for row in listed for line in _item(row)]
    return "\n".join(parts) + "\n"


def _item(row: Row) -> Iterator[str]:
    """The lines of one row."""
    words = [prose(clipped(words.text, MAX_WORDS)) for words in row.words if words.text]
    first, *others = dict.fromkeys(words or [""])
    yield f"- {_headline(row, first)}"
    yield from (f'  - also: "{other}"' for other in others)
    if row.expression:
        where = f", where {', '.join(map(code, row.lets))}" if row.lets else ""
        yield f"  - {code(row.expression)}{where}"
    whole = " ".join(row.expression.split())
    yield from (
        f"  - {'it' if side.text == whole else code(side.text)} is {code(side.value)}"
        for side in row.sides
        if row.role != "val" and (row.role != "var" or words)
    )
    if row.message and row.message != as_text(row.sides, row.expression):
        yield f"  - why: {prose(clipped(row.message, MAX_TEXT))}"
    places = ", ".join(dict.fromkeys(code(each.place) for each in row.words))
    yield f"  - at {places}{f', checked at {code(row.checked_at)}' if row.checked_at else ''}"


#: What the list calls roles that have another name in sentences.
_NAMES: Final = {"val": "value", "var": "letters", "eqn": "link"}


def _headline(row: Row, words: str) -> str:
    """What is checked and what came of it; only what is true or may be false is not bold."""
    state = row.state if row.state == TRUE else f"**{row.state}**"
    if row.role == "val" or (row.role == "var" and not words):
        value = row.sides[0].value if row.sides else ""
        return f"{_NAMES.get(row.role, row.role)} {code(value) if value else state}"
    if row.role == "when":
        return f"condition {row.state if row.state == FALSE else state}"
    name = _NAMES.get(row.role, row.role)
    return f'{name} {state}: "{words}"' if words else f"{name} {state}, without words"


#: What Markdown or GitHub would read as markup in the middle of a line.
_MARKUP: Final = re.compile(
    r"[\\`*\[\]<~$#]|&(?=[#\w])|(?<![^\W_])_|_(?![^\W_])|@(?=\w)|:(?=[\w+-]+:)"
)
#: No width: what GitHub would make a mention, a link or a picture of, a backslash doesn't keep.
_NOTHING: Final = "&#8203;"


def prose(text: str) -> str:
    """Text of an author as Markdown that shows it: what is in backquotes as code."""
    parts = " ".join(inert(text).split()).split("`")
    if len(parts) % 2 == 0:  # a backquote that nothing closes
        return _escaped("`".join(parts))
    return "".join(
        (code(part) if part else "\\`\\`") if number % 2 else _escaped(part)
        for number, part in enumerate(parts)
    )


def _escaped(text: str) -> str:
    def mark(match: re.Match[str]) -> str:
        if match[0] in "@:" or (match[0] == "#" and text[match.end() :][:1].isalnum()):
            return match[0] + _NOTHING
        return f"\\{match[0]}"

    return _MARKUP.sub(mark, text)


def code(text: str) -> str:
    """A text of any kind as code in Markdown, in one line."""
    line = " ".join(inert(clipped(text, MAX_EXPRESSION)).split()) or " "
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"
