"""Names of blocks and labels of variants, and what may be written between."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.ext.cases import GOOD, Case, Page, dedented, problems, warned
from tests.support import Project

CODE = """
import jax
import jax.numpy as jnp


def größe(x):
    return x * 2


def sum(x):
    return x + 1


def total(x):
    return jax.lax.psum(x, "i")


class Box:
    def double(self, x):
        return x * 2


box = Box()
"""
X = {"args": "x=f32[4]"}


CASES = [
    Case("l_reserved", "layers:dense", {**GOOD, "transforms": "grad as len"}, "option",
         ("label 'len' is a reserved word, try 'len_'",), at="transforms", shown=True),
    Case("l_keyword", "layers:dense", {**GOOD, "transforms": "grad as lambda"}, "option",
         ("label 'lambda' is a reserved word",), at="transforms", shown=True),
    Case("l_dotted", "layers:dense", {**GOOD, "transforms": "grad as a.b"}, "option",
         ("label 'a.b' is not an ASCII identifier",), at="transforms", shown=True),
    Case("l_other", "layers:dense", {**GOOD, "transforms": "grad as größe"}, "option",
         ("label 'größe' is not an ASCII identifier",), at="transforms", shown=True),
    Case("l_twice", "layers:dense", {**GOOD, "transforms": "vmap, vmap(axis_size=3)"}, "option",
         ("two variants have the label 'vmap'", "vmap(...) as other"), at="transforms",
         shown=True),
    Case("c_what", "layers:dense", {**GOOD, "class": "1 $"}, "option", ("class:",), at="class",
         shown=True),
]  # fmt: skip

BAD_NAMES = {
    "3d": "name '3d' is not an ASCII identifier",
    "größe": "name 'größe' is not an ASCII identifier",
    "a-b": "name 'a-b' is not an ASCII identifier",
    "a.b": "name 'a.b' is not an ASCII identifier",
    "while": "name 'while' is a reserved word, try 'while_'",
    "jax": "name 'jax' is a reserved word, try 'jax_'",
    "shape": "name 'shape' is a reserved word, try 'shape_'",
    "": "option 'name' is empty",
}


def test_labels_that_can_not_be(tmp_path: Path) -> None:
    page = Page.of(CASES, markdown=True)
    built = Project(tmp_path, {"docs/index.md": page.text}).build("html", "-W", "--keep-going")
    assert built.code == 1
    assert not problems(built, CASES, page, "index")
    html = built.page("index")
    assert "two variants have" in html.find(id="jaxpr-l_twice.vmap-2").get_text()
    assert "mul" not in html.find(id="jaxpr-l_dotted.a.b").get_text()


def test_names_that_can_not_be(tmp_path: Path) -> None:
    page = Page(False, ["Page", "====", ""])
    due = {}
    for name, says in BAD_NAMES.items():
        lines = Case(name, "layers:dense", GOOD, "", ()).written(False)
        due[page.add(lines) + 1] = says
    built = Project(tmp_path, {"docs/index.rst": page.text}).build("html", "-W", "--keep-going")
    assert built.code == 1
    found = warned(built)
    assert {w.line: w.text for w in found} == {
        line: next(w.text for w in found if says in w.text) for line, says in due.items()
    }
    ids = [figure["id"] for figure in built.page("index").select("figure.jaxpr")]
    assert ids[:3] == ["jaxpr-dense", "jaxpr-dense-2", "jaxpr-dense-3"]
    assert len(set(ids)) == len(BAD_NAMES)


def test_names_of_the_page_and_of_the_project(tmp_path: Path) -> None:
    page = dedented("""
        # Page

        ```{jaxpr-transform} names:größe
        :args: x=f32[4]
        :transforms: grad as first, vmap | grad, grad
        :open: first, vmap_grad
        :class: wide  tall
        :caption: A *größe* `<b>caption</b>` & more
        ```

        ```{jaxpr-transform} names:größe
        :args: x=f32[4]
        ```

        ```{jaxpr-transform} names:sum
        :args: x=f32[4]
        ```

        ```{jaxpr-transform} names:box.double
        :args: x=f32[4]
        :name: boxed
        ```

        ```{jaxpr-transform} names:total
        :args: x=f32[]
        :base: hide
        :transforms: vmap(axis_name="i", axis_size=4)
        ```
        """)
    other = dedented("""
        # Other

        ```{jaxpr-transform} names:sum
        :args: x=f32[4]
        :name: boxed
        ```

        ```{jaxpr-transform} names:total
        :args: x=f32[]
        :base: hide
        :transforms: grad
        ```
        """)
    files = {"src/names.py": CODE, "docs/index.md": page, "docs/other.md": "---\norphan: 1\n---\n"}
    project = Project(tmp_path, files)
    built = project.build("html", "-W")
    assert (built.code, built.stderr) == (0, "")
    html = built.page("index")
    ids = [figure["id"] for figure in html.select("figure.jaxpr")]
    assert ids == [
        "jaxpr-gr__e", "jaxpr-gr__e.first", "jaxpr-gr__e.vmap_grad", "jaxpr-gr__e.grad",
        "jaxpr-gr__e-2", "jaxpr-sum_", "jaxpr-boxed", "jaxpr-total.vmap",
    ]  # fmt: skip
    first = html.find(id="jaxpr-gr__e")
    assert {"wide", "tall"} <= set(first["class"])
    assert "größe" in first.get_text()
    assert "A größe <b>caption</b> & more" in first.figcaption.get_text()
    assert first.find("em") is not None
    opened = [figure["id"] for figure in html.select("figure.jaxpr:has(> details[open])")]
    assert opened[:2] == ["jaxpr-gr__e.first", "jaxpr-gr__e.vmap_grad"]
    assert "jaxpr-gr__e.grad" not in opened

    # The hidden base of ``total`` fails without harm: no reason to try it at every build.
    assert project.build("html", "-W").traced == 0

    project.write("docs/other.md", "---\norphan: 1\n---\n" + other)
    clash = project.build("html", "-W", "--keep-going")
    assert clash.code == 1
    name, unbound = sorted(warned(clash), key=lambda w: w.line)
    assert name.place == ("other.md", 6)
    assert "name 'boxed' is also used at index.md:19" in name.text
    assert unbound.place == ("other.md", 11)
    assert "total: NameError: " in unbound.text
    assert "(and so for total.grad)" in unbound.text
    assert project.build("html", "-W").code == 1
    twice = "```{jaxpr-transform} names:sum\n:args: x=f32[4]\n:name: twin\n```\n"
    project.write("docs/other.md", f"---\norphan: 1\n---\n# Other\n\n{twice}\n{twice}")
    same = project.build("html", "-W")
    (only,) = warned(same)
    assert only.place == ("other.md", 11)
    assert "name 'twin' is also used at other.md:6" in only.text
    assert set(same.texts("other")) == {"jaxpr-twin", "jaxpr-twin-2"}


@pytest.mark.once
def test_modules_that_may_be_named(tmp_path: Path) -> None:
    files = {
        "src/names.py": CODE,
        "src/pkg/__init__.py": "",
        "src/pkg/one.py": CODE,
        "src/pkgother.py": "raise SystemError('must not be imported')\n",
        "docs/index.md": "# Page\n\n"
        + "".join(
            f"```{{jaxpr-transform}} {target}\n:name: n{n}\n:args: x=f32[4]\n```\n\n"
            for n, target in enumerate(["pkg.one:sum", "pkg.one.sum", "names:sum", "pkgother:f"])
        ),
    }
    conf = 'jaxpr_allowed_modules = ["pkg"]\n'
    built = Project(tmp_path, files, conf).build("html", "-W", "--keep-going")
    assert built.code == 1
    assert [w.line for w in warned(built)] == [13, 18]
    assert all("outside jaxpr_allowed_modules (pkg)" in w.text for w in warned(built))
    assert {w.kind for w in warned(built)} == {"option"}
    texts = built.texts("index")
    assert texts["jaxpr-n0"] == texts["jaxpr-n1"] != ""
    assert "outside" in built.page("index").find(id="jaxpr-n2").get_text()


@pytest.mark.once
def test_names_lead_into_no_other_module(tmp_path: Path) -> None:
    """What an allowed module has imported is an attribute of it; JAX may always be named."""
    files = {
        "src/pkg.py": "import os\nimport jax\n\n\ndef f(x, act=abs):\n    return act(x)\n",
        "docs/index.md": "# P\n\n"
        + "".join(
            f"```{{jaxpr-transform}} {target}\n:name: n{n}\n{options}```\n\n"
            for n, (target, options) in enumerate(
                [
                    ("pkg:os.system", ":static: 0='touch made'\n"),
                    ("pkg.os.getcwd", ""),
                    ("pkg:f", ":args: x=f32[4]\n:static: act=os.path.abspath\n"),
                    ("pkg:f", ":args: x=os.getcwd\n"),
                    ("pkg:f", ":args: x=f32[4]\n:static: act=jax.nn.relu\n"),
                    ("pkg:f", ":args: x=f32[4]\n:static: act=jax.nn.relo\n"),
                ]
            )
        ),
    }
    conf = 'jaxpr_allowed_modules = ["pkg"]\n'
    project = Project(tmp_path, files, conf)
    built = project.build("html")
    told = warned(built)
    assert [w.line for w in told] == [3, 8, 15, 20, 32], built.stderr
    for one in told[:4]:
        assert "passes through the module" in one.text
        assert one.text.endswith("which is outside jaxpr_allowed_modules (pkg)")
        assert one.kind == "option"
    assert "'jax.nn' has no attribute 'relo', did you mean 'relu'" in told[4].text
    assert "max" in built.texts("index")["jaxpr-n4"]
    assert not list(tmp_path.rglob("made"))
    # What was traced under another rule is not taken for it.
    loose = project.build("html", "-D", "jaxpr_allowed_modules=pkg,os,posixpath")
    assert not [w for w in warned(loose) if "leads through" in w.text]


def test_the_inventory_lists_what_is_shown(tmp_path: Path) -> None:
    page = dedented("""
        # Page

        ```{jaxpr-transform} layers:dense
        :args: x=f32[8,8], w=f32[8,8], b=f32[8]
        :name: here
        ```

        :::{only} latex
        ```{jaxpr-transform} layers:dense
        :args: x=f32[8,8], w=f32[8,8], b=f32[8]
        :name: on_paper
        ```
        :::

        {jaxpr:val}`len(on_paper)` {jaxpr:ref}`on_paper`
        """)
    conf = 'myst_enable_extensions = ["colon_fence"]\n'
    built = Project(tmp_path, {"docs/index.md": page}, conf).build("html")
    assert [w.text for w in warned(built)] == [
        f"{what}: this build leaves out the block `on_paper` (directive `only`)"
        for what in ("value 'len(on_paper)'", "block 'on_paper'")
    ]
    inventory = built.out / "objects.inv"
    lines = zlib.decompress(inventory.read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    assert [line.split()[0] for line in lines if " jaxpr:block " in line] == ["here"]
