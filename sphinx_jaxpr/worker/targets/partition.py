"""Trees that hold more than arrays: the rest of them is static.  Imports JAX.

A tree that JAX takes is traced as JAX takes it.  Where an object in it, such as a module, has a
leaf that JAX refuses (a function, a string), only the arrays of the tree are traced and everything
else is static, numbers too, as in ``equinox.filter_jit``.  The traced tree has ``None`` for what is
static.  Such a leaf in a dict, a list or a tuple is a mistake, which JAX reports.
"""

from __future__ import annotations

from typing import Any

import jax

from ..avals import abstract_leaf, is_abstract

#: The same rules as Python source, for trees of arrays or of their types.
ONLY_ARRAYS = 'jax.tree.map(lambda leaf: leaf if hasattr(leaf, "shape") else None, {})'
RESTORED = (
    "jax.tree.map(lambda leaf, kept: kept if leaf is None else leaf, {}, {},"
    " is_leaf=lambda leaf: leaf is None)"
)


def is_traceable(leaf: Any) -> bool:
    """Whether JAX takes a leaf of an abstract argument: the type of an array, or a number."""
    return is_abstract(leaf) or isinstance(leaf, (bool, int, float, complex))


def is_mixed(tree: Any) -> bool:
    """Whether objects in a tree hold leaves that JAX refuses, and nothing else there does."""
    parts = jax.tree.leaves(tree, is_leaf=lambda node: type(node) not in (dict, list, tuple))
    leaf = jax.tree.structure(0)
    refused = [part for part in parts if not all(map(is_traceable, jax.tree.leaves(part)))]
    return bool(refused) and all(jax.tree.structure(part) != leaf for part in refused)


def types_in(tree: Any) -> Any:
    """The tree with types instead of arrays."""
    return jax.tree.map(abstract_leaf, tree)


def only_arrays(tree: Any) -> Any:
    """The tree with ``None`` for what is no array."""
    return jax.tree.map(lambda leaf: leaf if hasattr(leaf, "shape") else None, tree)


def restored(tree: Any, whole: Any) -> Any:
    """A tree of arrays alone with the static leaves of ``whole``."""
    return jax.tree.map(
        lambda leaf, kept: kept if leaf is None else leaf,
        tree,
        whole,
        is_leaf=lambda leaf: leaf is None,
    )
