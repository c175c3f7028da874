"""What was measured, and the judgement of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.cases import SUBJECT, Case
from bench.process import Run

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
    """The runs of one case by contender, in rounds; the reference is the first contender."""

    case: Case
    reference: str
    corpus_bytes: int = 0
    corpus_lines_n: int = 0
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

    def ratio(self, contender: str) -> Spread:
        """Reference's time over the contender's: of the medians; low and high over the rounds."""
        pairs = zip(self.runs[self.reference], self.runs[contender], strict=True)
        rounds = [reference.wall_s / run.wall_s for reference, run in pairs]
        medians = self.wall(self.reference).median / self.wall(contender).median
        return Spread(medians, min(rounds), max(rounds))

    def verdict(self, contender: str, judged: bool) -> str:
        """ "ok", or in capitals what misses the case's demands."""
        fault = self.faults.get(contender) or self.faults.get(self.reference)
        if fault:
            return "WRONG"
        misses = []
        if judged and contender == SUBJECT:
            case = self.case
            if case.floor is not None and self.ratio(contender).median < case.floor:
                misses.append("SLOW")
            limit = case.rss_limit_mib
            if limit is not None and self.peak_bytes(contender) > limit * 2**20:
                misses.append("MEMORY")
        return " ".join(misses) or "ok"

    def challengers(self) -> list[str]:
        return [name for name in self.commands if name != self.reference]

    def passed(self, judged: bool) -> bool:
        if self.skipped is not None:
            return not self.faults
        return not self.faults and all(self.verdict(name, judged) == "ok" for name in self.challengers())

    def spread_warnings(self) -> list[str]:
        return [
            f"{self.case.name}: {name}'s times spread over {self.wall(name).relative:.0%} of their median"
            for name, runs in self.runs.items()
            if len(runs) > 1 and self.wall(name).relative > SPREAD_WARNING
        ]
