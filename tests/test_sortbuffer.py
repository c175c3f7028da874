"""The sort buffer against sorted(), in arenas of any size, with any number of workers, read in pieces of any size."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort import _kernel_py, sorting
from pysort.arena import Arena
from pysort.firststep import FirstStep
from pysort.kernel import Order
from pysort.keys.locale import C_TABLES
from pysort.keys.program import compile as compile_program
from pysort.keys.spec import inherit, parse_key
from pysort.sortbuffer import SortBuffer
from pysort.storage.workers import Workers

KERNELS: list[ModuleType] = [_kernel_py]
try:
    from pysort import _kernel

    KERNELS.append(_kernel)  # type: ignore[arg-type]
except ImportError:
    pass
KEYS = [[], [b"2"], [b"2,2n", b"1,1r"], [b"1f"]]


@pytest.fixture(autouse=True)
def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "LEAST_LEAF_N", 40)
    monkeypatch.setattr(sorting, "GLANCE_N", 4)


@functools.cache
def make_order(kernel: ModuleType, keys: int, unique: bool, reverse: bool) -> Order:
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


def reader(text: bytes, rng: random.Random) -> Callable[[memoryview], int]:
    at = 0

    def read(view: memoryview) -> int:
        nonlocal at
        assert len(view)
        n = len(view) if rng.random() < 0.7 else rng.randrange(1, len(view) + 1)
        piece = text[at : at + n]
        view[: len(piece)] = piece
        at += len(piece)
        return len(piece)

    return read


def lines_of(rng: random.Random, n: int) -> list[bytes]:
    """Short ones, then long ones, then short ones again: what has been seen says nothing of what comes."""
    lines = []
    longest = 3
    for i in range(n):
        if i % (n // 4 + 1) == 0:
            longest = rng.choice([0, 1, 3, 30, 300])
        lines.append(b"%b %d" % (bytes(rng.choices(b"ab \0", k=rng.randrange(longest + 1))), rng.randrange(30)))
    if rng.random() < 0.3:
        lines.insert(rng.randrange(n + 1), b"l" * rng.randrange(3000))
    if rng.random() < 0.3:  # for some orders
        lines.sort(reverse=rng.random() < 0.5)
    return lines


def runs_of(
    order: Order, text: bytes, arena_bytes: int, worker_n: int, piece_bytes: int, rng: random.Random
) -> list[tuple[int, bytes]]:
    """Number of lines, those that -u drops included, and bytes of each. One buffer, or two that take turns."""
    workers = Workers(worker_n)
    arenas = [Arena(arena_bytes), Arena(rng.choice([arena_bytes, 1024]))][: rng.randrange(1, 3)]
    outs = [memoryview(bytearray(rng.choice([1, 10, 100, 5000]))) for _ in range(worker_n + 1)]
    runs = []
    try:
        read = reader(text, rng)
        buffers = [SortBuffer(order, arena, workers, piece_bytes) for arena in arenas]
        ended = buffers[0].load(read)
        while True:
            buffer, other = buffers[0], buffers[-1]
            is_last = ended
            lines = buffer.start_sort()
            if not is_last and other is not buffer:
                other.begin(buffer)
                ended = other.load(read)
            runs.append((buffer.n, b"".join(map(bytes, lines.pieces(outs)))))
            if is_last:
                break
            if other is buffer:
                buffer.begin(buffer)
                ended = buffer.load(read)
            buffers.reverse()
        assert max(buffer.longest for buffer in buffers) == max(map(len, text.split(b"\n")))
    finally:
        workers.close()
        for arena in arenas:
            arena.close()
    return runs


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.NAME)
@given(
    seed=st.integers(0, 2**32),
    line_n=st.integers(0, 250),
    keys=st.integers(0, len(KEYS) - 1),
    unique=st.booleans(),
    reverse=st.booleans(),
    arena_bytes=st.sampled_from([576, 2048, 16384, 65536]),
    piece_bytes=st.sampled_from([7, 64, 700, 4096]),
    worker_n=st.integers(0, 3),
)
def test_runs_are_consecutive_lines_sorted(
    kernel: ModuleType,
    seed: int,
    line_n: int,
    keys: int,
    unique: bool,
    reverse: bool,
    arena_bytes: int,
    piece_bytes: int,
    worker_n: int,
) -> None:
    """Each run is what one call of the kernel makes of its lines."""
    rng = random.Random(seed)
    lines = lines_of(rng, line_n)
    text = b"".join(line + b"\n" for line in lines)
    order = make_order(kernel, keys, unique, reverse)
    runs = runs_of(order, text, arena_bytes, worker_n, piece_bytes, rng)
    at = 0
    for n, run in runs:
        assert n or at == len(lines)
        assert run == whole(order, lines[at : at + n]), (at, n)
        at += n
    assert at == len(lines)
    if arena_bytes == 65536 and len(text) < 2000:
        assert len(runs) == 1


def whole(order: Order, lines: list[bytes]) -> bytes:
    """The lines, sorted in one buffer that is large enough, in one thread."""
    text = b"".join(line + b"\n" for line in lines)
    top = 2 * len(text) + 100 * len(lines) + 64
    top += -top % 64
    arena = bytearray(top)
    arena[: len(text)] = text
    n, _, _ = order.kernel.scan(order.program, arena, 0, len(text), top, 0, len(lines))
    if order.keyed:
        done, _ = order.kernel.encode(order.program, None, arena, top, 0, n, len(text), top - 32 * n)
        assert done == n
    order.kernel.sort_part(order.program, None, arena, top, n, struct.pack("=3QqQ", 0, n, 0, 56, 1))
    kept = order.kernel.drop(order.program, arena, top, n)
    out = bytearray(len(text))
    index, _, used = order.kernel.gather(order.program, arena, top - 16 * n, kept, 0, 0, out)
    assert index == kept
    return bytes(out[:used])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.NAME)
@pytest.mark.parametrize("worker_n", [1, 2, 3, 5])
@pytest.mark.parametrize("keys", range(len(KEYS)))
def test_all_workers_make_the_first_step(
    kernel: ModuleType, worker_n: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, int]] = []
    distribute = FirstStep.distribute
    monkeypatch.setattr(
        FirstStep, "distribute", lambda self, i: (made.append((i, len(self.parts))), distribute(self, i))
    )
    order = make_order(kernel, keys, False, False)
    text = b"".join(b"%d %d\n" % (i * 7919 % 1009, i * 31 % 1000) for i in range(1000))
    runs = runs_of(order, text, 1 << 17, worker_n, 4096, random.Random(1))
    assert runs == runs_of(order, text, 1 << 17, 0, 4096, random.Random(1))
    assert sorted(i for i, _ in made) == [i for i in range(worker_n) if worker_n > 1]
    assert all(part_n > 1 for _, part_n in made)


def test_keys_that_begin_alike_have_no_first_step_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstStep, "distribute", None)
    for kernel in KERNELS:
        text = b"".join(b"the same beginning %d\n" % (i * 7919 % 1009) for i in range(1000))
        runs = runs_of(make_order(kernel, 0, False, False), text, 1 << 17, 2, 4096, random.Random(1))
        assert runs == [(1000, b"".join(sorted(text.splitlines(keepends=True))))]
