"""From outcomes and verdicts to nodes: figures for HTML, standard nodes for other formats."""
