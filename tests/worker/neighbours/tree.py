import jax


class Pair:
    def __init__(self, item):
        self.item = item


def f(x):
    return float(len(jax.tree.leaves(Pair([x, x])))) * x
