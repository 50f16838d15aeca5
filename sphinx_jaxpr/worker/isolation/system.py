"""Settings of the system, or of Python's own libraries, that code changes for all others."""

from __future__ import annotations

import contextlib
import decimal
import faulthandler
import locale
import logging
import os
import signal
import sys
import time
from typing import Any, Final

from .state import MISSING, Content, Settings, StateSlot, ValueSlot


def system_settings() -> list[tuple[StateSlot, str]]:
    """The settings of this file, and the words in code that changes them."""
    slots: list[tuple[StateSlot, str]] = [
        (_Environment(), "os environ putenv unsetenv environb"),
        (ValueSlot("the working folder", _folder, os.chdir), "chdir fchdir"),
        (
            ValueSlot("the locale", lambda: locale.setlocale(locale.LC_ALL, None), _set_locale),
            "locale",
        ),
        (Settings("signal", _handlers, _restore_handler), "signal"),
        (Settings("logging", _levels, _set_level, "the level of the logger {key!r}"), "logging"),
        (ValueSlot("the umask", _umask, _set_umask), "umask"),
        # After the environment, from which it is read.
        (ValueSlot("the time zone", lambda: (time.tzname, time.timezone), _set_zone), "tzset"),
        (ValueSlot("the standard streams", _closed, None), "close closefd"),
        (Settings("decimal.DefaultContext", _digits, _set_digit), "DefaultContext"),
    ]
    with contextlib.suppress(ImportError):  # not a Unix
        slots.append((_limits(), "resource setrlimit prlimit"))
    return slots


def stop_timers() -> None:
    """Cancel what would interrupt or end the process later."""
    faulthandler.cancel_dump_traceback_later()
    for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"):
        if hasattr(signal, name):
            signal.setitimer(getattr(signal, name), 0)


class _Environment(Settings):
    """The environment's variables; Python raises an event when one is set."""

    def __init__(self) -> None:
        self.reported = True
        super().__init__("os.environ", lambda: dict(os.environ), _set_environment)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.putenv", "os.unsetenv"):
            self.reported = True

    def unchanged(self) -> bool:
        """Whether none was set since the last look."""
        changed, self.reported = self.reported, False
        return not changed


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
    """The levels of loggers that have one, and the level up to which all are silent."""
    named = {"root": logging.root, **logging.root.manager.loggerDict}
    levels: Content = {
        name: logger.level
        for name, logger in named.items()
        if isinstance(logger, logging.Logger) and logger.level
    }
    return {**levels, _ALL_LOGGERS: logging.root.manager.disable}


_ALL_LOGGERS: Final = "logging.disable"


def _set_level(name: str, level: Any) -> None:
    if name == _ALL_LOGGERS:
        logging.disable(level)
    else:
        logging.getLogger(name).setLevel(logging.NOTSET if level is MISSING else level)


def _umask() -> int:
    mask = os.umask(0o77)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _set_umask(mask: int) -> None:
    os.umask(mask)


def _set_zone(zone: Any) -> None:
    time.tzset()  # the environment's


def _closed() -> tuple[Any, ...]:
    """The streams that were closed, which can't be undone."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return tuple(getattr(stream, "closed", None) for stream in streams)


def _digits() -> Content:
    """The context that new contexts of ``decimal`` copy."""
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


def _limits() -> StateSlot:
    import resource

    numbers = {name: getattr(resource, name) for name in dir(resource) if name[:7] == "RLIMIT_"}
    return Settings(
        "resource.setrlimit",
        lambda: {name: resource.getrlimit(number) for name, number in numbers.items()},
        lambda name, limits: resource.setrlimit(numbers[name], limits),
    )
