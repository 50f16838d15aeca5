"""Pages of random code and blocks, beside an oracle: the joined text, run by itself."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import Project

#: Runs the code of a page above a block.  Gives the printed program and the lines of its
#: equations, or the type of the error.
ORACLE = """
import json, sys
import jax, jax.numpy as jnp

def outcome(code, target):
    module = {"__name__": "oracle"}
    try:
        exec(compile(code, "<oracle>", "exec", dont_inherit=True), module)
        jaxpr = jax.make_jaxpr(eval(target, module))(jnp.zeros(3))
    except Exception as error:
        return {"error": type(error).__name__}
    lines = []
    for equation in jaxpr.jaxpr.eqns:
        frames = equation.source_info.traceback.frames
        lines.append(next((f.line_num for f in frames if f.file_name == "<oracle>"), 0))
    return {"text": str(jaxpr), "lines": lines}

print(json.dumps([outcome(*pair) for pair in json.load(sys.stdin)]))
"""


@dataclass
class RandomPage:
    """A page in MyST, and for each block the code above it, with its lines in the page."""

    seed: int
    text: str = "# P\n\n```{jaxpr-code}\nimport jax\nimport jax.numpy as jnp\n```\n"
    code: list[tuple[str, int]] = field(
        default_factory=lambda: [("import jax", 4), ("import jax.numpy as jnp", 5)]
    )
    names: list[str] = field(default_factory=list)
    blocks: list[tuple[str, str, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.number = 0
        for _ in range(self.random.randint(4, 10)):
            self.random.choice([self.part, self.part, self.block, self.prose])()
        self.block()

    def prose(self) -> None:
        self.text += "\n" + "Words.\n" * self.random.randint(1, 3)

    def part(self) -> None:
        lines = [line for _ in range(self.random.randint(1, 3)) for line in self.statement()]
        options = self.random.choice(["", ":hide:\n", ":linenos:\n", f":name: c{self.number}\n"])
        self.text += "\n```{jaxpr-code}\n" + options
        first = self.text.count("\n") + 1
        self.code += [(line, first + offset) for offset, line in enumerate(lines)]
        self.text += "\n".join(lines) + "\n```\n"

    def statement(self) -> list[str]:
        """The lines of a statement; most are functions, which call others that may change later."""
        pick = self.random.choice
        known = pick([*self.names, "jnp.sin", "jnp.cos", "jnp.tanh"])
        self.number += 1
        name = pick([f"f{self.number}", *self.names[-2:]])
        kind = self.random.randrange(9)
        if kind == 0:
            return [
                f"K{self.number} = {self.number}.0",
                f"def {name}(x):",
                f"    return {known}(x) * K{self.number}",
                *self.bound(name),
            ]
        if kind == 1:
            return [
                "@jax.jit",
                f"def {name}(x):",
                f"    y = {known}(x)",
                "    return y + y",
                *self.bound(name),
            ]
        if kind == 2:
            return [f"{name} = lambda x: {known}(x) - 1.0", *self.bound(name)]
        if kind == 3:
            return [
                f"class C{self.number}:",
                "    def __call__(self, x):",
                f"        return -{known}(x)",
                f"{name} = C{self.number}()",
                *self.bound(name),
            ]
        if kind == 4:
            return [f"from jax.numpy import exp as {name}", *self.bound(name)]
        if kind == 5 and self.names:
            gone = pick(self.names)
            return (
                [f"if {gone!r} in globals():", f"    del {gone}"]
                if self.random.random() < 0.3
                else [f"old = {gone}"]
            )
        if kind == 6:
            return [
                f"def {name}(x, other={known}):",
                '    """Words: f1, f2."""',
                "    return later(x) if other is None else other(x)",
                *self.bound(name),
            ]
        if kind == 7:
            return [f"for later in [{known}, jnp.exp]:", "    pass"]
        return [f"def {name}(x):", f"    return later({known}(x))", *self.bound(name)]

    def bound(self, name: str) -> list[str]:
        self.names.append(name)
        return []

    def block(self) -> None:
        target = self.random.choice([*self.names, "jnp.sin", "missing"])
        name = f"b{len(self.blocks)}p{self.seed}"
        self.text += f"\n```{{jaxpr-transform}} {target}\n:args: f32[3]\n:name: {name}\n```\n"
        self.blocks.append(
            (target, "\n".join(line for line, _ in self.code), [at for _, at in self.code])
        )


def check(seeds: range, folder: Path) -> None:
    """Build the pages, and compare each block with what the oracle has."""
    pages = [RandomPage(seed) for seed in seeds]
    files = {"docs/index.md": "# I\n"}
    for page in pages:
        values = ""
        for number in range(len(page.blocks)):
            values += f"\n{{jaxpr:val}}`b{number}p{page.seed}[-1].line`\n"
        files[f"docs/p{page.seed}.md"] = f"---\norphan: true\n---\n{page.text}{values}"
    project = Project(folder, files)
    done = project.build("html")
    asked = [(code, target) for page in pages for target, code, _ in page.blocks]
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ORACLE)],
        input=json.dumps(asked), capture_output=True, text=True, check=False,
        env={"JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", "PATH": ""},
    )  # fmt: skip
    assert not run.returncode, run.stderr
    outcomes = iter(json.loads(run.stdout))
    for page in pages:
        texts, html = done.texts(f"p{page.seed}"), done.page(f"p{page.seed}")
        shown = [span.get_text() for span in html.select("p > .jaxpr-value")]
        for number, (target, _, at) in enumerate(page.blocks):
            expected, key = next(outcomes), f"b{number}p{page.seed}"
            where = f"seed {page.seed}, block {number} ({target})\n{page.text}"
            if "error" in expected:
                assert texts.get(f"jaxpr-{key}", "") == "", where
                continue
            assert texts[f"jaxpr-{key}"] == expected["text"], where
            if expected["lines"] and expected["lines"][-1]:  # else not of the page
                line = at[expected["lines"][-1] - 1] + 3  # below the front matter
                assert shown[number] == str(line), where


def test_random_pages(tmp_path: Path) -> None:
    check(range(12), tmp_path)


@pytest.mark.parametrize("first", range(100, 400, 50))
def test_more_random_pages(first: int, tmp_path: Path) -> None:
    check(range(first, first + 50), tmp_path)
