"""Facts about a traced jaxpr that its printed text does not contain: sources, phases, sizes."""
