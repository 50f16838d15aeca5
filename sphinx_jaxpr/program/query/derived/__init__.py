"""Facts of equations that follow from parameters and types: parts of operands, operations."""
