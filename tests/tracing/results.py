"""A result with something in each of its fields, and one that is an error; both as JSON too."""

from __future__ import annotations

from typing import Any

from sphinx_jaxpr.tracing.result import Result

RESULT_JSON: dict[str, Any] = {
    "jax": "0.10.2",
    "text": "{ lambda a:f32[3]; b:f32[]. let c:f32[] = pjit[jaxpr=f] b in (c,) }",
    "call": "jax.make_jaxpr(dense)(x)",
    "args": [["x", "f32[]"]],
    "inputs": [["x", "f32[]"]],
    "effects": ["Effect"],
    "constants": [["f32[3]", 12]],
    "mesh": "meshes.pair()",
    "settings": [["jax_enable_x64", "True"]],
    "undifferentiated": [["x.count", "i32[]"]],
    "facts": {
        "programs": [
            {
                "inputs": ["f32[]"],
                "constants": [["f32[3]", 12]],
                "outputs": ["f32[]"],
                "effects": ["Effect"],
                "unused": [0],
                "equations": [
                    ["pjit", "forward", 0, ["f32[]"], {"name": ["f", 1, 2.5, None]}, {"jaxpr": [1]}]
                ],
            },
            {
                "inputs": [],
                "constants": [],
                "outputs": [],
                "effects": [],
                "unused": [],
                "equations": [["sin", "", -1, [], {"dtype": {"dtype": "f32"}}, {}]],
            },
        ],
        "sources": [["layers.py", 3, "dense"]],
    },
    "source": {"text": "def dense(x): return x", "file": "layers.py", "line": 3},
}
ERROR_JSON: dict[str, Any] = {
    "error": {
        "kind": "trace",
        "type": "TypeError",
        "mro": ["TypeError", "Exception"],
        "message": "no",
        "frames": [{"file": "layers.py", "line": 3, "function": "dense", "code": "return x"}],
        "log": "tracebacks/x.log",
    }
}
RESULT = Result.from_json(RESULT_JSON)
ERROR = Result.from_json(ERROR_JSON)
