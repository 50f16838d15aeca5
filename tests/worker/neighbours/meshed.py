import jax
import numpy as np

jax.set_mesh(jax.sharding.Mesh(np.array(jax.devices()[:1]), ("a",)))


def f(x):
    return x * float(len(jax.sharding.get_abstract_mesh().axis_names))
