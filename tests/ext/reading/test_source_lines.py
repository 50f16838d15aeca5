"""A warning stands in the author's own file, at the author's own line."""

from __future__ import annotations

from pathlib import Path

from tests.ext.cases import dedented, warned
from tests.support import Project

MARKDOWN = dedented("""
    # Page

    Some text.

    - A list

      - deeper

        :::{admonition} With a title
        :class: tip

        ```{jaxpr-transform} layers:dense
        :name: in_list
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :transforms: in_list_wrong
        ```
        :::

    > ```{jaxpr-transform} layers:dense
    > :name: in_quote
    > :transforms: in_quote_wrong
    > :args: x=f32[4,4], w=f32[4,4], b=f32[4]
    > ```

    :::::{note}
    ::::{tip}
    :::{jaxpr-transform} layers:dense
    ---
    name: in_block
    args: x=f32[4,4], w=f32[4,4], b=f32[4]
    transforms: |
      grad,
      in_block_wrong
    ---
    :::
    ::::
    :::::

    ```{include} parts/included.md
    ```

    ```{eval-rst}
    .. include:: parts/included.rst
    ```

    ```{eval-rst}
    .. jaxpr-transform:: layers:dense
       :name: in_eval
       :args: x=f32[4,4], w=f32[4,4], b=f32[4]
       :transforms: in_eval_wrong
    ```

    <!-- a comment that has a directive: {jaxpr-transform} -->

    ```{jaxpr-transform} layers:dense
    :name: good
    :args: x=f32[4,4], w=f32[4,4], b=f32[4]
    :transforms: grad
    ```
""")

PARTS = {
    "docs/parts/included.md": """
        Two lines before it,

        and this one.

        ```{jaxpr-transform} layers:dense
        :name: included
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :transforms: included_wrong
        ```
    """,
    "docs/parts/included.rst": """
        A line.

        * A list

          .. jaxpr-transform:: layers:dense
             :name: as_rst
             :args: x=f32[4,4], w=f32[4,4],
               b=f32[4]
             :transforms: as_rst_wrong
    """,
}

RST = dedented("""
    Page
    ====

    1. A list

       .. admonition:: With a title

          .. jaxpr-transform:: layers:dense
             :name: rst_list
             :args: x=f32[4,4], w=f32[4,4], b=f32[4]
             :transforms: grad,
               vmap,
               rst_list_wrong

    .. include:: parts/more.rst

    .. |words| replace:: some words

    ===== =====
    a     b
    ===== =====
    cell  |words|
    ===== =====

    .. list-table::

       * - .. jaxpr-transform:: layers:dense
              :name: in_cell
              :args: x=f32[4,4], w=f32[4,4], b=f32[4]
              :transforms: in_cell_wrong

    .. jaxpr-transform:: layers:dense
       :name: rst_good
       :args: x=f32[4,4], w=f32[4,4], b=f32[4]
       :transforms: grad
""")


def due(name: str, text: str) -> set[tuple[str, int]]:
    """Where ``*_wrong`` stands in a file."""
    return {(name, line) for line, t in enumerate(text.splitlines(), 1) if "_wrong" in t}


def test_warnings_stand_where_the_author_wrote(tmp_path: Path) -> None:
    more = PARTS["docs/parts/included.rst"].replace("as_rst", "more")
    files = {**PARTS, "docs/parts/more.rst": more, "docs/index.md": MARKDOWN, "docs/rst.rst": RST}
    conf = 'myst_enable_extensions = ["colon_fence"]\nexclude_patterns = ["parts"]\n'
    project = Project(tmp_path, files, conf)
    project.write("docs/rst.rst", ":orphan:\n\n" + RST)
    expected = set()
    for name in files:
        path = tmp_path / name
        expected |= due(path.name, path.read_text("utf-8"))
    assert len(expected) == 9

    built = project.build("html", "-W", "--keep-going", "-j", "2")
    assert built.code == 1, built.stderr
    found = warned(built)
    assert {w.place for w in found} == expected
    assert len(found) == len(expected)
    for one in found:
        assert Path(one.file).is_file()
        line = Path(one.file).read_text("utf-8").splitlines()[one.line - 1]
        word = line.replace("transforms:", "").strip(" :>*-,")
        assert f"unknown transform {word!r}" in one.text
    assert built.texts("index")["jaxpr-good.grad"] == built.texts("rst")["jaxpr-rst_good.grad"]
    assert set(built.texts("index")) >= {"jaxpr-in_list", "jaxpr-included", "jaxpr-as_rst"}

    again = project.build("html", "-W", "--keep-going")
    assert again.code == 1
    assert "0 added, 0 changed, 0 removed" in again.stdout
    assert again.traced == 0
    assert warned(again) == found
