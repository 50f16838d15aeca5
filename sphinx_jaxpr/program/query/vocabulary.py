"""Texts of closed vocabularies: primitives, phases, origins, dtypes, names of parameters.

A value of such a kind is a :class:`Word`.  A text that is compared with one is looked
up in its vocabulary first: a misspelt word is an error, not a verdict, and an old name
means what it is called now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from difflib import SequenceMatcher
from typing import Any, ClassVar

from ..dtypes import MEANT_DTYPES, all_dtypes, is_dtype, is_known_dtype, long_dtype, short_dtype
from ..functions import primitives_of, printed_for
from ..glossary.glossary import builtin
from ..renames import table
from ..text import similar
from .base import Asking, View
from .blocks import CONSTANT, EQUATION, INPUT, LITERAL
from .syntax import PathError, nearest

# --- the parameters of an equation as paths see them


class ParametersView(View):
    """The parameters of one equation, by name."""

    __slots__ = ("names", "primitive", "value")
    primitive: str
    names: tuple[str, ...]
    value: Callable[[str], Any]

    def __init__(
        self,
        path: str,
        key: tuple[Any, ...],
        primitive: str,
        names: Iterable[str],
        value: Callable[[str], Any],
    ) -> None:
        super().__init__(path, key)
        object.__setattr__(self, "primitive", primitive)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "value", value)

    @property
    def what(self) -> str:
        return "the parameters of an equation"

    def attribute(self, name: str, asking: Asking) -> Any:
        raise PathError(f"a parameter is written in brackets: `{self.path}[{name}]`")

    def has(self, name: str, asking: Asking) -> bool:
        """Whether there is a parameter of this name, or of the one that it became."""
        ParameterName.check(name, asking)
        if name in self.names:
            return True
        if real := table().parameter(self.primitive, name, self.names):
            asking.hint(f"the parameter `{name}` of `{self.primitive}` is `{real}` here")
        elif hint := table().hint(self.primitive, name):
            asking.hint(hint)
        return bool(real)

    def item(self, key: Any, asking: Asking) -> Any:
        if not isinstance(key, str):
            raise PathError(f"a parameter has a name, not a position: `{self.path}[name]`")
        asking.spend(20)
        if key in self.names:
            return self.value(key)
        real = table().parameter(self.primitive, key, self.names)
        hint = table().hint(self.primitive, key)
        if real:
            asking.hint(f"the parameter `{key}` of `{self.primitive}` is `{real}` here")
            return self.value(real)
        near = nearest(key, self.names) or f" (it has: {', '.join(self.names) or 'none'})"
        raise PathError(
            f"`{self.primitive}` has no parameter `{key}`{f'; {hint}' if hint else near}"
        )

    def members(self) -> tuple[ParameterName, ...]:
        return tuple(map(ParameterName, self.names))

    def words(self) -> str:
        return ", ".join(self.names)


# --- texts of closed vocabularies: primitives, phases, origins, dtypes, names of parameters


class Word(str):
    """A text out of a closed vocabulary; words of one kind are equal by their ``key``."""

    __slots__ = ()
    what: ClassVar[str] = "word"

    @property
    def key(self) -> str:
        """What makes it the same word."""
        return str(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Word):
            return self.what == other.what and self.key == other.key
        return str.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.key)

    def means(self, text: str, asking: Asking) -> bool:
        """Whether a text is a name of this word; an error where it is not a name of any word."""
        self.check(text, asking)
        return self.key == text

    def has(self, part: str) -> bool:
        """Whether a text is part of it."""
        return part in str(self)

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        """An error that names the nearest word, where ``text`` is none."""
        raise NotImplementedError

    @classmethod
    def check_part(cls, text: str, asking: Asking) -> None:
        """The same where ``text`` is looked for inside of the word."""

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        """All words that there are."""
        raise NotImplementedError


class PartWord(str):
    """Some letters of a word, by their place: of a kind of words, as ``e.dtype[0]``."""

    __slots__ = ("kind", "span")
    kind: type[Word]
    span: slice

    def check(self, text: str, asking: Asking) -> None:
        """An error where no word has ``text`` in this place."""
        key = self.kind, self.span.start, self.span.stop, self.span.step
        if key not in asking.pieces:
            words = {*self.kind.known(asking)}
            asking.spend(len(words))
            asking.pieces[key] = frozenset(word[self.span] for word in words)
        if text not in asking.pieces[key]:
            near = near_word(text, sorted(asking.pieces[key] - {""}))
            raise PathError(
                f'no {self.kind.what} has "{text[:80]}" in this place'
                + (f' (did you mean "{near}"?)' if near else "")
            )


def part_of(word: Word, index: slice | int) -> str:
    """Letters of a word."""
    if isinstance(index, int):
        index = slice(index, index + 1 or None)
    part = PartWord(str(word)[index])
    part.kind, part.span = type(word), index
    return part


def unknown_word(noun: str, text: str, near: str, listed: Iterable[str] = ()) -> PathError:
    """``unknown phase `backward` (did you mean `transpose`?)``, and what there is."""
    message = f"unknown {noun} `{text[:80]}`"
    if near:
        message += f" (did you mean `{near}`?)"
    names = ", ".join(f"`{name}`" if name else '`""`' for name in listed)
    return PathError(f"{message}; expected one of {names}" if names else message)


def near_word(text: str, words: Iterable[str]) -> str:
    """The most similar word, or ``""``; of equals the one with the same beginning."""
    near = [word for word in similar(text, words, count=5) if _ratio(text, word) > 0.6]
    return max(near, key=lambda word: _likeness(text, word), default="")


def _likeness(text: str, word: str) -> float:
    start = next((n for n, (a, b) in enumerate(zip(text, word, strict=False)) if a != b), len(word))
    swapped = sorted(text) == sorted(word)
    return _ratio(text, word) + start / 20 + swapped / 4


def _ratio(text: str, word: str) -> float:
    return SequenceMatcher(None, word, text[:80]).ratio()


# -- primitives ---------------------------------------------------------------------------


class Primitive(Word):
    """The name of a primitive in a block with the primitives ``present``."""

    __slots__ = ("present",)
    what = "primitive"
    present: Collection[str]

    def __new__(cls, name: str, present: Collection[str]) -> Primitive:
        word = super().__new__(cls, name)
        word.present = present
        return word

    def means(self, text: str, asking: Asking) -> bool:
        if self.key == text:
            return True
        self.check(text, asking)
        is_meant = self.key in table().present_names(text, self.present)
        if is_meant:
            asking.hint(f"the primitive `{text}` is `{self.key}` here")
        return is_meant

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        if asking.knows(text):
            return
        entry = builtin().entry(text)
        if entry is not None:
            raise PathError(f"`{text}` is not a primitive; JAX prints `{entry.name}`")
        near = near_primitive(text, asking)
        several = len(primitives_of(text)) > 1
        error = unknown_word("primitive", text, "" if several else near)
        if several:
            error = PathError(f"{error}; {printed_for(text)}")
        elif not near:
            error = PathError(f"{error}; declare your own in `jaxpr_glossary`")
        raise error

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        named = (name for group in table().primitives for name in group)
        here = (name for block in asking.mentioned for name in block.primitives)
        return {*asking.primitives, *named, *here}

    @classmethod
    def check_part(cls, text: str, asking: Asking) -> None:
        if not any(text in name for name in cls.known(asking)):
            near = near_primitive(text, asking)
            raise PathError(
                f'no primitive has "{text[:80]}" in its name'
                + (f" (did you mean `{near}`?)" if near else "")
            )


def near_primitive(text: str, asking: Asking) -> str:
    """The known primitive that ``text`` may have been meant to be, or ``""``."""
    here = {name for block in asking.mentioned for name in block.primitives}
    return nearest_primitive(text, here | asking.primitives)


def nearest_primitive(text: str, names: Collection[str]) -> str:
    """The one of ``names`` that ``text`` may have been meant to be, or ``""``.

    A name may have its module, ``lax.exp``, or be that of JAX's object, ``exp_p``.
    """
    bare = text.rpartition(".")[2]
    for name in (bare, bare.removesuffix("_p")):
        if name != text and name in names:
            return name
    printed = primitives_of(text)
    return printed[0] if printed else near_word(bare.lower(), sorted(names))


# -- phases, origins ----------------------------------------------------------------------


class Listed(Word):
    """A word out of a short list; ``meant`` are words that authors write instead."""

    __slots__ = ()
    words: ClassVar[tuple[str, ...]] = ()
    meant: ClassVar[dict[str, str]] = {}

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        if text not in cls.words:
            near = cls.meant.get(text.lower(), near_word(text.lower(), cls.words)) or (
                '""' if text.lower() in cls.meant else ""
            )
            raise unknown_word(cls.what, text, near, cls.words)

    @classmethod
    def check_part(cls, text: str, asking: Asking) -> None:
        if not any(text in word for word in cls.words):
            cls.check(text, asking)

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        return cls.words


class Phase(Listed):
    """A phase of differentiation; empty where an equation has none."""

    __slots__ = ()
    what = "phase"
    words = ("forward", "tangent", "transpose", "recomputed", "")
    meant: ClassVar = {
        "backward": "transpose",
        "backwards": "transpose",
        "bwd": "transpose",
        "cotangent": "transpose",
        "reverse": "transpose",
        "fwd": "forward",
        "primal": "forward",
        "jvp": "tangent",
        "linear": "tangent",
        "remat": "recomputed",
        "rematerialized": "recomputed",
        "checkpoint": "recomputed",
        "none": "",
    }


class Origin(Listed):
    """Where a value comes from."""

    __slots__ = ()
    what = "origin"
    words = (INPUT, CONSTANT, LITERAL, EQUATION)
    meant: ClassVar = {
        "argument": INPUT,
        "arg": INPUT,
        "parameter": INPUT,
        "param": INPUT,
        "invar": INPUT,
        "const": CONSTANT,
        "constvar": CONSTANT,
        "captured": CONSTANT,
        "closure": CONSTANT,
        "number": LITERAL,
        "scalar": LITERAL,
        "eqn": EQUATION,
        "result": EQUATION,
        "output": EQUATION,
        "intermediate": EQUATION,
    }


# -- dtypes -------------------------------------------------------------------------------


class Dtype(Word):
    """A dtype, equal by each of its names: ``f32`` and ``float32``."""

    __slots__ = ()
    what = "dtype"

    @property
    def key(self) -> str:
        return short_dtype(str(self))

    def means(self, text: str, asking: Asking) -> bool:
        self.check(text, asking)
        return self.key == short_dtype(text)

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        if is_known_dtype(text) or not text:  # which nothing has: `e.dtype != ""`
            return
        if not any(short_dtype(text) in block.dtypes for block in asking.mentioned):
            bare = text.rpartition(".")[2]
            near = bare if is_dtype(bare) and bare != text else MEANT_DTYPES.get(bare.lower(), "")
            raise unknown_word(
                "dtype", text, near or short_dtype(near_word(bare.lower(), all_dtypes()))
            )

    @classmethod
    def check_part(cls, text: str, asking: Asking) -> None:
        if not any(text in name for name in all_dtypes()):
            cls.check(text, asking)

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        here = (name for block in asking.mentioned for name in block.dtypes)
        return {*all_dtypes(), *here}

    def has(self, part: str) -> bool:
        return part in self.key or part in long_dtype(self.key)


# -- parameters ---------------------------------------------------------------------------


class ParameterName(Word):
    """The name of a parameter."""

    __slots__ = ()
    what = "parameter"

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        blocks = asking.mentioned
        if text not in table().spoken and not any(text in block.parameters for block in blocks):
            here = {name for block in blocks for name in block.parameters}
            near = near_word(text, sorted(here)) or near_word(text, sorted(table().spoken))
            raise unknown_word("parameter", text, near)

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        here = (name for block in asking.mentioned for name in block.parameters)
        return {*table().spoken, *here}
