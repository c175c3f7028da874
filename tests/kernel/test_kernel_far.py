"""Lines at the end of the largest arena there may be: offsets next to 2**32, in a map whose pages are few."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Order, sorted_lines
from kernel_support import CURSOR, RECORD, keys_bytes, line_lists, open_locale, orders, program_of, sort_all

from pysort.plan import LARGEST_ARENA_BYTES


@pytest.fixture(scope="module")
def arena() -> Iterator[mmap.mmap]:
    try:
        far = mmap.mmap(-1, LARGEST_ARENA_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        pytest.skip(f"4 GiB of addresses are not to be had: {error}")
    with far:
        yield far


class Far:
    """Lines as close to the end of the arena as they can be, split and with their keys."""

    def __init__(self, kernel: ModuleType, order: Order, lines: list[bytes], arena: mmap.mmap, top: int) -> None:
        self.kernel, self.arena, self.top, self.n = kernel, arena, top, len(lines)
        self.program, self.locale = program_of(order), open_locale(kernel, order.locale)
        text = b"".join(line + order.separator for line in lines)
        limit = top - 2 * RECORD.size * self.n
        at = limit - len(text) - keys_bytes(len(order.keys), lines)
        arena[at : at + len(text)] = text
        self.text_bytes = len(text)
        scanned = kernel.scan(self.program, arena, at, at + len(text), top, 0, self.n)
        assert scanned == (self.n, at + len(text), max(map(len, lines), default=0))
        if order.keys:
            assert kernel.encode(self.program, self.locale, arena, top, 0, self.n, at + len(text), limit)[0] == self.n

    def sorted(self) -> bytes:
        sort_all(self.kernel, self.program, self.locale, self.arena, self.top, self.n)
        kept = self.kernel.drop(self.program, self.arena, self.top, self.n)
        out = bytearray(self.text_bytes + 1)
        records_at = self.top - RECORD.size * self.n
        index, _, used = self.kernel.gather(self.program, self.arena, records_at, kept, 0, 0, out)
        assert index == kept
        return bytes(out[:used])


@given(order=orders(), lines=line_lists(80))
def test_they_are_sorted_as_anywhere_else(
    kernel: ModuleType, arena: mmap.mmap, order: Order, lines: list[bytes]
) -> None:
    expected = b"".join(line + order.separator for line in sorted_lines(order, lines))
    assert Far(kernel, order, lines, arena, len(arena)).sorted() == expected


@given(order=orders(), lines=line_lists(40))
def test_lines_in_order_are_found_to_be(kernel: ModuleType, arena: mmap.mmap, order: Order, lines: list[bytes]) -> None:
    far = Far(kernel, order, sorted_lines(order, lines), arena, len(arena))
    assert kernel.check(far.program, far.locale, arena, far.top, far.n) == far.n
    assert kernel.presorted(far.program, far.locale, arena, far.top, far.n) == 1


@given(order=orders(), runs=st.lists(line_lists(20), min_size=1, max_size=3))
def test_they_are_merged_as_anywhere_else(
    kernel: ModuleType, arena: mmap.mmap, order: Order, runs: list[list[bytes]]
) -> None:
    """Windows end at the end of the arena and 1 MiB before that, and so on; each is its own arena of near 4 GiB."""
    cursors = b""
    for number, run in enumerate(runs):
        top = len(arena) - (number << 20)
        far = Far(kernel, order, sorted_lines(order, run), arena, top)
        cursors += CURSOR.pack(0, top, far.n, 0, 1)
    state = bytearray(kernel.merge_state_bytes(len(runs)))
    out = bytearray(sum(len(line) + 1 for run in runs for line in run) + 1)
    status, used = kernel.merge(
        program_of(order), open_locale(kernel, order.locale), arena, bytearray(cursors), len(runs), state, out
    )
    assert status == kernel.MERGE_DONE
    every = [line for run in runs for line in run]
    assert bytes(out[:used]) == b"".join(line + order.separator for line in sorted_lines(order, every))
