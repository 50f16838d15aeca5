"""Two programs side by side: rows cover every line once, and matched pairs share theirs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.program.html import side_by_side
from sphinx_jaxpr.program.html.folding import POINTED, runs
from sphinx_jaxpr.program.html.side_by_side import PIECE, SUMMARY, Column, RowItem, Unaligned, align
from sphinx_jaxpr.program.matching.match import match
from sphinx_jaxpr.program.model import Printed
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.tracing.masking import mask
from tests.program import corpus
from tests.program.lesson import scope

pytestmark = pytest.mark.once


def placed(side: Column) -> dict[int, RowItem]:
    """The items without items inside, by their row in the whole; checks that rows add up."""
    found: dict[int, RowItem] = {}

    def look(holder: RowItem, origin: int, count: int) -> None:
        cursor = 1
        for item in holder.items:
            if item.kind == SUMMARY:
                found[origin] = item
                origin, count = origin + 1, count - 1
                continue
            assert item.row - item.gap == cursor and item.gap >= 0
            cursor = item.row + item.span
            row = origin + item.row - 1
            if item.items:
                look(item, row, item.span)
            else:
                assert item.span == 1 and row not in found
                found[row] = item
        assert cursor - 1 + (side.gap if holder is side.root else 0) == count

    look(side.root, 1, side.rows)
    return found


def text_of(side: Column, item: RowItem) -> str:
    text = side.printed.text
    if item.kind == PIECE:
        return text[item.start : item.end]
    return "\n".join(text.split("\n")[item.first : item.last + 1])


def check(base: Printed, variant: Printed, folded: int = 0) -> list[tuple[str, str]]:
    """Align; the first words of both sides, row by row."""
    found = match(base, variant)
    sides = []
    for printed in (base, variant):
        why = {e.start: POINTED for n, e in enumerate(printed.walk()) if folded and n % folded}
        sides.append(Column(printed, runs(printed, why)))
    assert align(sides[0], sides[1], found)
    assert sides[0].rows == sides[1].rows
    known = [placed(side) for side in sides]
    for side, items in zip(sides, known, strict=True):
        shown, last = "", -1
        for _, item in sorted(items.items()):
            shown += ("" if item.first == last else "\n") + text_of(side, item)
            last = item.last
        assert shown.removeprefix("\n") == side.printed.text
    both = [
        tuple(
            text_of(side, items[row]).strip().split("\n")[0] if row in items else ""
            for side, items in zip(sides, known, strict=True)
        )
        for row in range(1, sides[0].rows + 1)
    ]
    assert all(any(pair) for pair in both)
    return [(one, other) for one, other in both]


def equation(line: str) -> str:
    """``dot_general`` of ``d:f32[8] = dot_general[``; nothing where a line has no equation."""
    right = line.partition(" = ")[2]
    return right.partition("[")[0].partition(" ")[0] if right else ""


@pytest.mark.parametrize("label", ["grad", "vmap", "vmap_all", "scan", "remat", "shard_map", "jit"])
def test_the_lesson(label: str) -> None:
    blocks = scope().blocks
    base, variant = blocks["dense"].printed, blocks[f"dense.{label}"].printed
    assert base is not None and variant is not None
    pairs = check(base, variant)
    # All of the base is found again, nested in a body too; each stands beside its partner.
    mine = [equation(one) for one, _ in pairs if equation(one)]
    assert mine == ["dot_general", "broadcast_in_dim", "add", "tanh"]
    assert all(equation(one) == equation(other) for one, other in pairs if equation(one))
    assert pairs[0][0].startswith("{ lambda") and pairs[0][1].startswith("{ lambda")
    assert pairs[-1][0].startswith("in (") and pairs[-1][1].startswith("in (")


def program(function: object, *args: object) -> Printed:
    return parse(mask(str(jax.make_jaxpr(function)(*args))))  # type: ignore[arg-type]  # of any function


def test_what_has_no_partner_has_its_row_alone() -> None:
    x = jnp.ones(8)
    base = program(lambda x: jnp.tan(jnp.sin(x) * 2.0), x)
    variant = program(lambda x: jnp.exp(jnp.sin(x)) * 2.0, x)
    pairs = [(equation(one), equation(other)) for one, other in check(base, variant)]
    assert ("sin", "sin") in pairs and ("tan", "") in pairs and ("", "exp") in pairs


def test_a_program_on_one_line_is_cut_into_its_equations() -> None:
    x = jnp.ones(8)
    base = program(lambda x: jnp.sin(x) * 2.0, x)
    assert "\n" not in base.text
    variant = program(jax.vmap(lambda x: jnp.sin(x) * 2.0), jnp.ones((2, 8)))
    assert "\n" in variant.text
    assert [(equation(one), equation(other)) for one, other in check(base, variant)] == [
        ("", ""), ("sin", "sin"), ("mul", "mul"), ("", ""),
    ]  # fmt: skip


def test_shared_bodies_stand_beside_one_another() -> None:
    def relus(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.nn.relu(x) + jax.nn.relu(y)

    x = jnp.ones(8)
    pairs = check(program(relus, x, x), program(jax.grad(lambda *a: relus(*a).sum()), x, x))
    assert all(one.startswith("let ") == other.startswith("let ") for one, other in pairs)


@pytest.mark.parametrize("start", range(4))
def test_every_program_beside_itself_and_beside_another(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_by_side, "MAX_ROWS", 100_000)
    usable = [name for name, traced in corpus.PROGRAMS.items() if not traced.missing()]
    last: Printed | None = None
    for name in usable[start::4]:
        printed = parse(mask(str(corpus.PROGRAMS[name]())))
        if printed.program is None:
            continue
        for folded in (0, 2, 3):
            pairs = check(printed, printed, folded)
            whole = not match(printed, printed).removed  # of itself, all may be found again
            assert all(one == other for one, other in pairs) or not whole, name
            if last is not None:
                check(last, printed, folded)
        last = printed


def test_too_many_rows_are_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    base = scope().blocks["dense"].printed
    assert base is not None
    monkeypatch.setattr(side_by_side, "MAX_ROWS", 9)
    assert not align(Column(base), Column(base), match(base, base))


def test_a_body_on_the_first_line_of_its_equation_has_no_rows() -> None:
    text = (
        "{ lambda ; a:f32[]. let\n    b:f32[] = jit[jaxpr={ lambda ; c:f32[]. let\n"
        "        d:f32[] = sin c\n      in (d,) }] a\n  in (b,) }"
    )
    with pytest.raises(Unaligned):
        Column(parse(text))
