"""The encodings of numbers, as pure functions: see _kernel_py_encode for what an encoding is.

- numeric: zero is 80, however it is spelled. A positive number with L integer digits (leading zeros dropped) begins
  with 81 + L when L <= 100, else with E6 and L as 8 bytes, big-endian. The integer digits follow, two in a byte as
  10 * d1 + d2 + 1, after a 0 when L is odd; then the digits of the fraction (trailing zeros dropped) likewise, with a 0
  after them when they are odd in number; then 00. A negative number is the complement of the positive one.
- human: zero is 80. A positive number is 81 + the rank of its unit (none 0, K 1, ..., Q 10) and then as numeric; a
  negative one is the complement.
- general: no number is 00, NaN with a minus sign 01, NaN 02, infinity FC, zero 80. A positive number is C0, the
  exponent + 8000 in two bytes, and its mantissa: 7 bits in a byte, the highest one set in the first byte, and below
  them a bit that tells whether bits follow that are not 0. A negative number or infinity is the complement.
"""

from __future__ import annotations

from pysort.errors import SortError

DIGITS = b"0123456789"

_COMPLEMENT = bytes(range(255, -1, -1))
_ZERO = b"\x80"
_POSITIVE = 0x81
_LONGEST_TAGGED = 100
_LONG_TAG = b"\xe6"
_UNITS = b"KMGTPEZYRQ"

_NO_NUMBER, _NEGATIVE_NAN, _NAN, _FINITE, _INFINITY = b"\x00", b"\x01", b"\x02", b"\xc0", b"\xfc"
_EXPONENT_BIAS = 0x8000
_SPACES = b" \t\n\v\f\r"
_HEXADECIMAL = b"0123456789abcdef"
_CHUNK_DIGITS = 4000  # int() refuses more than 4300 of them at once
_LARGEST_EXPONENT = 10**18
# Of both bases: beyond it even the widest long double is infinite, and as far below one it is 0.
_HOPELESS_EXPONENT = 20_000


def encode_number(text: bytes, point: int, grouping: int) -> bytes:
    """text: what stands behind the blanks. point, grouping: bytes, or 256 for none."""
    negative = text[:1] == b"-"
    integer, at = _digits(text, int(negative), grouping)
    fraction = b""
    if at < len(text) and text[at] == point:
        fraction, at = _digits(text, at + 1, None)
    integer = integer.lstrip(b"0")
    fraction = fraction.rstrip(b"0")
    if not integer and not fraction:
        return _ZERO
    if len(integer) <= _LONGEST_TAGGED:
        tag = bytes([_POSITIVE + len(integer)])
    else:
        tag = _LONG_TAG + len(integer).to_bytes(8, "big")
    fraction = fraction.ljust(len(fraction) + len(fraction) % 2, b"0")
    return _signed(tag + pack_digits(integer) + pack_digits(fraction) + b"\x00", negative)


def encode_size(text: bytes, point: int, grouping: int, mapped: bytes | None) -> bytes:
    """The human ordering; arguments as of encode_number. mapped: translates the unit, if it is not None."""
    number = encode_number(text, point, grouping)
    if number == _ZERO:
        return _ZERO
    negative = text[:1] == b"-"
    rank = _unit_rank(text[int(negative) :], point, grouping, mapped)
    return _signed(bytes([_POSITIVE + rank]), negative) + number


def encode_general(key: bytes, decimal_point: bytes) -> bytes:
    """What strtold reads, rounded to the platform's long double."""
    text = key.partition(b"\x00")[0].lstrip(_SPACES).lower()
    negative = text[:1] == b"-"
    if text[:1] in (b"-", b"+"):
        text = text[1:]
    if text.startswith(b"nan"):
        return _NEGATIVE_NAN if negative else _NAN
    if text.startswith(b"inf"):
        return _signed(_INFINITY, negative)
    ratio = _ratio(text, decimal_point)
    if ratio is None:
        return _NO_NUMBER
    return _signed(_rounded(*ratio), negative) if ratio[0] else _ZERO


def pack_digits(digits: bytes) -> bytes:
    """Two digits to a byte, behind a 0 when they are odd in number. No byte is 00."""
    digits = digits.rjust(len(digits) + len(digits) % 2, b"0")
    return bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))


def _signed(encoded: bytes, negative: bool) -> bytes:
    # Only zero has no sign.
    return encoded.translate(_COMPLEMENT) if negative and encoded != _ZERO else encoded


def _digits(text: bytes, at: int, ignored: int | None) -> tuple[bytes, int]:
    """The digits from `at` on, without the ignored byte among them, and where they end."""
    digits = bytearray()
    while at < len(text) and (text[at] in DIGITS or text[at] == ignored):
        if text[at] != ignored:
            digits.append(text[at])
        at += 1
    return bytes(digits), at


def _unit_rank(text: bytes, point: int, grouping: int, mapped: bytes | None) -> int:
    """Unlike a number for -n, the one before a unit has at most one grouping byte between two digits and none
    elsewhere: where it is a blank the unit is not looked for in the next column."""
    at = 0
    while text[at : at + 1].isdigit():
        at += 1
        if at < len(text) and text[at] == grouping:
            at += 1
            if not text[at : at + 1].isdigit():
                return 0
    if at < len(text) and text[at] == point:
        at = _digits(text, at + 1, None)[1]
    unit = text[at : at + 1].translate(mapped).replace(b"k", b"K")
    return _UNITS.index(unit) + 1 if unit and unit in _UNITS else 0


def _ratio(text: bytes, point: bytes) -> tuple[int, int] | None:
    """Numerator and denominator of an unsigned number in lower case, as far as it is one; None if nothing is."""
    if text.startswith(b"0x"):
        digits, behind_point_n, rest = _significand(text[2:], point, _HEXADECIMAL)
        if digits:
            return _scaled(int(digits, 16), 2, _exponent(rest, b"p") - 4 * behind_point_n, 4 * len(digits))
    digits, behind_point_n, rest = _significand(text, point, DIGITS)
    if not digits:
        return None
    return _scaled(_integer(digits), 10, _exponent(rest, b"e") - behind_point_n, len(digits))


def _significand(text: bytes, point: bytes, members: bytes) -> tuple[bytes, int, bytes]:
    """All digits at the start, how many of them are behind the point, and the rest. There may be none."""
    integer, rest = _span(text, members)
    fraction = b""
    if rest.startswith(point):
        fraction, rest = _span(rest[len(point) :], members)
    return integer + fraction, len(fraction), rest


def _span(text: bytes, members: bytes) -> tuple[bytes, bytes]:
    """The bytes at the start that are members, and the rest."""
    rest = text.lstrip(members)
    return text[: len(text) - len(rest)], rest


def _exponent(text: bytes, letter: bytes) -> int:
    if not text.startswith(letter):
        return 0
    signed = text[1:2] in (b"-", b"+")
    digits = _span(text[1 + signed :], DIGITS)[0].lstrip(b"0")
    value = min(int(digits[:20] or b"0"), _LARGEST_EXPONENT)
    return -value if text[1:2] == b"-" else value


def _integer(digits: bytes) -> int:
    if len(digits) <= _CHUNK_DIGITS:
        return int(digits)
    half = len(digits) // 2
    return _integer(digits[:-half]) * 10**half + _integer(digits[-half:])  # type: ignore[no-any-return]


def _scaled(value: int, base: int, exponent: int, digits_n: int) -> tuple[int, int]:
    """value * base**exponent as a ratio. value < base**digits_n."""
    if not value:
        return 0, 1
    if digits_n + exponent < -_HOPELESS_EXPONENT:
        return 1, 1 << _HOPELESS_EXPONENT
    if exponent > _HOPELESS_EXPONENT:
        return 1 << _HOPELESS_EXPONENT, 1
    return (value * base**exponent, 1) if exponent >= 0 else (value, base**-exponent)


def _rounded(numerator: int, denominator: int) -> bytes:
    """A positive ratio, rounded half to even, as a positive number, infinity or zero."""
    precision, largest = _long_double()
    exponent = numerator.bit_length() - denominator.bit_length()
    # The value is now from 2**(exponent - 1) to 2**(exponent + 1); below, it is less than 2**exponent.
    exponent += numerator << max(-exponent, 0) >= denominator << max(exponent, 0)
    unit = max(exponent, 3 - largest) - precision
    quotient, rest = divmod(numerator << max(-unit, 0), denominator << max(unit, 0))
    half = 2 * rest - (denominator << max(unit, 0))
    quotient += half > 0 or (half == 0 and quotient % 2)
    if not quotient:
        return _ZERO
    exponent = unit + quotient.bit_length()
    if exponent > largest:
        return _INFINITY
    encoded = _FINITE + (exponent + _EXPONENT_BIAS).to_bytes(2, "big")
    left = quotient.bit_length()
    while True:
        left -= 7
        bits = quotient >> left if left >= 0 else quotient << -left
        quotient &= (1 << max(left, 0)) - 1
        encoded += bytes([bits << 1 | (quotient > 0)])
        if not quotient:
            return encoded


def _long_double() -> tuple[int, int]:
    """Bits of the C compiler's long double and its largest exponent (its least normal one is 3 less the largest), told
    from how it stores 1. Raises SortError for a format that is not one of IEEE 754 or of the x87."""
    import sys
    from ctypes import c_longdouble

    image = bytes(c_longdouble(1))
    if sys.byteorder == "big":
        image = image[::-1]
    if image[:10] == bytes(7) + b"\x80\xff\x3f":
        return 64, 16384
    if image == bytes(14) + b"\xff\x3f":
        return 113, 16384
    if image == bytes(6) + b"\xf0\x3f":
        return 53, 1024
    raise SortError(b"-g: this machine's long double is of a format that only the C kernel can order by")
