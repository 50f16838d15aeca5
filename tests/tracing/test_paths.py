"""What a published page may say about the machine that built it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sphinx_jaxpr.tracing.paths import Paths, mask

pytestmark = pytest.mark.once


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def paths(home: Path) -> Paths:
    project = home / "secret" / "a project"
    return Paths(str(project / "docs"), [str(project / "docs"), str(project / "src")])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{p}/docs/conf.py:3", "conf.py:3"),
        ("'{p}/src/pkg/layers.py'", "'pkg/layers.py'"),
        ("File \"{p}/.venv/lib/x.py\"", 'File "../.venv/lib/x.py"'),
        ("{h}/secret/other/x.py", "../../other/x.py"),
        ("{h}/elsewhere/x.py", "~/elsewhere/x.py"),
        ("no folder {h}/secret.", "no folder ../..."),
        ("in {p}/src", "in ."),
        ("HOME={h}", "HOME=~"),
        ("file://{p}/src/x.py", "file://x.py"),
        ("{h}/secrets/x.py", "~/secrets/x.py"),
        ("{p}/docs2/x", "../docs2/x"),
        ("{p}/docs.old/x", "../docs.old/x"),
        ("x{p}/docs/y", "x{p}/docs/y"),
        ("/usr/lib/x.py and a/b", "/usr/lib/x.py and a/b"),
    ],
)  # fmt: skip
def test_hide(paths: Paths, home: Path, text: str, shown: str) -> None:
    places = {"h": str(home), "p": str(home / "secret" / "a project")}
    assert paths.hide(text.format(**places)) == shown.format(**places)


def test_hide_reaches_all_of_the_data(paths: Paths) -> None:
    file = os.path.join(paths.source, "x.py")
    data = {"a": [file, 1, None, {"b": f"at {file}"}]}
    assert paths.hide_all(data) == {"a": ["x.py", 1, None, {"b": "at x.py"}]}


def test_links_to_the_project_hide_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = Paths(str(tmp_path / "link"), [])
    assert paths.hide(f"{tmp_path}/real/x.py {tmp_path}/link/x.py") == "x.py x.py"


@pytest.mark.parametrize("file", ["docs/x.py", "src/x.py", "../other/x.py"])
def test_stored_files_move_with_the_project(paths: Paths, home: Path, file: str) -> None:
    path = os.path.normpath(home / "secret" / "a project" / file)
    stored = paths.stored(path)
    assert "secret" not in stored and not os.path.isabs(stored)
    assert paths.absolute(stored) == path


def test_stored_files_of_a_home_elsewhere(home: Path, tmp_path: Path) -> None:
    paths = Paths(str(tmp_path / "srv" / "docs"), [])
    stored = paths.stored(str(home / "lib" / "x.py"))
    assert stored == "~/lib/x.py"
    assert paths.absolute(stored) == str(home / "lib" / "x.py")


def test_a_project_at_the_top_of_the_file_system() -> None:
    paths = Paths("/docs", ["/", "/docs"])
    assert paths.hide("/docs/x.py /usr/x.py") == "x.py /usr/x.py"


def test_mask() -> None:
    assert mask("<f at 0x7f3a2c001f40> 0xdeadbeef") == "<f at 0xXXXXXXXXXXXX> 0xdeadbeef"


def test_module_is_the_one_that_an_import_would_find(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("docs", "one", "two")]
    for root in roots:
        root.mkdir()

    def paths() -> Paths:
        return Paths(str(roots[0]), map(str, roots))

    assert paths().module("lib") == ""
    (roots[1] / "lib").mkdir()
    assert paths().module("lib") == "../one/lib"
    (roots[2] / "lib.py").touch()
    assert paths().module("lib") == "../two/lib.py"
    (roots[1] / "lib" / "__init__.py").touch()
    assert paths().module("lib") == "../one/lib/__init__.py"


def test_a_module_in_two_roots_and_another_name_for_the_hidden_one(tmp_path: Path) -> None:
    roots = [tmp_path, tmp_path / "lessons" / "one", tmp_path / "lessons" / "two"]
    for root in roots[1:]:
        root.mkdir(parents=True)
        (root / "model.py").touch()
    (tmp_path / "link").symlink_to(roots[1])
    paths = Paths(str(tmp_path), map(str, [*roots, tmp_path / "link"]))
    one, two = (str(root / "model.py") for root in roots[1:])
    assert paths.places("model") == [one, two]  # the link is the same file again
    assert paths.places("lessons.one.model") == [one]
    assert paths.other_name(two) == "lessons.two.model"
    assert Paths(str(tmp_path), map(str, roots[1:])).other_name(two) == ""
