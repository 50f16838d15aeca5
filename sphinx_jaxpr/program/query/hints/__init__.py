"""What authors write first in expressions, and what to write instead."""
