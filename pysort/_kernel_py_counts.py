"""Counted lines in plain Python: see csrc/kernel.h. A line's text, its count in digits of 6 bits, the separator."""

from __future__ import annotations

_FIRST, _NEXT = 64, 192  # what a digit's value is added to
LEAST_DIGIT = 64  # a separator is less


def put_count(count: int) -> bytes:
    digits = [count & 63]
    while count := count >> 6:
        digits.append(count & 63)
    return bytes([_FIRST | digits.pop(), *(_NEXT | digit for digit in reversed(digits))])


def count_of(digits: bytes) -> int:
    """1 where there are none."""
    count = 0
    for digit in digits:
        count = count << 6 | digit & 63
    return count if digits else 1


def text_length(line: bytes) -> int:
    """Of a counted line without its separator."""
    n = len(line)
    while n and line[n - 1] >= _NEXT:
        n -= 1
    return max(n - 1, 0)


def show(separator: bytes, text: bytes, room: int) -> tuple[int, bytes]:
    """The lines that are complete and fit so many bytes, and where the first one begins that is not or does not."""
    at, shown = 0, b""
    while (end := text.find(separator, at)) >= 0:
        line = text[at:end]
        n = text_length(line)
        shown_line = b"%7d %b%b" % (count_of(line[n:]), line[:n], separator)
        if len(shown) + len(shown_line) > room:
            break
        shown += shown_line
        at = end + 1
    return at, shown
