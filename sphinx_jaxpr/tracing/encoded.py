"""A result as two JSON texts, which travel and are stored as the worker wrote them.

``visible`` is what a page can show of a result, so its digest says whether pages must be
written again.  ``rest`` names places: files, lines, and the settings of JAX.  Neither text has
a tab or a line break, so both fit into a line of a pack.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from .files import JsonObject, canonical, loads

#: Fields of a result that a page shows only on request, or never.
_REST = ("source", "settings")


class EncodedResult(NamedTuple):
    """The two texts of a result."""

    visible: bytes
    rest: bytes

    @property
    def digest(self) -> str:
        """Changes with what a page can show."""
        return hashlib.sha256(self.visible).hexdigest()

    def data(self) -> JsonObject:
        """The JSON data of the whole result, unchecked; ``ValueError`` if a text is none."""
        return joined(loads(self.visible), loads(self.rest))


def encoded(data: Mapping[str, Any]) -> EncodedResult:
    """The texts of a result's JSON data."""
    visible, rest = split(data)
    return EncodedResult(canonical(visible).encode(), canonical(rest).encode())


def split(data: Mapping[str, Any]) -> tuple[JsonObject, JsonObject]:
    """The two parts of a result's JSON data."""
    visible = {name: part for name, part in data.items() if name not in _REST}
    rest = {name: data[name] for name in _REST if name in data}
    facts = visible.get("facts")
    if facts:
        visible["facts"] = {"programs": facts["programs"]}
        rest["sources"] = facts["sources"]
    return visible, rest


def joined(visible: Any, rest: Any) -> JsonObject:
    """The inverse of :func:`split`; ``ValueError`` if these are no such parts."""
    if type(visible) is not dict or type(rest) is not dict or not visible.keys().isdisjoint(rest):
        raise ValueError("the parts of a result do not belong together")
    data = {**visible, **rest}
    if "sources" in rest:
        facts = visible.get("facts")
        if type(facts) is not dict or "sources" in facts:
            raise ValueError("sources without facts")
        data["facts"] = {**facts, "sources": data.pop("sources")}
    return data
