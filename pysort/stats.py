"""What a sort reports about itself."""

from __future__ import annotations

from pysort.storage.iostats import IoStats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class SortStats:
    """kernel: which implementation ran, "c" or "python". inputs, runs, output: the I/O on each. Counts and bytes are
    those of the whole job; temporary_bytes_peak is the most that the spill files held at one time, excess_bytes by how
    much a long line has made the job exceed its memory."""

    __slots__ = (
        "excess_bytes",
        "input_bytes",
        "inputs",
        "kernel",
        "longest_line_bytes",
        "merge_passes_n",
        "merges_n",
        "output",
        "output_bytes",
        "runs",
        "runs_n",
        "spilled_bytes",
        "temporary_bytes_peak",
    )

    def __init__(self, kernel: str, clock: Callable[[], int] | None = None) -> None:
        """clock: times the I/O, see IoStats."""
        self.kernel = kernel
        self.inputs = IoStats(clock)
        self.runs = IoStats(clock)
        self.output = IoStats(clock)
        self.input_bytes = 0
        self.longest_line_bytes = 0
        self.output_bytes = 0
        self.runs_n = 0
        self.merge_passes_n = 0
        self.merges_n = 0
        self.spilled_bytes = 0
        self.temporary_bytes_peak = 0
        self.excess_bytes = 0
