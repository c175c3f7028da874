"""The key program in plain Python: where a key lies in a line, and which bytes stand for it.

Encodings. Comparing two keys made of these as memcmp does is the order; each one but a bare text is
prefix-free, so the encodings of several segments may simply follow one another.

- text: the bytes that the segment's table keeps, translated. 00 becomes 01 01, 01 becomes 01 02,
  and 00 ends it. A bare text (the last segment only) is neither escaped nor ended: a shorter key
  sorts first anyway.
- numeric: zero is 80, however it is spelled. A positive number with L integer digits (leading zeros
  dropped) begins with 81 + L when L <= 100, else with E6 and L as 8 bytes, big-endian. The integer
  digits follow, two in a byte as 10 * d1 + d2 + 1, after a 0 when L is odd; then the digits of the
  fraction (trailing zeros dropped) likewise, with a 0 after them when they are odd in number; then
  00. A negative number is the complement of the positive one.
- a reversed segment is the complement of its encoding.
"""

from __future__ import annotations

import struct

REVERSE = 1
STABLE = 2
UNIQUE = 4

TEXT = 0
NUMERIC = 1

SEGMENT_REVERSE = 1
START_BLANKS = 2
END_BLANKS = 4
TO_LINE_END = 8
BARE = 16

NO_TABLE = 0xFFFFFFFF
NO_BYTE = 256

_PROGRAM = struct.Struct("=4I256s")
_SEGMENT = struct.Struct("=6I4Q")
_TABLE = struct.Struct("=256s256s")
_COMPLEMENT = bytes(range(255, -1, -1))
_DIGITS = b"0123456789"
_ZERO = b"\x80"
_LONGEST_TAGGED = 100
_LONG_TAG = b"\xe6"


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
        if self.kind not in (TEXT, NUMERIC):
            raise ValueError("key program: unknown kind of segment")
        if max(self.field_separator, self.point, self.grouping) > NO_BYTE:
            raise ValueError("key program: neither a byte nor NO_BYTE")
        if table != NO_TABLE and table >= len(tables):
            raise ValueError("key program: no such table")
        keep, self.mapped = (b"", None) if table == NO_TABLE else tables[table]
        self.dropped = bytes(byte for byte, kept in enumerate(keep) if not kept)


class Program:
    """The order of lines: struct ps_program. Raises ValueError for one that is not whole."""

    __slots__ = ("blank", "flags", "segments", "separator")

    def __init__(self, raw: bytes) -> None:
        if len(raw) < _PROGRAM.size:
            raise ValueError("key program: too short")
        self.flags, segment_n, table_n, separator, self.blank = _PROGRAM.unpack_from(raw)
        tables_at = _PROGRAM.size + segment_n * _SEGMENT.size
        if len(raw) != tables_at + table_n * _TABLE.size:
            raise ValueError("key program: length does not match its counts")
        if separator >= NO_BYTE:
            raise ValueError("key program: the separator is not a byte")
        self.separator = bytes([separator])
        tables = list(_TABLE.iter_unpack(raw[tables_at:]))
        self.segments = [
            Segment(raw[at : at + _SEGMENT.size], tables) for at in range(_PROGRAM.size, tables_at, _SEGMENT.size)
        ]
        for segment in self.segments:
            bare_allowed = segment is self.segments[-1] and segment.kind == TEXT and not segment.flags & SEGMENT_REVERSE
            if segment.flags & BARE and not bare_allowed:
                raise ValueError("key program: only a last, text, unreversed segment is bare")


def encode_key(program: Program, line: bytes) -> bytes:
    """The sort key of a line: its segments' encodings, one after the other."""
    encoded = b""
    for segment in program.segments:
        start, end = find_key(program, segment, line)
        if segment.kind == NUMERIC:
            part = _encode_number(program, segment, line[start:end])
        else:
            part = _encode_text(segment, line[start:end])
        encoded += part.translate(_COMPLEMENT) if segment.flags & SEGMENT_REVERSE else part
    return encoded


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


def _encode_text(segment: Segment, key: bytes) -> bytes:
    kept = key.translate(segment.mapped, segment.dropped)
    if segment.flags & BARE:
        return kept
    return _terminated(kept)


def _terminated(text: bytes) -> bytes:
    return text.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01") + b"\x00"


def _encode_number(program: Program, segment: Segment, key: bytes) -> bytes:
    at = _skip(key, 0, program.blank, 1)
    negative = key[at : at + 1] == b"-"
    integer, at = _digits(key, at + negative, segment.grouping)
    fraction = b""
    if at < len(key) and key[at] == segment.point:
        fraction, at = _digits(key, at + 1, NO_BYTE)
    integer = integer.lstrip(b"0")
    fraction = fraction.rstrip(b"0")
    if not integer and not fraction:
        return _ZERO
    if len(integer) <= _LONGEST_TAGGED:
        tag = bytes([0x81 + len(integer)])
    else:
        tag = _LONG_TAG + len(integer).to_bytes(8, "big")
    packed = _pack(integer.rjust(len(integer) + len(integer) % 2, b"0"))
    packed += _pack(fraction.ljust(len(fraction) + len(fraction) % 2, b"0"))
    encoded = tag + packed + b"\x00"
    return encoded.translate(_COMPLEMENT) if negative else encoded


def _digits(key: bytes, at: int, ignored: int) -> tuple[bytes, int]:
    """The digits from `at` on, without the ignored byte among them, and where they end."""
    digits = bytearray()
    while at < len(key) and (key[at] in _DIGITS or key[at] == ignored):
        if key[at] != ignored:
            digits.append(key[at])
        at += 1
    return bytes(digits), at


def _pack(digits: bytes) -> bytes:
    return bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))
