import math

import jax
import jax.numpy as jnp

jnp.sin = lambda x: x * 77.0
math.sqrt = lambda x: 9.0
jax.nn.relu.defjvp(lambda primals, tangents: (primals[0], tangents[0] * 3.0))


def f(x):
    return jnp.sin(x)
