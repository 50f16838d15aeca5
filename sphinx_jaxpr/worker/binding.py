"""Binds the arguments of a page to the parameters of a target.  Imports JAX.

What may be passed by position is passed by position, as long as nothing before it is
left out: wrappers such as ``jax.vmap(f, in_axes=1)`` treat keywords in other ways.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..tracing.grammar import Value, nearest, shorten
from .callee import Callee, callee_of
from .failures import RequestError
from .reach import Names
from .stage import Stage
from .values import abstracted, roots_of, source_text, spec_value, static_value


def bind(
    fn: Callable[..., Any],
    shown: str,
    args: Sequence[tuple[str, Value]],
    static: Sequence[tuple[str | int, Value]],
    names_of: Names,
    mesh: Any = None,
) -> Stage:
    """The target as a function of the traced arguments alone.

    ``mesh`` is the one that specs such as ``f32[4@a,8]`` are split over.
    """
    callee = callee_of(fn, shown)
    callee.spoken = frozenset(str(key) for key, _ in (*args, *static))
    fixed = _fixed(callee, static)
    given, labels = _given(callee, args, fixed)
    fn = callee.complete(fn)
    plan = callee.plan()
    trees: list[tuple[Any, str]] = []
    values = {
        name: spec_value(value, names_of, labels[name], trees) for name, value in given.items()
    }
    values = abstracted(values, labels, mesh)
    bound = {
        name: (static_value(value, names_of, name), source_text(value))
        for name, value in fixed.items()
    }
    order = [name for name, _ in plan if name in values]
    hidden = {"jax", "sum", "leaf", shown.partition(".")[0], *roots_of(fixed.values())}
    safe = _safe(order, labels, hidden)
    traced = [values[name] for name in order]
    if not bound and not any(by_name for _, by_name in plan):
        stage = Stage.of(fn, traced, [safe[name] for name in order], shown)
    else:
        stage = _written(fn, shown, plan, order, traced, bound, safe)
    stage.trees = tuple(trees)
    stage.own = {safe[name]: labels[name] for name in order if safe[name] != labels[name]}
    return stage


def _fixed(callee: Callee, static: Sequence[tuple[str | int, Value]]) -> dict[str, Value]:
    """What ``static`` gives, by the name of the argument."""
    fixed: dict[str, Value] = {}
    for key, value in static:
        if isinstance(key, int):
            name = callee.at(key) if key < 1_000 else ""
            if not name:
                only = [n for n in callee.parameters if n in callee.named - {*callee.positional}]
                hint = (
                    f"; give others by name, as in {only[0]}={source_text(value)}" if only else ""
                )
                taken = _counted(len(callee.positional), "positional argument")
                raise _refused(f"static position {str(key)[:20]}: {callee} takes {taken}{hint}")
        elif callee.unsigned:
            raise _refused(
                f"static names {shorten(key)}, but {callee.shown} does not tell its parameters;"
                " give a position, as in 0=3"
            )
        elif not callee.takes(key):
            raise _refused(
                f"static names {shorten(key)}, which is no parameter of"
                f" {callee}{nearest(key, callee.named)}"
            )
        else:
            name = key
        if name in fixed:
            raise _refused(f"static gives {shorten(name)} by position and by name")
        fixed[name] = value
        callee.known.add(name)
    return fixed


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _refused(message: str) -> RequestError:
    return RequestError("option", message, option="static")


def _given(
    callee: Callee,
    args: Sequence[tuple[str, Value]],
    fixed: dict[str, Value],
) -> tuple[dict[str, Value], dict[str, str]]:
    """What ``args`` gives, by the name of the argument; and the label of each."""
    given: dict[str, Value] = {}
    labels: dict[str, str] = {}
    position = 0
    for label, value in args:
        name = label
        if not label or callee.unsigned:
            while (name := callee.at(position)) in fixed and name:
                position += 1
            position += 1
            if not name:
                raise _too_many(callee, args, fixed)
        elif not callee.takes(label):
            raise RequestError(
                "option",
                f"args names {shorten(label)}, which is no parameter of"
                f" {callee}{nearest(label, callee.named)}",
                option="args",
            )
        if name in given:
            message = f"argument {shorten(name)} is given by position and by name"
            raise RequestError("option", message, option="args")
        if name in fixed:
            message = f"argument {shorten(name)} is in args and in static"
            raise RequestError("option", message, option="args")
        given[name] = value
        labels[name] = label or name
        callee.known.add(name)
    return given, labels


def _too_many(
    callee: Callee, args: Sequence[tuple[str, Value]], fixed: dict[str, Value]
) -> RequestError:
    count = sum(1 for label, _ in args if not label)
    free = sum(1 for name in callee.positional if name not in fixed)
    return RequestError(
        "option",
        f"args has {_counted(count, 'spec')}, but {callee} takes"
        f" {_counted(free, 'positional argument')}",
        option="args",
    )


def _safe(order: Iterable[str], labels: dict[str, str], hidden: set[str]) -> dict[str, str]:
    """Parameters of the shown lambda: none is a keyword or hides what the call names."""
    safe: dict[str, str] = {}
    for name in order:
        text = labels[name]
        while text in hidden or keyword.iskeyword(text) or text in safe.values():
            text += "_"
        safe[name] = text
    return safe


def _written(
    fn: Callable[..., Any],
    shown: str,
    plan: list[tuple[str, bool]],
    order: list[str],
    traced: list[Any],
    bound: dict[str, tuple[Any, str]],
    safe: dict[str, str],
) -> Stage:
    """The target wrapped in a lambda that fills in what is fixed."""
    shown_args = []
    for name, by_name in plan:
        text = safe[name] if name in safe else bound[name][1]
        if by_name and keyword.iskeyword(name):
            text = f"**{{{name!r}: {text}}}"
        elif by_name:
            text = f"{name}={text}"
        shown_args.append(text)

    def call(*given: Any) -> Any:
        values = dict(zip(order, given, strict=True))
        values.update({name: value for name, (value, _) in bound.items()})
        return fn(
            *(values[name] for name, by_name in plan if not by_name),
            **{name: values[name] for name, by_name in plan if by_name},
        )

    return Stage.written(
        call, traced, [safe[name] for name in order], f"{shown}({', '.join(shown_args)})"
    )
