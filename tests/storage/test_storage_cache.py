"""What the hints do to the page cache, seen without a clock: how many bytes are resident after.

Skipped where the file system keeps all its pages (tmpfs) or the kernel does not tell.
"""

from __future__ import annotations

import mmap
import os

import pytest
from storage_support import access

from pysort.storage import cache, syscalls
from pysort.storage.hints import parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input

FILE_BYTES = 64 << 20
PAGE = mmap.PAGESIZE
READS_N = 64


@pytest.fixture(scope="module")
def big_file(tmp_path_factory):
    """A file of real blocks. Its content does not matter."""
    path = tmp_path_factory.mktemp("residency") / "big"
    block = os.urandom(1 << 20)
    with path.open("wb") as file:
        for _ in range(FILE_BYTES // len(block)):
            file.write(block)
    yield os.fsencode(path)
    path.unlink()


@pytest.fixture
def cold_file(big_file):
    fd = os.open(big_file, os.O_RDONLY)
    try:
        left = cache.drop(fd)
    finally:
        os.close(fd)
    if left is None:
        pytest.skip("the kernel does not tell what is in the page cache")
    if left:
        pytest.skip("this file system keeps its pages (tmpfs?)")
    return big_file


def resident_after_reads(path, hints):
    """After READS_N reads of one page each from the start."""
    view = memoryview(bytearray(PAGE))
    with open_input(path, access("pread", parse_hints(hints, b"--fadvise")), IoStats()) as reader:
        for _ in range(READS_N):
            assert reader.readinto(view) == PAGE
        return cache.resident_bytes(path)


def resident_after_open(path, hints):
    with open_input(path, access("pread", parse_hints(hints, b"--fadvise")), IoStats()):
        return cache.resident_bytes(path)


def test_random_reads_nothing_that_was_not_asked_for(cold_file):
    assert resident_after_reads(cold_file, b"random") == READS_N * PAGE


def test_without_a_hint_the_kernel_reads_ahead(cold_file):
    assert resident_after_reads(cold_file, b"none") > READS_N * PAGE


def test_random_is_the_base_whatever_is_added(cold_file):
    assert resident_after_reads(cold_file, b"noreuse,random") == READS_N * PAGE


@pytest.mark.parametrize("hints", [b"none", b"sequential", b"random", b"noreuse"])
def test_opening_alone_reads_nothing(cold_file, hints):
    assert resident_after_open(cold_file, hints) == 0


def test_willneed_begins_to_read_at_open_and_sequential_doubles_it(cold_file):
    alone = resident_after_open(cold_file, b"none,willneed")
    fd = os.open(cold_file, os.O_RDONLY)
    try:
        assert cache.drop(fd) == 0
    finally:
        os.close(fd)
    after_sequential = resident_after_open(cold_file, b"willneed")
    assert 0 < alone < FILE_BYTES
    assert after_sequential == min(2 * alone, FILE_BYTES)


def test_cachestat_and_mincore_agree(cold_file, monkeypatch):
    resident_after_reads(cold_file, b"random")
    fd = os.open(cold_file, os.O_RDONLY)
    try:
        error, pages_n = syscalls.cached_pages(fd)
        if error:
            pytest.skip("no cachestat here")
        assert syscalls.mapped_pages(fd) == (0, pages_n)
        monkeypatch.setattr(syscalls, "cached_pages", lambda *_: (38, 0))
        assert cache.resident_bytes(fd) == READS_N * PAGE
    finally:
        os.close(fd)


def test_an_empty_file_has_nothing_resident(tmp_path, monkeypatch):
    path = tmp_path / "empty"
    path.touch()
    assert cache.resident_bytes(os.fsencode(path)) in (0, None)
    monkeypatch.setattr(syscalls, "cached_pages", lambda *_: (38, 0))
    assert cache.resident_bytes(os.fsencode(path)) in (0, None)


def test_nothing_is_known_where_neither_call_exists(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"x")
    monkeypatch.setattr(syscalls, "_function", lambda *names: None)
    assert cache.resident_bytes(os.fsencode(path)) is None


def test_dropping_writes_dirty_pages_out_first(big_file, tmp_path):
    path = tmp_path / "dirty"
    data = os.urandom(1 << 20)
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        if cache.drop(fd) != 0:
            pytest.skip("this file system keeps its pages (tmpfs?)")
    finally:
        os.close(fd)
    assert path.read_bytes() == data
