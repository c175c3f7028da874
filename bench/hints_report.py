"""Results of the hints as a terminal text, Markdown and JSON: ratios first."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.hints_table import Claim, Expected, Result
from bench.results import SPREAD_WARNING, Spread

GROUP = "hints"
# Figures of a run that deserve a column, where there are any: name, heading, format.
_FIGURES = (
    ("open_s", "of it, to open, s", "{:.3f}"),
    ("spilled_mib", "MiB to runs", "{:.1f}"),
    ("p99_ms", "99 % of reads within ms", "{:.2f}"),
    ("syncs_per_s", "syncs/s", "{:.0f}"),
    ("read_mib", "device MiB", "{:.0f}"),
    ("ios", "device requests", "{:.0f}"),
    ("kib_per_io", "KiB each", "{:.0f}"),
    ("major_faults", "major faults", "{:.0f}"),
    ("cpu_s", "CPU s", "{:.2f}"),
)


def number(value: float) -> str:
    """Three digits that count, no more."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2 if value >= 1 else 3}f}"


def times(value: float) -> str:
    return number(value) if value >= 1 else f"{value:.2f}" if value >= 0.1 else f"{value:.1g}"


def ratio(values: Spread) -> str:
    return f"{times(values.median)} ({times(values.low)}-{times(values.high)})"


def _rounded(tree: Any) -> Any:
    """Without the digits that are noise."""
    if isinstance(tree, dict):
        return {name: _rounded(branch) for name, branch in tree.items()}
    if isinstance(tree, list | tuple):
        return [_rounded(branch) for branch in tree]
    return float(f"{tree:.5g}") if isinstance(tree, float) else tree


@dataclass
class Measured:
    """A table's result at a place, or why there is none."""

    claim: Claim
    place: str
    result: Result | None = None
    skipped: str | None = None

    @property
    def title(self) -> str:
        return f"{self.place} disk: " + (self.result.table.title if self.result else f"skipped: {self.skipped}")

    def header(self) -> list[str]:
        assert self.result is not None
        table = self.result.table
        value = f"{table.unit} (range)"
        return ["variant", *(f"times {name}" for name in table.baselines), value, *(row[1] for row in self._figures())]

    def rows(self) -> list[list[str]]:
        """A row a variant; ratios above 1 are better than the baseline."""
        result = self.result
        assert result is not None
        rows = []
        for name in result.table.variants:
            ratios = ["1" if base == name else ratio(result.ratio(name, base)) for base in result.table.baselines]
            spread = result.spread(name)
            value = f"{number(spread.median)} ({number(spread.low)}-{number(spread.high)})"
            figures = [self._figure(name, figure, shape) for figure, _, shape in self._figures()]
            rows.append([name, *ratios, value, *figures])
        return rows

    def _figures(self) -> list[tuple[str, str, str]]:
        assert self.result is not None
        return [row for row in _FIGURES if any(self._value(name, row[0]) for name in self.result.table.variants)]

    def _value(self, variant: str, figure: str) -> float | None:
        assert self.result is not None
        if figure != "kib_per_io":
            return self.result.figure(variant, figure)
        mib, ios = (self.result.figure(variant, name) for name in ("read_mib", "ios"))
        return mib * 1024 / ios if mib and ios else None

    def _figure(self, variant: str, figure: str, shape: str) -> str:
        value = self._value(variant, figure)
        return "-" if value is None else shape.format(value)

    def judgements(self) -> list[str]:
        result = self.result
        if result is None:
            return []
        return [self._judgement(result, expected) for expected in result.table.expected]

    def _judgement(self, result: Result, expected: Expected) -> str:
        found = result.ratio(expected.variant, expected.baseline)
        text = f"{expected.variant} is {ratio(found)} times as good as {expected.baseline}"
        if expected.least is None:
            return text
        verdict = "as expected" if found.median >= expected.least else "OTHERWISE"
        return f"{text}; expected at least {expected.least:g}: {verdict}"

    def warnings(self) -> list[str]:
        """The variants whose rounds differ so much that the median says little."""
        if self.result is None or self.result.rounds_n() == 1:
            return []
        spreads = {name: self.result.spread(name).relative for name in self.result.table.variants}
        loud = [f"{name} {spread:.0%}" for name, spread in spreads.items() if spread > SPREAD_WARNING]
        return [f"range over {SPREAD_WARNING:.0%} of the median: {', '.join(loud)}"] if loud else []

    def notes(self, judged: bool) -> list[str]:
        if self.result is None:
            return []
        rounds_n = self.result.rounds_n()
        rounds = f"{rounds_n} round{'s' * (rounds_n > 1)}"
        refused = [f"{name}: {note}" for name in self.result.table.variants for note in self.result.notes(name)]
        return [rounds, *refused, *(self.judgements() if judged else []), *self.warnings()]

    def as_json(self) -> dict[str, Any]:
        head = {"claim": self.claim.name, "place": self.place, "skipped": self.skipped}
        if self.result is None:
            return head
        table = self.result.table
        return {
            **head,
            "title": table.title,
            "unit": table.unit,
            "limits": table.limits,
            "at": table.at,
            "column": table.column,
            "baselines": table.baselines,
            "rounds": self.result.rounds_n(),
            "expected": [
                {
                    **dataclasses.asdict(expected),
                    "found": dataclasses.asdict(self.result.ratio(expected.variant, expected.baseline)),
                }
                for expected in table.expected
            ],
            "variants": [self._variant_json(self.result, name) for name in table.variants],
        }

    def _variant_json(self, result: Result, name: str) -> dict[str, Any]:
        bases = result.table.baselines
        samples = result.samples[name]
        median = sorted(samples, key=lambda sample: sample.value)[len(samples) // 2]
        return {
            "name": name,
            "ratios": {base: dataclasses.asdict(result.ratio(name, base)) for base in bases},
            **dataclasses.asdict(result.spread(name)),
            "values": [sample.value for sample in samples],
            "figures": {figure: result.figure(name, figure) for figure in median.figures},
            "timeline": median.timeline,
            "notes": result.notes(name),
        }


@dataclass
class Report:
    """places: what each disk is. missing: why there is no slow disk, if there is none."""

    command_line: str
    scale: float
    judged: bool
    machine: dict[str, str]
    versions: dict[str, str]
    places: dict[str, str]
    missing: str | None
    measured: list[Measured]
    warnings: list[str] = field(default_factory=list)

    def conditions(self) -> list[str]:
        machine = self.machine
        disks = [f"{name} disk: {text}" for name, text in self.places.items()]
        return [
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, {machine['libc']},"
            f" load {machine['load']} at the start",
            "; ".join([f"Python {machine['python']}", *(": ".join(pair) for pair in self.versions.items())]),
            *disks,
            *([f"no slow disk: {self.missing}"] if self.missing else []),
            "variants in an order drawn for each round; before each run the files' own pages were dropped and none was"
            " left in memory, or for `hot` all were there; requests are the whole device's",
            "ratios above 1: better than that baseline (of medians; range over the rounds)"
            if self.judged
            else f"smoke run at scale {self.scale:g}: speed means nothing",
            *self.warnings,
        ]

    def claims(self) -> list[Claim]:
        return list({measured.claim.name: measured.claim for measured in self.measured}.values())

    def _of(self, claim: Claim) -> list[Measured]:
        return [measured for measured in self.measured if measured.claim is claim]

    def text(self) -> str:
        lines = []
        for claim in self.claims():
            lines += ["", f"{claim.name}: {claim.source}", f"Claimed: {claim.claimed}."]
            for measured in self._of(claim):
                lines += ["", measured.title]
                if measured.result is not None:
                    rows = [measured.header(), *measured.rows()]
                    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
                    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
                lines += measured.notes(self.judged)
        return "\n".join([*lines, "", *self.conditions()])

    def markdown(self) -> str:
        lines = ["# What read hints do", "", f"    {self.command_line}", ""]
        lines += [f"- {text}" for text in self.conditions()]
        for claim in self.claims():
            lines += ["", f"## {claim.name}", "", f"{claim.source} Claimed: {claim.claimed}."]
            for measured in self._of(claim):
                lines += ["", f"### {measured.title}", ""]
                if measured.result is not None:
                    header = measured.header()
                    rows = [header, ["---"] * len(header), *measured.rows()]
                    lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
                lines += [f"- {note}" for note in measured.notes(self.judged)]
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        return {
            "group": GROUP,
            "command": self.command_line,
            "scale": self.scale,
            "judged": self.judged,
            "machine": self.machine,
            "versions": self.versions,
            "places": self.places,
            "missing": self.missing,
            "warnings": self.warnings,
            "claims": [
                {"name": claim.name, "source": claim.source, "claimed": claim.claimed} for claim in self.claims()
            ],
            "tables": [measured.as_json() for measured in self.measured],
        }

    def write(self, directory: Path) -> None:
        """hints.json and hints.md in the directory, which is made if need be."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{GROUP}.json").write_text(json.dumps(_rounded(self.as_json()), indent=1) + "\n")
        (directory / f"{GROUP}.md").write_text(self.markdown())
