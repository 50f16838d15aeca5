"""Arguments that a page makes by calls: ``Model(w=f32[2,3])``, ``init(params)``.  Imports JAX.

A call runs under a trace, as under ``jax.eval_shape``: its arrays are types, and nothing is
computed.  What is no array, in its arguments and in its result, stays the object that it is.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax

from ...program.text import shorten, words
from ...tracing.grammar import Aval, Call, Name, Ref, Value, nearest
from ...tracing.hints.arguments import made
from ...tracing.result import ErrorKind
from ...tracing.specs import call_source, nested_source
from ..avals import abstract_leaf, another, is_abstract, is_ref, only_mesh
from ..failures import Hint, RequestError
from ..stage import fresh
from .arguments import (
    NamedTrees,
    abstract,
    abstract_source,
    attribute,
    check_refs,
    concrete_source,
    number_source,
    plain_name,
    source_text,
    whole_source,
)
from .partition import is_mixed, is_traceable
from .reach import ReachableNames, Unreachable

#: From the traced inputs of a call to a value that it is given, or to its result.
_Maker: TypeAlias = Callable[[Sequence[Any]], Any]


class SpecifiedArguments:
    """The arguments of a directive as they are traced: abstract arrays and Python numbers.

    ``specs`` are trees whose leaves may be specs, by the parameter's name; ``labels`` has the
    author's name for each, ``fixed`` the static arguments, each with its source.  Specs are
    split over ``mesh``, or else over the mesh of the other arguments.  ``trees`` receives the
    structure of what each call makes, and its source.
    """

    def __init__(
        self,
        specs: Mapping[str, object],
        labels: Mapping[str, str],
        fixed: Mapping[str, tuple[Any, str]],
        names: ReachableNames,
        mesh: Any,
        trees: NamedTrees,
    ) -> None:
        check_refs(specs, labels)
        self.specs = {
            name: jax.tree.map(lambda leaf: leaf if _is_spec(leaf) else abstract_leaf(leaf), tree)
            for name, tree in specs.items()
        }
        leaves = [leaf for leaf in jax.tree.leaves(self.specs) if is_abstract(leaf)]
        self.mesh = mesh if mesh is not None else only_mesh(leaves)
        self.labels, self.fixed, self.names, self.trees = labels, fixed, names, trees
        self.own = {labels[name]: name for name in specs}
        self.made: dict[str, object] = {}
        self.open: list[str] = []  # the arguments that are being made

    def all(self) -> dict[str, object]:
        """Every argument by the name of its parameter."""
        return {name: self.of(name) for name in self.specs}

    def of(self, name: str) -> Any:
        """One argument, made when it is first asked for."""
        if name not in self.made:
            subject = self.labels[name]
            if name in self.open:
                chain = " -> ".join(self.labels[each] for each in [*self.open, name])
                raise refused(subject, f"the arguments need one another: {chain}")
            self.open.append(name)
            self.made[name] = jax.tree.map(lambda leaf: self._made(leaf, subject), self.specs[name])
            self.open.pop()
        return self.made[name]

    def parameter(self, text: str) -> str:
        """The parameter of the argument that a name in a call means, ``""`` for none."""
        return self.own.get(text, text if text in self.specs else "")

    def meaning(self, text: str, subject: str) -> Any:
        """What a name in a call means: an argument, or else an object that the page may name."""
        if parameter := self.parameter(text):
            return self.of(parameter)
        if text in self.fixed:
            return self.fixed[text][0]
        return attribute(self.names, text, "args", subject)

    def _made(self, leaf: Any, subject: str) -> Any:
        if isinstance(leaf, Call):
            return _TracedCall(self, subject).result(leaf)
        return abstract(leaf, self.mesh, subject) if _is_spec(leaf) else leaf


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, (Aval, Ref, Call))


def refused(subject: str, problem: str) -> RequestError:
    return RequestError(ErrorKind.OPTION, f"args: {subject}: {problem}", option="args")


class _TracedCall:
    """One call with all that it contains, made in one trace; ``inputs`` are the types of the
    arrays that it is given.
    """

    def __init__(self, arguments: SpecifiedArguments, subject: str) -> None:
        self.arguments = arguments
        self.subject = subject
        self.inputs: list[Any] = []

    def result(self, call: Call) -> Any:
        """What the call returns, with types for its arrays."""
        try:
            make = self._call(call)
        except RequestError as error:
            if not (spec := made(source_text(call))):
                raise
            raise RequestError(
                error.report.kind, f"{error}; for an array, write {spec}", option="args"
            ) from None
        types: list[tuple[Any, list[Any]]] = []

        def run(*traced: Any) -> None:
            leaves, structure = jax.tree.flatten(make(traced))
            types.append((structure, [self._type(leaf, traced) for leaf in leaves]))

        try:
            jax.make_jaxpr(run)(*self.inputs)
            structure, leaves = types[0]
            result = jax.tree.unflatten(structure, leaves)
        except Exception as error:
            text = words(source_text(call), 60)
            error.add_note(Hint(f"raised by {text}, which makes the argument {self.subject!r}"))
            raise
        if structure == jax.tree.structure(0) and not is_traceable(leaves[0]):
            raise refused(self.subject, _no_tree(call.name, leaves[0]))
        source = CallSource(self.arguments)
        text = source.concrete(call) if is_mixed(result) else source.abstract(call)
        self.arguments.trees.append((structure, text))
        return result

    def _type(self, leaf: Any, traced: Sequence[Any]) -> Any:
        for value, abstract_value in zip(traced, self.inputs, strict=True):
            if leaf is value:
                return another(abstract_value) if is_ref(abstract_value) else abstract_value
        return abstract_leaf(leaf)

    def _value(self, value: Value) -> _Maker:
        if isinstance(value, Call):
            return self._call(value)
        if isinstance(value, (Aval, Ref)):
            return self._traced(abstract(value, self.arguments.mesh, self.subject))
        if isinstance(value, Name):
            return self._traced(self.arguments.meaning(value.text, self.subject))
        if type(value) is dict:
            makers = {key: self._value(item) for key, item in value.items()}
            return lambda traced: {key: make(traced) for key, make in makers.items()}
        if isinstance(value, (tuple, list)):
            kind, items = type(value), [self._value(item) for item in value]
            return lambda traced: kind(make(traced) for make in items)
        return lambda traced: value

    def _traced(self, tree: Any) -> _Maker:
        """A tree whose arrays are inputs of the trace; one without arrays is left as it is."""
        leaves, structure = jax.tree.flatten(tree)
        slots: list[tuple[bool, Any]] = []
        for leaf in map(abstract_leaf, leaves):
            slots.append((is_abstract(leaf), len(self.inputs) if is_abstract(leaf) else leaf))
            self.inputs += [leaf] if is_abstract(leaf) else []
        if not any(is_input for is_input, _ in slots):
            return lambda traced: tree
        return lambda traced: jax.tree.unflatten(
            structure, [traced[slot] if is_input else slot for is_input, slot in slots]
        )

    def _call(self, call: Call) -> _Maker:
        names = self.arguments.names
        function = attribute(names, call.name, "args", self.subject)
        if not callable(function):
            kind = type(function).__name__
            raise refused(self.subject, f"{call.name!r} is of type {kind}: it can't be called")
        try:
            names.check_call(function, call.name)
        except Unreachable as error:
            raise refused(self.subject, str(error)) from None
        if problem := _problem(function, call):
            raise refused(self.subject, problem)
        given = [self._value(value) for value in call.arguments]
        named = {key: self._value(value) for key, value in call.keywords}
        return lambda traced: function(
            *(make(traced) for make in given),
            **{key: make(traced) for key, make in named.items()},
        )


class CallSource:
    """Calls in specs as Python source.

    ``parameters`` are the words for arrays and for other arguments in the source of one call,
    each with the source of its value.
    """

    def __init__(self, arguments: SpecifiedArguments) -> None:
        self.arguments = arguments
        self.parameters: dict[str, str] = {}

    def abstract(self, call: Call) -> str:
        """Source for the types that a call returns."""
        text = self._text(call, self._parameter)
        if not self.parameters:
            return f"jax.eval_shape(lambda: {text})"
        names, values = ", ".join(self.parameters), ", ".join(self.parameters.values())
        name = plain_name(call.name)
        function = name if text == f"{name}({names})" else f"lambda {names}: {text}"
        return f"jax.eval_shape({function}, {values})"

    def concrete(self, call: Call) -> str:
        """Source for what a call returns, given arrays."""
        trees = self.arguments.trees
        return self._text(call, lambda value, _: concrete_source(value, trees))

    def _parameter(self, value: Any, wanted: str) -> str:
        taken = (*self.parameters, *self.arguments.own)
        name = wanted or fresh(taken, f"x{len(self.parameters)}")
        self.parameters[name] = abstract_source(value, self.arguments.trees)
        return name

    def _text(self, value: Value, word: Callable[[Any, str], str]) -> str:
        """``word`` gives the source of an abstract value, and of another argument by its name."""

        def source(inner: Value) -> str:
            return self._text(inner, word)

        if isinstance(value, Call):
            return call_source(value, source, plain_name(value.name))
        if isinstance(value, (Aval, Ref)):
            return word(abstract(value, self.arguments.mesh), "")
        if isinstance(value, Name):
            return self._name(value.text, word)
        return nested_source(value, source) or number_source(value)

    def _name(self, text: str, word: Callable[[Any, str], str]) -> str:
        arguments = self.arguments
        if parameter := arguments.parameter(text):
            tree = arguments.of(parameter)
            return whole_source(tree, arguments.trees) if is_mixed(tree) else word(tree, text)
        return arguments.fixed[text][1] if text in arguments.fixed else plain_name(text)


# --- what is wrong with a call


def _problem(function: Callable[..., Any], call: Call) -> str:
    """Why a call does not fit the parameters of its function, ``""`` if it does."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""  # its signature is unknown
    try:
        signature.bind(*call.arguments, **dict(call.keywords))
    except TypeError as error:
        problem = str(error)
    else:
        return ""
    parameters = signature.parameters
    has_fields = dataclasses.is_dataclass(function) or hasattr(function, "_fields")
    noun = "field" if has_fields else "parameter"
    listed = f"its {noun}s are {', '.join(parameters)}" if parameters else f"it has no {noun}s"
    given = dict(call.keywords)
    unknown = [key for key in given if key not in parameters]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        close = nearest(unknown[0], parameters)
        return f"{call.name} has no {noun} {shorten(unknown[0])}{close}; {listed}"
    positional = [p.name for p in parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    given.update(dict.fromkeys(positional[: len(call.arguments)]))
    missing = [
        p.name
        for p in parameters.values()
        if p.default is p.empty
        and p.name not in given
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if missing:
        lacking = ", ".join(map(repr, missing))
        return f"{call.name} needs {lacking} too, as in {missing[0]}=f32[8]; {listed}"
    return f"{call.name}: {problem}; {listed}"


def _no_tree(name: str, made: Any) -> str:
    kind = type(made).__name__
    if callable(made) or type(made).__module__ in ("builtins", "types"):
        return f"{name} returns a {kind}, not arrays; an argument that isn't traced goes in static"
    return (
        f"{name} makes a {kind}, which JAX can't take apart: register the class,"
        f" as with jax.tree_util.register_dataclass({kind})"
    )
