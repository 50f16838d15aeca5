"""A project of a dozen pages that has one of everything: what most rows build."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

from .builds import Site, ended, folder, outputs

_MODULES = {
    "src/layers.py": """
        import jax
        import jax.numpy as jnp

        from helpers import act


        def dense(x, w, b):
            return act(x @ w + b)


        def wide(x):
            for _ in range(6):
                x = jnp.sin(x) * jnp.cos(x)
            return x


        def looped(x):
            return jax.lax.scan(lambda c, y: (c * y, c + y), x, jnp.ones((4, 3)))[0]


        def wrong(x):
            return x @ jnp.ones((9, 9))
    """,
    "src/helpers.py": """
        import jax.numpy as jnp


        def act(x):
            return jnp.tanh(x)
    """,
    "src/other.py": """
        import jax.numpy as jnp


        def square(x):
            return jnp.sum(x * x)
    """,
}

_DENSE = """\
# Page {n}

```{{jaxpr-transform}} layers:dense
:name: dense{n}
:args: x=f32[2,{n}], w=f32[{n},3], b=f32[3]
:transforms: grad(argnums=w), vmap(axis_size=4) as many

grad[tanh]
    Kept for the backward pass.
```

The {{jaxpr:eqn}}`product <dense{n}[dot_general]>` comes first, in {{jaxpr:val}}`len(dense{n})`
equations; {{jaxpr:claim}}`there is one tanh <len(dense{n}.all[tanh]) == 1>`.
"""

_WIDE = """\
Page {n}
========

.. jaxpr-transform:: layers:wide
   :name: wide{n}
   :args: x=f32[{n}]
   :transforms: jvp, jit
   :source:

:jaxpr:ref:`wide{n}.jvp` of the page :doc:`page3`, with :jaxpr:ref:`dense3.grad`.
"""

_LOOPED = """\
# Page {n}

```{{jaxpr-transform}} layers:looped
:name: looped{n}
:args: x=f32[3]
:transforms: grad, jit
```

```{{jaxpr-transform}} other:square
:args: x=f32[{n}]
:transforms: grad
:caption: Of {{jaxpr:prim}}`mul` much.
```
"""


def files(pages: int = 12) -> dict[str, str]:
    """Its pages and modules."""
    found = dict(_MODULES)
    for n in range(1, pages + 1):
        text = (_DENSE, _WIDE, _LOOPED)[(n - 3) % 3]
        found[f"docs/page{n}.{'rst' if text is _WIDE else 'md'}"] = text.format(n=n)
    names = "\n".join(f"page{n}" for n in range(1, pages + 1))
    found["docs/index.md"] = (
        f"# Index\n\n```{{toctree}}\n{names}\n```\n\n```{{jaxpr-glossary}}\n:scope: project\n```\n"
    )
    return found


def size(count: int) -> int:
    """How many pages it has for so many tries: a short run has a small one."""
    return 12 if count > 3 else 3


def site(where: Path, pages: int = 12, conf: str = "") -> Site:
    """The project, in a folder."""
    return Site(where, files(pages), conf)


@functools.cache
def clean(pages: int = 12, builder: str = "html") -> tuple[dict[str, Any], float]:
    """What a clean build of it writes, wherever it lies, and how many seconds that takes."""
    with folder() as where:
        place, began = site(where, pages), time.monotonic()
        built = place.run(builder, "-W")
        seconds = time.monotonic() - began
        if problems := ended(built, (0,)):
            raise AssertionError(f"{problems}: {built.stderr}")
        return outputs(built.out), seconds
