"""Keeps requests apart in one process: notes what code changes, and puts it back."""
