"""Roles and directives that authors write first, in both markups: each warning says what to write.

One build has all of them; what expressions and options propose is tried without one, in
``tests/program/query/test_hints.py`` and ``tests/tracing/test_option_hints.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Build, Project

CODE = """
import jax.numpy as jnp


def multiplied(x, w):
    return x @ w


def scaled(x, n=2, exact=False):
    return x * n


class Block:
    '''A block.

    .. jaxpr-transform:: Block.__call__
       :args: self=BLOCK, x=f32[3]
    '''

    def __call__(self, x):
        return x * 2


BLOCK = Block()
"""
#: Directives: target, options, the line of the warning counted from the first, its words.
DIRECTIVES = [
    ("layers:dens", {}, 0, "has no attribute 'dens', did you mean 'dense'? (searched "),
    ("house:scaled", {"args": "x: f32[3]"}, 1, "write x=f32[3]"),
    ("house:scaled", {"args": "f32(3)"}, 1, "write f32[3]"),
    ("house:scaled", {"args": "float32"}, 1, "for the value, write f32[]"),
    ("house:scaled", {"args": "jnp.float32"}, 1, "for the value, write f32[]"),
    ("house:scaled", {"args": "{{ args }}"}, 1, "substitutions such as {{ args }} are not"),
    ("house:scaled", {"args": "f32[3]", "static": "n: 3"}, 2, "write n=3"),
    ("house:scaled", {"args": "f32[3]", "static": "exact=true"}, 2, "for the value, write True"),
    ("house:multiplied", {"args": "(3,4), (4,)"}, 0, "for an array write f32[3,4], f32[4]"),
    ("house:scaled", {"args": "f32[3]", "transforms": "vmap(8)"}, 2, "write vmap(axis_size=8)"),
    ("house:scaled", {"args": "f32[3]", "transforms": "jax.grad"}, 2, "did you mean 'grad'"),
    ("house:scaled", {"args": "f32[3]", "open": "true"}, 2, "did you mean 'all'?"),
    ("house:scaled", {"args": "f32[3]", "open": "no"}, 2, "did you mean 'none'?"),
    ("house:scaled", {"arguments": "f32[3]"}, 1, "did you mean 'args'?"),
    ("house:scaled", {"args": "f32[3]", "transform": "jit"}, 2, "did you mean 'transforms'?"),
    ("house:scaled", {"args": "f32[3]", "title": "A"}, 2, "did you mean 'caption'?"),
]
#: Roles: their names, their texts, the words of the warning; ``{}`` is where markups differ.
ROLES = [
    *(
        ("prim", name, f"JAX prints {printed} for it")
        for name, printed in {
            "exponential": "`exp`", "relu": "`max`", "matmul": "`dot_general`",
            "dot": "`dot_general`", "where": "`select_n`", "astype": "`convert_element_type`",
            "sum": "`reduce_sum`", "mean": "`reduce_sum` and `div`", "maximum": "`max`",
            "softmax": "`reduce_max`, `exp`, `reduce_sum` and `div`",
            "clip": "`max` and `min`", "jnp.einsum": "`dot_general`",
        }.items()
    ),
    ("prim", "lax.tanh_p", "did you mean `tanh`?"),
    ("ref", "other:dense", "is linked by {external+other:jaxpr:ref}`dense`"),
    ("eqn", "other:dense[tanh]", "is linked by {external+other:jaxpr:ref}`dense`"),
    ("eqn", "dense[tanh].eqns", "write `dense[tanh]`"),
    ("eqn", "dense.grad[dot_general]", "choose one, as in `dense.grad[dot_general][0]`"),
    ("ref", "dense.grad.jaxpr", "write `dense.grad`"),
    ("val", "three <len(dense)>", "a value is shown in place of words; write `len(dense)` alone"),
    ("val", "dense.len", "write `len(dense)`"),
    ("var", "dense.invars", "write `dense.inputs`"),
    ("claim", "three <len(dense) = 3>", "write `len(dense) == 3`"),
    ("claim", "a sum <dense[tanh].dtype == f32>", 'write `dense[tanh].dtype == "f32"`'),
    ("claim", "<len(dense) == 3> three", "the words come first: `three <len(dense) == 3>`"),
    ("claim", "three len(dense) == 3", "write `three <len(dense) == 3>`"),
    ("claim", "three (len(dense) == 3)", "write `three <len(dense) == 3>`"),
    ("claim", "three <len(dense) == 3", "a `>` is missing"),
    ("claim", "three &lt;len(dense) == 3&gt;", "write `<` and `>` as they are"),
    ("eq", "dense[tanh]", "no role `jaxpr:eq`, did you mean `jaxpr:eqn`?"),
    ("value", "len(dense)", "no role `jaxpr:value`, did you mean `jaxpr:val`?"),
    ("primitive", "tanh", "no role `jaxpr:primitive`, did you mean `jaxpr:prim`?"),
]  # fmt: skip


def _page(markdown: bool) -> tuple[str, list[tuple[int, str]]]:
    """A page, and the lines of its warnings with their words."""
    lines = ["# Page", ""] if markdown else ["Page", "====", ""]
    due = []
    good = ("layers:dense", {"args": "x=f32[8,4], w=f32[4,4], b=f32[4]", "transforms": "grad"})
    for number, (target, options, at, says) in enumerate([*DIRECTIVES, (*good, -1, "")]):
        due += [(len(lines) + 1 + at, says)] if says else []
        named = {**options, "name": f"{'m' if markdown else 'r'}{number}"} if says else options
        if markdown:
            fields = [f":{key}: {text}" for key, text in named.items()]
            lines += [f"```{{jaxpr-transform}} {target}", *fields, "```", ""]
        else:
            fields = [f"   :{key}: {text}" for key, text in named.items()]
            lines += [f".. jaxpr-transform:: {target}", *fields, ""]
    for role, text, says in ROLES:
        form = "{jaxpr:%s}`%s`" if markdown else ":jaxpr:%s:`%s`"
        due.append((len(lines) + 1, says if markdown else _in_rst(says)))
        lines += [f"Here is {form % (role, text)} as well.", ""]
    return "\n".join(lines) + "\n", due


def _in_rst(says: str) -> str:
    return says.replace("{external+other:jaxpr:ref}", ":external+other:jaxpr:ref:")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    files = {
        "src/house.py": CODE,
        "docs/index.md": "# Index\n\n```{toctree}\nmyst\nrest\napi\n```\n",
        "docs/myst.md": _page(markdown=True)[0],
        "docs/rest.rst": _page(markdown=False)[0],
        "docs/api.rst": "API\n===\n\n.. autoclass:: house.Block\n",
    }
    conf = 'extensions += ["sphinx.ext.autodoc"]\nmyst_enable_extensions = ["substitution"]\n'
    return Project(tmp_path_factory.mktemp("hints"), files, conf).build()


@pytest.mark.parametrize("page", ["myst.md", "rest.rst"])
def test_each_warning_says_at_its_line_what_to_write(built: Build, page: str) -> None:
    _, due = _page(markdown=page == "myst.md")
    of_page = [warning for warning in built.warnings if f"/{page}:" in warning]
    for line, says in due:
        there = [warning for warning in of_page if f"/{page}:{line}: " in warning]
        assert any(says in warning for warning in there), (line, says, there)
    assert len(of_page) == len(due), of_page
    assert not any("?;" in warning for warning in of_page)


def test_a_method_in_a_docstring_is_answered(built: Build) -> None:
    (warning,) = (w for w in built.warnings if "docstring of house.Block" in w)
    assert "write 'house:Block.__call__', or '.__call__' inside its class" in warning


def test_what_is_wrong_is_still_there_to_read(built: Build) -> None:
    text = (Path(built.out) / "myst.html").read_text("utf-8")
    assert "three" in text
    assert "len(dense)" in text
