"""Which runs a sort that spills makes: chained where lines go on in order, whatever the threads; and what they cost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from jobs import Worker, ask_gnu
from test_sortbuffer import KERNELS, make_order, whole

import pysort
from pysort import plan
from pysort.kernel import Order
from pysort.runs import RunGenerator
from pysort.sortbuffer import SortBuffer

pytestmark = [
    support.needs_gnu,
    pytest.mark.skipif(support.testing_gnu_itself(), reason="statistics are pysort's own"),
]
THREADS = [[b"--parallel=1"], [b"--parallel=2"], [b"--parallel=3"]]
LINES = sorted(b"%06d %s" % (i, b"x" * (i % 50)) for i in range(4000))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def sort(worker: Worker, options: list[bytes], lines: list[bytes]) -> dict[str, int]:
    """Statistics of a sort whose output is that of the system's sort."""
    text = b"".join(line + b"\n" for line in lines)
    argv = [*options, b"-S16K", b"-T", b"tmp"]
    with_threads = worker.run(argv, stdin=text)
    gnu = ask_gnu([word for word in argv if not word.startswith(b"--parallel")], stdin=text)
    assert (with_threads.status, with_threads.stdout, with_threads.stderr) == (0, gnu.stdout, b"")
    return with_threads.stats


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("options", [[], [b"-n"], [b"-k2"], [b"-u"], [b"-s", b"-k1,1"], [b"-f"]], ids=str)
def test_an_input_in_order_becomes_one_run_that_is_copied(
    worker: Worker, options: list[bytes], threads: list[bytes]
) -> None:
    lines = sorted(LINES, key=lambda line: (line[6:], line)) if options == [b"-k2"] else LINES
    stats = sort(worker, [*options, *threads], lines)
    assert (stats["runs_n"], stats["merges_n"], stats["merge_passes_n"]) == (1, 0, 1)
    assert stats["spilled_bytes"] == sum(map(len, lines)) + len(lines)


@pytest.mark.parametrize("threads", THREADS)
def test_equal_lines_are_one_run_and_dropped_in_runs_under_unique(worker: Worker, threads: list[bytes]) -> None:
    assert sort(worker, threads, [b"again"] * 20_000)["runs_n"] == 1
    stats = sort(worker, [b"-u", *threads], [b"again"] * 20_000)
    assert stats["runs_n"] > 3  # each begins with a line that the last one has
    assert stats["runs_n"] * 6 <= stats["spilled_bytes"] <= (stats["runs_n"] + stats["merges_n"]) * 6


@pytest.mark.parametrize("threads", THREADS)
def test_what_is_out_of_order_begins_a_new_run(worker: Worker, threads: list[bytes]) -> None:
    halves = LINES[len(LINES) // 2 :] + LINES[: len(LINES) // 2]
    assert sort(worker, threads, halves)["runs_n"] in (2, 3)  # the turn may lie inside a buffer
    assert sort(worker, threads, LINES[::-1])["runs_n"] > 3
    shuffled = list(LINES)
    random.Random(1).shuffle(shuffled)
    assert sort(worker, threads, shuffled)["runs_n"] > 3


@pytest.mark.parametrize("options", [{}, {"numeric": True}, {"unique": True}], ids=str)
def test_a_buffer_is_sorted_while_the_one_before_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: dict[str, bool]
) -> None:
    monkeypatch.setattr(plan, "PARALLEL_MEMORY_BYTES", 0)
    monkeypatch.setattr(plan, "PARALLEL_INPUT_BYTES", 0)
    monkeypatch.setenv("LC_ALL", "C")
    rng = random.Random(2)
    lines = [b"%d" % rng.randrange(10**9) for _ in range(30_000)]
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in lines))
    events: list[str] = []
    start_sort, write = SortBuffer.start_sort, RunGenerator._write
    monkeypatch.setattr(SortBuffer, "start_sort", lambda *args: (events.append("sort"), start_sort(*args))[1])
    monkeypatch.setattr(RunGenerator, "_write", lambda *args: (events.append("write"), write(*args))[1])
    pysort.sort_file(tmp_path / "in", tmp_path / "out", memory="64K", threads=2, **options)
    expected = sorted(set(lines) if "unique" in options else lines, key=int if "numeric" in options else None)
    assert (tmp_path / "out").read_bytes().splitlines() == expected
    assert events[:6] == ["sort", "write", "sort", "sort", "write", "sort"]
    assert events.count("sort") == events.count("write") > 6


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.NAME)
@given(
    keys=st.integers(0, 3),
    unique=st.booleans(),
    reverse=st.booleans(),
    lines=st.lists(st.text("ab 1\0", max_size=6).map(str.encode), min_size=2, max_size=2),
)
def test_a_line_follows_another_when_sorting_leaves_them(
    kernel: object, keys: int, unique: bool, reverse: bool, lines: list[bytes]
) -> None:
    order: Order = make_order(kernel, keys, unique, reverse)  # type: ignore[arg-type]
    assert order.follows(*lines) == (whole(order, lines) == b"".join(line + b"\n" for line in lines))


def test_a_line_of_any_length_follows() -> None:
    for kernel in KERNELS:
        order = make_order(kernel, 3, False, False)
        assert order.follows(b"\1" * 5000, b"\1" * 5001)
        assert not order.follows(b"\1" * 5001, b"\1" * 5000)


@pytest.mark.parametrize("options", [[], ["-n"], ["-u", "--parallel=2"], ["--reader=mmap"]], ids=str)
def test_what_a_spill_needs_is_loaded_while_there_are_descriptors(tmp_path: Path, options: list[str]) -> None:
    """Input, output and temporary file, and not one more. A process of its own: nothing is loaded beforehand."""
    lines = [b"%d" % (i * 7919 % 1_000_003) for i in range(300_000)]
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in lines))
    argv = [sys.executable, "-m", "pysort", *options, "-S300K", "-T.", "in", "-o", "out"]
    for limit, status in ((6, 0), (5, 2)):
        result = subprocess.run(
            ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *argv],
            cwd=tmp_path,
            env=support.environment(),
            capture_output=True,
            check=False,
        )
        assert (result.returncode, b"internal" in result.stderr) == (status, False), result.stderr
        if status:
            assert result.stderr == b"pysort: cannot create temporary file in '.': Too many open files\n"
        else:
            assert result.stderr == b""
            key = int if options == ["-n"] else None
            assert (tmp_path / "out").read_bytes() == b"".join(line + b"\n" for line in sorted(lines, key=key))
