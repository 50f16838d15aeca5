"""Functions whose programs show the state in which they are traced."""

import gc
import logging
import math
import os
import random
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


def dot(x):
    return x @ x


def key(x):
    return x + jax.random.uniform(jax.random.PRNGKey(0), (3,))


def promotes(x):
    return x + np.float16(2) * jnp.ones(3, jnp.int8)


def mesh(x):
    return x * float(len(jax.sharding.get_abstract_mesh().axis_names))


def system(x):
    return x * float(sys.getrecursionlimit())


def collects(x):
    return x * float(gc.isenabled() and gc.get_threshold()[0] != 7)


def environment(x):
    return x * float(os.environ.get("NEIGHBOUR", 1)) + jnp.ones((1, 3))


def draws(x):
    return x * random.random()


def draws_again(x):
    return x * random.random()


def sine(x):
    return jnp.sin(x)


@jax.jit
def inner(x):
    return jnp.sin(x)


def nested(x):
    return inner(x)


def root(x):
    return x * math.sqrt(4.0)


def relu(x):
    return jax.jvp(jax.nn.relu, (x,), (x,))


def negates(x):
    return -x


def prints(x):
    print("a line")  # noqa: T201 - the point
    return x * 4.0


def zone(x):
    return x * float(time.timezone)


def mask(x):
    before = os.umask(0o22)
    os.umask(before)
    return x * (1.0 if before != 0o77 else 0.0)


def devices(x):
    return x * float(jax.device_count())


def inside(x):
    try:
        import package.helper
    except ImportError:
        return x * 1.0
    return x * package.helper.VALUE


def debugs(x):
    return x * (2.0 if logging.getLogger().isEnabledFor(logging.DEBUG) else 1.0)


def board(x):
    return x * float(getattr(jnp, "OUR_SIZE", 1))


def digits(x):
    return x * float(len(bin(1)))


def erf(x):
    import jax.scipy.special as special

    return special.erf(x)
