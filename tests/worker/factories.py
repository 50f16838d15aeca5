"""Functions that return what pages trace: named tuples, tuples, objects, functions."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Optimizer(NamedTuple):
    init: Callable[..., Any]
    update: Callable[..., Any]
    rate: float = 0.5


def momentum(rate, decay=0.9, *, act=None) -> Optimizer:
    def init(params):
        return {"trace": params["w"] * 0, "count": 0}

    def update(grads, state, params=None):
        trace = decay * state["trace"] + grads["w"]
        step = act(trace) if act else trace
        return {"w": -rate * step}, {"trace": trace, "count": state["count"] + 1}

    return Optimizer(init, update, rate)


def pair(n):
    def scaled(x):
        return x * n

    def moved(x):
        return x + n

    return scaled, moved


def plain():
    return lambda x: x + 1


def broken(n):
    raise ValueError(f"no {n}")


def five():
    return 5


class Dense:
    def __init__(self, size, key=None):
        self.weight = key is not None
        self.size = size
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.apply(x) * self.calls

    def apply(self, x):
        return x.reshape(-1)[: self.size]

    def __repr__(self):
        return "Dense"


def model(x, weights):
    return weights.apply(x)


def activated(x, act):
    return act(x)


class Reader:
    """Its method is called like what the header makes."""

    def made(self, x):
        return x * 2


def reader():
    return Reader()


def activate(x, whole_x):
    return x.update(x.init * whole_x)


def gated(state, x):
    return state.init * x if state.rate else x


def scaled(x, weights):
    return x * weights
