"""What the product says of a variant and its base, against numbering and named scopes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import jax

from .adapter import NAME, Product
from .corpus import Traced, block_of, names_of
from .facts import Aligned
from .functions import Case
from .numbering import Numbering, verbatim
from .phases import body_of, is_literal, params_of, programs_in
from .reading import Block
from .report import Report
from .transforms import Made, apply, label

CHANGES = ("kept", "added", "reshaped")


def check(traced: Traced, found: dict[str, Aligned], report: Report) -> None:
    """Marks of every variant: whole, disjoint, and nothing removed that stands there."""
    for name, aligned in found.items():
        if name == NAME or not aligned.complete or not found[NAME].complete:
            continue
        ask, where = traced.product.ask, aligned.where
        marks = {change: set(ask(f"[e for e in {name}.{change}]")) for change in CHANGES}
        everything = set(ask(f"[e for e in {name}.all]"))
        union = set().union(*marks.values())
        report.check("marks", where, union == everything, True, len(everything))
        report.check("marks", f"{where}: once", sum(map(len, marks.values())), len(everything))
        views = ask(f"[e for e in {name}.removed]")
        removed = [found[NAME].raw[view] for view in views if view in found[NAME].raw]
        # Of a program that JAX prints twice, ``.all`` has one, and the other may be removed.
        report.skipped["verbatim"] += len(views) - len(removed)
        base = traced.base
        there = verbatim(base.closed, aligned.block.closed)
        report.checked["verbatim"] += len(there)
        for equation in removed:
            if id(equation) in there:
                report.fail("verbatim", f"{where}: {equation.primitive}", "removed", "in it")


# -- named scopes


_SCOPE = re.compile(r"oracle_(\d+)_")


def scoped(case: Case) -> Any:
    """The function as its jaxpr, each of whose equations has a scope of its own."""
    closed = jax.make_jaxpr(case.function)(*case.arguments)
    body, tree = body_of(closed), jax.tree.structure(jax.eval_shape(case.function, *case.arguments))

    def run(*arguments: Any) -> Any:
        known: dict[int, Any] = {}
        known.update(zip(map(id, body.invars), jax.tree.leaves(arguments), strict=True))
        known.update(zip(map(id, body.constvars), closed.consts, strict=True))

        def read(operand: Any) -> Any:
            return operand.val if is_literal(operand) else known[id(operand)]

        for place, equation in enumerate(body.eqns):
            bound = equation.primitive.get_bind_params(equation.params)
            # JAX 0.7 returns the functions of a custom rule apart.
            rules, params = bound if isinstance(bound, tuple) else ((), bound)
            with jax.named_scope(f"oracle_{place}_"):
                made = equation.primitive.bind(*rules, *map(read, equation.invars), **params)
            results = made if equation.primitive.multiple_results else [made]
            known.update(zip(map(id, equation.outvars), results, strict=True))
        return jax.tree.unflatten(tree, [read(v) for v in body.outvars])

    names = ", ".join(names_of(case))
    namespace: dict[str, Any] = {"run": run}
    exec(f"def f({names}): return run({names})", namespace)  # noqa: S102 - names of parameters
    return namespace["f"]


def by_scopes(case: Case, chains: list[str], report: Report) -> None:
    """How many equations of a base the product finds in its variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = scoped(case)
            base = jax.make_jaxpr(function)(*case.arguments)
        except Exception:  # a primitive that can't be bound anew
            report.skipped["scopes"] += 1
            return
        made = {}
        for chain in chains:
            try:
                whole = apply(Made(function, case.arguments, names_of(case)), chain)
                made[chain] = block_of(whole)
            except Exception:  # JAX refuses the transform here
                continue
        if not made:
            return
        product = Product(function, case.arguments, ", ".join(made))
    for chain, variant in made.items():
        _compare(case, base, chain, variant, product, report)


def _compare(
    case: Case,
    base: Any,
    chain: str,
    variant: Block,
    product: Product,
    report: Report,
) -> None:
    name = f"{NAME}.{label(chain)}"
    where = f"{case.name} {chain}"
    mine, theirs = body_of(base), variant.body
    views = product.ask(f"[e for e in {NAME}]")
    if len(views) != len(mine.eqns):
        report.fail("scopes", where, len(views), len(mine.eqns))
        return
    numbering = Numbering()
    numbers = numbering.program(base) | numbering.program(variant.closed)
    place_of = {view: place for place, view in enumerate(views)}
    removed = {place_of.get(view) for view in product.ask(f"[e for e in {name}.removed]")}
    present = _present(mine, variant)
    for place in range(len(mine.eqns)):
        if place not in present:
            continue
        report.checked["missed"] += 1
        if place in removed:
            report.fail("missed", f"{where}: {place} {mine.eqns[place].primitive}", "removed", "in")
    scopes = _scopes_of_views(product, name, theirs)
    alike = {(place, numbers.get(id(raw))) for place, raw in scopes.values()}
    for new, old in product.partners(name).items():
        one, raw = scopes.get(new, (None, None))
        two = place_of.get(old)
        report.checked["paired"] += 1
        if one is None or two is None or one == two:
            continue
        number = numbers.get(id(raw))
        if number != numbers[id(mine.eqns[two])] and (two, number) not in alike:
            what = f"{where}: {two} {mine.eqns[two].primitive}"
            report.fail("paired", what, f"with one of {one}", f"with one of {two}")


def _present(base: Any, variant: Block) -> set[int]:
    """The places of the base whose equation the variant still has, by scopes.

    A derivative may add equations of the same primitive in the same scope.  That which
    is the base's is in no backward part, and depends on no tangent.
    """
    counts: Counter[tuple[int, str]] = Counter()

    def walk(body: Any, outer: int | None) -> None:
        for equation in body.eqns:
            place = _place(equation, outer)
            name = equation.primitive.name
            # A loop or call that is run for both has a phase that says nothing of it.
            holds = any(programs_in(value) for value in params_of(equation).values())
            phase = variant.phases.of(equation)
            if place is not None and (phase in ("", "forward") or (holds and phase == "tangent")):
                counts[place, name] += 1
            for value in params_of(equation).values():
                for program in programs_in(value):
                    walk(body_of(program), place)

    walk(variant.body, None)
    return {n for n, equation in enumerate(base.eqns) if counts[n, equation.primitive.name]}


def _place(equation: Any, outer: int | None) -> int | None:
    """The equation of the base from which one comes, by its scope."""
    stack = equation.source_info.name_stack.stack
    own = [int(found[1]) for item in stack if (found := _SCOPE.match(item.name))]
    return own[0] if own else outer


def _scopes_of_views(product: Product, name: str, body: Any) -> dict[Any, tuple[int, Any]]:
    """By the product's views: the place in the base of a variant's equation, and the object."""
    found: dict[Any, tuple[int, Any]] = {}
    todo: list[tuple[str, Any, int | None]] = [(name, body, None)]
    while todo:
        path, current, outer = todo.pop(0)
        try:
            views = product.ask(f"[e for e in {path}]")
        except ValueError:
            continue
        if len(views) != len(current.eqns):
            continue
        for position, (view, equation) in enumerate(zip(views, current.eqns, strict=True)):
            place = _place(equation, outer)
            if place is not None:
                found[view] = (place, equation)
            for parameter, value in params_of(equation).items():
                if hasattr(body_of(value), "eqns"):
                    todo.append((f"{path}[{position}].{parameter}", body_of(value), place))
                else:
                    for n, program in enumerate(programs_in(value)):
                        inner = f"{path}[{position}].{parameter}[{n}]"
                        todo.append((inner, body_of(program), place))
    return found
