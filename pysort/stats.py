"""What a sort reports about itself."""

from __future__ import annotations


class SortStats:
    """kernel: which implementation ran, "c" or "python". Counts and bytes are those of the whole
    job; temporary_bytes_peak is the most that the spill files held at one time."""

    __slots__ = (
        "input_bytes",
        "kernel",
        "longest_line_bytes",
        "merge_passes_n",
        "merges_n",
        "output_bytes",
        "runs_n",
        "spilled_bytes",
        "temporary_bytes_peak",
    )

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.input_bytes = 0
        self.longest_line_bytes = 0
        self.output_bytes = 0
        self.runs_n = 0
        self.merge_passes_n = 0
        self.merges_n = 0
        self.spilled_bytes = 0
        self.temporary_bytes_peak = 0
