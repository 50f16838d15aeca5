"""What TeX needs for text that is not the author's: breaks, and letters it lacks."""

from __future__ import annotations

import unicodedata
from typing import Final

#: Lets TeX break a word that is longer than the line.
BREAK_ANYWHERE: Final = r"\begingroup\sphinxsetup{verbatimforcewraps=true}"
END: Final = r"\endgroup"

#: The engine that knows only the letters somebody defined.
NARROW_ENGINE: Final = "pdflatex"

# Where TeX's name is not Unicode's.
_GREEK: Final = {"LAMDA": "lambda", "FINAL SIGMA": "varsigma", "OMICRON": "mathit{o}"}
# Greek capitals that TeX takes from the Latin alphabet.
_LATIN: Final = {
    "ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K",
    "MU": "M", "NU": "N", "OMICRON": "O", "RHO": "P", "TAU": "T", "CHI": "X",
}  # fmt: skip


def definitions(text: str) -> str:
    """TeX that teaches pdfTeX those letters of ``text`` that it does not know.

    A letter that a document defines itself stays as that document has it.
    """
    letters = sorted({letter for letter in text if ord(letter) > 0xFF})
    if not letters:
        return ""
    # No macro and no @, since a table may have read this text before TeX obeys it.
    lines = []
    for letter in letters:
        name = rf"\csname u8:\detokenize{{{letter}}}\endcsname"
        lines.append(
            rf"\expandafter\ifx{name}\relax\expandafter\gdef{name}{{{_shape(letter)}}}\fi%"
        )
    return "\n".join(lines)


def _shape(letter: str) -> str:
    """A letter in TeX: Greek as in mathematics, any other by its number."""
    name = unicodedata.name(letter, "").rpartition(" LETTER ")[2]
    if 0x3B1 <= ord(letter) <= 0x3C9:
        return rf"\ensuremath{{\{_GREEK.get(name, name.lower())}}}"
    if 0x391 <= ord(letter) <= 0x3A9 and name:
        capital = rf"\ensuremath{{\{_GREEK.get(name, name.lower()).capitalize()}}}"
        return _LATIN.get(name, capital)
    return rf"\mbox{{[U+{ord(letter):04X}]}}"
