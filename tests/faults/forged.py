"""Locks, stores and verdicts that were damaged, or forged with digests made right."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import pickle  # noqa: TID251 - Sphinx's own
import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import ENV_PICKLE_FILENAME

from sphinx_jaxpr.tracing.files import canonical, digest
from tests.support import Build

from .builds import Site, differences, ended, findings, folder, outputs
from .damage import (
    DAMAGE,
    VALUES,
    Path_,
    active,
    form,
    lines,
    odd_messages,
    parts,
    places,
    put,
    raw_controls,
    sealed,
)
from .rows import Tally, row

#: Blocks whose files are damaged; beside them stand three that are not.
BLOCKS = 28

_STEADY = """
    import jax.numpy as jnp


    def steady(x):
        return jnp.sin(x) * 2.0
"""

_GOOD = """\
# Good

```{jaxpr-transform} steady:steady
:name: steady
:args: x=f32[3]
:transforms: grad, jit
:source:
```

{jaxpr:ref}`steady.grad`, {jaxpr:eqn}`steady[sin]`, {jaxpr:prim}`sin`, {jaxpr:val}`len(steady)`,
{jaxpr:claim}`true <steady[sin]>`.

{jaxpr:claim}`false one <len(steady) == 7>`

{jaxpr:claim}`false two <not steady[sin]>`

{jaxpr:val}`len(steady.nothing)`
"""
#: Findings on the page above, in every build.
_FALSE = 3

_BODIES = (
    "jnp.tanh(x) + {n}.0",
    "jax.lax.scan(lambda c, y: (c * y, c + {n}.0), x, jnp.ones((4, 3)))[0]",
    "jax.lax.cond(x[0] > {n}.0, jnp.sin, jnp.cos, x)",
    "jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)) * {n}.0)(x)",
    "jax.jit(lambda y: y * y + CONSTANT + {n}.0)(x)",
    "jax.lax.while_loop(lambda c: c[0] < {n}.0, lambda c: c * 2, x)",
    "x @ jnp.ones(({m}, 9))",
)


def _files() -> dict[str, str]:
    functions = ["import jax", "import jax.numpy as jnp", "", "CONSTANT = jnp.arange(3.0)"]
    blocks = ["# Blocks\n"]
    for n in range(BLOCKS):
        body = _BODIES[n % len(_BODIES)]
        functions += ["", "", f"def f{n}(x):", f"    return {body.format(n=n, m=n + 5)}"]
        raises = ":raises: TypeError\n" if "@" in body else ""
        more = ":source:\n" if n % 3 == 0 else ""
        blocks.append(
            f"```{{jaxpr-transform}} many:f{n}\n:name: b{n}\n:args: x=f32[3]\n{raises}{more}```\n"
        )
        if not raises:
            blocks.append(f"{{jaxpr:claim}}`some <len(b{n}) > 0>` {{jaxpr:ref}}`b{n}`\n")
    toc = "# Index\n\n```{toctree}\ngood\nblocks\n```\n\n```{jaxpr-glossary}\n```\n"
    return {
        "src/steady.py": _STEADY,
        "src/many.py": "\n".join(functions) + "\n",
        "docs/good.md": _GOOD,
        "docs/blocks.md": "\n".join(blocks),
        "docs/index.md": toc,
    }


@dataclass(frozen=True)
class Fault:
    """One damage: it is made by ``make``, which may be left out."""

    name: str
    make: Callable[[], None]


@functools.cache
def lab() -> Lab:
    """One project for all rows of this process; its folder goes with the process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return Lab(stack.enter_context(folder()))


def _fresh() -> Lab:
    found = lab()
    found.tally = Tally()
    found.reset()  # the row before it left files of its own
    return found


class Lab:
    """A project with a lock and a store, of which the pages of a clean build are known."""

    def __init__(self, where: Path) -> None:
        self.place = Site(where, _files())
        self.tally = Tally()
        self.good = self.place.run("html")
        assert len(self.good.warnings) == _FALSE, self.good.stderr
        self.place.run("jaxpr-check")  # so that there is what it keeps
        self.shown = self.good.texts("good")
        self.pages = outputs(self.good.out)
        self.active = active(self.good.out)
        self.false = [line for line in findings(self.good, self.place) if "/good.md:" in line]
        shutil.copytree(self.place.store, where / "store0")

    def reset(self) -> None:
        """The store as the first build left it."""
        self.place.forget()
        shutil.copytree(self.place.folder / "store0", self.place.store)

    def inert(self, built: Build) -> list[str]:
        """What is wrong with a build after damage, wherever the damage was."""
        problems = ended(built)
        problems += odd_messages(built.stderr)
        found = findings(built, self.place)
        problems += [f"hidden: {line[:100]}" for line in self.false if line not in found]
        if built.out.name == "html" and not problems:
            pages = {name for name in self.pages if name.endswith(".html")}
            written = outputs(built.out)
            problems += [f"{name} is not written" for name in sorted(pages - set(written))]
            if not problems and built.texts("good") != self.shown:
                problems.append("a good block is not shown as it was")
            problems += [f"injected: {one}" for one in sorted(active(built.out) - self.active)]
            problems += raw_controls(built.out)
        return problems[:4]

    def same(self, built: Build) -> list[str]:
        """What is wrong with a build that has to be as if there had been no damage."""
        problems = ended(built) + odd_messages(built.stderr)
        missing = set(findings(self.good, self.place)) - set(findings(built, self.place))
        problems += [f"hidden: {line[:100]}" for line in sorted(missing)]
        return problems[:4] or differences(outputs(built.out), self.pages)[:3]

    def attempt(
        self,
        faults: Sequence[Fault],
        build: Callable[[], Build],
        wrong: Callable[[Build], list[str]],
        again: bool = True,
    ) -> None:
        """Make all faults for one build; where that goes wrong, find out by which."""
        problems = self._once(faults, build, wrong)
        if not problems:
            self.tally.note("", times=len(faults))
            return
        culprits = self._culprits(list(faults), build, wrong, 2) if again else []
        said = culprits or [(f"one of {len(faults)}", problems)]
        self.tally.tried += len(faults)
        self.tally.held += len(faults) - len(said)
        self.tally.lost += [f"{name}: {'; '.join(found[:2])}" for name, found in said]

    def _once(
        self,
        faults: Iterable[Fault],
        build: Callable[[], Build],
        wrong: Callable[[Build], list[str]],
    ) -> list[str]:
        self.reset()
        for fault in faults:
            fault.make()
        self.place.forget("out")
        return wrong(build())

    def _culprits(
        self,
        faults: list[Fault],
        build: Callable[[], Build],
        wrong: Callable[[Build], list[str]],
        most: int,
    ) -> list[tuple[str, list[str]]]:
        """Halve until single faults are left, of each half that goes wrong."""
        if most <= 0 or not (problems := self._once(faults, build, wrong)):
            return []
        if len(faults) == 1:
            return [(faults[0].name, problems)]
        middle = len(faults) // 2
        found = self._culprits(faults[:middle], build, wrong, most)
        return found + self._culprits(faults[middle:], build, wrong, most - len(found))


# -- the lock --------------------------------------------------------------------------------


class _Lock:
    """The lab's lock, of whose files some are damaged for each build."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.folder = lab.place.docs / "_jaxprs"
        made = lab.place.run("jaxpr-lock", "-D", "jaxpr_lock_only=")
        if not self.folder.is_dir():  # false claims are no reason to write none
            raise AssertionError(made.stderr)
        self.texts = {path: path.read_bytes() for path in sorted(self.folder.rglob("*.json"))}
        self.files = [path for path in self.texts if "steady" not in path.name]

    def build(self, turn: int) -> Callable[[], Build]:
        flags = ["-W", "-D", "jaxpr_mode=locked"]
        if turn % 4 == 3:
            return lambda: self.lab.place.run("jaxpr-check", "-W")
        return lambda: self.lab.place.run("html", *flags)

    def restore(self) -> None:
        for path, text in self.texts.items():
            path.write_bytes(text)

    def attempt(self, faults: list[Fault], turn: int) -> None:
        def wrong(built: Build) -> list[str]:
            self.restore()
            return self.lab.inert(built)

        self.lab.attempt(faults, self.build(turn), wrong)


@row(short=BLOCKS, long=1_400)
def lock_fields(chance: random.Random, count: int) -> Tally:
    """Every field of a lock's files replaced by hostile values, `locked` and `jaxpr-check`."""
    one = _fresh()
    lock = _Lock(one)
    ways: dict[str, list[tuple[Path, Path_]]] = {}
    for path in lock.files:
        for at in places(json.loads(lock.texts[path])):
            ways.setdefault(form(at), []).append((path, at))
    one.tally.notes.append(f"{len(ways)} kinds of fields, {len(VALUES)} values")
    todo = [(name, value) for name in sorted(ways) for value in VALUES]
    chance.shuffle(todo)
    for turn, group in enumerate(_groups(todo[:count])):
        faults, used = [], set()
        for name, value in group:
            left = [(path, at) for path, at in ways[name] if path not in used]
            if not left:
                continue
            path, at = chance.choice(left)
            used.add(path)
            what = f"{name} = {_short(value)}"
            faults.append(Fault(what, _put_in_lock(path, lock.texts[path], at, value)))
        lock.attempt(faults, turn)
    return one.tally


def _put_in_lock(path: Path, text: bytes, at: Path_, value: Any) -> Callable[[], None]:
    def make() -> None:
        data = json.loads(text)
        put(data, at, value)
        path.write_text(json.dumps(data), "utf-8")

    return make


@row(short=0, long=560)
def lock_bytes(chance: random.Random, count: int) -> Tally:
    """A lock's files cut, flipped, emptied, swapped, deep, with NaN, 5,000 digits, double keys."""
    one = _fresh()
    lock = _Lock(one)
    todo = [(name, n) for n in range(count // len(DAMAGE) + 1) for name in DAMAGE][:count]
    for turn, group in enumerate(_groups(todo)):
        faults = []
        for path, (name, _) in zip(lock.files, group, strict=False):
            other = lock.texts[chance.choice(lock.files)]
            data = DAMAGE[name](lock.texts[path], chance, other)
            faults.append(Fault(name, lambda path=path, data=data: path.write_bytes(data)))
        lock.attempt(faults, turn)
    return one.tally


def _groups(todo: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return [todo[start : start + BLOCKS] for start in range(0, len(todo), BLOCKS)]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:40]}... ({len(text)} characters)"


# -- the store -------------------------------------------------------------------------------


@row(short=0, long=100)
def store_bytes(chance: random.Random, count: int) -> Tally:
    """Files of a store cut, flipped, emptied, swapped ...: pages and findings as before."""
    one = _fresh()
    for turn in range(count):
        one.reset()
        files = one.place.stored()
        chosen = files if turn % 2 else chance.sample(files, chance.randrange(1, len(files)))
        faults = []
        for path in chosen:
            name = chance.choice(list(DAMAGE))
            other = chance.choice(files).read_bytes()
            data = DAMAGE[name](path.read_bytes(), chance, other)
            make = _write(path, data)
            faults.append(Fault(f"{path.suffix} {name}", make))
        one.attempt(faults, lambda: one.place.run("html", "-W"), one.same)
    return one.tally


def _write(path: Path, data: bytes) -> Callable[[], None]:
    def make() -> None:
        path.write_bytes(data)

    return make


@row(short=BLOCKS, long=1_200)
def store_fields(chance: random.Random, count: int) -> Tally:
    """Every field of a store's records and indexes, digests made right: nothing ends or injects."""
    one = _fresh()
    ways = _ways_in_store(one.place)
    one.tally.notes.append(f"{len(ways)} kinds of fields, {len(VALUES)} values")
    todo = [(name, value) for name in sorted(ways) for value in VALUES]
    chance.shuffle(todo)
    todo = todo[:count]
    # Records are forged where no index knows them, indexes beside whole records.
    records = [one for one in todo if one[0].startswith("record ")]
    indexes = [one for one in todo if one not in records]
    for group in [*_groups(records), *_groups(indexes)]:
        faults, used = [], set()
        for name, value in group:
            left = [way for way in ways[name] if way[:2] not in used]
            if not left:
                continue
            path, number, part, at = chance.choice(left)
            used.add((path, number))
            faults.append(Fault(f"{name} = {_short(value)}", _forge(path, number, part, at, value)))
        one.attempt(faults, lambda: one.place.run("html", "-W"), one.inert)
    return one.tally


_Way = tuple[Path, int, int, Path_]


def _ways_in_store(place: Site) -> dict[str, list[_Way]]:
    """The ways to all values of records and small files, by form; not into the good blocks."""
    found: dict[str, list[_Way]] = {}
    for path in place.stored():
        records = lines(path)
        for number, line in enumerate(records):
            if (b"steady" in line and len(records) > 1) or b'"target":"steady' in line:
                continue
            try:
                values = parts(line)
            except ValueError:
                continue
            for part, value in enumerate(values):
                for at in places(value) if isinstance(value, (dict, list)) else ():
                    kind = "record" if _is_pack(path, records) else path.stem
                    shape = _without_digests(form(at))
                    found.setdefault(f"{kind} {shape}", []).append((path, number, part, at))
    return found


def _is_pack(path: Path, records: list[bytes]) -> bool:
    """Whether a file is of results, and no file of what is known of all."""
    return len(records) > 1 or path.suffix == ".pack" or len(path.stem) == 40


def _without_digests(shape: str) -> str:
    """Keys that are digests or paths are names of no field."""
    parts = shape.split(".")
    return ".".join("<key>" if len(part) > 15 or "/" in part else part for part in parts)


def _forge(path: Path, number: int, part: int, at: Path_, value: Any) -> Callable[[], None]:
    def make() -> None:
        records = lines(path)
        found = parts(records[number])
        put(found[part], at, value)
        records[number] = sealed(records[number], found)
        path.write_bytes(b"\n".join(records) + b"\n")
        if _is_pack(path, records):  # what says where its records stand would give it away
            for index in path.parent.glob("index*"):
                index.unlink()

    return make


#: What a bit makes another claim, name, state or address of, in what Sphinx pickles.
_KEPT = (b"len(steady) == 7", b"not steady[sin]", b"len(steady.nothing)", b"statements", b'"false"')


@row(short=0, long=100)
def environment_bits(chance: random.Random, count: int) -> Tally:
    """Bits of the pickled environment flip, in claims and verdicts: no false claim is hidden."""
    one = _fresh()
    one.place.forget()
    one.place.run("html")  # one that Sphinx's environment is of
    [pickled] = one.place.folder.rglob(ENV_PICKLE_FILENAME)
    whole = pickled.read_bytes()
    spots = [
        found.start() + at
        for text in _KEPT
        for found in re.finditer(re.escape(text), whole)
        for at in range(-2, len(text) + 1)
    ]
    for _ in range(count):
        spot, bit = chance.choice(spots), chance.randrange(8)
        data = bytearray(whole)
        data[spot] ^= 1 << bit
        pickled.write_bytes(data)
        built = one.place.run("html", "-W")
        said = findings(built, one.place)
        wrong = [f"hidden: {line[:100]}" for line in one.false if line not in said]
        one.tally.note(f"bit {bit} of byte {spot}", [*ended(built, (0, 1)), *wrong])
        pickled.write_bytes(whole)
    return one.tally


@row(short=0, long=600)
def verdict_fields(chance: random.Random, count: int) -> Tally:
    """Every field of verdicts in Sphinx's environment: no false claim is hidden by damage, and
    by none with a digest made right from `jaxpr-check`; no link comes from there.
    """
    one = _fresh()
    one.reset()
    out, kept = one.place.folder / "out", one.place.folder / "out0"
    one.place.forget("out", "out0")
    one.place.run("html")
    out.rename(kept)
    trees = one.place.out("html") / ".doctrees"
    states = ["true", "false", "wrong", "unjudged"]
    for turn in range(max(1, count // 40)):
        one.place.forget("out")
        shutil.copytree(kept, out)
        env = pickle.loads((trees / "environment.pickle").read_bytes())  # noqa: S301 - made by the build above
        data = env.domaindata["jaxpr"]
        rows = json.loads(data["judged"].partition(" ")[2])
        right = turn % 2 == 1
        chosen = []  # of one verdict one field
        for verdict in chance.sample(sorted(rows), min(len(rows), 40)):
            ways = [(0,)] if turn % 4 < 2 else list(places(rows[verdict]))
            chosen.append((verdict, *chance.choice(ways)))
            put(rows, chosen[-1], chance.choice(states if turn % 4 < 2 else VALUES))
        said = digest(rows) if right else data["judged"][:64]
        data["judged"] = f"{said} {canonical(rows)}"
        (trees / "environment.pickle").write_bytes(pickle.dumps(env))
        if right:
            built = one.place.run("jaxpr-check", "-W", "-d", str(trees))
            problems = one.inert(built)
        else:
            built = one.place.run("html", "-W")
            problems = one.same(built)
        names = ", ".join(sorted({form(at[1:]) for at in chosen}))
        one.tally.note(f"{'right' if right else 'damaged'} {names}", problems, len(chosen))
    return one.tally


ROWS = [lock_fields, lock_bytes, store_bytes, store_fields, environment_bits]
