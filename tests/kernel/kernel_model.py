"""What the order of lines is, said a second time: fields by regular expression, numbers as Decimal,
one comparison function. Written from GNU sort's behaviour, not from the kernel."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from collation import collation

_BLANKS = b" \t\n"
_ALNUM = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PRINTABLE = range(0x20, 0x7F)
_DEFAULT_FIELD = re.compile(rb"[ \t\n]*[^ \t\n]*")
_NUMBER = re.compile(rb"[ \t\n]*(-?)([0-9,]*)(\.[0-9]*)?")
_NUMBER_WITHOUT_GROUPS = re.compile(rb"[ \t\n]*(-?)([0-9]*)(\.[0-9]*)?")


class Key(NamedTuple):
    """A -k as users count, from 1. end_field None: to the end of the line."""

    start_field: int = 1
    start_char: int = 1
    start_blanks: bool = False
    end_field: int | None = None
    end_char: int = 0
    end_blanks: bool = False
    letters: str = ""
    reverse: bool = False

    def option(self) -> str:
        text = f"-k{self.start_field}.{self.start_char}{'b' * self.start_blanks}"
        if self.end_field is not None:
            end_char = f".{self.end_char}" if self.end_char else ""
            text += f",{self.end_field}{end_char}{'b' * self.end_blanks}"
        return text + self.letters + "r" * self.reverse


class Order(NamedTuple):
    """locale: of the text, None for byte order; coarse: whether the kernel may use first-level collation keys. count:
    lines that are equal one after the other are one with their number: see counted()."""

    keys: tuple[Key, ...] = ()
    reverse: bool = False
    stable: bool = False
    unique: bool = False
    separator: bytes = b"\n"
    field_separator: bytes | None = None
    grouping: bytes | None = None
    locale: bytes | None = None
    coarse: bool = True
    count: bool = False

    @property
    def folds(self) -> bool:
        """Whether of equal lines one is kept."""
        return self.unique or self.count

    def options(self) -> list[str | bytes]:
        """The same order for the sort command (grouping is the locale's, there is no option)."""
        options: list[str | bytes] = [key.option() for key in self.keys]
        for wanted, option in (
            (self.reverse, "-r"),
            (self.stable, "-s"),
            (self.unique, "-u"),
            (self.separator == b"\0", "-z"),
        ):
            if wanted:
                options.append(option)
        if self.field_separator is not None:
            options += ["-t", self.field_separator]
        return options


def _field_spans(line: bytes, field_separator: bytes | None) -> list[tuple[int, int]]:
    if field_separator is None:
        return [match.span() for match in _DEFAULT_FIELD.finditer(line) if match.group()]
    spans, at = [], 0
    for field in line.split(field_separator):
        spans.append((at, at + len(field)))
        at += len(field) + 1
    return spans


def key_text(line: bytes, key: Key, field_separator: bytes | None) -> bytes:
    """The part of the line that the key is about."""
    spans = _field_spans(line, field_separator)

    def place(field: int, blanks: bool, characters: int) -> int:
        at = spans[field - 1][0] if field <= len(spans) else len(line)
        if blanks:
            at = len(line) - len(line[at:].lstrip(_BLANKS))
        return min(at + characters, len(line))

    start = place(key.start_field, key.start_blanks, key.start_char - 1)
    if key.end_field is None:
        end = len(line)
    elif key.end_char:
        end = place(key.end_field, key.end_blanks, key.end_char)
    else:
        end = spans[key.end_field - 1][1] if key.end_field <= len(spans) else len(line)
    return line[start:end]


def number(text: bytes, grouping: bytes | None = None) -> Decimal:
    """The value that -n sees. The only grouping byte known here is the comma."""
    match = (_NUMBER if grouping == b"," else _NUMBER_WITHOUT_GROUPS).match(text)
    assert match is not None
    sign, integer, fraction = match.groups()
    digits = integer.replace(b",", b"") or b"0"
    return Decimal((sign + digits + (fraction or b"")).decode())


def filtered(text: bytes, letters: str) -> bytes:
    if "d" in letters:
        text = bytes(byte for byte in text if byte in _ALNUM or byte in _BLANKS)
    elif "i" in letters:
        text = bytes(byte for byte in text if byte in _PRINTABLE)
    return text.upper() if "f" in letters else text


def _compare(a: bytes | Decimal, b: bytes | Decimal) -> int:
    return (a > b) - (a < b)  # type: ignore[operator]


def comparison(order: Order) -> Callable[[bytes, bytes], int]:
    """The complete comparison of two lines."""

    @functools.cache
    def values(line: bytes) -> list[bytes | Decimal]:
        texts = [(key_text(line, key, order.field_separator), key.letters) for key in order.keys]
        return [number(text, order.grouping) if "n" in letters else filtered(text, letters) for text, letters in texts]

    def compare_values(a: bytes | Decimal, b: bytes | Decimal) -> int:
        if order.locale is not None and isinstance(a, bytes) and isinstance(b, bytes):
            return collation(order.locale).order(a, b)
        return _compare(a, b)

    def compare(a: bytes, b: bytes) -> int:
        for key, value_a, value_b in zip(order.keys, values(a), values(b), strict=True):
            if result := compare_values(value_a, value_b):
                return -result if key.reverse else result
        if order.keys and (order.stable or order.unique):
            return 0
        return compare_values(b, a) if order.reverse else compare_values(a, b)

    return compare


def sorted_lines(order: Order, lines: Iterable[bytes]) -> list[bytes]:
    result = sorted(lines, key=functools.cmp_to_key(comparison(order)))
    return without_repeats(order, result) if order.unique else result


def without_repeats(order: Order, lines: Sequence[bytes]) -> list[bytes]:
    """Only the first of lines that compare equal to the last one kept."""
    compare = comparison(order)
    kept: list[bytes] = []
    for line in lines:
        if not kept or compare(kept[-1], line) != 0:
            kept.append(line)
    return kept


def counted(order: Order, lines: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Of lines that come one after the other and are equal - under -u by their keys, else byte by byte - the first, and
    how many they are."""
    compare = comparison(order)
    kept: list[tuple[bytes, int]] = []
    for line in lines:
        if kept and (compare(kept[-1][0], line) == 0 if order.unique else kept[-1][0] == line):
            kept[-1] = kept[-1][0], kept[-1][1] + 1
        else:
            kept.append((line, 1))
    return kept


def digits(count: int) -> bytes:
    """As they are behind a counted line: octal digits in pairs."""
    text = oct(count)[2:]
    text = "0" * (len(text) % 2) + text
    pairs = [int(text[i : i + 2], 8) for i in range(0, len(text), 2)]
    return bytes([64 + pairs[0], *(192 + pair for pair in pairs[1:])])


def merged_lines(order: Order, runs: Sequence[Sequence[bytes]]) -> list[bytes]:
    """The smallest head is next, of equal ones the earlier run's. Runs need not be sorted."""
    compare = functools.cmp_to_key(comparison(order))
    rest = [list(run) for run in runs]
    merged = []
    while any(rest):
        best = min((run for run in rest if run), key=lambda run: compare(run[0]))
        merged.append(best.pop(0))
    return without_repeats(order, merged) if order.unique else merged
