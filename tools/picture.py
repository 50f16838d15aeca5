"""The picture of the readme: a block of the lesson and its notes, by day and by night.

    make picture

Opens the lesson as ``make docs`` builds it in a Chromium of this machine, and writes
``docs/_static/lesson-light.png`` and ``lesson-dark.png``.  They show what the page shows; the one
thing added is a pointer that rests on a variable.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PROJECT = Path(__file__).resolve().parent.parent
BLOCK = "jaxpr-dense.grad"
#: The variable under the pointer: where the result of this equation is bound.
POINTED = '[data-primitive="tanh"] .jaxpr-binder'
MARGIN = 14
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]


def main(html: Path, out: Path = PROJECT / "docs/_static") -> None:
    """Take both pictures of the lesson in a folder of built pages."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    path = next(found, "")
    if not path:
        raise SystemExit("tools/picture.py needs chromium or google-chrome on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for scheme in ("light", "dark"):
            page = browser.new_page(
                color_scheme=scheme,
                viewport={"width": 1280, "height": 2000},
                device_scale_factor=2,
                reduced_motion="reduce",
            )
            page.goto((html / "lessons/transforms.html").as_uri())
            take(page, out / f"lesson-{scheme}.png")
        browser.close()


def take(page: Page, out: Path) -> None:
    """The block with what stands below it, up to the next block."""
    figure = page.locator(f"id={BLOCK}")
    figure.locator(POINTED).first.hover()
    box = figure.bounding_box()
    notes = figure.locator("xpath=following-sibling::*[1][self::ol]").bounding_box()
    assert box is not None
    bottom = (notes or box)["y"] + (notes or box)["height"]
    clip = {
        "x": box["x"] - MARGIN,
        "y": box["y"] - MARGIN,
        "width": box["width"] + 2 * MARGIN,
        "height": bottom - box["y"] + 2 * MARGIN,
    }
    page.screenshot(path=out, clip=clip, full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
