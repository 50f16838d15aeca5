"""Matches a variant's equations with those of its base, by what they compute.

An equation is *kept* if the base has it: the same primitive applied to the same
values, of the same types, with the same parameters.  It is *reshaped* if only
types, parameters or bodies differ, or if it gained operands and results.  Any
other is *added*.  An equation of the base is *removed* if no equation of the
variant, at any depth, computes it.

Values are numbered first (:mod:`.numbering`): that finds, exactly and in linear
time, what a transform did not touch.  What it changed is found by operands
(:mod:`.likeness`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from ..model import Equation, Printed
from ..text import expect
from .likeness import EquationPairs
from .numbering import STATE, Computed, Numbering, bodies, reference_of

KEPT: Final = "kept"
RESHAPED: Final = "reshaped"
ADDED: Final = "added"

#: What is compared where nothing is.
_NO_PROGRAM: Final = Printed("", None, (), ())


@dataclass(frozen=True, repr=False)
class Match:
    """How the equations of a variant are those of its base.

    ``change`` says of every equation of the variant at any depth, by its ``start``,
    whether it is ``"kept"``, ``"reshaped"`` or ``"added"``; ``partner`` has, for those
    that are kept or reshaped, the ``start`` of their equation in the base.  ``removed``
    are the base's equations that the variant does not compute.  ``nested`` counts, by a
    program's ``start``, the equations of the base's top level that the variant has in a
    body of an equation that it added.  ``results`` maps variables of the variant to those
    that they stand for, by index.
    """

    change: dict[int, str] = field(default_factory=dict)
    partner: dict[int, int] = field(default_factory=dict)
    removed: tuple[Equation, ...] = ()
    nested: dict[int, int] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)
    base: Printed = field(default=_NO_PROGRAM, compare=False)
    variant: Printed = field(default=_NO_PROGRAM, compare=False)

    @property
    def kept(self) -> tuple[Equation, ...]:
        """The variant's equations that the base has just so."""
        return self._changed(KEPT)

    @property
    def reshaped(self) -> tuple[Equation, ...]:
        """The variant's equations that the base has with other types, parameters or bodies."""
        return self._changed(RESHAPED)

    @property
    def added(self) -> tuple[Equation, ...]:
        """The variant's equations that the base does not have."""
        return self._changed(ADDED)

    def _changed(self, change: str) -> tuple[Equation, ...]:
        return tuple(e for e in self.variant.walk() if self.change.get(e.start) == change)

    def partner_of(self, equation: Equation) -> Equation | None:
        """The base's equation that one of the variant is; ``None`` for one that is added.

        Raises :exc:`TypeError` for anything but an :class:`Equation`.
        """
        expect(equation, Equation, "an equation of the variant")
        start = self.partner.get(equation.start)
        return None if start is None else self._equations_of_base.get(start)

    @cached_property
    def _equations_of_base(self) -> dict[int, Equation]:
        return {equation.start: equation for equation in self.base.walk()}

    def __repr__(self) -> str:
        counts = [
            f"{sum(change == word for change in self.change.values())} {word}"
            for word in (KEPT, RESHAPED, ADDED)
        ]
        return f"<Match {', '.join(counts)}, {len(self.removed)} removed>"


def match(base: Printed, variant: Printed) -> Match:
    """Match the equations of a variant with those of its base.

    An equation is *kept* where the base has it with the same operands, *reshaped* where
    types, parameters or bodies are others, else *added*; where one of the two texts is not
    a program, the match is empty.  Raises :exc:`TypeError` for anything but :class:`Printed`.

    >>> base = parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }")
    >>> variant = parse(
    ...     "{ lambda ; a:f32[4,8]. let b:f32[4,8] = tanh a; c:f32[4,8] = neg b in (c,) }"
    ... )
    >>> found = match(base, variant)
    >>> found
    <Match 0 kept, 1 reshaped, 1 added, 0 removed>
    >>> found.added
    (<Equation c = neg b>,)
    >>> found.partner_of(found.reshaped[0])
    <Equation b = tanh a>
    """
    for program in (base, variant):
        expect(program, Printed, "what `parse` returns")
    if base.program is None or variant.program is None:
        return Match()
    reference = reference_of(base)
    pairs = EquationPairs(reference.numbering, Numbering(variant, reference.table))
    pairs.complete(reference, variant)
    return _Account(base, variant, pairs).match()


class _Account:
    """Says of printed equations what was found of them where they are reached."""

    def __init__(self, base: Printed, variant: Printed, pairs: EquationPairs) -> None:
        self.printed = base, variant
        self.pairs = pairs
        self.base, self.variant = pairs.base, pairs.variant
        self.change = {e.start: ADDED for e in variant.walk()}
        self.partner: dict[int, int] = {}
        self.results: dict[int, int] = {}
        self.covered: set[int] = set()  # equations of the base that have a partner

    def match(self) -> Match:
        self.find_partners()
        base, variant = self.printed
        return Match(
            change=self.change,
            partner=dict(reversed(self.partner.items())),
            removed=self.removed(base),
            nested=self.nested(base),
            results=self.results,
            base=base,
            variant=variant,
        )

    def find_partners(self) -> None:
        """Equations of bodies come before those that hold them."""
        for index in range(len(self.variant.computed) - 1, -1, -1):
            other = self.pairs.of.get(index)
            if other is None:
                continue
            new, old = self.variant.computed[index], self.base.computed[other]
            start = new.equation.start
            self.covered.add(old.equation.start)
            self.partner[start] = old.equation.start
            self.change[start] = KEPT if self.is_kept(new, old) else RESHAPED
            count = min(len(new.equation.outputs), len(old.equation.outputs))
            outputs = self.pairs.outputs.get(index, {n: n for n in range(count)})
            for after, before in outputs.items():
                result = new.equation.outputs[after].index
                self.results[result] = old.equation.outputs[before].index

    def is_kept(self, new: Computed, old: Computed) -> bool:
        signatures = new.signature, old.signature
        if old.equation.primitive in STATE:  # a result that nothing reads is not always printed
            after, before = signatures
            return after[1] == before[1] and (after[0] == before[0] or not (after[0] and before[0]))
        if len(old.equation.inputs) != len(new.equation.inputs):
            return False
        if signatures[0] != signatures[1]:
            return False
        if not new.holds:
            return True
        bodies_before = bodies(old.equation, self.base.shared)
        bodies_after = bodies(new.equation, self.variant.shared)
        return [len(b.program.equations) for b in bodies_before] == [
            len(b.program.equations) for b in bodies_after
        ] and all(self.change[e.start] == KEPT for b in bodies_after for e in b.program.equations)

    def removed(self, base: Printed) -> tuple[Equation, ...]:
        """What the variant computes nowhere, neither itself nor by what is in its bodies."""
        numbers = {computed.number for computed in self.variant.computed}
        gone: set[int] = set()
        holding: set[int] = set()  # indices of equations whose bodies have equations
        losing: set[int] = set()  # those among them that lose some
        for index in range(len(self.base.computed) - 1, -1, -1):
            computed = self.base.computed[index]
            start = computed.equation.start
            lacks = start not in self.covered and computed.number not in numbers
            # What nothing refers to is a text in front of what an object prints again.
            lacks = lacks and index not in self.base.apart
            if lacks and (index not in holding or index in losing):
                gone.add(start)
            holding.add(computed.owner)
            if start in gone or index in losing:
                losing.add(computed.owner)
        return tuple(e for e in base.walk() if e.start in gone) if gone else ()

    def nested(self, base: Printed) -> dict[int, int]:
        """Equations of the base's top level in bodies that the transform put around them."""
        assert base.program is not None
        top = {equation.start for equation in base.program.equations}
        counts: dict[int, int] = {}
        seen: set[int] = set()
        for computed in self.variant.computed:
            start = computed.equation.start
            if computed.owner < 0 or start in seen:
                continue
            seen.add(start)
            around = self.variant.computed[computed.owner].equation.start
            if around not in self.partner and self.partner.get(start) in top:
                home = computed.home.start
                counts[home] = counts.get(home, 0) + 1
        return counts
