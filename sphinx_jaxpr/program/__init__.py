"""Printed jaxprs as data: parse, match, ask, show and compare them.

What ``__all__`` lists is public and documented; every other module, class and function
of ``sphinx_jaxpr.program`` is internal and may change in any release.  Only the standard
library is needed: neither JAX nor Sphinx has to be installed.

>>> from sphinx_jaxpr.program import evaluate, parse
>>> f = parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }")
>>> evaluate("ops(f)", {"f": f}).value
('tanh', 'mul')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .drift.compare import Drift, drift_between
    from .drift.levels import Difference, Level
    from .html.markup import to_html
    from .matching.match import Match, match
    from .matching.summary import summarize
    from .model import Equation, Operand, Parameter, Printed, Program, Span, Token, Variable, walk
    from .parser.parser import parse
    from .parser.unparsed import Unread, unread
    from .query.base import View
    from .query.evaluate import Evaluation, evaluate, find, judge
    from .query.explain import explain
    from .query.scope import NamedPrograms, Scope
    from .query.syntax import PathError
    from .query.values import Value, Values
    from .query.views import Equations, EquationView, ProgramView

__all__ = [
    "Difference",
    "Drift",
    "Equation",
    "EquationView",
    "Equations",
    "Evaluation",
    "Level",
    "Match",
    "NamedPrograms",
    "Operand",
    "Parameter",
    "PathError",
    "Printed",
    "Program",
    "ProgramView",
    "Scope",
    "Span",
    "Token",
    "Unread",
    "Value",
    "Values",
    "Variable",
    "View",
    "drift_between",
    "evaluate",
    "explain",
    "find",
    "judge",
    "match",
    "parse",
    "summarize",
    "to_html",
    "unread",
    "walk",
]

#: Where each name is defined.  A module is loaded when a name of it is first asked for:
#: the package is imported by builds that need no parser.
_MODULES: Final = {
    "drift.compare": ("Drift", "drift_between"),
    "drift.levels": ("Difference", "Level"),
    "html.markup": ("to_html",),
    "matching.match": ("Match", "match"),
    "matching.summary": ("summarize",),
    "model": (
        *("Equation", "Operand", "Parameter", "Printed", "Program", "Span", "Token"),
        *("Variable", "walk"),
    ),
    "parser.parser": ("parse",),
    "parser.unparsed": ("Unread", "unread"),
    "query.base": ("View",),
    "query.evaluate": ("Evaluation", "evaluate", "find", "judge"),
    "query.explain": ("explain",),
    "query.syntax": ("PathError",),
    "query.values": ("Value", "Values"),
    "query.scope": ("NamedPrograms", "Scope"),
    "query.views": ("EquationView", "Equations", "ProgramView"),
}
_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
