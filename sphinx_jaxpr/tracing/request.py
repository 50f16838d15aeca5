"""What to trace: the canonical form of a request, and its JSON.

A request names everything that decides the traced program and nothing else:
captions, folds and classes are not part of it, so changing them never retraces.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..program.text import nearest, shorten
from .files import JsonObject, digest
from .hints.transforms import MEANT_OPTIONS, MEANT_TRANSFORMS
from .specs import (
    TRANSFORMS,
    Aval,
    Call,
    Chain,
    Mesh,
    Name,
    Ref,
    Step,
    Value,
    names_in,
    parts_of,
)

#: Words that can't name a block or a label, since the path language uses them.
RESERVED: Final = frozenset(
    """abs all any as in len max min ops round same set sorted sum
    jax jaxlib python
    forward tangent transpose recomputed calls
    shape dtype params phase inputs outputs uses text line origin
    consts effects variables added reshaped kept removed error type message""".split()
)

#: Words that can't be labels alone: facts and functions of the path language, after which
#: functions of a project are often named.
RESERVED_LABELS: Final = frozenset(
    """size bytes value weak varying read_count kind index contracts flops
    carry final_carry xs ys cond_consts body_consts branch operands
    residuals reads depends""".split()
)


@dataclass(frozen=True)
class Request:
    """One program to trace.

    ``third_party`` maps the names of registered transforms that ``steps`` uses
    to ``module:function``.  With ``expects_error`` an exception is a result;
    without, it is a failure.  ``allowed`` are the modules that names may lead into,
    empty for all: what may be run decides what is traced.  ``mesh`` is the one to trace
    under.  ``around`` are the modules of the text that the request was read in, the
    nearest first, each by its name or by that of an object of it (``module:object``):
    names are looked up there as well, and so is the target itself where it is ``bare``.
    ``code`` is a digest of the page's code, if the request may use it: names are looked up
    there as well, a target without a module there first.  ``make`` are arguments that the
    target is called with first, ``None`` for no call; the part ``then`` of what that returns
    is traced.
    """

    target: str
    args: tuple[tuple[str, Value], ...] = ()
    static: tuple[tuple[str | int, Value], ...] = ()
    steps: tuple[Step, ...] = ()
    jit: bool = False
    x64: bool = False
    expects_error: bool = False
    third_party: tuple[tuple[str, str], ...] = ()
    allowed: tuple[str, ...] = ()
    mesh: Mesh | Name | None = None
    around: tuple[str, ...] = ()
    bare: bool = False
    code: str = ""
    make: tuple[tuple[str, Value], ...] | None = None
    then: str = ""

    def to_json(self) -> JsonObject:
        """Plain data; equal requests give equal data."""
        return {
            **({"allowed": list(self.allowed)} if self.allowed else {}),
            **({"mesh": encode(self.mesh)} if self.mesh else {}),
            **({"around": list(self.around), "bare": self.bare} if self.around else {}),
            **({"code": self.code} if self.code else {}),
            **({"make": _arguments(self.make)} if self.make is not None else {}),
            **({"then": self.then} if self.then else {}),
            "target": self.target,
            "args": _arguments(self.args),
            "static": [[key, encode(value)] for key, value in self.static],
            "steps": _steps(self.steps),
            "jit": self.jit,
            "x64": self.x64,
            "expects_error": self.expects_error,
            "third_party": [list(pair) for pair in self.third_party],
        }

    def variant_json(self, base: JsonObject) -> JsonObject:
        """The same, given the data of the base: a variant differs in these fields only."""
        return {
            **base,
            "steps": _steps(self.steps),
            "expects_error": self.expects_error,
            "third_party": [list(pair) for pair in self.third_party],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """The inverse of :meth:`to_json`."""
        return cls(
            target=data["target"],
            args=tuple((name, decode(value)) for name, value in data["args"]),
            static=tuple((key, decode(value)) for key, value in data["static"]),
            steps=tuple(
                Step(name, tuple((key, decode(value)) for key, value in options))
                for name, options in data["steps"]
            ),
            jit=data["jit"],
            x64=data["x64"],
            expects_error=data["expects_error"],
            third_party=tuple((name, path) for name, path in data["third_party"]),
            allowed=tuple(data.get("allowed", ())),
            mesh=decode(data["mesh"]) if "mesh" in data else None,
            around=tuple(data.get("around", ())),
            bare=data.get("bare", False),
            code=data.get("code", ""),
            make=tuple((key, decode(v)) for key, v in data["make"]) if "make" in data else None,
            then=data.get("then", ""),
        )

    @property
    def digest(self) -> str:
        """Hex digest of the canonical form."""
        return digest(self.to_json())

    @property
    def base(self) -> Request:
        """The untransformed program that this one is compared with."""
        return replace(self, steps=(), expects_error=False, third_party=())

    def variant(self, chain: Chain, third_party: Mapping[str, str]) -> Request:
        """The same program under the steps of a chain, registered ones among them."""
        used = {step.name for step in chain.steps} & set(third_party)
        pairs = tuple((name, third_party[name]) for name in sorted(used))
        return replace(self, steps=chain.steps, third_party=pairs)

    @property
    def modules(self) -> list[str]:
        """Modules that this request itself names; for a dotted name, the object as well."""
        # Whether a name means the page's code or a module, only the worker knows.
        target = [] if self.code and ":" not in self.target else [self.target]
        named = [*target, *self.around, *(path for _, path in self.third_party)]
        named += [module for _, module in self.option_modules]
        return [name.partition(":")[0] for name in named]

    @property
    def option_modules(self) -> list[tuple[str, str]]:
        """The modules of all names ``module:name`` in options, each with its option."""
        options: tuple[tuple[str, Any], ...] = (
            ("args", [value for _, value in self.args]),
            ("static", [value for _, value in self.static]),
            ("mesh", self.mesh),
            ("make", [value for _, value in self.make or ()]),
        )
        pairs = (
            (option, name.partition(":")[0])
            for option, values in options
            for name in names_in(values)
            if ":" in name
        )
        return list(dict.fromkeys(pairs))

    @property
    def is_shareable(self) -> bool:
        """Whether no object is made for this request alone, to which tracing may do something."""
        static = [value for _, value in self.static]
        return self.make is None and not any(isinstance(each, Call) for each in parts_of(static))

    @property
    def top_modules(self) -> set[str]:
        """Top-level names of the modules that this request itself names."""
        return {name.partition(".")[0] for name in self.modules}

    @property
    def module(self) -> str:
        """The module part of the target, ``""`` for a dotted target."""
        return self.target.partition(":")[0] if ":" in self.target else ""


def _arguments(pairs: Iterable[tuple[str, Value]]) -> list[Any]:
    return [[name, encode(value)] for name, value in pairs]


def _steps(steps: tuple[Step, ...]) -> list[Any]:
    return [[step.name, [[key, encode(value)] for key, value in step.options]] for step in steps]


def is_within(module: str, allowed: tuple[str, ...]) -> bool:
    """Whether a module is one of ``allowed``, or inside one."""
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def encode(value: Value | Mesh) -> Any:
    """A value as JSON data; what JSON lacks becomes an object with one key."""
    match value:
        case Name(text):
            return {"name": text}
        case Aval(dtype, shape, axes, memory):
            return {
                "aval": dtype,
                "shape": list(shape),
                **({"axes": [list(names) for names in axes]} if axes else {}),
                **({"memory": memory} if memory else {}),
            }
        case Ref(inner):
            return {"ref": encode(inner)}
        case Mesh(axes, types):
            return {"mesh": [list(pair) for pair in axes], "types": list(types)}
        case Call(name, items, keywords):
            return {
                "call": name,
                "items": [encode(item) for item in items],
                **({"named": [[key, encode(item)] for key, item in keywords]} if keywords else {}),
            }
        case tuple():
            return {"tuple": [encode(item) for item in value]}
        case list():
            return [encode(item) for item in value]
        case dict():
            return {"dict": [[key, encode(item)] for key, item in value.items()]}
        case complex():
            return {"complex": [encode(value.real), encode(value.imag)]}
        case float() if not math.isfinite(value):
            return {"float": repr(value)}
    return value


def decode(data: Any) -> Any:
    """The inverse of :func:`encode`."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "name" in data:
        return Name(data["name"])
    if "aval" in data:
        axes = tuple(map(tuple, data.get("axes", ())))
        return Aval(data["aval"], tuple(data["shape"]), axes, data.get("memory", ""))
    if "ref" in data:
        return Ref(decode(data["ref"]))
    if "mesh" in data:
        return Mesh(tuple((axis, size) for axis, size in data["mesh"]), tuple(data["types"]))
    if "call" in data:
        named = tuple((key, decode(item)) for key, item in data.get("named", ()))
        return Call(data["call"], tuple(decode(item) for item in data["items"]), named)
    if "tuple" in data:
        return tuple(decode(item) for item in data["tuple"])
    if "dict" in data:
        return {key: decode(item) for key, item in data["dict"]}
    if "float" in data:
        return float(data["float"])
    return complex(*map(decode, data["complex"]))


_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")


def is_target(text: str) -> bool:
    """Whether a text may name an object: ``module:qualname``, or dotted, or a single name."""
    return _TARGET.fullmatch(text) is not None


def _near(name: str, names: Iterable[str], meant: Mapping[str, str]) -> str:
    """The clause that names what a wrong name was meant to be, if that is clear."""
    names = [*names]
    other = meant.get(name.lower(), "")
    return f", did you mean {other!r}?" if other in names else nearest(name, names)


def _unknown_transform(name: str, names: list[str]) -> str:
    """The message about a transform that there is not, with the nearest one."""
    last = name.rpartition(".")[2]
    near = f", did you mean {last!r}?" if last in names else _near(last, names, MEANT_TRANSFORMS)
    if last.lower() in ("none", "base"):
        near = "; without the option, the function itself is shown"
    return f"unknown transform {shorten(name)}{near} (known: {', '.join(names)})"


def check_chain(chain: Chain, third_party: Mapping[str, str]) -> str:
    """What is wrong with a chain's names, options or label, or ``""``."""
    for step in chain.steps:
        if step.name in third_party:
            continue  # its own signature is checked where it is imported
        if step.name not in TRANSFORMS:
            return _unknown_transform(step.name, sorted({*TRANSFORMS, *third_party}))
        options = TRANSFORMS[step.name].options
        for key, _ in step.options:
            if key not in options:
                listed = ", ".join(options) or "none"
                return (
                    f"unknown option {shorten(key)} of {step.name!r}"
                    f"{_near(key, options, MEANT_OPTIONS)} (it takes: {listed})"
                )
    if chain.label in RESERVED_LABELS:
        return _reserved(chain.label, "label")
    return check_name(chain.label, "label")


def checked(chains: Iterable[Chain], third_party: Mapping[str, str]) -> list[tuple[Chain, str]]:
    """Each chain with what is wrong with it, such as the label of another, or ``""``."""
    pairs: list[tuple[Chain, str]] = []
    labels: set[str] = set()
    for chain in chains:
        problem = check_chain(chain, third_party)
        if not problem and chain.label in labels:
            problem = (
                f"two variants have the label {shorten(chain.label)}; name one with 'as', as in"
                f" {chain.steps[0].name}(...) as other"
            )
        labels.add(chain.label)
        pairs.append((chain, problem))
    return pairs


def variants(
    base: Request, chains: Iterable[Chain], third_party: Mapping[str, str]
) -> list[tuple[str, Request]]:
    """The request of each chain, with its label; ``ValueError`` if one is wrong."""
    labelled = []
    for chain, problem in checked(chains, third_party):
        if problem:
            raise ValueError(problem)
        labelled.append((chain.label, base.variant(chain, third_party)))
    return labelled


def check_name(name: str, subject: str) -> str:
    """What is wrong with a block's name or a label, or ``""``."""
    if not (name.isascii() and name.isidentifier()):
        return f"{subject} {shorten(name)} is not an ASCII identifier (letters, digits and _)"
    if keyword.iskeyword(name) or name in RESERVED:
        return _reserved(name, subject)
    return ""


def _reserved(name: str, subject: str) -> str:
    return f"{subject} {name!r} is a reserved word, try {name + '_'!r}"


def local_name(target: str) -> str:
    """The page-local name of a block without ``name``: the last part of its target."""
    last = target.replace(":", ".").rpartition(".")[2] or "block"
    if not (last.isascii() and last.isidentifier()):
        last = "".join(c if c.isascii() and c.isidentifier() else "_" for c in last)
    return last + "_" if keyword.iskeyword(last) or last in RESERVED else last
