"""Spilled runs come back byte for byte, and a byte that changed is always noticed."""

from __future__ import annotations

import errno
import os
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_support import KINDS, access, message, read_all, read_in_turns

from pysort.errors import SortError
from pysort.storage import runreader
from pysort.storage.iostats import IoStats
from pysort.storage.spill import SpillSpace


def make_space(directory, block_bytes, kind="pread", **options):
    return SpillSpace([os.fsencode(directory)], block_bytes, access(kind, **options), IoStats())


def spill(space, *pieces):
    writer = space.start_run()
    for piece in pieces:
        writer.write(memoryview(piece))
    return writer.finish()


@pytest.fixture(params=KINDS)
def broken(request, tmp_path):
    """A run of 200 bytes in blocks of 64, the way to change its file, and a reader of the kind."""
    with make_space(tmp_path, 64, request.param) as space:
        spill(space, b"neighbour")
        run = spill(space, bytes(range(200)))
        yield space, run, run.extents[0].file.handle.fd, run.extents[0].offset


@pytest.mark.parametrize("kind", KINDS)
@given(
    runs=st.lists(st.lists(st.binary(max_size=9000), max_size=5), min_size=1, max_size=3),
    block_bytes=st.integers(1, 5000),
    blocks_n=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    map_bytes=st.integers(1, 20_000),
    file_limit=st.sampled_from([resource.RLIM_INFINITY, 4096, 5000, 8191, 30_000]),
    release=st.booleans(),
)
def test_any_writes_come_back_through_any_reads(
    kind, tmp_path_factory, *, runs, block_bytes, blocks_n, map_bytes, file_limit, release
):
    directory = tmp_path_factory.getbasetemp()
    with (
        pytest.MonkeyPatch.context() as patch,
        make_space(directory, block_bytes, kind, map_bytes=map_bytes) as space,
    ):
        patch.setattr(resource, "getrlimit", lambda which: (file_limit, file_limit))
        patch.setattr(runreader, "PUNCH_BYTES", 5000)
        spilled = [spill(space, *pieces) for pieces in runs]
        assert [run.length for run in spilled] == [sum(map(len, pieces)) for pieces in runs]
        for run in spilled:
            assert len(run.checksums.values) == -(-run.length // block_bytes)
        readers = [space.open_run(run) for run in spilled]
        got = read_in_turns(readers, [n * block_bytes for n in blocks_n], release)
        assert got == [b"".join(pieces) for pieces in runs]
        if release:
            for reader in readers:
                reader.release()
            assert space.counters.held_bytes == 0


def test_every_changed_byte_is_noticed_and_its_block_named(broken):
    space, run, fd, offset = broken
    original = os.pread(fd, 200, offset)
    for i in range(200):
        for bit in (1, 128):
            os.pwrite(fd, bytes([original[i] ^ bit]), offset + i)
            with space.open_run(run) as reader, pytest.raises(SortError) as caught:
                read_all(reader, 64)
            block = i - i % 64
            directory = os.fsdecode(run.directory)
            assert message(caught.value) == (f"read failed: {directory}: checksum mismatch (run 1, offset {block})")
            assert caught.value.status == 2
        os.pwrite(fd, original[i : i + 1], offset + i)
    assert read_all(space.open_run(run), 64) == original


def test_blocks_before_the_broken_one_are_delivered(broken):
    space, run, fd, offset = broken
    os.pwrite(fd, b"\xff", offset + 130)
    view = memoryview(bytearray(64))
    with space.open_run(run) as reader:
        assert reader.readinto(view) == 64
        assert reader.readinto(view) == 64
        with pytest.raises(SortError):
            reader.readinto(view)


def test_two_swapped_blocks_are_noticed(broken):
    space, run, fd, offset = broken
    first, second = os.pread(fd, 64, offset), os.pread(fd, 64, offset + 64)
    os.pwrite(fd, second + first, offset)
    with space.open_run(run) as reader, pytest.raises(SortError, match="mismatch"):
        read_all(reader)


def test_a_file_that_lost_its_end_is_an_error(broken):
    space, run, fd, offset = broken
    os.truncate(fd, offset + 150)
    with space.open_run(run) as reader, pytest.raises(SortError) as caught:
        read_all(reader, 64)
    directory = os.fsdecode(run.directory)
    assert message(caught.value) == (f"read failed: {directory}: unexpected end of file (run 1, offset 150)")


def test_a_failing_read_names_the_run_and_keeps_the_errno(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with make_space(tmp_path, 64) as space:
        run = spill(space, bytes(200))
        reader = space.open_run(run)
        assert reader.readinto(memoryview(bytearray(64))) == 64
        monkeypatch.setattr(os, "preadv", fail)
        with pytest.raises(SortError) as caught:
            reader.readinto(memoryview(bytearray(200)))
    assert message(caught.value) == (f"read failed: {tmp_path}: Input/output error (run 0, offset 64)")
    assert caught.value.errno == errno.EIO


@given(takes=st.lists(st.integers(1, 70), min_size=1))
def test_short_reads_are_continued(tmp_path_factory, takes):
    data = bytes(range(256)) * 2
    real, turns = os.preadv, iter(takes * 512)
    directory = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch, make_space(directory, 100) as space:
        run = spill(space, data)
        patch.setattr(os, "preadv", lambda fd, views, offset: real(fd, [views[0][: next(turns)]], offset))
        assert read_all(space.open_run(run), 300) == data


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_takes_whole_blocks_and_then_the_rest(kind, tmp_path):
    with make_space(tmp_path, 64, kind) as space:
        reader = space.open_run(spill(space, bytes(200)))
        sizes = [reader.readinto(memoryview(bytearray(n))) for n in (64, 127, 128, 10)]
        assert sizes == [64, 64, 72, 0]
        with pytest.raises(ValueError, match="block"):
            space.open_run(spill(space, bytes(200))).readinto(memoryview(bytearray(63)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_run_ends_at_once(kind, tmp_path):
    with make_space(tmp_path, 64, kind) as space:
        run = spill(space)
        reader = space.open_run(run)
        assert (run.length, reader.readinto(memoryview(bytearray(64)))) == (0, 0)
        reader.release()


def test_a_mapped_run_is_never_read(tmp_path, monkeypatch):
    data = os.urandom(50_000)
    with make_space(tmp_path, 100, "mmap", map_bytes=5000) as space:
        run = spill(space, data)
        monkeypatch.setattr(os, "preadv", None)
        assert read_all(space.open_run(run)) == data


def test_a_mapped_run_keeps_no_descriptor_behind(tmp_path):
    with make_space(tmp_path, 64, "mmap", map_bytes=4096) as space:
        run = spill(space, bytes(10_000))
        before = os.listdir("/proc/self/fd")
        with space.open_run(run) as reader:
            reader.readinto(memoryview(bytearray(64)))
        read_all(space.open_run(run))
        assert os.listdir("/proc/self/fd") == before
