"""Values of conf.py: one clear warning for a wrong one, and the default in its place."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sphinx.config import Config

from sphinx_jaxpr.ext import config, values
from sphinx_jaxpr.program.text import echoed
from sphinx_jaxpr.tracing.jobs import seconds as limit
from tests.ext.cases import warned
from tests.support import Project

pytestmark = pytest.mark.once

HALF = "\ud800"
WRONG: dict[str, list[Any]] = {  # of each, some values that it can not have
    "jaxpr_open": ["some", 3, None],
    "jaxpr_elide": ["cast", "none, params", "[mul]", "params casts,", ["params"], "", 3, None],
    "jaxpr_glossary": [
        "add",
        {"add": 3},
        {"add": {"kind": "x"}},
        {"add": {"meaning": "x", "y": ""}},
        {"add": {"meaning": "x", "kind": "colective"}},
    ],
    "jaxpr_timeout": [0, -1, "30", True, None, float("nan"), float("-inf"), -(10**400)],
    "jaxpr_total_timeout": [-1, "30", True, float("nan"), [1], -(10**400)],
    "jaxpr_env": [
        ["A"],
        {"A": 1},
        {1: "a"},
        {"A=B": "c"},
        {"": "c"},
        "A=B",
        {"A": "a\0"},
        {"A": HALF},
    ],
    "jaxpr_python": [3, ["python"], None, "py\0", "~/bin/python"],
    "jaxpr_paths": ["src", [1], {"a": 1}, ["a\0"], [HALF], ["x" * 5_000], ["~/src"]],
    "jaxpr_depends": ["*.csv", [1], [""], ["a\0b"], ["/data/*"], ["~/data"], {"a": 1}, None],
    "jaxpr_page_code": ["code-cell", ["code-cel"], ["code-block"], [1], True, None],
    "jaxpr_memory": [-1, "3000", 1.5, True, float("inf"), 10**5_000],
    "jaxpr_mode": ["off", None],
    "jaxpr_cache_dir": [3, ["a"], "\0", HALF, "x" * 5_000, "~/cache"],
    "jaxpr_lock_dir": ["", " ", 3, None, "a\0b", HALF],
    "jaxpr_lock_only": ["dense", [1], ["a\0"]],
    "jaxpr_transforms": [["a:b"], {"a": "b"}, {"a": ":b"}, {"1": "a:b"}, {"a": 1}, {"a": "b:c\0"}],
    "jaxpr_allowed_modules": ["jax", [1], ["a b"], ["m:f"], [HALF]],
    "jaxpr_fresh": ["yes", 1, None],
    "jaxpr_claim_mark": ["yes", 1, None],
    "jaxpr_max_equations": ["many", -1, True],
    "jaxpr_max_constants": ["1 MB", -1],
}


class Hostile:
    """An object whose own methods raise."""

    def __repr__(self) -> str:
        raise ValueError("no text")

    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison")

    def __hash__(self) -> int:
        raise ValueError("no place")


def looped() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


#: Values that no option takes.
ODD = [b"a", Path("a"), {1, 2}, Hostile(), [Hostile()], {"a": Hostile()}, looped(), 1j, len]


DOCS = Path("/docs")
FIELDS = {"jaxpr_open": "opened"}  # all others have the name of their option


def of(**values: Any) -> Any:
    """A Sphinx configuration with defaults, but for ``values``."""
    defaults = {option.name: option.default for option in config.OPTIONS}
    return SimpleNamespace(**{**defaults, "overrides": {}, **values})


def settings(given: Any, confdir: Path = DOCS) -> config.ProjectSettings:
    """The settings of a Sphinx configuration in which nothing is wrong."""
    made, findings = config.ProjectSettings.from_config(given, confdir)
    assert findings == []
    return made


def problems(given: Any) -> dict[str, str]:
    """What is wrong with a configuration: the messages, by the option that each begins with."""
    _, findings = config.ProjectSettings.from_config(given, DOCS)
    assert {finding.kind for finding in findings} <= {"option"}
    return {finding.message.split()[0]: finding.message for finding in findings}


def field(made: config.ProjectSettings, name: str) -> object:
    return getattr(made, FIELDS.get(name, name.removeprefix("jaxpr_")))


def test_every_option_is_tried_and_has_a_field() -> None:
    assert set(WRONG) == {option.name for option in config.OPTIONS}
    defaults = settings(of())
    assert defaults.confdir == DOCS
    for option in config.OPTIONS:
        assert field(defaults, option.name) == option.convert(option.default)


def test_values_are_converted() -> None:
    made = settings(
        of(
            jaxpr_open="all",
            jaxpr_elide=" casts, dead",
            jaxpr_timeout=7,
            jaxpr_env={"TOKEN": "tokenvalue"},
            jaxpr_python="bin/python",
            jaxpr_paths=["../src"],
            jaxpr_cache_dir="../cache",
            jaxpr_lock_dir="lock",
            jaxpr_allowed_modules=["m"],
        )
    )
    assert made.opened == "all"
    assert made.elide == {"casts", "dead"}
    assert made.timeout == 7
    assert made.total_timeout == float("inf")
    assert made.paths == (Path("../src"),)
    assert made.allowed_modules == ("m",)
    assert made.lock_folder == Path("/docs/lock")
    assert made.cache_folder(Path("/out/doctrees")) == Path("/docs/../cache")
    assert settings(of()).cache_folder(Path("/out/doctrees")) == Path("/out/doctrees/jaxpr")
    assert made.interpreter == "/docs/bin/python"
    assert settings(of()).interpreter == sys.executable
    worker = made.worker(x64=True)
    assert worker.roots[:2] == ("/docs", "/src")
    assert (worker.python, worker.folder) == ("/docs/bin/python", "/docs")
    assert dict(worker.settings) == {"TOKEN": "tokenvalue", "JAX_ENABLE_X64": "1"}
    assert "tokenvalue" not in repr(made)


def test_settings_do_not_change() -> None:
    given = of(jaxpr_env={"A": "1"}, jaxpr_paths=["a"])
    made = settings(given)
    given.jaxpr_env["A"] = "2"
    given.jaxpr_paths.append("b")
    assert (dict(made.env), made.paths) == ({"A": "1"}, (Path("a"),))
    with pytest.raises(TypeError):
        made.env["A"] = "2"  # type: ignore[index]  # the test is that it raises
    with pytest.raises(AttributeError):
        made.timeout = 1  # type: ignore[misc]  # the test is that it raises


def test_a_finding_names_the_last_line_that_sets_the_option(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("jaxpr_mode = 1\n\njaxpr_mode = 2\n", "utf-8")
    _, (finding,) = config.ProjectSettings.from_config(of(jaxpr_mode=2), tmp_path)
    assert (finding.source, finding.line) == (str(tmp_path / "conf.py"), 3)
    assert settings(of(), tmp_path).location("jaxpr_mode") == f"{tmp_path / 'conf.py'}:3"
    _, (finding,) = config.ProjectSettings.from_config(of(jaxpr_open=2), tmp_path / "none")
    assert (finding.source, finding.line) == ("conf.py", 1)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_told_and_replaced(name: str) -> None:
    option = next(option for option in config.OPTIONS if option.name == name)
    closed = {"jaxpr_mode": "skip", "jaxpr_allowed_modules": ("",), "jaxpr_page_code": []}
    fallback = closed.get(name, option.default)
    for wrong in [*WRONG[name], *ODD]:
        found = problems(of(**{name: wrong}))
        assert list(found) == [name], wrong
        assert found[name].startswith(f"{name} ")
        assert len(found[name]) < 500
        assert found[name].isprintable()
        if name != "jaxpr_env":  # it may hold secrets
            assert echoed(wrong) in found[name]
        used = "no module is allowed" if "modules" in name else f"{fallback!r} is used"
        assert found[name].endswith(used)
        made, _ = config.ProjectSettings.from_config(of(**{name: wrong}), DOCS)
        assert field(made, name) == option.convert(fallback)
        settled = of(**{name: wrong})
        config.settle(settled)
        assert getattr(settled, name) == fallback


def test_no_limit_of_time() -> None:
    for given in (float("inf"), 1e300, 10**400, 10**5_000, 2_000_000):
        assert settings(of(jaxpr_timeout=given)).timeout == float("inf")
        assert settings(of(jaxpr_total_timeout=given)).total_timeout == float("inf")
    for text, seconds in (("inf", float("inf")), ("1e300", float("inf")), ("2.5", 2.5), ("7", 7)):
        assert limit(text) == seconds
        given = of(jaxpr_timeout=text, overrides={"jaxpr_timeout": text})
        assert settings(given).timeout == seconds
    for text in ("nan", "-inf", "0", "", "1,5", "\u00b2", "9" * 5_000 + "x"):
        assert limit(text) == 0
        given = of(jaxpr_timeout=text, overrides={"jaxpr_timeout": text})
        assert list(problems(given)) == ["jaxpr_timeout"]


def test_folders_of_sys_path_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    odd: list[Any] = ["/a\0b", HALF, 3, None, Path("/c")]
    monkeypatch.setattr("sys.path", [*odd, "/code"])
    assert settings(of()).import_roots() == ("/docs", "/code")


def test_roots_of_a_project_among_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    site = sysconfig.get_paths()["purelib"]
    monkeypatch.setattr("sys.path", [f"{site}/project", f"{site}/library", site])
    docs = f"{site}/project/docs"
    assert settings(of(), Path(docs)).import_roots() == (docs, f"{site}/project")


PAGE = """
# Page

```{jaxpr-transform} layers:dense
:args: x=f32[4,4], w=f32[4,4], b=f32[4]
:transforms: grad
```
"""


def test_the_command_line_sets_values_too() -> None:
    text = {"jaxpr_timeout": "2.5", "jaxpr_memory": "3000", "jaxpr_paths": "a,b"}
    given = of(**text, overrides=text)
    made = settings(given)
    assert (made.timeout, made.memory, made.paths) == (2.5, 3000, (Path("a"), Path("b")))
    assert "jaxpr_timeout" in problems(of(jaxpr_timeout="s", overrides={"jaxpr_timeout"}))


def test_sphinx_leaves_numbers_and_flags_of_the_command_line_to_us() -> None:
    text = {"jaxpr_timeout": "inf", "jaxpr_memory": "3e3", "jaxpr_fresh": "yes"}
    for overrides in (text, {"jaxpr_timeout": "2.5", "jaxpr_memory": "3000", "jaxpr_fresh": "1"}):
        given = Config({}, dict(overrides))
        for option in config.OPTIONS:
            given.add(option.name, option.registered, option.rebuild, Any)
            assert getattr(given, option.name) == overrides.get(option.name, option.default)
        wrong = ["jaxpr_memory", "jaxpr_fresh"] if overrides is text else []
        assert list(problems(given)) == wrong
        made, _ = config.ProjectSettings.from_config(given, DOCS)
        values = [made.timeout, made.memory, made.fresh]
        assert values == ([float("inf"), 0, False] if overrides is text else [2.5, 3000, True])


HOSTILE = """
class Hostile:
    def __repr__(self):
        raise ValueError("no text")
    __eq__ = __hash__ = __repr__


"""


def test_a_name_that_cannot_be_a_module_is_named() -> None:
    assert values.modules_problem(["jax", "a.b"]) == ""
    problem = values.modules_problem(["jax", "3x"])
    assert problem == "has the name '3x', which cannot name a module"


def test_wrong_values_do_not_stop_a_build(tmp_path: Path) -> None:
    closed = ("jaxpr_mode", "jaxpr_allowed_modules")  # wrong ones run no code
    names = [name for name in WRONG if name not in closed]
    conf = "".join(f"{name} = {WRONG[name][0]!r}\n" for name in names)
    project = Project(tmp_path, {"docs/index.md": PAGE}, conf)
    plain = (tmp_path / "docs/conf.py").read_text("utf-8")
    for more in ("", HOSTILE + "".join(f"{name} = Hostile()\n" for name in names)):
        (tmp_path / "docs/conf.py").write_text(plain + more, "utf-8")
        built = project.build("html", "-W", "--keep-going")
        assert built.code == 1, built.stderr
        lines = (tmp_path / "docs/conf.py").read_text("utf-8").splitlines()
        found = warned(built)
        assert {w.text.split()[0]: w.place for w in found} == {
            name: ("conf.py", max(n for n, line in enumerate(lines, 1) if line.startswith(name)))
            for name in names
        }
        assert len(found) == len(names)
        assert {w.kind for w in found} == {"option"}
        assert "tanh" in built.texts("index")["jaxpr-dense.grad"]


LATE = """
def setup(app):
    app.connect("config-inited", later)


def later(app, config):
    config.jaxpr_mode = "skip"
"""


def test_conf_py_may_set_a_value_at_config_inited(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": PAGE}, LATE)
    built = project.build("text", "-W")
    assert (built.code, built.traced) == (0, 0)
    assert "jaxpr_mode is skip" in (tmp_path / "out/text/index.txt").read_text("utf-8")


def test_skip_needs_no_jax_and_says_nothing(tmp_path: Path) -> None:
    wrong = PAGE.replace("transforms: grad", "transforms: gradd\n:wrong: x\n:name: other")
    conf = 'jaxpr_mode = "skip"\njaxpr_python = "/no/such/python"\n'
    index = PAGE + wrong.replace("# Page\n", "") + PAGE.replace("# Page", "# Again")
    project = Project(tmp_path, {"docs/index.md": index}, conf)
    for builder in ("html", "text", "latex"):
        built = project.build(builder, "-W", "-n")
        assert (built.code, built.stderr, built.traced) == (0, "", 0)
    figures = project.build("html", "-W").page("index").select("figure.jaxpr-skipped")
    assert len(figures) == 6
    assert figures[0]["id"] == "jaxpr-dense"
    assert all("Not traced" in figure.get_text() for figure in figures)
    text = (tmp_path / "out/text/index.txt").read_text("utf-8")
    assert text.count("Not traced") == 6
    conf_file = tmp_path / "docs/conf.py"
    conf_file.write_text(conf_file.read_text().replace(conf, ""))
    traced = project.build("html", "-W", "--keep-going")
    assert traced.code == 1  # what skip hid
    assert "tanh" in traced.texts("index")["jaxpr-dense"]


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path) -> None:
    page = (
        "# P\n\n```{jaxpr-transform} layers:dense\n:args: x=f32[2,3], w=f32[3,4], b=f32[4]\n```\n"
    )
    conf = 'jaxpr_cache_dir = "taken/results"\n'
    project = Project(tmp_path, {"docs/index.md": page, "docs/taken": "a file"}, conf)
    done = project.build("html")
    (warning,) = done.warnings
    assert "conf.py:" in warning
    assert "jaxpr_cache_dir: cannot store results in 'taken/results'" in warning
    assert "[jaxpr.option]" in warning
    assert list(done.texts("index")) == ["jaxpr-dense"]
