"""The key program in plain Python: where a key lies in a line, and which bytes stand for it.

Encodings. Comparing two keys made of these as memcmp does is the order; each one but a bare text is
prefix-free, so the encodings of several segments may simply follow one another.

- text: the bytes that the segment's table keeps, translated. 00 becomes 01 01, 01 becomes 01 02,
  and 00 ends it. A bare text (the last segment only) is neither escaped nor ended: a shorter key
  sorts first anyway. Where it is the only segment it may be reversed: it is not complemented then,
  the records say that keys compare backwards.
- numeric, human, general: see _kernel_py_numbers. month, version, random: see _kernel_py_orderings.
- collated text: the first level of the locale's collation key of the first NUL-separated piece (bytes above 01; see
  _kernel_py_locale), then 00. It is not exact: the comparison of the texts decides where it is equal.
- a reversed segment is the complement of its encoding.
"""

from __future__ import annotations

import struct

from pysort._kernel_py_counts import LEAST_DIGIT
from pysort._kernel_py_numbers import encode_general, encode_number, encode_size
from pysort._kernel_py_orderings import encode_month, encode_random, encode_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REVERSE = 1
STABLE = 2
UNIQUE = 4
COLLATE_LINES = 8
COUNT = 16

TEXT = 0
NUMERIC = 1
HUMAN = 2
MONTH = 3
GENERAL = 4
VERSION = 5
RANDOM = 6
COLLATE = 7

SEGMENT_REVERSE = 1
START_BLANKS = 2
END_BLANKS = 4
TO_LINE_END = 8
BARE = 16
COLLATED = 32

NO_TABLE = 0xFFFFFFFF
NO_BYTE = 256

_PROGRAM = struct.Struct("=6I16s256s")
_SEGMENT = struct.Struct("=6I4Q")
_TABLE = struct.Struct("=256s256s")
_COMPLEMENT = bytes(range(255, -1, -1))


class Segment:
    """One key of a program: struct ps_segment, its table as the arguments of bytes.translate."""

    __slots__ = (
        "dropped",
        "end_char",
        "end_field",
        "field_separator",
        "flags",
        "grouping",
        "kind",
        "mapped",
        "point",
        "start_char",
        "start_field",
    )

    def __init__(self, raw: bytes, tables: list[tuple[bytes, bytes]]) -> None:
        self.mapped: bytes | None
        fields: tuple[int, ...] = _SEGMENT.unpack(raw)
        self.kind, self.flags, self.field_separator, table, self.point, self.grouping = fields[:6]
        self.start_field, self.start_char, self.end_field, self.end_char = fields[6:]
        if self.kind not in ENCODERS:
            raise ValueError("key program: unknown kind of segment")
        if max(self.field_separator, self.point, self.grouping) > NO_BYTE:
            raise ValueError("key program: neither a byte nor NO_BYTE")
        if table != NO_TABLE and table >= len(tables):
            raise ValueError("key program: no such table")
        keep, self.mapped = (b"", None) if table == NO_TABLE else tables[table]
        self.dropped = bytes(byte for byte, kept in enumerate(keep) if not kept)


class Program:
    """The order of lines: struct ps_program. Raises ValueError for one that is not whole."""

    __slots__ = ("blank", "flags", "months", "seed", "segments", "separator")

    def __init__(self, raw: bytes) -> None:
        if len(raw) < _PROGRAM.size:
            raise ValueError("key program: too short")
        fields = _PROGRAM.unpack_from(raw)
        self.flags, segment_n, table_n, separator, months_n, _, self.seed, self.blank = fields
        tables_at = _PROGRAM.size + segment_n * _SEGMENT.size
        months_at = tables_at + table_n * _TABLE.size
        if len(raw) != months_at + months_n:
            raise ValueError("key program: length does not match its counts")
        if separator >= (LEAST_DIGIT if self.flags & COUNT else NO_BYTE):
            raise ValueError("key program: the separator is not a byte, or one of counts")
        self.separator = bytes([separator])
        tables = list(_TABLE.iter_unpack(raw[tables_at:months_at]))
        self.months = _month_names(raw[months_at:])
        self.segments = [
            Segment(raw[at : at + _SEGMENT.size], tables) for at in range(_PROGRAM.size, tables_at, _SEGMENT.size)
        ]
        for segment in self.segments:
            alone = segment is self.segments[0] or not segment.flags & SEGMENT_REVERSE
            bare_allowed = segment is self.segments[-1] and segment.kind == TEXT and alone
            if segment.flags & BARE and not bare_allowed:
                raise ValueError("key program: only a last text segment is bare, reversed if it is alone")
            if segment.kind == MONTH and not self.months:
                raise ValueError("key program: no months")

    @property
    def needs_locale(self) -> bool:
        return bool(self.flags & COLLATE_LINES) or any(
            segment.kind in (COLLATE, GENERAL) or segment.flags & COLLATED for segment in self.segments
        )


def _month_names(raw: bytes) -> list[tuple[bytes, int]]:
    """Names and numbers of the twelve months, in the order of the names; none where no segment asks for them."""
    months = []
    while raw:
        number, length = raw[0], raw[1] if len(raw) > 1 else len(raw)
        months.append((raw[2 : 2 + length], number))
        if len(months[-1][0]) != length:
            raise ValueError("key program: a month's name is cut short")
        raw = raw[2 + length :]
    if len(months) not in (0, 12):
        raise ValueError("key program: not twelve months")
    return months


def encode_key(program: Program, locale: Any, line: bytes) -> list[bytes]:
    """The stages of a line's sort key, each its segments' encodings, one after the other."""
    stages = [b""]
    for index, segment in enumerate(program.segments, 1):
        start, end = find_key(program, segment, line)
        part = ENCODERS[segment.kind](program, segment, locale, line[start:end])
        backwards = segment.flags & SEGMENT_REVERSE and not segment.flags & BARE
        stages[-1] += part.translate(_COMPLEMENT) if backwards else part
        if segment.kind == COLLATE and index < len(program.segments):
            stages.append(b"")
    return stages


def key_text(program: Program, segment: Segment, line: bytes) -> bytes:
    """The bytes that the segment compares: those of its key, filtered and translated."""
    start, end = find_key(program, segment, line)
    return line[start:end].translate(segment.mapped, segment.dropped)


def encode_reversed(line: bytes) -> bytes:
    """Bytes that order whole lines backwards."""
    return _terminated(line).translate(_COMPLEMENT)


def find_key(program: Program, segment: Segment, line: bytes) -> tuple[int, int]:
    """Where the segment's key starts and ends in the line. It never ends before it starts."""
    blanks = segment.flags & START_BLANKS != 0
    start = _position(program, segment, line, segment.start_field, blanks, segment.start_char)
    if segment.flags & TO_LINE_END:
        end = len(line)
    elif segment.end_char:
        blanks = segment.flags & END_BLANKS != 0
        end = _position(program, segment, line, segment.end_field, blanks, segment.end_char)
    else:
        last_field = _field_start(program, segment, line, segment.end_field)
        end = _field_end(program, segment, line, last_field)
    return start, max(start, end)


def _position(program: Program, segment: Segment, line: bytes, field: int, skip_blanks: bool, char: int) -> int:
    at = _field_start(program, segment, line, field)
    if skip_blanks:
        at = _skip(line, at, program.blank, 1)
    return min(at + char, len(line))


def _field_start(program: Program, segment: Segment, line: bytes, field: int) -> int:
    at = 0
    while field and at < len(line):
        at = _field_end(program, segment, line, at)
        if segment.field_separator != NO_BYTE:
            at = min(at + 1, len(line))
        field -= 1
    return at


def _field_end(program: Program, segment: Segment, line: bytes, at: int) -> int:
    """Where the field that starts at `at` ends. Blanks before a field belong to it; a separator
    belongs to none."""
    if segment.field_separator == NO_BYTE:
        return _skip(line, _skip(line, at, program.blank, 1), program.blank, 0)
    end = line.find(segment.field_separator, at)
    return len(line) if end < 0 else end


def _skip(line: bytes, at: int, blank: bytes, wanted: int) -> int:
    while at < len(line) and blank[line[at]] == wanted:
        at += 1
    return at


def _encode_text(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    kept = key.translate(segment.mapped, segment.dropped)
    if segment.flags & BARE:
        return kept
    return _terminated(kept)


def _terminated(text: bytes) -> bytes:
    return text.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01") + b"\x00"


def _encode_number(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    return encode_number(_without_blanks(program, key), segment.point, segment.grouping)


def _encode_human(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    return encode_size(_without_blanks(program, key), segment.point, segment.grouping, segment.mapped)


def _encode_month(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    return encode_month(_without_blanks(program, key).translate(segment.mapped), program.months)


def _encode_general(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    return encode_general(key, locale.decimal_point)


def _encode_version(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    return encode_version(key.translate(segment.mapped, segment.dropped))


def _encode_random(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    transform = locale.transform if segment.flags & COLLATED else None
    return encode_random(key.translate(segment.mapped, segment.dropped), program.seed, transform)


def _without_blanks(program: Program, key: bytes) -> bytes:
    return key[_skip(key, 0, program.blank, 1) :]


def _encode_collated(program: Program, segment: Segment, locale: Any, key: bytes) -> bytes:
    first_piece = key.translate(segment.mapped, segment.dropped).partition(b"\x00")[0]
    level: bytes = locale.first_level(first_piece)
    return level + b"\x00"


ENCODERS = {
    TEXT: _encode_text,
    NUMERIC: _encode_number,
    HUMAN: _encode_human,
    MONTH: _encode_month,
    GENERAL: _encode_general,
    VERSION: _encode_version,
    RANDOM: _encode_random,
    COLLATE: _encode_collated,
}
