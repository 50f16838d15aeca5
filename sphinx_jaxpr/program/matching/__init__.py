"""From two parsed programs to a match of their equations, and its summary in one line."""
