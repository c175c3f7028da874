"""Merging in parts: it happens where it should, and never changes a byte."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pysort
from pysort import plan, rounds
from pysort.merging import Merge
from pysort.rounds import Rounds


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PARALLEL_MEMORY_BYTES", 0)
    monkeypatch.setattr(plan, "PARALLEL_INPUT_BYTES", 0)
    monkeypatch.setattr(rounds, "LEAST_PART_N", 1)
    monkeypatch.setenv("LC_ALL", "C")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many there are in each round."""
    found: list[int] = []
    start = Rounds.start
    monkeypatch.setattr(Rounds, "start", lambda self: (found.append(len(self._parts)), start(self))[1])
    return found


def sort(tmp_path: Path, lines: list[bytes], threads: int, memory: str = "48K", **options: object) -> list[bytes]:
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in lines))
    pysort.sort_file(tmp_path / "in", tmp_path / "out", memory=memory, threads=threads, **options)  # type: ignore[arg-type]
    return (tmp_path / "out").read_bytes().split(b"\n")[:-1]


def numbers(n: int, least: int = 0, most: int = 10**9) -> list[bytes]:
    rng = random.Random(n)
    return [b"%d" % rng.randrange(least, most) for _ in range(n)]


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_runs_are_merged_in_parts_by_all_threads(tmp_path: Path, parts: list[int], threads: int) -> None:
    lines = numbers(20_000)
    assert sort(tmp_path, lines, threads) == sorted(lines)
    assert min(parts) >= 1
    assert max(parts) >= threads
    assert len(parts) > 10


def test_a_round_has_more_parts_than_there_are_threads_where_the_windows_hold_many_buffers(
    tmp_path: Path, parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part begins when one before it is done: never more at once than there are threads and buffers for them."""
    merge = Rounds._merge
    at_once: list[int] = []

    def counted(self: Rounds, part: rounds.Part, out: memoryview) -> None:
        merge(self, part, out)
        at_once.append(sum(each.job is not None for each in self._parts))

    monkeypatch.setattr(Rounds, "_merge", counted)
    lines = numbers(200_000)
    for options in ({}, {"unique": True}, {"count": True}):
        parts.clear()
        expected = sorted(set(lines)) if options else sorted(lines)
        if "count" in options:
            expected = [b"%7d %b" % (len(list(group)), line) for line, group in groupby(sorted(lines))]
        assert sort(tmp_path, lines, 2, "1M", **options) == expected
        assert max(parts) > 4, parts
        assert max(at_once) == 2


def test_a_round_takes_lines_of_both_halves_of_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cursors_of_halves, go_on = Merge._cursors_of_halves, Merge._go_on
    passed: list[int] = []

    def when_filled(self: Merge) -> bytearray:
        for lines in self._lines:
            if lines.job is not None:
                lines.job.wait()
        return cursors_of_halves(self)

    def counted(self: Merge, places: list[int]) -> None:
        passed.append(sum(places[2 * i + 1] > 0 for i in range(len(self._lines))))
        go_on(self, places)

    monkeypatch.setattr(Merge, "_cursors_of_halves", when_filled)
    monkeypatch.setattr(Merge, "_go_on", counted)
    lines = numbers(20_000)
    for options in ({}, {"unique": True, "numeric": True}, {"count": True}):
        expected = sorted(set(lines), key=int) if "unique" in options else sorted(lines)
        if "count" in options:
            expected = [b"%7d %b" % (len(list(group)), line) for line, group in groupby(expected)]
        assert sort(tmp_path, lines, 2, **options) == expected
        assert sum(passed) > 100
        passed.clear()


def test_one_thread_merges_alone(tmp_path: Path, parts: list[int]) -> None:
    lines = numbers(20_000)
    assert sort(tmp_path, lines, 1) == sorted(lines)
    assert parts == []


def test_runs_of_equal_lines_are_cut_between_them(tmp_path: Path, parts: list[int]) -> None:
    """-s and a key that all share: each run is equal to each other, and all lines keep their order."""
    lines = [b"same %d" % i for i in range(20_000)]
    random.Random(3).shuffle(lines)
    assert sort(tmp_path, lines, 2, key="1,1", stable=True) == lines
    lines[0] = b"z"  # so that the runs are not chained
    assert sort(tmp_path, [*lines, b"a"], 2, key="1,1", stable=True) == [b"a", *lines[1:], b"z"]
    assert 2 in parts


@pytest.mark.parametrize("distinct", [1, 50, 5000])
@pytest.mark.parametrize(
    "options",
    [{}, {"numeric": True}, {"unique": True, "key": "1,1n"}, {"key": "1.1,1.1", "stable": True}],
    ids=str,
)
def test_no_cut_goes_through_lines_that_are_counted(
    tmp_path: Path, parts: list[int], distinct: int, options: dict[str, object]
) -> None:
    lines = [b"%b %d" % (line, i % 3) for i, line in enumerate(numbers(20_000, 0, distinct))]
    plain = {**options, "unique": False, "stable": "unique" in options or "stable" in options}
    words_n = 1 if "unique" in options else 2
    groups = [
        list(group) for _, group in groupby(sort(tmp_path, lines, 1, **plain), lambda line: line.split()[:words_n])
    ]
    expected = [b"%7d %b" % (len(group), group[0]) for group in groups]
    assert sort(tmp_path, lines, 2, count=True, **options) == expected
    assert parts or distinct < 5000 or "stable" in options


@pytest.mark.parametrize("distinct", [1, 2, 50, 5000])
@pytest.mark.parametrize("threads", [2, 4])
def test_no_cut_goes_through_lines_that_unique_holds_for_equal(
    tmp_path: Path, parts: list[int], distinct: int, threads: int
) -> None:
    lines = numbers(30_000, 0, distinct)
    assert sort(tmp_path, lines, threads, unique=True, numeric=True) == sorted(set(lines), key=int)
    kept = sort(tmp_path, [b"%b %d" % (line, i) for i, line in enumerate(lines)], threads, unique=True, key="1,1n")
    first = {line: i for i, line in reversed(list(enumerate(lines)))}
    assert kept == [b"%b %d" % (line, first[line]) for line in sorted(first, key=int)]
    if distinct == 5000:
        assert parts


def test_inputs_under_merge_are_merged_by_one_thread_sorted_or_not(tmp_path: Path, parts: list[int]) -> None:
    inputs = [numbers(1000 + i) for i in range(6)]
    names = [tmp_path / str(i) for i in range(len(inputs))]
    for name, lines in zip(names, inputs, strict=True):
        name.write_bytes(b"".join(line + b"\n" for line in lines))
    for threads, name in ((1, "alone"), (3, "together")):
        pysort.merge(names, tmp_path / name, memory="48K", threads=threads)  # type: ignore[arg-type]
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "together").read_bytes()
    assert parts == []


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1 << 32),
    n=st.integers(2000, 6000),
    distinct=st.sampled_from([1, 2, 30, 3000]),
    width=st.sampled_from([0, 1, 40, 400]),
    threads=st.integers(2, 4),
    unique=st.booleans(),
    memory=st.sampled_from(["24K", "64K"]),
)
def test_threads_never_change_a_byte(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    n: int,
    distinct: int,
    width: int,
    threads: int,
    unique: bool,
    memory: str,
) -> None:
    directory = tmp_path_factory.mktemp("rounds")
    rng = random.Random(seed)
    keys = [rng.randrange(distinct) for _ in range(n)]
    lines = [b"%d %b%d" % (key, b"x" * (width * (key % 3)), rng.randrange(3)) for key in keys]
    options = {"key": "1,1n", "unique": unique, "stable": True}
    expected = sort(directory, lines, 1, memory, **options)
    assert sort(directory, lines, threads, memory, **options) == expected


def test_a_slow_reader_gets_all_of_it_and_an_early_one_ends_the_sort(tmp_path: Path) -> None:
    lines = numbers(60_000)
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in lines))
    program = (
        "import sys; from pysort import cli, plan, rounds; "
        "plan.PARALLEL_MEMORY_BYTES = plan.PARALLEL_INPUT_BYTES = 0; rounds.LEAST_PART_N = 1; cli.run()"
    )
    command = [sys.executable, "-c", program, "-S64K", "--parallel=3", "-T", str(tmp_path), str(tmp_path / "in")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
    assert process.stdout is not None
    received = bytearray()
    pause = threading.Event()
    while piece := os.read(process.stdout.fileno(), 5000):
        received += piece
        pause.wait(0.001)
    process.stdout.close()
    assert (process.wait(), bytes(received)) == (0, b"".join(line + b"\n" for line in sorted(lines)))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, LC_ALL="C")
    )
    assert process.stdout is not None and process.stderr is not None
    assert os.read(process.stdout.fileno(), 100)
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), said) == (-13, b"")
    assert sorted(os.listdir(tmp_path)) == ["in"]
