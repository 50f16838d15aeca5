"""Lines of notebooks: what cells contain, and which line of the file has it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.ext.reading.notebooks import lines as notebooks
from sphinx_jaxpr.program.text import cell_words, in_cell, place

PIECES = ["a", "", "é\n", "\n", '"quoted" \\ back\n', "[{(\n", "}]\n", "\u2028x\n", "two\nlines\n"]


def notebook(chance: random.Random) -> dict[str, Any]:
    """A notebook with cells of all kinds, and noise around their sources."""
    cells = []
    for _ in range(chance.randrange(5)):
        source: Any = chance.choices(PIECES, k=chance.randrange(5))
        if chance.random() < 0.3:
            source = "".join(source)
        noise = {"metadata": {"source": ["no"], "cells": [1]}, "outputs": [{"text": ["a\n"]}]}
        cell = {"cell_type": chance.choice(["code", "markdown", "raw"]), "source": source, **noise}
        keys = [*cell]
        chance.shuffle(keys)
        cells.append({key: cell[key] for key in keys})
    return {"metadata": {"cells": [{"source": "no"}]}, "cells": cells, "nbformat": 4}


@pytest.mark.parametrize("indent", [None, 1])
def test_cells_are_those_of_the_json(indent: int | None) -> None:
    chance = random.Random(1)
    for _ in range(200):
        data = notebook(chance)
        text = json.dumps(data, indent=indent, ensure_ascii=chance.random() < 0.5)
        rows = text.split("\n")
        found = list(notebooks.cells(text))
        assert [list(cell.lines) for cell in found] == [
            "".join(cell["source"]).split("\n") for cell in data["cells"]
        ]
        for cell in found:
            assert len(cell.lines) == len(cell.rows) and list(cell.rows) == sorted(cell.rows)
            for line, row in zip(cell.lines, cell.rows, strict=True):
                if line:  # pieces of a line may be on several rows: it begins on this one
                    written = json.dumps(line[0], ensure_ascii="\\u" in rows[row - 1])[1:-1]
                    assert written in rows[row - 1]


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    assert notebooks.cell_lines(str(file), 10001) == ((), 1)
    for text in (
        "",
        "{",
        "[]",
        "3",
        '{"cells": 3}',
        '{"cells": [3]}',
        "[" * 100_000,
        '{"cells": [',
    ):
        file.write_text(text, "utf-8")
        assert notebooks.cell_lines(str(file), 20001) == ((), 1)
        assert notebooks.row(str(file), 10001) == 1
    file.write_text(json.dumps({"cells": [{"source": ["a\n", "b"]}, {}]}, indent=1), "utf-8")
    assert notebooks.cell_lines(str(file), 10002) == (("a", "b"), 10001)
    assert [notebooks.row(str(file), line) for line in (10001, 10002, 10009)] == [5, 6, 6]
    assert notebooks.cell_lines(str(file), 20001) == (("",), 20001)
    assert notebooks.cell_lines(str(file), 30001) == notebooks.cell_lines(str(file), 7) == ((), 1)


def test_words() -> None:
    assert in_cell("a.ipynb", 10001) and not in_cell("a.ipynb", 12)
    assert not in_cell("a.md", 10001)  # a long page
    assert cell_words(30005) == "cell 3, line 5"
    assert place("a.ipynb", 30005) == "a.ipynb, cell 3, line 5"
    assert place("a.ipynb, cell 3", 5) == "a.ipynb, cell 3, line 5"
    assert place("a.md", 12) == "a.md:12"
