"""Hostile values in each option and role: real builds that none of them ends.

Below them each page has a good block, which is shown.  What is wrong is told at the lines
of its directive or role, on one line, and every page is written.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import Build, Project

from .rows import as_row

#: What a row is answered with: a warning of this kind at its page, none, or either.
OPTION, TRACE, PATH, CLAIM, FINE, ANY = "option", "trace", "path", "claim", "", "any"
_BIG = "9" * 400
_HUGE = "9" * 5_000
_HALF = "\\ud800"  # an escape of YAML


@dataclass(frozen=True)
class Value:
    """A hostile value: the option or role that has it, and what is due for it."""

    place: str
    text: str
    answer: str = ANY
    target: str = "m:f"

    def written(self, number: int) -> str:
        if self.place in ("val", "claim", "eqn", "ref", "prim"):
            words = f"words <{self.text}>" if self.place != "val" else self.text
            return f"See {{jaxpr:{self.place}}}`{words}`.\n"
        if self.place in ("when", "claims"):
            head = "{jaxpr-when} " + self.text if self.place == "when" else "{jaxpr-claims}"
            return f"```{head}\n{'Text.' if self.place == 'when' else self.text}\n```\n"
        options = {"name": f"b{number}", "args": "x=f32[3]"}
        if self.place == "static":  # which may give x
            del options["args"]
        lines = [f"```{{jaxpr-transform}} {self.target}"]
        if self.place == "note":
            lines += [f":{key}: {text}" for key, text in options.items()]
            return "\n".join([*lines, "", self.text, "    A note.", "```", ""])
        options[self.place] = self.text
        if self.text.startswith('"'):  # YAML's own quotes, with its escapes
            block = [f"{key}: {text}" for key, text in options.items()]
            return "\n".join([*lines, "---", *block, "---", "```", ""])
        return "\n".join([*lines, *(f":{key}: {text}" for key, text in options.items()), "```", ""])


VALUES: Sequence[Value] = (
    *(Value("args", f"x={text}", FINE) for text in ("1e999", "-1e999", "1e999j", "inf", "-inf",
    "nan")),
    *(Value("args", f"x={{a: [({text}, 2)]}}", FINE, "m:tree") for text in ("1e400", "nan",
    "1e999j")),
    *(Value("args", f"x={text}", OPTION) for text in (
        _BIG, f"-{_BIG}", _HUGE, "\u0663", "\u00b2", "f32[\u0663]", f"f32[{_HUGE}]", "f32[1e9]",
        "f32[-1]", "f32[nan]", "key<\u202e>[]", "0x10", "1__0", "'a\u202eb'", "(" * 60,
        "x" * 5_000 + "[3]", "f32[3]@", "f\u202e32[3]",
    )),
    Value("args", f"x=f32[{2**63 - 1}]"),
    Value("args", "x=f32[" + "1," * 300 + "]"),
    Value("args", f'"x=\'{_HALF}\'"', OPTION),
    *(Value("static", f"x={text}", FINE) for text in ("1e999", "nan", "-inf", "1e999j")),
    Value("static", f"n={_BIG}, x=inf", FINE, "m:g"),
    Value("static", "n={a: [(-1e999, nan)]}", FINE, "m:g"),
    Value("static", f"n='{chr(0x202e)}'", FINE, "m:g"),
    Value("static", f'"n=\'{_HALF}\'"', OPTION, "m:g"),
    *(Value("static", text, OPTION) for text in (
        f"{_HUGE}=1", f"{_BIG}=1", "\u00b2=1", "\u0663=1", f"x={_HUGE}", f"1e999={_BIG}", "-1=2",
    )),
    *(Value("static", text) for text in ("99=1", f"x={_BIG}", "x={a: inf}")),
    *(Value("transforms", text) for text in (
        f"grad(argnums={_BIG})", "grad(argnums=1e999)", "grad(argnums=nan)", "grad(argnums=-99)",
        "grad(sum=nan)", f"vmap(axis_size={_BIG})", "vmap(axis_size=inf)", "vmap(axis_size=nan)",
        f"vmap(in_axes={_BIG})", "vmap(in_axes=1e999)", "vmap(in_axes={x: nan})",
        "vmap(out_axes=inf)",
        "vmap(axis_name=1e999)", f"vmap(axis_name='{chr(0x202e)}')", "scan(over=x, length=inf)",
        f"scan(over=x, length={_BIG})", "scan(unroll=nan)", "scan(over=nan)", "scan(carry=1e999)",
        "remat(policy=nan)", "remat(policy=save_only_these_names(inf))", "jvp(argnums=(inf, nan))",
        f"shard_map(mesh={{data: {_BIG}}})", "shard_map(mesh={data: inf})",
        "shard_map(mesh={nan: 8})",
        "shard_map(in_specs={x: inf})", "shard_map(out_specs=nan)", "own(x=1e999)",
        f"own(x={_BIG})",
        "own(x={a: nan})", "own(x=(1e999j,))",
    )),
    *(Value("transforms", text, OPTION) for text in (
        f"grad(argnums={_HUGE})", "vmap(axis_size=\u0663)", "grad as \u00b2",
        "grad as " + "a" * 5_000 + "-",
        "\u202egrad", f"{'x' * 3_000}()", "grad(" + "x" * 3_000 + "=1)",
    )),
    *(Value("mesh", text) for text in (f"{{data: {_BIG}}}", f"{{data: {2**63}}}")),
    *(Value("mesh", text, OPTION) for text in (
        f"{{data: {_HUGE}}}", "{data: inf}", "{data: nan}", "{data: 0}", "{1e999: 2}",
        "{data: \u0663}",
    )),
    *(Value("timeout", text, FINE) for text in ("1e300", "inf", "1e999", _HUGE, "1_000")),
    *(Value("timeout", text, OPTION) for text in (
        "nan", "-inf", "0", "-1", "\u00b2", "1" * 5_000 + "x", "1e-999", "\u202e30",
    )),
    *(Value("name", text, OPTION) for text in ("1" * 5_000, "\u202ea", "\u0663",
    "a" * 3_000 + "-", "nan.")),
    Value("name", f'"{_HALF}"', OPTION),
    *(Value("open", text, OPTION) for text in (_HUGE, "\u202e", "1e999")),
    *(Value("elide", text) for text in (_HUGE, "\u202e", "[tanh", "\u00b2", "[" * 200, "inf")),
    *(Value("raises", text) for text in (_HUGE, "\u202e: x", "TypeError: " + "9" * 5_000, "nan")),
    *(Value("class", text) for text in ("\u202e", _HUGE, "1e999")),
    *(Value("layout", text, OPTION) for text in (_HUGE, "\u202e")),
    Value("caption", f'"{_HALF} half"', OPTION),
    *(Value("caption", text) for text in ("a\u202eb", f"{_HUGE}",
    "{jaxpr:val}`1e999`")),
    Value("source", _HUGE, OPTION),
    *(Value("note", text) for text in (f"[add][{_BIG}]", f"[{_HUGE}]", "[\u202e]", "grad[nan]",
    "[add][1e999]")),
    *(Value("val", text) for text in (
        "1e999", "1e999 - 1e999", f"len(good0) - {'9' * 30}", "1e308 * 10", "1 / 0", "0 ** -1",
        "2 ** 10000",
        f"1e308 + {2**120}", "10**400", "round(1e999)", "0x" + "f" * 1_000, "'\u202e'",
        "-1e999 // 1",
    )),
    *(Value("claim", text) for text in (
        "1e999 == 1e999", "len(good0) == 1e999", f"len(good0) == {_BIG}", "jax >= '1e999'",
        "jax >= 1e999",
        f"jax >= '{'9' * 500}'", "jax >= '\u0663'", f"good0[0].index == {2**127}",
    )),
    *(Value("eqn", text) for text in (f"good0[{2**120}]", "good0[1e999]", f"good0[{_BIG}]",
    "good0[\u00b2]")),
    *(Value("prim", text) for text in ("\u202e", "9" * 3_000, "nan")),
    *(Value("when", text) for text in ("jax >= '1e999'", "1e999", f"jax >= '{'9' * 500}'",
    "jax >= nan")),
    *(Value("claims", text) for text in ("1e999", f"len(good0) < {_HUGE}", "\u202e",
    "jax > '0' and 1e999")),
    Value("jit", "", FINE, "m:huge"),
    Value("jit", "", ANY, "m:infinite"),
    Value("jit", "", ANY, "m:" + "f" * 5_000),
    Value("jit", "", ANY, "m:\u00b2"),
    Value("jit", "", OPTION, "\u202em:f"),
    Value("jit", "", ANY, "m:boom"),
)  # fmt: skip

MODULE = """
import jax.numpy as jnp
from jax.extend.core import Primitive

p = Primitive("p")
p.def_abstract_eval(lambda x, **_: x)


def f(x=1.0):
    return jnp.add(x, x)


def g(n, x=1.0):
    return jnp.sin(2.0)


def tree(x):
    return x["a"][0][1]


def huge(x):
    return p.bind(x, n=10**400, m=(10**400, float("inf")), k=float("nan"))


def infinite(x):
    return p.bind(x, n=10**5000)


def boom(x):
    raise ValueError("\\ud800\\u202e\\x00" + "9" * 5000)


def own(fn, args, **options):
    return fn, args
"""
CONF = """
jaxpr_transforms = {"own": "m:own"}
jaxpr_timeout = 60
"""
_PLACED = re.compile(r"(?P<page>\w+)\.md:(?P<line>\d+): WARNING: .* \[jaxpr\.(?P<kind>\w+)\]$")
BUILDERS = ("html", "text", "jaxpr-check")
#: Values on one page.
MANY = 12
_GOOD = "```{jaxpr-transform} m:f\n:name: good%d\n:args: x=f32[3]\n```\n"


@dataclass(frozen=True)
class Page:
    """Values on one page above a good block, each with the lines that it takes."""

    name: str
    text: str
    lines: Sequence[tuple[Value, range]]

    @classmethod
    def of(cls, number: int, values: Sequence[Value]) -> Page:
        """The page with a number."""
        text = "---\norphan: true\n---\n\n# Page\n\n"
        lines: list[tuple[Value, range]] = []
        for place, value in enumerate(values):
            first = text.count("\n") + 1
            text += f"{value.written(number * MANY + place)}\n"
            lines.append((value, range(first, text.count("\n") + 1)))
        return cls(f"p{number}", text + _GOOD % number, lines)


def lost(values: Sequence[Value], folder: Path, builders: Sequence[str] = BUILDERS) -> list[str]:
    """What did not hold of a project with all these values."""
    rows = [values[start : start + MANY] for start in range(0, len(values), MANY)]
    pages = [Page.of(number, row) for number, row in enumerate(rows)]
    index = f"# Index\n\n{_GOOD % len(pages)}"
    project = Project(folder, {"docs/index.md": index, "src/m.py": MODULE}, CONF)
    for page in pages:
        (project.docs / f"{page.name}.md").write_text(page.text, "utf-8")
    found = []
    for builder in builders:
        built = project.build(builder)
        if built.code not in (0, 1):
            tail = " / ".join(built.stderr.splitlines()[-5:])
            found.append(f"{builder}: exit status {built.code}: {tail[:1_000]}")
        else:
            found += [f"{builder}: {problem}" for problem in _of_build(builder, built, pages)]
    return found


def _of_build(builder: str, built: Build, pages: Sequence[Page]) -> Iterator[str]:
    told: dict[tuple[str, int], set[str]] = {}
    for line in built.stderr.splitlines():
        if place := _PLACED.search(line):
            told.setdefault((place["page"], int(place["line"])), set()).add(place["kind"])
        elif line.strip():
            yield f"no warning of a page: {line[:300]!r}"
        if len(line) > 2_000:
            yield f"a line of {len(line)} characters: {line[:200]}"
        if not line.isprintable():
            yield f"hidden characters: {line[:200]!r}"
    for number, page in enumerate(pages):
        for value, lines in page.lines:
            said = set().union(*(told.get((page.name, line), ()) for line in lines))
            if value.answer != ANY and said != ({value.answer} if value.answer else set()):
                what = f"{page.name}:{lines[0]}: {value.place} {value.text[:60]!r}"
                yield f"{what}: told {said or 'nothing'}, due {value.answer or 'none'}"
        if builder == "html" and f"jaxpr-good{number}" not in built.texts(page.name):
            yield f"the good block of {page.name} is not shown"
        if builder == "text" and not (built.out / f"{page.name}.txt").is_file():
            yield f"{page.name} is not written"


def hostile_values(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """A hostile value in each option and role: no build ends, and the block beside is shown."""
    values = chance.sample(VALUES, min(count, len(VALUES)))
    with tempfile.TemporaryDirectory(prefix="values-") as folder:
        return len(values) * len(BUILDERS), lost(values, Path(folder))


ROWS = [as_row(hostile_values, short=0, long=len(VALUES))]  # test_values.py tries some
