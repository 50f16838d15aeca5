"""Names of a program's inputs: the arguments, and JAX's own name of each leaf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: How the type of one array is said; that of a tree begins with a bracket.
_ONE: Final = re.compile(r"[\w<>@.]+\[")


class Names(NamedTuple):
    """``arguments`` and ``leaves`` have a name for each input, ``known`` all arguments.

    An argument without leaves, such as ``{}`` or ``None``, is among ``known`` alone.
    """

    arguments: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    def sliced(self, key: slice) -> Names:
        """The names of some inputs."""
        return Names(self.arguments[key], self.leaves[key], self.known)


NO_NAMES: Final = Names()


def names_of(result: Mapping[str, Any], count: int) -> Names:
    """The names in a result, for the ``count`` inputs of its program."""
    args = [(str(name), str(kind)) for name, kind in result.get("args", ())]
    known = tuple(name for name, _ in args)
    inputs = result.get("inputs")
    if inputs is None and all(_ONE.match(kind) for _, kind in args):
        inputs = [[name, name] for name in known]  # of an older lock
    if inputs is None or len(inputs) != count:
        return Names(known=known)
    arguments, leaves = (tuple(row[place] for row in inputs) for place in (0, 1))
    return Names(arguments, leaves, known or tuple(dict.fromkeys(arguments)))
