"""Equal lines as one with their number: in a sorted batch, in merges, and as they are shown."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, counted, digits, merged_lines, sorted_lines
from kernel_support import COUNT, RECORD, UNIQUE, Batch, Merge, line_lists, orders, pack_program, texts

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=5)
REFILLS = st.lists(st.integers(1, 6), min_size=1, max_size=10)
COUNTS = st.integers(1, 70) | st.sampled_from([64**k + d for k in range(1, 10) for d in (-1, 0, 1)])
counting = orders(max_keys=2).map(lambda order: order._replace(count=True))
# Few lines, so that many are equal; and pairs that are equal by their keys alone.
lines = line_lists(12) | st.lists(texts(b"aA ", 2), max_size=60)


def text_of(folded: list[tuple[bytes, int]]) -> bytes:
    return b"".join(line + digits(count) + b"\n" for line, count in folded)


def uncounted(order: Order) -> Order:
    """All lines as they come to be counted."""
    return order._replace(unique=False, stable=order.unique or order.stable)


def counted_run(order: Order, run: list[bytes]) -> list[bytes]:
    return [line + digits(count) for line, count in counted(order, run)]


@given(order=counting, lines=lines, sizes=SIZES)
def test_a_batch_is_folded_and_gathered_with_its_counts(
    kernel: ModuleType, order: Order, lines: list[bytes], sizes: list[int]
) -> None:
    batch = Batch(kernel, order, lines)
    spans = batch.sort()
    counts = [RECORD.unpack_from(batch.arena, batch.records_at + RECORD.size * i)[0] for i in range(batch.n)]
    expected = counted(order, sorted_lines(uncounted(order), lines))
    assert [(batch.line(span), count) for span, count in zip(spans, counts, strict=True)] == expected
    output, index, skip, turn = b"", 0, 0, 0
    while index < batch.n:
        out = bytearray(sizes[turn % len(sizes)])
        index, skip, used = kernel.gather(batch.program, batch.arena, batch.records_at, batch.n, index, skip, out)
        output += out[:used]
        turn += 1
        assert used == len(out) or index == batch.n
    assert output == text_of(expected)


@given(order=counting, runs=st.lists(lines, min_size=1, max_size=6), refills=REFILLS, sizes=SIZES)
def test_counted_runs_merge_into_one(
    kernel: ModuleType, order: Order, runs: list[list[bytes]], refills: list[int], sizes: list[int]
) -> None:
    every = uncounted(order)
    expected = counted(order, sorted_lines(every, [line for run in runs for line in run]))
    folded = [counted_run(order, sorted_lines(every, run)) for run in runs]
    merge = Merge(kernel, order, folded, refills, counted=True)
    assert b"".join(step.written for step in merge.steps(sizes)) == text_of(expected)


@given(
    order=counting,
    runs=st.lists(lines, min_size=1, max_size=4),
    are_counted=st.booleans(),
    refills=REFILLS,
    sizes=SIZES,
)
def test_runs_that_are_not_sorted_give_the_counts_of_one_merge_without(
    kernel: ModuleType,
    order: Order,
    runs: list[list[bytes]],
    are_counted: bool,
    refills: list[int],
    sizes: list[int],
) -> None:
    every = uncounted(order)
    expected = counted(order, merged_lines(every, runs))
    given_runs = [counted_run(order, run) for run in runs] if are_counted else runs
    merge = Merge(kernel, order, given_runs, refills, counted=are_counted)
    assert b"".join(step.written for step in merge.steps(sizes)) == text_of(expected)


@given(counts=st.lists(COUNTS, min_size=1, max_size=5), sizes=SIZES)
def test_large_counts_add_up(kernel: ModuleType, counts: list[int], sizes: list[int]) -> None:
    order = Order(unique=True, count=True)
    merge = Merge(kernel, order, [[b"x\xff" + digits(count)] for count in counts], [1], counted=True)
    assert b"".join(step.written for step in merge.steps(sizes)) == b"x\xff" + digits(sum(counts)) + b"\n"


@given(lines=st.lists(st.tuples(texts(), COUNTS), max_size=20), tail=texts(), rooms=st.lists(st.integers(0, 90)))
@pytest.mark.parametrize("separator", [b"\n", b"\0"])
def test_lines_are_shown_behind_their_counts(
    kernel: ModuleType, lines: list[tuple[bytes, int]], tail: bytes, rooms: list[int], separator: bytes
) -> None:
    program = pack_program(COUNT, separator=separator[0])
    lines = [(line.replace(separator, b"-"), count) for line, count in lines]
    parts = [line + digits(count) + separator for line, count in lines]
    shown = [b"%7d %b%b" % (count, line, separator) for line, count in lines]
    text = memoryview(b"?" + b"".join(parts) + tail.replace(separator, b"-"))[1:]  # wherever it begins
    for room in [*rooms, sum(map(len, shown))]:
        fit_n = max(n for n in range(len(shown) + 1) if sum(map(len, shown[:n])) <= room)
        out = bytearray(room)
        assert kernel.show_counts(program, text, out) == (sum(map(len, parts[:fit_n])), sum(map(len, shown[:fit_n])))
        assert out.startswith(b"".join(shown[:fit_n]))


def test_nothing_is_shown_where_nothing_is_counted(kernel: ModuleType) -> None:
    with pytest.raises(ValueError):
        kernel.show_counts(pack_program(UNIQUE), b"a\n", bytearray(99))


def test_the_counts_of_equal_keys_and_of_equal_lines(kernel: ModuleType) -> None:
    """-s: lines that are equal but apart stay apart, in one run and from run to run."""
    key = (Key(end_field=1),)
    runs = [[b"k x", b"k x"], [b"k y", b"k x"], [b"k x"]]
    folded = [[b"k xB"], [b"k yA", b"k xA"], [b"k xA"]]

    def merged(order: Order) -> bytes:
        merge = Merge(kernel, order._replace(count=True), folded, [1], counted=True)
        return b"".join(step.written for step in merge.steps([99]))

    assert [digits(n) for n in (1, 2, 5)] == [b"A", b"B", b"E"]
    assert merged(Order(key, stable=True)) == b"k xB\nk yA\nk xB\n"
    assert merged(Order(key, unique=True)) == b"k xE\n"
    batch = Batch(kernel, Order(key, stable=True, count=True), [line for run in runs for line in run])
    assert [batch.line(span) for span in batch.sort()] == [b"k x", b"k y", b"k x"]
