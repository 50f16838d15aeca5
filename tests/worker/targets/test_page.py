"""The code of a page in the worker: a module like any other, which blocks share."""

from __future__ import annotations

import os
import sys

import pytest

from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.grammar import arguments
from sphinx_jaxpr.tracing.jobs import PAGE, CodeToRun, Job, Setup, digest_of, module_name
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Reply

ALL = CodeToRun(
    (
        "import jax\nimport jax.numpy as jnp\nfrom pathlib import Path\n"
        "with Path('runs.txt').open('a') as file:\n    print(__name__, file=file)",
        """from __future__ import annotations

import dataclasses
import inspect
from typing import NamedTuple


class Pair(NamedTuple):
    first: jax.Array
    second: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Scale:
    by: jax.Array

    def apply(self, x):
        return x * self.by


def factorial(x, n):
    return x if n == 0 else factorial(x, n - 1) * n


scale = Scale(jnp.ones(3))
gone = 1
del gone
if __name__ == "__main__":
    raise SystemExit(3)
""",
        "def text(x):\n    assert 'class Scale' in inspect.getsource(Scale)\n"
        "    assert inspect.getsource(text).startswith('def text')\n"
        "    assert inspect.getsource(Pair).endswith('second: jax.Array\\n')\n"
        "    return Pair(x, x)",
        "def late(x, flag=missing):\n    return x",
        "def fails(x):\n    return factorial(x, 2).reshape(7)",
        "raise SystemExit('bye')",
    ),
    (),
)


def job(
    target: str, used: tuple[int, ...], shared: tuple[int, ...] = (), args: str = "f32[3]"
) -> Job:
    """A job whose request uses some of the parts, in a module with ``shared`` ones beside them."""
    numbers = sorted({*used, *shared})
    parts = tuple(ALL.parts[number] for number in numbers)
    code = CodeToRun(parts, tuple(map(numbers.index, used)))
    digest = digest_of(code.alone.parts)
    return Job(f"{target} {used} {args}", Request(target, arguments(args), code=digest), 100, code)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Reply], str]:
    folder = tmp_path_factory.mktemp("page")
    jobs = [
        job("scale.apply", (0, 1), (2,)),
        job("text", (0, 1, 2)),
        job("factorial", (0, 1), (2,), "x=f32[3], n=2"),
        job("fails", (1, 4), (0,)),
        job("scale.apply", (0, 1), (3,), "f32[]"),  # shares a part that can't be run
        job("late", (0, 3)),
        job("nothing", (0, 5)),
        job("scal", (0, 1)),
    ]
    setup = Setup(sys.executable, dict(os.environ), (), folder=str(folder))
    replies = {done.key.removesuffix(" f32[3]"): reply for done, reply in Client(setup).run(jobs)}
    return replies, (folder / "runs.txt").read_text("utf-8")


def test_a_module_like_any_other(replies: tuple[dict[str, Reply], str]) -> None:
    by_key, _ = replies
    for key, text in (("scale.apply (0, 1)", "mul"), ("text (0, 1, 2)", "lambda")):
        result = by_key[key].result
        assert result is not None and result.program is not None, by_key[key].error
        assert text in result.program.text
        needs = by_key[key].needs
        assert needs is not None and not any(
            PAGE[:-1] in str(part) for part in needs.to_json().values()
        )


def test_lines_are_those_of_the_requests_own_code(replies: tuple[dict[str, Reply], str]) -> None:
    by_key, _ = replies
    alone = "\n".join(ALL.parts[:2]).split("\n")
    result = by_key["scale.apply (0, 1)"].result
    assert result is not None and result.program is not None and result.source is not None
    (file, line, function) = result.program.facts.sources[0]
    assert (file, function, alone[line - 1].strip()) == (PAGE, "Scale.apply", "return x * self.by")
    assert alone[result.source.line - 1].strip() == "def apply(self, x):"
    error = by_key["fails (1, 4)"].error
    assert error is not None
    own = "\n".join([ALL.parts[1], ALL.parts[4]]).split("\n")
    assert [own[frame.line - 1].strip() for frame in error.frames] == [
        frame.code for frame in error.frames
    ]
    assert {frame.file for frame in error.frames} == {PAGE}


def test_what_only_others_need_does_no_harm(replies: tuple[dict[str, Reply], str]) -> None:
    by_key, _ = replies
    result = by_key["scale.apply (0, 1) f32[]"].result
    assert result is not None and result.program is not None
    late, nothing, scal = (
        by_key[k].error for k in ("late (0, 3)", "nothing (0, 5)", "scal (0, 1)")
    )
    assert late is not None and late.message == "name 'missing' is not defined"
    assert late.module == PAGE
    assert nothing is not None and "sys.exit(bye)" in nothing.message
    assert scal is not None and "the page's code has no attribute 'scal'" in scal.message
    assert "'Scale'" in scal.message


def test_shared_code_runs_once(replies: tuple[dict[str, Reply], str]) -> None:
    names = replies[1].split()
    assert names.count(module_name(digest_of(ALL.parts[:3]))) == 1  # for three jobs
