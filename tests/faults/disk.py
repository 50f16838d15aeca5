"""A store on a full or read-only disk, and things that are no files in the place of files."""

from __future__ import annotations

import functools
import os
import random
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support import Build

from .builds import Site, as_clean, ended, folder, remove
from .rows import NotHere, Tally, row
from .site import clean, site, size


@functools.cache
def _mounts() -> bool:
    """Whether we may mount in a name space of our own, which ends with its process."""
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True).returncode == 0


def _around(script: str, *more: str) -> list[str]:
    """A command that runs another one where a shell's ``script`` has mounted something."""
    return ["unshare", "-m", "sh", "-c", f'set -e; {script}; exec "$@"', "sh", *more]


_ERRNO = """\
import builtins, errno, os

_store, _left = {store!r}, [{size}]
_plain = os.open, os.write, builtins.open, os.mkdir, os.replace


def _inside(path):
    return isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(_store)


def _full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _open(path, flags, *args, **more):
    if _inside(path) and flags & (os.O_WRONLY | os.O_RDWR):
        _left[0] -= 4096
        if _left[0] < 0:
            _full()
    return _plain[0](path, flags, *args, **more)


def _opened(file, mode="r", *args, **more):
    if _inside(file) and set(mode) & set("wax+"):
        _left[0] -= 4096
        if _left[0] < 0:
            _full()
    return _plain[2](file, mode, *args, **more)


os.open, builtins.open = _open, _opened
import io
io.open = _opened
"""


def _warned(built: Build, most: int) -> list[str]:
    found = built.warnings
    return [f"{len(found)} warnings, at most {most} are due"] if len(found) > most else []


@row(short=0, long=30)
def full_disk(chance: random.Random, count: int) -> Tally:
    """A full disk for the store (a tmpfs of 16 to 256 kB): pages as clean ones, one warning."""
    if not _mounts():
        raise NotHere("mounting (unshare -m, mount -t tmpfs); see full-disk-calls")
    tally = Tally()
    with folder() as where:
        pages = size(count)
        place, (expected, _) = site(where, pages), clean(pages)
        for _ in range(count):
            kilobytes = chance.choice([16, 32, 48, 64, 96, 128, 192, 256])
            mount = f"mount -t tmpfs -o size={kilobytes}k tmpfs {place.store}"
            if inodes := chance.choice([0, 0, 0, 2, 5]):
                mount = mount.replace("size=", f"nr_inodes={inodes},size=")
            # Twice in the same folder: what the first has left is what the second finds.
            twice = '"$@" || test $? = 1 || exit 2; rm -rf ' + str(place.out("html"))
            place.forget()
            place.store.mkdir()
            built = place.run("html", "-W", around=_around(f"{mount}; {twice}"))
            problems = ended(built)
            if not problems:
                problems = as_clean(built, expected)[bool(built.code) :] + _warned(built, 2)
            what = f"{inodes} inodes" if inodes else f"{kilobytes} kB"
            tally.note(what, problems)
    return tally


@row(long=10)
def full_disk_calls(chance: random.Random, count: int) -> Tally:
    """The same without a mount: Python's calls that open files in the store say ENOSPC."""
    tally = Tally()
    with folder() as where:
        pages = size(count)
        place, (expected, _) = site(where, pages), clean(pages)
        for _ in range(count):
            many = chance.choice([0, 1, 2, 5, 9])
            patched = _ERRNO.format(store=str(place.store), size=many * 4096)
            place.write("full/sitecustomize.py", patched)
            place.forget()
            path = os.pathsep.join([str(where / "full"), *_python_path()])
            built = place.run("html", "-W", env={"PYTHONPATH": path})
            problems = ended(built)
            if not problems:
                problems = as_clean(built, expected)[bool(built.code) :] + _warned(built, 1)
            tally.note(f"after {many} files", problems)
            again = place.run("html", "-W", env={"PYTHONPATH": path})
            tally.note("and again", [*ended(again), *_warned(again, 1)])
    return tally


def _python_path() -> list[str]:
    from tests.support import PROJECT

    return [str(PROJECT)]


@row(short=0, long=6)
def read_only_store(chance: random.Random, count: int) -> Tally:
    """A read-only store (bind mount) that has everything is read, without a warning."""
    if not _mounts():
        raise NotHere("mounting (unshare -m, mount --bind)")
    with folder() as where:
        place = site(where, size(count))
        store = place.store
        mount = f"mount --bind {store} {store}; mount -o remount,ro,bind {store}"
        return _read_only(chance, count, place, _around(mount))


@row(short=0, long=6)
def unwritable_store(chance: random.Random, count: int) -> Tally:
    """The same where the folder and its files give no right to write."""
    with folder() as where:
        return _read_only(chance, count, site(where, size(count)), _without_rights(), modes=True)


def _without_rights() -> list[str]:
    """A command that runs another one for which permissions of files count, also for root."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        raise NotHere("setpriv, to run as root without its rights to all files")
    lost = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}"]


def _read_only(
    chance: random.Random, count: int, place: Site, around: list[str], modes: bool = False
) -> Tally:
    tally = Tally()
    umask = os.umask(0o022)
    try:
        place.run("html", "-W")
        expected, _ = clean(size(count))
        for turn in range(count):
            place.forget("out")
            before = sorted(place.stored())
            changed = turn % 2
            name = f"src/{chance.choice(['layers', 'other', 'helpers'])}.py"
            if changed:
                text = (place.folder / name).read_text("utf-8")
                (place.folder / name).write_text(f"{text}\n# {turn}\n", "utf-8")
            if modes:
                _chmod(place.store, 0o555, 0o444)
            built = place.run("html", "-W", around=around)
            if modes:
                _chmod(place.store, 0o755, 0o644)
            problems = ended(built, (0, 1) if changed else (0,))
            if not problems:
                problems = as_clean(built, expected)[bool(built.code) :]
            problems += _warned(built, changed)
            if not changed and built.traced:
                problems.append(f"{built.traced} programs were traced")
            if before != sorted(place.stored()):
                problems.append("the store has other files than before")
            tally.note(f"{name} changed" if changed else "nothing changed", problems)
            if changed:  # so that the store has everything for the next turn
                place.run("html", "-W")
    finally:
        os.umask(umask)
    return tally


def _chmod(where: Path, folders: int, files: int) -> None:
    for path in [where, *where.rglob("*")]:
        path.chmod(folders if path.is_dir() else files)


# -- no file in the place of a file ----------------------------------------------------------


def _socket(path: Path) -> None:
    # Addresses are short: it is bound from its own folder.
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name[-90:])
        os.rename(path.name[-90:], path.name)
    finally:
        os.chdir(before)


def _full_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("{}", "utf-8")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


KINDS: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: path.mkdir(),
    "a folder with something in it": _full_folder,
    "a FIFO": lambda path: os.mkfifo(path),
    "a socket": _socket,
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "a loop of links": _loop,
    "a link to a folder": lambda path: path.symlink_to("/etc"),
    "a link to /dev/full": lambda path: path.symlink_to("/dev/full"),
}


@row(short=0, long=24)
def odd_files(chance: random.Random, count: int) -> Tally:
    """A folder, FIFO, socket or link in the place of some or all files of the store."""
    tally = Tally()
    with folder() as where:
        pages = size(count)
        place, (expected, _) = site(where, pages), clean(pages)
        kinds = list(KINDS)
        chance.shuffle(kinds)
        for turn in range(count):
            place.forget()
            place.run("html")
            kind, files = kinds[turn % len(kinds)], place.stored()
            if turn >= len(kinds):
                files = chance.sample(files, chance.randrange(1, len(files) + 1))
            for path in files:
                remove(path)
                KINDS[kind](path)
            place.forget("out")
            built = place.run("html", "-W", seconds=90)
            what = f"{kind} for {len(files)} files"
            problems = ended(built)
            if not problems:
                problems = as_clean(built, expected)[bool(built.code) :]
            tally.note(what, [*problems, *_warned(built, 1)])
            if count == 1:
                break
            again = place.run("html", "-W", seconds=90)
            tally.note(f"{what}, again", [*ended(again), *_warned(again, 1)])
    return tally


@row(short=0, long=8)
def odd_store(chance: random.Random, count: int) -> Tally:
    """A file, FIFO, socket or broken link in the place of the store's folder."""
    tally = Tally()
    with folder() as where:
        place, (expected, _) = site(where, 3), clean(3)
        kinds = {name: make for name, make in KINDS.items() if "folder" not in name}
        kinds["a file"] = lambda path: path.write_text("{}", "utf-8") and None
        for kind in (chance.sample(list(kinds), len(kinds)) * count)[:count]:
            place.forget()
            kinds[kind](place.store)
            built = place.run("html", "-W", seconds=90)
            problems = ended(built)
            if not problems:
                problems = as_clean(built, expected)[bool(built.code) :]
            tally.note(kind, [*problems, *_warned(built, 1)])
    return tally


# -- modes -----------------------------------------------------------------------------------


@row(short=0, long=4)
def umask(chance: random.Random, count: int) -> Tally:
    """Files of store and lock have the modes that the umask (000, 022, 027, 077) gives."""
    tally = Tally()
    with folder() as where:
        place, (expected, _) = site(where, 3), clean(3)
        for mask in (chance.sample([0o022, 0o000, 0o027, 0o077], 4) * count)[:count]:
            place.forget("out", place.store_name, "docs/_jaxprs")
            around = ["sh", "-c", f'umask {mask:03o}; exec "$@"', "sh"]
            problems = as_clean(place.run("html", "-W", around=around), expected)
            problems += ended(place.run("jaxpr-lock", around=around), (0,))
            files = [*place.stored(), *(place.docs / "_jaxprs").rglob("*.json")]
            for path in files:
                mode = stat.S_IMODE(path.stat().st_mode)
                if mode != 0o666 & ~mask:
                    problems.append(f"files of {path.parent.name} have {mode:03o}")
            for path in {path.parent for path in files}:
                mode = stat.S_IMODE(path.stat().st_mode)
                if mode != 0o777 & ~mask:
                    problems.append(f"the folder {path.name} has {mode:03o}")
            tally.note(f"umask {mask:03o}", problems)
    return tally


ROWS = [
    *(full_disk, full_disk_calls, read_only_store, unwritable_store),
    *(odd_files, odd_store, umask),
]
