import jax
import tree

jax.tree_util.register_pytree_node(
    tree.Pair, lambda pair: ((pair.item,), None), lambda _, parts: tree.Pair(*parts)
)


def f(x):
    return tree.f(x)
