"""Values of a program as paths see them, and what views look up in a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any, Final

from ..facts import NO_NAMES, InputNames
from ..model import Equation, Operand, Program, Variable
from ..text import clipped, plural, series, similar
from .base import Asking, View
from .blocks import INPUT, LITERAL, QueryBlock, dtype_of, shape_of
from .derived.operands import OF_OPERANDS
from .facts import of_values
from .facts.parameters import sizes
from .syntax import PathError, nearest
from .vocabulary import Dtype, Origin, Phase

# --- what views look up in a block, and how they say that something is missing


def count_of(count: int, noun: str) -> str:
    """``a list of 2 equations``."""
    return f"a list of {plural(count, noun)}"


def is_whole(block: QueryBlock, program: Program) -> bool:
    """Whether a program is that of the block itself."""
    return block.printed is not None and program is block.printed.program


def everything(block: QueryBlock, program: Program) -> list[Equation]:
    """Equations at any depth, a shared program once, as printed.

    A program that is printed twice, which JAX does with what objects hold, is
    there once: where paths reach it, else where it was printed first.
    """
    index = block.index
    if program.start not in index.everything:
        programs = {each.start: each for each in map(index.meant, inside(block, program))}
        equations = (e for each in programs.values() for e in each.equations)
        index.everything[program.start] = sorted(equations, key=lambda e: e.start)
    return index.everything[program.start]


def inside(block: QueryBlock, program: Program) -> list[Program]:
    """A program and all programs inside it, in printed order."""
    index = block.index
    programs = {program.start: program}
    if block.printed is not None and is_whole(block, program):
        programs.update((shared.start, shared) for _, shared in block.printed.shared)
    todo = list(programs.values())
    while todo:
        for equation in todo.pop().equations:
            for parameter in equation.parameters:
                held: list[Program | str] = [*parameter.programs, *parameter.references]
                for member in held:
                    inner = index.member(member)
                    if inner is not None and inner.start not in programs:
                        programs[inner.start] = inner
                        todo.append(inner)
    return [programs[start] for start in sorted(programs)]


def unread(block: QueryBlock, program: Program, path: str) -> None:
    """Raise where a question is about all equations and some can't be read."""
    index = block.index
    if program.start not in index.refusals:
        reasons = ((each, index.opaque(each)) for each in inside(block, program))
        where, reason = next(((each, text) for each, text in reasons if text), (program, ""))
        index.refusals[program.start] = (
            f"{'' if where is program else ' further inside'} {reason}" if reason else ""
        )
    if reason := index.refusals[program.start]:
        raise PathError(
            f"`{path}` cannot be answered:{reason}; ask for the equations of a program"
            " that can be read in full"
        )


def cost(block: QueryBlock, program: Program, name: str) -> int:
    """How much work an attribute of a program is."""
    if name == "text":
        return (program.end - program.start) // 100
    if name in ("inputs", "outputs", "consts"):
        return 4 * (len(program.inputs) + len(program.outputs) + len(program.constants))
    if name == "variables":
        return 9 * (len(program.equations) + len(program.inputs))
    return 4 * len(block.index.home)


def phase(block: QueryBlock, equation: Equation, path: str, asking: Asking) -> Phase:
    """The phase of an equation, ``""`` where it has none."""
    facts = block.index.facts.get(equation.start)
    if facts is None:
        raise PathError(f"`{path}`: its phase is unknown")
    if not block.index.has_phases:
        asking.hint(no_phases(block.name, True))
    return Phase(facts.phase)


def no_phases(path: str, is_traced: bool) -> str:
    """That no equation has a phase, and why."""
    why = "JAX records them where a program is differentiated"
    return f"`{path}` has no phases: {why if is_traced else 'only its text is known'}"


def variables(program: Program) -> list[Variable]:
    """All values of a program: constants, inputs, results, in this order."""
    made = [v for equation in program.equations for v in equation.outputs]
    return [*program.constants, *program.inputs, *made]


def effects(block: QueryBlock, program: Program, path: str) -> tuple[str, ...]:
    """The names of the effects of a program."""
    index = block.index.tables.get(program.start)
    if index is None:
        raise PathError(f"`{path}`: nothing is known of its effects")
    return block.facts.programs[index].effects


def readers(block: QueryBlock, equation: Equation) -> list[Equation]:
    """The equations that read a result of ``equation``, each once, in printed order."""
    index = block.index.readers
    equations = {e.start: e for v in equation.outputs for e in index.get(v.index, ())}
    return [equations[start] for start in sorted(equations)]


def line(block: QueryBlock, equation: Equation, path: str) -> int:
    """The line of the user's source."""
    facts = block.index.facts.get(equation.start)
    if facts is None or facts.source is None:
        raise PathError(f"`{path}`: its source line is unknown")
    return facts.source[1]


def in_brackets(word: str) -> str:
    """``[mul]``, or quoted where Python asks for it: ``["while"]``."""
    is_bare = word.isidentifier() and not iskeyword(word)
    return f"[{word}]" if is_bare else f'["{word}"]'


def missing(
    path: str, wanted: str, equations: Sequence[Equation], deeper: Iterable[Equation]
) -> str:
    """That ``path`` has no equation ``wanted``, and what is near."""
    present = Counter(e.primitive for e in equations)
    near = similar(wanted, present, count=3)
    listed = near or [name for name, _ in present.most_common(8)]
    names = ", ".join(f"{name} ({present[name]})" for name in listed) or "none"
    text = f"`{path}` has no equation `{wanted}`"
    count = sum(e.primitive == wanted for e in deeper)
    if count:
        text += f"; {count} further inside: `{path}.all{in_brackets(wanted)}`"
    return f"{text}; {'nearest' if near else 'it has'}: {names}"


def shape(path: str, kind: str) -> tuple[Any, ...]:
    """The shape of a printed type."""
    dims = shape_of(kind)
    if dims is None:
        raise PathError(f"`{path}` has no shape{f': its type is {kind}' if kind else ''}")
    return sizes(dims)


def dtype(path: str, kind: str) -> Dtype:
    """The short dtype of a printed type."""
    name = dtype_of(kind)
    if not name:
        raise PathError(f"`{path}` has no dtype{f': its type is {kind}' if kind else ''}")
    return Dtype(name)


def at(items: tuple[Any, ...], index: int, path: str, noun: str) -> Any:
    """One of several, by position."""
    if -len(items) <= index < len(items):
        return items[index]
    raise PathError(f"`{path}` has {plural(len(items), noun)}, so there is no `[{index}]`")


def sliced(count: int, key: slice, path: str, noun: str, is_computed: bool) -> None:
    """An error where a slice of ``count`` things begins beyond their end.

    A number that is written points at something; one that is computed measures, as in
    ``f.grad[len(f):]``, and may be the end itself.
    """
    start = key.start or 0
    if start > count or (start == count > 0 and not is_computed):
        raise PathError(
            f"`{path}` has {plural(count, noun)}, so `{slice_text(key)}` begins beyond the end"
            + (f"; the last one is `[{count - 1}]`" if count else "")
        )


def slice_text(key: slice) -> str:
    """A slice as written."""
    parts = ["" if part is None else str(part) for part in (key.start, key.stop)]
    return f"[{':'.join(parts)}{'' if key.step is None else f':{key.step}'}]"


#: What of several things has a meaning as a sum.
_ADDED: Final = frozenset({".flops", ".bytes", ".size"})


def of_one(path: str, name: str, count: int, noun: str) -> str:
    """That something is asked of several things."""
    name = name if name.startswith("[") else f".{name}"
    if not count:
        return f"`{path}` has no {noun}s, so no `{name}`"
    choice = f"write `{path}[0]{name}`"
    if name in _ADDED:
        each = noun[0]
        choice = f"add them up, `sum({each}{name} for {each} in {path})`, or {choice}"
    return f"`{name}` needs exactly one {noun}; `{path}` has {count}: {choice}"


#: Equations of which a message says which is which, and characters of the text of each.
MOST_CHOICES: Final = 3
MOST_TEXT: Final = 48


def which(block: QueryBlock, equations: Sequence[Equation], alone: Sequence[str]) -> str:
    """Phase, line and text of the first of several equations; paths to one ``alone``."""
    index = block.index
    rows = []
    for number, equation in enumerate(equations[:MOST_CHOICES]):
        facts = index.facts.get(equation.start)
        line = f"line {facts.source[1]}" if facts and facts.source else ""
        parts = ", ".join(filter(None, [facts.phase if facts else "", line]))
        text = clipped(" ".join(index.text[equation.start : equation.end].split()), MOST_TEXT)
        rows.append(f"[{number}] is {f'{parts}: ' if parts else ''}{text}")
    more = "; ..." if len(equations) > MOST_CHOICES else ""
    phases = f", or {' or '.join(alone)}" if alone else ""
    return f"{phases} ({'; '.join(rows)}{more})"


def of_programs(path: str, name: str, count: int, has_it: bool) -> str:
    """That something is asked of several programs, which may be what an equation has."""
    if has_it or not count:
        return of_one(path, name, count, "program")
    return f"`{path}` is {count_of(count, 'program')}, and `.{name}` belongs to one equation"


def of_equation(path: str, name: str, count: int = 1) -> str:
    """That something is asked of a program, and one of its equations has it."""
    if name in OF_OPERANDS:  # not each equation has it
        return f"`{path}` is a program; `.{name}` belongs to one equation that has such operands"
    if name == "contracts":
        return f"`{path}` is a program; `.{name}` belongs to one contraction, such as `dot_general`"
    example = f", as in `{path}[0].{name}`" if count else ", and it has none"
    return f"`{path}` is a program; `.{name}` belongs to one equation{example}"


def of_value(path: str, name: str, inputs: Sequence[Operand]) -> str:
    """That something is asked of an equation, and one of its values has it."""
    literals = [n for n, operand in enumerate(inputs) if operand.variable is None]
    if name == "value" and not literals:
        return f"`{path}` is an equation; `.{name}` belongs to a literal, and it reads none"
    position = literals[0] if name == "value" else 0
    return (
        f"`{path}` is an equation; `.{name}` belongs to one value, as in"
        f" `{path}.inputs[{position}].{name}`"
    )


def no_attribute(view: View, name: str, names: Iterable[str], asking: Asking) -> str:
    """The message about a missing attribute, with those that are near and have a value."""
    head = f"`{view.path}` is {view.what} and has no `.{name}`"
    names = tuple(names)
    others = [each for each in similar(name, names, count=3) if each != name]
    near = [each for each in others if has(view, each, asking)]
    if near:
        return f"{head}, did you mean {series([f'`{each}`' for each in near], 'or')}?"
    return f"{head} (it has: {', '.join(names)})"


def has(view: View, name: str, asking: Asking) -> bool:
    """Whether an attribute has a value, so that a message may propose it."""
    try:
        view.attribute(name, replace(asking, hints=[]))
    except PathError:
        return False
    return True


# --- operands, results, inputs and constants as paths see them

#: Names of inputs that a message lists.
MOST_NAMES: Final = 12
OF_VALUES: Final = tuple(
    "shape dtype type size bytes weak varying origin value uses read_count text".split()
)


class Value(View):
    """One operand, result, input or constant."""

    __slots__ = ("block", "operand", "variable")
    block: QueryBlock
    variable: Variable | None
    operand: Operand | None

    def __init__(self, block: QueryBlock, path: str, thing: Variable | Operand) -> None:
        variable = thing if isinstance(thing, Variable) else thing.variable
        operand = None if isinstance(thing, Variable) else thing
        identity = ("variable", variable.index) if variable else ("operand", id(operand))
        super().__init__(path, (id(block), *identity))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "operand", operand)

    @property
    def what(self) -> str:
        return "a value of a program"

    @property
    def type(self) -> str:
        """The printed type."""
        if self.variable is not None:
            return self.block.index.type_of(self.variable)
        return self.operand.type if self.operand else ""

    @property
    def letter(self) -> str:
        """Its letter or its number, as printed at this point of the text."""
        if self.operand is not None:
            return self.operand.text
        return self.variable.name if self.variable is not None else ""

    @property
    def index(self) -> int:
        """The variable that it is; -1 for what nothing binds."""
        return self.variable.index if self.variable is not None else -1

    @property
    def bound_at(self) -> int:
        """The start of the innermost equation in whose text it is bound; -1 outside of all."""
        return self.block.bound_at.get(self.index, -1)

    @property
    def origin(self) -> Origin:
        """Where it comes from."""
        if self.variable is None:
            return Origin(LITERAL)
        return Origin(self.block.index.made.get(self.variable.index, (INPUT, None))[0])

    def attribute(self, name: str, asking: Asking) -> Any:
        if self.variable is None and self.operand is not None and self.operand.text == "_":
            # JAX before 0.8 returns what it printed as dropped.
            raise PathError(f"`{self.path}` is printed as `_`, which does not say what it is")
        match name:
            case "shape":
                return shape(self.path, self.type)
            case "dtype":
                return dtype(self.path, self.type)
            case "type" | "size" | "bytes":
                return of_values.of_type(name, self.path, self.type)
            case "varying":
                return of_values.varying(self.block, self.path, self.type, self.index)
            case "weak":
                asking.spend(1)
                start = self.operand.start if self.operand is not None else -1
                return of_values.weak(self.block, self.path, self.index, start)
            case "value":
                if self.variable is not None or self.operand is None:
                    raise of_values.not_literal(self.path, self.origin)
                return of_values.literal_value(self.path, self.operand.text, self.type)
            case "read_count":
                if self.variable is None:
                    raise PathError(f"`{self.path}` is a literal: only variables are read")
                return self.block.index.reads[self.variable.index]
            case "origin":
                return self.origin
            case "text" if self.variable is None and self.operand is not None:
                return self.operand.text
            case "text":
                raise PathError(
                    f"`{self.path}` is a variable: its letter changes between JAX releases"
                )
        raise PathError(no_attribute(self, name, OF_VALUES, asking))

    def words(self) -> str:
        return (self.operand.text if self.operand and not self.variable else "") or self.type


class Values(View):
    """Operands, results, inputs, in order; inputs of a block have names too."""

    __slots__ = ("block", "names", "values")
    block: QueryBlock
    values: tuple[Value, ...]
    names: InputNames

    def __init__(
        self,
        block: QueryBlock,
        path: str,
        things: Iterable[Variable | Operand],
        make: type[Value],
        names: InputNames = NO_NAMES,
    ) -> None:
        values = tuple(make(block, f"{path}[{n}]", thing) for n, thing in enumerate(things))
        self._set(block, path, values, names)

    def _set(
        self, block: QueryBlock, path: str, values: tuple[Value, ...], names: InputNames
    ) -> None:
        super().__init__(path, (id(block), "values", *(value.key for value in values)))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "names", names)

    @property
    def what(self) -> str:
        return count_of(len(self.values), "value")

    def attribute(self, name: str, asking: Asking) -> Any:
        if len(self.values) == 1:
            return self.values[0].attribute(name, asking)
        if self.values and not has(self.values[0], name, asking):
            return self.values[0].attribute(name, asking)
        raise PathError(of_one(self.path, name, len(self.values), "value"))

    def item(self, key: Any, asking: Asking) -> Any:
        if isinstance(key, slice):
            return self.sliced(key)
        if isinstance(key, int):
            return at(self.values, key, self.path, "value")
        return self.named(str(key))

    def named(self, key: str) -> Any:
        """One leaf, by its own name, or all leaves of an argument."""
        wanted = key.replace('"', "'")
        if wanted in self.names.leaves:
            return self.values[self.names.leaves.index(wanted)]
        if key not in self.names.all_arguments and key not in self.names.arguments:
            names = tuple(dict.fromkeys([*self.names.all_arguments, *self.names.leaves]))
            listed = ", ".join(names[:MOST_NAMES]) + (", ..." if names[MOST_NAMES:] else "")
            near = nearest(key, names) or f" (names: {listed or 'none, use a number'})"
            raise PathError(f"`{self.path}` has no `{key}`{near}")
        pairs = zip(self.values, self.names.arguments, strict=False)
        leaves = tuple(value for value, name in pairs if name == key)
        return self._some(f"{self.path}[{key}]", leaves, NO_NAMES)

    def sliced(self, key: slice) -> Values:
        """Some of them, by position."""
        path = self.path + slice_text(key)
        return self._some(path, self.values[key], self.names.sliced(key))

    def _some(self, path: str, values: tuple[Value, ...], names: InputNames) -> Values:
        values_found = Values.__new__(Values)
        values_found._set(self.block, path, values, names)
        return values_found

    def members(self) -> tuple[Value, ...]:
        return self.values

    def words(self) -> str:
        return ", ".join(value.words() for value in self.values) or "no values"


class Residuals(Values):
    """What a program keeps for its backward part; that it is nothing may be a fact."""

    __slots__ = ()
