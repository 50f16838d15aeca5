"""Changes what names do not show: classes, names of functions, folders of packages, the system."""

import decimal
import logging
import os
import sys
import time

import held
import jax.numpy as jnp
import package

decimal.DefaultContext.prec = 2
os.umask(0o77)
logging.getLogger().setLevel(logging.DEBUG)
jnp.OUR_SIZE = 7
os.environ["TZ"] = "UTC-9"
time.tzset()
package.__path__.insert(0, os.path.join(os.path.dirname(__file__), "two"))


class Other(held.Layer):
    scale = 8.0


def f(x):
    import package.helper

    return x * package.helper.VALUE


def later(x):
    held.LAYER.__class__ = Other
    held.scale.__name__ = "renamed"
    type(x).__neg__ = lambda self: self * 6.0
    held.ORDERED.move_to_end("first")
    held.BYTES[0] = 7
    held.NUMBERS.append(held.NUMBERS.pop() + 8.0)
    sys.stdout.close()
    return held.layer(x)
