"""The book in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.ext.builds import book
from tests.support import Build, Project

ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Build]:
    """The book in a theme, built once."""
    known: dict[str, Build] = {}
    project = Project(tmp_path_factory.mktemp("sites"), book.FILES, book.CONF)

    def made(theme: str) -> Build:
        if theme not in known:
            done = project.build("html", "-D", f"html_theme={theme}", "-E", "-a")
            assert done.code == 0, done.stderr
            done.out = done.out.rename(done.out.with_name(theme))
            known[theme] = done
        return known[theme]

    return made


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, sites: Callable[[str], Build]) -> Iterator[Callable[..., Page]]:
    """Opens the page of all blocks in a context of its own."""
    contexts = []

    def opened(
        theme: str, width: int = 1280, style: bool = True, hash: str = "", **context: Any
    ) -> Page:
        made = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **context
        )
        contexts.append(made)
        page = made.new_page()
        if not style:
            page.route("**/*.css*", lambda route: route.abort())
        page.goto((sites(theme).out / "blocks.html").as_uri() + hash)
        return page

    yield opened
    for context in contexts:
        context.close()
