"""Separates messages of the worker from what user code writes to the same pipe.

A message is a *frame*: a head of a mark, the token of this process and the length of the
message, then the message, then a newline.  The token is random and new for each process.  A
stray write, of any length and with or without a newline, is not a frame, which its
first byte reveals; to forge one, code must search the process for the token.

A message is a JSON object.  A program in it follows as the two texts of
:class:`.result.EncodedResult`, each behind a tab, so that they can be stored as they came.
"""

from __future__ import annotations

import json
from json import dumps  # in the worker, user code may replace it in its module
from typing import Any, Final, TypeAlias

from . import files
from .files import JsonObject
from .result import EncodedResult, encoded, joined

#: A message before it is framed, or after: a JSON object that has not been checked.
Message: TypeAlias = JsonObject
#: Longest message that is read, in bytes.
LONGEST: Final = 256 * 2**20
#: Most bytes before the first frame: output of Python's start-up files.
NOISE: Final = 2**20
_MARK: Final = b"jaxpr "
_DIGITS: Final = len(str(LONGEST))
_SHOWN: Final = 60


class Unusable(ValueError):
    """The input is not a message; the exception's text says what it is instead."""


def frame(token: str, message: Message) -> bytes:
    """A message as it is written."""
    parts = _result(message)
    if parts is not None:
        message = {name: part for name, part in message.items() if name != "result"}
    text = b"\t".join((dumps(message).encode(), *(parts or ())))
    return b"%s%s %d\n%s\n" % (_MARK, token.encode(), len(text), text)


def _result(message: Message) -> EncodedResult | None:
    """The texts of the program in a message; ``None`` if it has none that can be split."""
    result = message.get("result")
    if type(result) is not dict or "text" not in result:
        return None
    try:
        return encoded(result)
    except (ValueError, TypeError, KeyError):  # the receiver says what is wrong
        return None


class Frames:
    """Extracts messages from input that comes in pieces of any size.

    ``encoded`` has the texts of the program in the message that was taken last.
    """

    def __init__(self, token: str) -> None:
        self.head = _MARK + token.encode() + b" "
        self.buffer = bytearray()
        self.began = False  # whether a frame has been found
        self.noise = b""  # the input before the first frame
        self.encoded: EncodedResult | None = None

    def feed(self, piece: bytes) -> None:
        """Add what was read."""
        self.buffer += piece

    def take(self) -> Message | None:
        """The next message; ``None`` if it is not complete yet."""
        if not self.began and not self._begin():
            return None
        there = min(len(self.buffer), len(self.head))
        if self.buffer[:there] != self.head[:there]:
            raise Unusable(f"it wrote {self._shown()} where a message should begin")
        start = self.buffer.find(b"\n", len(self.head), len(self.head) + _DIGITS + 1)
        digits = bytes(self.buffer[len(self.head) : start if start >= 0 else None])
        if (digits and not digits.isdigit()) or (start < 0 and len(digits) > _DIGITS):
            raise Unusable("the length of a message is not a number")
        if start < 0:
            return None
        length = int(digits or b"0")
        if length > LONGEST:
            raise Unusable(f"a message of {length} bytes is longer than {LONGEST}")
        end = start + 1 + length
        if len(self.buffer) <= end:
            return None
        text, last = bytes(self.buffer[start + 1 : end]), self.buffer[end]
        del self.buffer[: end + 1]
        if last != 0x0A:
            raise Unusable("something else was written into a message")
        return self._message(text)

    def _message(self, text: bytes) -> Message:
        """The message of a frame, with the program that follows it."""
        first, *parts = text.split(b"\t")
        message = loads(first)
        self.encoded = None
        if not parts:
            return message
        if len(parts) != 2 or "result" in message or b"\n" in text:
            raise Unusable("a message has other parts than a program")
        self.encoded = EncodedResult(*parts)
        # A text that is stored as it came must have one meaning to every reader.
        try:
            message["result"] = joined(*(files.loads(part) for part in parts))
        except ValueError as error:
            raise _not_json(error) from None
        return message

    def _begin(self) -> bool:
        """Find the first frame, after earlier output."""
        start = self.buffer.find(self.head)
        if start < 0:
            if len(self.buffer) > NOISE:
                raise Unusable(f"it wrote {self._shown()} and more, and no message")
            return False
        self.noise = bytes(self.buffer[:start])
        del self.buffer[:start]
        self.began = True
        return True

    def _shown(self) -> str:
        """The beginning of the input, up to a message, whose token would make texts differ."""
        piece = bytes(self.buffer[: 2 * _SHOWN]).partition(self.head)[0]
        text = ascii(piece[:_SHOWN].decode("utf-8", "replace"))
        return text if len(piece) <= _SHOWN else text + "..."


def loads(text: bytes) -> Message:
    """An object from JSON of any content; NaN and infinity are not JSON."""
    try:
        data = json.loads(text.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError, MemoryError) as error:
        raise _not_json(error) from None
    if type(data) is not dict:
        raise Unusable(f"it is JSON, but {type(data).__name__} and not an object")
    return data


def _not_json(error: Exception) -> Unusable:
    return Unusable(f"it is not JSON: {(str(error) or type(error).__name__)[:120]}")


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")
