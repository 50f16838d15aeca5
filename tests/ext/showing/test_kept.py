"""The header of a differentiated block says what it keeps, the same in MyST and in rST."""

from __future__ import annotations

from pathlib import Path

from tests.support import Project

TRANSFORMS = "grad, remat | grad, vmap, jvp, grad | jit"
CODE = """
    import jax.numpy as jnp

    def kernel(x, y):
        return jnp.sin(x) * y
"""
MYST = f"""
    # Page

    ```{{jaxpr-transform}} kept:kernel
    :name: kernel
    :args: x=f32[1024], y=f32[1024]
    :transforms: {TRANSFORMS}
    ```

    {{jaxpr:claim}}`It keeps two <len(kernel.grad.residuals) == 2>`, {{jaxpr:claim}}`in the jit, too
    <same(kernel.grad_jit[jit].jaxpr, kernel.grad) and kernel.grad_jit[jit].jaxpr.residuals>`.
"""
RST = f"""
    :orphan:

    Page
    ====

    .. jaxpr-transform:: kept:kernel
       :name: other
       :args: x=f32[1024], y=f32[1024]
       :transforms: {TRANSFORMS}

    :jaxpr:val:`sum(v.bytes for v in other.remat_grad.residuals)`
"""


def test_headers_say_what_is_kept(tmp_path: Path) -> None:
    files = {"src/kept.py": CODE, "docs/index.md": MYST, "docs/other.rst": RST}
    built = Project(tmp_path, files).build("html", "-W")
    assert built.code == 0, built.stderr
    for page in ("index", "other"):
        headers = {
            figure["id"].rpartition(".")[2]: " ".join(
                figure.select_one("summary").get_text().split()
            )
            for figure in built.page(page).select("figure.jaxpr")
        }
        sentence = "keeps 2 values, 8.2 kB, for the backward part"
        assert {label for label, text in headers.items() if sentence in text} == {
            "grad", "remat_grad",
        }, headers  # fmt: skip
        assert not any("backward" in headers[label] for label in ("vmap", "jvp", "grad_jit"))
    assert "8192" in built.page("other").get_text()
