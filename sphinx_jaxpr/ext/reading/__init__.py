"""From the text of pages to checked records and nodes; traces nothing."""
