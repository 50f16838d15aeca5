"""Options as texts, read in one way for the directive, the command ``show`` and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..program.text import followed
from . import grammar
from .grammar import WIDE, Chain, GrammarError, Mesh, Name, Value, quoted, shorten
from .hints.candidates import candidates
from .request import Request, check_chain, is_target

# --- what is traced: ``args``, ``static``, ``transforms``, ``mesh``, ``make``, ``then``

_GRAMMAR: Final[Mapping[str, Callable[[str], Any]]] = {
    "args": grammar.arguments,
    "static": grammar.static,
    "transforms": grammar.transforms,
    "mesh": grammar.mesh,
    "make": grammar.make,
    "then": grammar.then,
}
#: What is wrong with ``then`` alone; the text of the option goes in.
_WITHOUT_MAKE: Final = (
    "{} is a part of what make returns, but there is no make; an attribute of the target itself is"
    " written in the target, as in module:target.attribute"
)
_MAX: Final = 30  # characters of the text that a message repeats


@dataclass(frozen=True)
class OptionProblem:
    """What is wrong with an option's text, and the offset in it."""

    option: str
    message: str
    text: str
    offset: int
    #: A text that means what was perhaps meant, and can be read.
    proposal: str = ""

    @property
    def line(self) -> int:
        """The line of the text, from 0."""
        return self.text.count("\n", 0, self.offset)

    def __str__(self) -> str:
        near = self.text[self.offset :].split("\n")[0][:_MAX]
        message = self.message
        if quoted(self.text[self.offset :]) not in message:  # which says where
            message += f" at {shorten(near)}" if near else " at its end"
        if self.proposal:
            message = followed(message, f"write {self.proposal}")
        return f"{self.option}: {message}"


@dataclass(frozen=True)
class TraceOptions:
    """The options of one function; one with a problem has its default."""

    args: tuple[tuple[str, Value], ...] = ()
    static: tuple[tuple[str | int, Value], ...] = ()
    transforms: tuple[Chain, ...] = ()
    mesh: Mesh | Name | None = None
    make: tuple[tuple[str, Value], ...] | None = None
    then: str = ""
    problems: tuple[OptionProblem, ...] = ()

    def is_readable(self, *options: str) -> bool:
        """Whether none of ``options`` has a problem."""
        return not any(problem.option in options for problem in self.problems)

    def request(
        self,
        target: str,
        *,
        jit: bool = False,
        x64: bool = False,
        allowed: tuple[str, ...] = (),
        around: tuple[str, ...] = (),
        bare: bool = False,
    ) -> Request:
        """The request of the function itself; see :class:`Request` for the arguments."""
        return Request(
            target,
            self.args,
            self.static,
            jit=jit,
            x64=x64,
            allowed=allowed,
            mesh=self.mesh,
            around=around,
            bare=bare,
            make=self.make,
            then=self.then,
        )


@lru_cache(maxsize=512)
def _value(option: str, text: str) -> Any:
    """What the text of an option means; most directives repeat one, or leave it out."""
    return _GRAMMAR[option](text)


def _tried(option: str, text: str) -> str:
    """The first rewritten form of a text that can be read, or ``""``."""
    for candidate in candidates(option, text):
        try:
            value = _GRAMMAR[option](candidate)
        except GrammarError:
            continue
        if option != "transforms" or not any(map(_unknown, value)):
            return candidate
    return ""


def _unknown(chain: Chain) -> bool:
    return bool(check_chain(chain, {}))


def read_options(
    args: str = "",
    static: str = "",
    transforms: str = "",
    mesh: str = "",
    make: str = "",
    then: str = "",
) -> TraceOptions:
    """Read the options as texts; what can't be read goes to ``problems``."""
    texts = {"args": args, "static": static, "transforms": transforms, "mesh": mesh}
    texts |= {"make": make, "then": then}
    values: dict[str, Any] = {}
    problems: list[OptionProblem] = []
    for option, text in texts.items():
        try:
            values[option] = _value(option, text)
        except GrammarError as error:
            proposal = _tried(option, text)
            message = error.reason if proposal else str(error)
            problems.append(OptionProblem(option, message, text, error.offset, proposal))
    if then.strip() and not make.strip():
        problems.append(OptionProblem("then", _WITHOUT_MAKE.format(quoted(then)), then, 0))
    return TraceOptions(**values, problems=tuple(problems))


#: A 64-bit type in a text of specs.
_WIDE: Final = re.compile(rf"\b({'|'.join(sorted(WIDE))})\[")


def names_function(target: str) -> bool:
    """Whether a text may name a function in a module: ``module:name``, or dotted."""
    return is_target(target) and (":" in target or "." in target)


def is_bare(target: str) -> bool:
    """Whether a text is a single name, which may be one of the page's code."""
    return is_target(target) and not names_function(target)


def narrowed(args: str) -> dict[str, str]:
    """The 64-bit types in a text of specs, each with its replacement when x64 is off."""
    return {dtype: _narrow(dtype) for dtype in sorted(set(_WIDE.findall(args)))}


def _narrow(dtype: str) -> str:
    return dtype.replace("128", "64") if dtype == "c128" else dtype.replace("64", "32")


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
        grammar.make(given)
    except GrammarError:
        return None
    return MeantCall(match[1], given, match[3].lstrip("."))


# --- lists of labels: which blocks start open, ``open``, and which are shown, ``show``

#: Values of ``open`` that can't be combined with others.
OPEN_WORDS: Final = ("auto", "all", "none", "base")
#: The same of ``show``.
SHOW_WORDS: Final = ("all", "none", "base")
#: Printed lines up to which a block starts open under ``auto``.
OPEN_LINES: Final = 40


def read_labels(
    text: str, labels: Collection[str], alone: Collection[str]
) -> tuple[str, list[str]]:
    """A list of labels in its canonical form, and the words in it that aren't labels.

    Several words are labels, or ``base``; one of ``alone`` is the only word.
    """
    words = [word for word in re.split(r"[\s,]+", text) if word]
    value = ",".join(words)
    if value in alone:
        return value, []
    return value, [word for word in words if word not in labels and word != "base"]


def read_open(text: str, labels: Collection[str]) -> tuple[str, list[str]]:
    """``open`` as :func:`read_labels` reads it."""
    return read_labels(text, labels, OPEN_WORDS)


def starts_open(opened: str, label: str, text: str) -> bool:
    """Whether the block with a label (``""`` for the base) and a printed text starts open."""
    if opened == "auto":
        return text.count("\n") < OPEN_LINES
    return opened == "all" or (label or "base") in opened.split(",")
