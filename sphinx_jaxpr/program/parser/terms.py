"""The words of a printed jaxpr: binders, operands and indexed references.

:class:`Terms` also keeps what they need: the tokens so far and which variable
each name refers to at this point of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..model import BINDER, LITERAL, PARAMETER, TYPE, USE, Operand, Token, Variable
from . import scanner

# JAX calls each dropped value "_", and prints a use of one if a call drops what
# its program returns.  Only one such value in a program says which one is meant.
_ANY: Final = Variable(-1, "_", "")


class TermReader:
    """Reads words and resolves names.

    A program sees its own binders first and the enclosing program's otherwise,
    so one dictionary serves all scopes; ``_undo`` brings back what a nested
    program hid.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self._variables = 0
        self._scope: dict[str, Variable] = {}
        self._undo: list[tuple[str, Variable | None]] = []
        self._line = (0, 0)

    # -- state

    def mark(self) -> tuple[int, int]:
        """A state to go back to with :meth:`rollback` where a reading turns out wrong."""
        return len(self.tokens), self._variables

    def rollback(self, mark: tuple[int, int]) -> None:
        """Forget all tokens and variables since ``mark``."""
        tokens, self._variables = mark
        del self.tokens[tokens:]

    def bind(self, variables: Iterable[Variable]) -> None:
        """Make the names of ``variables`` mean them from here on."""
        for variable in variables:
            name = variable.name
            outer = self._scope.get(name)
            self._undo.append((name, outer))
            self._scope[name] = _ANY if name == "_" and outer else variable

    def enter(self) -> int:
        """Begin a scope; the answer is what :meth:`leave` needs to end it."""
        depth = len(self._undo)
        self._undo.append(("_", self._scope.pop("_", None)))
        return depth

    def leave(self, depth: int) -> None:
        """Leave scopes until ``depth`` bindings are left."""
        while len(self._undo) > depth:
            name, variable = self._undo.pop()
            if variable is None:
                self._scope.pop(name, None)
            else:
                self._scope[name] = variable

    def column(self, position: int) -> int:
        """The column of ``position``; cheap for positions that grow."""
        line_start, start = self._line
        if position < line_start:
            line_start, start = 0, 0
        start = max(start, self.text.rfind("\n", line_start, position) + 1)
        self._line = (position, start)
        return position - start

    def leaves(self, start: int, position: int, column: int) -> bool:
        """Whether the gap between the two ends a text that began at ``column``."""
        line = self.text.rfind("\n", start, position) + 1
        return line > 0 and position - line <= column

    # -- words

    def binders(self, position: int, column: int = -1) -> tuple[list[Variable], int]:
        """Names with types, as many as follow, and where they end.

        A line break down to ``column`` ends them.  Nothing is bound yet.
        """
        variables: list[Variable] = []
        typed = False
        while match := scanner.BINDER.match(self.text, position):
            start = match.start(1)
            if variables and (bool(match[2]) != typed or self.leaves(position, start, column)):
                break
            typed = match[2] is not None
            variables.append(self.binder(match))
            position = match.end()
        return variables, position

    def binder(self, match: re.Match[str]) -> Variable:
        """A match whose first groups are a name and a type."""
        variable = Variable(self._variables, match[1], match[2] or "")
        self._variables += 1
        self.tokens.append(Token(*match.span(1), BINDER, variable.index))
        if match[2] is not None:
            self.tokens.append(Token(*match.span(2), TYPE))
        return variable

    def atom(self, position: int) -> Operand | None:
        """The variable or literal at ``position``."""
        match = scanner.ATOM.match(self.text, position)
        return self._atom(match) if match else None

    def _atom(self, match: re.Match[str]) -> Operand:
        """A match whose groups are the word and its type."""
        text, type_ = match.groups()
        start, end = match.span(1)
        if type_ is None:
            return self._word(text, start, end)
        self.tokens.append(Token(start, end, LITERAL))
        self.tokens.append(Token(end + 1, match.end(), TYPE))
        return Operand(start, match.end(), text, None, type_)

    def _word(self, text: str, start: int, end: int) -> Operand:
        variable = self._scope.get(text)
        if variable is not None and variable is not _ANY:
            self.tokens.append(Token(start, end, USE, variable.index))
            return Operand(start, end, text, variable, variable.type)
        free = text.isidentifier() and text not in scanner.LITERAL_WORDS
        self.tokens.append(Token(start, end, USE if free else LITERAL))
        return Operand(start, end, text, None, "")

    def operands(self, position: int, column: int) -> tuple[list[Operand], int]:
        """The operands of an equation at ``column`` and where they end.

        The end is -1 where something else than an equation's end follows.
        """
        text = self.text
        atoms: list[Operand] = []
        while True:
            # Nearly always another word after one space, or a line break.
            while match := scanner.OPERAND.match(text, position):
                atoms.append(self._atom(match))
                position = match.end()
            here = scanner.skip(scanner.GAP, text, position)
            if self.leaves(position, here, column) or here == len(text) or text[here] == ";":
                return atoms, position
            if here == position or scanner.PROGRAM_END.match(text, here):
                return atoms, position if here > position else -1
            if match := scanner.ATOM.match(text, here):
                if match[1] != "->":  # what a copy of a reference is printed with
                    atoms.append(self._atom(match))
                position = match.end()
            elif match := scanner.REFERENCE.match(text, here):
                atoms += self.reference(here)[0]
                position = match.end()
            else:
                return atoms, -1

    def reference(self, position: int) -> tuple[list[Operand], int]:
        """``ref[i,j:j+2,:]``: the reference and its indices; -1 if there is none."""
        match = scanner.REFERENCE.match(self.text, position)
        if match is None:
            return [], -1
        operands = [self._word(match[1], *match.span(1))]
        for indices in scanner.INDICES.finditer(self.text, *match.span(2)):
            if indices[1]:  # not a {transform}
                for index in scanner.INDEX.finditer(self.text, *indices.span(1)):
                    operands += self._index(*index.span())
        return operands, match.end()

    def _index(self, start: int, end: int) -> list[Operand]:
        """The operands in one index; a slice's start is printed twice."""
        match = scanner.INDEX_ATOM.fullmatch(self.text, start, end)
        if match is not None:
            word = self._word(match[1], *match.span(1))
            return [word]
        operands: list[Operand] = []
        if self.text.find(":", start, end) >= 0:
            for match in scanner.INDEX_NAME.finditer(self.text, start, end):
                word = self._word(match[0], *match.span())
                if word.text not in {o.text for o in operands}:
                    operands.append(word)
        return operands

    def masks(self, position: int) -> tuple[list[Operand], int]:
        """`` mask=a other=b`` after a masked load or store."""
        operands: list[Operand] = []
        while match := scanner.MASK.match(self.text, position):
            self.tokens.append(Token(*match.span(1), PARAMETER))
            operand = self.atom(match.end())
            if operand is None:
                break
            operands.append(operand)
            position = operand.end
        return operands, position

    # -- reads and writes of references: the primitive, its operands, the end

    def read(self, position: int) -> tuple[str, list[Operand], int] | None:
        """``ref[i]``, after ``a:f32[] <-``."""
        operands, end = self.reference(position)
        if end < 0:
            return None
        masks, end = self.masks(end)
        return "masked_load" if masks else "get", operands + masks, end

    def write(self, position: int, *, exchange: bool) -> tuple[str, list[Operand], int] | None:
        """``ref[i] <- a`` and ``ref[i] += a``; exchanged: ``ref[i] <- ref[i], a``.

        The operands are in the order of the equation, value before indices.
        """
        operands, end = self.reference(position)
        arrow = scanner.WRITES.match(self.text, end) if end >= 0 else None
        if arrow is None:
            return None
        end = arrow.end()
        if exchange:
            _, end = self.reference(end)
            comma = scanner.COMMA.match(self.text, end) if end >= 0 else None
            if comma is None:
                return None
            end = comma.end()
        value = self.atom(end)
        if value is None:
            return None
        masks, end = self.masks(value.end)
        if masks:
            return "masked_swap", [*operands, value, *masks], end
        operands.insert(1, value)
        return "addupdate" if arrow[1] == "+=" else "swap", operands, end
