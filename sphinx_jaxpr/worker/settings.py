"""The settings of a process that code changes for all others: JAX's, Python's, the system's."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import decimal
import gc
import importlib
import locale
import logging
import operator
import os
import random
import signal
import sys
import time
import warnings
from array import array
from collections.abc import Callable, Hashable
from typing import Any, Final

import jax
import numpy as np

from .places import MISSING, Content, Foreign, Listed, Place, Value, same

#: What a process begins with, so that one is as another.
SEED: Final = 0


def seed() -> None:
    """The random state of Python and NumPy: else no two builds would agree."""
    random.seed(SEED)
    np.random.seed(SEED)


class Settings(Place):
    """Several settings that are read together, and written one by one."""

    def __init__(
        self,
        name: str,
        read: Callable[[], Content],
        write: Callable[[Any, Any], None],
        label: str = "{name}[{key!r}]",
    ) -> None:
        self._read, self._write, self._label = read, write, label
        super().__init__(name)

    def read(self) -> Content:
        """All of them."""
        return self._read()

    def write(self, content: Content) -> None:
        """Those that differ."""
        now = self._read()
        for key in {*now, *content}:
            value = content.get(key, MISSING)
            if not same(now.get(key, MISSING), value):
                self._write(key, value)

    def label(self, key: Hashable) -> str:
        """As code names it."""
        return self._label.format(name=self.name, key=key)


def all_settings() -> list[tuple[Place, frozenset[str]]]:
    """Every setting that is known, as it is now, and words that code which changes it has."""
    found: list[tuple[Place, str]] = [
        (_Configuration(), " ".join(_config_words())),
        (_Mesh(), "set_mesh use_mesh use_abstract_mesh Mesh mesh"),
        *((place, "sys site path") for place in _lists()),
        (_System("sys", vars(sys)), "sys"),
        (Settings("sys", _interpreter, _set_interpreter, "{key}"), "sys"),
        (Settings("sys.modules", _made_modules, _set_module), "modules"),
        (_Environment(), "os environ putenv unsetenv environb"),
        (Value("the working folder", _folder, os.chdir), "chdir fchdir"),
        (_Filters("warnings.filters", warnings.filters), "warnings"),
        (Value("the locale", lambda: locale.setlocale(locale.LC_ALL, None), _set_locale), "locale"),
        (Value("the state of random", _random_state, _set_random_state), "random"),
        (_NumpyRandom("the state of numpy.random", _numpy_state, _set_numpy_state), "random"),
        (Settings("numpy.seterr", lambda: {**np.geterr()}, _set_error), "seterr errstate"),
        (
            Settings("numpy.set_printoptions", _print_options, _set_print_option),
            "set_printoptions printoptions set_string_function",
        ),
        (Value("the garbage collector", _gc, _set_gc), "gc"),
        (Settings("signal", _handlers, _restore_handler), "signal"),
        (Settings("logging", _levels, _set_level, "the level of the logger {key!r}"), "logging"),
        (Value("the umask", _umask, _set_umask), "umask"),
        # Behind the environment, which it is read from.
        (Value("the time zone", lambda: (time.tzname, time.timezone), _set_zone), "tzset"),
        (Value("the standard streams", _closed, None), "close closefd"),
        (Settings("decimal.DefaultContext", _digits, _set_digit), "DefaultContext"),
        (
            _Context("contextvars", _variables, _set_variable),
            "contextvars ContextVar decimal seterr errstate printoptions set_printoptions set",
        ),
    ]
    with contextlib.suppress(ImportError):  # not a Unix
        found.append((_limits(), "resource setrlimit prlimit"))
    return [(place, frozenset(text.split())) for place, text in found]


def decides_devices(place: Place, key: Hashable) -> bool:
    """Whether JAX reads a setting when it first looks for devices, and never again."""
    if place.name == "os.environ":
        return str(key).startswith("XLA_")
    return place.name == "jax.config" and any(word in str(key) for word in _OF_DEVICES)


_OF_DEVICES: Final = ("platform", "num_cpu_devices", "_backend", "cpu_collectives", "distributed")


def _config_words() -> list[str]:
    """``config``, and the context managers that are named as the settings are."""
    return ["config", *(str(name).removeprefix("jax_") for name in jax.config.values)]


# -- JAX


class _Configuration(Settings):
    """JAX's configuration as it holds here: what a context manager set counts."""

    def __init__(self) -> None:
        known: Content = dict(jax.config.values)
        self.local = [str(key) for key in known if hasattr(jax.config, str(key))]
        self.get = operator.attrgetter(*self.local)
        self.seen: tuple[Any, ...] = ()
        super().__init__("jax.config", self._all, _set_config, "{key}")

    def _all(self) -> Content:
        self.seen = self.get(jax.config)
        return {**jax.config.values, **dict(zip(self.local, self.seen, strict=True))}

    def unchanged(self) -> bool:
        """All that decides a trace; the rest is read where one of these changed."""
        return all(map(operator.is_, self.get(jax.config), self.seen))


def _set_config(key: str, value: Any) -> None:
    if value is not MISSING:
        jax.config.update(key, value)


class _Mesh(Value):
    """The mesh in force.  While something is traced JAX tells its abstract form alone."""

    def __init__(self) -> None:
        self.met: dict[Any, Any] = {}  # abstract mesh -> itself: equal ones are one
        self.devices: dict[Any, Any] = {}  # abstract mesh -> the mesh that has it
        super().__init__("the mesh", self._mesh, self._set)

    def _mesh(self) -> Any:
        found = jax.sharding.get_abstract_mesh()
        if found is None or not found.axis_names:
            return MISSING
        if found not in self.met:
            self.met[found] = found
            with contextlib.suppress(Exception):  # where something is traced, or an older JAX
                self.devices[found] = jax.sharding.get_mesh()
        return self.met[found]

    def _set(self, mesh: Any) -> None:
        concrete = self.devices.get(mesh)
        if mesh is MISSING:
            jax.set_mesh(None)  # refused by JAX 0.7: then another process is needed
        elif concrete is not None and concrete.axis_names:
            jax.set_mesh(concrete)
        else:
            jax.sharding.use_abstract_mesh(mesh).__enter__()


# -- Python


class _System(Foreign):
    """The names of ``sys`` that are meant to be set: streams, hooks, the lists themselves."""

    def counts(self, key: Hashable, old: Any, new: Any) -> bool:
        """All but what Python notes of the last error."""
        return not str(key).startswith(("_", "last_", "exc_", "tracebacklimit_"))


def _lists() -> list[Place]:
    found: list[Place] = [
        _Paths(f"sys.{name}", getattr(sys, name)) for name in ("path", "meta_path", "path_hooks")
    ]
    return [*found, Listed("sys.argv", sys.argv)]


class _Paths(Listed):
    """Where modules are looked for."""

    def write(self, content: Content) -> None:
        """In place; what the finders remember is of another search."""
        super().write(content)
        importlib.invalidate_caches()


class _Filters(Listed):
    """The filters of warnings, with what Python derived from them."""

    def write(self, content: Content) -> None:
        """By way of a function that tells Python that they changed."""
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
    """Modules that code put there itself: no import made them."""
    found = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or getattr(spec, "name", name) != name:
            found[name] = module
    return found


def _set_module(name: str, module: Any) -> None:
    if module is MISSING:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = module


def _set_interpreter(key: str, value: Any) -> None:
    _INTERPRETER[key][1](value)


class _Context(Settings):
    """Context variables: decimal's context, NumPy's error state, the user's own.

    A variable can't be unset.  Each request runs in a context of its own, in
    which what another set is not there to begin with.
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


class _NumpyRandom(Value):
    """The state of NumPy's global generator; its memory is compared."""

    def __init__(self, name: str, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        super().__init__(name, get, put)
        # (Its own annotations leave it out.)
        self.generator: Callable[[], Any] = getattr(np.random, "get_bit_generator")  # noqa: B009
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
        return repr(state)  # another generator in its place
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


# -- the system


class _Environment(Settings):
    """The environment's variables; Python says when one is set."""

    def __init__(self) -> None:
        self.told = True
        super().__init__("os.environ", lambda: dict(os.environ), _set_environment)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.putenv", "os.unsetenv"):
            self.told = True

    def unchanged(self) -> bool:
        """Whether none was set since the last look."""
        told, self.told = self.told, False
        return not told


def _set_environment(key: str, value: Any) -> None:
    if value is MISSING:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def _folder() -> Any:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _levels() -> Content:
    """Of the loggers that have one, and the level up to which all are silent."""
    named = {"root": logging.root, **logging.root.manager.loggerDict}
    found: Content = {
        name: logger.level
        for name, logger in named.items()
        if isinstance(logger, logging.Logger) and logger.level
    }
    return {**found, _ALL_LOGGERS: logging.root.manager.disable}


_ALL_LOGGERS: Final = "logging.disable"


def _set_level(name: str, level: Any) -> None:
    if name == _ALL_LOGGERS:
        logging.disable(level)
    else:
        logging.getLogger(name).setLevel(logging.NOTSET if level is MISSING else level)


def _umask() -> int:
    mask = os.umask(0o77)  # to be read it has to be set
    os.umask(mask)
    return mask


def _set_umask(mask: int) -> None:
    os.umask(mask)


def _set_zone(zone: Any) -> None:
    time.tzset()  # the environment's


def _closed() -> tuple[Any, ...]:
    """Which of them were closed: that can't be undone."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return tuple(getattr(stream, "closed", None) for stream in streams)


def _digits() -> Content:
    """What new contexts of ``decimal`` are copies of."""
    return {name: getattr(decimal.DefaultContext, name) for name in _DIGITS}


_DIGITS: Final = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _set_digit(name: str, value: Any) -> None:
    setattr(decimal.DefaultContext, name, value)


def _set_locale(text: str) -> None:
    locale.setlocale(locale.LC_ALL, text)


_SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGPROF", "SIGVTALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)


def _handlers() -> Content:
    return {number: signal.getsignal(number) for number in _SIGNALS}


def _restore_handler(number: signal.Signals, handler: Any) -> None:
    if number == getattr(signal, "SIGALRM", None):
        signal.alarm(0)  # of whoever set the handler
    if handler is not None and handler is not MISSING:
        signal.signal(number, handler)


def _limits() -> Place:
    import resource

    numbers = {name: getattr(resource, name) for name in dir(resource) if name[:7] == "RLIMIT_"}
    return Settings(
        "resource.setrlimit",
        lambda: {name: resource.getrlimit(number) for name, number in numbers.items()},
        lambda name, limits: resource.setrlimit(numbers[name], limits),
    )
