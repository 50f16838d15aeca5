"""What code may change of others, as far as its names and instructions tell.

Looking at all that others hold, and at every setting, takes as long as tracing
a small function.  Code that sets no attribute but those of its own ``self``
need not be looked after, nor a setting that no code names.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from types import CodeType
from typing import Final

_SETTING: Final = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_WORD: Final = re.compile(r"\w+")
_LONGEST_NAME: Final = 200
#: Code with one of these may change any setting.
ANY_SETTING: Final = frozenset({"exec", "eval", "ctypes", "__enter__", "enter_context"})
_AROUND: Final = frozenset({"__subclasses__", "get_objects", "get_referrers"})
_NAMES: Final = frozenset(
    """setattr delattr exec eval vars __dict__ __setattr__ __delattr__ patch reload modules
    defjvp defjvps defvjp def_impl def_abstract_eval def_effectful_abstract_eval
    __code__ __defaults__ __kwdefaults__ __import__ ctypes""".split()
)


def words(code: CodeType) -> set[str]:
    """The names that a module's code uses, and the words of the short texts in it."""
    found: set[str] = set()
    for one in _all(code):
        for name in one.co_names:
            found.update(name.split("."))
        for constant in one.co_consts:
            if isinstance(constant, str) and len(constant) < _LONGEST_NAME:
                found.update(_WORD.findall(constant))
    return found


def meddles(code: CodeType) -> bool:
    """Whether a module's code, or a function in it, may change other modules' objects."""
    return any(_sets_others(one) for one in _all(code))


def looks_around(code: CodeType) -> bool:
    """Whether code may ask which modules are loaded, or which classes inherit from one."""
    return any(
        not _AROUND.isdisjoint(one.co_names)
        # ``sys.modules[__name__]`` is the module itself.
        or ("modules" in one.co_names and "__name__" not in one.co_names)
        for one in _all(code)
    )


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
    becomes = "__class__" in names  # an object that becomes another is one for its holders
    return any(
        op in _SETTING and (becomes or not _of_first_argument(code, raw, place * 2))
        for place, op in enumerate(raw[::2])
    )


def _of_first_argument(code: CodeType, raw: bytes, place: int) -> bool:
    """Whether the object was just loaded as the function's first argument: ``self``."""
    before = dis.opname[raw[place - 2]] if place >= 2 else ""
    # Two loads in one instruction have two numbers in it, the last one lower.
    argument = raw[place - 1] & 15 if before.count("LOAD_FAST") == 2 else raw[place - 1]
    return bool(code.co_argcount) and before.startswith("LOAD_FAST") and argument == 0
