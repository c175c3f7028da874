"""Merging runs, and where to cut them, in plain Python: see csrc/kernel.h and _kernel_py.py."""

from __future__ import annotations

import struct
from heapq import heapify, heappop, heapreplace

from pysort._kernel_py_arguments import open_program, require
from pysort._kernel_py_counts import count_of, put_count
from pysort._kernel_py_encode import COUNT, UNIQUE, Program
from pysort._kernel_py_records import PREFIX, RECORD_BYTES, order_of, span_of_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

CURSOR_BYTES = 40
MERGE_DONE = -1
MERGE_FULL = -2

_CURSOR = struct.Struct("=5Q")
_MERGE = struct.Struct("=5Q")
_NODE_BYTES = 16


def merge_state_bytes(cursor_n: int) -> int:
    """Size of the state that `merge` keeps between calls; all zero before the first."""
    return _MERGE.size + _NODE_BYTES * cursor_n


class _Cursor:
    """One run under merge: struct ps_cursor, checked, with its window of the arena."""

    __slots__ = ("base", "last", "n", "next", "top", "window")

    def __init__(self, view: memoryview, cursors: memoryview, index: int) -> None:
        fields: tuple[int, ...] = _CURSOR.unpack_from(cursors, CURSOR_BYTES * index)
        self.base, self.top, self.n, self.next, self.last = fields
        require(self.base + self.top <= len(view), "a window is outside the arena")
        require((self.base + self.top) % PREFIX.size == 0, "a window's top is not aligned")
        require(self.next <= self.n <= self.top // RECORD_BYTES, "records outside their window")
        self.window = view[self.base : self.base + self.top]

    def order(self, program: Program, locale: Any, index: int) -> list[Any]:
        return order_of(program, locale, self.window, self.top - RECORD_BYTES * (index + 1))

    def line(self, program: Program, index: int) -> bytes:
        offset, length = span_of_line(program, self.window, self.top - RECORD_BYTES * (index + 1))
        return self.window[offset : offset + length].tobytes()

    def count(self, program: Program) -> int:
        """Of the next line."""
        offset, length = span_of_line(program, self.window, self.top - RECORD_BYTES * (self.next + 1))
        behind = self.window[offset + length :].tobytes()
        return count_of(behind[: behind.index(program.separator)])

    def kind(self, program: Program, locale: Any, index: int) -> Any:
        """What lines have in common of which one is kept."""
        if program.flags & UNIQUE:
            return self.order(program, locale, index)
        return self.line(program, index) if program.flags & COUNT else None


class _Output:
    """What is merged goes here. skip: bytes of what is being put that are there already. count: of the line put last,
    0 where it has been put."""

    __slots__ = ("_separator", "_target", "count", "skip", "used")

    def __init__(self, target: memoryview, separator: bytes, skip: int, count: int) -> None:
        self._target = target
        self._separator = separator
        self.skip = skip
        self.count = count
        self.used = 0

    def put(self, text: bytes) -> bool:
        """What fits. Returns whether all is there."""
        part = text[self.skip : self.skip + len(self._target) - self.used]
        self._target[self.used : self.used + len(part)] = part
        self.used += len(part)
        is_whole = self.skip + len(part) == len(text)
        self.skip = 0 if is_whole else self.skip + len(part)
        return is_whole

    def put_count(self) -> bool:
        """What is left of the line put last, likewise."""
        if self.count and not self.put(put_count(self.count) + self._separator):
            return False
        self.count = 0
        return True


def merge(
    program: bytes, locale: Any, arena: Buffer, cursors: Buffer, cursor_n: int, merge_state: Buffer, out: Buffer
) -> tuple[int, int]:
    """Merge lines into `out`: returns why it stopped, and the number of bytes written.

    It stops with MERGE_DONE, with MERGE_FULL, or with the index of the hungry run. Of the state
    only `skip`, `emitted` and `count` are used here: the tree is built anew in every call.
    """
    order = open_program(program, locale)
    view, cursor_view, state, target = (memoryview(buffer).cast("B") for buffer in (arena, cursors, merge_state, out))
    require(0 < cursor_n <= len(cursor_view) // CURSOR_BYTES, "fewer cursors than cursor_n")
    require(len(state) == merge_state_bytes(cursor_n), "not the state of so many cursors")
    runs = [_Cursor(view, cursor_view, index) for index in range(cursor_n)]
    status, used = _merge_runs(order, locale, runs, state, target)
    for index, run in enumerate(runs):
        _CURSOR.pack_into(cursor_view, CURSOR_BYTES * index, run.base, run.top, run.n, run.next, run.last)
    return status, used


def _unread(
    program: bytes, locale: Any, arena: Buffer, cursors: Buffer, cursor_n: int, places: Buffer
) -> tuple[list[_Cursor], list[list[list[Any]]], memoryview]:
    """The runs under merge, what all their records compare by, and the places as numbers."""
    order = open_program(program, locale)
    view, cursor_view, place_view = (memoryview(buffer).cast("B") for buffer in (arena, cursors, places))
    require(0 < cursor_n <= len(cursor_view) // CURSOR_BYTES, "fewer cursors than cursor_n")
    require(cursor_n <= len(place_view) // PREFIX.size, "fewer places than cursor_n")
    runs = [_Cursor(view, cursor_view, index) for index in range(cursor_n)]
    # Equal records go by the run and as they lie, unless equal ones are dropped: no cut goes through them then.
    keys = [
        [run.order(order, locale, at) + ([] if order.flags & (UNIQUE | COUNT) else [i, at]) for at in range(run.n)]
        for i, run in enumerate(runs)
    ]
    return runs, keys, place_view.cast("Q")


def bound(program: bytes, locale: Any, arena: Buffer, cursors: Buffer, cursor_n: int, places: Buffer) -> None:
    """Into places, 8 bytes each: the first unread record of each run that must not be merged before more of a run has
    been read. The runs are sorted."""
    runs, keys, found = _unread(program, locale, arena, cursors, cursor_n, places)
    ends = [(keys[i][-1], i) for i, run in enumerate(runs) if not run.last and run.next < run.n]
    is_hungry = any(run.next >= run.n and not run.last for run in runs)
    end, first = min(ends, key=lambda item: item[0]) if ends else (None, None)
    for i, run in enumerate(runs):
        found[i] = run.n
        if end is not None:
            found[i] = next((at for at in range(run.next, run.n) if not keys[i][at] < end), run.n)
        if i == first and not Program(program).flags & (UNIQUE | COUNT):
            found[i] = run.n
        if is_hungry:
            found[i] = run.next


def cut(
    program: bytes, locale: Any, arena: Buffer, cursors: Buffer, cursor_n: int, at: int, index: int, places: Buffer
) -> None:
    """Into places: the first unread record of each run that does not go before record `index` of run `at`."""
    runs, keys, found = _unread(program, locale, arena, cursors, cursor_n, places)
    require(0 <= at < cursor_n and 0 <= index < runs[at].n, "no such record")
    for i, run in enumerate(runs):
        found[i] = next((k for k in range(run.next, run.n) if not keys[i][k] < keys[at][index]), run.n)


def _merge_runs(
    program: Program, locale: Any, runs: list[_Cursor], state: memoryview, target: memoryview
) -> tuple[int, int]:
    started, hungry, skip, emitted, count = _MERGE.unpack_from(state)
    require(emitted <= len(runs), "the last line came from no cursor")
    counts = bool(program.flags & COUNT)
    previous = None
    if program.flags & (UNIQUE | COUNT) and emitted:
        require(runs[emitted - 1].next > 0, "the line read last is not in its window")
        previous = runs[emitted - 1].kind(program, locale, runs[emitted - 1].next - 1)
    out = _Output(target, program.separator, skip, count)
    heads = []
    for index, run in enumerate(runs):
        if run.next < run.n:
            heads.append((run.order(program, locale, run.next), index))
        elif not run.last:
            return index, 0
    heapify(heads)
    status = MERGE_DONE
    while heads:
        _, index = heads[0]
        run = runs[index]
        kind = run.kind(program, locale, run.next)
        if out.skip or previous is None or kind != previous:
            end = b"" if counts else program.separator
            if not (out.put_count() and out.put(run.line(program, run.next) + end)):
                status = MERGE_FULL
                break
            emitted, previous = index + 1, kind
        if counts:
            out.count += run.count(program)
        run.next += 1
        if run.next < run.n:
            heapreplace(heads, (run.order(program, locale, run.next), index))
        elif run.last:
            heappop(heads)
        else:
            status = index
            break
    if status == MERGE_DONE and not out.put_count():
        status = MERGE_FULL
    _MERGE.pack_into(state, 0, started, hungry, out.skip, emitted, out.count)
    return status, out.used
