"""--stats: the figures by an injected clock, as text and as JSON, and from real jobs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from support import CONTENDER, run

from pysort import figures, report
from pysort.manpage import render
from pysort.stats import SortStats
from pysort.storage.hints import HintResult

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

SECOND_NS = 10**9
USAGE = report.Usage(1.5, 0.25, 100, 2, 30 << 20)
SIDE_KEYS = [key for key, _, _ in figures.SIDE_FIGURES]
JOB_KEYS = [key for key, _, _ in figures.JOB_FIGURES]
SIDES = [key for key, _, _ in figures.SIDES]


def seconds() -> Iterator[int]:
    """A clock that moves on by half a second whenever it is looked at."""
    now = 1
    while True:
        yield now
        now += SECOND_NS // 2


def job(clock: Any = None) -> SortStats:
    stats = SortStats("c", clock)
    for n in (4 << 20, 2 << 20, 0):
        stats.inputs.count_read(n, stats.inputs.start())
    stats.runs.count_write(6 << 20, stats.runs.start())
    stats.runs.count_read(6 << 20, stats.runs.start(), 2 << 20)
    stats.runs.count_hints([HintResult("sequential", 0, 10**6, 0, 4096), HintResult("willneed", 22, 10**6)])
    stats.runs.note(b"populate refused: \xff")
    stats.runs.note(b"populate refused: \xff")
    stats.output.count_write(6 << 20, stats.output.start())
    stats.output.count_sync(stats.output.start())
    return stats


def facts(stats: SortStats, elapsed_ns: int = 4 * SECOND_NS, timed: bool = True) -> dict[str, Any]:
    return report.facts(stats, USAGE, elapsed_ns, timed=timed)


def test_times_and_rates() -> None:
    found = facts(job(seconds().__next__))
    inputs, runs, output = (found[side] for side in SIDES)
    assert inputs["read_seconds"] == 1.5
    assert inputs["read_mib_per_second"] == 1.5  # 6 MiB in 4 s, no hits known
    assert inputs["read_request_bytes"] == 2 << 20
    assert (inputs["blocks"], inputs["hit_blocks"], inputs["read_blocks"]) == (1536, None, None)
    assert runs["read_mib_per_second"] == 1  # 4 of the 6 MiB were not in the cache
    assert (runs["blocks"], runs["hit_blocks"], runs["read_blocks"]) == (1536, 512, 1024)
    assert (runs["write_seconds"], runs["write_mib_per_second"]) == (0.5, 1.5)
    assert runs["hints"] == {"sequential": {"taken": 1}, "willneed": {"EINVAL": 1}}
    assert runs["hint_seconds"] == 0.002
    assert (output["syncs"], output["sync_seconds"]) == (1, 0.5)
    assert found["elapsed_seconds"] == 4


def test_rates_are_zero_when_no_time_elapsed() -> None:
    found = facts(job(), elapsed_ns=0)
    assert [found[side]["read_mib_per_second"] for side in SIDES] == [0, 0, 0]
    assert [found[side]["write_mib_per_second"] for side in SIDES] == [0, 0, 0]
    assert b"0.000 MB/s" in report.as_text(found)


def test_without_timing_the_times_are_missing_and_the_rates_are_not() -> None:
    found = facts(job(), timed=False)
    assert not any(key.endswith("_seconds") for side in SIDES for key in found[side])
    text = report.as_text(found).decode("utf-8", "surrogateescape")
    assert not re.search(r"(read|write|sync|hint) time", text)
    assert re.search(r"average read rate +1\.500 MB/s +1\.000 MB/s +-\n", text)
    assert "elapsed" in text


@given(
    st.lists(st.tuples(st.integers(0, 1 << 24), st.integers(0, 1 << 24)), max_size=8),
    st.integers(0, 10**12),
    st.booleans(),
)
def test_every_job_can_be_reported(calls: list[tuple[int, int]], elapsed_ns: int, timed: bool) -> None:
    stats = SortStats("python")
    for read, written in calls:
        stats.runs.count_read(read, hit_n=read // 2)
        stats.runs.count_write(written)
    found = facts(stats, elapsed_ns, timed)
    assert json.loads(report.as_json(found)) == found
    assert report.as_json(found).count(b"\n") == 1
    assert max(map(len, report.as_text(found).split(b"\n"))) <= 80
    runs = found["runs"]
    assert runs["hit_blocks"] + runs["read_blocks"] == runs["blocks"]


def test_the_keys_are_those_that_are_documented() -> None:
    found = facts(job())
    assert list(found) == JOB_KEYS + SIDES
    for side in SIDES:
        assert list(found[side]) == SIDE_KEYS


def test_the_man_page_defines_each_figure() -> None:
    page = render().replace("\\-", "-")
    for key, label, _ in (*figures.JOB_FIGURES, *figures.SIDE_FIGURES):
        assert f"\n.TP\n\\fB{label}\\fR" in page
        assert key == label or f"(\\fB{key}\\fR)" in page
    for paragraph in figures.prose((*figures.JOB_FIGURES, *figures.SIDE_FIGURES)).split("\n- "):
        assert paragraph.count("`") % 2 == 0, paragraph
        assert all(part.count("_") % 2 == 0 for part in paragraph.split("`")[::2]), paragraph


def test_text_shows_notes_and_hints_and_no_excess_of_nothing() -> None:
    text = report.as_text(facts(job()))
    assert b"\nnote on runs      populate refused: \xff (2 times)\n" in text
    assert b"\nhints on runs     sequential: 1 taken; willneed: 1 EINVAL\n" in text
    assert b"\n  sequential: 0 bytes in page cache before, 4096 after\n" in text
    assert b"over -S" not in text


# Real jobs.


def stats_of(cwd: Path, *args: str, words: str = "json", status: int = 0, data: bytes = b"") -> dict[str, Any]:
    result = run(CONTENDER, [f"--stats={words}", *args], cwd, data=data)
    assert result.status == status, result.stderr
    first_line = result.stderr.partition(b"\n")[0]
    found: dict[str, Any] = json.loads(first_line)
    assert found["status"] == status
    return found


def write_lines(path: Path, n: int, seed: int = 1) -> bytes:
    text = b"".join(b"%d\n" % (i * 7919 * seed % 100003) for i in range(n))
    path.write_bytes(text)
    return text


def test_a_job_in_memory(tmp_path: Path) -> None:
    size = len(write_lines(tmp_path / "a", 1000))
    found = stats_of(tmp_path, "a")
    assert found["inputs"]["read_bytes"] == found["output"]["write_bytes"] == size
    assert found["runs"]["write_calls"] == found["runs"]["read_calls"] == found["temporary_peak_bytes"] == 0
    assert (found["runs_generated"], found["merge_passes"], found["excess_bytes"]) == (1, 0, 0)
    assert found["inputs"]["hit_blocks"] is None
    assert found["elapsed_seconds"] > 0
    assert found["memory_peak_bytes"] > 1 << 20
    assert found["minor_faults"] > 0
    assert found["user_seconds"] + found["system_seconds"] > 0


def test_a_job_that_spills(tmp_path: Path) -> None:
    size = len(write_lines(tmp_path / "a", 60000))
    found = stats_of(tmp_path, "-S", "128K", "--run-fadvise=random", "a")
    assert found["runs_generated"] > 2
    assert found["merge_passes"] >= 1
    assert found["runs"]["write_bytes"] >= size
    assert found["runs"]["read_bytes"] == found["runs"]["write_bytes"]
    assert found["runs"]["hints"]["random"]
    assert 0 < found["temporary_peak_bytes"] <= found["runs"]["write_bytes"]


def test_several_inputs_add_up(tmp_path: Path) -> None:
    for name in "abc":
        write_lines(tmp_path / name, 3000, ord(name))
    parts = [stats_of(tmp_path, name)["inputs"] for name in "abc"]
    whole = stats_of(tmp_path, "a", "b", "c")["inputs"]
    for key in ("read_bytes", "read_calls", "blocks"):
        assert whole[key] == sum(part[key] for part in parts)


def test_a_line_that_is_longer_than_the_buffer(tmp_path: Path) -> None:
    found = stats_of(tmp_path, "-S", "64K", data=b"x" * 300000 + b"\na\n")
    assert found["longest_line_bytes"] == 300000
    assert found["excess_bytes"] >= 300000 - (64 << 10)


def test_standard_output_is_the_lines_alone(tmp_path: Path) -> None:
    result = run(CONTENDER, ["--stats"], tmp_path, data=b"b\na\n")
    assert (result.status, result.stdout) == (0, b"a\nb\n")
    assert re.search(rb"^average read rate +\d+\.\d{3} MB/s", result.stderr, re.MULTILINE)


def test_disorder_and_errors_are_reported_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"b\na\n")
    assert stats_of(tmp_path, "-c", "a", status=1)["inputs"]["read_bytes"] == 4
    (tmp_path / "d").mkdir()
    result = run(CONTENDER, ["--stats=json", "a", "d"], tmp_path)
    report_line, message, *rest = result.stderr.splitlines()
    assert json.loads(report_line)["status"] == result.status == 2
    assert message.endswith(b"read failed: d: Is a directory")
    assert rest == []


def test_no_report_without_a_job(tmp_path: Path) -> None:
    result = run(CONTENDER, ["--stats", "--version"], tmp_path)
    assert result.stderr == b""
    result = run(CONTENDER, ["--stats", "nowhere"], tmp_path)
    assert result.status == 2


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as full:
        result = run(CONTENDER, ["--stats"], tmp_path, data=b"a\n", stderr=full)
    assert (result.status, result.stdout) == (2, b"a\n")


def test_a_plain_sort_loads_neither_report_nor_json() -> None:
    script = "import sys, pysort.cli as c; c.main([b'pysort']); print(*sys.modules)"
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, capture_output=True, check=True, input=b"").stdout.split()
    assert not {b"pysort.report", b"pysort.figures", b"json"} & set(output)
