"""What a worker sends: one message a program, whose texts are stored as they come."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.fingerprint import setup
from sphinx_jaxpr.tracing.frames import Frames
from sphinx_jaxpr.tracing.jobs import Job
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import encoded
from sphinx_jaxpr.tracing.specs import Aval, Step

CODE = """
import jax.numpy as jnp

def f(x):
    return jnp.sin(x)

def g(x):
    return x * {}
"""


def test_one_message_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(("one", "two")):
        (tmp_path / f"{name}.py").write_text(CODE.format(number + 2.0))
    sent: list[dict[str, Any]] = []
    take = Frames.take

    def noted(frames: Frames) -> dict[str, Any] | None:
        message = take(frames)
        if message is not None:
            sent.append(message)
        return message

    monkeypatch.setattr(Frames, "take", noted)
    args = (("x", Aval("f32", (3,))),)
    targets = ["one:f", "one:g", "one:none", "two:f", "one:f", "two:g"]
    requests = [Request(target, args) for target in targets]
    requests += [Request("one:f", args, steps=(Step(name),)) for name in ("vmap", "jvp")]
    jobs = [Job(str(number), request, 60) for number, request in enumerate(requests)]
    client = Client(setup(sys.executable, [str(tmp_path)], {}, 0, x64=False))
    replies = [reply for _, reply in client.run(jobs)]
    assert client.starts == 1
    kinds = [next(k for k in message if k not in ("id", "deps", "needs")) for message in sent]
    assert kinds == [
        "ready",
        *("stage", "stage", "result"),  # the import of a module, and that it ended
        *("result", "error"),
        *("stage", "stage", "result"),
        *["result"] * 4,
    ]
    for reply in replies:
        if reply.error is None:
            assert reply.received is not None and reply.result is not None
            assert reply.received.texts == encoded(reply.result.to_json())


def test_modules_written_after_the_worker_began(tmp_path: Path) -> None:
    """The worker imports JAX while pages are read, and a page may write a module."""
    folder = tmp_path / "written"
    client = Client(setup(sys.executable, [str(folder)], {}, 0, x64=False))
    client.begin()
    assert client.process is not None
    for process in client.process.greeting(time.monotonic() + 60):
        process.listen(1)
    folder.mkdir()
    (folder / "late.py").write_text(CODE.format(2.0))
    request = Request("late:f", (("x", Aval("f32", (3,))),))
    ((_, reply),) = client.run([Job("", request, 60)])
    assert reply.error is None and client.starts == 1
