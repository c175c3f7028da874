"""Runs are asked for in the order in which a merge will need them, and none further than allowed."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.storage.access import Access
from pysort.storage.advice import advise
from pysort.storage.forecast import Forecast
from pysort.storage.iostats import IoStats
from pysort.storage.spill import SpillSpace

RUN = 1000


class FakeRun:
    def __init__(self, index, log):
        self.index = index
        self.log = log
        self.stored_position = 0

    def prefetch(self, start, stop):
        self.log.append((self.index, start, stop))


class Window:
    def __init__(self, last_prefix, n=1):
        self.last_prefix = last_prefix
        self.n = n


def make(n, max_bytes):
    log = []
    runs = [FakeRun(i, log) for i in range(n)]
    return log, runs, Forecast(runs, RUN, max_bytes)


def feed(runs, forecast, i, n, last_prefix):
    runs[i].stored_position += n
    forecast.fed(i, Window(last_prefix))


def test_before_the_first_read_all_are_asked_for_in_order():
    log, _, _ = make(3, 10 * RUN)
    assert log == [(0, 0, RUN), (1, 0, RUN), (2, 0, RUN)]


def test_the_run_that_ends_first_is_asked_for_first():
    log, runs, forecast = make(4, RUN)
    assert log == [(0, 0, RUN)]
    for i, prefix in enumerate([40, 10, 30, 20]):
        feed(runs, forecast, i, RUN, prefix)
    # While windows are empty the next of them goes before any that has lines.
    assert log[1:] == [(1, 0, RUN), (2, 0, RUN), (3, 0, RUN), (1, RUN, 2 * RUN)]
    feed(runs, forecast, 1, RUN, 35)
    assert log[-1] == (3, RUN, 2 * RUN)
    feed(runs, forecast, 3, RUN, 50)
    assert log[-1] == (2, RUN, 2 * RUN)
    feed(runs, forecast, 2, RUN, 60)
    assert log[-1] == (1, 2 * RUN, 3 * RUN)


def test_a_wrong_forecast_costs_nothing_but_order():
    log, runs, forecast = make(2, RUN)
    feed(runs, forecast, 0, RUN, 1)
    feed(runs, forecast, 1, RUN, 2)
    assert log[-1] == (0, RUN, 2 * RUN)
    for _ in range(5):  # run 1 is hungry all the time, though run 0 was expected to be
        feed(runs, forecast, 1, RUN, 3)
    assert log[-1] == (0, RUN, 2 * RUN)
    feed(runs, forecast, 0, RUN, 9)
    assert log[-1] == (1, 6 * RUN, 7 * RUN)


def test_nothing_is_asked_for_twice_and_nothing_in_small_pieces():
    log, runs, forecast = make(1, 10 * RUN)
    for _ in range(100):
        feed(runs, forecast, 0, RUN // 10, 5)
    assert [start for _, start, _ in log] == [0, *(stop for _, _, stop in log[:-1])]
    assert all(stop - start >= RUN // 2 for _, start, stop in log)
    assert len(log) <= 1 + 100 * RUN // 10 // (RUN // 2)


def test_a_window_without_lines_is_no_trouble():
    log, runs, forecast = make(2, RUN)
    runs[0].stored_position = RUN
    forecast.fed(0, Window(None, n=0))
    assert log == [(0, 0, RUN), (0, RUN, 2 * RUN)]


@given(
    run_n=st.integers(1, 6),
    room_n=st.integers(0, 4),
    feeds=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 2 * RUN), st.integers(0, 3)), max_size=60),
)
def test_no_more_runs_are_ahead_than_there_is_room_for(run_n, room_n, feeds):
    log, runs, forecast = make(run_n, room_n * RUN)
    for i, n, prefix in feeds:
        feed(runs, forecast, i % run_n, n, prefix)
        asked = {}
        for index, start, stop in log:
            assert start <= stop
            assert start >= asked.get(index, 0)
            asked[index] = stop
        ahead = [i for i, stop in asked.items() if stop - runs[i].stored_position > RUN // 2]
        assert len(ahead) <= max(room_n, 1)


@pytest.mark.parametrize("error", [0, errno.ESPIPE, errno.EINVAL, errno.ENOSYS])
def test_a_run_asks_for_its_own_extents_and_takes_any_answer(tmp_path, monkeypatch, error):
    stats = IoStats()
    asked = []

    def record(fd, offset, length, advice):
        asked.append((fd, offset, length, advice))
        if error:
            raise OSError(error, os.strerror(error))

    with SpillSpace([os.fsencode(tmp_path)], 64, Access(), stats) as space:
        runs = []
        for n in (100, 5000):
            writer = space.start_run()
            writer.write(memoryview(b"x" * n))
            runs.append(writer.finish())
        reader = space.open_run(runs[1])
        stats.hints.clear()
        monkeypatch.setattr(os, "posix_fadvise", record)
        reader.prefetch(1000, 3000)
        reader.prefetch(4000, 9000)
        reader.prefetch(6000, 9000)
        fd, at = runs[1].extents[0].file.handle.fd, runs[1].extents[0].offset
        willneed = os.POSIX_FADV_WILLNEED
        assert asked == [(fd, at + 1000, 2000, willneed), (fd, at + 4000, 1000, willneed)]
        assert reader.position == 0
        reader.close()
        reader.close()
        assert stats.hints == {("prefetch", error): 2}


def test_a_closed_descriptor_is_a_bug_and_shown(tmp_path):
    with pytest.raises(OSError, match="Bad file descriptor"):
        advise(1 << 20, "POSIX_FADV_WILLNEED", 0, 1)
