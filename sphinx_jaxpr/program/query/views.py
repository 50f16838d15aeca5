"""Programs, equations and values as paths see them: frozen views of a block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..facts import NO_NAMES, InputNames
from ..glossary.glossary import builtin, printed_value
from ..glossary.kinds import kind_of
from ..matching.match import ADDED, KEPT, RESHAPED
from ..model import Equation, Parameter, Program
from ..renames import table
from . import values
from .base import Asking, View
from .blocks import PHASES, QueryBlock
from .derived import flops, operands
from .facts.numbers import EquationIndex
from .facts.of_values import OF_TYPES
from .facts.parameters import freeze, plain
from .facts.words import Kind
from .flow.residuals import residuals
from .selection import Selection
from .syntax import PathError
from .values import Value, Values
from .vocabulary import ParametersView, Primitive

CHANGES = frozenset({ADDED, KEPT, RESHAPED})
#: What an equation has of its only output.
OF_OUTPUTS = frozenset({"shape", "dtype", "weak", "varying", *OF_TYPES})
OF_EQUATIONS = (
    tuple(
        "shape dtype type size bytes weak varying params phase kind index inputs outputs uses"
        " read_count text line calls primitive contracts flops".split()
    )
    + operands.OF_OPERANDS
)
OF_PROGRAMS = tuple(
    "all inputs outputs consts effects variables calls flops text added reshaped kept removed error"
    " forward tangent transpose recomputed residuals".split()
)


class OperandView(Value):
    """A value, with the equations that read it."""

    __slots__ = ()

    def attribute(self, name: str, asking: Asking) -> Any:
        if name == "uses":
            readers = self.block.index.readers
            equations = readers.get(self.variable.index, []) if self.variable else []
            asking.spend(len(equations))
            return Uses(self.block, f"{self.path}.uses", equations)
        return super().attribute(name, asking)


class EquationView(View):
    """Exactly one equation."""

    __slots__ = ("block", "equation")
    block: QueryBlock
    equation: Equation

    def __init__(self, block: QueryBlock, path: str, equation: Equation) -> None:
        super().__init__(path, (id(block), "equation", equation.start))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "equation", equation)

    @property
    def what(self) -> str:
        return "an equation"

    @property
    def calls(self) -> int:
        """How often the program that lists it is used."""
        home = self.block.index.home.get(self.equation.start)
        return self.block.index.calls.get(home.start, 1) if home else 1

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters as plain data, a text where that isn't plain; views of programs."""
        parameters = self.parameters(f"{self.path}.params")
        return {name: plain(parameters.value(name)) for name in parameters.names}

    @property
    def phase(self) -> str:
        """``forward``, ``tangent``, ``transpose`` or ``recomputed``; ``""`` if unknown."""
        facts = self.block.index.facts.get(self.equation.start)
        return facts.phase if facts else ""

    @property
    def source(self) -> tuple[str, int, str] | None:
        """File, line and function of the Python that it comes from; ``None`` if unknown."""
        facts = self.block.index.facts.get(self.equation.start)
        return facts.source if facts else None

    @property
    def primitive(self) -> Primitive:
        """The name of its primitive."""
        return Primitive(self.equation.primitive, self.block.primitives)

    @property
    def text(self) -> str:
        """It as printed."""
        return self.block.index.text[self.equation.start : self.equation.end]

    def attribute(self, name: str, asking: Asking) -> Any:
        equation, path = self.equation, f"{self.path}.{name}"
        asking.spend(3 + 3 * len(equation.inputs) + 3 * len(equation.outputs))
        match name:
            case _ if name in OF_OUTPUTS:
                if len(equation.outputs) != 1:
                    count = len(equation.outputs)
                    raise PathError(values.of_one(f"{self.path}.outputs", name, count, "output"))
                output = OperandView(self.block, self.path, equation.outputs[0])
                return output.attribute(name, asking)
            case "kind":
                return self.kind(asking)
            case "index":
                return self.position()
            case "read_count":
                return sum(self.block.index.reads[v.index] for v in equation.outputs)
            case "params":
                asking.spend(16 * len(equation.parameters))
                return self.parameters(path)
            case "phase":
                return values.phase(self.block, equation, self.path, asking)
            case "inputs":
                return Values(self.block, path, equation.inputs, OperandView)
            case "outputs":
                return Values(self.block, path, equation.outputs, OperandView)
            case "uses":
                readers = values.readers(self.block, equation)
                asking.spend(4 * len(readers))
                return Uses(self.block, path, readers)
            case "text":
                asking.spend((equation.end - equation.start) // 100)
                return self.text
            case "line":
                return values.line(self.block, equation, self.path)
            case "calls":
                return self.calls
            case "primitive":
                return self.primitive
            case "contracts":
                asking.spend(20)
                return flops.contracts(self.with_parameters())
            case "flops":
                return counting(self.block, path, asking).of_equation(equation)
        if name in operands.OF_OPERANDS:
            asking.spend(4 * len(equation.parameters))
            return self.part(name)
        return self.held(name, asking)

    def with_parameters(self) -> operands.Held:
        """The equation with a function for its parameters, ``None`` where one is missing."""

        def plain(name: str) -> Any:
            parameters = self.parameters(f"{self.path}.params")
            return parameters.value(name) if name in parameters.names else None

        return operands.Held(self.block, self.path, self.equation, plain)

    def part(self, word: str) -> Values | OperandView:
        """The operands, or results, that are what ``word`` says."""
        path = f"{self.path}.{word}"
        span = operands.positions(self.with_parameters(), word)
        if word in operands.OF_RESULTS:
            results = self.equation.outputs[span.start : span.stop]
            return Values(self.block, path, results, OperandView)
        things = self.equation.inputs[span.start : span.stop]
        if word == operands.BRANCH:
            return OperandView(self.block, path, things[0])
        return Values(self.block, path, things, OperandView)

    def kind(self, asking: Asking) -> Kind:
        """What sort of operation its primitive is; an error where nobody knows."""
        name = self.equation.primitive
        entry = builtin().entry(name)
        defined = asking.kinds.get(name) or (entry.kind if entry else "")
        kind = kind_of(name, defined, (p.name for p in self.equation.parameters))
        if not kind:
            raise PathError(
                f"the kind of `{name}` is unknown; declare it in `jaxpr_glossary`, as in"
                f' `{{"{name}": {{"meaning": "...", "kind": "elementwise"}}}}`'
            )
        return Kind(kind)

    def position(self) -> EquationIndex:
        """Its position in the program that lists it."""
        index = self.block.index
        start = self.equation.start
        home = index.meant(index.home[start])
        return EquationIndex(
            index.position[start], (id(self.block), home.start), f"{self.path}.index"
        )

    def parameters(self, path: str) -> ParametersView:
        """The parameters: the object's where there are facts, else the printed ones."""
        facts = self.block.index.facts.get(self.equation.start)
        printed = {parameter.name: parameter for parameter in self.equation.parameters}
        plain = facts.parameters if facts else {}

        def value(name: str) -> Any:
            if name in printed and printed[name].members:
                return self.programs(printed[name], f"{path}[{name}]")
            if name in plain:
                return freeze(plain[name])
            held = printed[name]
            return freeze(printed_value(self.block.index.text[held.start : held.end]))

        names = dict.fromkeys([*printed, *plain])
        return ParametersView(path, (*self.key, "params"), self.equation.primitive, names, value)

    def programs(self, parameter: Parameter, path: str) -> ProgramView | Programs:
        """The program that a parameter holds, or all of them if it holds several."""
        members = [self.block.index.member(member) for member in parameter.members]
        held = [self.block.index.meant(inner) for inner in members if inner is not None]
        is_one = self.block.index.text[parameter.start] != "(" and not parameter.frame
        holder = (self, parameter.name)
        if len(held) == 1 and is_one:
            return ProgramView(self.block, path, held[0], holder)
        return Programs(self.block, path, held, holder)

    def held(self, name: str, asking: Asking) -> Any:
        """The program that the parameter ``name`` holds."""
        printed = {parameter.name: parameter for parameter in self.equation.parameters}
        holding = [key for key, parameter in printed.items() if parameter.members]
        real = name
        if name not in printed:
            real = table().parameter(self.equation.primitive, name, holding) or name
            if real != name:
                asking.hint(f"`.{name}` of `{self.equation.primitive}` is `.{real}` here")
        if real in holding:
            return self.programs(printed[real], f"{self.path}.{real}")
        parameters = self.parameters(f"{self.path}.params")
        if name in parameters.names:
            raise PathError(
                f"`{name}` is a parameter without a printed program: `{self.path}.params[{name}]`"
            )
        if name in values.OF_VALUES:
            raise PathError(values.of_value(self.path, name, self.equation.inputs))
        raise PathError(values.no_attribute(self, name, (*holding, *OF_EQUATIONS), asking))

    def words(self) -> str:
        return " ".join(self.text.split())


def counting(block: QueryBlock, path: str, asking: Asking) -> flops.Flops:
    """What counts the operations that ``path`` asks for."""
    return flops.Flops(block, lambda e: EquationView(block, path, e).with_parameters(), asking)


class Equations(Selection):
    """Equations that paths go on from."""

    __slots__ = ()

    def only(self) -> EquationView:
        """The one equation; an error says how many there are."""
        if len(self.equations) == 1:
            return EquationView(self.block, self.path, self.equations[0])
        if not self.equations:
            raise PathError(self.missing())
        count = len(self.equations)
        some = " or ".join(f"`{self.path}[{n}]`" for n in range(min(count, 2)))
        message = f"`{self.path}` is {count} equations: choose one, as in {some}"
        raise PathError(message + self.choices())

    def attribute(self, name: str, asking: Asking) -> Any:
        asking.spend(len(self.equations))
        if name in PHASES:
            return self.in_phase(name)
        if name in CHANGES:
            return self.changed(name, self.equations)
        if name == "calls":
            return sum(EquationView(self.block, "", e).calls for e in self.equations)
        if len(self.equations) > 1:
            first = EquationView(self.block, f"{self.path}[0]", self.equations[0])
            if not values.has(first, name, asking):
                return first.attribute(name, asking)  # which says why
            message = values.of_one(self.path, name, len(self.equations), "equation")
            raise PathError(message + self.choices(f".{name}"))
        return self.only().attribute(name, asking)

    def in_phase(self, phase: str) -> Equations:
        """The equations of a phase; an error without facts."""
        index = self.block.index
        if not index.has_phases:
            raise PathError(values.no_phases(self.path, bool(index.facts)))
        self.differ("phase", phase)
        facts = index.facts
        equations = [
            e for e in self.equations if e.start in facts and facts[e.start].phase == phase
        ]
        return Equations(self.block, f"{self.path}.{phase}", equations, self, "", ("phase", phase))

    def changed(self, change: str, equations: Iterable[Equation]) -> Equations:
        """The equations of a variant that a match puts under ``change``."""
        base = self.block.base
        if base is None:
            raise PathError(
                f"`{self.path}` is a base: only its variants are compared, as in"
                f" `{self.block.name}.label.{change}`"
            )
        if base.printed is None or base.printed.program is None:
            raise PathError(f"`{base.name}` is not a program, so nothing can be compared with it")
        self.differ("change", change)
        path, match = f"{self.path}.{change}", self.block.match
        if change == "removed":
            gone = {e.start for e in match.removed}
            return Equations(
                base,
                path,
                [e for e in values.everything(base, base.printed.program) if e.start in gone],
                self,
            )
        kept = [e for e in equations if match.change.get(e.start) == change]
        return Equations(self.block, path, kept, self, "", ("change", change))

    def item(self, key: Any, asking: Asking) -> Any:
        asking.spend(len(self.equations))
        if isinstance(key, slice):
            return Equations(
                self.block, self.path + values.slice_text(key), self.equations[key], self
            )
        if isinstance(key, int):
            if not self.equations and self.wanted:
                raise PathError(self.missing())
            equation = values.at(self.equations, key, self.path, "equation")
            return EquationView(self.block, f"{self.path}[{key}]", equation)
        return self.select(str(key), asking)

    def select(self, word: str, asking: Asking) -> Equations:
        """The equations of a primitive, by any of its names."""
        present = {e.primitive for e in self.equations}
        real = table().present_names(word, present)
        path = self.path + values.in_brackets(word)
        chosen = [e for e in self.equations if e.primitive in real]
        selected = Equations(self.block, path, chosen, self, word, ("primitive", word))
        for other in real:
            if other != word:
                asking.hint(f"the primitive `{word}` is `{other}` here")
        if not real and not asking.knows(word):
            raise PathError(selected.unknown(word, asking))
        if not chosen:
            self.differ("primitive", word)
        return selected

    def members(self) -> tuple[EquationView, ...]:
        return tuple(
            EquationView(self.block, f"{self.path}[{n}]", e) for n, e in enumerate(self.equations)
        )

    def words(self) -> str:
        return ", ".join(e.primitive for e in self.equations) or "no equations"


class Uses(Equations):
    """The equations that read a value; compares with a number as their count."""

    __slots__ = ()

    def words(self) -> str:
        return str(len(self.equations))


class ProgramView(Equations):
    """A program: a collection of its own equations, and more.

    ``holder`` is the equation that it was reached through, with the parameter that holds it.
    """

    __slots__ = ("holder", "program")
    program: Program
    holder: tuple[EquationView, str] | None

    def __init__(
        self,
        block: QueryBlock,
        path: str,
        program: Program,
        holder: tuple[EquationView, str] | None = None,
    ) -> None:
        View.__init__(self, path, (id(block), "program", program.start))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "equations", program.equations)
        object.__setattr__(self, "origin", None)
        object.__setattr__(self, "wanted", "")
        object.__setattr__(self, "common", ("", ""))
        object.__setattr__(self, "program", program)
        object.__setattr__(self, "holder", holder)

    @property
    def is_whole(self) -> bool:
        """Whether it is the program of the block itself."""
        return values.is_whole(self.block, self.program)

    @property
    def what(self) -> str:
        return "a program"

    def names(self) -> InputNames:
        """The names of its inputs: of arguments, or of what an equation hands to it."""
        if self.is_whole or self.holder is None:
            return self.block.inputs if self.is_whole else NO_NAMES
        equation, parameter = self.holder
        count = len(self.program.inputs)
        return operands.names_inside(equation.with_parameters(), parameter, count)

    def everything(self) -> list[Equation]:
        """Its equations at any depth, a shared program once, as printed."""
        return values.everything(self.block, self.program)

    def deeper(self) -> Iterable[Equation]:
        own = {e.start for e in self.program.equations}
        return [e for e in self.everything() if e.start not in own]

    def attribute(self, name: str, asking: Asking) -> Any:
        block, path = self.block, f"{self.path}.{name}"
        asking.spend(values.cost(block, self.program, name))
        match name:
            case "all":
                values.unread(block, self.program, path)
                equations = self.everything()
                return Equations(block, path, equations)
            case "inputs":
                return Values(block, path, self.program.inputs, OperandView, self.names())
            case "outputs":
                names = block.outputs if self.is_whole else NO_NAMES
                return Values(block, path, self.program.outputs, OperandView, names)
            case "consts":
                return Values(block, path, self.program.constants, OperandView)
            case "residuals":
                kept = residuals(block, self.program, self.path)
                return values.Residuals(block, path, kept, OperandView)
            case "variables":
                return Values(block, path, values.variables(self.program), OperandView)
            case "flops":
                values.unread(block, self.program, path)
                return counting(block, path, asking).of_program(block.index.meant(self.program))
            case "effects":
                return values.effects(block, self.program, self.path)
            case "calls":
                return block.index.calls.get(self.program.start, 1)
            case "text":
                return block.index.text[self.program.start : self.program.end]
            case "removed" | "added" | "kept" | "reshaped":
                return self.changed(name, self.everything())
        if name in PHASES:
            return self.in_this_phase(name, asking)
        if name in OF_EQUATIONS:
            raise PathError(values.of_equation(self.path, name, len(self.equations)))
        raise PathError(values.no_attribute(self, name, OF_PROGRAMS, asking))

    def in_this_phase(self, phase: str, asking: Asking) -> Equations:
        """The equations of a phase outside of inner programs; none says where they are."""
        equations = self.in_phase(phase)
        if not equations.equations:
            facts = self.block.index.facts
            deeper = sum(e.start in facts and facts[e.start].phase == phase for e in self.deeper())
            if deeper:
                asking.hint(
                    f"`{equations.path}` is empty: the {deeper} {phase} equations are in programs"
                    f" inside, `{self.path}.all.{phase}`"
                )
        return equations


class Programs(View):
    """Several programs of one parameter, as ``branches`` holds them."""

    __slots__ = ("programs",)
    programs: tuple[ProgramView, ...]

    def __init__(
        self,
        block: QueryBlock,
        path: str,
        programs: Iterable[Program],
        holder: tuple[EquationView, str] | None = None,
    ) -> None:
        named = ((f"{path}[{n}]", program) for n, program in enumerate(programs))
        views = tuple(ProgramView(block, name, program, holder) for name, program in named)
        super().__init__(path, (id(block), "programs", *(view.key for view in views)))
        object.__setattr__(self, "programs", views)

    @property
    def what(self) -> str:
        return values.count_of(len(self.programs), "program")

    def attribute(self, name: str, asking: Asking) -> Any:
        if len(self.programs) == 1:
            return self.programs[0].attribute(name, asking)
        raise PathError(
            values.of_programs(self.path, name, len(self.programs), name in OF_PROGRAMS)
        )

    def item(self, key: Any, asking: Asking) -> Any:
        if isinstance(key, slice):
            return self.programs[key]
        if isinstance(key, int):
            return values.at(self.programs, key, self.path, "program")
        if len(self.programs) == 1:
            return self.programs[0].item(key, asking)
        raise PathError(values.of_one(self.path, f"[{key}]", len(self.programs), "program"))

    def members(self) -> tuple[ProgramView, ...]:
        return self.programs
