"""Checking in chunks: whatever lies across their borders, with workers and without, by both kernels."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st

import pysort
from pysort import _kernel_py, checking, plan
from pysort.arena import Arena
from pysort.checking import Checker
from pysort.errors import SortError
from pysort.kernel import Order
from pysort.keys.locale import C_TABLES
from pysort.keys.program import compile as compile_program
from pysort.keys.spec import inherit, parse_key
from pysort.storage.handle import Handle
from pysort.storage.iostats import IoStats
from pysort.storage.readers import InputReader, LineReader

KERNELS: list[ModuleType] = [_kernel_py]
try:
    from pysort import _kernel

    KERNELS.append(_kernel)  # type: ignore[arg-type]
except ImportError:
    pass
KEYS = [[], [b"2"], [b"2,2n", b"1,1r"], [b"1f"]]
TIMEOUT_S = 20
both_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.NAME)

Found = tuple[int, bytes] | None


@functools.cache
def make_order(kernel: ModuleType, keys: int = 0, unique: bool = False, reverse: bool = False) -> Order:
    program = compile_program(
        inherit([parse_key(key) for key in KEYS[keys]], "", reverse),
        reverse=reverse,
        stable=False,
        unique=unique,
        zero_terminated=False,
        field_separator=None,
        tables=C_TABLES,
    )
    return Order(kernel, program, ord("\n"))


class Pieces(InputReader):
    """Hands out pieces as reads bring them. before_read: called with the number of reads so far."""

    def __init__(
        self, pieces: Sequence[bytes | SortError], before_read: Callable[[int], object] = lambda _: None
    ) -> None:
        super().__init__(b"pieces", Handle(0, owned=False), IoStats())
        self._pieces = list(pieces)
        self._before_read = before_read
        self.reads_n = 0

    def readinto(self, view: memoryview) -> int:
        self._before_read(self.reads_n)
        self.reads_n += 1
        if not self._pieces:
            return 0
        piece = self._pieces.pop(0)
        if isinstance(piece, SortError):
            raise piece
        view[: len(piece)] = piece[: len(view)]
        if len(piece) > len(view):
            self._pieces.insert(0, piece[len(view) :])
        return min(len(piece), len(view))


def check(order: Order, reader: InputReader, thread_n: int, arena_bytes: int = 4096, read_bytes: int = 64) -> Found:
    checker = Checker(order, arena_bytes, read_bytes, thread_n)
    try:
        return checker.check(LineReader(reader, order.separator))
    finally:
        checker.close()


def in_pieces(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# Wherever it is ------------------------------------------------------------------------------------------------------


@both_kernels
@pytest.mark.parametrize("thread_n", [0, 1, 2])
@pytest.mark.parametrize("keys", [0, 2], ids=["lines", "keys"])
def test_a_disorder_is_found_on_each_side_of_each_border(kernel: ModuleType, thread_n: int, keys: int) -> None:
    lines = [b"%02d %d" % (i, 10 + i) for i in range(12)]
    text = b"\n".join(lines)
    for size in (1, 2, 5, 6, 7, 11, 12, 13, 30, 100):
        assert check(make_order(kernel, keys), Pieces(in_pieces(text, size)), thread_n) is None
        for i in range(1, len(lines)):
            swapped = [*lines[: i - 1], lines[i], lines[i - 1], *lines[i + 1 :]]
            pieces = in_pieces(b"\n".join(swapped), size)
            assert check(make_order(kernel, keys), Pieces(pieces), thread_n) == (i + 1, lines[i - 1])


@both_kernels
@pytest.mark.parametrize("keys", range(len(KEYS)))
def test_the_least_memory_is_enough_for_many_workers(kernel: ModuleType, keys: int) -> None:
    lines = [b"%02d %d" % (i, 10 + i) for i in range(40)]
    lines[30:32] = reversed(lines[30:32])
    pieces = Pieces(in_pieces(b"\n".join(lines), 50))
    assert check(make_order(kernel, keys), pieces, 8, plan.LEAST_MEMORY_BYTES) == (32, lines[31])


@both_kernels
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    keys=st.integers(0, len(KEYS) - 1),
    unique=st.booleans(),
    reverse=st.booleans(),
    thread_n=st.integers(0, 3),
    arena_bytes=st.sampled_from([576, 1024, 4096, 1 << 16]),
    read_bytes=st.sampled_from([16, 64, 1000, 5000]),
)
def test_the_first_pair_that_is_out_of_order(
    kernel: ModuleType,
    seed: int,
    keys: int,
    unique: bool,
    reverse: bool,
    thread_n: int,
    arena_bytes: int,
    read_bytes: int,
) -> None:
    order = make_order(kernel, keys, unique, reverse)
    rng = random.Random(seed)
    longest = rng.choice([0, 1, 4, 12, 300])
    lines = [bytes(rng.choices(b"ab 1\0\xff", k=rng.randrange(longest + 1))) for _ in range(rng.randrange(60))]
    lines.sort(key=functools.cmp_to_key(lambda a, b: -1 if order.follows(a, b) else 1))
    if unique:
        lines = [line for i, line in enumerate(lines) if i == 0 or order.follows(lines[i - 1], line)]
    if len(lines) > 1 and rng.random() < 0.7:
        lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    expected = next(
        ((i + 1, lines[i]) for i in range(1, len(lines)) if not order.follows(lines[i - 1], lines[i])), None
    )
    pieces = in_pieces(b"".join(line + b"\n" for line in lines), rng.randrange(1, 200))
    assert check(order, Pieces(pieces), thread_n, arena_bytes, read_bytes) == expected


# While the next one is read ------------------------------------------------------------------------------------------


class Watched:
    """A kernel whose checks wait until as many chunks have been read as may be before the first of them is looked at.
    most_n: chunks that had been read, before another was, and not been looked at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, thread_n: int) -> None:
        self._thread_n = thread_n
        self._looked_at: list[checking.Chunk] = []
        self._ahead = threading.Event()
        self._thread = threading.get_ident()
        self.in_time = True
        self.most_n = 0
        real = getattr(checking.Chunk, name)

        def check(chunk: checking.Chunk) -> None:
            assert threading.get_ident() != self._thread
            self.in_time &= self._ahead.wait(TIMEOUT_S)
            time.sleep(0.01)  # whoever reads further than he may has the time to
            real(chunk)
            self._looked_at.append(chunk)

        monkeypatch.setattr(checking.Chunk, name, check)

    def before_read(self, reads_n: int) -> None:
        self.most_n = max(self.most_n, reads_n - len(self._looked_at))
        if reads_n == self._thread_n:
            self._ahead.set()


@both_kernels
@pytest.mark.parametrize("thread_n", [1, 2, 3])
@pytest.mark.parametrize("keys", [0, 1], ids=["lines", "keys"])
def test_chunks_are_read_while_others_are_looked_at(
    kernel: ModuleType, thread_n: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch, "_check_keys" if keys else "_check_text", thread_n)
    pieces = [b"a %02d\n" % i for i in range(20)]
    assert check(make_order(kernel, keys), Pieces(pieces, watched.before_read), thread_n) is None
    assert watched.in_time
    assert watched.most_n == thread_n


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_is_checked_by_workers_if_there_are_to_be_any(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "PARALLEL_INPUT_BYTES", 0)
    found = set()
    real = checking.Chunk.check
    monkeypatch.setattr(checking.Chunk, "check", lambda chunk: (found.add(threading.get_ident()), real(chunk))[1])
    (tmp_path / "in").write_bytes(b"".join(b"%07d\n" % i for i in range(300_000)))
    assert pysort.check(tmp_path / "in", threads=threads) is None
    if threads == 1 or pysort.kernel.load(None).NAME == "python":
        assert found == {threading.get_ident()}
    else:
        assert found
        assert threading.get_ident() not in found


# What ends it --------------------------------------------------------------------------------------------------------

FAILURE = SortError(b"read failed")


@both_kernels
@pytest.mark.parametrize("thread_n", [0, 1, 2])
def test_lines_before_a_failure_are_looked_at_first(kernel: ModuleType, thread_n: int) -> None:
    order = make_order(kernel)
    for n in range(5):
        before = [b"%d\n" % i for i in range(n)]
        with pytest.raises(SortError) as caught:
            check(order, Pieces([*before, FAILURE]), thread_n)
        assert caught.value is FAILURE
        assert check(order, Pieces([*before, b"x\na\nincomplete", FAILURE]), thread_n) == (n + 2, b"a")


@both_kernels
@pytest.mark.parametrize("thread_n", [0, 1, 2])
@pytest.mark.parametrize("keys", [0, 1], ids=["lines", "keys"])
def test_so_are_those_before_a_line_that_there_is_no_memory_for(
    kernel: ModuleType, thread_n: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def double(arena: Arena) -> None:
        raise SortError(b"memory exhausted")

    monkeypatch.setattr(Arena, "double", double)
    order = make_order(kernel, keys)
    long = b"z " + b"z" * 5000
    for disorder in (b"", b"a 0\n"):
        for n in (1, 2, 50):
            text = b"".join(b"b %03d\n" % i for i in range(n)) + disorder + long + b"\n"
            if disorder:
                assert check(order, Pieces(in_pieces(text, 40)), thread_n) == (n + 1, b"a 0")
            else:
                with pytest.raises(SortError, match="memory exhausted"):
                    check(order, Pieces(in_pieces(text, 40)), thread_n)


# Who writes may wait for the answer -----------------------------------------------------------------------------------


not_gnu = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort waits for more")


@not_gnu
@pytest.mark.parametrize("options", [["-c", "--parallel=2"], ["-C", "--parallel=1"], ["-c", "-k1,1n"]], ids=str)
@pytest.mark.parametrize("kind", ["pipe", "fifo"])
@pytest.mark.parametrize("lines_n", [1, 100_000])
def test_a_writer_gets_the_answer_before_the_end(tmp_path: Path, options: list[str], kind: str, lines_n: int) -> None:
    """The first line that is out of order is the last one written, and no end follows."""
    text = b"".join(b"%07d\n" % i for i in range(1, lines_n + 1)) + b"0\n"
    if kind == "fifo":
        os.mkfifo(tmp_path / "in")
        options = [*options, "in"]
    process = support.start(support.CONTENDER, options, tmp_path)
    with support.put_away(process), contextlib.ExitStack() as stack:
        assert process.stdin is not None
        assert process.stderr is not None
        stream = stack.enter_context((tmp_path / "in").open("wb")) if kind == "fifo" else process.stdin
        stream.write(text)
        stream.flush()
        assert process.wait(timeout=TIMEOUT_S) == 1
        name = b"in" if kind == "fifo" else b"-"
        message = b"sort: %b:%d: disorder: 0\n" % (name, lines_n + 1)
        assert support.normalized(process.stderr.read()) == (b"" if "-C" in options else message)


@not_gnu
def test_so_does_whoever_types(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        process = support.start(support.CONTENDER, ["-c", "--parallel=2"], tmp_path, stdin=theirs)
        with support.put_away(process):
            os.write(ours, b"2\n")
            os.write(ours, b"1\n")
            assert process.wait(timeout=TIMEOUT_S) == 1
    finally:
        os.close(ours)
        os.close(theirs)
