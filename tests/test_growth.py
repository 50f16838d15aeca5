"""How the work of a build grows with the size of a project: by counts, never by time.

`python -m benchmarks` measures seconds; these tests only fail where something grows.
"""

from __future__ import annotations

import pytest

from benchmarks.growth import Counts, count, exponent
from benchmarks.projects import OURS, PASTED, Project, galleries
from benchmarks.sentences import Prose

pytestmark = pytest.mark.once

#: The largest exponent that counts as linear.
LINEAR = 1.1
SIZES = (3, 6, 12)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Counts]]:
    """Builds from nothing, then without a change, then with one page touched."""
    counted = {}
    for size in SIZES:
        pages = galleries(size, blocks=2)
        folder = tmp_path_factory.mktemp(f"live{size}")
        project = Project(folder / "project", OURS, pages, [["", ""]] * size)
        counted[size] = {"cold": count(project.folder), "warm": count(project.folder)}
        project.touch()
        counted[size]["touched"] = count(project.folder)
    return counted


def test_a_cold_build_starts_one_process_and_traces_each_program_once(builds):
    for size, counts in builds.items():
        assert counts["cold"].processes == 1
        assert counts["cold"].traced == 2 * size


def test_other_builds_start_no_process_and_trace_nothing(builds):
    for counts in builds.values():
        for name in ("warm", "touched"):
            assert (counts[name].processes, counts[name].traced) == (0, 0)


def test_a_build_without_changes_writes_what_pasted_pages_write(builds, tmp_path):
    """Files that Sphinx itself writes, and the index of primitives, which it renders too."""
    size = SIZES[0]
    pasted = Project(tmp_path / "project", PASTED, galleries(size, blocks=2), [["", ""]] * size)
    count(pasted.folder)
    expected = {name.rpartition("/out/")[2] for name in count(pasted.folder).files}
    expected.add("html/jaxpr-primitives.html")
    for counts in builds.values():
        assert {name.rpartition("/out/")[2] for name in counts["warm"].files} <= expected


def test_a_touched_page_is_the_only_page_written(builds):
    for counts in builds.values():
        pages = [name for name in counts["touched"].files if "/html/page" in name]
        assert [name.rpartition("/")[2] for name in pages] == ["page0000.html"]


@pytest.mark.parametrize("figure", ["calls", "bytes", "stored", "pickled", "files"])
def test_a_cold_build_is_linear(builds, figure):
    values = {size: getattr(counts["cold"], figure) for size, counts in builds.items()}
    sizes = {size: len(value) if figure == "files" else value for size, value in values.items()}
    assert exponent(sizes) < LINEAR, sizes


def test_calls_of_a_build_without_changes_are_few(builds):
    """Not more than some for each block, whatever a build has to do for the project."""
    calls = {size: counts["warm"].calls for size, counts in builds.items()}
    small, large = min(SIZES), max(SIZES)
    blocks = 2 * (large - small)
    assert (calls[large] - calls[small]) / blocks < 150, calls


def test_judging_is_linear(tmp_path):
    """Sentences cost the same in a large project as in a small one."""
    cold, warm = {}, {}
    for size in (8, 16, 32):
        project = Prose(tmp_path / f"prose{size}", size, sentences=True)
        cold[size] = count(project.folder).calls
        warm[size] = count(project.folder).calls
    assert exponent(cold) < LINEAR, cold
    assert exponent(warm) < LINEAR, warm


def test_the_exponent_tells_quadratic_growth():
    assert exponent({size: 100 + 3 * size**2 for size in (4, 8, 16)}) == pytest.approx(2)
    assert exponent({size: 100 + 3 * size for size in (4, 8, 16)}) == pytest.approx(1)
