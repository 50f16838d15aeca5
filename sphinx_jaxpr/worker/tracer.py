"""Carries out one request: target, arguments, transforms, trace, facts.  Imports JAX."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax
from jax.sharding import AbstractMesh

from ..program.facts import RESULT
from ..tracing.grammar import Aval, Call, Name, Ref, Step, nearest
from ..tracing.hints.meant import meant_array
from ..tracing.jobs import PAGE
from ..tracing.request import Request
from ..tracing.result import ErrorKind, FunctionSource, Pairs, Result, TracedProgram
from .avals import NO_MESH, current, mesh_of, plain, results, under
from .facts import facts
from .facts.jaxprs import is_jaxpr, open_jaxpr
from .failures import Hint, RequestError, is_python, message_of, printable
from .recorder import DependencyRecorder
from .stage import Options, Stage
from .targets.arguments import (
    abstract_source,
    attribute,
    call,
    describe,
    plain_name,
    source_text,
)
from .targets.binding import bind
from .targets.factories import hint_at_result, make
from .targets.option_names import OptionNames
from .targets.page import PageCode
from .targets.reach import is_passed
from .targets.target import (
    Target,
    check_allowed,
    load_module,
    modules_around,
    resolve,
)
from .transforms.table import BUILTIN

# --- hints for errors that the page can fix

#: Messages of JAX and Python if a traced value should have been static.
_STATIC = re.compile(
    r"Non-hashable static arguments|nondiff_argnums|Shapes must be 1D sequences of concrete"
)

#: Messages where that is only likely.
_LIKELY = re.compile(
    r"unhashable type: '\w*Tracer'|must have __hash__ and __eq__|must (be|have) static"
    r"|unsupported operand type\(s\) for \*: '(list|tuple|str)' and '\w*Tracer'"
)
_NUMBERS = (bool, int, float, complex)
_CONCRETE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerArrayConversionError,
)


@contextmanager
def hinting(request: Request) -> Iterator[None]:
    """Add a hint to an exception that the request is likely to have caused."""
    try:
        yield
    except Exception as error:
        if hint := _static_hint(error, request) or _shape_hint(request):
            error.add_note(Hint(hint))
        raise


def _static_hint(error: Exception, request: Request) -> str:
    text = message_of(error)
    sure = _STATIC.search(text) is not None
    if not sure and not isinstance(error, _CONCRETE) and not _LIKELY.search(text):
        return ""
    plain = [
        (name or str(position), value)
        for position, (name, value) in enumerate(request.args)
        if not _holds_array(value)
    ]
    if plain:
        listed = ", ".join(f"{name}={source_text(value)[:40]}" for name, value in plain)
        return f"args are traced; give what the function needs as it is in static: {listed}"
    return "args are traced; give what must not be in static" if sure else ""


@contextmanager
def hinting_at_numbers(stage: Stage) -> Iterator[None]:
    """Add a hint to an exception that a traced number of an object is likely to have caused."""
    try:
        yield
    except _CONCRETE as error:
        if names := [
            leaf for arg in zip(stage.known_as, stage.args, strict=True) for leaf in _numbers(*arg)
        ]:
            error.add_note(
                Hint(
                    f"{names[0]} is traced, like each number and flag of an object in args; to"
                    " keep it as it is, give the object in static"
                )
            )
        raise


def _numbers(name: str, arg: Any) -> list[str]:
    """The names of the leaves of an object that are plain numbers or flags."""
    if type(arg) in (dict, list, tuple) or isinstance(arg, _NUMBERS):
        return []
    leaves = jax.tree_util.tree_flatten_with_path(arg)[0]
    return [
        name + jax.tree_util.keystr(path) for path, leaf in leaves if isinstance(leaf, _NUMBERS)
    ]


def _shape_hint(request: Request) -> str:
    """A hint for tuples of numbers that may have been meant as shapes."""
    shapes = [(name, value) for name, value in request.args if meant_array(value)]
    if not shapes:
        return ""
    specs = ", ".join(f"{name}={meant_array(v)}" if name else meant_array(v) for name, v in shapes)
    return f"{source_text(shapes[0][1])} is a tuple of numbers; for an array write {specs}"


def _holds_array(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_holds_array, value))
    if isinstance(value, dict):
        return any(map(_holds_array, value.values()))
    return isinstance(value, (Aval, Ref, Call))


# --- requests

#: How many stages are cached, so that the variants of a directive share their common steps.
KEPT_STAGES = 64


class Tracer:
    """Traces requests; one per worker process."""

    def __init__(self, recorder: DependencyRecorder, roots: Sequence[str]) -> None:
        self.recorder = recorder
        self.roots = list(roots)
        self.stages: OrderedDict[str, Stage] = OrderedDict()
        self.texts: dict[tuple[str, ...], list[ModuleType]] = {}
        self.page = PageCode()
        self.partial = Result()

    def prepare(self, request: Request, importing: Callable[[str], None]) -> Target:
        """Import the target: the step that runs the modules' own code.

        ``importing`` is called with the name of each module before its import.
        """

        def load(name: str) -> ModuleType:
            importing(name)
            return load_module(name, self.recorder, self.roots)

        def load_allowed(name: str) -> ModuleType:
            check_allowed(name, request.allowed)
            return load(name)

        for _, path in request.third_party:
            load(path.partition(":")[0])
        around = [
            module
            for entry in request.around
            for module in modules_around(entry, load_allowed, request.allowed)
        ]
        self.texts[request.around] = around
        page = None
        if request.code:
            check_allowed(PAGE, request.allowed)
            page = self.page.load(request.code, load)
        target = resolve(request, load_allowed, self.roots, around, page, self._allowed(request))
        for option, name in request.option_modules:
            try:
                (load if is_passed(name) else load_allowed)(name)
            except RequestError as error:
                raise error.in_option(option) from None
        return target

    def _allowed(self, request: Request) -> tuple[str, ...]:
        """The modules that names may lead into; the page's code by its name in this process."""
        own = self.page.module_of(request.code) if request.code else PAGE
        return tuple(own if name == PAGE else name for name in request.allowed)

    def trace(self, request: Request, target: Target) -> Result:
        """The result of a request for its target.

        Raises whatever the function raises while it is traced, and :class:`RequestError` for
        an option; ``partial`` then has the parts of the result that preceded the error.
        """
        value, module, name = target
        self.partial = Result(jax.__version__)
        if not request.steps:
            self.partial = replace(self.partial, source=_source(value))
        if is_jaxpr(value) and not request.steps and not request.jit:
            self.partial = replace(self.partial, call=name, args=(), inputs=_own_names(value))
            return replace(self.partial, program=_program(value, (), ()))
        with self._mesh(request, module), hinting(request):
            stage = self._stage(request, value, module, name)
            pairs = zip(stage.known_as, stage.args, strict=True)
            args = tuple((names, describe(arg)) for names, arg in pairs)
            left_out = stage.undifferentiated
            self.partial = replace(
                self.partial, call=stage.source, args=args, undifferentiated=left_out
            )
            try:
                with hinting_at_numbers(stage):
                    jaxpr, out = jax.make_jaxpr(stage.fn, return_shape=True)(*stage.args)
            except TypeError as error:
                if hint := hint_at_result(error, stage.fn, stage.args, request):
                    error.add_note(Hint(hint))
                raise
            stage.result = results(jaxpr, out)
            self.partial = replace(self.partial, inputs=stage.inputs, outputs=_leaves(out))
            places = _places(stage, stage.tangents), _places(stage, stage.cotangents)
            return replace(self.partial, program=_program(jaxpr, *places))

    def around(self, request: Request) -> list[str]:
        """Names of the modules of the text that contains a request."""
        named = [entry.partition(":")[0] for entry in request.around]
        return named + [module.__name__ for module in self.texts.get(request.around, ())]

    def names(self, request: Request, module: ModuleType) -> OptionNames:
        """The meaning of dotted names in a request's options; ``module`` is that of its target."""
        around = self.texts.get(request.around, [])
        modules = around if request.bare and around else [module, *around]
        page = sys.modules.get(self.page.module_of(request.code)) if request.code else None
        further = (*modules[1:], *([page] if page is not None else ()))

        def load(name: str) -> ModuleType:
            if not is_passed(name):
                check_allowed(name, request.allowed)
            return load_module(name, self.recorder, self.roots)

        return OptionNames(modules[0], self._allowed(request), further, load=load)

    def _mesh(self, request: Request, module: ModuleType) -> AbstractContextManager[Any]:
        """The context to trace in: under the mesh of the request, if it has one."""
        mesh = request.mesh
        if mesh is None:
            return under(None)
        if isinstance(mesh, Name):
            text = mesh.text
            mesh = attribute(self.names(request, module), text, "mesh", text)
            if callable(mesh) and not isinstance(mesh, (jax.sharding.Mesh, AbstractMesh)):
                mesh = call(self.names(request, module), mesh, text, "mesh")
                self.partial = replace(self.partial, mesh=f"{plain_name(text)}()")
        return under(mesh_of(mesh))

    def _stage(self, request: Request, target: Any, module: ModuleType, call_name: str) -> Stage:
        key = f"{request.target} {request.args} {request.static} {request.jit} {request.mesh}"
        key += f" {request.around} {request.allowed} {request.code}"
        kept = self._keep if request.is_shareable else lambda key, make: make()
        stage = kept(key, lambda: self._base(request, target, module, call_name))
        for step in request.steps:
            key += f" {step}"
            before = stage
            stage = kept(key, lambda: self._apply(step, before, request))  # noqa: B023 - called at once
        return stage

    def _keep(self, key: str, make: Callable[[], Stage]) -> Stage:
        if key in self.stages:
            self.stages.move_to_end(key)
            return self.stages[key]
        stage = self.stages[key] = make()
        if len(self.stages) > KEPT_STAGES:
            self.stages.popitem(last=False)
        return stage

    def _base(self, request: Request, target: Any, module: ModuleType, call_name: str) -> Stage:
        names, mesh = self.names(request, module), current()
        source = call_name
        made = None
        # Objects that the page names or makes may compute, which needs devices.
        with under(NO_MESH if request.mesh else None):
            if request.make is not None:
                made = make(request, target, call_name, names)
                target, names = made.value, replace(names, made=made.whole)
                call_name, source = f"{made.source}{made.part}", f"{names.word}{made.part}"
                if not request.steps:
                    self.partial = replace(self.partial, source=_source(target))
            if callable(target) and not is_jaxpr(target):
                args, static = names.spelled(request.args), names.spelled(request.static)
                stage = bind(target, call_name, args, static, names, mesh, source)
        if is_jaxpr(target):
            stage = _from_jaxpr(target, source)
        elif not callable(target):
            raise RequestError(
                ErrorKind.TARGET,
                f"{request.target!r} is of type {type(target).__name__}; a target must be a"
                " function, another callable or a jaxpr",
            )
        if made is not None:
            stage.made = ((names.word, made.source), *stage.made)
        return BUILTIN["jit"](stage, {}).after(stage) if request.jit else stage

    def _apply(self, step: Step, stage: Stage, request: Request) -> Stage:
        paths = dict(request.third_party)
        if step.name not in paths:
            try:
                return BUILTIN[step.name](stage, dict(step.options)).after(stage)
            except RequestError as error:
                error.blame("transforms")
                raise
        name, _, attribute = paths[step.name].partition(":")
        fn = getattr(self.recorder.load(name), attribute, None)
        if not callable(fn):
            raise RequestError(
                ErrorKind.TARGET,
                f"transform {step.name!r}: {paths[step.name]!r} is not a function"
                " (jaxpr_transforms)",
                option="transforms",
            )
        options = {key: _plain(value) for key, value in step.options}
        _check_options(fn, step.name, options)
        made = fn(stage.fn, stage.args, **options)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[0])):
            raise RequestError(
                ErrorKind.OPTION,
                f"transform {step.name!r} must return (function, args), not {type(made).__name__}",
                option="transforms",
            )
        args = tuple(made[1])
        same = len(args) == len(stage.args)
        names = stage.names if same else tuple(f"x{position}" for position in range(len(args)))
        options_text = "".join(f", {key}={source_text(value)}" for key, value in step.options)
        shown_args = abstract_source(tuple(stage.args), stage.trees)
        call = f"{attribute}({stage.call}, {shown_args}{options_text})[0]"
        after = Stage.of(made[0], args, names, call)
        if same:
            return after.after(stage)
        after.trees, after.made = stage.trees, stage.made
        after.undifferentiated = stage.undifferentiated
        return after


def _plain(value: Any) -> Any:
    """An option as a third-party transform gets it: the name of an argument is a string."""
    if isinstance(value, Name):
        return value.text
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(item) for item in value)
    return value


def _check_options(fn: Callable[..., Any], name: str, options: Options) -> None:
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    names = list(parameters)[2:]
    for key in options:
        if key not in names:
            raise RequestError(
                ErrorKind.OPTION,
                f"unknown option {key!r} of {name!r}{nearest(key, names)}"
                f" (it takes: {', '.join(names) or 'none'})",
                option="transforms",
            )


def _from_jaxpr(target: Any, call_name: str) -> Stage:
    """A ready jaxpr as a function of its inputs."""
    from jax.extend import core  # here: it imports Pallas, and few targets are jaxprs

    body = open_jaxpr(target)
    if body is target and not hasattr(target, "consts"):
        if body.constvars:
            raise RequestError(
                ErrorKind.TARGET, f"{call_name!r} is an open jaxpr with constants: close it"
            )
        target = core.ClosedJaxpr(target, ())
    args = [plain(var.aval) for var in body.invars]
    texts = [leaf for _, leaf in _own_names(target)]
    if not all(name.isidentifier() for name in texts):
        texts = [f"x{position}" for position in range(len(args))]
    call = f"jax.extend.core.jaxpr_as_fun({call_name})"
    return Stage.of(core.jaxpr_as_fun(target), args, texts, call)


def _own_names(target: Any) -> Pairs:
    """Argument and leaf for each input of a ready jaxpr, as JAX noted them, else ``x0``."""
    body = open_jaxpr(target)
    noted = getattr(getattr(body, "debug_info", None), "arg_names", None) or ()
    leaves = [str(name) for name in noted]
    roots = [re.split(r"[.\[]", leaf, maxsplit=1)[0] for leaf in leaves]
    if len(leaves) != len(body.invars) or not all(root.isidentifier() for root in roots):
        leaves = roots = [f"x{position}" for position in range(len(body.invars))]
    return tuple(zip(roots, leaves, strict=True))


def _source(target: Any) -> FunctionSource | None:
    """The Python source of a function, dedented, with its file and first line."""
    try:
        fn = inspect.unwrap(target)
        while isinstance(fn, functools.partial):
            fn = inspect.unwrap(fn.func)
        if not (inspect.isfunction(fn) or inspect.ismethod(fn) or inspect.isclass(fn)):
            fn = type(fn).__call__  # a callable object
        if inspect.ismethod(fn):
            fn = fn.__func__
        return _source_of_code(fn, fn.__code__) if inspect.isfunction(fn) else _source_lines(fn)
    except Exception:
        return None  # created by exec, built in, edited meanwhile, or not what it claims to be


@functools.lru_cache(maxsize=KEPT_STAGES)
def _source_of_code(fn: FunctionType, code: CodeType) -> FunctionSource | None:
    """The source of a function, read once: a reload makes another function."""
    return _source_lines(fn)


def _source_lines(fn: Any) -> FunctionSource | None:
    if not is_python(inspect.getfile(fn)):
        return None
    lines, first = inspect.getsourcelines(fn)
    file = inspect.getsourcefile(fn) or ""
    return FunctionSource(textwrap.dedent("".join(lines)).rstrip(), file, first)


def _leaves(out: Any) -> tuple[str, ...]:
    """JAX's own name of each leaf of a result: ``result['w']``."""
    paths = jax.tree_util.tree_flatten_with_path(out)[0]
    return tuple(RESULT + jax.tree_util.keystr(path) for path, _ in paths)


def _places(stage: Stage, arguments: Container[int]) -> set[int]:
    """The positions among the flattened inputs of some arguments."""
    places: set[int] = set()
    offset = 0
    for position, arg in enumerate(stage.args):
        count = len(jax.tree.leaves(arg))
        if position in arguments:
            places.update(range(offset, offset + count))
        offset += count
    return places


def _program(jaxpr: Any, tangents: Iterable[int], cotangents: Iterable[int]) -> TracedProgram:
    collected = facts.collect(jaxpr, tangents, cotangents)
    return TracedProgram(_text(jaxpr), facts.effects(jaxpr), collected.captured, collected.facts)


def _text(jaxpr: Any) -> str:
    """JAX's own text, to the letter, but for memory addresses and control characters."""
    return printable(str(jaxpr))
