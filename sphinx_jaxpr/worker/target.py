"""Finds what a page names and binds its arguments.  Imports user code."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

from ..tracing.folders import Folders, beneath
from ..tracing.grammar import Value, nearest
from .failures import RequestError
from .reach import Names, Unreachable
from .recorder import Recorder
from .stage import Stage
from .values import source_text, spec_value, static_value

#: Names that are proposed for a module that was not found.
_LISTED: Final = 3


def resolve(
    target: str,
    load: Callable[[str], ModuleType],
    roots: Sequence[str],
    allowed: tuple[str, ...] = (),
) -> tuple[Any, ModuleType, str]:
    """The object that ``module:qualname`` or ``module.qualname`` names.

    ``load`` imports a module by name; ``allowed`` are the modules that the name may
    lead into, empty for all.  Returns the object, its module and the qualified name
    inside the module.
    """
    if ":" in target:
        name, _, path = target.partition(":")
        module = load(name)
        return _attribute(Names(module, allowed), path, roots), module, path
    name, *rest = target.split(".")
    module = load(name)
    while len(rest) > 1 and _is_submodule(module, rest[0]):
        module = load(f"{module.__name__}.{rest.pop(0)}")
    path = ".".join(rest)
    return _attribute(Names(module, allowed), path, roots), module, path


def _is_submodule(package: ModuleType, name: str) -> bool:
    full = f"{package.__name__}.{name}"
    try:
        return full in sys.modules or importlib.util.find_spec(full) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def load_module(name: str, recorder: Recorder, roots: Sequence[str]) -> ModuleType:
    """Import a module; one that isn't there is the page's mistake."""
    try:
        module = recorder.load(name)
    except ModuleNotFoundError as error:
        # Only a missing module of that very name is a wrong target.
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise _no_module(error.name, name, roots) from None
        raise
    if name in recorder.preloaded:
        _check_hidden(name, module, roots)
    return module


def _check_hidden(name: str, module: ModuleType, roots: Sequence[str]) -> None:
    """Refuse a file of the project that a module of that name is in the way of.

    What Python and JAX have imported by themselves is there before any root is searched.
    """
    found = Folders().places(name, roots)
    if found and getattr(module, "__file__", None) not in found:
        top = name.partition(".")[0]
        owner = "the standard library" if top in sys.stdlib_module_names else "an installed package"
        message = f"{name!r} is a module of {owner}, which hides {found[0]}; rename the file"
        raise RequestError("target", message, wanted=name)


def _no_module(missing: str, wanted: str, roots: Sequence[str]) -> RequestError:
    parent, _, last = missing.rpartition(".")
    folders: list[str] = list(roots)
    if parent and parent in sys.modules:
        folders = list(getattr(sys.modules[parent], "__path__", ()))
    beside: set[str] = set()
    for folder in folders:
        try:
            beside.update(entry.partition(".")[0] for entry in os.listdir(folder))
        except OSError:
            continue
    elsewhere = [name for name in beneath(last, roots) if name != missing]
    if elsewhere:
        listed = " or ".join(map(repr, elsewhere[:_LISTED]))
        hint = f"; its file can be named as {listed}"
    else:
        hint = nearest(last, sorted(name for name in beside if name.isidentifier()))
    return RequestError(
        "target", f"no module {missing!r}{hint}", searched=list(roots), wanted=wanted
    )


def _attribute(names: Names, path: str, roots: Sequence[str]) -> Any:
    try:
        return names.reach(path)
    except Unreachable as error:
        if error.inside is None:
            raise RequestError("option", str(error)) from None
        where = f"module {names.module.__name__!r}"
        if error.inside:
            where = f"object {f'{names.module.__name__}:{error.inside}'!r}"
        raise RequestError("target", f"{where} {error}", searched=list(roots)) from None


def bind(
    fn: Callable[..., Any],
    shown: str,
    args: Sequence[tuple[str, Value]],
    static: Sequence[tuple[str | int, Value]],
    names_of: Names,
) -> Stage:
    """The target as a function of the traced arguments alone."""
    parameters = _parameters(fn)
    if parameters is None:
        if static:
            message = f"static: {shown} does not tell its parameters, so none can be bound"
            raise RequestError("option", message, option="static")
        names = [name or f"x{place}" for place, (name, _) in enumerate(args)]
        return Stage.of(
            fn,
            [spec_value(value, names_of, n) for n, (_, value) in zip(names, args, strict=True)],
            names,
            shown,
        )
    fixed = _static(parameters, static, names_of, shown)
    given = _given(parameters, args, fixed, shown)
    _check_complete(parameters, given, fixed, shown)
    values = {name: spec_value(value, names_of, name) for name, value in given.items()}
    order = [name for name in parameters if name in given]
    order += [name for name in given if name not in parameters]
    positional = [name for name, p in parameters.items() if p.kind in _POSITIONAL]
    extra = [name for name in given if name not in parameters and _is_extra(parameters, name)]
    if not fixed and order == [*positional[: len(order) - len(extra)], *extra]:
        safe = [_safe(name, shown) for name in order]
        return Stage.of(fn, [values[name] for name in order], safe, shown)
    return _written(fn, shown, parameters, order, values, fixed)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_Fixed = dict[str, tuple[Any, str]]


def _parameters(fn: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return None


def _signature(parameters: dict[str, inspect.Parameter], shown: str) -> str:
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters.values()]
    return f"{shown}{inspect.Signature(plain)}"


def _static(
    parameters: dict[str, inspect.Parameter],
    static: Sequence[tuple[str | int, Value]],
    names_of: Names,
    shown: str,
) -> _Fixed:
    positional = [name for name, p in parameters.items() if p.kind in _POSITIONAL]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    fixed: _Fixed = {}
    for key, value in static:
        if isinstance(key, int):
            if key >= len(positional):
                raise RequestError(
                    "option",
                    f"static position {key}: {_signature(parameters, shown)} has"
                    f" {len(positional)} positional parameters",
                    option="static",
                )
            name = positional[key]
        elif key in parameters or takes_any:
            name = key
        else:
            raise RequestError(
                "option",
                f"static names {key!r}, which is no parameter of"
                f" {_signature(parameters, shown)}{nearest(key, parameters)}",
                option="static",
            )
        fixed[name] = (static_value(value, names_of, name), source_text(value))
    return fixed


def _given(
    parameters: dict[str, inspect.Parameter],
    args: Sequence[tuple[str, Value]],
    fixed: _Fixed,
    shown: str,
) -> dict[str, Value]:
    free = [n for n, p in parameters.items() if p.kind in _POSITIONAL and n not in fixed]
    star = next((n for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL), "")
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    given: dict[str, Value] = {}
    for place, (name, value) in enumerate(args):
        if not name:
            if place < len(free):
                name = free[place]
            elif star:
                name = f"{star}{place - len(free)}"
            else:
                count = sum(1 for other, _ in args if not other)
                raise RequestError(
                    "option",
                    f"args has {count} specs, but {_signature(parameters, shown)} takes"
                    f" {len(free)} positional arguments",
                    option="args",
                )
        elif name not in parameters and not takes_any:
            raise RequestError(
                "option",
                f"args names {name!r}, which is no parameter of"
                f" {_signature(parameters, shown)}{nearest(name, parameters)}",
                option="args",
            )
        if name in given:
            message = f"argument {name!r} is given by position and by name"
            raise RequestError("option", message, option="args")
        if name in fixed:
            message = f"argument {name!r} is in args and in static"
            raise RequestError("option", message, option="args")
        given[name] = value
    return given


def _check_complete(
    parameters: dict[str, inspect.Parameter], given: dict[str, Value], fixed: _Fixed, shown: str
) -> None:
    missing = [
        name
        for name, p in parameters.items()
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and name not in given
        and name not in fixed
    ]
    if missing:
        raise RequestError(
            "option",
            f"no spec for {', '.join(map(repr, missing))} of {_signature(parameters, shown)};"
            f" write args as in {', '.join(f'{name}=f32[8]' for name in missing)}",
            option="args",
        )


def _is_extra(parameters: dict[str, inspect.Parameter], name: str) -> bool:
    star = next((n for n, p in parameters.items() if p.kind is p.VAR_POSITIONAL), "")
    return bool(star) and name[: len(star)] == star and name[len(star) :].isdigit()


def _safe(name: str, shown: str) -> str:
    """A parameter of the shown lambda that hides neither JAX nor the target."""
    return name + "_" if name in {"jax", "sum", "leaf", shown.partition(".")[0]} else name


def _written(
    fn: Callable[..., Any],
    shown: str,
    parameters: dict[str, inspect.Parameter],
    order: list[str],
    values: dict[str, Any],
    fixed: _Fixed,
) -> Stage:
    """The target wrapped in a lambda that fills in what is fixed."""
    plan: list[tuple[str, bool]] = []  # (name, by keyword), as the call passes them
    gap = False
    for name, parameter in parameters.items():
        known = name in values or name in fixed
        if parameter.kind in _POSITIONAL and known:
            by_name = (gap or name in fixed) and parameter.kind is not parameter.POSITIONAL_ONLY
            gap = gap or by_name
            plan.append((name, by_name))
        elif parameter.kind in _POSITIONAL:
            gap = True
        elif known:
            plan.append((name, True))
    later = [name for name in (*order, *fixed) if name not in parameters]
    plan += [(name, not _is_extra(parameters, name)) for name in later]
    safe = {name: _safe(name, shown) for name in order}
    shown_args = []
    for name, by_name in plan:
        text = safe[name] if name in safe else fixed[name][1]
        shown_args.append(f"{name}={text}" if by_name else text)

    def call(*traced: Any) -> Any:
        bound = dict(zip(order, traced, strict=True))
        bound.update({name: value for name, (value, _) in fixed.items()})
        return fn(
            *(bound[name] for name, by_name in plan if not by_name),
            **{name: bound[name] for name, by_name in plan if by_name},
        )

    return Stage.written(
        call,
        [values[name] for name in order],
        [safe[name] for name in order],
        f"{shown}({', '.join(shown_args)})",
    )
