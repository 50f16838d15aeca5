"""What axe finds in our elements: nothing, in light and dark, folded and open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

FOLDS = "open => document.querySelectorAll('figure.jaxpr details').forEach(d => { d.open = open })"


@pytest.mark.parametrize("theme", ["furo", "pydata_sphinx_theme"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation_in_a_block(visit: Callable[..., Page], theme: str, scheme: str) -> None:
    for width in (1280, 320):
        page = visit(theme, width=width, color_scheme=scheme)
        for opened in (True, False):
            page.evaluate(FOLDS, opened)
            found = Axe().run(page).response["violations"]
            ours = [
                (violation["id"], node["html"][:200])
                for violation in found
                for node in violation["nodes"]
                if page.evaluate(
                    "s => !!document.querySelector(s)?.closest('figure.jaxpr')", node["target"][-1]
                )
            ]
            assert ours == [], (width, opened)
