"""A worker without JAX that answers what it is told to, started in place of the real one.

The file named by ``PLAYS`` maps a target to a list of what is done for it: ``{"say": message}``
with the right id filled in, ``{"raw": text}`` written as it is (``latin-1``), ``{"head": length}``
for the head of a frame, ``{"do": statement}``.  What is not named there is answered as ``"*"`` is.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from sphinx_jaxpr.tracing.frames import frame
from sphinx_jaxpr.worker.keeper import keep


def main() -> None:
    plays: dict[str, list[dict[str, Any]]] = json.loads(Path(os.environ["PLAYS"]).read_text())
    replies = os.dup(1)
    os.dup2(2, 1)
    keep(int(sys.argv.pop()), [replies])
    token = json.loads(sys.stdin.readline())["token"]

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(replies, data) :]

    for play in plays.get("start", ()):
        if "raw" in play:
            write(play["raw"].encode("latin-1"))
        if "say" in play:
            write(frame(token, play["say"]))
    write(frame(token, {"ready": True, "jax": "0", "python": "3"}))
    for line in sys.stdin:
        message = json.loads(line)
        for play in plays.get(message["request"]["target"], plays["*"]):
            if "say" in play:
                said = {"id": message["id"], **play["say"]}
                write(frame(token, {k: v for k, v in said.items() if v != "(none)"}))
            if "head" in play:
                write(b"jaxpr %s %s\n" % (token.encode(), play["head"].encode()))
            if "raw" in play:
                write(play["raw"].encode("latin-1") * play.get("times", 1))
            if "do" in play:
                exec(play["do"], {"replies": replies})  # noqa: S102 - the script of the test


if __name__ == "__main__":
    main()
