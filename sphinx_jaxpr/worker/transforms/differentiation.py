"""Transforms that differentiate.  Imports JAX."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ...tracing.result import ErrorKind
from ...tracing.specs import TRANSFORMS
from ..avals import another, is_ref, printed, type_of
from ..facts.stacks import scope
from ..failures import Hint, RequestError
from ..stage import Options, Stage, flag, fresh
from ..targets.arguments import describe
from ..targets.partition import RESTORED, restored

_LEVELS = itertools.count()


def _scalar(stage: Stage, options: Options) -> Stage:
    """The stage itself if its result is a scalar, else the sum of its result."""
    out = stage.out
    leaves = jax.tree.leaves(out)
    if not leaves:
        raise RequestError(
            ErrorKind.OPTION, "the function returns nothing that can be differentiated"
        )
    single = len(leaves) == 1 and jax.tree.structure(out) == jax.tree.structure(0)
    if not flag(options, "sum", True) or (single and leaves[0].shape == ()):
        return stage
    fn = stage.fn
    if single:
        return Stage.written(
            lambda *values: fn(*values).sum(), stage.args, stage.names, f"{stage.applied}.sum()"
        )
    return Stage.written(
        lambda *values: sum(leaf.sum() for leaf in jax.tree.leaves(fn(*values))),
        stage.args,
        stage.names,
        f"sum(leaf.sum() for leaf in jax.tree.leaves({stage.applied}))",
    )


def gradient_of(name: str) -> Callable[[Stage, Options], Stage]:
    """``grad``, ``value_and_grad`` or ``hessian``: a non-scalar result is summed first."""
    return _by_position(name, _scalar)


def jacobian_of(name: str) -> Callable[[Stage, Options], Stage]:
    """``jacfwd`` or ``jacrev``."""
    return _by_position(name, lambda stage, options: stage)


def _by_position(
    name: str, prepared: Callable[[Stage, Options], Stage]
) -> Callable[[Stage, Options], Stage]:
    """A transform of JAX that takes ``argnums``, applied to the prepared stage."""
    transform = _WITH_SCOPES.get(name) or getattr(jax, name)

    def differentiate(stage: Stage, options: Options) -> Stage:
        stage.need(name)
        where = stage.positions(options.get("argnums", 0), "argnums")
        _refuse_refs(stage, where, name)
        inner = prepared(stage, options)
        more = {"allow_int": True} if flag(options, "allow_int", False) else {}
        options_text = ", allow_int=True" if more else ""
        positions = where if isinstance(where, tuple) else (where,)
        parts = [] if more else [i for i in positions if _is_partly_float(stage.args[i])]
        if parts:
            return _by_floats(inner, where, parts, transform, f"jax.{name}")
        fn = transform(inner.fn, argnums=where, **more)
        if not more and (hint := _hint(stage, positions, name)):
            fn = _hinted(fn, hint)
        options_text = ("" if where == 0 else f", argnums={where}") + options_text
        call = f"jax.{name}({inner.call}{options_text})"
        return Stage.of(fn, stage.args, stage.names, call)

    return differentiate


# --- integers, flags and random keys, by which JAX takes no derivative

_ONLY_FLOATS = (
    "jax.tree.map(lambda leaf: leaf if"
    " jax.numpy.issubdtype(jax.typeof(leaf).dtype, jax.numpy.inexact) else None, {})"
)


def _is_float(leaf: Any) -> bool:
    return bool(jnp.issubdtype(type_of(leaf).dtype, jnp.inexact))


def _is_partly_float(tree: Any) -> bool:
    return len(set(map(_is_float, jax.tree.leaves(tree)))) > 1


def _by_floats(
    inner: Stage,
    where: tuple[int, ...] | int,
    parts: list[int],
    apply: Callable[..., Any],
    name: str,
) -> Stage:
    """Differentiate by the floats of the arguments in ``parts``; the result has no other leaves.

    ``where`` are the positions of all arguments to differentiate by.
    """
    positions = where if isinstance(where, tuple) else (where,)
    argnums = tuple(range(len(positions))) if isinstance(where, tuple) else 0

    def run(*values: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            full = list(values)
            for position, value in zip(positions, floats, strict=True):
                full[position] = restored(value, full[position]) if position in parts else value
            return inner.fn(*full)

        chosen = [
            jax.tree.map(lambda leaf: leaf if _is_float(leaf) else None, values[position])
            if position in parts
            else values[position]
            for position in positions
        ]
        return apply(of_floats, argnums=argnums)(*chosen)

    words = list(inner.names)
    for position in parts:
        wanted = "floats" if len(parts) == 1 else f"{inner.names[position]}_floats"
        words[position] = fresh(tuple({*inner.names, *words}), wanted)
    given = [
        RESTORED.format(word, whole) if position in parts else word
        for position, (word, whole) in enumerate(zip(words, inner.names, strict=True))
    ]
    chosen_text = [
        _ONLY_FLOATS.format(inner.names[i]) if i in parts else inner.names[i] for i in positions
    ]
    parameters = ", ".join(words[position] for position in positions)
    function = f"({inner.call})" if inner.call.startswith("lambda") else inner.call
    options_text = f", argnums={argnums}" if argnums else ""
    body = (
        f"{name}(lambda {parameters}: {function}({', '.join(given)}){options_text})"
        f"({', '.join(chosen_text)})"
    )
    stage = Stage.written(run, inner.args, inner.names, body)
    stage.undifferentiated = tuple(
        (inner.known_as[position] + jax.tree_util.keystr(path), printed(type_of(leaf)))
        for position in parts
        for path, leaf in jax.tree_util.tree_flatten_with_path(inner.args[position])[0]
        if not _is_float(leaf)
    )
    return stage


def _hint(stage: Stage, positions: tuple[int, ...], name: str) -> str:
    """What to choose instead of an argument without floats."""
    floats = [any(map(_is_float, jax.tree.leaves(arg))) for arg in stage.args]
    names = stage.known_as
    others = [word for word, is_float in zip(names, floats, strict=True) if is_float]
    wrong = [i for i in positions if not floats[i] and jax.tree.leaves(stage.args[i])]
    if not wrong:
        return ""
    about = f"{names[wrong[0]]!r} is {describe(stage.args[wrong[0]])}"
    hints = [f"argnums names another argument ({', '.join(others)})"] if others else []
    if "allow_int" in TRANSFORMS[name].options:
        hints.append("allow_int=True gives zeros of type float0")
    return "; ".join([about, *hints])


def _hinted(fn: Callable[..., Any], hint: str) -> Callable[..., Any]:
    @functools.wraps(fn, updated=())
    def hinted(*values: Any) -> Any:
        try:
            return fn(*values)
        except TypeError as error:
            error.add_note(Hint(hint))
            raise

    return hinted


# --- tangents and cotangents that JAX creates


def _between_scopes(transform: Callable[..., Any], outer: str, inner: str) -> Callable[..., Any]:
    """``transform`` in a named scope, and what it differentiates in another one.

    The values that JAX creates between the two are tangents, or cotangents.  Scopes don't
    change the text.
    """

    def apply(fn: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        level = next(_LEVELS)
        scoped = _scoped(fn, scope(inner, level))
        return _scoped(transform(scoped, **options), scope(outer, level))

    return apply


_JACFWD = _between_scopes(jax.jacfwd, "outside", "inside")
_JACREV = _between_scopes(jax.jacrev, "around", "within")


def _hessian(fn: Callable[..., Any], argnums: Any) -> Callable[..., Any]:
    """As :func:`jax.hessian` composes it."""
    made: Callable[..., Any] = _JACFWD(_JACREV(fn, argnums=argnums), argnums=argnums)
    return made


#: Transforms that create tangents or cotangents: a basis of all, or the 1 of a gradient, which
#: an equation may put onto the devices of a mesh.
_WITH_SCOPES = {
    "jacfwd": _JACFWD,
    "jacrev": _JACREV,
    "hessian": _hessian,
    "grad": _between_scopes(jax.grad, "around", "within"),
    "value_and_grad": _between_scopes(jax.value_and_grad, "around", "within"),
}


def _scoped(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(fn, updated=())
    def scoped(*values: Any) -> Any:
        with jax.named_scope(name):
            return fn(*values)

    return scoped


def _differentiated(stage: Stage, options: Options, name: str) -> tuple[tuple[int, ...], Stage]:
    """The positions that vary, and the function of those arguments alone.

    The latter is for its ``call``; what is traced is the whole function, :func:`_closed`.
    """
    stage.need(name)
    positions = stage.positions(options.get("argnums", 0), "argnums")
    where = positions if isinstance(positions, tuple) else (positions,)
    if where == tuple(range(len(stage.args))):
        return where, stage
    fn, names = stage.fn, [stage.names[i] for i in where]
    return where, Stage(fn, (), tuple(names), f"lambda {', '.join(names)}: {stage.applied}", "")


def _refuse_refs(stage: Stage, where: tuple[int, ...] | int, name: str) -> None:
    """Refuse to differentiate by a mutable array, whose cotangent would be mutable too."""
    for position in where if isinstance(where, tuple) else (where,):
        if any(map(is_ref, jax.tree.leaves(stage.args[position]))):
            names = zip(stage.known_as, stage.args, strict=True)
            others = [n for n, arg in names if not any(map(is_ref, jax.tree.leaves(arg)))]
            hint = f"; argnums names another argument ({', '.join(others)})" if others else ""
            raise RequestError(
                ErrorKind.OPTION,
                f"{name} takes no derivative with respect to {stage.known_as[position]!r}, which is"
                f" {describe(stage.args[position])}{hint}",
            )


def _closed(stage: Stage, where: tuple[int, ...], values: tuple[Any, ...]) -> Callable[..., Any]:
    """``stage.fn`` as a function of the arguments at ``where``, others fixed."""
    if where == tuple(range(len(stage.args))):
        return stage.fn

    def closed(*varying: Any) -> Any:
        full = list(values[: len(stage.args)])
        for position, value in zip(where, varying, strict=True):
            full[position] = value
        return stage.fn(*full)

    closed.__name__ = closed.__qualname__ = "<lambda>"
    return closed


def _tangent(leaf: Any) -> Any:
    """The abstract tangent of a leaf; a Python number's is a weakly typed scalar."""
    aval = jax.eval_shape(lambda: leaf) if not hasattr(leaf, "dtype") else leaf
    if is_ref(aval):
        return another(aval)
    if jnp.issubdtype(aval.dtype, jnp.inexact):
        return aval
    return jax.ShapeDtypeStruct(aval.shape, jax.dtypes.float0)


def pushforward_of(name: str) -> Callable[[Stage, Options], Stage]:
    """``jvp`` and ``linearize``: tangents become arguments."""

    def pushforward(stage: Stage, options: Options) -> Stage:
        where, inner = _differentiated(stage, options, name)
        count = len(stage.args)
        names, dots = list(stage.names), []
        for position in where:
            dots.append(fresh(tuple(names), f"{stage.known_as[position]}_dot"))
            names.append(dots[-1])
        args = [*stage.args, *(jax.tree.map(_tangent, stage.args[i]) for i in where)]
        primals = ", ".join(stage.names[i] for i in where)

        def run(*values: Any) -> Any:
            at = tuple(values[i] for i in where)
            if name == "jvp":
                return jax.jvp(_closed(stage, where, values), at, tuple(values[count:]))
            return jax.linearize(_closed(stage, where, values), *at)[1](*values[count:])

        comma = "," if len(where) == 1 else ""
        body = (
            f"jax.jvp({inner.call}, ({primals}{comma}), ({', '.join(dots)}{comma}))"
            if name == "jvp"
            else f"jax.linearize({inner.call}, {primals})[1]({', '.join(dots)})"
        )
        return Stage.written(run, args, names, body, frozenset(range(count, len(args))))

    return pushforward


def vjp(stage: Stage, options: Options) -> Stage:
    """``jax.vjp``: the cotangent of the result becomes an argument."""
    where, inner = _differentiated(stage, options, "vjp")
    _refuse_refs(stage, where, "vjp")
    primals = ", ".join(stage.names[i] for i in where)
    cotangent = fresh(stage.names, "ct")

    def run(*values: Any) -> Any:
        at = tuple(values[i] for i in where)
        return jax.vjp(_closed(stage, where, values), *at)[1](values[-1])

    made = Stage.written(
        run,
        [*stage.args, jax.tree.map(_tangent, stage.out)],
        [*stage.names, cotangent],
        f"jax.vjp({inner.call}, {primals})[1]({cotangent})",
    )
    made.cotangents = frozenset({len(stage.args)})
    return made
