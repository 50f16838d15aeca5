"""Projects with many checked sentences."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .measure import Usage, run
from .projects import CODE

#: Named blocks of a page; every page has the same programs, so that few are traced.
BLOCKS: Final = 10


@dataclass
class Prose:
    """Pages with ten named blocks each and, if asked for, a claim, a link and a primitive."""

    folder: Path
    pages: int
    sentences: bool

    def __post_init__(self) -> None:
        docs = self.folder / "docs"
        docs.mkdir(parents=True)
        (self.folder / "src").mkdir()
        (self.folder / "src" / "benchcode.py").write_text(CODE)
        (docs / "conf.py").write_text(
            "import os, sys\nsys.path.insert(0, os.path.abspath('../src'))\n"
            "extensions = ['sphinx_jaxpr']\nhtml_theme = 'basic'\nhtml_sidebars = {'**': []}\n"
        )
        names = "".join(f"   page{number:04d}\n" for number in range(self.pages))
        (docs / "index.rst").write_text(f"Index\n=====\n\n.. toctree::\n\n{names}")
        for number in range(self.pages):
            (docs / f"page{number:04d}.rst").write_text(self._page(number))

    def _page(self, number: int) -> str:
        title = f"Page {number}"
        parts = [f"{title}\n{'=' * len(title)}\n"]
        for block in range(BLOCKS):
            parts.append(
                f".. jaxpr-transform:: benchcode:dense\n   :name: dense{number}x{block}\n"
                f"   :args: x=f32[{8 + block},64], w=f32[64,64], b=f32[64]\n"
            )
        name = f"dense{number}x0"
        if self.sentences:
            parts.append(
                f"There are :jaxpr:claim:`four equations <len({name}) == 4>`, among them"
                f" :jaxpr:eqn:`{name}[tanh]` and :jaxpr:prim:`add`.\n"
            )
        else:
            parts.append("There are four equations, among them ``tanh`` and ``add``.\n")
        return "\n".join(parts)

    def build(self) -> Usage:
        """Build, going on from the last build."""
        return run([sys.executable, "-m", "sphinx", "-q", "docs", "out"], self.folder)
