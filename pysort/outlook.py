"""What a plan amounts to for inputs of a known size: runs, merge passes, and the bytes that they move. Pure."""

from __future__ import annotations

from pysort.plan import merge_pass
from pysort.storage.runreader import PUNCH_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.plan import InputSample, SortPlan


class Outlook:
    """input_bytes: of all inputs. runs_n: runs that are made of them, 1 when they fit the sort buffer; under -m the
    inputs, and 0 where nothing is written. fan_in: runs that one merge takes. passes: bytes that each merge pass moves,
    the last one, to the output, included. temporary_bytes: most that runs hold at one time where their space is given
    back as they are merged."""

    __slots__ = ("fan_in", "input_bytes", "passes", "runs_n", "temporary_bytes")

    def __init__(
        self, input_bytes: int, runs_n: int = 0, fan_in: int = 0, passes: Sequence[int] = (), temporary_bytes: int = 0
    ) -> None:
        self.input_bytes = input_bytes
        self.runs_n = runs_n
        self.fan_in = fan_in
        self.passes = tuple(passes)
        self.temporary_bytes = temporary_bytes


def outlook_of_sort(plan: SortPlan, input_bytes: int, sample: InputSample, keyed: bool) -> Outlook:
    """keyed: whether keys take room beside the lines."""
    runs_n = plan.expect_runs(input_bytes, sample, keyed)
    fan_in = plan.fan_in_for(sample.longest)
    lines_n = int(input_bytes / sample.line_bytes)
    if runs_n == 1 or plan.top_fits(lines_n // runs_n, sample.longest):
        return Outlook(input_bytes, 1, fan_in)
    passes = merge_passes([input_bytes // runs_n] * runs_n, fan_in)
    return Outlook(input_bytes, runs_n, fan_in, pass_bytes(passes), input_bytes + held_bytes(passes[:-1]))


def outlook_of_merge(plan: SortPlan, input_sizes: Sequence[int]) -> Outlook:
    passes = merge_passes(input_sizes, plan.input_fan_in)
    moved, total = pass_bytes(passes), sum(input_sizes)
    temporary = min(sum(moved[:-1]), total) + held_bytes(passes[1:-1])
    return Outlook(total, len(input_sizes), plan.input_fan_in, moved, temporary)


Merges = list[tuple[int, int]]  # of one pass: runs, and bytes


def merge_passes(run_bytes: Sequence[int], fan_in: int) -> list[Merges]:
    """The merges of each pass over runs of these lengths, one pass at least."""
    sizes = list(run_bytes)
    passes = []
    while True:
        merges = merge_pass(len(sizes), fan_in)
        passes.append([(n, sum(sizes[first : first + n])) for first, n in merges])
        if merges == [(0, len(sizes))]:
            return passes
        for first, n in reversed(merges):
            sizes[first : first + n] = [sum(sizes[first : first + n])]


def pass_bytes(passes: Sequence[Merges]) -> list[int]:
    """What each pass moves."""
    return [sum(moved for _, moved in merges) for merges in passes]


def held_bytes(passes: Sequence[Merges]) -> int:
    """Most that a merge has read of its runs, and written again, before their space is given back: that is done in
    batches."""
    return max((min(n * PUNCH_BYTES, moved) for merges in passes for n, moved in merges), default=0)
