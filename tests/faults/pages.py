"""Generated pages, most of them broken, in real builds."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from tests.support import Build
from tests.test_fuzz import _INNER, _MARKS, _OPTIONS, _PIECES, _SEEDS, mutated, worded

from .builds import Site, ended, folder, outputs
from .rows import Tally, row

#: Pages of one build.
TOGETHER = 17
BUILDERS = ("html", "text", "latex")

_MODULE = """
    import jax
    import jax.numpy as jnp


    def good(x):
        return jnp.sin(x) * 2.0


    def dense(x, w, b):
        return jnp.tanh(x @ w + b)


    def loop(x):
        return jax.lax.while_loop(lambda c: c[0] < 3.0, lambda c: c * 2, x)


    class Layer:
        def __call__(self, x):
            return x + 1


    layer = Layer()
"""

_TARGETS = [
    *("m:dense", "m.dense", "m:loop", "m:layer", "m:Layer.__call__", "m:nothing", "none:f", "m:"),
    *(
        ":f",
        "m:dense extra words",
        "jax.numpy:sin",
        "m:jnp.sin",
        "m:__builtins__.eval",
        "os:system",
    ),
    *("m:dense\\\nm:loop", "\u00e9:\u202e", "m:" + "x." * 300, "", "m:jax.lax.scan", "m:__doc__"),
]
_NAMES = [
    *("args", "static", "transforms", "name", "caption", "open", "elide", "base", "layout"),
    *("source", "jit", "x64", "raises", "timeout", "locked", "class", "mesh", "show", "nothing"),
]
_GIVEN = [
    *("", "x=f32[2,3], w=f32[3,4], b=f32[4]", "f32[3]", "grad", "grad(argnums=w) | vmap as v"),
    *("all", "none", "base", "params, casts", "hide", "compare", "TypeError: wrong", "1e999", "0"),
    *("nan", "-1", "9" * 5_000, "*emphasis* and {jaxpr:ref}`dense`", "<script>alert(1)</script>"),
    *("\u202e\x07", "jvp | jvp | jvp", "vmap(axis_size=3), scan(length=2)", "checkpoint(policy=x)"),
]
_DIRECTIVES = [*["jaxpr-transform"] * 6, "jaxpr-claims", "jaxpr", "jaxpr-when", "jaxpr-glossary"]
_ROLES = ["ref", "eqn", "prim", "val", "claim", "var", "nothing"]
_PROGRAM = "{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) }"


def _line(text: str) -> str:
    """Text that may stand on a line of its own, and that a file can hold."""
    return re.sub(r"\s*[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\s*", " ", _whole(text))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _expression(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return worded(chance, _SEEDS)
    return mutated(chance, _SEEDS, [*_PIECES, *_INNER])


def _option(chance: random.Random) -> tuple[str, str]:
    kind = chance.randrange(4)
    found = chance.choice(_GIVEN) if kind < 2 else mutated(chance, _OPTIONS, _MARKS)
    return chance.choice(_NAMES), _line(found)


def _body(chance: random.Random, directive: str) -> list[str]:
    if directive == "jaxpr":
        return _whole(mutated(chance, [_PROGRAM], _MARKS)).split("\n")
    if directive == "jaxpr-transform" and chance.random() < 0.6:
        return []
    lines = []
    for _ in range(chance.randrange(1, 4)):
        lines.append(_line(_expression(chance)))
        if chance.random() < 0.5:
            lines.append("    " + _line(chance.choice(["A note.", *_GIVEN])))
    return lines


def _directive(chance: random.Random, myst: bool) -> list[str]:
    name = chance.choice(_DIRECTIVES)
    argument = _line(chance.choice(_TARGETS))
    if name == "jaxpr-when":
        argument = _line(_expression(chance))
    elif name != "jaxpr-transform":
        argument = ""
    if name == "jaxpr-transform" and chance.random() < 0.1:
        argument = _line(mutated(chance, _TARGETS, _MARKS))
    options = dict(_option(chance) for _ in range(chance.randrange(5)))
    if name == "jaxpr-transform" and chance.random() < 0.5:
        options = {"args": "x=f32[2,3], w=f32[3,4], b=f32[4]"} | options
    if name != "jaxpr-transform" and chance.random() < 0.7:
        options = {}
    given = [f":{key}: {value}".rstrip() for key, value in options.items()]
    body = [*given, *([""] if given else []), *_body(chance, name)]
    if myst:
        return [f"```{{{name}}} {argument}".rstrip(), *body, "```"]
    return [f".. {name}:: {argument}".rstrip(), *(f"   {line}".rstrip() for line in body)]


def _role(chance: random.Random, myst: bool) -> str:
    text = _expression(chance)
    if chance.random() < 0.5:
        text = f"{chance.choice(['words', '*a* `b`', '<', ''])} <{text}>"
    name = chance.choice(_ROLES)
    text = _line(text).replace("`", "")
    return f"{{jaxpr:{name}}}`{text}`" if myst else f":jaxpr:{name}:`{text}`"


def _around(chance: random.Random, lines: list[str], myst: bool) -> list[str]:
    """The same inside of something else."""
    kind = chance.randrange(8)
    if kind == 0:
        return [f"> {line}" for line in lines] if myst else [f"   {line}" for line in lines]
    if kind == 1:
        return [f"{'- ' if n == 0 else '  '}{line}" for n, line in enumerate(lines)]
    if kind == 2 and myst:
        return ["````{note}", *lines, "````"]
    if kind == 2:
        return [".. note::", "", *(f"   {line}" for line in lines)]
    if kind == 3 and len(lines) > 1:  # broken
        del lines[chance.randrange(len(lines))]
    if kind == 4:
        return [*lines, *lines]
    return lines


def page(chance: random.Random, number: int) -> tuple[str, str]:
    """The name and the text of a page; a good block comes first."""
    myst = chance.random() < 0.7
    title = f"Page {number}"
    if myst:
        lines = [f"# {title}", "", "```{jaxpr-transform} m:good", f":name: good{number}"]
        lines += [":args: x=f32[3]", ":transforms: grad", "```"]
    else:
        lines = [title, "=" * len(title), "", ".. jaxpr-transform:: m:good"]
        lines += [f"   :name: good{number}", "   :args: x=f32[3]", "   :transforms: grad"]
    for _ in range(chance.randrange(3, 9)):
        lines.append("")
        if chance.random() < 0.6:
            lines += _around(chance, _directive(chance, myst), myst)
        else:
            roles = " and ".join(_role(chance, myst) for _ in range(chance.randrange(1, 4)))
            lines += _around(chance, [roles], myst)
    return f"p{number}.{'md' if myst else 'rst'}", "\n".join(lines) + "\n"


def _build(where: Path, pages: Sequence[tuple[str, str]], builder: str) -> Build:
    names = "\n".join(name.partition(".")[0] for name, _ in pages)
    files = {f"docs/{name}": "" for name, _ in pages}
    files["docs/index.md"] = f"# Index\n\n```{{toctree}}\n{names}\n```\n"
    place = Site(where, {**files, "src/m.py": _MODULE}, "jaxpr_timeout = 20\n")
    for name, text in pages:
        (place.docs / name).write_text(text, "utf-8")
    return place.run(builder, "-W")


def _wrong(built: Build, pages: Sequence[tuple[str, str]]) -> list[str]:
    """What is wrong of a build of these pages."""
    if problems := ended(built):
        return problems
    written = outputs(built.out)
    if built.out.name == "latex":
        text = b"".join(data for name, data in written.items() if name.endswith(".tex"))
        missing = [name for name, _ in pages if f"Page {_number(name)}".encode() not in text]
        return [f"{name} is not in the LaTeX" for name in missing]
    suffix = ".txt" if built.out.name == "text" else ".html"
    found = []
    for name, _ in pages:
        data = written.get(f"p{_number(name)}{suffix}", b"")
        good = b"jaxpr-good%s.grad" % _number(name).encode() if suffix == ".html" else b"sin a"
        if not data:
            found.append(f"{name} is not written")
        elif good not in data:
            found.append(f"{name} does not show its good block")
    return found


def _number(name: str) -> str:
    return name.partition(".")[0][1:]


def _culprit(pages: list[tuple[str, str]], builder: str) -> tuple[str, str] | None:
    """One page that ends the build alone, found by halving; ``None`` where it takes several."""
    while len(pages) > 1:
        middle = len(pages) // 2
        for half in (pages[:middle], pages[middle:]):
            with folder() as where:
                if ended(_build(where, half, builder)):
                    pages = half
                    break
        else:
            return None
    return pages[0]


@row(short=TOGETHER, long=510)
def generated_pages(chance: random.Random, count: int) -> Tally:
    """Pages (MyST 70 %, rST 30 %) of mutated directives and roles, to html, text and LaTeX."""
    tally = Tally()
    for start in range(0, count, TOGETHER):
        size = min(TOGETHER, count - start)
        pages = [page(chance, number) for number in range(start, start + size)]
        builder = BUILDERS[start // TOGETHER % 3]
        with folder() as where:
            built = _build(where, pages, builder)
            problems = _wrong(built, pages)
        if ended(built) and (culprit := _culprit(pages, builder)):
            problems.append(f"{culprit[0]} alone does: {culprit[1][-1_500:]!r}")
        tally.note(f"{builder}, pages {start} to {start + size - 1}", problems, size)
    return tally


ROWS = [generated_pages]
