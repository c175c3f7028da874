"""Splitting text into lines."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order
from kernel_support import RECORD, REVERSE, Batch, pack_program, prefix_of, program_of

ALL_ONES = (1 << 64) - 1
SEPARATORS = [b"\n", b"\0"]
# Separators are looked for in blocks of 64 bytes, and in another way beyond a few of these.
LENGTHS = st.integers(0, 3) | st.sampled_from([62, 63, 64, 65, 127, 128, 191, 192, 193, 255, 256, 257, 400])
LONG_LINES = st.lists(st.tuples(LENGTHS, st.sampled_from(SEPARATORS)), max_size=40).map(
    lambda lines: b"".join(b"x" * length + separator for length, separator in lines)
)


def records(arena: bytearray, top: int, first: int, last: int) -> list[tuple[int, int, int]]:
    return [RECORD.unpack_from(arena, top - RECORD.size * (i + 1)) for i in range(first, last)]


@given(
    data=st.lists(st.sampled_from(b"\n\0ab\xff"), max_size=300).map(bytes) | st.binary() | LONG_LINES,
    start=st.integers(0, 70),
    cut=st.integers(0, 70),
    already=st.integers(0, 3),
    n_max=st.integers(0, 60),
    separator=st.sampled_from(SEPARATORS),
    reverse=st.booleans(),
)
def test_lines_become_records_in_descending_places(
    kernel: ModuleType,
    data: bytes,
    start: int,
    cut: int,
    already: int,
    n_max: int,
    separator: bytes,
    reverse: bool,
) -> None:
    start = min(start, len(data))
    stop = max(start, len(data) - cut)
    n_max = max(n_max, already)
    top = len(data) + RECORD.size * n_max
    top += -top % RECORD.size
    arena = bytearray(data.ljust(top, b"\xee"))
    program = program_of(Order(separator=separator, reverse=reverse))

    n, consumed, longest = kernel.scan(program, arena, start, stop, top, already, n_max)

    expected, at = [], start
    for line in data[start:stop].split(separator)[:-1][: n_max - already]:
        prefix = prefix_of(line) ^ (ALL_ONES if reverse else 0)
        expected.append((prefix, at, len(line)))
        at += len(line) + 1
    assert records(arena, top, already, n) == expected
    assert (n, consumed) == (already + len(expected), at)
    assert longest == max((length for _, _, length in expected), default=0)
    assert arena[: top - RECORD.size * n] == data.ljust(top, b"\xee")[: top - RECORD.size * n]
    assert arena[top - RECORD.size * already :] == b"\xee" * RECORD.size * already


@pytest.mark.parametrize("length", range(25))
@pytest.mark.parametrize("reverse", [False, True])
def test_a_prefix_is_the_first_eight_bytes_and_zeros(kernel: ModuleType, length: int, reverse: bool) -> None:
    line = bytes(range(0x81, 0x81 + length))
    batch = Batch(kernel, Order(reverse=reverse), [b"before", line, b"after it"])
    prefix = prefix_of(line) ^ (ALL_ONES if reverse else 0)
    assert batch.record(1) == (prefix, len(b"before\n"), length)


def test_records_of_keyed_order_address_lines_until_they_are_encoded(kernel: ModuleType) -> None:
    batch = Batch(kernel, Order(keys=(Key(),), reverse=True), [b"one", b"", b"three"])
    assert [batch.record(index)[1:] for index in range(3)] == [(0, 3), (4, 0), (5, 5)]


def test_a_line_without_separator_is_not_taken(kernel: ModuleType) -> None:
    arena = bytearray(b"ab\ncd".ljust(64))
    assert kernel.scan(pack_program(), arena, 0, 5, 64, 0, 2) == (1, 3, 2)
    assert kernel.scan(pack_program(), arena, 3, 5, 64, 1, 2) == (1, 3, 0)


def test_no_separator_is_taken_from_behind_the_text(kernel: ModuleType) -> None:
    size = 16 * 400
    for stop in range(200):
        arena = bytearray(b"x" * 70 + b"\n" * 330).ljust(size)
        assert kernel.scan(pack_program(), arena, 60, stop + 70, size, 0, 300) == (
            stop,
            stop + 70 if stop else 60,
            10 * (stop > 0),
        )


def test_scanning_goes_on_where_it_stopped(kernel: ModuleType) -> None:
    text = b"".join(b"%d\n" % number for number in range(100))
    size = len(text) + RECORD.size * 100
    size += -size % RECORD.size
    whole, pieces = (bytearray(text.ljust(size)) for _ in range(2))
    kernel.scan(pack_program(REVERSE), whole, 0, len(text), size, 0, 100)
    n = at = 0
    for stop in range(1, len(text) + 1):
        n, at, _ = kernel.scan(pack_program(REVERSE), pieces, at, stop, size, n, 100)
    assert (n, at) == (100, len(text))
    assert pieces == whole


@given(
    lines=st.lists(
        st.lists(st.sampled_from(b"ab\xff\x01"), max_size=12).map(bytes) | st.sampled_from([b"aaaaaaaa", b"aaaaaaaaa"]),
        max_size=12,
    ),
    how=st.sampled_from(["as it is", "sorted", "distinct", "backwards"]),
    incomplete=st.sampled_from([b"", b"a", b"longer than a prefix"]),
    start=st.integers(0, 9),
    separator=st.sampled_from(SEPARATORS),
    unique=st.booleans(),
    reverse=st.booleans(),
)
def test_text_is_checked_as_its_records_would_be(
    kernel: ModuleType,
    lines: list[bytes],
    how: str,
    incomplete: bytes,
    start: int,
    separator: bytes,
    unique: bool,
    reverse: bool,
) -> None:
    if how != "as it is":
        lines = sorted(set(lines) if how == "distinct" else lines, reverse=how == "backwards")
    order = Order(separator=separator, unique=unique, reverse=reverse)
    text = b"".join(line + separator for line in lines)
    arena = bytearray(b"z" * start + text + incomplete)

    n, at = kernel.check_text(program_of(order), arena, start, len(arena))

    batch = Batch(kernel, order, lines)
    assert n == kernel.check(batch.program, None, batch.arena, batch.top, batch.n)
    assert at == start + sum(len(line) + 1 for line in lines[:n])
    assert arena == b"z" * start + text + incomplete
