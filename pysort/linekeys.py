"""What a key function returns, as bytes whose order is that of the keys and that fit a field of a line.

    bytes   as they are
    str     UTF-8, surrogates like other characters: the order of code points
    number  sign, exponent, binary digits: int and float of any size, compared exactly

A field may hold neither the end of a line nor the separator. They and the byte that begins an escape follow one
another, so that escaping them keeps the order.
"""

from __future__ import annotations

from math import frexp, inf, isinf, isnan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Key = bytes | str | int | float

SEPARATOR = 0x0C
_ESCAPE, _NEWLINE, _SEPARATOR = b"\x0b", b"\n", bytes((SEPARATOR,))
_ESCAPES = (_ESCAPE, b"\x0b\x02"), (_NEWLINE, b"\x0b\x01"), (_SEPARATOR, b"\x0b\x03")  # the escape itself first

# How an encoded number begins.
_LEAST, _NEGATIVE, _ZERO, _POSITIVE, _LARGEST, _NAN = (bytes((i,)) for i in range(1, 7))
_BIAS = 0x8000  # of exponents in two bytes, the first of which is not 0xFF
_LARGEST_EXPONENT = 0x7EFF
_INVERT = bytes(range(255, -1, -1))


class KeyEncoder:
    """Calls a key function, and encodes what it returns: keys of one kind."""

    __slots__ = ("_encode", "_function", "_types")

    def __init__(self, function: Callable[[Any], Key]) -> None:
        """Raises TypeError for what is no function."""
        if not callable(function):
            raise TypeError(f"a key is text as after -k, or a function, not {type(function).__name__}")
        self._function = function
        self._types: tuple[type, ...] = ()
        self._encode: Callable[[Any], bytes] = _no_key

    def __call__(self, item: bytes | str) -> bytes:
        """Raises TypeError for a key of another type, and what the function raises."""
        key = self._function(item)
        if not isinstance(key, self._types):
            self._choose(key)
        text = self._encode(key)
        for byte, escaped in _ESCAPES:
            text = text.replace(byte, escaped)
        return text

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
