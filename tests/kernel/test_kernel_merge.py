"""Merging runs."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, merged_lines, sorted_lines
from kernel_support import CURSOR, Batch, Merge, line_lists, orders, program_of

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=5)
REFILLS = st.lists(st.integers(1, 6), min_size=1, max_size=10)


def merged(
    kernel: ModuleType,
    order: Order,
    runs: list[list[bytes]],
    refills: list[int],
    out_sizes: list[int],
) -> bytes:
    return b"".join(step.written for step in Merge(kernel, order, runs, refills).steps(out_sizes))


def text(lines: list[bytes], separator: bytes = b"\n") -> bytes:
    return b"".join(line + separator for line in lines)


@given(
    order=orders(max_keys=2),
    runs=st.lists(line_lists(8), min_size=1, max_size=12),
    refills=REFILLS,
    out_sizes=SIZES,
)
def test_sorted_runs_merge_into_one(
    kernel: ModuleType,
    order: Order,
    runs: list[list[bytes]],
    refills: list[int],
    out_sizes: list[int],
) -> None:
    expected = sorted_lines(order, [line for run in runs for line in run])
    runs = [sorted_lines(order, run) for run in runs]
    assert merged(kernel, order, runs, refills, out_sizes) == text(expected)


@given(
    order=orders(max_keys=2),
    runs=st.lists(line_lists(8), min_size=1, max_size=5),
    refills=REFILLS,
    out_sizes=SIZES,
)
def test_runs_that_are_not_sorted_merge_by_their_heads(
    kernel: ModuleType,
    order: Order,
    runs: list[list[bytes]],
    refills: list[int],
    out_sizes: list[int],
) -> None:
    assert merged(kernel, order, runs, refills, out_sizes) == text(merged_lines(order, runs))


@pytest.mark.parametrize("run_n", range(1, 13))
@pytest.mark.parametrize(
    "order",
    [Order(), Order(reverse=True), Order(keys=(Key(end_field=1, letters="n"),), stable=True)],
)
def test_any_number_of_runs(kernel: ModuleType, run_n: int, order: Order) -> None:
    runs = [sorted_lines(order, [b"%d %d" % (i * 37 % 50, run) for i in range(run * 3)]) for run in range(run_n)]
    expected = text(sorted_lines(order, [line for run in runs for line in run]))
    for refill in (1, 2, 100):
        assert merged(kernel, order, runs, [refill], [64]) == expected


@pytest.mark.parametrize("run_n", range(1, 13))
def test_equal_keys_come_out_in_the_order_of_the_runs(kernel: ModuleType, run_n: int) -> None:
    order = Order(keys=(Key(end_field=1),), stable=True)
    runs = [[b"k run%d line%d" % (run, i) for i in range(5)] for run in range(run_n)]
    assert merged(kernel, order, runs, [2], [17]) == text([line for run in runs for line in run])


@pytest.mark.parametrize("run_n", range(1, 13))
@pytest.mark.parametrize("refill", [1, 2, 3, 50])
def test_unique_keeps_the_first_across_runs_and_refills(kernel: ModuleType, run_n: int, refill: int) -> None:
    order = Order(keys=(Key(end_field=1),), unique=True)
    runs = [[b"%02d run%d line%d" % (key, run, i) for key in range(4) for i in range(5)] for run in range(run_n)]
    expected = text([b"%02d run0 line0" % key for key in range(4)])
    assert merged(kernel, order, runs, [refill], [7]) == expected


@pytest.mark.parametrize("reverse", [False, True])
def test_unique_in_plain_order(kernel: ModuleType, reverse: bool) -> None:
    order = Order(unique=True, reverse=reverse)
    lines = sorted([b"", b"", b"\0", b"a", b"a\0", b"a\0", b"prefix 8", b"prefix 8x"])
    lines = lines[::-1] if reverse else lines
    expected = text(sorted(set(lines), reverse=reverse))
    for refill in (1, 2, 8):
        assert merged(kernel, order, [lines, lines, lines], [refill], [5]) == expected


@pytest.mark.parametrize("reverse", [False, True])
def test_empty_lines_are_not_taken_for_the_end_of_a_run(kernel: ModuleType, reverse: bool) -> None:
    """Its prefix is all zeros, and all ones in reverse: no prefix is free to mean the end."""
    lines = [b"b", b"", b""] if reverse else [b"", b"", b"b"]
    order = Order(reverse=reverse)
    expected = text(sorted(lines * 2 + [b""], reverse=reverse))
    assert merged(kernel, order, [lines, [], lines, [b""]], [1], [3]) == expected


@pytest.mark.parametrize("out_bytes", range(1, 40))
def test_lines_longer_than_the_output_come_in_pieces(kernel: ModuleType, out_bytes: int) -> None:
    runs = [[b"a" * 30, b"c"], [b"", b"b" * 25]]
    steps = list(Merge(kernel, Order(), runs, [1]).steps([out_bytes]))
    assert b"".join(step.written for step in steps) == text([b"", b"a" * 30, b"b" * 25, b"c"])
    for step in steps:
        if step.status == kernel.MERGE_FULL:
            assert len(step.written) == out_bytes


def test_an_output_without_room_is_full_at_once(kernel: ModuleType) -> None:
    merge = Merge(kernel, Order(), [[b"a"], [b"b"]], [1])
    merge.refill(0)
    merge.refill(1)
    assert merge.step(0) == (kernel.MERGE_FULL, b"", (0, 0))
    assert merge.step(99) == (kernel.MERGE_DONE, b"a\nb\n", (1, 1))
    assert merge.step(99) == (kernel.MERGE_DONE, b"", (1, 1))


def test_a_run_is_hungry_as_soon_as_its_last_record_was_taken(kernel: ModuleType) -> None:
    merge = Merge(kernel, Order(), [[b"a", b"d"], [b"b", b"c", b"e"]], [1])
    merge.refill(0)
    merge.refill(1)
    assert merge.step(99) == (0, b"a\n", (1, 0))
    merge.refill(0)
    assert merge.step(99) == (1, b"b\n", (0, 1))
    merge.refill(1)
    assert merge.step(99) == (1, b"c\n", (0, 1))


def test_a_run_whose_window_is_empty_is_hungry_before_anything_is_written(
    kernel: ModuleType,
) -> None:
    order = Order()
    merge = Merge(kernel, order, [[b"b"], [b"a"]], [1])
    top = merge.window_bytes
    for index in range(2):
        CURSOR.pack_into(merge.cursors, CURSOR.size * index, top * index, top, 0, 0, 0)
    assert merge.step(99) == (0, b"", (0, 0))
    assert merge.step(99) == (0, b"", (0, 0))
    merge.refill(0)
    assert merge.step(99) == (1, b"", (0, 0))
    merge.refill(1)
    assert merge.step(99) == (kernel.MERGE_DONE, b"a\nb\n", (1, 1))


def test_a_hungry_run_that_got_nothing_is_hungry_still(kernel: ModuleType) -> None:
    merge = Merge(kernel, Order(), [[b"a", b"c"], [b"b"]], [1])
    merge.refill(0)
    merge.refill(1)
    assert merge.step(99) == (0, b"a\n", (1, 0))
    assert merge.step(99) == (0, b"", (1, 0))
    merge.refill(0)
    assert merge.step(99) == (kernel.MERGE_DONE, b"b\nc\n", (1, 1))


def test_a_hungry_run_may_turn_out_to_be_at_its_end(kernel: ModuleType) -> None:
    """The caller learns that nothing follows only when it tries to read more."""
    merge = Merge(kernel, Order(), [[b"a", b"c"], [b"b"]], [1])
    merge.refill(0)
    merge.refill(1)
    assert merge.step(99) == (0, b"a\n", (1, 0))
    base, top, n, position, _ = merge.cursor(0)
    CURSOR.pack_into(merge.cursors, 0, base, top, n, position, 1)
    assert merge.step(99) == (kernel.MERGE_DONE, b"b\n", (1, 1))


def test_a_merge_without_lines_is_done(kernel: ModuleType) -> None:
    for run_n in range(1, 5):
        assert merged(kernel, Order(), [[]] * run_n, [1], [9]) == b""


def test_records_of_a_sorted_batch_are_not_needed_in_reverse(kernel: ModuleType) -> None:
    """Windows are scanned, never sorted: record 0 is the window's first line."""
    lines = [b"a", b"b", b"c"]
    batch = Batch(kernel, Order(), lines)
    cursors = bytearray(CURSOR.pack(0, batch.top, 3, 1, 1))
    out = bytearray(9)
    state = bytearray(kernel.merge_state_bytes(1))
    program = program_of(Order())
    assert kernel.merge(program, None, batch.arena, cursors, 1, state, out) == (kernel.MERGE_DONE, 4)
    assert out[:4] == b"b\nc\n"
