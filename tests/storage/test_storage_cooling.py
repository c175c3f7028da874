"""Getting a file out of the page cache and into it, also where the system has no call for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import small_filesystem

from pysort.storage import cache

FILE_BYTES = 3 << 20


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    """A descriptor of a file that is in memory and not on the disk yet."""
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(fd, os.urandom(FILE_BYTES))
    if cache.resident_bytes(fd) is None:
        os.close(fd)
        pytest.skip("the kernel does not tell what is in the page cache")
    yield fd
    os.close(fd)


def test_a_file_is_dropped_and_loaded_again(file: int) -> None:
    if cache.drop(file):
        pytest.skip("this file system keeps its pages (tmpfs?)")
    assert cache.resident_bytes(file) == 0
    assert cache.load(file) == cache.resident_bytes(file) == FILE_BYTES


def test_what_is_loaded_is_not_read_again(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "preadv")
    assert cache.load(file) == FILE_BYTES


def test_without_the_advice_nothing_is_dropped(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fadvise")
    assert cache.drop(file) == FILE_BYTES


def test_tmpfs_keeps_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "DROP_TRIES_N", 2)
    with small_filesystem(tmp_path / "mount", "1m"):
        path = tmp_path / "mount" / "file"
        path.write_bytes(b"x" * 10000)
        with path.open("rb") as opened:
            assert cache.drop(opened.fileno()) == 12288


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (tmp_path / "file").open("rb") as opened:
        assert cache.drop(opened.fileno()) in (0, None)
        assert cache.load(opened.fileno()) in (0, None)
