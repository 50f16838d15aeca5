"""The options ``make`` and ``then``: a call of the target, and the part of its result to trace."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .grammar import GrammarError, Reader, Value, quoted, shorten
from .request import is_target
from .specs import unfit

#: What is wrong with ``then`` alone; the text of the option goes in.
WITHOUT_MAKE: Final = (
    "{} is a part of what make returns, but there is no make; an attribute of the target itself is"
    " written in the target, as in module:target.attribute"
)
_NO_ARGUMENTS: Final = re.compile(r"\s*\(\s*\)\s*")
_PART: Final = r"(?:[^\W\d]\w*|[0-9]{1,3})"
_PATH: Final = re.compile(rf"{_PART}(?:\.{_PART})*")


def make(text: str) -> tuple[tuple[str, Value], ...] | None:
    """Parse ``1e-3, b1=0.9``; ``()`` is a call without arguments, no text is no call."""
    if _NO_ARGUMENTS.fullmatch(text):
        return ()
    reader = Reader(text)
    items: list[tuple[str, Value]] = []
    names: set[str] = set()
    while reader.more():
        start = reader.offset
        name = reader.keyword()
        value = reader.value()
        if problem := unfit(value):
            subject = shorten(name) if name else f"argument {len(items)}"
            raise GrammarError(f"{subject} {problem}", start)
        if name in names:
            raise GrammarError(f"argument {shorten(name)} is given twice", start)
        if names and not name:
            raise GrammarError("an argument without a name follows one with a name", start)
        names |= {name} - {""}
        items.append((name, value))
    return tuple(items) if items else None


def then(text: str) -> str:
    """Check a dotted path of attributes and positions: ``update``, ``1``, ``0.update``."""
    path = text.strip()
    if path and not _PATH.fullmatch(path):
        raise GrammarError(
            f"expected an attribute, as in update, or a position, as in 1, not {quoted(path)}",
            0,
        )
    return path


# --- a target that is written as a call

_CALLED: Final = re.compile(r"([\w.:]+)(\(.*\))((?:\.\w+)*)", re.DOTALL)


class MeantCall(NamedTuple):
    """The target and the options that a text such as ``optax:adam(1e-3).update`` means."""

    target: str
    make: str
    then: str

    def hint(self, form: str = ":{}: {}") -> str:
        """What to write instead, as a part of a message; ``form`` is that of an option."""
        pairs = [("make", self.make), *([("then", self.then)] if self.then else [])]
        options = " and ".join(form.format(*pair) for pair in pairs)
        return f"a target is not called; write {self.target} with {options}"


def called_target(text: str) -> MeantCall | None:
    """The options for a target that is written as a call, if it can be read as one."""
    match = _CALLED.fullmatch(text.strip())
    if match is None or not is_target(match[1]):
        return None
    given = match[2][1:-1].strip() or "()"
    try:
        make(given)
    except GrammarError:
        return None
    return MeantCall(match[1], given, match[3].lstrip("."))
