"""The settings of JAX's documentation that pages notice, without those that need a network.

Its own extensions, which list JAX's options and include its sources, and its list of pages
that are too long to run are left out.
"""

project = "JAX"
copyright = "The JAX Authors"
author = "The JAX authors"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
    "myst_nb",
    "sphinx_remove_toctrees",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinxext.rediraffe",
    "sphinxcontrib.mermaid",
    "sphinx_jaxpr",
]
source_suffix = [".rst", ".ipynb", ".md"]
language = "en"
pygments_style = None
suppress_warnings = [
    "ref.citation",
    "ref.footnote",
    "myst.header",
    "misc.highlighting_failure",
]

html_theme = "sphinx_book_theme"
html_theme_options = {
    "show_toc_level": 2,
    "repository_url": "https://github.com/jax-ml/jax",
    "use_repository_button": True,
    "navigation_with_keys": False,
    "article_header_start": ["toggle-primary-sidebar.html", "breadcrumbs"],
}

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_ref_domains = ["py"]
myst_all_links_external = False

nb_execution_mode = "force"
nb_execution_allow_errors = False
nb_merge_streams = True
nb_execution_show_tb = True
nb_execution_timeout = 100

jaxpr_page_code = ["jaxpr-code", "code-cell"]

copybutton_prompt_text = r">>> |\.\.\. |\$ |In \[\d*\]: | {2,5}\.\.\.: | {5,8}: "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "all"
remove_from_toctrees = ["_autosummary/*"]
rediraffe_redirects = {"quickstart.md": "index.md"}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Theirs looks for the line in JAX's repository; these pages document no object of JAX."""
    return None
