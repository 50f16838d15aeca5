"""From a function and its arguments to those of its transform: one function for each."""
