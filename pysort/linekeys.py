"""What a key function returns, as bytes whose order is that of the keys and that fit a field of a line.

    bytes   as they are
    str     UTF-8, surrogates like other characters: the order of code points
    number  sign, exponent, binary digits: int and float of any size, compared exactly

A field may hold neither the end of a line nor the separator. They and the byte that begins an escape follow one
another: end, escape, separator. So escaping them keeps the order.
"""

from __future__ import annotations

from math import frexp, inf, isinf, isnan

from pysort.keys.spec import KeySpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pysort.options import Options

Key = bytes | str | int | float

PIECE_BYTES = 64 << 10  # of lines that exist outside of the arena, be there so many in one

# How an encoded number begins.
_LEAST, _NEGATIVE, _ZERO, _POSITIVE, _LARGEST, _NAN = (bytes((i,)) for i in range(1, 7))
_BIAS = 0x8000  # of exponents in two bytes, the first of which is not 0xFF
_LARGEST_EXPONENT = 0x7EFF
_INVERT = bytes(range(255, -1, -1))


class KeyEncoder:
    """Calls a key function, and encodes what it returns: keys of one kind. separator: the byte behind a key."""

    __slots__ = ("_encode", "_escapes", "_function", "_types", "separator")

    def __init__(self, function: Callable[[Any], Key], end: int = ord("\n")) -> None:
        """end: ends a line. Raises TypeError for what is no function."""
        if not callable(function):
            raise TypeError(f"a key is text as after -k, or a function, not {type(function).__name__}")
        self._function = function
        escape, self.separator = end + 1, end + 2
        # The escape itself first.
        self._escapes = [(bytes((byte,)), b"%c%d" % (escape, byte - end)) for byte in (escape, end, self.separator)]
        self._types: tuple[type, ...] = ()
        self._encode: Callable[[Any], bytes] = _no_key

    def __call__(self, item: bytes | str) -> bytes:
        """Raises TypeError for a key of another type, and what the function raises."""
        key = self._function(item)
        if not isinstance(key, self._types):
            self._choose(key)
        text = self._encode(key)
        for byte, escaped in self._escapes:
            text = text.replace(byte, escaped)
        return text

    def order(self, options: Options, _: object) -> tuple[Options, list[KeySpec]]:
        """What makes the order of lines that begin with their keys, be there other keys or not: that of sorted()."""
        changed = options.changed(field_separator=self.separator, reverse=False, stable=True)
        return changed, [KeySpec(reverse=options.reverse)]

    def _choose(self, key: Key) -> None:
        """By the first key; that of another kind does not compare with it."""
        for types, encode in _KINDS:
            if isinstance(key, types) and not self._types:
                self._types, self._encode = types, encode
                return
        name = type(key).__name__
        if self._types:
            raise TypeError(f"a key of type {name} does not compare with one of type {self._types[0].__name__}")
        raise TypeError(f"a key is bytes, str, int or float, not {name}")


def _no_key(key: Key) -> bytes:
    raise AssertionError


def encode_text(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def encode_number(key: int | float) -> bytes:
    """-inf, negative numbers, zero with any sign, positive ones, inf, nan. Equal numbers are encoded alike, whatever
    their types."""
    if isinstance(key, float):
        if isnan(key):
            return _NAN
        if isinf(key):
            return _LARGEST if key == inf else _LEAST
        part, exponent = frexp(key)
        digits = int(abs(part) * 2.0**56).to_bytes(7, "big")
    else:
        exponent = key.bit_length()
        digits = (abs(key) << -exponent % 8).to_bytes((exponent + 7) // 8, "big")
    # A number is 0.DIGITS, of which the first is 1, times 2 ** exponent.
    digits = digits.rstrip(b"\0")
    if not digits:
        return _ZERO
    if exponent <= _LARGEST_EXPONENT:
        size = (exponent + _BIAS).to_bytes(2, "big")
    else:
        size = b"\xff" + exponent.to_bytes(8, "big")
    if key > 0:
        return _POSITIVE + size + digits
    return _NEGATIVE + (size + digits).translate(_INVERT) + b"\xff"  # that what has more digits is less


_KINDS: tuple[tuple[tuple[type, ...], Callable[[Any], bytes]], ...] = (
    ((bytes,), bytes),
    ((str,), encode_text),
    ((float, int), encode_number),
)


class WholeLines:
    """Text in pieces of any size, as text that ends where lines do."""

    __slots__ = ("_begun", "_end")

    def __init__(self, end: bytes) -> None:
        self._begun: list[bytes] = []
        self._end = end

    def of(self, piece: memoryview) -> Iterator[bytes]:
        """What the next piece completes, about PIECE_BYTES at a time."""
        for at in range(0, len(piece), PIECE_BYTES):
            text = bytes(piece[at : at + PIECE_BYTES])
            stop = text.rfind(self._end) + 1
            if stop:
                yield b"".join((*self._begun, text[:stop]))
                self._begun.clear()
            self._begun.append(text[stop:])
