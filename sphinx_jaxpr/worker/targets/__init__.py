"""From the names and specs of a page to a function and its abstract arguments."""
