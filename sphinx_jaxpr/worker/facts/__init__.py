"""From a traced jaxpr object to the facts of its equations: phases, types, sources."""
