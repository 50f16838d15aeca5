"""What authors write first in options, and what to write instead."""
