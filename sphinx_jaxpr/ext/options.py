"""Options of directives, whatever they are called."""

from __future__ import annotations

from typing import Any


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
