"""Words that readers see, in the language of the project: through ``sphinx.locale``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx
from sphinx.locale import get_translation

CATALOG: Final = "sphinx_jaxpr"
FOLDER: Final = Path(__file__).parents[1] / "locale"


def translator(catalog: str) -> Callable[[str], str]:
    """A function that translates a text when it is called; without a catalogue, the text itself."""
    translate = get_translation(catalog)
    return lambda text: str(translate(text))


def add_catalog(app: Sphinx, catalog: str, folder: Path) -> None:
    """Register the message catalogues of a folder, if there is one."""
    if folder.is_dir():
        app.add_message_catalog(catalog, str(folder))


_ = translator(CATALOG)
