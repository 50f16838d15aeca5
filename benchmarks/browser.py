"""One page in Chromium: what a reader waits for at its largest block.

    python benchmarks/browser.py out/index.html other/index.html --rounds 5

Each round opens every page once, in turn, in a context of its own: pages that are
compared share the load of the machine.  The figures are medians of the rounds, in
milliseconds until the frame that shows the change is painted:

- load: from the request of the file to the first frame after its ``load`` event
- open: from the click on the summary of the block
- pointing, pointing worst: from the mouse's move onto a variable, in the middle of the
  block; the median of a round's moves, and the longest of them
- arrow key: from the key's press, Right and Down by turns; without the first one

``memory`` is what the page's own process holds in MB, after all that.  Frames are
not held back to the rate of a screen, so no figure includes a wait for one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --disable-frame-rate-limit --disable-gpu-vsync"
).split()
MOVES, KEYS = 30, 20

#: ``timed`` has by the type of an event what is to know the milliseconds from it to the end of
#: the next frame.
CLOCK = """
window.timed = {};
window.painted = () => new Promise(done => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(0);
}));
for (const type of ['click', 'pointermove', 'keydown']) {
  addEventListener(type, async event => {
    await painted();
    window.timed[type]?.(performance.now() - event.timeStamp);
  }, true);
}
"""
#: The largest block, closed.
CLOSED = """() => {
  const size = figure => figure.querySelectorAll('.jaxpr-eqn').length;
  const figures = [...document.querySelectorAll('figure.jaxpr')];
  const figure = figures.reduce((most, each) => size(each) > size(most) ? each : most);
  figure.classList.add('measured');
  figure.querySelector('details').open = false;
  figure.scrollIntoView();
  return painted();
}"""
MIDDLE = """() => {
  const equations = document.querySelectorAll('.measured .jaxpr-eqn');
  equations[equations.length >> 1].scrollIntoView({block: 'center', behavior: 'instant'});
  return painted().then(painted);
}"""
#: The middles of the variables in sight that nothing covers.
POINTS = """() => [...document.querySelectorAll('.measured .jaxpr-var')].flatMap(node => {
  if (!node.checkVisibility({contentVisibilityAuto: true})) return [];
  const {x, y, width, height} = node.getBoundingClientRect();
  const point = [x + width / 2, y + height / 2];
  return document.elementFromPoint(...point) === node ? [point] : [];
})"""


class NoBrowser(Exception):
    """Playwright or a browser for it is missing; the text says which."""


@contextmanager
def chromium() -> Iterator[Any]:
    """This machine's Chromium or Chrome, driven by playwright; ``NoBrowser`` without either."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowser("playwright is not installed") from error
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise NoBrowser(f"no {', '.join(NAMES[:-1])} or {NAMES[-1]} on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def measure(page_html: Path) -> dict[str, float]:
    """The figures of one page that was built, in medians of five rounds."""
    with chromium() as browser:
        return compare(browser, [page_html], 5)[0]


def compare(browser: Any, pages: list[Path], rounds: int) -> list[dict[str, float]]:
    """The figures of pages that are opened by turns."""
    visits: list[list[dict[str, float]]] = [[] for _ in pages]
    for _ in range(rounds):
        for page_html, figures in zip(pages, visits, strict=True):
            figures.append(_visit(browser, page_html))
    return [_medians(figures) for figures in visits]


def _medians(figures: list[dict[str, float]]) -> dict[str, float]:
    return {
        name: round(statistics.median(visit[name] for visit in figures), 1) for name in figures[0]
    }


def _visit(browser: Any, page_html: Path) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.add_init_script(CLOCK)
        page.goto(page_html.resolve().as_uri())
        load = page.evaluate("painted().then(() => performance.now())")
        page.evaluate(CLOSED)
        summary = page.locator(".measured summary").first.bounding_box()
        page.mouse.move(summary["x"] + 9, summary["y"] + 9)
        opened = _timed(page, "click", lambda: page.mouse.click(summary["x"] + 9, summary["y"] + 9))
        page.evaluate(MIDDLE)
        points = page.evaluate(POINTS)[:MOVES]
        pointing = [
            _timed(page, "pointermove", partial(page.mouse.move, *point)) for point in points
        ]
        page.mouse.click(*points[0])
        keys = [
            _timed(page, "keydown", partial(page.keyboard.press, key))
            for key in ("ArrowRight", "ArrowDown") * (KEYS // 2 + 1)
        ]
        return {
            "load": load,
            "open": opened,
            "pointing": statistics.median(pointing),
            "pointing worst": max(pointing),
            "arrow key": statistics.median(keys[1:]),
            "memory": _memory(browser),
        }
    finally:
        context.close()


def _timed(page: Any, event: str, act: Callable[[], None]) -> float:
    """Milliseconds from an event, which an act sends to the page, to the frame after it."""
    page.evaluate(
        "type => { window.next = new Promise(done => { window.timed[type] = done }) }", event
    )
    act()
    elapsed: float = page.evaluate("window.next")
    return elapsed


def _memory(browser: Any) -> float:
    """MB of the renderer that holds most, which is the one of the page."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    sizes = []
    for process in processes:
        status = Path(f"/proc/{process['id']}/smaps_rollup")
        if process["type"] == "renderer" and status.exists():
            private = [
                line.split()[1] for line in status.read_text().splitlines() if "Private_" in line
            ]
            sizes.append(sum(map(int, private)) / 1024)
    return max(sizes, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    try:
        with chromium() as browser:
            figures = compare(browser, given.pages, given.rounds)
    except NoBrowser as error:
        sys.exit(f"skipped: {error}")
    for page_html, figure in zip(given.pages, figures, strict=True):
        print(json.dumps({"page": str(page_html), **figure}))


if __name__ == "__main__":
    main()
