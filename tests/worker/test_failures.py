"""An exception as data: whose frames are kept, and what is made of odd messages."""

from __future__ import annotations

import os
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from sphinx_jaxpr.program.text import spelled_all
from sphinx_jaxpr.tracing.checks import error_problem
from sphinx_jaxpr.tracing.folders import SITE_FOLDERS
from sphinx_jaxpr.tracing.result import ErrorKind, Frame
from sphinx_jaxpr.worker.failures import MAX_MESSAGE, RequestError, describe, printable

OURS = "/somewhere/sphinx_jaxpr"
SITE = SITE_FOLDERS[0]


def raised(files: dict[str, str], error: str = "ValueError('no')") -> BaseException:
    """An error that passes through functions of ``files``: file -> module, outermost first."""
    inner: Any = None
    code = f"def call(inner):\n    raise {error}\n"
    for file, module in reversed(files.items()):
        namespace: dict[str, Any] = {"__name__": module}
        exec(compile(code, file, "exec"), namespace)  # noqa: S102 - the file's name is the point
        inner = (lambda f, g: lambda: f(g))(namespace["call"], inner)
        code = "def call(inner):\n    return inner()\n"
    with pytest.raises(BaseException) as caught:
        inner()
    return caught.value


FILES = {
    f"{OURS}/worker/tracer.py": "sphinx_jaxpr.worker.tracer",
    f"{SITE}lessons/gallery.py": "lessons.gallery",
    f"{SITE}jax/_src/api.py": "jax._src.api",
    "/project/sphinx_jaxpr_docs/code.py": "code",
    f"{SITE}jax/numpy.py": "jax.numpy",
    "<string>": "generated",
}


def frames_of(error: BaseException, owner: str = "") -> list[Frame]:
    """The frames that are kept, but for this test's own."""
    frames = describe(error, ErrorKind.TRACE, OURS, owner).frames
    return [frame for frame in frames if frame.file != __file__]


def test_frames_are_the_users() -> None:
    error = raised(FILES)
    frames = frames_of(error)
    assert [frame.file for frame in frames] == ["/project/sphinx_jaxpr_docs/code.py"]
    frames = frames_of(error, "lessons")
    assert [os.path.basename(frame.file) for frame in frames] == ["gallery.py", "code.py"]
    assert frames[0].function == "call"
    assert frames[0].line == 2


def test_a_frame_shows_its_line_of_source(tmp_path: Path) -> None:
    file = tmp_path / "shown.py"
    file.write_text("def call(inner):\n    return  inner( )  # as written\n")
    error = raised({str(file): "shown", **FILES})
    assert frames_of(error)[0].code == "return  inner( )  # as written"
    assert "tracer.py" in describe(error, ErrorKind.TRACE, OURS).traceback  # the log has all


MESSAGES = {
    "ValueError('  two\\n lines ')": "two\n lines",
    "ValueError('x' * 10_000)": "x" * MAX_MESSAGE + "...",
    "ValueError('\\udcff')": "\\udcff",
    "ValueError('a\\0b\\x1bc')": "a\\x00b\\x1bc",
    "ValueError('<f at 0x7f3f62ec9800>')": "<f at 0xXXXXXXXXXXXX>",
    "SystemExit(3)": "the code called sys.exit(3)",
    "KeyboardInterrupt": "",
    "ValueError": "",
}


@pytest.mark.parametrize("error", MESSAGES)
def test_messages(error: str) -> None:
    described = describe(raised(FILES, error), ErrorKind.TRACE, OURS)
    assert described.message == MESSAGES[error]
    assert described.type == described.mro[0] == error.partition("(")[0]
    str(described).encode()  # no lone surrogates anywhere


def test_a_mistake_in_a_request_has_no_frames() -> None:
    error = RequestError(ErrorKind.OPTION, "no spec for 'x'", option="args")
    described = describe(error, ErrorKind.TRACE, OURS)
    assert (described.kind, described.option) == (ErrorKind.OPTION, "args")
    assert described.type == ""
    assert described.frames == ()
    assert described.traceback == ""


def test_control_characters_are_spelled_out() -> None:
    assert printable("a\x1b[31m\x00\ufffe\n\tb") == "a\\x1b[31m\\x00\\ufffe\n\tb"
    odd = type("Odd\x1b", (ValueError,), {})
    found = describe(odd("no"), ErrorKind.TRACE, OURS)
    assert found.type == "Odd\\x1b"
    assert found.mro[:2] == ("Odd\\x1b", "ValueError")


def test_a_file_whose_name_no_system_takes() -> None:
    def fails() -> None:
        raise ValueError("here")

    name = "/x/a\x00\udc80\u202e.py"
    strange = FunctionType(fails.__code__.replace(co_filename=name, co_name="f\x1b"), {})
    try:
        strange()
    except ValueError as error:
        found = spelled_all(describe(error, ErrorKind.TRACE, OURS).to_json())
    assert found["message"] == "here"
    assert found["frames"][-1]["file"] == r"/x/a\x00\udc80\u202e.py"
    assert found["frames"][-1]["function"] == r"f\x1b"
    assert "here" in found["traceback"] and r"/x/a\x00" in found["traceback"]
    assert error_problem(found) == ""


def test_raw_characters_are_no_result() -> None:
    found = describe(ValueError("no"), ErrorKind.TRACE, OURS).to_json()
    for field, text in {"message": "\x1b", "type": "\u202e", "hint": "\x9b", "log": "\x00"}.items():
        assert field in error_problem({**found, field: text})
    assert error_problem({**found, "message": "one\n\ttwo"}) == ""
