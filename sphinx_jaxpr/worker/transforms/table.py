"""The functions of the built-in transforms: each turns a :class:`Stage` into the next one.

The traced function and the displayed call are built side by side, and a test holds that
running the call reproduces the displayed program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import jax

from ...tracing.grammar import Call, nearest
from ...tracing.result import ErrorKind
from ...tracing.specs import TRANSFORMS
from ..failures import RequestError
from ..stage import Options, Stage
from ..targets.arguments import source_text
from .differentiation import gradient_of, jacobian_of, pushforward_of, vjp
from .mapping import scan, vmap
from .sharding import shard_map


def jit(stage: Stage, options: Options) -> Stage:
    """``jax.jit``."""
    call = f"jax.jit({stage.call})"
    return Stage.of(jax.jit(stage.fn), stage.args, stage.names, call).returning(stage)


def _policy(value: Any) -> tuple[Any, str]:
    """A policy of ``jax.checkpoint_policies`` and its source."""
    policies = jax.checkpoint_policies
    name = value.name if isinstance(value, Call) else getattr(value, "text", value)
    names = [n for n in dir(policies) if not n.startswith("_")]
    if not isinstance(name, str) or name.rpartition(".")[2] not in names:
        raise RequestError(
            ErrorKind.OPTION,
            f"policy must be a name of jax.checkpoint_policies, not {source_text(value)}"
            f"{nearest(str(name), names)} (known: {', '.join(names)})",
        )
    last = name.rpartition(".")[2]
    policy = getattr(policies, last)
    if not isinstance(value, Call):
        return policy, f"jax.checkpoint_policies.{last}"
    if not all(isinstance(item, str) for item in value.values) or value.keywords:
        raise RequestError(ErrorKind.OPTION, f'policy {last} takes strings, as in {last}("a", "b")')
    strings = ", ".join(f'"{item}"' for item in value.arguments)
    return policy(*value.arguments), f"jax.checkpoint_policies.{last}({strings})"


def _checkpoint(name: str) -> Callable[[Stage, Options], Stage]:
    def checkpoint(stage: Stage, options: Options) -> Stage:
        value = options.get("policy")
        if value is None:
            fn, policy_text = jax.checkpoint(stage.fn), ""
        else:
            policy, text = _policy(value)
            fn, policy_text = jax.checkpoint(stage.fn, policy=policy), f", policy={text}"
        call = f"jax.{name}({stage.call}{policy_text})"
        return Stage.of(fn, stage.args, stage.names, call).returning(stage)

    return checkpoint


Function: TypeAlias = Callable[[Stage, Options], Stage]
_FUNCTIONS: Final[Mapping[str, Function]] = {
    "jit": jit,
    "grad": gradient_of("grad"),
    "value_and_grad": gradient_of("value_and_grad"),
    "hessian": gradient_of("hessian"),
    "jvp": pushforward_of("jvp"),
    "linearize": pushforward_of("linearize"),
    "vjp": vjp,
    "jacfwd": jacobian_of("jacfwd"),
    "jacrev": jacobian_of("jacrev"),
    "vmap": vmap,
    "scan": scan,
    "checkpoint": _checkpoint("checkpoint"),
    "remat": _checkpoint("remat"),
    "shard_map": shard_map,
}
#: The function of each transform that a page may write.
BUILTIN: Final[Mapping[str, Function]] = {name: _FUNCTIONS[name] for name in TRANSFORMS}
