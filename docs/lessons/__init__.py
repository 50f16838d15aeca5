"""Functions that the lessons trace."""
