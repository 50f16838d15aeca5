"""One traced program, with all that any form of output says of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..program.facts import Aligned, InputNames, aligned, names_of
from ..program.matching import summary
from ..program.matching.match import Match, match
from ..program.matching.summary import SummaryPart
from ..program.model import EquationFacts, Printed
from ..program.parser.parser import parse
from ..tracing.outcome import describe, remarks, unmet


class TracedProgram:
    """The function itself (``label`` is ``""``), or what a transform made of it.

    ``outcome`` is the worker's answer, ``base`` that of the function itself; ``raises``
    is the error that is expected, where one is.
    """

    def __init__(
        self,
        name: str,
        label: str,
        outcome: dict[str, Any],
        base: dict[str, Any],
        raises: str = "",
    ) -> None:
        self.name = name
        self.label = label
        self.outcome = outcome
        self.base_outcome = base
        self.raises = raises

    @property
    def result(self) -> dict[str, Any]:
        """What is known: of an error, what was known before it."""
        found: dict[str, Any] = self.outcome.get("result") or self.outcome.get("known") or {}
        return found

    @property
    def error(self) -> dict[str, Any] | None:
        """What went wrong."""
        return self.outcome.get("error")

    @property
    def is_expected(self) -> bool:
        """Whether its error is the expected one."""
        return bool(self.raises) and not unmet(self.raises, self.error)

    @property
    def problem(self) -> str:
        """What to tell whoever asked for it, if anything."""
        if self.raises:
            return unmet(self.raises, self.error)
        return describe(self.error) if self.error is not None else ""

    @property
    def call(self) -> str:
        """A call that makes the program, where it is known."""
        return str(self.result.get("call", ""))

    @cached_property
    def printed(self) -> Printed:
        """The text with its structure."""
        return parse(self.result.get("text", ""))

    @cached_property
    def known(self) -> Aligned:
        """What the jaxpr object knows."""
        known = "facts" in self.result
        return aligned(self.printed, self.result["facts"]) if known else Aligned()

    @property
    def facts(self) -> dict[int, EquationFacts]:
        """What is known of each equation."""
        return self.known.equations

    @property
    def inputs(self) -> InputNames:
        """The names of its inputs."""
        count = len(self.printed.program.inputs) if self.printed.program is not None else 0
        return names_of(self.result, count)

    @cached_property
    def base(self) -> Printed | None:
        """The untransformed program of a variant."""
        text = self.base_outcome.get("result", {}).get("text") if self.label else None
        return parse(text) if text is not None else None

    @cached_property
    def match(self) -> Match:
        """How the equations are those of the base."""
        return match(self.base, self.printed) if self.base is not None else Match()

    @property
    def acted(self) -> list[SummaryPart]:
        """The computed line."""
        base = self.base_outcome.get("result", {}) if self.label else {}
        before = aligned(self.base, base["facts"]).programs if self.base and base else {}
        return summary.acted(self.printed, self.base, self.match, self.known.programs, before)

    @property
    def about(self) -> list[str]:
        """Effects, captured arrays, the arguments' types, the version of JAX."""
        base = self.base_outcome.get("result", {}) if self.label else {}
        found = remarks(self.result, base)
        found.append(", ".join(f"{name}: {kind}" for name, kind in self.result.get("args", ())))
        found.append(f"JAX {self.result['jax']}" if "jax" in self.result else "")
        return [text for text in found if text]
