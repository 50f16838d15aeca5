"""What MyST does to options that rST would take as written, and the right form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .place import Place


def markdown_traps(
    place: Place, options: Mapping[str, str], content: Sequence[str]
) -> tuple[list[tuple[str, int]], bool]:
    """Messages with their lines, and whether they explain the directive's body.

    MyST reads option lines as a kind of YAML: a ``#`` begins a comment, a
    value in quotes ends with them, and an indented line is no continuation.
    """
    if not place.markdown or not place.lines:
        return [], False
    found: list[tuple[str, int]] = []
    written = place.options()
    for offset, (key, raw) in written.items():
        value = (options.get(key) or "").strip()
        if raw[:1] in {'"', "'"} and key not in options:
            found.append(
                (
                    f"option {key!r}: a value that begins with a quote is YAML to MyST, and all"
                    f" options were lost; write :{key}: without quotes, or in a --- block as"
                    f" {key}: '{raw.replace(chr(39), chr(39) * 2)}'",
                    place.line + offset,
                )
            )
        elif "#" in raw and value != raw and len(value) < len(raw) and raw[:1] not in {'"', "'"}:
            found.append(
                (
                    f"option {key!r}: MyST takes {raw[raw.index('#') :]!r} for a comment; quote"
                    f' the whole value, :{key}: "{raw}"',
                    place.line + offset,
                )
            )
    indented = [line for line in content if line.strip()][:1]
    first = _first_body_line(place)
    if indented and first and first[0].startswith((" ", "\t")):
        empty = [key for key, raw in written.values() if not raw and key in _MULTILINE]
        key = empty[-1] if empty else "transforms"
        lines = [line.strip() for line in content if line.strip()]
        body = "\n".join(f"  {line}" for line in lines[:4])
        found.append(
            (
                f"the body begins indented: MyST ends the options at {first[0].strip()!r};"
                f" several lines need a block:\n---\n{key}: |\n{body}\n---",
                place.line + first[1],
            )
        )
        return found, True
    for offset, (key, raw) in written.items():
        if key in _MULTILINE and not raw and not (options.get(key) or "").strip():
            found.append(
                (
                    f"option {key!r} is empty; write its value on its own line, as in"
                    f" :{key}: {_MULTILINE[key]}",
                    place.line + offset,
                )
            )
    return found, False


_MULTILINE = {
    "args": "x=f32[8]",
    "transforms": "grad, vmap",
    "static": "n=3",
}


def _first_body_line(place: Place) -> tuple[str, int] | None:
    offset = place.body()
    line = place.lines[offset] if offset < len(place.lines) else ""
    return (line, offset) if line.strip() else None
