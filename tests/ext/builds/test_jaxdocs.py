"""In the environment of JAX's own documentation: its Sphinx, theme, MyST-NB and settings."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.ext.builds import book
from tests.support import PROJECT, Project

pytestmark = pytest.mark.jaxdocs

EXAMPLES = PROJECT / "docs/examples/jaxdocs"

#: Their redirects are those of their pages; the pages here have no cells.
OURS = 'nb_execution_mode = "off"\nrediraffe_redirects = {}\nshow_warning_types = True\n'


def with_their_settings(folder: Path, files: dict[str, str], conf: str = "") -> Project:
    """A project with their conf.py, its own code on the path, and some more settings."""
    project = Project(folder, files)
    theirs = (EXAMPLES / "conf.py").read_text("utf-8")
    code = f"import sys\nsys.path.insert(0, {str(folder / 'src')!r})\n"
    (project.docs / "conf.py").write_text(theirs + code + OURS + conf, "utf-8")
    return project


def test_these_are_their_versions() -> None:
    assert version("sphinx") == "7.4.7"
    assert version("sphinx-book-theme") == "1.1.1"
    assert version("pydata-sphinx-theme") == "0.16.1"
    assert version("myst-nb").startswith("1.")


def test_the_examples(tmp_path: Path) -> None:
    """The pages of ``docs/examples/jaxdocs``: a kernel runs the cells of one, blocks use both."""
    shutil.copytree(EXAMPLES, tmp_path / "docs")
    project = Project.__new__(Project)  # these have a conf.py and need no code beside them
    project.folder, project.docs = tmp_path, tmp_path / "docs"
    strict = ("-W", "--keep-going", "-n", "-D", f"jaxpr_cache_dir={tmp_path / 'jaxprs'}")
    build = project.build("html", *strict, "-d", "trees")
    assert (build.code, build.warnings) == (0, []), build.stderr
    (output,) = build.page("jaxpr").select(".cell_output")
    shown = build.texts("jaxpr")
    assert output.get_text().strip() == shown["jaxpr-weighted_gap"]
    assert len(shown) == 11 and len(build.texts("precision")) == 10
    off = ("-d", "others", "-D", "nb_execution_mode=off")
    for builder, *flags in (("latex", "-d", "trees"), ("html", *off)):
        again = project.build(builder, *strict, *flags)
        assert (again.code, again.warnings, again.traced) == (0, [], 0), again.stderr
    assert not again.page("jaxpr").select(".cell_output") and again.texts("jaxpr") == shown
    assert "smoothed" in (tmp_path / "out/latex/jax.tex").read_text("utf-8")


# --- every form of a block --------------------------------------------------


def test_every_block_in_their_formats(tmp_path: Path) -> None:
    project = with_their_settings(tmp_path, dict(book.FILES), book.CONF)
    builds = {}
    for builder in ("html", "singlehtml", "latex", "text"):
        doctrees = ("-d", str(tmp_path / "doctrees" / builder))
        build = project.build(builder, "-W", "--keep-going", "-n", *doctrees)
        assert (build.code, build.warnings) == (0, []), build.stderr
        builds[builder] = build
    html = builds["html"]
    assert html.traced > 20
    assert [builds[name].traced for name in ("latex", "text")] == [1, 0]  # one is for latex alone
    texts = {page: html.texts(page) for page in ("blocks", "places", "other")}
    assert sum(map(len, texts.values())) > 25
    assert html.page("blocks").select_one("figure.jaxpr details > summary")
    for name in ("html", "singlehtml"):
        assert (builds[name].out / "_static/jaxpr.css").exists()
    for page, blocks in texts.items():
        written = (builds["text"].out / f"{page}.txt").read_text("utf-8")
        letters = "".join(written.replace("|", "").split())
        for identity, text in blocks.items():
            html_alone = (page, identity) == ("places", "jaxpr-double-4")
            assert ("".join(text.replace("|", "").split()) in letters) != html_alone, identity
    tex = (builds["latex"].out / "book.tex").read_text("utf-8")
    for caption in ("On one line.", "Scan in scan.", "For latex alone.", "In an included file"):
        assert caption in tex
    assert r"\PYG" in tex and "not traced" not in tex


# --- sentences, and what is built again -------------------------------------

MARKDOWN = """
# In Markdown

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[8,16], w=f32[16,4], b=f32[4]
:transforms: grad(argnums=w)
:source:

grad[tanh]
    Kept *again*.
```

It has {jaxpr:claim}`one product <len(dense[dot_general]) == 1>`, {jaxpr:val}`len(dense)`
equations, and {jaxpr:eqn}`a tanh <dense[tanh]>`, see {jaxpr:ref}`dense.grad`.

```{jaxpr-claims}
len(dense.grad[dot_general]) == 2
```

```{jaxpr-when} jax >= "0.7"
The backward half {jaxpr:claim}`has a product <len(dense.grad.transpose[dot_general]) == 1>`.
```

```{jaxpr-glossary}
:scope: page
```
"""

RST = """
In reStructuredText
===================

.. jaxpr-transform:: layers:dense
   :name: other
   :args: x=f32[8,16], w=f32[16,4], b=f32[4]
   :layout: compare
   :transforms: vmap

It has :jaxpr:claim:`one product <len(other[dot_general]) == 1>`, :jaxpr:val:`len(other)`
equations, and :jaxpr:eqn:`a tanh <other[tanh]>`.

.. jaxpr-when:: jax < "0.7"

   :jaxpr:claim:`Nothing <len(other) == 0>`.

.. autofunction:: documented.scaled

.. jaxpr::

   { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }

.. toctree::

   markdown
"""

DOCUMENTED = '''
def scaled(x):
    """Scale.

    .. jaxpr-transform:: scaled
       :args: x=f32[3]

    It has :jaxpr:claim:`one equation <len(scaled) == 1>`.
    """
    return x * 2.0
'''


def test_sentences_are_checked_and_pages_follow(tmp_path: Path) -> None:
    files = {
        "docs/index.rst": RST,
        "docs/markdown.md": MARKDOWN,
        "src/documented.py": DOCUMENTED,
    }
    project = with_their_settings(tmp_path, files)
    strict = ("-W", "--keep-going", "-n")
    first = project.build("html", *strict)
    assert (first.code, first.warnings) == (0, []), first.stderr
    assert sorted(first.texts("markdown")) == ["jaxpr-dense", "jaxpr-dense.grad"]
    assert {"jaxpr-other", "jaxpr-other.vmap", "jaxpr-scaled"} <= set(first.texts("index"))
    assert first.page("index").select("div.jaxpr-compare")
    assert "It has one product, 4 equations, and a tanh" in " ".join(
        first.page("markdown").select_one("article").text.split()
    )

    # Code that one block uses is edited, and a sentence.
    project.write("src/documented.py", DOCUMENTED.replace("2.0", "3.0"))
    project.write("docs/markdown.md", MARKDOWN.replace("one product <len", "two products <2 *len"))
    message = "markdown.md:13: WARNING: claim 'two products' is false on JAX"
    for traced in (1, 0):
        wrong = project.build("html", *strict)
        assert (wrong.code, wrong.traced) == (1, traced)
        assert "3.0" in wrong.texts("index")["jaxpr-scaled"]
        (warning,) = wrong.warnings
        assert message in warning and "[jaxpr.claim]" in wrong.stderr
    check = project.build("jaxpr-check", "-n")
    assert check.code == 1
    (finding,) = json.loads((check.out / "output.json").read_text("utf-8"))["findings"]
    assert (Path(finding["source"]).name, finding["line"]) == ("markdown.md", 13)
