"""Walks built HTML: whether all ids of a page differ, and whether every link of ours resolves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urldefrag

from bs4 import BeautifulSoup


def _pages(out: Path) -> list[Path]:
    return sorted([*out.rglob("*.html"), *out.rglob("*.xhtml")])


def broken(out: Path) -> list[str]:
    """What is wrong in a folder of pages: ids that are there twice, links that lead nowhere."""
    pages = {path.relative_to(out).as_posix(): path for path in _pages(out)}
    soups = {
        name: BeautifulSoup(path.read_text("utf-8"), "html.parser") for name, path in pages.items()
    }
    ids = {
        name: Counter(str(tag["id"]) for tag in soup.select("[id]")) for name, soup in soups.items()
    }
    return [
        *(
            f"{page}: {identity} {n} times"
            for page in ids
            for identity, n in ids[page].items()
            if n > 1
        ),
        *(problem for page, soup in soups.items() for problem in _dead(page, soup, ids, out)),
    ]


def _dead(page: str, soup: BeautifulSoup, ids: dict[str, Counter[str]], out: Path) -> Iterator[str]:
    for tag in soup.select("a[href]"):
        target, fragment = urldefrag(str(tag["href"]))
        if ":" in target:
            continue
        other = normpath(join(dirname(page), unquote(target))) if target else page
        other = normpath(join(other, "index.html")) if (out / other).is_dir() else other
        if not (out / other).exists():
            yield f"{page}: {tag['href']} names no file"
        elif fragment and other in ids and unquote(fragment) not in ids[other]:
            yield f"{page}: {tag['href']} names no id"
