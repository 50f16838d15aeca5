"""What is computed about programs is computed once, and shortcuts give what long ways give."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.glossary import glossary
from sphinx_jaxpr.program.glossary.glossary import Entry, Glossary, builtin
from sphinx_jaxpr.program.matching import match as matching
from sphinx_jaxpr.program.matching import numbering
from sphinx_jaxpr.program.matching.match import Match, match
from sphinx_jaxpr.program.model import Printed
from sphinx_jaxpr.program.parser import patterns
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.tracing.result import Result, TracedProgram

pytestmark = pytest.mark.once

DATA = Path(__file__).parent / "data"
TEXTS = [path.read_text("utf-8") for path in sorted(DATA.glob("*.txt"))]

BASE = """{ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = mul a b
    d:f32[8] = tanh c
    e:f32[1,8] = broadcast_in_dim[
      broadcast_dimensions=(1,)
      shape=(1, 8)
      sharding=None
    ] d
    f:f32[1,8] = broadcast_in_dim[
      broadcast_dimensions=(1,)
      shape=(1, 8)
      sharding=None
    ] c
    g:f32[1,8] = add e f
    h:f32[] = scan[
      jaxpr={ lambda ; i:f32[] j:f32[8]. let
          k:f32[] = reduce_sum[axes=(0,)] j
          l:f32[] = add i k
        in (l,) }
      length=1
      num_carry=1
      num_consts=0
    ] 0.0:f32[] g
  in (h, d) }"""
VARIANTS = (
    BASE.replace("8]", "8,2]").replace("(1, 8)", "(1, 8, 2)"),
    BASE.replace("tanh c", "neg c; m:f32[8] = sin a"),
    BASE.replace("add e f", "mul f e").replace("tanh", "cos"),
    BASE.replace("c:f32[8] = mul a b", "c:f32[8] = mul b a"),
)


# --- the parser


def spoilt(choose: random.Random, text: str) -> str:
    """A text with a few signs too many or too few."""
    for _ in range(choose.randrange(1, 4)):
        at = choose.randrange(len(text) + 1)
        sign = choose.choice(
            ["", " ", "\n", "\n    ", ";", "{", "]", "(", "=", ":", "a", "in ", "#"]
        )
        text = text[:at] + sign + text[at + choose.randrange(3) :]
    return text


def long_way(text: str, patch: pytest.MonkeyPatch) -> Printed:
    """A text read without the patterns of what is usual."""
    with patch.context() as patched:
        for name in ("PLAIN", "OPERANDS", "LINE"):
            patched.setattr(patterns, name, re.compile(r"(?!)"))
        return parse(text)


def test_what_is_usual_is_read_like_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(3)
    pieces = [text[:3000] for text in (*TEXTS, BASE, *VARIANTS)]
    texts = [*TEXTS, *pieces, *(spoilt(choose, choose.choice(pieces)) for _ in range(200))]
    for text in texts:
        printed, other = parse(text), long_way(text, monkeypatch)
        assert printed == other
        assert [e.programs for e in printed.walk()] == [e.programs for e in other.walk()]


def test_equal_types_are_one_text() -> None:
    printed = parse(BASE)
    types = [v.type for equation in printed.walk() for v in equation.outputs]
    assert len(set(map(id, types))) == len(set(types)) < len(types)


def test_a_program_is_walked_once() -> None:
    printed = parse(BASE)
    assert printed.walk() is printed.walk()


# --- matching


def block(text: str, base: TracedBlock | None = None) -> TracedBlock:
    program = TracedProgram(text, (), (), Facts())
    return TracedBlock("f", "v" if base else "", result=Result(program=program), base=base)


def test_a_base_is_numbered_once_for_all_its_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    numbered: Counter[str] = Counter()
    read = numbering.Numbering.__init__

    def counted(self: Any, printed: Printed, *rest: Any) -> None:
        numbered[f"{type(self).__name__} {printed.text}"] += 1
        read(self, printed, *rest)

    monkeypatch.setattr(numbering.Numbering, "__init__", counted)
    base = block(BASE)
    blocks = [block(text, base) for text in VARIANTS]
    for each in (base, *blocks, *blocks):
        assert each.header
        assert each.marks() is not None
        assert each.dropped is not None
    exact = {text: numbered[f"Numbering {text}"] for text in (BASE, *VARIANTS)}
    assert exact == dict.fromkeys((BASE, *VARIANTS), 1)
    assert numbered[f"Standing {BASE}"] == 1


def outcome(found: Match) -> tuple[Any, ...]:
    removed = [equation.start for equation in found.removed]
    # Order too: summaries go by it.
    return (*map(list, (found.change.items(), found.partner.items())), removed, found.results)


def test_a_match_does_not_depend_on_matches_before_it() -> None:
    choose = random.Random(7)
    bases = [BASE, *VARIANTS[:2], *(text for text in TEXTS if len(text) < 4000)]
    for text in bases:
        texts = [text, *VARIANTS, *(choose.choice(bases) for _ in range(4))]
        variants = [parse(other) for other in texts]
        alone = [outcome(match(parse(text), variant)) for variant in variants]
        base = parse(text)
        for _ in range(2):
            choose.shuffle(order := list(range(len(variants))))
            for n in order:
                assert outcome(match(base, variants[n])) == alone[n]


def test_a_large_base_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = parse(BASE), parse(BASE)
    assert matching.reference_of(small) is matching.reference_of(small)
    monkeypatch.setattr(numbering, "MAX_KEPT", len(BASE) - 1)
    assert matching.reference_of(large) is not matching.reference_of(large)


# --- words


def test_equal_equations_are_put_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worded: list[str] = []
    words = glossary.words

    def counted(use: Any, template: str) -> str:
        worded.append(use.name)
        return words(use, template)

    monkeypatch.setattr(glossary, "words", counted)
    mine = builtin().merged({"mul": {"words": "as {out_dtype:dtype}"}})
    printed = parse(BASE)
    first = mine.equations_in_words(printed, {})
    kinds = ["add", "add", "broadcast_in_dim", "mul", "reduce_sum", "scan", "tanh"]
    assert sorted(worded) == kinds  # `add` is on two types
    assert mine.equations_in_words(parse(BASE), {}) == first
    assert len(worded) == len(kinds) < len(printed.walk())


def test_kept_words_are_those_of_the_equation() -> None:
    kept = builtin().merged({"mul": {"words": "as {out_dtype:dtype}"}})
    for text in (*TEXTS, BASE, *VARIANTS):
        printed = parse(text)
        words = kept.equations_in_words(printed, {})
        for equation in printed.walk():
            given = {
                p.name: glossary.printed_value(printed.text_of(p))
                for p in equation.parameters
                if not p.members
            }
            types, inputs = ([v.type for v in part] for part in (equation.outputs, equation.inputs))
            assert words[equation.start] == kept.in_words(
                equation.primitive, given, types, inputs=inputs
            )


def test_words_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glossary, "MAX_WORDINGS", 5)
    kept = builtin().merged({"mul": {"words": "n"}})
    for size in range(40):
        kept.equations_in_words(parse(BASE.replace("8", str(size))), {})
        assert len(kept._wordings) <= 5
    long = BASE.replace("(1, 8)", f"({', '.join(map(str, range(1000)))})")
    assert len(long) > glossary.MAX_KEY
    before = dict(kept._wordings)
    kept.equations_in_words(parse(long), {})
    assert not any("999" in str(key) for key in kept._wordings.keys() - before.keys())


# --- definitions


def test_tables_cut_out_are_those_of_the_whole_file() -> None:
    text = files("sphinx_jaxpr.program.glossary").joinpath("primitives.toml").read_text("utf-8")
    whole = {
        name: Entry(name, **{**table, "aliases": tuple(table.get("aliases", ()))})
        for name, table in tomllib.loads(text).items()
    }
    assert {name: builtin().entry(name) for name in builtin().known()} == whole


def test_definitions_are_read_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    table = glossary._entry

    def counted(name: str, text: str) -> Entry:
        read.append(name)
        return table(name, text)

    monkeypatch.setattr(glossary, "_entry", counted)
    fresh = builtin.__wrapped__()
    aliased = len(read)
    assert aliased < len(fresh.known()) // 10
    merged = fresh.merged({"tanh": {"meaning": "Ours."}})
    assert merged.entry("mul") is merged.entry("mul")
    assert read[aliased:] == ["tanh", "mul"]


def test_nothing_added_is_the_same_glossary() -> None:
    assert builtin().merged({}) is builtin()
    assert isinstance(builtin().merged({"mul": {"kind": "x"}}), Glossary)
