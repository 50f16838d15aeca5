"""``reads(x, y)`` and ``depends(x, y)``: how values flow through one program.

What an equation with programs inside makes of its operands is a fact from the jaxpr object:
which of them reach which of its results.  Where that is not known, and the answer hangs on it,
there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ...model import Equation, EquationFlow, Operand, Program, Reached
from ..base import Asking
from ..blocks import QueryBlock
from ..elements import kind, program_of
from ..syntax import PathError
from ..values import Value, Values
from ..views import Equations, EquationView, ProgramView

_REFERENCE: Final = re.compile(r"\w*Ref\b")
#: What the text of equations on references says: the reference comes first, then what is stored.
_STATE: Final = frozenset({"get", "swap", "addupdate"})


def reads(first: Any, second: Any, asking: Asking) -> bool:
    """Whether an equation has a result of another, or a value, among its operands."""
    reader, source = _thing(first, "reads", "first"), _thing(second, "reads", "second")
    if not isinstance(reader, EquationView):
        raise PathError(
            f"`reads` takes an equation first, and `{reader.path}` is a value; `depends` takes both"
        )
    _together(reader, source, "reads")
    asking.spend(3 + len(reader.equation.inputs))
    wanted = _variables(source)
    return any(index in wanted for index in _indices(reader.equation.inputs))


def depends(first: Any, second: Any, asking: Asking) -> bool:
    """Whether a value, or what an equation reads, is computed from another thing.

    A value depends on itself and on the equation that makes it; an equation doesn't depend
    on itself.
    """
    target, source = _thing(first, "depends", "first"), _thing(second, "depends", "second")
    if isinstance(target, Value) and target.variable is None:
        _refuse_dropped(target)
        return False
    program = _together(target, source, "depends")
    key = "depends", source.key
    if key not in asking.flows:
        asking.flows[key] = _Spread(source, program, asking)
    spread: _Spread = asking.flows[key]
    state = (
        spread.before[target.equation.start]
        if isinstance(target, EquationView)
        else spread.of(target.index)
    )
    if state.is_certain:
        return True
    if state.doubt:
        raise PathError(
            f"whether `{target.path}` depends on `{source.path}` cannot be told: {state.doubt}"
        )
    return False


def _thing(value: Any, function: str, place: str) -> EquationView | Value:
    """The one equation or value that an argument is."""
    value = program_of(value)
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, Equations) and not isinstance(value, ProgramView):
        value = value.only()
    if isinstance(value, Values):
        if len(value.values) != 1:
            raise PathError(_of_many(value, function, place))
        value = value.values[0]
    if not isinstance(value, (EquationView, Value)):
        raise PathError(f"`{function}` takes equations or values, not {kind(value)}")
    return value


def _of_many(value: Values, function: str, place: str) -> str:
    """That an argument is several values, or none, with what to write."""
    if not value.values:
        return f"`{value.path}` has no values"
    call = f"{function}(v, ...)" if place == "first" else f"{function}(..., v)"
    return (
        f"`{value.path}` is {len(value.values)} values: choose one, as in `{value.path}[0]`, or ask"
        f" about each: `any({call} for v in {value.path})`"
    )


def _refuse_dropped(value: Value) -> None:
    """JAX before 0.8 returns what it printed as dropped."""
    if value.letter == "_":
        raise PathError(f"`{value.path}` is printed as `_`, which does not say what it is")


def _together(first: EquationView | Value, second: EquationView | Value, function: str) -> Program:
    """The program that both are in."""
    if isinstance(second, Value) and second.variable is None:
        _refuse_dropped(second)
        raise PathError(f"`{second.path}` is a literal, so nothing depends on it")
    if first.block is not second.block:
        raise PathError(
            f"`{first.path}` and `{second.path}` are in different blocks, and `{function}` follows"
            " values within one"
        )
    home, other = _home(first), _home(second)
    if home is None or other is None or home is not other:
        raise PathError(
            f"`{first.path}` and `{second.path}` are in different programs, and `{function}`"
            " follows values within one: ask about the equation that holds the inner program"
        )
    return home


def _home(thing: EquationView | Value) -> Program | None:
    """The program that lists an equation, or binds a value."""
    index = thing.block.index
    if isinstance(thing, EquationView):
        return index.home.get(thing.equation.start)
    return index.binding.get(thing.index)


def _variables(source: EquationView | Value) -> set[int]:
    """The value, or the results of an equation."""
    if isinstance(source, EquationView):
        return {variable.index for variable in source.equation.outputs}
    return {source.index}


def _indices(operands: Iterable[Operand]) -> list[int]:
    """The variable that each operand is; -1 for a literal."""
    return [operand.variable.index if operand.variable else -1 for operand in operands]


class _State(NamedTuple):
    """Whether something depends on the source; ``doubt`` says why that may be unknown."""

    is_certain: bool = False
    doubt: str = ""

    def __or__(self, other: _State) -> _State:
        return _State(self.is_certain or other.is_certain, self.doubt or other.doubt)


_NOT: Final = _State()
_YES: Final = _State(True)


class _Spread:
    """What depends on one equation or value of a program.

    ``before`` has the state of each equation's operands, by its ``start``.
    """

    def __init__(self, source: EquationView | Value, program: Program, asking: Asking) -> None:
        self.block: QueryBlock = source.block
        self.before: dict[int, _State] = {}
        self.states: dict[int, _State] = {}  # of variables; absent ones don't depend on it
        index = self.block.index.tables.get(program.start)
        facts = None if index is None else self.block.facts.programs[index]
        self.flows = None if facts is None else facts.flows
        own = source.equation if isinstance(source, EquationView) else None
        if own is None:
            self.states = dict.fromkeys(_variables(source), _YES)
        for position, equation in enumerate(program.equations):
            asking.spend(1 + len(equation.inputs))
            operands = [self.of(index) for index in _indices(equation.inputs)]
            before = self.before[equation.start] = _any(operands)
            if equation is own:
                self.start(equation)
            elif before is not _NOT:
                self.follow(equation, position, operands)

    def of(self, index: int) -> _State:
        """The state of a variable, at this point of the program."""
        return self.states.get(index, _NOT)

    def start(self, equation: Equation) -> None:
        """Begin with what an equation binds, and with what it writes."""
        for variable in equation.outputs:
            self.states[variable.index] = _YES
        for operand in _references(equation):
            self.mark(operand, _YES)

    def mark(self, operand: Operand, state: _State) -> None:
        if operand.variable is not None and state is not _NOT:
            index = operand.variable.index
            self.states[index] = self.of(index) | state

    def follow(self, equation: Equation, position: int, operands: list[_State]) -> None:
        """Pass the states of an equation's operands on to its results, and what it writes."""
        flow = self.flow(equation, position)
        for variable, reached in zip(equation.outputs, flow.outputs, strict=True):
            state = self.through(reached, operands, equation)
            if state is not _NOT:
                self.states[variable.index] = state
        for place, reached in flow.writes:
            self.mark(equation.inputs[place], self.through(reached, operands, equation))

    def through(self, reached: Reached, operands: list[_State], equation: Equation) -> _State:
        """The state of what some operands reach."""
        state = _any([s for place, s in enumerate(operands) if reached.operands >> place & 1])
        if state is _NOT or reached.is_certain:
            return state
        name = f"`{equation.primitive}`"
        if self.flows is None:
            doubt = f"only the text of {name} is known, not which operands reach which results"
        else:
            doubt = f"nothing says which operands of {name} reach which of its results"
        return _State(False, state.doubt or doubt)

    def flow(self, equation: Equation, position: int) -> EquationFlow:
        """Which operands reach which results of an equation, and which references it writes."""
        count = len(equation.inputs)
        everything = (1 << count) - 1
        if equation.primitive in _STATE:
            return _of_state(equation, everything)
        if self.flows is not None and position in self.flows:
            flow = self.flows[position]
            fits = len(flow.outputs) == len(equation.outputs)
            if fits and all(place < count for place, _ in flow.writes):
                return flow
        holds = any(p.members or p.is_opaque for p in equation.parameters)
        several = self.flows is None and len(equation.outputs) > 1 < count
        reached = Reached(everything, not (holds or several))
        writes = [(place, reached) for place in _places(equation)]
        return EquationFlow((reached,) * len(equation.outputs), tuple(writes))


def _any(states: list[_State]) -> _State:
    """The state of what is computed from several things."""
    joined = _NOT
    for state in states:
        if state is not _NOT:
            joined = state if joined is _NOT else joined | state
    return joined


def _places(equation: Equation) -> list[int]:
    """The positions of references among the operands, to which an equation may write."""
    return [
        place
        for place, operand in enumerate(equation.inputs)
        if operand.variable is not None and _REFERENCE.match(operand.variable.type)
    ]


def _references(equation: Equation) -> list[Operand]:
    """The references that an equation may write to."""
    if equation.primitive == "get":
        return []
    return [equation.inputs[place] for place in _places(equation)]


def _of_state(equation: Equation, everything: int) -> EquationFlow:
    """A read gives what was there; a write gives it too, and not what is stored."""
    stored = 1 << 1
    is_read = equation.primitive == "get"
    result = Reached(everything if is_read else everything & ~stored, True)
    writes = () if is_read else ((0, Reached(everything, True)),)
    return EquationFlow((result,) * len(equation.outputs), writes)
