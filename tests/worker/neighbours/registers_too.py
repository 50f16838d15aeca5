import jax
import tree

jax.tree_util.register_pytree_node(
    tree.Pair, lambda pair: ((pair.item, pair.item), None), lambda _, parts: tree.Pair(parts[0])
)


def f(x):
    return tree.f(x)
