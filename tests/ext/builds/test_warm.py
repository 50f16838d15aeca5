"""What a build without changes loads: nothing that reads, traces, checks, explains or shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import Build, Project

pytestmark = pytest.mark.once

#: Says at the end of a build which of our modules it has loaded.
LOADED = """
def setup(app):
    def finished(app, exception):
        watched = {"jax", "jaxlib", "numpy", "sphinx_jaxpr"}
        print("loaded:", *sorted(n for n in sys.modules if n.partition(".")[0] in watched))
    app.connect("build-finished", finished)
"""
PAGE = """
# Page

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[4,4], w=f32[4,4], b=f32[4]
:transforms: grad
:elide: grad[tanh]
```

It has {jaxpr:claim}`four equations <len(dense) == 4>`.
"""
#: All that is needed to see that nothing has changed, by folders of the package.
WARM = {
    "": ["ext", "program", "program.html", "program.html.definitions", "program.text", "tracing"],
    "ext": [
        *("assets", "builders", "builders.pageless", "config", "extension", "judging", "links"),
        *("locale", "nodes", "on_demand", "pages", "reading", "reading.parsers", "records"),
        *("showing", "showing.index", "showing.primitives", "values"),
    ],
    "ext.judging": [
        *("build", "domain", "events", "findings", "meanings", "path_targets", "rewritten"),
        *("names", "names.appearances", "names.lines", "names.project", "names.scopes"),
        *("names.tags", "recent", "session", "start", "storage", "verdicts"),
    ],
    "tracing": ["files", "fingerprint", "folders", "jobs", "masking", "needs", "packs", "store"],
}


def loaded(build: Build) -> set[str]:
    assert build.code == 0, build.stderr
    (line,) = re.findall("^loaded: (.*)$", build.stdout, re.MULTILINE)
    return set(line.split())


def test_a_build_without_changes_loads_little(tmp_path: Path) -> None:
    pages = {"docs/index.md": PAGE, "docs/other.md": "# Other\n"}
    project = Project(tmp_path, pages, LOADED + 'suppress_warnings = ["toc.not_included"]\n')
    cold = loaded(project.build("html", "-W"))
    assert "sphinx_jaxpr.ext.showing.figures" in cold and "jax" not in cold
    warm = loaded(project.build("html", "-W"))
    expected = {
        ".".join(filter(None, ["sphinx_jaxpr", folder, name]))
        for folder, names in WARM.items()
        for name in names
    }
    assert warm - expected == {"sphinx_jaxpr"}
    # A page without blocks is read and written again.
    project.write("docs/other.md", "# Another\n")
    touched = loaded(project.build("html", "-W")) - warm
    assert touched == {f"sphinx_jaxpr.ext.{name}" for name in TOUCHED}


#: What every page that is read or written needs beside that.
TOUCHED = [
    *("reading.claims", "reading.claims.names", "reading.collect", "reading.roles"),
    "reading.source_lines",
    *("reading.statements", "reading.words", "showing.post_transforms"),
]
