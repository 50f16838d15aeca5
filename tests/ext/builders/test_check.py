"""The builder jaxpr-check: what it judges, prints and writes, and how it ends."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr.ext.builders.check import CheckBuilder, Checked
from tests.support import Build, Project

pytestmark = pytest.mark.once

BLOCK = """
```{jaxpr-transform} layers:dense
:name: dense
:args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
:transforms: grad(argnums=w), vmap(axis_size=8)

[tanh]
    A note.
```
"""
GOOD = f"""# P
{BLOCK}
{{jaxpr:val}}`len(dense)`, {{jaxpr:eqn}}`dense.grad[add]`, {{jaxpr:ref}}`dense`, {{jaxpr:prim}}`add`
{{jaxpr:claim}}`four <len(dense) == 4>`

```{{jaxpr-claims}}
len(dense.vmap) == 5
"add" in ops(dense)
```

```{{jaxpr-when}} jax >= "99"
{{jaxpr:claim}}`not judged <len(dense) == 5>`
```
"""
BAD = """
# Q

{jaxpr:claim}`five <len(dense) == 5>` {jaxpr:val}`dense.gard`
{jaxpr:claim}`five <len(dense) == 5>`

```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad(sum=False)
:raises: ValueError

[nothing]
    Of it.
```

{jaxpr:eqn}`dense.remat[tanh]`
"""


def data(done: Build) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((done.out / "output.json").read_text("utf-8"))
    return found


def test_all_of_it_is_true(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = Project(tmp_path_factory.mktemp("good"), {"docs/index.md": GOOD})
    done = project.build("jaxpr-check", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    assert "All checks passed." in done.stdout
    found = data(done)
    assert found["findings"] == []
    assert found["pages"]["index"] == {
        "claim": {"true": 3},
        "eqn": {"true": 1},
        "note": {"true": 1},
        "prim": {"true": 1},
        "ref": {"true": 1},
        "val": {"true": 1},
        "when": {"false": 1},
    }
    claims = [one for one in found["sentences"] if one["what"] == "claim"]
    assert [(one["words"], one["expression"], one["state"]) for one in claims] == [
        ("four", "len(dense) == 4", "true"),
        ("", "len(dense.vmap) == 5", "true"),
        ("", '"add" in ops(dense)', "true"),
    ]
    values = [(one["what"], one["value"]) for one in found["sentences"] if one["value"]]
    assert re.fullmatch(r"\w+:bf16\[32,64\] = add \w \w", values.pop(1)[1])
    assert values == [
        ("val", "4"),
        ("claim", "`len(dense)` is 4"),
        ("claim", "`len(dense.vmap)` is 5"),
        ("claim", "`ops(dense)` is dot_general, broadcast_in_dim, add, tanh"),
        ("when", f"`jax` is {found['versions']['jax']}"),
    ]
    grad = found["blocks"]["index#jaxpr-dense.grad"]
    assert grad["name"] == "dense.grad"
    assert grad["pointed_at"] == 1
    assert ".all[add][0]" not in grad["not_mentioned"]
    assert len(grad["not_mentioned"]) == grad["equations"] - 1
    assert set(found["versions"]) == {"jax", "jaxlib", "python"}
    # The paths of what is not mentioned lead to what they name.
    silent = grad["not_mentioned"][-1]
    page = f"{GOOD}\n{{jaxpr:eqn}}`dense.grad{silent}`\n"
    project.write("docs/index.md", page)
    done = project.build("jaxpr-check", "-W")
    assert done.code == 0, done.stderr
    assert data(done)["blocks"]["index#jaxpr-dense.grad"]["pointed_at"] == 2
    listed = (done.out / "review.md").read_text("utf-8")
    assert "5 checks on 1 page: 4 true, 1 false; jax" in listed
    assert (
        """
- claim true: "four"
  - `len(dense) == 4`
  - `len(dense)` is `4`
  - at `index.md:"""
        in listed
    )
    assert "dense.grad[add]" not in listed  # a path says itself
    # No page was written.
    assert not list(done.out.glob("*.html"))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tree = "\n```{toctree}\nbad\nsub/more\n```\n"
    more = "# M\n\n```{only} html\n{jaxpr:claim}`only here <len(dense) == 7>`\n```\n"
    files = {"docs/index.md": GOOD + tree, "docs/bad.md": BAD, "docs/sub/more.md": more}
    return Project(tmp_path_factory.mktemp("bad"), files)


@pytest.mark.parametrize("flags", [(), ("-q",), ("-W",), ("-j", "2"), ("-E",)])
def test_each_finding_once_at_its_line(bad: Project, flags: tuple[str, ...]) -> None:
    done = bad.build("jaxpr-check", *flags)
    assert done.code != 0
    told = sorted(re.sub(r".*/docs/", "", one) for one in done.warnings)
    places = [":".join(one.split(":")[:2]) for one in told]
    assert places == sorted([*(f"bad.md:{n}" for n in (3, 3, 4, 6, 11, 15)), "sub/more.md:4"]), told
    if "-q" in flags:
        assert done.stdout == ""
    else:
        assert "7 findings." in done.stdout


def test_the_files(bad: Project) -> None:
    done = bad.build("jaxpr-check")
    assert done.code == 1
    found = data(done)
    assert {one["type"] for one in found["findings"]} == {
        "jaxpr.claim",
        "jaxpr.path",
        "jaxpr.raises",
    }
    assert {one["source"] for one in found["findings"]} == {"bad.md", "sub/more.md"}
    text = (done.out / "output.txt").read_text("utf-8")
    for one in found["findings"]:
        assert f"{one['source']}:{one['line']}: [{one['type']}] {one['message']}\n" in text
    assert text.count("bad.md:3:") == 2
    listed = (done.out / "review.md").read_text("utf-8")
    assert re.findall("^## .*", listed, re.MULTILINE) == ["## bad", "## index", "## sub/more"]
    # One predicate of a page once; what has no value says why.
    assert listed.count("`len(dense) == 5`") == 1
    assert "\n  - at `bad.md:3`, `bad.md:4`\n" in listed
    assert "- value **wrong**\n  - `dense.gard`\n  - why: `dense` has no variant" in listed
    assert "claims: 3 true, 3 false" in text
    assert str(bad.folder) not in text + json.dumps(found)


def test_hints_are_told_but_fail_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    page = """
        # P

        ```{jaxpr-transform} layers:dense
        :name: dense
        :args: x=f32[2,3], w=f32[3,4], b=f32[4]
        :transforms: remat, jit
        ```

        {jaxpr:val}`len(dense.jit[pjit])`
        """
    project = Project(tmp_path_factory.mktemp("hints"), {"docs/index.md": page})
    done = project.build("jaxpr-check", "-W")
    assert done.code == 0, done.stderr
    hints = data(done)["hints"]
    assert [(one["source"], one["line"]) for one in hints] == [("index.md", 9)]
    assert "`pjit` is `jit` here" in hints[0]["message"]
    assert "index.md:9: [hint]" in (done.out / "output.txt").read_text("utf-8")


def test_a_page_build_after_a_check_and_before_one(bad: Project) -> None:
    """They share what was traced, and do not disturb one another's pages."""
    doctrees = ("-d", str(bad.folder / "out" / "shared"))
    first = bad.build("html", *doctrees)
    assert first.code == 0
    check = bad.build("jaxpr-check", *doctrees)
    assert (check.code, check.traced) == (1, 0)
    again = bad.build("html", *doctrees)
    assert again.traced == 0
    assert len(again.warnings) == len(first.warnings)


LOCKED = """
# P

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad(argnums=w)
```
"""


def test_blocks_are_compared_with_the_lock(tmp_path_factory: pytest.TempPathFactory) -> None:
    project = Project(tmp_path_factory.mktemp("lock"), {"docs/index.md": LOCKED})
    assert project.build("jaxpr-check").code == 0
    assert project.build("jaxpr-lock", "-W").code == 0
    done = project.build("jaxpr-check", "-W")
    assert (done.code, done.stderr) == (0, "")
    assert data(done)["lock"] == {"dense": "same", "dense.grad": "same"}
    assert "lock: 2 same" in done.stdout
    code = (project.folder / "src/layers.py").read_text("utf-8")
    project.write("src/layers.py", code.replace("x @ w + b", "2 * (x @ w + b)"))
    html = project.build("html", "-W")
    assert (html.code, html.stderr) == (0, "")  # only the check compares
    done = project.build("jaxpr-check")
    assert done.code == 1
    told = sorted(re.sub(r".*/docs/", "", one) for one in done.warnings)
    assert len(told) == 2
    assert told[0].startswith("index.md:3: WARNING: dense: differs from the program in the lock")
    assert told[1].startswith(
        "index.md:6: WARNING: dense.grad: differs from the program in the lock"
    )
    assert all("dense[mul] equation" in one or "mul" in one for one in told)
    assert all(
        one.endswith("`sphinx-build -b jaxpr-lock` accepts it [jaxpr.drift]") for one in told
    )
    assert data(done)["lock"] == {"dense": "program", "dense.grad": "program"}


def test_files_of_the_lock_that_are_missing_or_not_asked_for(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    project = Project(tmp_path_factory.mktemp("orphan"), {"docs/index.md": LOCKED})
    assert project.build("jaxpr-lock", "-W").code == 0
    project.write("docs/index.md", LOCKED.replace("grad(argnums=w)", "remat"))
    done = project.build("jaxpr-check")
    assert done.code == 1
    told = sorted(re.sub(r".*/docs/", "", one) for one in done.warnings)
    assert told[0].startswith("_jaxprs/dense.grad.json:1: WARNING: no block asks for it")
    assert told[1].startswith("index.md:6: WARNING: dense.remat: it is not in the lock")
    assert all("jaxpr-lock" in one and one.endswith("[jaxpr.lock]") for one in told)
    assert len(told) == 2


def test_a_fresh_trace_is_compared_with_the_stored_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A function that looks at something that nobody can see it look at."""
    page = "# P\n\n```{jaxpr-transform} clock:f\n:args: x=f32[3]\n```\n"
    page += "\n```{jaxpr-transform} layers:dense\n:args: x=f32[2,3], w=f32[3,4], b=f32[4]\n```\n"
    code = "import time\n\n\ndef f(x):\n    return x * (time.time() % 1000)\n"
    files = {"docs/index.md": page, "src/clock.py": code}
    project = Project(tmp_path_factory.mktemp("fresh"), files)
    assert project.build("jaxpr-check", "-W").traced == 2
    assert project.build("jaxpr-check", "-W").traced == 0
    done = project.build("jaxpr-check", "-D", "jaxpr_fresh=1")
    assert (done.code, done.traced) == (1, 2)
    assert len(done.warnings) == 1
    assert (
        "index.md:3: WARNING: f: a fresh trace differs from the stored program" in done.warnings[0]
    )
    assert done.warnings[0].endswith("[jaxpr.trace]")


SEEN = """
import os

import jax

if dict(os.environ).get("PRECISE"):  # a copy, which is not followed
    jax.config.update("jax_default_matmul_precision", "highest")


def dot(x):
    return x @ x
"""

COUNTED = """
import itertools

NUMBERS = itertools.count(1)


def first(x):
    return x * float(next(NUMBERS))


def second(x):
    return x * float(next(NUMBERS))
"""


def test_a_fresh_trace_goes_backwards_and_says_which_setting_differs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    names = ("seen:dot", "counted:first", "counted:second")
    blocks = (f"```{{jaxpr-transform}} {name}\n:args: x=f32[3,3]\n```" for name in names)
    page = "# P\n\n" + "\n\n".join(blocks)
    files = {"docs/index.md": page, "src/seen.py": SEEN, "src/counted.py": COUNTED}
    project = Project(tmp_path_factory.mktemp("seen"), files)
    assert project.build("jaxpr-check", "-W", env={"PRECISE": "1"}).code == 0
    done = project.build("jaxpr-check", "-D", "jaxpr_fresh=1")
    told = [re.sub(r".*/docs/", "", one) for one in done.warnings]
    assert [one.split(" ")[0] for one in told] == ["index.md:3:", "index.md:7:", "index.md:11:"]
    assert (
        "jax_default_matmul_precision was 'highest' when the stored one was traced"
        " and has its default now" in told[0]
    )
    # In each order the first is the first: only the other order shows that they are not alone.
    assert all("another block left behind" in one for one in told[1:])
    assert project.build("jaxpr-check", "-W").code == 0


SILENT = f"""# S
{BLOCK}
{{jaxpr:claim}}`no typo <"tahn" not in ops(dense)>`
{{jaxpr:claim}}`none is wide <all(e.dtype == "f64" for e in dense[cos])>`
{{jaxpr:claim}}`never <1 == 1>`

```{{jaxpr-claims}}
dense[0].shape != 4
"rotate" not in ops(dense)
len(dense) == 4 or dense.gard
```
"""


def test_claims_that_hold_of_anything_are_told(tmp_path: Path) -> None:
    glossary = '\njaxpr_glossary = {"rotate": {"meaning": "Turns it."}}\n'
    project = Project(tmp_path, {"docs/index.md": SILENT}, glossary)
    done = project.build("jaxpr-check", "-q")
    told = [re.sub(r".*/docs/", "", one) for one in done.warnings]
    for line, message in (
        (12, "unknown primitive `tahn` (did you mean `tanh`?)"),
        (13, "this says nothing: `dense[cos]` has no equations"),
        (14, "`1 == 1` says nothing about a program"),
        (17, "`!=` can't compare a list with a number"),
        (19, "`dense` has no variant or attribute `gard`, did you mean `grad`"),
    ):
        assert any(one.startswith(f"index.md:{line}:") and message in one for one in told), line
    assert len(told) == 5
    assert data(done)["claims_of_nothing"] == 2
    assert "vacuously true claims: 2" in (done.out / "output.txt").read_text("utf-8")
    # What the project no longer declares is no primitive any more: verdicts are judged anew.
    conf = project.docs / "conf.py"
    conf.write_text(conf.read_text("utf-8").replace(glossary, ""), "utf-8")
    done = project.build("jaxpr-check", "-q")
    assert any("unknown primitive `rotate`" in one for one in done.warnings)


@pytest.mark.parametrize("builder", ["jaxpr-check", "jaxpr-lock"])
def test_skip_is_refused(tmp_path: Path, builder: str) -> None:
    """And nothing that an earlier build said stays as if it were said now."""
    project = Project(tmp_path, {"docs/index.md": SILENT})
    out = tmp_path / "out" / builder
    out.mkdir(parents=True)
    for name in ("output.txt", "output.json", "review.md"):
        (out / name).write_text("{}", "utf-8")
    done = project.build(builder, "-q", "-D", "jaxpr_mode=skip")
    assert done.code == 1
    (told,) = done.stderr.splitlines()
    assert "jaxpr_mode is 'skip'" in told
    assert f"-b {builder} -D jaxpr_mode=trace" in told
    assert not (project.docs / "jaxpr-lock").exists()
    if builder == "jaxpr-check":
        assert not list(out.glob("output.*")) + list(out.glob("review.*"))


def test_what_stands_in_the_place_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe is replaced, a folder is told: neither waits, or ends in a traceback."""
    found = {"findings": [], "hints": [], "pages": {}, "versions": {}, "blocks": {}, "lock": {}}
    monkeypatch.setattr(Checked, "_statements", lambda *_: [])
    monkeypatch.setattr(Checked, "to_json", lambda *_: {**found, "claims_of_nothing": 0})
    failures: list[int] = []
    session: Any = SimpleNamespace(masker=SimpleNamespace(stored=str))
    judged: Any = SimpleNamespace(session=session, findings=[])
    builder: Any = SimpleNamespace(
        judged=judged, drifts={}, outdir=tmp_path, srcdir=tmp_path, fail=lambda: failures.append(1)
    )
    os.mkfifo(tmp_path / "output.txt")
    CheckBuilder.finish(builder)
    assert not failures and (tmp_path / "output.txt").is_file()
    (tmp_path / "output.json").unlink()
    (tmp_path / "output.json").mkdir()
    CheckBuilder.finish(builder)
    assert failures == [1]
