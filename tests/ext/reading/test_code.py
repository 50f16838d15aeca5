"""``jaxpr-code``: code on the page, the blocks that use it, and the lines of both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support import Build, Project

#: The same page in both languages, in pieces: code with its options, text, blocks.
PIECES: Final = [
    ("code", ":caption: Helpers\n:linenos:", "import jax.numpy as jnp\n\nSCALE = 3.0"),
    ("code", "", "def helper(x):\n    return jnp.tanh(x) * SCALE"),
    ("code", "", "def dense(x, w):\n    return helper(x @ w)"),
    ("block dense", ":args: x=f32[3,4], w=f32[4,5]\n:transforms: grad(argnums=w)\n:source:", ""),
    (
        "code",
        ":hide:",
        "class Model:\n    def apply(self, x):\n        return -x\n\nmodel = Model()",
    ),
    ("block model.apply", ":args: f32[3]\n:name: {}_applied", ""),
    ("code", "", "def alone(x, n):\n    return jnp.sin(x) * n\n\nCOUNT = 5"),
    ("block alone", ":args: f32[3]\n:static: n=COUNT", ""),
    (
        "code",
        ":hide:",
        "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    w: object\n    n: object\n\n"
        "def start(x):\n    return Pair(jnp.exp(x), jnp.zeros((), int))",
    ),
    (
        "code",
        ":hide:",
        "def total(pair, other):\n    return (pair.w * pair.n).sum() + other.w.sum()",
    ),
    ("block total", ":args: Pair(w=f32[3], n=i32[]), start(f32[2])\n:transforms: grad", ""),
    ("block layers:dense", ":args: x=f32[3,4], w=f32[4,5], b=f32[5]\n:name: {}_away", ""),
]
LINES: Final = "tanh, mul, dot: {val}`dense[tanh].line` {val}`dense[mul].line` {val}`dense[0].line`"


def page(markdown: bool, above: str = "", pieces: list[tuple[str, str, str]] = PIECES) -> str:
    """The page in one language; ``above`` is a text above all else."""
    name = "md" if markdown else "rst"
    current = "```{py:currentmodule} math\n```" if markdown else ".. py:currentmodule:: math"
    texts = ["# P" if markdown else "P\n=", current, above]  # the page's code comes first
    for kind, options, body in pieces:
        directive = "jaxpr-code" if kind == "code" else "jaxpr-transform"
        options = options.format(name)
        argument = kind.partition(" ")[2]
        if markdown:
            parts = [f"```{{{directive}}} {argument}".rstrip(), options, body, "```"]
            texts.append("\n".join(filter(None, parts)))
        else:
            lines = [*options.split("\n"), *(["", *body.split("\n")] if body else [])]
            texts.append(f".. {directive}:: {argument}\n" + "".join(f"   {x}\n" for x in lines))
    role = "{{jaxpr:{}}}" if markdown else ":jaxpr:{}:"
    texts.append(LINES.replace("{val}", role.format("val").replace("{{", "{").replace("}}", "}")))
    return "\n\n".join(texts) + "\n"


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Build]:
    files = {"docs/index.md": "# I\n\n```{toctree}\nmd\nrst\n```\n"}
    files |= {"docs/md.md": page(True), "docs/rst.rst": page(False)}
    project = Project(tmp_path_factory.mktemp("code"), files)
    return project, project.build("html", "-W", "-n", "-j", "2")


@pytest.mark.parametrize("name", ["md", "rst"])
def test_blocks_use_the_code_above(built: tuple[Project, Build], name: str) -> None:
    project, done = built
    assert (done.code, done.stderr) == (0, "")
    texts = done.texts(name)
    assert "tanh" in texts["jaxpr-dense"] and "mul" in texts["jaxpr-dense"]
    assert "neg" in texts[f"jaxpr-{name}_applied"]
    assert "mul c 5.0" in texts["jaxpr-alone"] or "mul b 5.0" in texts["jaxpr-alone"]
    assert "add" in texts[f"jaxpr-{name}_away"]
    figure = done.page(name).select_one('[id="jaxpr-total.grad"]')
    assert figure is not None
    assert "not differentiated: pair.n (i32[])" in figure.get_text()
    source = (project.docs / ("md.md" if name == "md" else "rst.rst")).read_text("utf-8")
    helper, dense = line_of(source, "return jnp.tanh"), line_of(source, "return helper")
    html = done.page(name)
    values = [span.get_text() for span in html.select(".jaxpr-value")]
    assert values == [str(helper), str(helper), str(dense)]
    numbers = [n.get_text().strip() for n in html.select(".jaxpr-source .linenos")]
    assert numbers == [str(dense - 1), str(dense)]
    assert [a.get_text().strip() for a in html.select(".jaxpr-source .linenos a")] == [str(dense)]
    assert "class Model" not in html.get_text()  # hidden


def test_shown_as_a_code_block(built: tuple[Project, Build]) -> None:
    _, done = built
    for name in ("md", "rst"):
        html = done.page(name)
        wrapper = html.select_one(".literal-block-wrapper")
        assert wrapper is not None and "Helpers" in wrapper.get_text()
        assert wrapper.select(".highlight-python .linenos")
        assert len(html.select(".highlight-python pre")) == 5  # with that of ``source``


def test_an_edit_traces_what_used_it(built: tuple[Project, Build]) -> None:
    project, _ = built  # last of those that use it
    text = page(True, "A paragraph.\n\nAnother one.")
    project.write("docs/md.md", text)
    done = project.build("html", "-W")  # prose alone, but all lines move
    assert (done.code, done.stderr, done.traced) == (0, "", 0)
    values = [span.get_text() for span in done.page("md").select(".jaxpr-value")]
    assert values[0] == str(line_of(text, "return jnp.tanh"))
    edited = [(k, o, b.replace("def alone", "# new\ndef alone")) for k, o, b in PIECES]
    project.write("docs/md.md", page(True, "", edited))
    done = project.build("html", "-W")
    assert (done.code, done.stderr, done.traced) == (0, "", 1)
    assert "tracing jaxprs... [100%] alone" in done.stdout
    edited = [(k, o, b.replace("3.0", "4.0")) for k, o, b in edited]
    project.write("docs/md.md", page(True, "", edited))
    done = project.build("html", "-W")  # ``model = Model()`` may do anything, so all that is above
    assert done.stderr == ""
    assert "4.0" in done.texts("md")["jaxpr-dense"] and "away" not in done.stdout


MISTAKES: Final = """
# P

```{jaxpr-code}
:linenoss:
import jax.numpy as jnp

def good(x):
    return jnp.sin(x)

def bad(x):
    return good(x).reshape(77)
```

```{jaxpr-transform} bad
:args: f32[3]
```

```{jaxpr-transform} god
:args: f32[3]
```

```{jaxpr-transform} later
:args: f32[3]
```

```{jaxpr-transform} good
:args: f32[3]
:static: n=missing
:name: missing
```

```{jaxpr-code}
raise ValueError("no")

def later(x):
    return good(x)
```

```{jaxpr-transform} later
:args: f32[3]
:transforms: grad
:name: one
```

```{jaxpr-transform} later
:args: f32[4]
:name: two
```

```{jaxpr-transform} jax.numpy:sin
:args: f32[4]
```

````{jaxpr-when} jax > "0.1"
```{jaxpr-code}
x = 3
```
````
"""
SYNTAX: Final = """
# S

```{jaxpr-code} python
:emphasize-lines: 2-9
x = 1
def f(x:
    return x
```

```{jaxpr-transform} f
:args: f32[3]
```
"""
NONE: Final = """
# N

```{jaxpr-transform} f
:args: f32[3]
```
"""


def test_mistakes(tmp_path: Path) -> None:
    files = {"docs/index.md": MISTAKES, "docs/syntax.md": SYNTAX, "docs/none.md": NONE}
    files = {
        name: text.replace("\n#", "\n---\norphan: true\n---\n#", 1) for name, text in files.items()
    }
    project = Project(tmp_path, files)
    first = project.build("html")
    found = [re.sub(r"^.*/docs/| \(more in [^)]*\)", "", line) for line in first.warnings]
    text = "\n".join(found)
    source = files["docs/index.md"].lstrip("\n")

    def at(part: str, name: str = "index.md") -> str:
        return f"{name}:{line_of(files[f'docs/{name}'].lstrip(), part)}: WARNING: "

    for expected in (
        at(":linenoss:") + "jaxpr-code: unknown option 'linenoss', did you mean 'linenos'?",
        at("{jaxpr-transform} bad") + "bad: TypeError: cannot reshape",
        f"[index.md:{line_of(source, '.reshape')} in bad: return good(x).reshape(77)]",
        at("{jaxpr-transform} god")
        + "no code above this block defines 'god', did you mean 'good'?",
        at("{jaxpr-transform} later") + "'later' is defined only below this block, by the code at"
        f" line {line_of(source, 'raise')}",
        at(":static: n=missing") + "missing: static names 'n'",
        at("raise Val") + "the page's code failed: ValueError: no [index.md:"
        f'{line_of(source, "raise")}: raise ValueError("no")] (2 more blocks for the same reason)',
        at("x = 3").replace(str(line_of(source, "x = 3")), str(line_of(source, "x = 3") - 1))
        + "code cannot be used in jaxpr-when",
        at("{jaxpr-code}", "syntax.md") + "jaxpr-code takes no argument",
        at(":emph", "syntax.md") + "emphasize-lines: '2-9' are not all in the code, which has 3",
        at("def f", "syntax.md") + "the page's code can't be read: '(' was never closed",
        "none.md:6: WARNING: 'f' does not name a function; expected package.module:qualname",
    ):
        assert expected in text, text
    assert len(found) == 11
    assert "sin" in first.texts("index")["jaxpr-sin"]
    second = project.build("html", "-W", "--keep-going")
    again = [re.sub(r"^.*/docs/| \(more in [^)]*\)", "", line) for line in second.warnings]
    assert (second.code, again) == (1, found)
