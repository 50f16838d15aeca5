"""Text for readers: hidden characters spelled out, messages kept short, near words, plurals.

Text of user code may hold what a reader can't see, what changes how other text is seen, or
what a terminal or a parser of XML takes for a command.  Such a character is spelled as
Python writes it in a literal, ``\x1b`` or ``\u202e``.  These are

- control characters but for newline and tab: C0, DEL and C1;
- what else ends a line for some reader of it: U+2028 and U+2029 (and U+0085, of C1);
- what Unicode calls *default ignorable*: controls of direction, joiners and blanks without
  width, fillers, tags.  Variation selectors 1 to 16 alone stay, since they choose how the
  character before them looks, as in most emoji;
- lone surrogates, noncharacters and the anchors of annotations (U+FFF9 to U+FFFB).

The list is of ranges that Unicode has reserved for good, so that no version of Python
spells another text.  A joiner inside an emoji is spelled too, as Python's ``repr`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

# --- which characters are spelled out wherever text is shown: one definition for all layers

_RANGES: Final = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F),  # control characters
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C),  # soft hyphen, joiner, Arabic mark
    (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),  # fillers, inherent vowels, Mongolian
    (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),  # without width, lines, directions
    (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFDD0, 0xFDEF),  # filler, surrogates, noncharacters
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),  # byte order mark, filler, anchors
    (0xFFFE, 0xFFFF),
)  # fmt: skip
#: The same beyond U+FFFF: shorthand, musical notation, tags; noncharacters end each plane.
_FAR: Final = ((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))


# One set for all would be ten times as slow as these two, which plain ASCII never needs.
@cache
def _near_one() -> re.Pattern[str]:
    return re.compile("[" + "".join(rf"\u{a:04x}-\u{b:04x}" for a, b in _RANGES) + "]")


@cache
def _far_one() -> re.Pattern[str]:
    return re.compile("[\U00010000-\U0010ffff]")


def is_plain(text: str) -> bool:
    """Whether nothing in ``text`` has to be spelled."""
    if text.isascii():
        return text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()
    return not _near_one().search(text) and not any(map(_is_hidden, _far_one().findall(text)))


def spelled(text: str) -> str:
    """``text`` with the characters spelled that would not be seen as what they are."""
    return text if is_plain(text) else _far_one().sub(_far, _near_one().sub(_near, text))


def on_one_line(text: str) -> str:
    """``spelled``, without line breaks: for lines of a terminal, of which each is one message."""
    line = spelled(text)
    return " ".join(line.split("\n")) if "\n" in line else line


def spelled_all(data: Any) -> Any:
    """JSON data in which every text, and every key, is ``spelled``."""
    if isinstance(data, str):  # most are words: asked here, since a result has thousands
        return data if data.isascii() and data.isprintable() else spelled(data)
    if isinstance(data, list):
        return [spelled_all(item) for item in data]
    if isinstance(data, dict):
        return {spelled(key): spelled_all(item) for key, item in data.items()}
    return data


def _is_hidden(character: str) -> bool:
    number = ord(character)
    return number & 0xFFFE == 0xFFFE or any(first <= number <= last for first, last in _FAR)


def _near(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def _far(match: re.Match[str]) -> str:
    return f"\\U{ord(match[0]):08x}" if _is_hidden(match[0]) else match[0]


# --- what an author wrote, as a message repeats it: short, on one line, without hidden signs

#: Longest piece of an author's text that a message repeats, in characters.
MAX_ECHO: Final = 40
#: Longest message about a text of an author, in characters.
MAX_MESSAGE: Final = 700
_GAP: Final = "..."
#: Longest run without a blank that may be a word, a path or a type.
_LONG: Final = 200
_RUN: Final = rf"\S{{{_LONG},}}"


def clipped(text: str, most: int) -> str:
    """``text`` in at most ``most`` characters: of a longer one the middle is left out."""
    if len(text) <= most:
        return text
    kept = most - len(_GAP)
    tail = kept // 3
    return f"{text[: kept - tail]}{_GAP}{text[len(text) - tail :]}"


def inert(text: str) -> str:
    """``text`` on one line, with what can't be seen in it spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return on_one_line(text.replace("\r\n", " ").replace("\t", " "))


def shorten(text: object) -> str:
    """A text or a number quoted for a message, shortened in the middle."""
    if not isinstance(text, str):
        return echoed(text, MAX_ECHO)
    most = MAX_ECHO
    quoted = repr(clipped(text, most))
    while len(quoted) > 2 * MAX_ECHO:  # many signs that are spelled out
        most //= 2
        quoted = repr(clipped(text, most))
    return quoted


def words(text: str, most: int = MAX_ECHO) -> str:
    """A text for a message that quotes it itself."""
    return clipped(inert(clipped(text, most)), 2 * most)


def message(text: str, most: int = MAX_MESSAGE) -> str:
    """A whole message: the last guard against texts of any length that came into it."""
    text = inert(clipped(text, 4 * most))
    if len(text) > _LONG:
        text = re.sub(_RUN, lambda match: clipped(match[0], 2 * MAX_ECHO), text)
    return clipped(text, most)


def similar(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known words that ``word`` was perhaps meant to be, the nearest first.

    Capitals count as their small letters.
    """
    spellings: dict[str, str] = {}
    for other in known:
        spellings.setdefault(other.lower(), other)
    close = get_close_matches(word[:80].lower(), list(spellings), n=count)
    return [spellings[other] for other in close]


def nearest(
    word: str, known: Iterable[str], count: int = 1, quoted: Callable[[str], str] = shorten
) -> str:
    """``", did you mean 'x'?"`` for the nearest known words, or nothing: the end of a clause."""
    listed = series([quoted(name) for name in similar(word, known, count)], "or")
    return f", did you mean {listed}?" if listed else ""


def followed(message: str, more: str) -> str:
    """``message; more``, or a second sentence behind a question."""
    return (
        f"{message} {more[0].upper()}{more[1:]}" if message.endswith("?") else f"{message}; {more}"
    )


def series(names: list[str], last: str) -> str:
    """``a, b or c``; ``last`` is the word before the last name."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


#: How far apart the first lines of two cells of a notebook are, as MyST-NB counts: line 30005
#: is the fifth line of the third cell.
CELL: Final = 10_000


def in_cell(source: str, line: int) -> bool:
    """Whether a line is one of a cell; other texts may be as long."""
    return line > CELL and source.endswith(".ipynb")


def cell_words(line: int) -> str:
    """A line of a notebook in words: ``cell 3, line 5``."""
    return f"cell {line // CELL}, line {line % CELL}"


def place(source: str, line: int) -> str:
    """A line of a file for a message: ``page.md:12``, ``page.ipynb, cell 3, line 5``.

    ``source`` may name the cell as well: then the line is one of that.
    """
    if in_cell(source, line):
        return f"{source}, {cell_words(line)}"
    return f"{source}, line {line}" if _WITH_CELL.search(source) else f"{source}:{line}"


_WITH_CELL: Final = re.compile(r", cell \d+$")


def plural(count: int, noun: str, more: str = "") -> str:
    """A number of things: ``1 equation``, ``2 equations``; ``more`` is an irregular plural."""
    return f"{count} {noun if count == 1 else more or f'{noun}s'}"


def size_words(size: int) -> str:
    """Bytes for people: ``64 bytes``, ``24.6 kB``."""
    if size < 1000:
        return plural(size, "byte")
    units = ("kB", "MB", "GB", "TB")
    power = next((n for n in range(len(units)) if round(size / 1000 ** (n + 1), 1) < 1000), 3)
    return f"{size / 1000 ** (power + 1):.1f} {units[power]}"


def expect(value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raise :exc:`TypeError` where a caller hands over another kind of thing."""
    if not isinstance(value, kinds):
        raise TypeError(f"expected {expected}, not {type(value).__name__}")


def echoed(value: Any, most: int = 200) -> str:
    """The ``repr`` of any object, whatever that does; Python itself prints no huge integer."""
    try:
        text = repr(value)
    except Exception:
        sign = "an integer of" if isinstance(value, int) else "an object of"
        bits = value.bit_length() if isinstance(value, int) else 0
        text = f"{sign} {bits:,} bits" if bits else f"{sign} type {type(value).__name__}"
    return clipped(inert(clipped(text, 4 * most)), most)
