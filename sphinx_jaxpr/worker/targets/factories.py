"""Targets that are called before they are traced: ``make``, and ``then``.  Imports JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import jax

from ...program.text import series, words
from ...tracing.grammar import Aval, Call, Ref, Value
from ...tracing.request import Request
from ...tracing.result import ErrorKind
from ...tracing.specs import call_source, parts_of
from ..facts.jaxprs import is_jaxpr
from ..failures import Hint, RequestError, message_of
from .arguments import source_text, static_value
from .option_names import OptionNames
from .reach import Unreachable, name_of

#: How many functions of an object a message lists.
_LISTED: Final = 6
#: Modules of numbers, texts and arrays, whose methods nobody traces.
_PLAIN: Final = ("builtins", "numpy", "jax", "jaxlib")


class Made(NamedTuple):
    """What ``make`` returned, the part of it that is traced, and both as Python source.

    ``part`` goes behind the source of the whole, as in ``.update`` or ``[1]``.
    """

    whole: Any
    value: Any
    source: str
    part: str


def make(request: Request, target: Any, name: str, names: OptionNames) -> Made:
    """Call the target of a request as ``make`` says; ``name`` is that of the target.

    Raises :class:`RequestError` where it can't be called so, or where no function or jaxpr
    results, and what the target raises, with a hint at the option.
    """
    if not callable(target):
        kind = type(target).__name__
        raise _refused("make", f"{name} is of type {kind}, which can't be called")
    pairs = names.spelled(request.make or ())
    given = tuple(value for key, value in pairs if not key)
    named = tuple((key, value) for key, value in pairs if key)
    source = call_source(Call(name, given, named), source_text)
    _check_parameters(target, name, given, dict(named))
    values = [
        static_value(value, names, f"argument {number}", "make")
        for number, value in enumerate(given)
    ]
    options = {key: static_value(value, names, key, "make") for key, value in named}
    try:
        whole = target(*values, **options)
    except Exception as error:
        error.add_note(Hint(f"{words(source, 80)} raised it", "make"))
        raise
    value, part = _part(whole, request.then, source, names)
    if not callable(value) and not is_jaxpr(value):
        raise _not_traceable(value, request.then, words(f"{source}{part}", 80))
    return Made(whole, value, source, part)


def _refused(option: str, problem: str) -> RequestError:
    return RequestError(ErrorKind.OPTION, f"{option}: {problem}", option=option)


def _check_parameters(
    target: Callable[..., Any], name: str, given: Sequence[Value], named: dict[str, Value]
) -> None:
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return  # only a call can tell
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        takes = ", ".join(map(_parameter, signature.parameters.values())) or "no arguments"
        raise _refused("make", f"{message_of(error)}; {name} takes {words(takes, 200)}") from None


def _parameter(parameter: inspect.Parameter) -> str:
    plain = parameter.replace(annotation=parameter.empty)
    if parameter.default is not parameter.empty and len(repr(parameter.default)) > 20:
        return f"{parameter.name}=..."
    return str(plain)


def _part(whole: Any, then: str, source: str, names: OptionNames) -> tuple[Any, str]:
    """The part that ``then`` names, and its source behind that of the whole."""
    value, text = whole, ""
    for step in filter(None, then.split(".")):
        before = words(f"{source}{text}", 80)
        if step.isdecimal():
            if not isinstance(value, (tuple, list)) or int(step) >= len(value):
                raise _refused("then", f"{_returned(value, before)}, without a position {step}")
            value, text = value[int(step)], f"{text}[{step}]"
            continue
        try:
            value = names.follow(value, step, True, name_of(names.module))
        except Unreachable as error:
            if error.inside is None:  # the page may not have it
                raise _refused("then", f"{error}; it is a part of {before}") from None
            listed = _functions(value) if "did you mean" not in str(error) else []
            has = f"; its functions: {', '.join(listed)}" if listed else ""
            raise _refused("then", f"{_returned(value, before)}, which {error}{has}") from None
        text = f"{text}.{step}"
    return value, text


def _returned(value: Any, source: str) -> str:
    return f"{source} is of type {type(value).__name__}"


def _not_traceable(value: Any, then: str, source: str) -> RequestError:
    problem = f"{_returned(value, source)}, which can't be called"
    listed = [f"{then}.{name}" if then else name for name in _functions(value)]
    if listed:
        problem += f"; name one of its functions, as in then: {' or then: '.join(listed)}"
    return _refused("then" if then else "make", problem)


def _functions(value: Any) -> list[str]:
    """The public functions that a value has, as ``then`` names them; runs no code of its class."""
    if isinstance(value, tuple) and (fields := getattr(type(value), "_fields", ())):
        return [name for name, item in zip(fields, value, strict=False) if callable(item)]
    if isinstance(value, (tuple, list)):
        return [str(number) for number, item in enumerate(value) if callable(item)][:_LISTED]
    if type(value).__module__.partition(".")[0] in _PLAIN:
        return []
    members = {**vars(type(value)), **getattr(value, "__dict__", {})}
    return [
        name
        for name, member in members.items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, jax.stages.Wrapped))
    ][:_LISTED]


# --- functions that return functions: factories that are traced themselves


def hint_at_result(
    error: BaseException, fn: Callable[..., Any], args: Sequence[Any], request: Request
) -> str:
    """What to write if JAX refused the result of ``fn`` because it holds functions, or ``""``."""
    if not isinstance(error, TypeError) or request.steps:
        return ""
    results: list[list[str]] = []
    try:
        jax.make_jaxpr(lambda *given: results.append(_components(fn(*given))))(*args)
    except Exception:
        return ""
    if not results or not results[0]:
        return ""
    if request.make is not None:
        return "a traced function returns arrays; what it returns here holds functions"
    listed = [name for name in results[0] if name][:_LISTED]
    then = f" and then: {series(listed, 'or')}" if listed else ""
    return f"it returns functions; to trace one, write make: {_arguments(request)}{then}"


def _components(result: Any) -> list[str]:
    """The parts of a result that are functions, as ``then`` names them; ``""`` is the whole."""
    pairs = jax.tree_util.tree_flatten_with_path(result)[0]
    named = ((jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in pairs)
    return [name for name, leaf in named if callable(leaf)]


def _arguments(request: Request) -> str:
    """The arguments of a page as those of ``make``, as far as they are values."""
    pairs = [
        *request.args,
        *((str(key) if type(key) is str else "", v) for key, v in request.static),
    ]
    if any(isinstance(part, (Aval, Ref)) for _, value in pairs for part in parts_of(value)):
        return "with its arguments"
    listed = [
        f"{name}={source_text(value)}" if name else source_text(value) for name, value in pairs
    ]
    return ", ".join(listed) or "()"
