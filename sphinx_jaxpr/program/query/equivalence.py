"""Whether two programs or lists of equations are the same up to variable names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from ..model import Equation, Operand, Program, Variable
from .base import Asking
from .blocks import QueryBlock
from .syntax import PathError
from .views import Equations, EquationView, Programs, ProgramView


def same(first: Any, second: Any, asking: Asking, shapes: bool = True) -> bool:
    """Whether two things of a program are equal up to variable names.

    Two programs have the same inputs, equations and results; where one of them is
    a list of equations, only the equations count.  Wiring, types, parameters and
    nested programs all count; without ``shapes`` neither shapes nor the numbers of
    parameters that are about shapes and axes do.
    """
    first, second = _unpacked(first), _unpacked(second)
    if isinstance(first, ProgramView) and isinstance(second, ProgramView):
        left = _Reader(first.block, asking, shapes).program(first.program)
        right = _Reader(second.block, asking, shapes).program(second.program)
        listed = (_listed(view, asking, shapes) for view in (first, second))
        if left != right and next(listed) == next(listed):
            asking.hint(
                f"the equations are the same, inputs or results are not: compare only them by"
                f" `same({first.path}[:], {second.path}[:]{'' if shapes else ', shapes=False'})`"
            )
        return left == right
    return _listed(first, asking, shapes) == _listed(second, asking, shapes)


def _unpacked(thing: Any) -> Any:
    if isinstance(thing, Programs) and len(thing.programs) == 1:
        return thing.programs[0]
    if isinstance(thing, EquationView):
        return Equations(thing.block, thing.path, [thing.equation])
    if isinstance(thing, tuple) and thing and all(isinstance(e, EquationView) for e in thing):
        if len({id(e.block) for e in thing}) == 1:
            return Equations(thing[0].block, "the list", [e.equation for e in thing])
    elif thing == ():
        return None
    if isinstance(thing, Equations):
        return thing
    raise PathError("`same` compares programs, lists of equations, or equations")


def _listed(thing: Equations | None, asking: Asking, shapes: bool) -> list[str]:
    if thing is None:
        return []
    return _Reader(thing.block, asking, shapes).equations(thing.equations)


#: Parameters that say how large something is, or which of its axes are meant.
ABOUT_SHAPES: Final = frozenset(
    """shape new_sizes sizes slice_sizes axis axes dimension dimensions broadcast_dimensions
    dimension_numbers permutation start_indices limit_indices strides padding_config length
    axis_size axis_index_groups split_axis concat_axis all_gather_dimension scatter_dimension
    window_dimensions window_strides padding base_dilation window_dilation lhs_dilation
    rhs_dilation sharding out_sharding
    in_shardings out_shardings in_specs out_specs in_layouts out_layouts""".split()
)
_SHAPE: Final = re.compile(r"\[[^\[\]]*\]")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NUMBER: Final = re.compile(r"\bnp\.\w+\(")  # JAX prints some sizes as `np.int64(8)`


def _words(text: str) -> str:
    """The words of a parameter, without its numbers."""
    return " ".join(_WORD.findall(_NUMBER.sub("(", text)))


class _Reader:
    """Writes a program as tokens in which variables are numbers."""

    def __init__(self, block: QueryBlock, asking: Asking, shapes: bool) -> None:
        self.block = block
        self.shapes = shapes
        self.asking = asking
        self.numbers: dict[int, int] = {}
        self.count = 0
        self.tokens: list[str] = []

    def program(self, program: Program) -> list[str]:
        return self.run([program])

    def equations(self, equations: Iterable[Equation]) -> list[str]:
        return self.run(equations)

    def run(self, things: Iterable[Any]) -> list[str]:
        # A stack, not recursion: programs may be nested deeper than Python's stack.
        todo: list[Any] = list(things)[::-1]
        while todo:
            thing = todo.pop()
            self.asking.spend(2)
            match thing:
                case str():
                    self.tokens.append(thing)
                case Program():
                    self.tokens.append("{")
                    self.bind((*thing.constants, *thing.inputs))
                    todo.extend(("}", thing.outputs, *reversed(thing.equations)))
                case Equation():
                    self.tokens.append(thing.primitive)
                    for operand in thing.inputs:
                        self.read(operand)
                    todo.append(("bind", thing.outputs))
                    todo.extend(self.parameters(thing)[::-1])
                case ("bind", outputs):
                    self.bind(outputs)
                case tuple():
                    for operand in thing:
                        self.read(operand)
        return self.tokens

    def parameters(self, equation: Equation) -> list[Any]:
        key: list[Any] = []
        for parameter in equation.parameters:
            key.append(parameter.name)
            if parameter.members:
                members = [self.block.index.member(member) for member in parameter.members]
                key.extend(member for member in members if member is not None)
                key.append(parameter.frame)
            else:
                text = self.block.index.text[parameter.start : parameter.end]
                self.asking.spend(len(text) // 50)
                counts = self.shapes or parameter.name not in ABOUT_SHAPES
                key.append(" ".join(text.split()) if counts else _words(text))
        return key

    def type(self, kind: str) -> str:
        """A printed type as far as it counts."""
        return kind if self.shapes else _SHAPE.sub("[]", kind)

    def bind(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            self.asking.spend(1)
            self.numbers[variable.index] = self.count
            self.tokens.append(f"{self.count}:{self.type(variable.type)}")
            self.count += 1

    def read(self, operand: Operand) -> None:
        self.asking.spend(1)
        if operand.variable is None:
            self.tokens.append(f"{operand.text}:{self.type(operand.type)}")
            return
        index = operand.variable.index
        if index not in self.numbers:
            self.bind([operand.variable])
        self.tokens.append(str(self.numbers[index]))
