"""The import direction of the package, read from its source with ``ast``.

Each room of ``sphinx_jaxpr`` may import what ``ROOMS`` says, wherever in the file
the import stands: a lazy import is an import.  See ``docs/explanation/design.md``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PACKAGE = "sphinx_jaxpr"
JAX = frozenset({"jax", "jaxlib", "numpy"})
SPHINX = frozenset({"sphinx", "docutils", "pygments"})
PRIVATE_JAX = ("jax._src", "jax.core")
MAX_LINES = 600
MAX_FILES = 20  # of one folder
# Objects without a type, for JSON and for Sphinx alone: ``dict[str, Any]``, and with it
# its alias ``JsonObject``, which only the rooms in ``CODECS`` use.
MAX_ANY_DICTS = 30
MAX_UNTYPED = 50
CODECS = ("tracing/", "worker/server.py")

# A room is a file or a folder of the package.  What it may import beside the
# standard library: other distributions, and parts of this package.
ROOMS: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {
    "__init__.py": (frozenset(), ()),
    "lexer.py": (frozenset({"pygments"}), (f"{PACKAGE}.program",)),
    "program/": (frozenset(), (f"{PACKAGE}.program",)),
    "tracing/": (
        frozenset(),
        (f"{PACKAGE}.__version__", f"{PACKAGE}.program", f"{PACKAGE}.tracing"),
    ),
    # One traced block: what pages, commands and tests read alike.
    "block.py": (frozenset(), (f"{PACKAGE}.program", f"{PACKAGE}.tracing")),
    "worker/": (JAX, (f"{PACKAGE}.program", f"{PACKAGE}.tracing", f"{PACKAGE}.worker")),
    "ext/": (SPHINX, (PACKAGE,)),
    # Commands run Sphinx as a process and never load it, nor what traces.
    "commands/": (
        frozenset(),
        tuple(f"{PACKAGE}.{room}" for room in ("block", "commands", "program", "tracing")),
    ),
    "__main__.py": (
        frozenset(),
        tuple(f"{PACKAGE}.{room}" for room in ("__version__", "commands", "tracing.grammar")),
    ),
    # A test owns its process and has JAX in it already, so this one may trace there.
    "testing.py": (
        JAX,
        tuple(f"{PACKAGE}.{room}" for room in ("block", "program", "tracing", "worker")),
    ),
    # As any other extension would: with what ext offers to others, and nothing else.
    "lesson/": (
        SPHINX,
        tuple(f"{PACKAGE}.{room}" for room in ("__version__", "ext.api", "lesson")),
    ),
}
# The order inside a room: a floor imports itself and the floors before it in this list.
# A name that ends in ``/`` is a sub-package; every module of the room is on one floor.
FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "program/": (
        (
            "text.py",
            "python.py",
            "dtypes.py",
            "rounding.py",
            "functions.py",
            "model.py",
            "renames.py",
            "flows.py",
            "facts.py",
        ),
        ("parser/",),
        ("matching/",),
        ("glossary/",),
        ("query/",),
        ("drift/",),
        ("html/",),
        ("__init__.py",),
    ),
    "worker/": (
        ("__init__.py",),
        ("facts/",),
        ("access.py", "avals.py", "failures.py", "recorder.py", "stage.py"),
        ("targets/",),
        ("transforms/",),
        ("isolation/",),
        ("tracer.py",),
        ("keeper.py", "process.py", "server.py"),
    ),
    "ext/": (
        (
            *("__init__.py", "links.py", "locale.py", "nodes.py"),
            *("pages.py", "records.py", "values.py"),
        ),
        ("config.py",),
        ("reading/",),
        ("judging/",),
        ("showing/",),
        ("builders/",),
        ("api.py", "assets.py", "extension.py", "on_demand.py"),
    ),
}
# The rooms that work inside Sphinx.
SPHINX_SIDE = ("ext/", "lesson/")
# The room that imports JAX and user code.  Sphinx's process must never load it.
WORKER = f"{PACKAGE}.worker"


@dataclass(frozen=True)
class Import:
    """One imported name: ``from a.b import c`` is module ``a.b``, name ``c``."""

    line: int
    module: str
    name: str
    typing_only: bool
    deferred: bool

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Module:
    """One source file of the package."""

    path: str
    source: str
    tree: ast.Module

    @property
    def name(self) -> str:
        parts = self.path.removesuffix(".py").removesuffix("__init__").strip("/").split("/")
        return ".".join([PACKAGE, *filter(None, parts)])

    @property
    def room(self) -> str:
        folder, slash, _ = self.path.partition("/")
        return folder + slash

    def imports(self) -> list[Import]:
        package = self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]
        reader = _Imports(package.split("."))
        reader.visit(self.tree)
        return reader.found


class _Imports(ast.NodeVisitor):
    """Every import of a file, with literal ``import_module("...")`` calls."""

    def __init__(self, package: list[str]) -> None:
        self.package = package
        self.found: list[Import] = []
        self.typing_only = False
        self.deferred = False

    def add(self, line: int, module: str, name: str = "") -> None:
        self.found.append(Import(line, module, name, self.typing_only, self.deferred))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(node.lineno, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            above = self.package[: len(self.package) - node.level + 1]
            module = ".".join([*above, *filter(None, [module])])
        for alias in node.names:
            self.add(node.lineno, module, alias.name)

    def visit_Call(self, node: ast.Call) -> None:
        function = dotted(node.func).rpartition(".")[2]
        if function in {"import_module", "__import__"} and node.args:
            target = node.args[0]
            if isinstance(target, ast.Constant) and isinstance(target.value, str):
                self.add(node.lineno, target.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        before = self.typing_only
        self.typing_only = before or dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING"
        for child in node.body:
            self.visit(child)
        self.typing_only = before
        self.visit(node.test)
        for child in node.orelse:
            self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before, self.deferred = self.deferred, True
        self.generic_visit(node)
        self.deferred = before

    visit_AsyncFunctionDef = visit_FunctionDef


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or an attribute chain, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        below = dotted(node.value)
        return f"{below}.{node.attr}" if below else ""
    return ""


def within(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


def private(name: str) -> bool:
    """Whether a part of a dotted name is private: not ``__version__``, nor gettext's ``_``."""
    return any(
        part.startswith("_") and part.strip("_") and not part.endswith("__")
        for part in name.split(".")
    )


# --- the rules: each yields (file, line, what is wrong) ---------------------

Finding = tuple[str, int, str]


def check(sources: dict[str, str]) -> list[str]:
    """All findings for a package given as path within it -> source."""
    modules: list[Module] = []
    findings: list[Finding] = []
    for path, source in sources.items():
        try:
            modules.append(Module(path, source, ast.parse(source, feature_version=(3, 11))))
        except SyntaxError as error:
            findings.append((path, error.lineno or 1, f"is no Python 3.11: {error.msg}"))
    for module in modules:
        findings += room_rule(module)
        findings += private_rule(module)
        findings += floor_rule(module)
        findings += length_rule(module)
    findings += reach_rule(modules)
    findings += sphinx_rule(modules)
    findings += cycle_rule(modules)
    findings += folder_rule(modules)
    findings += class_rule(modules)
    return [f"{PACKAGE}/{path}:{line}: {text}" for path, line, text in sorted(set(findings))]


def room_rule(module: Module) -> Iterator[Finding]:
    if module.room not in ROOMS:
        yield module.path, 1, "is in no room of ROOMS: say there what it may import"
        return
    others, ours = ROOMS[module.room]
    for found in module.imports():
        if found.top in sys.stdlib_module_names or found.top in others:
            continue
        if found.top == PACKAGE and within(found.full, ours):
            continue
        if module.room == "__init__.py" and (
            (found.deferred and within(found.full, (f"{PACKAGE}.ext",)))
            or (found.typing_only and found.top == "sphinx")
        ):
            continue
        yield module.path, found.line, f"{module.room} must not import {found.full}"


def floor_of(room: str, path: str) -> int:
    """The floor of a module, by its path within the package; -1 where it is on none."""
    inside = path.removeprefix(room)
    for number, floor in enumerate(FLOORS[room]):
        if any(inside == name or (name[-1] == "/" and inside.startswith(name)) for name in floor):
            return number
    return -1


def floor_rule(module: Module) -> Iterator[Finding]:
    """Inside a room data flows one way, as from reading to judging to showing."""
    if module.room not in FLOORS:
        return
    own = floor_of(module.room, module.path)
    if own < 0:
        yield module.path, 1, f"is on no floor of {module.room}; see FLOORS"
        return
    package = f"{PACKAGE}.{module.room.rstrip('/')}."
    for imported in module.imports():
        if not imported.full.startswith(package):
            continue
        inside = imported.full.removeprefix(package).replace(".", "/")
        floors = [floor_of(module.room, f"{module.room}{inside}{end}") for end in (".py", "/")]
        if imported.name and "/" in inside:  # ``from .text import words``: the module is one up
            floors.append(floor_of(module.room, f"{module.room}{inside.rpartition('/')[0]}.py"))
        if max(floors) > own:
            yield module.path, imported.line, f"imports {imported.full} from a later floor"


def folder_rule(modules: list[Module]) -> Iterator[Finding]:
    """A folder is small enough to keep in mind."""
    folders: dict[str, int] = {}
    for module in modules:
        folder = module.path.rpartition("/")[0]
        folders[folder] = folders.get(folder, 0) + 1
    for folder, count in folders.items():
        if count > MAX_FILES:
            yield folder, 1, f"has {count} modules; {MAX_FILES} is the most"


def class_rule(modules: list[Module]) -> Iterator[Finding]:
    """One name means one thing: no two modules have a class of the same name."""
    first: dict[str, str] = {}
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                other = first.setdefault(node.name, module.path)
                if other != module.path:
                    yield module.path, node.lineno, f"class {node.name} is also in {other}"


def private_rule(module: Module) -> Iterator[Finding]:
    """No private JAX anywhere; no private Sphinx or docutils where Sphinx is used."""
    bound: dict[str, str] = {}
    used: list[tuple[int, str]] = [(found.line, found.full) for found in module.imports()]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and (chain := dotted(node)):
            root, _, rest = chain.partition(".")
            if root in bound:
                used.append((node.lineno, f"{bound[root]}.{rest}"))
    for line, name in used:
        if within(name, PRIVATE_JAX):
            yield module.path, line, f"{name}: jax._src and jax.core are not to be used"
        if module.room in SPHINX_SIDE and within(name, ("sphinx", "docutils")) and private(name):
            yield module.path, line, f"{name} is private to {name.partition('.')[0]}"


def length_rule(module: Module) -> Iterator[Finding]:
    lines = len(module.source.splitlines())
    if lines > MAX_LINES:
        yield module.path, lines, f"has {lines} lines; {MAX_LINES} is the most"


def edges(modules: list[Module]) -> dict[str, dict[str, tuple[str, Import]]]:
    """Which module of the package imports which: the file and the import that says so."""
    names = {module.name for module in modules}
    graph: dict[str, dict[str, tuple[str, Import]]] = {module.name: {} for module in modules}
    for module in modules:
        for found in module.imports():
            if module.path == "__init__.py" and found.deferred:
                continue  # setup() hands over to ext: the one import that goes back
            target = found.full if found.full in names else found.module
            if target in names:
                graph[module.name].setdefault(target, (module.path, found))
    return graph


def reached(modules: list[Module], rooms: Container[str]) -> Iterator[tuple[str, str, Import]]:
    """All that the modules of ``rooms`` load: each module, by which file, in which import."""
    graph = edges(modules)
    start = [module.name for module in modules if module.room in rooms]
    seen, queue = set(start), list(start)
    while queue:
        name = queue.pop()
        for target, (path, found) in graph.get(name, {}).items():
            yield target, path, found
            if within(target, (WORKER,)):
                continue  # what it loads is another process's
            # Importing a.b.c runs the __init__ of a and of a.b too.
            parts = target.split(".")
            for length in range(1, len(parts) + 1):
                above = ".".join(parts[:length])
                if above not in seen:
                    seen.add(above)
                    queue.append(above)


def reach_rule(modules: list[Module]) -> Iterator[Finding]:
    """What Sphinx's process, or a command's, loads never leads to a module that imports JAX."""
    for target, path, found in reached(
        modules, {*SPHINX_SIDE, "lexer.py", "commands/", "__main__.py"}
    ):
        if within(target, (WORKER,)):
            text = f"loads {target}, which imports JAX, into Sphinx's process"
            yield path, found.line, text


def sphinx_rule(modules: list[Module]) -> Iterator[Finding]:
    """Commands and tests work where Sphinx is not installed."""
    heavy = {
        module.name
        for module in modules
        if any(found.top in SPHINX and not found.typing_only for found in module.imports())
    }
    for target, path, found in reached(modules, {"commands/", "__main__.py", "testing.py"}):
        if target in heavy and not found.typing_only:
            yield path, found.line, f"loads {target}, which needs Sphinx"


def cycle_rule(modules: list[Module]) -> Iterator[Finding]:
    """No module imports itself, however many steps away; lazily neither."""
    graph = edges(modules)

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        queue = [start]
        while queue:
            for target in graph.get(queue.pop(), {}):
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
        return seen

    reach = {name: reachable(name) for name in graph}
    for name, targets in graph.items():
        for target, (path, found) in targets.items():
            if name in reach[target]:
                yield path, found.line, f"import cycle: {target} leads back to {name}"


# --- the package itself ----------------------------------------------------


def package_sources() -> dict[str, str]:
    root = Path(__file__).parent.parent / PACKAGE
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")
    }


def test_package_keeps_its_layers() -> None:
    sources = package_sources()
    assert "program/model.py" in sources
    findings = check(sources)
    assert not findings, "\n" + "\n".join(findings)


# --- the checker catches what it is for ------------------------------------


@pytest.mark.parametrize(
    ("path", "source", "finding"),
    [
        ("program/model.py", "import numpy", "program/ must not import numpy"),
        ("program/model.py", "from sphinx_jaxpr import ext", "must not import sphinx_jaxpr.ext"),
        ("program/model.py", "from ..tracing import store", "sphinx_jaxpr.tracing.store"),
        ("program/model.py", "import sphinx_jaxpr.programs", "import sphinx_jaxpr.programs"),
        ("program/model.py", "import yaml", "program/ must not import yaml"),
        ("tracing/client.py", "import jax", "tracing/ must not import jax"),
        ("tracing/client.py", "def f():\n    from jax import numpy", "must not import jax.numpy"),
        ("tracing/client.py", "importlib.import_module('jax.numpy')", "import jax.numpy"),
        ("tracing/client.py", "__import__('jaxlib')", "must not import jaxlib"),
        ("worker/process.py", "import sphinx.util", "worker/ must not import sphinx.util"),
        ("worker/process.py", "from jax._src import core", "jax._src.core: jax._src and"),
        ("worker/process.py", "from jax import core", "jax.core: jax._src and"),
        ("worker/process.py", "import jax\njax.core.Jaxpr", ":2: jax.core.Jaxpr: jax._src"),
        ("worker/process.py", "import jax as j\nj._src.core", ":2: jax._src.core: jax._src"),
        ("worker/stage.py", "import jax.extend\njax.core", ":2: jax.core: jax._src"),
        ("ext/nodes.py", "import jax", "ext/ must not import jax"),
        ("ext/nodes.py", "import myst_parser", "ext/ must not import myst_parser"),
        ("ext/nodes.py", "from sphinx.util import _files", "sphinx.util._files is private"),
        ("lesson/show.py", "from sphinx.util import _files", "sphinx.util._files is private"),
        ("lesson/show.py", "import jax", "lesson/ must not import jax"),
        ("lesson/show.py", "from ..ext.nodes import x", "must not import sphinx_jaxpr.ext.nodes.x"),
        ("lesson/show.py", "from ..program.text import x", "must not import sphinx_jaxpr.program"),
        ("ext/nodes.py", "from sphinx.writers._html4 import X", "is private to sphinx"),
        ("ext/nodes.py", "from docutils import nodes\nnodes._x", ":2: docutils.nodes._x is"),
        ("lexer.py", "import sphinx", "lexer.py must not import sphinx"),
        ("commands/show.py", "import jax", "commands/ must not import jax"),
        ("commands/show.py", "from docutils import nodes", "commands/ must not import docutils"),
        ("commands/show.py", "from ..ext import nodes", "must not import sphinx_jaxpr.ext.nodes"),
        ("commands/show.py", "from ..worker import tracer", "must not import sphinx_jaxpr.worker"),
        ("__main__.py", "from .ext import nodes", "__main__.py must not import sphinx_jaxpr.ext"),
        ("testing.py", "from .ext import nodes", "testing.py must not import sphinx_jaxpr.ext"),
        ("__init__.py", "import sphinx_jaxpr.ext.extension", "must not import sphinx_jaxpr.ext"),
        ("__init__.py", "from sphinx.application import Sphinx", "__init__.py must not import"),
        ("ext/records.py", "from .reading import notes", "ext.reading.notes from a later floor"),
        ("ext/reading/notes.py", "from ..judging.scopes import x", "judging.scopes.x from a later"),
        ("ext/judging/scopes.py", "from ..showing import block", "showing.block from a later"),
        ("ext/showing/block.py", "from ..builders.check import x", "builders.check.x from a later"),
        ("ext/builders/lock.py", "from ..extension import setup", "extension.setup from a later"),
        ("ext/judging/scopes.py", "def f():\n    from .. import extension", ":2: imports sphinx"),
        ("program/parser/parser.py", "from ..query import views", "query.views from a later floor"),
        ("program/text.py", "from . import parser", "program.parser from a later floor"),
        ("ext/other.py", "", "is on no floor of ext/"),
        ("util.py", "", "is in no room of ROOMS"),
        ("lexer.py", "\ndef broken(:", ":2: is no Python 3.11: invalid syntax"),
        ("program/query/syntax.py", "\n" * 601, ":601: has 601 lines; 600 is the most"),
    ],
)
def test_bad_source_is_found(path: str, source: str, finding: str) -> None:
    findings = check({path: source})
    assert any(finding in found for found in findings), findings
    assert all(found.startswith(f"sphinx_jaxpr/{path}:") for found in findings)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("program/model.py", "from __future__ import annotations\nimport ast, tomllib"),
        ("program/query/syntax.py", "from sphinx_jaxpr.program.model import Program"),
        ("program/query/syntax.py", "from ..model import Program\nfrom . import scope"),
        ("tracing/store.py", "from sphinx_jaxpr.program import model"),
        ("worker/process.py", "import jax.extend.core, numpy\njax.extend.core.Jaxpr"),
        ("tracing/client.py", "COMMAND = ['-m', 'sphinx_jaxpr.worker.process']"),
        ("ext/extension.py", "from docutils import nodes\nfrom sphinx_jaxpr import __version__"),
        ("ext/nodes.py", "from sphinx.locale import _, __\nimport sphinx\nsphinx.__version__"),
        ("lexer.py", "from pygments.lexer import RegexLexer"),
        ("commands/show.py", "from ..program.html.code import code\nfrom ..tracing import client"),
        ("testing.py", "def f():\n    import jax\n    from .worker import tracer"),
        ("__init__.py", "def setup(app):\n    from sphinx_jaxpr.ext import setup"),
        ("__init__.py", "if TYPE_CHECKING:\n    from sphinx.application import Sphinx"),
        ("program/query/syntax.py", "\n" * 600),
    ],
)
def test_good_source_is_not(path: str, source: str) -> None:
    assert check({path: source}) == []


def test_jax_is_found_behind_other_modules() -> None:
    findings = check(
        {
            "ext/extension.py": "from sphinx_jaxpr.tracing.client import run",
            "tracing/__init__.py": "\nfrom sphinx_jaxpr.worker import stage",
            "tracing/client.py": "",
            "worker/stage.py": "import jax",
        }
    )
    assert len(findings) == 2  # by what it loads, and by the room it stands in
    assert findings[0].startswith("sphinx_jaxpr/tracing/__init__.py:2: loads ")
    assert "sphinx_jaxpr.worker.stage, which imports JAX" in findings[0]


def test_ext_may_not_load_a_jax_module() -> None:
    findings = check({"ext/nodes.py": "from ..worker import process", "worker/process.py": ""})
    assert len(findings) == 1
    assert "loads sphinx_jaxpr.worker.process" in findings[0]


def test_sphinx_is_found_behind_other_modules() -> None:
    sources = {
        "commands/show.py": "\nfrom ..tracing.client import run",
        "tracing/client.py": "from ..ext.nodes import x",
        "ext/nodes.py": "from docutils import nodes",
    }
    assert check(sources) == [
        "sphinx_jaxpr/tracing/client.py:1: loads sphinx_jaxpr.ext.nodes, which needs Sphinx",
        "sphinx_jaxpr/tracing/client.py:1: tracing/ must not import sphinx_jaxpr.ext.nodes.x",
    ]
    typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from docutils import nodes"
    assert len(check({**sources, "ext/nodes.py": typing})) == 1


def test_folders_stay_small() -> None:
    full = {f"tracing/a{number}.py": "" for number in range(MAX_FILES)}
    assert check(full) == []
    assert check({**full, "tracing/b.py": ""}) == [
        f"sphinx_jaxpr/tracing:1: has {MAX_FILES + 1} modules; {MAX_FILES} is the most"
    ]


def test_class_names_are_unique() -> None:
    sources = {"tracing/a.py": "class Pack: ...", "worker/facts/b.py": "\nclass Pack: ..."}
    (finding,) = check(sources)
    assert finding == "sphinx_jaxpr/worker/facts/b.py:2: class Pack is also in tracing/a.py"


def untyped(sources: dict[str, str]) -> tuple[list[str], list[str]]:
    """Each use of ``dict[str, Any]``, and each of ``JsonObject``, as the file that has it."""
    dicts: list[str] = []
    aliases: list[str] = []
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Subscript) and ast.unparse(node) == "dict[str, Any]":
                dicts.append(path)
            elif dotted(node) == "JsonObject" and isinstance(getattr(node, "ctx", None), ast.Load):
                aliases.append(path)
    return dicts, aliases


def test_untyped_objects_stay_few() -> None:
    dicts, aliases = untyped(package_sources())
    assert 0 < len(dicts) <= MAX_ANY_DICTS, sorted(dicts)
    assert 0 < len(aliases) <= MAX_UNTYPED - len(dicts), sorted(aliases)
    assert [path for path in aliases if not path.startswith(CODECS)] == []


def test_untyped_objects_are_counted() -> None:
    source = (
        "JsonObject: TypeAlias = dict[str, Any]\ndef f(a: list[dict[str, Any]]) -> JsonObject: ..."
    )
    assert untyped({"a.py": source, "b.py": "from .a import JsonObject"}) == (
        ["a.py"] * 2,
        ["a.py"],
    )


def test_cycles_are_found() -> None:
    findings = check(
        {
            "tracing/a.py": "from sphinx_jaxpr.tracing import b",
            "tracing/b.py": "\nfrom .c import x",
            "tracing/c.py": "def late():\n    import sphinx_jaxpr.tracing.a",
            "tracing/d.py": "from .a import y",
        }
    )
    assert [found.partition(": ")[0] for found in findings] == [
        "sphinx_jaxpr/tracing/a.py:1",
        "sphinx_jaxpr/tracing/b.py:2",
        "sphinx_jaxpr/tracing/c.py:2",
    ]
    assert "leads back to sphinx_jaxpr.tracing.a" in findings[0]


def test_the_hand_over_in_setup_is_no_cycle() -> None:
    assert not check(
        {
            "__init__.py": "def setup(app):\n    from sphinx_jaxpr.ext.extension import setup",
            "ext/extension.py": "from sphinx_jaxpr import __version__",
        }
    )
