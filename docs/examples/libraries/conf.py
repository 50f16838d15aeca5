"""The settings of the pages on libraries, which need these libraries to build."""

project = "Libraries"
extensions = ["myst_parser", "sphinx_jaxpr"]
# Five libraries take seconds to import, and longer on a busy machine.
jaxpr_timeout = 120
