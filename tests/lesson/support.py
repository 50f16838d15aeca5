"""A project with lessons, and what its builds say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.support import Build, Project

CONF = """
extensions.append("sphinx_jaxpr.lesson")
myst_enable_extensions = ["colon_fence"]
copyright = "2026"
version = release = "1"
epub_show_urls = "no"
master_doc = "index"
man_pages = [("index", "p", "P", ["An author"], 1)]
texinfo_documents = [("index", "p", "P", "An author", "p", "A book.", "Misc")]
"""


def project(folder: Path, files: Mapping[str, str], conf: str = "") -> Project:
    """A project that has the extension; files are named as below ``docs``."""
    return Project(folder, {f"docs/{name}": text for name, text in files.items()}, CONF + conf)


_WARNED = re.compile(
    r"^(?P<file>[^\n]*?):(?P<line>\d+): WARNING: (?P<text>.*?) \[lesson\.(?P<kind>\w+)\]$",
    re.MULTILINE | re.DOTALL,
)


def told(build: Build) -> list[tuple[str, int, str, str]]:
    """The warnings of a build as (file, line, subtype, text); all of them must be ours."""
    found = [(Path(m["file"]).name, int(m["line"]), m["kind"], m["text"])
             for m in _WARNED.finditer(build.stderr)]  # fmt: skip
    assert len(found) == len(build.warnings), build.stderr
    return found
