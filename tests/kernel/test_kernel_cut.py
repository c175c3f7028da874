"""Where sorted runs are cut for merging in parts: the places, and that the parts are what one merge puts out."""

from __future__ import annotations

import struct
from itertools import pairwise
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Order, comparison, sorted_lines
from kernel_support import CURSOR, Merge, line_lists, orders

Places = list[int]


class Windows:
    """Runs under merge with all their lines in their windows, `unread` of each not read yet; some go on behind."""

    def __init__(self, kernel: ModuleType, order: Order, runs: list[list[bytes]], read: list[int], go_on: list[bool]):
        self.kernel = kernel
        self.merge = Merge(kernel, order, runs, [max(map(len, runs), default=0) + 1])
        self.run_n = len(runs)
        for i in range(self.run_n):
            self.merge.refill(i)
        self.starts = [min(n, len(run)) for n, run in zip(read, runs, strict=True)]
        self.set(self.starts, [len(run) for run in runs], [not goes_on for goes_on in go_on])

    def set(self, starts: Places, stops: Places, last: list[bool]) -> None:
        for i in range(self.run_n):
            base, top, *_ = CURSOR.unpack_from(self.merge.cursors, CURSOR.size * i)
            CURSOR.pack_into(self.merge.cursors, CURSOR.size * i, base, top, stops[i], starts[i], last[i])

    @property
    def _at(self) -> tuple[object, ...]:
        return self.merge.program, self.merge.locale, self.merge.arena, self.merge.cursors, self.run_n

    def bound(self) -> Places:
        places = bytearray(8 * self.run_n)
        assert self.kernel.bound(*self._at, places) is None
        return list(struct.unpack(f"={self.run_n}Q", places))

    def cut(self, at: int, index: int) -> Places:
        places = bytearray(8 * self.run_n)
        assert self.kernel.cut(*self._at, at, index, places) is None
        return list(struct.unpack(f"={self.run_n}Q", places))

    def merged(self, starts: Places, stops: Places) -> bytes:
        """What lies between two cuts."""
        self.set(starts, stops, [True] * self.run_n)
        state, out = bytearray(self.kernel.merge_state_bytes(self.run_n)), bytearray(100_000)
        status, used = self.kernel.merge(*self._at, state, out)
        assert status == self.kernel.MERGE_DONE
        return bytes(out[:used])


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Order, list[list[bytes]], list[int], list[bool]]:
    order = draw(orders(max_keys=2))._replace(count=draw(st.booleans()))
    runs = [sorted_lines(order, run) for run in draw(st.lists(line_lists(12), min_size=1, max_size=6))]
    read = draw(st.lists(st.integers(0, 5), min_size=len(runs), max_size=len(runs)))
    go_on = draw(st.lists(st.booleans(), min_size=len(runs), max_size=len(runs)))
    return order, runs, read, go_on


@given(job=jobs())
def test_what_is_before_the_bound_may_be_merged_and_nothing_else(
    kernel: ModuleType, job: tuple[Order, list[list[bytes]], list[int], list[bool]]
) -> None:
    order, runs, read, go_on = job
    windows = Windows(kernel, order, runs, read, go_on)
    compare = comparison(order)
    ends = [(i, run[-1]) for i, run in enumerate(runs) if go_on[i] and windows.starts[i] < len(run)]
    hungry = any(go_on[i] and windows.starts[i] == len(run) for i, run in enumerate(runs))

    def may_be_merged(i: int, line: bytes) -> bool:
        """Nothing that has not been read can go before it; where equal lines are folded, nor be equal to it."""
        if hungry:
            return False
        return all(
            compare(line, end) < 0 or (not order.folds and compare(line, end) == 0 and i <= j) for j, end in ends
        )

    expected = [
        windows.starts[i] + sum(may_be_merged(i, line) for line in run[windows.starts[i] :])
        for i, run in enumerate(runs)
    ]
    assert windows.bound() == expected


@given(job=jobs(), data=st.data())
def test_parts_between_cuts_are_what_one_merge_puts_out(
    kernel: ModuleType, job: tuple[Order, list[list[bytes]], list[int], list[bool]], data: st.DataObject
) -> None:
    order, runs, read, _ = job
    windows = Windows(kernel, order, runs, read, [False] * len(runs))
    records = [(i, k) for i, run in enumerate(runs) for k in range(windows.starts[i], len(run))]
    cuts = [windows.starts]
    if records:
        for at, index in data.draw(st.lists(st.sampled_from(records), max_size=4)):
            cuts.append([max(pair) for pair in zip(windows.cut(at, index), cuts[-1], strict=True)])
    cuts.append([len(run) for run in runs])
    parts = [windows.merged(a, b) for a, b in pairwise(cuts)]
    assert b"".join(parts) == windows.merged(cuts[0], cuts[-1])


@given(job=jobs(), data=st.data())
def test_a_cut_is_at_its_record_or_before_all_that_are_equal_to_it(
    kernel: ModuleType, job: tuple[Order, list[list[bytes]], list[int], list[bool]], data: st.DataObject
) -> None:
    order, runs, read, _ = job
    windows = Windows(kernel, order, runs, read, [False] * len(runs))
    records = [(i, k) for i, run in enumerate(runs) for k in range(windows.starts[i], len(run))]
    if not records:
        return
    at, index = data.draw(st.sampled_from(records))
    compare = comparison(order)
    places = windows.cut(at, index)
    for i, run in enumerate(runs):
        for k in range(windows.starts[i], len(run)):
            sign = compare(run[k], runs[at][index])
            before = sign < 0 or (sign == 0 and not order.folds and (i, k) < (at, index))
            assert (k < places[i]) == before


@given(job=jobs(), data=st.data())
def test_the_twins_cut_at_the_same_places(
    twins: tuple[ModuleType, ModuleType],
    job: tuple[Order, list[list[bytes]], list[int], list[bool]],
    data: st.DataObject,
) -> None:
    python, c = (Windows(kernel, *job) for kernel in twins)
    assert python.bound() == c.bound()
    records = [(i, k) for i, run in enumerate(job[1]) for k in range(len(run))]
    if records:
        at, index = data.draw(st.sampled_from(records))
        assert python.cut(at, index) == c.cut(at, index)


def test_places_and_records_outside_are_refused(kernel: ModuleType) -> None:
    windows = Windows(kernel, Order(), [[b"a"], [b"b"]], [0, 0], [False, False])
    at = windows._at
    for call in (
        lambda: kernel.bound(*at, bytearray(15)),
        lambda: kernel.bound(*at[:-1], 3, bytearray(24)),
        lambda: kernel.cut(*at, 2, 0, bytearray(16)),
        lambda: kernel.cut(*at, 0, 1, bytearray(16)),
        lambda: kernel.cut(*at, 0, -1, bytearray(16)),
        lambda: kernel.cut(*at, 0, 0, bytearray(8)),
        lambda: kernel.cut(b"", *at[1:], 0, 0, bytearray(16)),
    ):
        with pytest.raises(ValueError):
            call()
