"""What a request depends on, in a process that imports and opens as a worker does."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import PROJECT

# JAX is of no use here: the recorder watches imports and files only.
DRIVER = """
import dataclasses, json, sys
sys.path[:0] = {paths!r}
sys.dont_write_bytecode = True
from sphinx_jaxpr.worker.access import watch
from sphinx_jaxpr.worker.recorder import DependencyRecorder
recorder = DependencyRecorder({package!r})
recorder.install()
watch(recorder)
found = {{}}
for number, target in enumerate({targets!r}):
    module, _, function = target.partition(":")
    recorder.request = f"request {{number}}"
    loaded = recorder.load(module)
    if function:
        getattr(loaded, function)()
    recorder.request = ""
    needs = recorder.dependencies([module], f"request {{number}}")
    found[target] = dataclasses.asdict(needs)
print("\\n" + json.dumps(found))
"""


class Code:
    """Modules in a folder, and what the recorder says of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "code"

    def write(self, modules: Mapping[str, str]) -> None:
        """Write modules by dotted name; ``HERE`` in their text is the folder."""
        for name, text in modules.items():
            path = self.folder / (name.replace(".", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).replace("HERE", repr(str(self.folder))), "utf-8")

    def needs(self, *targets: str, **more: Any) -> dict[str, dict[str, Any]]:
        """Dependencies of targets (``module`` or ``module:function``), asked in this order."""
        paths = [str(self.folder), *more.get("paths", ()), str(PROJECT)]
        package = str(PROJECT / "sphinx_jaxpr")
        script = DRIVER.format(paths=paths, package=package, targets=targets)
        python = more.get("python", sys.executable)
        done = subprocess.run(
            [python, "-P", "-c", script], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return found

    def files(self, *targets: str, **more: Any) -> dict[str, set[str]]:
        """The same, files only, relative to the folder."""
        return {
            target: {os.path.relpath(file, self.folder) for file in needs["files"]}
            for target, needs in self.needs(*targets, **more).items()
        }


@pytest.fixture
def code(tmp_path: Path) -> Code:
    return Code(tmp_path)


def test_ways_to_import(code: Code) -> None:
    code.write(
        {
            "pkg.__init__": "from . import first",
            "pkg.first": "import plain",
            "pkg.second": "from .deep.inner import value",
            "pkg.deep.__init__": "",
            "pkg.deep.inner": "value = 1",
            "plain": "",
            "star": "from pkg_all import *",
            "pkg_all.__init__": "__all__ = ['listed']",
            "pkg_all.listed": "",
            "by_name": "import importlib; importlib.import_module('plain')",
            "relative.__init__": "import importlib; importlib.import_module('.inside', __name__)",
            "relative.inside": "",
            "lazy": "def f():\n    import plain",
            "none": "import json",
        }
    )
    found = code.files(
        "none", "pkg.second", "star", "by_name", "relative", "lazy", "lazy:f", "pkg.first"
    )
    inits = {"pkg/__init__.py", "pkg/first.py", "plain.py"}
    assert found["none"] == {"none.py"}
    assert found["pkg.first"] == inits
    deep = {"pkg/deep/__init__.py", "pkg/deep/inner.py"}
    assert found["pkg.second"] == inits | {"pkg/second.py"} | deep
    assert found["star"] == {"star.py", "pkg_all/__init__.py", "pkg_all/listed.py"}
    assert found["by_name"] == {"by_name.py", "plain.py"}
    assert found["relative"] == {"relative/__init__.py", "relative/inside.py"}
    assert found["lazy"] == {"lazy.py"}
    assert found["lazy:f"] == {"lazy.py", "plain.py"}


TWO = {
    "pkg.__init__": "",
    "pkg.one": "from . import helper\nimport shared\ndef f(): return shared.table()",
    "pkg.two": "from . import helper\nimport shared\ndef f(): return shared.table()",
    "pkg.three": "",
    "pkg.helper": "TEXT = open(HERE + '/helper.txt').read()",
    "shared": """
        import functools
        @functools.cache
        def table():
            with open(HERE + '/table.txt') as stream:
                return stream.read()
    """,
}


def test_the_order_of_requests_makes_no_difference(code: Code) -> None:
    code.write(TWO)
    (code.folder / "helper.txt").write_text("1")
    (code.folder / "table.txt").write_text("2")
    targets = ["pkg.one:f", "pkg.two:f", "pkg.three"]
    forth, back = code.files(*targets), code.files(*reversed(targets))
    assert forth == back
    shared = {"pkg/__init__.py", "pkg/helper.py", "shared.py", "helper.txt", "table.txt"}
    assert forth["pkg.one:f"] == {"pkg/one.py"} | shared
    assert forth["pkg.two:f"] == {"pkg/two.py"} | shared
    assert forth["pkg.three"] == {"pkg/__init__.py", "pkg/three.py"}


def test_files_that_are_read_made_missing_or_gone(code: Code) -> None:
    code.write(
        {
            "reads": """
            import os, pathlib, subprocess, tempfile
            def f():
                pathlib.Path(HERE + '/data.bin').read_bytes()
                os.close(os.open(HERE + '/low.bin', os.O_RDONLY))
                try:
                    open(HERE + '/missing.cfg')
                except OSError:
                    pass
                with open(HERE + '/made.txt', 'w') as stream:
                    stream.write('x')
                open(HERE + '/made.txt').read()
                with tempfile.TemporaryDirectory(dir=HERE) as folder:
                    subprocess.run(['touch', folder + '/gone'])
                    open(folder + '/gone').read()
                try:
                    open(HERE)
                except OSError:
                    pass
                open('/proc/self/status').read()
        """
        }
    )
    (code.folder / "data.bin").write_bytes(b"1")
    (code.folder / "low.bin").write_bytes(b"2")
    needs = code.needs("reads:f")["reads:f"]["files"]
    names = {os.path.basename(file): known for file, known in needs.items()}
    assert set(names) == {"reads.py", "data.bin", "low.bin", "missing.cfg"}
    assert names["missing.cfg"] == ""
    assert all(len(known) == 64 for name, known in names.items() if name != "missing.cfg")


def test_an_edit_while_the_program_runs_is_not_taken_for_what_was_read(code: Code) -> None:
    code.write(
        {
            "reads": """
            import pathlib, subprocess
            pathlib.Path(HERE + '/data.txt').read_text()
            subprocess.run(['sh', '-c', 'echo new > ' + HERE + '/data.txt'])
        """
        }
    )
    data = code.folder / "data.txt"
    data.write_text("old")
    known = code.needs("reads")["reads"]["files"][str(data)]
    assert data.read_text() == "new\n"
    assert known == hashlib.sha256(b"old").hexdigest()


def test_byte_code_stands_for_its_source(code: Code) -> None:
    code.write({"user": "import used", "used": ""})
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(code.folder)], check=True)
    assert (code.folder / "__pycache__").is_dir()
    assert code.files("user")["user"] == {"user.py", "used.py"}


def test_modules_from_an_archive_and_by_exec(code: Code, tmp_path: Path) -> None:
    code.write(
        {
            "user": "import zipped\nexec('def made(): return open(FILE).read()')\n"
            "FILE = HERE + '/data.txt'\n",
        }
    )
    (code.folder / "data.txt").write_text("1")
    archive = tmp_path / "code.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("zipped.py", "")
    found = code.files("user:made", "zipped", paths=[str(archive)])
    assert found["user:made"] == {"user.py", "data.txt", "../code.zip"}
    assert found["zipped"] == {"../code.zip"}


LOADER = """
import importlib

def attach(name):
    def __getattr__(attribute):
        return importlib.import_module(f"{name}.{attribute}")
    return __getattr__
"""


@pytest.fixture
def site(tmp_path: Path) -> tuple[str, Path]:
    """An interpreter with a site folder of its own, and that folder."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    python = tmp_path / "env" / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return str(python), Path(done.stdout.strip())


def install(folder: Path, name: str, text: str, version: str = "1.0") -> None:
    """A distribution of one module, as an installer leaves it."""
    (folder / f"{name}.py").write_text(text, "utf-8")
    info = folder / f"{name}_dist-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Name: {name}-dist\nVersion: {version}\n", "utf-8")
    (info / "top_level.txt").write_text(name + "\n", "utf-8")


def test_installed_distributions(code: Code, site: tuple[str, Path]) -> None:
    python, folder = site
    install(folder, "lower", "")
    install(folder, "upper", "import lower")
    install(folder, "loader", LOADER)
    code.write(
        {
            "direct": "import upper",
            "low": "import lower",
            "none": "",
            "facade.__init__": "import loader\n__getattr__ = loader.attach(__name__)",
            "facade.part": "",
            "facade.other": "",
            "user": "import facade\ndef f(): return facade.part",
            "later": "import facade\ndef f(): return facade.part",
        }
    )
    # `lower` is loaded before `upper` asks for it, which makes no difference.
    found = code.needs("none", "low", "direct", "user:f", "later:f", python=python)
    assert found["none"]["distributions"] == []
    assert found["low"]["distributions"] == ["lower-dist"]
    assert found["direct"]["distributions"] == ["lower-dist", "upper-dist"]
    assert [Path(file).name for file in found["direct"]["files"]] == ["direct.py"]
    for target in ("user:f", "later:f"):  # the second finds it as an attribute
        names = {Path(file).name for file in found[target]["files"]}
        assert names == {f"{target[:-2]}.py", "__init__.py", "part.py"}
        assert found[target]["distributions"] == ["loader-dist"]


#: What modules ask for in passing, beside ``tests``: the parts of the needs, and names in them.
ASKING = {
    "relative": ("try: from .fast import N\nexcept ImportError: N = 2", "parts", {"pk/fast"}),
    "absolute": ("try: import opt\nexcept ImportError: pass", "missing", {"opt"}),
    "by_name": ("try: __import__('opt')\nexcept ImportError: pass", "missing", {"opt"}),
    "spec": ("import importlib.util as u\nu.find_spec('opt')", "missing", {"opt"}),
    "spec_inside": (
        "import importlib.util as u\nu.find_spec('pk.fast')",
        "parts",
        {"pk/fast"},
    ),
    "from_import": ("try: from . import fast\nexcept ImportError: pass", "parts", {"pk/fast"}),
    "called": (
        "import importlib\ntry: importlib.import_module('opt')\nexcept ImportError: pass",
        "missing",
        {"opt"},
    ),
    "own_path": (
        "import sys\nsys.path.insert(0, HERE + '/vendor')\n"
        "try: import opt\nexcept ImportError: pass\nsys.path.pop(0)",
        "parts",
        {"vendor/opt"},
    ),
    "version": (
        "import importlib.metadata as m\ntry: m.version('no-such-dist')\nexcept Exception: pass",
        "distributions",
        {"no-such-dist"},
    ),
    "shell": (
        "import os\nos.system('cat ' + HERE + '/child.txt')",
        "files",
        {"child.txt", "pk/__init__.py", "pk/shell.py"},
    ),
    "listing": ("import os\nos.listdir(HERE + '/data')", "folders", {"data"}),
    "walk": ("import os\nlist(os.walk(HERE + '/data'))", "folders", {"data", "data/deep"}),
    "globbing": ("import glob\nglob.glob(HERE + '/data/*.csv')", "folders", {"data"}),
    "path_glob": (
        "import pathlib\nlist(pathlib.Path(HERE).glob('data/*.csv'))",
        "folders",
        {"data"},
    ),
    "iterdir": ("import pathlib\nlist(pathlib.Path(HERE, 'data').iterdir())", "folders", {"data"}),
    "pkgutil_": (
        "import pkgutil\nlist(pkgutil.iter_modules([HERE + '/data']))",
        "folders",
        {"data", "data/deep"},
    ),
    "resources": (
        "import importlib.resources as r\nlist(r.files('pk').iterdir())",
        "folders",
        {"pk"},
    ),
    "no_folder": ("import glob\nglob.glob(HERE + '/none/*')", "folders", set()),
    "exists": ("import os\nos.path.exists(HERE + '/flag')", "paths", {"flag"}),
    "access": ("import os\nos.access(HERE + '/flag', os.R_OK)", "paths", {"flag"}),
    "is_file": ("import pathlib\npathlib.Path(HERE, 'flag').is_file()", "paths", {"flag"}),
    "isdir": ("import os\nos.path.isdir(HERE + '/data')", "paths", {"data"}),
    "size": ("import os\nos.path.getsize(HERE + '/pk/plain.py')", "sizes", {"pk/plain.py"}),
    "state": ("import pathlib\npathlib.Path(HERE, 'pk/plain.py').stat()", "sizes", {"pk/plain.py"}),
    "getenv": ("import os\nos.getenv('MY_FLAG')", "variables", {"MY_FLAG"}),
    "environ": ("import os\n'MY_FLAG' in os.environ", "variables", {"MY_FLAG"}),
    "all_of_it": ("import os\ndict(os.environ), os.environ.copy()", "variables", set()),
    "home": ("import os\nos.path.expanduser('~')", "variables", set()),
    "filled": (
        "import os, string\nos.path.expandvars('$MY_FLAG')\n"
        "string.Template('$OTHER').safe_substitute(os.environ)",
        "variables",
        {"MY_FLAG", "OTHER"},
    ),
    "plugins": (
        "import importlib.metadata as m\nm.entry_points(group='mine')",
        "distributions",
        {"*"},
    ),
    "mapped": (
        "import mmap\nwith open(HERE + '/child.txt', 'r+b') as s: mmap.mmap(s.fileno(), 0)[0]",
        "files",
        {"child.txt", "pk/__init__.py", "pk/mapped.py"},
    ),
    "below": (
        "import os\nos.open('child.txt', os.O_RDONLY, dir_fd=os.open(HERE, os.O_RDONLY))",
        "files",
        {"child.txt", "pk/__init__.py", "pk/below.py"},
    ),
    "listing_open": (
        "import os\nos.listdir(os.open(HERE + '/data', os.O_RDONLY))",
        "folders",
        {"data"},
    ),
    "link": ("import os\nos.readlink(HERE + '/link')", "paths", {"link"}),
    "database": (
        "import sqlite3\nsqlite3.connect(HERE + '/t.db').execute('select * from t')",
        "files",
        {"t.db", "pk/__init__.py", "pk/database.py"},
    ),
    "child": (
        "import subprocess\nsubprocess.run(['cat', 'child.txt'], cwd=HERE)",
        "files",
        {"child.txt", "pk/__init__.py", "pk/child.py"},
    ),
}


def names(code: Code, needs: dict[str, Any], part: str) -> set[str]:
    return {
        os.path.relpath(name, code.folder) if os.path.isabs(name) else name for name in needs[part]
    }


@pytest.fixture
def asked(code: Code) -> tuple[Code, dict[str, dict[str, Any]]]:
    """The needs of all modules that ask for something, by target."""
    code.write({"pk.__init__": "", "pk.plain": "import json"})
    code.write({f"pk.{name}": text for name, (text, _, _) in ASKING.items()})
    (code.folder / "data" / "deep").mkdir(parents=True)
    (code.folder / "data" / "a.csv").touch()
    (code.folder / "child.txt").write_text("1")
    (code.folder / "link").symlink_to("child.txt")
    database = sqlite3.connect(code.folder / "t.db")
    database.execute("create table t (n)")
    database.close()
    return code, code.needs("pk.plain", *(f"pk.{name}" for name in ASKING))


def test_what_code_asks_for_is_a_need(asked: tuple[Code, dict[str, dict[str, Any]]]) -> None:
    code, found = asked
    quiet = ("folders", "paths", "sizes", "missing", "variables")
    assert {part: found["pk.plain"][part] for part in quiet} == {
        **{part: {} for part in quiet[:3]},
        "missing": [],
        "variables": [],
    }
    for name, (_, part, expected) in ASKING.items():
        needs = found[f"pk.{name}"]
        more = {"none"} if name == "no_folder" else set()
        got = names(code, needs, part)
        if part == "parts":
            assert got == expected | {f"pk/{name}"}, name
        elif name == "no_folder":  # Python asks for it, or lists it in vain
            assert got | names(code, needs, "paths") == more, name
        else:
            assert got == expected, name
    assert found["pk.relative"]["parts"][str(code.folder / "pk" / "fast")] == ""
    assert found["pk.exists"]["paths"] == {str(code.folder / "flag"): ""}
    assert found["pk.isdir"]["paths"] == {str(code.folder / "data"): "folder"}
    assert found["pk.size"]["sizes"] == {str(code.folder / "pk/plain.py"): "file of 11 bytes"}


def test_what_was_asked_belongs_to_the_module_that_asked(code: Code) -> None:
    code.write(
        {
            "one": "import shared\ndef f(): return shared.flag()",
            "two": "import shared\ndef f(): return shared.flag()",
            "three": "",
            "shared": """
                import functools, os
                try:
                    import missing
                except ImportError:
                    pass
                @functools.cache
                def flag():
                    return os.path.exists(HERE + '/flag'), os.environ.get('FLAG')
            """,
        }
    )
    targets = ["one:f", "two:f", "three"]
    forth, back = code.needs(*targets), code.needs(*reversed(targets))
    assert forth == back
    for part in ("paths", "missing", "variables"):
        assert forth["one:f"][part] == forth["two:f"][part] and forth["one:f"][part]
        assert not forth["three"][part]


def test_what_the_code_makes_itself_is_no_need(code: Code) -> None:
    code.write(
        {
            "makes": """
            import os, pathlib, shutil, tempfile
            def f():
                with tempfile.TemporaryDirectory(dir=HERE) as folder:
                    path = pathlib.Path(folder, 'sub')
                    path.mkdir()
                    (path / 'x').write_text('1')
                    assert (path / 'x').exists() and os.listdir(path)
                kept = pathlib.Path(HERE, 'cache')
                if not kept.exists():
                    kept.mkdir()
                os.listdir(kept)
                (kept / 'made').write_text('1')
                shutil.copy(kept / 'made', kept / 'other')
        """
        }
    )
    first, second = code.needs("makes:f")["makes:f"], code.needs("makes:f")["makes:f"]
    cache = str(code.folder / "cache")
    assert set(first["paths"]) <= {cache, f"{cache}/made", f"{cache}/other"}
    assert set(first["folders"]) == {cache}
    assert first == second  # what the first run left is what the second finds


def test_a_module_that_fails_and_is_done_without(code: Code) -> None:
    code.write(
        {
            "user": "try: import broken\nexcept ImportError: pass",
            "broken": "import helper\nimport missing",
            "helper": "",
            "other": "try: import broken\nexcept ImportError: pass",
        }
    )
    found = code.needs("user", "other")
    for target in ("user", "other"):
        assert names(code, found[target], "files") == {f"{target}.py", "broken.py", "helper.py"}
        assert "missing" in found[target]["missing"]


def test_what_libraries_ask_while_they_are_imported_is_their_own(
    code: Code, site: tuple[str, Path]
) -> None:
    python, folder = site
    asks = f"import os\nos.path.exists({str(code.folder / 'flag')!r}); os.environ.get('A')\n"
    asks += "try: import missing\nexcept ImportError: pass\n"
    asks += "def exists(path): return os.path.exists(path)\n"
    install(folder, "lib", asks)
    code.write(
        {
            "user": "import lib\ndef f(): return lib.exists(HERE + '/asked')",
            "metadata": "import importlib.metadata as m\nlist(m.entry_points())",
        }
    )
    found = code.needs("user:f", "metadata", python=python)
    assert names(code, found["user:f"], "paths") == {"asked"}
    assert found["user:f"]["missing"] == found["user:f"]["variables"] == []
    assert found["metadata"]["folders"] == found["metadata"]["paths"] == {}


def test_what_hides_a_module_of_any_import_is_looked_for(code: Code) -> None:
    code.write({"user": "import helper, fractions, pk.sub", "helper": "", "pk.sub": ""})
    needs = code.needs("user")["user"]
    assert {"user", "helper", "pk"} <= set(needs["modules"])
    assert needs["parts"] == {str(code.folder / "pk" / "sub"): "sub.py"}
    assert needs["missing"] == []


def test_wrapped_functions_do_what_the_plain_ones_do(code: Code) -> None:
    code.write(
        {
            "uses": """
            import os, pickle, shutil, tempfile
            def f():
                assert os.stat in os.supports_dir_fd and os.stat in os.supports_follow_symlinks
                assert os.stat(path=HERE).st_ino == os.lstat(os.open(HERE, os.O_RDONLY)
                    if False else HERE).st_ino
                assert pickle.loads(pickle.dumps(os.stat)) is os.stat
                folder = tempfile.mkdtemp()
                os.mkdir(folder + '/x')
                shutil.rmtree(folder)
                assert not os.path.exists(folder)
                for wrong in (lambda: os.stat(HERE + '/none'), lambda: os.environ['NONE_SET']):
                    try:
                        wrong()
                    except (FileNotFoundError, KeyError):
                        pass
                    else:
                        raise AssertionError
                assert set(os.environ) == set(dict(os.environ)) and len(os.environ)
        """
        }
    )
    assert code.needs("uses:f")["uses:f"]["variables"] == ["NONE_SET"]
