"""What an author is likely to mean where the language of the options has other words."""

from __future__ import annotations

import difflib
import string
from typing import Any, Final

from .specs import DTYPES, KEYS, Call

_WORDS: Final = "float:f32 int:i32 uint:u32 complex:c64 bool_:bool half:f16 double:f64"
_SHORT: Final[dict[str, str]] = {
    **{long: short for short, long in DTYPES.items()},
    **dict(pair.split(":") for pair in f"{_WORDS} fp16:f16 fp32:f32 fp64:f64".split()),
}
_ENDLESS: Final = {"inf": "inf", "infinity": "inf", "nan": "nan"}


def meant_dtype(name: str) -> str:
    """The dtype that a wrong one stands for, ``""`` where none is near: ``jnp.float32``."""
    last = name.rpartition(".")[2].lower()
    if last in DTYPES:
        return last
    if last in _SHORT:
        return _SHORT[last]
    letters = _letters(last)
    alike = [known for known in DTYPES if _letters(known) == letters]
    known = alike or [*DTYPES, *KEYS]
    found = difflib.get_close_matches(last, known, n=1, cutoff=0.5)
    longer = [one for one in alike if one.startswith(f"{last}_")]
    return (longer or found or [""])[0]


def _letters(name: str) -> str:
    return name[: len(name) - len(name.lstrip(string.ascii_lowercase))]


def meant_name(name: str) -> str:
    """The value that a name stands for which leads nowhere: ``f32`` is ``f32[]``."""
    if name in DTYPES or name in KEYS:
        return f"{name}[]"
    return _ENDLESS.get(name.rpartition(".")[2].lower(), "")


def meant_call(value: Any) -> str:
    """The value that a call stands for, ``""`` where there is none: ``float("-inf")``."""
    if isinstance(value, Call) and value.name == "float" and len(value.arguments) == 1:
        text = str(value.arguments[0]).strip().lower()
        sign = "-" if text.startswith("-") else ""
        if number := _ENDLESS.get(text.lstrip("+-"), ""):
            return f"{sign}{number}"
    return ""


def separating(rest: str) -> str:
    """A hint for what stands where a comma should."""
    if rest.startswith("@"):
        return "; axes of a mesh stand behind a dimension, as in f32[4@a,8]"
    if rest.startswith(":"):
        return "; a name is joined with '=', as in x=f32[8]"
    if rest.startswith("{"):
        return "; a mutable array is written Ref{f32[3]}"
    if rest[:1] in set("+-*/%"):
        return "; options compute nothing: name an attribute of the target's module"
    return ""
