"""``sphinx-autobuild`` in a loop while someone writes: edits are shown, and builds settle."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import pytest
from bs4 import BeautifulSoup

from tests.support import PROJECT, Project, require

pytestmark = [pytest.mark.once, pytest.mark.slow]

PAGE = """
# A layer

```{jaxpr-transform} layers:dense
:args: x=f32[2,4], w=f32[4,8], b=f32[8]
```

It has {jaxpr:claim}`five equations <len(dense) == 5>`.
"""


class Server:
    """A project that ``sphinx-autobuild`` serves."""

    def __init__(self, project: Project) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = project.folder / "log.txt"
        command = [sys.executable, "-m", "sphinx_autobuild", "--port", str(self.port)]
        command += ["--watch", "src", "-D", "jaxpr_claim_mark=all", "docs", "out/html"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=project.folder,
                env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1"},
            )

    @property
    def builds(self) -> int:
        """How often an edit started a build."""
        return self.log.read_text("utf-8", errors="replace").count("Rebuilding...")

    def page(self) -> BeautifulSoup:
        with urlopen(f"http://127.0.0.1:{self.port}/index.html", timeout=5) as answer:
            return BeautifulSoup(answer.read(), "html.parser")

    def wait(self, shows: Callable[[BeautifulSoup], bool]) -> None:
        """Ask for the page until it shows what is wanted."""
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if shows(self.page()):
                    return
            except (OSError, HTTPException):
                pass  # it builds before it serves, and writes the page while it serves
            time.sleep(0.3)
        pytest.fail(self.log.read_text("utf-8", errors="replace"))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Project, Server]]:
    require(importlib.util.find_spec("sphinx_autobuild") is not None, "sphinx-autobuild")
    project = Project(tmp_path, {"docs/index.md": PAGE})
    server = Server(project)
    yield project, server
    server.stop()


def findings(page: BeautifulSoup) -> list[str]:
    return [each.get_text() for each in page.select("span.jaxpr-finding")]


def primitives(page: BeautifulSoup) -> list[str]:
    return [each["data-primitive"] for each in page.select(".jaxpr-eqn")]


def test_edits_are_seen_and_builds_settle(served: tuple[Project, Server]) -> None:
    project, server = served
    server.wait(lambda page: findings(page) == ["✗ false: len(dense) is 4"])
    # A page: the claim holds now, and another block is there.
    block = PAGE[PAGE.index("```{") : PAGE.index("It has")].replace("8]", "16]")
    project.write("docs/index.md", f"{PAGE.replace('== 5', '== 4')}\n{block}")
    server.wait(lambda page: not findings(page) and len(page.select("figure.jaxpr")) == 2)
    # Code beside the pages: the block has another equation, and the claim is false again.
    code = project.folder / "src/layers.py"
    code.write_text(code.read_text("utf-8").replace("jnp.tanh(", "2 * jnp.tanh("), "utf-8")
    server.wait(lambda page: findings(page) == ["✗ false: len(dense) is 5"])
    assert primitives(server.page()).count("mul") == 2
    time.sleep(3)  # twice as long as the watcher waits for further changes
    assert server.builds == 2, re.sub(r"\x1b\[\d+m", "", server.log.read_text("utf-8"))
