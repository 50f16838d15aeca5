"""PDFs: every equation, inside the margins, over as many pages as it takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ext.builds import book
from tests.support import Project, require

pytestmark = pytest.mark.latex

PAGE = """
Programs
========

.. jaxpr-transform:: forms:größe_λ
   :args: x=f32[8]
   :transforms: grad
   :caption: A *name* of its own, :ref:`there <there>`.
   :source:

.. _there:

Long
----

.. jaxpr-transform:: forms:long_parameter
   :args: x=f32[8]
   :caption: One long word.

.. jaxpr-transform:: forms:spelled
   :args: x=f32[8]
   :static: how="{word}"

.. jaxpr-transform:: forms:tall
   :args: x=f32[8]
   :caption: Over several pages.

.. jaxpr-transform:: forms:nested
   :args: x=f32[]

   [scan]
       The outer loop.

   [scan].jaxpr[reduce_sum]
       Inside of it.

.. jaxpr-transform:: forms:silent
   :args: x=f32[]

.. jaxpr-transform:: forms:refused
   :args: x=f32[8]
   :raises: TypeError

.. list-table::

   * - .. jaxpr-transform:: forms:größe_λ
          :args: x=f32[2]
          :caption: In a table.
"""

CODE = """

def spelled(x, how):
    return x * float(len(how))
"""

ENGINES = {
    "pdflatex": ("-pdf", ""),
    # Sphinx's own choice of fonts is not on every machine.
    "lualatex": (
        "-pdflua",
        r'latex_engine = "lualatex"'
        "\n"
        r'latex_elements = {"fontpkg": r"\setmainfont{DejaVu Serif}\setsansfont{DejaVu Sans}'
        r'\setmonofont{DejaVu Sans Mono}"}',
    ),
}


def compiled(folder: Path, engine: str) -> tuple[Project, Path]:
    for program in (engine, "latexmk", "pdftotext"):
        require(bool(shutil.which(program)), program)
    flag, conf = ENGINES[engine]
    files = {
        "docs/index.rst": PAGE.replace("{word}", "w" * 120),
        "src/forms.py": book.CODE + CODE,
    }
    project = Project(folder, files, conf)
    done = project.build("latex", "-W", "--keep-going", "-n")
    assert (done.code, done.warnings) == (0, []), done.stderr
    command = ["latexmk", flag, "-interaction=nonstopmode", "-halt-on-error", "p.tex"]
    run = subprocess.run(
        command, cwd=done.out, capture_output=True, text=True, errors="replace", check=False
    )
    assert run.returncode == 0, run.stdout[-3000:]
    return project, done.out / "p.pdf"


def pdftotext(pdf: Path, *flags: str) -> str:
    command = ["pdftotext", *flags, str(pdf), "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def squashed(text: str) -> str:
    """Text without spaces, page furniture, and the arrows where TeX broke a line."""
    text = re.sub(r"\n[^\n]*\n*\f[^\n]*\n", "\n", text)
    return re.sub(r"\s|→|˓|↪|~|ÿ", "", text)


@pytest.mark.parametrize("engine", ENGINES)
def test_pdf_is_whole(tmp_path: Path, engine: str) -> None:
    project, pdf = compiled(tmp_path, engine)
    text = pdftotext(pdf, "-layout")
    plain = (project.build("text").out / "index.txt").read_text("utf-8")

    # Names and equations.
    words = squashed(text)
    assert "größe_λ" in words or "größe_𝜆" in words
    assert text.count("= cos ") == plain.count("= cos ") == 60 + 1
    for line in plain.splitlines():
        if " = " in line and "λ" not in line and len(line) < 80:
            assert squashed(line) in words, line
    assert "n" + "a" * 300 in words
    assert "w" * 120 in words
    assert "TypeError:x<must>be&small\\{braces}100%#1$2a_b^" in words
    assert "Anameofitsown,there." in words and "Inatable." in words

    # Nothing beyond the margin, as TeX and as the page tell it.
    log = pdf.with_suffix(".log").read_text("utf-8", errors="replace")
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert not [width for width in wide if width > 1]
    assert "Missing character" not in log
    boxes = pdftotext(pdf, "-bbox")
    page_width = float(re.findall(r'<page width="([\d.]+)"', boxes)[0])
    right = max(float(edge) for edge in re.findall(r'xMax="([\d.]+)"', boxes))
    assert right < page_width - 60

    # Links have ends: notes, their block, the blocks in the index of primitives.
    assert not re.findall(r".*undefined.*", log)
    dests = subprocess.run(
        ["pdfinfo", "-dests", str(pdf)], capture_output=True, text=True, check=True
    ).stdout
    tex = pdf.with_suffix(".tex").read_text("utf-8")
    labels = pdf.with_suffix(".aux").read_text("utf-8", errors="replace")
    for name in ("jaxpr-nested", "jaxpr-nested-note-1", "jaxpr-nested-note-2", "jaxpr-spelled"):
        place = re.search(rf"newlabel.*{{index:{name}}}.*{{([^{{}}]+)}}{{}}}}", labels)
        assert place is not None and f'"{place[1]}"' in dests, name
    for link in ("jaxpr-nested", "jaxpr-nested-note-1", "jaxpr-nested-note-2"):
        assert rf"\hyperref[\detokenize{{index:{link}}}]" in tex
    assert "??" not in pdftotext(pdf)

    # The long program goes on where a page ends.
    pages = [page for page in text.split("\f") if page.count("= cos ") > 3]
    assert len(pages) >= 3
