"""Sorting records."""

from __future__ import annotations

import functools
import random
from collections import Counter
from itertools import accumulate, pairwise
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, comparison, sorted_lines
from kernel_support import PART, Batch, line_lists, orders, sort_all, sort_lines

PLAIN = [Order(reverse=reverse, unique=unique) for reverse in (False, True) for unique in (False, True)]
FIRST_FIELD = (Key(end_field=1),)
KEYED = [
    Order(keys=FIRST_FIELD, stable=True),
    Order(keys=FIRST_FIELD),
    Order(keys=FIRST_FIELD, reverse=True),
    Order(keys=FIRST_FIELD, unique=True),
    Order(keys=(Key(end_field=1, reverse=True),)),
    Order(keys=(Key(end_field=1, reverse=True),), reverse=True, stable=True),
    Order(keys=(Key(2, letters="n"), Key(end_field=1, letters="f"))),
]


def check(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    """The right lines in the right order, and the very ones: equal lines in input order."""
    compare = functools.cmp_to_key(comparison(order))
    expected: list[tuple[int, int]] = []
    previous = None
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    for line, start in sorted(zip(lines, starts, strict=False), key=lambda item: compare(item[0])):
        if not (order.unique and previous is not None and compare(previous) == compare(line)):
            expected.append((start, len(line)))
            previous = line
    batch = Batch(kernel, order, lines)
    text = bytes(batch.arena[: batch.text_bytes])
    assert batch.sort() == expected
    assert batch.arena[: batch.text_bytes] == text
    assert Batch(kernel, order, lines).sort_in_parts([False, False, True]) == expected
    assert Batch(kernel, order, lines).sort_in_parts([True], range_n=3) == expected


@given(order=orders(), lines=line_lists(80))
def test_sorting_agrees_with_the_model(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    check(kernel, order, lines)


@given(order=orders(), lines=line_lists(300), steps=st.lists(st.booleans(), min_size=1, max_size=9))
def test_parts_are_sorted_one_by_one_in_any_order(
    kernel: ModuleType, order: Order, lines: list[bytes], steps: list[bool]
) -> None:
    at_once, in_parts = Batch(kernel, order, lines), Batch(kernel, order, lines)
    assert in_parts.sort_in_parts(steps) == at_once.sort()
    assert in_parts.arena[: in_parts.text_bytes] == at_once.arena[: at_once.text_bytes]


@given(order=orders(), lines=line_lists(60), arrangement=st.sampled_from(["as they are", "sorted", "reversed"]))
def test_lines_that_are_in_order_are_recognized_and_taken_as_they_are(
    kernel: ModuleType, order: Order, lines: list[bytes], arrangement: str
) -> None:
    if arrangement != "as they are":
        lines = sort_lines(kernel, order, lines)
    if arrangement == "reversed":
        lines = lines[::-1]
    compare = comparison(order)
    steps = [compare(a, b) for a, b in pairwise(lines)]
    batch = Batch(kernel, order, lines)
    if batch.segment_n:
        batch.encode()
    at = batch.program, batch.locale, batch.arena, batch.top, batch.n
    direction = kernel.presorted(*at)
    if all(step < 0 or (step == 0 and not order.unique) for step in steps):
        assert direction == 1
    elif all(step > 0 for step in steps):
        assert direction == -1
    else:
        assert direction == 0
        return
    kernel.sort_part(*at, PART.pack(0, batch.n, 0, 56, 5 if direction == 1 else 4))
    assert batch.sorted() == Batch(kernel, order, lines).sort()


@given(order=st.sampled_from(PLAIN), lines=line_lists(200))
def test_plain_order_is_that_of_bytes(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    expected = sorted(set(lines) if order.unique else lines, reverse=order.reverse)
    assert sort_lines(kernel, order, lines) == expected


@pytest.mark.parametrize("order", PLAIN + KEYED)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 31, 32, 33, 34, 64, 65, 255, 256, 257, 1000])
def test_any_number_of_lines(kernel: ModuleType, order: Order, n: int) -> None:
    rng = random.Random(n)
    lines = [b"%d %d" % (rng.randrange(max(1, n // 3)), rng.randrange(10)) for _ in range(n)]
    check(kernel, order, lines)


@pytest.mark.parametrize("order", PLAIN + KEYED)
@pytest.mark.parametrize("group", [1, 2, 32, 33, 300])
def test_groups_of_equal_keys(kernel: ModuleType, order: Order, group: int) -> None:
    lines = [b"key%d %d" % (i % 3, -i) for i in range(3 * group)]
    random.Random(group).shuffle(lines)
    check(kernel, order, lines)


@pytest.mark.parametrize("order", [KEYED[0], KEYED[1], KEYED[3]])
def test_large_groups_of_equal_keys(kernel: ModuleType, order: Order) -> None:
    lines = [b"key%d %d" % (i % 3, -i) for i in range(6000)]
    random.Random(1).shuffle(lines)
    check(kernel, order, lines)


@pytest.mark.parametrize("order", PLAIN)
@pytest.mark.parametrize("prefix_length", range(25))
def test_nuls_after_equal_prefixes_of_every_length(kernel: ModuleType, order: Order, prefix_length: int) -> None:
    prefix = b"p" * prefix_length
    tails = [b"\0" * i for i in range(20)] + [b"\0" * i + b"\1" for i in range(10)] + [b"\xff"]
    lines = [prefix + tail for tail in tails] * 2
    random.Random(prefix_length).shuffle(lines)
    check(kernel, order, lines)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("prefix_length", range(25))
def test_keys_that_end_inside_equal_prefixes(kernel: ModuleType, reverse: bool, prefix_length: int) -> None:
    prefix = b"p" * prefix_length
    lines = [prefix + b"\0" * i + b" " + bytes([90 - i]) for i in range(20)] * 3
    random.Random(prefix_length).shuffle(lines)
    for key in (Key(end_field=1), Key(end_field=1, reverse=True)):
        check(kernel, Order(keys=(key,), reverse=reverse), lines)


@pytest.mark.parametrize("order", PLAIN + KEYED)
@pytest.mark.parametrize("prefix_length", [7, 8, 9, 15, 16, 17, 63, 64, 65, 1000])
def test_long_common_prefixes(kernel: ModuleType, order: Order, prefix_length: int) -> None:
    rng = random.Random(prefix_length)
    lines = [b"c" * prefix_length + b"%d" % rng.randrange(150) for _ in range(300)]
    lines += [b"c" * rng.randrange(prefix_length + 1) for _ in range(20)]
    lines.append(b"")
    rng.shuffle(lines)
    check(kernel, order, lines)


@pytest.mark.parametrize("order", PLAIN)
@pytest.mark.parametrize("byte", [b"\0", b"a", b"\xff"])
def test_lines_of_all_lengths(kernel: ModuleType, order: Order, byte: bytes) -> None:
    lines = [byte * length for length in range(120)] * 2
    random.Random(byte[0]).shuffle(lines)
    check(kernel, order, lines)


@pytest.mark.parametrize("order", PLAIN + KEYED)
@pytest.mark.parametrize("lines_kind", ["ascending", "descending", "one value", "empty"])
def test_lines_that_are_in_some_order_already(kernel: ModuleType, order: Order, lines_kind: str) -> None:
    lines = {
        "ascending": [b"%06d x" % i for i in range(700)],
        "descending": [b"%06d x" % -i for i in range(700)],
        "one value": [b"the same line"] * 700,
        "empty": [b""] * 700,
    }[lines_kind]
    check(kernel, order, lines)


@pytest.mark.parametrize("order", PLAIN + KEYED)
@pytest.mark.parametrize("alphabet", [b"01", b"0123456789", b"abcdefgh", b"az", b"\x7f\x80", b"\x00\x01\xff"])
def test_digits_are_made_of_the_bits_that_differ(kernel: ModuleType, order: Order, alphabet: bytes) -> None:
    """Those of one byte or of two, next to each other or not."""
    rng = random.Random(alphabet)
    lines = [b"%c%c-%c%c%c--%c%c%c%c %c" % tuple(rng.choices(alphabet, k=10)) for _ in range(500)]
    check(kernel, order, lines)


@pytest.mark.parametrize(
    ("lines", "part_n"),
    [
        ([b"%02d" % (i % 100) for i in range(500)], 100),  # 4 bits and 4
        ([b"%d-%d" % (i % 10, i // 10 % 10) for i in range(500)], 100),  # not next to each other
        ([b"%c%c" % (97 + i % 26, 97 + i // 26) for i in range(26 * 26)], 26),  # 5 bits and 5 are too many
        ([b"%c%c" % (i % 250, 48 + i % 2) for i in range(500) if i % 250 != 10], 249),
        ([b"%d" % (i % 2) for i in range(500)], 2),
    ],
)
def test_a_step_takes_two_bytes_whose_bits_fit_one_digit(
    twins: tuple[ModuleType, ModuleType], lines: list[bytes], part_n: int
) -> None:
    batch = Batch(twins[1], Order(), lines)
    whole, made = PART.pack(0, batch.n, 0, 56, 1), bytearray(256 * PART.size)
    assert batch.kernel.split(batch.program, batch.locale, batch.arena, batch.top, batch.n, whole, made) == part_n


@given(order=orders(), lines=line_lists(80), range_n=st.integers(1, 5), steps=st.lists(st.booleans(), min_size=1))
def test_the_first_step_may_be_made_for_ranges_of_the_records(
    kernel: ModuleType, order: Order, lines: list[bytes], range_n: int, steps: list[bool]
) -> None:
    assert Batch(kernel, order, lines).sort_in_parts(steps, range_n) == Batch(kernel, order, lines).sort()


@given(
    lines=st.lists(st.lists(st.sampled_from(b"\0019az\xff"), max_size=9).map(bytes), min_size=1, max_size=60),
    prefix=st.integers(0, (1 << 64) - 1),
)
def test_digits_are_those_of_the_twin(twins: tuple[ModuleType, ModuleType], lines: list[bytes], prefix: int) -> None:
    batch = Batch(twins[0], Order(), lines)
    at = batch.program, batch.arena, batch.top, batch.n
    difference = twins[0].differing(*at, prefix)
    assert twins[1].differing(*at, prefix) == difference
    for each in {difference, twins[0].differing(*at, batch.record(0)[0])} - {0}:
        counts = [bytearray(256 * 8) for _ in twins]
        shifts = {twin.count_digits(*at, each, count) for twin, count in zip(twins, counts, strict=True)}
        assert len(shifts) == 1
        assert counts[0] == counts[1]
        assert sum(memoryview(counts[0]).cast("Q")) == batch.n


def test_recursion_is_bounded_for_a_staircase_of_prefixes(kernel: ModuleType) -> None:
    """Every line begins the next one: nothing makes a radix sort go deeper."""
    lines = [b"ab" * i for i in range(1500)]
    random.Random(1).shuffle(lines)
    check(kernel, Order(), lines)


def test_random_bytes_keep_their_multiset(kernel: ModuleType) -> None:
    rng = random.Random(7)
    lines = [rng.randbytes(rng.choice([0, 1, 2, 7, 8, 9, 30])).replace(b"\n", b"") for _ in range(20000)]
    result = sort_lines(kernel, Order(), lines)
    assert result == sorted(lines)
    assert Counter(result) == Counter(lines)


@pytest.mark.parametrize("reverse", [False, True])
def test_unique_keeps_the_first_of_equal_keys(kernel: ModuleType, reverse: bool) -> None:
    lines = [b"a 2", b"A 1", b"b 9", b"a 0", b"B 3"]
    order = Order(keys=(Key(end_field=1, letters="f"),), unique=True, reverse=reverse)
    assert sort_lines(kernel, order, lines) == [b"a 2", b"b 9"]


def test_the_last_resort_is_reversed_by_the_global_flag_alone(kernel: ModuleType) -> None:
    lines = [b"x 1", b"y 1", b"z 2"]
    upward = Order(keys=(Key(2, reverse=True),))
    assert sort_lines(kernel, upward, lines) == [b"z 2", b"x 1", b"y 1"]
    assert sort_lines(kernel, Order(keys=(Key(2, letters="n"),), reverse=True), lines) == [
        b"y 1",
        b"x 1",
        b"z 2",
    ]


def test_other_records_and_free_bytes_are_left_alone(kernel: ModuleType) -> None:
    """Only the n records and as many scratch records below them may change."""
    lines = [b"%d" % (i * 7 % 100) for i in range(100)]
    batch = Batch(kernel, Order(), lines)
    n = 60
    low = batch.top - 2 * 16 * n
    before = bytes(batch.arena[:low])
    sort_all(kernel, batch.program, None, batch.arena, batch.top, n)
    assert batch.arena[:low] == before
    assert sorted_lines(Order(), lines[:n]) == [batch.line(batch.record(n - 1 - i)[1:]) for i in range(n)]
