"""The workflows that show on a pull request what it says and checks, step by step, with stubs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import PROJECT, Project
from tests.walkthrough import run_in

pytestmark = pytest.mark.once

RECIPES = PROJECT / "docs/examples/ci"
LIST = (
    "# Review\n\n## index\n\n- claim true: {words}\n  - `len(f) == 2`\n  - at `index.md:{line}`\n"
)


def jobs(name: str) -> tuple[dict[Any, Any], list[dict[str, Any]]]:
    """A workflow and the steps of its only job."""
    workflow = yaml.safe_load((RECIPES / name).read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    return workflow, job["steps"]


def run(folder: Path, steps: list[dict[str, Any]], **env: str) -> None:
    """The shell steps, as GitHub runs them: each ends at its first error."""
    for step in steps:
        if "run" in step and "pip install" not in step["run"]:
            code, printed = run_in(folder, f"set -e\n{step['run']}", **env)
            assert code == 0, printed


def stub(folder: Path, name: str, body: str) -> None:
    path = folder / ".bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize("name", ["review.yml", "review-comment.yml"])
def test_they_ask_for_little(name: str) -> None:
    workflow, steps = jobs(name)
    (job,) = workflow["jobs"].values()
    allowed = {**workflow["permissions"], **job.get("permissions", {})}
    triggers = workflow[True]  # YAML reads `on` as true
    used = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    if name == "review.yml":  # runs the code of the pull request
        assert allowed == {"contents": "read"}
        assert list(triggers) == ["pull_request"]
        checkouts = [step["with"] for step in steps if "checkout" in step.get("uses", "")]
        assert [each["persist-credentials"] for each in checkouts] == [False, False]
        assert "secrets." not in (RECIPES / name).read_text("utf-8")
    else:  # may write, and so runs nothing of the pull request
        assert allowed == {"actions": "read", "pull-requests": "write"}
        assert triggers["workflow_run"]["workflows"] == [jobs("review.yml")[0]["name"]]
        assert not used
    # What comes from outside reaches a shell as a variable, never as its text.
    assert not any("${{" in step.get("run", "") for step in steps)
    assert all(step["timeout-minutes"] for step in workflow["jobs"].values())


def lists(folder: Path, base: str, head: str) -> None:
    """What two builds would have written."""
    for name, text in (("base", base), ("head", head)):
        out = folder / "out" / name
        out.mkdir(parents=True)
        (out / "review.md").write_text(text, "utf-8")
        (out / "output.txt").write_text("All checks passed.\n", "utf-8")


def compared(folder: Path) -> tuple[str, str]:
    """The summary of the run, and the changes."""
    _, steps = jobs("review.yml")
    run(folder, steps[-2:], GITHUB_STEP_SUMMARY=str(folder / "summary"))
    return ((folder / name).read_text("utf-8") for name in ("summary", "changes.diff"))  # type: ignore[return-value] # two texts


def test_a_sentence_that_only_moved_is_not_shown(tmp_path: Path) -> None:
    lists(tmp_path, LIST.format(words="a", line=3), LIST.format(words="a", line=9))
    summary, changes = compared(tmp_path)
    assert changes == ""
    assert summary.endswith("All checks passed.\n")


def test_a_sentence_that_changed_is_shown_with_its_check_and_place(tmp_path: Path) -> None:
    lists(tmp_path, LIST.format(words="a", line=3), LIST.format(words="b", line=9))
    summary, changes = compared(tmp_path)
    assert changes in summary
    for line in ("-- claim true: a", "+- claim true: b", "   - `len(f) == 2`"):
        assert f"\n{line}\n" in changes
    assert "+  - at `index.md:9`\n" in changes


def test_a_base_without_a_list(tmp_path: Path) -> None:
    lists(tmp_path, "", LIST.format(words="a", line=3))
    (tmp_path / "out/base/review.md").unlink()
    _, changes = compared(tmp_path)
    assert "+- claim true: a\n" in changes


def test_the_comment_is_code_whatever_the_file_holds(tmp_path: Path) -> None:
    hostile = "+ fine\n~~~~~\n  ~~~~~~\n# injected @everyone\n$(touch injected)\n`touch injected`\n"
    changes = tmp_path / "review/changes.diff"
    changes.parent.mkdir()
    changes.write_text(hostile + "x" * 90_000, "utf-8")
    stub(
        tmp_path,
        "gh",
        'echo "$@" >> asked\ncase "$1" in api) printf "7\\n";; pr) cp comment.md posted;; esac',
    )
    _, steps = jobs("review-comment.yml")
    env = {"REPOSITORY": "o/r", "RUN": "12", "COMMIT": "abc", "BRANCH": "fork:$(touch injected)"}
    run(tmp_path, steps, **env)
    posted = (tmp_path / "posted").read_text("utf-8")
    fences = [line for line in posted.splitlines() if line.lstrip().startswith("~~~")]
    assert fences == ["~~~~~diff", "~~~~~"] and posted.endswith("\n~~~~~\n")
    assert len(posted) < 65_536  # the longest comment
    assert not (tmp_path / "injected").exists()
    download, number, comment = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert download == "run download 12 --repo o/r --name review --dir review"
    assert "head=fork:$(touch injected)" in number
    assert comment.startswith("pr comment 7 --repo o/r --body-file comment.md")


def test_no_comment_without_a_change_or_from_a_link(tmp_path: Path) -> None:
    stub(tmp_path, "gh", 'test "$1" = run')
    _, steps = jobs("review-comment.yml")
    changes = tmp_path / "review/changes.diff"
    changes.parent.mkdir()
    changes.touch()
    run(tmp_path, steps)
    changes.unlink()
    changes.symlink_to("/proc/self/environ")
    code, _ = run_in(tmp_path, f"set -e\n{steps[-1]['run']}")
    assert code != 0 and not (tmp_path / "comment.md").exists()


def test_a_pull_request_that_changes_a_sentence(tmp_path: Path) -> None:
    page = (
        "# A\n\n```{jaxpr-transform} layers:dense\n:args: x=f32[8,16], w=f32[16,4], b=f32[4]\n```\n"
    )
    words = ("four equations", "three equations")
    for name, said in zip(("base", "head"), words, strict=True):
        claim = f"{{jaxpr:claim}}`{said} <len(dense) == 4>`"
        Project(tmp_path / name, {"docs/index.md": f"{page}\n{claim}\n"})
    _, steps = jobs("review.yml")
    run(tmp_path, steps, GITHUB_STEP_SUMMARY=str(tmp_path / "summary"))
    summary = (tmp_path / "summary").read_text("utf-8")
    assert '\n-- claim true: "four equations"\n+- claim true: "three equations"\n' in summary
    assert "\n   - `len(dense)` is `4`\n" in summary
    assert re.search(r"^All checks passed\.$", summary, re.MULTILINE)
