"""Runs that pass through a program: the same bytes come back, or a message says why not, and no process is left."""

from __future__ import annotations

import errno
import os
import signal
import time

import pytest
from storage_support import access, message, read_all, run_python

from pysort.errors import SortError
from pysort.storage import compressor, runreader, syscalls
from pysort.storage.compressor import Compressor, largest_fan_in
from pysort.storage.iostats import IoStats
from pysort.storage.spill import SpillSpace

BLOCK = 64 << 10
MIB = 1 << 20

REVERSER = "exec tr '\\000-\\377' '\\200-\\377\\000-\\177'"  # its own inverse, and every byte changes
DOUBLER = """if [ "$1" = -d ]; then exec sed 's/.//2g'; fi; exec sed 's/./&&/g'"""
FAILS_TO_READ = """if [ "$1" = -d ]; then exit 3; fi; exec cat"""
FORGETFUL = """if [ "$1" = -d ]; then exec head -c 100000; fi; exec cat"""
TALKATIVE = """if [ "$1" = -d ]; then cat; echo more; else exec cat; fi"""
CONFUSED = """if [ "$1" = -d ]; then exec tr a b; fi; exec cat"""
KNOWS_ITS_END = """if [ "$1" = -d ]; then exec head -c 300000; fi; cat; head -c 1000000 /dev/zero"""


@pytest.fixture
def program(tmp_path):
    """Makes a program out of a shell script without its first line; returns its path."""

    def make(script, name="PROG"):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return os.fsencode(path)

    return make


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def make_space(directory, name, warnings=None, block_bytes=BLOCK):
    warn = pytest.fail if warnings is None else lambda error: warnings.append(message(error))
    return SpillSpace([os.fsencode(directory)], block_bytes, access(), IoStats(), compressor=Compressor(name, warn))


def spill(space, data, piece=MIB):
    writer = space.start_run()
    for at in range(0, len(data), piece):
        writer.write(memoryview(data)[at : at + piece])
    return writer.finish()


def stored(run):
    return b"".join(os.pread(extent.file.handle.fd, extent.length, extent.offset) for extent in run.extents)


@pytest.mark.parametrize("n", [1, 1000, BLOCK, BLOCK + 1, 3 * MIB + 7])
@pytest.mark.parametrize("piece", [1000, 5 * MIB])
def test_a_run_comes_back_as_it_was(n, piece, tmp_path, program):
    data = os.urandom(n)
    with make_space(tmp_path, program(REVERSER)) as space:
        run = spill(space, data, piece)
        assert stored(run) == bytes(byte ^ 128 for byte in data)
        assert (run.length, run.stored_bytes, len(run.checksums.values)) == (n, n, -(-n // BLOCK))
        with space.open_run(run) as reader:
            assert read_all(reader) == data
            assert (reader.position, reader.remaining) == (n, 0)
            assert reader.readinto(memoryview(bytearray(BLOCK))) == 0


def test_runs_that_shrink_and_grow_share_one_file_and_are_read_at_the_same_time(tmp_path, program):
    before = len(os.listdir("/proc/self/fd"))
    with make_space(tmp_path, program(DOUBLER), block_bytes=1000) as space:
        texts = [b"%d\n" % i * 20_000 for i in range(8)]
        runs = [spill(space, text) for text in texts]
        assert all(run.stored_bytes > run.length for run in runs)
        assert len(os.listdir("/proc/self/fd")) == before + 1
        assert space.counters.written_bytes == sum(run.stored_bytes for run in runs)
        readers = [space.open_run(run) for run in runs]
        got = [b""] * len(runs)
        view = memoryview(bytearray(3000))
        while any(reader.remaining for reader in readers):
            for i, reader in enumerate(readers):
                got[i] += view[: reader.readinto(view)]
        assert got == texts


def test_space_of_what_the_program_has_taken_is_given_back(tmp_path, program, monkeypatch):
    monkeypatch.setattr(runreader, "PUNCH_BYTES", 10_000)
    punched = []
    monkeypatch.setattr(syscalls, "punch_hole", lambda fd, offset, length: punched.append((offset, length)) or 0)
    data = os.urandom(MIB)
    with make_space(tmp_path, program(REVERSER)) as space, space.open_run(spill(space, data)) as reader:
        view = memoryview(bytearray(BLOCK))
        while reader.readinto(view):
            assert space.counters.held_bytes >= reader.remaining
            reader.release()
        assert space.counters.held_bytes == 0
        assert len(punched) > 3


@pytest.mark.parametrize(
    ("script", "size", "text"),
    [
        ("cat > /dev/null; exit 1", 1000, "'{name}' [-d] terminated abnormally"),
        ("cat > /dev/null; kill -9 $$", 1000, "'{name}' [-d] terminated abnormally"),
        ("exit 1", MIB, "write failed: {tmp}: Broken pipe (run 0, offset {n})"),
        ("exit 0", MIB, "write failed: {tmp}: Broken pipe (run 0, offset {n})"),
        ("exec head -c 1", MIB, "write failed: {tmp}: Broken pipe (run 0, offset {n})"),
    ],
)
def test_a_program_that_does_not_compress_is_told_of(script, size, text, tmp_path, program):
    name = program(script)
    with make_space(tmp_path, name) as space:
        writer = space.start_run()
        with pytest.raises(SortError) as caught:
            writer.write(memoryview(bytes(size)))
            writer.finish()
    expected = text.format(name=os.fsdecode(name), tmp=tmp_path, n=writer.length)
    assert (message(caught.value), caught.value.status) == (expected, 2)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (FAILS_TO_READ, "'{name}' [-d] terminated abnormally"),
        (FORGETFUL, "read failed: {tmp}: unexpected end of file (run 0, offset 100000)"),
        (TALKATIVE, "read failed: {tmp}: more data than was written (run 0, offset 300000)"),
        (CONFUSED, "read failed: {tmp}: checksum mismatch (run 0, offset 0)"),
        ("exec cat > /dev/null", "read failed: {tmp}: unexpected end of file (run 0, offset 0)"),
    ],
)
def test_a_program_that_does_not_bring_the_run_back_is_told_of(script, text, tmp_path, program):
    name = program(script)
    with make_space(tmp_path, name, block_bytes=300_000) as space:
        run = spill(space, b"a" * 300_000)
        reader = space.open_run(run)
        with pytest.raises(SortError) as caught:
            read_all(reader, 300_000)
    assert message(caught.value) == text.format(name=os.fsdecode(name), tmp=tmp_path)


def test_a_program_may_know_itself_where_its_data_end(tmp_path, program):
    data = os.urandom(300_000)
    with make_space(tmp_path, program(KNOWS_ITS_END)) as space:
        run = spill(space, data)
        assert run.stored_bytes == 1_300_000
        assert read_all(space.open_run(run)) == data


def test_without_the_program_runs_are_stored_as_they_are_and_the_user_is_warned_once(tmp_path, program):
    warnings = []
    with make_space(tmp_path, b"no-such-program", warnings) as space:
        runs = [spill(space, b"a\n"), spill(space, b"b\n")]
        assert [read_all(space.open_run(run)) for run in runs] == [b"a\n", b"b\n"]
        assert [stored(run) for run in runs] == [b"a\n", b"b\n"]
    assert warnings == ["could not run compress program 'no-such-program': No such file or directory"]


def test_the_warning_is_repeated_when_the_reason_changes_and_the_program_used_once_it_is_there(tmp_path, program):
    warnings = []
    path = tmp_path / "late"
    with make_space(tmp_path, os.fsencode(path), warnings) as space:
        spill(space, b"a\n")
        path.write_text("exec cat\n")
        spill(space, b"a\n")
        path.chmod(0o755)
        spill(space, b"a\n")
        spill(space, b"a\n")
        path.unlink()
        program(REVERSER, "late")
        assert stored(spill(space, b"a\n")) == b"\xe1\x8a"
    reasons = ["No such file or directory", "Permission denied", "Exec format error"]
    assert warnings == [f"could not run compress program '{path}': {reason}" for reason in reasons]


def test_a_program_that_has_gone_when_runs_are_read_is_an_error(tmp_path, program):
    name = program("exec cat")
    with make_space(tmp_path, name) as space:
        run = spill(space, b"a\n")
        os.unlink(name)
        with pytest.raises(SortError) as caught:
            space.open_run(run)
    expected = f"could not run compress program '{os.fsdecode(name)}' -d: No such file or directory"
    assert (message(caught.value), caught.value.errno, caught.value.status) == (expected, errno.ENOENT, 2)


def test_the_program_is_looked_up_in_path_and_its_name_may_have_spaces(tmp_path, program, monkeypatch):
    locked, good = tmp_path / "1", tmp_path / "2"
    for directory in (locked, good):
        directory.mkdir()
    (locked / "my prog").write_text("not to be executed")
    program(REVERSER, "2/my prog")
    warnings = []
    monkeypatch.setenv("PATH", f"{tmp_path}/missing:{locked}:{good}:/bin:/usr/bin")
    with make_space(tmp_path, b"my prog") as space:
        assert stored(spill(space, b"a\n")) == b"\xe1\x8a"
    monkeypatch.setenv("PATH", f"{locked}:{tmp_path}/missing")
    with make_space(tmp_path, b"my prog", warnings) as space:
        spill(space, b"a\n")
    with make_space(tmp_path, b"", warnings) as space:
        spill(space, b"a\n")
    assert warnings == [
        "could not run compress program 'my prog': Permission denied",
        "could not run compress program '': No such file or directory",
    ]


def test_an_empty_directory_in_path_is_the_current_one(tmp_path, program, monkeypatch):
    program(REVERSER, "prog")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ":/bin:/usr/bin")
    with make_space(tmp_path, b"prog") as space:
        assert stored(spill(space, b"a\n")) == b"\xe1\x8a"


def test_programs_get_the_three_standard_descriptors_and_default_signals(tmp_path, program):
    inherited = {int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) < 3 or is_inheritable(int(fd))}
    name = program("grep SigIgn /proc/self/status; read go; exec ls /proc/self/fd")
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN
    compressor = Compressor(name, pytest.fail)
    children = [compressor.compress() for _ in range(3)]
    for child in children:
        child.give(memoryview(b"go\n"))
    for child in children:
        view = memoryview(bytearray(4096))
        text = b""
        while n := child.take(view):
            text += view[:n]
        child.wait()
        _, ignored, *descriptors = text.split()
        assert int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0
        assert len({int(fd) for fd in descriptors} - inherited) == 1  # the directory that ls reads


def is_inheritable(fd):
    try:
        return os.get_inheritable(fd)
    except OSError:  # the directory that was listed
        return False


def test_what_still_runs_when_all_is_closed_is_ended(tmp_path, program):
    started = time.monotonic()
    with make_space(tmp_path, program('if [ "$1" = -d ]; then sleep 50 <&- >&- & wait; fi; exec cat')) as space:
        run = spill(space, b"a\n")
        space.open_run(run)
        space.start_run()
    assert time.monotonic() - started < 40


def test_a_program_that_reads_no_more_brings_no_signal(tmp_path, program):
    name = program("exit 0")
    script = """if True:
        import os, signal, sys
        from pysort.errors import SortError
        from pysort.storage.compressor import Compressor
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        child = Compressor(os.fsencode(sys.argv[1]), print).compress()
        try:
            while True:
                child.ready()
                child.give(memoryview(bytes(65536)))
        except BrokenPipeError:
            pass
        assert signal.SIGPIPE not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        child.wait()
        os.kill(os.getpid(), signal.SIGTERM)
    """
    with pytest.raises(AssertionError):
        run_python(script, os.fsdecode(name))
    run_python(script.replace("os.kill(os.getpid(), signal.SIGTERM)", "print('alive')"), os.fsdecode(name))


def test_where_standard_descriptors_are_closed_pipes_stay_clear_of_them(tmp_path, program):
    script = """if True:
        import os, sys
        from pysort.storage.compressor import Compressor
        os.close(0)
        child = Compressor(os.fsencode(sys.argv[1]), print).compress()
        child.give(memoryview(b"ab"))
        child.end_input()
        view = memoryview(bytearray(10))
        assert (child.take(view), bytes(view[:2]), child.take(view)) == (2, b"\\xe1\\xe2", 0)
        child.wait()
    """
    run_python(script, os.fsdecode(program(REVERSER)))


@pytest.mark.parametrize(
    ("batch_size", "free", "expected"),
    [(None, None, 16), (100, None, 100), (None, 20_000, 16), (3, 20_000, 3), (100, 20_000, 100), (None, 0, 2)],
)
def test_the_fan_in_is_the_users_or_what_descriptors_allow(batch_size, free, expected):
    assert largest_fan_in(batch_size, free) == expected
    assert largest_fan_in(None, compressor.RESERVED_DESCRIPTORS_N + 11) == 5
