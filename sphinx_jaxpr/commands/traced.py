"""One traced program, with all that any form of output says of it."""

from __future__ import annotations

from functools import cached_property

from ..program.facts import Aligned, InputNames, aligned, names_of
from ..program.matching import summary
from ..program.matching.match import Match, match
from ..program.matching.summary import SummaryPart
from ..program.model import EquationFacts, Printed
from ..program.parser.parser import parse
from ..tracing.reports import describe, remarks, unmet
from ..tracing.result import Reply, Result, TraceError


class TracedProgram:
    """The function itself (``label`` is ``""``), or what a transform made of it.

    ``reply`` is the worker's, ``base`` that of the function itself; ``raises``
    is the error that is expected, where one is.
    """

    def __init__(
        self,
        name: str,
        label: str,
        reply: Reply,
        base: Reply,
        raises: str = "",
    ) -> None:
        self.name = name
        self.label = label
        self.reply = reply
        self.base_reply = base
        self.raises = raises

    @property
    def result(self) -> Result | None:
        """What is known: of an error, what was known before it."""
        return self.reply.result or self.reply.known

    @property
    def error(self) -> TraceError | None:
        """What went wrong."""
        return self.reply.error

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
        return self.result.call if self.result is not None else ""

    @cached_property
    def printed(self) -> Printed:
        """The text with its structure."""
        result = self.reply.result
        return parse(result.program.text if result and result.program else "")

    @cached_property
    def known(self) -> Aligned:
        """What the jaxpr object knows."""
        result = self.reply.result
        if result is None or result.program is None:
            return Aligned()
        return aligned(self.printed, result.program.facts.to_json())

    @property
    def facts(self) -> dict[int, EquationFacts]:
        """What is known of each equation."""
        return self.known.equations

    @property
    def inputs(self) -> InputNames:
        """The names of its inputs."""
        count = len(self.printed.program.inputs) if self.printed.program is not None else 0
        return names_of(self.result.to_json() if self.result else {}, count)

    @cached_property
    def base(self) -> Printed | None:
        """The untransformed program of a variant."""
        result = self.base_result
        return parse(result.program.text) if result and result.program else None

    @property
    def base_result(self) -> Result | None:
        """The result of the untransformed program of a variant."""
        return self.base_reply.result if self.label else None

    @cached_property
    def match(self) -> Match:
        """How the equations are those of the base."""
        return match(self.base, self.printed) if self.base is not None else Match()

    @property
    def acted(self) -> list[SummaryPart]:
        """The computed line."""
        base, before = self.base_result, {}
        if self.base and base and base.program:
            before = aligned(self.base, base.program.facts.to_json()).programs
        return summary.acted(self.printed, self.base, self.match, self.known.programs, before)

    @property
    def about(self) -> list[str]:
        """Effects, captured arrays, the arguments' types, the version of JAX."""
        result = self.result or Result()
        found = remarks(self.result, self.base_result)
        found.append(", ".join(f"{name}: {kind}" for name, kind in result.args or ()))
        found.append(f"JAX {result.jax}" if result.jax else "")
        return [text for text in found if text]
