"""From the text of a jaxpr to :class:`~sphinx_jaxpr.program.model.Printed`, without loss."""
