"""From the names and specs of a page to a callable and its abstract arguments."""
