"""The Sphinx side: directive, domain, nodes, writers."""
