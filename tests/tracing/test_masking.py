"""What a published page may say about the machine that built it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sphinx_jaxpr.program.facts import Facts, ProgramFacts
from sphinx_jaxpr.program.model import EquationFacts
from sphinx_jaxpr.program.text import spelled
from sphinx_jaxpr.tracing.files import canonical
from sphinx_jaxpr.tracing.masking import PathMasker, mask
from sphinx_jaxpr.tracing.result import (
    ErrorKind,
    Frame,
    FunctionSource,
    ReceivedResult,
    Result,
    TracedProgram,
    TraceError,
    encoded,
    split,
)
from tests.tracing.results import RESULT_JSON

pytestmark = pytest.mark.once


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def paths(home: Path) -> PathMasker:
    project = home / "secret" / "a project"
    return PathMasker(str(project / "docs"), [str(project / "docs"), str(project / "src")])


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
        ("path={p}/docs/, n=3", "path=./, n=3"),
        ("({p}/docs, '{h}')", "(., '~')"),
        ("touch /tmp/pwn", "touch /tmp/pwn"),
        ("{h}user/x {h}.old/x {h}-2 {h}%20x", "{h}user/x {h}.old/x {h}-2 {h}%20x"),
        ("{p}/docs:{p}/src:/usr", ".:.:/usr"),
        ("at {h}.", "at ~."),
        ("/site-packages/x /a/site-packages/x", "/site-packages/x /a/site-packages/x"),
        ("{h}/.venv/lib/python3.11/site-packages/jax/x.py", "jax/x.py"),
        ("/opt/v/lib/python3/dist-packages/a.py|/b/lib/python3.12/site-packages/c.py", "a.py|c.py"),
    ],
)  # fmt: skip
def test_hide(paths: PathMasker, home: Path, text: str, shown: str) -> None:
    places = {"h": str(home), "p": str(home / "secret" / "a project")}
    assert paths.hide(text.format(**places)) == shown.format(**places)


def test_a_project_where_libraries_are_installed() -> None:
    """Its own files are shown as anywhere else, those beside it as a library's."""
    site = "/opt/v/lib/python3.11/site-packages"
    paths = PathMasker(f"{site}/proj/docs", [f"{site}/proj/docs", f"{site}/proj"])
    for hide in (paths.hide, paths.displayed):
        assert hide(f"{site}/proj/docs/conf.py:1 and '{site}/proj/pkg/m.py'") == (
            "conf.py:1 and 'pkg/m.py'"
        )
        assert hide(f"{site}/jax/x.py|{site}/project/x.py") == "jax/x.py|project/x.py"
    assert paths.displayed(f"{site}/proj/docs") == "."


def test_hide_as_url_and_as_literal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "joé the \x1bfirst"
    monkeypatch.setenv("HOME", str(home))
    paths = PathMasker(str(home / "p" / "docs"), [])
    file = home / "p" / "docs" / "x.py"
    for written in (str(file), ascii(str(file))[1:-1], spelled(str(file)), quote(str(file))):
        assert paths.hide(f"in {written!s}") == "in x.py"
    assert paths.hide(file.as_uri()) == "file://x.py"
    assert paths.hide(f"?f={quote(str(home / 'y'), safe='')}") == "?f=~%2Fy"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/w/x.py", "x.py"),
        ("name=/w/x", "name=x"),
        ("['/w', '/w/']", "['.', './']"),
        ("file:///w/x", "file://x"),
        ("jit(f)/w/add", "jit(f)/w/add"),
        ("a]/w/x b}/w ~/w //w -/w \\/w", "a]/w/x b}/w ~/w //w -/w \\/w"),
        ("/wide /w.x /w-x", "/wide /w.x /w-x"),
        ("/tmp/pwn", "/tmp/pwn"),
    ],
)
def test_hide_a_folder_of_one_name(text: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert PathMasker("/w", ["/"]).hide(text) == shown


def test_folders_above_are_the_projects_up_to_its_own(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "srv" / "p"
    (project / "a" / "docs").mkdir(parents=True)
    text = f"{project}/a/docs/x {project}/a/y {project}/z {tmp_path}/srv/other"
    loose = PathMasker(str(project / "a" / "docs"), [])
    assert loose.hide(text) == text.replace(f"{project}/a/docs/", "")
    # But a file of the user's code is the project's, wherever it lies.
    assert loose.displayed(f"{tmp_path}/srv/other/m.py") == "../../../other/m.py"
    (project / "pyproject.toml").touch()
    known = PathMasker(str(project / "a" / "docs"), [])
    assert known.hide(text) == f"x ../y ../../z {tmp_path}/srv/other"
    (tmp_path / "srv" / ".git").mkdir()
    assert PathMasker(str(project / "a" / "docs"), []).hide(text) == "x ../y ../../z ../../../other"


def test_any_text_is_read_once(paths: PathMasker) -> None:
    texts = [
        "/" * 10**6,
        f"{paths.home}/x " * 20_000,
        "/a/lib/python3/site-packages/" * 30_000,
        "/" * 500_000 + "-packages/" * 50_000 + paths.home,
    ]
    for text in texts:
        began = time.process_time()
        paths.hide(text)
        assert time.process_time() - began < 3


def test_a_result_has_its_files_as_places(paths: PathMasker, home: Path) -> None:
    file = f"{home}/secret/a project/src/m.py"
    line = (file, 1, "f")
    equation = EquationFacts("odd", "", line, (), {file: file, "file": "/tmp/x"}, {})
    facts = Facts((ProgramFacts((), (), (), (), (), (equation,)),), (line,))
    result = Result(
        source=FunctionSource("", file, 1),
        program=TracedProgram(f"odd[at={file}]", (), (), facts),
    )
    masked = paths.result(result)
    assert masked.program is not None and masked.program.text == "odd[at=m.py]"
    assert masked.source == FunctionSource("", "m.py", 1)
    assert masked.program.facts.sources == (("m.py", 1, "f"),)
    ((equation,),) = (program.equations for program in masked.program.facts.programs)
    assert equation.source == ("m.py", 1, "f")
    assert equation.parameters == {"m.py": "m.py", "file": "/tmp/x"}
    assert str(home) not in str(masked)
    error = TraceError(
        ErrorKind.TRACE, f"no {file}\x1b", frames=(Frame(file, 1, "f", f"x({home})"),)
    )
    assert paths.error(error) == TraceError(
        ErrorKind.TRACE, "no m.py\\x1b", frames=(Frame("m.py", 1, "f", "x(~)"),)
    )
    assert paths.result(Result(error=error)).error == paths.error(error)


def test_hide_reaches_all_of_the_data(paths: PathMasker) -> None:
    file = os.path.join(paths.source, "x.py")
    data = {"a": [file, 1, None, {"b": f"at {file}"}]}
    assert paths.hide_all(data) == {"a": ["x.py", 1, None, {"b": "at x.py"}]}


def test_links_to_the_project_hide_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths = PathMasker(str(tmp_path / "link"), [])
    assert paths.hide(f"{tmp_path}/real/x.py {tmp_path}/link/x.py") == "x.py x.py"


@pytest.mark.parametrize("file", ["docs/x.py", "src/x.py", "../other/x.py"])
def test_stored_files_move_with_the_project(paths: PathMasker, home: Path, file: str) -> None:
    path = os.path.normpath(home / "secret" / "a project" / file)
    stored = paths.stored(path)
    assert "secret" not in stored and not os.path.isabs(stored)
    assert paths.absolute(stored) == path


def test_stored_files_of_a_home_elsewhere(home: Path, tmp_path: Path) -> None:
    paths = PathMasker(str(tmp_path / "srv" / "docs"), [])
    stored = paths.stored(str(home / "lib" / "x.py"))
    assert stored == "~/lib/x.py"
    assert paths.absolute(stored) == str(home / "lib" / "x.py")


def test_a_project_at_the_top_of_the_file_system() -> None:
    paths = PathMasker("/docs", ["/", "/docs"])
    assert paths.hide("/docs/x.py /usr/x.py") == "x.py /usr/x.py"


def test_mask() -> None:
    assert mask("<f at 0x7f27fcf920>, 0x10") == "<f at 0xXXXXXXXXXXXX>, 0x10"
    assert mask("<Thing default:0x7fa86f3e0090>") == "<Thing default:0xXXXXXXXXXXXX>"


@pytest.mark.parametrize(
    ("before", "after"),
    [("This BatchTracer with object id ", " was created"), ("Var(id=", "):f32[]"),
     ("<DynamicJaxprTracer ", "> is referred to by")],
)  # fmt: skip
def test_identities_in_the_messages_of_jax_are_masked(before: str, after: str) -> None:
    assert mask(f"{before}140174330{after}") == f"{before}XXXXXXXXXXXX{after}"
    assert mask("f[ id=140174330 ] scan[length=140174330]").count("140174330") == 2


def test_module_is_the_one_that_an_import_would_find(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("docs", "one", "two")]
    for root in roots:
        root.mkdir()

    def paths() -> PathMasker:
        return PathMasker(str(roots[0]), map(str, roots))

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
    paths = PathMasker(str(tmp_path), map(str, [*roots, tmp_path / "link"]))
    one, two = (str(root / "model.py") for root in roots[1:])
    assert paths.places("model") == [one, two]  # the link is the same file again
    assert paths.places("lessons.one.model") == [one]
    assert paths.other_name(two) == "lessons.two.model"
    assert PathMasker(str(tmp_path), map(str, roots[1:])).other_name(two) == ""


def test_a_package_hides_what_another_of_its_name_holds(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for file in ("one/p/__init__", "one/p/m", "one/p/sub/k", "one/p/alone", "one/q"):
        (tmp_path / f"{file}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{file}.py").touch()
    for file in ("two/p/__init__", "two/p/m", "two/p/sub/k", "two/p/extra", "two/q/m"):
        (tmp_path / f"{file}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{file}.py").touch()
    (three / "p").mkdir(parents=True)
    (three / "p/m.py").touch()  # no package: an import passes over it
    paths = PathMasker(str(tmp_path), map(str, (three, one, two)))
    assert paths.places("p.m") == [str(r / "p/m.py") for r in (one, two)]
    assert paths.places("p.sub.k") == [str(r / "p/sub/k.py") for r in (one, two)]
    assert paths.places("p.alone") == [str(one / "p/alone.py")]
    assert paths.places("p.m.f") == paths.places("p.m")  # an object inside
    assert paths.places("q.m") == [str(one / "q.py")]
    assert PathMasker(str(tmp_path), [str(three), str(three)]).places("p.m") == [
        str(three / "p/m.py")
    ]


def received(data: dict[str, Any], visible: bytes = b"") -> ReceivedResult:
    texts = encoded(data)
    return ReceivedResult(data, texts._replace(visible=visible or texts.visible))


def test_a_program_that_names_no_folder_stays_as_it_came(paths: PathMasker, home: Path) -> None:
    file = f"{home}/secret/a project/src/m.py"
    data = json.loads(json.dumps(RESULT_JSON))
    data["source"]["file"] = data["facts"]["sources"][0][0] = file
    data["source"]["text"] = f"open('{home}/x')"
    sent = received(data)
    result, texts = paths.received(sent)
    assert texts.visible is sent.texts.visible
    assert result == paths.result(Result.from_json(data))
    assert texts == encoded(result.to_json())
    assert b"m.py" in texts.rest and str(home).encode() not in texts.rest


def test_no_way_to_write_a_folder_passes_the_mask(paths: PathMasker, home: Path) -> None:
    """Code that forges messages may write JSON as it likes."""
    folder = f"{home}/secret"
    plain = canonical({**split(RESULT_JSON)[0], "call": f"f({folder!r})"})
    escaped = "".join(f"\\u{ord(character):04x}" for character in folder)
    ways = [plain, plain.replace("/", "\\/"), plain.replace(folder, escaped)]
    ways.append(plain.replace("home", "h\\u006Fme").replace("/", "\\u002F"))
    for way in ways:
        data = {**RESULT_JSON, "call": f"f({folder!r})"}
        assert json.loads(way)["call"] == data["call"]
        result, texts = paths.received(received(data, way.encode()))
        assert str(home) not in result.call and str(home) not in texts.data()["call"]
