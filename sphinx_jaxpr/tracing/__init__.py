"""From a page's request to a traced program: grammar, worker process, store."""
