"""Options of directives, whatever they are called."""

from __future__ import annotations

from typing import Any

from sphinx.util.docutils import SphinxDirective

from .place import Place
from .records import Finding


class AnyOption(dict[str, Any]):
    """Accepts every option: an unknown one is our finding, told by every build.

    The parsers would drop it with a message of their own, once.
    """

    def __bool__(self) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return lambda text: text or ""

    def __contains__(self, key: object) -> bool:
        return True


def unknown(directive: SphinxDirective, place: Place) -> list[Finding]:
    """What to tell of the options of a directive that takes none."""
    return [
        Finding(
            "option",
            f"{directive.name} takes no options; found {option!r}",
            place.source,
            place.option(option),
        )
        for option in directive.options
    ]
