"""What to try where a trace fails for a reason that the page can mend.  Imports JAX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from ..tracing.grammar import Aval, Ref
from ..tracing.request import Request
from .failures import Hint, message_of
from .values import source_text

#: What JAX, and Python, say of a traced value where a static one is needed.
_STATIC = re.compile(
    r"Non-hashable static arguments|nondiff_argnums|Shapes must be 1D sequences of concrete"
)

#: What they say where that may be the reason.
_LIKELY = re.compile(
    r"unhashable type: '\w*Tracer'|must have __hash__ and __eq__|must (be|have) static"
    r"|unsupported operand type\(s\) for \*: '(list|tuple|str)' and '\w*Tracer'"
)
_CONCRETE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerArrayConversionError,
)


@contextmanager
def hinting(request: Request) -> Iterator[None]:
    """Add a hint to an exception where the request is likely to be its reason."""
    try:
        yield
    except Exception as error:
        if hint := _static_hint(error, request):
            error.add_note(Hint(hint))
        raise


def _static_hint(error: Exception, request: Request) -> str:
    said = message_of(error)
    sure = _STATIC.search(said) is not None
    if not sure and not isinstance(error, _CONCRETE) and not _LIKELY.search(said):
        return ""
    plain = [
        (name or str(place), value)
        for place, (name, value) in enumerate(request.args)
        if not _holds_array(value)
    ]
    if plain:
        listed = ", ".join(f"{name}={source_text(value)[:40]}" for name, value in plain)
        return f"args are traced; give what the function needs as it is in static: {listed}"
    return "args are traced; give what must not be in static" if sure else ""


def _holds_array(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_array, value))
    if isinstance(value, dict):
        return any(map(_holds_array, value.values()))
    return isinstance(value, (Aval, Ref))
