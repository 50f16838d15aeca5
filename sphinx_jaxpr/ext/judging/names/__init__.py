"""What expressions of a page may name: blocks, where each appears, lines of claims, and lets."""
