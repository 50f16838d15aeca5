"""The conditions of ``only``, for one builder or for all that show blocks."""

from __future__ import annotations

from typing import Any, Final

from sphinx.util.tags import Tags

#: Format and name of the builders that show blocks.
BUILDERS: Final = (
    ("html", "html"),
    ("html", "dirhtml"),
    ("html", "singlehtml"),
    ("html", "epub"),
    ("latex", "latex"),
    ("text", "text"),
    ("man", "man"),
    ("texinfo", "texinfo"),
)


def every_kind(tags: Any) -> list[Tags]:
    """The tags of this build as each builder has them."""
    return [
        Tags([*tags, form, name, f"format_{form}", f"builder_{name}"]) for form, name in BUILDERS
    ]


def are_met(conditions: tuple[str, ...], tags: Any) -> bool:
    """Whether ``only`` shows what has these conditions; ``tags`` is one set of tags, or several."""
    if not conditions:
        return True
    kinds = tags if isinstance(tags, list) else [tags]
    return any(all(_holds(condition, kind) for condition in conditions) for kind in kinds)


def _holds(condition: str, tags: Any) -> bool:
    try:
        return bool(tags.eval_condition(condition))
    except Exception:  # Sphinx reports the condition, and keeps the content
        return True
