"""The configuration of lessons."""

from __future__ import annotations

from typing import Final

from sphinx.config import Config

from ..program.quoted import echoed

#: When terms have cards: at the first place in each section, everywhere, nowhere.
CARDS: Final = ("section", "all", "off")
NAME: Final = "lesson_cards"


def problem(config: Config) -> str:
    """What is wrong with the value in conf.py, or ``""``."""
    value = config.lesson_cards
    if isinstance(value, str) and value in CARDS:
        return ""
    known = ", ".join(map(repr, CARDS))
    return f"{NAME} must be one of {known}, not {echoed(value)}; {CARDS[0]!r} is used"


def cards(config: Config) -> str:
    """The checked value: the default where conf.py's is refused."""
    value: object = config.lesson_cards
    return value if isinstance(value, str) and value in CARDS else CARDS[0]
