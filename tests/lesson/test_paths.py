"""Paths: a table of contents, ways from lesson to lesson, totals over all pages."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lesson.support import project, told

ITEMS = "\n```{lesson-checklist}\n- One of {0}\n- Two of {0}\n```\n"
FILES = {
    "index.md": "# Book\n\n```{toctree}\nway/path\n```\n",
    "way/path.md": "# The way & on\n\n```{lesson-path}\none\n- two.md\n3. /three\n```\n",
    "way/one.md": "# One & *all*\n" + ITEMS.replace("{0}", "one"),
    "way/two.md": "# Two\n\nNothing to tick.\n",
    "three.md": "# Three\n" + ITEMS.replace("{0}", "three"),
}


def test_a_path_is_a_table_of_contents_with_ways(tmp_path: Path) -> None:
    made = project(tmp_path, FILES)
    done = made.build("html", "-W", "-n")
    assert done.code == 0, done.stderr
    (path,) = done.page("way/path").select("div.lesson-path")
    links = path.select("ol > li a")
    assert [(a["href"], a.get_text()) for a in links] == [
        ("one.html", "One & all"), ("two.html", "Two"), ("../three.html", "Three")
    ]  # fmt: skip
    keys = json.loads(path["data-path"])
    assert {name: len(found.split()) for name, found in keys.items()} == {"way/one": 2, "three": 2}
    ways = {
        "way/one": ["path.html", "two.html"],
        "way/two": ["path.html", "one.html", "../three.html"],
        "three": ["way/path.html", "way/two.html"],
    }
    for number, (name, hrefs) in enumerate(ways.items(), 1):
        (nav,) = done.page(name).select("nav.lesson-nav")
        found = [str(a["href"]) for a in nav.select("a")]
        assert found == hrefs
        assert nav["aria-label"] == "The way & on"
        assert f"lesson {number} of 3" in nav.get_text()
        assert json.loads(nav["data-path"]) == keys
        on_page = [item["data-key"] for item in done.page(name).select("[data-key]")]
        assert " ".join(on_page) == keys.get(name, "")
        if number == 1:
            assert "Next: Two" in nav.get_text() and "Previous" not in nav.get_text()
    assert "no targets are out of date" in made.build("html", "-W").stdout


def test_pages_follow_what_changes_elsewhere(tmp_path: Path) -> None:
    made = project(tmp_path, FILES)
    made.build("html", "-W")
    made.write("docs/three.md", FILES["three.md"].replace("# Three", "# Third"))
    done = made.build("html", "-W")
    assert "Next: Third" in done.page("way/two").select_one("nav.lesson-nav").get_text()
    assert "Third" in done.page("way/path").select_one(".lesson-path").get_text()
    made.write("docs/three.md", "# Third\n")
    done = made.build("html", "-W")
    assert list(json.loads(done.page("way/one").select_one("nav")["data-path"])) == ["way/one"]
    assert "no targets are out of date" in made.build("html", "-W").stdout
    # Another builder has written nothing yet, and this one stays as it is.
    made.build("dirhtml", "-W", "-d", str(done.out / ".doctrees"))
    made.write("docs/way/path.md", FILES["way/path.md"].replace("- two.md\n", ""))
    made.write("docs/way/two.md", ":orphan:\n\n# Two\n")
    done = made.build("html")
    assert not done.page("way/two").select("nav.lesson-nav")
    assert "Next: Third" in done.page("way/one").select_one("nav.lesson-nav").get_text()


def test_other_formats(tmp_path: Path) -> None:
    made = project(tmp_path, FILES)
    text = made.build("text", "-W", "-n")
    assert text.code == 0, text.stderr
    path = (text.out / "way/path.txt").read_text("utf-8")
    assert "1. One & *all*\n\n2. Two\n\n3. Three" in path.replace("One & all", "One & *all*")
    two = (text.out / "way/two.txt").read_text("utf-8")
    assert two.rstrip().endswith(
        "The way & on, lesson 2 of 3\n\nPrevious: One & all\n\nNext: Three"
    ), two
    for builder, file in (("latex", "p.tex"), ("man", "p.1"), ("singlehtml", "index.html")):
        done = made.build(builder, "-W", "-n")
        assert done.code == 0, done.stderr
        whole = (done.out / file).read_text("utf-8")
        assert whole.count("Two of three") == 1 and "Previous" not in whole
        assert "Three" in whole
        if builder == "latex":  # the list stands before the lessons
            assert whole.index(r"\begin{enumerate}") < whole.index("Nothing to tick")
    assert made.build("gettext").warnings == []


WRONG = """
# Path

```{lesson-path}
one
tow
path
one
index
```

```{lesson-path}
:maxdepth: 1
```
"""


def test_mistakes_are_told_by_every_build(tmp_path: Path) -> None:
    files = {"index.md": "# B\n\n```{toctree}\npath\n```\n", "path.md": WRONG, "one.md": "# One\n",
             "two.md": "# Two\n"}  # fmt: skip
    made = project(tmp_path, files, 'suppress_warnings = ["toc.not_included"]\n')
    due = [
        ("path.md", 6, "path", "lesson-path lists 'path', which is this page itself"),
        ("path.md", 7, "path", "lesson-path lists 'one', which is listed already"),
        ("path.md", 8, "path", "lesson-path lists 'index', which is the root of all pages"),
        ("path.md", 12, "option", "lesson-path takes no options; found 'maxdepth'"),
        ("path.md", 11, "path", "lesson-path is empty; write the name of a page on each line"),
        ("path.md", 5, "path", "lesson-path: there is no page 'tow', did you mean 'two'?"),
    ]  # fmt: skip
    for builder in ("html", "html", "jaxpr-check"):
        assert told(made.build(builder)) == due
    # The page that was missing is there, and the path shows it.
    made.write("docs/tow.md", "# Tow\n")
    done = made.build("html")
    assert told(done) == due[:-1]
    assert "Tow" in done.page("path").select_one(".lesson-path").get_text()
    # A page that has gone is told though the path is not read again.
    (made.docs / "tow.md").unlink()
    done = made.build("html")
    assert told(done) == due
    assert "Tow" not in done.page("path").select_one(".lesson-path").get_text()
