"""From a target and the arguments of a page to a call: what it takes, and what is bound to that."""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax

from ...program.text import series
from ...tracing.grammar import Call, Value, nearest, shorten
from ...tracing.request import is_target
from ...tracing.result import ErrorKind
from ...tracing.specs import parts_of
from ..failures import RequestError, message_of
from ..stage import Stage, fresh
from .arguments import NamedTrees, roots_of, source_text, spec_value, static_value, whole_source
from .calls import SpecifiedArguments
from .partition import ONLY_ARRAYS, RESTORED, is_mixed, only_arrays, restored, types_in
from .reach import ReachableNames

# --- what a target takes, and how it is called

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: Names in the source of calls that no parameter may hide.
_USED: Final = ("jax", "sum", "leaf", "kept")
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
    the position of each that is given.  A target without a readable signature is
    ``unsigned``.  ``claimed`` parameters belong to a function that another one wraps, and
    the wrapper may fill some.  ``spoken`` are the names that the page uses.
    """

    call_name: str
    parameters: dict[str, inspect.Parameter]
    unsigned: bool = False
    claimed: bool = False
    spoken: frozenset[str] = frozenset()
    starred: dict[str, int] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        kinds = {name: p.kind for name, p in self.parameters.items()}
        self.positional = [name for name, kind in kinds.items() if kind in _POSITIONAL]
        self.star = next((n for n, p in self.parameters.items() if p.kind is p.VAR_POSITIONAL), "")
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        # ``*args, **kwargs`` can't be given by these names.
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
        return f"{self.call_name}{inspect.Signature(plain)}"

    def at(self, position: int) -> str:
        """The name of the argument at a position, ``""`` where there is none."""
        if position < len(self.positional):
            return self.positional[position]
        if not self.star:
            return ""
        index = position - len(self.positional)
        name = fresh((*self.parameters, *self.spoken), f"{self.star}{index}")
        self.starred[name] = index
        return name

    def takes(self, name: str) -> bool:
        """Whether an argument may be given by this name."""
        return name in self.named or self.takes_any

    def plan(self) -> list[tuple[str, bool]]:
        """All known arguments in the order of the call, and whether each is passed by keyword."""
        steps: list[tuple[str, bool]] = []
        skipped = ""
        for name in self.positional:
            if name not in self.given:
                skipped = skipped or name
                continue
            only = self.parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY
            if only and skipped:
                raise self._gap(name, skipped)
            steps.append((name, bool(skipped)))
        for index, name in enumerate(sorted(self.starred, key=self.starred.__getitem__)):
            if index != self.starred[name]:
                skipped = skipped or f"{self.star}{index}"
            if skipped:
                raise self._gap(name, skipped)
            steps.append((name, False))
        done = {name for name, _ in steps}
        rest = [name for name in self.parameters if name in self.given]
        rest += sorted(self.given - set(self.parameters))
        return [*steps, *((name, True) for name in rest if name not in done)]

    def _gap(self, name: str, skipped: str) -> RequestError:
        return RequestError(
            ErrorKind.OPTION,
            f"{shorten(name)} of {self} is passed by position, so {shorten(skipped)} before it"
            " needs a value too",
            option="args",
        )

    def complete(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn``, if no argument is missing; for a wrapped function only a call can tell."""
        missing = [
            name
            for name, p in self.parameters.items()
            if p.default is p.empty and name in self.named and name not in self.given
        ]
        if not missing:
            return fn
        problem = RequestError(
            ErrorKind.OPTION,
            f"no spec for {', '.join(map(repr, missing))} of {self};"
            f" write args as in {', '.join(f'{name}=f32[8]' for name in missing)}"
            f"{_as_factory(fn, missing)}",
            option="args",
        )
        if not self.claimed:
            raise problem

        @functools.wraps(fn)
        def called(*given: Any, **named: Any) -> Any:
            try:
                return fn(*given, **named)
            except TypeError as error:
                text = message_of(error)
                if " missing " in text and any(repr(name) in text for name in missing):
                    raise problem from None
                raise

        return called


def _as_factory(fn: Callable[..., Any], missing: Sequence[str]) -> str:
    """A hint if a function says that it returns functions: a page may want one of these."""
    try:
        result = inspect.get_annotations(inspect.unwrap(fn), eval_str=True).get("return")
        fields = typing.get_type_hints(result) if _is_named_tuple(result) else {}
    except Exception:  # an annotation may be any code
        return ""
    names = [name for name, kind in fields.items() if _is_function_type(kind)]
    if not names and not _is_function_type(result):
        return ""
    then = f" and then: {series(names, 'or')}" if names else ""
    given = ", ".join(f"{name}=..." for name in missing)
    return f"; it returns functions: to trace one, write make: {given}{then}"


def _is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_function_type(kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    return origin is Callable or (
        isinstance(kind, type) and "__call__" in vars(kind) and getattr(kind, "_is_protocol", False)
    )


def callee_of(fn: Callable[..., Any], call_name: str) -> Callee:
    """The parameters of ``fn``, which the page calls ``call_name``.

    A wrapper's own parameters count.  If it takes any, those of the function that it
    wraps are claimed.
    """
    try:
        claimed = inspect.signature(fn)
    except (TypeError, ValueError):
        any_ = inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)
        return Callee(call_name, {"x": any_}, unsigned=True)
    own = _own_signature(fn)
    if own is None or _kinds(own) == _kinds(claimed):
        return Callee(call_name, dict(claimed.parameters))
    kinds = [p.kind for p in own.parameters.values()]
    any_place, any_name = _ANY[0] in kinds, _ANY[1] in kinds
    if not any_place and not any_name:
        return Callee(call_name, dict(own.parameters))
    parameters = dict(claimed.parameters)
    if not any_place:
        count = sum(kind in _POSITIONAL for kind in kinds)
        for name, p in list(parameters.items())[count:]:
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                parameters[name] = p.replace(kind=p.KEYWORD_ONLY)
    return Callee(call_name, parameters, claimed=True)


def _kinds(signature: inspect.Signature) -> list[tuple[str, Any]]:
    return [(name, p.kind) for name, p in signature.parameters.items()]


def _own_signature(fn: Any) -> inspect.Signature | None:
    """The signature of the outermost wrapper outside JAX: JAX passes arguments through."""
    while hasattr(fn, "__wrapped__") and not inspect.ismethod(fn) and _is_jax(fn):
        fn = fn.__wrapped__
    try:
        return inspect.signature(fn, follow_wrapped=False)
    except (TypeError, ValueError):
        return None


def _is_jax(fn: Any) -> bool:
    home = fn.__globals__["__name__"] if inspect.isfunction(fn) else type(fn).__module__
    return str(home).partition(".")[0] in ("jax", "jaxlib")


# --- the arguments of a page, bound to the parameters of a target


def bind(
    fn: Callable[..., Any],
    call_name: str,
    args: Sequence[tuple[str, Value]],
    static: Sequence[tuple[str | int, Value]],
    names_of: ReachableNames,
    mesh: Any = None,
    source: str = "",
) -> Stage:
    """The target as a function of the traced arguments alone.

    ``call_name`` is what messages call it, ``source`` its Python source if that is another.
    ``mesh`` is the mesh that specs such as ``f32[4@a,8]`` are split over.
    """
    callee = callee_of(fn, call_name)
    callee.spoken = frozenset(str(key) for key, _ in (*args, *static))
    fixed = _fixed(callee, static)
    given, labels = _given(callee, args, fixed)
    fn = callee.complete(fn)
    plan = callee.plan()
    trees: NamedTrees = []
    specs = {
        name: spec_value(value, names_of, labels[name], trees) for name, value in given.items()
    }
    bound = {
        name: (static_value(value, names_of, name), source_text(value))
        for name, value in fixed.items()
    }
    values = SpecifiedArguments(specs, labels, bound, names_of, mesh, trees).all()
    order = [name for name, _ in plan if name in values]
    mixed = {name: values[name] for name in order if is_mixed(values[name])}
    source = source or call_name
    hidden = {*_USED, re.split(r"\W", source, maxsplit=1)[0], *roots_of(fixed.values())}
    if mixed:  # the call contains what the page says of these
        hidden |= {"hasattr", *roots_of(given.values())}
    safe = _safe(order, labels, hidden)
    made: dict[str, str] = {}
    if not bound and not mixed and not any(by_name for _, by_name in plan):
        traced = [values[name] for name in order]
        stage = Stage.of(fn, traced, [safe[name] for name in order], source)
    else:
        sources = {name: text for name, (_, text) in bound.items()} | safe
        for name, value in fixed.items():
            if any(isinstance(part, Call) for part in parts_of(value)):
                # Inside of what is traced, the equations of the call would be in the program.
                word = fresh((*safe.values(), *hidden, *made), _plain_word(name))
                made[word], sources[name] = sources[name], word
        for name, tree in mixed.items():
            whole = whole_source(tree, trees)
            if not is_target(whole):  # made once, outside of what is traced
                word = fresh((*safe.values(), *hidden, *made), f"whole_{safe[name]}")
                made[word], whole = whole, word
            sources[name] = RESTORED.format(safe[name], whole)
            trees.append((jax.tree.structure(only_arrays(tree)), ONLY_ARRAYS.format(whole)))
        fixed_values = {name: value for name, (value, _) in bound.items()}
        target = _Bound(fn, plan, order, fixed_values, mixed)
        stage = _written(target, source, sources, values, safe)
    stage.trees = tuple(trees)
    stage.made = tuple(made.items())
    stage.own = {safe[name]: labels[name] for name in order if safe[name] != labels[name]}
    return stage


def _plain_word(name: str) -> str:
    return name if name.isidentifier() and not keyword.iskeyword(name) else "given"


def _fixed(callee: Callee, static: Sequence[tuple[str | int, Value]]) -> dict[str, Value]:
    """The values in ``static``, by the name of the argument."""
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
                f"static names {shorten(key)}, but {callee.call_name} has no readable signature;"
                " give a position, as in 0=3"
            )
        elif not callee.takes(key):
            raise _refused(
                f"static names {shorten(key)}, which is not a parameter of"
                f" {callee}{nearest(key, callee.named)}"
            )
        else:
            name = key
        if name in fixed:
            raise _refused(f"static gives {shorten(name)} by position and by name")
        fixed[name] = value
        callee.given.add(name)
    return fixed


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _refused(message: str) -> RequestError:
    return RequestError(ErrorKind.OPTION, message, option="static")


def _given(
    callee: Callee,
    args: Sequence[tuple[str, Value]],
    fixed: dict[str, Value],
) -> tuple[dict[str, Value], dict[str, str]]:
    """The values in ``args``, by the name of the argument, and the label of each."""
    given: dict[str, Value] = {}
    labels: dict[str, str] = {}
    position = 0
    for number, (label, value) in enumerate(args):
        name = label
        if not label and any(given.keys() & {other for other, _ in args[:number]}):
            name = _next_free(callee, args, number, {*fixed, *given})
            if not name:
                raise _too_many(callee, args, fixed)
        elif not label or callee.unsigned:
            while (name := callee.at(position)) in fixed and name:
                position += 1
            position += 1
            if not name:
                raise _too_many(callee, args, fixed)
        elif not callee.takes(label):
            raise RequestError(
                ErrorKind.OPTION,
                f"args names {shorten(label)}, which is not a parameter of"
                f" {callee}{nearest(label, callee.named)}",
                option="args",
            )
        if name in given:
            message = f"argument {shorten(name)} is given by position and by name"
            raise RequestError(ErrorKind.OPTION, message, option="args")
        if name in fixed:
            message = f"argument {shorten(name)} is in args and in static"
            raise RequestError(ErrorKind.OPTION, message, option="args")
        given[name] = value
        labels[name] = label or name
        callee.given.add(name)
    return given, labels


def _next_free(
    callee: Callee, args: Sequence[tuple[str, Value]], number: int, taken: set[str]
) -> str:
    """The parameter of a spec without a name that follows one with a name, ``""`` for none.

    It is the first that is free.  Where a named one has left out others, it may be meant for
    those or for what follows, unless what is left fills all that are free, or that need a value.
    """
    taken = taken | {label for label, _ in args}
    free = [name for name in callee.positional if name not in taken]
    if not free:
        return callee.at(len(callee.positional) + len(callee.starred))
    last = max((i for i, name in enumerate(callee.positional) if name in taken), default=-1)
    left = sum(not label for label, _ in args[number:])
    if callee.positional.index(free[0]) > last or left >= len(free):
        return free[0]
    needed = [n for n in free if callee.parameters[n].default is inspect.Parameter.empty]
    if left == len(needed):
        return needed[0]
    spec = shorten(source_text(args[number][1]))[1:-1]
    listed = series([*map(repr, free)], "or")
    raise RequestError(
        ErrorKind.OPTION,
        f"args: {spec} has no name and follows a spec with one, so it may be for {listed} of"
        f" {callee}; name it, as in {free[0]}={spec}",
        option="args",
    )


def _too_many(
    callee: Callee, args: Sequence[tuple[str, Value]], fixed: dict[str, Value]
) -> RequestError:
    last = max(number for number, (label, _) in enumerate(args) if not label)
    count = sum(1 for label, _ in args[:last] if not label or label in callee.positional) + 1
    free = sum(1 for name in callee.positional if name not in fixed)
    return RequestError(
        ErrorKind.OPTION,
        f"args has {_counted(count, 'spec')}, but {callee} takes"
        f" {_counted(free, 'positional argument')}",
        option="args",
    )


def _safe(order: Iterable[str], labels: dict[str, str], hidden: set[str]) -> dict[str, str]:
    """Parameters of the displayed lambda: none is a keyword or hides a name in the call."""
    safe: dict[str, str] = {}
    for name in order:
        text = labels[name]
        while text in hidden or keyword.iskeyword(text) or text in safe.values():
            text += "_"
        safe[name] = text
    return safe


@dataclass(frozen=True)
class _Bound:
    """A target as a function of its traced arguments, those in ``order``.

    ``fixed`` are the static ones; of the arguments in ``mixed`` only the arrays are traced.
    """

    fn: Callable[..., Any]
    plan: list[tuple[str, bool]]
    order: list[str]
    fixed: Mapping[str, Any]
    mixed: Mapping[str, Any]

    def __call__(self, *given: Any) -> Any:
        values = dict(zip(self.order, given, strict=True))
        values.update(self.fixed)
        for name, whole in self.mixed.items():
            values[name] = restored(values[name], whole)
        return self.fn(
            *(values[name] for name, by_name in self.plan if not by_name),
            **{name: values[name] for name, by_name in self.plan if by_name},
        )

    def arrays_alone(self, *given: Any) -> Any:
        """Its result with ``None`` for what is no array."""
        return only_arrays(self(*given))

    def returns_mixed(self, traced: Sequence[Any]) -> bool:
        """Whether the result holds what JAX refuses, as a model that is returned does."""
        results: list[bool] = []
        try:
            jax.make_jaxpr(lambda *given: results.append(is_mixed(types_in(self(*given)))))(*traced)
        except Exception:
            return False  # the trace of the request reports it
        return results[0]


def _written(
    target: _Bound,
    call_name: str,
    sources: Mapping[str, str],
    values: Mapping[str, Any],
    safe: Mapping[str, str],
) -> Stage:
    """The target wrapped in a lambda that fills in what is not traced; ``sources`` say how."""
    shown_args = []
    for name, by_name in target.plan:
        text = sources[name]
        if by_name and keyword.iskeyword(name):
            text = f"**{{{name!r}: {text}}}"
        elif by_name:
            text = f"{name}={text}"
        shown_args.append(text)
    body = f"{call_name}({', '.join(shown_args)})"
    traced = [
        only_arrays(values[name]) if name in target.mixed else values[name] for name in target.order
    ]
    mixed = target.mixed and target.returns_mixed(traced)
    body = ONLY_ARRAYS.format(body) if mixed else body
    call = target.arrays_alone if mixed else target
    return Stage.written(call, traced, [safe[name] for name in target.order], body)
