"""Code that misbehaves: it costs one warning and its own blocks, never the build."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psutil
import pytest

from tests.ext.cases import GOOD, Case, Page, problems, warned
from tests.support import Project

pytestmark = pytest.mark.once

X = {"args": "x=f32[4]"}
F = "\n\ndef f(x):\n    return x * 2\n"

#: Modules that fail or end the process when they are imported.
IMPORTS = {
    "value": ("raise ValueError('at import')", "ValueError: at import"),
    "syntax": ("def g(:\n    pass", "SyntaxError: invalid syntax"),
    "third": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "exit": ("import sys\nsys.exit(3)", "SystemExit: the code called sys.exit(3)"),
    "ask": ("input()", "EOFError: EOF when reading a line"),
    "vanish": ("import os\nos._exit(3)", "importing bad_vanish ended with exit status 3"),
    "aborts": ("import os\nos.abort()", "importing bad_aborts was ended by SIGABRT"),
    "crash": ("import ctypes\nctypes.string_at(0)", "importing bad_crash was ended by SIGSEGV"),
    "nul": ("", "SyntaxError: source code string cannot contain null bytes"),
}

RUNS = """
import os
import sys
import jax
import jax.numpy as jnp


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Rude(Exception):
    def __str__(self):
        raise SystemExit(9)


class Base(BaseException):
    pass


def silent(x):
    raise Silent


def rude(x):
    raise Rude


def base(x):
    raise Base("not an Exception")


def interrupt(x):
    raise KeyboardInterrupt


def huge(x):
    raise ValueError("long " * 200_000)


def markup(x):
    raise ValueError("<script>alert(1)</script> & *more*")


def bytes_(x):
    raise ValueError("lone \\udcff and \\x1b[31m red \\0 nul")


def deep(x):
    return deep(x)


def leave(x):
    sys.exit("bye")


def memory(x):
    hold = []
    while True:
        hold.append(bytearray(50_000_000))


def abort(x):
    os.abort()
"""

RUNNING = [
    Case("silent", "runs:silent", X, "trace", ("Silent: (its message raised RuntimeError)",)),
    Case("rude", "runs:rude", X, "trace", ("Rude: (its message raised SystemExit)",)),
    Case("base_", "runs:base", X, "trace", ("Base: not an Exception", "in base")),
    Case("interrupt", "runs:interrupt", X, "trace", ("KeyboardInterrupt",)),
    Case("huge", "runs:huge", X, "trace", ("ValueError: long long", "...")),
    Case("markup", "runs:markup", X, "trace", ("<script>alert(1)</script> & *more*",)),
    Case("bytes_", "runs:bytes_", X, "trace", ("\\udcff and \\x1b[31m red \\x00 nul",)),
    Case("deep", "runs:deep", X, "trace", ("RecursionError: maximum recursion depth",)),
    Case("leave", "runs:leave", X, "trace", ("SystemExit: the code called sys.exit(bye)",)),
    Case("memory", "runs:memory", X, "trace", ("MemoryError",)),
    Case("abort", "runs:abort", X, "trace", ("tracing runs:abort was ended by SIGABRT",)),
]


def test_imports_and_runs_that_fail(tmp_path: Path) -> None:
    cases = [
        Case(name, f"bad_{name}:f", X, "trace", (says,)) for name, (_, says) in IMPORTS.items()
    ]
    cases += RUNNING
    page = Page.of(cases, markdown=True)
    files = {f"src/bad_{name}.py": code + F for name, (code, _) in IMPORTS.items()}
    project = Project(tmp_path, {**files, "src/runs.py": RUNS, "docs/index.md": page.text},
                      "jaxpr_memory = 3000\n")  # fmt: skip
    (tmp_path / "src/bad_nul.py").write_bytes(b"x = 1\0\n")

    built = project.build("html", "-W", "--keep-going")
    assert built.code == 1, built.stderr
    assert not problems(built, cases, page, "index")
    assert max(map(len, built.stderr.splitlines())) < 1_500
    html = built.page("index")
    assert not html.select("figure script")
    assert len(html.select_one("#jaxpr-huge").get_text()) < 5_000


NOISY = """
import logging
import os
import sys
import json
import threading
import time

print("noise " * 1_700_000)
os.write(1, b'{"id": 0, "result": {}}\\n\\xff\\xfe\\x00 raw on one\\n')
os.write(2, b"\\xff\\xfe\\x00 raw on two\\n" * 1000)
logging.basicConfig(level=logging.DEBUG)
logging.warning("a warning of the module")
threading.Thread(target=time.sleep, args=(1000,)).start()
os.chdir("/")
json.dumps = json.loads = lambda *a, **k: "patched"
sys.stdout = sys.stderr = sys.stdin = None
for name in list(sys.modules):
    if name.partition(".")[0] in ("sphinx_jaxpr", "json", "traceback", "linecache", "noisy"):
        del sys.modules[name]
"""


def test_noise_and_meddling_reach_neither_page_nor_protocol(tmp_path: Path) -> None:
    files = {
        "src/noisy.py": "import jax.numpy as jnp\n\n" + F + NOISY.replace(', "noisy"', ""),
        "src/loud.py": F.replace("f(x)", "f(x)").replace("return", "print(x); return"),
    }
    page = Page(True, ["# Page", ""])
    for name, target in (("a", "noisy:f"), ("b", "loud:f"), ("c", "noisy:f")):
        options = {**X, "transforms": "vmap"} if name == "c" else X
        page.add(Case(name, target, options, "", ()).written(True))
    bad = Case("bad", "noisy:g", X, "", ())
    page.add(bad.written(True))
    page.add(Case("good", "layers:dense", GOOD, "", ()).written(True))
    built = Project(tmp_path, {**files, "docs/index.md": page.text}).build()
    assert [w.text for w in warned(built)] and len(warned(built)) == 1, built.stderr
    assert "module 'noisy' has no attribute 'g'" in warned(built)[0].text
    texts = built.texts("index")
    assert set(texts) == {
        "jaxpr-a",
        "jaxpr-b",
        "jaxpr-c",
        "jaxpr-c.vmap",
        "jaxpr-bad",
        "jaxpr-good",
    }
    assert texts["jaxpr-a"] == texts["jaxpr-b"] == texts["jaxpr-c"]
    assert "mul" in texts["jaxpr-a"]
    for noise in ("noise noise", "raw on", "a warning of the module"):
        assert noise not in built.stderr
        assert noise not in built.page("index").get_text()


LOOP = """
import subprocess
import sys
from pathlib import Path

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
Path({file!r}).write_text(str(child.pid))
"""


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_an_endless_loop_ends_with_all_that_it_started(tmp_path: Path) -> None:
    started = {name: str(tmp_path / name) for name in ("importing", "tracing", "plain")}
    loop = "while True:\n    pass\n"
    files = {
        "src/stuck.py": LOOP.format(file=started["importing"]) + loop + F,
        "src/spins.py": F + "\n\ndef g(x):\n    while True:\n        pass\n"
        + LOOP.format(file=started["tracing"]),
        "src/starts.py": LOOP.format(file=started["plain"]) + F,
    }  # fmt: skip
    slow = {**X, "timeout": "2"}
    cases = [
        Case("stuck", "stuck:f", {**slow, "transforms": "grad, vmap"}, "timeout",
             ("still importing stuck after 2 s", "(2 more blocks for the same reason)"),
             page=("still importing stuck after 2 s",)),
        Case("spins", "spins:g", {**slow, "transforms": "grad"}, "timeout",
             ("spins: still tracing spins:g after 2 s", "(and so for spins.grad)"),
             page=("still tracing spins:g after 2 s",)),
    ]  # fmt: skip
    page = Page.of(cases, markdown=False)
    page.add(Case("fine", "spins:f", X, "", ()).written(False))
    page.add(Case("starts", "starts:f", X, "", ()).written(False))
    built = Project(tmp_path, {**files, "docs/index.rst": page.text}).build("html", "-W")
    assert built.code == 1, built.stderr
    assert not problems(built, cases, page, "index")
    assert "mul" in built.texts("index")["jaxpr-fine"]
    for file in started.values():
        assert _is_gone(int(Path(file).read_text())), file


def test_a_broken_import_of_sixty_blocks_is_one_warning(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    count = f"open({str(runs)!r}, 'a').write('run ')\n"
    files = {"src/broken.py": count + "raise ValueError('broken')\n" + F}
    lines = "\n".join(
        f"```{{jaxpr-transform}} broken:f\n:name: b{n}\n:args: x=f32[{n}]\n```\n" for n in range(60)
    )
    project = Project(tmp_path, {**files, "docs/index.md": "# Page\n\n" + lines})
    built = project.build("html", "-W")
    assert built.code == 1
    (only,) = warned(built)
    assert only.place == ("index.md", 3)
    assert only.kind == "trace"
    assert runs.read_text() == "run "
    assert re.search(r"import of broken failed: ValueError: broken .*\(59 more blocks", only.text)
    figures = built.page("index").select("figure.jaxpr-error")
    assert len(figures) == 60
    assert all("ValueError: broken" in figure.get_text() for figure in figures)
    text = project.build("text", "-W")
    assert (text.code, len(warned(text))) == (1, 1)
    assert (text.out / "index.txt").read_text("utf-8").count("ValueError: broken") == 60


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    pages = {
        f"docs/p{n:02}.md": f"# {n}\n\n```{{jaxpr-transform}} m{n}:f\n:args: f32[{n + 1}]\n```\n"
        for n in range(20)
    }
    index = "# Index\n\n```{toctree}\n:glob:\np*\n```\n"
    code = {f"src/m{n}.py": F for n in range(20)}
    project = Project(tmp_path, {**pages, **code, "docs/index.md": index})
    project.write("src/m7.py", F.replace("return", "raise ValueError(x)\n    return"))
    built = project.build("html", "-W", "--keep-going")
    assert (built.code, built.traced) == (1, 20)
    assert [w.place for w in warned(built)] == [("p07.md", 3)]
    again = project.build("html", "-W", "--keep-going")
    assert (again.code, again.traced) == (1, 1)
    assert [w.place for w in warned(again)] == [("p07.md", 3)]
    assert "writing output... \n" in again.stdout or "writing output" not in again.stdout
    project.write("src/m7.py", F)
    fixed = project.build("html", "-W", "--keep-going")
    assert (fixed.code, fixed.traced, fixed.stderr) == (0, 1, "")
    assert "mul" in fixed.texts("p07")["jaxpr-f"]
    assert project.build("html", "-W").traced == 0


STARTS = {
    "flags": ('jaxpr_env = {"XLA_FLAGS": "--nonsense"}', "XLA_FLAGS=--nonsense"),
    "platform": ('jaxpr_env = {"JAX_PLATFORMS": "nonsense"}', "JAX_PLATFORMS=nonsense"),
    "none": ('jaxpr_python = "/no/such/python"', "/no/such/python"),
    "relative": ('jaxpr_python = "./no-python"', "no-python"),
    "other": ('jaxpr_python = "/usr/bin/env"', "/usr/bin/env"),
    "without": ('jaxpr_python = "../no-jax"', "could not start JAX: ModuleNotFoundError"),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_worker_that_can_not_start(tmp_path: Path, case: str) -> None:
    conf, named = STARTS[case]
    code = "import jax.numpy as jnp\n\nTABLE = jnp.ones(3)\n\n\ndef f(x):\n    return x * TABLE\n"
    page = "# Page\n\n" + "".join(
        f"```{{jaxpr-transform}} tables:f\n:name: b{n}\n:args: x=f32[3]\n```\n\n" for n in range(3)
    )
    project = Project(tmp_path, {"src/tables.py": code, "docs/index.md": page}, conf + "\n")
    bare = tmp_path / "no-jax"  # a Python without site packages
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    built = project.build("html", "-W")
    assert built.code == 1
    (only,) = warned(built)
    assert only.place == ("index.md", 3)
    assert named in only.text
    assert "(2 more blocks for the same reason)" in only.text
    assert len(built.page("index").select("figure.jaxpr-error")) == 3
