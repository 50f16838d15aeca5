"""MyST-NB's cells as code of their pages, in all formats that it reads, and their lines."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import Build, Project, require

pytestmark = pytest.mark.once

CONF: Final = """
extensions = ["myst_nb", "sphinx_jaxpr"]
nb_execution_mode = "off"
nb_custom_formats = {".cells": "formats.read"}
jaxpr_page_code = ["jaxpr-code", "code-cell"]
"""
HEAD: Final = """---
kernelspec:
  name: python3
  language: python
file_format: mystnb
---
"""
#: Cells, text and blocks, as a page of Markdown has them: the language of a fence is its kind.
GOOD: Final = """# Good


```{code-cell}
:tags: [remove-cell]

import time
import jax.numpy as jnp
%load_ext nothing
```

Hidden is {jaxpr:val}`dense[tanh].line`.

```{code-cell}
---
tags: [remove-input, remove-output]
---
def helper(x):
    return jnp.sin(x)
time.sleep(1000)
```

```{code-cell}
def dense(x):
    y = helper(x)
    return jnp.tanh(y)

dense(1.0)
```

```{jaxpr-transform} dense
:args: f32[3]
:transforms: grad
:source:
```

```{code-cell}
:tags: [jaxpr]
SIZE = 5
def sized(x):
    return x * SIZE
```

```{jaxpr-transform} sized
:args: f32[2]
```

```{code-cell}
:load: loaded.txt
```

```{jaxpr-transform} loaded
:args: f32[2]
:source:
```

```{jaxpr-code}
def doubled(x):
    return x * 2
```

```{jaxpr-transform} doubled
:args: f32[2]
```
"""
WRONG: Final = """# Wrong

```{code-cell}
from jax import numpy as jnp
SCALE = 2.0
def scaled(x):
    return x * SCALE
```

Some text,

```{jaxpr-transform} scaled
:args: f32[3]
```

```{code-cell}
%%time
def timed(x):
    return x
```

```{jaxpr-transform} timed
:args: f32[3]
```

```{code-cell}
:tags: [jaxpr-skip]
def skipped(x):
    return x
```

```{jaxpr-transform} skipped
:args: f32[3]
```

```{code-cell}
:tags: [jaxpr]
def twice(x):
    return x * 2
```

```{code-cell}
twice = other(twice)
```



```{jaxpr-transform} twice
:args: f32[3]
:opne: all
```

```{code-cell}
:tags: [jaxpr]
x =
def odd(x): return x
```

```{jaxpr-transform} odd
:args: f32[3]
```

```{code-cell}
def late(x, n=SCALE):
    return x
```

```{jaxpr-transform} late
:args: f32[3]
```

{jaxpr:prim}`tahn` and
{jaxpr:prim}`snin` and
"""
TAG: Final = "is not run; tag its cell `jaxpr` to run it"
#: The findings: the text of the line, parts of the message, the line that binds a missing name.
FINDINGS: Final = [
    (":opne: all", ["unknown option 'opne'"], ""),
    ("```{jaxpr-transform} scaled", ["name 'SCALE' is not defined", TAG], "SCALE = 2.0"),
    ("```{jaxpr-transform} timed", ["is not run: the cell begins with `%%time`"], "def timed(x):"),
    ("```{jaxpr-transform} skipped", ["is not run: the cell is tagged"], "def skipped(x):"),
    ("```{jaxpr-transform} twice", [TAG], "twice = other(twice)"),
    ("```{jaxpr-transform} odd", ["the cell is not Python (line 1 of it"], "def odd(x): return x"),
    ("def late(x, n=SCALE):", ["name 'SCALE' is not defined", TAG], "SCALE = 2.0"),
    ("{jaxpr:prim}`tahn` and", ["'tahn'"], ""),
    ("{jaxpr:prim}`snin` and", ["'snin'"], ""),
]
RST: Final = """
Rest
====

.. jaxpr-code::

   def negated(x):
       return -x

.. jaxpr-transform:: negated
   :args: f32[3]
"""
#: A format with lines of dashes between cells; those of code begin with ``>>``.
FORMATS: Final = """
import nbformat.v4 as v4

def read(text):
    cells = []
    for cell in text.split("\\n---\\n"):
        kind = v4.new_code_cell if cell.startswith(">>") else v4.new_markdown_cell
        cells.append(kind(cell.removeprefix(">>\\n")))
    return v4.new_notebook(cells=cells)
"""


def ipynb(page: str) -> str:
    """A page as a notebook: its cells, and what is between them."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"(^```\{code-cell\}\n.*?^```$)", page, flags=re.DOTALL | re.MULTILINE):
        cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}}
        text = part.strip("\n")
        if part.startswith("```{code-cell}"):
            tags = re.findall(r"tags: \[(.*)\]", text)
            text = re.sub(r"(?s)^.*?\n(---.*?---\n|:.*?\n\n?)?(.*)\n```$", r"\2", text)
            cell = {"cell_type": "code", "outputs": [], "execution_count": None}
            cell["metadata"] = {"tags": tags[0].split(", ")} if tags else {}
        if text:
            cells.append({**cell, "source": text.splitlines(keepends=True)})
    kernel = {"name": "python3", "display_name": "Python", "language": "python"}
    data = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(data, indent=1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    require(find_spec("myst_nb") is not None, "myst_nb (in the extra `dev`)")
    without_load = re.sub(r"(?s)```\{code-cell\}\n:load.*", "", GOOD)
    files = {
        "docs/index.md": HEAD + GOOD + "\n```{toctree}\nwrong\nnotebook\nbad\nrest\nother\n```\n",
        "docs/wrong.md": HEAD + WRONG,
        "docs/notebook.ipynb": ipynb(without_load),
        "docs/bad.ipynb": ipynb(WRONG),
        "docs/loaded.txt": "import jax.numpy as jnp\n\ndef loaded(x):\n    return jnp.cos(x)\n",
        "docs/rest.rst": RST,
        "docs/other.cells": "# O\n---\n>>\ndef f(x):\n    return -x\n---\n"
        "```{jaxpr-transform} f\n:args: f32[3]\n```\n",
        "src/formats.py": FORMATS,
    }
    return Project(tmp_path_factory.mktemp("cells"), files, CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-d", "trees", "-j", "2", "-n", "--keep-going")
    assert done.code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def checked(project: Project, built: Build) -> Build:
    """The next build, after an edit of a cell and of prose."""
    for name, before, after in (
        ("index.md", "return jnp.sin(x)", "return jnp.cos(x)"),
        ("loaded.txt", "jnp.cos", "jnp.sin"),
        ("bad.ipynb", "Some text,", "Other text,"),
    ):
        text = (project.docs / name).read_text("utf-8")
        assert before in text
        (project.docs / name).write_text(text.replace(before, after), "utf-8")
    return project.build("jaxpr-check", "-d", "trees")


def line_of(text: str, part: str) -> int:
    return text.split("\n").index(part) + 1


def test_blocks_show_the_code_of_cells(built: Build, project: Project) -> None:
    markdown, notebook = built.texts("index"), built.texts("notebook")
    assert markdown["jaxpr-dense"].count("sin ") == markdown["jaxpr-dense"].count("tanh ") == 1
    assert set(markdown) - set(notebook) == {"jaxpr-loaded", "jaxpr-doubled"}
    assert all(markdown[name] == text for name, text in notebook.items())
    assert "neg" in built.texts("rest")["jaxpr-negated"]
    assert "neg" in built.texts("other")["jaxpr-f"]
    page, text = built.page("index"), HEAD + GOOD
    line = line_of(text, "    return jnp.tanh(y)")
    assert f"Hidden is {line}." in page.get_text()
    assert "Hidden is 3." in built.page("notebook").get_text()  # the line of its cell
    numbers = [number.get_text() for number in page.select(".jaxpr-source .linenos")]
    assert numbers == [str(line - 2), str(line - 1), str(line), "3", "4"]


def messages(text: str, page: str) -> list[tuple[int, str]]:
    """The findings of a page in an output, with their lines."""
    found = re.findall(rf"{re.escape(page)}:(\d+): (?:WARNING: )?(.*jaxpr\..*)", text)
    return [(int(line), message) for line, message in found]


def check(found: list[tuple[int, str]], lines: list[str], names: list[str]) -> None:
    """``lines`` are those of the file, ``names`` what messages call them."""
    for text, parts, bound in FINDINGS:
        (row,) = [number for number, line in enumerate(lines, 1) if line == text]
        (message,) = [message for line, message in found if line == row and parts[0] in message]
        assert all(part in message for part in parts)
        assert not bound or f"({names[lines.index(bound)]})" in message
    assert len(found) == len(FINDINGS)


def test_findings_are_at_the_lines_of_the_page(built: Build, checked: Build) -> None:
    lines = (HEAD + WRONG).split("\n")
    names = [f"wrong.md:{number}" for number, _ in enumerate(lines, 1)]
    check(messages(built.stderr, "wrong.md"), lines, names)
    check(messages(checked.stderr, "wrong.md"), lines, names)


def test_findings_in_a_notebook_name_the_cell_and_its_line(
    project: Project, built: Build, checked: Build
) -> None:
    file = (project.docs / "bad.ipynb").read_text("utf-8")
    lines, names, cell = [], [], {0: 0}
    number = 0
    for row in file.split("\n"):
        if '"cell_type"' in row:
            cell[0] += 1
            number = 0
        match = re.fullmatch(r'    (".*"),?', row)
        number += 1 if match else 0
        lines.append(json.loads(match[1]).rstrip("\n") if match else "")
        names.append(f"bad.ipynb, cell {cell[0]}, line {number}")
    found = messages(built.stderr, "bad.ipynb")
    check(found, lines, names)
    report = (checked.out / "output.txt").read_text("utf-8")
    assert [line for line, _ in messages(report, "bad.ipynb")] == [line for line, _ in found]
    for line, message in found:
        assert message.startswith(names[line - 1].partition(", ")[2] + ": ")
        assert names[line - 1].partition(", ")[2] in report
    data = json.loads((checked.out / "output.json").read_text("utf-8"))
    places = {
        (each["line"], f"bad.ipynb, cell {each['cell']}, line {each['cell_line']}")
        for each in data["findings"]
        if each["source"] == "bad.ipynb"
    }
    assert places == {(line, names[line - 1]) for line, _ in found}
    assert not any("cell" in each for each in data["findings"] if each["source"] != "bad.ipynb")


def test_an_edit_traces_what_used_the_cell(checked: Build) -> None:
    traced = re.findall(r"tracing jaxprs\.\.\. \[ *\d+%\] (\S+)", checked.stdout)
    # Errors are traced in every build; `dense` is there as its base and with `grad`.
    assert sorted(set(traced) - {"scaled", "late"}) == ["dense", "loaded"], traced


def test_cells_need_myst_nb(tmp_path: Path) -> None:
    conf = 'jaxpr_page_code = ["code-cell"]\n'
    page = "# P\n\n```{jaxpr-code}\nx = 1\n```\n"
    done = Project(tmp_path, {"docs/index.md": page}, conf).build("html", "-W", "--keep-going")
    assert [line.partition(": WARNING: ")[2] for line in done.warnings] == [
        "jaxpr_page_code lists 'code-cell', but pages have no cells: 'myst_nb' is not among the"
        " extensions [jaxpr.option]",
        "blocks can't use jaxpr-code: jaxpr_page_code doesn't list it [jaxpr.option]",
    ]
    assert done.page("index").find(class_="highlight-python")


def test_beside_execution_nothing_runs_twice(tmp_path: Path) -> None:
    require(find_spec("myst_nb") is not None, "myst_nb (in the extra `dev`)")
    page = f"""{HEAD}
# P

```{{code-cell}}
def f(x):
    return -x

with open({str(tmp_path / "ran")!r}, "a") as file:
    file.write("x")
f(1)
```

```{{jaxpr-transform}} f
:args: f32[3]
```
"""
    conf = CONF.replace('"off"', '"cache"')
    done = Project(tmp_path, {"docs/index.md": page}, conf).build("html")
    assert done.code == 0 and "neg" in done.texts("index")["jaxpr-f"]
    assert "-1" in done.page("index").find(class_="cell_output").get_text()
    assert (tmp_path / "ran").read_text("utf-8") == "x"
