"""Programs under a mesh, and arguments that JSON has no word for, in whole builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType

from tests.support import Project

CODE = """
    import jax.numpy as jnp
    from jax import P
    from jax.sharding import AbstractMesh, AxisType

    MESH = AbstractMesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)


    def spread(x, y):
        return jnp.einsum("ij,kj->ik", jnp.sin(x), y, out_sharding=P("a", None))


    def mask(x, low=0.0):
        return jnp.where(x > 0, x, low)


    def read(ref):
        return jnp.sin(ref[...])
"""
PAGE = """
    # Page

    ```{jaxpr-transform} meshed:spread
    :args: x=f32[4@a,8], y=f32[6,8]
    :mesh: {a: 2, b: 2}, axis_types="Explicit"
    :transforms: grad(argnums=x), jit
    :name: spread
    ```

    ```{jaxpr-transform} meshed:spread
    :args: f32[4@(a,b),8], f32[6,8]
    :mesh: MESH
    :name: named
    ```

    ```{jaxpr-transform} meshed:mask
    :args: x=f32[3], low=1e999
    :name: wide
    ```

    ```{jaxpr-transform} meshed:mask
    :args: x=f32[3]
    :static: low=-inf
    :name: low
    ```

    ```{jaxpr-transform} meshed:read
    :args: Ref{f32[4@a]}
    :mesh: MESH
    :name: stored
    ```

    {jaxpr:claim}`it splits <spread[sin].outputs[0].shape == (4, 8)>`
"""


def run(call: str, names: dict[str, Any], *args: Any) -> str:
    # What a page shows, run as its reader would.
    fn = eval(call, {"jax": jax, "jnp": jnp, **names})  # noqa: S307 - that the call shown runs is tested
    return str(jax.make_jaxpr(fn)(*args))


@pytest.mark.once
def test_a_page_under_a_mesh(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": PAGE})
    project.write("src/meshed.py", CODE)
    built = project.build("html", "-W")
    assert built.code == 0, built.stderr
    texts = built.texts("index")
    assert "a:f32[4@a,8] b:f32[6,8]. let" in texts["jaxpr-spread"]
    assert "f32[4@a,6] = dot_general" in texts["jaxpr-spread"]
    assert "a:f32[4@(a,b),8]" in texts["jaxpr-named"]
    assert "a:Ref{f32[4@a]}" in texts["jaxpr-stored"]
    assert "b:f32[]" in texts["jaxpr-wide"] and "-inf" in texts["jaxpr-low"]

    def header(name: str, part: str) -> str:
        found = built.page("index").select_one(f"#jaxpr-{name.replace('.', chr(92) + '.')} {part}")
        return found.get_text() if found else ""

    context = header("spread.grad", ".jaxpr-context")
    assert context == (
        "with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((2, 2), ('a', 'b'),"
        " axis_types=(jax.sharding.AxisType.Explicit, jax.sharding.AxisType.Explicit))):"
    )
    assert header("named", ".jaxpr-context") == (
        "with jax.sharding.use_abstract_mesh(MESH.abstract_mesh):"
    )
    assert header("low", ".jaxpr-context") == ""
    assert header("low", ".jaxpr-call") == 'lambda x: mask(x, float("-inf"))'
    names: dict[str, Any] = {}
    source = (project.folder / "src/meshed.py").read_text()
    exec(source, names)  # noqa: S102 - the module above
    mesh = AbstractMesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
    split = jax.sharding.NamedSharding(mesh, jax.P("a", None))
    types = (
        jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=split),
        jax.ShapeDtypeStruct((6, 8), jnp.float32),
    )
    with jax.sharding.use_abstract_mesh(mesh):
        for name in ("spread", "spread.grad", "spread.jit"):
            assert run(header(name, ".jaxpr-call"), names, *types) == texts[f"jaxpr-{name}"]
    array = jax.ShapeDtypeStruct((3,), jnp.float32)
    assert run(header("low", ".jaxpr-call"), names, array) == texts["jaxpr-low"]

    # All of it is in the store, and in the lock.
    again = project.build("html", "-W", "-E")
    assert again.code == 0, again.stderr
    assert again.texts("index") == texts
    assert project.build("jaxpr-lock").code == 0
    locked = project.build("text", "-W", "-D", "jaxpr_mode=locked")
    assert locked.code == 0, locked.stderr
    text = (locked.out / "index.txt").read_text("utf-8")
    assert "with jax.sharding.use_abstract_mesh(MESH.abstract_mesh):" in text
    assert "a:f32[4@(a,b),8]" in text
