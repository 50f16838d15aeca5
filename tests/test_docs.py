"""The documentation builds without a warning and says what the code does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
import yaml
from bs4 import BeautifulSoup

from sphinx_jaxpr.ext.config import OPTIONS
from sphinx_jaxpr.ext.judging import findings
from sphinx_jaxpr.ext.reading.pasted import OPTIONS as PASTED_OPTIONS
from sphinx_jaxpr.ext.reading.show import OPTIONS as SHOW_OPTIONS
from sphinx_jaxpr.ext.reading.transform import OPTIONS as DIRECTIVE_OPTIONS
from sphinx_jaxpr.lesson.records import CARDS
from sphinx_jaxpr.tracing.request import RESERVED, RESERVED_LABELS
from sphinx_jaxpr.tracing.specs import TRANSFORMS
from tests.support import PROJECT, Build, Project
from tests.walkthrough import plain, run_in, steps, walk

DOCS = PROJECT / "docs"


def build_docs(out: Path, builder: str, *flags: str, store: Path | None = None) -> Build:
    """The documentation, every warning an error."""
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-b", builder, *flags]
    command += ["-D", f"jaxpr_cache_dir={store or out / 'store'}"]
    done = subprocess.run(
        [*command, "-d", f"{out}/doctrees", str(DOCS), f"{out}/{builder}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
        timeout=300,
        check=False,
    )
    return Build(done.returncode, out / builder, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The documentation as ``make docs`` builds it."""
    return build_docs(tmp_path_factory.mktemp("site"), "html", "-j", "auto")


def pages(site: Build) -> dict[Path, BeautifulSoup]:
    return _pages(site.out)


@cache
def _pages(folder: Path) -> dict[Path, BeautifulSoup]:
    return {
        path: BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in sorted(folder.rglob("*.html"))
    }


def fences(text: str, language: str) -> list[str]:
    """The code blocks of a Markdown text in one language."""
    found = re.findall(r"^(`{3,})([^\n`]*)\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    return [body for _, name, body in found if name == language]


def test_it_builds_without_a_warning(site: Build) -> None:
    assert site.code == 0, site.stderr
    assert not site.warnings


def test_every_block_shows_a_program(site: Build) -> None:
    kinds = [
        (path.stem, str(figure["id"]), " ".join(figure["class"]))
        for path, page in pages(site).items()
        for figure in page.select("figure.jaxpr")
    ]
    assert len(kinds) > 15
    special = {(page, kind) for page, _, kind in kinds if "jaxpr-" in kind}
    raising = ("expected-errors", "transforms", "control-flow", "collectives")
    assert special == {(page, "jaxpr jaxpr-raises") for page in raising}


def test_it_builds_without_jax(tmp_path: Path) -> None:
    build = build_docs(tmp_path, "html", "-D", "jaxpr_mode=skip")
    assert build.code == 0, build.stderr
    assert len(build.page("lessons/transforms").select("figure.jaxpr-skipped")) == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    "builder",
    ["text", "epub", "latex", "man", "texinfo", "singlehtml", "dirhtml", "gettext", "jaxpr-check"],
)
def test_it_builds_in_other_formats(site: Build, builder: str, tmp_path: Path) -> None:
    build = build_docs(tmp_path, builder, store=site.out.parent / "store")
    assert build.code == 0, build.stderr


def test_every_option_of_conf_py_is_documented(site: Build) -> None:
    page = site.page("reference/config")
    for option in OPTIONS:
        entry = page.find(id=f"confval-{option.name}")
        assert entry is not None, option.name
        told = entry.find_next("dd").get_text(" ", strip=True)
        assert repr(option.default) in told
        assert option.meaning.split("`")[0].strip() in told


def test_every_warning_type_is_documented(site: Build) -> None:
    rows = {code.get_text() for code in site.page("reference/config").select("td code")}
    used = {"trace", "path", "glossary", "claim", "drift", "raises", *findings._SUBTYPES}
    assert {row for row in rows if row.startswith("jaxpr.")} == {f"jaxpr.{kind}" for kind in used}


def test_every_option_of_the_directive_is_documented(site: Build) -> None:
    for page, name, known in (
        ("reference/directive", "jaxpr-transform", DIRECTIVE_OPTIONS),
        ("reference/directive", "jaxpr-show", SHOW_OPTIONS),
        ("reference/pasted", "jaxpr", PASTED_OPTIONS),
    ):
        ids = {str(dt.get("id")) for dt in site.page(page).select("dt")}
        prefix = f"directive-option-{name}-"
        found = {one.removeprefix(prefix) for one in ids if one.startswith(prefix)}
        assert found == set(known), name


def test_every_transform_and_reserved_word_is_documented(site: Build) -> None:
    page = site.page("reference/directive")
    terms = {dt.get_text(strip=True): dt.find_next("dd").get_text() for dt in page.select("dl dt")}
    for name, transform in TRANSFORMS.items():
        assert name in terms
        assert all(option in terms[name] for option in transform.options), name
    words = page.find(id="names-and-labels")
    assert words is not None
    assert {code.get_text() for code in words.select("code")} >= RESERVED | RESERVED_LABELS


@pytest.mark.once
def test_what_we_write_has_no_inline_style_or_script(site: Build) -> None:
    ours = "[class*=jaxpr], [class*=lesson-], [data-source], figure.jaxpr *, .jaxpr-source *"
    count = 0
    for path, page in pages(site).items():
        assert not page.select(".jaxpr-finding, .jaxpr-findings, .jaxpr-unchecked")  # for writers
        for element in page.select(ours):
            count += 1
            names = [name for name in element.attrs if name == "style" or name.startswith("on")]
            assert not names, (path, element.name, names)
            assert element.name not in ("script", "style"), path
            link = str(element.get("href", ""))
            assert not link.lower().startswith(("javascript:", "data:")), (path, link)
    assert count > 1000


def test_every_variable_of_the_style_sheet_is_documented(site: Build) -> None:
    style = (PROJECT / "sphinx_jaxpr/static/jaxpr.css").read_text("utf-8")
    used = set(re.findall(r"--jaxpr-[\w-]+", style))
    cells = {code.get_text() for code in site.page("reference/html").select("td code")}
    assert {cell for cell in cells if cell.startswith("--")} == used


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What jaxpr-check finds in a project with something of every sort."""
    page = (
        "# Q\n\n```{jaxpr-transform} layers:dense\n:name: f\n"
        ":args: x=f32[8,16], w=f32[16,4], b=f32[4]\n:transforms: remat\n```\n\n"
        "{jaxpr:val}`len(f)` {jaxpr:claim}`two <len(f) == 2>` {jaxpr:eqn}`f.remat[checkpoint]`\n"
    )
    project = Project(tmp_path_factory.mktemp("checked"), {"docs/index.md": page})
    assert project.build("jaxpr-lock").code == 0
    build = project.build("jaxpr-check")
    found: dict[str, Any] = json.loads((build.out / "output.json").read_text("utf-8"))
    assert found["findings"] and found["hints"]
    return found


def test_every_field_of_output_json_is_documented(site: Build, checked: dict[str, Any]) -> None:
    rows = [
        [cell.get_text() for cell in row.select("td")]
        for row in site.page("reference/output").select("tr")
    ]
    documented = {cells[0]: cells[1] for cells in rows if cells}
    kinds = {str: "text", int: "number"}
    free = {"pages": 3, "blocks": 1, "lock": 1}  # so many levels down keys are names of things

    def fields(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            free_key = path and len(path) <= free.get(path[0], 0)
            for key, item in value.items():
                yield from fields(item, (*path, "*" if free_key else key))
        elif isinstance(value, list):
            for item in value:
                yield from fields(item, (*path, "[]"))
        else:
            yield ".".join(path).replace(".[]", "[]"), kinds[type(value)]

    assert dict(fields(checked)) == documented


def test_lessons_are_documented(site: Build) -> None:
    style = (PROJECT / "sphinx_jaxpr/static/lesson.css").read_text("utf-8")
    page = site.page("reference/lesson")
    cells = {code.get_text() for code in page.select("td:first-child code")}
    assert {cell for cell in cells if cell.startswith("--")} == set(
        re.findall(r"--lesson-[\w-]+", style)
    )
    source = "".join(p.read_text("utf-8") for p in (PROJECT / "sphinx_jaxpr/lesson").glob("*.py"))
    # An option is checked by the base class, content is a "part" if nothing else is said.
    kinds = {"option", "part", *re.findall(r'Finding\(\s*"(\w+)"', source)}
    kinds |= set(re.findall(r'self\.reject\([^()]*?, "(\w+)"', source))
    assert {cell for cell in cells if cell.startswith("lesson.")} == {f"lesson.{k}" for k in kinds}
    entry = page.find(id="confval-lesson_cards")
    told = entry.find_next("dd").get_text(" ", strip=True)
    assert all(value in told for value in CARDS)
    assert len(page.select(".lesson-goal, .lesson-predict, .lesson-check, .lesson-checklist")) == 4
    assert len(page.select(".lesson-term")) == 2


def test_every_class_that_the_reference_names_is_one(site: Build) -> None:
    package = PROJECT / "sphinx_jaxpr"
    files = [*(package / "ext").rglob("*.py"), *(package / "program/html").glob("*.py")]
    files.append(package / "static/jaxpr.js")
    source = "".join(path.read_text("utf-8") for path in files)
    text = site.page("reference/html").select_one("article").get_text(" ")
    named = set(re.findall(r"(?<![\w-])jaxpr-(?!dense)[a-z]+(?![\w-])", text))
    assert named
    for name in named:
        assert name in source, name


def test_internal_links_resolve(site: Build) -> None:
    found = pages(site)
    ids = {path: {str(tag["id"]) for tag in page.select("[id]")} for path, page in found.items()}
    checked = 0
    for path, page in found.items():
        for link in page.select("article a[href], .sidebar-tree a[href]"):
            target, fragment = urldefrag(unquote(str(link["href"])))
            if "://" in target or target.startswith("mailto:"):
                continue
            other = (path.parent / target).resolve() if target else path
            assert other.exists(), f"{path.name}: {target}"
            if fragment and other in ids:
                assert fragment in ids[other], f"{path.name}: {target}#{fragment}"
            checked += 1
    assert checked > 100


def test_files_that_markdown_links_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (PROJECT / name).read_text("utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target:
                assert (PROJECT / target).exists(), f"{name}: {target}"
        for target in re.findall(r'\b(?:src|srcset)="([^"]+)"', text):
            assert (PROJECT / target).exists(), f"{name}: {target}"


# --- the examples -----------------------------------------------------------


def test_the_example_is_the_same_everywhere() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    index = (DOCS / "index.md").read_text("utf-8")
    (configuration,) = fences(readme, "python")
    page, prose = fences(readme, "md")
    for language in ("python", "md", "text"):
        assert fences(readme, language) == fences(index, language)
    for shown in (page, prose):
        assert f"\n{shown}\n" in index.replace(f"````md\n{shown}````", "")  # and live
    quick = (DOCS / "tutorial/quick-start.md").read_text("utf-8")
    files = [step.text for step in steps(quick) if step.file]
    assert [configuration in files[0], *files[1:3]] == [True, f"# A dense layer\n\n{page}", prose]
    assert page in quick.replace(files[1], "")  # and live
    assert len([line for line in (configuration + page).splitlines() if line]) <= 10


def test_the_prose_of_the_readme_is_reported_as_it_says(tmp_path: Path) -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    (configuration,) = fences(readme, "python")
    page, prose = fences(readme, "md")
    (warning,) = fences(readme, "text")
    project = Project(tmp_path, {"docs/index.md": f"# A dense layer\n\n{page}\n{prose}"})
    project.write("docs/conf.py", configuration)
    assert project.build("text", "-W", "-n").code == 0
    changed = page.replace("tanh", "sin")
    project.write("docs/index.md", f"# A dense layer\n\n{changed}\n{prose}")
    build = project.build("text", "-W", "-n")
    assert build.code == 1
    assert plain(warning) in plain(build.stderr)


def test_the_example_of_the_readme_builds(site: Build, tmp_path: Path) -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    (configuration,) = fences(readme, "python")
    project = Project(tmp_path, {"docs/index.md": f"# Example\n\n{fences(readme, 'md')[0]}"})
    project.write("docs/conf.py", configuration)
    build = project.build("html", "-W", "-n")
    assert build.code == 0, build.stderr
    assert len(build.texts("index")) == 2
    assert build.texts("index") == site.texts("index")


FOLLOWED = sorted(
    str(path.relative_to(DOCS))
    for path in DOCS.rglob("*.md")
    if any(step.command for step in steps(path.read_text("utf-8")))
    and any(step.file for step in steps(path.read_text("utf-8")))
)


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_reader_gets_what_the_page_says(page: str, tmp_path: Path) -> None:
    assert walk((DOCS / page).read_text("utf-8"), tmp_path) > 2


def test_the_quick_start_is_one_of_these() -> None:
    assert "tutorial/quick-start.md" in FOLLOWED


def test_the_quick_start_begins_with_two_files_of_twelve_lines() -> None:
    text = (DOCS / "tutorial/quick-start.md").read_text("utf-8")
    before_building = takewhile(lambda s: "sphinx-build" not in s.command, steps(text))
    files = {step.file: step.text for step in before_building if step.file}
    assert list(files) == ["docs/conf.py", "docs/index.md"]
    assert sum(bool(line) for text in files.values() for line in text.splitlines()) <= 12
    assert {step.file for step in steps(text) if step.file} == set(files)  # nor any later


def test_the_quick_start_builds_in_both_forms(site: Build, tmp_path: Path) -> None:
    text = (DOCS / "tutorial/quick-start.md").read_text("utf-8")
    configuration, markdown, sentence, _ = [s.text for s in steps(text) if s.file]
    (restructured,) = fences(text, "rst")
    builds: list[Build] = []
    pages = {"index.md": f"{markdown}\n{sentence}", "index.rst": restructured}
    for name, page in pages.items():
        project = Project(tmp_path / name, {f"docs/{name}": page})
        project.write("docs/conf.py", configuration)
        shown = project.build("text", "-W", "-n")
        assert shown.code == 0, shown.stderr
        builds += [shown, project.build("html", "-W", "-n")]
    texts = [(build.out / "index.txt").read_text("utf-8") for build in builds[::2]]
    assert texts[0] == texts[1]
    figures = [[str(f) for f in b.page("index").select("figure.jaxpr")] for b in builds[1::2]]
    assert len(figures[0]) == 2
    assert figures[0] == figures[1]
    shown_here = site.page("tutorial/quick-start").select("figure.jaxpr")
    assert [str(figure) for figure in shown_here] == figures[0]


# --- files that are shown ---------------------------------------------------


def commands(workflow: object) -> Iterator[str]:
    """Every ``run`` of a workflow."""
    if isinstance(workflow, dict):
        for key, value in workflow.items():
            if key == "run":
                yield str(value)
            yield from commands(value)
    elif isinstance(workflow, list):
        for item in workflow:
            yield from commands(item)


@pytest.mark.parametrize("lie", [False, True])
def test_the_workflow_runs(tmp_path: Path, lie: bool) -> None:
    workflow = yaml.safe_load((DOCS / "examples/ci/docs.yml").read_text("utf-8"))
    claim = f"{{jaxpr:claim}}`four <len(dense) == {3 if lie else 4}>`"
    page = "```{jaxpr-transform} layers:dense\n:args: x=f32[8,16], w=f32[16,4], b=f32[4]\n```\n"
    Project(tmp_path, {"docs/index.md": f"# A\n\n{page}\n{claim}\n"})
    built = [run for run in commands(workflow) if run.startswith("sphinx-build")]
    assert len(built) == 2
    for run in built:
        status, printed = run_in(tmp_path, run)
        assert bool(status) == lie, printed
    (summary,) = [run for run in commands(workflow) if "SUMMARY" in run]
    status, _ = run_in(tmp_path, summary, GITHUB_STEP_SUMMARY=str(tmp_path / "summary"))
    assert status == 0
    assert ("is false" in (tmp_path / "summary").read_text("utf-8")) == lie


def test_read_the_docs_builds_what_the_project_has() -> None:
    found = yaml.safe_load((DOCS / "examples/ci/readthedocs.yaml").read_text("utf-8"))
    assert found["version"] == 2
    assert found["sphinx"] == {"configuration": "docs/conf.py", "fail_on_warning": True}
    (install,) = found["python"]["install"]
    assert install == {"method": "pip", "path": ".", "extra_requirements": ["docs"]}


@pytest.mark.browser
def test_the_pictures_are_of_the_lesson(site: Build, chromium_path: str, tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    from tools import picture

    picture.main(site.out, tmp_path)
    for scheme in ("light", "dark"):
        name = f"lesson-{scheme}.png"
        made, kept = ((folder / name).read_bytes() for folder in (tmp_path, DOCS / "_static"))
        assert made.startswith(b"\x89PNG") and len(made) > 50_000
        assert made[16:20] == kept[16:20]  # the width
    assert (tmp_path / "lesson-light.png").read_bytes() != made
