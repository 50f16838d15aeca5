"""Generated texts through every pure parser: ``python -m tests.faults.parsers --count 100000``.

Each parser has the one exception that it documents, ends soon, and says what is wrong in
a short line without hidden characters.  The texts are those of the documentation and of
the tests, mutated, and texts of pieces; the same seed makes the same ones.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sphinx_jaxpr.ext.reading import elide, notes
from sphinx_jaxpr.ext.reading.claims.lines import expressions
from sphinx_jaxpr.lexer import JaxprLexer
from sphinx_jaxpr.program.drift.compare import compare
from sphinx_jaxpr.program.facts import Facts, align
from sphinx_jaxpr.program.glossary.glossary import builtin, printed_value
from sphinx_jaxpr.program.html import code, folding
from sphinx_jaxpr.program.matching.match import match
from sphinx_jaxpr.program.matching.summary import acted
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.parser.unparsed import unread
from sphinx_jaxpr.program.query.base import MAX_SHOWN, version, words
from sphinx_jaxpr.program.query.evaluate import (
    PathError,
    find,
    judge,
    resolve_block,
    resolve_equation,
)
from sphinx_jaxpr.program.query.explain import explain
from sphinx_jaxpr.program.text import MAX_MESSAGE
from sphinx_jaxpr.tracing import files, lock
from sphinx_jaxpr.tracing.checks import problem
from sphinx_jaxpr.tracing.grammar import GrammarError, arguments, mesh, static, transforms
from sphinx_jaxpr.tracing.jobs import seconds
from sphinx_jaxpr.tracing.request import (
    Request,
    check_chain,
    check_name,
    is_target,
    local_name,
    variants,
)
from sphinx_jaxpr.tracing.result import Result
from tests.program import lesson
from tests.program.query.test_evaluate import _SEEDS
from tests.program.recordings import recording
from tests.tracing.test_grammar import REFUSED, SPECS

from .rows import as_row

PROJECT = Path(__file__).parents[2]
#: Seconds of this process that one text may take.
LIMIT = 0.5

# -- the parsers: each says what messages it gave ---------------------------------------------

Answer = list[str]


def _expression(text: str) -> Answer:
    scope = lesson.scope()
    said = []
    try:
        found = judge(text, scope)
    except PathError as error:
        said.append(_placed(error, text))
    else:
        assert len(words(found.value)) <= MAX_SHOWN + 3
        said += found.hints
        if not found.is_true:
            said.append(explain(text, scope)[:MAX_MESSAGE])  # the finding bounds it
    return said


def _path(text: str) -> Answer:
    scope = lesson.scope()
    said = []
    inside = functools.partial(resolve_equation, inside="dense")
    for resolve in (resolve_block, resolve_equation, find, inside):
        try:
            resolve(text, scope)  # type: ignore[operator] # of the same kind
        except PathError as error:
            said.append(_placed(error, text))
    return said


def _placed(error: PathError, text: str) -> str:
    assert 0 <= error.offset <= max(2_000, len(text))
    return error.message


def _option(grammar: Callable[[str], Any], text: str) -> Answer:
    try:
        found = grammar(text)
    except GrammarError as error:
        assert 0 <= error.offset <= len(text)
        return [str(error)]
    if grammar is transforms:
        said = [check_chain(chain, {"own": "m:f"}) for chain in found]
        try:
            requests = [one for _, one in variants(Request("m:f"), found, {"own": "m:f"})]
        except ValueError as error:
            return [*said, str(error)]
    else:
        key = {arguments: "args", static: "static", mesh: "mesh"}[grammar]
        said, requests = [], [replace(Request("m:f"), **{key: found})]
    for request in requests:
        data = request.to_json()
        again = Request.from_json(json.loads(json.dumps(data, allow_nan=False)))
        assert again.digest == request.digest
        assert lock.readable(again) == lock.readable(request)
        lock.LockFile.of("a", request, Result(jax="1"), {}).text()
    return said


def _names(text: str) -> Answer:
    files.file_name(text, text)
    said = [check_name(text, "name")]
    if is_target(text):
        assert check_name(local_name(text), "name") == "" or not local_name(text).isascii()
    given = seconds(text)
    assert given >= 0
    try:
        version(text)
    except PathError as error:
        said.append(error.message)
    return said


def _bodies(text: str) -> Answer:
    lines = text.split("\n")
    expressions(lines)
    _, problems = notes.split(lines)
    parts = elide.read(text, ("grad", "dense"))
    assert all(0 <= offset <= len(text) for _, offset in (*parts.paths, *parts.problems))
    return [message for message, _ in parts.problems][:5] + [said for _, said in problems][:5]


def _program(text: str) -> Answer:
    printed = parse(text)
    found = unread(printed)
    assert all(0 <= one.offset <= len(text) for one in found)
    facts = align(printed, Facts()).equations
    base = _base()
    how = match(base, printed)
    acted(printed, base, how)
    folding.folds(printed)
    code.code(printed, facts, "a")
    for equation in printed.walk():
        parameters = {
            one.name: printed_value(text[one.start : one.end]) for one in equation.parameters
        }
        builtin().in_words(equation.primitive, parameters, [v.type for v in equation.outputs])
    compare(*(recording({"text": one, "facts": {}}) for one in (base.text, text)))
    said = "".join(value for _, _, value in JaxprLexer().get_tokens_unprocessed(text))
    assert said == text
    return [one.message for one in found][:5]


@functools.cache
def _base() -> Any:
    return lesson.scope().blocks["dense"].printed


def _value(text: str) -> Answer:
    found = printed_value(text)
    for primitive in ("broadcast_in_dim", "gather", "scan", "shard_map", "jit", "reduce_precision"):
        parameters = dict.fromkeys(["shape", "length", "mesh", "in_specs", "new_dtype"], found)
        said = builtin().in_words(primitive, parameters, [text[:200]], inputs=[text[:200]])
        assert len(said) < 100_000
    return []


def _result(text: str) -> Answer:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [problem(data)]


@dataclass(frozen=True)
class Parser:
    """A pure entry point, its share of the texts, and what its texts are made of."""

    name: str
    run: Callable[[str], Answer]
    share: int
    seeds: Sequence[str]
    pieces: Sequence[str]


# -- texts -----------------------------------------------------------------------------------

#: What texts of other people hold.
ODD = [
    "\0", "\x1b[31m", "\r", "\x7f", "\x85", "\u2028", "\u202e", "\u2066", "\u200b", "\ufeff",
    "\ud800", "\udfff", "\ufffe", "\U000e0041", "\u0663", "\u00b2", "\u216b", "e\u0301", "\u00e9",
    "\U0001f600", "9" * 400, "9" * 4_300, "9" * 5_000, "0x" + "f" * 4_000, "1e999", "-1e999",
    "1e-999",
    "1e999j", "1_0", "1__0", "0b1", "0o7", "nan", "inf", "-inf", "infinity", "1.", ".5", "1e", "00",
    "(" * 60, ")" * 60, "[" * 60, "{" * 60, "((", "]]", "'", '"', "\\", "\\u0041", '"""', "#", "`",
    "```", "<", ">", "&", "%s", "{}", "{0}", "\t", "\n", "\n\n", "  ", "=", "==", ":", ";", ",",
    "|",
    "__class__", "lambda", "None", "True", "if", "x" * 300, "a." * 50, "not " * 40, "- " * 60,
    "javascript:alert(1)", "<script>", "../../etc/passwd", "$HOME", "~",
]  # fmt: skip
_OPTION_PIECES = [
    *"()[]{},:=|<>@.+-*/", "as", "f32[", "8]", "bf16[2,3]", "key<fry>[]", "Ref{f32[3]}", "x=", "w:",
    "grad", "vmap", "scan(", "argnums=", "in_axes=", "remat", "axis_size=", "jax.nn.relu", "1",
    "-2",
    "float('inf')", "f32<host>[4]", "4@a", "axis_types=",
]  # fmt: skip
_PATH_PIECES = """
dense grad vmap [ ] ( ) mul tanh add 0 -1 : , == != <= < in not and or for e v len( all( any(
set( sum( min( max( sorted( abs( round( ops( same( .shape .dtype .params[ .inputs .outputs
.uses .text .line .phase .origin .consts .effects .variables .added .reshaped .kept .removed
.error .type .message jax jaxlib python "0.12" 'a' ** * / // % + - | & ^ {1, 1e300 1e999 .all
.jaxpr .branches .calls twice choose loop scatter tree .primitive .scan .remat_grad [p 256
2**255 1/0
""".split()
_PROGRAM_PIECES = [
    "{ lambda ; a:f32[8]. let", "in (b,) }", "b:f32[8] = sin a", "c:f32[] = add", "a", "1.0:f32[]",
    "[", "]", "(", ")", "{", "}", "\n", "  ", ";", "name=f",
    "jaxpr={ lambda ; b:f32[]. let  in (b,) }",
    "axes=(0,)", "let", "_:f32[] =", "scan[", "while[", "dimension_numbers=((", "+=", "<-", "[0:8]",
    "f32[9999999999999999999999]", "f32[\u0663]", "f32[\u00b2,8]", "length=" + "9" * 5_000,
]  # fmt: skip
_JSON_PIECES = [
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    "NaN",
    "true",
    '"text"',
    '"\\ud800"',
    "1.5",
    "9" * 400,
]
_RESULT = {
    "jax": "0.10.2", "call": "f", "args": [["x", "f32[8]"]], "inputs": [["x", "f32[8]"]],
    "text": "{}",
    "effects": [], "constants": [["f32[3]", 12]], "facts": {
        "programs": [{"inputs": ["f32[8]"], "constants": [], "outputs": [], "effects": [],
        "unused": [],
                      "equations": [["sin", "", 0, ["f32[8]"], {"accuracy": None}, {}]]}],
        "sources": [["a.py", 4, "f"]]},
}  # fmt: skip


def _written(pattern: str) -> list[str]:
    """What the pages of the documentation write of a kind."""
    found: dict[str, None] = {}
    for file in sorted((PROJECT / "docs").rglob("*.md")):
        text = file.read_text("utf-8")
        found.update(dict.fromkeys(re.findall(pattern, text, re.MULTILINE)))
    return list(found)


@functools.cache
def parsers() -> tuple[Parser, ...]:
    """All of them."""
    roles = _written(r"\{jaxpr:(?:val|eqn|ref)\}`([^`<]+)`")
    claims = _written(r"<([^`<>\n]{3,300})>`")
    options = {
        key: _written(rf"^:{key}: (.+)$") for key in ("args", "static", "transforms", "mesh")
    }
    data = PROJECT / "tests/program/data"
    programs = [path.read_text("utf-8")[:3_000] for path in sorted(data.glob("*.txt"))]
    values = [*options["static"], "(('data', None), 3)", "np.float32(0.1)", "{'a': 8}", "P('x')"]
    bodies = [
        "[tanh]\n    A note.\n",
        "params, grad[tanh]",
        "let g = dense.grad\nlen(g) == 3  # why",
    ]
    more = [*SPECS, *(text for _, text, *_ in REFUSED if len(text) < 200)]
    for key in ("args", "static", "transforms"):
        options[key] += more
    options["mesh"] += ['{data: 8}, axis_types="Explicit"', "mesh"]
    return (
        Parser("expression", _expression, 24, [*roles, *claims, *_SEEDS], _PATH_PIECES),
        Parser("path", _path, 12, [*roles, *_SEEDS], _PATH_PIECES),
        *(
            Parser(key, functools.partial(_option, grammar), 12, options[key], _OPTION_PIECES)
            for key, grammar in (
                ("args", arguments),
                ("static", static),
                ("transforms", transforms),
            )
        ),
        Parser("mesh", functools.partial(_option, mesh), 5, options["mesh"], _OPTION_PIECES),
        Parser("names", _names, 5, ["lessons.gallery:dense", "0.12.0.1", "grad", "30"], ODD),
        Parser("bodies", _bodies, 6, bodies, _PATH_PIECES),
        Parser("program", _program, 4, programs, _PROGRAM_PIECES),
        Parser("value", _value, 5, values, _OPTION_PIECES),
        Parser("result", _result, 3, [json.dumps(_RESULT)], _JSON_PIECES),
    )


_WORD = re.compile(r'"[^"\n]*"|\w+|\W')


def text_for(parser: Parser, chance: random.Random) -> str:
    """A text of pieces, or one that people wrote, changed in a few places."""
    pieces = [*parser.pieces, *ODD] if chance.randrange(3) else parser.pieces
    kind = chance.randrange(10)
    if kind < 2:
        text = chance.choice(["", " "]).join(chance.choices(pieces, k=chance.randrange(1, 25)))
    elif kind < 6:  # other words in their places: much of that has a value
        parts = _WORD.findall(chance.choice(parser.seeds))
        others = [*_WORD.findall(chance.choice(parser.seeds)), *parser.pieces]
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(parts))
            if len(parts[place]) > 1 or parts[place].isalnum():
                parts[place] = chance.choice([*others, chance.choice(pieces)])
        text = "".join(parts)
    else:
        text = chance.choice(parser.seeds)
        for _ in range(chance.randrange(1, 6)):
            start = chance.randrange(len(text) + 1)
            end = min(len(text), start + chance.choice([0, 0, 1, 2, 8, 40]))
            middle = [
                *chance.choices(pieces, k=3),
                chance.choice(parser.seeds),
                text[start:end] * 9,
            ]
            text = text[:start] + chance.choice([*middle, ""]) + text[end:]
    if chance.randrange(200) == 0:  # long
        text = text * chance.choice([9, 99])
    return text[:100_000]


# -- the run -----------------------------------------------------------------------------------


@dataclass
class Report:
    """What came of a run; ``worst`` is the time of the slowest text, by parser."""

    tried: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    worst: dict[str, tuple[float, str]] = field(default_factory=dict)
    messages: int = 0


def tried(count: int, seed: int) -> Report:
    """Give ``count`` texts to the parsers."""
    chance = random.Random(seed)
    found = Report()
    shares = [parser.share for parser in parsers()]
    for parser in parsers():  # what is loaded at first use
        parser.run(parser.seeds[0])
    for parser in chance.choices(parsers(), shares, k=count):
        text = text_for(parser, chance)
        found.tried[parser.name] += 1
        found.lost += [
            f"{parser.name}: {said}: {text[:300]!r}" for said in _try(parser, text, found)
        ]
    return found


def _try(parser: Parser, text: str, found: Report) -> Iterator[str]:
    began = time.process_time()
    try:
        said = list(filter(None, parser.run(text)))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        yield f"{type(error).__name__}: {str(error)[:200]}"
        return
    took = time.process_time() - began
    if took > LIMIT:  # a busy machine is no fault
        began = time.process_time()
        parser.run(text)
        took = min(took, time.process_time() - began)
    if took > found.worst.get(parser.name, (0.0, ""))[0]:
        found.worst[parser.name] = took, text[:100]
    if took > LIMIT:
        yield f"took {took:.2f} s"
    found.messages += len(said)
    for message in said:
        if len(message) > MAX_MESSAGE:
            yield f"a message of {len(message)} characters"
        if not message.isprintable():
            yield f"a message with hidden characters: {message[:200]!r}"


def parser_texts(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """Generated texts through every pure parser: only its own exception, soon, in a short line."""
    found = tried(count, chance.randrange(2**32))
    return count, found.lost


ROWS = [as_row(parser_texts, short=0, long=100_000)]  # test_parsers.py tries some


def main() -> int:
    """Run from the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    began = time.monotonic()
    found = tried(given.count, given.seed)
    for name, count in sorted(found.tried.items()):
        took, text = found.worst.get(name, (0.0, ""))
        sys.stdout.write(f"{name:12} {count:7} texts, slowest {took:.3f} s: {text[:60]!r}\n")
    sys.stdout.write("".join(f"LOST {line}\n" for line in found.lost[:50]))
    total = f"{given.count} texts, {found.messages} messages, {len(found.lost)} lost"
    sys.stdout.write(f"{total}, {time.monotonic() - began:.0f} s\n")
    return bool(found.lost)


if __name__ == "__main__":
    sys.exit(main())
