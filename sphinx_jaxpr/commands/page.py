"""Programs as one page of HTML that needs no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from ..program.glossary.glossary import builtin
from ..program.html import definitions, markup
from ..program.html.code import Marks, code, equation_ids
from ..program.html.folding import folds
from ..program.matching import summary
from ..tracing.options import starts_open
from ..tracing.outcome import error_parts
from .traced import TracedProgram

STATIC: Final = Path(__file__).parents[1] / "static"
#: The page around the blocks; these bring colours of their own.
_STYLE: Final = (
    "html { color-scheme: light dark; font-family: system-ui, sans-serif; }"
    " body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }"
)


def page(target: str, programs: Sequence[TracedProgram], opened: str) -> str:
    """The whole page."""
    style = f"\n{_STYLE}\n{(STATIC / 'jaxpr.css').read_text('utf-8')}"
    script = f"\n{(STATIC / 'jaxpr.js').read_text('utf-8')}"
    explained = definitions.Explained({})
    title = escape(f"{target}: jaxprs")
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en" data-theme="auto">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            f"<main>\n<h1><code>{escape(target)}</code></h1>\n",
            *(_figure(program, opened, explained) for program in programs),
            explained.as_html(opened=False),
            f"</main>\n<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _policy(style: str, script: str) -> str:
    """Allows the page its own style sheet and script, by their hashes, and nothing else."""
    parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        parts.append(f"{name}-src 'sha256-{digest}'")
    return "; ".join(parts)


def _figure(program: TracedProgram, opened: str, explained: definitions.Explained) -> str:
    identity = f"jaxpr-{program.name}"
    header = markup.call(program.call or program.name)
    if program.error is not None:
        kind = "jaxpr-raises" if program.is_expected else "jaxpr-error"
        state, body = True, markup.error(*error_parts(program.error))
    else:
        kind, body = "", _body(program, identity, explained)
        state = starts_open(opened, program.label, program.printed.text)
        phases = summary.phases(program.printed, program.facts)
        header += markup.computed(program.acted, phases)
    before, after = markup.figure(
        identity,
        f"jaxpr {kind}".strip(),
        opened=state,
        summary=header,
        body=body,
        about=program.about,
        has_caption=False,
    )
    return before + after


def _body(program: TracedProgram, identity: str, explained: definitions.Explained) -> str:
    printed, facts = program.printed, program.facts
    ids = equation_ids(printed, identity)
    known = definitions.of_block(builtin(), printed, facts, ids, lambda primitive: ("", False))
    explained.add(known, identity, program.label)
    marks = Marks(
        changes=program.match.change,
        links=definitions.links(known, explained.defined),
        folded=folds(printed),
        names=program.inputs.leaves,
    )
    lines = code(printed, facts, identity, marks)
    return markup.code(lines)
