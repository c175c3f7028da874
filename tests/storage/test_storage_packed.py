"""Runs that are compressed block by block: the same bytes come back, and a byte that changed is always noticed."""

from __future__ import annotations

import errno
import os
import random
import resource
import sys
import zlib
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_support import KINDS, access, message, read_all, read_in_turns
from support import METHODS

from pysort.errors import SortError
from pysort.storage import runreader
from pysort.storage.codecs import load
from pysort.storage.iostats import IoStats
from pysort.storage.packed import Packer
from pysort.storage.spill import SpillSpace
from pysort.storage.workers import Workers

BLOCK = 64
methods = pytest.mark.parametrize("method", METHODS)
# Half of the blocks become smaller, half of them do not.
TEXT = b"".join(bytes([i]) * BLOCK + random.Random(i).randbytes(BLOCK) for i in range(65, 68)) + b"end" * 9

pieces = st.one_of(
    st.binary(max_size=3000),
    st.builds(lambda text, n: (text * n)[:5000], st.binary(min_size=1, max_size=9), st.integers(0, 5000)),
)


def make_space(directory, method, block_bytes=BLOCK, kind="pread", **options):
    return SpillSpace([os.fsencode(directory)], block_bytes, access(kind, **options), IoStats(), codec=load(method))


def spill(space, *pieces, workers=None):
    writer = space.start_run(workers)
    for piece in pieces:
        writer.write(memoryview(piece))
    return writer.finish()


@methods
@given(
    kind=st.sampled_from(KINDS),
    runs=st.lists(st.lists(pieces, max_size=5), min_size=1, max_size=3),
    block_bytes=st.integers(1, 1000),
    blocks_n=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    map_bytes=st.integers(1, 20_000),
    file_limit=st.sampled_from([resource.RLIM_INFINITY, 4096, 5000, 8191, 30_000]),
    release=st.booleans(),
)
def test_any_writes_come_back_through_any_reads(
    method, tmp_path_factory, *, kind, runs, block_bytes, blocks_n, map_bytes, file_limit, release
):
    directory = tmp_path_factory.getbasetemp()
    with (
        pytest.MonkeyPatch.context() as patch,
        make_space(directory, method, block_bytes, kind, map_bytes=map_bytes) as space,
    ):
        patch.setattr(resource, "getrlimit", lambda which: (file_limit, file_limit))
        patch.setattr(runreader, "PUNCH_BYTES", 3000)
        spilled = [spill(space, *pieces) for pieces in runs]
        for run, pieces in zip(spilled, runs, strict=True):
            assert run.length == sum(map(len, pieces)) >= run.stored_bytes
            assert len(run.checksums.values) == len(run.packing.ends) == -(-run.length // block_bytes)
        readers = [space.open_run(run) for run in spilled]
        got = read_in_turns(readers, [n * block_bytes for n in blocks_n], release)
        assert got == [b"".join(pieces) for pieces in runs]
        for reader, run in zip(readers, spilled, strict=True):
            assert reader.stored_position == run.stored_bytes
            reader.release()
        assert space.counters.held_bytes == 0


@methods
@given(text=pieces, more=pieces, block_bytes=st.integers(1, 5000))
def test_workers_make_the_same_of_it(method, text, more, block_bytes):
    packed = []
    for n in (0, 3):
        workers = Workers(n)
        packer = Packer(load(method), block_bytes, workers)
        packed.append([(bytes(p), n) for view in (text, more) for p, n in packer.pack(memoryview(view))])
        packed[-1] += [(bytes(p), n) for p, n in packer.rest()]
        workers.close()
    assert packed[0] == packed[1]
    assert sum(n for _, n in packed[0]) == len(text) + len(more)


@methods
def test_what_does_not_become_smaller_is_stored_as_it_is(method, tmp_path):
    text = random.Random(3).randbytes(200_000)
    with make_space(tmp_path, method, 64 << 10) as space:
        run = spill(space, text)
        assert run.stored_bytes == len(text)
        assert os.pread(run.extents[0].file.handle.fd, len(text), run.extents[0].offset) == text
        assert spill(space, bytes(200_000)).stored_bytes < 4000
        assert space.stats.line_bytes == 400_000
        assert space.stats.write_bytes == space.counters.written_bytes < 204_000


@methods
@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_noticed_and_its_block_named(method, kind, tmp_path):
    with make_space(tmp_path, method, kind=kind) as space:
        spill(space, b"neighbour")
        run = spill(space, TEXT)
        fd, start = run.extents[0].file.handle.fd, run.extents[0].offset
        stored = os.pread(fd, run.stored_bytes, start)
        assert BLOCK * 3 < len(stored) < len(TEXT)
        for at in range(len(stored)):
            os.pwrite(fd, bytes([stored[at] ^ 1 << at % 8]), start + at)
            with space.open_run(run) as reader, pytest.raises(SortError) as caught:
                read_all(reader, 2 * BLOCK)
            block = sum(end <= at for end in run.packing.ends)
            assert message(caught.value) == (
                f"read failed: {tmp_path}: checksum mismatch (run 1, offset {block * BLOCK})"
            )
            os.pwrite(fd, stored[at : at + 1], start + at)
        assert read_all(space.open_run(run), BLOCK) == TEXT


@methods
@given(at=st.integers(0, 1 << 20), bit=st.integers(0, 7), cut=st.integers(0, 200))
def test_a_damage_that_its_checksum_matches_is_told_in_the_same_way(method, tmp_path_factory, at, bit, cut):
    """Whatever the package makes of it: it raises, or the length is wrong, or nobody can tell."""
    directory = tmp_path_factory.getbasetemp()
    text = b"".join(b"%d lines\n" % (i * i) for i in range(200))
    with make_space(directory, method, 4096) as space:
        run = spill(space, text)
        fd, start, n = run.extents[0].file.handle.fd, run.extents[0].offset, run.stored_bytes
        stored = bytearray(os.pread(fd, n, start))
        stored[at % n] ^= 1 << bit
        stored[n - cut % n :] = bytes(cut % n)
        os.pwrite(fd, stored, start)
        run.checksums.values[:] = array("I", [zlib.crc32(stored)])
        with space.open_run(run) as reader:
            try:
                assert len(read_all(reader, 4096)) == len(text)
            except SortError as error:
                name = os.fsdecode(run.directory)
                assert message(error) == f"read failed: {name}: checksum mismatch (run 0, offset 0)"


@methods
@given(stored=st.binary(min_size=1, max_size=300), n=st.integers(1, 300))
def test_no_more_is_made_than_asked_for(method, stored, n):
    codec = load(method)
    bomb = codec.shrink(memoryview(bytes(1 << 20)))
    for piece in (bomb, stored):
        try:
            assert len(codec.expand(memoryview(piece), n)) <= n
        except Exception:
            pass
    assert codec.expand(memoryview(bomb), 1 << 20) == bytes(1 << 20)


@methods
def test_a_failing_read_names_the_offset_in_the_run(method, tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with make_space(tmp_path, method) as space:
        run = spill(space, TEXT)
        reader = space.open_run(run)
        assert reader.readinto(memoryview(bytearray(2 * BLOCK))) == 2 * BLOCK
        monkeypatch.setattr(os, "preadv", fail)
        with pytest.raises(SortError) as caught:
            reader.readinto(memoryview(bytearray(BLOCK)))
    assert message(caught.value) == f"read failed: {tmp_path}: Input/output error (run 0, offset {2 * BLOCK})"
    assert caught.value.errno == errno.EIO


@methods
def test_a_file_that_lost_its_end_is_an_error(method, tmp_path):
    with make_space(tmp_path, method) as space:
        run = spill(space, TEXT)
        os.truncate(run.extents[0].file.handle.fd, run.packing.ends[2] - 1)
        with space.open_run(run) as reader, pytest.raises(SortError) as caught:
            read_all(reader, len(TEXT))
    assert message(caught.value) == f"read failed: {tmp_path}: unexpected end of file (run 0, offset {2 * BLOCK})"


@methods
def test_an_empty_run_ends_at_once(method, tmp_path):
    with make_space(tmp_path, method) as space:
        run = spill(space)
        reader = space.open_run(run)
        assert (run.length, run.stored_bytes, reader.readinto(memoryview(bytearray(BLOCK)))) == (0, 0, 0)
        reader.release()


@pytest.mark.parametrize("method", ["zstd", "lz4"])
def test_a_package_that_is_missing_is_named_with_its_extra(method, monkeypatch):
    for name in ("compression", "zstandard", "lz4", "lz4.block"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SortError) as caught:
        load(method)
    package = "zstandard" if method == "zstd" else "lz4"
    assert message(caught.value) == (
        f"option '--compress={method}' needs the Python package {package}: pip install 'pysort[{method}]'"
    )
    assert caught.value.status == 2
