"""What a target takes, and how it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..tracing.grammar import shorten
from .failures import RequestError, message_of
from .stage import fresh

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Short:
    """A default in a message: by its name, or as source where that is short."""

    def __init__(self, value: Any) -> None:
        text = getattr(value, "__name__", None) if callable(value) else repr(value)
        short = isinstance(text, str) and len(text) <= 20 and not text.startswith("<")
        self.text = text if short else "..."

    def __repr__(self) -> str:
        return str(self.text)


@dataclass
class Callee:
    """The parameters of a target, and which of its arguments are known.

    An argument of ``*rest`` has the name ``rest0``, ``rest1`` and so on; ``starred`` has
    the place of each that is given.  A target that is ``unsigned`` tells nothing of its
    parameters; those that are ``claimed`` are of a function that another one wraps, which
    may give some itself.  ``spoken`` are the names that the page uses.
    """

    shown: str
    parameters: dict[str, inspect.Parameter]
    unsigned: bool = False
    claimed: bool = False
    spoken: frozenset[str] = frozenset()
    starred: dict[str, int] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        kinds = {name: p.kind for name, p in self.parameters.items()}
        self.positional = [name for name, kind in kinds.items() if kind in _POSITIONAL]
        self.star = next((n for n, p in self.parameters.items() if p.kind is p.VAR_POSITIONAL), "")
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        # ``*args, **kwargs`` themselves are no names to give an argument by.
        self.named = {
            name for name, p in self.parameters.items()
            if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }  # fmt: skip

    def __str__(self) -> str:
        plain = [
            p.replace(
                annotation=p.empty, default=p.empty if p.default is p.empty else _Short(p.default)
            )
            for p in self.parameters.values()
        ]
        return f"{self.shown}{inspect.Signature(plain)}"

    def at(self, position: int) -> str:
        """The name of the argument at a position, ``""`` where there is none."""
        if position < len(self.positional):
            return self.positional[position]
        if not self.star:
            return ""
        place = position - len(self.positional)
        name = fresh((*self.parameters, *self.spoken), f"{self.star}{place}")
        self.starred[name] = place
        return name

    def takes(self, name: str) -> bool:
        """Whether an argument may be given by this name."""
        return name in self.named or self.takes_any

    def plan(self) -> list[tuple[str, bool]]:
        """All known arguments in the order of the call, and whether each goes by keyword."""
        found: list[tuple[str, bool]] = []
        skipped = ""
        for name in self.positional:
            if name not in self.known:
                skipped = skipped or name
                continue
            only = self.parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY
            if only and skipped:
                raise self._gap(name, skipped)
            found.append((name, bool(skipped)))
        for place, name in enumerate(sorted(self.starred, key=self.starred.__getitem__)):
            if place != self.starred[name]:
                skipped = skipped or f"{self.star}{place}"
            if skipped:
                raise self._gap(name, skipped)
            found.append((name, False))
        done = {name for name, _ in found}
        rest = [name for name in self.parameters if name in self.known]
        rest += sorted(self.known - set(self.parameters))
        return [*found, *((name, True) for name in rest if name not in done)]

    def _gap(self, name: str, skipped: str) -> RequestError:
        return RequestError(
            "option",
            f"{shorten(name)} of {self} goes by position, so {shorten(skipped)} before it needs"
            " a value too",
            option="args",
        )

    def complete(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn``, where it gets all that it needs; only a call shows that of a wrapped one."""
        missing = [
            name
            for name, p in self.parameters.items()
            if p.default is p.empty and name in self.named and name not in self.known
        ]
        if not missing:
            return fn
        problem = RequestError(
            "option",
            f"no spec for {', '.join(map(repr, missing))} of {self};"
            f" write args as in {', '.join(f'{name}=f32[8]' for name in missing)}",
            option="args",
        )
        if not self.claimed:
            raise problem

        @functools.wraps(fn)
        def called(*given: Any, **named: Any) -> Any:
            try:
                return fn(*given, **named)
            except TypeError as error:
                said = message_of(error)
                if " missing " in said and any(repr(name) in said for name in missing):
                    raise problem from None
                raise

        return called


def callee_of(fn: Callable[..., Any], shown: str) -> Callee:
    """The parameters of ``fn``, which the page calls ``shown``.

    A wrapper's own are the true ones.  Where it takes any, those of the function that it
    wraps say what they may be.
    """
    try:
        claimed = inspect.signature(fn)
    except (TypeError, ValueError):
        any_ = inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)
        return Callee(shown, {"x": any_}, unsigned=True)
    own = _own_signature(fn)
    if own is None or _kinds(own) == _kinds(claimed):
        return Callee(shown, dict(claimed.parameters))
    kinds = [p.kind for p in own.parameters.values()]
    any_place, any_name = _ANY[0] in kinds, _ANY[1] in kinds
    if not any_place and not any_name:
        return Callee(shown, dict(own.parameters))
    parameters = dict(claimed.parameters)
    if not any_place:
        count = sum(kind in _POSITIONAL for kind in kinds)
        for name, p in list(parameters.items())[count:]:
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                parameters[name] = p.replace(kind=p.KEYWORD_ONLY)
    return Callee(shown, parameters, claimed=True)


def _kinds(signature: inspect.Signature) -> list[tuple[str, Any]]:
    return [(name, p.kind) for name, p in signature.parameters.items()]


def _own_signature(fn: Any) -> inspect.Signature | None:
    """The signature of the outermost wrapper that is not JAX's: JAX hands on what it gets."""
    while hasattr(fn, "__wrapped__") and not inspect.ismethod(fn) and _is_jax(fn):
        fn = fn.__wrapped__
    try:
        return inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def _is_jax(fn: Any) -> bool:
    home = fn.__globals__["__name__"] if inspect.isfunction(fn) else type(fn).__module__
    return str(home).partition(".")[0] in ("jax", "jaxlib")
