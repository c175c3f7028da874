"""The results of `python -m bench scale` as text, Markdown, JSON and README table."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import BESIDE_BUFFER_MIB
from bench.scale_series import FIT_FROM_BYTES, MB, Point, Series

GROUP = "scale"
COLUMNS = ("series", "curve", "x", "MB", "s (range)", "MB/s", "peak MiB", "runs", "passes", "rounds")


def exponent(points: Iterable[tuple[float, float]]) -> float | None:
    """The power of size that time grows as: slope of log time over log size, by least squares; None of one point."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points]
    if len(logs) < 2:
        return None
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


@dataclass(frozen=True)
class Measured:
    """One point: seconds of each round, highest peak, and what --stats told."""

    point: Point
    input_bytes: int
    seconds: list[float]
    peak_bytes: int
    runs_n: int
    passes_n: int

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Curves:
    series: Series
    measured: list[Measured]

    def lines(self) -> dict[str, list[Measured]]:
        names = dict.fromkeys(found.point.line for found in self.measured)
        return {name: [found for found in self.measured if found.point.line == name] for name in names}

    def exponents(self) -> dict[str, float | None]:
        """Of each curve over sizes; nothing of one over anything else."""
        if self.series.exponent_limit is None:
            return {}
        return {
            name: exponent((f.input_bytes, f.median_s) for f in found if f.point.size_bytes >= FIT_FROM_BYTES)
            for name, found in self.lines().items()
        }

    def misses(self) -> list[str]:
        """Demands that were missed."""
        limit = self.series.exponent_limit or math.inf
        texts = [
            f"{self.series.name}, {name}: time grows as size to the power {found:.2f}, more than {limit}"
            for name, found in self.exponents().items()
            if found is not None and found > limit
        ]
        for found in self.measured:
            buffer_bytes = found.point.buffer_bytes
            if buffer_bytes is not None and found.peak_bytes > buffer_bytes + BESIDE_BUFFER_MIB * 2**20:
                peak = f"{found.peak_bytes / 2**20:.0f} MiB for -S {buffer_bytes / 2**20:.0f} MiB"
                texts.append(f"{self.series.name}, {found.point.line}: peak {peak}")
        return texts

    def rows(self) -> list[list[str]]:
        return [
            [
                self.series.name,
                found.point.line,
                _x(found.point.x),
                f"{found.input_bytes / MB:.0f}",
                f"{found.median_s:.3f} ({min(found.seconds):.3f}-{max(found.seconds):.3f})",
                f"{found.input_bytes / MB / found.median_s:.0f}",
                f"{found.peak_bytes / 2**20:.0f}",
                str(found.runs_n),
                str(found.passes_n),
                str(len(found.seconds)),
            ]
            for found in self.measured
        ]

    def as_json(self) -> dict[str, Any]:
        exponents = self.exponents()
        return {
            "name": self.series.name,
            "title": self.series.title,
            "x_label": self.series.x_label,
            "exponent_limit": self.series.exponent_limit,
            "curves": [
                {
                    "name": name,
                    "exponent": exponents.get(name),
                    "points": [
                        {
                            "x": found.point.x,
                            "input": found.point.kind,
                            "bytes": found.input_bytes,
                            "options": found.point.options(),
                            "seconds": found.seconds,
                            "peak_bytes": found.peak_bytes,
                            "runs": found.runs_n,
                            "merge_passes": found.passes_n,
                        }
                        for found in line
                    ],
                }
                for name, line in self.lines().items()
            ],
        }


def _x(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"1/{round(1 / value)}"


@dataclass(frozen=True)
class Report:
    command_line: str
    judged: bool
    machine: dict[str, str]
    versions: dict[str, str]
    warnings: list[str]
    left_out: list[str]
    curves: list[Curves]
    faults: list[str]

    def misses(self) -> list[str]:
        return [text for one in self.curves for text in one.misses()] if self.judged else []

    def passed(self) -> bool:
        return not self.faults and not self.misses()

    def exponents(self) -> list[str]:
        return [
            f"{one.series.name}, {name}: time grows as size to the power {found:.2f}"
            for one in self.curves
            for name, found in one.exponents().items()
            if found is not None
        ]

    def notes(self) -> list[str]:
        machine = self.machine
        return [
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']},"
            f" {machine['kernel']}, {machine['libc']}, load {machine['load']}",
            f"Python {machine['python']}; {'; '.join(self.versions.values())}",
            "medians of the rounds; fewer where they take long; inputs in the page cache, free memory touched before"
            " each run; all outputs of an input are the same, the first has its size and GNU sort -c finds it in order",
            "judged" if self.judged else "smoke run: speed means nothing",
            f"exponents from {FIT_FROM_BYTES / MB:.0f} MB on",
            *(f"left out: {text}" for text in self.left_out),
            *(f"warning: {text}" for text in self.warnings),
            *(f"missed: {text}" for text in self.misses()),
            *(f"fault: {text}" for text in self.faults),
        ]

    def text(self) -> str:
        rows = [list(COLUMNS), *(row for one in self.curves for row in one.rows())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join(["", *table, "", *self.exponents(), "", *self.notes()])

    def markdown(self) -> str:
        parts = ["# How pysort's cost grows", f"    {self.command_line}"]
        for one in self.curves:
            parts += [
                f"## {one.series.name}: {one.series.title}",
                f"![{one.series.title}](scale-{one.series.name}.svg)",
            ]
            parts.append(markdown_table([list(COLUMNS[1:]), *(row[1:] for row in one.rows())]))
        parts += ["## Growth", "\n".join(f"- {text}" for text in [*self.exponents(), *self.notes()])]
        return "\n\n".join(parts) + "\n"

    def write(self, directory: Path) -> None:
        """scale.json and scale.md in the directory, which is made if need be."""
        directory.mkdir(parents=True, exist_ok=True)
        result = {
            "group": GROUP,
            "command": self.command_line,
            "judged": self.judged,
            "machine": self.machine,
            "versions": self.versions,
            "warnings": self.warnings,
            "left_out": self.left_out,
            "faults": self.faults,
            "misses": self.misses(),
            "series": [one.as_json() for one in self.curves],
        }
        (directory / f"{GROUP}.json").write_text(json.dumps(result, indent=2) + "\n")
        (directory / f"{GROUP}.md").write_text(self.markdown())


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def readme_table(result: dict[str, Any]) -> str:
    """A row a curve: where it begins and ends, and how it grows. result: scale.json of a full run."""
    rows = [["what varies", "", "from", "to", "s, first / last", "MB/s, first / last", "grows as size to the power"]]
    for series in result["series"]:
        for curve in series["curves"]:
            ends = [curve["points"][0], curve["points"][-1]]
            seconds = [statistics.median(point["seconds"]) for point in ends]
            rates = [point["bytes"] / MB / taken for point, taken in zip(ends, seconds, strict=True)]
            of_size = series["exponent_limit"] is not None
            first, last = (f"{point['bytes'] / MB:.0f} MB" if of_size else _x(point["x"]) for point in ends)
            rows.append(
                [
                    f"[{series['name']}](bench/results/scale-{series['name']}.svg): {series['title']}",
                    curve["name"],
                    first,
                    last,
                    " / ".join(f"{taken:.2f}" for taken in seconds),
                    " / ".join(f"{rate:.0f}" for rate in rates),
                    "" if curve["exponent"] is None else f"{curve['exponent']:.2f}",
                ]
            )
    machine = result["machine"]
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, load {machine['load']}"
        " at the start",
        *result["versions"].values(),
        *(f"left out: {text}" for text in result["left_out"]),
        f"`{result['command']}`; [all numbers](bench/results/scale.md)",
    ]
    return f"{markdown_table(rows)}\n\n{'; '.join(facts)}."
