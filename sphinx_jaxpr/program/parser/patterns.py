"""The small grammar of printed jaxprs."""

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


INSIDE: Final = _balanced(r"[^()\[\]{}'\n]++", 2)
NAME: Final = r"[A-Za-z_]\w*+"
# ``key<fry>[2]``, ``Ref<vmem>{f32[8]}``, ``f32[a,2*b + 1]{V:(x,y), U:z}``, ``Tok``
TYPE: Final = rf"(?:[A-Za-z]\w*+(?:\.\w++)*+)(?:[\[({{]{INSIDE}[\])}}]|<(?![-=\s])[^<>\n]*+>)*+"
_CHUNK: Final = r"[^\s,;()\[\]{}#=:]++"
_VALUE: Final = rf"(?:(?:Literal|array)\({INSIDE}\)|{_CHUNK}|\([^()\s]*+\)|\[\.\.\.\])"
ATOM_TEXT: Final = rf"(?:{_VALUE})(?::{TYPE})?"
INDICES_TEXT: Final = rf"(?:[\[{{]{INSIDE}[\]}}])++"
IN_TEXT: Final = rf"in\s*[(\[]{INSIDE}[)\]]\s*[:}}]"

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
PLAIN: Final = re.compile(rf"({NAME}):({TYPE}) = ([^\s\[\]{{}};=,#]++)(?=[ \[])")
# Operands of the usual kind up to the end of an equation, which the next line's column or a
# semicolon says: names, and numbers with a type.
_USUAL: Final = r"[\w.+-]++(?::[A-Za-z]\w*+(?:\[[\w,]*+\])?+)?+"
OPERANDS: Final = re.compile(rf"((?: {_USUAL})*+)(?:;|\n( *)[^\s#])")
REFERENCE: Final = re.compile(rf"({NAME})({INDICES_TEXT})")
INDICES: Final = re.compile(rf"\[({INSIDE})\]|\{{{INSIDE}\}}")
MASK: Final = re.compile(r" (mask|other)=(?=\S)")
PROGRAM_END: Final = re.compile(IN_TEXT)
INDEX: Final = re.compile(r"[^,\[\]]+(?:\[\])?")
INDEX_ATOM: Final = re.compile(rf"({NAME}|[-+]?\d[\w.]*)(?::({NAME}\[\]))?")
INDEX_NAME: Final = re.compile(rf"(?<![\w.]){NAME}")

# A comment is what ``pretty_print(source_info=True)`` adds at the end of a line.
GAP: Final = re.compile(r"\s*+(?:(?<=\s)#[^\n]*+\s*+)*+")
BETWEEN: Final = re.compile(r"[\s;]*+(?:(?<=[\s;])#[^\n]*+[\s;]*+)*+")
BROKEN: Final = re.compile(rf"\[[ \t]*(?:#[^\n]*)?(?:\n *#[^\n]*)*\n( *)(?={NAME}=)")
# A parameter with a line to itself, and no brace in its value, as most have in a broken list.
LINE: Final = re.compile(rf"({NAME})=(?!=)([^\n{{]*+)\n( *)(?:(\])|(?={NAME}=(?!=)))")
PARAMETER: Final = re.compile(rf"({NAME})=(?!=)")
AFTER_VALUE: Final = re.compile(rf"\s*(?:#[^\n]*\s*)*(?:\]|{NAME}=(?!=))")
WORD: Final = re.compile(r"[^\s(){}\[\],]+")
NUMBER: Final = re.compile(
    r"[-+]?(?:\d[\d_]*+(?:\.\d*)?|\.\d+|inf|nan)(?:[eE][-+]?\d+)?j?|\([^()\s]*j\)"
)
SCALAR: Final = re.compile(rf"True|False|None|(?:{NUMBER.pattern})|'[^'\n]*'|\"[^\"\n]*\"")
LITERAL_WORDS: Final = frozenset({"True", "False", "None", "inf", "nan"})
