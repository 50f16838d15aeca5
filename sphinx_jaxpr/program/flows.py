"""Which operands reach which results of an equation, as JSON has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .model import EquationFlow, Reached

#: Operands as a hexadecimal number; a mark where they are uncertain.
REACHED: Final = re.compile(r"[0-9a-f]{1,10000}\??")


def to_rows(flows: Mapping[int, EquationFlow]) -> list[Any]:
    """Rows of a position, what reaches the results, and what is written to references."""
    return [
        [
            position,
            [_text(reached) for reached in flow.outputs],
            [[operand, _text(reached)] for operand, reached in flow.writes],
        ]
        for position, flow in flows.items()
    ]


def from_rows(rows: Iterable[Any]) -> dict[int, EquationFlow]:
    """Read what :func:`to_rows` wrote."""
    return {
        position: EquationFlow(
            tuple(map(_reached, outputs)),
            tuple((operand, _reached(text)) for operand, text in writes),
        )
        for position, outputs, writes in rows
    }


def _text(reached: Reached) -> str:
    return f"{reached.operands:x}" + ("" if reached.is_certain else "?")


def _reached(text: str) -> Reached:
    return Reached(int(text.rstrip("?"), 16), not text.endswith("?"))
