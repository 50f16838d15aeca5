"""Programs that speak of the machine: kernels, callbacks, devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P


def _scale_kernel(x_ref, out_ref):
    out_ref[...] = 2.0 * x_ref[...]


def scale(x):
    """A Pallas kernel that doubles an array, 128 elements at a time."""
    return pl.pallas_call(
        _scale_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // 128,),
        in_specs=[pl.BlockSpec((128,), lambda i: (i,))],
        out_specs=pl.BlockSpec((128,), lambda i: (i,)),
        interpret=True,
    )(x)


def _bessel(x):
    return np.i0(x).astype(x.dtype)


def bessel(x):
    """A function of NumPy, called from within a compiled program."""
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(_bessel, shape, x, vmap_method="expand_dims")


MESH = AbstractMesh((4,), ("model",), axis_types=(AxisType.Auto,))


@jax.shard_map(mesh=MESH, in_specs=(P(None, "model"), P("model", None)), out_specs=P())
def split_matmul(x, w):
    """A product whose inner axis lies on four devices."""
    return lax.psum(jnp.dot(x, w), "model")
