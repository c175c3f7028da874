"""What -h, -M and -V compare, said a second time: by regular expressions and pairwise, from GNU sort's behaviour."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from decimal import Decimal

MONTHS = (b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC")

_UNITS = "KMGTPEZYRQ"
_SIZE = re.compile(rb"[ \t\n]*(-?)([0-9]*(?:\.[0-9]*)?)([kKMGTPEZYRQ]?)")
_GROUPED_NUMBER = re.compile(rb"[ \t\n]*(-?)([0-9,]*(?:\.[0-9]*)?)")
_GROUPED_UNIT = re.compile(rb"[ \t\n]*-?(?:[0-9]+(?:,[0-9]+)*)?(?:(?<!,)\.[0-9]*)?([kKMGTPEZYRQ])")
_SUFFIXES = re.compile(rb"(?:\.[A-Za-z~][A-Za-z0-9~]*)*\Z")
_PAIRS = re.compile(rb"([^0-9]*)([0-9]*)")


def size(text: bytes, *, grouped: bool = False) -> tuple[int, Decimal]:
    """Signed rank of the unit, and the number. grouped: commas group digits."""
    if grouped:
        number_match, unit_match = _GROUPED_NUMBER.match(text), _GROUPED_UNIT.match(text)
        assert number_match
        sign, digits = number_match.groups()
        unit = unit_match[1] if unit_match else b""
    else:
        match = _SIZE.match(text)
        assert match
        sign, digits, unit = match.groups()
    number = Decimal((sign + b"0" + digits.replace(b",", b"")).decode())
    rank = _UNITS.index(unit.decode().upper()) + 1 if unit and number else 0
    return (-rank if sign else rank), number


def month(text: bytes) -> int:
    match = re.match(rb"[ \t\n]*(" + b"|".join(MONTHS) + b")", text, re.IGNORECASE)
    return MONTHS.index(match[1].upper()) + 1 if match else 0


def compare_versions(a: bytes, b: bytes) -> int:
    """Negative, 0 or positive."""
    if _kind(a) != _kind(b) or _kind(a) < 3:
        return _kind(a) - _kind(b)
    return _compare_parts(_stem(a), _stem(b)) or _compare_parts(a, b)


def is_only_suffixes(name: bytes) -> bool:
    """Whether nothing but suffixes is in the name: GNU sort 9.1 gives these an empty stem, later ones do not."""
    return _SUFFIXES.match(name) is not None


def _kind(name: bytes) -> int:
    return [b"", b".", b".."].index(name) if name in (b"", b".", b"..") else 4 - name.startswith(b".")


def _stem(name: bytes) -> bytes:
    match = _SUFFIXES.search(name, 1)
    assert match
    return name[: match.start()]


def _compare_parts(a: bytes, b: bytes) -> int:
    for (run_a, digits_a), (run_b, digits_b) in itertools.zip_longest(
        _PAIRS.findall(a), _PAIRS.findall(b), fillvalue=(b"", b"")
    ):
        for x, y in itertools.zip_longest(run_a, run_b):
            if x != y:
                return -1 if _rank(x) < _rank(y) else 1
        value_a, value_b = ((len(digits), digits) for digits in (digits_a.lstrip(b"0"), digits_b.lstrip(b"0")))
        if value_a != value_b:
            return -1 if value_a < value_b else 1
    return 0


def _rank(byte: int | None) -> tuple[int, int]:
    if byte is None:
        return 1, 0
    if byte == ord("~"):
        return 0, 0
    return 2 if bytes([byte]).isalpha() else 3, byte


def sign_of(a: object, b: object) -> int:
    return (a > b) - (a < b)  # type: ignore[operator]


def by(value: Callable[[bytes], object]) -> Callable[[bytes, bytes], int]:
    """A comparison of texts by what `value` makes of them."""
    return lambda a, b: sign_of(value(a), value(b))
