"""Directives of this documentation that show the package's own tables.

They read the modules that the extension itself reads, so that a page can't
say something else than the code does.  Nothing here imports JAX.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from sphinx_jaxpr.commands.show import OPTIONS as SHOW_OPTIONS
from sphinx_jaxpr.ext import api
from sphinx_jaxpr.ext.assets import STATIC, STYLE
from sphinx_jaxpr.ext.config import OPTIONS
from sphinx_jaxpr.program.functions import EITHER
from sphinx_jaxpr.program.functions import tables as functions_of
from sphinx_jaxpr.program.glossary.formats import FORMATS
from sphinx_jaxpr.program.glossary.kinds import KINDS
from sphinx_jaxpr.tracing.grammar import DTYPES, KEYS
from sphinx_jaxpr.tracing.request import RESERVED, RESERVED_LABELS
from sphinx_jaxpr.tracing.specs import TRANSFORMS

#: What each variable of the style sheet colours.
VARIABLES: Final[dict[str, str]] = {
    "--jaxpr-background": "behind a block",
    "--jaxpr-foreground": "text",
    "--jaxpr-muted": "counts, footers, fold marks",
    "--jaxpr-border": "lines around and inside a block",
    "--jaxpr-type": "types",
    "--jaxpr-primitive": "names of primitives",
    "--jaxpr-keyword": "`lambda`, `let` and `in`",
    "--jaxpr-parameter": "names of parameters",
    "--jaxpr-literal": "literals",
    "--jaxpr-error": "stripe and headline of a failure",
    "--jaxpr-added": "mark of an equation that the base lacks",
    "--jaxpr-added-background": "ground of such an equation",
    "--jaxpr-reshaped": "mark of an equation of other shapes than the base's",
    "--jaxpr-reshaped-background": "ground of such an equation",
    "--jaxpr-forward": "stripe and name of the phase forward",
    "--jaxpr-tangent": "of the phase tangent",
    "--jaxpr-transpose": "of the phase transpose",
    "--jaxpr-recomputed": "of the phase recomputed",
    "--jaxpr-focus": "outline of what has the keyboard",
    "--jaxpr-hit": "ground of a variable and its uses, pointed at",
    "--jaxpr-font": "the font of programs",
}

#: What each format of ``words`` in ``jaxpr_glossary`` takes, with an example.
WORD_FORMATS: Final[dict[str, tuple[str, object]]] = {
    "int": ("a whole number", 8),
    "number": ("a number", 0.95),
    "list": ("whole numbers", (0, 2)),
    "axis": ("one axis, counted from the end where it is negative", -1),
    "axes": ("one axis or several, by number or name", (0, 1)),
    "shape": ("a shape", (8, 4)),
    "sizes": ("lengths along axes", (8, 4)),
    "pairs": ("pairs of numbers", ((0, 1), (1, 0))),
    "groups": ("groups of numbers", ((0, 1), (2, 3))),
    "dtype": ("a dtype", "float32"),
    "quoted": ("a text", "softmax"),
}

#: The fields of ``output.json``; ``[]`` is each item of a list, ``*`` each key of an object.
OUTPUT: Final[dict[str, tuple[str, str]]] = {
    "schema": ("number", "`1`"),
    "versions.jax": ("text", "the JAX that traced; empty where nothing was traced"),
    "versions.jaxlib": ("text", "its jaxlib"),
    "versions.python": ("text", "the Python that traced"),
    "findings[].type": ("text", "the warning's type, such as `jaxpr.claim`"),
    "findings[].source": ("text", "where: the file"),
    "findings[].line": ("number", "where: the line"),
    "findings[].message": ("text", "what is wrong, and what is true instead"),
    "hints[].source": ("text", "where: the file"),
    "hints[].line": ("number", "where: the line"),
    "hints[].message": ("text", "what is no fault: an old name that still resolves"),
    "sentences[].page": ("text", "the page that shows a role, a claim or a condition"),
    "sentences[].source": ("text", "where it is written: the file"),
    "sentences[].line": ("number", "where it is written: the line"),
    "sentences[].what": ("text", "`claim`, `val`, `eqn`, `ref`, `prim`, `when` or `let`"),
    "sentences[].words": ("text", "what readers see of a claim or a link; the name of a `let`"),
    "sentences[].expression": ("text", "the path or the predicate"),
    "sentences[].state": ("text", "its state"),
    "sentences[].value": (
        "text",
        "of a `val`, the value as it is shown; of a `claim` or `when`, the values of both sides of"
        " each comparison, as in `review.md`; of an `eqn`, the equation; else empty",
    ),
    "claims_of_nothing": ("number", "how many claims hold of nothing; each is a finding too"),
    "lock.*": ("text", "where the project has a lock, by block: the level of its drift"),
    "pages.*.*.*": ("number", "by page, kind (as in `what`, or `note`) and state: how many"),
    "blocks.*.name": ("text", "by page and identity (`page#jaxpr-dense`): the block's name"),
    "blocks.*.equations": ("number", "its equations at any depth"),
    "blocks.*.pointed_at": ("number", "how many of them a link or a note points at"),
    "blocks.*.not_mentioned[]": ("text", "a path to each of the others, from the block on"),
}


#: Constants for other extensions, which have no docstrings.
CONSTANTS: Final[dict[str, str]] = {
    "HIDDEN": "Visitors that show nothing of a node.",
    "PLAIN": "Visitors that show the children of a node alone.",
    "Visitors": "The type of visitors: what to do where a node begins, and where it ends.",
}
#: What other extensions call of the classes that are for them.
METHODS: Final[dict[str, tuple[str, ...]]] = {
    "ProjectBlocks": ("ids", "shown_id", "page_digest"),
    "CheckedDirective": ("begin", "add_finding", "check_option_names", "check_myst_options"),
    "PageDomain": ("connect", "of", "outdated_pages", "clear_doc", "merge_domaindata"),
    "PageTransform": (),
    "SourceSpan": ("option", "content"),
}


def config_table() -> str:
    """Every value of conf.py, each with a target of its own."""
    parts = []
    for option in OPTIONS:
        kind = type(option.default).__name__
        parts.append(
            f"```{{confval}} {option.name}\n:type: {kind}\n:default: `{option.default!r}`\n\n"
            f"{option.meaning}\n```"
        )
    return "\n\n".join(parts)


def transform_table() -> str:
    """Every built-in transform with its options."""
    parts = []
    for name, transform in TRANSFORMS.items():
        listed = ", ".join(_option(key, default) for key, default in transform.options.items())
        tail = f" Options: {listed}." if listed else ""
        parts.append(f"`{name}`\n: {transform.rule}{tail}")
    return "\n\n".join(parts)


def _option(key: str, default: str) -> str:
    """An option with its default, in code where the default can be written."""
    return f"`{key}` ({default})" if "argument" in default else f"`{key}={default}`"


def reserved_words() -> str:
    """Every name that a block or a label can't have."""
    soft = ", ".join(f"`{word}`" for word in sorted(RESERVED))
    hard = ", ".join(f"`{word}`" for word in sorted(set(keyword.kwlist) - RESERVED))
    labels = ", ".join(f"`{word}`" for word in sorted(RESERVED_LABELS))
    return (
        f"Words of the path language: {soft}.\n\nThese can be names, but not labels: {labels}."
        f"\n\nPython's keywords: {hard}."
    )


def kinds() -> str:
    """Every kind of a primitive."""
    return "\n".join(f'- `"{kind}"`: {meaning}' for kind, meaning in KINDS.items())


def dtype_table() -> str:
    """Every dtype that a spec may have."""
    listed = ", ".join(f"`{short}`" for short in (*DTYPES, *KEYS))
    return f"{listed}."


def function_table() -> str:
    """Every function that is not a primitive, grouped by what JAX prints for it."""
    rows = ["| functions | print |", "|---|---|"]
    for module, names in functions_of().items():
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, primitives in names.items():
            groups.setdefault(primitives, []).append(name)
        word = " or " if module == EITHER else ", "
        prefix = f"{module}." if module.startswith("jax.") else ""
        for primitives, functions in sorted(groups.items()):
            listed = ", ".join(f"`{prefix}{name}`" for name in functions)
            rows.append(f"| {listed} | {word.join(f'`{name}`' for name in primitives)} |")
    return "\n".join(rows)


def word_formats() -> str:
    """Every format of the words about a primitive's parameters."""
    _same("formats of words", WORD_FORMATS, FORMATS)
    rows = ["| format | takes | gives |", "|---|---|---|"]
    for name, (takes, example) in WORD_FORMATS.items():
        rows.append(f"| `{name}` | {takes}: `{example!r}` | {FORMATS[name](example)} |")
    return "\n".join(rows)


def output_fields() -> str:
    """Every field of ``output.json``; a test compares them with what is written."""
    rows = ["| field | is a | holds |", "|---|---|---|"]
    rows += [f"| `{field}` | {kind} | {holds} |" for field, (kind, holds) in OUTPUT.items()]
    return "\n".join(rows)


def css_variables() -> str:
    """Every variable of the style sheet, with its value in light and dark."""
    style = (STATIC / STYLE).read_text("utf-8")
    light, dark = (dict(found) for found in _blocks(style))
    _same("variables", VARIABLES, light)
    rows = ["| variable | colours | light | dark |", "|---|---|---|---|"]
    for name, value in light.items():
        shown = f"`{value}`" if value.startswith("#") else "the system's monospace"
        other = f"`{dark[name]}`" if name in dark else "the same"
        rows.append(f"| `{name}` | {VARIABLES[name]} | {shown} | {other} |")
    return "\n".join(rows)


def command_line_options() -> str:
    """Every option of ``python -m sphinx_jaxpr show``."""
    rows = ["| option | is |", "|---|---|"]
    for option, told in SHOW_OPTIONS.items():
        value = f" {told['metavar']}" if "metavar" in told else ""
        rows.append(f"| `{option}{value}` | {told['help']} |")
    return "\n".join(rows)


def extension_api() -> str:
    """Every name that other extensions may import, with what its docstring says."""
    parts = []
    for name in api.__all__:
        value = getattr(api, name)
        paragraphs = inspect.cleandoc(value.__doc__ or "").split("\n\n")
        meaning = CONSTANTS.get(name) or "\n\n  ".join(map(_in_markdown, paragraphs))
        rows = [f"- `{_call(getattr(value, m), m)}`: {_prose(getattr(value, m))}"
                for m in METHODS.get(name, ())]  # fmt: skip
        listed = "".join(f"\n  {row}" for row in rows)
        head = name if name in CONSTANTS or name in METHODS else _call(value, name)
        if names := _field_names(value):
            head = f"{name}({', '.join(names)})"
        parts.append(f"`{head}`\n: {meaning}" + (f"\n{listed}" if listed else ""))
    _same("methods", METHODS.keys() - set(api.__all__), ())
    _same("constants", CONSTANTS.keys() - set(api.__all__), ())
    return "\n\n".join(parts)


def _field_names(value: Any) -> tuple[str, ...]:
    """The fields of a dataclass or a named tuple; none of anything else."""
    if is_dataclass(value):
        return tuple(field.name for field in fields(value))
    return getattr(value, "_fields", ())


def _call(value: Any, name: str) -> str:
    """A function with the names of its arguments, or a class's name."""
    if isinstance(value, type):
        return name
    taken = [one for one in inspect.signature(value).parameters if one not in ("self", "cls")]
    return f"{name}({', '.join(taken)})"


def _prose(value: Any) -> str:
    """The first paragraph of a docstring, in Markdown."""
    return _in_markdown(inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0])


def _in_markdown(text: str) -> str:
    text = re.sub(r":\w+:`~?\.?([\w.]+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def _blocks(style: str) -> list[list[tuple[str, str]]]:
    """The variables of the first two rules that set any: light, then dark."""
    rules = re.findall(r"\{([^{}]*)\}", style)
    found = [re.findall(r"(--jaxpr-[\w-]+):\s*([^;]+);", rule) for rule in rules]
    return [pairs for pairs in found if pairs][:2]


def _same(what: str, written: Iterable[str], known: Iterable[str]) -> None:
    if set(written) != set(known):
        raise ValueError(f"docs/_ext/tables.py: {what}: {sorted(set(written) ^ set(known))}")


def _directive(make: Callable[[], str]) -> type[SphinxDirective]:
    class Table(SphinxDirective):
        def run(self) -> list[nodes.Node]:
            try:
                text = make()
            except ValueError as error:
                raise self.error(str(error)) from error
            return self.parse_text_to_nodes(text)

    return Table


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    first = (config_table, transform_table, reserved_words, kinds, dtype_table, css_variables)
    for make in (
        *first,
        function_table,
        word_formats,
        output_fields,
        command_line_options,
        extension_api,
    ):
        app.add_directive(make.__name__.replace("_", "-"), _directive(make))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
