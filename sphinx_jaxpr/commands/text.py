"""Programs as text: what JAX prints, and lines around it that begin with ``#``."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import account
from ..tracing.outcomes import error_parts
from .programs import Program


def text(target: str, programs: Sequence[Program], opened: str) -> str:
    """All programs, a blank line between two; one that failed is told elsewhere."""
    shown = [
        _expected(one) if one.is_expected else _one(one)
        for one in programs
        if one.is_expected or one.error is None
    ]
    return "\n\n".join(shown) + "\n" * bool(shown)


def _head(program: Program) -> str:
    return f"# {program.name}: {program.call}".rstrip(": ")


def _one(program: Program) -> str:
    acted = [f"{part.verb} {part.text}".strip() for part in program.acted]
    marks = account.marks(program.printed, program.facts, program.match.change)
    return "\n".join(
        [
            _head(program),
            f"# {'; '.join([*acted, *program.about])}",
            program.printed.text,
            *(f"# {mark}: {letters}" for mark, letters in marks),
        ]
    )


def _expected(program: Program) -> str:
    """The error that was expected."""
    assert program.error is not None
    lines = "\n".join(filter(None, error_parts(program.error))).split("\n")
    return "\n".join([_head(program), *(f"# {line}".rstrip() for line in lines)])
