"""How far a job is, by what is counted anyway: the job knows nothing of it."""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pysort.outlook import Outlook
    from pysort.stats import SortStats

    Progress = Callable[[str, int, int | None], object]

INTERVAL_SECONDS = 0.1


class Reading:
    """phase: what is being done. done_bytes: of total_bytes, which is None where an input's size is not known. part:
    from 0 to 1, never less than before; None likewise."""

    __slots__ = ("done_bytes", "part", "phase", "total_bytes")

    def __init__(self, phase: str, done_bytes: int, total_bytes: int | None, part: float | None) -> None:
        self.phase = phase
        self.done_bytes = done_bytes
        self.total_bytes = total_bytes
        self.part = part


class Gauge:
    """Of one job. A sort reads every byte, and writes it to a run unless everything fits the sort buffer; each
    merge pass writes what it takes, the last one, or the sort itself, writes the output: the bar is the sum of these.
    mode: "sort", "merge" or "check"."""

    __slots__ = ("_mode", "_outlook", "_part", "_stats", "_total_bytes")

    def __init__(self, mode: str, outlook: Outlook | None, stats: SortStats) -> None:
        self._mode = mode
        self._outlook = outlook
        self._stats = stats
        self._part = 0.0
        self._total_bytes: int | None = None

    def expect_output(self) -> None:
        """All inputs have been read and nothing but the output is left to be made of them, whatever was foreseen."""
        self._total_bytes = self._done() + self._stats.input_bytes

    def read(self) -> Reading:
        done = self._done()
        total = self._total()
        if total is None:
            return Reading(self._phase(), done, None, None)
        self._part = max(self._part, min(done / total, 1.0) if total else 1.0)
        return Reading(self._phase(), round(self._part * total), total, self._part)

    @property
    def _input_bytes(self) -> int | None:
        return None if self._outlook is None else self._outlook.input_bytes

    @property
    def _has_read_all(self) -> bool:
        size = self._input_bytes
        return size is not None and self._stats.input_bytes >= size - 1  # a last separator may be added

    def _done(self) -> int:
        stats = self._stats
        if self._mode == "check":
            return stats.inputs.read_bytes
        if self._mode == "merge":
            return stats.runs.line_bytes + stats.output.write_bytes
        read, spilled = stats.input_bytes, stats.runs.line_bytes
        if stats.merge_passes_n:  # lines may have been left out
            spilled = max(spilled, read)
        return read + spilled + stats.output.write_bytes

    def _total(self) -> int | None:
        outlook = self._outlook
        if outlook is None:
            return self._total_bytes
        size = outlook.input_bytes
        if self._mode == "check":
            return size
        if self._mode == "merge":
            return sum(outlook.passes)
        # Whether it fits the sort buffer was only foreseen: once something is spilled, or all is read, it is known.
        if self._stats.runs.write_bytes or (outlook.passes and not self._has_read_all):
            return 2 * size + sum(outlook.passes or (size,))
        return 2 * size

    def _phase(self) -> str:
        stats = self._stats
        if self._mode != "sort":
            return f"{self._mode.rstrip('e')}ing"
        if stats.merge_passes_n:
            passes_n = len(self._outlook.passes) if self._outlook is not None else 0
            return "merging" if passes_n <= 1 else f"merging {stats.merge_passes_n}/{passes_n}"
        if stats.output.write_bytes:
            return "writing"
        if stats.runs.write_bytes:
            return "making runs"
        return "sorting" if self._has_read_all or self._total_bytes is not None else "reading"


class Herald:
    """Tells a function how far a job is: phase, bytes done, bytes in all or None. Called by the job's own thread, it
    calls the function when INTERVAL_SECONDS have passed since it did so last."""

    __slots__ = ("_due", "_progress", "gauge")

    def __init__(self, gauge: Gauge, progress: Progress) -> None:
        self.gauge = gauge
        self._progress = progress
        self._due = monotonic()

    def __call__(self) -> None:
        now = monotonic()
        if now >= self._due:
            self._due = now + INTERVAL_SECONDS
            found = self.gauge.read()
            self._progress(found.phase, found.done_bytes, found.total_bytes)

    def finish(self) -> None:
        """All is done: it may turn out to be less than was foreseen."""
        found = self.gauge.read()
        total = found.done_bytes if found.total_bytes is None else found.total_bytes
        self._progress(found.phase, total, total)
