"""The tracing process: the only room that imports JAX and user code."""
