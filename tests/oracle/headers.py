"""The computed line over each block, read word by word and checked number by number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from .adapter import NAME
from .corpus import Traced
from .data import shape_of
from .dataflow import Refused, Unsure
from .facts import Aligned
from .phases import body_of, is_program, params_of, programs_in
from .report import Report

Problem = str


def check(traced: Traced, found: dict[str, Aligned], report: Report) -> None:
    """Check the line of every block of a function."""
    for name, aligned in found.items():
        if not aligned.complete or not found[NAME].complete:
            report.skipped["headers"] += 1
            continue
        line = traced.product.header(name)
        for problem in Header(traced, found[NAME], aligned).problems(line):
            report.fail("headers", f"{aligned.where}: {line}", "the line", problem)
        report.checked["headers"] += 1


class Header:
    """What is true of a variant and its base."""

    def __init__(self, traced: Traced, base: Aligned, variant: Aligned) -> None:
        self.traced, self.base, self.variant = traced, base, variant
        self.name = variant.name
        # As printed: a program that JAX prints twice counts twice.
        self.before = Counter(_primitive(raw) for raw in base.raw.values())
        self.after = Counter(_primitive(raw) for raw in variant.raw.values())
        self.own_before = Counter(e.primitive for e in base.block)
        self.own_after = Counter(e.primitive for e in variant.block)

    def problems(self, line: str) -> list[Problem]:
        """What of a line is false, or can't be read."""
        found: list[Problem] = []
        for part in line.split("; "):
            for pattern, judge in _PARTS.items():
                if matched := re.fullmatch(pattern, part):
                    found += judge(self, matched)
                    break
            else:
                found.append(f"{part!r} can't be read")
        return found

    def counts(self, matched: re.Match[str]) -> list[Problem]:
        wanted = {"n": len(self.base.block), "m": len(self.variant.block)}
        if "k" in matched.groupdict():
            deep = {len(self.variant.block.all), len(self.variant.raw)}  # once, or as printed
            shown = matched["k"] or matched["m"]
            if int(shown) not in deep:
                return [f"{shown} with nested, but there are {min(deep)}"]
        groups = matched.groupdict()
        return [
            f"{matched[key]} where there are {count}"
            for key, count in wanted.items()
            if groups.get(key) and int(groups[key]) != count
        ] + (self.adds(matched["adds"]) if groups.get("adds") else [])

    def adds(self, text: str) -> list[Problem]:
        found = []
        for name, count in _named(text).items():
            net, own = self.after[name] - self.before[name], self.own_after[name]
            if count > net:
                found.append(f"adds {count} {name}, net of what was there {net}")
            elif count != own - self.own_before[name]:
                found.append(f"adds {count} {name}, at the top {own - self.own_before[name]}")
        return found

    def drops(self, matched: re.Match[str]) -> list[Problem]:
        fewer = self.before - self.after
        if total := re.fullmatch(r"(\d+) equations?", matched["what"]):
            most = sum(fewer.values())
            return [f"at most {most} are fewer"] if int(total[1]) > most else []
        return [
            f"drops {count} {name}: base {self.before[name]}, variant {self.after[name]}"
            for name, count in _named(matched["what"]).items()
            if count > fewer[name]
        ]

    def rewrites(self, matched: re.Match[str]) -> list[Problem]:
        removed = len(self.marked("removed"))
        return [f"{removed} are removed"] if int(matched["n"]) > removed else []

    def keeps(self, matched: re.Match[str]) -> list[Problem]:
        count = len(self.base.block)
        found = [f"the base has {count}"] if int(matched["n"] or 1) != count else []
        if self.marked("removed") or len(self.marked("kept")) != len(self.variant.raw):
            found.append("not all are kept")
        return found

    def held(self, matched: re.Match[str]) -> list[Problem]:
        """What is kept for the backward part, and its bytes."""
        try:
            kept = list(self.variant.block.residuals)
        except Refused:
            return ["there is no backward part"]
        except Unsure:
            return []
        found = [f"{len(kept)} are kept"] if int(matched["n"]) != len(kept) else []
        size = sum(v.thing.aval.size * v.thing.aval.dtype.itemsize for v in kept)
        shown = matched["size"]
        if shown and shown != _bytes(size):
            found.append(f"these are {_bytes(size)}")
        return found

    def reshapes(self, matched: re.Match[str]) -> list[Problem]:
        shown, total = int(matched["n"]), int(matched["t"])
        partners = self.traced.product.partners(self.name)
        fronts = others = 0
        changed = set(self.marked("reshaped"))
        for new, old in partners.items():
            one, two = self.base.raw.get(old), self.variant.raw.get(new)
            if new not in changed or one is None or two is None:
                continue
            pairs = _paired(one, two)
            size = int(matched.groupdict().get("size") or 0)
            fronts += sum(a != b and b[1:] == a and b[:1] == (size,) for a, b in pairs)
            others += sum(a != b for a, b in pairs)
        found = []
        known = fronts if matched.groupdict().get("size") else others
        if shown > known:
            found.append(f"{known} values are so")
        least, most = self.compared(set(partners))
        if not least <= total <= most:
            found.append(f"{least} values are in the programs compared")
        return found

    def compared(self, partners: set[Any]) -> tuple[int, int]:
        """The values of the programs in which something of the base was found.

        JAX may print a store with what it binds or without.
        """
        seen: set[int] = set()
        count = most = 0
        for _, program in self.variant.programs:
            if id(program.body) in seen:
                continue
            raw = {id(self.variant.raw[view]) for view in partners if view in self.variant.raw}
            if any(id(e) in raw for e in program.body.eqns):
                count += sum(len(e.outputs) for e in program.items)
                most += sum(len(e.raw.outvars) for e in program.items)
            seen.add(id(program.body))
        return count, most

    def nests(self, matched: re.Match[str]) -> list[Problem]:
        total = len(self.base.block)
        if matched["t"] and int(matched["t"]) != total:
            return [f"the base has {total}"]
        wanted = int(matched["n"] or total)
        own = {id(e) for e in body_of(self.base.block.closed).eqns}
        mine = {
            id(self.variant.raw[new])
            for new, old in self.traced.product.partners(self.name).items()
            if new in self.variant.raw and old in self.base.raw and id(self.base.raw[old]) in own
        }
        for raw in self.variant.raw.values():
            value = params_of(raw).get(matched["name"])
            if _primitive(raw) != matched["primitive"] or value is None:
                continue
            for program in programs_in(value) if not is_program(value) else [value]:
                if sum(id(e) in mine for e in body_of(program).eqns) == wanted:
                    return []
        return [f"no program there holds {wanted} of them"]

    def marked(self, change: str) -> list[Any]:
        """The product's views of what is kept, added, reshaped or removed."""
        return list(self.traced.product.ask(f"[e for e in {self.name}.{change}]"))

    def nothing(self, matched: re.Match[str]) -> list[Problem]:
        return ["there are some"] if len(self.variant.block) else []


def _primitive(raw: Any) -> str:
    high = raw.params.get("_prim") if raw.primitive.name == "call_hi_primitive" else None
    return str(raw.primitive.name) if high is None else type(high).__name__


def _bytes(size: int) -> str:
    """As people write it, with one decimal."""
    if size < 1000:
        return f"{size} byte{'s' * (size != 1)}"
    power = min(4, max(n for n in range(1, 5) if float(f"{size / 10 ** (3 * n):.1f}") >= 1))
    return f"{size / 10 ** (3 * power):.1f} {'kMGT'[power - 1]}B"


def _paired(one: Any, two: Any) -> list[tuple[Any, Any]]:
    """The shapes of results that stand for one another; a loop may have gained some."""
    before, after = list(one.outvars), list(two.outvars)
    if len(before) != len(after):
        # Which is whose only the match knows: count what can be.
        return [(shape_of(a.aval), shape_of(b.aval)) for a in before for b in after]
    return [
        (shape_of(a.aval), shape_of(b.aval))
        for a, b in zip(before, after, strict=True)
        if hasattr(a.aval, "shape") and hasattr(b.aval, "shape")
    ]


def _named(text: str) -> dict[str, int]:
    """``mul, 2 × sin`` as counts."""
    found = {}
    for part in text.split(", "):
        count, _, name = part.rpartition(" \u00d7 ")
        found[name] = int(count or 1)
    return found


_PARTS: dict[str, Callable[[Header, re.Match[str]], list[Problem]]] = {
    r"(?P<m>\d+) equations?(?: \((?P<k>\d+) with nested\))?": Header.counts,
    r"(?:grows )?(?P<n>\d+) \u2192 (?P<m>\d+) equations?(?: \((?P<k>\d+) with nested\))?"
    r"(?:, adds (?P<adds>.+))?": Header.counts,
    r"drops (?P<what>.+)": Header.drops,
    r"rewrites (?P<n>\d+) equations?": Header.rewrites,
    r"keeps (?:all (?P<n>\d+) equations?|its one equation)": Header.keeps,
    r"keeps (?P<n>\d+) values?(?:, (?P<size>[^,]+),)? for the backward part": Header.held,
    r"reshapes (?P<n>\d+) of (?P<t>\d+) values \(axis of (?P<size>\d+) in front\)": (
        Header.reshapes
    ),
    r"reshapes (?P<n>\d+) of (?P<t>\d+) values": Header.reshapes,
    r"splits (?P<n>\d+) of (?P<t>\d+) values over .+": Header.reshapes,
    r"nests (?:the body|(?P<n>\d+) of (?P<t>\d+) equations?) in"
    r" (?P<primitive>[^ ]+)\.(?P<name>\w+)": Header.nests,
    r"no equations": Header.nothing,
}
