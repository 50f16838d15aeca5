"""`jaxpr-claims`: expressions that readers don't see, some with names for sentences."""
