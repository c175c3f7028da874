"""Ways of reading an open file: what the system refuses, what goes wrong in the middle, hits in the page cache."""

from __future__ import annotations

import errno
import mmap
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_support import KINDS, access, message, needs_guard, read_all, run_python

from pysort.errors import SortError
from pysort.storage import access as access_module
from pysort.storage import cache, guard
from pysort.storage.access import MAP_FLAGS, Access, MapFlags, parse_map_flags
from pysort.storage.handle import Handle
from pysort.storage.hints import parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input
from pysort.storage.spill import SpillSpace

PAGE = mmap.PAGESIZE
MIB = 1 << 20
RWF_NOWAIT = getattr(os, "RWF_NOWAIT", 0)

needs_nowait = pytest.mark.skipif(not RWF_NOWAIT, reason="no RWF_NOWAIT here")


@pytest.fixture
def path(tmp_path):
    """A file of real blocks, nothing of it in the page cache."""
    path = os.fsencode(tmp_path / "f")
    with open(path, "wb") as file:
        file.write(os.urandom(3 * MIB + 77))
    cool(path)
    return path


def cool(path):
    with Handle.open(path, os.O_RDONLY) as handle:
        if cache.drop(handle.fd) != 0:
            pytest.skip("this file system keeps its pages (tmpfs?), or the kernel does not tell")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def spilled(directory, data, kind, stats, **options):
    space = SpillSpace([os.fsencode(directory)], 4096, access(kind, **options), stats)
    writer = space.start_run()
    writer.write(memoryview(data))
    return space, writer.finish()


# Names and numbers of flags.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", 0),
        (b"populate", mmap.MAP_POPULATE),
        (b"populate,noreserve", mmap.MAP_POPULATE | 0x4000),
        (b"32768", 0x8000),
        (b"0x8000,nonblock", 0x18000),
        (b"0", 0),
    ],
)
def test_flags_are_names_and_numbers(text, value):
    assert parse_map_flags(text, b"--mmap-flags").value == value


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"populated", "populated"),
        (b"populate,", ""),
        (b"-1", "-1"),
        (b"1e3", "1e3"),
        (b"4294967296", "4294967296"),
        (b"32", "32"),  # MAP_ANONYMOUS: zeros instead of the file
        (b"0x10", "0x10"),  # MAP_FIXED
    ],
)
def test_other_flags_are_refused_with_the_names_there_are(text, named):
    with pytest.raises(SortError) as caught:
        parse_map_flags(text, b"--mmap-flags")
    lines = message(caught.value).split("\n")
    assert lines[0] == f"invalid argument '{named}' for '--mmap-flags'"
    assert lines[1:] == ["Valid arguments are:", *(f"  - '{name}'" for name in MAP_FLAGS)]


def test_a_flag_that_does_not_exist_here_is_left_out_with_a_reason(monkeypatch, path):
    monkeypatch.setattr(access_module, "COMMON_MACHINES", ())
    flags = parse_map_flags(b"locked,populate", b"-")
    assert (flags.value, flags.missing) == (mmap.MAP_POPULATE, ("locked",))
    stats = IoStats()
    space, run = spilled(os.path.dirname(path), b"x" * 9999, "mmap", stats, map_flags=flags)
    with space, space.open_run(run) as reader:
        assert read_all(reader) == b"x" * 9999
    assert stats.notes == {b"the mmap flag locked does not exist here and was left out": 1}


# Mappings.


@needs_guard
@pytest.mark.parametrize("advice", ["", "normal", "sequential", "random", "willneed", "populate-read"])
@pytest.mark.parametrize("flags", [b"", b"populate", b"populate,nonblock", b"noreserve"])
def test_every_way_of_mapping_gives_the_same_bytes(path, flags, advice):
    expected = content(path)
    stats = IoStats()
    way = access("mmap", map_flags=parse_map_flags(flags, b"-"), advice=advice, map_bytes=MIB)
    with open_input(path, way, stats) as reader:
        assert read_all(reader) == expected
    assert stats.notes == {}
    assert [name for name, _ in stats.hints if name != "sequential"] == [f"madvise {advice}"] * bool(advice)


def first_page(path, **options):
    """What is in the page cache when the first byte has been read."""
    with open_input(path, access("mmap", parse_hints(b"none", b"-"), **options), IoStats()) as reader:
        reader.readinto(memoryview(bytearray(1)))
        return cache.resident_bytes(path)


@needs_guard
def test_populate_reads_the_whole_window_and_random_a_page(path):
    window = 2 * MIB
    assert first_page(path, map_bytes=window, map_flags=MapFlags(mmap.MAP_POPULATE)) >= window
    cool(path)
    assert first_page(path, map_bytes=window, advice="random") == PAGE
    cool(path)
    assert first_page(path, map_bytes=window, advice="populate-read") >= window


@needs_guard
@pytest.mark.parametrize("options", [{"map_flags": MapFlags(mmap.MAP_POPULATE)}, {"advice": "populate-read"}])
def test_a_file_that_the_memory_does_not_hold_is_not_populated(path, options):
    stats = IoStats()
    expected = content(path)
    with open_input(path, access("mmap", populate_bytes=3 * MIB, **options), stats) as reader:
        assert read_all(reader) == expected
    assert stats.notes == {b"populate was left out: a file is larger than the memory that is available": 1}
    assert ("madvise populate-read", 0) not in stats.hints
    cool(path)
    assert (
        first_page(path, advice="random", populate_bytes=3 * MIB, **{"map_flags": MapFlags(mmap.MAP_POPULATE)}) == PAGE
    )


@needs_guard
def test_refused_advice_is_recorded(path, monkeypatch):
    monkeypatch.setitem(access_module.ADVICE, "random", ("MADV_NO_SUCH", 9999))
    stats = IoStats()
    expected = content(path)
    with open_input(path, access("mmap", advice="random"), stats) as reader:
        assert read_all(reader) == expected
    assert stats.hints["madvise random", errno.EINVAL] == 1


def test_inputs_are_not_mapped_where_nobody_catches_sigbus(path, monkeypatch):
    monkeypatch.setattr(guard, "_installed", [])
    stats = IoStats()
    expected = content(path)
    with open_input(path, Access("mmap"), stats) as reader:
        assert read_all(reader) == expected
    assert stats.notes == {b"mmap needs the C kernel where others may cut a file short, pread took its place": 1}


MANY_MAPS = """if True:
    import resource, sys, os
    from pysort.storage.access import Access
    from pysort.storage.iostats import IoStats
    from pysort.storage.spill import SpillSpace
    stats = IoStats()
    with SpillSpace([sys.argv[1].encode()], 4096, Access(sys.argv[2]), stats) as space:
        runs = []
        for i in range(100):
            writer = space.start_run()
            writer.write(memoryview(b"%03d" % i * 4000))
            runs.append(writer.finish())
        limit = int(sys.argv[3])
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        readers = [space.open_run(run) for run in runs]
        view = memoryview(bytearray(4096))
        got = [b""] * 100
        while any(reader.remaining for reader in readers):
            for i, reader in enumerate(readers):
                got[i] += view[: reader.readinto(view)]
        assert got == [b"%03d" % i * 4000 for i in range(100)]
        for reader in readers:
            reader.close()
    os.write(1, b"".join(b"%s: %d" % item for item in stats.notes.items()))
"""


def test_more_maps_than_descriptors_are_read_by_pread(tmp_path):
    notes = run_python(MANY_MAPS, tmp_path, "mmap", 20).stdout
    assert notes.startswith(b"mmap was refused (Too many open files), pread took its place: ")
    assert int(notes.rpartition(b" ")[2]) > 100


def test_direct_readers_share_one_descriptor(tmp_path):
    assert b"Too many" not in run_python(MANY_MAPS, tmp_path, "direct", 20).stdout


def test_direct_readers_without_a_descriptor_read_by_pread(tmp_path):
    notes = run_python(MANY_MAPS, tmp_path, "direct", 4).stdout
    assert notes == b"direct reading was refused (Too many open files), pread took its place: 100"


# Direct reading.


@pytest.mark.parametrize("moment", ["open", "read"])
def test_refused_direct_reading_leaves_it_to_pread(path, monkeypatch, moment):
    import fcntl

    refusal = OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    real_fcntl, real_preadv = fcntl.fcntl, os.preadv

    def refuse_flag(fd, command, argument=0):
        if command == fcntl.F_SETFL and argument & os.O_DIRECT:
            raise refusal
        return real_fcntl(fd, command, argument)

    def refuse_read(fd, *arguments):
        if real_fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT:
            raise refusal
        return real_preadv(fd, *arguments)

    expected = content(path)
    if moment == "open":
        monkeypatch.setattr(fcntl, "fcntl", refuse_flag)
    else:
        monkeypatch.setattr(os, "preadv", refuse_read)
    stats = IoStats()
    with open_input(path, Access("direct"), stats) as reader:
        assert read_all(reader) == expected
    assert stats.notes == {b"direct reading was refused (Invalid argument), pread took its place": 1}


def test_direct_reading_leaves_the_page_cache_alone(path):
    with open_input(path, Access("direct", parse_hints(b"none", b"-")), IoStats()) as reader:
        assert len(read_all(reader)) == 3 * MIB + 77
    assert cache.resident_bytes(path) == 0


def test_runs_are_read_directly_too(tmp_path):
    stats = IoStats()
    data = os.urandom(MIB + 5)
    space, run = spilled(tmp_path, data, "direct", stats)
    with space:
        fd = run.extents[0].file.handle.fd
        if cache.drop(fd) != 0:
            pytest.skip("this file system keeps its pages (tmpfs?)")
        with space.open_run(run) as reader:
            assert read_all(reader, 100_000) == data
        assert stats.notes == {}
        assert cache.resident_bytes(fd) == 0


# Errors, growth, hits.


@pytest.mark.parametrize("failing_n", range(1, 6))
@pytest.mark.parametrize("kind", ["pread", "direct"])
def test_an_error_of_any_read_ends_there(path, monkeypatch, kind, failing_n):
    expected = content(path)
    real, calls = os.preadv, []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == failing_n:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*arguments)

    monkeypatch.setattr(os, "preadv", fail)
    got = b""
    view = memoryview(bytearray(MIB))
    with open_input(path, Access(kind), IoStats()) as reader:
        with pytest.raises(SortError) as caught:
            while n := reader.readinto(view):
                got += view[:n]
        assert message(caught.value) == f"read failed: {os.fsdecode(path)}: Input/output error"
    assert got == expected[: (failing_n - 1) * MIB]


@needs_guard
@pytest.mark.parametrize("failing_n", range(1, 5))
def test_a_mapped_page_that_the_disk_does_not_give_is_read_for_its_reason(path, monkeypatch, failing_n):
    copies = []
    real = guard.copy

    def fail(source, target):
        copies.append(len(target))
        return len(copies) != failing_n and real(source, target)

    def refuse(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(guard, "copy", fail)
    way = access("mmap", map_bytes=MIB)
    expected = content(path)
    with open_input(path, way, IoStats()) as reader:
        assert read_all(reader, MIB // 2 + 1) == expected  # pread could read it after all
    copies.clear()
    monkeypatch.setattr(os, "preadv", refuse)
    with open_input(path, way, IoStats()) as reader, pytest.raises(SortError) as caught:
        read_all(reader, MIB)
    assert message(caught.value) == f"read failed: {os.fsdecode(path)}: Input/output error"


@pytest.mark.parametrize("kind", KINDS)
@given(
    sizes=st.lists(st.integers(1, 5 * PAGE), min_size=1, max_size=5), steps=st.lists(st.integers(0, 9000), max_size=8)
)
def test_a_file_that_grows_between_reads_is_read_to_its_end(kind, tmp_path_factory, sizes, steps):
    path = tmp_path_factory.getbasetemp() / "grows"
    data = os.urandom(100 + sum(steps))
    path.write_bytes(data[:100])
    written = 100
    got = b""
    with (
        open_input(os.fsencode(path), access(kind, map_bytes=2 * PAGE), IoStats()) as reader,
        path.open("ab", 0) as file,
    ):
        for step in [*steps, 0, 0]:
            view = memoryview(bytearray(sizes[len(got) % len(sizes)]))
            got += view[: reader.readinto(view)]
            file.write(data[written : written + step])
            written += step
        got += read_all(reader)
    assert got == data


@needs_nowait
def test_hits_are_counted_only_where_they_are_asked_for(path):
    block = 4096
    with Handle.open(path, os.O_RDONLY) as handle:
        os.posix_fadvise(handle.fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(handle.fd, 16 * block, 0)
    stats = IoStats(count_hits=True)
    with open_input(path, Access(strategy=parse_hints(b"random", b"-")), stats) as reader:
        view = memoryview(bytearray(8 * block))
        for _ in range(4):
            reader.readinto(view)
    assert stats.blocks_n == 32
    assert stats.hit_blocks_n == 16
    assert stats.read_blocks_n == 16
    unasked = IoStats()
    with open_input(path, Access(), unasked) as reader:
        assert len(read_all(reader)) == 3 * MIB + 77
    assert unasked.hit_blocks_n is None


@needs_nowait
@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_hits_are_not_known_where_the_system_does_not_tell(path, monkeypatch, number):
    real = os.preadv

    def refuse(fd, buffers, offset, flags=0):
        if flags & RWF_NOWAIT:
            raise OSError(number, "")
        return real(fd, buffers, offset, flags)

    expected = content(path)
    monkeypatch.setattr(os, "preadv", refuse)
    stats = IoStats(count_hits=True)
    with open_input(path, Access(), stats) as reader:
        assert read_all(reader) == expected
    assert stats.hit_blocks_n is None


@needs_nowait
def test_an_error_behind_cached_bytes_is_told_by_the_next_read(path, monkeypatch):
    with Handle.open(path, os.O_RDONLY) as handle:
        os.posix_fadvise(handle.fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(handle.fd, 2 * PAGE, 0)
    real = os.preadv

    def fail(fd, buffers, offset, flags=0):
        if offset >= 2 * PAGE or not flags & RWF_NOWAIT:
            number = errno.EAGAIN if flags & RWF_NOWAIT else errno.EIO
            raise OSError(number, os.strerror(number))
        return real(fd, buffers, offset, flags)

    monkeypatch.setattr(os, "preadv", fail)
    with open_input(path, Access(strategy=parse_hints(b"random", b"-")), IoStats(count_hits=True)) as reader:
        view = memoryview(bytearray(4 * PAGE))
        assert reader.readinto(view) == 2 * PAGE
        with pytest.raises(SortError, match="Input/output error"):
            reader.readinto(view)


def test_runs_are_read_in_pieces_of_the_read_size(tmp_path):
    data = os.urandom(100_000)
    space, run = spilled(tmp_path, data, "pread", IoStats(), read_bytes=8192)
    with space, space.open_run(run) as reader:
        view = memoryview(bytearray(50_000))
        sizes = []
        while n := reader.readinto(view):
            sizes.append(n)
    assert sizes == [8192] * 12 + [100_000 - 12 * 8192]
