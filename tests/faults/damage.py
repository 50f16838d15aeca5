"""Hostile values for the fields of JSON, damage to the bytes of files, and what pages may hold."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bs4 import BeautifulSoup, Tag

#: Text that must never come to life; each has the word by which it is found again.
MARKUP: Final = (
    "javascript:alert('pwned')",
    "<script>alert('pwned')</script><img src=x onerror=pwned()>",
    '" onmouseover="pwned()" x="',
    "https://pwned.example/",
    "pwned\x1b[31m\x07\x00\u202e\u2066\x85",
    "pwned\n\nWARNING: pwned\r\n.. raw:: html\n\n   <b onclick='pwned()'>",
    "../../../../../../etc/pwned",
    "\\write18{pwned}$\\input{/etc/pwned}$ %pwned",
)
VALUES: Final[tuple[Any, ...]] = (
    *MARKUP,
    *(None, True, -1, 2**63, -(2**80), 10**400, 1.5, 1e308, "", "\ud800", "x" * 50_000),
    *([], {}, [[]], [[[[[[[[[[[[1]]]]]]]]]]]], {"": ""}, [None] * 2_000, "9" * 5_000),
)

Path_ = tuple[Any, ...]


def places(data: Any, at: Path_ = ()) -> Iterator[Path_]:
    """The way to each value in JSON data."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*at, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*at, key))


def form(at: Path_) -> str:
    """A way without positions: what is of one kind has one form."""
    return ".".join("*" if isinstance(key, int) else str(key) for key in at)


def put(data: Any, at: Path_, value: Any) -> None:
    """Put a value in a place of JSON data."""
    for key in at[:-1]:
        data = data[key]
    data[at[-1]] = value


# -- documents with their digests ----------------------------------------------------------

_SIGNED: Final = re.compile(rb"[0-9a-f]{64} ")


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def parts(line: bytes) -> list[Any]:
    """The JSON in a line: one value, or several with tabs between; digests are left out."""
    text = line[65:] if _SIGNED.match(line) else line
    return [json.loads(part) for part in text.split(b"\t")]


def sealed(line: bytes, found: list[Any]) -> bytes:
    """A line like another one, with other JSON in it and digests made right."""
    for part in found:  # a record that holds its own digest
        if isinstance(part, dict) and {"digest", "result"} <= set(part):
            part["digest"] = hashlib.sha256(_canonical(part["result"]).encode()).hexdigest()
    text = b"\t".join(_canonical(part).encode() for part in found)
    if not _SIGNED.match(line):
        return text
    return hashlib.sha256(text).hexdigest().encode() + b" " + text


def lines(path: Path) -> list[bytes]:
    """The lines of a file of which each is a document; of an indented file one."""
    data = path.read_bytes()
    try:
        json.loads(data)
    except ValueError:
        return data.removesuffix(b"\n").split(b"\n")
    return [data]


# -- bytes -----------------------------------------------------------------------------------


def _cut(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _flip(kind: bytes) -> Callable[[bytes, random.Random, bytes], bytes]:
    def flip(data: bytes, chance: random.Random, other: bytes) -> bytes:
        found = [one.start() for one in re.finditer(kind, data)]
        changed = bytearray(data)
        for place in chance.sample(found, min(len(found), 3)):
            changed[place] ^= 1 << chance.randrange(8)
        return bytes(changed)

    return flip


def _insert(*texts: bytes) -> Callable[[bytes, random.Random, bytes], bytes]:
    def insert(data: bytes, chance: random.Random, other: bytes) -> bytes:
        """Where a value begins."""
        found = [one.end() for one in re.finditer(rb"[:,\[]", data)] or [0]
        place = chance.choice(found)
        return data[:place] + chance.choice(texts) + data[place:]

    return insert


def _joined(data: bytes, chance: random.Random, other: bytes) -> bytes:
    place = chance.randrange(min(len(data), len(other)) + 1)
    return data[:place] + other[place:]


def _spaces(data: bytes, chance: random.Random, other: bytes) -> bytes:
    return re.sub(rb"([:,])", rb" \1 ", data)


DAMAGE: Final[dict[str, Callable[[bytes, random.Random, bytes], bytes]]] = {
    "cut": _cut,
    "a letter flipped": _flip(rb"[a-z]"),
    "a digit flipped": _flip(rb"[0-9]"),
    "a sign flipped": _flip(rb"[\[\]{}:,\"]"),
    "an end of line flipped": _flip(rb"\n"),
    "any byte flipped": _flip(rb"(?s:.)"),
    "empty": lambda data, chance, other: b"",
    "random bytes": lambda data, chance, other: chance.randbytes(len(data)),
    "zeros": lambda data, chance, other: bytes(len(data)),
    "NaN": _insert(b"NaN,", b"Infinity,", b"-Infinity,", b"1e999,"),
    "many digits": _insert(b"9" * 5_000 + b",", b"-" + b"8" * 5_000 + b","),
    "deep": lambda data, chance, other: b"[" * 100_000 + data,
    "deep and whole": lambda data, chance, other: b"[" * 50_000 + b"]" * 50_000,
    "keys twice": _insert(b'"schema":1,"text":"","schema":2,', b'{"a":1,"a":2},'),
    "spaces": _spaces,
    "of another": lambda data, chance, other: other,
    "half of another": _joined,
    "twice": lambda data, chance, other: data + data,
    "no UTF-8": _insert(b"\xff\xfe", b"\xc3", b"\xed\xa0\x80"),
}


# -- pages -----------------------------------------------------------------------------------

_ON: Final = re.compile(r"on\w+", re.IGNORECASE)
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def active(out: Path) -> set[str]:
    """All in the HTML of a folder that runs or leads elsewhere."""
    found = set()
    for path in out.rglob("*.html"):
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for tag in soup.find_all(True):
            found |= set(_active(tag))
    return found


def _active(tag: Tag) -> Iterator[str]:
    if tag.name in {"script", "iframe", "object", "embed", "base", "meta", "img", "form"}:
        yield f"<{tag.name}> {tag.get_text()[:60]!r} {tag.get('src', '')}"[:160]
    for name, value in tag.attrs.items():
        if _ON.fullmatch(name) or (name == "style" and "(" in str(value)):
            yield f"<{tag.name} {name}={str(value)[:60]!r}>"
        if name in {"href", "src", "action"} and ":" in str(value).partition("/")[0]:
            yield f"<{tag.name} {name}={str(value)[:80]!r}>"


def raw_controls(out: Path) -> list[str]:
    """Pages with control or bidirectional characters as they are."""
    return [
        f"{path.name} holds U+{ord(found[0]):04X}"
        for path in sorted(out.rglob("*.html"))
        if (found := _CONTROL.search(path.read_text("utf-8")))
    ]


def odd_messages(stderr: str) -> list[str]:
    """Messages that a hostile text has broken into lines, or that reach the terminal raw."""
    found = []
    for line in stderr.split("\n"):
        if _CONTROL.search(line):
            found.append(f"control characters in a message: {line[:80]!r}")
        if "pwned" in line and not re.search(r"(^|\S: )(WARNING|ERROR): ", line):
            found.append(f"a message of several lines: {line[:80]!r}")
        if len(line) > 5_000:
            found.append(f"a message of {len(line)} characters: {line[:80]!r}")
    return found[:3]
