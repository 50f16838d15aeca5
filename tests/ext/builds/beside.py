"""A project with the extensions that stand beside this one in many projects."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.support import Build, Project, require

OTHERS = ("sphinx_design", "sphinx_copybutton", "sphinx_togglebutton", "sphinx_tippy")
#: Lists of extensions: ours first, last and between; MyST by either parser.
ORDERS = {
    "last": ("myst_parser", *OTHERS, "sphinx_jaxpr"),
    "first": ("sphinx_jaxpr", *reversed(OTHERS), "myst_parser"),
    "notebooks-last": (*OTHERS, "sphinx_jaxpr", "myst_nb"),
    "notebooks-first": ("myst_nb", *OTHERS[:2], "sphinx_jaxpr", *OTHERS[2:]),
}

PAGE = """
# Beside others

::::{tab-set}
:::{tab-item} One
```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[32,64], w=f32[64,64], b=f32[64]
:transforms: grad(argnums=w), vmap
:caption: In a *tab*, see {doc}`other`.
:source:

[tanh]
    A note with `code`.
```
:::
:::{tab-item} Two
```{jaxpr-transform} more:looped
:name: tabbed
:args: x=f32[8]
```
:::
::::

:::{dropdown} A dropdown
```{jaxpr-transform} more:looped
:name: dropped
:args: x=f32[9]
```
:::

::::{grid} 2
:::{grid-item-card} A card
```{jaxpr-transform} more:looped
:name: carded
:args: x=f32[10]
```
:::
::::

:::{toggle}
```{jaxpr-transform} more:looped
:name: toggled
:args: x=f32[11]
```
:::

```python
print("a usual listing")
```

```{jaxpr-glossary}
:scope: page
```
"""

OTHER = """
Other
=====

.. tab-set::

   .. tab-item:: One

      .. jaxpr-transform:: layers:dense
         :args: x=f32[32,64], w=f32[64,64], b=f32[64]
         :source:

.. dropdown:: Two

   .. jaxpr-transform:: more:looped
      :args: x=f32[8]
"""

MORE = """
import jax
import jax.numpy as jnp


def looped(x):
    return jax.lax.scan(lambda c, _: (jnp.sin(c) * 2.0, c), x, None, length=4)
"""

CONF = """
extensions = {extensions!r}
html_theme = "furo"
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"
exclude_patterns = ["wrong.md"]
"""


def project(folder: Path, order: str) -> Project:
    """The project with its extensions in an order, where all of them are installed."""
    extensions = ORDERS[order]
    missing = [name for name in extensions if find_spec(name) is None]
    require(not missing, f"{', '.join(missing)} (in the extra `dev`)")
    index = PAGE + "\n```{toctree}\nother\n```\n"
    files = {"docs/index.md": index, "docs/other.rst": OTHER, "src/more.py": MORE}
    return Project(folder, files, CONF.format(extensions=[*extensions]))


def built(folder: Path, order: str) -> Build:
    done = project(folder, order).build("html", "-W", "--keep-going", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done
