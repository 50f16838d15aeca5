"""Claims about jaxprs in the tests of a project: no Sphinx, no worker process.

    from sphinx_jaxpr.testing import assert_claims

    def test_dense():
        assert_claims(
            dense, "x=f32[8,16], w=f32[16,4]",
            transforms="grad(argnums=w), vmap",
            claims=["len(dense.grad[dot_general]) == 2", "dense.vmap.reshaped"],
        )

A test owns its process, so JAX traces in it, with the flags, devices and 64-bit types that
the test has set.  JAX is imported only when something is traced.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, Final

from .block import TracedBlock
from .program.query.base import View
from .program.query.blocks import QueryBlock
from .program.query.evaluate import evaluate, judge
from .program.query.explain import explain
from .program.query.scope import Scope
from .program.query.syntax import PathError
from .program.query.views import Uses
from .program.text import clipped, spelled_all
from .tracing.making import called_target
from .tracing.options import TraceOptions, names_function, read_options
from .tracing.request import Request, check_name, local_name, variants
from .tracing.result import Result

__all__ = ["Traced", "assert_claims", "trace"]

_FOLDER: Final = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True, eq=False, repr=False)
class Traced(Mapping[str, QueryBlock]):
    """The programs of a function by name: ``dense``, ``dense.grad``."""

    blocks: Mapping[str, QueryBlock]
    versions: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<Traced {clipped(', '.join(self.blocks), 120)} on JAX {self.versions['jax']}>"

    def __getitem__(self, name: str) -> QueryBlock:
        return self.blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.blocks)

    def __len__(self) -> int:
        return len(self.blocks)

    def text(self, name: str) -> str:
        """The text that JAX printed for one program."""
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
        wrong = [(claim, problem) for claim in listed if (problem := self._problem(claim))]
        if wrong:
            count = f"{len(wrong)} of {len(listed)} claims" if len(listed) > 1 else "the claim"
            verb = "is" if len(wrong) == 1 else "are"
            head = f"{count} {verb} false on JAX {self.versions['jax']}:"
            raise AssertionError("\n".join([head, *(f"  {c}\n    {p}" for c, p in wrong)]))

    def _problem(self, claim: str) -> str:
        """What is true if a claim is false, or why it can't be judged."""
        try:
            answer = judge(claim, self.scope)
            problem = "" if answer.is_true else explain(claim, self.scope)
        except PathError as error:
            return error.message
        return "; ".join([problem, *answer.hints]) if problem else ""

    @cached_property
    def scope(self) -> Scope:
        """The scope of expressions."""
        primitives = (block.primitives for block in self.blocks.values())
        return Scope(self.blocks, self.versions, frozenset().union(*primitives))


def assert_claims(
    function: Callable[..., Any] | str,
    *args: Any,
    claims: Iterable[str],
    transforms: str = "",
    static: str = "",
    name: str = "",
    jit: bool = False,
    mesh: str = "",
    make: str = "",
    then: str = "",
) -> Traced:
    """Trace a function and its transforms; fail if a claim is false.

    ``function`` is a callable, or ``"package.module:function"``.  The arguments are one
    text of specs as in the option ``args``, or arrays, ``jax.ShapeDtypeStruct`` and trees
    of these, of which only the types matter.  ``transforms``, ``static``, ``mesh``, ``make``
    and ``then`` are written as in the directive ``jaxpr-transform``; claims are expressions of
    the language of paths, in which the function has its own name, or ``name``.  The result can
    evaluate further expressions.
    """
    __tracebackhide__ = True
    traced = trace(
        function,
        *args,
        transforms=transforms,
        static=static,
        name=name,
        jit=jit,
        mesh=mesh,
        make=make,
        then=then,
    )
    traced.assert_claims(claims)
    return traced


def trace(
    function: Callable[..., Any] | str,
    *args: Any,
    transforms: str = "",
    static: str = "",
    name: str = "",
    jit: bool = False,
    mesh: str = "",
    make: str = "",
    then: str = "",
) -> Traced:
    """The programs of :func:`assert_claims`, without claims.

    Exceptions of the function or a transform propagate; a wrong option is a
    :class:`ValueError`.
    """
    __tracebackhide__ = True
    import jax

    from .worker.failures import RequestError
    from .worker.recorder import DependencyRecorder
    from .worker.targets.target import Target, resolve
    from .worker.tracer import Tracer

    recorder = DependencyRecorder(_FOLDER)  # not installed, so it records nothing
    tracer = Tracer(recorder, sys.path)
    try:
        if isinstance(function, str):
            if not names_function(function):
                if (called := called_target(function)) is not None:
                    raise ValueError(f"{function!r}: {called.hint('{}={!r}')}")
                raise ValueError(
                    f"{function!r} does not name a function; expected package.module:name"
                )
            named = resolve(Request(function), recorder.load, tracer.roots)
            target = function
        else:
            named = Target(function, *_home(function))
            target = f"{named.module.__name__}:{named.name}"
        name = _checked(name, target)
        options = _options(
            args, static=static, transforms=transforms, mesh=mesh, make=make, then=then
        )
        base = options.request(target, jit=jit)
        requests = [("", base), *variants(base, options.transforms, {})]
        blocks: list[TracedBlock] = []
        for label, request in requests:
            full = f"{name}.{label}" if label else name
            result = Result.from_json(spelled_all(tracer.trace(request, named).to_json()))
            above = blocks[0] if label else None
            blocks.append(TracedBlock(full, label, result=result, base=above))
    except RequestError as error:
        raise ValueError(str(error)) from None
    versions = {"jax": jax.__version__, "python": ".".join(map(str, sys.version_info[:3]))}
    jaxlib = sys.modules.get("jaxlib")
    if jaxlib is not None:
        versions["jaxlib"] = jaxlib.__version__
    return Traced({block.name: block.query for block in blocks}, versions)


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


def _options(args: tuple[Any, ...], **texts: str) -> TraceOptions:
    """The options; ``args`` are one text of specs, or values of which only types matter."""
    is_text = len(args) == 1 and isinstance(args[0], str)
    options = read_options(args[0] if is_text else "", **texts)
    if options.problems:
        raise ValueError(str(options.problems[0]))
    return options if is_text else replace(options, args=_abstract(args))


def _abstract(args: tuple[Any, ...]) -> Any:
    """The types of arguments, without names."""
    import jax

    from .worker.avals import abstract_leaf

    for index, argument in enumerate(args):
        if isinstance(argument, str):
            raise ValueError(
                f"argument {index} is the text {argument[:40]!r}: write all specs in one text,"
                ' as in "x=f32[8], w=f32[8,4]"; texts are static arguments'
            )
    return tuple(("", jax.tree.map(abstract_leaf, argument)) for argument in args)


def _home(function: Callable[..., Any]) -> tuple[ModuleType, str]:
    """The module of a callable, from which dotted names in options start, and its name."""
    inner: Any = inspect.unwrap(function)
    while not hasattr(inner, "__name__") and hasattr(inner, "func"):  # a partial
        inner = inspect.unwrap(inner.func)
    name = str(getattr(inner, "__name__", type(inner).__name__))
    module = sys.modules.get(getattr(inner, "__module__", "") or "")
    return module or ModuleType("tests"), name if name.isidentifier() else "f"


def _checked(name: str, target: str) -> str:
    if not name:
        return local_name(target)
    if problem := check_name(name, "name"):
        raise ValueError(problem)
    return name
