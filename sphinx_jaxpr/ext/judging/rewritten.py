"""Pages to write again: those that show something else than when they were last written."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from ...tracing.files import Cache


class Written:
    """Digests of what pages show, kept in ``folder`` for each builder's output.

    The folder is one of the doctrees: what lies elsewhere may be older or newer than they are.
    ``now`` has what each page shows in this build, as any text.
    """

    def __init__(self, app: Sphinx, folder: Path, now: dict[str, str]) -> None:
        self.app = app
        self.now = {page: _digest(shown) for page, shown in now.items()}
        output = _digest(f"{app.builder.name}\n{app.outdir}")
        self.kept = Cache(folder)
        self.file = f"pages-{output}.txt"
        self.resolved: set[str] = set()  # pages that this build has made nodes of

    def before(self) -> dict[str, str]:
        """The digests as of the last finished build of this builder."""
        return self.kept.load(self.file, _texts_by_name) or {}

    def outdated(self) -> list[str]:
        """Pages that show something else than when they were last written."""
        # What can't be replaced may be of any build.
        before = self.before() if os.access(self.kept.folder, os.W_OK) else {}
        pages = {*self.now, *before} & self.app.env.found_docs
        return sorted(page for page in pages if before.get(page) != self.now.get(page))

    def keep(self) -> None:
        """Remember the digests of a finished build, which may have left pages out."""
        before = self.before()
        found = {
            page: digest
            for page in {*self.now, *before} & self.app.env.found_docs
            if (digest := (self.now if page in self.resolved else before).get(page))
        }
        if found != before and not self.kept.keep(self.file, found):
            with contextlib.suppress(OSError):  # rather all pages again than too few
                (self.kept.folder / self.file).unlink()


def _texts_by_name(data: Any) -> dict[str, str] | None:
    fits = type(data) is dict and all(type(text) is str for text in data.values())
    return data if fits else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
