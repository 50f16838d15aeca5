"""From the text of an expression and the blocks in its scope to a value or a verdict."""
