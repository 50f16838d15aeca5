"""MyST-NB's notebooks: which of their code is a page's, and lines in their cells."""
