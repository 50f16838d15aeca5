"""The likely meaning of a value that isn't written in the language of the options."""

from __future__ import annotations

import difflib
import re
import string
from typing import Any, Final

from ...program.dtypes import DTYPES, KEYS, MEANT_DTYPES
from ...program.text import shorten
from ..specs import Aval, Call

_SHORT: Final[dict[str, str]] = {
    **{long: short for short, long in DTYPES.items()},
    **MEANT_DTYPES,
}
#: A spec behind a colon, as in ``x: f32[2,3]``.
_SPEC: Final = re.compile(r":\s*([\w.]+(?:<\w+>)?\[[\w\s,@()]*\])")
_SINGLE: Final = {"true": "True", "false": "False", "none": "None", "null": "None"}
_ENDLESS: Final = {"inf": "inf", "infinity": "inf", "nan": "nan"}


def meant_dtype(name: str) -> str:
    """The dtype that a wrong name means, ``""`` if none is near: ``jnp.float32``."""
    last = name.rpartition(".")[2].lower()
    if last in DTYPES:
        return last
    if last in _SHORT:
        return _SHORT[last]
    letters = _letters(last)
    alike = [dtypes for dtypes in DTYPES if _letters(dtypes) == letters]
    dtypes = alike or [*DTYPES, *KEYS]
    near = difflib.get_close_matches(last, dtypes, n=1, cutoff=0.5)
    longer = [dtype for dtype in alike if dtype.startswith(f"{last}_")]
    return (longer or near or [""])[0]


def _letters(name: str) -> str:
    return name[: len(name) - len(name.lstrip(string.ascii_lowercase))]


def meant_name(name: str) -> str:
    """The value meant by a name that does not exist: ``f32`` is ``f32[]``."""
    last = name.rpartition(".")[2]
    short = {long: short for short, long in DTYPES.items()}.get(last, last)
    if short in DTYPES or name in KEYS:
        return f"{short}[]"
    return {**_ENDLESS, **_SINGLE}.get(last.lower(), "")


def meant_call(value: Any) -> str:
    """The value that a call means, ``""`` if there is none: ``float("-inf")``."""
    if isinstance(value, Call) and value.name == "float" and len(value.values) == 1:
        text = str(value.values[0]).strip().lower()
        sign = "-" if text.startswith("-") else ""
        if number := _ENDLESS.get(text.lstrip("+-"), ""):
            return f"{sign}{number}"
    return ""


def meant_array(value: Any) -> str:
    """The array whose shape a tuple of numbers looks like, ``""`` if it does not."""
    if not isinstance(value, (tuple, list)) or not value:
        return ""
    sizes = [size for size in value if type(size) is int and size > 0]
    return str(Aval("f32", tuple(sizes))) if len(sizes) == len(value) else ""


def separating(before: str, rest: str) -> str:
    """A hint for a character that is found instead of a comma, behind the text ``before``."""
    if rest.startswith("@"):
        return "; mesh axes follow a dimension, as in f32[4@a,8]"
    if rest.startswith(":"):
        name = re.split(r"[,\n]", before)[-1].strip()
        spec = _SPEC.match(rest)
        if name.isidentifier() and spec is not None:
            return f"; write {shorten(f'{name}={spec[1]}')[1:-1]}"
        return "; a name is joined with '=', as in x=f32[8]"
    if rest.startswith(".") and before.rstrip().endswith(")"):
        return (
            "; a call has no attributes here: name an object made by it, of a module or of the"
            " page's code, or a function that returns what you need"
        )
    if rest.startswith("{"):
        return "; a mutable array is written Ref{f32[3]}"
    if rest[:1] in set("+-*/%"):
        return "; options compute nothing: name an attribute of the target's module"
    return ""
