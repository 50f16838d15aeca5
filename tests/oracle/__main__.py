"""``python -m tests.oracle``: the whole, on this interpreter's JAX."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import jax

from .runs import Run, failures


def main() -> int:
    """Run, print counts and problems; 1 where anything is wrong."""
    plain = Run()
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--share", type=float, default=plain.share, help="of the transforms")
    parser.add_argument("--functions", type=float, default=plain.functions, help="share of them")
    parser.add_argument("--claims", type=int, default=plain.claims, help="for each function")
    parser.add_argument("--pages", type=int, default=plain.pages, help="how many are built")
    parser.add_argument("--loops", type=int, default=plain.loops, help="that are generated")
    parser.add_argument("--analysed", type=int, default=plain.analysed, help="by XLA, of each sort")
    parser.add_argument("--seed", type=int, default=plain.seed)
    parser.add_argument("--only", default="", help="names of functions, separated by commas")
    parser.add_argument("--most", type=int, default=5, help="problems shown of each kind")
    options = vars(parser.parse_args())
    most, begun = options.pop("most"), time.monotonic()
    warnings.simplefilter("ignore")

    def say(name: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{name:40}", end="", file=sys.stderr)

    report = Run(**options)(say)
    versions = f"JAX {jax.__version__}, Python {sys.version.split()[0]}"
    print(f"\r{versions}, seed {options['seed']}, {time.monotonic() - begun:.0f} s")
    print("\n".join(report.lines(most)))
    total, wrong = sum(report.checked.values()), sum(report.wrong.values())
    print(f"{total:,} checks, {wrong:,} wrong")
    if kinds := failures(report):
        print(f"FAILED: {', '.join(kinds)}")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
