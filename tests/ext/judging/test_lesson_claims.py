"""The claims of a real lesson, and false sentences about an executed page, in a real project."""

from __future__ import annotations

import re

import pytest

from tests.program.lesson import NEW_TANH
from tests.program.query.test_evaluate import CLAIMS, MODERN
from tests.support import Build, Project

STEPS = (
    "grad(argnums=w), vmap(in_axes=x, axis_size=8), vmap(in_axes=(0, 0, 0)) as vmap_all,"
    " scan(over=w, length=4), remat, remat | grad(argnums=w) as remat_grad, shard_map, jit,"
    " grad(sum=False) as plain_grad"
)
BLOCK = f"""
```{{jaxpr-transform}} layers:dense
:name: dense
:args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
:transforms: {STEPS}
:raises: TypeError
:open: none
```
"""
#: For each false claim what its author must be told: the value, or the difference.
REPAIRED = {
    "C5": "`len(dense.vmap)` is 5; `len(dense)` is 4",
    "C9": '`dense.plain_grad.error.type` is "TypeError"',
    "C11": "`len(dense.grad)` is 13",
    "C11 on 0.12": "`len(dense.grad)` is 15",
    "C14": "`dense.grad` has no equation `sub`",
    "C14 in text": "`ops(dense.grad)` is dot_general, broadcast_in_dim, add, tanh, one_",
    "C15 squared": "it holds for none of 15",
    "C16": 'sub bf16[32,64] (`e.phase` is "forward")',
    "C16 new": "it fails for",
    "C17": "`dense.grad` has no equation `add_any`",
    "C18": "`dense.grad[tanh].inputs[0].uses` is 1",
    "C19": "`len(dense.grad[mul])` is 1",
    "C20": "it fails for 4 of 8: bf16[64,64]",
    "C21": "`ops(dense.vmap)` has one more: broadcast_in_dim (5 and 4 in all)",
    "C24": "it fails for 3 of 7",
    "C25": "`len(dense.vmap.reshaped)` is 3; `len(dense.vmap)` is 5",
    "C29 carry": "ft_in",
    "C30": "`dense.remat[remat2]` is not empty",
    "C32": ".jaxpr.recomputed)` is 5",
    "C32 body": "].jaxpr)` is 8",
    "C33": "more: dot_general",
    "C36": "it fails for 5 of 9: bf16[64,64] (`v.shape[0]` is 64)",
    "C37": "`pbroadcast` is `pvary` here",
    "C39": "`dense.grad` has no equation `sub`",
    "C40": "`dense.vmap` has one more: broadcast_in_dim",
    "C41": "it fails for 4 of 8: bf16[64,64] (`v.shape[0]` is 64)",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    lines = [f"{{jaxpr:claim}}`{name} <{text}>`\n" for name, text, *_ in CLAIMS]
    page = f"# P\n{BLOCK}\n" + "\n".join(lines)
    project = Project(tmp_path_factory.mktemp("lesson"), {"docs/index.md": page})
    return project.build("jaxpr-check")


@MODERN
def test_every_claim_is_judged_right_at_its_line(built: Build) -> None:
    source = (built.out.parents[1] / "docs" / "index.md").read_text("utf-8").splitlines()
    false = {}
    for warning in built.warnings:
        found = re.search(r"index\.md:(\d+): WARNING: claim '([^']+)' is false on JAX", warning)
        assert found, warning
        assert source[int(found[1]) - 1].startswith(f"{{jaxpr:claim}}`{found[2]} <")
        false[found[2]] = warning
    expected = {name for name, _, *true in CLAIMS if not true[NEW_TANH]}
    assert set(false) == expected
    assert built.code == 1


@MODERN
def test_each_message_says_what_is_true_instead(built: Build) -> None:
    for warning in built.warnings:
        name = warning.partition("claim '")[2].partition("'")[0]
        part = REPAIRED["C16 new" if name == "C16" and NEW_TANH else name]
        assert part in warning, warning


# Of the sentences about the executed page of JAX's own documentation six are false: the same
# ones about functions of ours.
EXECUTED = """
import jax
import jax.numpy as jnp
from jax import lax

array = jnp.ones(1, jnp.int32)


def total(x):
    return (x + array).sum()


def choose(p, x):
    return lax.cond(p, jnp.sin, jnp.cos, x)


def loop(x):
    return lax.scan(lambda c, y: (c + y, None), 0.0, x)[0]


def called(x):
    return jax.jit(jnp.sin)(x)


def unused(x):
    jnp.cos(x)
    return jnp.sin(x)
"""
SENTENCES = [
    ("total", '"input_shape" in total[reduce_sum].params', "axes"),
    ("choose", '"linear" in choose[cond].params', "branches"),
    ("total", 'total.consts[0].dtype == "f32"', '`total.consts[0].dtype` is "i32"'),
    ("loop", '"linear" in loop[scan].params', "length"),
    ("called", '"backend" in called.all[jit].params or "device" in called.all[jit].params', "name"),
    ("unused", 'any("*" in e.text for e in unused)', "it holds for none of"),
]


@MODERN
def test_false_sentences_of_an_executed_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    args = {"total": "x=f32[3]", "choose": "p=bool[], x=f32[]"}
    blocks = [
        f"```{{jaxpr-transform}} executed:{name}\n:args: {args.get(name, 'x=f32[3]')}\n```\n"
        for name in ("total", "choose", "loop", "called", "unused")
    ]
    claims = [f"{{jaxpr:claim}}`a sentence <{text}>`\n" for _, text, _ in SENTENCES]
    page = "# P\n\n" + "\n".join([*blocks, *claims])
    files = {"docs/index.md": page, "src/executed.py": EXECUTED}
    project = Project(tmp_path_factory.mktemp("executed"), files)
    warnings = project.build("html").warnings
    assert len(warnings) == len(SENTENCES), warnings
    for warning, (_, text, part) in zip(warnings, SENTENCES, strict=True):
        line = page[: page.index(f"<{text}>")].count("\n") + 1
        assert f"index.md:{line}: WARNING: claim 'a sentence' is false on JAX" in warning
        assert part in warning
