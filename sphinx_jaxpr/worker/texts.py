"""Finds the modules that a docstring's names belong to.  Runs code of no module itself."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

from ..tracing.request import is_within
from .failures import RequestError
from .permitted import name_of
from .reach import Names, Unreachable
from .target import longest

#: How a source defines a name, or binds it in the module.
_DEFINED: Final = r"^[ \t]*((async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*[:=]"


def modules_around(
    entry: str, load: Callable[[str], ModuleType], allowed: tuple[str, ...] = ()
) -> list[ModuleType]:
    """The modules of a text: one named itself, or those of the object ``module:object``.

    A text stands where its object is defined.  ``__module__`` may be another one, as
    packages set it to where the object is public.  Those outside ``allowed`` are left out.
    """
    found = _modules_around(entry, load, allowed)
    return [one for one in found if not allowed or is_within(name_of(one), allowed)]


def _modules_around(
    entry: str, load: Callable[[str], ModuleType], allowed: tuple[str, ...]
) -> list[ModuleType]:
    name, _, path = entry.partition(":")
    try:
        module = load(name)
    except RequestError:  # of a class: the page tells module and class by a dot alone
        module, path = longest(entry.replace(":", "."), load, allowed)
    if not path:
        return [module]
    try:
        found = Names(module, allowed).reach(path)
    except Unreachable:
        return [module]
    if isinstance(found, ModuleType):  # under the name that a package gives it
        return [found, module]
    owners = list(dict.fromkeys(_owners(found, path, module)))
    return owners or [module]


def _owners(found: Any, path: str, module: ModuleType) -> Iterator[ModuleType]:
    """Modules that may hold the text of what ``path`` names in ``module``, the nearest first."""
    code = _code_module(found)
    if code is not None:
        yield code
    defining = list(_defining(path, module))
    yield from defining
    if isinstance(found, type) and not defining:
        members = map(_code_module, vars(found).values())
        yield from (member for member in members if member is not None)
    if isinstance(found, type) or inspect.isroutine(found):
        public = _own_module(getattr(found, "__module__", None))
        if public is not None:
            yield public


def _code_module(found: Any) -> ModuleType | None:
    """The module that holds the code of a function, a method or a property."""
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, functools.cached_property):
        found = found.func
    try:
        code = inspect.unwrap(found)
    except ValueError:  # it wraps itself
        return None
    if not inspect.isfunction(code):
        return None
    return _own_module(code.__globals__.get("__name__"))


def _own_module(name: Any) -> ModuleType | None:
    """The module of that name; what the standard library made of an object has no text there."""
    if not isinstance(name, str) or name.partition(".")[0] in sys.stdlib_module_names:
        return None
    return sys.modules.get(name)


def _defining(path: str, module: ModuleType) -> Iterator[ModuleType]:
    """Modules of the same package whose source defines the object that ``path`` begins with."""
    first = path.partition(".")[0]
    root = getattr(module, first)
    top = module.__name__.partition(".")[0]
    for name in dict.fromkeys([getattr(root, "__name__", first), first]):
        if not isinstance(name, str) or not name.isidentifier():
            continue
        written = re.compile(_DEFINED.format(name=name), re.MULTILINE)
        for key, other in list(sys.modules.items()):
            if key.partition(".")[0] != top or not isinstance(other, ModuleType):
                continue
            if vars(other).get(name) is root and written.search(_source(other)):
                yield other


def _source(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError, SyntaxError):  # built in, or no longer there
        return ""
