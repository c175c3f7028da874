"""Counters of I/O: what is counted, when it is timed, and that parts add up."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from pysort.storage.hints import HintResult
from pysort.storage.iostats import BLOCK_BYTES, IoStats


def ticking(step_ns: int = 7) -> Iterator[int]:
    now = 1000
    while True:
        yield now
        now += step_ns


def counted(stats: IoStats) -> dict[str, object]:
    hidden = {"_clock", "count_hits"}
    return {name: getattr(stats, name) for name in IoStats.__slots__ if name not in hidden}


def test_calls_bytes_and_time() -> None:
    stats = IoStats(ticking().__next__)
    stats.count_read(10, stats.start())
    stats.count_read(5000, stats.start())
    stats.count_write(3, stats.start())
    stats.count_sync(stats.start())
    assert (stats.read_calls, stats.read_bytes, stats.read_ns) == (2, 5010, 14)
    assert (stats.write_calls, stats.write_bytes, stats.write_ns) == (1, 3, 7)
    assert (stats.sync_calls, stats.sync_ns) == (1, 7)


def test_nothing_is_timed_without_a_clock() -> None:
    stats = IoStats()
    assert stats.start() == 0
    stats.count_read(10, stats.start())
    assert stats.read_ns == 0


def test_what_was_not_started_takes_no_time() -> None:
    stats = IoStats(ticking().__next__)
    stats.count_read(10)
    assert stats.read_ns == 0


def test_hits_are_not_known_when_one_reader_cannot_tell() -> None:
    stats = IoStats()
    assert (stats.hit_blocks_n, stats.read_blocks_n) == (0, 0)
    stats.count_read(3 * BLOCK_BYTES, hit_n=BLOCK_BYTES + 1)
    assert (stats.blocks_n, stats.hit_blocks_n, stats.read_blocks_n) == (3, 2, 1)
    stats.count_read(1)
    assert (stats.blocks_n, stats.hit_blocks_n, stats.read_blocks_n) == (4, None, None)


def test_an_end_of_file_is_a_call_and_no_block() -> None:
    stats = IoStats()
    stats.count_read(0)
    assert (stats.read_calls, stats.blocks_n, stats.hit_blocks_n) == (1, 0, 0)


def test_hints_and_notes() -> None:
    stats = IoStats()
    stats.count_hints([HintResult("random", 0, 5), HintResult("willneed", 22, 6), HintResult("random", 0, 7)])
    stats.note(b"populate refused")
    stats.note(b"populate refused")
    assert stats.hints == {("random", 0): 2, ("willneed", 22): 1}
    assert stats.hint_ns == 18
    assert stats.notes == {b"populate refused": 2}


READS = st.tuples(st.integers(0, 10 * BLOCK_BYTES), st.floats(0, 1)).map(lambda pair: (pair[0], int(pair[0] * pair[1])))
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), READS),
        st.tuples(st.just("stream"), st.integers(0, 100000)),
        st.tuples(st.just("write"), st.integers(0, 100000)),
        st.tuples(st.just("sync"), st.none()),
        st.tuples(st.just("hint"), st.sampled_from(["random", "willneed"])),
        st.tuples(st.just("note"), st.sampled_from([b"a", b"b"])),
    )
)


def replay(events: list, stats: IoStats) -> IoStats:
    for kind, value in events:
        if kind == "read":
            stats.count_read(value[0], stats.start(), value[1])
        elif kind == "stream":
            stats.count_read(value, stats.start())
        elif kind == "write":
            stats.count_write(value, stats.start())
        elif kind == "sync":
            stats.count_sync(stats.start())
        elif kind == "hint":
            stats.count_hints([HintResult(value, 0, 3)])
        else:
            stats.note(value)
    return stats


@given(st.lists(EVENTS, max_size=4))
def test_several_add_up_to_what_one_would_have_counted(parts: list) -> None:
    whole = replay([event for events in parts for event in events], IoStats(ticking().__next__))
    total = IoStats()
    for events in parts:
        total.add(replay(events, IoStats(ticking().__next__).another()))
    assert counted(total) == counted(whole)


@given(EVENTS)
def test_hits_and_reads_are_the_blocks(events: list) -> None:
    stats = replay(events, IoStats())
    if stats.hit_blocks_n is None:
        assert stats.read_blocks_n is None
        assert any(kind == "stream" and value for kind, value in events)
    else:
        assert stats.hit_blocks_n >= 0
        assert stats.read_blocks_n >= 0
        assert stats.hit_blocks_n + stats.read_blocks_n == stats.blocks_n
