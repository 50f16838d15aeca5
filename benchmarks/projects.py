"""The projects that are built side by side: the same programs, shown in different ways.

Every page has six programs, one of each kind; no two pages have equal ones.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .measure import Usage, run

CODE: Final = """
import jax.numpy as jnp


def dense(x, w, b):
    return jnp.tanh(x @ w + b)
"""

#: What a plain script, or a page that runs its code, needs first.
PREAMBLE: Final = """
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, PartitionSpec as P

s = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.bfloat16)
mesh = AbstractMesh((8,), ("data",), axis_types=(AxisType.Auto,))
""".strip()


@dataclass(frozen=True)
class Kind:
    """One kind of program: our transforms, and the same as a Python expression."""

    transforms: str
    function: str
    shapes: tuple[str, str, str] = ("{n},64", "64,64", "64")


KINDS: Final = (
    Kind("", "dense"),
    Kind("grad(argnums=w)", "jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)"),
    Kind(
        "vmap(axis_size=8)",
        "jax.vmap(dense, in_axes=(0, None, None), axis_size=8)",
        ("8,{n},64", "64,64", "64"),
    ),
    Kind(
        "scan(over=w, length=4)",
        "lambda x, w, b: jax.lax.scan(lambda x, w: (dense(x, w, b), None), x, w, length=4)[0]",
        ("{n},64", "4,64,64", "64"),
    ),
    Kind(
        "remat | grad(argnums=w)",
        "jax.grad(lambda x, w, b: jax.remat(dense)(x, w, b).sum(), argnums=1)",
    ),
    Kind(
        "shard_map",
        'jax.shard_map(dense, mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=P("data"))',
    ),
)


@dataclass(frozen=True)
class Block:
    """A block of a page: its kind, the number of rows in its batch, the module of ``dense``."""

    kind: Kind
    rows: int
    module: str = "benchcode"

    @property
    def call(self) -> str:
        """The expression that a page shows or runs."""
        shapes = ", ".join(f"s({shape.format(n=self.rows)})" for shape in self.kind.shapes)
        function = self.kind.function.replace("dense", f"{self.module}.dense")
        return f"jax.make_jaxpr({function})({shapes})"


@dataclass(frozen=True)
class Page:
    """A page's blocks, and the bases that are traced without being shown."""

    blocks: tuple[Block, ...]
    hidden: tuple[Block, ...] = ()

    @property
    def traced(self) -> tuple[Block, ...]:
        """Every program that a tool like ours has to trace."""
        return self.blocks + self.hidden


def galleries(pages: int, blocks: int = 6) -> list[Page]:
    """Pages of one directive each: a base and its variants."""
    return [
        Page(tuple(Block(kind, 32 + 8 * number) for kind in KINDS[:blocks]))
        for number in range(pages)
    ]


def separate(pages: int) -> list[Page]:
    """Pages of six directives each, whose bases are traced but hidden."""
    made = []
    for number in range(pages):
        blocks = tuple(Block(kind, 32 + 8 * (6 * number + k)) for k, kind in enumerate(KINDS))
        hidden = tuple(Block(KINDS[0], block.rows) for block in blocks if block.kind.transforms)
        made.append(Page(blocks, hidden))
    return made


def modules(pages: int, functions: int) -> list[Page]:
    """Pages whose blocks each show a function of a module of its own."""
    return [
        Page(
            tuple(
                Block(KINDS[0], 32, f"benchcode{number * functions + k:03d}")
                for k in range(functions)
            )
        )
        for number in range(pages)
    ]


def long(pages: int, groups: int) -> list[Page]:
    """Pages of many directives of six blocks each."""
    return [
        Page(
            tuple(
                Block(kind, 32 + 8 * (number * groups + group))
                for group in range(groups)
                for kind in KINDS
            )
        )
        for number in range(pages)
    ]


def script(blocks: Sequence[Block]) -> str:
    """A plain program that traces blocks and writes their texts to its first argument."""
    names = sorted({block.module for block in blocks})
    calls = "\n".join(f"texts.append(str({block.call}))" for block in blocks)
    imports = "\n".join(f"import {name}" for name in names)
    return (
        f"import json, sys\n{PREAMBLE}\n{imports}\ntexts = []\n{calls}\n"
        "json.dump(texts, open(sys.argv[1], 'w'))\n"
    )


# -- pages in the source of each tool

Source = Callable[[Page, Sequence[str]], str]


def indented(text: str) -> str:
    """Text as the content of a directive."""
    return "".join(f"   {line}\n" if line else "\n" for line in text.splitlines())


def directive(block: Block, transforms: str, *options: str) -> str:
    """Our directive for a function under some transforms."""
    lines = [
        f".. jaxpr-transform:: {block.module}:dense",
        f"   :args: x=bf16[{block.rows},64], w=bf16[64,64], b=bf16[64]",
        *([f"   :transforms: {transforms}"] if transforms else []),
        *(f"   {option}" for option in options),
    ]
    return "\n".join(lines) + "\n"


def live(page: Page, texts: Sequence[str]) -> str:
    """Our directives: one for each function and shape, or one a block where bases are hidden."""
    if page.hidden:
        return "\n".join(
            directive(block, block.kind.transforms, *[":base: hide"] * bool(block.kind.transforms))
            for block in page.blocks
        )
    galleries: dict[tuple[str, int], list[Block]] = {}
    for block in page.blocks:
        galleries.setdefault((block.module, block.rows), []).append(block)
    return "\n".join(
        directive(blocks[0], ", ".join(block.kind.transforms for block in blocks[1:]))
        for blocks in galleries.values()
    )


def pasted(page: Page, texts: Sequence[str]) -> str:
    """The same calls and texts, pasted."""
    return "\n".join(
        f".. code-block:: python\n\n{indented(block.call)}\n"
        f".. code-block:: text\n\n{indented(text)}"
        for block, text in zip(page.blocks, texts, strict=True)
    )


def runblock(page: Page, texts: Sequence[str]) -> str:
    """sphinx-pyrunblock: runs in Sphinx's process."""
    return _prompts("runblock:: pycon\n   :session: page", page)


def ipython(page: Page, texts: Sequence[str]) -> str:
    """The directive of IPython: runs in Sphinx's process."""
    preamble = f"{PREAMBLE}\nimport {page.blocks[0].module}"
    pieces = [preamble, *(f"print({block.call})" for block in page.blocks)]
    return "\n".join(f".. ipython:: python\n\n{indented(piece)}" for piece in pieces)


def notebook(page: Page, texts: Sequence[str]) -> str:
    """MyST-NB: one kernel a page."""
    preamble = f"{PREAMBLE}\nimport {page.blocks[0].module}"
    pieces = [preamble, *(f"print({block.call})" for block in page.blocks)]
    return "\n".join(f"```{{code-cell}}\n{piece}\n```\n" for piece in pieces)


def _prompts(name: str, page: Page) -> str:
    first = [*PREAMBLE.splitlines(), f"import {page.blocks[0].module}"]
    cells = [[line for line in first if line], *([f"print({b.call})"] for b in page.blocks)]
    return "\n".join(
        f".. {name}\n\n" + indented("\n".join(f">>> {line}" for line in cell)) for cell in cells
    )


@dataclass(frozen=True)
class Tool:
    """A way to show programs: its extensions, its source, lines of ``conf.py``."""

    extensions: tuple[str, ...]
    source: Source
    conf: str = ""
    markdown: bool = False


PASTED: Final = Tool((), pasted)
OURS: Final = Tool(("sphinx_jaxpr",), live)
PEERS: Final = {
    "sphinx-pyrunblock": Tool(
        ("sphinx_pyrunblock",), runblock, "autorun_languages = {'pycon_fail_on_error': True}\n"
    ),
    "IPython": Tool(
        (
            "IPython.sphinxext.ipython_directive",
            "IPython.sphinxext.ipython_console_highlighting",
        ),
        ipython,
        "ipython_mplbackend = ''\n",
    ),
    "MyST-NB": Tool(
        ("myst_nb",),
        notebook,
        "nb_execution_mode = 'auto'\nos.environ['PYTHONPATH'] = os.path.abspath('../src')\n",
        markdown=True,
    ),
}

_NOTEBOOK: Final = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n"


@dataclass
class Project:
    """A folder with the pages of one tool."""

    folder: Path
    tool: Tool
    pages: Sequence[Page]
    texts: Sequence[Sequence[str]]
    theme: str = "alabaster"
    edits: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        docs = self.folder / "docs"
        docs.mkdir(parents=True)
        write_code(self.folder / "src", self.pages)
        (docs / "conf.py").write_text(
            "import os, sys\nsys.path.insert(0, os.path.abspath('../src'))\n"
            f"project = 'bench'\nextensions = {list(self.tool.extensions)!r}\n"
            f"html_theme = {self.theme!r}\nhtml_last_updated_fmt = None\n{self.tool.conf}"
        )
        names = "".join(f"   page{number:04d}\n" for number in range(len(self.pages)))
        (docs / "index.rst").write_text(f"Index\n=====\n\n.. toctree::\n\n{names}")
        for number, (page, texts) in enumerate(zip(self.pages, self.texts, strict=True)):
            title = f"Page {number}"
            head = f"{title}\n{'=' * len(title)}\n\n"
            if self.tool.markdown:
                head = f"{_NOTEBOOK}# {title}\n\n"
            self.page(number).write_text(head + self.tool.source(page, texts))

    def page(self, number: int) -> Path:
        """The source of a page."""
        suffix = "md" if self.tool.markdown else "rst"
        return self.folder / "docs" / f"page{number:04d}.{suffix}"

    def build(self, *flags: str) -> Usage:
        """Build, going on from the last build."""
        command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", *flags]
        return run([*command, "-d", "out/doctrees", "docs", "out/html"], self.folder)

    def cold(self, *flags: str) -> Usage:
        """Build from nothing."""
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        return self.build(*flags)

    def kept(self, *flags: str) -> Usage:
        """Build from nothing but the store of an earlier build."""
        store, aside = self.folder / "out/doctrees/jaxpr", self.folder / "store"
        if store.exists():
            shutil.move(store, aside)
        shutil.rmtree(self.folder / "out")
        if aside.exists():
            store.parent.mkdir(parents=True)
            shutil.move(aside, store)
        return self.build(*flags)

    def touch(self) -> None:
        """Add a sentence to the first page, or change it."""
        self.edits += 1
        page = self.page(0)
        text = page.read_text().partition("\nTouched ")[0]
        page.write_text(f"{text}\nTouched {self.edits}.\n")

    def touched(self, *flags: str) -> Usage:
        """Build after an edit of one page."""
        self.touch()
        return self.build(*flags)

    def edited(self, *flags: str) -> Usage:
        """Build after the function of one module was edited."""
        self.edits += 1
        block = self.pages[0].blocks[0]
        code = CODE.replace("x @ w + b", f"x @ w + {self.edits}.0 * b")
        (self.folder / "src" / f"{block.module}.py").write_text(code)
        return self.build(*flags)


def write_code(folder: Path, pages: Sequence[Page]) -> None:
    """The modules that pages show functions of."""
    folder.mkdir(parents=True)
    for name in {block.module for page in pages for block in page.traced}:
        (folder / f"{name}.py").write_text(CODE)


@dataclass(frozen=True)
class Script:
    """A plain Python program that traces and prints what pages show."""

    folder: Path
    blocks: Sequence[Block]

    @classmethod
    def of(
        cls, folder: Path, pages: Sequence[Page], blocks: Sequence[Block] | None = None
    ) -> Script:
        """The script for everything that ``pages`` trace, or for some of their blocks."""
        write_code(folder, pages)
        traced = [block for page in pages for block in page.traced] if blocks is None else blocks
        (folder / "script.py").write_text(script(traced))
        return cls(folder, traced)

    def run(self) -> Usage:
        """Run it."""
        return run([sys.executable, "script.py", "texts.json"], self.folder)

    def texts(self, pages: Sequence[Page]) -> list[list[str]]:
        """The texts that it wrote, page by page, without those of hidden bases."""
        every = iter(json.loads((self.folder / "texts.json").read_text()))
        rows = [[next(every) for _ in page.traced] for page in pages]
        return [row[: len(page.blocks)] for row, page in zip(rows, pages, strict=True)]
