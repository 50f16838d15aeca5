"""One large block: a page that shows it, beside its text pasted and a script that traces it."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .measure import Usage, run

#: A fifth of the program is nested in a scan; the rest is arithmetic of several types.
_CODE: Final = """
import jax
import jax.numpy as jnp


def chain(x, count):
    y = x
    for n in range(count // 5):
        y = jnp.sin(y) * 2.0 + x
        x = jnp.where(y > 0.5, x, y)
    return x + y


def large(x, count={equations}):
    def body(c, _):
        return chain(c, count // 5), None

    y, _ = jax.lax.scan(body, x, None, length=4)
    return chain(y, count - count // 5)
"""

_SCRIPT: Final = """
import json, jax, jax.numpy as jnp
from benchcode import large
json.dump(str(jax.make_jaxpr(large)(jax.ShapeDtypeStruct((32, 64), jnp.float32))),
          open("text.json", "w"))
"""

_PAGE: Final = "Page\n====\n\n"
_LIVE: Final = ".. jaxpr-transform:: benchcode:large\n   :args: x=f32[32,64]\n"


@dataclass(frozen=True)
class Large:
    """The projects of one size, in ``folder``."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, equations: int) -> Large:
        """Make them; the script runs once for the pasted text."""
        folder.mkdir(parents=True)
        (folder / "benchcode.py").write_text(_CODE.replace("{equations}", str(equations)))
        (folder / "script.py").write_text(_SCRIPT)
        made = cls(folder)
        made.script()
        text = json.loads((folder / "text.json").read_text())
        block = "".join(f"   {line}\n" for line in text.splitlines())
        made._project("live", "['sphinx_jaxpr']", _LIVE)
        made._project("pasted", "[]", f".. code-block:: text\n\n{block}")
        return made

    def _project(self, name: str, extensions: str, page: str) -> None:
        docs = self.folder / name
        docs.mkdir()
        conf = f"import sys\nsys.path.insert(0, '..')\nextensions = {extensions}\n"
        (docs / "conf.py").write_text(f"{conf}html_theme = 'alabaster'\n")
        (docs / "index.rst").write_text(_PAGE + page)

    def script(self) -> Usage:
        """Trace and print the program."""
        return run([sys.executable, "script.py"], self.folder)

    def live(self) -> Usage:
        """Build the page that shows it."""
        return self._build("live")

    def pasted(self) -> Usage:
        """Build the page with its text pasted."""
        return self._build("pasted")

    def _build(self, name: str) -> Usage:
        shutil.rmtree(self.folder / f"{name}-out", ignore_errors=True)
        return run([sys.executable, "-m", "sphinx", "-q", name, f"{name}-out"], self.folder)
