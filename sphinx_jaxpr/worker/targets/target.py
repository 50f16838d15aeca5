"""From the name of a target to its object, and from a docstring to the modules of its names.

Imports user code.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from ...program.text import series
from ...tracing.folders import Folders, beneath
from ...tracing.grammar import nearest
from ...tracing.jobs import is_page_code
from ...tracing.request import Request, is_within
from ...tracing.result import ErrorKind
from ..failures import RequestError
from ..recorder import DependencyRecorder
from .reach import ReachableNames, Unreachable, name_of

# --- the object that a target names

#: Modules by the names that programs usually give them.
_SHORT: Final = {"jnp": "jax.numpy", "lax": "jax.lax", "np": "numpy"}

#: How many names are proposed for a module that was not found.
_LISTED: Final = 3


class Target(NamedTuple):
    """What a request names: an object, its module, and its qualified name in that module."""

    value: Any
    module: ModuleType
    name: str


def resolve(
    request: Request,
    load: Callable[[str], ModuleType],
    roots: Sequence[str],
    around: Sequence[ModuleType] = (),
    page: ModuleType | None = None,
    allowed: tuple[str, ...] = (),
) -> Target:
    """The object that ``module:qualname``, ``module.qualname`` or a name of the page means.

    ``load`` imports a module by name.  ``around`` are the modules of the text with the
    target: a bare name is looked up there, and then in the code of the ``page``, where any
    other target without a module is looked up first.  ``allowed`` are the modules that names may
    lead into, empty for all.  Raises :class:`RequestError` where
    there is no such object, and whatever an import raises.
    """
    target = request.target
    further = (page,) if page is not None else ()
    if request.bare and around:
        path = target.partition(":")[2]
        names = ReachableNames(around[0], allowed, (*around[1:], *further))
        return Target(*_attribute(names, path, roots), path)
    first, dot, _ = target.partition(".")
    if page is not None and ":" not in target and (not dot or first in vars(page)):
        return Target(*_attribute(ReachableNames(page, allowed), target, roots), target)
    if ":" in target:
        name, _, path = target.partition(":")
        return Target(*_attribute(ReachableNames(load(name), allowed), path, roots), path)
    try:
        module, path = longest(target, load, allowed)
    except RequestError as error:
        if around and (hint := _meant(target, around, allowed)):
            report = error.report
            raise RequestError(
                ErrorKind.TARGET,
                f"{error}; {hint}",
                option=report.option,
                searched=report.searched,
                wanted=report.wanted,
            ) from None
        raise
    return Target(*_attribute(ReachableNames(module, allowed), path, roots), path)


def longest(
    dotted: str, load: Callable[[str], ModuleType], allowed: tuple[str, ...] = ()
) -> tuple[ModuleType, str]:
    """The module that a dotted name begins with, and the rest of it."""
    name, *rest = dotted.split(".")
    # Of a listed ``package.module``, the package itself need not be listed.
    while len(rest) > 1 and any(entry.startswith(f"{name}.") for entry in allowed):
        name = f"{name}.{rest.pop(0)}"
    module = load(name)
    while len(rest) > 1 and _is_submodule(module, rest[0]):
        module = load(f"{module.__name__}.{rest.pop(0)}")
    return module, ".".join(rest)


def _meant(target: str, around: Sequence[ModuleType], allowed: tuple[str, ...]) -> str:
    """The right form of a dotted name that belongs to a module of the text, or ``""``."""
    try:
        _, module = ReachableNames(around[0], allowed, tuple(around[1:])).find(target, called=True)
    except Unreachable:
        return ""
    last = target.rpartition(".")[2]
    return f"in a docstring, write '{module.__name__}:{target}', or '.{last}' inside its class"


def check_allowed(name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a module that a page may not import."""
    if not allowed:
        return
    listed = f"jaxpr_allowed_modules ({', '.join(allowed)})"
    if not is_within(name, allowed):
        raise RequestError(ErrorKind.OPTION, f"the module {name!r} is outside {listed}")
    if any(part.startswith("__") for part in name.split(".")):
        message = f"{name!r} has a part that begins with '__', which is outside {listed}"
        raise RequestError(ErrorKind.OPTION, message)


def _is_submodule(package: ModuleType, name: str) -> bool:
    full = f"{package.__name__}.{name}"
    try:
        return full in sys.modules or importlib.util.find_spec(full) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def load_module(name: str, recorder: DependencyRecorder, roots: Sequence[str]) -> ModuleType:
    """Import a module; if it doesn't exist, the page is wrong."""
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
    """Refuse a file of the project that another module of its name hides.

    Modules that Python and JAX have imported are loaded before any root is searched.
    """
    files = Folders().places(name, roots)
    if files and getattr(module, "__file__", None) not in files:
        top = name.partition(".")[0]
        owner = "the standard library" if top in sys.stdlib_module_names else "an installed package"
        message = f"{name!r} is a module of {owner}, which hides {files[0]}; rename the file"
        raise RequestError(ErrorKind.TARGET, message, wanted=name)


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
    meant = _SHORT.get(missing, "")
    elsewhere = [name for name in beneath(last, roots) if name != missing]
    if meant:
        hint = f"; write {meant}{wanted[len(missing) :]}"
    elif elsewhere:
        listed = series([*map(repr, elsewhere[:_LISTED])], "or")
        hint = f"; its file is importable as {listed}"
    else:
        hint = nearest(last, sorted(name for name in beside if name.isidentifier()))
    return RequestError(
        ErrorKind.TARGET, f"no module {missing!r}{hint}", searched=list(roots), wanted=wanted
    )


def _attribute(names: ReachableNames, path: str, roots: Sequence[str]) -> tuple[Any, ModuleType]:
    try:
        return names.find(path, called=True)
    except Unreachable as error:
        if error.inside is None:
            raise RequestError(ErrorKind.OPTION, str(error)) from None
        is_page = is_page_code(error.module)
        where = "the page's code" if is_page else f"module {error.module!r}"
        if error.inside:
            where = f"object {f'{error.module}:{error.inside}'!r}"
        hint = _made_by(names, error.inside, path) if error.inside else ""
        raise RequestError(
            ErrorKind.TARGET, f"{where} {error}{hint}", searched=() if is_page else list(roots)
        ) from None


def _made_by(names: ReachableNames, inside: str, path: str) -> str:
    """A hint for an attribute that a function has not, but what it returns may have."""
    owner, module = names.find(inside, called=True)
    if not inspect.isroutine(owner) and not isinstance(owner, type):
        return ""
    kind = "class" if isinstance(owner, type) else "function"
    target = inside if is_page_code(name_of(module)) else f"{name_of(module)}:{inside}"
    rest = path[len(inside) + 1 :]
    return (
        f"; it is a {kind}: for {rest!r} of what it returns, write the target {target},"
        f" make: {needed_text(owner)} and then: {rest}"
    )


def needed_text(factory: Any) -> str:
    """The arguments that a function needs, as in the option ``make``; ``()`` for none."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return "..."
    needed = [
        f"{p.name}=..."
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return ", ".join(needed) or "()"


# --- the modules that a docstring's names belong to; runs no code of theirs

#: How a source defines a name, or binds it in the module.
_DEFINED: Final = r"^[ \t]*((async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*[:=]"


def modules_around(
    entry: str, load: Callable[[str], ModuleType], allowed: tuple[str, ...] = ()
) -> list[ModuleType]:
    """The modules of a text: one named itself, or those of the object ``module:object``.

    A text belongs to the module that defines its object.  ``__module__`` may be another one, as
    packages set it to where the object is public.  Those outside ``allowed`` are left out.
    """
    modules = _modules_around(entry, load, allowed)
    return [module for module in modules if not allowed or is_within(name_of(module), allowed)]


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
        target = ReachableNames(module, allowed).reach(path)
    except Unreachable:
        return [module]
    if isinstance(target, ModuleType):  # under the name that a package gives it
        return [target, module]
    owners = list(dict.fromkeys(_owners(target, path, module)))
    return owners or [module]


def _owners(thing: Any, path: str, module: ModuleType) -> Iterator[ModuleType]:
    """Modules that may define the object that ``path`` names in ``module``, the nearest first."""
    code = _code_module(thing)
    if code is not None:
        yield code
    defining = list(_defining(path, module))
    yield from defining
    if isinstance(thing, type) and not defining:
        members = map(_code_module, vars(thing).values())
        yield from (member for member in members if member is not None)
    if isinstance(thing, type) or inspect.isroutine(thing):
        public = _own_module(getattr(thing, "__module__", None))
        if public is not None:
            yield public


def _code_module(thing: Any) -> ModuleType | None:
    """The module that holds the code of a function, a method or a property."""
    if isinstance(thing, property):
        thing = thing.fget
    elif isinstance(thing, functools.cached_property):
        thing = thing.func
    try:
        code = inspect.unwrap(thing)
    except ValueError:  # a wrapper of itself
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
