"""What a piece of Python binds and reads, found out without running it.

Of the code above it a block runs the pieces that it may need, so that an edit of another piece
does not trace it again.  What does nothing but bind names that nobody reads makes no difference;
whatever is not certain counts as needed.
"""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.abc import InspectLoader
from typing import Final, NamedTuple

from ...tracing.jobs import PAGE


class Bindings(NamedTuple):
    """What a piece of code does with names.

    It ``binds`` some in its module, and ``reads`` at most these, whenever its functions run.  With
    ``is_open`` it may bind or read any.  ``is_quiet``: running it binds names and does
    nothing else, if ``members`` (dotted) are those of modules and ``wrappers`` functions of JAX
    that only wrap.  ``imports`` maps names to what they mean for certain, unless a piece
    ``patches`` an attribute of that name.  ``problem`` says, with a line, why it is not Python.
    """

    binds: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    is_open: bool = True
    is_quiet: bool = False
    members: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    imports: tuple[tuple[str, str], ...] = ()
    patches: frozenset[str] = frozenset()
    problem: tuple[str, int] | None = None


def bindings(text: str) -> Bindings:
    """Read a piece of Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, PAGE)
            InspectLoader.source_to_code(text, PAGE)  # finds what the grammar allows
            table = symtable.symtable(text, PAGE, "exec")
        return _bindings(tree, table)
    except SyntaxError as error:
        return Bindings(problem=(error.msg, error.lineno or 1))
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, too deep
        return Bindings(problem=(str(error) or type(error).__name__, 1))


def _bindings(tree: ast.Module, table: symtable.SymbolTable) -> Bindings:
    nodes = list(ast.walk(tree))
    binds, reads = frozenset(_bound(table, is_module=True)), frozenset(_read(nodes))
    quiet = _Quiet()
    is_quiet = all(map(quiet.statement, tree.body))
    return Bindings(
        binds,
        reads,
        is_open=not _REFLECTION.isdisjoint(reads)
        or any(map(_is_special, binds))
        or _reaches_any(nodes),
        is_quiet=is_quiet,
        members=frozenset(quiet.members),
        wrappers=frozenset(quiet.wrappers),
        imports=tuple(sorted(set(_meanings(nodes, set(_assigned(table, is_module=True)))))),
        patches=frozenset(_patched(nodes)),
    )


def needed(above: Sequence[Bindings], names: Iterable[str]) -> list[int]:
    """The positions of the pieces that must run, in order, before ``names`` can be used.

    These are the pieces that bind one of the names, or a name that another needed piece reads;
    and all that may do more than bind names.
    """
    if any(piece.is_open for piece in above):
        return list(range(len(above)))
    chosen = set(noisy(above))
    wanted = set(names).union(*(above[number].reads for number in chosen))
    while True:
        more = {
            number
            for number, piece in enumerate(above)
            if number not in chosen and not wanted.isdisjoint(piece.binds)
        }
        if not more:
            return sorted(chosen)
        chosen |= more
        wanted.update(*(above[number].reads for number in more))


def noisy(pieces: Sequence[Bindings]) -> frozenset[int]:
    """The positions of the pieces that may do more than bind names."""
    meanings = _certain(pieces)
    patched: frozenset[str] = frozenset().union(*(piece.patches for piece in pieces))
    bound: frozenset[str] = frozenset().union(*(piece.binds for piece in pieces))
    return frozenset(
        n for n, piece in enumerate(pieces) if not _is_quiet(piece, meanings, patched, bound)
    )


# --- names

#: With one of these, code may reach names of its module that it does not spell.
_REFLECTION: Final = frozenset(
    """globals locals vars dir eval exec compile sys inspect gc importlib pickle ctypes
    attrgetter methodcaller __getattribute__ __import__ __builtins__ __dict__ __globals__
    __subclasses__ __loader__ __spec__ _getframe f_globals f_locals get_type_hints get_objects
    get_referrers""".split()
)
#: Special names that are the same in every module, or have nothing to do with it.
_ALIKE: Final = frozenset({"__name__", "__file__", "__debug__", "__class__", "__all__"})
_WORD: Final = re.compile(r"[^\W\d]\w*")


def _read(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """All names in some code; annotations, and what libraries look up, may be strings."""
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield from _REFLECTION & {node.attr}
        elif isinstance(node, ast.alias):
            yield from _REFLECTION.intersection(node.name.split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _WORD.findall(node.value)


def _bound(table: symtable.SymbolTable, *, is_module: bool = False) -> Iterator[str]:
    """The names that code binds in its module, in functions by ``global``."""
    yield from _assigned(table, is_module=is_module)
    if is_module:
        yield from (each.get_name() for each in table.get_symbols() if each.is_imported())


def _assigned(table: symtable.SymbolTable, *, is_module: bool = False) -> Iterator[str]:
    """Those that it may bind in another way than by an import."""
    for symbol in table.get_symbols():
        if symbol.is_declared_global() or (is_module and symbol.is_assigned()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _assigned(inner)


def _reaches_any(nodes: Iterable[ast.AST]) -> bool:
    """Whether code may reach names, here or of a library, that it does not spell."""
    computed = 0  # uses of ``getattr`` and the like but for those with a spelled name
    for node in nodes:
        match node:
            case ast.ImportFrom(names=names) if any(alias.name == "*" for alias in names):
                return True
            case ast.Name(name) if _is_special(name):
                return True
            case ast.Name("getattr" | "setattr" | "delattr"):
                computed += 1
            case ast.Call(ast.Name("getattr" | "setattr" | "delattr"), [_, ast.Constant(), *_]):
                computed -= 1
    return computed > 0


def _is_special(name: str) -> bool:
    """Whether a name may be of Python's own making: in classes ``__x`` means ``_Class__x``."""
    return name.startswith("__") and name not in _ALIKE


def _patched(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The attributes that code may set or delete, whatever the object is."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Call):  # setattr, or a library's way to do the same
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield from _WORD.findall(argument.value)


def _meanings(nodes: Iterable[ast.AST], assigned: Collection[str]) -> Iterator[tuple[str, str]]:
    """The names that imports bind, with what they mean, ``""`` where that is not certain."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                full = alias.name if alias.asname else name
                yield name, full if alias.name in _LOADED and name not in assigned else ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name, full = alias.asname or alias.name, f"{node.module}.{alias.name}"
                yield name, full if _is_harmless_from(node) and name not in assigned else ""


def _certain(pieces: Iterable[Bindings]) -> dict[str, str]:
    """The names that mean a library or a member of one, and nothing else, with their meaning."""
    meanings: dict[str, set[str]] = {}
    for piece in pieces:
        by_name: dict[str, set[str]] = {}
        for name, full in piece.imports:
            by_name.setdefault(name, set()).add(full)
        for name in piece.binds:
            meanings.setdefault(name, set()).update(by_name.get(name, {""}))
    return {name: min(full) for name, full in meanings.items() if len(full) == 1 and any(full)}


def _is_quiet(
    piece: Bindings, meanings: dict[str, str], patched: frozenset[str], bound: frozenset[str]
) -> bool:
    def full(dotted: str) -> str:
        first, dot, rest = dotted.partition(".")
        known = f"{meanings[first]}{dot}{rest}" if first in meanings else ""
        return known if patched.isdisjoint(known.split(".")) else ""

    return (
        piece.is_quiet
        and all(name in _BUILT_IN - bound or full(name) for name in piece.members)
        and all(full(name) in _WRAPPERS for name in piece.wrappers)
    )


# --- what certainly does nothing but bind names

#: Modules that are imported before any page's code, and whose members are plain objects.  The
#: import of another one changes its package, which code may reach by another name.
_LOADED: Final = frozenset(
    """jax jax.dtypes jax.lax jax.nn jax.numpy jax.random jax.sharding jax.tree jax.tree_util
    jax.typing jax.nn.initializers jax.numpy.fft jax.numpy.linalg numpy numpy.fft numpy.linalg
    numpy.random functools math typing dataclasses collections collections.abc itertools operator
    enum abc contextlib re types""".split()
)
#: Members of JAX that an import statement has to load.
_NOT_LOADED: Final = frozenset(
    """ad_checkpoint cloud_tpu_init collect_profile example_libraries export flatten_util
    test_util tools""".split()
)
#: Types that annotations subscript and join.
_BUILT_IN: Final = frozenset(
    "bool bytes complex dict float frozenset int list object set str tuple type".split()
)
#: What makes a function of a function, and does nothing else.
_WRAPPERS: Final = frozenset({"jax.jit", "jax.checkpoint", "jax.remat", "functools.partial"})


def _is_harmless_from(statement: ast.ImportFrom) -> bool:
    names = {alias.name for alias in statement.names}
    loaded = statement.module in _LOADED and not statement.level
    return loaded and (statement.module != "jax" or names.isdisjoint(_NOT_LOADED))


class _Quiet:
    """Judges statements and expressions; collects what that takes for granted."""

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.wrappers: set[str] = set()

    def statement(self, statement: ast.stmt) -> bool:
        """Whether running a statement binds names and does nothing else."""
        match statement:
            case ast.Import(names):
                return all(alias.name in _LOADED for alias in names)
            case ast.ImportFrom():
                return _is_harmless_from(statement)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._function(statement)
            case ast.Assign(targets, value):
                named = all(isinstance(target, ast.Name) for target in targets)
                return named and self.expression(value)
            case ast.AnnAssign(ast.Name(), annotation, value):
                return self.expression(annotation) and self.expression(value)
            case ast.Expr(ast.Constant()) | ast.Pass():
                return True
        return False

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += filter(None, [arguments.vararg, arguments.kwarg])
        evaluated = [*arguments.defaults, *arguments.kw_defaults, function.returns]
        evaluated += [argument.annotation for argument in every]
        return all(map(self.expression, evaluated)) and all(
            map(self._decorator, function.decorator_list)
        )

    def _decorator(self, expression: ast.expr) -> bool:
        """Whether a decorator may be one of JAX's that only wrap, perhaps with options."""
        if isinstance(expression, ast.Call):
            values = [*expression.args, *(keyword.value for keyword in expression.keywords)]
            # Of ``partial``, the first argument is the decorator.
            wraps = all(self._wraps(v) for v in expression.args[:1])
            return self._wraps(expression.func) and wraps and all(map(self.expression, values))
        return self._wraps(expression)

    def _wraps(self, expression: ast.expr) -> bool:
        self.wrappers.add(dotted := _dotted(expression))
        return bool(dotted)

    def expression(self, expression: ast.expr | None) -> bool:
        """Whether evaluating an expression calls nothing."""
        match expression:
            case None | ast.Constant() | ast.Name():
                return True
            case ast.Lambda(arguments):
                return all(map(self.expression, [*arguments.defaults, *arguments.kw_defaults]))
            case ast.Attribute():
                return self._member(expression)
            case ast.Tuple(items) | ast.List(items):
                return all(map(self.expression, items))
            case ast.Dict(keys, values):
                return all(isinstance(key, ast.Constant) for key in keys) and all(
                    map(self.expression, values)
                )
            case ast.UnaryOp(_, ast.Constant()) | ast.BinOp(ast.Constant(), _, ast.Constant()):
                return True
            case ast.BinOp(left, ast.BitOr(), right):
                return self._type(left) and self._type(right)
            case ast.Subscript(value, index):
                return self._member(value) and self.expression(index)
        return False

    def _type(self, expression: ast.expr) -> bool:
        if isinstance(expression, ast.Name):
            return self._member(expression)
        return self.expression(expression)

    def _member(self, expression: ast.expr) -> bool:
        self.members.add(dotted := _dotted(expression))
        return bool(dotted)


def _dotted(expression: ast.expr) -> str:
    """A dotted name; ``""`` for any other expression."""
    if isinstance(expression, ast.Name):
        return expression.id
    inner = _dotted(expression.value) if isinstance(expression, ast.Attribute) else ""
    return f"{inner}.{expression.attr}" if inner and isinstance(expression, ast.Attribute) else ""
