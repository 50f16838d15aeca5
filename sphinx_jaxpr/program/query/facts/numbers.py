"""Numbers of a program that compare by rules of their own: literals, and positions."""

from __future__ import annotations

import math
from typing import Any, Final

from ...rounding import rounded, shortest
from ..syntax import PathError

#: How an expression writes numbers that it has no digits for.
NOT_FINITE: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
#: What a number may be rounded to whose dtype is not printed.
_LIKELY: Final = ("f32", "bf16", "f16")


def check_number(text: str) -> None:
    """An error for a text that is the name of no number."""
    if text not in NOT_FINITE:
        raise PathError(
            f'`"{text[:40]}"` is a text, and the value of a literal is a number; only "inf",'
            ' "-inf" and "nan" are written as texts'
        )


class LiteralNumber(float):
    """The number of a literal with a floating-point dtype; ``dtype`` is ``""`` if unknown.

    It is the shortest number that rounds to the literal: 0.1 for ``0.10000000149011612:f32[]``.
    A number equals it that rounds to the same; two literals are equal where both are ``exact``-ly
    so.  NaN equals NaN, as an author means it.
    """

    exact: float
    dtype: str

    def __new__(cls, printed: float, dtype: str) -> LiteralNumber:
        exact = rounded(printed, dtype)  # a weakly typed one is printed as Python has it
        number = super().__new__(cls, shortest(exact, dtype))
        number.exact, number.dtype = exact, dtype
        return number

    def rounds(self, other: float) -> float:
        """Another number as this one's dtype has it."""
        if isinstance(other, LiteralNumber):
            return other.exact
        number = rounded(float(other), self.dtype)
        if self.dtype or number == self.exact:
            return number
        if any(rounded(number, dtype) == self.exact for dtype in _LIKELY):
            raise PathError(
                f"the text shows {self.exact!r} without a dtype, so whether that is {number!r} is"
                " unknown"
            )
        return number

    def is_called(self, text: str) -> bool:
        """Whether it is ``"inf"``, ``"-inf"`` or ``"nan"``; an error for any other text."""
        check_number(text)
        return self == NOT_FINITE[text]

    def ordered(self, other: Any) -> tuple[float, float]:
        """Both numbers as they compare; NaN has no order."""
        pair = self.exact, self.rounds(other)
        if any(map(math.isnan, pair)):
            raise PathError("NaN is neither less nor greater than a number")
        return pair

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, float)) or isinstance(other, bool):
            return False
        number = self.rounds(other)
        return number == self.exact or (math.isnan(number) and math.isnan(self.exact))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(0.0 if math.isnan(self) else float(self))

    def __lt__(self, other: Any) -> bool:
        left, right = self.ordered(other)
        return left < right

    def __le__(self, other: Any) -> bool:
        left, right = self.ordered(other)
        return left <= right

    def __gt__(self, other: Any) -> bool:
        left, right = self.ordered(other)
        return left > right

    def __ge__(self, other: Any) -> bool:
        left, right = self.ordered(other)
        return left >= right


class EquationIndex(int):
    """The position of an equation in its program; ``program`` identifies that, ``path`` shows it.

    Positions in one program compare with each other and with numbers; in two programs they
    have nothing in common, so that comparing them is an error.
    """

    program: tuple[int, int]
    path: str

    def __new__(cls, value: int, program: tuple[int, int], path: str) -> EquationIndex:
        position = super().__new__(cls, value)
        position.program, position.path = program, path
        return position

    def check(self, other: object) -> None:
        """An error where the other is a position in another program."""
        if isinstance(other, EquationIndex) and other.program != self.program:
            raise PathError(
                f"`{self.path}` and `{other.path}` are positions in different programs, which"
                " have no common order"
            )

    def __eq__(self, other: object) -> bool:
        self.check(other)
        return int.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __lt__(self, other: int) -> bool:
        self.check(other)
        return int(self) < int(other)

    def __le__(self, other: int) -> bool:
        self.check(other)
        return int(self) <= int(other)

    def __gt__(self, other: int) -> bool:
        self.check(other)
        return int(self) > int(other)

    def __ge__(self, other: int) -> bool:
        self.check(other)
        return int(self) >= int(other)

    def __add__(self, other: Any) -> Any:
        return self.moved(int(self) + other, other)

    def __radd__(self, other: Any) -> Any:
        return self.moved(other + int(self), other)

    def __sub__(self, other: Any) -> Any:
        self.check(other)
        return self.moved(int(self) - other, other)

    def moved(self, value: Any, by: object) -> Any:
        """A position so many equations away; the distance of two positions is a number."""
        if isinstance(by, EquationIndex) or not isinstance(value, int):
            return int(value) if isinstance(value, int) else value
        return EquationIndex(value, self.program, self.path)
