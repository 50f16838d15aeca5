"""Values of conf.py: one clear warning for a wrong one, and the default in its place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr.ext import config
from tests.ext.cases import warned
from tests.support import Project

pytestmark = pytest.mark.once

WRONG: dict[str, list[Any]] = {  # of each, some values that it can not have
    "jaxpr_open": ["some", 3, None],
    "jaxpr_elide": ["cast", "none, params", "[mul]", "params casts,", ["params"], "", 3, None],
    "jaxpr_glossary": [
        "add",
        {"add": 3},
        {"add": {"kind": "x"}},
        {"add": {"meaning": "x", "y": ""}},
    ],
    "jaxpr_timeout": [0, -1, "30", True, None],
    "jaxpr_total_timeout": [-1, "30", True, float("nan"), [1]],
    "jaxpr_env": [["A"], {"A": 1}, {1: "a"}, {"A=B": "c"}, {"": "c"}, "A=B"],
    "jaxpr_python": [3, ["python"], None],
    "jaxpr_paths": ["src", [1], {"a": 1}],
    "jaxpr_depends": ["*.csv", [1], [""], ["a\0b"], ["/data/*"], ["~/data"], {"a": 1}, None],
    "jaxpr_memory": [-1, "3000", 1.5, True],
    "jaxpr_mode": ["off", None],
    "jaxpr_cache_dir": [3, ["a"]],
    "jaxpr_lock_dir": ["", " ", 3, None],
    "jaxpr_lock_only": ["dense", [1]],
    "jaxpr_transforms": [["a:b"], {"a": "b"}, {"a": ":b"}, {"1": "a:b"}, {"a": 1}],
    "jaxpr_allowed_modules": ["jax", [1]],
    "jaxpr_fresh": ["yes", 1, None],
    "jaxpr_claim_mark": ["yes", 1, None],
    "jaxpr_max_equations": ["many", -1, True],
    "jaxpr_max_constants": ["1 MB", -1],
}


def of(**values: Any) -> Any:
    """A Sphinx configuration with defaults, but for ``values``."""
    defaults = {option.name: option.default for option in config.OPTIONS}
    return SimpleNamespace(**{**defaults, "overrides": {}, **values})


def test_every_option_is_tried() -> None:
    assert set(WRONG) == {option.name for option in config.OPTIONS}
    assert config.problems(of()) == {}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_told_and_replaced(name: str) -> None:
    default = next(option.default for option in config.OPTIONS if option.name == name)
    for wrong in WRONG[name]:
        found = config.problems(of(**{name: wrong}))
        assert list(found) == [name], wrong
        assert found[name].startswith(f"{name} ")
        assert repr(wrong) in found[name]
        assert found[name].endswith(f"{default!r} is used")
        assert config.value(of(**{name: wrong}), name) == default


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
    assert config.problems(given) == {}
    values = [config.value(given, name) for name in text]
    assert values == [2.5, 3000, ["a", "b"]]
    assert "jaxpr_timeout" in config.problems(of(jaxpr_timeout="s", overrides={"jaxpr_timeout"}))


def test_wrong_values_do_not_stop_a_build(tmp_path: Path) -> None:
    conf = "".join(f"{name} = {wrong[0]!r}\n" for name, wrong in WRONG.items())
    project = Project(tmp_path, {"docs/index.md": PAGE}, conf)
    for _ in range(2):
        built = project.build("html", "-W", "--keep-going")
        assert built.code == 1, built.stderr
        lines = (tmp_path / "docs/conf.py").read_text("utf-8").splitlines()
        found = warned(built)
        assert {w.text.split()[0]: w.place for w in found} == {
            name: ("conf.py", 1 + next(n for n, line in enumerate(lines) if line.startswith(name)))
            for name in WRONG
        }
        assert len(found) == len(WRONG)
        assert {w.kind for w in found} == {"option"}
        assert "tanh" in built.texts("index")["jaxpr-dense.grad"]


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
    assert "jaxpr_cache_dir: results can't be kept in 'taken/results'" in warning
    assert "[jaxpr.option]" in warning
    assert list(done.texts("index")) == ["jaxpr-dense"]
