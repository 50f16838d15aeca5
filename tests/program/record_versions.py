"""Records some programs of the corpus with the JAX that runs this, for ``test_drift``.

    python -m tests.program.record_versions

writes ``tests/program/versions/<version of JAX>.json``: of each program its text and
facts, as the worker would give them, without places in the source.  These files are
kept in the repository, so that drift is judged without several versions of JAX.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "versions"

NAMES = (
    "dense", "vmap dense", "grad dense", "jvp dense", "jacfwd matmul", "scan", "scan_closure",
    "grad scan", "while_loop", "fori", "cond", "cond_same", "grad cond", "softmax", "reduce_max",
    "drops", "conv", "linalg", "casts", "jit_inline", "jit_shared", "big_body", "checkpoint",
    "checkpoint_policy", "checkpoint_names", "remat grad scan_closure", "custom_jvp",
    "custom_vjp", "root", "permutation", "shard_map", "shard_map psum", "shard_map dense",
    "explicit", "reference_in_scan", "pallas", "print plain", "linear_solve_long",
    "literals",
)  # fmt: skip


def recorded(name: str) -> dict[str, Any]:
    """A program of the corpus as the worker records it."""
    from sphinx_jaxpr.tracing.masking import mask
    from sphinx_jaxpr.worker.facts.facts import collect
    from tests.program.corpus import PROGRAMS

    jaxpr = PROGRAMS[name]()
    facts = collect(jaxpr).facts.to_json()
    facts["sources"] = []
    for program in facts["programs"]:
        for equation in program["equations"]:
            equation[2] = -1
    return {"text": mask(str(jaxpr)), "facts": facts}


def main() -> None:
    import jax

    rows = [
        f"{json.dumps(name)}: {json.dumps(recorded(name), separators=(',', ':'))}" for name in NAMES
    ]
    FOLDER.mkdir(exist_ok=True)
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    (FOLDER / f"{jax.__version__}.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
