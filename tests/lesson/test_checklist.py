"""Checklists: what a page holds for the script, and what names nothing."""

from __future__ import annotations

from pathlib import Path

from tests.lesson.support import project, told

PAGE = """
# Page

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad
```

```{lesson-check} Why?
:name: why_so

So.
```

```{lesson-checklist}
- I can say *it*.
- {lesson-auto}`open dense.grad` Look at {jaxpr:ref}`the gradient <dense.grad>`.

  And think.
- {lesson-auto}`answer why_so`
- I can say *it*.
```

```{lesson-checklist}
1. No item.

* {lesson-auto}`open dense` <b & c>
  - {lesson-auto}`answer why_so` Below.
```
"""


def test_items_have_keys_and_what_completes_them(tmp_path: Path) -> None:
    made = project(tmp_path, {"index.md": PAGE.replace("  - {lesson-auto}`answer why_so`", "  - ")})
    done = made.build("html", "-W", "-n")
    assert done.code == 0, done.stderr
    first, second = done.page("index").select("div.lesson-checklist")
    assert (first["data-project"], first["data-lesson"]) == ("p", "index")
    items = first.select("li.lesson-item")
    assert [item.get("data-watch") for item in items] == [None, "jaxpr-dense.grad", "why-so", None]
    assert items[1].get_text(" ", strip=True) == "Look at the gradient . And think."
    assert items[2].get_text(" ", strip=True) == "Answer why_so"
    assert items[2].select_one("a")["href"] == "#why-so"
    (last,) = second.select("[data-key]")
    assert last["data-watch"] == "jaxpr-dense"
    keys = [item["data-key"] for item in [*items, last]]
    assert len(set(keys)) == 5 and keys[3] == f"{keys[0]}-2"
    # What else changes on a page costs no tick.
    moved = PAGE.replace("- I can say *it*.\n- {", "- New.\n- I can say *it*.\n- {")
    made.write("docs/index.md", moved)
    again = made.build("html").page("index").select("[data-key]")
    assert {item["data-key"] for item in again} > set(keys)
    single = made.build("singlehtml").page("index")
    assert len(single.select("[data-watch='jaxpr-dense.grad']")) == 1


def test_elsewhere_it_is_a_list(tmp_path: Path) -> None:
    made = project(tmp_path, {"index.md": PAGE.replace("  - {lesson-auto}`answer why_so`", "  - ")})
    done = made.build("text", "-W", "-n")
    assert done.code == 0, done.stderr
    text = (done.out / "index.txt").read_text("utf-8")
    assert "* I can say *it*.\n\n* Look at the gradient.\n\n  And think.\n\n* Answer" in text
    assert "lesson" not in text
    for builder in ("latex", "man", "texinfo", "pseudoxml"):
        done = made.build(builder, "-W", "-n")
        assert done.code == 0, done.stderr
        files = [path for path in done.out.glob("*.*") if path.is_file()]
        assert not [path for path in files if b"lesson_key" in path.read_bytes()]


WRONG = """
# Page

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad
```

A stray {lesson-auto}`open dense`.

```{lesson-checklist}
- {lesson-auto}`open dense.gard` Look.
- Two lines, and
  {lesson-auto}`answer why` then.
- {lesson-auto}`oepn dense`
- {lesson-auto}`open`
- {lesson-auto}`open dense` once, {lesson-auto}`open dense` twice.
```

```{lesson-checklist}
No list.
```
"""


def test_what_names_nothing_is_told_by_every_build(tmp_path: Path) -> None:
    made = project(tmp_path, {"index.md": WRONG})
    form = "write 'open' and the name of a block, or 'answer' and the name of a question"
    stray = "has no effect here: use it once at the beginning of an item of a lesson-checklist"
    due = {
        20: ("part", "lesson-checklist has no items; write them as a bullet list"),
        9: ("auto", f"lesson-auto 'open dense' {stray}"),
        17: ("auto", f"lesson-auto 'open dense' {stray}"),
        12: ("auto", "lesson-auto 'open dense.gard': this page has no block named 'dense.gard',"
                     " did you mean 'dense.grad'? (here: dense, dense.grad)"),
        14: ("auto", "lesson-auto 'answer why': this page has no question named 'why'"
                     " (none here has a name)"),
        15: ("auto", f"lesson-auto 'oepn dense': {form}, did you mean 'open'?"),
        16: ("auto", f"lesson-auto 'open': {form}"),
    }  # fmt: skip
    for builder in ("html", "html", "jaxpr-check", "text"):
        found = told(made.build(builder))
        assert {line: (kind, text) for _, line, kind, text in found} == due
        assert len(found) == len(due)
    # A page that is not read again is judged too: the block has gone.
    page = WRONG.replace("dense.gard", "dense.grad")
    made.write("docs/index.md", page)
    assert len(told(made.build())) == len(due) - 1


def test_in_restructuredtext_and_in_parallel(tmp_path: Path) -> None:
    page = """
    Page
    ====

    .. lesson-check:: Why?
       :name: why

       So.

    .. lesson-checklist::

       * :lesson-auto:`answer why` Say so.
       * :lesson-auto:`answer whi` Say so.
    """
    files = {f"p{n}.rst": page for n in range(8)}
    toctree = "# All\n\n```{toctree}\n" + "\n".join(f"p{n}" for n in range(8)) + "\n```\n"
    made = project(tmp_path, {"index.md": toctree, **files})
    done = made.build("html", "-n", "-j", "4")
    assert [(file, line) for file, line, _, _ in told(done)] == [
        (f"p{n}.rst", 12) for n in range(8)
    ]
    (item, _) = done.page("p5").select("[data-key]")
    assert item["data-watch"] == "why"
    assert done.page("p5").select_one(".lesson-checklist")["data-lesson"] == "p5"
