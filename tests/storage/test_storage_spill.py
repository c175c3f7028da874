"""Spill files: nothing left in the directory, space given back, and what if the disk says no."""

from __future__ import annotations

import errno
import os
import re
import resource
import subprocess
import time

import pytest
from storage_support import KINDS, access, message, read_all, run_python

from pysort.errors import SortError
from pysort.storage import runreader, spillfile, syscalls
from pysort.storage import spill as spill_module
from pysort.storage.hints import Strategy
from pysort.storage.iostats import IoStats
from pysort.storage.spill import SpillSpace
from pysort.storage.workers import Workers

BLOCK = 64 << 10
MIB = 1 << 20


def make_space(*directories, block_bytes=BLOCK, kind="pread", strategy=None, **options):
    names = [os.fsencode(directory) for directory in directories]
    return SpillSpace(names, block_bytes, access(kind, strategy, **options), IoStats())


def spill(space, data):
    writer = space.start_run()
    writer.write(memoryview(data))
    return writer.finish()


def file_of(run, i=0):
    return run.extents[i].file


def status_of(run):
    return os.fstat(file_of(run).handle.fd)


@pytest.fixture(params=["O_TMPFILE", "unlink"])
def either_way(request, monkeypatch):
    """Run the test with files that never had a name, and with files that lost it at once."""
    if request.param == "unlink":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("no O_TMPFILE here")
    return request.param


def test_the_directory_stays_empty_while_the_file_is_open(either_way, tmp_path):
    with make_space(tmp_path) as space:
        run = spill(space, b"b\na\n")
        assert os.listdir(tmp_path) == []
        status = status_of(run)
        assert (status.st_nlink, status.st_mode & 0o777) == (0, 0o600)
        assert not os.get_inheritable(file_of(run).handle.fd)
        assert read_all(space.open_run(run)) == b"b\na\n"
    assert os.listdir(tmp_path) == []


def test_a_file_system_without_unnamed_files_gets_named_ones(tmp_path, monkeypatch):
    real, names = os.open, []

    def refuse(path, flags, mode=0o777):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        names.append(path)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    with make_space(tmp_path) as space:
        spill(space, b"a\n")
    assert len(names) == 1
    assert names[0].startswith(os.fsencode(tmp_path) + b"/sort")
    assert len(names[0]) == len(os.fsencode(tmp_path)) + len("/sortXXXXXX")


def test_a_name_that_is_taken_is_not_touched(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    taken = tmp_path / "sortaaaaaa"
    taken.symlink_to(tmp_path / "elsewhere")
    numbers = iter([bytes(6), bytes(6), b"\1" * 6])
    monkeypatch.setattr(os, "urandom", lambda n: next(numbers))
    with make_space(tmp_path) as space:
        spill(space, b"a\n")
    assert os.listdir(tmp_path) == ["sortaaaaaa"]
    assert next(numbers, None) is None


def test_a_missing_directory_is_named_always_in_quotes(either_way):
    with make_space("/nonexistent") as space, pytest.raises(SortError) as caught:
        space.start_run()
    assert message(caught.value) == ("cannot create temporary file in '/nonexistent': No such file or directory")
    assert caught.value.status == 2


def test_a_file_is_no_temporary_directory(either_way, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"precious")
    with make_space(path) as space, pytest.raises(SortError) as caught:
        space.start_run()
    assert caught.value.errno == errno.ENOTDIR
    assert path.read_bytes() == b"precious"


def test_directories_take_turns_and_are_touched_only_then(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    with make_space(first, second, "/nonexistent") as space:
        runs = [spill(space, b"x"), spill(space, b"y")]
        assert [run.directory for run in runs] == [os.fsencode(first), os.fsencode(second)]
        with pytest.raises(SortError):
            space.start_run()


def test_a_thousand_runs_cost_one_descriptor(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    with make_space(tmp_path, block_bytes=16) as space:
        runs = [spill(space, b"%d\n" % i) for i in range(1000)]
        readers = [space.open_run(run) for run in runs]
        assert [read_all(reader) for reader in readers] == [b"%d\n" % i for i in range(1000)]
        assert len(os.listdir("/proc/self/fd")) == before + 1
        assert all(run.extents[0].offset % 4096 == 0 for run in runs)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("kind", KINDS)
def test_many_runs_are_merged_under_a_tiny_descriptor_limit(kind, tmp_path):
    # Mapping takes a descriptor per window; where there is none left, pread does it.
    script = """if True:
        import os, resource, sys
        from pysort.storage.access import Access
        from pysort.storage.iostats import IoStats
        from pysort.storage.spill import SpillSpace
        stats = IoStats()
        with SpillSpace([os.fsencode(sys.argv[1])], 4, Access(sys.argv[2]), stats) as space:
            runs = []
            for i in range(30):
                writer = space.start_run()
                writer.write(memoryview(b"%04d" % i * 100))
                runs.append(writer.finish())
            resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7))
            readers = [space.open_run(run) for run in runs]
            view = memoryview(bytearray(4))
            for _ in range(100):
                for i, reader in enumerate(readers):
                    assert reader.readinto(view) == 4 and view == b"%04d" % i
            assert not any(reader.readinto(view) for reader in readers)
    """
    run_python(script, tmp_path, kind)


def test_hints_reach_each_spill_file_once(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *args: given.append(args))
    with make_space(tmp_path, strategy=Strategy("random", ("noreuse",))) as space:
        runs = [spill(space, b"a"), spill(space, b"b")]
        assert given == []
        for run in runs:
            read_all(space.open_run(run))
        fd = file_of(runs[0]).handle.fd
        expected = [os.POSIX_FADV_RANDOM, os.POSIX_FADV_NOREUSE]
        assert given == [(fd, 0, 0, advice) for advice in expected]


def test_counters_tell_what_was_written_and_what_is_held(tmp_path):
    with make_space(tmp_path) as space:
        first = spill(space, bytes(3 * MIB))
        spill(space, bytes(2 * MIB))
        reader = space.open_run(first)
        read_all(reader)
        reader.release()
        spill(space, bytes(1 * MIB))
        counters = space.counters
        assert (counters.runs_n, counters.written_bytes) == (3, 6 * MIB)
        assert (counters.held_bytes, counters.peak_bytes) == (3 * MIB, 5 * MIB)
        assert space.stats.write_bytes == 6 * MIB


@pytest.mark.parametrize("kind", KINDS)
def test_a_consumed_run_frees_its_blocks_and_its_neighbours_stay(kind, tmp_path):
    # 65521: so that batches end in the middle of a page.
    with make_space(tmp_path, kind=kind, block_bytes=65521, map_bytes=4 * MIB) as space:
        data = [os.urandom(n) for n in (3 * MIB + 1, 20 * MIB + 5, 3 * MIB + 2)]
        runs = [spill(space, part) for part in data]
        os.fsync(file_of(runs[0]).handle.fd)
        full = status_of(runs[1])
        reader = space.open_run(runs[1])
        view = memoryview(bytearray(MIB))
        got = b""
        blocks = []
        while n := reader.readinto(view):
            got += view[:n]
            reader.release()
            blocks.append(status_of(runs[1]).st_blocks)
        if space.counters.held_bytes == sum(map(len, data)):
            pytest.skip("this file system punches no holes")
        assert got == data[1]
        # Batches of 8 MiB while reading, the rest at the end; 512 bytes a block, some metadata.
        assert blocks[6] == full.st_blocks
        assert full.st_blocks - blocks[12] >= 8 * MIB // 512
        fd = file_of(runs[1]).handle.fd
        hole = runs[1].extents[0].offset
        assert os.lseek(fd, hole, os.SEEK_HOLE) == hole
        assert os.lseek(fd, hole, os.SEEK_DATA) == runs[2].extents[0].offset
        assert status_of(runs[1]).st_size == full.st_size
        assert space.counters.held_bytes == len(data[0]) + len(data[2])
        assert [read_all(space.open_run(run)) for run in (runs[0], runs[2])] == [data[0], data[2]]


def test_no_hole_is_punched_under_a_live_mapping(tmp_path, monkeypatch):
    monkeypatch.setattr(runreader, "PUNCH_BYTES", 10_000)
    real, punched = syscalls.punch_hole, []

    def watched(fd, offset, length):
        window = reader._positional and reader._positional._window
        assert window is None or offset + length <= window.start
        punched.append(offset + length)
        return real(fd, offset, length)

    monkeypatch.setattr(syscalls, "punch_hole", watched)
    data = os.urandom(300_001)
    with make_space(tmp_path, kind="mmap", block_bytes=1000, map_bytes=20_000) as space:
        reader = space.open_run(spill(space, data))
        view = memoryview(bytearray(3000))
        got = b""
        while n := reader.readinto(view):
            got += view[:n]
            reader.release()
        reader.release()
    assert got == data
    assert len(punched) > 10
    assert punched == sorted(punched)


def test_where_holes_cannot_be_punched_the_space_stays_held(tmp_path, monkeypatch):
    monkeypatch.setattr(syscalls, "punch_hole", lambda *args: errno.EOPNOTSUPP)
    with make_space(tmp_path) as space:
        reader = space.open_run(spill(space, bytes(10 * MIB)))
        while reader.readinto(memoryview(bytearray(MIB))):
            reader.release()
        assert space.counters.held_bytes == 10 * MIB


def test_what_may_stay_dirty_is_not_written_out_early(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(syscalls, "sync_file_range", lambda *args: calls.append(args) or 0)
    with SpillSpace([os.fsencode(tmp_path)], BLOCK, access("pread"), IoStats(), dirty_bytes=256 * MIB) as space:
        writer = space.start_run()
        for _ in range(135):
            writer.write(memoryview(bytes(MIB)))
        assert calls == []
        writer.write(memoryview(bytes(MIB)))
    assert [args[1:] for args in calls] == [(0, 8 * MIB, 2)]  # SYNC_FILE_RANGE_WRITE


def test_a_bounded_number_of_windows_stays_dirty_behind_the_writer(tmp_path, monkeypatch):
    window = 1 << 16
    monkeypatch.setattr(spillfile, "WRITE_BEHIND_BYTES", window)
    monkeypatch.setattr(spill_module, "LEAST_DIRTY_BYTES", 4 * window)
    calls = []

    def record(fd, offset, length, flags):
        assert length == window
        calls.append((offset // window, flags))
        return 0

    monkeypatch.setattr(syscalls, "sync_file_range", record)
    with make_space(tmp_path) as space:
        writer = space.start_run()
        for _ in range(24):
            writer.write(memoryview(bytes(window // 4)))
    start, wait = 2, 7  # SYNC_FILE_RANGE_WRITE; that and both waits
    assert calls == [
        (0, start),
        (1, start),
        (2, start),
        (0, wait),
        (3, start),
        (1, wait),
    ]


@pytest.mark.parametrize("missing", ["errno", "function"])
def test_without_sync_file_range_runs_are_written_all_the_same(missing, tmp_path, monkeypatch):
    monkeypatch.setattr(spillfile, "WRITE_BEHIND_BYTES", 4096)
    monkeypatch.setattr(spill_module, "LEAST_DIRTY_BYTES", 2 * 4096)
    calls = []
    if missing == "errno":
        refuse = lambda *args: calls.append(args) or errno.ENOSYS  # noqa: E731
        monkeypatch.setattr(syscalls, "sync_file_range", refuse)
    else:
        monkeypatch.setattr(syscalls, "_function", lambda *names: calls.append(names))
    data = os.urandom(100_000)
    with make_space(tmp_path) as space:
        assert read_all(space.open_run(spill(space, data)), BLOCK) == data
    assert len(calls) == 1


def test_a_write_out_that_fails_later_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(spillfile, "WRITE_BEHIND_BYTES", 4096)
    monkeypatch.setattr(spill_module, "LEAST_DIRTY_BYTES", 2 * 4096)
    monkeypatch.setattr(syscalls, "sync_file_range", lambda *args: errno.EIO)
    with make_space(tmp_path) as space, pytest.raises(SortError) as caught:
        spill(space, bytes(10_000))
    assert message(caught.value) == (f"write failed: {tmp_path}: Input/output error (run 0, offset 0)")


def test_a_run_goes_on_in_another_file_when_one_may_not_grow(tmp_path, monkeypatch):
    limit, real = 10_000, os.pwrite

    def limited(fd, view, offset):
        if offset >= limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return real(fd, view[: limit - offset], offset)

    monkeypatch.setattr(os, "pwrite", limited)
    data = os.urandom(25_000)
    for kind in KINDS:
        with make_space(tmp_path, kind=kind, block_bytes=3000) as space:
            run = spill(space, data)
            assert [extent.length for extent in run.extents] == [10_000, 10_000, 5_000]
            after = spill(space, b"next")
            assert file_of(after) is file_of(run, 2)
            assert read_all(space.open_run(run), 6000) == data
            assert read_all(space.open_run(after)) == b"next"
    assert os.listdir(tmp_path) == []


def test_a_file_size_limit_is_lived_with_even_where_its_signal_kills(tmp_path):
    script = """if True:
        import os, resource, signal, sys
        from pysort.storage.access import Access
        from pysort.storage.iostats import IoStats
        from pysort.storage.spill import SpillSpace
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        data = os.urandom((3 << 20) + 7)
        with SpillSpace([os.fsencode(sys.argv[1])], 65521, Access(), IoStats()) as space:
            writer = space.start_run()
            writer.write(memoryview(data))
            run = writer.finish()
            assert [extent.length for extent in run.extents] == [1 << 20] * 3 + [7]
            got = bytearray(len(data))
            assert space.open_run(run).readinto(memoryview(got)) == len(data)
            assert got == data
    """
    run_python(script, tmp_path)


def test_a_limit_of_nothing_is_an_error_and_not_an_endless_search(tmp_path, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (0, 0))
    with make_space(tmp_path) as space, pytest.raises(SortError) as caught:
        spill(space, b"x")
    assert message(caught.value) == f"write failed: {tmp_path}: File too large (run 0, offset 0)"


@pytest.fixture
def tiny_disk(tmp_path):
    directory = tmp_path / "tiny"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", directory]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting takes root")
    yield directory
    subprocess.run(["umount", directory], check=True)


def test_a_full_disk_names_the_directory_the_run_and_the_offset(tiny_disk):
    with make_space(tiny_disk) as space:
        spill(space, bytes(100))
        with pytest.raises(SortError) as caught:
            spill(space, bytes(2 * MIB))
    # The first run takes one page of the disk's 256.
    assert message(caught.value) == (
        f"write failed: {tiny_disk}: No space left on device (run 1, offset {MIB - 4096})\n"
        f"temporary space: more than {MIB - 4096 + 100} bytes needed, 0 free in {tiny_disk}"
    )
    assert (caught.value.errno, caught.value.status) == (errno.ENOSPC, 2)
    assert os.listdir(tiny_disk) == []


@pytest.fixture
def room(monkeypatch):
    """Bytes that each file takes by its directory, as far as the test says so; then the disk or the quota is full."""
    left = {}
    real = os.pwrite

    def pwrite(fd, view, offset):
        directory = os.path.dirname(os.readlink(f"/proc/self/fd/{fd}"))
        free = left.get(directory, len(view))
        if not free:
            number = errno.EDQUOT if directory.endswith("quota") else errno.ENOSPC
            raise OSError(number, os.strerror(number))
        n = real(fd, view[:free], offset)
        if directory in left:
            left[directory] -= n
        return n

    monkeypatch.setattr(os, "pwrite", pwrite)
    return left


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_in_the_next_directory_when_one_is_full(kind, tmp_path, room):
    names = [tmp_path / name for name in ("a", "quota", "c")]
    for name in names:
        name.mkdir()
    room[str(names[0])] = 5000
    room[str(names[1])] = 300
    data = [os.urandom(20_000) for _ in range(4)]
    with make_space(*names, block_bytes=4096, kind=kind) as space:
        runs = [spill(space, piece) for piece in data]
        directories = [[extent.file.directory for extent in run.extents] for run in runs]
        a, quota, c = map(os.fsencode, names)
        assert directories == [[a, quota, c], [c], [c], [c]]
        assert all(extent.offset % 4096 == 0 for run in runs for extent in run.extents)
        readers = [space.open_run(run) for run in runs]
        assert [read_all(reader) for reader in readers] == data
        for reader in readers:
            reader.release()
            reader.close()
        assert space.counters.held_bytes == 0


def test_when_all_directories_are_full_the_one_that_filled_last_is_named(tmp_path, room):
    names = [tmp_path / name for name in ("a", "b")]
    for name in names:
        name.mkdir()
        room[str(name)] = 5000
    with make_space(*names) as space, pytest.raises(SortError) as caught:
        spill(space, bytes(20_000))
    first, second = message(caught.value).split("\n")
    assert first == f"write failed: {names[1]}: No space left on device (run 0, offset 10000)"
    # The disk itself is not full here.
    told = re.fullmatch(
        r"temporary space: more than 10000 bytes needed, (\d+) free in (.*), (\d+) free in (.*)", second
    )
    assert told
    assert [told[2], told[4]] == [str(name) for name in names]
    assert int(told[1]) > 0


@pytest.mark.parametrize(
    ("needed", "text"),
    [
        (None, "more than 300 bytes needed"),
        (250, "more than 300 bytes needed"),
        (999, "up to 999 bytes needed, 300 written"),
    ],
)
def test_a_quota_that_is_used_up(needed, text, tmp_path, room):
    directory = tmp_path / "quota"
    directory.mkdir()
    room[str(directory)] = 300
    space = SpillSpace([os.fsencode(directory)], BLOCK, access("pread"), IoStats(), needed_bytes=needed)
    with space, pytest.raises(SortError) as caught:
        spill(space, bytes(1000))
    assert message(caught.value) == (
        f"write failed: {directory}: Disk quota exceeded (run 0, offset 300)\ntemporary space: {text}"
    )
    assert caught.value.errno == errno.EDQUOT


def test_free_space_that_cannot_be_asked_for_is_left_out(tmp_path, room, monkeypatch):
    def refuse(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    room[str(tmp_path)] = 300
    monkeypatch.setattr(os, "statvfs", refuse)
    with make_space(tmp_path) as space, pytest.raises(SortError) as caught:
        spill(space, bytes(1000))
    assert message(caught.value).endswith(" (run 0, offset 300)\ntemporary space: more than 300 bytes needed")


def test_space_given_back_can_be_written_again(tiny_disk):
    with make_space(tiny_disk) as space:
        for _ in range(5):
            run = spill(space, bytes(800_000))
            with space.open_run(run) as reader:
                read_all(reader)
                reader.release()
        assert space.counters.peak_bytes == 800_000


def test_close_closes_every_file_whatever_close_says(tmp_path, monkeypatch):
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    space = make_space(first, second)
    runs = [spill(space, b"x"), spill(space, b"y")]
    real = os.close

    def failing(fd):
        real(fd)
        raise OSError(errno.EIO, f"close of {fd}")

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", failing)
        space.close()
    assert all(file_of(run).handle.closed for run in runs)
    space.close()


def test_readers_that_begin_at_the_same_time_share_one_descriptor_for_direct_reading(tmp_path, monkeypatch):
    with make_space(tmp_path) as space:
        file = file_of(spill(space, b"x"))
        before = len(os.listdir("/proc/self/fd"))
        real = file.handle.reopen

        def slow(handle):
            time.sleep(0.05)  # while the other thread asks too
            return real()

        monkeypatch.setattr(type(file.handle), "reopen", slow)
        team = Workers(2)
        jobs = [team.submit(lambda: file.direct_handle().fd) for _ in range(2)]
        numbers = {job.wait() for job in jobs}
        team.close()
        assert len(numbers) == 1
        assert len(os.listdir("/proc/self/fd")) == before + 1
