"""The records of the kernel in plain Python: see csrc/kernel.h. What each form of record addresses, how keys get there,
and what records compare by."""

from __future__ import annotations

import struct

from pysort._kernel_py_encode import (
    BARE,
    COLLATE,
    COLLATE_LINES,
    REVERSE,
    SEGMENT_REVERSE,
    STABLE,
    START_BLANKS,
    TO_LINE_END,
    UNIQUE,
    Program,
    encode_key,
    encode_reversed,
    find_key,
    key_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD_BYTES = 16
HEADER_BYTES = 8
IN_LINE = 1 << 31  # in a record's length: its key was not stored, it addresses the line
SLICE_BITS = 10
SLICE_MAX = (1 << SLICE_BITS) - 1

# Forms of a program's records: enum ps_form.
LINES, STORED, SHORT, WHOLE, SLICE = range(5)

RECORD = struct.Struct("=QII")
PREFIX = struct.Struct("=Q")
SPAN = struct.Struct("=II")  # the end of a record, or a header: offset, length
_LENGTH = struct.Struct("=I")  # of a later stage, before its header
_ALL_ONES = (1 << 64) - 1


def form_of(program: Program) -> int:
    """How the program's records say where their keys are."""
    segments = program.segments
    if not segments:
        return LINES
    if any(segment.kind == COLLATE for segment in segments):
        return STORED
    last = segments[-1]
    if not last.flags & BARE:
        return SHORT
    if len(segments) > 1 or last.dropped:
        return STORED
    is_whole = last.start_field == last.start_char == 0 and last.flags & TO_LINE_END and not last.flags & START_BLANKS
    return WHOLE if is_whole else SLICE


def _is_backwards(program: Program) -> bool:
    """Whether lines (LINES) or bare keys compare backwards, as they are; other keys are encoded to do so."""
    if not program.segments:
        return bool(program.flags & REVERSE)
    flags: int = program.segments[-1].flags
    return bool(flags & BARE and flags & SEGMENT_REVERSE)


def prefix_of(program: Program, key: bytes) -> int:
    """What a record holds of its line or key."""
    prefix = int.from_bytes(key[:8].ljust(8, b"\x00"), "big")
    return prefix ^ _ALL_ONES if _is_backwards(program) else prefix


def bytes_of(view: memoryview, record_at: int) -> bytes:
    """The line that the record at `record_at` addresses."""
    offset, length = SPAN.unpack_from(view, record_at + PREFIX.size)
    return view[offset : offset + length].tobytes()


def span_of_line(program: Program, view: memoryview, record_at: int) -> tuple[int, int]:
    """Offset and length of the record's line; the header before a stored key has them."""
    offset, length = SPAN.unpack_from(view, record_at + PREFIX.size)
    if not program.segments:
        return offset, length
    if not length & IN_LINE:
        span: tuple[int, int] = SPAN.unpack_from(view, offset - HEADER_BYTES)
        return span
    length ^= IN_LINE
    if form_of(program) == SLICE:
        length = (length & SLICE_MAX) + (length >> SLICE_BITS & SLICE_MAX) + (length >> 2 * SLICE_BITS)
    return offset, length


def address_key(
    program: Program, locale: Any, line: bytes, line_at: int, at: int, room: int
) -> tuple[bytes, bytes] | None:
    """The record of a line with its key, and what has to be stored for it at `at`; None when that takes more than
    `room` bytes."""
    header = SPAN.pack(line_at, len(line))
    form = form_of(program)
    if form in (WHOLE, SLICE):
        (segment,) = program.segments
        start, end = find_key(program, segment, line)
        prefix = prefix_of(program, key_text(program, segment, line))
        before, length, behind = start, end - start, len(line) - end
        if form == WHOLE:
            return RECORD.pack(prefix, line_at, len(line) | IN_LINE), b""
        if max(before, length) <= SLICE_MAX and behind <= 2 * SLICE_MAX:
            packed = behind << 2 * SLICE_BITS | length << SLICE_BITS | before | IN_LINE
            return RECORD.pack(prefix, line_at, packed), b""
        first, later = line[start:end], []
    else:
        first, *later = encode_key(program, locale, line)
        prefix = prefix_of(program, first)
    stored = header + first
    for stage in later:
        stored += _LENGTH.pack(len(stage)) + header + stage
    if len(stored) > room:
        return None
    if form == SHORT and len(first) <= PREFIX.size:
        return RECORD.pack(prefix, line_at, len(line) | IN_LINE), b""
    return RECORD.pack(prefix, at + HEADER_BYTES, len(first)), stored


class _Collated:
    """Text as an operand of < and ==: in the locale's order, or backwards."""

    __slots__ = ("_locale", "_reverse", "_text")

    def __init__(self, locale: Any, text: bytes, reverse: int) -> None:
        self._locale = locale
        self._text = text
        self._reverse = reverse

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Collated) and self._locale.compare(self._text, other._text) == 0

    def __lt__(self, other: _Collated) -> bool:
        order: int = self._locale.compare(self._text, other._text)
        return order > 0 if self._reverse else order < 0

    __hash__ = None  # type: ignore[assignment]


def order_of(program: Program, locale: Any, view: memoryview, record_at: int) -> list[Any]:
    """What records compare by, completely: the stages of the key, behind each the text that decides where that stage
    is equal, then the line unless it takes no part."""
    offset, length = span_of_line(program, view, record_at)
    line = view[offset : offset + length].tobytes()
    order: list[Any] = []
    if program.segments:
        order += _key_order(program, locale, view, record_at, line)
        if program.flags & (STABLE | UNIQUE):
            return order
        if program.flags & COLLATE_LINES:
            return [*order, _Collated(locale, line, program.flags & REVERSE)]
    return [*order, encode_reversed(line) if program.flags & REVERSE else line]


def _key_order(program: Program, locale: Any, view: memoryview, record_at: int, line: bytes) -> list[Any]:
    at, length = SPAN.unpack_from(view, record_at + PREFIX.size)
    if length & IN_LINE or form_of(program) in (WHOLE, SLICE):
        (key,) = encode_key(program, locale, line)
        return [encode_reversed(key) if _is_backwards(program) else key]
    order: list[Any] = []
    for segment in program.segments:
        is_last = segment is program.segments[-1]
        if segment.kind != COLLATE and not is_last:
            continue
        key = view[at : at + length].tobytes()
        order.append(encode_reversed(key) if _is_backwards(program) else key)
        if segment.kind == COLLATE:
            text = key_text(program, segment, line)
            order.append(_Collated(locale, text, segment.flags & SEGMENT_REVERSE))
        if not is_last:
            at += length + _LENGTH.size + HEADER_BYTES
            (length,) = _LENGTH.unpack_from(view, at - HEADER_BYTES - _LENGTH.size)
    return order
