"""Every byte is written or an error says so."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.storage.iostats import IoStats
from pysort.storage.writer import Writer


def test_a_pipe_that_takes_little_at_a_time_gets_everything():
    data = os.urandom(1 << 20)
    readable, writable = os.pipe()
    got = []

    def drain():
        while piece := os.read(readable, 1000):
            got.append(piece)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    stats = IoStats()
    Writer(writable, stats).write_all(memoryview(data))
    os.close(writable)
    reader.join()
    os.close(readable)
    assert b"".join(got) == data
    assert stats.write_bytes == len(data)


@given(data=st.binary(max_size=50), takes=st.lists(st.integers(1, 9), min_size=1))
def test_short_writes_are_continued_where_they_stopped(data, takes):
    written = bytearray()

    def short_write(fd, view):
        n = min(len(view), takes[len(written) % len(takes)])
        written.extend(view[:n])
        return n

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", short_write)
        Writer(1, IoStats()).write_all(memoryview(data))
    assert bytes(written) == data


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device_is_an_error():
    fd = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left on device"):
            Writer(fd, IoStats()).write_all(memoryview(b"x"))
    finally:
        os.close(fd)


def test_a_reader_that_went_away_is_an_error():
    readable, writable = os.pipe()
    os.close(readable)
    try:
        with pytest.raises(BrokenPipeError):
            Writer(writable, IoStats()).write_all(memoryview(b"x"))
    finally:
        os.close(writable)
