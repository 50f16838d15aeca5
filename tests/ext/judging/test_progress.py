"""The status of long work: few lines, an estimate, and next to nothing for short work."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.ext.judging import progress
from sphinx_jaxpr.ext.judging.progress import TracingProgress, duration
from sphinx_jaxpr.tracing.grammar import Step
from sphinx_jaxpr.tracing.request import Request

pytestmark = pytest.mark.once

REQUEST = Request("m:f", steps=(Step("grad"), Step("vmap")))


class Log:
    """What is printed, by a clock that each program moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, colour: bool = False) -> None:
        self.lines: list[str] = []
        self.now = 100.0
        monkeypatch.setattr(progress.logger, "info", self.info)
        monkeypatch.setattr(progress, "bold", lambda text: f"\x1b[1m{text}" if colour else text)

    def info(self, form: str, *args: str, nonl: bool = False) -> None:
        self.lines.append((form % args if args else form) + ("" if nonl else "\n"))

    def run(self, total: int, seconds: float, verbosity: int = 0) -> list[str]:
        told = TracingProgress(total, verbosity, lambda: self.now)
        for _ in range(total):
            self.now += seconds
            told.step(REQUEST)
        told.end()
        return self.lines


def test_short_work_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Log(monkeypatch).run(240, 0.005) == ["tracing jaxprs... [100%] 240 programs\n"]
    assert Log(monkeypatch).run(1, 5.0) == ["tracing jaxprs... [100%] 1 program\n"]
    assert Log(monkeypatch).run(0, 5.0) == []


def test_long_work_has_few_lines_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Log(monkeypatch).run(10_000, 0.03)  # 5 minutes
    assert 4 <= len(lines) <= 9
    assert lines[0] == "tracing jaxprs... [  3%] 334 of 10000, about 5 min left\n"
    assert lines[-1] == "tracing jaxprs... [100%] 10000 programs\n"


def test_a_terminal_has_one_line_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = Log(monkeypatch, colour=True).run(100, 0.25)
    start = "\x1b[2K\x1b[1mtracing jaxprs... "
    assert lines[:2] == [f"{start}[  8%] 8 of 100, about 23 s left", "\r"]
    assert len(lines) < 2 * 25
    assert all(line.startswith(start) for line in lines[::2])
    assert lines[-1] == f"{start}[100%] 100 programs\n"


def test_verbose_mode_names_each_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Log(monkeypatch).run(2, 0.1, verbosity=1) == [
        "tracing jaxprs... [ 50%] m:f grad | vmap\n",
        "tracing jaxprs... [100%] m:f grad | vmap\n",
    ]


def test_times_in_words() -> None:
    assert [duration(n) for n in (0.2, 119, 121, 7199, 7300)] == [
        "1 s", "119 s", "2 min", "120 min", "2 h",
    ]  # fmt: skip
