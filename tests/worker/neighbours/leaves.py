"""Functions that leave something behind when they are traced."""

import functools

import jax.numpy as jnp
import numpy as np

count = 0
NOTES = []
TABLE = np.zeros(3, np.float32)
RANDOM = np.random.default_rng(0)


class Net:
    def __init__(self):
        self.drop = 2.0
        self.layers = [1.0]


NET = Net()


def counts(x):
    global count
    count += 1
    return x * float(count)


def _counter():
    n = 0

    def count_inside(x):
        nonlocal n
        n += 1
        return x * float(n)

    return count_inside


_inside = _counter()


def counts_inside(x):
    return _inside(x)


def keeps(x, kept=[]):  # noqa: B006 - the point
    kept.append(1)
    return x * float(len(kept))


def notes(x):
    NOTES.append(x)
    return x * float(len(NOTES))


def fills(x):
    TABLE[0] += 1
    return x * float(TABLE[0])


def half(x):
    drop = NET.drop
    del NET.drop
    NET.layers.append(2.0)
    if x.ndim:
        raise ValueError("half-way")
    NET.drop = drop
    return x


def whole(x):
    return x * NET.drop * float(len(NET.layers))


@functools.cache
def _table():
    return jnp.arange(3.0)


def cached(x):
    return x + _table()


def cached_too(x):
    return x * _table()


def noise(x):
    return x * float(RANDOM.normal())


def noise_too(x):
    return x * float(RANDOM.normal())
