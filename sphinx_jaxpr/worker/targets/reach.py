"""What names may reach under ``jaxpr_allowed_modules``.  Imports JAX.

Each step of a name, and the object at its end, is judged by where it was defined: an allowed
module may hold objects of any other, and a page must not call those.  Where possible, what
an object says about itself is read without running its code.
"""

from __future__ import annotations

import enum
import functools
import operator
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from ...tracing.grammar import nearest
from ...tracing.request import is_within
from ..facts.jaxprs import is_jaxpr

# --- what names may reach: the rules

#: Functions that run a text as Python: a page names things, and its texts are never evaluated.
_EVALUATING: Final = (eval, exec, compile)

#: How many layers of partials, transforms and decorators are unwrapped.
_LAYERS: Final = 50

#: How deep containers are searched, and how many of their items.
_DEPTH: Final = 8
_ITEMS: Final = 10_000

#: JAX's modules whose functions are pure, but for ``_IMPURE``.
_DOCUMENTED: Final = (
    jnp,
    jnp.fft,
    jnp.linalg,
    jax.lax,
    jax.lax.linalg,
    jax.nn,
    jax.nn.initializers,
    jax.dtypes,
    jax.random,
)
#: Modules that a name may pass through without being allowed: NumPy, for its dtypes.
_PASSED: Final = {id(name): name for name in (jax, np, jax.checkpoint_policies, *_DOCUMENTED)}

#: What touches a file, a device, the terminal or another process says so in its name.
_IMPURE: Final = re.compile(
    r"load|save|file|print|dlpack|feed|callback|debug|profil|host|server|recv|send"
)

_SCALARS: Final = (bool, int, float, complex)
_ARRAYS: Final = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)
_OF_ARRAYS: Final = frozenset({"T", "dtype", "imag", "mT", "ndim", "real", "shape", "size"})
_GETTERS: Final = (operator.attrgetter, operator.itemgetter)
#: These are not values of a program, and they give access to everything.
_INNER: Final = (
    types.AsyncGeneratorType,
    types.CodeType,
    types.CoroutineType,
    types.FrameType,
    types.GeneratorType,
    types.TracebackType,
)
#: What JAX and the standard library make of a function refers to it as ``__wrapped__``.
_WRAPPERS: Final = ("jax", "jaxlib", "functools", "contextlib")
#: Modules of Python whose classes only create objects.
_BASES: Final = ("abc", "builtins", "collections", "enum", "typing")


#: The names of these modules and of the policies, as they were before user code ran.
_NAMES: Final = tuple(
    (name, dict(vars(owner)))
    for name, owner in (
        *((module.__name__, module) for module in _DOCUMENTED),
        ("jax", jax.checkpoint_policies),
    )
)


def is_passed(name: str) -> bool:
    """Whether the names of a module, of JAX or NumPy, may be used without its being allowed."""
    return any(
        isinstance(each, types.ModuleType) and each is sys.modules.get(name)
        for each in _PASSED.values()
    )


def _documented() -> Iterator[tuple[Any, str]]:
    """JAX's pure objects, each with the module that publishes it."""
    for module, members in _NAMES:
        for name, member in members.items():
            if name.startswith("_") or (module != "jax" and _IMPURE.search(name)):
                continue
            home = str(getattr(member, "__module__", ""))
            if module == "jax" or _is_dtype(member) or is_within(home, ("jax",)):
                yield member, module


def _is_dtype(value: Any) -> bool:
    # By identity: an object of user code may compare as it likes.
    return any(value is scalar for scalar in _SCALARS) or (
        issubclass(type(value), type) and issubclass(value, np.generic)
    )


@functools.cache  # by need: few projects restrict names
def published() -> dict[int, set[str]]:
    """Objects of JAX that a page may pass on, by identity, with the modules that publish them.

    An allowed module may be one of these.
    """
    modules: dict[int, set[str]] = {}
    for member, module in _documented():
        modules.setdefault(id(member), set()).add(module)
    return modules


class Permit:
    """The rules for names where names may lead into the ``allowed`` modules only."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        self.listed = f"jaxpr_allowed_modules ({', '.join(allowed)})"

    # -- on the way

    def ask(self, owner: Any, part: str) -> str:
        """Why a name may not take the attribute ``part`` of ``owner``, or ``""``."""
        if part.startswith("__"):
            if self._is_own_method(owner, part):
                return ""
            return (
                f"uses {part!r}: of names that begin with '__', {self.listed} allows only methods"
                " defined by a class of these modules"
            )
        if not self._is_open(owner, part):
            return (
                f"asks {_what(owner)} for {part!r}: under {self.listed} a name may only pass"
                " through modules, and through classes and objects of these modules"
            )
        kind = owner if issubclass(type(owner), type) else type(owner)
        getter = self._getter(owner, part) if self._within(_class_module(kind)) else ""
        return f"gets {part!r} from {getter}, which is outside {self.listed}" if getter else ""

    def enter(self, module: types.ModuleType) -> str:
        """Why names may not pass through a module, or ``""``."""
        if id(module) in _PASSED or self._within(name_of(module)):
            return ""
        return f"passes through the module {name_of(module)!r}, which is outside {self.listed}"

    def take(self, owner: Any, member: Any) -> str:
        """Why a page may not use what ``owner``, of JAX or NumPy, publishes, or ``""``."""
        if id(owner) not in _PASSED or id(member) in _PASSED or id(member) in published():
            return ""
        name = "numpy" if owner is np else "jax"
        if isinstance(member, (*_SCALARS, type(None), np.dtype)) or self._within(name):
            return ""
        if callable(member) and not self._foreign(member, called=False):
            return ""  # put there by a module that is allowed
        return (
            f"is {_what(member)}: of JAX, {self.listed} allows dtypes, checkpoint policies and"
            " those functions of jax.numpy, jax.lax and jax.nn that touch no file, terminal or"
            " process"
        )

    def _is_open(self, owner: Any, part: str) -> bool:
        kind = type(owner)
        if issubclass(kind, type):
            return self._within(_class_module(owner)) or (
                id(owner) in published() and issubclass(owner, enum.Enum)
            )
        if kind is types.FunctionType:  # attributes that its author set
            return part in owner.__dict__
        if issubclass(kind, types.ModuleType) or kind is types.SimpleNamespace:
            return True
        if issubclass(kind, _ARRAYS) and part in _OF_ARRAYS:
            return True
        return self._within(_class_module(kind))

    def _getter(self, owner: Any, part: str) -> str:
        """The foreign code that runs to get an attribute of a class or an object, in words."""
        is_class = issubclass(type(owner), type)
        definer, member = _defined(owner if is_class else type(owner), part)
        if definer is None:
            if part not in _attributes(owner):
                definer, _ = _defined(type(owner), "__getattr__")
            return "" if self._plain(definer) else f"the __getattr__ of {_what(definer)}"
        kind = type(member)
        if issubclass(kind, (property, functools.cached_property)):
            getter = member.fget if issubclass(kind, property) else member.func
            if is_class or _class_module(definer) in _BASES or type(getter) in _GETTERS:
                return ""
            return self._foreign(getter, called=True)
        definer, method = _defined(kind, "__get__")
        in_python = type(method) is types.FunctionType
        return f"the __get__ of {_what(definer)}" if in_python and not self._plain(definer) else ""

    def _plain(self, kind: type | None) -> bool:
        """Whether what a class defines may run: it is allowed, or Python's, or JAX's."""
        module = _class_module(kind) if kind is not None else "builtins"
        return module in _BASES or _is_wrapper(module) or self._within(module)

    def _is_own_method(self, owner: Any, name: str) -> bool:
        kind = owner if issubclass(type(owner), type) else type(owner)
        definer, member = _defined(kind, name)
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        return (
            definer is not None
            and self._within(_class_module(definer))
            and callable(member)
            and not issubclass(type(member), type)
        )

    # -- at its end

    def call(self, target: Any) -> str:
        """Why a page may not call ``target``, or ``""``."""
        return self._in_words(target, called=True)

    def value(self, tree: Any) -> str:
        """Why a page may not pass ``tree`` on, or ``""``."""
        for item in _leaves(tree):
            if isinstance(item, types.ModuleType):
                if not self._within(name_of(item)):
                    return f"is the module {name_of(item)!r}, which is outside {self.listed}"
            elif issubclass(type(item), _INNER):
                return (
                    f"is a {type(item).__name__}, which {self.listed} does not let a page pass on"
                )
            elif callable(item) and not issubclass(type(item), _MESHES):
                problem = self._in_words(item, called=False)
                if problem:
                    return problem
        return ""

    def _in_words(self, target: Any, *, called: bool) -> str:
        foreign = self._foreign(target, called=called)
        if not foreign:
            return ""
        return (
            f"is {foreign}, which is outside {self.listed}; a function of yours that uses it can"
            " be named"
        )

    def _within(self, module: Any) -> bool:
        return type(module) is str and is_within(module, self.allowed)

    def _foreign(self, value: Any, *, called: bool, layers: int = _LAYERS) -> str:
        """The part of a callable that another module defines, in words; ``""`` if none is."""
        for left in range(layers, 0, -1):
            if not called and (id(value) in published() or _is_dtype(value)):
                return ""
            if any(map(self._within, published().get(id(value), ()))):
                return ""
            kind = type(value)
            if issubclass(kind, type):
                return self._foreign_class(value, called=called)
            if issubclass(kind, functools.partial):
                definer, _ = _defined(kind, "__call__")
                if not _is_wrapper(_class_module(definer)):
                    return self._foreign_call(value, called=called, layers=left)
                value = functools.partial.func.__get__(value)
                continue
            if kind is types.MethodType:
                holder = value.__self__
                holder = holder if issubclass(type(holder), type) else type(holder)
                if not self._within(_class_module(holder)):
                    return f"a method of {_what(holder)}"
                value = value.__func__
                continue
            wrapped = _wrapped(value)
            if kind is types.FunctionType:
                made = wrapped is not None and _is_wrapper(value.__globals__.get("__name__"))
                if not made and not self._within(value.__module__):
                    return _what(value)
            elif self._within(_class_module(kind)):
                foreign = self._foreign_call(value, called=called, layers=left)
                if foreign:
                    return foreign
            elif kind is types.BuiltinFunctionType:  # of an extension module
                return "" if self._within(getattr(value, "__module__", None)) else _what(value)
            elif wrapped is None or not _is_wrapper(_class_module(kind)):
                return _what(value)
            if wrapped is None:
                return ""
            value = wrapped
        return "wrapped too deeply to tell what it calls"

    def _foreign_class(self, kind: type, *, called: bool) -> str:
        """The foreign code that creating an object of a class runs, in words."""
        if not self._within(_class_module(kind)):
            return _what(kind)
        makers = [(kind, "__new__"), (kind, "__init__")]
        if called:  # what JAX and others do with a class that they get is up to them
            makers.append((type(kind), "__call__"))
            if _defined(kind, "__dataclass_fields__")[0] is not None:
                makers.append((kind, "__post_init__"))
        for owner, name in makers:
            definer, _ = _defined(owner, name)
            module = _class_module(definer) if definer is not None else "builtins"
            if module not in _BASES and not self._within(module):
                return f"a class with the {name} of {_what(definer)}"
        return ""

    def _foreign_call(self, value: Any, *, called: bool, layers: int) -> str:
        """The foreign code that calling an object runs, in words."""
        kind = type(value)
        definer, method = _defined(kind, "__call__")
        if definer is None or not self._within(_class_module(definer)):
            return f"an object with the __call__ of {_what(definer or kind)}"
        if type(method) is types.WrapperDescriptorType and method.__objclass__ is definer:
            return ""  # a class of an extension module
        if isinstance(method, (staticmethod, classmethod)):
            method = method.__func__
        if issubclass(type(method), functools.partialmethod):
            method = method.func
        if issubclass(type(method), kind):
            return ""
        if not callable(method):
            method = _bound(method, value)
        return self._foreign(method, called=called, layers=layers - 1)


_MESHES: Final = (jax.sharding.Mesh, jax.sharding.AbstractMesh)


def _leaves(value: Any) -> Iterator[Any]:
    """A value, or what plain containers hold."""
    todo = [(value, 0)]
    for _ in range(_ITEMS):
        if not todo:
            return
        item, depth = todo.pop()
        kind = type(item)
        if kind is dict and depth < _DEPTH:
            todo += [(inner, depth + 1) for inner in item.values()]
        elif kind in (tuple, list, set, frozenset) and depth < _DEPTH:
            todo += [(inner, depth + 1) for inner in item]
        else:
            yield item


def _bound(descriptor: Any, value: Any) -> Any:
    """The function that is called where a class has a descriptor as its ``__call__``."""
    kind = type(value)
    bound = type(descriptor).__get__(descriptor, None, kind)
    return bound if callable(bound) else type(descriptor).__get__(descriptor, value, kind)


def _attributes(value: Any) -> dict[str, object]:
    """An object's own attributes, whatever its class says."""
    try:
        attributes: dict[str, object] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return attributes


def _defined(kind: type, name: str) -> tuple[type | None, Any]:
    """The class from which ``kind`` gets an attribute, and the attribute's value there."""
    for cls in type.__dict__["__mro__"].__get__(kind):
        names = type.__dict__["__dict__"].__get__(cls)
        if name in names:
            return cls, names[name]
    return None, None


def _class_module(kind: Any) -> Any:
    """``__module__`` of a class, whatever its metaclass says."""
    try:
        return type.__dict__["__module__"].__get__(kind)
    except (AttributeError, TypeError):
        return None


def _wrapped(value: Any) -> Any:
    """What a wrapper wraps: noted on the object itself, or by one of JAX's own kinds."""
    if type(value) is not types.FunctionType and _is_wrapper(_class_module(type(value))):
        return getattr(value, "__wrapped__", None)
    attributes = _attributes(value)
    method = attributes.get("_partialmethod", attributes.get("__partialmethod__"))
    if type(method) is functools.partialmethod:  # asked of its class
        return method.func
    return attributes.get("__wrapped__")


def _is_wrapper(module: Any) -> bool:
    return type(module) is str and is_within(module, _WRAPPERS)


def _what(value: Any) -> str:
    """An object and its module, in the words of a message."""
    if issubclass(type(value), types.ModuleType):
        return f"the module {name_of(value)!r}"
    if issubclass(type(value), type):
        name = type.__dict__["__name__"].__get__(value)
        return f"the class {name!r} of {_named(_class_module(value))}"
    if type(value) in (types.FunctionType, types.BuiltinFunctionType):
        holder = getattr(value, "__self__", None)
        if holder is not None and not isinstance(holder, types.ModuleType):
            kind = holder if issubclass(type(holder), type) else type(holder)
            return f"a method of {_what(_defined(kind, value.__name__)[0] or type(holder))}"
        return f"a function of {_named(value.__module__)}"
    kind = type(value)
    return f"an object of {_what(kind)}"


def name_of(module: Any) -> str:
    """The name of a module, whose code may have changed or deleted it."""
    name = getattr(module, "__name__", "")
    return name if type(name) is str else ""


def _named(module: Any) -> str:
    return f"the module {module!r}" if type(module) is str else "a module that it does not name"


# --- dotted names: attributes, step by step, from a module on


class Unreachable(Exception):
    """Why a name can't be resolved.

    ``inside`` is the part of it up to the object that has no such attribute, ``""`` for the
    module itself; ``None`` where the name reaches an object that it may not be used for.
    ``module`` is where the name was looked up.
    """

    def __init__(self, message: str, inside: str | None, module: str) -> None:
        super().__init__(message)
        self.inside = inside
        self.module = module


@dataclass(frozen=True)
class ReachableNames:
    """The names of a module; ``allowed`` are the modules that they may lead into, if not all.

    Names that the module lacks are looked up in ``further`` modules, in their order.
    """

    module: ModuleType
    allowed: tuple[str, ...] = ()
    further: tuple[ModuleType, ...] = ()

    def reach(self, path: str) -> Any:
        """The value that ``path`` names; :class:`Unreachable` where there is none."""
        return self.find(path)[0]

    def find(self, path: str, *, called: bool = False) -> tuple[Any, ModuleType]:
        """The attribute that ``path`` names, and the module that has it.

        An object that will be ``called`` must belong to an allowed module.
        """
        problems: list[Unreachable] = []
        # By identity: a module may have put any object in its place.
        modules = list({id(each): each for each in (self.module, *self.further)}.values())
        for module in modules:
            try:
                return self.follow(module, path, called, name_of(module)), module
            except Unreachable as error:
                problems.append(error)
        for problem in problems:
            if problem.inside != "":  # the name exists there
                raise problem
        if len(modules) == 1:
            raise problems[0]
        first = path.partition(".")[0]
        names = [name for module in modules for name in dir(module) if not name.startswith("__")]
        others = ", ".join(f"module {module.__name__!r}" for module in modules[1:])
        text = f"has no attribute {first!r}, nor has {others}{nearest(first, names)}"
        raise Unreachable(text, "", self.module.__name__)

    def check_call(self, target: Any, path: str) -> None:
        """Raise :class:`Unreachable` if a page may not call the object."""
        if self.allowed:
            self._check(path, name_of(self.module), Permit(self.allowed).call(target))

    def follow(self, start: Any, path: str, called: bool, home: str) -> Any:
        """The attribute that ``path`` names from ``start`` on, in the module called ``home``."""
        permit = Permit(self.allowed) if self.allowed else None
        value: Any = start
        done = ""
        for part in path.split("."):
            owner = value
            if permit:
                self._check(path, home, permit.ask(owner, part))
            try:
                value = getattr(owner, part)
            except AttributeError:
                names = [name for name in dir(owner) if not name.startswith("__")]
                text = f"has no attribute {part!r}{nearest(part, names)}"
                raise Unreachable(text, done, home) from None
            done = f"{done}.{part}" if done else part
            if permit and isinstance(value, ModuleType):
                self._check(path, home, permit.enter(value))
            elif permit and not called:
                self._check(path, home, permit.take(owner, value))
        if permit:
            self._check(path, home, self._end(permit, value, called))
        if any(value is function for function in _EVALUATING):
            self._check(path, home, "evaluates a text; the code of a page goes in jaxpr-code")
        return value

    @staticmethod
    def _end(permit: Permit, value: Any, called: bool) -> str:
        if not called:
            return permit.value(value)
        return permit.call(value) if callable(value) and not is_jaxpr(value) else ""

    @staticmethod
    def _check(path: str, home: str, refusal: str) -> None:
        if refusal:
            raise Unreachable(f"{path!r} {refusal}", None, home)
