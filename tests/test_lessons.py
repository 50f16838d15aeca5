"""The lessons: each bound sentence can be broken, and the build then names its line."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support import PROJECT

DOCS = PROJECT / "docs"

#: How many sentences of each lesson are chosen, and by which seed; other ones can be tried.
CHOSEN = int(os.environ.get("LESSON_SENTENCES", "4"))
SEED = os.environ.get("LESSON_SEED", "1")


#: Where it is, what it is bound to, its words.
Sentence: TypeAlias = tuple[int, str, str]


@dataclass(frozen=True)
class Change:
    """One change of a lesson's code, or of an option on its page; it shifts no line of the page."""

    file: str
    old: str
    new: str


def changes(file: str, *pairs: tuple[str, str]) -> list[Change]:
    return [Change(file, old, new) for old, new in pairs]


STRAIGHT, TURN = "return x * slope + start", "result = result * x"
STEP, SQUARES = "step = a - b", "jnp.sum(step * step)"
SHIFTED, HALVES = "return 2.0 * x + TABLE", "return half(a) + half(b)"
BOUNDED = "return jax.nn.relu(jnp.clip(x, -1.0, 1.0))"
DENSE = "return jnp.tanh(x @ w + b)"
OF_W, X_MAPPED = "  grad(argnums=w)\n", "  vmap(axis_size=8)\n"
REMAT = "  remat\n  remat | grad(argnums=w)\n"
COND = "return jax.lax.cond(x > 0, keep, shrink, x)"
WHILE = "return jax.lax.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)"
FIVE = "return jax.lax.fori_loop(0, 5, lambda _, x: 0.5 * (x + a / x), a)"
LOSS, MAPPED = "error = x @ w - y", "vmap(in_axes={x: 0, y: 0}, axis_size=8)"
PSUM = 'return jax.lax.psum(jnp.sum(x), "data")'
GATHER = 'jax.lax.all_gather(w, "data", tiled=True)'
SPLIT_X = 'shard_map(in_specs={x: ("data",)}, out_specs=("data",))'
SPLIT_COLUMNS = 'shard_map(in_specs={w: (None, "data"), b: ("data",)}, out_specs=(None, "data"))'
SPLIT_WX = 'shard_map(in_specs={w: ("data",), x: ("data",)}, out_specs=("data",))'

#: For each lesson what makes its sentences false.
CHANGES = {
    "reading": [
        *changes(
            "reading.md",
            (STRAIGHT, "return start"),
            (STRAIGHT, "return slope + start * x"),
            (STRAIGHT, "return x * slope + start * start"),
            ("def straight(x, slope", "def straight(slope, x"),
            (STEP, "return a"),
            (STEP, "step = jnp.abs(a)"),
            (SQUARES, "jnp.sum((a - b) * step, keepdims=True)"),
            (SQUARES, "jnp.sum(step, keepdims=True)"),
            (TURN, "result = x + result"),
            (TURN, "result = x * x"),
            ("    return result", "    return x"),
            (SQUARES, "jnp.sum(jnp.clip(step, 0.0, 1.0))"),
            ("return x * SCALE", "return x"),
            ("OFFSET = np.float32(0.5)", "OFFSET = jnp.float32(0.5)"),
            (BOUNDED, "return x"),
            ("forgotten = jnp.sin(x)", "x = jnp.sin(x)"),
            ("forgotten = jnp.sin(x)", "forgotten = jnp.cos(x)"),
            (SHIFTED, "return x"),
            (SHIFTED, "return forgotten"),
            ("return x * 0.5", "return x * x"),
            (HALVES, "return half(a)"),
            (HALVES, "return a + b"),
            (HALVES, "return jax.jit(lambda x, y: x * y)(a, b) + jax.jit(jnp.add)(b, a)"),
            (":args: a=f32[3], b=f32[3]", ":args: a=f32[3,2], b=f32[3,2]"),
        ),
    ],
    "transforms": changes(
        "transforms.md",
        (DENSE, "return x"),
        (DENSE, "return jnp.tanh(x @ w + b) ** 2"),
        (DENSE, "return jnp.sin(x @ w) + b"),
        (DENSE, "return jnp.tanh(x @ w.T + b) * 2"),
        (DENSE, "return jnp.tanh(jnp.float32(x) @ w + b).astype(x.dtype)"),
        ("jax.vmap(function)(jnp.ones(8))", "function(jnp.ones(8))"),
        ("jax.vmap(function)(jnp.ones(8))", "jnp.ones(8)"),
        ("args: x=bf16[32,64]", "args: x=bf16[64,64]"),
        (OF_W, "  value_and_grad(argnums=w) as grad\n"),
        (OF_W, "  jvp(argnums=w) as grad\n"),
        (OF_W, "  grad(argnums=x) as grad\n"),
        (OF_W, "  jit as grad\n"),
        (
            ":args: x=f32[32,64], w=f32[64,64], b=f32[64]",
            ":args: x=bf16[3,4], w=bf16[4,4], b=bf16[4]",
        ),
        (X_MAPPED, "  vmap(in_axes=0, axis_size=8) as vmap\n"),
        (X_MAPPED, "  scan(over=w) as vmap\n"),
        (X_MAPPED, "  vmap(in_axes={x: 1}, out_axes=1)\n"),
        ("vmap(in_axes=0, axis_size=8) as each", "vmap(axis_size=8) as each"),
        ("scan(over=w, length=4)", "scan(over=(w, b), length=4)"),
        ("scan(over=w, length=4)", "jit as scan"),
        ("scan(over=w, length=4)", "scan(over=b, length=4)"),
        (REMAT, "  jit as remat\n  grad(argnums=w) as remat_grad\n"),
        (REMAT, "  jit | grad as remat\n  remat(policy=dots_saveable) | grad(argnums=w)\n"),
        ("  shard_map\n", "  jit as shard_map\n"),
        ("  shard_map\n", f"  {SPLIT_COLUMNS}\n"),
        ("  shard_map\n", "  shard_map | grad(argnums=w) as shard_map\n"),
        (":static: wrap=jax.jit", ":static: wrap=jax.checkpoint"),
    ),
    "control-flow": [
        *changes(
            "control-flow.md",
            (COND, "return x"),
            (COND, "return jax.lax.cond(x > 0, shrink, keep, x)"),
            (COND, "return jax.lax.switch(jax.numpy.int8(x), [keep, shrink, shrink], x)"),
            (COND, "return jax.lax.select(x > 0, keep(x), shrink(x))"),
            ("    return x\n\ndef shrink", "    return 2 * x\n\ndef shrink"),
            (WHILE, "return x"),
            (WHILE, "return jax.lax.fori_loop(0, 5, lambda _, v: v / 2.0, x)"),
            (WHILE, "return jax.lax.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, 2 * x)"),
            ("return total, total", "return total, value"),
            ("return total, total", "return total, -total"),
            ("jax.numpy.float32(0), x)", "jax.numpy.zeros(3), x)"),
            (FIVE, "return a"),
            (FIVE, "return jax.lax.scan(lambda x, y: (x * y, x), a, a * jax.numpy.ones(5))[0]"),
            ("jax.lax.fori_loop(0, steps,", "jax.lax.fori_loop(0, 5,"),
            (":transforms: vmap(axis_size=8)", ":transforms: jit as vmap"),
            (":transforms: vmap(axis_size=8)", ":transforms: grad as vmap"),
            (":args: x=f32[10]", ":args: x=f32[12]"),
            (":transforms: grad\n", ":transforms: jit as grad\n"),
            (":transforms: grad\n", ":transforms: jvp as grad\n"),
            (":transforms: jvp\n", ":transforms: jit as jvp\n"),
        ),
    ],
    "composing": [
        *changes(
            "composing.md",
            (LOSS, "return y"),
            (LOSS, "error = x @ w + y"),
            (LOSS, "error = x * w - y"),
            ("return error * error", "return error * y"),
            ("return error * error", "return error"),
            ("return error * error", "return error * error * error"),
            ("return error * error", "return jax.lax.max(error, y) * w.sum()"),
            ("  grad, grad | grad\n", "  jvp as grad, grad | grad\n"),
            ("  grad, grad | grad\n", "  value_and_grad as grad, grad | grad\n"),
            ("  grad, grad | grad\n", "  hessian as grad, grad | grad\n"),
            (MAPPED + " | grad", "grad | " + MAPPED + " as vmap_grad"),
            (MAPPED + " | grad", MAPPED + " as vmap_grad"),
            ("grad | " + MAPPED, MAPPED + " | grad as grad_vmap"),
            ("grad | " + MAPPED, "grad as grad_vmap"),
            ("  grad, grad | grad\n", "  grad, jvp as grad_grad\n"),
            ("grad | jit, jit | grad", "grad as grad_jit, grad as jit_grad"),
            ("grad | jit, jit | grad", "jit | grad as grad_jit, grad | jit as jit_grad"),
            ("grad | jit, jit | grad", "jvp | jit as grad_jit, jit | jvp as jit_grad"),
        ),
    ],
    "saving": changes(
        "saving.md",
        ('checkpoint_name(jnp.sin(jnp.exp(x @ w1)), "hidden")', "jnp.sin(jnp.exp(x @ w1))"),
        ("jnp.sin(jnp.exp(x @ w1))", "jnp.tanh(x @ w1)"),
        ("jnp.sin(jnp.exp(x @ w1))", "x @ w1"),
        ("jnp.sin(jnp.exp(x @ w1))", "jnp.cos(jnp.exp(x @ w1))"),
        ("jnp.sin(jnp.exp(hidden @ w2))", "jnp.sin(hidden)"),
        ("jnp.sin(jnp.exp(hidden @ w2))", "hidden @ w2"),
        ("jnp.sin(jnp.exp(hidden @ w2))", "jnp.exp(jnp.sin(hidden @ w2))"),
        (
            'jnp.sin(jnp.exp(x @ w1)), "hidden")\n    return jnp.sin(jnp.exp(hidden @ w2))',
            'jnp.sin(x @ w1), "hidden")\n    return jnp.sin(hidden @ w2)',
        ),
        ("return jnp.sin(x @ w)", "return x @ w"),
        ("return jnp.sin(x @ w)", "return jnp.exp(x * w[0])"),
        ("return jnp.sin(x @ w)", "return jnp.sin(x + w[:8])"),
        ("  grad\n", "  grad(argnums=w2) as grad\n"),
        ("  grad\n", "  remat | grad as grad\n"),
        ("  grad\n", "  grad | grad as grad\n"),
        ("remat | grad as again", "grad as again"),
        ("remat | grad as again", "remat(policy=dots_saveable) | grad as again"),
        ("remat(policy=dots_saveable)", "remat(policy=everything_saveable)"),
        ("remat(policy=dots_saveable)", "remat"),
        ("remat(policy=dots_saveable) | grad", "grad"),
        ('remat(policy=save_only_these_names("hidden"))', "remat(policy=dots_saveable)"),
        ('remat(policy=save_only_these_names("hidden"))', "remat"),
        ("remat | scan", "remat(policy=everything_saveable) | scan"),
        ("remat | scan", "scan"),
        ("remat(policy=everything_saveable) | scan", "remat | scan"),
        ("remat(policy=everything_saveable) | grad", "remat | grad"),
    ),
    "collectives": changes(
        "collectives.md",
        (PSUM, 'return jax.lax.pmax(jnp.sum(x), "data")'),
        (PSUM, 'return jnp.sum(jax.lax.psum(x, "data"))'),
        (PSUM, 'return jax.lax.psum(x, "data")'),
        (PSUM, "return jnp.sum(x)"),
        ("return jnp.sin(x @ w)", "return jnp.sin(x)"),
        ("return jnp.sin(x @ w)", 'return jnp.sin(x @ w + jax.lax.psum(x @ w, "data"))'),
        ("return jnp.sin(x @ w)", "return jnp.cos(x @ w + w.sum())"),
        ("return jnp.sin(x @ whole)", "return jnp.sin(x @ whole) + w.sum()"),
        ("return jnp.sin(x @ whole)", "return jnp.tanh(x @ whole)"),
        ("return jnp.sin(x @ whole)", 'return x @ whole + jax.lax.psum(w.sum(), "data")'),
        (GATHER, "jnp.tile(w, (8, 1))"),
        (GATHER, 'jax.lax.all_gather(w + 1, "data", tiled=True)'),
        (GATHER, 'jax.lax.all_gather(w.T, "data", axis=1, tiled=True).T'),
        (SPLIT_X + "\n", SPLIT_X + " | grad as shard_map\n"),
        (SPLIT_X + "\n", "jit as shard_map\n"),
        (SPLIT_X + " | grad(argnums=w)", SPLIT_X + " | grad(argnums=x)"),
        (SPLIT_X + " | grad(argnums=w)", "grad(argnums=w)"),
        (SPLIT_X + " | grad(argnums=x)", SPLIT_X + " | grad(argnums=w)"),
        (SPLIT_WX + " | grad(argnums=w)", SPLIT_WX + " | grad(argnums=x)"),
        (SPLIT_WX + " | grad(argnums=w)", SPLIT_WX),
    ),
}


CONF = """
project = "lesson"
extensions = ["myst_parser", "sphinx_jaxpr", "sphinx_jaxpr.lesson"]
myst_enable_extensions = ["colon_fence", "deflist"]
root_doc = "lessons/{lesson}"
"""


def copy(lesson: str, folder: Path) -> Path:
    """One lesson alone, with all code, as a project."""
    code = shutil.ignore_patterns("__pycache__", "*.md")
    shutil.copytree(DOCS / "lessons", folder / "docs/lessons", ignore=code)
    shutil.copy(DOCS / f"lessons/{lesson}.md", folder / "docs/lessons")
    (folder / "docs/conf.py").write_text(CONF.format(lesson=lesson), "utf-8")
    return folder / "docs"


def check(folder: Path) -> dict[str, Any]:
    """What ``jaxpr-check`` says of the copy."""
    out = folder / "out"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "jaxpr-check", "-d", f"{out}/doctrees"]
    subprocess.run(
        [*command, str(folder / "docs"), f"{out}/check"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
        timeout=300,
        check=False,
    )
    return json.loads((out / "check/output.json").read_text("utf-8"))


def judged(found: dict[str, Any], *states: str) -> set[Sentence]:
    """The claims and links to equations that are in one of the states."""
    return {
        (one["line"], one["expression"], one["words"])
        for one in found["sentences"]
        if one["what"] in ("claim", "eqn") and one["state"] in states
    }


def named(sentence: Sentence, found: dict[str, Any]) -> bool:
    """Whether a finding at the sentence's own line is about it."""
    line, expression, words = sentence
    texts = [one["message"] for one in found["findings"] if one["line"] == line]
    return any(text.startswith((f"claim {words!r}", *_starts(expression))) for text in texts)


def _starts(expression: str) -> list[str]:
    return [f"{what} {expression!r}" for what in ("claim", "equation")]


def named_by_a_let(sentence: Sentence, found: dict[str, Any]) -> bool:
    """Whether a finding at the line of a let that the sentence needs says that it has no value."""
    lets = {one["words"]: one for one in found["sentences"] if one["what"] == "let"}
    findings = {one["line"]: one["message"] for one in found["findings"]}
    needed, todo = set[str](), [sentence[1]]
    while todo:
        names = {*re.findall(r"\w+", todo.pop())} & lets.keys() - needed
        needed |= names
        todo += [lets[name]["expression"] for name in names]
    return any(findings.get(lets[name]["line"], "").startswith(f"let {name!r} ") for name in needed)


@contextmanager
def changed(folder: Path, change: Change) -> Iterator[None]:
    """The copy with one change in it."""
    path = folder / "docs/lessons" / change.file
    text = path.read_text("utf-8")
    assert change.old in text, change
    path.write_text(text.replace(change.old, change.new, 1), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("lesson", CHANGES)
def test_a_sentence_that_is_made_false_is_named_at_its_line(lesson: str, tmp_path: Path) -> None:
    copy(lesson, tmp_path)
    before = check(tmp_path)
    assert before["findings"] == []
    sentences = sorted(judged(before, "true"))
    assert len(sentences) > 25
    left = set(random.Random(f"{SEED} {lesson}").sample(sentences, min(CHOSEN, len(sentences))))
    for change in CHANGES[lesson]:
        with changed(tmp_path, change):
            found = check(tmp_path)
        broken = left & judged(found, "false", "wrong")
        assert [one for one in broken if not named(one, found)] == [], change
        left -= broken
        left -= {one for one in left & judged(found, "unjudged") if named_by_a_let(one, found)}
        if not left:
            break
    assert left == set()


#: A role with its text, however many backquotes are around it.
ROLE = re.compile(r"\{([\w:-]+)\}(`+)(.+?)(?<!`)\2(?!`)", re.DOTALL)
OPTION = re.compile(r"^ *:[\w-]+:.*\n", re.MULTILINE)
#: Directives whose bodies are no running text: they don't interrupt a sentence.
FENCE = r"^( *)(`{{3,}}|:{{3,}})\{{jaxpr-(?:{})\}}.*?^\1\2\s*$"
BLOCKS = re.compile(FENCE.format("claims|code|transform|show"), re.DOTALL | re.MULTILINE)
LINES = re.compile(FENCE.format("claims|code"), re.DOTALL | re.MULTILINE)
PREDICATE = re.compile(r"<(.*)>\s*$", re.DOTALL)


#: An equation counted in digits.
COUNTED = re.compile(r"\d+\s+(?:[\w-]+\s+)?(?:equation|primitive|value|product)s?\b")


@pytest.mark.parametrize("lesson", CHANGES)
def test_no_count_is_typed(lesson: str) -> None:
    text = (DOCS / f"lessons/{lesson}.md").read_text("utf-8")
    assert COUNTED.findall(ROLE.sub("ROLE", LINES.sub("", text))) == []
    assert COUNTED.search("The gradient has 15 more equations")


def share_in_roles(text: str) -> float:
    """How much of a page's source is inside roles of running text; lines of options don't count."""
    source = OPTION.sub("", text)
    return sum(len(role[3]) for role in ROLE.finditer(BLOCKS.sub("", source))) / len(source)


def expressions(text: str) -> Iterator[str]:
    """What roles outside of code and claims are bound to, captions and notes included."""
    for name, _, content in ROLE.findall(LINES.sub("", text)):
        role, bound = name.removeprefix("jaxpr:"), PREDICATE.search(content)
        if role in ("claim", "eqn", "ref", "val", "var") and (bound or role != "claim"):
            yield " ".join((bound[1] if bound else content).split())


@pytest.mark.parametrize("lesson", CHANGES)
def test_a_reviewer_reads_sentences(lesson: str) -> None:
    """What a sentence is bound to is beside it, in a line with a name, if it is long."""
    text = (DOCS / f"lessons/{lesson}.md").read_text("utf-8")
    assert share_in_roles(text) < 0.15
    assert [expression for expression in expressions(text) if len(expression) > 80] == []


def test_the_measure_sees_what_is_in_roles() -> None:
    long = " + ".join(["len(dense)"] * 8)
    text = f"It {{claim}}``has `n` <{long} > 1>``, see {{eqn}}`it <dense[0]>`.\n:name: lesson\n"
    assert [*expressions(text)] == [f"{long} > 1", "dense[0]"]
    assert share_in_roles(text) == (len(f"has `n` <{long} > 1>") + 13) / (len(text) - 14)
    block = f"```{{jaxpr-claims}}\nlong {{val}}`{long}`: {long} > 1\n```\n"
    assert [*expressions(block)] == [] and share_in_roles(block) == 0
    note = "```{jaxpr-show} dense\n[0]\n    {val}`len(dense)`\n```\n"
    assert [*expressions(note)] == ["len(dense)"] and share_in_roles(note) == 0


def test_every_lesson_is_on_the_path_and_has_its_parts() -> None:
    path = (DOCS / "lessons/index.md").read_text("utf-8")
    (listed,) = re.findall(r"```\{lesson-path\}\n(.*?)```", path, re.DOTALL)
    assert listed.split() == list(CHANGES)
    for lesson in CHANGES:
        text = (DOCS / f"lessons/{lesson}.md").read_text("utf-8")
        assert text.count("{lesson-goal}") == 1, lesson
        assert text.count("{lesson-check}") == 3, lesson
        assert text.count("{lesson-predict}") >= 1, lesson
        assert "## Readings" in text, lesson


def test_every_word_of_the_glossary_is_used_by_the_lesson_that_teaches_it() -> None:
    glossary = (DOCS / "glossary.md").read_text("utf-8")
    entries = re.findall(r"^(\w[\w ]*)\n  (.*?)(?=^\w|^```)", glossary, re.MULTILINE | re.DOTALL)
    assert len(entries) > 20
    for term, definition in entries:
        taught = re.findall(r"\{doc\}`/lessons/([\w-]+)`", definition)
        assert taught, term
        for lesson in taught:
            text = (DOCS / f"lessons/{lesson}.md").read_text("utf-8")
            assert f"{{term}}`{term}`" in text or f"<{term}>`" in " ".join(text.split()), (
                term,
                lesson,
            )
