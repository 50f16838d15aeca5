"""Options of conf.py: what each kind of value may be, and what becomes of it.

A check returns what is wrong with a value of any type, or ``""``; a conversion takes checked
values.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ..program.text import echoed, nearest, shorten
from ..tracing.jobs import PAGE, seconds

_T = TypeVar("_T")

#: When a changed option makes Sphinx read or write pages again.
Rebuild = Literal["", "env", "html"]
#: Where programs come from.
Mode = Literal["trace", "locked", "skip"]
#: Which blocks start open.
Opened = Literal["auto", "all", "none", "base"]
#: Which marks pages show.
ClaimMark: TypeAlias = bool | Literal["all"]
#: Largest number of equations, bytes or megabytes.
MAX_NUMBER: Final = 2**40
#: Longest path, in characters; no system accepts a longer one.
MAX_PATH: Final = 4_000

#: Words for what can be folded away.
ELIDED: Final = ("params", "casts", "dead")

#: The directive of MyST-NB's cells.
CELLS: Final = "code-cell"
#: Directives with code that blocks of a page can use; by default it is the first.
PAGE_CODE: Final = ("jaxpr-code", CELLS)

#: Fields of a definition in ``jaxpr_glossary``.
DEFINITION: Final = ("meaning", "kind", "page", "words", "aliases")


# --- options


class Option(NamedTuple):
    """One value of conf.py.

    ``problem`` says what is wrong with a value, or ``""``; ``convert`` turns a valid one into
    what the field of :class:`ProjectSettings` holds.  ``instead`` replaces a wrong value, or
    the default does where it is ``None``: options that limit which code runs fail closed.
    """

    name: str
    default: object
    rebuild: Rebuild
    meaning: str
    problem: Callable[[Any], str]
    convert: Callable[[Any], object]
    instead: object = None

    @property
    def registered(self) -> object:
        """The default as Sphinx gets it.

        Of a number or flag it is a function: otherwise Sphinx itself reads what ``-D`` sets,
        rejects ``inf`` and ``2.5``, and ends the build at a flag that is neither ``0`` nor ``1``.
        """
        if isinstance(self.default, int):
            return lambda _config: self.default
        return self.default

    @property
    def fallback(self) -> object:
        """What replaces a wrong value."""
        return self.default if self.instead is None else self.instead

    def wrong(self, value: object) -> str:
        """What is wrong with a value of any type, whatever its methods do, or ``""``."""
        try:
            return self.problem(value)
        except Exception as error:  # of a method of the value's own class
            return f"can't be read ({type(error).__name__})"


def registered(options: Iterable[Option]) -> list[tuple[str, object, Rebuild]]:
    """For each option its name, the default that Sphinx gets, and what a change rebuilds."""
    return [(option.name, option.registered, option.rebuild) for option in options]


def problems(options: Mapping[str, Option], given: Mapping[str, object]) -> dict[str, str]:
    """What is wrong with values, by the keys of their options; only those that are wrong."""
    wrong = {name: option.wrong(given[name]) for name, option in options.items()}
    return {name: problem for name, problem in wrong.items() if problem}


def converted(
    options: Mapping[str, Option], given: Mapping[str, object]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields that values become, fallbacks in the place of wrong ones; what is wrong."""
    wrong = problems(options, given)
    return {
        name: option.convert(option.fallback if name in wrong else given[name])
        for name, option in options.items()
    }, wrong


# --- checks


def _is_target(name: str) -> bool:
    from ..tracing.request import is_target  # few projects set an option that names code

    return is_target(name)


def instance_of(kind: type, words: str) -> Callable[[Any], str]:
    """A check that a value is of a type."""

    def problem(value: Any) -> str:
        return "" if isinstance(value, kind) else f"must be {words}"

    return problem


def one_of(*choices: str) -> Callable[[Any], str]:
    """A check that a value is one of several words."""

    def problem(value: Any) -> str:
        good = isinstance(value, str) and value in choices
        return "" if good else f"must be one of {', '.join(map(repr, choices))}"

    return problem


def mark_problem(value: Any) -> str:
    """A flag, or the word for all marks."""
    good = isinstance(value, bool) or (isinstance(value, str) and value == "all")
    return "" if good else "must be True, False or 'all'"


def elided_problem(value: Any) -> str:
    """Words of ``ELIDED``, or ``none``."""
    words = _words(value) if isinstance(value, str) else [""]
    good = words == ["none"] or all(word in ELIDED for word in words)
    return "" if good else f"must be 'none', or any of {', '.join(ELIDED)}, separated by commas"


def _words(text: str) -> list[str]:
    return re.split(r"[\s,]+", text.strip())


def seconds_problem(value: Any) -> str:
    """A positive number, which may be infinite."""
    good = not isinstance(value, str) and seconds(value)
    return "" if good else "must be a positive number of seconds, or float('inf') for no limit"


def limit_problem(value: Any) -> str:
    """Seconds, or ``None``."""
    return "" if value is None else seconds_problem(value)


def natural_problem(value: Any) -> str:
    """A whole number that is not negative."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER
    return "" if good else "must be a whole number from 0 to 2**40"


def _text_problem(text: str) -> str:
    """Why a text can't be used in pages, files and processes, or ``""``."""
    if "\0" in text:
        return "contains a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains half of a surrogate pair"
    return ""


def _path_problem(path: str) -> str:
    """Why a text can't be the path of a file or folder, or ``""``."""
    if problem := _text_problem(path):
        return problem
    if len(path) > MAX_PATH:
        return f"has more than {MAX_PATH:,} characters"
    if path.startswith("~"):
        return "begins with '~', which is not expanded; use os.path.expanduser"
    return ""


def _of_each(kind: str, items: Iterable[str], problem: Callable[[str], str]) -> str:
    for item in items:
        if why := problem(item):
            return f"has the {kind} {shorten(item)}, which {why}"
    return ""


def path_named(words: str, *, empty: bool) -> Callable[[Any], str]:
    """A check that a value can be a path; ``words`` describe the path."""

    def problem(value: Any) -> str:
        if not isinstance(value, str) or not (empty or value.strip()):
            return f"must be {words}"
        why = _path_problem(value)
        return f"{why} (it must be {words})" if why else ""

    return problem


def paths_problem(value: Any) -> str:
    """A list of paths."""
    return _strings(value) or _of_each("path", value, _path_problem)


def names_problem(value: Any) -> str:
    """A list of texts."""
    return _strings(value) or _of_each("name", value, _text_problem)


def modules_problem(value: Any) -> str:
    """A list of dotted names."""
    return _strings(value) or _of_each(
        "name",
        value,
        lambda name: (
            "" if name == PAGE or (_is_target(name) and ":" not in name) else "cannot name a module"
        ),
    )


def _strings(value: Any) -> str:
    good = isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return "" if good else "must be a list of strings"


#: Directives that only show code, or run it elsewhere.
_OTHER_CODE: Final = frozenset(
    "code code-block doctest ipython jupyter-execute literalinclude plot sourcecode testcode"
    " testsetup".split()
)


def page_code_problem(value: Any) -> str:
    """A list of directives in ``PAGE_CODE``."""
    if problem := _strings(value):
        return problem
    for item in value:
        if item not in PAGE_CODE:
            reason = f"is unknown{nearest(item, PAGE_CODE)}"
            if item in _OTHER_CODE:
                reason = "is not supported; write its code in 'jaxpr-code'"
            return f"must list 'jaxpr-code', 'code-cell' or both ({shorten(item)} {reason})"
    return ""


def patterns_problem(value: Any) -> str:
    """A list of relative patterns for files."""
    if problem := _strings(value):
        return problem
    for item in value:
        if not item.strip():
            return f"has {item!r}, which is not a pattern for files"
        if os.path.isabs(item) or item.startswith("~"):
            return f"has {shorten(item)}; patterns must be relative to the folder of conf.py"
    return _of_each("pattern", value, _path_problem)


def _string_map(value: Any) -> str:
    good = isinstance(value, dict) and all(
        isinstance(k, str) and isinstance(v, str) for k, v in value.items()
    )
    return "" if good else "must be a dict of strings to strings"


def environment_problem(value: Any) -> str:
    """Environment variables; messages never show their values."""
    if problem := _string_map(value):
        return problem
    for name, text in value.items():
        if not name or "=" in name or _text_problem(name):
            return f"has the name {shorten(name)}, which no environment variable can have"
        if problem := _text_problem(text):  # the value may be a secret: not shown
            return f"has a value of {shorten(name)} that {problem}"
    return ""


def glossary_problem(value: Any) -> str:
    """Texts for terms, and dicts of texts for definitions."""
    if not isinstance(value, dict):
        return "must be a dict"
    for name, definition in value.items():
        is_term = isinstance(definition, str)
        text = is_term or (not _string_map(definition) and "meaning" in definition)
        if not isinstance(name, str) or not text:
            return (
                f"must map {echoed(name, 60)} to a term, or to a dict of texts that has 'meaning'"
            )
        extra = set() if is_term else set(definition) - set(DEFINITION)
        if extra:
            listed = ", ".join(map(shorten, sorted(extra)[:5]))
            fields = ", ".join(DEFINITION)
            return f"must define {shorten(name)} with no fields but {fields} (it has {listed})"
        texts = [name, definition] if is_term else [name, *definition.values()]
        if why := _of_each("text", texts, _text_problem):
            return why
        if not is_term and "kind" in definition and (why := _kind_problem(definition["kind"])):
            return f"must give {shorten(name)} {why}"
    return ""


def _kind_problem(kind: str) -> str:
    """What is wrong with the kind of a primitive, or ``""``."""
    from ..program.glossary.kinds import KINDS, MEANT_KINDS  # few projects define primitives

    if kind in KINDS:
        return ""
    meant = MEANT_KINDS.get(kind.lower(), "")
    near = f", did you mean {meant!r}?" if meant else nearest(kind, KINDS)
    return f"a kind of the list, not {shorten(kind)}{near} (the kinds: {', '.join(KINDS)})"


def transforms_problem(value: Any) -> str:
    """Names of transforms, each with ``module:function``."""
    if _string_map(value):
        return _string_map(value)
    for name, path in value.items():
        if not (name.isidentifier() and ":" in path and _is_target(path)):
            pair = f"{shorten(name)} to {shorten(path)}"
            return f"must map a name to 'module:function', not {pair}"
    return ""


# --- conversions


def as_given(value: _T) -> _T:
    """The value itself: its check leaves nothing to convert."""
    return value


def to_words(text: str) -> frozenset[str]:
    """The words of a text, without order."""
    return frozenset(_words(text))


def to_limit(value: float | None) -> float:
    """Seconds; no limit is infinity."""
    return math.inf if value is None else seconds(value)


def to_mapping(value: Mapping[str, _T]) -> Mapping[str, _T]:
    """A copy that nobody can change."""
    return MappingProxyType(dict(value))


def to_strings(value: Iterable[str]) -> tuple[str, ...]:
    """The texts, in order."""
    return tuple(value)


def to_paths(value: Iterable[str]) -> tuple[Path, ...]:
    """The paths, in order, as they are written."""
    return tuple(map(Path, value))


def to_optional_path(text: str) -> Path | None:
    """The path, ``None`` for an empty text."""
    return Path(text) if text else None
