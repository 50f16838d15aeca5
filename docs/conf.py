"""Configuration of the documentation, which is built with the extension that it describes."""

import sys
from pathlib import Path

from sphinx_jaxpr import __version__

# The blocks of the lessons name functions of `lessons.gallery`.
sys.path.insert(0, str(Path(__file__).parent))

project = "sphinx-jaxpr"
author = "The sphinx-jaxpr maintainers"
release = version = __version__

extensions = ["myst_parser", "sphinx_jaxpr"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = project
