"""The slots that a module holds: its names, its objects' attributes, its functions' caches."""

from __future__ import annotations

import array
import collections
import functools
import operator
import random
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSet
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar, Final

import jax
import numpy as np

from .state import (
    MISSING,
    AttributesSlot,
    ClassSlot,
    Content,
    Foreign,
    ListSlot,
    MappingSlot,
    Namespace,
    Public,
    SetSlot,
    StateSlot,
    ValueSlot,
)

# --- functions: their settable parts, and their caches


class Function(StateSlot):
    """The settable parts of a function: its code, its defaults, its names, its attributes."""

    entry = "{name}.{key}"

    _NAMES: ClassVar = (
        *("__code__", "__defaults__", "__kwdefaults__"),
        *("__name__", "__qualname__", "__doc__"),
    )
    _named: ClassVar = operator.attrgetter(*_NAMES)

    def __init__(self, name: str, function: Any) -> None:
        self.function = function
        super().__init__(name)

    def read(self) -> Content:
        """The parts that Python defines, and the attributes."""
        fn = self.function
        return {**dict(zip(self._NAMES, self._named(fn), strict=True)), **fn.__dict__}

    def unchanged(self) -> bool:
        """Compare by identity, which is fast."""
        parts, last = (*self._named(self.function), *self.function.__dict__.values()), self.last
        return len(parts) == len(last) and all(map(operator.is_, parts, last.values()))

    def write(self, content: Content) -> None:
        """Set what differs."""
        now = self.read()
        for key in now:
            if key not in content:
                del self.function.__dict__[key]
        for key, value in content.items():
            if now.get(key, MISSING) is not value:
                setattr(self.function, str(key), value)


class FunctionCache(StateSlot):
    """A function that caches its results.

    A program can't tell how full the cache is, but may get a result from it that was
    computed for another program, perhaps during its trace.
    """

    def __init__(self, name: str, function: Any) -> None:
        self.function = function
        self.size = function.cache_info().currsize
        super().__init__(name)

    def read(self) -> Content:
        """Nothing: a cache can't be compared."""
        return {}

    def unchanged(self) -> bool:
        """Never sure: the content of a cache can't be seen."""
        return True

    def write(self, content: Content) -> None:
        """Clear the cache if it has grown."""
        if self.function.cache_info().currsize > self.size:
            self.function.cache_clear()
            self.size = 0


# --- the slots of one module

#: How deep the objects of a module are searched, and how many of them.
DEPTH: Final = 8
MOST: Final = 5_000
#: Largest array, in bytes, whose content is compared.
ARRAY_BYTES: Final = 2**16

_PACKAGE: Final = f"{__name__.partition('.')[0]}."
_IN_PYTHON: Final = 1 << 9  # a class that code can change
_CACHE: Final = type(functools.lru_cache(lambda: None))
_PLAIN: Final = (int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice)
_OPAQUE: Final = (ModuleType, jax.Array, np.dtype, np.generic, CellType)


class Walk:
    """Finds the slots of one module; ``others`` has other modules' slots, by identity and part."""

    def __init__(
        self, others: dict[tuple[int, str], StateSlot], ours: Callable[[str], bool]
    ) -> None:
        self.others = others
        self.ours = ours  # whether a module of that name is one of the project
        self.met: set[int] = set()
        self.kept: list[Any] = []  # visited objects, kept alive so that no identity is reused
        self.slots: list[StateSlot] = []

    def module(self, module: ModuleType) -> list[StateSlot]:
        """The module's own names, and the objects behind them."""
        name = module.__name__
        self._add(module, lambda: Namespace(name, vars(module)))
        folders = vars(module).get("__path__")
        if isinstance(folders, list):  # where the modules of a package are searched for
            self._add(folders, lambda: ListSlot(f"{name}.__path__", folders))
        todo = collections.deque(
            (value, f"{name}.{key}", 0)
            for key, value in list(vars(module).items())
            if not (key.startswith("__") and key.endswith("__"))
        )
        while todo and len(self.met) < MOST:
            value, path, depth = todo.popleft()
            if isinstance(value, (*_PLAIN, *_OPAQUE)) or id(value) in self.met:
                continue
            if _is_the_workers(value):
                continue
            self.met.add(id(value))
            self.kept.append(value)
            for part, below in self._look(value, path):
                if depth < DEPTH:
                    todo.append((part, below, depth + 1))
        return self.slots

    def _add(self, thing: Any, make: Callable[[], StateSlot], part: str = "") -> None:
        """Note the slot of an object, or of one ``part`` of it."""
        key = (id(thing), part)
        if key not in self.others:
            try:
                slot = make()
            except Exception:  # an object that can't be read has no slot
                return
            self.others[key] = slot
            self.kept.append(thing)
        self.slots.append(self.others[key])

    def _look(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        """Note the settable parts of an object; the objects behind it, with their paths."""
        if isinstance(value, (tuple, frozenset)):
            yield from ((item, f"{path}[{n}]") for n, item in enumerate(value))
        elif isinstance(value, FunctionType):
            # A function that a library created for the project counts, with what it holds.
            if self.ours(value.__module__) or (value.__closure__ and not _is_named(value)):
                yield from self._function(value, path)
        elif isinstance(value, _CACHE):
            self._add(value, lambda: FunctionCache(path, value))
            yield getattr(value, "__wrapped__", None), path
        elif isinstance(value, MethodType):
            yield from ((value.__func__, path), (value.__self__, f"{path}.__self__"))
        elif isinstance(value, (staticmethod, classmethod)):
            yield value.__func__, path
        elif isinstance(value, property):
            yield from ((part, path) for part in (value.fget, value.fset) if part)
        elif isinstance(value, functools.partial):
            yield from ((part, path) for part in (value.func, *value.args, value.keywords))
        elif isinstance(value, type):
            if self.ours(value.__module__):
                self._add(value, lambda: AttributesSlot(path, value, lambda: dict(vars(value))))
                yield from ((item, f"{path}.{key}") for key, item in list(vars(value).items()))
        else:
            yield from self._object(value, path)

    def _function(self, fn: FunctionType, path: str) -> Iterator[tuple[Any, str]]:
        self._add(fn, lambda: Function(path, fn))
        names = fn.__code__.co_freevars
        for name, cell in zip(names, fn.__closure__ or (), strict=True):
            self._add(cell, functools.partial(_cell, f"{path}: {name}", cell))
            yield _contents(cell), f"{path}: {name}"
        yield from ((item, path) for item in fn.__defaults__ or ())
        yield from ((item, path) for item in (fn.__kwdefaults__ or {}).values())
        yield from ((item, f"{path}.{key}") for key, item in list(fn.__dict__.items()))

    def _object(self, value: Any, path: str) -> Iterator[tuple[Any, str]]:
        if isinstance(value, MutableMapping):
            self._add(value, lambda: MappingSlot(path, value))
            yield from ((item, f"{path}[{key!r:.40}]") for key, item in _items(value))
        elif isinstance(value, (list, collections.deque)):
            self._add(value, lambda: ListSlot(path, value))
            yield from ((item, f"{path}[{n}]") for n, item in enumerate(value))
        elif isinstance(value, MutableSet):
            self._add(value, lambda: SetSlot(path, value))
        elif isinstance(value, np.ndarray):
            if value.flags.writeable and value.nbytes <= ARRAY_BYTES and not value.dtype.hasobject:
                self._add(value, lambda: ValueSlot(path, value.tobytes, lambda b: _fill(value, b)))
        elif isinstance(value, (bytearray, array.array)) and _size(value) <= ARRAY_BYTES:
            self._add(
                value, lambda: ValueSlot(path, lambda: bytes(value), lambda b: _refill(value, b))
            )
        elif isinstance(value, random.Random):
            self._add(value, lambda: ValueSlot(path, value.getstate, value.setstate))
        elif isinstance(value, (np.random.Generator, np.random.RandomState)):
            self._add(value, lambda: _generator(path, value))
        if self.ours(type(value).__module__):
            self._add(value, lambda: ClassSlot(path, value), "class")
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self._add(attributes, lambda: Namespace(path, attributes))
            yield from ((item, f"{path}.{key}") for key, item in list(attributes.items()))
        if any("__slots__" in vars(cls) for cls in type(value).__mro__):
            slots = functools.partial(_slots, value)
            if slots():
                self._add(value, lambda: AttributesSlot(path, value, slots))
                yield from ((item, f"{path}.{key}") for key, item in slots().items())


def _is_the_workers(value: Any) -> bool:
    """Whether an object is of this package, as ``from importlib import import_module`` is here.

    Its state must survive a request.
    """
    while type(value) is MethodType:
        value = value.__func__
    if type(value) is FunctionType:
        name = value.__globals__.get("__name__")
    else:
        name = getattr(type(value), "__module__", "")
    return type(name) is str and name.startswith(_PACKAGE)


def _is_named(fn: FunctionType) -> bool:
    """Whether a function is one of a module's names: the library's own."""
    return getattr(sys.modules.get(fn.__module__), fn.__name__, None) is fn


def _cell(path: str, cell: CellType) -> ValueSlot:
    return ValueSlot(path, lambda: _contents(cell), lambda value: _fill_cell(cell, value))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return MISSING


def _fill_cell(cell: CellType, value: Any) -> None:
    if value is MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _items(mapping: MutableMapping[Any, Any]) -> list[tuple[Any, Any]]:
    try:
        return list(mapping.items())
    except Exception:  # a mapping of the user's own
        return []


def _fill(array: Any, content: bytes) -> None:
    array.ravel()  # better an error than half an array
    array[...] = np.frombuffer(content, array.dtype).reshape(array.shape)


def _size(value: Any) -> int:
    return memoryview(value).nbytes


def _refill(value: Any, content: bytes) -> None:
    if isinstance(value, bytearray):
        value[:] = content
    else:
        del value[:]
        value.frombytes(content)


def _generator(path: str, value: Any) -> ValueSlot:
    """The state of a NumPy generator, compared as text."""
    bits = getattr(value, "bit_generator", None) or value._bit_generator
    states: dict[str, object] = {}

    def get() -> str:
        state = bits.state
        text = repr({key: _listed(item) for key, item in state.items()})
        states[text] = state
        return text

    def put(text: str) -> None:
        bits.state = states[text]

    return ValueSlot(path, get, put)


def _listed(item: Any) -> Any:
    if isinstance(item, dict):
        return {key: _listed(part) for key, part in item.items()}
    return item.tolist() if isinstance(item, np.ndarray) else item


def _slots(value: Any) -> Content:
    names: set[str] = set()
    for cls in type(value).__mro__:
        own = vars(cls).get("__slots__", ())
        names.update((own,) if isinstance(own, str) else own)
    found_slots: Content = {}
    for name in sorted(names - {"__dict__", "__weakref__"}):
        try:
            found_slots[name] = object.__getattribute__(value, name)
        except AttributeError:
            continue
    return found_slots


# -- objects of libraries


def is_public(name: str) -> bool:
    """Whether a module of JAX, NumPy or Python is public."""
    top, *rest = name.split(".")
    return top in ("jax", "numpy", "builtins") and not any(part[:1] == "_" for part in rest)


def namespaces(modules: Mapping[str, ModuleType]) -> dict[str, StateSlot]:
    """The names in modules."""
    return {
        name: (Public if is_public(name) else Foreign)(name, vars(module))
        for name, module in modules.items()
        if isinstance(getattr(module, "__dict__", None), dict)
    }


def registries(modules: Mapping[str, ModuleType]) -> Iterator[StateSlot]:
    """The rules of JAX's interpreters: dictionaries that users add to."""
    for name, module in modules.items():
        if name.startswith("jax.interpreters."):
            for key, value in list(vars(module).items()):
                if isinstance(value, dict) and not key.startswith("_"):
                    yield MappingSlot(f"{name}.{key}", value)


def details(modules: Mapping[str, ModuleType]) -> Iterator[StateSlot]:
    """Classes of public modules, and objects with attributes, such as ``jax.nn.relu``."""
    met: set[int] = set()
    for name, module in modules.items():
        for key, value in list(vars(module).items()):
            if key.startswith("_") or id(value) in met or isinstance(value, (*_PLAIN, ModuleType)):
                continue
            met.add(id(value))
            if isinstance(value, type):
                if value.__flags__ & _IN_PYTHON:
                    yield _class(f"{name}.{key}", value)
            elif isinstance(value, FunctionType):
                yield Function(f"{name}.{key}", value)
            elif isinstance(getattr(value, "__dict__", None), dict):
                yield Foreign(f"{name}.{key}", vars(value))


def traced_kinds() -> list[type]:
    """The classes of the arguments that traced functions get: ``type(x)``.

    Public modules do not name them, but traced code can reach one.
    """
    met: list[type] = []

    def look(x: Any) -> Any:
        met.extend(type(x).__mro__)
        return x

    jax.make_jaxpr(look)(0.0)
    jax.make_jaxpr(jax.vmap(look))(np.zeros(1, np.float32))
    jax.make_jaxpr(jax.grad(look))(0.0)
    return [kind for kind in dict.fromkeys(met) if kind.__flags__ & _IN_PYTHON]


def class_slot(kind: type) -> StateSlot:
    """The attributes of a class."""
    return _class(f"{kind.__module__}.{kind.__qualname__}", kind)


def _class(path: str, cls: type) -> StateSlot:
    return AttributesSlot(path, cls, lambda: dict(vars(cls)))
