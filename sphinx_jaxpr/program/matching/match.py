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
from typing import Final

from ..model import Printed
from .bodies import STATE, bodies
from .likeness import EquationPairs
from .numbering import Computed, Numbering, Table, signature

KEPT: Final = "kept"
RESHAPED: Final = "reshaped"
ADDED: Final = "added"


@dataclass
class Match:
    """Equations are named by their ``start`` offsets in their own texts.

    ``change`` covers every equation of the variant at any depth, ``partner``
    those that are kept or reshaped; ``removed`` are the base's that the variant
    does not compute.  ``nested`` counts, by a program's ``start``, the equations of
    the base's top level that the variant has in a body of an equation that it
    added.  ``results`` are variables of the variant with those that they stand for,
    by index.
    """

    change: dict[int, str] = field(default_factory=dict)
    partner: dict[int, int] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)
    nested: dict[int, int] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)


def match(base: Printed, variant: Printed) -> Match:
    """The match of two printed programs; empty where one is no program."""
    if base.program is None or variant.program is None:
        return Match()
    table = Table()
    pairs = EquationPairs(Numbering(base, table), Numbering(variant, table))
    pairs.complete(table, base, variant)
    return _Account(base, variant, pairs).found


class _Account:
    """Says of printed equations what was found of them where they are reached."""

    def __init__(self, base: Printed, variant: Printed, pairs: EquationPairs) -> None:
        self.pairs = pairs
        self.base, self.variant = pairs.base, pairs.variant
        self.found = Match(change={e.start: ADDED for e in variant.walk()})
        self.covered: set[int] = set()  # equations of the base that have a partner
        self.partners()
        self.removed(base)
        assert base.program is not None
        self.top = {equation.start for equation in base.program.equations}
        self.nested()

    def partners(self) -> None:
        """Equations of bodies come before those that hold them."""
        found = self.found
        for index in range(len(self.variant.computed) - 1, -1, -1):
            other = self.pairs.of.get(index)
            if other is None:
                continue
            place, partner = self.variant.computed[index], self.base.computed[other]
            start = place.equation.start
            self.covered.add(partner.equation.start)
            found.partner[start] = partner.equation.start
            found.change[start] = KEPT if self.is_kept(place, partner) else RESHAPED
            count = min(len(place.equation.outputs), len(partner.equation.outputs))
            for new, old in self.pairs.outputs.get(index, {n: n for n in range(count)}).items():
                found.results[place.equation.outputs[new].index] = partner.equation.outputs[
                    old
                ].index
        found.partner = dict(reversed(found.partner.items()))

    def is_kept(self, place: Computed, partner: Computed) -> bool:
        one, two = partner.equation, place.equation
        if one.primitive in STATE:  # a result that nothing reads is not always printed
            own, old = (
                signature(c, n.text) for c, n in ((place, self.variant), (partner, self.base))
            )
            return own[1] == old[1] and (own[0] == old[0] or not (own[0] and old[0]))
        if len(one.inputs) != len(two.inputs):
            return False
        if signature(place, self.variant.text) != signature(partner, self.base.text):
            return False
        if not place.holds:
            return True
        before, after = (bodies(e, n.shared) for e, n in ((one, self.base), (two, self.variant)))
        return [len(b.program.equations) for b in before] == [
            len(b.program.equations) for b in after
        ] and all(self.found.change[e.start] == KEPT for b in after for e in b.program.equations)

    def removed(self, base: Printed) -> None:
        """What the variant computes nowhere, neither itself nor by what is in its bodies."""
        computed = {place.number for place in self.variant.computed}
        gone: set[int] = set()
        holding: set[int] = set()  # places with bodies that have equations
        losing: set[int] = set()  # those among them that lose some
        for index in range(len(self.base.computed) - 1, -1, -1):
            place = self.base.computed[index]
            lacks = place.equation.start not in self.covered and place.number not in computed
            # What nothing leads to is a text in front of what an object prints again.
            lacks = lacks and index not in self.base.apart
            if lacks and (index not in holding or index in losing):
                gone.add(place.equation.start)
            holding.add(place.owner)
            if place.equation.start in gone or index in losing:
                losing.add(place.owner)
        self.found.removed = [e.start for e in base.walk() if e.start in gone] if gone else []

    def nested(self) -> None:
        """Equations of the base's top level in bodies that the transform put around them."""
        seen: set[int] = set()
        for place in self.variant.computed:
            start = place.equation.start
            if place.owner < 0 or start in seen:
                continue
            seen.add(start)
            around = self.variant.computed[place.owner].equation.start
            partner = self.found.partner.get(start)
            if around not in self.found.partner and partner in self.top:
                self.found.nested[place.home.start] = self.found.nested.get(place.home.start, 0) + 1
