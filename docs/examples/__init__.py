"""Functions that the pages of this documentation trace."""
