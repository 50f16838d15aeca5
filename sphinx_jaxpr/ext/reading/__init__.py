"""Directives and roles: what a page says is checked and kept; nothing is traced."""
