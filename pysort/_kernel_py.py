"""The kernel in plain Python: the readable definition of csrc/kernel.h, the oracle of its tests,
and the fallback where the C one was not built.

A buffer is anything contiguous with the buffer protocol, changed in place. Offsets are bytes from
the start of the buffer passed as `arena`; record i of an arena lies at top - 16 * (i + 1). Every
function raises ValueError for a key program that is not whole and for arguments that reach outside
their buffers. What a record says is trusted.
"""

from __future__ import annotations

from pysort._kernel_py_arguments import open_arena, open_program, require, require_records
from pysort._kernel_py_counts import put_count, show, text_length
from pysort._kernel_py_encode import COUNT, REVERSE, UNIQUE, Program, encode_reversed
from pysort._kernel_py_locale import locale_facts, open_locale
from pysort._kernel_py_merge import CURSOR_BYTES, MERGE_DONE, MERGE_FULL, bound, cut, merge, merge_state_bytes
from pysort._kernel_py_records import (
    HEADER_BYTES,
    PREFIX,
    RECORD,
    RECORD_BYTES,
    SPAN,
    address_key,
    bytes_of,
    order_of,
    prefix_of,
    span_of_line,
)
from pysort._kernel_py_sort import DROPPED, PART_BYTES, count_digits, differing, distribute, sort_part, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

__all__ = [
    "CURSOR_BYTES",
    "HEADER_BYTES",
    "MERGE_DONE",
    "MERGE_FULL",
    "NAME",
    "PART_BYTES",
    "RECORD_BYTES",
    "bound",
    "check",
    "check_text",
    "count_digits",
    "cut",
    "differing",
    "distribute",
    "drop",
    "encode",
    "gather",
    "line",
    "locale_facts",
    "merge",
    "merge_state_bytes",
    "open_locale",
    "presorted",
    "scan",
    "show_counts",
    "sort_part",
    "split",
]

NAME = "python"


def scan(
    program: bytes, arena: Buffer, start: int, stop: int, top: int, n: int, n_max: int, counted: bool = False
) -> tuple[int, int, int]:
    """Make records of the complete lines in arena[start:stop], until there are n_max. counted: whether their counts are
    with them, which are no part of what the records address.

    Returns how many records there are now, where the first line that was not taken begins, and the length of the
    longest that was. In keyed order the prefixes are left as they were.
    """
    order = Program(program)
    view = open_arena(arena)
    require(0 <= start <= stop <= len(view), "the text is outside the arena")
    require_records(view, top, n_max)
    require(0 <= n <= n_max, "more records than n_max")
    text = view[start:stop].tobytes()
    at = longest = 0
    while n < n_max and (end := text.find(order.separator, at)) >= 0:
        n += 1
        record_at = top - RECORD_BYTES * n
        length = text_length(text[at:end]) if counted else end - at
        SPAN.pack_into(view, record_at + PREFIX.size, start + at, length)
        if not order.segments:
            PREFIX.pack_into(view, record_at, prefix_of(order, text[at : at + min(8, length)]))
        longest = max(longest, end - at)
        at = end + 1
    return n, start + at, longest


def encode(
    program: bytes, locale: Any, arena: Buffer, top: int, first: int, last: int, at: int, limit: int
) -> tuple[int, int]:
    """Encode the keys of records first..last-1, which address lines, from `at` to `limit` at most.

    locale: what open_locale returned, or None where no segment asks for one. Returns the first record that found no
    room (or last) and the new end of the keys.
    """
    order = open_program(program, locale)
    view = open_arena(arena)
    require(0 <= first <= last, "the records are not a range")
    require_records(view, top, last)
    require(at >= 0 and limit <= len(view), "the keys are outside the arena")
    for index in range(first, last):
        record_at = top - RECORD_BYTES * (index + 1)
        line_at, _ = SPAN.unpack_from(view, record_at + PREFIX.size)
        addressed = address_key(order, locale, bytes_of(view, record_at), line_at, at, limit - at)
        if addressed is None:
            return index, at
        record, stored = addressed
        view[record_at : record_at + RECORD_BYTES] = record
        view[at : at + len(stored)] = stored
        at += len(stored)
    return last, at


def drop(program: bytes, arena: Buffer, top: int, n: int) -> int:
    """Move the records together that are kept under PS_UNIQUE and PS_COUNT, when all parts are sorted. Returns their
    number. Under PS_COUNT the prefix of each is how many lines it stands for."""
    order = Program(program)
    view = open_arena(arena)
    require_records(view, top, n)
    if not order.flags & (UNIQUE | COUNT):
        return n
    first = top - RECORD_BYTES * n
    kept: list[tuple[int, int, int]] = []
    line = None
    for at in range(first, top, RECORD_BYTES):
        _, offset, length = RECORD.unpack_from(view, at)
        if order.flags & UNIQUE:
            is_repeat = offset == DROPPED
        else:
            line, previous = bytes_of(view, at), line
            is_repeat = line == previous
        if kept and is_repeat:
            kept[-1] = kept[-1][0] + 1, *kept[-1][1:]
        else:
            kept.append((1, offset, length))
    for index, record in enumerate(kept):
        RECORD.pack_into(view, first + RECORD_BYTES * index, *record)
    return len(kept)


def line(program: bytes, arena: Buffer, top: int, index: int) -> tuple[int, int]:
    """Offset and length of the line of record `index`, without its separator."""
    order = Program(program)
    view = open_arena(arena)
    require(index >= 0, "no such record")
    require_records(view, top, index + 1)
    return span_of_line(order, view, top - RECORD_BYTES * (index + 1))


def check(program: bytes, locale: Any, arena: Buffer, top: int, n: int) -> int:
    """The first of the n records below `top` that is out of order with the one before it: that compares less, or equal
    under PS_UNIQUE. n when there is none."""
    order = open_program(program, locale)
    view = open_arena(arena)
    require_records(view, top, n)
    previous = None
    for index in range(n):
        this = order_of(order, locale, view, top - RECORD_BYTES * (index + 1))
        if previous is not None and (this < previous or (order.flags & UNIQUE and this == previous)):
            return index
        previous = this
    return n


def check_text(program: bytes, arena: Buffer, start: int, stop: int) -> tuple[int, int]:
    """The same without records, in plain order alone: of the complete lines in arena[start:stop] the first that is out
    of order, and where it begins. Their number, and where the last one ends, when there is none."""
    order = Program(program)
    view = open_arena(arena)
    require(0 <= start <= stop <= len(view), "the text is outside the arena")
    require(not order.segments, "not the plain order")
    *lines, _ = view[start:stop].tobytes().split(order.separator)
    at = start
    previous = None
    for index, text in enumerate(lines):
        this = encode_reversed(text) if order.flags & REVERSE else text
        if previous is not None and (this < previous or (order.flags & UNIQUE and this == previous)):
            return index, at
        previous = this
        at += len(text) + 1
    return len(lines), at


def presorted(program: bytes, locale: Any, arena: Buffer, top: int, n: int) -> int:
    """1 when the n records below `top` are in order as `check` has it, -1 when each is less than the one before, else
    0."""
    if check(program, locale, arena, top, n) == n:
        return 1
    order, view = open_program(program, locale), open_arena(arena)
    orders = [order_of(order, locale, view, top - RECORD_BYTES * (index + 1)) for index in range(n)]
    return -1 if all(orders[i] < orders[i - 1] for i in range(1, n)) else 0


def gather(
    program: bytes, arena: Buffer, records_at: int, n: int, index: int, skip: int, out: Buffer
) -> tuple[int, int, int]:
    """Copy lines index..n-1, each with the separator, under PS_COUNT counted, until `out` is full.

    The n records ascend from records_at on and address lines; the first line is copied without its
    first `skip` bytes. Returns index and skip to go on with, and the number of bytes written.
    """
    order = Program(program)
    view = memoryview(arena).cast("B")
    target = memoryview(out).cast("B")
    require(records_at >= 0 and records_at % RECORD_BYTES == 0, "records_at is no boundary")
    require(0 <= n <= (len(view) - records_at) // RECORD_BYTES, "the records reach too far")
    require(0 <= index <= n and skip >= 0, "there is no such line to go on with")
    resumed = _whole_line(order, view, records_at, index)[:-1] if index < n else b""
    require(skip <= len(resumed), "skip is beyond the line")
    used = 0
    while index < n:
        line = _whole_line(order, view, records_at, index)
        part = line[skip : skip + len(target) - used]
        target[used : used + len(part)] = part
        used += len(part)
        skip += len(part)
        if skip < len(line):
            break
        index, skip = index + 1, 0
    return index, skip, used


def _whole_line(order: Program, view: memoryview, records_at: int, index: int) -> bytes:
    """With all that is behind it in the output."""
    at = records_at + RECORD_BYTES * index
    count = put_count(RECORD.unpack_from(view, at)[0]) if order.flags & COUNT else b""
    return bytes_of(view, at) + count + order.separator


def show_counts(program: bytes, text: Buffer, out: Buffer) -> tuple[int, int]:
    """Copy counted lines into `out`, each behind its count as uniq -c shows it, as long as they fit whole. Returns
    where the first line begins that is not complete or did not fit, and the number of bytes written."""
    order = Program(program)
    require(bool(order.flags & COUNT), "the key program counts no lines")
    target = memoryview(out).cast("B")
    at, shown = show(order.separator, bytes(text), len(target))
    target[: len(shown)] = shown
    return at, len(shown)
