"""What value numbering leaves: equations that a transform changed, found again by their operands.

The variant is read once more, in order.  An equation stands for one of the base's
where it applies the same primitive to what stands for the same operands, whatever
became of types and parameters; what it computes then stands for the base's value.
Layout (a ``broadcast_in_dim``, a ``pvary``) does not count.  Equations with bodies
are found by what is in their bodies.  That is tried again while it finds more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ..model import Printed, Variable
from .numbering import (
    ARRANGES,
    BATCHED,
    CALLS,
    LOOPS,
    Base,
    Body,
    Computed,
    Numbering,
    Reference,
    Standing,
    Table,
    called,
    looped,
)

#: How alike has to be what is around two equations: see :func:`_surroundings`.
LEVELS: Final = 3

#: How often the variant is read for more.
ROUNDS: Final = 10

#: Equations of one primitive on the same operands that are looked at, and steps between values.
LOOKED_AT: Final = 16


class EquationPairs:
    """Which equation of the variant stands for which of the base, as they are reached."""

    def __init__(self, base: Numbering, variant: Numbering) -> None:
        self.base, self.variant = base, variant
        self.of: dict[int, int] = {}  # of the variant -> of the base
        self.taken: set[int] = set()
        # How many of each primitive the base has left.
        self.left = Counter(computed.equation.primitive for computed in base.computed)
        self.partner: dict[int, int] = {}  # of the base -> of the variant
        self.outputs: dict[int, dict[int, int]] = {}  # by position, of the variant -> of the base
        # Where among the base's equations that could be meant the first one is left.
        self.free_from: dict[tuple[str, object], int] = {}
        for level in range(LEVELS):
            self.equal(level)

    def equal(self, level: int) -> None:
        """Pair what has the same number, in order."""
        if not any(self.left.values()):
            return
        free: dict[tuple[int, int], list[int]] = {}
        for index in range(len(self.base.computed) - 1, -1, -1):
            if index not in self.taken:
                computed = self.base.computed[index]
                free.setdefault((computed.number, _surroundings(computed, level)), []).append(index)
        for index, computed in enumerate(self.variant.computed if free else ()):
            if index not in self.of:
                candidates = free.get((computed.number, _surroundings(computed, level)))
                if candidates:
                    self.add(index, candidates.pop())

    def add(self, index: int, other: int) -> None:
        """Pair two equations."""
        self.of[index] = other
        self.taken.add(other)
        self.left[self.base.computed[other].equation.primitive] -= 1
        self.partner.setdefault(other, index)

    def complete(self, base: Reference, variant: Printed) -> None:
        """Find what a transform changed, where anything is left to find."""
        if not self.is_open():
            return
        table, old = base.table, base.standing
        progress = Progress()
        for _ in range(ROUNDS):
            before = len(self.of), len(progress.carries)
            _Variant(variant, table, self, old, progress)
            if not self.is_open():
                break
            if (len(self.of), len(progress.carries)) != before:
                continue
            if progress.waits and progress.is_patient:
                progress.is_patient = False
            else:
                progress.level += 1
                progress.is_patient, progress.waits = True, False
                if progress.level == LEVELS - 1:
                    self.unwrap(progress)
                if progress.level == LEVELS:
                    break

    def is_open(self) -> bool:
        """Whether both sides have equations of one primitive left."""
        rest = enumerate(self.variant.computed)
        return any(self.left[p.equation.primitive] for n, p in rest if n not in self.of)

    def unwrap(self, progress: Progress) -> None:
        """Loops that hold nothing of the base's loops may be around the base itself."""
        computed = self.variant.computed
        base = self.base.computed
        inside = ((index, base[other].owner) for index, other in self.of.items())
        holding = {
            computed[index].owner
            for index, owner in inside
            if owner >= 0 and base[owner].equation.primitive in LOOPS
        }
        progress.around = {
            each.equation.start
            for index, each in enumerate(computed)
            if each.equation.primitive in LOOPS and index not in self.of and index not in holding
        }


@dataclass
class Progress:
    """What one round leaves to the next.

    ``carries`` are variables that stand for a carry of the base; ``around`` are loops,
    by ``start``, that the transform put around what the base computes; ``level`` says
    how alike has to be what is around two equations.  While ``is_patient``, an equation
    of the base waits for one with its own parameters, if the variant has any left;
    ``waits``: one did.
    """

    carries: dict[int, int] = field(default_factory=dict)
    around: set[int] = field(default_factory=set)
    level: int = 0
    is_patient: bool = True
    waits: bool = False


class _Variant(Standing):
    """Reads the variant, and pairs equations as their operands become known."""

    def __init__(
        self, printed: Printed, table: Table, pairs: EquationPairs, base: Base, progress: Progress
    ) -> None:
        self.pairs, self.base = pairs, base
        self.progress = progress
        self.wanting: dict[str, Counter[object]] = {}  # parameters of what is left, in this round
        self.like: dict[int, list[int]] = {}  # equation -> those of the base that it could be
        self.children: dict[int, list[int]] = {}
        # What holds of the base that which the equation in hand holds: it can be no other.
        self.voted: frozenset[int] = frozenset()
        self.sources: dict[int, tuple[int, ...]] = {}  # what an added arrangement is made of
        super().__init__(printed, table, pairs.variant)

    def given(self, variable: Variable, number: int) -> int:
        return self.progress.carries.get(variable.index, number)

    def entering(self, computed: Computed, body: Body) -> list[int]:
        if computed.equation.start not in self.progress.around:
            return super().entering(computed, body)
        if computed.equation.primitive == "scan":
            return list(computed.operands)
        first, second = looped(computed.equation, self.text)
        constants = (0, first) if "cond" in body.parameter else (first, first + second)
        return [*computed.operands[slice(*constants)], *computed.operands[first + second :]]

    def stands_for(self, index: int, computed: Computed) -> int:
        if computed.owner >= 0:
            self.children.setdefault(computed.owner, []).append(index)
        partner = self.pairs.of.get(index)
        if partner is None:
            partner = self.find(index, computed)
            if partner is not None:
                self.pairs.add(index, partner)
        if partner is not None:
            self.pairs.outputs[index] = self.stand(computed, self.base.computed[partner])
            self.like.setdefault(index, [partner])
        elif computed.equation.primitive in BATCHED:
            self.stand_batched(computed)
        elif computed.equation.primitive in ARRANGES:
            # A batched `cond` computes all branches, and chooses between their results.
            if computed.equation.primitive == "select_n":
                self.stand_chosen(computed)
            for number in computed.results:
                self.sources.setdefault(number, computed.operands)
        return computed.number if partner is None else self.base.computed[partner].number

    # -- which equation of the base

    def find(self, index: int, computed: Computed) -> int | None:
        """The equation of the base that this one stands for, if one is left."""
        primitive = computed.equation.primitive
        if computed.holds and (partner := self.by_bodies(index, computed)) is not None:
            return partner
        candidates = self.base.by_operands.get((primitive, computed.operands), [])
        own, base = computed.signature, self.base.computed
        free = list(self.free(computed, (primitive, computed.operands), candidates))
        same = [n for n in free if base[n].signature == own]
        if same or (free and computed.operands):
            best = same or self.willing(free, own)
            if best:
                return best[0]
        is_left = computed.operands and self.pairs.left[primitive]
        partner = self.by_some(computed) if is_left else None
        if partner is None:
            again = next((n for n in candidates[:LOOKED_AT] if own in self.known_as(n)), None)
            if again is not None:
                self.like[index] = candidates[:LOOKED_AT]
                self.stand(computed, self.base.computed[again])
        return partner

    def willing(self, free: list[int], own: tuple[object, ...]) -> list[int]:
        """Those with the same parameters; else those whose parameters no other one has."""
        alike = [n for n in free if self.base.computed[n].parameters == own[1]]
        if alike or not self.progress.is_patient:
            return alike or free
        ready = [n for n in free if not self.is_wanted(n)]
        self.progress.waits = self.progress.waits or len(ready) < len(free)
        return ready

    def is_wanted(self, index: int) -> bool:
        """Whether the variant has an equation left with just these parameters."""
        primitive = self.base.computed[index].equation.primitive
        parameters = self.base.computed[index].parameters
        if not parameters:
            return False
        if primitive not in self.wanting:
            self.wanting[primitive] = Counter(
                computed.parameters
                for n, computed in enumerate(self.exact.computed)
                if computed.equation.primitive == primitive and n not in self.pairs.of
            )
        return self.wanting[primitive][parameters] > 0

    def known_as(self, index: int) -> tuple[tuple[object, ...], ...]:
        """The types and parameters of an equation of the base, and of its partner."""
        partner = self.pairs.partner.get(index)
        own = () if partner is None else (self.exact.computed[partner].signature,)
        return (self.base.computed[index].signature, *own)

    def free(
        self, computed: Computed, key: tuple[str, object], candidates: list[int]
    ) -> Iterator[int]:
        """Those that have no partner yet and are in the same surroundings, some of them."""
        taken, start = self.pairs.taken, self.pairs.free_from.get(key, 0)
        while start < len(candidates) and candidates[start] in taken:
            start += 1
        self.pairs.free_from[key] = start
        for n in candidates[start : start + LOOKED_AT]:
            if n in taken or not self.is_near(computed, self.base.computed[n]):
                continue
            if not computed.holds or not self.voted or n in self.voted:
                yield n

    def is_near(self, computed: Computed, other: Computed) -> bool:
        if computed.holds and called(computed, self.text) != called(other, self.base.text):
            return False  # the call of another function
        level = self.progress.level
        return _surroundings(computed, level) == _surroundings(other, level)

    def by_bodies(self, index: int, computed: Computed) -> int | None:
        """The one with most of the same equations in its bodies."""
        votes: Counter[int] = Counter()
        for child in self.children.get(index, ()):
            alike = self.like.get(child, ())
            votes.update({owner for n in alike for owner in self.holding(n, computed)})
        self.voted = frozenset(owner for owner in votes if owner >= 0)
        best = None
        for owner in sorted(votes):
            if owner < 0 or owner in self.pairs.taken or 2 * votes[owner] < self.base.bodies[owner]:
                continue
            other = self.base.computed[owner]
            same = other.equation.primitive == computed.equation.primitive
            if (
                same
                and self.is_near(computed, other)
                and (best is None or votes[owner] > votes[best])
            ):
                best = owner
        return best

    def holding(self, index: int, computed: Computed) -> Iterator[int]:
        """What holds an equation of the base; also what is around calls that have gone."""
        owner = self.base.computed[index].owner
        yield owner
        wanted = computed.equation.primitive
        while owner >= 0 and wanted in LOOPS:
            around = self.base.computed[owner]
            if around.equation.primitive not in CALLS:
                break
            owner = around.owner
            yield owner

    def by_some(self, computed: Computed) -> int | None:
        """One whose operands are among these, or one from whose operands these are arranged."""
        primitive = computed.equation.primitive
        reached = [self.reached(number) for number in computed.operands]
        for number in dict.fromkeys(n for numbers in reached for n in numbers):
            key = primitive, number
            free = self.free(computed, key, self.base.by_one.get(key, []))
            for candidate in self.willing(list(free), computed.signature):
                other = self.base.computed[candidate]
                if len(other.equation.outputs) > len(computed.equation.outputs):
                    continue
                if len(other.operands) == len(computed.operands):
                    if all(old in new for old, new in zip(other.operands, reached, strict=True)):
                        return candidate
                elif _among(other.operands, computed.operands):
                    return candidate
        return None

    def reached(self, number: int) -> list[int]:
        """A value, and what it is arranged from by equations that were added."""
        numbers = [number]
        for current in numbers:
            if len(numbers) < LOOKED_AT:
                numbers.extend(n for n in self.sources.get(current, ()) if n not in numbers)
        return numbers

    # -- what its results stand for

    def stand(self, computed: Computed, other: Computed) -> dict[int, int]:
        """Results stand for those of the base's equation: by what they are, then by position."""
        if computed.carries and other.carries:
            self.align(computed, other)
        at = {key: n for n, key in reversed(list(enumerate(other.keys)))}
        outputs: dict[int, int] = {}
        used: set[int] = set()
        rest = []
        for n, key in enumerate(computed.keys):
            old = at.get(key)
            if old is None or old in used:
                rest.append(n)
            else:
                used.add(old)
                outputs[n] = old
        outputs.update((n, n) for n in rest if n < len(other.results) and n not in used)
        computed.results = tuple(
            other.results[outputs[n]] if n in outputs else number
            for n, number in enumerate(computed.results)
        )
        return outputs

    def stand_chosen(self, computed: Computed) -> None:
        """A choice between what branches return, or what that is arranged from."""
        values = computed.operands[1:]
        reached = [self.reached(number) for number in values]
        last = reached[-1] if reached else []
        listed = (branches for n in last for branches in self.base.ending.get(n, ())[:LOOKED_AT])
        for branches in (values, *listed):
            chosen = self.base.chosen.get(branches)
            if chosen is None or len(branches) != len(values):
                continue
            if all(old in new for old, new in zip(branches, reached, strict=True)):
                computed.results = (chosen,)
                return

    def stand_batched(self, computed: Computed) -> None:
        """A batched index by another primitive: its result stands for the same."""
        key = (
            BATCHED[computed.equation.primitive],
            computed.operands[0] if computed.operands else -1,
        )
        reached = {n for number in computed.operands for n in self.reached(number)}
        candidates = list(self.free(computed, key, self.base.by_one.get(key, [])))
        for count_literals in (True, False):
            for other in (self.base.computed[n] for n in candidates):
                both = zip(other.operands, other.equation.inputs, strict=True)
                read = (n for n, operand in both if count_literals or operand.variable is not None)
                if reached.issuperset(read):
                    computed.results = other.results
                    return

    def align(self, computed: Computed, other: Computed) -> None:
        """Carries that start as something unknown go by position, from the next round on."""
        olds, own = set(other.carries), set(computed.carries)
        for n, (new, old) in enumerate(zip(computed.carries, other.carries, strict=False)):
            if new not in olds and old not in own:
                for variables in computed.carried:
                    if n < len(variables):
                        self.progress.carries[variables[n].index] = old


def _among(few: Iterable[int], many: Iterable[int]) -> bool:
    """Whether all of the first are among the second, in this order."""
    rest = iter(many)
    return all(number in rest for number in few)


def _surroundings(computed: Computed, level: int) -> int:
    """What holds an equation: calls and all, calls left out, or no matter what."""
    return computed.around[level] if level < len(computed.around) else -1
