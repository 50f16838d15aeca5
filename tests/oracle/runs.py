"""A run of the oracle: which functions, how much of each, and what it counts."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import claims, facts, generated, headers, matching, pages, xla
from .corpus import Traced, chosen, corpus, trace
from .functions import CASES
from .report import Report

#: The part of a base's equations that may be missed.
MOST_MISSED = 0.02


@dataclass(frozen=True)
class Run:
    """``share`` of the transforms for ``functions`` of the functions, ``claims`` for each.

    ``loops`` functions with loops are generated, and ``analysed`` contractions and
    convolutions, whose operations XLA counts.
    """

    share: float = 0.3
    functions: float = 1.0
    claims: int = 70
    pages: int = 6
    loops: int = 60
    analysed: int = 150
    seed: int = 0
    only: str = ""

    def __call__(self, say: Callable[[str], None] = lambda line: None) -> Report:
        report = Report()
        if self.only:
            names = self.only.split(",")
            found = (trace(CASES[n], chosen(CASES[n], self.share, self.seed)) for n in names)
        else:
            found = corpus(self.share, self.seed, self.functions)
        for traced in found:
            say(traced.case.name)
            report.checked["functions"] += 1
            report.checked["crash"] += 1
            report.checked["blocks"] += len(traced.blocks)
            try:
                self.one(traced, report)
            except Exception:  # the others are to be checked too
                lines = traceback.format_exc().strip().splitlines()
                report.fail("crash", traced.case.name, " ".join(lines[-3:]), "no error")
        generated.check(report, self.loops, self.seed)
        xla.check(report, self.analysed, self.seed)
        if self.pages:
            self.build(report)
        return report

    def one(self, traced: Traced, report: Report) -> None:
        """All checks of one function."""
        aligned = facts.check(traced, report)
        matching.check(traced, aligned, report)
        headers.check(traced, aligned, report)
        claims.check(traced, aligned, report, self.claims, self.seed)
        if not traced.case.heavy:
            matching.by_scopes(traced.case, list(traced.chains.values()), report)

    def build(self, report: Report) -> None:
        """Some of the functions on real pages."""
        part = self.pages / len(CASES)
        with tempfile.TemporaryDirectory() as folder:
            some = corpus(0.05, self.seed, part)
            pages.build(Path(folder).resolve(), some, 10 + self.claims, report, self.seed)


def failures(report: Report) -> list[str]:
    """The problems that count: equations of a base may be missed up to a share."""
    allowed = MOST_MISSED * report.checked["missed"]
    kinds = [kind for kind, count in report.wrong.items() if count]
    if report.wrong["missed"] <= allowed:
        kinds = [kind for kind in kinds if kind != "missed"]
    return sorted(kinds)
