"""The pages of ``docs/examples/jaxdocs`` with any MyST-NB, and what they cost an author.

How JAX's own environment builds them is in ``test_jaxdocs.py``.
"""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import PROJECT, Project, interpreter, require

pytestmark = pytest.mark.once

EXAMPLES = PROJECT / "docs/examples/jaxdocs"
GUIDE = PROJECT / "docs/how-to/jax-docs.md"
CONF = """
extensions = ["myst_nb", "sphinx_jaxpr"]
nb_execution_mode = "off"
jaxpr_page_code = ["jaxpr-code", "code-cell"]
"""
STRICT = ("-W", "--keep-going", "-n", "-d", "trees")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    require(find_spec("myst_nb") is not None, "myst_nb (in the extra `dev`)")
    files = {f"docs/{path.name}": path.read_text("utf-8") for path in EXAMPLES.glob("*.md")}
    return Project(tmp_path_factory.mktemp("jax_pages"), files, CONF)


def test_they_are_true(project: Project) -> None:
    shutil.rmtree(project.folder / "src")  # no module beside them
    build = project.build("html", *STRICT)
    assert (build.code, build.warnings) == (0, []), build.stderr
    assert len(build.texts("jaxpr")) == 11
    assert len(build.texts("precision")) == 10
    words = " ".join(build.page("jaxpr").get_text().split())
    program = " ".join(build.texts("jaxpr")["jaxpr-compound"].split())
    letters = program.replace(":i32[]", "").rpartition("] ")[2].partition(" in ")[0]
    assert f"It reads 5 operands, {letters}: none for cond_jaxpr" in words


@pytest.mark.matrix
def test_they_are_true_on_the_oldest_jax(project: Project) -> None:
    check = project.build("jaxpr-check", *STRICT, f"-Djaxpr_python={interpreter('oldest')}")
    assert check.code == 0, check.stderr
    report = json.loads((check.out / "output.json").read_text("utf-8"))
    assert report["findings"] == []


# --- counts in the guide ----------------------------------------------------


def words_of(role: re.Match[str]) -> str:
    """What an author without roles writes: the words, or letters and numbers by hand."""
    name, content = role[1], role[3]
    return "`a`" if name in ("val", "var") else content.partition(" <")[0].strip()


def without_roles(text: str) -> str:
    """A page with plain sentences."""
    directive = r"```\{(jaxpr-claims|default-domain)\}.*?\n```\n+"
    text = re.sub(directive, "", text + "\n", flags=re.DOTALL)
    role = r"\{(claim|eqn|prim|val|var)\}(`+)(.+?)(?<!`)\2(?!`)"
    return re.sub(role, words_of, text, flags=re.DOTALL).rstrip("\n") + "\n"


def without_blocks(text: str) -> str:
    """The same where the cell above a block prints the jaxpr, which the first one does anyway."""
    block = r"```\n\n```\{jaxpr-transform\} (\w+)\n:args: (.*)\n```\n"
    text = re.sub(r"(\nprint\(make_jaxpr\(.*\n)" + block, r"\1```\n", text)
    return re.sub(block, r"\nprint(make_jaxpr(\1)(\2))\n```\n", text)


def changed(before: str, after: str) -> int:
    """How many lines a diff removes and adds: those outside the longest common subsequence."""
    old, new = before.split("\n"), after.split("\n")
    longest = [0] * (len(new) + 1)
    for line in old:
        row = [0]
        for index, (other, (corner, above)) in enumerate(zip(new, pairwise(longest), strict=True)):
            row.append(corner + 1 if line == other else max(above, row[index]))
        longest = row
    return len(old) + len(new) - 2 * longest[-1]


def size(text: str) -> str:
    return f"{text.count(chr(10))} / {len(text.encode()) / 1000:.1f} kB"


def test_the_guide_counts_lines() -> None:
    bound = (EXAMPLES / "jaxpr.md").read_text("utf-8")
    blocks = without_roles(bound)
    plain = without_blocks(blocks)
    assert bound.count("{jaxpr-transform}") == plain.count("print(make_jaxpr(") == 11
    assert not re.search(r"\{(jaxpr-.*|claim|var|val|eqn|prim)\}", plain)
    lines = changed(plain, blocks)
    assert lines <= 45
    rows = [
        ("without this extension", size(plain), ""),
        ("with blocks", size(blocks), str(lines)),
        ("and with bound sentences", size(bound), str(changed(blocks, bound))),
    ]
    for row in rows:
        assert f"| {' | '.join(row)} |" in GUIDE.read_text("utf-8"), row


def test_the_examples_need_no_other_file() -> None:
    assert {path.name for path in Path(EXAMPLES).iterdir() if path.is_file()} == {
        "conf.py",
        "index.md",
        "jaxpr.md",
        "precision.md",
    }
