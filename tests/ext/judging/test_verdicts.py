"""Verdicts that are kept, against judging everything again; and how much is judged again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.ext.judging.findings import StatementChecker
from sphinx_jaxpr.ext.judging.names.lines import NamedLines
from sphinx_jaxpr.ext.judging.names.scopes import Scopes
from sphinx_jaxpr.ext.judging.path_targets import PathTargets
from sphinx_jaxpr.ext.judging.session import PAGES, Outcome, TracePolicy
from sphinx_jaxpr.ext.judging.verdicts import Addresses, VerdictCache
from sphinx_jaxpr.ext.links import ShownIds
from sphinx_jaxpr.ext.records import (
    FALSE,
    TRUE,
    WRONG,
    Block,
    DirectiveRecord,
    NamedLine,
    Note,
    Pasted,
    PrimitiveList,
    Statement,
    Verdict,
)
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.glossary.glossary import builtin
from sphinx_jaxpr.tracing.files import digest
from sphinx_jaxpr.tracing.result import ErrorKind, Result, TracedProgram, TraceError
from sphinx_jaxpr.tracing.store import Seen

pytestmark = pytest.mark.once

#: Programs by the names of their primitives; one can't be traced, one has a primitive of its own.
PROGRAMS = {
    "tanh mul": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }",
    "tanh": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }",
    "sin": "{ lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) }",
    "kernel sin": "{ lambda ; a:f32[4]. let b:f32[4] = sin a; c:f32[4] = kernel b in (c,) }",
    "": "",
}


class Session:
    """What judging needs of a session, over programs that were pasted."""

    mode = "trace"
    jax = "0.10.2"
    masker = SimpleNamespace(source="/")

    def __init__(self, policy: TracePolicy = PAGES) -> None:
        self.policy = policy
        self.judged = 0
        self.asked = 0

    def outcome(self, block: Block) -> Outcome | None:
        self.asked += 1
        assert block.pasted is not None
        return Outcome(block.digest, Seen(block.digest, "", 0, block.pasted.version))

    def traced(self, directive: DirectiveRecord, block: Block) -> TracedBlock:
        assert block.pasted is not None
        if not block.pasted.text:
            failure = TraceError(ErrorKind.TRACE, "no")
            return TracedBlock(block.name, block.label, failure=failure)
        base = self.traced(directive, directive.blocks[0]) if block.label else None
        result = Result(program=TracedProgram(block.pasted.text, (), (), Facts()))
        return TracedBlock(block.name, block.label, result=result, base=base)

    def mend(self, blocks: Iterable[Any]) -> None:
        self.judged += 1
        list(blocks)

    def versions(self) -> dict[str, str]:
        return {"jax": self.jax}


class Meanings:
    """The definitions of the package, with the primitives that a project explains."""

    terms_of: dict[str, str] = {}  # noqa: RUF012  # never changed
    glossary = builtin()

    def href(self, name: str, page: str) -> tuple[str, bool]:
        return "", False

    def in_inventories(self, name: str, kinds: object = ()) -> str:
        return "https://example.org/far" if name == "far" else ""


def block(name: str, label: str, programs: str) -> Block:
    names = "\n".join(sorted(programs.split()))
    pasted = Pasted(PROGRAMS[programs], names)
    full = f"{name}.{label}" if label else name
    return Block(full, label, f"jaxpr-{full}", None, digest([full, programs]), pasted=pasted)


def directive(
    name: str, *programs: str, explicit: bool = True, notes: Iterable[str] = ()
) -> DirectiveRecord:
    """A directive with a base, and with variants ``grad`` and ``vmap``."""
    labels = ("", "grad", "vmap")
    blocks = tuple(block(name, *pair) for pair in zip(labels, programs, strict=False))
    return DirectiveRecord(
        "p.md", 1, name, explicit, blocks, notes=tuple(Note(path, "p.md", 2) for path in notes)
    )


Pages = dict[str, list[DirectiveRecord]]
Verdicts = dict[Any, Verdict]


class Judged:
    """One build over ``pages``, of which those named in ``hidden`` are not shown."""

    def __init__(
        self,
        pages: Pages,
        statements: dict[str, list[Statement]],
        kept: str = "",
        *,
        hidden: Iterable[str] = (),
        own: Iterable[str] = (),
        jax: str = Session.jax,
        lets: Mapping[str, str] | None = None,
    ) -> None:
        self.session: Any = Session(TracePolicy(judges_afresh=not kept))
        self.session.jax = jax
        meanings: Any = Meanings()
        builder: Any = type("Builder", (), {"name": "text", "format": "text"})()
        shown = {
            page: [each._replace(page=page) for each in directives if each.name not in hidden]
            for page, directives in pages.items()
        }
        lists = {page: [PrimitiveList("page", 1)] for page in pages}
        scopes = Scopes(self.session, shown, pages, own)
        addresses = Addresses(self.session, meanings, builder, ShownIds(), shown, lists)
        named = [
            NamedLine("let", name, (name,), text, "p.md", line)
            for line, (name, text) in enumerate((lets or {}).items(), 9)
        ]
        lines = NamedLines(dict.fromkeys(pages, tuple(named)), ())
        self.cache = VerdictCache(self.session, scopes, meanings, addresses, kept, lines)
        own_lets = [Statement("let", each.expression, each.name, *each.position) for each in named]
        statements = {page: [*each, *own_lets] for page, each in statements.items()}
        checker = StatementChecker(self.session, self.cache, statements)
        self.findings = checker.wrong_statements()
        self.verdicts: Verdicts = {
            (page, number): (verdict, self.cache.target(page, verdict) if verdict else None)
            for page in sorted(statements)
            for number, (_, verdict) in enumerate(checker.judged(page))
        }
        targets = PathTargets(self.cache, "trace", frozenset())
        for page, directives in shown.items():
            for number, each in enumerate(directives):
                self.verdicts[page, "notes", number] = [
                    (target.starts, target.problem) for target in targets.notes(each)
                ]
        self.kept = self.cache.kept()


def said(role: str, expression: str) -> Statement:
    return Statement(role, expression, "words", "p.md", 3)


NAMES = ("f", "g", "tanh", "fun", "F", "far")
EXPRESSIONS = (
    *(
        (role, name)
        for role in ("ref", "prim")
        for name in ("f", "g.grad", "far", "tanh", "kernel")
    ),
    *(("claim", f"len({name}) == 2") for name in NAMES),
    ("claim", "f[tanh].count == 1 and f.grad[kernel]"),
    ("claim", "same(f, g)"),
    ("claim", '"kernel" in ops(f.grad)'),
    ("claim", '"kernle" in ops(g)'),
    ("claim", "jax == '0.10.2'"),
    ("claim", "len(\uff46) == 2"),  # Python reads this as `f`
    ("val", "f.grad.vmap"),
    ("val", "len(g.grad)"),
    ("val", "fu"),
    ("eqn", "f[mul]"),
    ("eqn", "g.vmap[kernel]"),
    ("when", "len(f) == 2"),
    ("claim", "len(one) == 2 or two"),
    ("claim", "len(f) == n"),
    ("val", "two.grad"),
    ("eqn", "one[tanh]"),
    ("ref", "two"),
)
NOTES = ("[tanh]", "grad[sin]", "vmap[kernel]", "g[tanh]", "[0]", "one[tanh]", "two[0]")
#: What lets may be; some need others, or themselves.
LETS = ("f", "g.grad", "one", "two", "len(f)", "2", "n + 1", "f[tanh]", "fun.vmap", "one.grad")


def some_directive(pick: random.Random) -> DirectiveRecord:
    programs = [pick.choice(list(PROGRAMS)) for _ in range(pick.randint(1, 3))]
    explicit = pick.random() < 0.6
    return directive(pick.choice(NAMES), *programs, explicit=explicit, notes=pick.sample(NOTES, 2))


def edit(pick: random.Random, pages: Pages) -> None:
    """Add, remove, move, rename or change a directive of any page."""
    page = pick.choice(list(pages))
    other = pages[pick.choice(list(pages))]
    match pick.randrange(5) if pages[page] else 0:
        case 0:
            other.append(some_directive(pick))
        case 1:
            pages[page].pop()
        case 2:
            other.insert(0, pages[page].pop())
        case 3:
            pages[page][-1] = some_directive(pick)._replace(explicit=pages[page][-1].explicit)
        case _:
            pages[page].reverse()
    for directives in pages.values():  # ids are unique on a page
        directives[:] = [
            each._replace(blocks=tuple(b._replace(identity=f"{n}-{b.name}") for b in each.blocks))
            for n, each in enumerate(directives)
        ]


@pytest.mark.parametrize("seed", range(3))
def test_kept_verdicts_are_those_of_judging_again(seed: int) -> None:
    """Whatever happens to names and programs between two builds."""
    pick = random.Random(seed)
    pages: Pages = {page: [some_directive(pick)] for page in ("a", "b", "c")}
    statements = {page: [said(*each) for each in EXPRESSIONS] for page in pages}
    kept, own, hidden, jax = "", ["mine"], ["g"], Session.jax
    lets = {"one": "f", "two": "one.grad", "n": "2"}
    spared = 0
    for step in range(25):
        edit(pick, pages)
        if step % 6 == 5:
            own = pick.choice([["mine"], ["kernle"], []])
            hidden = pick.choice([["g"], ["f", "fun"], []])
            jax = pick.choice(["0.10.2", "0.12.0"])
        if step % 3 == 2:
            names = pick.sample(["one", "two", "n", "fun", "other"], pick.randint(1, 4))
            lets = {name: pick.choice(LETS) for name in names}
        given: Any = {"hidden": hidden, "own": own, "jax": jax, "lets": lets}
        again = Judged(pages, statements, **given)
        warm = Judged(pages, statements, kept or again.kept, **given)
        assert warm.verdicts == again.verdicts
        assert warm.findings == again.findings
        assert warm.session.judged <= again.session.judged
        spared += again.session.judged - warm.session.judged
        kept = warm.kept
    assert spared > 300


def test_an_edited_let_is_judged_again_with_what_uses_it() -> None:
    """And nothing else, unless its message could suggest the name."""
    pages = {"p": [directive("f", "tanh mul", "tanh")]}
    statements = {
        "p": [said("claim", "len(one) == 2"), said("claim", "len(two) == 1"), said("val", "len(f)")]
    }
    before = Judged(pages, statements, lets={"one": "f", "two": "f.grad", "n": "one"})
    assert [before.verdicts["p", n][0].state for n in range(6)] == [TRUE] * 6
    same = Judged(pages, statements, before.kept, lets={"one": "f", "two": "f.grad", "n": "one"})
    assert same.session.judged == 0
    edited = {"one": "f.grad", "two": "f.grad", "n": "one"}
    after = Judged(pages, statements, before.kept, lets=edited)
    assert after.session.judged == 3  # itself, the let that needs it, and the claim
    assert after.verdicts["p", 0][0].state == FALSE
    moved = Judged(pages, statements, before.kept, lets={"two": "f.grad", "one": "f", "n": "one"})
    assert moved.session.judged == 0
    assert "[len(one) == 2, where one = f.grad]" in after.findings[0].message


def test_a_name_is_read_as_python_reads_it() -> None:
    """A letter in full width is the plain one, also where its program changes."""
    statements = {"p": [said("claim", "len(\uff46) == 2")]}
    before = Judged({"p": [directive("f", "tanh mul")]}, statements)
    assert before.verdicts["p", 0][0].state == TRUE
    after = Judged({"p": [directive("f", "tanh")]}, statements, before.kept)
    assert after.verdicts["p", 0][0].state == FALSE


def test_notes_are_about_their_own_directive() -> None:
    """Though one on another page has its name and the ids of its blocks."""
    pages = {
        page: [directive("f", page, explicit=False, notes=["[tanh]"])] for page in ("tanh", "sin")
    }
    judged = Judged(pages, {})
    assert judged.verdicts["tanh", "notes", 0] == [((25,), "")]
    ((starts, problem),) = judged.verdicts["sin", "notes", 0]
    assert not starts and "tanh" in problem


def test_a_name_that_two_variants_have_is_listed_once() -> None:
    (first, *variants) = directive("f", "tanh mul", "tanh", "sin").blocks
    twice = directive("f", "tanh")._replace(blocks=(first, variants[0], variants[0]))
    judged = Judged({"p": [twice]}, {"p": [said("val", "nothing")]})
    assert judged.verdicts["p", 0][0].text.endswith("(blocks: f, f.grad)")


def site(count: int, more: Iterable[str] = ()) -> tuple[Pages, dict[str, list[Statement]]]:
    """Pages with three named blocks; each with a claim, a link to the next page and a ``prim``."""
    pages = {
        f"p{page}": [directive(f"f{page}_{number}", "tanh mul") for number in range(3)]
        for page in range(count)
    }
    pages["p0"] += [directive(name, "tanh mul") for name in more]
    statements = {
        f"p{page}": [
            said("claim", f"len(f{page}_0) == 2"),
            said("ref", f"f{(page + 1) % count}_1"),
            said("prim", "tanh"),
        ]
        for page in range(count)
    }
    statements["p1"] += [said("ref", "nothing"), said("claim", "len(fresh) == 2")]
    return pages, statements


def test_a_new_name_judges_again_what_it_can_change() -> None:
    """What names it, and what is wrong, since a message suggests names."""
    before = Judged(*site(20))
    wrong = [v for v in before.verdicts.values() if isinstance(v, tuple) and v[0].state == WRONG]
    assert before.session.judged == 2 * 20 + 2 and len(wrong) == 2
    same = Judged(*site(20), before.kept)
    assert same.session.judged == 0
    after = Judged(*site(20, ["fresh"]), before.kept)
    assert after.session.judged == 2
    assert len(before.findings) == 2 and len(after.findings) == 1
    assert "(blocks: f0_0, " in after.findings[0].message


def test_the_work_grows_with_the_pages() -> None:
    """Twice the pages, twice the work: of a first build, and of one without changes."""
    asked: dict[int, list[int]] = {}
    for count in (20, 40, 80):
        cold = Judged(*site(count))
        warm = Judged(*site(count), cold.kept)
        assert warm.session.judged == 0
        asked[count] = [cold.session.asked, warm.session.asked]
    for smaller, larger in zip(asked[20] + asked[40], asked[40] + asked[80], strict=True):
        assert larger < 2.1 * smaller
