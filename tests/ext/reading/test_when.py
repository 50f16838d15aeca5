"""What may stand in ``jaxpr-when``, and what is told of the rest at its line."""

from __future__ import annotations

import re
import textwrap

import pytest

from tests.support import Build, Project, once

#: Bodies with something that Sphinx notes while it reads: body, what it is, its line in the body.
REFUSED = [
    (".. _label:\n\nText.", "a label", 0),
    ("Text with an _`inline target`.", "a label", 0),
    ("Text.\n\n.. figure:: x.png\n   :name: fig\n\n   Caption", "a label", 2),
    ("Text.\n\n.. code-block:: python\n   :name: code\n\n   x = 1", "a label", 2),
    ("Text.\n\n.. container:: c\n   :name: box\n\n   Text.", "a label", 2),
    ("Text.\n\nHeading\n-------\n\nText.", "a heading", 3),
    ("Text.\n\n.. index:: word", "an index entry", 2),
    ("Text with :index:`word`.", "an index entry", 0),
    ("Text.\n\n.. py:module:: mod", "an index entry", 2),
    ("Text.\n\n.. py:function:: fun(x)\n\n   Text.", "a description", 2),
    ("Text.\n\n.. confval:: conf\n\n   Text.", "a description", 2),
    ("Text.\n\n.. glossary::\n\n   term\n      Text.", "a glossary", 2),
    ("Text.\n\n.. productionlist::\n   a: b", "a grammar", 2),
    ("Text.\n\n.. math::\n   :label: eq\n\n   a = b", "an equation with a label", 2),
    ("Text [#note]_.\n\n.. [#note] Note.", "a footnote's text", 2),
    ("Text [Cit]_.\n\n.. [Cit] Citation.", "a citation's text", 2),
    ("Text.\n\n.. toctree::\n\n   other", "a toctree", 2),
    ("Text.\n\n.. jaxpr-glossary::", "a list of primitives", 2),
    ("Text.\n\n.. jaxpr-transform:: layers:dense", "a block", 2),
    ("Text.\n\n.. figure:: x.png\n\n   Caption", "a numbered figure", 2),
    ("Text.\n\n.. code-block:: python\n   :caption: Caption\n\n   x", "a numbered figure", 2),
    ("Text.\n\n.. table:: Caption\n\n   == ==\n   a  b\n   == ==", "a numbered figure", 2),
]
#: Bodies that may be left out.
ALLOWED = [
    "`JAX <https://docs.jax.dev>`_, `x <https://x.org>`__, J_.\n\n.. _J: https://docs.jax.dev",
    ".. math::\n\n   a = b",
    ":download:`x.png` and |x|.\n\n.. |x| replace:: y",
    ".. image:: x.png",
    ".. code-block:: python\n\n   x = 1",
    ".. admonition:: Title\n\n   Text.",
    ".. topic:: Title\n\n   Text.",
    ".. rubric:: Title",
    ".. versionadded:: 1.0\n   Text.",
    ".. only:: html\n\n   Text.",
    ".. a comment",
    "Text :ref:`outer`, :term:`one`, :doc:`other`.",
    "====  ====\nname  text\n====  ====\n",
]
START = "P\n=\n\n.. _outer:\n\nOuter\n-----\n\n.. glossary::\n\n   one\n      Text.\n"


def page_of(bodies: list[str], condition: str) -> tuple[str, list[int]]:
    """A page, and the line at which each body begins."""
    page, lines = START, []
    for number, body in enumerate(bodies):
        page += f"\n* Before {number}.\n\n  .. jaxpr-when:: {condition}\n\n"
        lines.append(page.count("\n") + 1)
        page += textwrap.indent(body, "     ") + "\n\n  After.\n"
    return page, lines


@pytest.mark.parametrize("condition", ['jax >= "99"', 'jax < "99"'])
def test_what_is_noted_is_refused_at_its_line(
    tmp_path_factory: pytest.TempPathFactory, condition: str
) -> None:
    page, lines = page_of([body for body, _, _ in REFUSED], condition)
    files = {"docs/index.rst": page, "docs/other.rst": ":orphan:\n\nO\n=\n"}
    project = Project(tmp_path_factory.mktemp("refused"), files, "numfig = True\n")
    (project.docs / "x.png").write_bytes(b"")
    due = [(lines[n] + at, what) for n, (_, what, at) in enumerate(REFUSED)]
    for _ in range(2):
        # The block follows a `py:module`, so its name is looked up there.
        own = ("no spec for", "no module 'mod'")
        warnings = project.build("html").warnings
        told = [one for one in warnings if not any(text in one for text in own)]
        found = []
        for one in told:
            match = re.search(
                r"index\.rst:(\d+): WARNING: (.*) cannot be used in jaxpr-when: ", one
            )
            assert match, one
            found.append((int(match[1]), match[2]))
        assert sorted(found) == sorted(due)
    assert "Heading" not in [li.get_text() for li in _contents(project)]


def _contents(project: Project) -> list[object]:
    done = Build(0, project.folder / "out" / "html", "", "")
    return list(done.page("index").select("div.sphinxsidebar li"))


@pytest.mark.parametrize("condition", ['jax >= "99"', 'jax < "99"'])
def test_the_rest_may_be_left_out(tmp_path_factory: pytest.TempPathFactory, condition: str) -> None:
    page, _ = page_of(ALLOWED, condition)
    files = {"docs/index.rst": page, "docs/other.rst": ":orphan:\n\nO\n=\n"}
    project = Project(tmp_path_factory.mktemp("allowed"), files, "numfig = True\n")
    (project.docs / "x.png").write_bytes(b"")
    for builder in ("html", "latex", "text"):
        done = project.build(builder, "-W", "-n")
        assert (done.code, done.stderr) == (0, "")


def test_lines_are_those_of_the_file_that_holds_the_part(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In an included file, and behind a form feed, which ends no line."""
    part = """
        A text
        of lines.

        .. jaxpr-when:: jax < "99"

           .. _inside:

           Text :jaxpr:claim:`five <len([1]) == 5>`.
        """
    files = {
        "docs/index.rst": "P\n=\n\nText.\n\x0c\nText.\n\n.. include:: part.txt\n\n"
        ":jaxpr:claim:`six <len([1]) == 6>`\n",
        "docs/part.txt": part,
    }
    project = Project(tmp_path_factory.mktemp("include"), files)
    told = [one.partition("/docs/")[2] for one in project.build("html").warnings]
    assert [one.partition(": WARNING")[0] for one in told] == [
        "part.txt:6",
        "part.txt:8",
        "index.rst:10",
    ]


def test_headings_in_markdown(tmp_path_factory: pytest.TempPathFactory) -> None:
    """MyST makes other nodes of them, without a word."""
    page = """
        # P

        ```{jaxpr-when} jax < "99"
        Text.

        ## Heading

        More.
        ```

        ## After
        """
    project = Project(tmp_path_factory.mktemp("markdown"), {"docs/index.md": page})
    for _ in range(2):
        done = project.build("html")
        assert len(done.warnings) == 1
        assert "index.md:6: WARNING: a heading cannot be used in jaxpr-when" in done.warnings[0]
    assert "Heading" in done.page("index").get_text()


@pytest.mark.parametrize(
    "builder", ["html", "singlehtml", "latex", *once("text", "man", "texinfo")]
)
def test_a_label_or_class_above_outlives_its_part(
    tmp_path_factory: pytest.TempPathFactory, builder: str
) -> None:
    page = """
        P
        =

        .. _gone:

        .. jaxpr-when:: jax >= "99"

           Gone.

        .. _kept:
        .. _also:

        .. jaxpr-when:: jax < "99"

           .. A comment, which can hold no label.

           Kept.

        .. rst-class:: fancy

        .. jaxpr-when:: jax >= "99"

           Gone.

        .. rst-class:: fancy

        .. jaxpr-when:: jax < "99"

           One.

           Two.

        :ref:`a <gone>`, :ref:`b <kept>`, :ref:`c <also>`
        """
    project = Project(tmp_path_factory.mktemp("labels"), {"docs/index.rst": page})
    done = project.build(builder, "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    if "html" in builder:
        shown = done.page("index")
        links = [str(a["href"]).rpartition("#")[2] for a in shown.select("p a.internal")]
        assert len(links) >= 3
        assert all(shown.find(id=link) for link in links), links
        assert [p.get_text() for p in shown.select("p.fancy")] == ["One.", "Two."]
    if builder == "latex":
        labels = re.findall(r"\\label\{(.*?)\}", (done.out / "p.tex").read_text("utf-8"))
        assert len(labels) == len(set(labels))


def test_footnotes_have_no_way_back_to_what_is_left_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    page = """
        # P

        Text[^one].

        ```{jaxpr-when} jax >= "99"
        Gone[^one] [^two].
        ```

        [^one]: First.
        [^two]: Second.
        """
    project = Project(tmp_path_factory.mktemp("notes"), {"docs/index.md": page})
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    shown = done.page("index")
    ways = [str(a["href"])[1:] for a in shown.select("aside.footnote a[href^='#']")]
    assert len(ways) == 1
    assert shown.find(id=ways[0])
