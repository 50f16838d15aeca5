"""Equations in printed order, and how they were chosen: what says that one is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..functions import printed_for
from ..glossary.glossary import builtin
from ..model import Equation
from . import values
from .base import Asking, View
from .blocks import PHASES, QueryBlock
from .syntax import PathError
from .vocabulary import near_primitive


class Selection(View):
    """Equations in printed order, selected from those of ``origin``.

    ``wanted`` is the word by which they were selected, ``common`` what they have in
    common: a word of a kind, as ``("phase", "forward")``.
    """

    __slots__ = ("block", "common", "equations", "origin", "wanted")
    block: QueryBlock
    equations: tuple[Equation, ...]
    origin: Selection | None
    wanted: str
    common: tuple[str, str]

    def __init__(
        self,
        block: QueryBlock,
        path: str,
        equations: Iterable[Equation],
        origin: Selection | None = None,
        wanted: str = "",
        common: tuple[str, str] = ("", ""),
    ) -> None:
        equations = tuple(equations)
        super().__init__(path, (id(block), "equations", *(e.start for e in equations)))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "equations", equations)
        object.__setattr__(self, "origin", origin)
        object.__setattr__(self, "wanted", wanted)
        object.__setattr__(self, "common", common)

    @property
    def what(self) -> str:
        return values.count_of(len(self.equations), "equation")

    def differ(self, kind: str, name: str) -> None:
        """An error where all have another word of a kind in common: there never is one."""
        view: Selection | None = self
        while view is not None:
            if view.common[0] == kind and view.common[1] != name:
                held = self.holding() if kind == "primitive" else []
                paths = ", ".join(f"`{view.path}.{parameter}`" for parameter in held)
                raise PathError(
                    f"all equations of `{view.path}` are `{view.common[1]}`, so none is `{name}`"
                    + (f"; their nested programs are {paths}" if held else "")
                )
            view = view.origin

    def holding(self) -> list[str]:
        """The names of the parameters that hold programs."""
        parameters = (p for e in self.equations for p in e.parameters if p.members)
        return list(dict.fromkeys(parameter.name for parameter in parameters))

    def choices(self, name: str = "") -> str:
        """Which equation is which, and the phases in which there is one of them.

        ``name`` is the attribute that is asked of one.
        """
        facts, origin = self.block.index.facts, self.origin
        phases = Counter(facts[e.start].phase for e in self.equations if e.start in facts)
        alone = []
        if self.wanted and origin is not None and origin.common[0] != "phase":
            key = values.in_brackets(self.wanted)
            single = [phase for phase in sorted(PHASES) if phases[phase] == 1]
            alone = [f"`{origin.path}.{phase}{key}{name}`" for phase in single]
        return values.which(self.block, self.equations, alone)

    def missing(self) -> str:
        """The message about a missing equation, with the nearest ones."""
        if self.origin is None or not self.wanted:
            return f"`{self.path}` has no equations"
        origin = self.origin
        return values.missing(origin.path, self.wanted, origin.equations, origin.deeper())

    def deeper(self) -> Iterable[Equation]:
        """The equations of the programs inside, where that makes sense."""
        return ()

    def unknown(self, word: str, asking: Asking) -> str:
        """The message about a word, by which they were selected, that is no primitive."""
        entry = builtin().entry(word)
        if entry is not None:
            return f"`{word}` is not a primitive; JAX prints `{entry.name}`"
        if word in self.block.inputs.all_arguments:
            return f"`{word}` is not a primitive; an input is `{self.block.name}.inputs[{word}]`"
        if printed := printed_for(word):
            return f"`{word}` is not a primitive; {printed}"
        message, near = self.missing(), near_primitive(word, asking)
        if near and f" {near} (" not in message:
            message += f"; did you mean `{near}`?"
        return message
