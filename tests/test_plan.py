"""What is decided before anything is done: sizes of blocks, how far to read ahead, and what a sample tells."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.plan import ALIGN_BYTES, LEAST_BLOCK_BYTES, PREFETCH_N, InputSample, SortPlan, merge_pass
from pysort.prepare import SAMPLE_BLOCK_BYTES, SAMPLE_BLOCKS_N, sample_inputs
from pysort.storage.iostats import IoStats
from pysort.storage.sample import read_sample

MIB = 1 << 20


def sample_of(text, block_bytes=None, separator=b"\n"):
    sample = InputSample()
    for at in range(0, len(text), block_bytes or len(text)):
        sample.add(text[at : at + (block_bytes or len(text))], separator)
    return sample


def test_a_sample_knows_the_mean_length_whatever_it_cuts():
    text = b"".join(b"x" * n + b"\n" for n in range(1000))
    for block_bytes in (len(text), 4096, 1000, 7):
        sample = sample_of(text, block_bytes)
        assert sample.line_bytes == len(text) / 1000
        assert sample.text_bytes == len(text)
    assert sample_of(text).longest == 999


def test_a_sample_of_one_line_without_an_end():
    sample = sample_of(b"x" * 10_000, 4096)
    assert (sample.lines_n, sample.longest, sample.line_bytes) == (0, 4096, 10_000)


@pytest.mark.parametrize(
    ("order", "share"), [("sorted", 1.0), ("reverse", 0.0), ("equal", 1.0), ("random", pytest.approx(0.5, abs=0.1))]
)
def test_a_sample_knows_how_much_is_in_order(order, share):
    numbers = list(range(2000))
    if order == "reverse":
        numbers.reverse()
    elif order == "random":
        random.Random(4).shuffle(numbers)
    elif order == "equal":
        numbers = [7] * 2000
    assert sample_of(b"".join(b"%06d\0" % n for n in numbers), 1000, b"\0").ordered_share == share


def test_without_pairs_everything_is_in_order():
    assert sample_of(b"a\nb").ordered_share == 1.0


@given(
    memory=st.integers(1, 1 << 30),
    input_bytes=st.integers(1, 1 << 40),
    line_bytes=st.integers(1, 100_000),
    batch_size=st.none() | st.integers(2, 1000),
)
def test_a_sample_only_ever_makes_blocks_smaller_and_the_fan_in_larger(memory, input_bytes, line_bytes, batch_size):
    sample = sample_of((b"x" * (line_bytes - 1) + b"\n") * 3)
    plain = SortPlan(memory, input_bytes=input_bytes, batch_size=batch_size)
    plan = SortPlan(memory, input_bytes=input_bytes, batch_size=batch_size, sample=sample)
    assert plan.arena_bytes == plain.arena_bytes
    assert plan.block_bytes == plain.block_bytes or LEAST_BLOCK_BYTES <= plan.block_bytes < plain.block_bytes
    assert plan.block_bytes % ALIGN_BYTES == 0 or plan.block_bytes == plain.block_bytes
    assert plan.fan_in >= plain.fan_in
    if plan.block_bytes < plain.block_bytes and batch_size is None:
        # It was worth it: as many runs as are expected can be merged at once.
        assert plan.fan_in_for(sample.longest) >= plan.runs_expected
        assert plain.fan_in_for(sample.longest) < plan.runs_expected


def test_blocks_become_smaller_where_that_saves_a_pass():
    sample = sample_of(b"x" * 59 + b"\n")
    plain = SortPlan(4 * MIB, input_bytes=250 * MIB)
    plan = SortPlan(4 * MIB, input_bytes=250 * MIB, sample=sample)
    assert len(merge_pass(plan.runs_expected, plain.fan_in)) > 1
    assert merge_pass(plan.runs_expected, plan.fan_in_for(60)) == [(0, plan.runs_expected)]
    # One that would be too small for anything is not made.
    assert SortPlan(4 * MIB, input_bytes=1 << 40, sample=sample).block_bytes == plain.block_bytes


def test_few_runs_keep_large_blocks():
    sample = sample_of(b"x" * 59 + b"\n")
    assert SortPlan(64 * MIB, input_bytes=1 << 30, sample=sample).block_bytes == 64 << 10


def test_what_is_read_ahead():
    for free_bytes, held_bytes, n in [
        (None, 1, PREFETCH_N),
        (1000, 500, 0),  # the page cache will have it
        (1000, 501, PREFETCH_N),
        (0, 0, 0),
    ]:
        plan = SortPlan(MIB, free_bytes=free_bytes)
        assert plan.run_ahead_bytes(held_bytes) == n * plan.block_bytes
    for n in (0, 3):  # as the user says
        plan = SortPlan(MIB, prefetch_n=n, free_bytes=1000)
        assert plan.run_ahead_bytes(1) == plan.run_ahead_bytes(10_000) == n * plan.block_bytes
    for free_bytes, ahead_bytes in [(None, 8 * MIB), (1 << 30, 8 * MIB), (10 * MIB, MIB), (8 * MIB, 0), (MIB, 0)]:
        assert SortPlan(8 * MIB, free_bytes=free_bytes).ahead_bytes == ahead_bytes


def test_several_threads_read_several_pieces_at_once():
    assert SortPlan(1 << 30, parallel_reads_n=4).read_bytes == 4 * MIB
    assert SortPlan(8 * MIB, parallel_reads_n=64).read_bytes <= 8 * MIB // 4


def write_lines(path, n, line_bytes=50):
    path.write_bytes(b"".join(b"%0*d\n" % (line_bytes - 1, i * 7919 % n) for i in range(n)))
    return os.fsencode(path)


def test_a_sample_comes_from_everywhere_and_stays_small(tmp_path):
    files = [write_lines(tmp_path / f"f{i}", n) for i, n in enumerate([20_000, 1, 80_000, 3])]
    empty = tmp_path / "empty"
    empty.touch()
    io = IoStats()
    sample = sample_inputs([*files, os.fsencode(empty)], b"\n", io)
    assert sample.line_bytes == pytest.approx(50, rel=0.01)
    assert sample.longest == 49
    assert sample.text_bytes == io.read_bytes
    assert io.read_bytes == pytest.approx(SAMPLE_BLOCKS_N * SAMPLE_BLOCK_BYTES, rel=0.05)


def test_thousands_of_files_are_not_all_opened(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "f", 1000)
    opened = []
    real_open = os.open

    def counting_open(*arguments, **more):
        opened.append(arguments[0])
        return real_open(*arguments, **more)

    monkeypatch.setattr(os, "open", counting_open)
    sample = sample_inputs([path] * 3000, b"\n", IoStats())
    assert sample.text_bytes > 0
    assert len(opened) <= SAMPLE_BLOCKS_N


def test_standard_input_is_left_where_it_stood(tmp_path):
    path = write_lines(tmp_path / "f", 40_000)
    script = """if True:
        import os
        from pysort.prepare import sample_inputs
        from pysort.storage.iostats import IoStats
        os.lseek(0, 1_000_000, os.SEEK_SET)
        assert sample_inputs([b"-"], b"\\n", IoStats()).line_bytes > 40
        assert os.lseek(0, 0, os.SEEK_CUR) == 1_000_000
    """
    with open(path, "rb") as file:
        subprocess.run([sys.executable, "-c", script], stdin=file, check=True)


def test_no_sample_where_there_is_nothing_to_read(tmp_path):
    assert sample_inputs([os.fsencode(tmp_path / "missing")], b"\n", IoStats()) is None
    assert list(read_sample([b"/dev/null"], 4096, 4, IoStats())) == []
