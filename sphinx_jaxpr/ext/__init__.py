"""The Sphinx side: pages are read, judged and shown, and projects checked and locked."""
