"""What a worker sends: one message a program, whose texts are stored as they come."""

from __future__ import annotations

import sys
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
