"""Which statements of a notebook's cell count as code of its page: those that define names.

Text in, text out, with the same number of lines: what doesn't count is blank, so that lines stay
what they are.  Nothing is run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

# --- statements


class Definitions(NamedTuple):
    """The part of a cell that counts.

    ``text`` has as many lines as the cell.  ``left_out`` are the names that it lacks, because
    other lines of the cell bind them.
    """

    text: str
    left_out: tuple[LeftOutName, ...] = ()


class LeftOutName(NamedTuple):
    """A name, the line of the cell, from 1, that binds it, and why that doesn't count.

    The reason is empty if the line would count among ``assignments``.
    """

    name: str
    line: int
    reason: str = ""


def definitions(
    source: str, *, assignments: bool, above: frozenset[str] = frozenset()
) -> Definitions:
    """The imports, functions and classes of a cell, and its ``assignments`` where these count.

    ``above`` are the names that the page has bound so far.  Where a statement that doesn't count
    binds one of them again, the name is removed: its value would not be what readers expect.
    """
    text = without_magics(source)
    none: frozenset[str] = frozenset()
    if text is None:
        magic = source.split(maxsplit=1)[0]
        runs_here = magic in _PYTHON_MAGICS
        return omitted(source, f"the cell begins with `{magic}`", above if runs_here else none)
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        words = error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        return omitted(source, f"the cell is not Python (line {line} of it: {words})", above)
    rows = _Rows(text)
    bound = set(above)
    left_out: dict[str, LeftOutName] = {}
    for statement in statements:
        names = dict(_bindings(statement))
        if _counts(statement, assignments):
            rows.keep(statement)
            bound |= names.keys()
            left_out = {name: each for name, each in left_out.items() if name not in names}
            continue
        reason = "" if _counts(statement, True) else _OTHERS
        left_out |= {name: LeftOutName(name, line, reason) for name, line in names.items()}
        for name in sorted(names.keys() & bound):
            rows.remove(name, statement.lineno)
        bound -= names.keys()
    return Definitions(rows.text(), tuple(left_out.values()))


#: They run the cell as Python, and the names that it binds are those of the notebook.
_PYTHON_MAGICS: Final = ("%%capture", "%%prun", "%%time")
#: Why other statements don't count.
_OTHERS: Final = "of a cell only imports, functions, classes and assignments are run"


def omitted(source: str, reason: str, above: frozenset[str] = frozenset()) -> Definitions:
    """Nothing of a cell, for a reason, but that the names ``above`` that it may bind are removed.

    The text can't be parsed, so the names are those that its lines seem to bind.
    """
    lines = _normal(source).split("\n")
    rows = _Rows("\n" * (len(lines) - 1))
    left_out: dict[str, LeftOutName] = {}
    for number, line in enumerate(lines, 1):
        for name in _apparent_names(line):
            if name in above and name not in left_out:
                rows.remove(name, number)
            left_out[name] = LeftOutName(name, number, reason)
    return Definitions(rows.text(), tuple(left_out.values()))


_DEFINITIONS: Final = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *filter(None, [getattr(ast, "TypeAlias", None)]),  # from Python 3.12 on
)
_ASSIGNMENTS: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_TRIES: Final = (ast.Try, ast.TryStar)


def _counts(statement: ast.stmt, assignments: bool) -> bool:
    """Whether a statement of a cell is run.

    An ``if`` or ``try`` counts if all statements in its branches do and one of them defines
    something.  Beside definitions a branch may hold ``pass``, and constants, as in
    ``except ImportError: flax = None``.  The condition may not call anything but ``hasattr``.
    """
    if isinstance(statement, _DEFINITIONS):
        return True
    if isinstance(statement, _ASSIGNMENTS):
        return assignments and not _awaits(statement)
    branches = _branches(statement)
    return _defines(branches) and all(
        isinstance(inner, ast.Pass | ast.Raise)
        or _is_constant(inner)
        or _counts(inner, assignments)
        for inner in branches
    )


def _branches(statement: ast.stmt) -> list[ast.stmt]:
    """All statements in the branches of an ``if`` or ``try``; none of other statements."""
    if isinstance(statement, ast.If) and not _calls(statement.test):
        return [*statement.body, *statement.orelse]
    if isinstance(statement, _TRIES):
        handled = [inner for handler in statement.handlers for inner in handler.body]
        return [*statement.body, *handled, *statement.orelse, *statement.finalbody]
    return []


def _defines(branches: list[ast.stmt]) -> bool:
    return any(
        isinstance(inner, _DEFINITIONS + _ASSIGNMENTS) or _defines(_branches(inner))
        for inner in branches
        if not _is_constant(inner)
    )


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def _calls(test: ast.expr) -> bool:
    """Whether a condition computes something that may take long."""
    return any(
        isinstance(node, ast.Await | ast.NamedExpr)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) != "hasattr")
        for node in ast.walk(test)
    )


def _awaits(statement: ast.stmt) -> bool:
    """Whether a statement awaits outside of functions, which only a notebook can."""
    return any(
        isinstance(node, ast.Await) or (isinstance(node, ast.comprehension) and node.is_async)
        for node in _outside_functions(statement)
    )


_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those in it, but for functions, classes and the names of comprehensions."""
    yield node
    if isinstance(node, _SCOPES):
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.comprehension) and child is node.target):
            yield from _outside_functions(child)


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, int]]:
    """The names that a statement binds in its module, each with its line."""
    for node in _outside_functions(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0], node.lineno
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, node.lineno
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name, node.lineno


class _Rows:
    """The lines of a text, all blank at first, and what is kept of them."""

    def __init__(self, text: str) -> None:
        self._bytes = [line.encode() for line in text.split("\n")]  # columns of `ast` are bytes
        self._kept = [""] * len(self._bytes)

    def keep(self, node: ast.stmt) -> None:
        """Keep a statement at its lines."""
        decorators = getattr(node, "decorator_list", [])
        first, start = min(
            [(node.lineno, node.col_offset)]
            # From the column of its class or function on: the `@` is before the expression.
            + [(each.lineno, node.col_offset) for each in decorators]
        )
        last, end = node.end_lineno or first, node.end_col_offset
        for number in range(first, last + 1):
            line = self._bytes[number - 1]
            piece = line[start if number == first else 0 : end if number == last else len(line)]
            self.write(number, piece.decode())

    def remove(self, name: str, number: int) -> None:
        """Remove a name at a line; perhaps a branch that wasn't taken should have bound it."""
        self.write(number, f"{name} = None; del {name}")

    def write(self, number: int, code: str) -> None:
        """Add code to a line, behind what it has."""
        kept = self._kept[number - 1]
        self._kept[number - 1] = f"{kept}; {code}" if kept else code

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._kept)


# --- what IPython reads and Python doesn't

#: At the beginning of a line, where no statement can have them.
_ESCAPES: Final = re.compile(r"[ \t]*[%!?,;/]")
#: ``names = !ls`` and ``best = %timeit -o f()``.
_ASSIGNED: Final = re.compile(r"[ \t]*(?P<names>[^\W\d][\w., \t]*?)[ \t]*=[ \t]*[%!]")
#: ``name?`` and ``name??``.
_HELP: Final = re.compile(r"""[^#'"]*[\w)\]*]\?\??[ \t;]*(#.*)?$""")
#: What hides brackets and ends of lines: comments and strings.
_TOKEN: Final = re.compile(
    r"""\#[^\n]*
    |(?P<long>\"{3}|'{3})(?:\\.|(?!(?P=long)).)*(?:(?P=long)|\Z)
    |(?P<short>["'])(?:\\.|(?!(?P=short))[^\\\n])*(?:(?P=short)|(?=\n)|\Z)
    |\\\n|[()\[\]{}]|\n""",
    re.DOTALL | re.VERBOSE,
)


def without_magics(source: str) -> str | None:
    """A cell without the lines that only IPython reads; ``None`` if all of it is IPython's.

    In a block of statements, ``pass`` is in the place of such a line.
    """
    text = _normal(source)
    if text.lstrip().startswith("%%"):
        return None
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    else:
        return text  # valid Python has no magics
    kept: list[str] = []
    position = 0
    while position < len(text):
        end = _next_line(text, position)
        if not _is_magic(text[position:end]):
            end = _next_statement(text, position)
            kept.append(text[position:end])
        else:
            while text[position:end].endswith("\\\n"):
                end = _next_line(text, end)
            kept.append(_instead(text[position:end]))
        position = end
    return "".join(kept)


def _is_magic(line: str) -> bool:
    return bool(_ESCAPES.match(line) or _ASSIGNED.match(line) or _HELP.match(line))


def _instead(magic: str) -> str:
    """What removes the names to which a magic assigns, or in a block ``pass``; else nothing."""
    assigned = _ASSIGNED.match(magic)
    indent = magic[: len(magic) - len(magic.lstrip(" \t"))]
    code = f"del {assigned['names']}" if assigned else "pass" * bool(indent)
    return (indent + code if code else "") + "\n" * magic.count("\n")


def _next_line(text: str, position: int) -> int:
    return text.find("\n", position) + 1 or len(text)


def _next_statement(text: str, position: int) -> int:
    """Where the logical line ends that begins at a position."""
    depth = 0
    for match in _TOKEN.finditer(text, position):
        token = match[0]
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(depth - 1, 0)
        elif token == "\n" and not depth:
            return match.end()
    return len(text)


_APPARENT: Final = re.compile(
    r"(?:(?:async[ \t]+)?def|class)[ \t]+(?P<defined>[^\W\d]\w*)"
    r"|(?P<assigned>[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ \t]*(?::[^=]*)?=(?!=)"
    r"|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(?P<imported>.*)"
)


def _apparent_names(line: str) -> Iterable[str]:
    """The names that a line of a text that can't be read as Python seems to bind."""
    match = _APPARENT.match(line)
    if not match:
        return ()
    if imported := match["imported"]:
        names = (part.split(" as ")[-1].strip() for part in imported.split(","))
        return [name.partition(".")[0] for name in names if name]
    return re.findall(r"[^\W\d]\w*", match["defined"] or match["assigned"])


def _normal(source: str) -> str:
    return source.replace("\r\n", "\n").replace("\r", "\n")
