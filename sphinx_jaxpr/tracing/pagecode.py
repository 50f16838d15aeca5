"""The code of a page as a module: its name, its lines.

Everybody calls it ``<page>``: results, locks, messages, ``jaxpr_allowed_modules``.  One worker has
such modules of many pages, and of one page before several blocks, so there each has a name of
its own, which never leaves the worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from .files import digest

#: The name of the module, and of the file that its lines belong to.
PAGE: Final = "<page>"
_OWN_NAME: Final = re.compile(r"<page:[0-9a-f]{12}>")


def digest_of(texts: Sequence[str]) -> str:
    """What a request names as its code: a digest of the texts of its parts, in order."""
    return digest(list(texts))


def module_name(code: str) -> str:
    """The name of the module in the worker, and of its file, by the digest of its code."""
    return f"<page:{code[:12]}>"


def is_page_code(name: str) -> bool:
    """Whether a module or a file of the worker is the code of a page."""
    return name.startswith("<page:")


def public(text: str) -> str:
    """A text of the worker with the name that everybody knows."""
    return _OWN_NAME.sub(PAGE, text) if "<page:" in text else text


def first_lines(counts: Iterable[int]) -> list[int]:
    """The line of the module that each part begins with, by the numbers of their lines."""
    firsts, line = [], 1
    for count in counts:
        firsts.append(line)
        line += count
    return firsts
