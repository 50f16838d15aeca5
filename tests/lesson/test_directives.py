"""Goals and questions in every format, from both kinds of markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lesson.support import project, told
from tests.support import PROJECT, Build, once

Builder = Callable[[str], Build]

MARKDOWN = """
# Page

```{lesson-goal}
Say what `grad` *adds*.
```

:::{lesson-predict} How many equations has {jaxpr:ref}`the gradient <dense.grad>` & 1 < 2?
:name: how many

As many as this:

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad
```
:::

````{lesson-check}
What is `tanh` for?

{jaxpr:claim}`It bends <dense[tanh].phase == "forward" or True>`, in {jaxpr:val}`len(dense)` steps.

```{lesson-check} And then?
Nothing.
```
````

See {ref}`the question <how many>`.
"""

RESTRUCTURED = """
Page
====

.. lesson-goal::

   Say what ``grad`` *adds*.

.. lesson-predict:: How many equations has :jaxpr:ref:`the gradient <dense.grad>`
   & 1 < 2?
   :name: how many

   As many as this:

   .. jaxpr-transform:: layers:dense
      :name: dense
      :args: x=f32[2,3], w=f32[3,4], b=f32[4]
      :transforms: grad

.. lesson-check::

   What is ``tanh`` for?

   :jaxpr:claim:`It bends <dense[tanh].phase == "forward" or True>`, in
   :jaxpr:val:`len(dense)` steps.

   .. lesson-check:: And then?

      Nothing.

See :ref:`the question <how many>`.
"""


@pytest.fixture(scope="module", params=["md", *once("rst")])
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Builds the page in a format, without a warning."""
    text = MARKDOWN if request.param == "md" else RESTRUCTURED
    made = project(tmp_path_factory.mktemp(request.param), {f"index.{request.param}": text})

    def built(builder: str) -> Build:
        doctrees = str(made.folder / "doctrees")
        done = made.build(builder, "-W", "-n", "--keep-going", "-d", doctrees)
        assert done.code == 0, done.stderr
        return done

    return built


@pytest.mark.parametrize("builder", ["html", "dirhtml", "singlehtml"])
def test_questions_are_folds(build: Builder, builder: str) -> None:
    done = build(builder)
    page = done.page("index")
    (goal,) = page.select(".admonition.lesson-goal")
    assert goal.select_one(".admonition-title").get_text() == "Goal"
    assert goal.select_one("em").get_text() == "adds"
    predict, check, inner = page.select("div.lesson-predict, div.lesson-check")
    assert not page.select("details.lesson-fold[open]")
    assert predict["id"] == "how-many"
    assert page.select_one('a[href="#how-many"]').get_text() == "the question"
    asked = predict.select_one(":scope > p.lesson-asked")
    assert asked.get_text() == "How many equations has the gradient & 1 < 2?"
    assert asked.select_one("a[href]")["href"] == "#jaxpr-dense.grad"
    assert [label.get_text() for label in page.select(".lesson-label")] == [
        "Predict", "Check yourself", "Check yourself"
    ]  # fmt: skip
    assert len(predict.select(".lesson-answer figure.jaxpr")) == 2
    assert "in 4 steps" in " ".join(check.select_one(".lesson-answer").get_text().split())
    assert inner.find_parent(class_="lesson-check") is check
    asks = [summary.get_text() for summary in page.select(".lesson-fold > summary")]
    assert asks == ["Then look", "Show the answer", "Show the answer"]
    for name in ("lesson.css", "lesson.js"):
        assert (done.out / "_static" / name).read_bytes() == (
            PROJECT / "sphinx_jaxpr/static" / name
        ).read_bytes()
        assert page.find(attrs={"href" if name.endswith("css") else "src": re.compile(name)})


@pytest.mark.parametrize("builder", ["text", "latex", "man", "texinfo", "epub", "xml"])
def test_elsewhere_the_answer_follows(build: Builder, builder: str) -> None:
    out = build(builder).out
    files = {"latex": "*.tex", "man": "*.1", "texinfo": "*.texi", "epub": "index.xhtml"}
    (file,) = out.glob(files.get(builder, f"index.{'txt' if builder == 'text' else builder}"))
    text = re.sub(r"\\f.|[\\@]\w+\{?|<[^>]*>|[*{}\\]", " ", file.read_text("utf-8"))
    text = " ".join(text.split())
    order = ["Goal", "Predict:", "How many", "Answer:", "As many as", "Check yourself:", "What is",
             "Answer:", "bends", "Check yourself:", "And then?", "Answer:", "Nothing."]  # fmt: skip
    at = 0
    for words in order:
        at = text.find(words, at)
        assert at >= 0, (words, text)
    if builder == "epub":
        assert not list(out.rglob("lesson.*"))


def test_the_search_finds_answers_once(build: Builder) -> None:
    index = (build("html").out / "searchindex.js").read_text("utf-8")
    assert '"bend"' in index or "bend:" in index


WRONG = """
# Page

```{lesson-goal}
```

```{lesson-predict}
:nmae: x
```

```{lesson-check} Why?
```

```{lesson-check}
- no paragraph
```
"""


def test_mistakes_are_told_by_every_build(tmp_path: Path) -> None:
    made = project(tmp_path, {"index.md": WRONG})
    for builder in ("html", "html", "text", "jaxpr-check"):
        assert told(made.build(builder)) == [
            ("index.md", 3, "part",
             "lesson-goal is empty; write what the reader can do afterwards"),
            ("index.md", 7, "option",
             "lesson-predict: unknown option 'nmae', did you mean 'name'? (known: name)"),
            ("index.md", 6, "part",
             "lesson-predict has no question; write it on the directive's own line, or as the first"
             " paragraph of its body"),
            ("index.md", 10, "part",
             "lesson-check has no answer; its body is what is shown on demand"),
            ("index.md", 13, "part",
             "lesson-check has no question; write it on the directive's own line, or as the first"
             " paragraph of its body"),
        ]  # fmt: skip
    assert made.build("gettext").warnings == []


def test_pages_without_parts_load_nothing(tmp_path: Path) -> None:
    files = {"index.md": "# Page\n\n```{toctree}\nother\n```\n", "other.md": "# Other\n\nText.\n"}
    made = project(tmp_path, files)
    done = made.build("html", "-W")
    assert done.code == 0, done.stderr
    assert not list(done.out.rglob("lesson.*"))
    made.write("docs/other.md", "# Other\n\n```{lesson-goal}\nTo see.\n```\n")
    done = made.build("html", "-W")
    assert "lesson.css" in str(done.page("other")) and "lesson" not in str(done.page("index").head)
    assert "no targets are out of date" in made.build("html").stdout


def test_it_works_without_the_main_extension(tmp_path: Path) -> None:
    text = "# Page\n\n```{lesson-check} Why?\nSo.\n```\n"
    made = project(tmp_path, {"index.md": text}, 'extensions.remove("sphinx_jaxpr")\n')
    done = made.build("html", "-W", "-n")
    assert done.code == 0, done.stderr
    assert len(done.page("index").select(".lesson-check > details")) == 1


def test_style_and_script_are_small() -> None:
    for name in ("lesson.css", "lesson.js"):
        assert (PROJECT / "sphinx_jaxpr/static" / name).stat().st_size < 8192


def test_markdown_links_to_labels_of_other_pages(tmp_path: Path) -> None:
    files = {"index.md": "# P\n\n[x](#there)\n", "b.md": "---\norphan: 1\n---\n(there)=\n# There\n"}
    built = project(tmp_path, files).build("html", "-W", "-n")
    assert (built.code, built.stderr) == (0, "")
    assert built.page("index").select_one('a[href="b.html#there"]') is not None
