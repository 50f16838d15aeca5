"""``python -m sphinx_jaxpr``: commands beside the builders."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # ``-m`` puts the working folder first, where a file such as random.py would hide
    # Python's own module.
    del sys.path[0]

import argparse
import os
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from . import __version__
from .commands import drift, show
from .commands.usage import FAILED, WRONG, UsageError
from .tracing.grammar import nearest, shorten

COMMANDS: dict[str, ModuleType] = {"show": show, "drift": drift}


class _ArgumentParser(argparse.ArgumentParser):
    """Leaves it to :func:`main` to say what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _ArgumentParser(prog="python -m sphinx_jaxpr", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"sphinx-jaxpr {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition("\n")[0].partition(": ")[2]
        command_parser = commands.add_parser(
            name, help=summary, description=summary, allow_abbrev=False
        )
        module.add_options(command_parser)
        command_parser.set_defaults(run=module.run)
    first = next((word for word in arguments if not word.startswith("-")), "")
    if first and first not in COMMANDS:
        listed = ", ".join(COMMANDS)
        raise UsageError(
            f"no command {shorten(first)}{nearest(first, COMMANDS)} (commands: {listed})"
        )
    if first:  # before argparse asks for what is missing
        options = (*COMMANDS[first].OPTIONS, "--help", "--version")
        for word in (word.partition("=")[0] for word in arguments if word.startswith("--")):
            if word not in options:
                raise UsageError(f"unknown argument {shorten(word)}{nearest(word, options)}")
    namespace, unknown = parser.parse_known_args(arguments)
    if unknown:
        raise UsageError(f"unknown argument {shorten(unknown[0])}")
    return namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 1 where something failed, 2 for wrong usage."""
    try:
        namespace = _parsed(sys.argv[1:] if arguments is None else arguments)
        status: int = namespace.run(namespace)
        sys.stdout.flush()
        return status
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return WRONG
    except KeyboardInterrupt:
        return 128 + 2
    except BrokenPipeError:  # whoever read our output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
