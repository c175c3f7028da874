"""Numbers as the command line writes them: counts, and sizes with a unit.

A number is C's: white space and a plus sign may stand before it, a minus sign may not.
"""

from __future__ import annotations

from pysort.errors import NEXT_MESSAGE, SortError, quote

KIBI = 1 << 10
MEBI = 1 << 20

COUNT_MAX = 2**64 - 1

DIGITS = b"0123456789"

# A number that is larger than COUNT_MAX, however much.
TOO_LARGE = COUNT_MAX + 1

_BATCH_SIZE_MIN = 2
_BATCH_SIZE_MAX = 2**32 - 1
_STANDARD_DESCRIPTORS = 3

_POWERS = {
    b"k": 1, b"K": 1, b"m": 2, b"M": 2, b"g": 3, b"G": 3, b"t": 4, b"T": 4,
    b"P": 5, b"E": 6, b"Z": 7, b"Y": 8, b"R": 9, b"Q": 10,
}  # fmt: skip


class SizeSpec:
    """A size as it was asked for: the larger of a number of bytes and a share of memory.

    Either is 0 if it was not given.
    """

    __slots__ = ("absolute_bytes", "percent")

    def __init__(self, absolute_bytes: int = 0, percent: int = 0) -> None:
        self.absolute_bytes = absolute_bytes
        self.percent = percent

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SizeSpec):
            return NotImplemented
        return (self.absolute_bytes, self.percent) == (other.absolute_bytes, other.percent)

    def __hash__(self) -> int:
        return hash((self.absolute_bytes, self.percent))

    def __repr__(self) -> str:
        return f"SizeSpec({self.absolute_bytes}, {self.percent})"

    def largest(self, other: SizeSpec) -> SizeSpec:
        return SizeSpec(max(self.absolute_bytes, other.absolute_bytes), max(self.percent, other.percent))

    def resolve(self, memory_bytes: int) -> int:
        """The size in bytes on a machine with so much memory."""
        return max(self.absolute_bytes, min(memory_bytes * self.percent // 100, COUNT_MAX))


def scan_count(text: bytes) -> tuple[int, bytes] | None:
    """The number that text begins with, at most TOO_LARGE, and what follows; None without one."""
    body = text.lstrip().removeprefix(b"+")
    rest = body.lstrip(DIGITS)
    if len(rest) == len(body):
        return None
    digits = body[: len(body) - len(rest)].lstrip(b"0")
    # One digit more than COUNT_MAX has is enough, and int() refuses very long strings.
    value = min(int(digits[:21] or b"0"), TOO_LARGE)
    return value, rest


def parse_count(text: bytes, option: bytes) -> int:
    """A count, at most TOO_LARGE. option: its name as typed, for the SortError."""
    number = scan_count(text)
    if number is None:
        raise _invalid(text, option)
    value, suffix = number
    if suffix:
        raise _invalid_suffix(text, option)
    return value


def parse_size(text: bytes, option: bytes) -> SizeSpec:
    """A size: 100M, 5%, 512b or 64 (KiB). option: its name as typed, for the SortError."""
    number = scan_count(text)
    if number is None:
        if text[:1] not in _POWERS:
            raise _invalid(text, option)
        number = 1, text
    value, suffix = number
    if suffix == b"%" and value <= COUNT_MAX:
        return SizeSpec(percent=value)
    if suffix != b"b" or value > COUNT_MAX:
        power = _POWERS.get(suffix or b"K")
        if power is None:
            raise _invalid_suffix(text, option)
        value *= 1024**power
    if value > COUNT_MAX:
        raise _too_large(text, option)
    return SizeSpec(absolute_bytes=value)


def parse_read_size(text: bytes, option: bytes) -> int:
    """A size of one byte at least that is no share of memory, in bytes. Raises SortError."""
    size = parse_size(text, option)
    if size.percent:
        raise _invalid_suffix(text, option)
    if not size.absolute_bytes:
        raise _invalid(text, option)
    return size.absolute_bytes


def parse_batch_size(text: bytes, option: bytes, descriptor_limit: int | None) -> int:
    """How many files to open at once: 2 at least, and the three standard descriptors beside them.

    descriptor_limit: how many there may be, None without limit. Raises SortError.
    """
    largest = _BATCH_SIZE_MAX
    if descriptor_limit is not None:
        largest = min(largest, descriptor_limit - _STANDARD_DESCRIPTORS)
    value = parse_count(text, option)
    if value < _BATCH_SIZE_MIN:
        raise SortError(
            b"invalid ",
            option,
            b" argument ",
            quote(text),
            NEXT_MESSAGE,
            b"minimum ",
            option,
            b" argument is ",
            quote(b"%d" % _BATCH_SIZE_MIN),
        )
    if value > largest:
        raise SortError(
            option,
            b" argument ",
            quote(text),
            b" too large",
            NEXT_MESSAGE,
            b"maximum ",
            option,
            b" argument with current rlimit is %d" % largest,
        )
    return value


# GNU sort's messages about numbers show the argument as it is, in ASCII quotes in every locale.


def _invalid(text: bytes, option: bytes) -> SortError:
    return SortError(b"invalid ", option, b" argument '", text, b"'")


def _invalid_suffix(text: bytes, option: bytes) -> SortError:
    return SortError(b"invalid suffix in ", option, b" argument '", text, b"'")


def _too_large(text: bytes, option: bytes) -> SortError:
    return SortError(option, b" argument '", text, b"' too large")
