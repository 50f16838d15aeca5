"""What to write instead of the text of an option that can't be read.

:func:`candidates` rewrites forms that authors write first.  The caller reads each before a
message proposes it, so that no message proposes what is refused; that is why rules may guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from .arguments import arguments, static, values
from .transforms import chain, nested, options

#: Longest text that is rewritten, and that a message proposes.
_MAX: Final = 120
_RULES: Final[Mapping[str, tuple[Callable[[str], str], ...]]] = {
    "args": (arguments, lambda text: values(arguments(text)), values),
    "static": (static,),
    "transforms": (options, nested, chain),
}


def candidates(option: str, text: str) -> Iterator[str]:
    """Rewritten forms of the text of an option; they may be wrong, too."""
    text = " ".join(text.split())
    if len(text) > _MAX:
        return
    for rule in _RULES.get(option, ()):
        meant = rule(text)
        if meant and meant != text and len(meant) <= _MAX:
            yield meant
