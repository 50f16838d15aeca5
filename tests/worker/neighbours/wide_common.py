import jax

jax.config.update("jax_enable_x64", True)
from common import f  # noqa: E402, F401 - after a setting; for its effect
