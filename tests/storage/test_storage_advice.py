"""Advice ahead of reads, behind them and with them: which calls are made, and what is left in the page cache."""

from __future__ import annotations

import errno
import mmap
import os
import pty

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_support import KINDS, access, needs_guard, read_all

from pysort.storage import cache, syscalls
from pysort.storage.access import Access
from pysort.storage.advice import AHEAD_BYTES, Advisor
from pysort.storage.handle import Handle
from pysort.storage.hints import HINTS, RWF_DONTCACHE, parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input
from pysort.storage.spill import SpillSpace

PAGE = mmap.PAGESIZE
MIB = 1 << 20
FILE_BYTES = 20 * MIB + 123
EVERY_ADDITION = ["noreuse", "willneed", "willneed-chunked", "dontneed", "dontcache"]


def strategy(text):
    return parse_hints(text.encode(), b"-")


@pytest.fixture(scope="module")
def big_file(tmp_path_factory):
    path = os.fsencode(tmp_path_factory.mktemp("advice") / "big")
    with open(path, "wb") as file:
        file.write(os.urandom(FILE_BYTES))
    with Handle.open(path, os.O_RDONLY) as handle:
        if cache.drop(handle.fd) != 0:
            pytest.skip("this file system keeps its pages (tmpfs?), or the kernel does not tell")
    return path


@pytest.fixture
def cold_file(big_file):
    with Handle.open(big_file, os.O_RDONLY) as handle:
        assert cache.drop(handle.fd) == 0
    return big_file


@pytest.fixture
def ranges(monkeypatch):
    """(advice, offset, length) of all advice, which is not given."""
    record = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, offset, length, advice: record.append((advice, offset, length)))
    return record


def warm(path, start, stop):
    """Bring exactly these pages in."""
    with Handle.open(path, os.O_RDONLY) as handle:
        os.posix_fadvise(handle.fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(handle.fd, stop - start, start)


@given(
    reads=st.lists(st.integers(1, 3 * MIB), min_size=1, max_size=20),
    start=st.integers(0, 5 * MIB),
    size=st.integers(1, 30 * MIB),
    ahead_bytes=st.sampled_from([0, AHEAD_BYTES]),
)
def test_chunks_ahead_cover_every_byte_once(reads, start, size, ahead_bytes):
    record = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "posix_fadvise", lambda fd, offset, length, advice: record.append((offset, length)))
        advisor = Advisor(Handle(0, owned=False), strategy("none,willneed-chunked"), IoStats(), ahead_bytes=ahead_bytes)
        advisor.start(start)
        at = start
        for n in reads:
            stop = min(at + n, size)
            if stop <= at:
                break
            advisor.ahead(at, stop - at, size)
            wanted = record[-1][0] + record[-1][1]
            assert min(stop + (ahead_bytes or stop - at), size) <= wanted <= size
            assert wanted - stop < (ahead_bytes or 3 * MIB) + MIB
            at = stop
    assert all(0 < length <= MIB for _, length in record)
    assert [offset for offset, _ in record[1:]] == [offset + length for offset, length in record[:-1]]
    assert not record or record[0][0] == start


def test_a_refused_chunk_is_not_asked_for_again(monkeypatch, cold_file):
    calls = []

    def refuse(*args):
        calls.append(args)
        raise OSError(errno.EINVAL, "")

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    stats = IoStats()
    with open_input(cold_file, Access(strategy=strategy("none,willneed-chunked,dontneed")), stats) as reader:
        assert len(read_all(reader, MIB)) == FILE_BYTES
    assert stats.hints == {("willneed-chunked", errno.EINVAL): 1, ("dontneed", errno.EINVAL): 1}
    assert len(calls) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_dropping_behind_leaves_nothing_of_a_cold_file(kind, cold_file):
    with open_input(cold_file, access(kind, strategy("dontneed"), map_bytes=MIB), IoStats()) as reader:
        view = memoryview(bytearray(MIB))
        for _ in range(10):
            reader.readinto(view)
        with Handle.open(cold_file, os.O_RDONLY) as handle:
            resident = cache.resident_ranges(handle.fd, 0, FILE_BYTES)
        assert all(start >= 8 * MIB for start, _ in resident)
        read_all(reader)
    assert cache.resident_bytes(cold_file) == 0


@pytest.mark.parametrize("kind", ["pread", "mmap"])
def test_what_was_in_the_page_cache_before_stays(kind, cold_file):
    kept = [(0, PAGE), (5 * MIB, 7 * MIB), (19 * MIB, 19 * MIB + 64 * 1024)]
    for start, stop in kept:
        warm(cold_file, start, stop)
    before = cache.resident_bytes(cold_file)
    with open_input(cold_file, access(kind, strategy("dontneed"), map_bytes=3 * MIB), IoStats()) as reader:
        read_all(reader)
    with Handle.open(cold_file, os.O_RDONLY) as handle:
        for start, stop in kept:
            assert cache.resident_bytes(handle.fd, start, stop - start) == stop - start
    # What was brought in beside them stays only as far as the grain reaches.
    assert before <= cache.resident_bytes(cold_file) <= before + 2 * len(kept) * cache.GRAIN_BYTES


def test_a_warm_file_stays_whole(cold_file):
    warm(cold_file, 0, FILE_BYTES)
    stats = IoStats()
    with open_input(cold_file, Access(strategy=strategy("dontneed")), stats) as reader:
        read_all(reader)
    assert cache.resident_bytes(cold_file) == FILE_BYTES + -FILE_BYTES % PAGE
    assert ("dontneed", 0) not in stats.hints


def test_nothing_is_dropped_where_the_system_does_not_tell_what_was_there(monkeypatch, big_file, ranges):
    monkeypatch.setattr(syscalls, "_function", lambda *names: None)
    stats = IoStats()
    with open_input(big_file, Access(strategy=strategy("none,dontneed")), stats) as reader:
        read_all(reader)
    assert ranges == []
    assert stats.hints == {("dontneed", errno.ENOSYS): 1}


def test_only_whole_pages_are_dropped(ranges, tmp_path):
    advisor = Advisor(Handle(0, owned=False), strategy("none,dontneed"), IoStats())
    advisor.start(100)
    for offset in range(100, 5 * MIB, 12345):
        advisor.behind(offset)
    advisor.behind(5 * MIB + 1, at_end=True)
    assert all(offset % PAGE == 0 and length % PAGE == 0 for _, offset, length in ranges)
    assert ranges[0][1] == PAGE
    assert [offset for _, offset, _ in ranges[1:]] == [offset + length for _, offset, length in ranges[:-1]]
    assert ranges[-1][1] + ranges[-1][2] == 5 * MIB + PAGE


def test_dropping_behind_runs_leaves_the_neighbours(tmp_path):
    with SpillSpace([os.fsencode(tmp_path)], 4096, Access(strategy=strategy("dontneed")), IoStats()) as space:
        runs = []
        for letter in b"ab":
            writer = space.start_run()
            writer.write(memoryview(bytes([letter]) * 3 * MIB))
            runs.append(writer.finish())
        with space.open_run(runs[0]) as reader:
            fd = runs[0].extents[0].file.handle.fd
            os.fsync(fd)
            before = cache.resident_bytes(fd)
            if cache.drop(os.dup(fd)) != 0:
                pytest.skip("this file system keeps its pages (tmpfs?)")
            warm(b"/proc/self/fd/%d" % fd, 0, 6 * MIB)
            assert cache.resident_bytes(fd) == before == 6 * MIB
            read_all(reader)
        assert cache.resident_bytes(fd) == cache.resident_bytes(fd, 3 * MIB, 3 * MIB) == 3 * MIB


def test_dontcache_leaves_nothing_and_evicts_nothing(cold_file):
    warm(cold_file, 0, MIB)
    stats = IoStats()
    with open_input(cold_file, Access(strategy=strategy("none,dontcache")), stats) as reader:
        read_all(reader, MIB)
    if ("dontcache", 0) not in stats.hints:
        assert stats.hints == {("dontcache", errno.EOPNOTSUPP): 1}
        pytest.skip("this file system or kernel has no RWF_DONTCACHE")
    assert stats.hints == {("dontcache", 0): 1}
    assert cache.resident_bytes(cold_file) == MIB


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, None])
@pytest.mark.parametrize("stdin", [False, True])
def test_a_refused_dontcache_is_recorded_and_the_file_read_without(monkeypatch, tmp_path, number, stdin):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 1000)
    real = os.preadv

    def refuse(fd, buffers, offset, flags=0):
        if flags & RWF_DONTCACHE:
            raise OSError(number, "") if number else NotImplementedError
        return real(fd, buffers, offset, flags)

    monkeypatch.setattr(os, "preadv", refuse)
    stats = IoStats()
    saved = os.dup(0)
    with path.open() as file:
        os.dup2(file.fileno(), 0)
    try:
        name = b"-" if stdin else os.fsencode(path)
        with open_input(name, Access(strategy=strategy("none,dontcache")), stats) as reader:
            assert read_all(reader, 100) == b"x" * 1000
    finally:
        os.dup2(saved, 0)
        os.close(saved)
    assert stats.hints == {("dontcache", number or errno.ENOSYS): 1}


@pytest.mark.parametrize("kind", [pytest.param("mmap", marks=needs_guard), "direct"])
def test_readers_without_reads_say_that_dontcache_has_no_effect(kind, big_file):
    stats = IoStats()
    with open_input(big_file, access(kind, strategy("none,dontcache")), stats) as reader:
        read_all(reader, MIB)
    assert stats.hints == {("dontcache", errno.ENOTSUP): 1}


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ESPIPE, errno.EIO])
@pytest.mark.parametrize("name", [name for name in HINTS if name not in ("none", "dontcache")])
def test_every_refusal_of_every_hint_is_recorded_once_and_harmless(monkeypatch, big_file, name, number):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    stats = IoStats()
    text = name if name in ("sequential", "random") else f"none,{name}"
    monkeypatch.setattr(cache, "resident_bytes", lambda *_: 0)
    with open_input(big_file, Access(strategy=strategy(text)), stats) as reader:
        assert len(read_all(reader, MIB)) == FILE_BYTES
    assert stats.hints == {(name, number): 1}


def read_everything(name, text):
    stats = IoStats()
    with open_input(name, Access(strategy=strategy(text)), stats) as reader:
        return read_all(reader), stats


@pytest.mark.parametrize("addition", EVERY_ADDITION)
def test_pipes_terminals_proc_and_empty_files_take_every_hint_or_leave_it(addition, tmp_path):
    readable, writable = os.pipe()
    os.write(writable, b"b\na\n")
    os.close(writable)
    data, stats = read_everything(b"/proc/self/fd/%d" % readable, addition)
    os.close(readable)
    assert data == b"b\na\n"
    assert stats.hints[addition, errno.EOPNOTSUPP if addition == "dontcache" else errno.ESPIPE] == 1

    controller, terminal = pty.openpty()
    os.write(controller, b"b\na\n\x04")
    data, stats = read_everything(os.ttyname(terminal).encode(), addition)
    os.close(controller)
    os.close(terminal)
    assert data == b"b\na\n"

    (tmp_path / "empty").touch()
    assert read_everything(os.fsencode(tmp_path / "empty"), addition)[0] == b""
    assert read_everything(b"/proc/self/maps", addition)[0].endswith(b"\n")


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no tmpfs at /dev/shm")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("addition", EVERY_ADDITION)
def test_tmpfs_takes_every_hint_and_kind_or_leaves_it(addition, kind):
    path = f"/dev/shm/pysort-test-{os.getpid()}"
    data = os.urandom(3 * MIB + 5)
    try:
        with open(path, "wb") as file:
            file.write(data)
        with open_input(os.fsencode(path), access(kind, strategy(addition)), IoStats()) as reader:
            assert read_all(reader) == data
    finally:
        os.unlink(path)


def test_residency_is_looked_at_only_where_it_is_asked_for(cold_file, monkeypatch):
    stats = IoStats(residency=True)
    with open_input(cold_file, Access(strategy=strategy("none,willneed-chunked,dontneed")), stats) as reader:
        read_all(reader, MIB)
    before, after = stats.hint_residency["dontneed"]
    assert before >= 20 * MIB
    assert after == 0
    monkeypatch.setattr(cache, "resident_bytes", None)
    with open_input(cold_file, Access(strategy=strategy("random,willneed-chunked")), IoStats()) as reader:
        read_all(reader, MIB)
