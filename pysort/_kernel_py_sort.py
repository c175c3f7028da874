"""Sorting in the kernel in plain Python: see csrc/kernel.h for parts and for what a digit is."""

from __future__ import annotations

import struct

from pysort._kernel_py_arguments import open_arena, open_program, require, require_records
from pysort._kernel_py_encode import UNIQUE, Program
from pysort._kernel_py_records import RECORD, RECORD_BYTES, order_of, span_of_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

DROPPED = 0xFFFFFFFF  # offset of a record that PS_UNIQUE drops

_PART = struct.Struct("=3QqQ")  # struct ps_part: start, n, depth, shift, flags
PART_BYTES = _PART.size
_DESCENDING, _FLIPPED, _SORTED = 1, 2, 4
_FIRST_SHIFT = 56
_DIGITS = struct.Struct("=256Q")


def differing(program: bytes, arena: Buffer, top: int, n: int, prefix: int) -> int:
    """In which bits the prefixes of the n records below `top` differ from this one. That is the first of what several
    threads do, each with some of the records, to split all of them; count_digits and distribute follow."""
    difference = 0
    for each, _, _ in _records(program, arena, top, n):
        difference |= each ^ prefix
    return difference


def count_digits(program: bytes, arena: Buffer, top: int, n: int, difference: int, counts: Buffer) -> int:
    """How many of the n records below `top` have each digit: 256 words of 8 bytes. difference: of the records of all
    threads, not 0. Returns the shift of the parts that the digits make."""
    count = [0] * 256
    require(difference != 0 and memoryview(counts).nbytes == _DIGITS.size, "no digit, or no room for all")
    for prefix, _, _ in _records(program, arena, top, n):
        count[_digit(difference, prefix)] += 1
    _DIGITS.pack_into(counts, 0, *count)
    return _bytes_of_digit(difference)[-1][0] - 8


def distribute(
    program: bytes, arena: Buffer, top: int, n: int, difference: int, to: int, room: int, places: Buffer
) -> None:
    """Copy the n records below `top`, in the order of their lines, among the `room` records below `to`. places: where
    the first with each digit is put, 256 words of 8 bytes, counted from the lowest record."""
    records = _records(program, arena, top, n)
    view = open_arena(arena)
    require_records(view, to, room)
    require(difference != 0 and memoryview(places).nbytes == _DIGITS.size, "no digit, or not a place for each")
    at = list(_DIGITS.unpack(places))
    require(max(at) <= room, "a place is not below `to`")
    for record in records:
        digit = _digit(difference, record[0])
        RECORD.pack_into(view, to - RECORD_BYTES * (room - at[digit]), *record)
        at[digit] += 1


def _records(program: bytes, arena: Buffer, top: int, n: int) -> list[tuple[int, int, int]]:
    """In the order of their lines."""
    Program(program)
    view = open_arena(arena)
    require_records(view, top, n)
    return [RECORD.unpack_from(view, top - RECORD_BYTES * (i + 1)) for i in range(n)]


def _bytes_of_digit(difference: int) -> list[tuple[int, int]]:
    """(shift, bits) of the first byte in which prefixes differ, and of the next one if both have 8 bits at most."""
    parts: list[tuple[int, int]] = []
    while difference and len(parts) < 2:
        shift = (difference.bit_length() - 1) // 8 * 8
        parts.append((shift, difference.bit_length() - shift))
        difference &= (1 << shift) - 1
    return parts if sum(bits for _, bits in parts) <= 8 else parts[:1]


def _digit(difference: int, prefix: int) -> int:
    digit = 0
    for shift, bits in _bytes_of_digit(difference):
        digit = digit << bits | prefix >> shift & ((1 << bits) - 1)
    return digit


def sort_part(program: bytes, locale: Any, arena: Buffer, top: int, n: int, part: Buffer) -> None:
    """Sort a part of the n records below `top`; the n below those are scratch.

    The result ascends from top - 16 * n on and addresses lines. The records that PS_UNIQUE drops are still there, with
    an offset of 0xFFFFFFFF, until `drop` has taken them out.
    """
    order = open_program(program, locale)
    view = open_arena(arena)
    require_records(view, top, 2 * n)
    require(len(bytes(part)) == _PART.size, "not a part of the records")
    first, part_n, _, shift, flags = _PART.unpack(part)
    is_part = first + part_n <= n and shift <= _FIRST_SHIFT and shift % 8 == 0
    require(is_part and (not flags & _DESCENDING or part_n == n), "not a part of the records")
    at = top - RECORD_BYTES * (n - first)
    source = at - RECORD_BYTES * n if flags & _FLIPPED else at
    places = range(source, source + RECORD_BYTES * part_n, RECORD_BYTES)
    if flags & _DESCENDING:
        places = places[::-1]
    if flags == _SORTED:
        spans = [span_of_line(order, view, record_at) for record_at in places]
    else:
        keyed = [(order_of(order, locale, view, record_at), record_at) for record_at in places]
        keyed.sort(key=lambda item: item[0])
        spans = [span_of_line(order, view, record_at) for _, record_at in keyed]
        if order.flags & UNIQUE:
            for i in range(1, part_n):
                if keyed[i - 1][0] == keyed[i][0]:
                    spans[i] = DROPPED, 0
    for offset, length in spans:
        RECORD.pack_into(view, at, 0, offset, length)
        at += RECORD_BYTES


def split(program: bytes, locale: Any, arena: Buffer, top: int, n: int, part: Buffer, parts: Buffer) -> int:
    """One step of sorting the records, in C, to let several threads sort the parts that are left of it: struct ps_part
    in csrc/kernel.h, the first of which is all of them. Here nothing is left: this is sort_part. Returns the number of
    parts."""
    sort_part(program, locale, arena, top, n, part)
    return 0
