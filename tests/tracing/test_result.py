"""Results, errors and replies: nothing is lost between plain data and dataclasses."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.tracing.checks import error_problem, problem, reply_problem
from sphinx_jaxpr.tracing.lock import LockFile
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import ErrorKind, Reply, Result, TracedProgram, TraceError, remarks
from tests.program.record_versions import FOLDER
from tests.tracing.results import ERROR_JSON, RESULT, RESULT_JSON
from tests.tracing.test_forged import mutations
from tests.tracing.test_replies import ERROR, KNOWN, MESSAGES

pytestmark = pytest.mark.once

RECORDED: Final = sorted(FOLDER.glob("*.json"))
#: Optional parts of a result and of an error: empty, they need not be written.
OPTIONAL: Final = {"mesh", "settings", "source", "undifferentiated"}
OF_ERRORS: Final = {
    "hint", "log", "module", "option", "output", "searched", "traceback", "wanted", "whole_module",
}  # fmt: skip


def without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a result without optional parts that are empty."""
    optional = OPTIONAL if "text" in data else {*OPTIONAL, "jax", "call"}
    kept = {key: part for key, part in data.items() if part or key not in optional}
    if "error" in kept:
        error = kept["error"]
        kept["error"] = {k: part for k, part in error.items() if part or k not in OF_ERRORS}
    return kept


def is_listed_once(data: dict[str, Any]) -> bool:
    """Whether each line of the source is listed once, as the worker lists them."""
    sources = [tuple(source) for source in data.get("facts", {}).get("sources", ())]
    return len(sources) == len(set(sources))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_programs_of_each_jax_come_back_to_the_byte(path: Path) -> None:
    common = {key: RESULT_JSON[key] for key in ("jax", "call", "args", "inputs", "constants")}
    for name, program in json.loads(path.read_text("utf-8")).items():
        for inner in program["facts"]["programs"]:
            del inner["shared"]  # as an older worker wrote it
            inner["unused"] = []
        data = {**common, "effects": [], **program}
        result = Result.from_json(data)
        assert json.dumps(result.to_json(), sort_keys=True) == json.dumps(data, sort_keys=True)
        file = LockFile.of(name, Request("m:f"), result, {"python": "3.11.7"})
        again = LockFile.from_json(json.loads(file.text()))
        assert file.is_unchanged(again) and again.text() == file.text()


def test_hostile_results_that_pass_the_check_come_back() -> None:
    passed = 0
    for good in (RESULT_JSON, ERROR_JSON):
        for data in mutations(good):
            if problem(data):
                continue
            passed += 1
            result = Result.from_json(copy.deepcopy(data))
            again = result.to_json()
            assert problem(again) == ""
            assert Result.from_json(again) == result
            assert not is_listed_once(data) or again == without_empty(data)
    assert passed > 300


def test_hostile_errors_that_pass_the_check_come_back() -> None:
    passed = 0
    for data in mutations(ERROR):
        if error_problem(data):
            continue
        passed += 1
        error = TraceError.from_json(data)
        assert error_problem(error.to_json()) == ""
        assert TraceError.from_json(error.to_json()) == error
    assert passed > 20


def test_hostile_replies_that_pass_the_check_are_read() -> None:
    passed = 0
    for message in MESSAGES[3:]:
        for data in mutations(message):
            if type(data) is dict and not reply_problem(data, 7):
                passed += 1
                reply = Reply.from_json(data)
                assert (reply.result is None) != (reply.error is None)
                assert Reply.from_json(reply.to_json()) == reply
    assert passed > 300


def test_a_reply_has_the_part_of_a_result_that_was_there_before_an_error() -> None:
    data = {"error": ERROR, "known": KNOWN}
    reply = Reply.from_json(data)
    assert reply.result is None and reply.known is not None and reply.error is not None
    assert reply.known.call == "f" and reply.known.program is None
    assert reply.to_json() == data
    assert Reply(reply.known).to_json() == {"result": KNOWN}


def test_a_program_has_its_fields_even_where_they_are_empty() -> None:
    result = Result(program=TracedProgram("{ lambda ; . let  in () }", (), (), Facts()))
    data = result.to_json()
    assert data["jax"] == data["call"] == "" and data["args"] == data["inputs"] == []
    assert Result.from_json(data) == replace(result, args=(), inputs=())


def test_a_kind_that_is_not_listed_is_an_error() -> None:
    assert {kind.value for kind in ErrorKind} == {
        "crash", "import", "lock", "option", "state", "target", "timeout", "trace", "worker",
    }  # fmt: skip
    with pytest.raises(ValueError, match="other"):
        TraceError.from_json({**ERROR, "kind": "other"})
    assert "error.kind is not one of crash, import" in error_problem({**ERROR, "kind": "other"})


def test_remarks_are_of_programs() -> None:
    left_out = "not differentiated: x.count (i32[])"
    assert remarks(RESULT) == [left_out, "effects: Effect", "12 bytes captured: f32[3]"]
    assert remarks(None, RESULT) == []
    lost = "the base has effects that are lost here: Effect"
    assert remarks(Result(jax="1"), RESULT) == [lost]
