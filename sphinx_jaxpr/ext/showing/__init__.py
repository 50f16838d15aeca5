"""Turns traced blocks and judged statements into nodes for every builder."""
