"""Plain data and parsing: standard library only, neither Sphinx nor JAX."""
