"""Random claims on real pages: a project is built with ``jaxpr-check``, as users do it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from tests.support import Project

from .adapter import NAME
from .claims import Claims, Refusals
from .corpus import Traced
from .facts import check
from .report import Report

#: Lines of a page before its claims.
_PAGE = """# {function}

```{{jaxpr-transform}} tests.oracle.functions:{function}
:name: {name}
:args: {args}
{transforms}```

```{{jaxpr-claims}}
{claims}
```
"""


def specs(traced: Traced) -> str | None:
    """The arguments as a directive names them; ``None`` where that takes more than types."""
    found = []
    for argument in traced.case.arguments:
        dtype = str(getattr(argument, "dtype", ""))
        if dtype not in ("float32", "int32", "bool"):
            return None
        short = {"float32": "f32", "int32": "i32"}.get(dtype, dtype)
        found.append(f"{short}[{','.join(map(str, argument.shape))}]")
    return ", ".join(found)


def build(folder: Path, corpus: Iterable[Traced], count: int, report: Report, seed: int) -> None:
    """Write a page for each function, build them once, compare every verdict."""
    wanted: dict[tuple[str, str], str] = {}
    files: dict[str, str] = {}
    for place, traced in enumerate(corpus):
        args, name = specs(traced), f"{NAME}{place}"
        if args is None:
            continue
        listed = _claims(traced, count, seed)
        chains = ", ".join(traced.chains.values())
        files[f"docs/{name}.md"] = _PAGE.format(
            function=traced.case.name,
            name=name,
            args=args,
            transforms=f":transforms: {chains}\n" if chains else "",
            claims="\n".join(_renamed(claim, name) for claim in listed),
        )
        wanted |= {(name, _renamed(claim, name)): state for claim, state in listed.items()}
    listing = "\n".join(Path(file).stem for file in files)
    files["docs/index.md"] = f"# All\n\n```{{toctree}}\n{listing}\n```\n"
    root = str(Path(__file__).resolve().parents[2])
    project = Project(folder, files, f"jaxpr_paths = [{root!r}]\nexclude_patterns = ['out']\n")
    built = project.build("jaxpr-check")
    data = json.loads((built.out / "output.json").read_text("utf-8"))
    told = {(item["source"], item["line"]) for item in data["findings"]}
    seen = set()
    for item in data["sentences"]:
        key = (item["page"], item["expression"])
        seen.add(key)
        where = f"{item['source']}:{item['line']}: {item['expression']}"
        report.check("pages", where, item["state"], wanted.get(key, "a claim"))
        is_told = (item["source"], item["line"]) in told
        report.check("pages: told", where, is_told, item["state"] != "true")
    for page, claim in sorted(set(wanted) - seen):
        report.fail("pages", f"{page}: {claim}", "no verdict", "one")


def _claims(traced: Traced, count: int, seed: int) -> dict[str, str]:
    """Claims of a function, each with the state that ``output.json`` must give it."""
    found = check(traced, Report())
    claims = islice(Claims(traced, found, seed).write(), count)
    refusals = islice(Refusals(traced, found, seed).write(), count // 5)
    listed = {claim: "true" if value else "false" for claim, value in claims}
    listed |= {claim: "wrong" for claim, _ in refusals}
    order = list(listed.items())
    random.Random(seed).shuffle(order)
    return dict(order)


def _renamed(claim: str, name: str) -> str:
    """A claim about ``f`` as one about the block of a page."""
    return re.sub(r"(?<![\w.\"])" + NAME + r"(?=[.\[,)} ]|$)", name, claim)
