"""Directives that go wrong, on pages in either markup, and what a build said of them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import Build

GOOD = {"args": "x=f32[4,4], w=f32[4,4], b=f32[4]"}


@dataclass(frozen=True)
class Case:
    """One directive, and the one warning that is due for it.

    ``kind`` is the subtype of the warning, ``says`` are parts of its text;
    it stands at the line of the option ``at``, or at the directive's own.
    ``page`` are parts of the block on the page; where ``shown`` holds that
    block is a program all the same.
    """

    name: str
    target: str
    options: Mapping[str, str]
    kind: str
    says: tuple[str, ...]
    at: str = ""
    shown: bool = False
    page: tuple[str, ...] = field(default=())

    def written(self, markdown: bool) -> list[str]:
        """The lines of the directive."""
        options = {"name": self.name, **self.options}
        if not markdown:
            lines = [f".. jaxpr-transform:: {self.target}"]
            return lines + [f"   :{key}: {text}".rstrip() for key, text in options.items()]
        lines = [f"```{{jaxpr-transform}} {self.target}"]
        return lines + [f":{key}: {text}".rstrip() for key, text in options.items()] + ["```"]

    def offset(self) -> int:
        """The line of the warning, counted from the directive's."""
        return 0 if not self.at else 1 + list({"name": "", **self.options}).index(self.at)


@dataclass
class Page:
    """A page that is put together line by line, so that each line's number is known."""

    markdown: bool
    lines: list[str] = field(default_factory=list)
    due: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Iterable[Case], markdown: bool) -> Page:
        """A title, the directives, and at the end one that is right."""
        page = cls(markdown, ["# Page", ""] if markdown else ["Page", "====", ""])
        for case in cases:
            page.due[case.name] = page.add(case.written(markdown)) + case.offset()
        page.add(Case("good", "layers:dense", GOOD, "", ()).written(markdown))
        return page

    def add(self, lines: Iterable[str], indent: str = "") -> int:
        """Put lines at the end; the number of the first."""
        first = len(self.lines) + 1
        self.lines += [indent + line if line else "" for line in lines]
        self.lines.append("")
        return first

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def suffix(self) -> str:
        return "md" if self.markdown else "rst"


@dataclass(frozen=True)
class Warned:
    """One warning of ours, as Sphinx printed it."""

    file: str
    line: int
    kind: str
    text: str

    @property
    def place(self) -> tuple[str, int]:
        """File name and line."""
        return Path(self.file).name, self.line


_WARNED = re.compile(
    r"^(?P<file>[^\n]*?):(?P<line>\d+): WARNING: (?P<text>.*?) \[jaxpr\.(?P<kind>\w+)\]$",
    re.MULTILINE | re.DOTALL,
)


def warned(build: Build) -> list[Warned]:
    """The warnings of a build; all of them must be ours and have a place."""
    found = [Warned(m["file"], int(m["line"]), m["kind"], m["text"])
             for m in _WARNED.finditer(build.stderr)]  # fmt: skip
    assert len(found) == len(build.warnings), build.stderr
    return found


def problems(build: Build, cases: Iterable[Case], page: Page, name: str) -> list[str]:
    """What differs from one warning each, at its line, and a block that says the same."""
    cases = list(cases)
    found = warned(build)
    wrong = []
    for case in cases:
        place = (f"{name}.{page.suffix}", page.due[case.name])
        here = [w for w in found if w.place == place]
        if len(here) != 1:
            wrong.append(f"{case.name}: {len(here)} warnings at {place}")
            continue
        wrong += [f"{case.name}: {part!r} not in {here[0].text!r}"
                  for part in case.says if part not in here[0].text]  # fmt: skip
        if here[0].kind != case.kind:
            wrong.append(f"{case.name}: is {here[0].kind}, not {case.kind}")
    if len(found) != len(cases):
        wrong.append(f"{len(found)} warnings for {len(cases)} cases:\n{build.stderr}")
    return wrong + blocks(build, cases, name)


def blocks(build: Build, cases: Iterable[Case], name: str) -> list[str]:
    """What is wrong with the blocks on the page."""
    soup = build.page(name)
    wrong = []
    for case in cases:
        figure = soup.find(id=f"jaxpr-{case.name}")
        if figure is None:
            wrong.append(f"{case.name}: no figure")
            continue
        failed = "jaxpr-error" in figure["class"]
        if failed == case.shown:
            wrong.append(f"{case.name}: error block: {failed}")
        text = " ".join(figure.get_text().split())
        expected = case.page or (() if case.shown else case.says[:1])
        wrong += [f"{case.name}: {part!r} not on the page: {text!r}"
                  for part in expected if part not in text]  # fmt: skip
    good = soup.find(id="jaxpr-good")
    if good is None or "tanh" not in good.get_text():
        wrong.append("the good block is not there")
    return wrong


def dedented(text: str) -> str:
    """A text as it stands in a file."""
    return textwrap.dedent(text).lstrip("\n")
