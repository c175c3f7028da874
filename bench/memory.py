"""`python -m bench memory`: the peak of the resident set of jobs that spill, against what -S grants."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.cases import BESIDE_BUFFER_MIB, Case
from bench.contenders import environment, pysort_program, sort_like
from bench.machine import load_warning, machine_facts
from bench.scale import Place
from bench.scale_report import Measured, markdown_table
from bench.scale_series import MB, Point

GROUP = "memory"
MIB = 1 << 20
LENGTHS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
BUFFERS_MIB = (32, 64, 128)
# Name → threads, options, whether the input comes through a pipe.
WAYS: dict[str, tuple[int, tuple[str, ...], bool]] = {
    "pread, 1 thread": (1, (), False),
    "pread": (2, (), False),
    "mmap": (2, ("--reader=mmap", "--input-reader=mmap", "--mmap-flags=populate"), False),
    "direct": (2, ("--reader=direct", "--input-reader=direct"), False),
    "pipe": (2, (), True),
    "16 blocks ahead": (2, ("--prefetch=16", "--run-fadvise=willneed-chunked"), False),
    "keyed": (2, ("-k1,1",), False),
    "4 parallel reads": (2, ("--parallel-reads=4",), False),
}


def points(lengths: tuple[int, ...], buffers_bytes: tuple[int, ...]) -> list[list[Point]]:
    """The jobs on each input. Short lines need little text to fill a buffer with records."""
    return [
        [
            Point(n, way, f"length-{n}", buffer * 2 if n >= 10 else buffer // 4, threads_n, buffer, None, more, piped)
            for way, (threads_n, more, piped) in WAYS.items()
        ]
        for buffer in buffers_bytes
        for n in lengths
    ]


def over(found: Measured) -> int:
    """By how many bytes the peak is above -S and what may be beside it; 0 or less where it is not."""
    return found.peak_bytes - (found.point.buffer_bytes or 0) - BESIDE_BUFFER_MIB * MIB


def table(measured: list[list[Measured]]) -> list[list[str]]:
    """A row for each input: peaks in MiB. A job that did not spill is in parentheses."""
    rows = [["-S, MiB", "bytes per line", "MB", "runs", *WAYS]]
    for jobs in measured:
        point = jobs[0].point
        cells = [f"{found.peak_bytes / MIB:.0f}" for found in jobs]
        cells = [cell if found.runs_n > 1 else f"({cell})" for cell, found in zip(cells, jobs, strict=True)]
        runs = sorted({found.runs_n for found in jobs})
        told = f"{runs[0]}" if runs[0] == runs[-1] else f"{runs[0]}-{runs[-1]}"
        size = f"{jobs[0].input_bytes / MB:.0f}"
        rows.append([f"{(point.buffer_bytes or 0) / MIB:.0f}", f"{point.x:,.0f}", size, told, *cells])
    return rows


def _misses(measured: list[list[Measured]]) -> list[str]:
    return [
        f"{found.point.kind}, {found.point.line}: {over(found) / MIB:.0f} MiB more than -S and {BESIDE_BUFFER_MIB} MiB"
        for jobs in measured
        for found in jobs
        if over(found) > 0
    ]


def _report(command_line: str, version: str, measured: list[list[Measured]], faults: list[str]) -> dict[str, Any]:
    external = [found for jobs in measured for found in jobs if found.runs_n > 1]
    most = max((found.peak_bytes - (found.point.buffer_bytes or 0) for found in external), default=0)
    return {
        "group": GROUP,
        "command": command_line,
        "machine": machine_facts(),
        "version": version,
        "warnings": [warning] if (warning := load_warning()) else [],
        "beside_buffer_mib": BESIDE_BUFFER_MIB,
        "jobs": len([found for jobs in measured for found in jobs]),
        "spilling_jobs": len(external),
        "most_above_buffer_bytes": most,
        "misses": _misses(measured),
        "faults": faults,
        "peaks": [
            {
                "buffer_bytes": found.point.buffer_bytes,
                "line_bytes": found.point.x,
                "way": found.point.line,
                "options": found.point.options(),
                "input_bytes": found.input_bytes,
                "runs": found.runs_n,
                "merge_passes": found.passes_n,
                "seconds": found.seconds,
                "peak_bytes": found.peak_bytes,
            }
            for jobs in measured
            for found in jobs
        ],
    }


def _markdown(report: dict[str, Any], rows: list[list[str]]) -> str:
    machine = report["machine"]
    notes = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, {machine['libc']}, load"
        f" {machine['load']}; {report['version']}; Python {machine['python']}",
        "peak of the resident set in MiB, Python's own and mapped files included; two threads where not said otherwise;"
        " all outputs of an input are the same, the first has its size and GNU sort -c finds it in order",
        f"{report['spilling_jobs']} of {report['jobs']} jobs spilled; the most that one had above -S:"
        f" {report['most_above_buffer_bytes'] / MIB:.1f} MiB, wanted {report['beside_buffer_mib']} at most",
        *(f"{kind}: {text}" for kind in ("warnings", "misses", "faults") for text in report[kind]),
    ]
    options = [f"- {way}: `{' '.join(more) or 'no more options'}`" for way, (_, more, _) in WAYS.items()]
    parts = ["# Peak memory of jobs that spill", f"    {report['command']}", markdown_table(rows)]
    return "\n\n".join([*parts, "\n".join(options), "\n".join(f"- {note}" for note in notes)]) + "\n"


def main(arguments: argparse.Namespace, command_line: str) -> int:
    """Exit status: 0, or 1 when an output was wrong or a job that spilled took more than it may."""
    lengths, buffers = ((1000,), (MIB,)) if arguments.smoke else (LENGTHS, tuple(n * MIB for n in BUFFERS_MIB))
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
    measured: list[list[Measured]] = []
    with tempfile.TemporaryDirectory(
        prefix="pysort-bench-", dir=arguments.dir, ignore_cleanup_errors=True
    ) as directory:
        work = Path(directory)
        checker = shutil.which("sort") or "sort"
        place = Place(work, work, 1, pysort_program(), checker, environment(Case(GROUP, ""), work))
        for jobs in points(lengths, buffers):
            measured.append(place.measure(jobs))
            place.forget(jobs[0])
            print("  ".join(table(measured)[-1]), file=sys.stderr)
        version = sort_like("pysort", *pysort_program()).version()
        report = _report(command_line, version, measured, place.faults)
    text = _markdown(report, table(measured))
    print(text)
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"{GROUP}.json").write_text(json.dumps(report, indent=2) + "\n")
        (arguments.out / f"{GROUP}.md").write_text(text)
    return 1 if report["misses"] or report["faults"] else 0
