"""The HTML around a program: figure, header, footer, errors.  Without Sphinx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from ..matching.summary import SummaryPart


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
    """What stands before and after the caption of a block.

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
    said = f'<p class="jaxpr-message">{_linked(headline)}</p>\n'
    if detail:
        said += f'<pre class="jaxpr-detail">{_linked(detail)}</pre>\n'
    return said


def _linked(text: str) -> str:
    parts = [escape(part) for part in _LINK.split(text)]
    parts[1::2] = [f'<a href="{address}">{address}</a>' for address in parts[1::2]]
    return "".join(parts)
