"""The kernel in plain Python: the readable definition of csrc/kernel.h, the oracle of its tests,
and the fallback where the C one was not built.

A buffer is anything contiguous with the buffer protocol, changed in place. Offsets are bytes from
the start of the buffer passed as `arena`; record i of an arena lies at top - 16 * (i + 1). Every
function raises ValueError for a key program that is not whole and for arguments that reach outside
their buffers. What a record says is trusted.
"""

from __future__ import annotations

import struct
from heapq import heapify, heappop, heapreplace

from pysort._kernel_py_encode import REVERSE, STABLE, UNIQUE, Program, encode_key, encode_reversed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

NAME = "python"

RECORD_BYTES = 16
HEADER_BYTES = 8
CURSOR_BYTES = 40
MERGE_DONE = -1
MERGE_FULL = -2

_RECORD = struct.Struct("=QII")
_PREFIX = struct.Struct("=Q")
_SPAN = struct.Struct("=II")  # the end of a record, or a header: offset, length
_CURSOR = struct.Struct("=5Q")
_MERGE = struct.Struct("=4Q")
_NODE_BYTES = 16
_ARENA_LIMIT = 1 << 32
_ALL_ONES = (1 << 64) - 1


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _open_arena(arena: Buffer) -> memoryview:
    view = memoryview(arena).cast("B")
    _require(len(view) < _ARENA_LIMIT, "the arena is not shorter than 4 GiB")
    return view


def _require_records(view: memoryview, top: int, n: int) -> None:
    _require(0 <= top <= len(view) and top % RECORD_BYTES == 0, "top is not a record boundary")
    _require(0 <= n <= top // RECORD_BYTES, "the records do not fit below top")


def _prefix(key: bytes) -> int:
    return int.from_bytes(key[:8].ljust(8, b"\x00"), "big")


def _bytes_of(view: memoryview, record_at: int) -> bytes:
    """The line or key that the record at `record_at` addresses."""
    offset, length = _SPAN.unpack_from(view, record_at + _PREFIX.size)
    return view[offset : offset + length].tobytes()


def _span_of_line(program: Program, view: memoryview, record_at: int) -> tuple[int, int]:
    """Offset and length of the record's line; in keyed order the header before the key has them."""
    span: tuple[int, int] = _SPAN.unpack_from(view, record_at + _PREFIX.size)
    return _SPAN.unpack_from(view, span[0] - HEADER_BYTES) if program.segments else span


def _order(program: Program, view: memoryview, record_at: int) -> tuple[bytes, bytes]:
    """What records compare by, completely: the key, then the line unless that takes no part."""
    key = _bytes_of(view, record_at) if program.segments else b""
    if program.segments and program.flags & (STABLE | UNIQUE):
        return key, b""
    offset, length = _span_of_line(program, view, record_at)
    line = view[offset : offset + length].tobytes()
    whole_line = encode_reversed(line) if program.flags & REVERSE else line
    return key, whole_line


def scan(program: bytes, arena: Buffer, start: int, stop: int, top: int, n: int, n_max: int) -> tuple[int, int]:
    """Make records of the complete lines in arena[start:stop], until there are n_max.

    Returns how many records there are now and where the first line that was not taken begins. In
    keyed order the prefixes are left as they were.
    """
    order = Program(program)
    view = _open_arena(arena)
    _require(0 <= start <= stop <= len(view), "the text is outside the arena")
    _require_records(view, top, n_max)
    _require(0 <= n <= n_max, "more records than n_max")
    text = view[start:stop].tobytes()
    mask = _ALL_ONES if order.flags & REVERSE else 0
    at = 0
    while n < n_max and (end := text.find(order.separator, at)) >= 0:
        n += 1
        record_at = top - RECORD_BYTES * n
        _SPAN.pack_into(view, record_at + _PREFIX.size, start + at, end - at)
        if not order.segments:
            _PREFIX.pack_into(view, record_at, _prefix(text[at : min(at + 8, end)]) ^ mask)
        at = end + 1
    return n, start + at


def encode(program: bytes, arena: Buffer, top: int, first: int, last: int, at: int, limit: int) -> tuple[int, int]:
    """Encode the keys of records first..last-1, which address lines, from `at` to `limit` at most.

    Returns the first record that found no room (or last) and the new end of the keys.
    """
    order = Program(program)
    view = _open_arena(arena)
    _require(0 <= first <= last, "the records are not a range")
    _require_records(view, top, last)
    _require(at >= 0 and limit <= len(view), "the keys are outside the arena")
    for index in range(first, last):
        record_at = top - RECORD_BYTES * (index + 1)
        key = encode_key(order, _bytes_of(view, record_at))
        key_at = at + HEADER_BYTES
        if key_at + len(key) > limit:
            return index, at
        view[at:key_at] = view[record_at + _PREFIX.size : record_at + RECORD_BYTES]
        at = key_at + len(key)
        view[key_at:at] = key
        _RECORD.pack_into(view, record_at, _prefix(key), key_at, len(key))
    return last, at


def sort(program: bytes, arena: Buffer, top: int, n: int) -> int:
    """Sort the n records below `top`; the n below those are scratch.

    The result ascends from top - 16 * n on and addresses lines. Returns how many records are left:
    n, or fewer under PS_UNIQUE.
    """
    order = Program(program)
    view = _open_arena(arena)
    _require_records(view, top, 2 * n)
    at = top - RECORD_BYTES * n
    in_input_order = range(top - RECORD_BYTES, at - RECORD_BYTES, -RECORD_BYTES)
    keyed = [(_order(order, view, record_at), record_at) for record_at in in_input_order]
    keyed.sort(key=lambda item: item[0])
    if order.flags & UNIQUE:
        keyed = [item for i, item in enumerate(keyed) if i == 0 or item[0] != keyed[i - 1][0]]
    spans = [_span_of_line(order, view, record_at) for _, record_at in keyed]
    for offset, length in spans:
        _RECORD.pack_into(view, at, 0, offset, length)
        at += RECORD_BYTES
    return len(spans)


def gather(
    program: bytes, arena: Buffer, records_at: int, n: int, index: int, skip: int, out: Buffer
) -> tuple[int, int, int]:
    """Copy lines index..n-1, each with the separator, until `out` is full.

    The n records ascend from records_at on and address lines; the first line is copied without its
    first `skip` bytes. Returns index and skip to go on with, and the number of bytes written.
    """
    order = Program(program)
    view = memoryview(arena).cast("B")
    target = memoryview(out).cast("B")
    _require(records_at >= 0 and records_at % RECORD_BYTES == 0, "records_at is no boundary")
    _require(0 <= n <= (len(view) - records_at) // RECORD_BYTES, "the records reach too far")
    _require(0 <= index <= n and skip >= 0, "there is no such line to go on with")
    resumed = _bytes_of(view, records_at + RECORD_BYTES * index) if index < n else b""
    _require(skip <= len(resumed), "skip is beyond the line")
    used = 0
    while index < n:
        line = _bytes_of(view, records_at + RECORD_BYTES * index) + order.separator
        part = line[skip : skip + len(target) - used]
        target[used : used + len(part)] = part
        used += len(part)
        skip += len(part)
        if skip < len(line):
            break
        index, skip = index + 1, 0
    return index, skip, used


def merge_state_bytes(cursor_n: int) -> int:
    """Size of the state that `merge` keeps between calls; all zero before the first."""
    return _MERGE.size + _NODE_BYTES * cursor_n


class _Cursor:
    """One run under merge: struct ps_cursor, checked, with its window of the arena."""

    __slots__ = ("base", "last", "n", "next", "top", "window")

    def __init__(self, view: memoryview, cursors: memoryview, index: int) -> None:
        fields: tuple[int, ...] = _CURSOR.unpack_from(cursors, CURSOR_BYTES * index)
        self.base, self.top, self.n, self.next, self.last = fields
        _require(self.base + self.top <= len(view), "a window is outside the arena")
        _require((self.base + self.top) % _PREFIX.size == 0, "a window's top is not aligned")
        _require(self.next <= self.n <= self.top // RECORD_BYTES, "records outside their window")
        self.window = view[self.base : self.base + self.top]

    def order(self, program: Program, index: int) -> tuple[bytes, bytes]:
        return _order(program, self.window, self.top - RECORD_BYTES * (index + 1))

    def line(self, program: Program) -> bytes:
        """The next line with its separator."""
        record_at = self.top - RECORD_BYTES * (self.next + 1)
        offset, length = _span_of_line(program, self.window, record_at)
        return self.window[offset : offset + length].tobytes() + program.separator


def merge(
    program: bytes, arena: Buffer, cursors: Buffer, cursor_n: int, merge_state: Buffer, out: Buffer
) -> tuple[int, int]:
    """Merge lines into `out`: returns why it stopped, and the number of bytes written.

    It stops with MERGE_DONE, with MERGE_FULL, or with the index of the hungry run. Of the state
    only `skip` and `emitted` are used here: the tree is built anew in every call.
    """
    order = Program(program)
    view, cursor_view, state, target = (memoryview(buffer).cast("B") for buffer in (arena, cursors, merge_state, out))
    _require(0 < cursor_n <= len(cursor_view) // CURSOR_BYTES, "fewer cursors than cursor_n")
    _require(len(state) == merge_state_bytes(cursor_n), "not the state of so many cursors")
    runs = [_Cursor(view, cursor_view, index) for index in range(cursor_n)]
    status, used = _merge_runs(order, runs, state, target)
    for index, run in enumerate(runs):
        _CURSOR.pack_into(cursor_view, CURSOR_BYTES * index, run.base, run.top, run.n, run.next, run.last)
    return status, used


def _merge_runs(program: Program, runs: list[_Cursor], state: memoryview, target: memoryview) -> tuple[int, int]:
    started, hungry, skip, emitted = _MERGE.unpack_from(state)
    _require(emitted <= len(runs), "the last line came from no cursor")
    previous = None
    if program.flags & UNIQUE and emitted:
        _require(runs[emitted - 1].next > 0, "the line read last is not in its window")
        previous = runs[emitted - 1].order(program, runs[emitted - 1].next - 1)
    used = 0
    heads = []
    status = MERGE_DONE
    for index, run in enumerate(runs):
        if run.next < run.n:
            heads.append((run.order(program, run.next), index))
        elif not run.last:
            return index, used
    heapify(heads)
    while heads:
        head, index = heads[0]
        run = runs[index]
        if previous is None or head != previous:
            line = run.line(program)
            part = line[skip : skip + len(target) - used]
            target[used : used + len(part)] = part
            used += len(part)
            skip += len(part)
            if skip < len(line):
                status = MERGE_FULL
                break
            skip = 0
            emitted = index + 1
            previous = head if program.flags & UNIQUE else None
        run.next += 1
        if run.next < run.n:
            heapreplace(heads, (run.order(program, run.next), index))
        elif run.last:
            heappop(heads)
        else:
            status = index
            break
    _MERGE.pack_into(state, 0, started, hungry, skip, emitted)
    return status, used
