"""Configuration of the documentation, which is built with the extension that it describes."""

import sys
from pathlib import Path

from sphinx_jaxpr import __version__

# The folder of conf.py is where blocks are looked for; autodoc and the local
# extension need it on Python's own path.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "_ext")]

project = "sphinx-jaxpr"
author = "The sphinx-jaxpr maintainers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_jaxpr", "sphinx_jaxpr.lesson", "tables"]
# Examples with a conf.py of their own are projects of their own.
exclude_patterns = ["_build", "examples/jaxdocs", "examples/libraries"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Autodoc reads docstrings without JAX: blocks in them are traced elsewhere.
autodoc_mock_imports = ["jax"]
# Signatures name these as the reference does.
autodoc_type_aliases = {"NamedPrograms": "NamedPrograms"}
nitpick_ignore = [
    ("py:class", "NamedPrograms"),  # Sphinx 8 looks for a class of that name
    ("py:class", "QueryBlock"),
    *(("py:class", f"collections.abc.{name}") for name in ("Iterator", "Mapping")),
]

# Readers see which words are checked.
jaxpr_claim_mark = True
jaxpr_glossary = {
    "rotate_pairs": {
        "meaning": "Turns each pair of neighbouring features in its plane.",
        "kind": "elementwise",
        "words": "by {angle:int} degrees",
    },
}
jaxpr_transforms = {"lowered": "examples.transforms:lowered"}

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_show_copyright = False
