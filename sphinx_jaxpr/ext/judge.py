"""What to tell the author, from the outcomes of all pages, at every build."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from sphinx.util import logging

from ..program.characters import on_one_line
from ..program.quoted import message
from ..tracing import outcomes
from ..tracing.grammar import nearest, shorten
from ..tracing.outcomes import describe, megabytes
from ..tracing.paths import Paths
from . import config as settings
from . import elide, notes, pointing
from .engine import Engine, Outcome
from .records import Block, Finding, Gallery

logger = logging.getLogger(__name__)

#: Longest finding, in characters: an error of JAX with its place and hint, a claim's two sides.
MAX_FINDING = 1_500

_SUBTYPES = {"option": "option", "timeout": "timeout", "raises": "raises", "lock": "lock"}
#: Failures of a whole module or of the worker: told once, with a count.
_WIDE = ("import", "worker")


#: Where an error comes from: errors of one cause are one finding.
_Cause = tuple[Any, ...]


def findings(engine: Engine, galleries: dict[str, list[Gallery]]) -> list[Finding]:
    """All findings about the blocks of ``galleries``, in the order of the pages."""
    found: list[Finding] = []
    wide: dict[_Cause, list[int]] = {}  # place in ``found``, number of other blocks
    for page in galleries.values():
        for gallery in page:
            found.extend(gallery.findings)
            found.extend(_of_gallery(engine, gallery, wide, len(found)))
    found.extend(_of_modules(engine, galleries))
    found.extend(_of_glossary(engine, galleries))
    for place, others in wide.values():
        if others:
            more = f" ({others} more block{'s' * (others != 1)} for the same reason)"
            found[place] = replace(found[place], message=found[place].message + more)
    return found


def _of_modules(engine: Engine, galleries: dict[str, list[Gallery]]) -> list[Finding]:
    """Modules that pages name and that several import roots have, each at its first block."""
    named: dict[str, Finding] = {}
    if engine.mode != "trace":
        return []
    for gallery in (gallery for page in galleries.values() for gallery in page):
        for request in (block.request for block in gallery.blocks if not block.pasted):
            for module in request.modules if request else ():
                if module not in named:
                    text = _ambiguity(engine.paths, module)
                    named[module] = Finding("option", text, gallery.source, gallery.line)
    return [finding for finding in named.values() if finding.message]


def _ambiguity(paths: Paths, module: str) -> str:
    """Between which files an import of a module chooses, ``""`` where there is one at most."""
    files = paths.places(module)
    if len(files) < 2:
        return ""
    first, *others = (paths.stored(file) for file in files)
    name = paths.other_name(files[1])
    instead = f"; name the other one {name!r}" if name else ""
    hidden = f"{first} is traced, {' and '.join(others)} hidden"
    return f"the module {module!r} is in {len(files)} import roots: {hidden}{instead}"


def _of_glossary(engine: Engine, galleries: dict[str, list[Gallery]]) -> list[Finding]:
    """What ``jaxpr_glossary`` names and nobody knows: terms, and primitives."""
    meanings = engine.meanings
    if not meanings.terms_of or engine.mode == "skip":
        return []
    blocks = [block for page in galleries.values() for gallery in page for block in gallery.blocks]
    outcomes = [engine.outcome(block) for block in blocks]
    met = {name for one in outcomes if one and not one.error for name in one.seen.names}
    known = {*meanings.glossary.known(), *met}
    messages = []
    for name, term in meanings.terms_of.items():
        if term.lower() not in meanings.terms:
            near = nearest(term.lower(), meanings.terms)
            messages.append(f"no glossary of this project has the term {shorten(term)}{near}")
        if name not in known and meanings.glossary.entry(name) is None:
            near = nearest(name, sorted(known))
            messages.append(
                f"{shorten(name)} is not a primitive that JAX's jaxprs or these pages have{near}"
            )
    place, _, line = settings.place_of("jaxpr_glossary", engine.confdir).rpartition(":")
    return [
        Finding("glossary", f"jaxpr_glossary: {message}", place, int(line)) for message in messages
    ]


def report(found: list[Finding], srcdir: str, family: str = "jaxpr") -> list[Finding]:
    """Warn, each finding once at its place; what was told."""
    short = (replace(one, message=message(one.message, MAX_FINDING)) for one in found)
    told = list(dict.fromkeys(short))
    for finding in told:
        source = finding.source
        if "docstring of" not in source:
            source = os.path.normpath(os.path.join(srcdir, source))
        logger.warning(
            "%s",
            finding.message,
            location=f"{on_one_line(source)}:{finding.line}",
            type=family,
            subtype=finding.kind,
        )
    return told


def _subtype(kind: str) -> str:
    return _SUBTYPES.get(kind, "trace")


def _cause(error: dict[str, Any]) -> _Cause:
    """The raising line of user code where there is one, else the message."""
    frames = error.get("frames")
    where = (frames[-1]["file"], frames[-1]["line"]) if frames else error["message"]
    return error["kind"], error["type"], where, error.get("option")


def _line(gallery: Gallery, block: Block, error: dict[str, Any]) -> int:
    """The line of the option that is at fault, or of the directive."""
    option = error.get("option")
    if option == "transforms" or error["kind"] == "lock":
        return block.line
    return gallery.line_of(option or "")


def _of_gallery(
    engine: Engine, gallery: Gallery, wide: dict[_Cause, list[int]], offset: int
) -> list[Finding]:
    """Findings about one directive; they will stand from ``offset`` on."""
    found: list[Finding] = []
    alike: dict[_Cause, list[Block]] = {}
    base_matters = _base_matters(engine, gallery)
    for block in gallery.blocks:
        outcome = engine.outcome(block)
        if outcome is None or (not block.label and not base_matters):
            continue
        expects = block.request is not None and block.request.expects_error
        if expects and not _is_unlocked(outcome):
            if not gallery.raises:  # it could not be read, which was said
                continue
            text = unmet(engine, gallery, block)
            if text:
                found.append(Finding("raises", text, gallery.source, gallery.line))
        elif outcome.error is not None:
            error = outcome.error
            cause = _cause(error)
            if error["kind"] == "option" and gallery.findings:
                continue  # an option that was not understood is missing now
            if error["kind"] not in _WIDE and not error.get("whole_module"):
                alike.setdefault(cause, []).append(block)
            elif cause in wide:
                wide[cause][1] += 1
            else:
                wide[cause] = [offset + len(found), 0]
                subtype = _subtype(error["kind"])
                found.append(Finding(subtype, describe(error), gallery.source, gallery.line))
    found.extend(_of_cause(engine, gallery, blocks) for blocks in alike.values())
    paths = [*notes.placed(engine, gallery), *elide.pointed_at(engine, gallery)]
    found.extend(pointing.findings(paths))
    found.extend(_constants(engine, gallery))
    return found


def _is_unlocked(outcome: Outcome) -> bool:
    """Whether a block has nothing in the lock, so that nothing is known of its error."""
    return outcome.error is not None and outcome.error["kind"] == "lock"


def _of_cause(engine: Engine, gallery: Gallery, blocks: list[Block]) -> Finding:
    first, *others = blocks
    outcome = engine.outcome(first)
    assert outcome is not None and outcome.error is not None
    text = f"{first.name}: {describe(outcome.error)}"
    if others:
        text += f" (and so for {', '.join(block.name for block in others)})"
    line = _line(gallery, first, outcome.error)
    return Finding(_subtype(outcome.error["kind"]), text, gallery.source, line)


def _base_matters(engine: Engine, gallery: Gallery) -> bool:
    """A hidden base that can't be traced alone is no fault where its variants can.

    (A function that uses an axis name traces only under the transform that binds it.)
    """
    base, *variants = gallery.blocks
    if not gallery.tolerates(base):
        return True
    return all((o := engine.outcome(block)) is None or o.error is not None for block in variants)


def unmet(engine: Engine, gallery: Gallery, block: Block) -> str:
    """How a block differs from the error that is expected of it, or ``""``."""
    outcome = engine.outcome(block)
    error = (outcome and outcome.error) or (engine.result(block) or {}).get("error")
    found = outcomes.unmet(gallery.raises, error)
    return f"{block.name}: {found}" if found else ""


def _constants(engine: Engine, gallery: Gallery) -> list[Finding]:
    limit = settings.value(engine.app.config, "jaxpr_max_constants")
    for block in gallery.blocks:
        outcome = engine.outcome(block)
        total = outcome.seen.captured if outcome else 0
        if total > limit:
            sizes = (engine.result(block) or {}).get("constants", [])
            listed = ", ".join(f"{kind} ({megabytes(size)})" for kind, size in sizes[:5])
            return [
                Finding(
                    "trace",
                    f"{block.name}: {megabytes(total)} captured: {listed}; pass large arrays as"
                    f" arguments, or raise jaxpr_max_constants ({limit})",
                    gallery.source,
                    gallery.line,
                )
            ]
    return []
