"""Reads jaxpr objects of any JAX by their attributes, without importing JAX.

``ClosedJaxpr`` and ``Jaxpr`` are two classes in older JAX and one in newer JAX.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

#: How deep, and in how many objects, a parameter is searched for programs.
MAX_DEPTH: Final = 12
MAX_OBJECTS: Final = 10_000

_OPERATION: Final = "_prim"
_LINEARIZED: Final = ".linearized"
_SHOWN: Final = frozenset({"nz_in_flat", "nz_out_flat", "has_sres"})
_LAMBDA: Final = "{ lambda"
_ATOMS = (str, bytes, int, float, complex, bool, type(None), type)


def open_jaxpr(jaxpr: Any) -> Any:
    """The object that has equations: newer JAX has one kind, older has two."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def is_jaxpr(value: Any) -> bool:
    """Whether ``value`` is a jaxpr of any JAX, closed or not."""
    return hasattr(open_jaxpr(value), "eqns") and hasattr(open_jaxpr(value), "invars")


def short_type(aval: Any) -> str:
    """An aval in the way jaxprs print it (``bf16[32,64]``)."""
    try:
        return str(aval.str_short(short_dtypes=True))
    except (AttributeError, TypeError):
        return str(aval)


def is_reference(var: Any) -> bool:
    """Whether a variable is a reference, which equations may write to."""
    return hasattr(getattr(var, "aval", None), "inner_aval")


def primitive_name(equation: Any) -> str:
    """The printed name of an equation's primitive."""
    name = str(getattr(equation.primitive, "name", equation.primitive))
    operation = equation.params.get(_OPERATION)
    if operation is None:
        return name
    return type(operation).__name__ + _LINEARIZED * name.endswith("linearized")


def parameters_of(equation: Any) -> Mapping[str, Any]:
    """The parameters that an equation prints, by their names.

    Newer JAX has primitives that wrap an object with parameters of its own; JAX prints
    the name and the parameters of that object.
    """
    params: Mapping[str, Any] = equation.params
    operation = params.get(_OPERATION)
    if operation is None:
        return params
    if primitive_name(equation).endswith(_LINEARIZED):
        return {name: value for name, value in params.items() if name in _SHOWN}
    try:
        return dict(operation.pp_params())
    except (AttributeError, TypeError, ValueError):
        return {k: v for k, v in dict(operation.params).items() if not k.startswith("_")}


class HeldJaxpr:
    """The programs that equations hold, each searched for once."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, list[Any]]] = {}

    def of(self, equation: Any) -> dict[str, list[Any]]:
        """The programs of each parameter that holds some, in printed order."""
        held = self._known.get(id(equation))
        if held is None:
            held = self._known[id(equation)] = _programs_of(equation)
        return held


def _programs_of(equation: Any) -> dict[str, list[Any]]:
    held = {}
    for name, value in parameters_of(equation).items():
        if _is_plain(value):
            continue
        programs = [value] if is_jaxpr(value) else jaxprs_in(value)
        if programs:
            held[name] = programs
    return held


def _is_plain(value: Any, depth: int = 3) -> bool:
    """Whether a value is a constant, a dtype or a tuple of such, as most parameters are."""
    if isinstance(value, _ATOMS) or is_dtype(value):
        return True
    return type(value) is tuple and depth > 0 and all(_is_plain(item, depth - 1) for item in value)


def is_dtype(value: Any) -> bool:
    """Whether a value is a dtype of NumPy, or one that JAX adds."""
    return isinstance(getattr(value, "kind", None), str) and hasattr(value, "itemsize")


def jaxprs_in(value: Any) -> list[Any]:
    """The programs inside a value, at any depth, in the order in which it prints them."""
    jaxprs: list[Any] = []
    seen: set[int] = set()  # the objects being searched: one may hold itself
    left = MAX_OBJECTS

    def look(item: Any, depth: int) -> None:
        nonlocal left
        left -= 1
        if isinstance(item, _ATOMS) or left < 0 or depth > MAX_DEPTH or id(item) in seen:
            return
        if is_jaxpr(item):
            jaxprs.append(item)
            return
        seen.add(id(item))
        for part in _parts(item):
            look(part, depth + 1)
        seen.discard(id(item))

    look(value, 0)
    return jaxprs


def _parts(item: Any) -> Iterator[Any]:
    """What an object prints between its brackets."""
    if isinstance(item, Mapping):
        for key, part in item.items():
            yield key
            yield part
    elif isinstance(item, (tuple, list, set, frozenset)):
        yield from item
    elif isinstance(item, functools.partial):
        yield from (item.func, *item.args, *item.keywords.values())
    elif not hasattr(item, "dtype") and _shows_a_program(item):
        named = getattr(item, "__dataclass_fields__", None)
        if named is not None:
            for name, field in named.items():
                if getattr(field, "repr", True):
                    yield getattr(item, name, None)
            return
        for kind in type(item).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                yield getattr(item, name, None)
        yield from getattr(item, "__dict__", {}).values()


def _shows_a_program(item: Any) -> bool:
    """Whether printing an object shows a program; only then is it searched."""
    try:
        return _LAMBDA in str(item)
    except Exception:  # printing a user's object may do anything
        return False
