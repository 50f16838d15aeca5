"""How values flow through a program: what depends on what, and what is kept for later."""
