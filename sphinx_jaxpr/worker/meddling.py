"""Whether code may set what belongs to others, as far as its instructions tell.

Looking at all that others hold takes longer than tracing a small function.
Code that sets no attribute but those of its own ``self`` need not be looked after.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Final

_SETTING: Final = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_NAMES: Final = frozenset(
    """setattr delattr exec eval vars __dict__ __setattr__ __delattr__ patch reload modules
    defjvp defjvps defvjp def_impl def_abstract_eval def_effectful_abstract_eval
    __code__ __defaults__ __kwdefaults__ __import__ ctypes""".split()
)


def meddles(code: CodeType) -> bool:
    """Whether a module's code, or a function in it, may change other modules' objects."""
    return any(_sets_others(one) for one in _all(code))


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all(constant)


def _sets_others(code: CodeType) -> bool:
    names = code.co_names
    if not _NAMES.isdisjoint(names) or any("interpreters" in name for name in names):
        return True
    raw = code.co_code
    return any(
        op in _SETTING and not _of_first_argument(code, raw, place * 2)
        for place, op in enumerate(raw[::2])
    )


def _of_first_argument(code: CodeType, raw: bytes, place: int) -> bool:
    """Whether the object was just loaded as the function's first argument: ``self``."""
    before = dis.opname[raw[place - 2]] if place >= 2 else ""
    # Two loads in one instruction have two numbers in it, the last one lower.
    argument = raw[place - 1] & 15 if before.count("LOAD_FAST") == 2 else raw[place - 1]
    return bool(code.co_argcount) and before.startswith("LOAD_FAST") and argument == 0
