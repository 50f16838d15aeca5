"""How long builds take and how much they need, beside the same pages with pasted text."""
