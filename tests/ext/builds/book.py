"""A project that uses every form of a block, for the tests of the formats."""

from __future__ import annotations

CODE = '''
import functools
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name


def dense(x, w, b):
    """A layer: <tanh> & more."""
    return jnp.tanh(x @ w + b)


def double(x):
    return x * 2.0 + x


def identity(x):
    return x


def nothing():
    return 1.0


def silent(x):
    jax.debug.print("hi")


def noisy(x):
    jax.debug.print("{}", x)
    return jnp.sin(x)


def choose(x):
    return lax.cond(x.sum() > 0, lambda y: jnp.sin(y) * 2.0 + 1.0, lambda y: jnp.cos(y) - 1.0, x)


def relus(x, y):
    return jax.nn.relu(x) + jax.nn.relu(y) * jax.nn.relu(x + y)


def nested(x):
    def outer(carry, _):
        def inner(c, z):
            return jnp.sin(c) * z + 1.0, jnp.cos(c) - z

        c, out = lax.scan(inner, carry, jnp.arange(3.0))
        return c + out.sum(), out

    return lax.scan(outer, x, None, length=4)


def until(x):
    return lax.while_loop(lambda v: v.sum() < 10.0, lambda v: jnp.exp(v) + v * 0.5, x)


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


def clipped_fwd(x):
    return clipped(x), x


def clipped_bwd(saved, g):
    return (jnp.clip(g, -1.0, 1.0) * saved,)


clipped.defvjp(clipped_fwd, clipped_bwd)


@jax.custom_vjp
def told(x):
    jax.debug.print("{}", x)
    return jnp.sin(x)


told.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))


def host(x):
    return jax.pure_callback(functools.partial(np.add, 1.0), x, x)


TABLE = np.zeros((4000, 4000), np.float32)


def lookup(x):
    return x @ TABLE


def compares(x):
    return jnp.where((x < 1.0) & (x > -1.0), x, -x)


def broken(x):
    return x @ jnp.ones((3, 3))


def refused(x):
    raise TypeError("x <must> be & small \\\\ {braces} 100% #1 $2 a_b ^ ~ @code")


def größe_λ(x):
    return jnp.sum(x * 2.0)


def long_parameter(x):
    return checkpoint_name(x, "n" + "a" * 300)


def tall(x):
    for _ in range(60):
        x = jnp.sin(x) * 2.0 + jnp.cos(x)
    return x
'''

#: A page in rST with a gallery and every kind of block.
BLOCKS = """
Blocks
======

.. jaxpr-transform:: forms:dense
   :args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
   :transforms: grad(argnums=w), vmap(axis_size=8), scan(over=w, length=4),
      remat | grad(argnums=w), shard_map
   :caption: One *small* layer, ``w`` as in :ref:`there <there>`.
   :name: dense
   :source:

.. jaxpr-transform:: forms:double
   :args: x=f32[8]
   :caption: On one line.

.. jaxpr-transform:: forms:choose
   :args: x=f32[8]

.. jaxpr-transform:: forms:relus
   :args: x=f32[8], y=f32[8]
   :transforms: grad(argnums=x)

.. jaxpr-transform:: forms:nested
   :args: x=f32[]
   :caption: Scan in scan.

.. jaxpr-transform:: forms:until
   :args: x=f32[8]

.. jaxpr-transform:: forms:clipped
   :args: x=f32[8]

.. jaxpr-transform:: forms:host
   :args: x=f32[8]

.. jaxpr-transform:: forms:identity
   :args: x=f32[8]

.. jaxpr-transform:: forms:nothing

.. jaxpr-transform:: forms:silent
   :args: x=f32[8]

.. jaxpr-transform:: forms:noisy
   :args: x=f32[]
   :transforms: grad

.. jaxpr-transform:: forms:told
   :args: x=f32[]
   :transforms: grad

.. jaxpr-transform:: forms:lookup
   :args: x=f32[2,4000]

.. jaxpr-transform:: forms:compares
   :args: x=f32[8]

.. jaxpr-transform:: forms:tall
   :args: x=f32[8]

.. jaxpr-transform:: forms:long_parameter
   :args: x=f32[8]

.. jaxpr-transform:: forms:refused
   :args: x=f32[8]
   :raises: TypeError: be & small
   :name: refused
   :caption: What a *refusal* looks like.
"""

#: A page in MyST with blocks inside other things.
PLACES = """
# Places

(there)=
## Where blocks stand

:::{note}
In a note.

```{jaxpr-transform} forms:double
:args: x=f32[2]
:caption: In an *admonition*.
```
:::

- In a list.

  ```{jaxpr-transform} forms:double
  :args: x=f32[3]
  :caption: In a **list**.
  ```

  1. Deeper.

     ```{jaxpr-transform} forms:choose
     :args: x=f32[3]
     ```

```{list-table}
:header-rows: 1

* - Name
  - Program
* - double
  - ```{jaxpr-transform} forms:double
    :args: x=f32[4]
    :caption: In a `table`.
    ```
```

:::{only} html
```{jaxpr-transform} forms:double
:args: x=f32[5]
:caption: For html alone.
```
:::

:::{only} latex
```{jaxpr-transform} forms:double
:args: x=f32[6]
:caption: For latex alone.
```
:::

```{include} parts/shared.md
```
"""

SHARED = """
```{jaxpr-transform} forms:compares
:args: x=f32[9]
:name: shared
:caption: In an included file, with [a link](#there).
```
"""

OTHER = """
Other
=====

.. jaxpr-transform:: forms:double
   :args: x=f32[7]
   :caption: The same local name as elsewhere.

.. include:: parts/shared.md
   :parser: myst_parser.sphinx_
"""

PLAIN = """
Plain
=====

No block here.
"""

INDEX = """
Book
====

.. toctree::

   blocks
   places
   other
   plain
"""

CONF = """
exclude_patterns = ["parts"]
master_doc = "index"
man_pages = [("index", "book", "Book", ["An author"], 1)]
latex_documents = [("index", "book.tex", "Book", "An author", "manual")]
texinfo_documents = [("index", "book", "Book", "An author", "book", "A book.", "Misc")]
epub_show_urls = "no"
copyright = "2026"
version = release = "1"
jaxpr_cache_dir = "../cache"
extensions.append("sphinx.ext.doctest")
jaxpr_max_constants = 100_000_000
myst_enable_extensions = ["colon_fence"]
"""

FILES = {
    "docs/index.rst": INDEX,
    "docs/blocks.rst": BLOCKS,
    "docs/places.md": PLACES,
    "docs/other.rst": OTHER,
    "docs/plain.rst": PLAIN,
    "docs/parts/shared.md": SHARED,
    "src/forms.py": CODE,
}
