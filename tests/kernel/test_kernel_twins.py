"""The two implementations agree byte for byte, and with the header."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Order, sorted_lines
from kernel_support import RECORD, Batch, Merge, line_lists, orders

import pysort
from pysort import _kernel_py_encode
from pysort.keys import program as key_program

HEADER = Path(pysort.__file__).parent / "csrc" / "program.h"
Twins = tuple[ModuleType, ModuleType]
CONSTANTS = {
    "REVERSE": "PS_REVERSE",
    "STABLE": "PS_STABLE",
    "UNIQUE": "PS_UNIQUE",
    "COUNT": "PS_COUNT",
    "TEXT": "PS_TEXT",
    "NUMERIC": "PS_NUMERIC",
    "SEGMENT_REVERSE": "PS_SEG_REVERSE",
    "START_BLANKS": "PS_SEG_START_BLANKS",
    "END_BLANKS": "PS_SEG_END_BLANKS",
    "TO_LINE_END": "PS_SEG_TO_LINE_END",
    "BARE": "PS_SEG_BARE",
    "NO_TABLE": "PS_NO_TABLE",
    "NO_BYTE": "PS_NO_BYTE",
}


@given(order=orders(), lines=line_lists(60), bare=st.booleans())
def test_scan_and_encode_leave_the_same_arena(twins: Twins, order: Order, lines: list[bytes], bare: bool) -> None:
    batches = [Batch(kernel, order, lines, bare=bare) for kernel in twins]
    assert batches[0].arena == batches[1].arena
    if order.keys:
        for batch in batches:
            batch.encode()
        assert batches[0].keys_end == batches[1].keys_end
        assert batches[0].used() == batches[1].used()


@given(order=orders(min_keys=1), lines=line_lists(12), short_of=st.integers(0, 40))
def test_encode_stops_at_the_same_record(twins: Twins, order: Order, lines: list[bytes], short_of: int) -> None:
    whole = Batch(twins[0], order, lines)
    whole.encode()
    limit = max(whole.text_bytes, whole.keys_end - short_of)
    ends, contents = [], []
    for kernel in twins:
        batch = Batch(kernel, order, lines)
        call = (batch.program, None, batch.arena, batch.top, 0, batch.n, batch.text_bytes, limit)
        ends.append(kernel.encode(*call))
        records = batch.arena[batch.top - RECORD.size * batch.n :]
        contents.append((batch.arena[: ends[-1][1]], records))
    assert ends[0] == ends[1]
    assert contents[0] == contents[1]


@given(order=orders(), lines=line_lists(150))
def test_sort_orders_the_same_records(twins: Twins, order: Order, lines: list[bytes]) -> None:
    python, c = (Batch(kernel, order, lines).sort() for kernel in twins)
    assert python == c


@given(order=orders(), lines=line_lists(20), out_sizes=st.lists(st.integers(0, 40), min_size=9))
def test_gather_fills_the_same_pieces(twins: Twins, order: Order, lines: list[bytes], out_sizes: list[int]) -> None:
    traces = []
    for kernel in twins:
        batch = Batch(kernel, order, lines)
        batch.sort()
        index = skip = 0
        trace = []
        for size in out_sizes:
            out = bytearray(size)
            index, skip, used = kernel.gather(batch.program, batch.arena, batch.records_at, batch.n, index, skip, out)
            trace.append((index, skip, used, out))
        traces.append(trace)
    assert traces[0] == traces[1]


@given(
    order=orders(max_keys=2),
    runs=st.lists(line_lists(8), min_size=1, max_size=8),
    are_sorted=st.booleans(),
    refills=st.lists(st.integers(1, 5), min_size=1),
    out_sizes=st.lists(st.integers(1, 50), min_size=1),
)
def test_merge_stops_at_the_same_places(
    twins: Twins,
    order: Order,
    runs: list[list[bytes]],
    are_sorted: bool,
    refills: list[int],
    out_sizes: list[int],
) -> None:
    if are_sorted:
        runs = [sorted_lines(order, run) for run in runs]
    python, c = (list(Merge(kernel, order, runs, refills).steps(out_sizes)) for kernel in twins)
    assert python == c


def test_sizes_and_statuses_are_the_same(twins: Twins) -> None:
    for name in ("RECORD_BYTES", "HEADER_BYTES", "CURSOR_BYTES", "MERGE_DONE", "MERGE_FULL"):
        assert getattr(twins[0], name) == getattr(twins[1], name)
    for cursor_n in (1, 2, 16, 1000):
        assert twins[0].merge_state_bytes(cursor_n) == twins[1].merge_state_bytes(cursor_n)
    assert [kernel.NAME for kernel in twins] == ["python", "c"]


@pytest.mark.parametrize("module", [_kernel_py_encode, key_program])
def test_python_constants_are_those_of_the_header(module: ModuleType) -> None:
    found = dict(re.findall(r"#define (PS_\w+) (\w+)", HEADER.read_text()))
    for name, c_name in CONSTANTS.items():
        text = found[c_name]
        value = 0xFFFFFFFF if text == "UINT32_MAX" else int(text.rstrip("u"))
        assert getattr(module, name) == value, name
