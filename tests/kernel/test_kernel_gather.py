"""Copying sorted lines to the output."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Order
from kernel_support import Batch, line_lists, orders


def gathered(kernel: ModuleType, batch: Batch, out_sizes: list[int]) -> bytes:
    """All the output, collected in pieces of these sizes in turn."""
    output = b""
    index = skip = turn = 0
    while index < batch.n:
        out = bytearray(b"\xee" * out_sizes[turn % len(out_sizes)])
        turn += 1
        place = (index, skip)
        index, skip, used = kernel.gather(batch.program, batch.arena, batch.records_at, batch.n, index, skip, out)
        assert out[used:] == b"\xee" * (len(out) - used)
        assert index == batch.n or used == len(out)
        assert (index, skip) > place or not out
        output += out[:used]
    assert skip == 0
    return output


@pytest.mark.parametrize("separator", [b"\n", b"\0"])
def test_output_resumes_at_every_size(kernel: ModuleType, separator: bytes) -> None:
    lines = [b"", b"a", b"", b"bc", b"def", b"ghij" * 3, b""]
    batch = Batch(kernel, Order(separator=separator), lines)
    batch.sort()
    expected = b"".join(line + separator for line in sorted(lines))
    for size in range(1, len(expected) + 3):
        assert gathered(kernel, batch, [size]) == expected


@given(
    order=orders(),
    lines=line_lists(),
    out_sizes=st.lists(st.integers(0, 50), min_size=1).filter(any),
)
def test_output_is_the_sorted_lines_whatever_the_pieces(
    kernel: ModuleType, order: Order, lines: list[bytes], out_sizes: list[int]
) -> None:
    batch = Batch(kernel, order, lines)
    expected = b"".join(batch.line(span) + b"\n" for span in batch.sort())
    assert gathered(kernel, batch, out_sizes) == expected


def test_an_output_that_ends_before_the_separator_goes_on_with_it(kernel: ModuleType) -> None:
    batch = Batch(kernel, Order(), [b"abc", b"d"])
    batch.sort()
    out = bytearray(3)
    call = (batch.program, batch.arena, batch.records_at, batch.n)
    assert kernel.gather(*call, 0, 0, out) == (0, 3, 3)
    assert out == b"abc"
    assert kernel.gather(*call, 0, 3, out) == (2, 0, 3)
    assert out == b"\nd\n"


def test_nothing_is_left_of_no_lines(kernel: ModuleType) -> None:
    batch = Batch(kernel, Order(), [b"abc"])
    batch.sort()
    call = (batch.program, batch.arena, batch.records_at)
    assert kernel.gather(*call, 1, 1, 0, bytearray(9)) == (1, 0, 0)
    assert kernel.gather(*call, 0, 0, 0, bytearray(9)) == (0, 0, 0)
    assert kernel.gather(*call, 1, 0, 0, bytearray()) == (0, 0, 0)
