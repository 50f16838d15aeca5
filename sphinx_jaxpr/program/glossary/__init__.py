"""From a primitive and its parameters to their meaning in words."""
