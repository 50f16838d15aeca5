import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")


def f(x):
    return x * jax.numpy.ones(3, jax.numpy.int8)
