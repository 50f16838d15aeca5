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

from ..block import TracedBlock
from ..program.html.code import equation_ids
from ..program.text import on_one_line
from ..tracing import client, fingerprint
from ..tracing.grammar import nearest, shorten
from ..tracing.jobs import Job, seconds
from ..tracing.making import called_target
from ..tracing.masking import PathMasker
from ..tracing.options import OPEN_WORDS, names_function, narrowed, read_open, read_options
from ..tracing.request import Request, check_name, is_target, local_name, variants
from ..tracing.result import ErrorKind, Result, describe, error_parts
from .usage import FAILED, WRONG, ArgumentKeywords, UsageError

# --- programs as text: what JAX prints, and lines around it that begin with ``#``


def text(blocks: Sequence[TracedBlock]) -> str:
    """All programs with a blank line between two; unexpected errors are left out."""
    parts = [
        _expected_error(block) if block.is_expected else _program(block)
        for block in blocks
        if block.is_expected or block.error is None
    ]
    return "\n\n".join(parts) + "\n" * bool(parts)


def _head(block: TracedBlock) -> str:
    return f"# {block.name}: {block.call}".rstrip(": ")


def _program(block: TracedBlock) -> str:
    return "\n".join(
        [
            _head(block),
            f"# {'; '.join([*block.header_words, *block.about])}",
            block.printed.text,
            *(f"# {mark}: {letters}" for mark, letters in block.marks()),
        ]
    )


def _expected_error(block: TracedBlock) -> str:
    assert block.error is not None
    lines = "\n".join(filter(None, error_parts(block.error))).split("\n")
    return "\n".join([_head(block), *(f"# {line}".rstrip() for line in lines)])


# --- programs as JSON; the reference documents the form

#: Raised when a field changes its meaning or is removed.
SCHEMA: Final = 1


def data(target: str, blocks: Sequence[TracedBlock]) -> str:
    """One object with all programs."""
    versions = (block.result.jax for block in blocks if block.result and block.result.jax)
    report = {
        "schema": SCHEMA,
        "target": target,
        "jax": next(versions, None),
        "blocks": [_block(block) for block in blocks],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _block(block: TracedBlock) -> dict[str, Any]:
    result = block.result or Result()
    row: dict[str, Any] = {
        "name": block.name,
        "label": block.label,
        "call": result.call or None,
        "args": [{"name": name, "type": kind} for name, kind in result.args or ()],
    }
    if block.error is not None or result.program is None:
        error = block.error.on_page().to_json() if block.error is not None else {}
        return {**row, "error": {k: error[k] for k in ("kind", "type", "message", "frames")}}
    program = result.program
    return {
        **row,
        "text": program.text,
        "summary": "; ".join(block.header_words),
        "effects": list(program.effects),
        "constants": [{"type": kind, "bytes": size} for kind, size in program.constants],
        "equations": _equations(block),
    }


def _equations(block: TracedBlock) -> list[dict[str, Any]]:
    """Every equation at any depth, in printed order."""
    ids = equation_ids(block.printed, f"jaxpr-{block.name}")
    rows = []
    for equation in block.printed.walk():
        facts = block.aligned.equations.get(equation.start)
        source = facts.source if facts else None
        rows.append(
            {
                "id": ids[equation.start],
                "primitive": equation.primitive,
                "phase": (facts.phase if facts else "") or None,
                "change": block.match.change.get(equation.start),
                "types": list(facts.types) if facts else [v.type for v in equation.outputs],
                "source": dict(zip(("file", "line", "function"), source, strict=True))
                if source
                else None,
                "start": equation.start,
                "end": equation.end,
            }
        )
    return rows


# --- the command

#: Options with the keywords that ``argparse`` gets for each.
OPTIONS: Final[dict[str, ArgumentKeywords]] = {
    "--args": {"metavar": "SPECS", "help": 'types of the arguments, as in "x=f32[8], w=f32[8,4]"'},
    "--static": {"metavar": "VALUES", "help": 'arguments bound before tracing, as in "n=3"'},
    "--transforms": {"metavar": "LIST", "help": 'as in "grad(argnums=w), vmap | jit as both"'},
    "--mesh": {"metavar": "MESH", "help": """mesh to trace under, as in '{data: 8}'"""},
    "--make": {
        "metavar": "VALUES",
        "help": 'arguments to call the target with first, as in "1e-3, b1=0.9"; "()" for none',
    },
    "--then": {"metavar": "ATTRIBUTE", "help": "what to trace of the result of --make"},
    "--name": {"metavar": "NAME", "help": "name of the function's own program"},
    "--raises": {
        "metavar": "TYPE",
        "help": "error expected of the last program, as in 'TypeError: part of its message'",
    },
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
    "--timeout": {
        "metavar": "SECONDS",
        "default": "30",
        "help": "seconds for each program (default: 30)",
    },
    "--open": {
        "metavar": "WHICH",
        "default": "auto",
        "help": "blocks that start open in HTML: auto, all, none, or labels",
    },
    "--html": {"action": "store_true", "help": "print a whole page of HTML"},
    "--json": {"action": "store_true", "help": "print JSON"},
}

#: Errors in the command line, not in the traced code.
_USAGE: Final = (ErrorKind.OPTION, ErrorKind.TARGET)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell ``parser`` what the command takes."""
    parser.add_argument("target", help="package.module:function")
    for option, keywords in OPTIONS.items():
        if option not in ("--html", "--json"):
            parser.add_argument(option, **keywords)
    form = parser.add_mutually_exclusive_group()
    for option in ("--html", "--json"):
        form.add_argument(option, **OPTIONS[option])


def run(options: argparse.Namespace) -> int:
    """Trace, print the programs, and report what could not be traced."""
    requests = _requests(options)
    name = _name(options)
    labels = [label for label, _ in requests if label]
    opened = _opened(options.open, labels)
    blocks = _traced(options, name, requests)
    status = _complain(blocks)
    form = "html" if options.html else "json" if options.json else "text"
    if form == "html":
        from .page import page  # most calls don't need it

        output = page(options.target, blocks, opened)
    elif form == "json":
        output = data(options.target, blocks)
    else:
        output = text(blocks)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Text for a terminal has the terminal's encoding; HTML and JSON are UTF-8.
        encoding = sys.stdout.encoding if form == "text" else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    sys.stdout.write(output)
    return status


def _requests(options: argparse.Namespace) -> list[tuple[str, Request]]:
    """The requests by label: the function itself, then its variants."""
    if not names_function(options.target):
        if (called := called_target(options.target)) is not None:
            raise UsageError(f"{shorten(options.target)}: {called.hint('--{} {!r}')}")
        raise UsageError(
            f"{shorten(options.target)} does not name a function; expected package.module:function"
        )
    texts = ("args", "static", "transforms", "mesh", "make", "then")
    read = read_options(**{option: getattr(options, option) or "" for option in texts})
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
        raise UsageError(f"--open: {shorten(word)} is not one of {listed}{nearest(word, names)}")
    return opened


def _traced(
    options: argparse.Namespace, name: str, requests: list[tuple[str, Request]]
) -> list[TracedBlock]:
    """The block of each request, with this machine's folders masked."""
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
    jobs = [Job(str(index), request, limit) for index, (_, request) in enumerate(requests)]
    replies = {job.key: reply for job, reply in client.run(setup, jobs)}
    paths = PathMasker(here, roots)
    blocks: list[TracedBlock] = []
    for job, (label, request) in zip(jobs, requests, strict=True):
        reply = replies[job.key]
        result = reply.result or reply.known
        block = TracedBlock(
            f"{name}.{label}" if label else name,
            label,
            result=paths.result(result) if result is not None else None,
            failure=paths.error(reply.error) if reply.error is not None else None,
            base=blocks[0] if label else None,
            raises=options.raises if request.expects_error else None,
        )
        blocks.append(block)
    return blocks


def _complain(blocks: list[TracedBlock]) -> int:
    """Print which programs could not be traced, and return the exit status."""
    alike: dict[str, list[str]] = {}
    status = 0
    for block in blocks:
        problem = block.unmet if block.raises else describe(block.error) if block.error else ""
        if problem:
            alike.setdefault(problem, []).append(block.name)
            is_usage = block.error is not None and block.error.kind in _USAGE
            status = max(status, WRONG if is_usage else FAILED)
    for message, names in alike.items():
        more = f" (and so for {', '.join(names[1:])})" if names[1:] else ""
        sys.stderr.write(f"error: {on_one_line(f'{names[0]}: {message}{more}')}\n")
    return status
