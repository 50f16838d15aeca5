"""Commands of ``python -m sphinx_jaxpr``."""
