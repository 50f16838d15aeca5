"""From a whole project to the report of ``jaxpr-check`` or the lock; writes no pages."""
