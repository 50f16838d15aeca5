"""The client against a worker that misbehaves, which here is a script without JAX."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from sphinx_jaxpr.tracing import client, descendants, process
from sphinx_jaxpr.tracing.client import Client, Job, Setup
from sphinx_jaxpr.tracing.grammar import Step
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Reply

pytestmark = pytest.mark.once

WORKER = """
import json, os, signal, subprocess, sys, time
from sphinx_jaxpr.tracing.frames import frame
from sphinx_jaxpr.worker.keeper import keep

print("what a start-up file prints")
replies = os.dup(1)
os.dup2(2, 1)
keep(int(sys.argv[1]), [replies])
greeting = json.loads(sys.stdin.readline())
PROGRAM = {
    "jax": "1", "call": "f", "args": [], "inputs": [], "effects": [], "constants": [],
    "facts": {"programs": [{"inputs": [], "constants": [], "outputs": [], "effects": [],
    "unused": [], "equations": []}], "sources": []},
}

def say(**message):
    if "result" in message:
        message["result"] = {"text": message["result"], **PROGRAM}
    os.write(replies, frame(greeting["token"], message))

start = os.environ.get("START", "")
if start == "silent":
    time.sleep(1000)
if start == "dies":
    sys.exit("the last words\\n")
if start == "broken":
    say(broken="ImportError: no jax")
    sys.exit()
say(ready=True)
imported = set()
for count, line in enumerate(sys.stdin):
    message = json.loads(line)
    number, request = message["id"], message["request"]
    module, _, name = request["target"].partition(":")
    imports = module not in imported
    if imports:
        imported.add(module)
        say(id=number, stage="import", module=module)
    if module == "bad":
        os._exit(3)
    if module == "stuck":
        time.sleep(1000)
    if imports:
        say(id=number, stage="trace")
    if name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        with open(os.environ["PIDS"], "a") as stream:
            stream.write(f"{child.pid}\\n")
    if name == "loop" or (name == "slow" and request["steps"]):
        time.sleep(1000)
    if name == "noise":
        sys.stdout.write("noise\\n\\n[1, 2]\\n3\\n{\\n")
    if name == "half":
        os.write(replies, b'{"id": ')
    if name == "stderr":
        sys.stderr.write("e" * 3_000_000)
        sys.stderr.flush()
    if name == "big":
        frames = frame(greeting["token"], {"id": number, "result": {"text": "r" * 5_000_000,
            **PROGRAM}, "deps": 0, "needs": {}})
        while frames:
            frames = frames[os.write(replies, frames):]
        continue
    if name == "alone" and count:
        say(id=number, again="another module was patched")
        continue
    say(id=number, result=request["target"], deps=0, needs={})
"""


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """A setup that starts the script."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    monkeypatch.setattr(process, "WORKER", str(script))
    environment = {**os.environ, "PIDS": str(tmp_path / "pids")}
    return Setup(sys.executable, environment, roots=())


def with_start(setup: Setup, start: str) -> Setup:
    """The same, with a worker that starts badly."""
    environment = {**setup.environment, "START": start}
    settings = (("START", start), ("JAX_FLAG", "on"))
    return Setup(setup.python, environment, (), settings=settings, flags=(("JAX_FLAG", "on"),))


def jobs(*targets: str, timeout: float = 20) -> list[Job]:
    """One request a target; after a bar, transforms."""
    found = []
    for number, text in enumerate(targets):
        target, _, steps = text.partition("|")
        request = Request(target, steps=tuple(Step(name) for name in steps.split()))
        found.append(Job(str(number), request, timeout))
    return found


def text_of(reply: Reply) -> str:
    assert reply.result is not None and reply.result.program is not None
    return reply.result.program.text


def words(run: Client, wanted: list[Job]) -> list[str]:
    """Of each job the text of its program, or the message of its error."""
    found = {
        job.key: reply.error.message if reply.error else text_of(reply)
        for job, reply in run.run(wanted)
    }
    return [found[job.key] for job in wanted]


def test_a_job_that_ends_its_worker_costs_no_other(setup: Setup) -> None:
    run = Client(setup)
    ended = "the process that was importing bad ended with exit status 3"
    killed = "the process that was tracing a:kill was ended by SIGKILL"
    assert words(run, jobs("a:f", "bad:f", "a:g", "bad:g", "bad:f|vmap", "a:kill", "a:h")) == [
        "a:f", ended, "a:g", ended, ended, killed, "a:h",
    ]  # fmt: skip
    assert run.starts == 5  # what ended a worker that had traced others is tried once more, alone


def test_what_shares_a_fatal_base_is_not_tried(setup: Setup) -> None:
    run = Client(setup)
    killed = "the process that was tracing a:kill was ended by SIGKILL"
    assert words(run, jobs("a:kill", "a:kill|grad", "a:kill|vmap", "a:f")) == [*[killed] * 3, "a:f"]
    assert run.starts == 2


def test_a_variant_that_hangs_says_nothing_of_others(setup: Setup) -> None:
    run = Client(setup)
    found = words(run, jobs("a:slow", "a:slow|grad", "a:f", timeout=0.7))
    assert found[0] == "a:slow"
    assert found[1].startswith("still tracing a:slow after 0.7 s")
    assert found[2] == "a:f"


def test_dotted_targets_and_transforms_share_a_broken_module(setup: Setup) -> None:
    run = Client(setup)
    through = Request("a:f", steps=(Step("t"),), third_party=(("t", "bad:t"),))
    wanted = [*jobs("bad:f", "bad.f", "bad.inner.f", "badly:f"), Job("x", through, 5)]
    found = words(run, wanted)
    assert found[0] == found[1] == found[2] == found[4]
    assert found[3] == "badly:f"
    assert run.starts == 2


def test_what_must_be_traced_alone_comes_later_in_another_worker(setup: Setup) -> None:
    run = Client(setup)
    wanted = jobs("a:f", "a:alone", "a:g", "b:alone", "b:f")
    order = [job.request.target for job, _ in run.run(wanted)]
    assert order == ["a:f", "a:g", "b:f", "a:alone", "b:alone"]
    assert run.starts == 3


def ends(pid: int) -> bool:
    """Whether a process that was killed is gone; on a busy machine it takes a moment."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_a_slow_job_is_ended_in_time_with_its_children(setup: Setup, tmp_path: Path) -> None:
    run = Client(setup)
    began = time.monotonic()
    found = words(run, jobs("a:child", "stuck:f", "a:loop", "stuck:g", timeout=0.7))
    assert time.monotonic() - began < 10
    assert found[1].startswith("still importing stuck after 0.7 s")
    assert found[2].startswith("still tracing a:loop after 0.7 s")
    assert found[3] == found[1]
    (pid,) = map(int, (tmp_path / "pids").read_text().split())
    assert ends(pid)


def test_children_end_with_the_last_job_and_with_the_caller(setup: Setup, tmp_path: Path) -> None:
    assert words(Client(setup), jobs("a:child")) == ["a:child"]
    walk = Client(setup).run(jobs("a:child", "a:f"))
    next(walk)
    walk.close()
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert ends(pid)


def test_noise_and_size_do_not_confuse(setup: Setup) -> None:
    run = Client(setup)
    found = words(run, jobs("a:noise", "a:stderr", "a:big", "a:f"))
    assert found == ["a:noise", "a:stderr", "r" * 5_000_000, "a:f"]
    assert run.starts == 1


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("dies", "ended with exit status 1 at its start: the last words"),
        ("broken", "could not start JAX: ImportError: no jax"),
        ("silent", "did not start JAX within 0.5 s"),
    ],
)
def test_a_bad_start_is_told_once_with_what_was_set(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, start: str, says: str
) -> None:
    monkeypatch.setattr(process, "START_TIMEOUT", 0.5 if start == "silent" else 20)
    run = Client(with_start(setup, start))
    found = words(run, jobs("a:f", "a:g"))
    assert found[0] == found[1]
    assert says in found[0]
    assert sys.executable in found[0]
    assert "JAX_FLAG=on" in found[0]
    assert "START" in found[0] and f"START={start}" not in found[0]  # it may be a secret
    assert run.starts == 1


@pytest.mark.parametrize("python", ["/no/such/python", "no-such-python", "a\0b"])
def test_an_interpreter_that_is_not_there(setup: Setup, python: str) -> None:
    found = words(Client(Setup(python, setup.environment, ())), jobs("a:f"))
    assert found[0].startswith(f"jaxpr_python: {python!r} can't be started: ")


# --- when workers start, and end


def test_a_worker_that_began_early_is_the_one_that_traces(setup: Setup) -> None:
    run = Client(setup)
    run.begin()
    began = run.process
    assert began is not None and not began.is_ready
    time.sleep(0.3)  # its message waits in the pipe
    assert words(run, jobs("a:f", "a:g")) == ["a:f", "a:g"]
    assert run.starts == 1


def test_a_worker_that_nobody_needs_ends_with_its_client(setup: Setup) -> None:
    for close in (True, False):
        run = Client(setup)
        run.begin()
        assert run.process is not None and run.process.child is not None
        pid = run.process.child.pid
        if close:
            run.close()
        del run
        assert ends(pid)


# JAX, if another test has imported it, and Python warn of a fork beside threads.
@pytest.mark.filterwarnings("ignore:.*fork\\(\\):Warning")
def test_a_fork_neither_keeps_nor_ends_a_worker(setup: Setup) -> None:
    run = Client(setup)
    run.begin()
    assert run.process is not None
    pipes = run.process.streams
    child = os.fork()
    if not child:
        run.close()
        os._exit(0 if pipes.closed and pipes.input.closed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert words(run, jobs("a:f")) == ["a:f"] and run.starts == 1


def test_a_worker_that_has_grown_is_renewed_between_jobs(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOOK", 2)
    run, targets = Client(setup), [f"a:f{number}" for number in range(6)]
    assert words(run, jobs(*targets)) == targets
    assert run.starts == 1
    megabytes = [50, 50, 50, 50, 50, 50, 250].__getitem__  # by the answers of a worker
    monkeypatch.setattr(descendants, "memory", lambda pid: megabytes(run.process.answered) * 2**20)
    run = Client(setup)
    assert words(run, jobs(*targets, "a:g", "a:h")) == [*targets, "a:g", "a:h"]
    assert run.starts == 2  # after the sixth
    # A library is no growth, or it would be imported again and again; small modules are.
    megabytes = [50, 50, 50, 250, 250, 250, 250].__getitem__
    run = Client(setup)
    again = ["a:f", "a:g", "b:f", "b:g", "b:h", "b:i"]
    assert words(run, jobs(*again)) == again and run.starts == 1
    megabytes = range(50, 500, 10).__getitem__
    run = Client(setup)
    modules = [f"m{number}:f" for number in range(20)]
    assert words(run, jobs(*modules)) == modules and run.starts == 2


def test_one_loop_serves_several_workers(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WORTH_ANOTHER", 4)
    monkeypatch.setattr(client, "_processors", lambda: 2)
    calls = 0

    def idle() -> bool:
        nonlocal calls
        calls += 1
        return calls % 3 > 0

    targets = ["a:f", "bad:f", "a:alone", "a:kill", "a:kill|grad", "a:child", "a:big", "b:f"]
    threads = threading.active_count()
    replies = dict(client.run(setup, jobs(*targets), idle=idle))
    assert len(replies) == len(targets) and calls > 3
    errors = {job.request.target: reply.error for job, reply in replies.items() if reply.error}
    assert sorted(errors) == ["a:kill", "bad:f"]
    assert threading.active_count() == threads
    walk = client.run(setup, jobs("a:f", "a:g", "b:f", "b:g"), idle=idle)
    next(walk)
    running = {child.pid for child in psutil.Process().children()}
    assert len(running) == 2
    walk.close()
    assert all(map(ends, running))


def test_few_jobs_have_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_processors", lambda: 64)
    counts = [client._workers(jobs) for jobs in (1, 240, 999, 1000, 10_000)]
    assert counts == [1, 1, 1, 2, client.MOST_WORKERS]
