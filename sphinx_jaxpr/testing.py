"""Claims about jaxprs in the tests of a project: no Sphinx, no worker process.

    from sphinx_jaxpr.testing import assert_claims

    def test_dense():
        assert_claims(
            dense, "x=f32[8,16], w=f32[16,4]",
            transforms="grad(argnums=w), vmap",
            claims=["len(dense.grad[dot_general]) == 2", "dense.vmap.reshaped"],
        )

A test owns its process, so JAX traces in it: with the flags, devices and 64-bit
types that the test has set.  JAX is imported when something is traced, not before.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Final

from .program.facts import names_of
from .program.parser.parser import parse
from .program.query.base import View
from .program.query.blocks import QueryBlock
from .program.query.evaluate import evaluate, judge
from .program.query.explain import instead
from .program.query.syntax import PathError
from .program.query.views import Scope, Uses
from .program.text import spelled_all
from .tracing import grammar
from .tracing.files import JsonObject
from .tracing.grammar import GrammarError
from .tracing.request import Request, check_name, is_target, local_name, variants

__all__ = ["Traced", "assert_claims", "trace"]

_FOLDER: Final = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True, eq=False)
class Traced(Mapping[str, QueryBlock]):
    """The programs of a function by name: ``dense``, ``dense.grad``."""

    blocks: Mapping[str, QueryBlock]
    versions: Mapping[str, str]

    def __getitem__(self, name: str) -> QueryBlock:
        return self.blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def text(self, name: str) -> str:
        """What JAX printed of one program."""
        printed = self.blocks[name].printed
        return printed.text if printed is not None else ""

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, as plain data; :class:`ValueError` says why it has none.

        Equations and values are texts, collections of them tuples, ``uses`` is a number.
        """
        try:
            return _plain(evaluate(expression, self.scope).value)
        except PathError as error:
            raise ValueError(f"{expression}: {error.message}") from None

    def assert_claims(self, claims: Iterable[str]) -> None:
        """Raise one :class:`AssertionError` that names all claims that are false."""
        __tracebackhide__ = True
        listed = [claims] if isinstance(claims, str) else list(claims)
        found = [(claim, problem) for claim in listed if (problem := self._problem(claim))]
        if found:
            count = f"{len(found)} of {len(listed)} claims" if len(listed) > 1 else "the claim"
            verb = "is" if len(found) == 1 else "are"
            head = f"{count} {verb} false on JAX {self.versions['jax']}:"
            raise AssertionError("\n".join([head, *(f"  {c}\n    {p}" for c, p in found)]))

    def _problem(self, claim: str) -> str:
        """What is true where a claim is false, or why it can't be judged."""
        try:
            found = judge(claim, self.scope)
            said = "" if found.is_true else instead(claim, self.scope)
        except PathError as error:
            return error.message
        return "; ".join([said, *found.hints]) if said else ""

    @cached_property
    def scope(self) -> Scope:
        """What an expression may name."""
        known = (block.primitives for block in self.blocks.values())
        return Scope(self.blocks, self.versions, frozenset().union(*known))


def assert_claims(
    function: Callable[..., Any] | str,
    *args: Any,
    claims: Iterable[str],
    transforms: str = "",
    static: str = "",
    name: str = "",
    jit: bool = False,
    mesh: str = "",
) -> Traced:
    """Trace a function and what transforms make of it; fail where a claim is false.

    ``function`` is a callable, or ``"package.module:function"``.  The arguments are one
    text of specs as in the option ``args``, or arrays, ``jax.ShapeDtypeStruct`` and trees
    of these, of which types alone matter.  ``transforms``, ``static`` and ``mesh`` are
    written as in the directive ``jaxpr-transform``; claims are expressions of the language
    of paths, in which the function has its own name, or ``name``.  The answer can be asked
    further.
    """
    __tracebackhide__ = True
    found = trace(
        function, *args, transforms=transforms, static=static, name=name, jit=jit, mesh=mesh
    )
    found.assert_claims(claims)
    return found


def trace(
    function: Callable[..., Any] | str,
    *args: Any,
    transforms: str = "",
    static: str = "",
    name: str = "",
    jit: bool = False,
    mesh: str = "",
) -> Traced:
    """The programs of :func:`assert_claims`, without claims.

    What the function or a transform raises comes through; what is wrong with an option
    is a :class:`ValueError`.
    """
    __tracebackhide__ = True
    import jax

    from .worker.failures import RequestError
    from .worker.recorder import DependencyRecorder
    from .worker.targets.target import Target, resolve
    from .worker.tracer import Tracer

    recorder = DependencyRecorder(_FOLDER)  # never installed: it records nothing here
    tracer = Tracer(recorder, sys.path)
    try:
        if isinstance(function, str):
            if not is_target(function) or not {":", "."} & set(function):
                raise ValueError(f"{function!r} names no function; expected package.module:name")
            named = resolve(Request(function), recorder.load, tracer.roots)
            target = function
        else:
            named = Target(function, *_place(function))
            target = f"{named.module.__name__}:{named.name}"
        name = _checked(name, target)
        base = Request(
            target,
            _arguments(args),
            _parsed("static", static, grammar.static),
            jit=jit,
            mesh=_parsed("mesh", mesh, grammar.mesh),
        )
        chains = _parsed("transforms", transforms, grammar.transforms)
        requests = [("", base), *variants(base, chains, {})]
        blocks: dict[str, QueryBlock] = {}
        for label, request in requests:
            full = f"{name}.{label}" if label else name
            result: JsonObject = spelled_all(tracer.trace(request, named).to_json())
            blocks[full] = _block(full, result, blocks.get(name))
    except RequestError as error:
        raise ValueError(str(error)) from None
    versions = {"jax": jax.__version__, "python": ".".join(map(str, sys.version_info[:3]))}
    jaxlib = sys.modules.get("jaxlib")
    if jaxlib is not None:
        versions["jaxlib"] = jaxlib.__version__
    return Traced(blocks, versions)


def _plain(value: Any) -> Any:
    """A value without views: these compare and count in the language, not in Python."""
    if isinstance(value, (tuple, frozenset)):
        return type(value)(map(_plain, value))
    if not isinstance(value, View):
        return value
    members = value.members()
    if members is None:
        return value.words()
    return len(members) if isinstance(value, Uses) else tuple(map(_plain, members))


def _block(name: str, result: JsonObject, base: QueryBlock | None) -> QueryBlock:
    printed = parse(result["text"])
    count = len(printed.program.inputs) if printed.program is not None else 0
    return QueryBlock(name, printed, result["facts"], names_of(result, count), base)


def _arguments(args: tuple[Any, ...]) -> Any:
    """Specs from text, or abstract values of what was given."""
    if len(args) == 1 and isinstance(args[0], str):
        return _parsed("args", args[0], grammar.arguments)
    import jax

    from .worker.avals import abstract_leaf

    for place, argument in enumerate(args):
        if isinstance(argument, str):
            raise ValueError(
                f"argument {place} is the text {argument[:40]!r}: all specs stand in one text,"
                ' as in "x=f32[8], w=f32[8,4]"; a text is a static argument'
            )
    return tuple(("", jax.tree.map(abstract_leaf, argument)) for argument in args)


def _place(function: Callable[..., Any]) -> tuple[ModuleType, str]:
    """The module of a callable, from which dotted names in options start, and its name."""
    inner: Any = inspect.unwrap(function)
    while not hasattr(inner, "__name__") and hasattr(inner, "func"):  # a partial
        inner = inspect.unwrap(inner.func)
    shown = str(getattr(inner, "__name__", type(inner).__name__))
    module = sys.modules.get(getattr(inner, "__module__", "") or "")
    return module or ModuleType("tests"), shown if shown.isidentifier() else "f"


def _checked(name: str, target: str) -> str:
    if not name:
        return local_name(target)
    if problem := check_name(name, "name"):
        raise ValueError(problem)
    return name


def _parsed(option: str, text: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except GrammarError as error:
        raise ValueError(f"{option}: {error}, at {text[error.offset :][:30]!r}") from None
