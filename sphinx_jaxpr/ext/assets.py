"""Style sheets and scripts: copied to the output, loaded by the pages that have a block."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.builders.singlehtml import SingleFileHTMLBuilder

from .config import settings_of
from .judging.domain import JaxprDomain
from .nodes import jaxpr_figure

STATIC: Final = Path(__file__).parents[1] / "static"
STYLE: Final = "jaxpr.css"
BESIDE: Final = "jaxpr-compare.css"  # for pages with blocks side by side
WRITING: Final = "jaxpr-writing.css"  # for authors, see `jaxpr_claim_mark`
SCRIPT: Final = "jaxpr.js"


def copy_static(folder: Path, names: Iterable[str], outdir: Path) -> None:
    """Copy the style sheets and scripts of a folder to the output, if they differ."""
    for name in names:
        path = outdir / "_static" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not filecmp.cmp(folder / name, path, shallow=False):
            shutil.copyfile(folder / name, path)


def _assets(builder: Any) -> list[str]:
    """The files that pages with a block load; books and help files have no script."""
    if not isinstance(builder, StandaloneHTMLBuilder):
        return []
    return [STYLE] if builder.embedded else [STYLE, BESIDE, SCRIPT]


def copy_assets(app: Sphinx, builder: Any) -> None:
    """Copy the style sheets and the script to the output."""
    if JaxprDomain.of(app.env).all_directives:
        copy_static(STATIC, _assets(builder), Path(app.outdir))
    if settings_of(app.env).shows_findings(builder):
        copy_static(STATIC, [STYLE, WRITING], Path(app.outdir))


def add_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the style sheet and the script on pages with a block only."""
    if doctree is not None and settings_of(app.env).shows_findings(app.builder):
        app.add_css_file(STYLE)
        app.add_css_file(WRITING)
    figures = list(doctree.findall(jaxpr_figure)) if doctree is not None else []
    if not figures:
        return
    if isinstance(app.builder, SingleFileHTMLBuilder):  # before Sphinx 8 without `write-started`
        copy_assets(app, app.builder)
    app.add_css_file(STYLE)
    if SCRIPT in _assets(app.builder):
        app.add_js_file(SCRIPT, loading_method="defer")
        if any(figure.get("is_beside") for figure in figures):
            app.add_css_file(BESIDE)
