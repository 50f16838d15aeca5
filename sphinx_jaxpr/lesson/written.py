"""Which pages show something else of other pages than when they were last written."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sphinx.application import Sphinx

from ..tracing.files import canonical, read, write_changed


class Written:
    """Digests of what pages show, kept for each builder's output."""

    def __init__(self, app: Sphinx, now: dict[str, str]) -> None:
        self.app = app
        self.now = {page: _digest(shown) for page, shown in now.items()}
        self.resolved: set[str] = set()  # pages that this build has made nodes of

    @property
    def file(self) -> Path:
        """Where digests are kept."""
        where = _digest(f"{self.app.builder.name}\n{self.app.outdir}")
        return Path(self.app.doctreedir) / "lesson" / f"pages-{where}.txt"

    def before(self) -> dict[str, str]:
        """The digests as of the last finished build of this builder."""
        found = read(self.file)
        return found if isinstance(found, dict) else {}

    def outdated(self) -> set[str]:
        """Pages to write again."""
        before = self.before()
        pages = {*self.now, *before}
        return {page for page in pages if before.get(page) != self.now.get(page)}

    def keep(self) -> None:
        """Remember the digests of a finished build, which may have left pages out."""
        before = self.before()
        found = {
            page: digest
            for page in {*self.now, *before} & self.app.env.found_docs
            if (digest := (self.now if page in self.resolved else before).get(page))
        }
        if found != before:
            write_changed(self.file, canonical(found) + "\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
