"""Value numbering: what two programs compute alike has one number.

A :class:`Table` numbers the values of both programs from their inputs, constants
and literals on.  What an equation computes is numbered by its primitive, printed
parameters, types and operands, and by what its bodies compute.  Bodies are read
where they are called: a value keeps its number in the body of a ``jit``, and
a shared program is read once for each of its calls.

The bodies of an equation are entered with what its operands are.  Carries, constants and
stacked values are distinguished by what is printed: the counts among the parameters where
JAX prints them, else by types, as a loop takes the leading axis from what it walks over and
from nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Generator, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from ..model import Equation, Operand, Parameter, Printed, Program, Variable

# --- bodies: how values enter them, and how they come out again

#: The value of such an equation is what its body computes from its operands.
CALLS: Final = frozenset(
    "jit pjit xla_call core_call closed_call core_closed_call named_call remat remat2 checkpoint"
    " custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr custom_lin shard_map".split()
)

#: Their one operand, laid out in another way: what a transform puts in between.
LAYOUT: Final = frozenset(
    "broadcast_in_dim pvary pcast convert_element_type reshape squeeze expand_dims"
    " transpose copy copy_p device_put sharding_constraint reshard mesh_cast stop_gradient"
    " reduce_precision".split()
)

#: They put operands together or take them apart, as a batched index or a callback does.
ARRANGES: Final = LAYOUT | frozenset("concatenate select_n pad slice".split())

#: What a batched index makes of them: another primitive that computes the same.
BATCHED: Final = {"gather": "dynamic_slice", "scatter": "dynamic_update_slice"}

LOOPS: Final = frozenset({"scan", "while"})

#: Equations on references, which JAX prints with arrows.
STATE: Final = frozenset({"get", "swap", "addupdate"})


class Body(NamedTuple):
    """One program that an equation holds, by the parameter that holds it."""

    parameter: str
    program: Program


class Groups(NamedTuple):
    """How many operands of a loop are constants and carries; the others are walked over."""

    constants: int
    carries: int


def is_call(primitive: str, parameter: str) -> bool:
    """Whether an equation computes what the program in one of its parameters does."""
    return primitive in CALLS or parameter == "call_jaxpr"


def bodies(equation: Equation, shared: dict[str, Program]) -> list[Body]:
    """The programs that an equation holds, printed in it or shared, in printed order."""
    held = []
    for parameter in equation.parameters:
        for member in parameter.members:
            program = shared.get(member) if isinstance(member, str) else member
            if program is not None:
                held.append(Body(parameter.name, program))
    return held


def count_of(equation: Equation, text: str, name: str) -> int | None:
    """The number that a parameter is printed as."""
    parameter = _named(equation, name)
    printed = text[parameter.start : parameter.end] if parameter else ""
    return int(printed) if printed.isdecimal() and len(printed) < 10 else None


def _named(equation: Equation, name: str) -> Parameter | None:
    return next((p for p in equation.parameters if p.name == name), None)


def scanned(equation: Equation, body: Program, text: str) -> Groups:
    """The operands of a ``scan``: constants, carries, then what it walks over."""
    constants = count_of(equation, text, "num_consts")
    carries = count_of(equation, text, "num_carry")
    if constants is None or carries is None:
        outs = zip(equation.outputs, body.outputs, strict=False)
        carries = sum(bare(out.type) == bare(type_of(inner)) for out, inner in outs)
        entering = zip(equation.inputs, body.inputs, strict=False)
        walked = sum(bare(type_of(o)) != bare(v.type) for o, v in entering if o.variable)
        constants = len(equation.inputs) - walked - carries
    constants = max(0, min(constants, len(equation.inputs)))
    return Groups(constants, max(0, min(carries, len(equation.inputs) - constants)))


def looped(equation: Equation, text: str) -> tuple[int, int]:
    """How many constants the condition and the body of a ``while`` have."""
    condition = count_of(equation, text, "cond_nconsts") or 0
    return condition, count_of(equation, text, "body_nconsts") or 0


def type_of(operand: Operand) -> str:
    """The printed type of an operand."""
    return operand.variable.type if operand.variable is not None else operand.type


def bare(printed: str) -> str:
    """A printed type without the axes that it varies over (``f32[8]{V:data}``)."""
    return printed.partition("]{")[0] + "]" if "]{" in printed else printed


def is_reference(printed: str) -> bool:
    """Whether a printed type is that of a reference, whose content changes."""
    return printed.startswith(("Ref", "MemRef", "AbstractRef")) or "Ref{" in printed


def repeated(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Each number with how often it came before: carries that start as one value differ."""
    seen: dict[int, int] = {}
    numbered = []
    for number in numbers:
        numbered.append((number, seen.get(number, 0)))
        seen[number] = seen.get(number, 0) + 1
    return numbered


# --- value numbering: what two programs compute alike has one number

_NAME: Final = re.compile(r"[^\W\d]\w*")


class Table:
    """The numbers of all programs that are matched with one base: one key, one number."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Hashable, ...], int] = {}
        self.unused = itertools.count()

    def of(self, *key: Hashable) -> int:
        """The number of a key."""
        return self.numbers.setdefault(key, next(self.unused))


@dataclass(slots=True)
class Computed:
    """An equation where it is reached; one in a shared program is reached by each call.

    ``owner`` is the place of the equation in whose body it is, or -1; ``around`` are
    numbers for all that hold it: one with the calls among them, one without.  ``number``
    is that of the equation, ``results`` are those of its outputs.  ``keys`` say which
    output is which where there are bodies: those of the carries, or what the bodies
    return.  ``carries`` are what a loop's body takes as carries, with their variables;
    ``branches`` are, for each output of a ``cond``, what its branches return.
    ``kinds`` are the types of the outputs, ``parameters`` what is printed of them.
    """

    equation: Equation
    home: Program
    owner: int
    around: tuple[int, int]
    operands: tuple[int, ...]
    number: int = -1
    results: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    carries: tuple[int, ...] = ()
    carried: tuple[tuple[Variable, ...], ...] = ()
    branches: tuple[tuple[int, ...], ...] = ()
    holds: bool = False
    kinds: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def signature(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What has to be the same too where an equation is kept: types and parameters."""
        return self.kinds, self.parameters


class Inner(NamedTuple):
    """What one body computes: the numbers of its equations, and those of its results."""

    parameter: str
    numbers: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[str, ...]


_Reads = Generator[Any, Inner, Inner]


class Numbering:
    """Reads one printed program; ``computed`` lists its equations as they are reached.

    ``apart`` are the indices of those that nothing refers to, which come last.
    """

    def __init__(self, printed: Printed, table: Table) -> None:
        self.text = printed.text
        self.table = table
        self.shared = printed.named
        self.computed: list[Computed] = []
        self.values: dict[int, int] = {}  # variable -> number
        self.kinds: dict[Hashable, int] = {}  # how often a kind of constant or reference came
        self.written: dict[int, int] = {}  # reference -> the last equation that wrote to it
        self.seen: set[int] = set()
        # Shared programs that call shared programs are read at most so often altogether.
        self.limit = len(printed.text) // 4 + 1000
        self.has_references = "Ref" in printed.text
        assert printed.program is not None
        self.inputs(printed.program)
        self.run(printed.program)
        # Programs that are named only where the text is opaque.
        apart = [program for _, program in printed.shared if program.start not in self.seen]
        first = len(self.computed)
        for program in apart:
            if program.start not in self.seen:
                looks = tuple(v.type for v in program.inputs), _primitives(program)
                order = self.count(("apart", looks))
                for position, variable in enumerate(program.inputs):
                    self.values[variable.index] = table.of("apart", looks, order, position)
                self.run(program)
        self.apart = range(first, len(self.computed))

    def run(self, program: Program) -> None:
        """Read a program; a stack of generators, as programs may be nested very deep."""
        stack: list[_Reads] = [self.program(program, -1, "", (-1, -1))]
        answer: Any = None
        while stack:
            try:
                inner = stack[-1].send(answer)
            except StopIteration as end:
                stack.pop()
                answer = end.value
            else:
                stack.append(inner)
                answer = None

    def program(
        self, program: Program, owner: int, parameter: str, around: tuple[int, int]
    ) -> _Reads:
        """Read the equations of one program."""
        self.seen.add(program.start)
        numbers = []
        for equation in program.equations:
            computed = Computed(equation, program, owner, around, self.read(equation.inputs))
            index = len(self.computed)
            self.computed.append(computed)
            held = bodies(equation, self.shared) if equation.parameters else []
            inner = []
            if held and self.may_enter(held):
                computed.holds = True
                for member, body in enumerate(held):
                    self.enter(computed, body)
                    now = self.around(computed, body, member)
                    inner.append((yield self.program(body.program, index, body.parameter, now)))
            self.finish(index, computed, inner)
            for variable, number in zip(equation.outputs, computed.results, strict=False):
                self.values[variable.index] = number
            numbers.append(computed.number)
        results = self.read(program.outputs)
        types = tuple(bare(type_of(operand)) for operand in program.outputs)
        return Inner(parameter, tuple(numbers), results, types)

    def may_enter(self, held: Iterable[Body]) -> bool:
        """Whether programs are new, or there is room to read them again."""
        if len(self.computed) < self.limit:
            return True
        return not any(body.program.start in self.seen for body in held)

    def around(self, computed: Computed, body: Body, member: int) -> tuple[int, int]:
        """The numbers of the place that a body is in; a call has a name."""
        equation, of = computed.equation, self.table.of
        name = next((p for p in equation.parameters if p.name == "name"), None)
        called = self.text[name.start : name.end] if name else ""
        key = (equation.primitive, body.parameter, member)
        every, loops = computed.around
        if not is_call(equation.primitive, body.parameter):
            loops = of("in", loops, *key)
        return of("in", every, *key, called), loops

    # -- numbers of what no equation computes

    def inputs(self, program: Program) -> None:
        """Inputs go by position; a transform adds its own at the end."""
        for position, variable in enumerate(program.inputs):
            self.values[variable.index] = self.table.of("input", position, bare(variable.type))

    def constant(self, variable: Variable) -> int:
        """Constants go by type and by the order in which they are read, in whichever program."""
        kind = bare(variable.type)
        number = self.table.of("constant", kind, self.count(("constant", kind)))
        return self.values.setdefault(variable.index, number)

    def count(self, kind: Hashable) -> int:
        """How often this kind of thing came before."""
        before = self.kinds.get(kind, 0)
        self.kinds[kind] = before + 1
        return before

    def literal(self, operand: Operand) -> int:
        """A literal, or a name that nothing binds."""
        return self.table.of("literal", operand.text, operand.type)

    def read(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        """The numbers of operands."""
        numbers = []
        for operand in operands:
            if operand.variable is None:
                numbers.append(self.literal(operand))
            else:
                number = self.values.get(operand.variable.index)
                numbers.append(self.constant(operand.variable) if number is None else number)
        return tuple(numbers)

    # -- bodies

    def enter(self, computed: Computed, body: Body) -> None:
        """Number the inputs of a body."""
        inputs = body.program.inputs
        numbers = self.entering(computed, body)
        for place_, variable in enumerate(inputs):
            number = numbers[place_] if place_ < len(numbers) else -1
            self.values[variable.index] = self.given(variable, number)

    def given(self, variable: Variable, number: int) -> int:
        """The number of a body's input."""
        return number

    def entering(self, computed: Computed, body: Body) -> list[int]:
        """What a body's inputs are, from what the equation's operands are."""
        equation, operands, of = computed.equation, computed.operands, self.table.of
        inputs = body.program.inputs
        match equation.primitive:
            case "scan":
                groups = scanned(equation, body.program, self.text)
                constants, end = groups.constants, sum(groups)
                carries = self.carry(computed, operands[constants:end], inputs[constants:end])
                walked = [of("slice", number) for number in operands[end:]]
                return [*operands[:constants], *carries, *walked]
            case "while":
                first, second = looped(equation, self.text)
                starts = (0, first) if "cond" in body.parameter else (first, first + second)
                constants = starts[1] - starts[0]
                carries = self.carry(computed, operands[first + second :], inputs[constants:])
                return [*operands[starts[0] : starts[1]], *carries]
            case primitive if primitive == "cond" or is_call(primitive, body.parameter):
                offset = len(operands) - len(inputs)
                if offset >= 0:
                    entering = zip(operands[offset:], equation.inputs[offset:], inputs, strict=True)
                    return [self.cast(n, type_of(o), v.type) for n, o, v in entering]
        first = operands[0] if operands else -1
        name = (equation.primitive, body.parameter, first)
        count, results = len(operands), len(equation.outputs)
        if equation.primitive == "pallas_call" and len(inputs) >= count + results:
            # References to the operands, then to the results, then to scratch memory.
            made = [of("held", *name, "result", n) for n in range(results)]
            rest = [of("held", *name, "scratch", n) for n in range(len(inputs) - count - results)]
            return [*(of("reference", n, r) for n, r in repeated(operands)), *made, *rest]
        return [of("held", *name, place_) for place_ in range(len(inputs))]

    def carry(
        self, computed: Computed, starts: tuple[int, ...], variables: tuple[Variable, ...]
    ) -> list[int]:
        """Carries are numbered by the value that they start as."""
        numbers = [self.table.of("carry", *start) for start in repeated(starts)]
        given = zip(variables, numbers, strict=False)
        computed.carries = tuple(self.given(variable, number) for variable, number in given)
        computed.carried = (*computed.carried, variables)
        return numbers

    def cast(self, number: int, before: str, after: str) -> int:
        """The number of a value that goes into or out of a body with another type."""
        before, after = bare(before), bare(after)
        return number if before == after else self.table.of("as", number, after)

    # -- what an equation computes

    def finish(self, index: int, computed: Computed, inner: list[Inner]) -> None:
        """Number an equation and its results, when its bodies are read."""
        equation, of = computed.equation, self.table.of
        computed.kinds = kinds = tuple([bare(variable.type) for variable in equation.outputs])
        computed.parameters = printed_parameters(equation, self.text)
        parts: tuple[Hashable, ...] = tuple([(i.numbers, i.results) for i in inner])
        if equation.primitive in STATE:
            kinds = kinds if equation.primitive == "get" else ()
        operands = self.as_of_now(computed)
        computed.number = of(equation.primitive, computed.parameters, kinds, operands, *parts)
        if self.has_references:
            if any(is_reference(kind) for kind in kinds):
                computed.number = of("made", computed.number, self.count(computed.number))
            self.write(computed, computed.operands, computed.number)
        computed.keys = self.results_of(computed, inner)
        computed.results = computed.keys
        if computed.carries and inner:
            ends = computed.keys[len(computed.carries) :]
            condition = tuple(i.results for i in inner if "cond" in i.parameter)
            body = next((i for i in inner if "cond" not in i.parameter), inner[0])
            finals = zip(computed.carries, body.results, strict=False)
            computed.results = (*(of("final", *final, *condition) for final in finals), *ends)

    def results_of(self, computed: Computed, inner: list[Inner]) -> tuple[int, ...]:
        """What the outputs are: what the bodies return, if that is known, else by position."""
        equation, of = computed.equation, self.table.of
        count = len(equation.outputs)
        if count == 1 and not inner:
            return (computed.number,)
        if computed.carries:
            body = next((i for i in inner if "cond" not in i.parameter), None)
            if body is not None and len(body.results) == count:
                stacked = body.results[len(computed.carries) :]
                return (*computed.carries, *(of("stack", number) for number in stacked))
        elif equation.primitive == "scan" and inner and len(inner[0].results) == count:
            return tuple(of("stack", number) for number in inner[0].results)
        elif equation.primitive == "cond" and all(len(i.results) == count for i in inner):
            branches = zip(*(i.results for i in inner), strict=True)
            return tuple(of("branch", computed.operands[:1], branch) for branch in branches)
        elif (
            len(inner) == 1
            and is_call(equation.primitive, inner[0].parameter)
            and len(inner[0].results) == count
        ):
            leaving = zip(inner[0].results, inner[0].types, equation.outputs, strict=True)
            return tuple(self.cast(number, kind, v.type) for number, kind, v in leaving)
        return tuple(of("result", computed.number, n) for n in range(count))

    # -- references: reading one twice gives another value where it was written in between

    def as_of_now(self, computed: Computed) -> tuple[int, ...]:
        """The operands, references with the last equation that wrote to them."""
        written = self.written
        if not written:
            return computed.operands
        of = self.table.of
        return tuple(of("written", n, written[n]) if n in written else n for n in computed.operands)

    def write(self, computed: Computed, operands: tuple[int, ...], number: int) -> None:
        """Note the references that an equation may write to."""
        if computed.equation.primitive == "get":
            return
        for reference, operand in zip(operands, computed.equation.inputs, strict=True):
            if operand.variable is not None and is_reference(operand.variable.type):
                self.written[reference] = number


def _primitives(program: Program) -> tuple[str, ...]:
    return tuple(equation.primitive for equation in program.equations)


def printed_parameters(equation: Equation, text: str) -> tuple[str, ...]:
    """What is printed of the parameters, bodies left out; of a reference its indices."""
    if equation.primitive in STATE and not equation.parameters:
        return (_indices(equation, text),)
    printed = []
    for parameter in equation.parameters:
        if parameter.members and not parameter.frame:
            continue
        value = parameter.frame if parameter.members else text[parameter.start : parameter.end]
        printed.append(f"{parameter.name}={' '.join(value.split())}")
    return tuple(printed)


def _indices(equation: Equation, text: str) -> str:
    """``[:,0]`` of ``c:f32[4] <- a[:,0]``; variables among the indices are operands."""
    if not equation.inputs:
        return ""
    start = equation.inputs[0].end
    end = text.find("]", start, equation.end) + 1
    return _NAME.sub("#", text[start:end])


# --- numbering that ignores types, and an index of the base's equations by operands


class Standing(Numbering):
    """A numbering in which values stand for one another whatever their types are.

    ``exact`` is the numbering of the same text by value; where nothing is known
    of a value, its number there is its number here.
    """

    def __init__(self, printed: Printed, table: Table, exact: Numbering) -> None:
        self.exact = exact
        super().__init__(printed, table)

    def inputs(self, program: Program) -> None:
        for position, variable in enumerate(program.inputs):
            self.values[variable.index] = self.table.of("input", position)

    def literal(self, operand: Operand) -> int:
        return self.table.of("literal", operand.text)

    def cast(self, number: int, before: str, after: str) -> int:
        return number

    def finish(self, index: int, computed: Computed, inner: list[Inner]) -> None:
        exact = self.exact.computed[index]
        computed.number, computed.kinds = exact.number, exact.kinds
        computed.parameters = exact.parameters
        computed.keys = computed.results = exact.results
        if inner or computed.carries:
            computed.keys = self.results_of(computed, inner)
            if computed.equation.primitive == "cond":
                computed.branches = tuple(zip(*(i.results for i in inner), strict=False))
            elif computed.equation.primitive not in LOOPS:
                computed.results = computed.keys
        elif computed.equation.primitive in LAYOUT and len(computed.operands) == 1:
            computed.results = computed.operands * len(computed.results)
        plain, computed.operands = computed.operands, self.as_of_now(computed)
        number = self.stands_for(index, computed)
        if self.has_references:
            self.write(computed, plain, number)

    def stands_for(self, index: int, computed: Computed) -> int:
        """The number of the equation that this one stands for: in the base, its own."""
        return computed.number


class Base:
    """The base's equations, by what they apply to what."""

    def __init__(self, standing: Standing) -> None:
        self.computed = standing.computed
        self.text = standing.text
        self.by_operands: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        self.by_one: dict[tuple[str, int], list[int]] = {}
        self.bodies: Counter[int] = Counter()
        self.chosen: dict[tuple[int, ...], int] = {}  # results of branches -> of the cond
        self.ending: dict[int, list[tuple[int, ...]]] = {}  # by what the last branch returns
        for index, computed in enumerate(self.computed):
            primitive = computed.equation.primitive
            self.by_operands.setdefault((primitive, computed.operands), []).append(index)
            for number in set(computed.operands):
                self.by_one.setdefault((primitive, number), []).append(index)
            self.bodies[computed.owner] += 1
            for branches, result in zip(computed.branches, computed.results, strict=False):
                self.chosen[branches] = result
                self.ending.setdefault(branches[-1], []).append(branches)


#: Longest text of a base that stays numbered, in characters: numbers take more memory than it.
MAX_KEPT: Final = 50_000


class Reference:
    """A program that others are matched with: read once for all of them.

    What it numbers is the same for each of them, since equal keys have one number whoever
    comes first, and nothing is written into it but numbers of further keys.
    """

    def __init__(self, printed: Printed) -> None:
        self.printed = printed
        self.table = Table()
        self.numbering = Numbering(printed, self.table)

    @cached_property
    def standing(self) -> Base:
        """Its equations by their operands, for those who have something left to find."""
        return Base(Standing(self.printed, self.table, self.numbering))


_latest: list[Reference] = []


def reference_of(base: Printed) -> Reference:
    """The numbers of a base; kept until another base comes, as pages show one after another."""
    for reference in _latest:
        if reference.printed is base:
            return reference
    reference = Reference(base)
    if len(base.text) <= MAX_KEPT:
        _latest[:] = [reference]
    return reference


def called(computed: Computed, text: str) -> str:
    """The name of the function that an equation with a body calls, if it has one."""
    return next(
        (text[p.start : p.end] for p in computed.equation.parameters if p.name == "name"), ""
    )
