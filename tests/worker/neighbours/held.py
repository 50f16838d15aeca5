"""Objects that other modules change."""

import array
import collections
import decimal
import functools

import jax

REGISTRY = {}
ORDERED = collections.OrderedDict(first=1.0, second=2.0)
BYTES = bytearray(b"\x01")
NUMBERS = array.array("d", [1.0])


class Layer:
    scale = 2.0

    def __call__(self, x):
        return x * self.scale


LAYER = Layer()


@jax.custom_jvp
def double(x):
    return x * 2.0


@double.defjvp
def _(primals, tangents):
    return double(*primals), tangents[0] * 2.0


@functools.singledispatch
def factor(value):
    return 1.0


def scale(x):
    return x * 1.0


def function(x):
    return scale(x)


def registry(x):
    return x * float(len(REGISTRY))


def layer(x):
    return LAYER(x)


def dispatched(x):
    return x * factor(3)


def jvp(x):
    return jax.jvp(double, (x,), (x,))


def context(x):
    return x * float(decimal.Decimal(1) / decimal.Decimal(3))


def named(x):
    return jax.jit(scale)(x)


def order(x):
    return x * next(iter(ORDERED.values()))


def raw(x):
    return x * (BYTES[0] + NUMBERS[0])
