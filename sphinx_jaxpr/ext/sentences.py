"""Judges the quotes of all pages, and says what a page shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ..program.quoted import clipped
from ..program.quoted import words as echo
from ..tracing.files import digest
from .records import FALSE, TRUE, WRONG, Finding, Judge, Quote, Verdict

if TYPE_CHECKING:
    from .engine import Engine

#: Characters of a sentence and of its expression that a message repeats.
_ECHO: Final = 200
_NAMES: Final = {
    "claim": "claim",
    "val": "value",
    "eqn": "equation",
    "ref": "block",
    "when": "condition",
    "prim": "primitive",
}


class Sentences:
    """The quotes that a build shows, by page."""

    def __init__(self, engine: Engine, quotes: Mapping[str, list[Quote]]) -> None:
        self.engine = engine
        self.verdicts: Judge = engine.verdicts
        self.quotes = {page: list(found) for page, found in sorted(quotes.items())}

    def judged(self, page: str) -> Iterator[tuple[Quote, Verdict | None]]:
        """The quotes of a page that count, each with its verdict; ``None`` where it has none.

        What stands in a part that is left out is not judged.
        """
        for quote in self.quotes.get(page, ()):
            if all(self.is_kept(page, condition) for condition in quote.when):
                yield quote, None if quote.problem else self.verdicts.of(page, quote)

    def is_kept(self, page: str, condition: str) -> bool:
        """Whether a part under a condition is shown: also where that can't be told."""
        if self.engine.mode == "skip" or not condition:
            return True
        return self.verdicts.of(page, Quote("when", condition, "", "", 0)).state != FALSE

    def findings(self) -> list[Finding]:
        """What is false or leads nowhere, in the order of the pages."""
        return [
            found
            for page in self.quotes
            for quote, verdict in self.judged(page)
            if (found := self.finding(page, quote, verdict)) is not None
        ]

    def finding(self, page: str, quote: Quote, verdict: Verdict | None) -> Finding | None:
        """What to tell of one quote, if anything."""
        if verdict is None:
            kind = "claim" if quote.what == "claim" else "path"
            return Finding(kind, f"jaxpr:{quote.what}: {quote.problem}", quote.source, quote.line)
        message = ""
        if verdict.state == FALSE and quote.what == "claim":
            words = f"claim {clipped(quote.words, _ECHO)!r}" if quote.words else "claim"
            where = self._version(page, quote)
            message = f"{words} is false{where}: {verdict.text} [{echo(quote.expression, _ECHO)}]"
        elif verdict.state == WRONG:
            name = _NAMES.get(quote.what, quote.what)
            message = f"{name} {clipped(quote.expression, _ECHO)!r}: {verdict.text}"
        elif verdict.state == TRUE and quote.what in ("ref", "eqn"):
            message = self._hidden(page, quote, verdict)
        kind = verdict.kind if quote.what == "claim" else "path"
        return Finding(kind, message, quote.source, quote.line) if message else None

    def _version(self, page: str, quote: Quote) -> str:
        """On which JAX: on none, where all that is asked of stands on the page as text."""
        if self.verdicts.is_pasted(page, quote):
            return ""
        jax = self.verdicts.versions.get("jax", "")
        return f" on JAX {jax}" if jax else ""

    def _hidden(self, page: str, quote: Quote, verdict: Verdict) -> str:
        place = self.verdicts.place(page, verdict)
        if place is None or place.block.shown:
            return ""
        asked = f"{_NAMES[quote.what]} {clipped(quote.expression, _ECHO)!r}"
        return f"{asked}: `{verdict.block}` is hidden by base: hide, so there is nothing to link to"

    def digests(self) -> dict[str, str]:
        """For each page a digest of all that it shows of its quotes."""
        return {page: digest([*map(list, self._shown(page))])[:20] for page in self.quotes}

    def _shown(self, page: str) -> Iterator[tuple[str, ...]]:
        for quote, verdict in self.judged(page):
            if verdict is None:
                continue
            yield quote.what, quote.expression, verdict.state, verdict.text, verdict.where
            place = self.verdicts.place(page, verdict) if verdict.block else None
            if place is not None:
                outcome = self.engine.outcome(place.block)
                program = outcome.seen.program if outcome else ""
                shown = str(place.block.shown)
                yield place.page, place.block.identity, shown, str(verdict.start), program
