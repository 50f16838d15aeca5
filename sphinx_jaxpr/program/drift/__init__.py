"""From two recordings of a program to what differs, and how much that matters."""
