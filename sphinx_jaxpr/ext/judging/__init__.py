"""Traces what pages ask for, judges their statements, and reports findings."""
