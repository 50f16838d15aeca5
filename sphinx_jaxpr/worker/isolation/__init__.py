"""Puts the state of the process back before each request, or refuses the request."""
