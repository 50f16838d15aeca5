"""What ``python -m sphinx_jaxpr`` can do, one module a command; none loads Sphinx."""
