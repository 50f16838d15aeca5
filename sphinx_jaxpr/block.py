"""One traced block: its request, its outcome, and what follows from both.

Pages, checks, commands and tests all read a block through this one class, so that a text
is parsed once, its facts are aligned once, and it is matched with its base once.
"""

from __future__ import annotations

from functools import cached_property

from .program.facts import Aligned, Facts, InputNames, input_names, output_names
from .program.matching import summary
from .program.matching.match import Match
from .program.matching.summary import SummaryPart
from .program.model import Equation, Printed
from .program.parser.parser import parse
from .program.query.blocks import BlockIndex, QueryBlock
from .program.query.flow.residuals import kept_sizes
from .tracing import result
from .tracing.result import Result, TracedProgram, TraceError


class TracedBlock:
    """A function's own program (``label`` is ``""``), or the program of a transform of it.

    ``failure`` says why there is no program.  ``result`` is a program, or the error that
    the block is meant to show; beside a failure it is the part that preceded it.
    ``base`` is the block of the function itself, for a variant.  ``raises`` is the error
    that is expected, ``Type: part of its message``; ``""`` where one is expected and
    the page's text does not say which, ``None`` where none is.

    Properties are computed on first use and kept with the block.
    """

    def __init__(
        self,
        name: str,
        label: str = "",
        *,
        result: Result | None = None,
        failure: TraceError | None = None,
        base: TracedBlock | None = None,
        raises: str | None = None,
    ) -> None:
        self.name = name
        self.label = label
        self.result = result
        self.failure = failure
        self.base = base
        self.raises = raises

    def __repr__(self) -> str:
        return f"<TracedBlock {self.name}: {self.call or 'unknown'}>"

    # -- the outcome

    @property
    def program(self) -> TracedProgram | None:
        """The program as it was traced."""
        return self.result.program if self.result is not None else None

    @property
    def has_program(self) -> bool:
        """Whether there is a program to show."""
        return self.program is not None

    @property
    def error(self) -> TraceError | None:
        """The error that occurred, expected or not."""
        return self.failure or (self.result.error if self.result is not None else None)

    @property
    def unmet(self) -> str:
        """How the error differs from the expected one; ``""`` if it matches."""
        return result.unmet(self.raises, self.error) if self.raises else ""

    @property
    def is_expected(self) -> bool:
        """Whether the error is the expected one."""
        return self.raises is not None and not self.unmet

    # -- text and facts

    @property
    def text(self) -> str | None:
        """The text that JAX printed."""
        return self.program.text if self.program is not None else None

    @property
    def facts(self) -> Facts:
        """The facts from the jaxpr object."""
        return self.program.facts if self.program is not None else Facts()

    @cached_property
    def printed(self) -> Printed:
        """The text with its structure; empty where there is no program."""
        return parse(self.text or "")

    @cached_property
    def query(self) -> QueryBlock:
        """The block in the form that expressions use."""
        if self.failure is not None or self.result is None:
            return QueryBlock(self.name, None, failed=True)
        if self.result.error is not None:
            message = self.result.error.message.partition("\n")[0]
            return QueryBlock(self.name, None, error=(self.result.error.type, message))
        if self.printed.program is None:
            return QueryBlock(self.name, None)
        base = self.base.query if self.base is not None else None
        return QueryBlock(
            self.name, self.printed, self.facts, self.inputs, base, outputs=self.outputs
        )

    @property
    def aligned(self) -> Aligned:
        """The facts of each equation and program of the text."""
        return self.query.aligned

    @property
    def index(self) -> BlockIndex:
        """Lookups over the equations."""
        return self.query.index

    @property
    def match(self) -> Match:
        """How the equations correspond to those of the base; empty without a base."""
        return self.query.match

    @cached_property
    def inputs(self) -> InputNames:
        """The names of the inputs."""
        if self.result is None:
            return InputNames()
        count = len(self.printed.program.inputs) if self.printed.program is not None else 0
        return input_names(self.result.args, self.result.inputs, count)

    @property
    def outputs(self) -> InputNames:
        """The names of the results."""
        program = self.printed.program
        if self.result is None or program is None:
            return InputNames()
        return output_names(self.result.outputs, len(program.outputs))

    # -- descriptions

    @property
    def call(self) -> str:
        """A call that creates the program; ``""`` if it is unknown."""
        return self.result.call if self.result is not None else ""

    @property
    def arguments(self) -> str:
        """The arguments with their types, in words."""
        args = (self.result.args if self.result is not None else None) or ()
        return ", ".join(f"{name}: {kind}" for name, kind in args)

    @property
    def version(self) -> str:
        """The version that traced it, as in ``JAX 0.10.2``; ``""`` if that is unknown."""
        return f"JAX {self.result.jax}" if self.result is not None and self.result.jax else ""

    @property
    def shown_base(self) -> TracedBlock | None:
        """The base, if it has a program to compare with."""
        return self.base if self.base is not None and self.base.has_program else None

    @cached_property
    def header(self) -> list[SummaryPart]:
        """First the counts of equations, then how the transform acted, and what it keeps."""
        if not self.has_program:
            return []
        base = self.shown_base
        kept = summary.keeps(kept_sizes(self.query))
        if base is None:
            return summary.acted(self.printed, None, self.match, self.aligned.programs) + kept
        programs = self.aligned.programs, base.aligned.programs
        return summary.acted(self.printed, base.printed, self.match, *programs) + kept

    @property
    def header_words(self) -> list[str]:
        """The parts of the header as text."""
        return [str(part) for part in self.header]

    @cached_property
    def phases(self) -> list[str]:
        """The phases of the equations, in printed order; none if there is only one."""
        return summary.phases(self.printed, self.aligned.equations)

    def marks(self, more: dict[int, str] | None = None) -> list[tuple[str, str]]:
        """The marks that HTML shows by colours and gutter, each with the letters that have it.

        ``more`` are further marks, by the ``start`` of their equation.
        """
        return summary.marks(self.printed, self.aligned.equations, self.match.change, more)

    @cached_property
    def dropped(self) -> list[Equation]:
        """The equations of the base that have no partner here."""
        base = self.shown_base
        if base is None:
            return []
        return summary.dropped(base.printed, self.match, base.aligned.programs)

    @property
    def remarks(self) -> list[str]:
        """Effects, effects that a transform removed, captured arrays."""
        return result.remarks(self.result, self.base.result if self.base is not None else None)

    @property
    def about(self) -> list[str]:
        """Remarks, the arguments' types, the version of JAX."""
        return [*self.remarks, *filter(None, [self.arguments, self.version])]

    # -- as a recording, for :func:`sphinx_jaxpr.program.drift.compare.compare`

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the arguments."""
        args = (self.result.args if self.result is not None else None) or ()
        return tuple(name for name, _ in args)

    @property
    def error_words(self) -> tuple[str, str]:
        """The type of the error, or its kind, and its message."""
        if self.error is None:
            return "", ""
        return self.error.type or self.error.kind.value, self.error.message
