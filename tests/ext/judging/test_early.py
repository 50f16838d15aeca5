"""The worker starts while pages are read: where one is needed, once, and never left behind."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support import Project
from tests.tracing.test_replies import PLAYER, PROGRAM

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="an interpreter that is a shell script"),
]

#: Says what happens when, and can fail after the first page that has a block.
WATCH = """
import os
def setup(app):
    def note(text):
        with open(LOG, "a") as stream:
            stream.write(text + chr(10))
    def read(app, doctree):
        if app.env.docname == "z_last":
            note("the last page is read")
            if os.environ.get("FAIL") == "error":
                raise ValueError("no such page")
            if os.environ.get("FAIL") == "interrupt":
                raise KeyboardInterrupt
    app.connect("doctree-read", read)
    app.connect("env-updated", lambda app, env: note("pages are read"), priority=100)
"""


class Logged:
    """A project whose interpreter notes each start of a worker."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "log"
        plain = {key: part for key, part in PROGRAM.items() if key not in ("mesh", "settings")}
        page = "# Page\n\n```{jaxpr-transform} m:f\n```\n"
        pages = {f"docs/{name}.md": page.replace("m:f", f"m:{name}") for name in ("a", "b")}
        conf = f"suppress_warnings = ['toc.not_included']\nLOG = {str(self.log)!r}\n{WATCH}"
        files = {**pages, "docs/index.md": "# Index\n", "docs/z_last.md": "# Last\n"}
        self.project = project = Project(folder, files, conf)
        played = project.write(
            "plays", json.dumps({"*": [{"say": {"result": plain, "deps": 0, "needs": {}}}]})
        )
        script = project.write(
            "python",
            f"""
            #!/bin/sh
            case "$*" in
            *worker/process.py*) shift 2; echo "worker $$" >> {self.log}
                PLAYS={played} exec {sys.executable} {PLAYER} "$@";;
            *) exec {sys.executable} "$@";;
            esac
            """,
        )
        script.chmod(0o755)
        with (project.docs / "conf.py").open("a") as stream:
            stream.write(f"jaxpr_python = {str(script)!r}\n")

    def build(self, builder: str = "html", *flags: str, fail: str = "") -> list[str]:
        """Build; what happened, in order, a worker without its number."""
        self.log.write_text("")
        self.last = self.project.build(builder, *flags, env={"FAIL": fail})
        lines = self.log.read_text().splitlines()
        self.workers = [int(line.split()[1]) for line in lines if line.startswith("worker")]
        return [line.partition(" ")[0] for line in lines]

    def left(self) -> list[int]:
        """The workers that still run."""
        until = time.monotonic() + 10
        while (left := [n for n in self.workers if psutil.pid_exists(n)]) and (
            time.monotonic() < until
        ):
            time.sleep(0.05)
        return left


def test_a_worker_starts_early_where_one_is_needed(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    assert logged.build() == ["worker", "the", "pages"]  # before the last page is read
    assert logged.last.code == 0 and logged.last.traced == 2
    assert "tracing jaxprs... [100%] m:b" in logged.last.stdout
    assert logged.build() == ["pages"]  # warm
    logged.project.write("docs/a.md", "# Other\n\n```{jaxpr-transform} m:a\n```\n")
    assert logged.build() == ["pages"]  # its program is stored
    assert logged.build("text", "-d", str(tmp_path / "new")) == ["worker", "the", "pages"]
    assert logged.build("gettext", "-d", str(tmp_path / "g")) == ["the", "pages"]
    skip = ("-D", "jaxpr_mode=skip", "-d", str(tmp_path / "s"))
    assert logged.build("html", *skip) == ["the", "pages"]
    locked = ("-D", "jaxpr_mode=locked", "-d", str(tmp_path / "l"))
    assert logged.build("html", *locked) == ["the", "pages"]
    assert not logged.left()


@pytest.mark.parametrize("fail", ["error", "interrupt"])
def test_a_build_that_fails_while_reading_leaves_no_worker(tmp_path: Path, fail: str) -> None:
    logged = Logged(tmp_path)
    assert logged.build(fail=fail) == ["worker", "the"]
    assert logged.last.code != 0
    assert not logged.left()


def test_forked_readers_start_none_and_keep_none(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    for number in range(8):
        page = f"# Page\n\n```{{jaxpr-transform}} m:f{number}\n```\n"
        logged.project.write(f"docs/p{number}.md", page)
    events = logged.build("html", "-j", "2")
    assert events.count("worker") == 1 and events[-1] == "pages"
    assert logged.last.code == 0 and logged.last.traced == 10
    assert not logged.left()
