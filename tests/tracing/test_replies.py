"""Whatever comes over the worker's channel costs the block that is traced, and no other."""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing import client, process
from sphinx_jaxpr.tracing.checks import reply_problem
from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.frames import LONGEST, NOISE, Frames, Unusable, frame
from sphinx_jaxpr.tracing.jobs import Job, Limit, Setup
from sphinx_jaxpr.tracing.process import ThreadedStreams
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import ErrorKind, Needs, encoded
from tests.tracing.test_client import text_of

pytestmark = pytest.mark.once

PLAYER = str(Path(__file__).with_name("player.py"))

#: One of each of what a program, an error and a dependency can have.
PROGRAM: dict[str, Any] = {
    "jax": "0.10.2",
    "source": {"text": "def f(x): ...", "file": "/src/m.py", "line": 3},
    "call": "f",
    "args": [["x", "f32[3]"]],
    "inputs": [["x", "x"]],
    "mesh": "m",
    "settings": [["jax_enable_x64", "True"]],
    "undifferentiated": [["x.count", "i32[]"]],
    "text": "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }",
    "effects": ["debug"],
    "constants": [["f32[2]", 8]],
    "facts": {
        "programs": [
            {
                "inputs": ["f32[3]"],
                "constants": [["f32[2]", 8]],
                "outputs": ["f32[3]"],
                "effects": [],
                "unused": [0],
                "equations": [
                    ["sin", "", 0, ["f32[3]"], {"a": 1, "b": [True, {"text": "t"}]}, {"j": [0]}]
                ],
            }
        ],
        "sources": [["/src/m.py", 4, "f"]],
    },
}
ERROR: dict[str, Any] = {
    "kind": "trace",
    "type": "ValueError",
    "mro": ["ValueError", "Exception"],
    "message": "no",
    "frames": [{"file": "/src/m.py", "line": 3, "function": "f", "code": "raise"}],
    "traceback": "Traceback",
    "hint": "h",
    "module": "m",
    "option": "args",
    "searched": ["/src"],
}
NEEDS: dict[str, Any] = {
    "files": {"/src/m.py": "abc"},
    "folders": {"/src": "d"},
    "paths": {"/src/x": ""},
    "sizes": {"/src/y": "3"},
    "parts": {"/src/z": "z.py"},
    "modules": ["m"],
    "missing": ["fast"],
    "distributions": ["jax"],
    "variables": ["HOME"],
}
KNOWN = {key: PROGRAM[key] for key in ("jax", "source", "call", "args", "inputs")}
GOOD = {"result": PROGRAM, "deps": 0, "needs": NEEDS}
MESSAGES: list[dict[str, Any]] = [
    {"id": 7, "stage": "import", "module": "m"},
    {"id": 7, "stage": "trace"},
    {"id": 7, "again": "others"},
    {"id": 7, **GOOD},
    {"id": 7, "error": ERROR, "known": KNOWN, "deps": 0, "needs": NEEDS},
]
HOSTILE: list[Any] = [
    None, True, -1, 5, 2**70, 10**400, 1.5, float("inf"), "", "\ud800", "\0\x1b[31m\u202e",
    "javascript:alert(1)", "<script>", "x" * 5000, [], [[]], {}, {"a": {}}, [None], {"\ud800": 1},
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON data."""
    if path:
        yield path
    items: Any = data.items() if isinstance(data, dict) else ()
    if isinstance(data, list):
        items = enumerate(data)
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value in a place."""
    made = copy.deepcopy(data)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def test_good_messages_are_answers() -> None:
    for message in MESSAGES:
        assert reply_problem(message, 7) == ""
        assert reply_problem(message, 8) == "it answers another request"


def test_every_field_of_every_message_replaced_is_answered() -> None:
    refused = 0
    for message in MESSAGES:
        for path in places(message):
            for value in HOSTILE:
                problem = reply_problem(replaced(message, path, value), 7)
                refused += bool(problem)
                assert len(problem) < 400
                if not problem and "needs" in message:
                    Needs.from_json(replaced(message, path, value)["needs"])
            without = copy.deepcopy(message)
            inner = without
            for key in path[:-1]:
                inner = inner[key]
            del inner[path[-1]]
            reply_problem(without, 7)
    assert refused > 1500


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"id": 7}, "it has no result"),
        ({"id": 7, "result": 5, "deps": 0}, "the result is int, not an object"),
        ({"id": 7, "result": {}, "deps": 0}, "text is missing"),
        ({"id": 7, "result": {**KNOWN, "error": ERROR}, "deps": 0}, "text is missing"),
        ({"id": 7, "result": PROGRAM}, "deps is missing"),
        ({"id": 7, **GOOD, "ready": True}, "'ready' is not a field of a reply"),
        ({"id": 7, "ready": True}, "it has no result"),
        ({"id": 7, "again": 5}, "again is not a text, or is too long"),
        ({"id": 7, "stage": "import"}, "stage and module do not belong together"),
        ({"id": 7, **GOOD, "needs": {"files": {"a\0b": ""}}}, "needs.files is not an object of"),
        ({"id": 7, **GOOD, "deps": True}, "deps is not the number of a set"),
        ({"id": 7, "error": {**ERROR, "searched": [""]}}, "error.searched[0] is empty"),
        ({"id": True, **GOOD}, "it answers another request"),
    ],
)
def test_what_is_wrong_is_named(message: dict[str, Any], problem: str) -> None:
    assert reply_problem(message, 7).startswith(problem)


# --- frames


def test_frames_come_in_any_pieces() -> None:
    data = b"printed by a .pth file\n" + frame("t", {"a": 1}) + frame("t", {"b": "\n" * 9})
    for size in (1, 2, 7, 1000):
        frames, found = Frames("t"), []
        for start in range(0, len(data), size):
            frames.feed(data[start : start + size])
            while (message := frames.take()) is not None:
                found.append(message)
        assert found == [{"a": 1}, {"b": "\n" * 9}]
        assert frames.noise == b"printed by a .pth file\n"


@pytest.mark.parametrize(
    "data",
    [
        b"x", b"\n", b'{"id": 1', b'{"id": 1, "result": 5}\n', b"\0", b"\xff" * 9, b"jaxpr u 1\n",
        b"jaxpr t x\n", b"jaxpr t -1\n", b"jaxpr t 99999999999\n", b"jaxpr t " + b"9" * 5000,
        b"jaxpr t 2\n{}x", b"jaxpr t 2\n[]\n", b"jaxpr t 1\n5\n",
        b"jaxpr t 0\n\n", b"jaxpr t 10\n{\"a\":NaN}x\n", b"jaxpr t 9\n{\"a\":NaN}\n",
        b'jaxpr t 9\n{"\xff":123}\n', b"jaxpr t 100000\n" + b"[" * 100_000 + b"\n",
        b'jaxpr t 9000\n{"a":' + b"9" * 8994 + b"}\n",
        frame("t", {"a": 1})[:-3] + frame("t", {"a": 2}),
        frame("t", {"text": "long" * 9}).replace(b"long", b"lo!ng", 1) + frame("t", {"a": 2}),
        b"jaxpr t %d\n" % (LONGEST + 1),
    ],
)  # fmt: skip
def test_what_is_no_frame_shows_at_once(data: bytes) -> None:
    frames = Frames("t")
    frames.feed(frame("t", {"a": 0}))
    assert frames.take() == {"a": 0}
    frames.feed(data)
    with pytest.raises(Unusable) as raised:
        while frames.take() is not None:
            pass
        raise AssertionError("nothing was found wrong")
    assert len(str(raised.value)) < 300
    assert str(raised.value).isprintable()


def test_what_is_shown_is_the_same_each_time() -> None:
    frames = Frames("t")
    frames.feed(frame("t", {"a": 0}) + b'{"id": 1' + frame("t", {"id": 3**40}))
    frames.take()
    with pytest.raises(Unusable) as raised:
        frames.take()
    assert str(raised.value) == "it wrote '{\"id\": 1' where a message should begin"


def test_random_bytes_never_raise_anything_else() -> None:
    chance = random.Random(4)
    whole = frame("t", {"id": 1, "stage": "trace"})
    for _ in range(3000):
        data = bytearray(whole * 2)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        frames = Frames("t")
        frames.feed(bytes(data[: chance.randrange(len(data) + 1)]))
        try:
            while (message := frames.take()) is not None:
                reply_problem(message, 1)
        except Unusable:
            pass


def test_noise_before_the_first_frame_has_an_end() -> None:
    frames = Frames("t")
    frames.feed(b"y\n" * (NOISE // 2))
    assert frames.take() is None
    frames.feed(b"y\n")
    with pytest.raises(Unusable, match="no message"):
        frames.take()


# --- the client


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run targets with a worker that plays; messages of errors, or texts of programs."""
    monkeypatch.setattr(process, "WORKER", PLAYER)

    def run(plays: dict[str, Any], *targets: str, timeout: float = 30) -> tuple[list[str], Client]:
        file = tmp_path / "plays"
        file.write_text(json.dumps({"*": [{"say": GOOD}], **plays}))
        client = Client(Setup(sys.executable, {**os.environ, "PLAYS": str(file)}, ()))
        jobs = [Job(str(n), Request(target), timeout) for n, target in enumerate(targets)]
        found = dict.fromkeys(targets, "")
        for job, reply in client.run(jobs):
            found[job.request.target] = reply.error.message if reply.error else text_of(reply)
        return list(found.values()), client

    return run


FORGED: dict[str, list[dict[str, Any]]] = {
    "half": [{"raw": '{"id": '}, {"say": GOOD}],
    "line": [{"raw": '{"id": 1, "result": 5}\n'}],
    "digits": [{"raw": "7"}],
    "old": [{"raw": '{"id": 0, "result": {"text": "x"}}\n'}],
    "number": [{"say": {"result": 5, "deps": 0}}],
    "factless": [{"say": {"result": {**PROGRAM, "facts": {"programs": []}}, "deps": 0}}],
    "needs": [{"say": {**GOOD, "needs": {"files": 3}}}],
    "again": [{"say": {"again": 7}}],
    "ready": [{"say": {"ready": True, "id": "(none)"}}],
    "id": [{"say": {**GOOD, "id": 3}}],
    "set": [{"say": {**GOOD, "deps": 9, "needs": "(none)"}}],
    "deep": [{"head": "200000"}, {"raw": "[", "times": 200_000}, {"raw": "\n"}],
    "long": [{"head": str(LONGEST + 1)}],
    "longer": [{"head": "9" * 5000}],
    "inside": [{"head": "40"}, {"raw": "{}"}, {"say": GOOD}],
    "ever": [{"do": "import os\nwhile True: os.write(replies, b'y' * 4096)"}],
}  # fmt: skip


def test_each_forged_reply_costs_its_block_at_once(play: Any) -> None:
    plays = {f"m:{name}": done for name, done in FORGED.items()}
    targets = [name for forged in plays for name in (forged, f"good_{forged[2:]}:f")]
    found, _ = play(plays, *targets, timeout=1000)  # which nobody waits for
    by_name = dict(zip(targets, found, strict=True))
    for name, text in by_name.items():
        if name.startswith("good"):
            assert text == PROGRAM["text"], (name, text)
        else:
            start = f"the reply of the process that was tracing {name} can't be used: "
            assert text.startswith(start) and len(text) < 300, text


def test_a_second_reply_costs_no_other_block(play: Any) -> None:
    twice = [{"say": GOOD}, {"say": {**GOOD, "result": {**PROGRAM, "text": "forged"}}}]
    found, client = play({"m:twice": twice}, "m:twice", "m:f", "m:g")
    assert found == [PROGRAM["text"]] * 3
    assert client.starts == 3  # the one behind it was traced once more, alone


def test_a_set_of_dependencies_is_not_replaced(play: Any) -> None:
    other = {**GOOD, "needs": {"files": {}}}
    found, client = play({"m:second": [{"say": other}]}, "m:f", "m:second", "m:g")
    assert found == [PROGRAM["text"]] * 3
    assert client.starts == 3


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ([{"raw": "hello\n{}\n"}], ""),
        ([{"raw": "y\n" * NOISE}], "sent something unreadable at its start: it wrote 'y"),
        ([{"say": {"ready": 1}}], "could not start JAX: it gave no reason"),
        ([{"say": {"broken": ["x"]}}], "could not start JAX: it gave no reason"),
        ([{"say": {"broken": "x" * 9000}}], "could not start JAX: xxx"),
    ],
)
def test_hostile_starts(play: Any, start: list[Any], says: str) -> None:
    found, _ = play({"start": start}, "m:f", "m:g")
    assert found[0] == found[1]
    assert len(found[0]) < 2500
    assert says in found[0] if says else found[0] == PROGRAM["text"]


@pytest.mark.parametrize(
    ("python", "says"),
    [
        ("/bin/cat", "ended with exit status 1"),
        ("/bin/echo", "ended with exit status 0 at its start: "),
        ("/bin/true", "ended with exit status 0 at its start: no output"),
        ("yes", "sent something unreadable at its start"),
    ],
)
def test_interpreters_that_are_not_python(tmp_path: Path, python: str, says: str) -> None:
    if python == "yes":
        python = str(tmp_path / "yes")
        Path(python).write_text("#!/bin/sh\nexec yes\n")
        Path(python).chmod(0o755)
    began = time.monotonic()
    ((_, reply),) = Client(Setup(python, dict(os.environ), ())).run([Job("", Request("m:f"), 5)])
    assert reply.error is not None and says in reply.error.message
    assert time.monotonic() - began < 10


def test_an_endless_time_is_no_limit(play: Any) -> None:
    for endless in (float("inf"), 1e300):
        found, _ = play({}, "m:f", timeout=endless)
        assert found == [PROGRAM["text"]]


def test_all_tracing_has_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WORKER", PLAYER)
    file = tmp_path / "plays"
    stuck = [{"do": "import time; time.sleep(100)"}]
    file.write_text(json.dumps({"*": [{"say": GOOD}], "m:stuck": stuck}))
    limit = Limit(2)
    client = Client(Setup(sys.executable, {**os.environ, "PLAYS": str(file)}, ()), limit)
    jobs = [Job(name, Request(name), 50) for name in ("m:f", "m:stuck", "m:g", "n:h")]
    began = time.monotonic()
    with limit.counting():
        errors = {job.key: reply.error for job, reply in client.run(jobs)}
    assert time.monotonic() - began < 8
    assert errors.pop("m:f") is None
    text = "tracing stopped after 2 s, the limit of a whole build (jaxpr_total_timeout)"
    for error in errors.values():
        assert error is not None and error.whole_module
        assert (error.kind, error.message) == (ErrorKind.TIMEOUT, text)
    assert client.starts == 1 and limit.left <= 0


DIES: list[dict[str, Any]] = [{"do": "import os; os._exit(3)"}]


def test_processes_that_all_die_are_not_started_for_ever(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "DEATHS", 2)
    targets = [f"m{n}:f" for n in range(6)]
    found, run = play({"*": DIES}, *targets)
    assert run.starts == 2
    assert all("m0:f ended with exit status 3" in text for text in found[:1])
    assert len(set(found[2:])) == 1
    assert found[2].startswith(
        "2 processes in a row ended without a program, and jax.numpy.sin can't be traced either: "
    )


def test_blocks_that_die_in_a_row_cost_no_good_one(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "DEATHS", 2)
    dying = {f"m{n}:f": DIES for n in range(5)}
    found, run = play(dying, *dying, "good:f")
    assert all("ended with exit status 3" in text for text in found[:5])
    assert found[5] == PROGRAM["text"]
    assert run.starts == 6


def test_what_another_block_left_is_not_blamed_on_the_next(play: Any) -> None:
    bomb = "import threading, os; threading.Timer(0.3, os._exit, (9,)).start()"
    wait = [{"do": "import time; time.sleep(1)"}, {"say": GOOD}]
    steal = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    later = f"import threading\ndef stop():\n {steal}\nthreading.Timer(0.3, stop).start()"
    plays = {"m:bomb": [{"do": bomb}, {"say": GOOD}], "m:waits": wait}
    plays |= {"m:stops": [{"do": later}, {"say": GOOD}], "n:waits": wait}
    found, _ = play(plays, "m:bomb", "m:waits", "m:stops", "n:waits", timeout=3)
    assert found == [PROGRAM["text"]] * 4


def test_long_work_is_no_sign_of_a_leftover(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that says nothing may trace, or be stuck before: it has read its request."""
    monkeypatch.setattr(client, "BEGIN", 0.3)
    long = [{"do": "import time; time.sleep(1)"}, {"say": GOOD}]
    found, run = play({"m:long": long}, "m:f", "m:long", "m:g")
    assert found == [PROGRAM["text"]] * 3
    assert run.starts == 1


def test_programs_keep_their_texts(play: Any) -> None:
    message = {"id": 7, **GOOD}
    frames = Frames("t")
    frames.feed(frame("t", message))
    assert frames.take() == message and frames.encoded == encoded(PROGRAM)
    frames.feed(frame("t", {"id": 7}))
    assert frames.take() == {"id": 7} and frames.encoded is None


@pytest.mark.parametrize(
    "parts",
    [
        [b"{}"], [b"{}", b"{}", b"{}"], [b"[]", b"{}"], [b"{", b"{}"], [b"{}", b'{"sources":[]}'],
        [b'{"a":1,"a":2}', b"{}"], [b'{"a":NaN}', b"{}"], [b'{"a":\n1}', b"{}"], [b"\xff", b"{}"],
        [b'{"a":"\\ud800"}', b"{}"], [b'{"source":null}', b'{"source":null}'],
        [b'{"facts":{"sources":[]}}', b'{"sources":[]}'], [b"[" * 100_000, b"{}"],
        [b"{}", b'{"call":"/home"}'], [b'{"facts":{"sources":[]}}', b"{}"],
        [b'{"settings":[]}', b"{}"],
    ],
)  # fmt: skip
def test_texts_that_readers_would_not_agree_on(parts: list[bytes]) -> None:
    text = b"\t".join([b'{"id":7}', *parts])
    frames = Frames("t")
    frames.feed(b"jaxpr t %d\n%s\n" % (len(text), text))
    with pytest.raises(Unusable):
        frames.take()


def test_where_pipes_cant_be_watched_threads_read(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "streams", ThreadedStreams)
    plays = {"m:half": FORGED["half"], "m:dies": DIES, "m:ever": FORGED["ever"]}
    plays["m:daemon"] = [{"do": "import os, time\nif not os.fork(): time.sleep(1000)"}]
    plays["m:daemon"].append({"say": GOOD})
    began = time.monotonic()
    found, _ = play(plays, "m:f", "m:half", "m:daemon", "m:dies", "m:ever", "m:g")
    assert time.monotonic() - began < 29  # nothing waited for the time limit
    assert found[0] == found[2] == found[5] == PROGRAM["text"]
    assert "can't be used" in found[1] and "exit status 3" in found[3] and "wrote 'y" in found[4]
