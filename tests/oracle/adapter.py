"""The product's side: the one module of the oracle that imports the product."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sphinx_jaxpr import testing
from sphinx_jaxpr.program.matching import summary
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import evaluate, judge
from sphinx_jaxpr.program.query.flow.residuals import kept_sizes
from sphinx_jaxpr.program.query.sides import sides
from sphinx_jaxpr.program.query.syntax import PathError

from .sentences.model import Subject

#: What the programs are called in expressions.
NAME = "f"


class Product:
    """The programs of one function as the product traces and reads them."""

    def __init__(
        self, function: Callable[..., Any] | str, arguments: Sequence[Any], transforms: str
    ) -> None:
        self.traced = testing.trace(function, *arguments, transforms=transforms, name=NAME)

    def ask(self, expression: str) -> Any:
        """The value of an expression; :class:`ValueError` where it has none.

        Views of equations and values stay what they are: they are hashable, and equal
        where they are the same thing.
        """
        return evaluate(expression, self.traced.scope).value

    def judge(self, claim: str) -> bool | str:
        """The verdict of a claim, or why it has none, as a text."""
        try:
            return judge(claim, self.traced.scope).is_true
        except PathError as error:
            return error.message

    def sides(self, claim: str) -> tuple[tuple[str, str], ...]:
        """What decides a claim, with values, as reviewers read it."""
        return sides(claim, self.traced.scope)

    def header(self, name: str) -> str:
        """The computed line over a block, as its parts are put together for readers."""
        block = self.traced[name]
        base = block.base.printed if block.base else None
        before = block.base.index.tables if block.base else {}
        assert block.printed is not None
        parts = summary.acted(block.printed, base, block.match, block.index.tables, before)
        parts += summary.keeps(kept_sizes(block))
        return "; ".join(f"{part.verb} {part.text}".strip() for part in parts)

    def partners(self, name: str) -> dict[Any, Any]:
        """The match of a variant: views of its equations -> views of the base's."""
        block = self.traced[name]
        assert block.base is not None
        mine, theirs = _by_start(self, name, block), _by_start(self, block.base.name, block.base)
        found = block.match.partner
        return {mine[new]: theirs[old] for new, old in found.items() if new in mine}

    def text(self, name: str) -> str:
        """What JAX printed."""
        return self.traced.text(name)


@cache
def asked(subject: Subject) -> Product:
    """A function and its variants, traced once in a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Product(subject.function, subject.arguments, ", ".join(subject.chains))


def _by_start(product: Product, name: str, block: QueryBlock) -> dict[int, Any]:
    assert block.printed is not None
    everything = product.ask(f"[e for e in {name}.all]")
    return {view.equation.start: view for view in everything}
