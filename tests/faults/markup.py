"""Rows of the fault table: hostile text in all that user code can name, in every builder."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from sphinx_jaxpr.program.text import is_plain
from tests.support import PROJECT, Project

from .rows import as_row

#: What a name, a parameter or a message may hold; each is tried in each place.
TEXTS: Final = {
    "terminal": "a\x1b[31mred\x1b]0;title\x07\x9b31m",
    "control": "a\x00\x01\x08\x0b\x0c\x0e\x1c\x1f\x7f\x80\x9fb",
    "lines": "a\r\x85\u2028\u2029b\n::error::told\n%0A::stop-commands::x\n##[error]x",
    "bidi": "a\u202eb\u202d\u2066c\u2069\u200f\u061cd",
    "unseen": "a\u200bb\u200c\u200d\u2060\ufeff\u00ad\u034f\u3164\U000e0041\U000e007fb",
    "noncharacters": "a\ufffe\uffff\ufdd0\U0001ffff\ufff9x\ufffb",
    "surrogates": "a\udc80\ud800b",
    "html": "</code></pre><script>alert(1)</script><img src=x onerror=alert(1)>&amp;\"'",
    "xml": "]]><!-- x --><?x y?><!DOCTYPE x>&x;",
    "latex": "\\end{sphinxVerbatim}\\input{/etc/passwd}$a_b^c$ %x #1 ~ ^^5c {",
    "roff": "'.so /etc/passwd\n.so /etc/passwd\n'so x\n\\fB",
    "texinfo": "@end example\n@include /etc/passwd\n@{ @bye",
    "markup": "``x`` |y| [z](http://h) *e* .. raw:: html\n\n.. raw:: html\n\n   <b>x",
}
#: Shown as text they are harmless; as markup they would be these.
INJECTED: Final = {
    ".html": ("<script>alert", "<img src=x", "<b>x", "<!-- x", "<?x y"),
    ".xhtml": ("<script>alert", "<img src=x", "<b>x", "<!-- x", "<?x y"),
    ".xml": ("<script>alert", "<img src=x", "<!-- x", "<?x y"),
    ".tex": ("\\input{/etc", "\n\\end{sphinxVerbatim}\\input"),
    ".texi": ("\n@include", "\n@bye\n@end"),
    ".1": ("\n.so ", "\n'so "),
}
BUILDERS: Final = (
    "html", "dirhtml", "singlehtml", "json", "pickle", "epub", "xml", "pseudoxml", "latex",
    "man", "texinfo", "text", "gettext", "linkcheck", "jaxpr-record", "jaxpr-check",
)  # fmt: skip
#: The formats that differ most.
FEW: Final = ("text", "html", "epub", "xml", "latex")
#: Files of Sphinx and of themes, which no program has a part in.
_FOREIGN: Final = ("_static", "_sphinx_design_static", ".doctrees")
_READ: Final = (
    "", ".html", ".xhtml", ".fjson", ".xml", ".pseudoxml", ".tex", ".texi", ".1", ".txt", ".json",
    ".pot", ".js", ".ncx", ".opf", ".inv", ".fpickle", ".log",
)  # fmt: skip

#: A value of ``jaxpr_env`` that must not be told.
SECRET: Final = "hunter2-of-the-worker"
USER: Final = "joe-of-the-machine"

CODE: Final = """
import os
import jax
import jax.extend
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

TEXTS = {texts}
odd_p = jax.extend.core.Primitive("odd")
odd_p.def_abstract_eval(lambda x, **_: x)


def _strange(fn, text):
    code = fn.__code__.replace(co_name=text, co_filename=f"/x/{{text}}.py")
    return type(fn)(code, fn.__globals__, text, fn.__defaults__, fn.__closure__)


def _of(key, text):
    primitive = jax.extend.core.Primitive(text)
    primitive.def_abstract_eval(lambda x, **_: x)
    try:
        Odd = type(text, (ValueError,), {{}})
    except (ValueError, UnicodeEncodeError):
        Odd = type("Odd", (ValueError,), {{}})

    def inner(x):
        return x * 2

    def fails(x):
        raise Odd(text)

    try:
        fails = _strange(fails, text)
    except (ValueError, UnicodeEncodeError):
        pass
    if text.encode("utf-8", "ignore").decode() == text:
        inner.__name__ = inner.__qualname__ = text  # JAX refuses the others

    def program(x):
        x = odd_p.bind(x, text=text, names=(text, 1), **{{text: 1}})
        x = primitive.bind(checkpoint_name(x, text))
        return jax.jit(inner)(x)

    def tree():
        return {{text: jnp.ones(2)}}

    def of_tree(d):
        return [jnp.sin(x) for x in d.values()]

    def raising(x):
        return fails(x)

    return {{"program": program, "tree": tree, "of_tree": of_tree, "raising": raising}}


for _key, _text in TEXTS.items():
    for _name, _fn in _of(_key, _text).items():
        globals()[f"{{_name}}_{{_key}}"] = _fn


def source(x):
    '''In words {seen}'''
    return x + 1  # {seen}


HOME = os.path.expanduser("~")
HERE = os.path.dirname(os.path.abspath(__file__))
WHERE = f"{{HOME}}/x.npy {{HERE}}/y.npy {{os.getcwd()}} touch /tmp/pwn"


def folders(x):
    return odd_p.bind(x, text=WHERE, names=(HOME, HERE, f"file://{{HERE}}/z"), path=HERE)


def folders_fail(x):
    raise ValueError(f"not in {{WHERE}}")
"""
PAGE: Final = """
# Page

```{toctree}
told
```

```{jaxpr-transform} hostile:source
:args: x=f32[3]
:source:
```

```{jaxpr-transform} hostile:folders
:args: x=f32[3]
```

```{jaxpr-transform} hostile:folders_fail
:args: x=f32[3]
:raises: ValueError
```
"""
BLOCKS: Final = """
```{jaxpr-transform} hostile:program_KEY
:args: x=f32[3]
:transforms: jit
```

```{jaxpr-transform} hostile:of_tree_KEY
:args: tree_KEY
```

```{jaxpr-transform} hostile:raising_KEY
:args: x=f32[3]
:raises: ValueError
```

Its text is {jaxpr:val}`program_KEY[odd][0].params[text]`, and
{jaxpr:claim}`another <program_KEY[odd][0].params[text] == "x">`.
"""
#: A page of failures, for which each build starts a worker again.
TOLD: Final = """
# Told

```{jaxpr-transform} hostile:folders_fail
:name: told
:args: x=f32[3]
```
"""
FAILURE: Final = """
```{jaxpr-transform} hostile:raising_KEY
:name: told_KEY
:args: x=f32[3]
```
"""
RUN: Final = """
import sys
from sphinx.cmd.build import main

docs, out, told, *builders = sys.argv[1:]
for place, builder in enumerate(builders):
    more = [] if place < int(told) else ["-D", "exclude_patterns=told.md"]
    # Sphinx refuses to share doctrees between gettext and other builders.
    doctrees = f"{out}/doctrees" + "-gettext" * (builder == "gettext")
    code = main(["-b", builder, "-d", doctrees, *more, docs, f"{out}/{builder}"])
    if code != (builder == "jaxpr-check"):  # which ends with 1, for what is false
        print(f"the builder {builder} ended with exit status {code}")
"""


@dataclass
class Tried:
    """A project that was built: where it is, and what the terminal showed."""

    folder: Path
    home: Path
    terminal: str

    def files(self) -> Iterator[tuple[str, str, bytes]]:
        """Each file that was written, those in books too: what to call it, its kind, its bytes."""
        for path in sorted(p for p in (self.folder / "out").rglob("*") if p.is_file()):
            name = path.relative_to(self.folder).as_posix()
            if path.suffix == ".epub":
                with zipfile.ZipFile(path) as book:
                    for inner in book.namelist():
                        yield f"{name}:{inner}", Path(inner).suffix, book.read(inner)
            elif "doctrees" not in name or "jaxpr" in name:
                yield name, path.suffix, path.read_bytes()

    def problems(self) -> Iterator[str]:
        """What got through, and which file no parser would read."""
        marks = {
            "the home folder": str(self.home),
            "the user": USER,
            "the project's folder": str(self.folder),
            "a setting of the worker": SECRET,
        }
        for name, kind, data in self.files():
            if kind not in _READ or any(part in name for part in _FOREIGN):
                continue
            if kind == ".inv":
                data = zlib.decompress(data.split(b"\n", 4)[4])
            if kind in (".fpickle",):
                text = data.decode("utf-8", "replace")
            else:
                yield from _form(name, kind, data)
                text = data.decode("utf-8", "surrogateescape")
                if kind in (".xml", ".pseudoxml"):  # docutils tells where it read a document
                    text = re.sub(r' source="[^"<>]*"', "", text)
                yield from (f"{name}: {line}" for line in _raw(text))
            yield from (f"{name}: {what}" for what, mark in marks.items() if mark in text)
            found = [text.find(mark) for mark in INJECTED.get(kind, ())]
            yield from (f"{name}: markup at {text[at - 40 : at + 40]!r}" for at in found if at >= 0)
        for line in self.terminal.replace("\r", "\n").split("\n"):
            yield from (f"terminal: {found}" for found in _raw(line))
            if line.lstrip().startswith(("::", "##[")):
                yield f"terminal: a command {line!r}"
            if line.startswith("the builder "):
                yield line


def _raw(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if not is_plain(line):
            yield f"raw characters in {ascii(line)[:200]}"
            return


def _form(name: str, kind: str, data: bytes) -> Iterator[str]:
    try:
        if kind in (".xml", ".xhtml", ".ncx", ".opf"):
            ElementTree.fromstring(data)
        elif kind in (".json", ".fjson") and "linkcheck" not in name:
            json.loads(data)
    except (ElementTree.ParseError, ValueError) as error:
        yield f"{name}: not well-formed: {error}"


def few() -> dict[str, str]:
    """All texts in three, of which one can be a name of all sorts."""
    apart = ("control", "surrogates")
    rest = "".join(text for key, text in TEXTS.items() if key not in apart)
    return {"all": rest, **{key: TEXTS[key] for key in apart}}


def project(folder: Path, texts: Mapping[str, str], conf: str) -> Project:
    """The project with a block for each text in each place."""
    seen = "".join(ascii(text)[1:-1].replace("'", "") for text in texts.values())
    raw = TEXTS["bidi"] + TEXTS["unseen"] + TEXTS["terminal"] + "\x0c\x01\x7f\x85\u2028\ufffe"
    files = {
        "src/hostile.py": CODE.format(texts=ascii(texts), seen=raw + seen.replace("\\", "/")),
        "docs/index.md": PAGE + "".join(BLOCKS.replace("KEY", key) for key in texts),
        "docs/told.md": TOLD + "".join(FAILURE.replace("KEY", key) for key in texts),
    }
    conf += f"jaxpr_env = {{'A_SECRET': {SECRET!r}}}\nman_pages = [('index', 'p', 'p', 'a', 1)]\n"
    made = Project(folder, {}, conf)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8", newline="\n")
    return made


def tried(
    folder: Path,
    builders: Sequence[str] = BUILDERS,
    texts: Mapping[str, str] = TEXTS,
    told: int = len(BUILDERS),
    conf: str = "",
) -> Tried:
    """Build the project below ``folder``, with the builders in one process.

    The first ``told`` of them show failures too.
    """
    home = folder / USER
    made = project(home / "work" / "checkout", texts, conf)
    out = made.folder / "out"
    command = [sys.executable, "-c", RUN, str(made.docs), str(out), str(told), *builders]
    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        command, capture_output=True, check=False, cwd=made.folder, env=env, timeout=600
    )
    # Places of warnings name the files of whoever builds.
    terminal = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
    return Tried(made.folder, home, terminal)


def hostile_text(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """Control characters, markup of every format and folders of the machine, in all that user
    code names, stay text in each format and in the terminal.
    """
    texts, builders, told = (few(), FEW, 1) if count == 1 else (TEXTS, BUILDERS, len(BUILDERS))
    with tempfile.TemporaryDirectory(prefix="markup-") as folder:
        found = tried(Path(folder).resolve(), builders, texts, told)
        return len(texts) * len(builders), list(found.problems())


#: For the table: once with few texts and builders, more often with all of them.
#: In CI tests/ext/builds/test_characters.py does the former.
ROWS: Final = (as_row(hostile_text, short=0, long=2),)
