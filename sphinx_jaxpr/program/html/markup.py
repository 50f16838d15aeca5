"""The HTML around a program: figure, header, footer, errors.  Without Sphinx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from ..matching.match import Match, match
from ..matching.summary import SummaryPart, acted
from ..model import Printed
from ..text import expect
from .code import Marks
from .code import code as code_lines
from .folding import folds


def to_html(printed: Printed, name: str = "program", base: Printed | None = None) -> str:
    """A program as HTML, in :doc:`the markup of a block </reference/html>`: one ``figure``.

    Its id is ``jaxpr-`` and ``name``.  Where ``base`` is given, equations are marked as
    kept, reshaped or added, and the header says how they differ.  The texts of the elements
    ``.jaxpr-line``, joined by newlines, are the text of the program to the letter.  The
    style sheet is the package's file ``static/jaxpr.css``.

    Raises :exc:`TypeError` for anything but what :func:`parse` returns.

    >>> f = parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }")
    >>> print(to_html(f, "f").splitlines()[0])
    <figure class="jaxpr" id="jaxpr-f">
    """
    for program in (printed,) if base is None else (printed, base):
        expect(program, Printed, "what `parse` returns")
    expect(name, str, "a name")
    matched = Match() if base is None else match(base, printed)
    identity = f"jaxpr-{name}"
    marks = Marks(changes=matched.change, folded=folds(printed))
    before, after = figure(
        identity,
        "jaxpr",
        opened=True,
        summary=call(name) + computed(acted(printed, base, matched), ()),
        body=code(code_lines(printed, {}, identity, marks)),
        about=(),
        has_caption=False,
    )
    return before + after


def figure(
    identity: str,
    classes: str,
    attributes: str = "",
    *,
    opened: bool,
    summary: str,
    body: str,
    about: Sequence[str],
    has_caption: bool,
) -> tuple[str, str]:
    """The HTML before and after the caption of a block.

    ``attributes`` (each after a blank), ``summary`` and ``body`` are HTML, ``about`` the
    texts of the footer.
    """
    state = ' open=""' if opened else ""
    before = (
        f'<figure class="{escape(classes)}" id="{escape(identity)}"{attributes}>\n'
        f"<details{state}><summary>{summary}</summary>\n"
        f"{body}</details>\n"
    )
    spans = " ".join(f'<span class="jaxpr-about">{escape(text)}</span>' for text in about)
    after = f'<span class="jaxpr-footer">{spans}</span>' if spans else ""
    if has_caption or after:
        before += "<figcaption>"
        after += "</figcaption>"
    return before, f"{after}</figure>\n"


def call(text: str) -> str:
    """The call that makes a program."""
    return f'<code class="jaxpr-call">{escape(text)}</code>'


def beside(label: str, words: str = "(beside {label})") -> str:
    """What a copy of the base is beside, so that no two headers are the same."""
    text = escape(words.format(label=label))
    return f' <span class="jaxpr-acted">{text}</span>' if label else ""


def context(text: str) -> str:
    """The statement that the call is under, if any."""
    return f'<code class="jaxpr-context">{escape(text)}</code> ' if text else ""


def code(lines: str) -> str:
    """The box around the lines of a program."""
    return f'<div class="jaxpr-code notranslate" translate="no">{lines}</div>'


def computed(acted: Sequence[SummaryPart], phases: Sequence[str]) -> str:
    """The computed line of the header, and a legend where there are several phases."""
    parts = []
    for part in acted:
        verb = f'<b class="jaxpr-verb">{escape(part.verb)}</b> ' if part.verb else ""
        parts.append(f'{verb}<span class="jaxpr-count">{escape(part.text)}</span>')
    line = f' <span class="jaxpr-acted">{"; ".join(parts)}</span>' if parts else ""
    legend = "".join(
        f' <span class="jaxpr-key" data-phase="{escape(phase)}">{escape(phase)}</span>'
        for phase in phases
    )
    return line + (f' <span class="jaxpr-legend">{legend.strip()}</span>' if legend else "")


def paragraph(text: str) -> str:
    """A message in the place of a program."""
    return f'<p class="jaxpr-message">{escape(text)}</p>\n'


_LINK = re.compile(r"(https://[\w./#?=&%+-]+\w)")


def error(headline: str, detail: str) -> str:
    """What went wrong, and the lines below it."""
    markup = f'<p class="jaxpr-message">{_linked(headline)}</p>\n'
    if detail:
        markup += f'<pre class="jaxpr-detail">{_linked(detail)}</pre>\n'
    return markup


def _linked(text: str) -> str:
    parts = [escape(part) for part in _LINK.split(text)]
    parts[1::2] = [f'<a href="{address}">{address}</a>' for address in parts[1::2]]
    return "".join(parts)
