"""The small grammar of printed jaxprs, and how far an opaque value reaches.

JAX prints parameter values with ``str``, so a value can be any text at all:
brackets that never close, quotes, newlines.  What bounds it is the layout.  A
parameter list is either broken over lines, where each name and the closing
bracket have a column of their own, or it is flat, where brackets are matched
first and, should they not match, the next thing that parses decides.
"""

from __future__ import annotations

import re
from typing import Final


def _balanced(inner: str, depth: int) -> str:
    """Text of one line in which ``[({`` and ``])}`` nest at most ``depth`` deep."""
    quoted = r"'[^'\\\n]*+'"
    body = f"(?:{inner}|{quoted})*+"
    for _ in range(depth):
        body = rf"(?:{inner}|{quoted}|[\[({{]{body}[\])}}])*+"
    return body


_INSIDE: Final = _balanced(r"[^()\[\]{}'\n]++", 2)
NAME: Final = r"[A-Za-z_]\w*+"
# ``key<fry>[2]``, ``Ref<vmem>{f32[8]}``, ``f32[a,2*b + 1]{V:(x,y), U:z}``, ``Tok``
TYPE: Final = rf"(?:[A-Za-z]\w*+(?:\.\w++)*+)(?:[\[({{]{_INSIDE}[\])}}]|<(?![-=\s])[^<>\n]*+>)*+"
_CHUNK: Final = r"[^\s,;()\[\]{}#=:]++"
_VALUE: Final = rf"(?:(?:Literal|array)\({_INSIDE}\)|{_CHUNK}|\([^()\s]*+\)|\[\.\.\.\])"
_ATOM: Final = rf"(?:{_VALUE})(?::{TYPE})?"
_INDICES: Final = rf"(?:[\[{{]{_INSIDE}[\]}}])++"
_IN: Final = rf"in\s*[(\[]{_INSIDE}[)\]]\s*[:}}]"

# The name of a shared program is that of a Python function: mostly one word.
_NAMED: Final = r"[ \t]+(\S(?:[^\n]{0,200}?\S)??)\s*=\s*"
START: Final = re.compile(rf"(?:\blet{_NAMED})?\{{\s*lambda\b")
LET: Final = re.compile(rf"\s*(let){_NAMED}(?=\{{\s*lambda\b)")
LET_NAME: Final = re.compile(rf"let{_NAMED}\{{\s*lambda\b")
# In the text of an object, equations may come before, so here a name has no ``=``.
LOCAL_NAME: Final = re.compile(r"let[ \t]+(\S[^\n={]{0,200}?)[ \t]*=\s*\{\s*lambda\b")
LET_IN: Final = re.compile(r"\s*(in)\b(?!\s*[(\[])")
OPEN: Final = re.compile(r"\{\s*(lambda)\b")
HEADER_LET: Final = re.compile(r"\s*(let)\b")
END: Final = re.compile(r"(in)\s*[(\[]\s*")
CLOSE: Final = re.compile(r"\s*[)\]](?:\s*:\s*\{(?:[^{}]|\{[^{}]*+\})*+\})?\s*\}")

BINDER: Final = re.compile(rf"\s*({NAME}|\*)(?::({TYPE}))?(?=[\s,;.])")
# Without binders in front, a primitive's name must not look like one of those.
PRIMITIVE: Final = re.compile(r"(?=[^\s\w]{0,9}\w)[^\s\[\](){};=,:#]++(?=[\s\[(;]|\Z)")
BOUND_PRIMITIVE: Final = re.compile(r"[^\s\[\]{};=,#]++(?=[\s\[;]|\Z)")
BINDS: Final = re.compile(r"\s+=\s+(?:#[^\n]*\s+)*")
READS: Final = re.compile(r"\s+<-\s+")
WRITES: Final = re.compile(r"\s+(<-|\+=)\s+")
COMMA: Final = re.compile(r"\s*,\s*")
ATOM: Final = re.compile(rf"({_VALUE})(?::({TYPE}))?(?=[\s,;)\]}}]|\Z)")
OPERAND: Final = re.compile(rf" ((?!in [(\[]|->){_VALUE})(?::({TYPE}))?(?=[ \n;]|\Z)")
PLAIN: Final = re.compile(rf"({NAME}):({TYPE}) = ([^\s\[\]{{}};=,#]++)(?= )")
REFERENCE: Final = re.compile(rf"({NAME})({_INDICES})")
INDICES: Final = re.compile(rf"\[({_INSIDE})\]|\{{{_INSIDE}\}}")
MASK: Final = re.compile(r" (mask|other)=(?=\S)")
PROGRAM_END: Final = re.compile(_IN)
INDEX: Final = re.compile(r"[^,\[\]]+(?:\[\])?")
INDEX_ATOM: Final = re.compile(rf"({NAME}|[-+]?\d[\w.]*)(?::({NAME}\[\]))?")
INDEX_NAME: Final = re.compile(rf"(?<![\w.]){NAME}")

# A comment is what ``pretty_print(source_info=True)`` adds at the end of a line.
GAP: Final = re.compile(r"\s*+(?:(?<=\s)#[^\n]*+\s*+)*+")
BETWEEN: Final = re.compile(r"[\s;]*+(?:(?<=[\s;])#[^\n]*+[\s;]*+)*+")
BROKEN: Final = re.compile(rf"\[[ \t]*(?:#[^\n]*)?(?:\n *#[^\n]*)*\n( *)(?={NAME}=)")
PARAMETER: Final = re.compile(rf"({NAME})=(?!=)")
AFTER_VALUE: Final = re.compile(rf"\s*(?:#[^\n]*\s*)*(?:\]|{NAME}=(?!=))")
WORD: Final = re.compile(r"[^\s(){}\[\],]+")
NUMBER: Final = re.compile(
    r"[-+]?(?:\d[\d_]*+(?:\.\d*)?|\.\d+|inf|nan)(?:[eE][-+]?\d+)?j?|\([^()\s]*j\)"
)
SCALAR: Final = re.compile(rf"True|False|None|(?:{NUMBER.pattern})|'[^'\n]*'|\"[^\"\n]*\"")
LITERAL_WORDS: Final = frozenset({"True", "False", "None", "inf", "nan"})

_TAIL: Final = re.compile(
    rf"(?: (?!{_IN})(?:{NAME}{_INDICES}|{_ATOM}))*+\s*(?:$|;|#|\Z|{_IN})", re.MULTILINE
)
_SIMPLE: Final = re.compile(
    rf"'[^'\\\n]*+'|\"[^\"\\\n]*+\"|[^()\[\]{{}}'\"\s]*+(?:[\[({{]{_INSIDE}[\])}}])?+"
)
_NEXT: Final = re.compile(rf"\s+{NAME}=(?!=)")
_LOOKS_LIKE: Final = rf"{NAME}:{TYPE} (?:=|<-) |in \("
_ANCHOR: Final = re.compile(rf"\n( *)(?:(\])|({NAME})=(?!=)|(?:{_LOOKS_LIKE}))")
_MARK: Final = re.compile(r"(\{\s*lambda\b)|[)}\]] \}")
_SCAN: Final = re.compile(
    r"(?<=[=(\[{,: ])(?:'(?:\\.|[^'\\\n])*+'|\"(?:\\.|[^\"\\\n])*+\")"
    rf"|(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<next>(?<!\s)\s++{NAME}=(?!=))"
    rf"|(?P<stop>\n *(?:{_LOOKS_LIKE}))"
)
_RESYNC: Final = re.compile(
    rf"\n( *)(?:({_LOOKS_LIKE})|(?=[^\s\])}}]))|(\{{\s*lambda\b)|([)}}\]] \}})|(;\s)|\s(?={_IN})"
)
_PAIRS: Final = {"[": "]", "(": ")", "{": "}"}
# ``debug_print`` shows its format as it is, so only its own names end it.
_AFTER_FORMAT: Final = re.compile(
    r"(?:\n( *)| )(?:(?:has_placeholders|ordered|partitioned)=(?:True|False)\b"
    r"|in_tree=PyTreeDef|logging_record=|np_printoptions=)"
)


class Scanner:
    """Finds where opaque text ends, in time linear in the length of ``text``.

    Guesses that fail cost a scan; ``budget`` bounds the sum of them, after
    which ends that are not plain are not found any more.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.budget = 4 * len(text) + 20_000

    def value_end(self, start: int, width: int, name: str) -> int:
        """The end of the value at ``start``, or -1.

        ``width`` is the column of the parameter names, -1 in a flat list.
        """
        if width >= 2:
            end = self._format(start, width) if name == "fmt" else -1
            return end if end >= 0 else self._broken(start, width)
        if name != "fmt":
            match = _SIMPLE.match(self.text, start)
            if match and self._ends(match.end()):
                return match.end()
        end = self._flat(start, name)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def _ends(self, position: int) -> bool:
        """Whether a flat value may end here: a closing bracket or a name follows."""
        if self.text.startswith("]", position):
            return _TAIL.match(self.text, position + 1) is not None
        return _NEXT.match(self.text, position) is not None

    def _format(self, start: int, width: int) -> int:
        """The end of a ``debug_print`` format; one of any sane length."""
        limit = start + min(10_000, self.budget)
        for match in _AFTER_FORMAT.finditer(self.text, start, limit):
            if len(match[1] or "") == width:
                return match.start()
        self.budget -= limit - start
        return -1

    def _broken(self, start: int, width: int) -> int:
        """The line break before the next name, or before the closing bracket.

        The repr of some objects prints jaxprs from column 0, whose lines may
        look like ours: those count only outside ``{ lambda ... }``.
        """
        first, depth, counted = -1, 0, start
        if self.budget <= 0:
            return -1
        for match in _ANCHOR.finditer(self.text, start):
            column, here = len(match[1]), match.start()
            ours = column == width - 2 if match[2] else bool(match[3]) and column == width
            left = not match[2] and not match[3] and column <= width - 2
            if not ours and not left:
                continue
            for mark in _MARK.finditer(self.text, counted, here):
                depth = depth + 1 if mark[1] else max(depth - 1, 0)
            counted = here
            if depth == 0:
                self.budget -= here - start if left else 0
                return here if ours else first
            if first < 0 and ours:
                first = here
        self.budget -= len(self.text) - start
        return first

    def _flat(self, start: int, name: str) -> int:
        if self.budget <= 0:
            return -1
        matched = self._scan(start, name, strict=True)
        return matched if matched >= 0 else self._scan(start, name, strict=False)

    def _scan(self, start: int, name: str, *, strict: bool) -> int:
        """The first end outside all brackets; not ``strict``: the first end."""
        expected: list[str] = []
        here = start
        for match in _SCAN.finditer(self.text, start):
            here = match.start()
            group = match.lastgroup
            if group == "open" and strict:
                expected.append(_PAIRS[match[0]])
            elif group == "close" and expected:
                if match[0] != expected.pop():
                    break
            elif group == "close" and match[0] == "]" and self._ends(here):
                return here
            elif group == "next" and not expected:
                if name != "fmt" or _AFTER_FORMAT.match(self.text, here):
                    return here
            elif group == "stop" and not strict:
                break
            if here - start > self.budget:
                break
        self.budget -= here - start
        return -1

    def resync(self, start: int, column: int, flat: bool) -> int:
        """Where the equation after a broken one begins (or ``in``), or ~position.

        ``column`` is that of the equations; a negative answer is the inverted
        position at which the program turned out to have ended without an end.
        """
        depth = 0
        for match in _RESYNC.finditer(self.text, start):
            here = match.end()
            if match[3]:
                depth += flat
            elif match[4]:
                depth -= depth > 0
            elif match[1] is not None:
                indent = len(match[1])
                first = match.start() + 1 + indent
                if indent == column or (match[2] == "in (" and indent in (column - 2, column - 4)):
                    return first
                if match[2] and indent < column - 2:
                    return ~first
            elif flat and depth == 0:
                return here
        return ~len(self.text)
