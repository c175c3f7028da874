"""The bench of peak memory: that it measures what spills, and says what exceeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench_support import ROOT

from bench import memory
from bench.cases import BESIDE_BUFFER_MIB, Case
from bench.contenders import environment
from bench.scale_report import Measured

MIB = 1 << 20


def test_smoke_measures_every_way_and_leaves_nothing(tmp_path: Path) -> None:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bench", "memory", "--smoke", "--out", str(out)],
        cwd=ROOT,
        env=environment(Case("x", ""), work),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(work.iterdir()) == []
    report = json.loads((out / "memory.json").read_text())
    assert report["spilling_jobs"] == report["jobs"] == len(memory.WAYS)
    assert (report["misses"], report["faults"]) == ([], [])
    assert 0 < report["most_above_buffer_bytes"] < BESIDE_BUFFER_MIB * MIB
    assert (out / "memory.md").read_text() == done.stdout[:-1]


def test_what_exceeds_is_told_and_what_fits_is_shown_to_fit() -> None:
    (jobs,) = memory.points((1000,), (64 * MIB,))
    peaks = [(64 + BESIDE_BUFFER_MIB) * MIB + n for n in (0, 1)]
    found = [
        Measured(point, 1, [1.0], peak, runs_n, 1) for point, peak, runs_n in zip(jobs, peaks, (2, 1), strict=False)
    ]
    assert [memory.over(one) for one in found] == [0, 1]
    assert memory.table([found])[1] == ["64", "1,000", "0", "1-2", "104", "(104)"]


def test_lengths_and_buffers_are_those_that_were_promised() -> None:
    jobs = [point for points in memory.points(memory.LENGTHS, (32 * MIB,)) for point in points]
    assert {point.x for point in jobs} == {10**n for n in range(7)}
    assert {point.threads_n for point in jobs} == {1, 2}
    assert {point.piped for point in jobs} == {False, True}
