"""``python -m tests.faults``: the table, on this interpreter's JAX and Sphinx."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .report import line, results, table
from .rows import every, tried


def main() -> int:
    """Run rows, print a line for each and what did not hold; 1 where anything did not."""
    rows = every()
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="a row, or how names begin")
    parser.add_argument("--long", action="store_true", help="as often as the table asks for")
    parser.add_argument("--count", type=int, default=0, help="tries of each row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    parser.add_argument("--results", type=Path, help="a JSON file that rows are added to")
    parser.add_argument("--list", action="store_true", help="the rows, without running them")
    options = parser.parse_args()
    names = {one.name for one in rows}
    begins = tuple(only for only in options.only or [""] if only not in names)
    chosen = [one for one in rows if one.name in options.only or one.name.startswith(begins)]
    if options.list or not chosen:
        for one in chosen or rows:
            print(f"{one.name:24} {one.short:6,} {one.long:8,}  {one.what}")
        return 0 if chosen else 2
    done = []
    for one in chosen:
        count = options.count or (one.long if options.long else max(1, one.short))
        print(f"{one.name:24} ...", end="", file=sys.stderr, flush=True)
        done.append(tried(one, options.seed, count))
        print("\r", end="", file=sys.stderr)
        print(line(done[-1]), flush=True)
        for problem in done[-1].tally.lost:
            print(f"    not held: {problem}", flush=True)
        for note in done[-1].tally.notes:
            print(f"    {note}", flush=True)
    rows_so_far = results(options.results, done, options.seed)
    if options.write:
        options.write.write_text(table(rows_so_far), "utf-8")
    return int(any(found.tally.lost for found in done))


if __name__ == "__main__":
    sys.exit(main())
