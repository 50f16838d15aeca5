"""Edits, one after another, each built on what was there: the same as a clean build."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from tests.support import Build

from .builds import Site, differences, ended, findings, folder, outputs
from .rows import Tally, row

#: What is built after an edit, with how often of a hundred.
BUILDS = {
    ("html",): 48,
    ("text",): 14,
    ("html", "-j", "2"): 14,
    ("singlehtml",): 12,
    ("dirhtml",): 12,
}
#: What of a page is of other pages: Sphinx leaves it as it was when they come or go.
_OF_OTHERS = "div.sphinxsidebar, div.related, link[rel=next], link[rel=prev]"

_FILES = {
    "src/plain.py": """
        import jax.numpy as jnp

        from helpers import act


        def one(x):
            return act(x) * 1.0


        def two(x, w):
            return x @ w + 1.0
    """,
    "src/helpers.py": """
        import jax.numpy as jnp

        FACTOR = 1.0


        def act(x):
            return jnp.tanh(x) + FACTOR
    """,
    "src/sets.py": """
        import jax
        import jax.numpy as jnp

        # here
        def three(x, w):
            return x @ w + jnp.arange(3) * 1.0
    """,
    "src/maybe.py": """
        import jax.numpy as jnp

        try:
            from optional import K
        except ImportError:
            K = 1.0


        def four(x):
            return jnp.sin(x) * K
    """,
    "src/reads.py": """
        from pathlib import Path

        import jax.numpy as jnp

        NUMBER = float((Path(__file__).parent / "number.txt").read_text())


        def five(x):
            return jnp.cos(x) + NUMBER
    """,
    "src/number.txt": "1.0\n",
}
_TARGETS = {
    "plain:one": "x=f32[{n}]",
    "plain:two": "x=f32[2,{n}], w=f32[{n},3]",
    "sets:three": "x=f32[2,{n}], w=f32[{n},3]",
    "maybe:four": "x=f32[{n}]",
    "reads:five": "x=f32[{n}]",
}
_CONF = {
    "jaxpr_open": ["'auto'", "'all'", "'none'", "'base'"],
    "jaxpr_elide": ["'params'", "'casts, dead'", "'none'"],
    "jaxpr_claim_mark": ["True", "False"],
    "jaxpr_max_equations": ["2000", "2", "0"],
    "jaxpr_glossary": ["{}", "{'sin': {'meaning': 'A sine.'}}", "{'cos': 'no term'}"],
    "jaxpr_env": ["{}", "{'JAX_ENABLE_X64': '1'}", "{'SOMETHING': '1'}"],
    "jaxpr_timeout": ["30", "60"],
    "jaxpr_max_constants": ["1000000", "1"],
}


class Soak:
    """A project under edit; ``edits`` are the ways to change it."""

    def __init__(self, chance: random.Random, where: Path) -> None:
        self.chance = chance
        self.place = Site(where, _FILES, "# values\n")
        self.conf = (self.place.docs / "conf.py").read_text("utf-8")
        self.values: dict[str, str] = {}
        self.pages = 0
        self.names: set[str] = set()  # of all pages that ever were
        for _ in range(7):
            self.page_comes()
        self.place.write(
            "docs/index.md",
            "# Index\n\n```{toctree}\n:glob:\n\np*\n```\n\n```{jaxpr-glossary}\n```\n",
        )
        self.before = self.snapshot()
        self.edits: list[Callable[[], str]] = [
            *[self.function, self.comment, self.prose, self.option, self.helper] * 2,
            *(self.page_comes, self.page_goes, self.page_renamed, self.module_renamed),
            *(self.settings, self.settings, self.optional, self.optional, self.data),
            *(self.configured, self.configured, self.locked, self.breaks, self.claim, self.back),
        ]

    # -- files

    def snapshot(self) -> dict[str, str]:
        """All that is edited."""
        found = {}
        for part in ("src", "docs"):
            for path in sorted((self.place.folder / part).rglob("*")):
                if path.is_file() and path.suffix in {".py", ".md", ".txt", ".json"}:
                    name = path.relative_to(self.place.folder).as_posix()
                    found[name] = path.read_text("utf-8")
        return found

    def put(self, files: Mapping[str, str]) -> None:
        """The files of a snapshot, and no others."""
        now = self.snapshot()
        for name in set(now) - set(files):
            (self.place.folder / name).unlink()
        for name, text in files.items():
            if now.get(name) != text:
                path = self.place.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")

    def one_of(self, pattern: str) -> Path:
        return self.chance.choice(sorted(self.place.folder.glob(pattern)))

    def change(self, path: Path, pattern: str, text: str | Callable[[Any], str]) -> str:
        """Replace one place that a pattern finds."""
        old = path.read_text("utf-8")
        found = list(re.finditer(pattern, old, re.MULTILINE))
        if found:
            place = self.chance.choice(found)
            new = text(place) if callable(text) else text
            path.write_text(old[: place.start()] + new + old[place.end() :], "utf-8")
        return path.name

    # -- edits

    def function(self) -> str:
        number = f"{self.chance.randrange(2, 99)}.0"
        return f"a function of {self.change(self.one_of('src/[!n]*.py'), r'[0-9]+[.]0', number)}"

    def comment(self) -> str:
        path = self.one_of("src/*.py")
        return f"a comment in {self.change(path, r'^def ', '# a comment' + chr(10) + 'def ')}"

    def prose(self) -> str:
        return f"prose of {self.change(self.one_of('docs/p*.md'), r'^Words', 'Words Words')}"

    def option(self) -> str:
        path, kind = self.one_of("docs/p*.md"), self.chance.randrange(3)
        if kind == 0:
            number = str(self.chance.randrange(2, 9))
            name = self.change(path, r"(?<=args: ).*", lambda m: re.sub("[4-9]", number, m[0]))
            return f"args of {name}"
        if kind == 1:
            new = self.chance.choice(["grad", "jvp", "vmap", "jit, grad", "grad | vmap as both"])
            return f"transforms of {self.change(path, r'(?<=transforms: ).*', new)}"
        flag = self.chance.choice([":source:", ":open: all", ":jit:", ":x64:", ":layout: compare"])
        return f"{flag} of {self.change(path, r'^:caption:.*', f':caption: Its.{chr(10)}{flag}')}"

    def helper(self) -> str:
        new = self.chance.choice(["jnp.tanh", "jnp.sin", "jnp.exp", "jnp.cos"])
        return f"a helper: {self.change(self.place.folder / 'src/helpers.py', 'jnp[.][a-z]+', new)}"

    def page_comes(self) -> str:
        self.pages += 1
        n, name = self.pages, f"p{self.pages}"
        target = self.chance.choice(sorted(_TARGETS))
        other = self.chance.randrange(1, n + 1)
        self.names.add(name)
        # A target whose module was renamed is no target any more, which is a finding too.
        self.place.write(
            f"docs/{name}.md",
            f"# Page {n}\n\nWords of page {n}.\n\n```{{jaxpr-transform}} {target}\n:name: b{n}\n"
            f":args: {_TARGETS[target].format(n=self.chance.randrange(4, 9))}\n"
            ":transforms: grad\n:caption: A caption.\n```\n\n"
            f"{{jaxpr:ref}}`b{other}`, {{jaxpr:val}}`len(b{other}.grad)`, {{jaxpr:prim}}`sin`, "
            f"{{jaxpr:claim}}`so <len(b{n}) < 3>`.\n",
        )
        return f"{name} comes"

    def page_goes(self) -> str:
        pages = sorted(self.place.docs.glob("p*.md"))
        if len(pages) < 6:
            return self.page_comes()
        gone = self.chance.choice(pages)
        gone.unlink()
        return f"{gone.name} goes"

    def page_renamed(self) -> str:
        path = self.one_of("docs/p*.md")
        new = path.with_name(f"{path.stem}x.md")
        self.names.add(new.stem)
        path.rename(new)
        return f"{path.name} is {new.name}"

    def module_renamed(self) -> str:
        path = self.one_of("src/[!hno]*.py")  # those that only pages name
        new = path.with_name(f"{path.stem}x.py")
        path.rename(new)
        for page in self.place.docs.glob("p*.md"):
            text = page.read_text("utf-8")
            page.write_text(text.replace(f"}} {path.stem}:", f"}} {new.stem}:"), "utf-8")
        return f"{path.name} is {new.name}"

    def settings(self) -> str:
        value = self.chance.choice(
            ["'jax_default_matmul_precision', 'highest'", "'jax_enable_x64', True",
             "'jax_numpy_dtype_promotion', 'strict'"]
        )  # fmt: skip
        path, text = self.one_of("src/sets*.py"), f"jax.config.update({value})  # here"
        return (
            f"jax.config in {self.change(path, '^.*# here', self.chance.choice([text, '# here']))}"
        )

    def optional(self) -> str:
        path = self.place.folder / "src/optional.py"
        if path.exists() and self.chance.random() < 0.5:
            path.unlink()
            return "an optional module goes"
        path.write_text(f"K = {self.chance.randrange(2, 99)}.0\n", "utf-8")
        return "an optional module"

    def data(self) -> str:
        self.place.write("src/number.txt", f"{self.chance.randrange(2, 999)}.0\n")
        return "a data file"

    def configured(self) -> str:
        name = self.chance.choice(sorted(_CONF))
        return self._set(name, self.chance.choice(_CONF[name]))

    def _set(self, name: str, value: str) -> str:
        self.values[name] = value
        lines = "".join(f"{key} = {text}\n" for key, text in self.values.items())
        (self.place.docs / "conf.py").write_text(self.conf + lines, "utf-8")
        return f"{name} = {value}"

    def locked(self) -> str:
        if self.values.get("jaxpr_mode") == "'locked'":
            return self._set("jaxpr_mode", "'trace'")
        self.place.run("jaxpr-lock", out="locking")
        return self._set("jaxpr_mode", "'locked'")

    def breaks(self) -> str:
        path = self.one_of("src/[!o]*.py")
        text = path.read_text("utf-8")
        if "raise " in text:
            path.write_text(re.sub(r"^ *raise .*\n", "", text, flags=re.MULTILINE), "utf-8")
            return f"{path.name} is mended"
        place = self.chance.choice([r"^def .*\n", r"\Z"])
        said = "    raise ValueError('x')\n" if place != r"\Z" else "raise ValueError('y')\n"
        return f"{self.change(path, place, lambda m: m[0] + said)} is broken"

    def claim(self) -> str:
        path, number = self.one_of("docs/p*.md"), self.chance.randrange(1, 5)
        return f"a claim of {self.change(path, '(?<= )[0-9]+(?=>`)', str(number))}"

    def back(self) -> str:
        now = self.snapshot()
        self.put(self.before)
        self.before = now
        self.values = {}
        return "another branch"

    # -- builds

    def edit(self) -> str:
        """Change something, or two things."""
        edits = [self.chance.choice(self.edits) for _ in range(self.chance.choice([1, 1, 2]))]
        return ", ".join(edit() for edit in edits)

    def compared(self, built: Build, clean: Build) -> list[str]:
        """What a build has that a clean one of the same tree hasn't."""
        problems = ended(built) + [f"clean: {one}" for one in ended(clean)]
        said, due = (
            # Where a traceback is kept is the one thing that differs.
            [line.replace("clean-store/", "store/") for line in findings(one, self.place)]
            for one in (built, clean)
        )
        problems += [f"told only in the clean build: {x[:120]}" for x in due if x not in said][:2]
        problems += [f"told only after the edit: {x[:120]}" for x in said if x not in due][:2]
        now = {path.stem for path in self.place.docs.glob("p*.md")}
        pages = [
            {name: _own(name, data) for name, data in outputs(out).items()
             if not self._left_behind(name, now)}
            for out in (built.out, clean.out)
        ]  # fmt: skip
        return problems + differences(*pages)[:3]

    def _left_behind(self, name: str, now: set[str]) -> bool:
        """Whether a file is of a page that is gone: Sphinx removes none."""
        page = name.partition("/")[0].partition(".")[0]
        return page in self.names - now


def _own(name: str, data: Any) -> Any:
    """What of an HTML page is its own."""
    if not name.endswith(".html"):
        return data
    soup = BeautifulSoup(data, "html.parser")
    for tag in soup.select(_OF_OTHERS):
        tag.decompose()
    return re.sub(r"\n\s*\n", "\n", str(soup))


@row(short=0, long=100)
def soak(chance: random.Random, count: int) -> Tally:
    """Edits of modules, pages, data, conf.py and lock: html, text, `-j 2`, singlehtml, dirhtml."""
    tally = Tally()
    with folder() as where:
        one = Soak(chance, where)
        for flags in BUILDS if count > 10 else [("html",)]:
            one.place.run(*flags, out=_out(flags))
        history: list[str] = []
        for turn in range(count):
            history.append(one.edit())
            choices = list(BUILDS) if count > 10 else [("html",)]
            flags = chance.choices(choices, [BUILDS[one] for one in choices])[0]
            built = one.place.run(*flags, out=_out(flags))
            clean = one.place.clean(*flags)
            problems = one.compared(built, clean)
            tally.note(f"{' '.join(flags)}, edit {turn}: {'; '.join(history[-3:])}", problems)
            if problems:  # what follows is to be judged without it
                if kept := os.environ.get("FAULTS_KEEP"):
                    _keep(one.place, Path(kept) / f"edit{turn}")
                one.place.forget("out", "out2", "store")
    return tally


def _out(flags: tuple[str, ...]) -> str:
    """Doctrees of serial and parallel builds are apart."""
    return "out2" if "-j" in flags else "out"


def _keep(place: Site, where: Path) -> None:
    import shutil

    shutil.copytree(place.folder, where, symlinks=True, dirs_exist_ok=True)


ROWS = [soak]
