"""The parts of a running build, bundled when pages have been read."""

from __future__ import annotations

from typing import NamedTuple

from ..links import ShownIds
from .meanings import Meanings
from .names.appearances import Appearances
from .path_targets import PathTargets
from .session import BuildSession
from .verdicts import VerdictCache


class RunningBuild(NamedTuple):
    """The parts of one build, for the code that shows pages.

    ``session`` has the traced blocks, ``verdicts`` judge statements, ``targets`` resolve the
    paths of directives, ``meanings`` explain primitives, ``ids`` are those that trees show,
    ``appearances`` what each page shows.
    """

    session: BuildSession
    verdicts: VerdictCache
    targets: PathTargets
    meanings: Meanings
    ids: ShownIds
    appearances: Appearances
