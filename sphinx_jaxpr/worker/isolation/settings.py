"""The settings of a process that code changes for all others: JAX's, Python's, the system's."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import gc
import importlib
import operator
import random
import sys
import warnings
from array import array
from collections.abc import Callable, Hashable
from typing import Any, Final

import jax
import numpy as np

from .state import MISSING, Content, Foreign, ListSlot, Settings, StateSlot, ValueSlot
from .system import system_settings

# Code may set others.
_CONFIG: Final = jax.config
_abstract_mesh: Final = jax.sharding.get_abstract_mesh
_concrete_mesh: Final[Any] = getattr(jax.sharding, "get_mesh", None)  # not in JAX 0.7
_set_mesh: Final = jax.set_mesh
_use_mesh: Final = jax.sharding.use_abstract_mesh

#: The seed of every process, so that all are alike.
SEED: Final = 0


def seed() -> None:
    """Seed the generators of Python and NumPy; otherwise no two builds would agree."""
    random.seed(SEED)
    np.random.seed(SEED)


def all_settings() -> list[tuple[StateSlot, frozenset[str]]]:
    """Every known setting with its present value, and the words in code that changes it."""
    named: list[tuple[StateSlot, str]] = [
        (_Configuration(), " ".join(_config_words())),
        (_Mesh(), "set_mesh use_mesh use_abstract_mesh Mesh mesh"),
        *((slot, "sys site path") for slot in _lists()),
        (_System("sys", vars(sys)), "sys"),
        (Settings("sys", _interpreter, _set_interpreter, "{key}"), "sys"),
        (Settings("sys.modules", _made_modules, _set_module), "modules"),
        (_Filters("warnings.filters", warnings.filters), "warnings"),
        (ValueSlot("the state of random", _random_state, _set_random_state), "random"),
        (_NumpyRandom("the state of numpy.random", _numpy_state, _set_numpy_state), "random"),
        (Settings("numpy.seterr", lambda: {**np.geterr()}, _set_error), "seterr errstate"),
        (
            Settings("numpy.set_printoptions", _print_options, _set_print_option),
            "set_printoptions printoptions set_string_function",
        ),
        (ValueSlot("the garbage collector", _gc, _set_gc), "gc"),
        *system_settings(),
        (
            _Context("contextvars", _variables, _set_variable),
            "contextvars ContextVar decimal seterr errstate printoptions set_printoptions set",
        ),
    ]
    return [(slot, frozenset(text.split())) for slot, text in named]


def _config_words() -> list[str]:
    """``config``, and the context managers named like the settings."""
    return ["config", *(str(name).removeprefix("jax_") for name in _CONFIG.values)]


# -- JAX


class _Configuration(Settings):
    """JAX's configuration in this context, with values set by context managers."""

    def __init__(self) -> None:
        values: Content = dict(_CONFIG.values)
        self.local = [str(key) for key in values if hasattr(_CONFIG, str(key))]
        self.get = operator.attrgetter(*self.local)
        self.seen: tuple[Any, ...] = ()
        super().__init__("jax.config", self._all, _set_config, "{key}")

    def _all(self) -> Content:
        self.seen = self.get(_CONFIG)
        return {**_CONFIG.values, **dict(zip(self.local, self.seen, strict=True))}

    def unchanged(self) -> bool:
        """Compare all that affects a trace; the rest is read only if one of these changed."""
        return all(map(operator.is_, self.get(_CONFIG), self.seen))


def _set_config(key: str, value: Any) -> None:
    if value is not MISSING:
        _CONFIG.update(key, value)


class _Mesh(ValueSlot):
    """The mesh in force.  During a trace JAX returns its abstract form only."""

    def __init__(self) -> None:
        self.met: dict[Any, Any] = {}  # abstract mesh -> itself: equal meshes become one object
        self.devices: dict[Any, Any] = {}  # abstract mesh -> its concrete mesh
        super().__init__("the mesh", self._mesh, self._set)

    def _mesh(self) -> Any:
        mesh = _abstract_mesh()
        if mesh is None or not mesh.axis_names:
            return MISSING
        if mesh not in self.met:
            self.met[mesh] = mesh
            with contextlib.suppress(Exception):  # during a trace, or in an older JAX
                self.devices[mesh] = _concrete_mesh()
        return self.met[mesh]

    def _set(self, mesh: Any) -> None:
        concrete = self.devices.get(mesh)
        if mesh is MISSING:
            _set_mesh(None)  # refused by JAX 0.7: then another process is needed
        elif concrete is not None and concrete.axis_names:
            _set_mesh(concrete)
        else:
            _use_mesh(mesh).__enter__()


# -- Python


class _System(Foreign):
    """The names of ``sys`` that may be set: streams, hooks, the lists themselves."""

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """All but Python's record of the last error."""
        return not str(key).startswith(("_", "last_", "exc_", "tracebacklimit_"))


def _lists() -> list[StateSlot]:
    slots: list[StateSlot] = [
        _Paths(f"sys.{name}", getattr(sys, name)) for name in ("path", "meta_path", "path_hooks")
    ]
    return [*slots, ListSlot("sys.argv", sys.argv)]


class _Paths(ListSlot):
    """Where modules are searched for."""

    def write(self, content: Content) -> None:
        """Set the paths in place, and drop the finders' caches of another search."""
        super().write(content)
        importlib.invalidate_caches()


class _Filters(ListSlot):
    """The filters of warnings, with what Python derives from them."""

    def write(self, content: Content) -> None:
        """Set the filters, and notify Python that they changed."""
        warnings.resetwarnings()
        super().write(content)


def _set_digits(value: int) -> None:
    sys.set_int_max_str_digits(value)


_INTERPRETER: Final[dict[Any, tuple[Callable[[], Any], Callable[[Any], Any]]]] = {
    "the recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "sys.setswitchinterval": (sys.getswitchinterval, sys.setswitchinterval),
    "sys.set_int_max_str_digits": (sys.get_int_max_str_digits, _set_digits),
}


def _interpreter() -> Content:
    return {key: get() for key, (get, _) in _INTERPRETER.items()}


def _random_state() -> Any:
    version, inner, gauss = random.getstate()
    return (version, array("L", inner).tobytes(), gauss)


def _set_random_state(state: Any) -> None:
    version, inner, gauss = state
    random.setstate((version, tuple(array("L", inner)), gauss))


def _made_modules() -> Content:
    """Modules that code put there itself, without an import."""
    modules = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or getattr(spec, "name", name) != name:
            modules[name] = module
    return modules


def _set_module(name: str, module: Any) -> None:
    if module is MISSING:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = module


def _set_interpreter(key: str, value: Any) -> None:
    _INTERPRETER[key][1](value)


class _Context(Settings):
    """Context variables: decimal's context, NumPy's error state, the user's own.

    A variable can't be unset.  Each request runs in its own context, which doesn't have the
    variables that others set.
    """

    def put_back(self) -> bool:
        """Left to the next context."""
        self.last = self.base
        return True


def _variables() -> Content:
    return dict(contextvars.copy_context().items())


def _set_variable(variable: contextvars.ContextVar[Any], value: Any) -> None:
    if value is not MISSING:
        variable.set(value)


def _gc() -> tuple[bool, tuple[int, int, int]]:
    return gc.isenabled(), gc.get_threshold()


def _set_gc(state: tuple[bool, tuple[int, int, int]]) -> None:
    (gc.enable if state[0] else gc.disable)()
    gc.set_threshold(*state[1])


# -- NumPy


class _NumpyRandom(ValueSlot):
    """The state of NumPy's global generator, compared as memory."""

    def __init__(self, name: str, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        super().__init__(name, get, put)
        # (Its own annotations leave it out.)
        self.generator: Callable[[], Any] = getattr(np.random, "get_bit_generator")  # noqa: B009 - as above
        self.memory = self._memory()

    def _memory(self) -> bytes:
        bits = self.generator()
        return ctypes.string_at(bits.ctypes.state_address, _MT19937_BYTES)

    def unchanged(self) -> bool:
        """Whether the words of the generator are the same."""
        memory, self.memory = self.memory, self._memory()
        return memory == self.memory


_MT19937_BYTES: Final = 4 * 625


def _numpy_state() -> Any:
    state = np.random.get_state(legacy=False)
    inner = state["state"]
    if not isinstance(inner, dict) or "key" not in inner:
        return repr(state)  # another generator replaced it
    key = inner["key"].tobytes()
    return (state["bit_generator"], key, inner["pos"], state["has_gauss"], state["gauss"])


def _set_numpy_state(state: Any) -> None:
    name, key, *rest = state
    np.random.set_state((name, np.frombuffer(key, np.uint32), *rest))


def _set_error(key: str, value: Any) -> None:
    np.seterr(**{key: value})


def _print_options() -> Content:
    return {k: v for k, v in np.get_printoptions().items() if k != "override_repr"}


def _set_print_option(key: str, value: Any) -> None:
    np.set_printoptions(**{key: value})
