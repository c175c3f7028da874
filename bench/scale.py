"""`python -m bench scale`: how pysort's cost grows with size, memory, length of lines and fan-in."""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import scale_plot, scale_report
from bench.cases import Case
from bench.contenders import BenchError, environment, pysort_program, sort_like
from bench.machine import load_warning, machine_facts
from bench.process import Run, run
from bench.scale_inputs import ensure_input
from bench.scale_report import Curves, Measured
from bench.scale_series import MB, Point, Series, series
from bench.verify import digest, is_cached, read_once
from bench.warm import warm_memory

ROUNDS_N = 3
LARGEST_MB = 4096
SMOKE_SCALE = 1 / 256
# No further round of the jobs on one input once they have taken this long together.
_ENOUGH_S = 8.0
# Input, output and spilled runs.
_SPACE_FACTOR = 4


@dataclass
class Place:
    """Where inputs are kept and outputs written, and who says that an output is in order."""

    work: Path
    inputs: Path
    rounds_n: int
    program: list[str]
    checker: str
    variables: Mapping[str, str]
    faults: list[str] = field(default_factory=list)

    def measure(self, points: list[Point]) -> list[Measured]:
        """All jobs on one input, in rounds; the order of a round opposite to that of the last."""
        source = ensure_input(points[0].kind, points[0].size_bytes, self.inputs)
        input_bytes = source.stat().st_size
        commands = [[*self.program, *point.options(), "--stats=json,notiming"] for point in points]
        runs: list[list[Run]] = [[] for _ in points]
        expected: dict[tuple[str, ...], str] = {}  # digests, by order
        started = time.monotonic()
        for round_n in range(self.rounds_n):
            order = list(enumerate(commands))
            for number, argv in order if round_n % 2 == 0 else reversed(order):
                if is_cached(source) is not True:
                    read_once(source)
                output = self.work / "output"
                operands = ["-o", str(output), *([] if points[number].piped else [str(source)])]
                warm_memory(input_bytes)
                finished = run([*argv, *operands], self.variables, str(source), piped=points[number].piped)
                if finished.status != 0:
                    raise BenchError(f"{' '.join(points[number].options())} on {source.name}: {finished.failure}")
                order_of = points[number].order
                expected[order_of] = self._verified(output, source, order_of, expected.get(order_of))
                runs[number].append(finished)
            if time.monotonic() - started > _ENOUGH_S:
                break
        return [
            Measured(point, input_bytes, [one.wall_s for one in taken], *_peak_and_runs(taken))
            for point, taken in zip(points, runs, strict=True)
        ]

    def _verified(self, output: Path, source: Path, order: Sequence[str], expected: str | None) -> str:
        """The output's digest. The first of an input is judged by size and order, or where lines are dropped by what
        GNU sort makes of it, the others by the first."""
        found = digest(output)
        if expected is not None:
            if found != expected:
                self.faults.append(f"{source.name}: the output differs from the first one")
        elif "-u" in order:
            other = self.work / "expected"
            subprocess.run([self.checker, *order, "-o", str(other), str(source)], env=self.variables, check=True)
            if found != digest(other):
                self.faults.append(f"{source.name}: the output is not GNU sort's")
            other.unlink()
        else:
            if output.stat().st_size != source.stat().st_size:
                self.faults.append(f"{source.name}: the output has another size than the input")
            checked = subprocess.run([self.checker, "-c", *order, str(output)], env=self.variables, check=False)
            if checked.returncode != 0:
                self.faults.append(f"{source.name}: the output is out of order")
        output.unlink()
        return expected or found

    def forget(self, point: Point) -> None:
        """The input of this point is needed no more."""
        ensure_input(point.kind, point.size_bytes, self.inputs).unlink()


def _peak_and_runs(taken: list[Run]) -> tuple[int, int, int]:
    """Highest peak in bytes, runs generated and merge passes, by --stats."""
    told = json.loads(taken[-1].message)
    return max(one.peak_bytes for one in taken), told["runs_generated"], told["merge_passes"]


def _input(point: Point) -> tuple[str, int]:
    return point.kind, point.size_bytes


def _measure_all(place: Place, chosen: list[Series], keep_inputs: bool) -> list[Curves]:
    needed_later = [_input(point) for one in chosen for point in one.points]
    results = []
    for one in chosen:
        print(f"{one.name}: {one.title}", file=sys.stderr)
        measured: list[Measured] = []
        for (kind, size_bytes), group in itertools.groupby(one.points, _input):
            points = list(group)
            started = time.monotonic()
            measured += place.measure(points)
            del needed_later[: len(points)]
            if not keep_inputs and (kind, size_bytes) not in needed_later:
                place.forget(points[0])
            seconds = ", ".join(f"{found.median_s:.2f}" for found in measured[-len(points) :])
            taken_s = time.monotonic() - started
            print(f"  {kind}, {size_bytes / MB:.0f} MB: {seconds} s [{taken_s:.0f} s]", file=sys.stderr)
        results.append(Curves(one, measured))
    return results


def _chosen(names: list[str], scale: float, largest_bytes: int) -> list[Series]:
    every = series(scale, largest_bytes)
    unknown = set(names).difference(one.name for one in every)
    if unknown:
        raise BenchError(f"no case named {', '.join(sorted(unknown))} in scale; see --list")
    return [one for one in every if not names or one.name in names]


def _left_out(scale: float, largest_bytes: int, names: list[str]) -> list[str]:
    """What a smaller --largest or a --case leaves out, a sentence each."""
    kept = {(one.name, point) for one in series(scale, largest_bytes) for point in one.points}
    everything = series(scale, sys.maxsize)
    texts = [
        f"{one.name}: inputs of {', '.join(f'{n / MB:.0f}' for n in sizes)} MB, by --largest"
        for one in everything
        if (sizes := sorted({point.size_bytes for point in one.points if (one.name, point) not in kept}))
    ]
    return [*texts, *(f"{one.name}, by --case" for one in everything if names and one.name not in names)]


def main(arguments: argparse.Namespace, command_line: str) -> int:
    """Exit status: 0, or 1 when an output was wrong or a cost grew faster than its limit."""
    scale = arguments.size or (SMOKE_SCALE if arguments.smoke else 1.0)
    largest_bytes = (arguments.largest or LARGEST_MB) * MB
    chosen = _chosen(arguments.case, scale, largest_bytes)
    if arguments.list:
        for one in chosen:
            print(f"{one.name:<8}{len(one.points):>3} jobs  {one.title}")
        return 0
    rounds_n = arguments.rounds or (1 if arguments.smoke else ROUNDS_N)
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="pysort-bench-", dir=arguments.dir, ignore_cleanup_errors=True
    ) as directory:
        work = Path(directory)
        largest = max(point.size_bytes for one in chosen for point in one.points)
        if shutil.disk_usage(work).free < largest * _SPACE_FACTOR:
            raise BenchError(f"{work} has too little room: give another --dir or a smaller --largest")
        variables = environment(Case("scale", ""), work)
        place = Place(
            work, arguments.dir or work, rounds_n, pysort_program(), shutil.which("sort") or "sort", variables
        )
        version = sort_like("pysort", *pysort_program()).version()
        warnings = [warning] if (warning := load_warning()) else []
        report = scale_report.Report(
            command_line,
            not arguments.smoke,
            machine_facts(),
            {"pysort": version},
            warnings,
            _left_out(scale, largest_bytes, arguments.case),
            _measure_all(place, chosen, keep_inputs=arguments.dir is not None),
            place.faults,
        )
    print(report.text())
    if arguments.out is not None:
        report.write(arguments.out)
        if reason := scale_plot.draw(arguments.out):
            print(f"no plots: {reason}", file=sys.stderr)
    return 0 if report.passed() else 1
