"""Programs as a self-contained page of HTML."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from ..block import TracedBlock
from ..program.glossary.glossary import builtin
from ..program.html import definitions, markup
from ..program.html.code import Marks, code, equation_ids
from ..program.html.folding import folds
from ..tracing.options import starts_open
from ..tracing.result import error_parts

STATIC: Final = Path(__file__).parents[1] / "static"
#: The page around the blocks; these have their own colours.
_STYLE: Final = (
    "html { color-scheme: light dark; font-family: system-ui, sans-serif; }"
    " body { max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }"
)


def page(target: str, blocks: Sequence[TracedBlock], opened: str) -> str:
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
            *(_figure(block, opened, explained) for block in blocks),
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


def _figure(block: TracedBlock, opened: str, explained: definitions.Explained) -> str:
    identity = f"jaxpr-{block.name}"
    header = markup.call(block.call or block.name)
    if block.error is not None:
        kind = "jaxpr-raises" if block.is_expected else "jaxpr-error"
        state, body = True, markup.error(*error_parts(block.error))
    else:
        kind, body = "", _body(block, identity, explained)
        state = starts_open(opened, block.label, block.printed.text)
        header += markup.computed(block.header, block.phases)
    before, after = markup.figure(
        identity,
        f"jaxpr {kind}".strip(),
        opened=state,
        summary=header,
        body=body,
        about=block.about,
        has_caption=False,
    )
    return before + after


def _body(block: TracedBlock, identity: str, explained: definitions.Explained) -> str:
    printed, facts = block.printed, block.aligned.equations
    ids = equation_ids(printed, identity)
    meanings = definitions.of_block(builtin(), printed, facts, ids, {})
    explained.add(meanings, identity, block.label)
    marks = Marks(
        changes=block.match.change,
        links=definitions.links(meanings, explained.defined),
        folded=folds(printed),
        names=block.inputs.leaves,
    )
    return markup.code(code(printed, facts, identity, marks))
