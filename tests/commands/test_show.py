"""``python -m sphinx_jaxpr show``: three forms of output, exit statuses, messages; no Sphinx."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from sphinx_jaxpr.__main__ import COMMANDS, main
from sphinx_jaxpr.commands.show import OPTIONS
from tests.support import DENSE, PROJECT

pytestmark = pytest.mark.once

CODE = (
    DENSE
    + """

def choose(x, act=jnp.sin):
    import jax
    return jax.lax.cond(x.sum() > 0, lambda y: act(y) * 2.0, lambda y: y, x)


def broken(x):
    return x @ jnp.ones((3, 3))


def refused(x):
    raise TypeError("no <b>such</b> & thing")


def slow(x):
    while True:
        pass


def twice(fn, args, times=2):
    return (lambda *a: fn(*a) * times), args
"""
)
DENSE_ARGS = "x=f32[8,16], w=f32[16,4], b=f32[4]"

#: Refuses what the process that is started must not import.
WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sphinx", "docutils", "pygments", "jax", "myst_parser"}:
            raise AssertionError(f"imports {name}")
sys.meta_path.insert(0, Refuse())
from sphinx_jaxpr.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class Shell:
    """Runs the command in a folder that holds a module."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "layers.py").write_text(CODE, "utf-8")

    def __call__(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT, *arguments],
            capture_output=True,
            text=True,
            cwd=cwd or self.folder,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("shell"))


GALLERY = (
    "show", "layers:dense", "--args", DENSE_ARGS,
    "--transforms", "grad(argnums=w), vmap | jit as both",
)  # fmt: skip


@pytest.fixture(scope="module")
def known(shell: Shell) -> dict[str, Any]:
    code, out, err = shell(*GALLERY, "--json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_json(known: dict[str, Any]) -> None:
    assert known["schema"] == 1
    assert known["target"] == "layers:dense"
    names = [(block["name"], block["label"]) for block in known["blocks"]]
    assert names == [("dense", ""), ("dense.grad", "grad"), ("dense.both", "both")]
    base, grad, both = known["blocks"]
    assert base["args"][0] == {"name": "x", "type": "f32[8,16]"}
    assert grad["call"].startswith("jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)")
    assert grad["summary"].startswith("grows 4 \u2192 ")
    tanh = next(e for e in grad["equations"] if e["primitive"] == "tanh")
    assert tanh["phase"] == "forward" and tanh["change"] == "kept"
    assert tanh["types"] == ["f32[8,4]"]
    assert tanh["source"] == {"file": "layers.py", "line": 6, "function": "dense"}
    assert "= tanh " in grad["text"][tanh["start"] : tanh["end"]]
    assert {e["change"] for e in grad["equations"]} == {"kept", "added"}
    assert {e["phase"] for e in grad["equations"]} >= {"forward", "transpose"}
    assert all(e["change"] is None and e["phase"] is None for e in base["equations"])
    assert [e["id"] for e in both["equations"]][:2] == [
        "jaxpr-dense.both-eqn-0",
        "jaxpr-dense.both-eqn-0-0-0",
    ]


def test_text(shell: Shell, known: dict[str, Any]) -> None:
    code, out, err = shell(*GALLERY)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "# dense: dense"
    assert lines[1].startswith("# 4 equations; x: f32[8,16], w: f32[16,4], b: f32[4]; JAX ")
    for block in known["blocks"]:
        assert f"\n{block['text']}\n" in out
        assert f"# {block['name']}: {block['call']}\n" in out
    assert any(line.startswith("# transpose: ") for line in lines)
    assert any(line.startswith("# added: ") for line in lines)
    # What is no comment is JAX's own text.
    own = "\n".join(line for line in lines if not line.startswith("#"))
    assert own == "\n\n".join(block["text"] for block in known["blocks"])


def test_html(shell: Shell, known: dict[str, Any]) -> None:
    code, out, err = shell(*GALLERY, "--html", "--open", "grad")
    assert (code, err) == (0, "")
    assert out.startswith("<!DOCTYPE html>")
    page = BeautifulSoup(out, "html.parser", preserve_whitespace_tags={"body", "pre"})
    figures = page.select("figure.jaxpr")
    assert [figure["id"] for figure in figures] == [
        f"jaxpr-{block['name']}" for block in known["blocks"]
    ]
    for figure, block in zip(figures, known["blocks"], strict=True):
        lines = [line.get_text() for line in figure.select(".jaxpr-line")]
        assert "\n".join(lines) == block["text"]
        assert figure.select_one(".jaxpr-call").get_text() == block["call"]
        shown = {str(e["id"]): e.get("data-phase") for e in figure.select(".jaxpr-eqn")}
        assert shown == {e["id"]: e["phase"] for e in block["equations"]}
    assert [figure.details.has_attr("open") for figure in figures] == [False, True, False]
    ids = [tag["id"] for tag in page.select("[id]")]
    assert len(ids) == len(set(ids))
    for link in page.select("a[href]"):
        assert str(link["href"]).removeprefix("#") in ids
    # Nothing else is loaded.
    assert not page.select("link, [src]")
    assert "figure.jaxpr" in page.style.get_text()
    assert "sphinxJaxpr" in page.script.get_text()
    # And it allows itself to hold these two, by what they are.
    policy = page.select_one("meta[http-equiv=Content-Security-Policy]")["content"]
    for part in (page.style, page.script):
        digest = base64.b64encode(hashlib.sha256(part.get_text().encode()).digest()).decode()
        assert f"{part.name}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("form", ["", "--json", "--html"])
def test_an_expected_error_is_shown(form: str, shell: Shell) -> None:
    given = ("show", "layers:refused", "--args", "f32[2]", "--raises", "TypeError: such")
    code, out, err = shell(*given, *filter(None, [form]))
    assert (code, err) == (0, "")
    if form == "--json":
        (block,) = json.loads(out)["blocks"]
        assert block["error"]["message"] == "no <b>such</b> & thing"
        assert block["error"]["frames"][0]["file"] == "layers.py"
    elif form == "--html":
        assert "no &lt;b&gt;such&lt;/b&gt; &amp; thing" in out
        assert BeautifulSoup(out, "html.parser").select_one("figure.jaxpr-raises")
    else:
        assert "# refused: refused\n# TypeError: no <b>such</b> & thing\n" in out


def test_failures(shell: Shell) -> None:
    code, out, err = shell("show", "layers:broken", "--args", "x=f32[8]", "--transforms", "vmap")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith("error: broken: TypeError: dot_general requires")
    assert re.search(r"\[layers.py:\d+ in broken: return x @ jnp.ones\(\(3, 3\)\)\]", err)
    assert err.endswith("(and so for broken.vmap)\n")

    code, out, err = shell("show", "layers:dense", "--args", DENSE_ARGS, "--transforms",
                           "grad(sum=False), vmap")  # fmt: skip
    assert code == 1
    assert err.startswith("error: dense.grad: TypeError: Gradient only defined for scalar-output")
    assert "# dense.vmap: " in out  # one that fails costs no other

    code, out, err = shell("show", "layers:slow", "--args", "f32[]", "--timeout", "2")
    assert (code, out) == (1, "")
    assert "still tracing layers:slow after 2 s" in err

    code, _, err = shell("show", "layers:dense", "--args", DENSE_ARGS, "--raises", "TypeError")
    assert (code, err) == (1, "error: dense: expected TypeError, but no error occurred\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("layers:dens", "--args", "f32[]"),
            "module 'layers' has no attribute 'dens', did you mean",
        ),
        (("layer:dense",), "no module 'layer', did you mean 'layers'?"),
        (
            ("layers:dense", "--args", "x=f32[2], y=f32[2]"),
            "args names 'y', which is not a parameter",
        ),
        (
            ("layers:dense", "--args", DENSE_ARGS, "--transforms", "grad(argnums=q)"),
            "argnums names",
        ),
    ],
)
def test_what_the_worker_finds_wrong(arguments: tuple[str, ...], says: str, shell: Shell) -> None:
    code, _, err = shell("show", *arguments)
    assert code == 2
    assert says in err


def test_other_options(shell: Shell, tmp_path: Path) -> None:
    code, out, err = shell(
        "show", "layers:choose", "--args", "x=f64[3]", "--static", "act=jnp.cos", "--x64", "--jit",
        "--name", "pick", "--own", "twice=layers:twice", "--transforms", "twice(times=3)",
        "--path", str(shell.folder), "--python", sys.executable,
        cwd=tmp_path,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "# pick.twice: twice(" in out
    assert "cos" in out and "f64[3]" in out and "jit[" in out
    code, _, err = shell("show", "layers:dense", "--args", "x=f64[2,3], w=f32[3,4], b=f32[4]")
    assert (code, err) == (0, "warning: --args: f64 is narrowed without --x64\n")


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "the following arguments are required: command"),
        ("shwo layers:dense", "no command 'shwo', did you mean 'show'?"),
        ("show", "the following arguments are required: target"),
        ("drift docs --pyton x", "unknown argument '--pyton', did you mean '--python'?"),
        ("drift docs", "the following arguments are required: --python"),
        ("show dense", "'dense' does not name a function; expected package.module:function"),
        ("show a:b --agrs f32[]", "unknown argument '--agrs', did you mean '--args'?"),
        ("show a:b c", "unknown argument 'c'"),
        ("show a:b --arg f32[]", "unknown argument '--arg', did you mean '--args'?"),
        ("show a:b --args f32[", "--args: expected a value, found the end"),
        ("show a:b --args float32[2]", "--args: unknown dtype 'float32', did you mean 'f32'?"),
        ("show a:b --static n", "--static: expected name=value"),
        ("show a:b --transforms grda", "unknown transform 'grda', did you mean 'grad'?"),
        ("show a:b --transforms grad(argnum=w)", "unknown option 'argnum' of 'grad', did you mean"),
        ("show a:b --transforms grad,grad", "two variants have the label 'grad'"),
        ("show a:b --name while", "--name: 'while' is a reserved word, try 'while_'"),
        ("show a:b --timeout soon", "--timeout: expected a number of seconds, found 'soon'"),
        (
            "show a:b --open gard --transforms grad",
            "--open: 'gard' is not one of auto, all, none, base",
        ),
        ("show a:b --path nowhere", "--path: there is no folder 'nowhere'"),
        ("show a:b --own twice", "--own: expected name=module:function, found 'twice'"),
        ("show a:b --html --json", "not allowed with argument"),
    ],
)
def test_wrong_usage(arguments: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert says in err


@pytest.mark.once
def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["show", "--help"], ["drift", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
    out = capsys.readouterr().out
    assert all(option in out for option in OPTIONS)
    assert all(command in out for command in COMMANDS)


def test_a_module_of_the_working_folder_hides_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise AssertionError('not the library')\n", "utf-8")
    (tmp_path / "argparse.py").write_text("raise AssertionError('not the library')\n", "utf-8")
    (tmp_path / "here.py").write_text("def double(x):\n    return 2 * x\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx_jaxpr", "show", "here:double", "--args", "x=f32[3]"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "mul" in done.stdout
