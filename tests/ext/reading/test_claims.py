"""``jaxpr-claims``: what each line is."""

from __future__ import annotations

import ast
import random
import re

import pytest

from sphinx_jaxpr.ext.reading.claims.lines import ClaimLine, expressions, read
from sphinx_jaxpr.ext.reading.claims.names import keys_of


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a\nb  # said\n\nc", [(0, "a"), (1, "b"), (3, "c")]),
        ("all(\n  a\n)\nb", [(0, "all( a )"), (3, "b")]),
        ("a and \\\n  b\nc", [(0, "a and b"), (2, "c")]),
        ("a and \\\nb and \\\nc\nd", [(0, "a and b and c"), (3, "d")]),
        ("a and \\", [(0, "a and \\")]),
        ("'#' in a.text  # a text", [(0, "'#' in a.text")]),
        ("a loop's end: '#' in a.text  # it's so", [(0, "a loop's end: '#' in a.text")]),
        ("a loop's end: all(  # it's so\n  a)", [(0, "a loop's end: all( a)")]),
        ("the `#`: a # b", [(0, "the `#`: a")]),
        ("# all\n  # of it", []),
    ],
)
def test_lines_of_one_expression(body: str, found: list[tuple[int, str]]) -> None:
    assert expressions(body.split("\n")) == found


def parts(line: ClaimLine) -> tuple[str, str, str]:
    return line.kind, line.name, line.expression


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("len(f) == 4", ("claim", "", "len(f) == 4")),
        ("f[1:] == f[2: 3]", ("claim", "", "f[1:] == f[2: 3]")),
        ("it stays: f", ("claim", "it stays", "f")),
        ("it: stays here: f", ("claim", "it: stays here", "f")),
        ("the ``a: b`` part: f[1: 2]", ("claim", "the ``a: b`` part", "f[1: 2]")),
        ("time: 12:30: f", ("claim", "time: 12:30", "f")),
        ("let us see: f", ("claim", "let us see", "f")),
        ("let g = f.grad", ("let", "g", "f.grad")),
        ("let  g=f == f", ("let", "g", "f == f")),
        ("let == 3", ("claim", "", "let == 3")),
        ("no loop: not f[scan", ("claim", "no loop", "not f[scan")),
        ("len(f[0: 3) == 2", ("claim", "", "len(f[0: 3) == 2")),
        ("len(f) = 2", ("claim", "", "len(f) = 2")),
    ],
)
def test_what_a_line_is(text: str, expected: tuple[str, str, str]) -> None:
    (line,) = read([text])
    assert parts(line) == expected
    assert not line.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("let g: f", "write it as `let g = path`"),
        ("let g f", "write it as `let g = dense.grad`"),
        ("let = f", "a let has a name"),
        ("let g =", "let 'g' has no value"),
        ("let shape = f", "let 'shape' is a reserved word, try 'shape_'"),
        ("let len = f", "let 'len' is a reserved word"),
        ("let f.g = f", "let 'f.g' is not an ASCII identifier"),
        ("Let g = f", "write it as `let g = f`"),
        ("g = f.grad", "write it as `let g = f.grad`"),
        ("g := f", "write it as `let g = f`"),
    ],
)
def test_what_is_wrong_with_a_let(text: str, problem: str) -> None:
    (line,) = read([text])
    assert problem in line.problem


#: Pieces of lines, likely to be misread together.
NAMES = [
    "it stays",
    "a loop's end",
    "the `axes: x` part",
    "no: one",
    "**bold**",
    "x",
    "let us see",
    "é: ü",
]
EXPRESSIONS = [
    "len(f) == 4",
    'f["scatter-add"]',
    "'#: ' in f.text",
    "all(\n  e.uses > 1\n  for e in f  # each\n)",
    "f[1: 2]",
    "not f[scan] and \\\n  f[1:]",
]
COMMENTS = ["", "  # it's", '  # say "no: f"', "  #"]


def oracle(name: str, expression: str) -> tuple[str, str]:
    """The name and the expression of a line, by another way: the shortest name that works."""
    plain = re.sub(r"\s*#(?!:).*", "", expression).replace("\\\n", " ")
    text = " ".join(f"{name}: {plain}".split()) if name else " ".join(plain.split())
    fields = text.split(": ")
    for count in range(len(fields)):
        try:
            ast.parse(": ".join(fields[count:]).strip(), mode="eval")
        except SyntaxError:
            continue
        return ": ".join(fields[:count]).strip(), ": ".join(fields[count:]).strip()
    raise AssertionError(text)


def test_generated_bodies() -> None:
    chance = random.Random(5)
    for _ in range(300):
        body, expected = "", []
        for _ in range(chance.randint(1, 5)):
            name = chance.choice(["", *NAMES])
            expression, comment = chance.choice(EXPRESSIONS), chance.choice(COMMENTS)
            body += (f"{name}: " if name else "") + expression + comment + "\n"
            body += chance.choice(["", "\n", "# between\n"])
            expected.append(oracle(name, expression))
        lines = [(line.name, " ".join(line.expression.split())) for line in read(body.split("\n"))]
        assert lines == expected, body


def test_no_line_is_lost() -> None:
    """Whatever is written: every line is a part of something that is judged or reported."""
    chance = random.Random(7)
    signs = [*"ab:#=()[]{}'\"\\`*. \t", ": ", "let ", "let g = ", "f", "==", " # ", "lambda", "é"]
    for _ in range(1500):
        body = ["".join(chance.choices(signs, k=chance.randint(0, 14))) for _ in range(3)]
        lines = read(body)
        starts = {line.number for line in lines}
        for number, text in enumerate(body):
            if text.strip() and not text.lstrip().startswith("#"):
                assert starts and min(starts) <= number, body
                is_continued = (
                    text[0].isspace() or text[0] in ")]}" or bool([n for n in starts if n < number])
                )
                assert number in starts or is_continued, body
        for line in lines:
            assert line.expression or line.problem, body
            assert line.is_broken or not line.problem or line.kind == "let", body


def test_long_lines_end_soon() -> None:
    for text in ("a: " * 3000, "#" * 9000, "a: # " * 2000, "let g = " * 1000, "(" * 9000):
        read([text])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("the `axes`  part", "the axes part"), ("The axes part", "The axes part")),
        (("the **axes** part", "the axes part"), ("the `axes` part", "the axes part")),
        (("see [this](there)", "see this"), ("see this", "see this")),
    ],
)
def test_markup_white_space_and_capitals_do_not_count(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert {*keys_of(*one)} & {*keys_of(*other)}


def test_a_name_ends_with_a_colon_and_a_blank() -> None:
    (line,) = read(["no loop:not f[scan]"])
    assert parts(line) == ("claim", "no loop", "not f[scan]")
    assert line.is_broken and "no blank behind the `:`" in line.problem
