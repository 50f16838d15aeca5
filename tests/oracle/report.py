"""What a run of the oracle counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """Checks by kind, and what was wrong, with where."""

    checked: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def check(self, kind: str, where: str, product: Any, oracle: Any, count: int = 1) -> bool:
        """Count ``count`` checks; one of them is wrong where the two sides differ."""
        self.checked[kind] += count
        if product == oracle:
            return True
        self.fail(kind, where, product, oracle)
        return False

    def fail(self, kind: str, where: str, product: Any, oracle: Any) -> None:
        """Note what is wrong."""
        self.wrong[kind] += 1
        self.problems.append(f"{kind}: {where}: product {_short(product)}, oracle {_short(oracle)}")

    def __iadd__(self, other: Report) -> Report:
        self.checked += other.checked
        self.wrong += other.wrong
        self.skipped += other.skipped
        self.problems += other.problems
        return self

    def of(self, *kinds: str) -> list[str]:
        """The problems of some kinds."""
        return [problem for problem in self.problems if problem.split(":")[0] in kinds]

    def lines(self, most: int = 5) -> list[str]:
        """A summary for people: counts by kind, and some of the problems."""
        found = []
        for kind, count in sorted(self.checked.items()):
            skipped = f", {self.skipped[kind]:,} not judged" if self.skipped[kind] else ""
            found.append(f"{kind:24} {count:8,} checked, {self.wrong[kind]:5,} wrong{skipped}")
            found += [f"    {problem[:400]}" for problem in self.of(kind)[:most]]
        return found


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 160 else text[:160] + "..."
