"""The tree of an expression that authors write first, and the text of a tree."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from keyword import iskeyword
from typing import Final

from ...python import expression
from ..syntax import FUNCTIONS, MAX_DEPTH

#: Outside of quoted texts.  A word is what pages write for a primitive or an argument.
_SIGNS: Final = (
    (re.compile(r"^(?:assert|return) "), ""),
    (re.compile(r"===|(?<![=!<>:])=(?!=)"), "=="),
    (re.compile(r"!==|<>|≠|/="), "!="),
    (re.compile("≤"), "<="),
    (re.compile("≥"), ">="),
    (re.compile(r"&&|\N{LOGICAL AND}"), " and "),
    (re.compile(r"\|\||\u2228"), " or "),
    (re.compile(r"!(?!=)|¬"), " not "),
    (re.compile("∈"), " in "),
    (re.compile(r"\.in\b"), ".inputs"),
    (re.compile(r"\[ ?([^\W\d]\w*(?:[- ]\w+)*) ?\]"), lambda match: f"[{_key(match[1])}]"),
    (re.compile(r"(?<![\w.])v?(\d+\.\d+\.[\w.]+)"), r'"\1"'),
    (re.compile(rf"\b({'|'.join(sorted(FUNCTIONS))}) ([A-Za-z_][\w.]*(?:\[[^][]*\])*)"), r"\1(\2)"),
    (re.compile(r"([\w.]+) (?:has|contains|uses) (?:an? )?([a-z]\w*)$"), r'"\2" in ops(\1)'),
    (re.compile(r"([\w.[\]]+) before ([\w.[\]]+)$"), r"\1.index < \2.index"),
    (re.compile(r"([\w.[\]]+) after ([\w.[\]]+)$"), r"\1.index > \2.index"),
)
_QUOTED: Final = re.compile(r'("[^"]*"|\'[^\']*\')')


def _key(word: str) -> str:
    return f'"{word}"' if iskeyword(word) or not word.isidentifier() else word


def readable(text: str) -> ast.expr | None:
    """The tree of a text, once signs of other languages are Python's."""
    tree = tree_of(text)
    if tree is not None:
        return tree
    parts = _QUOTED.split(text)
    for pattern, right in _SIGNS:
        replaced = [(n % 2 and part) or pattern.sub(right, part) for n, part in enumerate(parts)]
        parts = _QUOTED.split("".join(map(str, replaced)))
    return tree_of("".join(parts).strip())


def tree_of(text: str) -> ast.expr | None:
    tree = expression(text)
    if tree is None:
        return None
    for node in ast.walk(tree):  # whose segments rules ask for
        if isinstance(node, ast.Constant):
            node.kind = ast.get_source_segment(text, node)
    return tree


def compares_itself(text: str) -> bool:
    """Whether a text compares something with itself."""
    tree = tree_of(text)
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)] if tree else []
    return any(
        ast.unparse(left) == ast.unparse(right)
        for node in compared
        for left, right in pairwise([node.left, *node.comparators])
    )


def is_deep(tree: ast.AST) -> bool:
    """Whether a tree is nested deeper than expressions may be."""
    level = [tree]
    for _ in range(2 * MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def written(tree: ast.AST) -> str:
    """The text of a tree, with the quotation marks and the brackets of the reference."""
    loops = _Loops()
    text = ast.unparse(ast.fix_missing_locations(loops.visit(tree)))
    for name, loop in reversed(loops.texts.items()):
        text = text.replace(name, loop)
    return text if '"' in text or "\\" in text else text.replace("'", '"')


class _Loops(ast.NodeTransformer):
    """Puts names for loops that are all a function takes: Python writes ``all((...))``."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call with a name for its loop."""
        self.generic_visit(node)
        match node.args:
            case [ast.GeneratorExp() as loop]:
                name = f"loop_{len(self.texts)}_"
                self.texts[name] = ast.unparse(ast.fix_missing_locations(loop))[1:-1]
                return ast.Call(node.func, [ast.Name(name, ast.Load())], [])
        return node
