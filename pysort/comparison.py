"""What --compare-hints makes of its measurements: a table, and which strategy is the fastest if any is."""

from __future__ import annotations

from pysort.units import MEBI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BASELINE = "none"

# Heading and width; the first column is as wide as its names, and the whole fits 80 columns when they have 17 letters.
_COLUMNS = (
    ("time s", 9),
    ("ratio", 6),
    ("read s", 8),
    ("MB/s", 8),
    ("I/Os*", 8),
    ("CPU %", 6),
    ("faults", 9),
    ("temp MB", 8),
)
_NAME_COLUMN = 17


class Measurement:
    """One job. seconds: it took; read_seconds: in reads. read_bytes: from inputs and runs. device_reads: that the
    devices served meanwhile, for whomever; None if not known. faults: minor and major."""

    __slots__ = (
        "cpu_seconds",
        "device_reads",
        "faults",
        "read_bytes",
        "read_seconds",
        "seconds",
        "temporary_bytes",
    )

    def __init__(
        self,
        seconds: float,
        *,
        read_seconds: float = 0.0,
        read_bytes: int = 0,
        device_reads: int | None = None,
        cpu_seconds: float = 0.0,
        faults: int = 0,
        temporary_bytes: int = 0,
    ) -> None:
        self.seconds = seconds
        self.read_seconds = read_seconds
        self.read_bytes = read_bytes
        self.device_reads = device_reads
        self.cpu_seconds = cpu_seconds
        self.faults = faults
        self.temporary_bytes = temporary_bytes


class Verdict:
    """fastest: the strategy with the least median. winner: the same if it is faster than BASELINE by more than the
    noise, else None. ratio: how many times as fast as BASELINE it is. equals: others that the noise does not tell from
    it. slower: those that are slower than BASELINE by more than the noise.
    noise: the greatest spread of all, as a part of BASELINE's median."""

    __slots__ = ("equals", "fastest", "noise", "ratio", "slower", "winner")

    def __init__(self, times: Mapping[str, Sequence[float]]) -> None:
        """times: of each strategy's rounds, one at least; BASELINE is among the strategies.

        Two strategies differ when their medians are further apart than the rounds of either, see spread().
        """
        medians = {name: median(values) for name, values in times.items()}
        spreads = {name: spread(values) for name, values in times.items()}

        def is_faster(name: str, other: str) -> bool:
            return medians[other] - medians[name] > max(spreads[name], spreads[other])

        self.fastest = min(medians, key=lambda name: medians[name])
        self.winner = self.fastest if is_faster(self.fastest, BASELINE) else None
        self.noise = _ratio(max(spreads.values()), medians[BASELINE])
        self.ratio = _ratio(medians[BASELINE], medians[self.fastest])
        self.equals = [name for name in times if name != self.fastest and not is_faster(self.fastest, name)]
        self.slower = [name for name in times if is_faster(BASELINE, name)]

    def clause(self) -> str:
        if self.winner:
            text = f"{self.winner} is fastest, {self.ratio:.2f} times as fast as {BASELINE}"
            return text + (f" ({_listed(self.equals)} within the noise of it)" if self.equals else "")
        if self.slower:
            verb = "is" if len(self.slower) == 1 else "are"
            return f"nothing is faster than {BASELINE} by more than the noise, {_listed(self.slower)} {verb} slower"
        return f"the differences are within the noise (rounds differ by up to {100 * self.noise:.0f} %)"


def sentence(times: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """The verdict on each state of the cache, by its name."""
    clauses = [f"{state}, {Verdict(found).clause()}" for state, found in times.items()]
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:] + "."


def table(measured: Mapping[str, Sequence[Measurement]]) -> list[str]:
    """Lines: a heading, and a row for each strategy with the medians of its rounds."""
    width = max(_NAME_COLUMN, *(len(name) for name in measured))
    baseline = median([one.seconds for one in measured[BASELINE]])
    heading = "strategy".ljust(width) + "".join(title.rjust(columns) for title, columns in _COLUMNS)
    return [heading, *(name.ljust(width) + _row(rounds, baseline) for name, rounds in measured.items())]


def _row(rounds: Sequence[Measurement], baseline: float) -> str:
    seconds = median([one.seconds for one in rounds])
    device_reads = [one.device_reads for one in rounds if one.device_reads is not None]
    cells = (
        f"{seconds:.3f}",
        f"{_ratio(baseline, seconds):.2f}",
        f"{median([one.read_seconds for one in rounds]):.3f}",
        f"{median([_ratio(one.read_bytes / MEBI, one.seconds) for one in rounds]):.1f}",
        f"{median(device_reads):.0f}" if device_reads else "n/a",
        f"{median([_ratio(100 * one.cpu_seconds, one.seconds) for one in rounds]):.0f}",
        f"{median([one.faults for one in rounds]):.0f}",
        f"{median([one.temporary_bytes / MEBI for one in rounds]):.1f}",
    )
    return "".join(cell.rjust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True))


def median(values: Sequence[float]) -> float:
    """Of one value at least."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float]) -> float:
    """How far the slowest and the fastest are apart, a quarter of them on each side left out: of three none, of nine
    two."""
    ordered = sorted(values)
    out = len(ordered) // 4
    return ordered[-1 - out] - ordered[out]


def _ratio(amount: float, whole: float) -> float:
    return amount / whole if whole else 0.0


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
