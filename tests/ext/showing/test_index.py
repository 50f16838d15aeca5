"""The index of primitives: a page of the domain, and what its links lead to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.tracing.files import canonical, signed
from tests.support import Build, Project

pytestmark = pytest.mark.once

MORE = """
import jax
import jax.numpy as jnp


def wave(x):
    return jax.nn.relu(jnp.sin(x)) + jax.nn.relu(x)


def refused(x):
    raise TypeError("no")


def looped(x):
    return jax.lax.scan(lambda c, _: (jnp.cosh(c), c), x, None, length=3)
"""

FILES = {
    "docs/index.md": """
# Start

See {ref}`jaxpr-primitives`.

```{toctree}
sub/other
```

```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:name: dense
:transforms: grad
:base: hide
```

:::{only} draft
```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:name: hidden
```
:::
""",
    "docs/sub/other.md": """
# Other page

```{jaxpr-transform} more:wave
:args: x=f32[3]
```

```{jaxpr-transform} more:looped
:args: x=f32[]
```

```{jaxpr-transform} more:refused
:args: x=f32[3]
:raises: TypeError
```
""",
    "src/more.py": MORE,
}
CONF = 'myst_enable_extensions = ["colon_fence"]\nversion = copyright = "1"\n'


def project_in(folder: Path, files: dict[str, str] = FILES, conf: str = CONF) -> Project:
    return Project(folder, files, conf)


def build(project: Project, builder: str, *flags: str) -> Build:
    # The environments of builders that follow changes of texts are their own.
    doctrees = str(project.folder / ("doctrees-gettext" if builder == "gettext" else "doctrees"))
    done = project.build(builder, "-W", "-n", "-d", doctrees, *flags)
    assert (done.code, done.stderr) == (0, "")
    return done


def page(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def rows(soup: BeautifulSoup) -> dict[str, list[tuple[str, str]]]:
    """For each primitive the names and addresses of its blocks."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for row in soup.select(".modindextable tr:not(.pcap):not(.cap)"):
        link = row.select_one("a")
        if link is None:
            name = row.select_one("code").get_text()
            found[name] = []
        else:
            found[name].append((link.get_text().strip(), str(link["href"])))
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project_in(tmp_path_factory.mktemp("index"))


PLACES = {
    "html": ("jaxpr-primitives.html", "index.html", "sub/other.html"),
    "dirhtml": ("jaxpr-primitives/index.html", "../", "../sub/other/"),
    "epub": ("jaxpr-primitives.xhtml", "index.xhtml", "sub/other.xhtml"),
}


@pytest.mark.parametrize("builder", PLACES)
def test_lists_each_primitive_with_its_blocks(project: Project, builder: str) -> None:
    done = build(project, builder)
    place, index, other = PLACES[builder]
    soup = page(done.out / place)
    found = rows(soup)
    assert found["tanh"] == [("dense.grad", f"{index}#jaxpr-dense.grad")]
    assert found["sin"] == [("wave", f"{other}#jaxpr-wave")]
    assert found["max"] == [("wave", f"{other}#jaxpr-wave")]  # in a shared program
    assert found["cosh"] == [("looped", f"{other}#jaxpr-looped")]  # in a body
    assert list(found) == sorted(found)
    assert not {name for places in found.values() for name, _ in places} - {
        "dense.grad", "wave", "looped",
    }  # fmt: skip
    assert "hyperbolic tangent" in soup.get_text()
    assert [cap["id"] for cap in soup.select(".cap")][:2] == ["cap-A", "cap-B"]
    # Each link leads to a block that has the primitive.
    for name, places in found.items():
        for _, address in places:
            file, _, anchor = address.partition("#")
            target = (done.out / place).parent / file
            target = target / "index.html" if target.is_dir() else target
            assert page(target).find(id=anchor).select(f'[data-primitive="{name}"]'), (name, file)
    start = page(done.out / place.replace("jaxpr-primitives", "index").replace("index/", ""))
    assert place.removesuffix("index.html") in [str(a["href"]) for a in start.select("a[href]")]


def test_is_rewritten_when_a_block_changes(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    first = build(project, "html")
    place = first.out / "jaxpr-primitives.html"
    project.write("src/more.py", MORE.replace("jnp.sin", "jnp.cos"))
    build(project, "html")
    found = rows(page(place))
    assert "cos" in found and "sin" not in found and "tanh" in found
    # A page that is gone takes its entries along.
    (project.docs / "sub/other.md").unlink()
    project.write("docs/index.md", FILES["docs/index.md"].replace("sub/other", ""))
    build(project, "html")
    assert {name for places in rows(page(place)).values() for name, _ in places} == {"dense.grad"}


def test_reads_no_result_for_what_it_knows(tmp_path: Path) -> None:
    """The page of a text that changed shows no block: not one result is needed."""
    other = FILES["docs/sub/other.md"].partition("```{jaxpr-transform} more:refused")[0]
    plain = "---\norphan: true\n---\n\n# A\n"
    files = {**FILES, "docs/sub/other.md": other, "docs/plain.md": plain}
    project = project_in(tmp_path, files)
    cache = tmp_path / "doctrees/jaxpr"
    build(project, "html")
    project.write("docs/plain.md", plain.replace("A", "B"))
    for file in cache.glob("*.pack"):
        file.write_bytes(b" " * file.stat().st_size)  # unreadable, and as long as it was
    done = build(project, "html")
    assert done.traced == 0
    assert "tanh" in rows(page(done.out / "jaxpr-primitives.html"))


def test_an_index_without_names_is_made_again(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    build(project, "html")
    store = tmp_path / "doctrees/jaxpr"
    (file,) = store.glob("index-*.txt")
    kept = json.loads(file.read_bytes()[65:])
    for row in kept["rows"]:
        row[-1] = row[-1][:3]
    file.write_bytes(signed(canonical(kept)))
    project.write("docs/index.md", FILES["docs/index.md"] + "\nMore.\n")
    done = build(project, "html")
    assert done.traced == 0
    assert "tanh" in rows(page(done.out / "jaxpr-primitives.html"))
    shown = {row[4]: row[-1] for row in json.loads(file.read_bytes()[65:])["rows"]}
    (pack,) = store.glob("*.pack")
    for line in pack.read_text("utf-8").splitlines():
        result = json.loads(line.partition("\t")[2])
        equations = parse(result["text"]).walk() if "text" in result else ()
        assert shown[line[:64]][3].split("\n") == (sorted({e.primitive for e in equations}) or [""])


def test_can_be_left_out(tmp_path: Path) -> None:
    project = project_in(tmp_path, conf=CONF + "html_domain_indices = False\n")
    done = build(project, "html")
    assert not (done.out / "jaxpr-primitives.html").exists()
    # Nor is it there where no block shows a primitive.
    bare = project_in(tmp_path / "bare", {"docs/index.md": "# No block\n"})
    assert not (build(bare, "html").out / "jaxpr-primitives.html").exists()
    skipped = project_in(tmp_path / "skip", conf=CONF + "jaxpr_mode = 'skip'\n")
    assert not (build(skipped, "html").out / "jaxpr-primitives.html").exists()


@pytest.mark.parametrize("builder", ["singlehtml", "latex", "texinfo", "text", "man", "gettext"])
def test_other_formats(project: Project, builder: str) -> None:
    done = build(project, builder)
    if builder == "latex":
        text = next(done.out.glob("*.tex")).read_text("utf-8")
        entry = r"\sphinxstyleindexentry{tanh}\sphinxstyleindexextra{dense.grad}"
        assert entry + r"\sphinxstyleindexpageref{index:\detokenize{jaxpr-dense.grad}}" in text
        assert r"\label{\detokenize{index:jaxpr-dense.grad}}" in text


#: As if the project were large: the index of one page holds nearly nothing.
LARGE = """
from sphinx_jaxpr.ext.showing import index
index.MOST_ENTRIES, index.MOST_BLOCKS = 5, 2
"""


def letters(out: Path) -> dict[str, int]:
    """The pages of letters, with their times."""
    files = out.glob("jaxpr-primitives-*.html")
    return {file.stem.rpartition("-")[2]: file.stat().st_mtime_ns for file in files}


def changed(before: dict[str, int], after: dict[str, int]) -> set[str]:
    """The letters whose pages were written since."""
    return {letter for letter, time in after.items() if before.get(letter) != time}


def test_a_large_index_has_a_page_for_each_letter(tmp_path: Path) -> None:
    """Each is written when it changes, or when its file isn't what was written."""
    plain = {"docs/plain.md": "---\norphan: true\n---\n\n# A\n"}  # which not every build writes
    project = project_in(tmp_path, {**FILES, **plain}, CONF + LARGE)
    out = build(project, "html").out
    overview = page(out / "jaxpr-primitives.html")
    links = {a.get_text(): str(a["href"]) for a in overview.select(".modindextable a")}
    assert links["sin"] == "jaxpr-primitives-s.html#cap-S"
    assert "hyperbolic tangent" in overview.get_text() and "1 block)" in overview.get_text()
    for address in links.values():
        file, _, anchor = address.partition("#")
        assert page(out / file).find(id=anchor)
    sines = page(out / "jaxpr-primitives-s.html")
    assert rows(sines)["sin"] == [("wave", "sub/other.html#jaxpr-wave")]
    assert "Index of primitives: S" in sines.h1.get_text()
    first = letters(out)
    assert set(first) == {link.partition("-")[2][11:].partition(".")[0] for link in links.values()}

    build(project, "html")  # nothing
    assert letters(out) == first
    (out / "jaxpr-primitives-s.html").unlink()
    with (out / "jaxpr-primitives-t.html").open("a") as file:
        file.write("more")
    build(project, "html")
    mended = letters(out)
    assert changed(first, mended) == {"s", "t"}
    assert page(out / "jaxpr-primitives-s.html") == sines

    project.write("src/more.py", MORE.replace("jnp.sin", "jnp.atanh"))
    build(project, "html")
    # `sin` is gone, and `atanh` is there; the blocks of other letters are as they were.
    edited = letters(out)
    assert changed(mended, edited) == {"a", "s"}
    assert "sin" not in rows(page(out / "jaxpr-primitives-s.html"))
    assert rows(page(out / "jaxpr-primitives-a.html"))["atanh"] == [
        ("wave", "sub/other.html#jaxpr-wave")
    ]


def test_a_large_index_in_folders(tmp_path: Path) -> None:
    conf = CONF + LARGE.replace("= 5, 2", "= 5, 1")
    wave = "\n```{jaxpr-transform} more:wave\n:args: x=f32[4]\n:name: again\n```\n"
    files = {**FILES, "docs/sub/other.md": FILES["docs/sub/other.md"] + wave}
    out = build(project_in(tmp_path, files, conf), "dirhtml").out
    sines = page(out / "jaxpr-primitives-s/index.html")
    assert rows(sines)["sin"] == [("wave", "../sub/other/#jaxpr-wave")]
    assert "Other page, and 1 more on this page" in sines.get_text()
    overview = page(out / "jaxpr-primitives/index.html")
    assert overview.select('a[href="../jaxpr-primitives-s/#cap-S"]')
