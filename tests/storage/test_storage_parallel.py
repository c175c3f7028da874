"""Several threads read one file, and what arrives is as one thread would have read it."""

from __future__ import annotations

import errno
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.storage import parallel
from pysort.storage.handle import Handle
from pysort.storage.parallel import ParallelReads
from pysort.storage.workers import Workers, wait_all

PIECE = 4096


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_PIECE_BYTES", PIECE)


def numbered(n):
    """n bytes, of which no two stretches of 4 at an even distance are alike."""
    return b"".join(i.to_bytes(4, "big") for i in range(-(-n // 4)))[:n]


def make_file(directory, content):
    path = directory / "file"
    path.write_bytes(content)
    return Handle.open(os.fsencode(path), os.O_RDWR)


def read_all(reads, size, offset=0):
    view = memoryview(bytearray(size))
    pieces = []
    while n := reads.read(offset, view):
        pieces.append(bytes(view[:n]))
        offset += n
    return b"".join(pieces)


@given(
    size=st.integers(0, 120_000), view_size=st.integers(1, 60_000), n=st.integers(1, 5), offset=st.integers(0, 130_000)
)
def test_any_file_comes_as_it_is(tmp_path_factory, size, view_size, n, offset):
    content = numbered(size)
    with make_file(tmp_path_factory.getbasetemp(), content) as handle:
        reads = ParallelReads(handle, n)
        assert read_all(reads, max(view_size, 100), offset) == content[offset:]
        reads.close()


class Reads:
    """Stands in for the handle: counts calls, and does something at one of them."""

    def __init__(self, handle, at_call=None, action=None):
        self.handle = handle
        self.at_call = at_call
        self.action = action
        self.calls_n = 0
        self.lock = threading.Lock()
        self.threads = set()

    def preadv(self, view, offset):
        with self.lock:
            call, self.calls_n = self.calls_n, self.calls_n + 1
            self.threads.add(threading.get_ident())
        if call == self.at_call:
            self.action(offset)
        return self.handle.preadv(view, offset)


def test_the_threads_read_at_the_same_time(tmp_path):
    content = numbered(4 * PIECE)
    together = threading.Barrier(4, timeout=30)

    class Together(Reads):
        def preadv(self, view, offset):
            together.wait()
            return super().preadv(view, offset)

    with make_file(tmp_path, content) as handle:
        source = Together(handle)
        reads = ParallelReads(source, 4)
        view = memoryview(bytearray(4 * PIECE))
        assert reads.read(0, view) == 4 * PIECE
        assert view == content
        assert len(source.threads) == 4
        reads.close()


def test_a_read_error_comes_at_its_place_whichever_call_fails(tmp_path):
    content = numbered(24 * PIECE)

    def fail(offset):
        failed.append(offset)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with make_file(tmp_path, content) as handle:
        whole = Reads(handle)
        reads = ParallelReads(whole, 3)
        assert read_all(reads, 9 * PIECE) == content
        reads.close()
        for n in range(whole.calls_n):
            failed = []
            reads = ParallelReads(Reads(handle, n, fail), 3)
            view = memoryview(bytearray(9 * PIECE))
            offset = 0
            try:
                while got := reads.read(offset, view):
                    assert view[:got] == content[offset : offset + got]
                    offset += got
            except OSError as error:
                assert error.errno == errno.EIO
                assert [offset] == failed
            else:  # behind the end, where one thread would not have read
                assert offset == len(content) < failed[0]
            reads.close()


def test_short_reads_are_completed(tmp_path):
    content = numbered(12 * PIECE)

    class Short(Reads):
        def preadv(self, view, offset):
            return super().preadv(view[:1000], offset)

    with make_file(tmp_path, content) as handle:
        reads = ParallelReads(Short(handle), 3)
        view = memoryview(bytearray(12 * PIECE))
        assert reads.read(0, view) == len(view)
        assert view == content
        reads.close()


@pytest.mark.parametrize("call", range(6))
def test_a_file_that_is_cut_short_meanwhile_ends_there(tmp_path, call):
    content = numbered(24 * PIECE)
    for stop in (0, 1, 5 * PIECE, 13 * PIECE + 7):
        with make_file(tmp_path, content) as handle:
            source = Reads(handle, call, lambda _, fd=handle.fd, stop=stop: os.ftruncate(fd, stop))
            reads = ParallelReads(source, 3)
            got = read_all(reads, 9 * PIECE)
            # Nothing but a front of what the file was, at least up to its new end.
            assert content.startswith(got)
            assert len(got) >= stop
            assert reads.read(len(got), memoryview(bytearray(9 * PIECE))) == 0
            reads.close()


@pytest.mark.parametrize("call", range(6))
def test_a_file_that_grows_meanwhile_is_read_to_its_new_end(tmp_path, call):
    content = numbered(20 * PIECE + 5)
    for size in (1, PIECE, 9 * PIECE, 11 * PIECE + 3):
        with make_file(tmp_path, content[:size]) as handle:
            source = Reads(handle, call, lambda _, fd=handle.fd, size=size: os.pwrite(fd, content[size:], size))
            reads = ParallelReads(source, 3)
            got = read_all(reads, 9 * PIECE)
            if call < 3:  # during the first read, which brings something
                assert got == content
            else:  # perhaps the end had been seen
                assert got in (content, content[:size])
            reads.close()


def test_an_exception_of_a_signal_leaves_no_thread_in_the_view(tmp_path):
    content = numbered(4 * PIECE)
    ended = []

    class Interrupt(BaseException):
        pass

    class Interrupted(Reads):
        def preadv(self, view, offset):
            if offset == 0:
                raise Interrupt
            threading.Event().wait(0.05)
            n = super().preadv(view, offset)
            ended.append(offset)
            return n

    with make_file(tmp_path, content) as handle:
        reads = ParallelReads(Interrupted(handle), 4)
        buffer = bytearray(4 * PIECE)
        with pytest.raises(Interrupt):
            reads.read(0, memoryview(buffer))
        assert len(ended) == 3
        reads.close()


def test_no_thread_is_started_for_a_small_read_and_none_is_left_behind(tmp_path):
    before = threads()  # those of other tests may end at any time
    with make_file(tmp_path, numbered(8 * PIECE)) as handle:
        reads = ParallelReads(handle, 4)
        assert reads.read(0, memoryview(bytearray(PIECE))) == PIECE
        assert threads() <= before
        assert reads.read(0, memoryview(bytearray(8 * PIECE))) == 8 * PIECE
        assert len(threads() - before) == 3
        reads.close()
        reads.close()
    while threads() - before:  # the last steps of a thread that has nothing more to do
        pass


def threads():
    return set(os.listdir("/proc/self/task"))


def test_the_view_can_be_released_after_an_error(tmp_path):
    with make_file(tmp_path, numbered(8 * PIECE)) as handle:
        reads = ParallelReads(handle, 4)
        buffer = bytearray(8 * PIECE)
        view = memoryview(buffer)
        handle.close()
        with pytest.raises(ValueError, match="closed"):
            reads.read(0, view)
        view.release()
        buffer.append(0)  # BufferError if anybody still held a slice
        reads.close()


def test_without_threads_the_caller_does_the_work(monkeypatch):
    from pysort.storage import workers

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers, "start_new_thread", refuse)
    pool = Workers(3)
    assert pool.n == 0
    assert pool.submit(lambda: 7).wait() == 7
    pool.close()


def test_urgent_jobs_go_before_those_that_wait():
    pool = Workers(1)
    may_end = threading.Event()
    done = []
    jobs = [pool.submit(lambda: int(may_end.wait()))]
    jobs += [pool.submit(lambda name=name: done.append(name) or 0, urgent=name.isupper()) for name in "abCdEF"]
    may_end.set()
    wait_all(jobs)
    assert "".join(done) == "CEFabd"
    pool.close()


@given(urgent=st.lists(st.booleans(), max_size=60), worker_n=st.integers(1, 4))
def test_every_job_is_done_once(urgent, worker_n):
    pool = Workers(worker_n)
    done = []
    jobs = [pool.submit(lambda i=i: done.append(i) or i, urgent=is_urgent) for i, is_urgent in enumerate(urgent)]
    assert [job.wait() for job in jobs] == list(range(len(urgent)))
    assert sorted(done) == list(range(len(urgent)))
    pool.close()


def test_wait_all_waits_for_all_and_raises_what_one_raised():
    pool = Workers(2)
    may_end = threading.Event()
    done = []

    def fail():
        raise OSError(errno.EIO, "bad")

    def late():
        may_end.wait()
        done.append(1)
        return 1

    jobs = [pool.submit(fail), pool.submit(late)]
    threading.Timer(0.05, may_end.set).start()
    with pytest.raises(OSError, match="bad"):
        wait_all(jobs)
    assert done == [1]
    pool.close()
