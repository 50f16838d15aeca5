"""``show``: trace a function and print its jaxprs, as text, as a page of HTML or as JSON.

The options are those of the directive ``jaxpr-transform``, read by the same
grammar; the same worker process traces.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..program.html.code import equation_ids
from ..program.matching import summary
from ..program.text import on_one_line, spelled_all
from ..tracing import client, fingerprint
from ..tracing.grammar import nearest, shorten
from ..tracing.masking import PathMasker
from ..tracing.options import OPEN_WORDS, names_function, narrowed, read_open, read_options
from ..tracing.outcome import error_parts
from ..tracing.request import Job, Request, check_name, is_target, local_name, seconds, variants
from .traced import TracedProgram
from .usage import FAILED, WRONG, UsageError

# --- programs as text: what JAX prints, and lines around it that begin with ``#``


def text(target: str, programs: Sequence[TracedProgram], opened: str) -> str:
    """All programs, a blank line between two; one that failed is told elsewhere."""
    shown = [
        _expected(one) if one.is_expected else _one(one)
        for one in programs
        if one.is_expected or one.error is None
    ]
    return "\n\n".join(shown) + "\n" * bool(shown)


def _head(program: TracedProgram) -> str:
    return f"# {program.name}: {program.call}".rstrip(": ")


def _one(program: TracedProgram) -> str:
    acted = [f"{part.verb} {part.text}".strip() for part in program.acted]
    marks = summary.marks(program.printed, program.facts, program.match.change)
    return "\n".join(
        [
            _head(program),
            f"# {'; '.join([*acted, *program.about])}",
            program.printed.text,
            *(f"# {mark}: {letters}" for mark, letters in marks),
        ]
    )


def _expected(program: TracedProgram) -> str:
    """The error that was expected."""
    assert program.error is not None
    lines = "\n".join(filter(None, error_parts(program.error))).split("\n")
    return "\n".join([_head(program), *(f"# {line}".rstrip() for line in lines)])


# --- programs as JSON; the reference documents the form

#: Raised when a field changes its meaning or goes.
SCHEMA: Final = 1


def data(target: str, programs: Sequence[TracedProgram], opened: str) -> str:
    """One object with all programs."""
    version = next((one.result["jax"] for one in programs if "jax" in one.result), None)
    found = {
        "schema": SCHEMA,
        "target": target,
        "jax": version,
        "blocks": [_block(program) for program in programs],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _block(program: TracedProgram) -> dict[str, Any]:
    result = program.result
    found: dict[str, Any] = {
        "name": program.name,
        "label": program.label,
        "call": result.get("call"),
        "args": [{"name": name, "type": kind} for name, kind in result.get("args", ())],
    }
    if program.error is not None:
        shown = {key: program.error[key] for key in ("kind", "type", "message", "frames")}
        return {**found, "error": shown}
    return {
        **found,
        "text": program.printed.text,
        "summary": "; ".join(f"{part.verb} {part.text}".strip() for part in program.acted),
        "effects": result["effects"],
        "constants": [{"type": kind, "bytes": size} for kind, size in result["constants"]],
        "equations": _equations(program),
    }


def _equations(program: TracedProgram) -> list[dict[str, Any]]:
    """Every equation at any depth, in printed order."""
    ids = equation_ids(program.printed, f"jaxpr-{program.name}")
    found = []
    for equation in program.printed.walk():
        known = program.facts.get(equation.start)
        source = known.source if known else None
        found.append(
            {
                "id": ids[equation.start],
                "primitive": equation.primitive,
                "phase": (known.phase if known else "") or None,
                "change": program.match.change.get(equation.start),
                "types": list(known.types) if known else [v.type for v in equation.outputs],
                "source": dict(zip(("file", "line", "function"), source, strict=True))
                if source
                else None,
                "start": equation.start,
                "end": equation.end,
            }
        )
    return found


# --- ``show``: trace a function and print its jaxprs, as text, as a page of HTML or as JSON

#: Options with what ``argparse`` has to know of each.
OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "--args": {"metavar": "SPECS", "help": 'types of the arguments, as in "x=f32[8], w=f32[8,4]"'},
    "--static": {"metavar": "VALUES", "help": 'arguments bound before tracing, as in "n=3"'},
    "--transforms": {"metavar": "LIST", "help": 'as in "grad(argnums=w), vmap | jit as both"'},
    "--mesh": {"metavar": "MESH", "help": """trace under it, as in '{data: 8}'"""},
    "--name": {"metavar": "NAME", "help": "name of the function's own program"},
    "--raises": {"metavar": "TYPE", "help": "expected of the last: an error, Type: part of it"},
    "--jit": {"action": "store_true", "help": "wrap the function in jit first"},
    "--x64": {"action": "store_true", "help": "trace with 64-bit types"},
    "--own": {
        "metavar": "NAME=MODULE:FUNCTION",
        "action": "append",
        "default": [],
        "help": "a transform of your own, as in jaxpr_transforms; may be repeated",
    },
    "--path": {
        "metavar": "FOLDER",
        "action": "append",
        "default": [],
        "help": "a folder to import from, before the current one; may be repeated",
    },
    "--python": {"metavar": "FILE", "default": sys.executable, "help": "interpreter that traces"},
    "--timeout": {"metavar": "SECONDS", "default": "30", "help": "for each program (30)"},
    "--open": {
        "metavar": "WHICH",
        "default": "auto",
        "help": "blocks that start open in HTML: auto, all, none, or labels",
    },
    "--html": {"action": "store_true", "help": "print a whole page of HTML"},
    "--json": {"action": "store_true", "help": "print JSON"},
}

#: Errors of what was asked for, not of what was traced.
_USAGE: Final = ("option", "target")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell ``parser`` what the command takes."""
    parser.add_argument("target", help="package.module:function")
    for option, told in OPTIONS.items():
        if option not in ("--html", "--json"):
            parser.add_argument(option, **told)
    form = parser.add_mutually_exclusive_group()
    for option in ("--html", "--json"):
        form.add_argument(option, **OPTIONS[option])


def run(options: argparse.Namespace) -> int:
    """Trace, print what was traced, and say what was not."""
    requests = _requests(options)
    name = _name(options)
    labels = [label for label, _ in requests if label]
    opened = _opened(options.open, labels)
    traced = _traced(options, requests)
    programs = [
        TracedProgram(
            f"{name}.{label}" if label else name,
            label,
            found,
            traced[0],
            options.raises if request.expects_error else "",
        )
        for (label, request), found in zip(requests, traced, strict=True)
    ]
    status = _complain(programs)
    form = "html" if options.html else "json" if options.json else "text"
    if form == "html":
        from .page import page  # most calls need none of it

        output = page(options.target, programs, opened)
    elif form == "json":
        output = data(options.target, programs, opened)
    else:
        output = text(options.target, programs, opened)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Text goes to a terminal in the terminal's encoding; the others have their own.
        encoding = sys.stdout.encoding if form == "text" else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    sys.stdout.write(output)
    return status


def _requests(options: argparse.Namespace) -> list[tuple[str, Request]]:
    """What to trace, by label: the function itself, then its variants."""
    if not names_function(options.target):
        raise UsageError(
            f"{shorten(options.target)} does not name a function; expected package.module:function"
        )
    read = read_options(
        options.args or "", options.static or "", options.transforms or "", options.mesh or ""
    )
    if read.problems:
        raise UsageError(f"--{read.problems[0]}")
    base = read.request(options.target, jit=options.jit, x64=options.x64)
    for wide in narrowed(options.args or "") if not options.x64 else ():
        sys.stderr.write(f"warning: --args: {wide} is narrowed without --x64\n")
    own = {}
    for pair in options.own:
        key, _, path = pair.partition("=")
        if not (key.isidentifier() and ":" in path and is_target(path)):
            raise UsageError(f"--own: expected name=module:function, found {shorten(pair)}")
        own[key] = path
    try:
        requests = [("", base), *variants(base, read.transforms, own)]
    except ValueError as error:
        raise UsageError(f"--transforms: {error}") from None
    if options.raises:
        label, last = requests[-1]
        requests[-1] = (label, replace(last, expects_error=True))
    return requests


def _name(options: argparse.Namespace) -> str:
    if options.name is None:
        return local_name(options.target)
    problem = check_name(options.name, "--name:")
    if problem:
        raise UsageError(problem)
    return str(options.name)


def _opened(text: str, labels: list[str]) -> str:
    opened, unknown = read_open(text, labels)
    names = (*OPEN_WORDS, *labels)
    for word in unknown:
        listed = ", ".join(names)
        raise UsageError(f"--open: {shorten(word)} is none of {listed}{nearest(word, names)}")
    return opened


def _traced(
    options: argparse.Namespace, requests: list[tuple[str, Request]]
) -> list[dict[str, Any]]:
    """The outcome of each request, free of this machine's folders."""
    limit = seconds(options.timeout)
    if not limit:
        given = shorten(options.timeout)
        raise UsageError(
            f"--timeout: expected a number of seconds, found {given}; inf means no limit"
        )
    here = os.getcwd()
    for folder in options.path:
        if not os.path.isdir(folder):
            raise UsageError(f"--path: there is no folder {shorten(folder)}")
    roots = list(dict.fromkeys(os.path.abspath(folder) for folder in (*options.path, here)))
    setup = fingerprint.setup(options.python, roots, {}, 0, x64=options.x64)
    jobs = [Job(str(place), request, limit) for place, (_, request) in enumerate(requests)]
    found = {job.key: outcome for job, outcome in client.run(setup, jobs)}
    paths = PathMasker(here, roots)
    return [_shown(found[job.key], paths) for job in jobs]


def _shown(outcome: dict[str, Any], paths: PathMasker) -> dict[str, Any]:
    """What the worker or its client said, as it may be shown."""
    hide = {"result": paths.result, "known": paths.result, "error": paths.error}
    shown: dict[str, Any] = spelled_all({k: hide[k](v) for k, v in outcome.items() if k in hide})
    return shown


def _complain(programs: list[TracedProgram]) -> int:
    """Say what could not be traced; the exit status."""
    alike: dict[str, list[str]] = {}
    status = 0
    for program in programs:
        if problem := program.problem:
            alike.setdefault(problem, []).append(program.name)
            is_usage = program.error is not None and program.error["kind"] in _USAGE
            status = max(status, WRONG if is_usage else FAILED)
    for message, names in alike.items():
        more = f" (and so for {', '.join(names[1:])})" if names[1:] else ""
        sys.stderr.write(f"error: {on_one_line(f'{names[0]}: {message}{more}')}\n")
    return status
