"""What user code does to processes: neither hangs a build nor outlives it.

Each behaviour runs in the worker, on import, beside a good block that has to be shown.  The short
form has a worker without JAX, so that its start costs little; the long one is real builds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import psutil

from sphinx_jaxpr.tracing import process
from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.jobs import Job, Setup
from sphinx_jaxpr.tracing.request import Request
from tests.support import Project
from tests.tracing.test_replies import GOOD, PLAYER

from .rows import NotHere, as_row

#: In the arguments or the environment of all that a run starts.
MARK = "FAULTS_CHILDREN"
#: Seconds that a program may take, and that what outlived a build is waited for.
TIMEOUT, PATIENCE = 1.0, 5.0


@dataclass(frozen=True)
class Behaviour:
    """What is done; ``says`` is found in the block's error, ``""`` where a program is shown."""

    name: str
    code: str
    says: str = ""


_BEGIN = """
import os, signal, subprocess, sys, threading, time
NAP = [sys.executable, "-S", "-c", "import time; time.sleep(1000)", os.environ["FAULTS_CHILDREN"]]
def pipes():
    import stat
    found = []
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > 2 and stat.S_ISFIFO(os.fstat(fd).st_mode): found.append(fd)
        except OSError: pass
    return found
def write(data):
    for fd in pipes():
        try: os.write(fd, data)
        except OSError: pass
def daemon(work=lambda: time.sleep(1000)):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try: work()
            finally: os._exit(0)
        os._exit(0)
"""

BEHAVIOURS = [
    # -- children that stay
    Behaviour("child", "subprocess.Popen(NAP)"),
    Behaviour("session", "subprocess.Popen(NAP, start_new_session=True)"),
    Behaviour("daemon", "daemon()"),
    Behaviour("daemon-program", "daemon(lambda: os.execv(NAP[0], NAP))"),
    Behaviour("no-environment", "subprocess.Popen(NAP, start_new_session=True, env={})"),
    Behaviour("orphan", "daemon(lambda: os.execve(NAP[0], NAP, {}))"),
    Behaviour("spawned", "os.posix_spawn(NAP[0], NAP, os.environ, setsid=True)"),
    Behaviour("group", "subprocess.Popen(NAP, process_group=0)"),
    Behaviour("pipes", "subprocess.Popen(NAP, close_fds=False, start_new_session=True)"),
    Behaviour("inherited", "[os.set_inheritable(f, True) for f in pipes()];"
              " subprocess.Popen(NAP, close_fds=False, start_new_session=True)"),
    Behaviour("deaf", "daemon(lambda: ([signal.signal(s, signal.SIG_IGN) for s in"
              " (1, 2, 3, 13, 14, 15, 18)], time.sleep(1000)))"),
    Behaviour("stopped", "daemon(lambda: os.kill(os.getpid(), signal.SIGSTOP))"),
    Behaviour("many", "[subprocess.Popen(NAP, start_new_session=n % 2 == 0) for n in range(8)]"),
    Behaviour("generations", """
def work():
    for _ in range(5):
        os.fork(); os.setsid() if os.getpgrp() != os.getpid() else None
    time.sleep(1000)
daemon(work)"""),
    Behaviour("forks-on", """
def work():
    while True:
        if os.fork(): os._exit(0)
        time.sleep(0.002)
daemon(work)"""),
    Behaviour("leaves-on", """
def work():
    while True:
        if os.fork(): os._exit(0)
        os.setsid(); time.sleep(0.01)
daemon(work)"""),
    Behaviour("loops", "daemon(lambda: [None for _ in iter(int, 1)])"),
    Behaviour("prints", "daemon(lambda: [os.write(2, b'noise') for _ in iter(int, 1)])"),
    Behaviour("leader", "os.setpgid(0, 0) if os.getpgrp() != os.getpid() else daemon()"),
    Behaviour("threads", "for _ in '123': threading.Thread(target=time.sleep, args=[999]).start()"),
    Behaviour("shouting-thread", "threading.Thread(target=lambda:"
              " [os.write(1, b'x' * 999) for _ in iter(int, 1)]).start()"),
    Behaviour("at-exit", "import atexit; atexit.register(time.sleep, 1000)"),
    Behaviour("signals", "[signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 13, 14, 15)]"),
    Behaviour("std", "os.close(0); os.close(1)"),
    # -- the end of the worker
    Behaviour("child-abort", "os.fork() or time.sleep(1000)\nos.abort()", "ended by SIGABRT"),
    Behaviour("daemon-abort", "daemon(); time.sleep(0.1); os.abort()", "ended by SIGABRT"),
    Behaviour("child-exit", "os.fork() or time.sleep(1000)\nos._exit(0)", "with exit status 0"),
    Behaviour("writes-on", "def late():\n while True: time.sleep(0.05); write(b'{}')\n"
              "daemon(late); os._exit(5)", "with exit status 5|can't be used"),
    Behaviour("exit", "os._exit(7)", "with exit status 7"),
    Behaviour("term", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", "ended by SIGTERM"),
    Behaviour("alarm", "signal.alarm(1) if 0 else signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
              "time.sleep(9)", "ended by SIGALRM"),
    Behaviour("kill-group", "os.killpg(0, signal.SIGKILL)", "ended by SIGKILL"),
    Behaviour("kill-parent", "subprocess.Popen(NAP, start_new_session=True); daemon()\n"
              "os.kill(os.getppid(), signal.SIGKILL); time.sleep(9)", "ended by SIGKILL"),
    Behaviour("term-parent", "daemon(); os.kill(os.getppid(), signal.SIGTERM); time.sleep(9)",
              "ended by SIGTERM"),
    Behaviour("parents-group", "os.killpg(os.getpgid(os.getppid()), signal.SIGKILL); time.sleep(9)",
              "ended by SIGKILL"),
    Behaviour("stop-parent", "os.kill(os.getppid(), signal.SIGSTOP); daemon()"),
    Behaviour("stop-parent-exit", "daemon(); os.kill(os.getppid(), signal.SIGSTOP); os._exit(3)",
              "with exit status 3"),
    # -- time
    Behaviour("daemon-loop", "daemon()\nwhile True: pass", "still"),
    Behaviour("stop", "os.kill(os.getpid(), signal.SIGSTOP)", "still"),
    Behaviour("stop-group", "os.fork(); os.killpg(0, signal.SIGSTOP)", "still"),
    # -- the channel
    Behaviour("close-all", "os.closerange(3, 65536); time.sleep(9)", "closed its channel|still"),
    Behaviour("close-and-go", "os.closerange(3, 65536)", "exit status 1|closed its channel|still"),
    Behaviour("replace", "n = os.open(os.devnull, os.O_RDWR)\nfor f in pipes(): os.dup2(n, f)",
              "exit status 0|closed its channel|still"),
    Behaviour("output", "for f in pipes(): os.dup2(2, f)", "exit status|closed its channel|still"),
    Behaviour("exec", "os.execv(NAP[0], NAP)", "closed its channel|still"),
    Behaviour("exec-true", "os.execvp('true', ['true'])", "exit status 0"),
    Behaviour("line", "write(b'{\"id\": 1, \"result\": 5}\\n')", "can't be used"),
    Behaviour("half", "write(b'{\"id\": 1')", "can't be used"),
    Behaviour("forged", "write(b'jaxpr ' + b'0' * 32 + b' 2\\n{}\\n')", "can't be used"),
    Behaviour("ready", "write(b'{\"ready\": true}\\n')", "can't be used"),
    Behaviour("child-writes", "daemon(lambda: [write(b'7') for _ in range(99999)])\n"
              "time.sleep(0.1)"),
    Behaviour("child-opens", "there = [f'/proc/{os.getpid()}/fd/{n}' for n in pipes()]\n"
              "daemon(lambda: [os.write(os.open(p, os.O_WRONLY), b'7') for p in there])\n"
              "time.sleep(0.5)",
              "can't be used"),
    Behaviour("close-under-child", "daemon(); os.closerange(3, 65536); time.sleep(9)",
              "closed its channel"),
    Behaviour("thread-writes", "threading.Thread(target=write, args=(b'x',)).start()\n"
              "time.sleep(0.2)",
              "can't be used"),
    Behaviour("fills", "write(b'f' * 9_000_000)", "can't be used"),
    Behaviour("not-waiting", "[os.set_blocking(f, False) for f in pipes()]", "|exit status 1"),
    Behaviour("late-abort", "threading.Timer(0.3, os.abort).start()", "|ended by SIGABRT"),
    Behaviour("late-writes", "threading.Timer(0.3, write, (b'late',)).start()", "|can't be used"),
]  # fmt: skip


def left(mark: str) -> list[str]:
    """Processes with a mark that still run after a while; they are ended here."""
    until = time.monotonic() + PATIENCE
    while (found := list(_marked(mark))) and time.monotonic() < until:
        time.sleep(0.1)
    names = []
    for one in found:
        with contextlib.suppress(psutil.Error):
            names.append(" ".join(one.cmdline())[:80])
            one.kill()
    return names


def _marked(mark: str) -> Iterator[psutil.Process]:
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if one.status() == psutil.STATUS_ZOMBIE or one.pid == os.getpid():
                continue
            if mark in one.cmdline() or mark in one.environ().values():
                yield one


def problems(behaviour: Behaviour, message: str, shown: bool) -> list[str]:
    """What differs from what has to come of a behaviour."""
    if shown:
        return [] if not behaviour.says or behaviour.says.startswith("|") else ["was shown"]
    wanted = behaviour.says.lstrip("|")
    if not wanted or not re.search(wanted, message):
        return [f"{message[:150]!r} instead of {wanted or 'a program'!r}"]
    return []


def without_jax(chosen: list[Behaviour]) -> list[str]:
    """All of it in one run of a client whose worker has no JAX."""
    mark = uuid.uuid4().hex
    plays = {b.name: [{"do": _BEGIN + b.code}, {"say": GOOD}] for b in chosen}
    lost = []
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(process, "WORKER", PLAYER):
        file = Path(folder) / "plays"
        file.write_text(json.dumps({"*": [{"say": GOOD}], **plays}))
        client = Client(Setup(sys.executable, {**os.environ, "PLAYS": str(file), MARK: mark}, ()))
        jobs = [Job(b.name, Request(b.name), TIMEOUT) for b in chosen]
        good = [Job(f"good {b.name}", Request("good:f"), 20) for b in chosen]
        mixed = [job for pair in zip(jobs, good, strict=True) for job in pair]
        began = time.monotonic()
        replies = {job.key: reply for job, reply in client.run(mixed)}
        took = time.monotonic() - began
    if took > 60 + 3 * TIMEOUT * len(chosen):
        lost.append(f"took {took:.0f} s")
    for behaviour in chosen:
        error = replies[behaviour.name].error
        for problem in problems(behaviour, error.message if error else "", error is None):
            lost.append(f"{behaviour.name}: {problem}")
        if (failure := replies[f"good {behaviour.name}"].error) is not None:
            lost.append(f"{behaviour.name}: the good block was lost: {failure.message}")
    return lost + [f"still running: {name}" for name in left(mark)]


def in_builds(chosen: list[Behaviour]) -> list[str]:
    """All of it on one page of a real build, a good block behind each."""
    mark = uuid.uuid4().hex
    files, page = {}, "# Page\n\n"
    for place, behaviour in enumerate(chosen):
        files[f"src/bad{place}.py"] = f"{_BEGIN}{behaviour.code}\ndef f(x):\n    return x * 2\n"
        page += f"```{{jaxpr-transform}} bad{place}:f\n:name: b{place}\n:args: x=f32[2]\n```\n\n"
        page += f"```{{jaxpr-transform}} layers:dense\n:name: g{place}\n:timeout: 60\n"
        page += f":args: x=f32[4,{place + 1}], w=f32[{place + 1},4], b=f32[4]\n```\n\n"
    conf = f"jaxpr_timeout = {TIMEOUT + 4}\njaxpr_env = {{{MARK!r}: {mark!r}}}\n"
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), {**files, "docs/index.md": page}, conf)
        built = project.build(timeout=60 + 20 * len(chosen), env={MARK: mark})
        if built.code != 0:
            return [f"exit {built.code}: {built.stderr[-300:]}"]
        shown, text = built.texts("index"), built.stderr
    lost = []
    for place, behaviour in enumerate(chosen):
        said = [line for line in text.splitlines() if re.search(rf"\bbad{place}\b", line)]
        ours = f"jaxpr-b{place}" in shown and "mul" in shown[f"jaxpr-b{place}"]
        lost += [f"{behaviour.name}: {p}" for p in problems(behaviour, " ".join(said), ours)]
        if "tanh" not in shown.get(f"jaxpr-g{place}", ""):
            lost.append(f"{behaviour.name}: the good block was lost")
    return lost + [f"still running: {name}" for name in left(mark)]


def children(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """Daemons, forks, signals, closed and forged channels beside good blocks, without JAX.

    Once each, in another order each time; from the second time on in real builds.
    """
    if not sys.platform.startswith("linux"):
        raise NotHere("Linux's /proc")
    lost, tried = [], 0
    for turn in range(count):
        chosen = chance.sample(BEHAVIOURS, len(BEHAVIOURS))
        tried += len(chosen)
        if turn == 0:
            lost += without_jax(chosen)
            continue
        for start in range(0, len(chosen), 10):
            lost += in_builds(chosen[start : start + 10])
    return tried, lost


_CALLER = """
import os, sys
from sphinx_jaxpr.tracing import process
from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.jobs import Job, Setup
from sphinx_jaxpr.tracing.request import Request
process.WORKER = sys.argv[1]
client = Client(Setup(sys.executable, dict(os.environ), ()))
print(*client.run([Job("", Request("stays"), 100)]))
"""
_STAYS = """
daemon(); daemon(lambda: os.execve(NAP[0], NAP, {}))
subprocess.Popen(NAP, start_new_session=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
open(os.environ["PLAYS"] + ".there", "w").close()
while True: pass
"""


def callers(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """Who traces is ended while user code loops beside its daemons: all of them end too.

    Once the keeper was stopped before.
    """
    if not sys.platform.startswith("linux"):
        raise NotHere("Linux's /proc")
    lost = []
    ways = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    for turn in range(count):
        how, mark = ways[turn % len(ways)], uuid.uuid4().hex
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plays"
            first = "os.kill(os.getppid(), signal.SIGSTOP)\n" if how is signal.SIGKILL else ""
            file.write_text(json.dumps({"*": [], "stays": [{"do": _BEGIN + first + _STAYS}]}))
            main = subprocess.Popen(
                [sys.executable, "-c", _CALLER, PLAYER],
                env={**os.environ, "PLAYS": str(file), MARK: mark},
                stderr=subprocess.DEVNULL,
            )
            until = time.monotonic() + 60
            while not Path(f"{file}.there").exists() and time.monotonic() < until:
                time.sleep(0.02)
            there = len(list(_marked(mark)))
            main.send_signal(how)
            main.wait(30)
        if there < 6:  # itself, the keeper, the worker and three that were started
            lost.append(f"{how.name}: only {there} processes were there")
        lost += [f"{how.name}: still running: {name}" for name in left(mark)]
    return count, lost


ROWS = [as_row(children, short=1, long=2), as_row(callers, short=1, long=10)]
