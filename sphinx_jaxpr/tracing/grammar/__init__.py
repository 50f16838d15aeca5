"""From the text of an option to specs, values and transforms.  Never evaluates anything."""

from ...program.dtypes import DTYPES, KEYS
from ...program.text import nearest, shorten
from ..specs import WIDE, Aval, Call, Chain, Mesh, Name, Ref, Step, Value
from .reader import MAX_DEPTH, MAX_LENGTH, GrammarError, Reader, quoted
from .rules import arguments, make, mesh, static, then, transforms

__all__ = [
    "DTYPES",
    "KEYS",
    "MAX_DEPTH",
    "MAX_LENGTH",
    "WIDE",
    "Aval",
    "Call",
    "Chain",
    "GrammarError",
    "Mesh",
    "Name",
    "Reader",
    "Ref",
    "Step",
    "Value",
    "arguments",
    "make",
    "mesh",
    "nearest",
    "quoted",
    "shorten",
    "static",
    "then",
    "transforms",
]
