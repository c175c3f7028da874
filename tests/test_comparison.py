"""The verdict of --compare-hints on made-up times, and its table on made-up measurements."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysort.comparison import BASELINE, Measurement, Verdict, median, sentence, spread, table

NAMES = [BASELINE, "sequential", "random", "mmap"]
SECONDS = st.floats(0.001, 1000)
ROUNDS = st.lists(SECONDS, min_size=1, max_size=9)
TIMES = st.lists(ROUNDS, min_size=1, max_size=len(NAMES)).map(lambda times: dict(zip(NAMES, times, strict=False)))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"none": [2, 2.1, 2.2], "mmap": [1, 1.1, 1.0]}, "mmap is fastest, 2.10 times as fast as none"),
        (
            {"none": [2, 2.1, 2.2], "mmap": [1.9, 2.0, 2.5]},
            "the differences are within the noise (rounds differ by up to 29 %)",
        ),
        (
            {"none": [1, 1, 1], "mmap": [1, 1, 1]},
            "the differences are within the noise (rounds differ by up to 0 %)",
        ),
        ({"none": [1, 1, 1.1]}, "the differences are within the noise (rounds differ by up to 10 %)"),
        (
            {"none": [4, 4, 4], "mmap": [1, 1.1, 1.2], "random": [1, 1.2, 1.3], "willneed": [1.0, 1.15, 1.2]},
            "mmap is fastest, 3.64 times as fast as none (random and willneed within the noise of it)",
        ),
        (
            {"none": [1, 1, 1.1], "mmap": [3, 3, 3], "random": [2, 2.1, 2.2]},
            "nothing is faster than none by more than the noise, mmap and random are slower",
        ),
        (
            {"none": [1, 1, 1.1], "mmap": [3, 3, 3]},
            "nothing is faster than none by more than the noise, mmap is slower",
        ),
        (
            {"none": [0.0], "mmap": [0.0]},
            "the differences are within the noise (rounds differ by up to 0 %)",
        ),
    ],
)
def test_what_the_sentence_says(times: dict[str, list[float]], expected: str) -> None:
    assert Verdict(times).clause() == expected


def test_one_sentence_for_both_states() -> None:
    times = {"cold": {"none": [2.0], "mmap": [1.0]}, "warm": {"none": [1.0], "mmap": [1.0]}}
    cold = "Cold, mmap is fastest, 2.00 times as fast as none; "
    expected = cold + "warm, the differences are within the noise (rounds differ by up to 0 %)."
    assert sentence(times) == expected


@given(TIMES)
def test_a_winner_has_beaten_the_baseline(times: dict[str, list[float]]) -> None:
    verdict = Verdict(times)
    assert median(times[verdict.fastest]) == min(map(median, times.values()))
    if verdict.winner:
        assert verdict.winner == verdict.fastest != BASELINE
        assert verdict.ratio > 1
        assert BASELINE not in verdict.equals
        if len(times[verdict.winner]) <= 3 and len(times[BASELINE]) <= 3:
            assert max(times[verdict.winner]) < max(times[BASELINE])
            assert min(times[verdict.winner]) < min(times[BASELINE])
    for name in verdict.slower:
        assert name != verdict.fastest
        assert median(times[name]) > median(times[BASELINE])


@given(TIMES)
def test_whoever_is_neither_equal_nor_fastest_is_further_away_than_the_rounds(times: dict[str, list[float]]) -> None:
    verdict = Verdict(times)
    best = times[verdict.fastest]
    for name, rounds in times.items():
        if name == verdict.fastest:
            continue
        gap = median(rounds) - median(best)
        noise = max(spread(rounds), spread(best))
        assert (name in verdict.equals) == (gap <= noise)


@given(TIMES, st.sampled_from([0.25, 2, 1024]))
def test_the_unit_of_time_does_not_matter(times: dict[str, list[float]], factor: float) -> None:
    """Powers of two, so that floats stay exact."""
    scaled = {name: [value * factor for value in rounds] for name, rounds in times.items()}
    assert Verdict(scaled).clause() == Verdict(times).clause()


@given(ROUNDS)
def test_a_baseline_alone_never_wins(rounds: list[float]) -> None:
    verdict = Verdict({BASELINE: rounds})
    assert (verdict.winner, verdict.ratio, verdict.equals, verdict.slower) == (None, 1, [], [])


@given(ROUNDS, st.data())
def test_one_outlier_of_many_rounds_is_no_noise(rounds: list[float], data: st.DataObject) -> None:
    """It moves neither end of the middle half beyond the other rounds."""
    assert 0 <= spread(rounds) <= max(rounds) - min(rounds)
    if len(rounds) >= 4:
        at = data.draw(st.integers(0, len(rounds) - 1))
        others = rounds[:at] + rounds[at + 1 :]
        assert spread([*others, 1e9]) <= max(others) - min(others)
    else:
        assert spread(rounds) == max(rounds) - min(rounds)


@given(ROUNDS)
def test_median(values: list[float]) -> None:
    found = median(values)
    assert sum(value <= found for value in values) * 2 >= len(values)
    assert sum(value >= found for value in values) * 2 >= len(values)


def test_the_table() -> None:
    baseline = [Measurement(4.0, cpu_seconds=2.0, faults=n, device_reads=None) for n in (1, 9, 2)]
    other = [
        Measurement(
            2.0,
            read_seconds=0.5,
            read_bytes=6 << 20,
            device_reads=n,
            cpu_seconds=3,
            faults=7,
            temporary_bytes=3 << 20,
        )
        for n in (10, 30, 20)
    ]
    assert table({"none": baseline, "sequential,noreuse": other}) == [
        "strategy             time s ratio  read s    MB/s   I/Os* CPU %   faults temp MB",
        "none                  4.000  1.00   0.000     0.0     n/a    50        2     0.0",
        "sequential,noreuse    2.000  2.00   0.500     3.0      20   150        7     3.0",
    ]


def test_the_table_fits_a_terminal() -> None:
    huge = Measurement(
        9999.999,
        read_seconds=999.999,
        read_bytes=1 << 40,
        device_reads=9999999,
        cpu_seconds=99999,
        faults=99999999,
        temporary_bytes=99999 << 20,
    )
    for line in table({"none": [huge], "willneed-chunked": [huge]}):
        assert len(line) <= 79
        assert not re.search(r"\d{8,}\.", line)


def test_no_time_at_all() -> None:
    row = table({"none": [Measurement(0.0)]})[1]
    assert row.split() == ["none", "0.000", "0.00", "0.000", "0.0", "n/a", "0", "0", "0.0"]
