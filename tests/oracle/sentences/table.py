"""All sentences, by topic."""

from __future__ import annotations

from tests.oracle.sentences import derivatives, devices, loops, structure, trees, values

TOPICS = {
    "structure": structure.SENTENCES,
    "values": values.SENTENCES,
    "loops": loops.SENTENCES,
    "derivatives": derivatives.SENTENCES,
    "devices": devices.SENTENCES,
    "trees": trees.SENTENCES,
}
