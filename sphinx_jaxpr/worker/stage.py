"""A function on its way through the transforms, and the call that creates it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import jax

from ..tracing.grammar import Name, nearest
from ..tracing.result import ErrorKind, Pairs
from .avals import results
from .failures import RequestError

#: A string, a name behind a dot or a keyword of a call as a whole, or else a word.
_WORD: Final = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\.\w+|\w+=(?!=)|\w+""")

#: The options of a transform by name.
Options: TypeAlias = dict[str, Any]


@dataclass
class Stage:
    """A function of positional arguments, its abstract arguments, its source.

    ``names`` has one name per argument.  ``call`` is a Python expression for
    ``fn`` (``jax.grad(lambda x: f(x).sum())``); ``applied`` is that function
    applied to its names (``f(x, n=3)``).  ``tangents`` are the positions of
    arguments that a transform, this one or one before, introduced as tangents;
    ``cotangents`` the same for cotangents.
    ``own`` has the author's name for an argument if the call uses another;
    ``trees`` the structures of the objects that the page names, and the source of each;
    ``made`` the words in ``call`` for objects that the page makes, and the source of each.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    names: tuple[str, ...]
    call: str
    applied: str
    tangents: frozenset[int] = frozenset()
    cotangents: frozenset[int] = frozenset()
    result: Any = field(default=None, repr=False)  # abstract; None until computed
    like: Stage | None = field(default=None, repr=False)  # a stage with the same result
    own: Mapping[str, str] = field(default_factory=dict)
    trees: tuple[tuple[Any, str], ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    #: Leaves that a transform left out of differentiation, each with its type.
    undifferentiated: Pairs = ()

    @property
    def source(self) -> str:
        """``call`` as an expression that needs no other: what the page makes is made first."""
        if not self.made:
            return self.call
        if "lambda" not in self.call:  # nothing is made while the function is traced
            made = dict(self.made)
            return _WORD.sub(lambda word: made.get(word[0], word[0]), self.call)
        text = self.call
        for word, source in reversed(self.made):  # a source may contain the words before it
            text = f"(lambda {word}: {text})({source})"
        return text

    @classmethod
    def of(
        cls,
        fn: Callable[..., Any],
        args: Sequence[Any],
        names: Sequence[str],
        call: str,
        tangents: frozenset[int] = frozenset(),
    ) -> Stage:
        """A stage whose ``applied`` is the plain application of ``call``."""
        function = f"({call})" if call.startswith("lambda") else call
        return cls(fn, tuple(args), tuple(names), call, f"{function}({', '.join(names)})", tangents)

    @classmethod
    def written(
        cls,
        fn: Callable[..., Any],
        args: Sequence[Any],
        names: Sequence[str],
        body: str,
        tangents: frozenset[int] = frozenset(),
    ) -> Stage:
        """A stage for ``lambda names: body``, as which JAX prints it."""

        def anonymous(*values: Any) -> Any:
            return fn(*values)

        anonymous.__name__ = anonymous.__qualname__ = "<lambda>"
        parameters = f" {', '.join(names)}" if names else ""
        call = f"lambda{parameters}: {body}"
        return cls(anonymous, tuple(args), tuple(names), call, body, tangents)

    @property
    def known_as(self) -> tuple[str, ...]:
        """The names of the arguments for the author, each valid in the language of paths."""
        own = (self.own.get(name, name) for name in self.names)
        pairs = zip(own, self.names, strict=True)
        return tuple(name if keyword.iskeyword(word) else word for word, name in pairs)

    @property
    def inputs(self) -> Pairs:
        """Argument and leaf for each flattened input, in JAX's own words: ``params['w']``."""
        return tuple(
            (name, name + jax.tree_util.keystr(path))
            for name, arg in zip(self.known_as, self.args, strict=True)
            for path, _ in jax.tree_util.tree_flatten_with_path(arg)[0]
        )

    def after(self, before: Stage) -> Stage:
        """This stage after one whose arguments its own begin with; those keep their roles."""
        self.tangents |= before.tangents
        self.cotangents |= before.cotangents
        self.own = {**before.own, **self.own}
        self.trees, self.made = before.trees, before.made
        self.undifferentiated = tuple(
            dict.fromkeys((*before.undifferentiated, *self.undifferentiated))
        )
        return self

    @property
    def out(self) -> Any:
        """The abstract result, traced once."""
        if self.known is None:
            self.result = results(*jax.make_jaxpr(self.fn, return_shape=True)(*self.args))
        return self.known

    @property
    def known(self) -> Any:
        """The abstract result as far as it was traced, here or in a stage like this one."""
        if self.result is None and self.like is not None:
            self.result = self.like.known
        return self.result

    def returning(self, before: Stage) -> Stage:
        """This stage, whose result has the same type as that of ``before``."""
        self.like = before
        return self

    def position(self, value: Any, option: str) -> int:
        """An argument that an option names, as a position."""
        if isinstance(value, Name) or (isinstance(value, str) and not value.isdigit()):
            text = value.text if isinstance(value, Name) else value
            for names in ([self.own.get(name, name) for name in self.names], self.names):
                if text in names:
                    return names.index(text)
            listed = self.known_as
            raise RequestError(
                ErrorKind.OPTION,
                f"{option} names {text!r}, which is not an argument"
                f"{nearest(text, listed)} (arguments: {', '.join(listed) or 'none'})",
            )
        if isinstance(value, int) and not isinstance(value, bool):
            if not -len(self.args) <= value < len(self.args):
                raise RequestError(
                    ErrorKind.OPTION,
                    f"{option}={value}: there are {len(self.args)} arguments"
                    f" ({', '.join(self.names) or 'none'})",
                )
            return value % len(self.args)
        raise RequestError(
            ErrorKind.OPTION, f"{option} must be an argument's name or position, not {value!r}"
        )

    def positions(self, value: Any, option: str) -> tuple[int, ...] | int:
        """One position, or several where the option is a tuple."""
        if isinstance(value, (tuple, list)):
            return tuple(self.position(item, option) for item in value)
        return self.position(value, option)

    def need(self, transform: str) -> None:
        """Refuse a transform that needs an argument if there is none."""
        if not self.args:
            raise RequestError(ErrorKind.OPTION, f"{transform} needs a function with an argument")


def positive(options: Options, key: str, default: int) -> int:
    """An option that is a positive number."""
    value = options.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestError(ErrorKind.OPTION, f"{key} must be a positive number, not {value!r}")
    return value


def flag(options: Options, key: str, default: bool) -> bool:
    """An option that is ``True`` or ``False``."""
    value = options.get(key, default)
    if not isinstance(value, bool):
        raise RequestError(ErrorKind.OPTION, f"{key} must be True or False, not {value!r}")
    return value


def fresh(names: tuple[str, ...], wanted: str) -> str:
    """``wanted``, made different from all ``names``."""
    while wanted in names:
        wanted += "_"
    return wanted
