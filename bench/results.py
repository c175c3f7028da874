"""What was measured, and the judgement of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.cases import SUBJECT, Case
from bench.process import Run
from bench.roofline import ROOFLINE

# (max - min) / median of a contender's times above which the numbers deserve a warning.
SPREAD_WARNING = 0.25


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        listed = list(values)
        return cls(statistics.median(listed), min(listed), max(listed))

    @property
    def relative(self) -> float:
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass
class CaseResult:
    """The runs of one case by contender, in rounds, those of the roofline among them."""

    case: Case
    reference: str
    corpus_bytes: int = 0
    corpus_lines_n: int = 0
    spilled_bytes: int | None = None  # what pysort wrote to runs, where the buffer is small
    runs: dict[str, list[Run]] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)  # contender → what was wrong
    skipped: str | None = None  # why nothing was compared
    warnings: list[str] = field(default_factory=list)

    def skip(self, reason: str) -> None:
        """Nothing is compared, whatever was run before the reason came to light."""
        self.skipped = reason
        self.runs.clear()

    def wall(self, contender: str) -> Spread:
        return Spread.of(run.wall_s for run in self.runs[contender])

    def cpu_s(self, contender: str) -> float:
        return statistics.median(run.cpu_s for run in self.runs[contender])

    def peak_bytes(self, contender: str) -> int:
        return max(run.peak_bytes for run in self.runs[contender])

    def opponents(self) -> list[str]:
        """Those whom pysort is compared with, GNU sort first."""
        return [name for name in self.commands if name not in (SUBJECT, ROOFLINE)]

    def fault(self, opponent: str) -> str | None:
        """Why there is no comparison with this one, if there is none."""
        return self.faults.get(SUBJECT) or self.faults.get(self.reference) or self.faults.get(opponent)

    def floor(self, opponent: str) -> float | None:
        return self.case.floor if opponent == self.reference else self.case.rival_floor

    def ratio(self, opponent: str) -> Spread:
        """The opponent's time over pysort's: of the medians; low and high over the rounds."""
        pairs = zip(self.runs[opponent], self.runs[SUBJECT], strict=True)
        rounds = [run.wall_s / own.wall_s for run, own in pairs]
        medians = self.wall(opponent).median / self.wall(SUBJECT).median
        return Spread(medians, min(rounds), max(rounds))

    def verdict(self, opponent: str, judged: bool) -> str:
        """ "ok", or in capitals what misses the case's demands."""
        if self.fault(opponent):
            return "WRONG"
        misses = []
        floor, limit = self.floor(opponent), self.case.rss_limit_mib
        if judged and floor is not None and self.ratio(opponent).median < floor:
            misses.append("SLOW")
        if judged and limit is not None and self.peak_bytes(SUBJECT) > limit * 2**20:
            misses.append("MEMORY")
        return " ".join(misses) or "ok"

    def passed(self, judged: bool) -> bool:
        if self.skipped is not None:
            return not self.faults
        return not self.faults and all(self.verdict(name, judged) == "ok" for name in self.opponents())

    def spread_warnings(self) -> list[str]:
        return [
            f"{self.case.name}: {name}'s times spread over {self.wall(name).relative:.0%} of their median"
            for name, runs in self.runs.items()
            if len(runs) > 1 and name != ROOFLINE and self.wall(name).relative > SPREAD_WARNING
        ]
