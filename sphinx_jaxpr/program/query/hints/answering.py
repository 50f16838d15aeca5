"""Errors that propose what to write instead of an expression that has no value.

Authors write what they know: JAX's attributes (``eqn.invars``), Python (``is``, ``.count()``),
other languages (``&&``).  Such forms are rewritten, and what has a value then is proposed: no
message proposes what is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from ...text import followed
from ..base import MAX_STEPS, TooMuchWork
from ..evidence import SaysNothing
from ..lets import BrokenLet
from ..scope import Scope
from ..syntax import NoProgram, PathError
from .reading import compares_itself, is_deep, readable, tree_of, written
from .rewriting import Rewriting

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What a proposal may take: this part of what an expression may.
SHARE: Final = 5
#: Longest expression that a message repeats as a whole.
MAX_PROPOSAL: Final = 300


def answering(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function of a text and a scope whose errors propose what it takes instead.

    Each proposal was tried: the function itself has an answer to it.
    """

    @wraps(function)
    def answer(*args: _P.args, **options: _P.kwargs) -> _T:
        try:
            return function(*args, **options)
        except (NoProgram, BrokenLet, SaysNothing, TooMuchWork):
            raise
        except PathError as error:
            given: tuple[Any, ...] = (*args, *options.values(), "")
            text, programs, inside = given[:3]
            scope = Scope.of(programs)
            if scope.steps < MAX_STEPS:  # it is one that is tried
                raise
            scope = replace(scope, steps=MAX_STEPS // SHARE)
            proposal = _tried(function, str(text), scope, str(inside))
            reason = _without_advice(error.message, proposal)
            quoted = f"`{proposal}`"
            if not proposal or f"write {quoted}" in reason or reason.endswith(quoted):
                raise
            raise PathError(followed(reason, f"write {quoted}"), error.offset) from None

    return answer


#: Lists of names and of parts at the end of a message, which a proposal replaces.
_LISTS: Final = re.compile(
    r"(; nearest: .*| \((it has|blocks|variants|all|names|there are): [^)]*\)"
    r"|: allowed are .*|, by their names: .*|: write `[^`]*`)+$"
)
_GUESS: Final = re.compile(r"[,;] did you mean ([^?]*)\?")


def _without_advice(message: str, proposal: str) -> str:
    """A message without the advice that a proposal replaces; a guess that agrees with it stays."""
    reason = _LISTS.sub("", message)
    guess = _GUESS.search(reason)
    if guess and not any(name in proposal for name in re.findall("`(.*?)`", guess[1])):
        reason = reason.replace(guess[0], "")
    return reason


def _tried(function: Callable[..., Any], text: str, scope: Scope, inside: str) -> str:
    """The first rewritten form to which a function has an answer, or ``""``."""
    prefix = inside if text.lstrip().startswith(("[", ".")) else ""
    for whole in candidates(prefix + text.lstrip(), scope, inside):
        proposal = whole.removeprefix(prefix)
        if prefix and (proposal == whole or proposal[:1] not in "[."):
            continue
        try:
            function(proposal, scope, *[inside] * bool(inside))
        except PathError:
            continue
        return proposal
    return ""


def candidates(text: str, scope: Scope, inside: str = "") -> Iterator[str]:
    """Rewritten forms of an expression, the most careful first; they may be wrong, too.

    Of a text that begins inside of a block, ``inside`` is the name of that.
    """
    text = " ".join(text.split())
    last = ""
    for rewrites_all in (False, True):
        if len(text) > MAX_PROPOSAL or (tree := readable(text)) is None or is_deep(tree):
            return
        before = written(tree) if tree_of(text) is not None else text
        try:
            after = written(Rewriting(scope, inside, rewrites_all).visit(tree))
        except (RecursionError, ValueError):
            return
        is_new = after not in (before, last) and len(after) <= MAX_PROPOSAL
        if is_new and not compares_itself(after):  # that has an answer, but says nothing
            last = after
            yield after
