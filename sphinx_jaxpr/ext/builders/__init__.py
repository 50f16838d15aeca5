"""Builders that write no pages: they check all blocks and statements, or record the lock."""
