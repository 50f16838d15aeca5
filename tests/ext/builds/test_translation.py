"""Captions are for translators; what JAX printed is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from tests.ext.builds import book
from tests.support import Project

PAGES = {
    "docs/index.rst": """
        Start
        =====

        .. _there:

        There
        -----

        .. jaxpr-transform:: forms:double
           :args: x=f32[8]
           :transforms: grad
           :caption: A *small* function, see :ref:`there <there>`.
           :source:

        .. toctree::

           page
        """,
    "docs/page.md": """
        # Page

        ```{jaxpr-transform} forms:choose
        :args: x=f32[8]
        :caption: Two **branches**, see [there](#there).
        ```

        ```{jaxpr-transform} forms:refused
        :args: x=f32[8]
        :raises: TypeError
        ```
        """,
    "src/forms.py": book.CODE,
}

CATALOGUES = {
    "index": (
        "A *small* function, see :ref:`there <there>`.",
        "Eine *kleine* Funktion, siehe :ref:`dort <there>`.",
    ),
    "page": (
        "Two **branches**, see [there](#there).",
        "Zwei **Zweige**, siehe [dort](#there).",
    ),
}

CONF = """
jaxpr_cache_dir = "../cache"
locale_dirs = ["../locale"]
gettext_compact = False
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("translated"), PAGES, CONF)


def test_catalogue_lists_captions_and_no_equation(project: Project) -> None:
    done = project.build("gettext", "-W", "-n")
    assert (done.code, done.warnings, done.traced) == (0, [], 0), done.stderr
    found = {}
    for page in CATALOGUES:
        with (done.out / f"{page}.pot").open(encoding="utf-8") as stream:
            catalogue = read_po(stream)
        found[page] = {str(message.id): message.locations for message in catalogue if message.id}
    assert set(found["index"]) == {"Start", "There", CATALOGUES["index"][0]}
    assert set(found["page"]) == {"Page", CATALOGUES["page"][0]}
    # With its place.
    [(source, line)] = found["index"][CATALOGUES["index"][0]]
    assert (Path(source).name, line) == ("index.rst", 12)
    [(source, line)] = found["page"][CATALOGUES["page"][0]]
    assert (Path(source).name, line) == ("page.md", 5)


def translate(project: Project) -> None:
    """What a translator makes of the templates; Sphinx compiles it."""
    for page, (english, german) in CATALOGUES.items():
        project.write(
            f"locale/de/LC_MESSAGES/{page}.po",
            'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
            f'msgid "{english}"\nmsgstr "{german}"\n',
        )


def test_translated_captions_and_the_same_equations(project: Project) -> None:
    english = project.build("html", "-W", "-n")
    assert (english.code, english.traced) == (0, 4), english.stderr
    texts = {page: english.texts(page) for page in CATALOGUES}
    translate(project)
    german = project.build(
        "html", "-W", "-n", "-D", "language=de", "-d", str(project.folder / "doctrees-de")
    )
    assert (german.code, german.warnings, german.traced) == (0, [], 0), german.stderr
    assert {page: german.texts(page) for page in CATALOGUES} == texts

    caption = german.page("index").select_one("#jaxpr-double .jaxpr-caption")
    assert caption is not None and caption.em is not None and caption.a is not None
    assert caption.get_text() == "Eine kleine Funktion, siehe dort."
    assert (caption.em.get_text(), caption.a["href"]) == ("kleine", "#there")
    caption = german.page("page").select_one("#jaxpr-choose .jaxpr-caption")
    assert caption is not None and caption.strong is not None and caption.a is not None
    assert caption.get_text() == "Zwei Zweige, siehe dort."
    assert (caption.strong.get_text(), caption.a["href"]) == ("Zweige", "index.html#there")


def test_translated_captions_in_plain_formats(project: Project) -> None:
    translate(project)
    done = project.build("text", "-W", "-n", "-D", "language=de")
    assert (done.code, done.warnings) == (0, []), done.stderr
    text = (done.out / "index.txt").read_text("utf-8")
    assert "Eine *kleine* Funktion, siehe dort." in text
    assert "A *small*" not in text and "= mul a 2.0" in text
