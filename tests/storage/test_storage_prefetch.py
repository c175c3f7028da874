"""How far a stream looks ahead, and that every block arrives, or its error, where it belongs."""

from __future__ import annotations

import errno
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.storage.handle import Handle
from pysort.storage.iostats import IoStats
from pysort.storage.prefetch import COMBINED_BYTES, FileBlocks, PrefetchStream
from pysort.storage.sample import sample_blocks, scan_blocks
from pysort.storage.workers import Workers

BLOCK = 8192


class FakeFile:
    """Byte i of the file is i // 512 mod 251. cached: whether a block is in memory. failing: offsets whose reads fail.
    log: what was asked for, in order."""

    def __init__(self, size=1 << 30, cached=lambda offset: False, failing=()):
        self.size = size
        self.cached = cached
        self.failing = failing
        self.log = []
        self.in_flight = self.in_flight_peak = 0

    def content(self, offset, length):
        stop = min(offset + length, self.size)
        return bytes(i // 512 % 251 for i in range(offset, stop)) if length < 512 else self._content(offset, stop)

    def _content(self, offset, stop):
        first = offset // 512
        whole = b"".join(bytes([i % 251]) * 512 for i in range(first, -(-stop // 512)))
        return whole[offset - first * 512 : stop - first * 512]

    def read_cached(self, offset, view):
        return self._fill(offset, view) if self.cached(offset) and not self._fails(offset, len(view)) else 0

    def advise(self, offset, length):
        self.log.append(("advise", offset, length))
        return 0

    def read(self, offset, view):
        self.log.append(("read", offset, len(view)))
        if self._fails(offset, len(view)):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self._fill(offset, view)

    def _fails(self, offset, length):
        return any(offset <= at < offset + length for at in self.failing)

    def _fill(self, offset, view):
        data = self.content(offset, len(view))
        view[: len(data)] = data
        return len(data)

    def named(self, what):
        return [(offset, length) for name, offset, length in self.log if name == what]


def random_blocks(n):
    """Blocks of which no two touch."""
    return [(i * 5 * BLOCK, BLOCK) for i in range(n)]


def adjacent_blocks(n, length=BLOCK):
    return [(i * length, length) for i in range(n)]


def test_the_distance_grows_on_cold_random_blocks():
    file = FakeFile()
    blocks = random_blocks(100)
    distances = []
    with PrefetchStream(file, blocks, IoStats(), distance=64) as stream:
        for _ in stream:
            distances.append(stream.distance)
    assert distances[4] >= 10
    assert stream.distance_peak == 64
    assert (stream.hits_n, stream.misses_n) == (0, 100)
    assert file.named("advise") == blocks
    # At its full distance each block was asked for 64 blocks before it was read.
    log = file.log
    assert log.index(("advise", *blocks[90])) < log.index(("read", *blocks[30]))


def test_the_distance_stays_1_on_cached_blocks():
    file = FakeFile(cached=lambda offset: True)
    with PrefetchStream(file, random_blocks(100), IoStats(), distance=64) as stream:
        for _ in stream:
            assert stream.distance == 1
    assert (stream.hits_n, stream.misses_n) == (100, 0)
    assert file.log == []


def test_the_distance_decays_where_a_cached_part_begins():
    blocks = random_blocks(400)
    file = FakeFile(cached=lambda offset: offset >= blocks[100][0])
    with PrefetchStream(file, blocks, IoStats(), distance=64) as stream:
        for _ in stream:
            pass
    assert stream.distance_peak == 64
    assert stream.distance == 1


def test_no_advice_on_a_sequential_stream():
    file = FakeFile()
    with PrefetchStream(file, adjacent_blocks(200), IoStats(), distance=256) as stream:
        for _ in stream:
            assert stream.distance <= COMBINED_BYTES // BLOCK
    # The first block follows nothing; whether a stream is sequential shows at the second.
    assert len(file.named("advise")) <= 1
    assert stream.advised_n == len(file.named("advise"))


def test_adjacent_blocks_are_combined_but_not_without_end():
    file = FakeFile()
    blocks = [(start + i * BLOCK, BLOCK) for start in range(0, 1 << 26, 1 << 22) for i in range(48)]
    with PrefetchStream(file, blocks, IoStats(), distance=256) as stream:
        assert [bytes(view) for view in stream] == [file.content(*block) for block in blocks]
    sizes = [length for _, length in file.named("read")]
    assert max(sizes) == COMBINED_BYTES
    assert stream.requests_n == len(sizes) < len(blocks) // 4


def test_distance_0_reads_each_block_when_it_is_asked_for():
    file = FakeFile(cached=lambda offset: True)
    blocks = random_blocks(5)
    with PrefetchStream(file, blocks, IoStats(), distance=0) as stream:
        for i, _ in enumerate(stream):
            assert file.log == [("read", *block) for block in blocks[: i + 1]]
    assert (stream.hits_n, stream.misses_n, stream.distance_peak) == (0, 0, 0)


def test_what_is_under_way_is_bounded_by_bytes():
    file = FakeFile()
    with PrefetchStream(file, random_blocks(100), IoStats(), distance=256, max_bytes=10 * BLOCK) as stream:
        for _ in stream:
            assert len(file.named("advise")) - len(file.named("read")) <= 10
    assert stream.misses_n == 100


def test_a_block_larger_than_the_bound_is_read_all_the_same():
    file = FakeFile()
    blocks = random_blocks(3)
    with PrefetchStream(file, blocks, IoStats(), distance=4, max_bytes=100) as stream:
        assert [len(view) for view in stream] == [BLOCK] * 3


def test_blocks_are_taken_no_earlier_than_needed():
    taken = []

    def blocks():
        for block in random_blocks(100):
            taken.append(block)
            yield block

    with PrefetchStream(FakeFile(cached=lambda offset: True), blocks(), IoStats(), distance=64) as stream:
        next(stream)
        assert len(taken) <= 3


@pytest.mark.parametrize("workers_n", [0, 3])
@pytest.mark.parametrize("gap", [0, 1])
def test_an_error_is_delivered_at_its_block_and_no_other(workers_n, gap):
    blocks = [(i * (1 + gap) * BLOCK, BLOCK) for i in range(40)]
    for k in range(40):
        file = FakeFile(failing=[blocks[k][0] + 100])
        workers = Workers(workers_n) if workers_n else None
        with PrefetchStream(file, blocks, IoStats(), distance=16, workers=workers) as stream:
            for i, block in enumerate(blocks):
                if i == k:
                    with pytest.raises(OSError, match="Input/output error"):
                        next(stream)
                else:
                    assert next(stream) == file.content(*block)
            with pytest.raises(StopIteration):
                next(stream)
        if workers is not None:
            workers.close()


def test_what_the_iterable_raises_comes_after_the_blocks_before_it():
    def blocks():
        yield from random_blocks(7)
        raise ZeroDivisionError

    with PrefetchStream(FakeFile(), blocks(), IoStats(), distance=32) as stream:
        for _ in range(7):
            next(stream)
        with pytest.raises(ZeroDivisionError):
            next(stream)
        with pytest.raises(StopIteration):
            next(stream)


def test_threads_read_side_by_side():
    together = threading.Barrier(4, timeout=30)

    class Slow(FakeFile):
        def read(self, offset, view):
            if offset < 4 * 5 * BLOCK:
                together.wait()  # no read ends before four have begun
            return super().read(offset, view)

    # The first three blocks are behind one another until the distance has grown: all four are then under way.
    file = Slow()
    workers = Workers(4)
    with PrefetchStream(file, random_blocks(20), IoStats(), distance=16, workers=workers) as stream:
        assert [bytes(view) for view in stream] == [file.content(*block) for block in random_blocks(20)]
    workers.close()
    assert file.named("advise") == []


def test_close_cancels_what_has_not_begun_and_waits_for_what_has():
    entered, may_end = threading.Event(), threading.Event()

    class Stuck(FakeFile):
        def read(self, offset, view):
            entered.set()
            may_end.wait()
            return super().read(offset, view)

    def cached(offset):
        return offset == 0

    file = Stuck(cached=cached)
    workers = Workers(1)
    stream = PrefetchStream(file, random_blocks(50), IoStats(), distance=16, workers=workers)
    next(stream)
    next_view = threading.Thread(target=stream.close)
    entered.wait()
    next_view.start()
    next_view.join(0.05)
    assert next_view.is_alive()
    may_end.set()
    next_view.join()
    workers.close()
    assert len(file.named("read")) == 1
    with pytest.raises(StopIteration):
        next(stream)


@given(
    picks=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3000)), max_size=60),
    size=st.integers(0, 50_000),
    distance=st.integers(0, 20),
    max_bytes=st.integers(1, 20_000),
    cached=st.integers(1, 5),
    workers_n=st.integers(0, 2),
)
def test_any_blocks_come_as_they_are_in_the_file(picks, size, distance, max_bytes, cached, workers_n):
    blocks, at = [], 0
    for gap, length in picks:
        at += gap // 10 * 512
        blocks.append((at, length))
        at += length
    file = FakeFile(size, cached=lambda offset: offset % cached == 0)
    workers = Workers(workers_n) if workers_n else None
    stats = IoStats()
    stream = PrefetchStream(file, blocks, stats, distance=distance, max_bytes=max_bytes, workers=workers)
    with stream:
        assert [bytes(view) for view in stream] == [file.content(*block) for block in blocks]
    if workers is not None:
        workers.close()
    assert stats.read_bytes == sum(len(file.content(*block)) for block in blocks)
    if distance:
        assert stream.hits_n + stream.misses_n == len(blocks)


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("workers_n", [1, 4])
@pytest.mark.parametrize("distance", [0, 1, 16])
def test_a_sample_of_a_file_is_the_same_by_every_way(tmp_path, distance, workers_n, threads):
    path = os.fsencode(tmp_path / "file")
    (tmp_path / "file").write_bytes(os.urandom(300_001))
    blocks = sample_blocks(300_001, 4096, 0.4, seed=3)
    expected = scan_blocks(path, blocks, IoStats(), distance=0)
    stats = IoStats()
    scan = scan_blocks(path, blocks, stats, distance=distance, workers_n=workers_n, threads=threads)
    assert (scan.checksum, scan.read_bytes) == (expected.checksum, sum(length for _, length in blocks))
    assert stats.read_bytes == scan.read_bytes


@given(st.integers(1, 100_000), st.integers(1, 5000), st.floats(0.001, 1), st.integers(0, 9))
def test_a_sample_is_in_order_without_repetition_and_inside_the_file(size, block_bytes, fraction, seed):
    blocks = sample_blocks(size, block_bytes, fraction, seed)
    offsets = [offset for offset, _ in blocks]
    assert offsets == sorted(set(offsets))
    assert all(offset % block_bytes == 0 for offset in offsets)
    assert all(0 < length <= block_bytes and offset + length <= size for offset, length in blocks)
    assert len(blocks) == max(round(-(-size // block_bytes) * fraction), 1)
    if fraction == 1:
        assert sum(length for _, length in blocks) == size


def test_a_real_file_says_what_is_cached(tmp_path):
    path = os.fsencode(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    with Handle.open(path, os.O_RDONLY) as handle:
        source = FileBlocks(handle)
        view = memoryview(bytearray(5000))
        assert source.read_cached(99_000, view) in (0, 1000)  # 0 where the file system can not tell
        assert source.read(99_000, view) == 1000
        assert source.read(200_000, view) == 0
        assert source.advise(0, 5000) == 0
    with pytest.raises(ValueError, match="closed"):
        source.read(0, view)
