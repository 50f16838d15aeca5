"""Words that readers see, where a catalogue has them and where none does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sphinx.locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from sphinx_jaxpr.ext.locale import add_catalog, translator

NAME = "sphinx_jaxpr_test"


def test_a_catalogue_is_asked_when_a_word_is_needed(tmp_path: Path) -> None:
    folder = tmp_path / "locale"
    added: list[tuple[str, str]] = []
    app: Any = SimpleNamespace(add_message_catalog=lambda *given: added.append(given))
    add_catalog(app, NAME, folder)
    assert added == []  # there is none
    translate = translator(NAME)
    plain = translate("Goal")
    assert plain == "Goal" and type(plain) is str  # doctrees are pickled
    catalog = Catalog(locale="de")
    catalog.add("Goal", "Ziel")
    messages = folder / "de/LC_MESSAGES"
    messages.mkdir(parents=True)
    with (messages / f"{NAME}.mo").open("wb") as file:
        write_mo(file, catalog)
    add_catalog(app, NAME, folder)
    assert added == [(NAME, str(folder))]
    sphinx.locale.init([str(folder)], "de", NAME)
    assert [translate("Goal"), translate("Predict")] == ["Ziel", "Predict"]
