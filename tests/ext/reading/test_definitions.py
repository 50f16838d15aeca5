"""Which statements of a cell count, against running the statements one by one."""

from __future__ import annotations

import builtins
import io
import random
import textwrap
from collections.abc import Callable
from typing import Any, Final

import pytest

from sphinx_jaxpr.ext.reading.notebooks.definitions import definitions

#: Cells, with what is kept of them (``None``: all), and what with their assignments (``None``: the
#: same, ``=``: all).
CASES: Final = [
    ("import a, b.c as d; run()", "import a, b.c as d", None),
    ("run(); import é", "import é", None),
    ("é = 'é'; import a", "import a", "é = 'é'; import a"),
    ("x = (1,\n 2); import a\nrun()", "\nimport a\n", "x = (1,\n 2); import a\n"),
    ("from a import (\n  b,\n  c,\n)", "from a import (\n  b,\n  c,\n)", None),
    ("@jit\n# why\n@wrap(\n  1)\ndef f(x): return x", None, None),
    ("async def f():\n    await x", None, None),
    ("class A(B):\n    x = run()", None, None),
    ("def f():\n    '''\n%no magic\n'''", None, None),
    ("a = b = 1", "", "="),
    ("(a, *b), c.d[0] = x", "", "="),
    ("x: int = 1\nx += 1", "\n", "="),
    ("(y := 1)\n'text'\n...", "\n\n", "\n\n"),
    ("x = await run()", "", ""),
    ("x = [await y for y in z]", "", ""),
    ("x = lambda: (yield)", "", "="),
    ("try:\n    import a\nexcept ImportError:\n    a = None", None, None),
    ("try:\n    import a\n    run()\nexcept ImportError:\n    pass", "\n\n\n\n", "\n\n\n\n"),
    ("if TYPE_CHECKING:\n    import a", None, None),
    ("if hasattr(jax, 'x') and v > (1, 2):\n    import a\nelse:\n    import b as a", None, None),
    ("if run():\n    import a", "\n", "\n"),
    ("if a:\n    x = 1", "\n", "\n"),
    ("if a:\n    x = y", "\n", "="),
    ("for i in x:\n    import a", "\n", "\n"),
    ("with x as y:\n    import a", "\n", "\n"),
    ("del x\nassert x\nglobal z\nraise x", "\n\n\n", "\n\n\n"),
    ("%time x = 1\nimport a", "\nimport a", None),
    ("files = !ls\nimport a", "\nimport a", None),
    ("if x:\n    %time y\n    !ls\nimport a", "\n\n\nimport a", None),
    ("!pip install \\\n  a\nimport b", "\n\nimport b", None),
    ("a?\n?a\nb.c??  # why\nimport d", "\n\n\nimport d", None),
    ("x = (a\n% b)\n%time\nimport a", "\n\n\nimport a", "x = (a\n% b)\n\nimport a"),
    ("s = '''\n%a\n'''\n%time\nimport a", "\n\n\n\nimport a", "s = '''\n%a\n'''\n\nimport a"),
    ("s = 'it\\'s (' # '\n%time\nimport a", "\n\nimport a", "s = 'it\\'s ('\n\nimport a"),
    ("import a\r\nrun()\rimport b", "import a\n\nimport b", None),
    ("\n\nimport a\n\n", None, None),
    ("", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "kept", "tagged"), CASES)
def test_what_counts(cell: str, kept: str | None, tagged: str | None) -> None:
    kept = cell if kept is None else kept
    tagged = kept if tagged is None else cell if tagged == "=" else tagged
    for assignments, expected in ((False, kept), (True, tagged)):
        text = definitions(cell, assignments=assignments).text
        assert text == expected
        assert text.count("\n") == len(io.StringIO(cell + ".", newline=None).readlines()) - 1
        compile(text, "cell", "exec")


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("x = 1\na, (b, *c) = 2, (3,)", {"x": "", "a": "", "b": "", "c": ""}),
        ("for i in x:\n    j = 1", {"i": "only imports", "j": "only imports"}),
        ("with a as b: pass\n(c := 1)\ndel d", dict.fromkeys("bcd", "only imports")),
        ("x = [i for i in y if (k := i)]", {"x": "", "k": ""}),
        ("x = await y", {"x": "only imports"}),
        ("files = !ls", {"files": "only imports"}),
        ("x = 1\ndef x(): pass", {}),
        ("def x(): y = 1\nclass A: z = 1", {}),
        ("try: run()\nexcept E as e: pass\nmatch x:\n    case [a, *b]: pass",
         dict.fromkeys(["e", "a", "b"], "only imports")),
        ("%%time\nx, y = 1, 2\ndef f(): pass", dict.fromkeys("xyf", "begins with `%%time`")),
        ("def f(:\nx: int = 1\nfrom a import b as c, d\nimport e.f",
         dict.fromkeys("fxcde", "not Python (line 1")),
    ],
)  # fmt: skip
def test_names_that_are_left_out(cell: str, names: dict[str, str]) -> None:
    left_out = definitions(cell, assignments=False).left_out
    assert {each.name for each in left_out} == set(names)
    for name, line, reason in left_out:
        assert names[name] in reason and bool(names[name]) == bool(reason)
        assert name in cell.split("\n")[line - 1]


def test_a_name_that_is_bound_again_by_what_does_not_count_is_removed() -> None:
    cell = "def f(): pass\nf = run(f)\nx = 1"
    assert definitions(cell, assignments=False).text == "def f(): pass\nf = None; del f\n"
    assert definitions(cell, assignments=True).text == cell
    above = frozenset({"x", "f"})
    assert definitions("x = 1", assignments=False, above=above).text == "x = None; del x"
    for text, kept in {
        "%%time\nx = 1": "\nx = None; del x",
        "%%bash\nx=1": "\n",  # another language
        "x = 1 1": "x = None; del x",
    }.items():
        assert definitions(text, assignments=True, above=above).text == kept


@pytest.mark.parametrize("cell", ["\0", "(" * 5000, "x = " + "-" * 100_000 + "1", "'''", "\\", "%"])
def test_no_text_is_too_much(cell: str) -> None:
    code = definitions(cell, assignments=True)
    assert code.text.count("\n") == cell.count("\n")


# --- many cells, run as a whole and statement by statement

#: Templates of statements: their kind, their code, the names that they bind.
TEMPLATES: Final = [
    ("defines", "def {n}(x=1):\n    # {{\n    log('called')\n\n    return x", "{n}"),
    ("defines", "@wrap\ndef {n}(x): return (x,\n    x)", "{n}"),
    ("defines", "class {n}:\n    '''\n% not magic\n'''\n    y = 3", "{n}"),
    ("defines", "try:\n    import missing as {n}\nexcept ImportError:\n    {n} = None", "{n}"),
    ("simple defines", "import math as {n}", "{n}"),
    ("simple defines", "from os import (path as {n},\n    sep)", "{n} sep"),
    ("simple assigns", "{n} = [1,\n '''%a\n''', 2]", "{n}"),
    ("simple assigns", "{n}, other = 1, 2", "{n} other"),
    ("simple assigns", "{n}: int = 4", "{n}"),
    ("simple other", "log('ran')", ""),
    ("simple other", "({n} := log('walrus'))", "{n}"),
    ("other", "for {n} in range(2):\n    log('loop')\n    also = 1", "{n} also"),
    ("other", "with open(log('opened')) as {n}: pass", "{n}"),
    ("magic", "%time log('timed')", ""),
    ("magic", "{n} = !ls -l | grep 'x", "{n}"),
    ("magic", "!pip install \\\n    'x", ""),
    ("magic", "{n}?", ""),
]  # fmt: skip
NAMES: Final = ["alpha", "béta", "gamma", "delta"]


def generated(chance: random.Random) -> tuple[str, list[tuple[str, str, list[str], int]]]:
    """A cell, and its statements: kind, code, names, first line."""
    rows: list[tuple[str, str, list[str], int]] = []
    text = ""
    for _ in range(chance.randrange(1, 9)):
        kind, code, names = chance.choice(TEMPLATES)
        name = chance.choice(NAMES)
        code, bound = code.format(n=name), names.format(n=name).split()
        joined = rows and kind.startswith("simple") and rows[-1][0].startswith("simple")
        if text:
            text += "; " if joined and chance.random() < 0.5 else "\n" * chance.randrange(1, 3)
        rows.append((kind, code, bound, text.count("\n") + 1))
        text += code
    return text, rows


def namespace(log: Callable[[object], object]) -> dict[str, Any]:
    return {"__builtins__": builtins, "log": log, "wrap": lambda function: function}


@pytest.mark.parametrize("seed", range(10))
def test_generated_cells(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(40):
        compare(*generated(chance))


def compare(cell: str, rows: list[tuple[str, str, list[str], int]]) -> None:
    """What counts binds the same as its statements do one by one, at the same lines."""
    for tagged in (False, True):
        ran: list[object] = []
        expected = namespace(ran.append)
        for kind, code, bound, line in rows:
            if "defines" in kind or (tagged and "assigns" in kind):
                exec(compile("\n" * (line - 1) + code, "cell", "exec"), expected)  # noqa: S102 # the oracle runs what the product may only read
            else:
                for name in bound:
                    expected.pop(name, None)
        code = definitions(cell, assignments=tagged)
        got = namespace(ran.append)
        exec(compile(code.text, "cell", "exec"), got)  # noqa: S102 # the oracle runs what the product may only read
        assert ran == [], textwrap.indent(cell, "    ")
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            if hasattr(value, "__code__") and name != "wrap":
                assert got[name].__code__ == value.__code__  # its lines, too
            elif not callable(value):
                assert got[name] == value
        lacking = {name for _, _, bound, _ in rows for name in bound} - got.keys()
        assert {each.name for each in code.left_out} == lacking
