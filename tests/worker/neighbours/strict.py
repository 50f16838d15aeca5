import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")


def f(x):
    import plain

    return plain.promotes(x)
