"""Phases, against programs that are run: a tangent equation is one whose operands change
when nothing but the tangents does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.facts.stacks import Context
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import phased

VECTOR = "x=f32[4], y=f32[4]"


def traced(target: str, args: str, transforms: str = "") -> tuple[dict[str, Any], Any]:
    """The facts of a request, and the jaxpr that they are of."""
    tracer = Tracer(DependencyRecorder("/nowhere"), [])
    chains = grammar.transforms(transforms)
    steps = chains[0].steps if chains else ()
    wanted = Request(f"{phased.__name__}:{target}", grammar.arguments(args), steps=steps)
    found = tracer.prepare(wanted, lambda module: None)
    result = tracer.trace(wanted, found)
    stage = tracer._stage(wanted, *found)
    assert result.program is not None
    return result.program.facts.to_json(), (jax.make_jaxpr(stage.fn)(*stage.args), stage)


def equations(facts: dict[str, Any]) -> list[list[Any]]:
    return [row for program in facts["programs"] for row in program["equations"]]


def phases_of(target: str, args: str, transforms: str = "") -> dict[str, set[str]]:
    """For each primitive the phases in which it occurs."""
    found: dict[str, set[str]] = {}
    for row in equations(traced(target, args, transforms)[0]):
        found.setdefault(row[0], set()).add(row[1])
    return found


# -- the oracle: run it twice


class Run:
    """Runs a jaxpr equation by equation with two sets of inputs that differ in tangents."""

    def __init__(self) -> None:
        self.differs: dict[int, bool] = {}
        self.met: list[Any] = []

    def program(self, jaxpr: Any, both: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        body = getattr(jaxpr, "jaxpr", jaxpr)
        values = {id(var): pair for var, pair in zip(body.invars, both, strict=True)}
        for var, const in zip(body.constvars, getattr(jaxpr, "consts", ()), strict=True):
            values[id(var)] = (const, const)

        def of(atom: Any) -> tuple[Any, Any]:
            return (atom.val, atom.val) if hasattr(atom, "val") else values[id(atom)]

        for equation in body.eqns:
            operands = [of(atom) for atom in equation.invars]
            self.met.append(equation)
            here = any(not np.array_equal(a, b) for a, b in operands)
            self.differs[id(equation)] = self.differs.get(id(equation), False) or here
            results = self.equation(equation, operands)
            values.update((id(v), r) for v, r in zip(equation.outvars, results, strict=True))
        return [of(atom) for atom in body.outvars]

    def equation(self, equation: Any, operands: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        params, name = equation.params, equation.primitive.name
        if name == "scan":
            return self.scan(params, operands)
        if name == "while":
            split = params["cond_nconsts"]
            middle = split + params["body_nconsts"]
            state = operands[middle:]
            # By the first of both: what decides is no tangent.
            while self.program(params["cond_jaxpr"], operands[:split] + state)[0][0].any():
                state = self.program(params["body_jaxpr"], operands[split:middle] + state)
            return state
        if name == "cond":
            results = [self.program(branch, operands[1:]) for branch in params["branches"]]
            return results[min(max(int(operands[0][0]), 0), len(results) - 1)]
        for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if key in params and len(getattr(params[key], "jaxpr", params[key]).invars) == len(
                operands
            ):
                return self.program(params[key], operands)
        results = [equation.primitive.bind(*side, **params) for side in zip(*operands, strict=True)]
        if not equation.primitive.multiple_results:
            return [(results[0], results[1])]
        return list(zip(*results, strict=True))

    def scan(self, params: Any, operands: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        body = getattr(params["jaxpr"], "jaxpr", params["jaxpr"])
        stacked = sum(
            np.ndim(pair[0]) > len(var.aval.shape)
            for pair, var in zip(operands, body.invars, strict=True)
        )
        fixed = len(operands) - stacked
        carried = self.carried(params)
        consts, state = operands[: fixed - carried], operands[fixed - carried : fixed]
        found = []
        order = range(params["length"])
        for step in reversed(order) if params["reverse"] else order:
            xs = [(a[step], b[step]) for a, b in operands[fixed:]]
            made = self.program(params["jaxpr"], consts + state + xs)
            state = made[:carried]
            found.append(made[carried:])
        if params["reverse"]:
            found.reverse()
        ys = [
            tuple(jnp.stack([pair[side] for pair in row]) for side in (0, 1))
            for row in zip(*found, strict=True)
        ]
        return state + ys  # type: ignore[operator]  # numbers or arrays

    def carried(self, params: Any) -> int:
        if "num_carry" in params:
            return int(params["num_carry"])
        return len(list(params["ft_in"].unpack()[1].vals))


def numbers(stage: Any, seed: int, tangents: Any) -> list[Any]:
    """Random inputs; those of tangents with another seed."""
    found = []
    for place, arg in enumerate(stage.args):
        for leaf in jax.tree.leaves(arg):
            key = jax.random.key(100 * place + (seed if place in tangents else 0))
            aval = leaf if hasattr(leaf, "shape") else jax.eval_shape(lambda leaf=leaf: leaf)
            found.append(jax.random.uniform(key, aval.shape, aval.dtype, 0.3, 0.9))
    return found


def names(equation: Any) -> list[str]:
    stack = equation.source_info.name_stack
    return [item.name for item in stack.stack if type(item).__name__ == "Transform"]


CHAINS = [
    "jvp",
    "jvp | vmap",
    "jvp | jit",
    "jvp | remat",
    "jvp | jit | vmap | jit",
    "jvp | scan(carry=x, over=())",
    "vmap | jvp",
    "jit | jvp",
    "remat | jvp",
    "linearize",
    "linearize | vmap",
    "linearize | jit",
    "jvp(argnums=y) | jit",
    "jvp | jvp(argnums=y)",
    "jvp | vmap(in_axes=x_dot)",
    "jvp | vmap(in_axes=x_dot) | remat",
]
TARGETS = [
    "looped",
    "stacked",
    "decay",
    "summed",
    "until",
    "nested",
    "branched",
    "shared_body",
    "twice_shared",
    "relu",
    "after_a_loop",
    "indexed",
    "under_remat",
]


# Each chain on two functions, each function under a short and a long chain.
PAIRS = [("chain", chain) for chain in CHAINS]
PAIRS += [("until", chain) for chain in ("jvp | vmap", "jvp | scan(carry=x, over=())")]
PAIRS += [(target, "jvp | jit") for target in TARGETS]
PAIRS += [(target, "linearize | vmap") for target in ("decay", "twice_shared", "under_remat")]


@pytest.mark.parametrize(("target", "chain"), PAIRS)
def test_tangents_are_what_changes_with_them(target: str, chain: str) -> None:
    facts, (jaxpr, stage) = traced(target, VECTOR, chain)
    run = Run()
    inputs = [numbers(stage, seed, stage.tangents) for seed in (1, 2)]
    run.program(jaxpr, list(zip(*inputs, strict=True)))
    expected = [["", "forward", "tangent"][differs + 1] for differs in _differs(jaxpr, run)]
    rows = equations(facts)
    # Programs of both are walked in one order: that of the facts.
    assert len(rows) == len(expected)
    pairs = zip(rows, expected, strict=True)
    assert not [(row[0], row[1], phase) for row, phase in pairs if row[1] != phase]
    assert "tangent" in expected


def _differs(jaxpr: Any, run: Run) -> Iterator[int]:
    """In the order of the facts: -1 outside of what is differentiated, else 0 or 1."""
    todo: list[tuple[Any, bool]] = [(jaxpr, False)]
    seen: set[int] = set()
    while todo:
        current, linear = todo.pop(0)
        body = getattr(current, "jaxpr", current)
        if id(body) in seen:
            continue
        seen.add(id(body))
        for equation in body.eqns:
            here = linear or "jvp" in names(equation)
            yield int(run.differs.get(id(equation), False)) if here else -1
            for value in equation.params.values():
                for item in value if isinstance(value, (tuple, list)) else [value]:
                    if hasattr(getattr(item, "jaxpr", item), "eqns"):
                        todo.append((item, here))


# -- what the transforms make themselves


@pytest.mark.parametrize("chain", ["jacfwd", "jacfwd | vmap", "jacfwd | jit", "jit | jacfwd"])
def test_what_depends_on_the_basis_of_jacfwd_is_tangent(chain: str) -> None:
    found = phases_of("chain", VECTOR, chain)
    assert found["sin"] == {"forward"}
    assert found["cos"] == {"forward"}
    assert "tangent" in found["mul"]
    assert found["iota"] == found["eq"] == {""}  # what makes the basis is not differentiated


def test_jacfwd_of_a_scalar_of_a_tree_and_of_a_loop() -> None:
    assert "tangent" in phases_of("chain", "x=f32[], y=f32[]", "jacfwd")["mul"]
    assert phases_of("of_tree", "p={w: f32[3], b: f32[]}", "jacfwd")["sin"] == {"forward"}
    found = phases_of("looped", VECTOR, "jacfwd")
    assert {"forward", "tangent"} <= found["mul"]


def test_hessian_has_all_three() -> None:
    found = set().union(*phases_of("chain", VECTOR, "hessian").values())
    assert {"forward", "tangent", "transpose"} <= found


def test_what_hessian_makes_of_second_derivatives_is_tangent() -> None:
    """Also what unpacks the gradient, behind the backward half."""
    found = equations(traced("chain", VECTOR, "hessian")[0])
    unpacked = [row[1] for row in found if row[0] == "reshape"][-2:]
    assert unpacked == ["forward", "tangent"]  # the gradient itself, and its derivative


def test_nested_jacfwd_marks_both_levels() -> None:
    found = phases_of("chain", VECTOR, "jacfwd | jacfwd")
    assert found["sin"] >= {"forward"}
    # The inner basis is made where the outer one differentiates.
    assert found["iota"] == {"", "forward"}


def test_tangents_stay_under_grad() -> None:
    found = phases_of("chain", VECTOR, "jvp | grad")
    assert {"forward", "tangent", "transpose"} <= set().union(*found.values())


def test_tangents_stay_under_shard_map() -> None:
    split = ", ".join(f'{name}: ("data",)' for name in ("x", "y", "x_dot"))
    found = phases_of("chain", "x=f32[8], y=f32[8]", f"jvp | shard_map(in_specs={{{split}}})")
    assert found["sin"] == {"forward"}
    assert "tangent" in found["mul"]


# -- loops


def test_a_comparison_of_a_loop_is_never_tangent() -> None:
    for primitive in ("lt", "gt"):
        assert phases_of("while_of_both", VECTOR, "jvp")[primitive] == {"forward"}


# -- scopes of the author's


@pytest.mark.parametrize("name", ["transpose(q)", "jvp(x)", "rematted_computation", "vmap(jvp)"])
def test_a_scope_of_the_authors_is_no_phase(name: str) -> None:
    def scoped(x: Any) -> Any:
        with jax.named_scope(name):
            return jnp.sin(x) * 2.0

    def phases(fn: Callable[..., Any]) -> list[str]:
        from sphinx_jaxpr.worker.facts import facts

        found = facts.collect(jax.make_jaxpr(fn)(1.0)).facts.to_json()
        return [row[1] for row in equations(found)]

    assert phases(scoped) == ["", ""]
    assert set(phases(jax.checkpoint(scoped))) == {""}
    assert phases(jax.grad(scoped)) == ["forward", "forward", "forward", "transpose", "transpose"]
    inside = phases(jax.grad(lambda x: jax.jit(scoped)(x)))
    assert set(inside) == {"forward", "transpose"}
    both = phases(jax.grad(jax.checkpoint(lambda x: jnp.sin(scoped(x)))))
    assert {"forward", "transpose", "recomputed"} == set(both)
    around = phases(jax.grad(lambda x: scoped(jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x))))
    assert {"forward", "transpose", "recomputed"} == set(around)


@pytest.mark.parametrize(
    ("stack", "backward", "linear"),
    [
        ("", "", False),
        ("layer", "", False),
        ("jvp()", "", True),
        ("jvp(layer)/inner", "", True),
        ("transpose(jvp())", "transpose", True),
        ("jvp(transpose(jvp(jvp()))/rematted_computation)", "recomputed", True),
    ],
)
def test_a_stack_that_is_text_alone(stack: str, backward: str, linear: bool) -> None:
    """What a JAX without items of a stack would be read as."""
    found = Context().at(stack, False, True, False)
    assert (found.backward, found.linear) == (backward, linear)


def test_a_primitive_of_unknown_meaning_makes_no_claim() -> None:
    """Neither phase can be said of a program of which nobody knows how it is called."""
    from jax.extend import core
    from jax.interpreters import ad

    from sphinx_jaxpr.worker.facts import facts

    inner = jax.make_jaxpr(lambda a, b: (jnp.sin(a) * b,))(1.0, 2.0)
    strange = core.Primitive("strange")
    strange.multiple_results = True
    strange.def_abstract_eval(lambda *avals, program: [avals[0], avals[0]])

    def push(primals: Any, tangents: Any, program: Any) -> Any:
        out = strange.bind(*primals, tangents[0], program=program)
        return out, out

    ad.primitive_jvps[strange] = push

    def run(x: Any, dot: Any) -> Any:
        return jax.jvp(lambda y: strange.bind(y, program=inner), (x,), (dot,))

    found = facts.collect(jax.make_jaxpr(run)(1.0, 1.0), {1}).facts.to_json()
    rows = found["programs"][0]["equations"]
    assert [row[:2] for row in rows] == [["strange", "tangent"]]
    assert [row[1] for row in found["programs"][1]["equations"]] == ["", ""]


def test_a_mesh_and_collectives() -> None:
    mesh = AbstractMesh((2,), ("i",), axis_types=(AxisType.Auto,))

    def total(x: Any) -> Any:
        return jax.shard_map(
            lambda y: lax.psum(jnp.sin(y), "i"), mesh=mesh, in_specs=P("i"), out_specs=P()
        )(x)

    from sphinx_jaxpr.worker.facts import facts

    aval = jax.ShapeDtypeStruct((4,), jnp.float32)
    jaxpr = jax.make_jaxpr(lambda x, t: jax.jvp(total, (x,), (t,)))(aval, aval)
    found = {row[0]: row[1] for row in equations(facts.collect(jaxpr, {1}).facts.to_json())}
    assert found["sin"] == found["cos"] == "forward"
    assert found["mul"] == "tangent"
