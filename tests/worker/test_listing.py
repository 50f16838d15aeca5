"""Errors of user code as data: exceptions that lie, and files that are none of Python's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing.result import ErrorKind
from sphinx_jaxpr.worker.failures import describe, is_python

SECRET = "a line of another file"


class _Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override] # it lies
        raise RuntimeError

    @property
    def __mro__(cls) -> tuple[type, ...]:  # type: ignore[override] # it lies
        raise RuntimeError


def _raises(self: Any, *rest: Any) -> Any:
    raise RuntimeError("asked")


LIES = {
    "str": {"__str__": _raises},
    "str-none": {"__str__": lambda self: None},
    "class": {"__class__": property(_raises)},
    "traceback": {"__traceback__": property(_raises)},
    "cause": {"__cause__": property(_raises), "__context__": property(_raises)},
    "notes": {"__notes__": property(_raises)},
    "args": {"args": property(_raises)},
    "everything": {"__getattribute__": _raises},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("base", [ValueError, SystemExit, SyntaxError, BaseException])
def test_an_exception_that_lies_is_described(lie: dict[str, Any], base: type) -> None:
    kind = type("Lie", (base,), lie)
    try:
        raise kind("m")
    except BaseException as error:  # some are no Exception
        found = describe(error, ErrorKind.TRACE, "/nowhere")
    assert found.type == "Lie"
    assert base.__name__ in found.mro
    assert found.frames[0].code == 'raise kind("m")'


def test_a_class_that_lies() -> None:
    kind = _Meta("Odd\x1b" + "x" * 999, (ValueError,), {})
    try:
        raise kind("m")
    except ValueError as error:
        found = describe(error, ErrorKind.TRACE, "/nowhere")
    assert found.type.startswith("Odd\\x1bxx")
    assert len(found.type) == 200


def test_a_syntax_error_of_anything() -> None:
    try:
        raise SyntaxError("m", (b"file", "line", [], 3))
    except SyntaxError as error:
        found = describe(error, ErrorKind.TRACE, "/nowhere")
    assert found.message == "m"
    assert len(found.frames) == 1


@pytest.mark.parametrize("chained", [False, True])
def test_only_files_of_python_are_read(tmp_path: Path, chained: bool) -> None:
    """A name that code gives itself is a text, and may be that of any file."""
    file = tmp_path / "notes.txt"
    file.write_text(f"{SECRET}\n" * 9, "utf-8")
    code = compile("raise ValueError('m')", str(file), "exec")
    try:
        try:
            exec(code)  # noqa: S102 - ours
        except ValueError as error:
            if not chained:
                raise
            raise ExceptionGroup("g", [error]) from error
    except Exception as error:
        found = describe(error, ErrorKind.TRACE, "/nowhere")
    assert chained or any(frame.file == str(file) for frame in found.frames)
    assert "notes.txt" in found.traceback
    assert SECRET not in str(found)


def test_what_is_a_file_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_python("/a/b.py")
    assert is_python("<stdin>")
    for name in ("/etc/passwd", "/dev/zero", "b.pyc", "", None, Path("b.py")):
        assert not is_python(name)
    monkeypatch.chdir(tmp_path)
    Path("<secret>").write_text(SECRET, "utf-8")
    assert not is_python("<secret>")


def test_many_exceptions_in_one() -> None:
    error: Exception = ValueError("x")
    for _ in range(sys.getrecursionlimit() * 3):
        error = ExceptionGroup("g", [error])
    found = describe(error, ErrorKind.TRACE, "/nowhere")
    assert found.type == "ExceptionGroup"
    assert len(found.traceback) <= 100_000


def test_names_that_code_gives_itself_are_one_line() -> None:
    code = compile("def f(): raise ValueError\nf()", "<b>\x1b[31m\n.py", "exec")
    inner = code.co_consts[0].replace(co_name="g\n\x1b" + "x" * 999)
    code = code.replace(co_filename="/b\x1b\n.py", co_consts=(inner, *code.co_consts[1:]))
    inner = inner.replace(co_filename="/b\x1b\n.py")
    code = code.replace(co_consts=(inner, *code.co_consts[1:]))
    try:
        exec(code)  # noqa: S102 - ours
    except ValueError as error:
        found = describe(error, ErrorKind.TRACE, "/nowhere")
    last = found.frames[-1]
    assert last.file == "/b\\x1b\\n.py"
    assert last.function.startswith("g\\n\\x1bxxx")
    assert len(last.function) == 200
