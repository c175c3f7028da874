"""Results as a terminal table, Markdown and JSON: ratios first."""

from __future__ import annotations

import dataclasses
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cases import SUBJECT
from bench.results import CaseResult, Spread
from bench.roofline import ROOFLINE

COLUMNS = (
    "case",
    "against",
    "times as fast (range)",
    "floor",
    "pysort s (range)",
    "other s (range)",
    "CPU s",
    "peak MiB",
    "roofline s",
    "verdict",
)


def _spread(values: Spread, digits_n: int) -> str:
    shown = [f"{value:.{digits_n}f}" for value in (values.median, values.low, values.high)]
    return "{} ({}-{})".format(*shown)


def _row(result: CaseResult, name: str, judged: bool) -> list[str]:
    floor = result.floor(name)
    first = [result.case.name, name]
    wanted = "" if floor is None else f"{floor:.1f}"
    if result.fault(name):
        return [*first, "-", wanted, *["-"] * (len(COLUMNS) - 5), result.verdict(name, judged)]
    bound = result.wall(ROOFLINE).median
    return [
        *first,
        _spread(result.ratio(name), 2),
        wanted,
        _spread(result.wall(SUBJECT), 3),
        _spread(result.wall(name), 3),
        f"{result.cpu_s(SUBJECT):.2f} / {result.cpu_s(name):.2f}",
        f"{result.peak_bytes(SUBJECT) / 2**20:.0f} / {result.peak_bytes(name) / 2**20:.0f}",
        f"{bound:.3f} (pysort {result.wall(SUBJECT).median / bound:.1f}x)",
        result.verdict(name, judged),
    ]


def _skipped_row(result: CaseResult) -> list[str]:
    return [result.case.name, *["-"] * (len(COLUMNS) - 2), f"skipped: {result.skipped}"]


def short(result: CaseResult) -> list[str]:
    """One phrase an opponent, for the line that is printed while the bench goes on."""
    if result.skipped is not None:
        return [f"skipped: {result.skipped}"]
    faults = [f"{name}: {fault}" for name, fault in result.faults.items()]
    return faults or [f"{result.ratio(name).median:.2f} times as fast as {name}" for name in result.opponents()]


@dataclass(frozen=True)
class Report:
    """`group` is the group of cases that the results are of."""

    group: str
    command_line: str
    scale: float
    rounds_n: int
    judged: bool
    machine: dict[str, str]
    versions: dict[str, str]
    results: list[CaseResult]
    warnings: list[str]

    def all_warnings(self) -> list[str]:
        return [*self.warnings, *(text for result in self.results for text in result.warnings)]

    def faults(self) -> list[str]:
        return [
            f"{result.case.name}: {name}: {fault}" for result in self.results for name, fault in result.faults.items()
        ]

    def rows(self) -> list[list[str]]:
        rows = []
        for result in self.results:
            if result.skipped is not None:
                rows.append(_skipped_row(result))
            else:
                rows += [_row(result, name, self.judged) for name in result.opponents()]
        return rows

    def unchecked(self) -> list[str]:
        """One sentence about the cases whose order Python does not know, if there are any."""
        names = ", ".join(result.case.name for result in self.results if not result.case.order.checked)
        return [f"order judged by the reference's bytes alone: {names}"] if names else []

    def versions_shown(self) -> dict[str, str]:
        """Of those who took part."""
        return {
            name: version
            for name, version in self.versions.items()
            if any(name in result.commands for result in self.results)
        }

    def _fewer_rounds(self) -> str:
        names = [
            result.case.name for result in self.results if (result.case.most_rounds_n or self.rounds_n) < self.rounds_n
        ]
        return f" (3 of {', '.join(names)})" if names else ""

    def conditions(self) -> list[str]:
        machine = self.machine
        return [
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']},"
            f" {machine['kernel']}, {machine['libc']}, load {machine['load']}",
            f"Python {machine['python']}; "
            + "; ".join(f"{name}: {version}" for name, version in self.versions_shown().items()),
            f"{self.rounds_n} rounds, interleaved{self._fewer_rounds()}; inputs in the page cache, free memory touched"
            f" before each run; corpora at scale {self.scale:g}; every output verified; CPU and peak as pysort / other;"
            f" {'floors judged' if self.judged else 'smoke run: speed means nothing'}",
            "roofline: `cat in > out`, with -S by way of a file each time that pysort spills its input (-c: `cat in`)",
            *self.unchecked(),
        ]

    def text(self) -> str:
        rows = [list(COLUMNS), *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        notes = [f"fault: {text}" for text in self.faults()]
        notes += [f"warning: {text}" for text in self.all_warnings()]
        return "\n".join(["", *table, "", *self.conditions(), *notes])

    def markdown(self) -> str:
        lines = [f"# pysort against other sorts: {self.group}", "", f"    {self.command_line}", ""]
        lines += ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows()]
        lines += ["", *(f"- {text}" for text in self.conditions())]
        lines += [f"- Fault: {text}" for text in self.faults()]
        lines += [f"- Warning: {text}" for text in self.all_warnings()]
        lines += ["", "## Commands", ""]
        lines += [
            f"- {result.case.name}, {name}: `{'cat | ' * result.case.piped}{shlex.join(argv)}`"
            for result in self.results
            for name, argv in result.commands.items()
        ]
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "command": self.command_line,
            "scale": self.scale,
            "rounds": self.rounds_n,
            "judged": self.judged,
            "machine": self.machine,
            "versions": self.versions_shown(),
            "warnings": self.all_warnings(),
            "cases": [self._case_json(result) for result in self.results],
        }

    def _case_json(self, result: CaseResult) -> dict[str, Any]:
        case = result.case
        return {
            "name": case.name,
            "corpus": case.corpus,
            "corpus_bytes": result.corpus_bytes,
            "corpus_lines": result.corpus_lines_n,
            "environment": dict(case.environment),
            "options": [*case.options, *([] if case.buffer_mib is None else [f"-S{case.buffer_mib}M"])],
            "order_checked": case.order.checked,
            "threads": {SUBJECT: case.subject_threads_n, "others": case.threads_n},
            "piped": case.piped,
            "pieces": case.pieces_n,
            "spilled_bytes": result.spilled_bytes,
            "reference": result.reference,
            "floor": case.floor,
            "rival_floor": case.rival_floor,
            "rss_limit_mib": case.rss_limit_mib,
            "passed": result.passed(self.judged),
            "faults": result.faults,
            "skipped": result.skipped,
            "ratios": {
                name: dataclasses.asdict(result.ratio(name))
                for name in result.opponents()
                if result.skipped is None and not result.fault(name)
            },
            "commands": result.commands,
            "runs": {name: [dataclasses.asdict(run) for run in runs] for name, runs in result.runs.items()},
        }

    def write(self, directory: Path) -> None:
        """GROUP.json and GROUP.md in the directory, which is made if need be."""
        directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.as_json(), indent=2) + "\n"
        (directory / f"{self.group}.json").write_text(text)
        (directory / f"{self.group}.md").write_text(self.markdown())
