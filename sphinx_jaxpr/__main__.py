"""``python -m sphinx_jaxpr``: commands beside the builders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    found = argparse.ArgumentParser(prog="python -m sphinx_jaxpr")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    drift = commands.add_parser(
        "drift",
        help="what another JAX makes of the blocks of a documentation",
        description="Traces all blocks with the project's own interpreter and with another one,"
        " and shows what differs. Exit status: 0 without another program, 1 with one, 2 where"
        " there is nothing to compare.",
    )
    drift.add_argument("docs", metavar="DOCS", help="the folder with conf.py")
    drift.add_argument(
        "--python", required=True, metavar="OTHER", help="the interpreter to compare with"
    )
    drift.add_argument("--json", action="store_true", help="print JSON instead of tables")
    drift.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of conf.py, for both",
    )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; its exit status."""
    given = parser().parse_args(arguments)
    from .commands import drift

    return drift.run(given.docs, given.python, given.settings, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
