"""Decides, without doing anything: how memory is divided, and which runs are merged in which order."""

from __future__ import annotations

from itertools import pairwise

from pysort.storage.access import LEAST_WINDOW_BYTES
from pysort.units import KIBI, MEBI

# GNU sort's least buffer: 34 bytes for each of the 16 files that it merges at once.
LEAST_MEMORY_BYTES = 16 * 34
ALIGN_BYTES = 64
LARGEST_ARENA_BYTES = (1 << 32) - 4096  # offsets in records are 32 bits
DIRTY_SHARE = 16  # of the memory that is available
LEAST_OUT_BYTES = 8 * KIBI  # more than output.STDIO_BUFFER_BYTES
LARGEST_OUT_BYTES = MEBI
LARGEST_READ_BYTES = MEBI
LARGEST_BLOCK_BYTES = 64 * KIBI
LEAST_BLOCK_BYTES = 4 * KIBI  # of those that are made smaller to save a merge pass
LARGEST_WINDOW_BYTES = MEBI
SORT_RECORD_BYTES = 32  # a record and its scratch
MERGE_RECORD_BYTES = 16
HEADER_BYTES = 8  # before a key
CHECK_RECORD_BYTES = 16
# Less is done before the workers have begun.
PARALLEL_INPUT_BYTES = 4 * MEBI
PARALLEL_MEMORY_BYTES = 8 * MEBI
# Address space for each byte of input: an empty line costs its byte, record, scratch, header and short keys. Pages that
# are not touched cost nothing.
WORST_COST = 128


# What a merge reads ahead of each run, in blocks of 64 KiB: requests of half a MiB and more. Cold runs on a disk of
# 1,000 requests a second, medians of 3 on a busy machine, against none ahead: with 16 blocks 1.15 to 1.25 times as
# fast, for 16 and for 64 runs, with 8 blocks 1.1 to 1.9 times, with 4 blocks 0.85 to 1.7 times; with at most 4 runs
# ahead at a time 0.6 to 1.7 times. The noise is as large as what lies between 8 and 16. On a disk of 1 GB/s, on one
# of 150 MB/s and in the page cache no difference was to be seen.
PREFETCH_N = 16


class InputSample:
    """What a few blocks of the inputs tell. text_bytes, lines_n: in them; longest: the longest line, as far as it is
    seen. pairs_n: pairs of lines that follow one another; ordered_n: those that are in byte order."""

    __slots__ = ("lines_n", "longest", "ordered_n", "pairs_n", "text_bytes")

    def __init__(self) -> None:
        self.text_bytes = 0
        self.lines_n = 0
        self.longest = 0
        self.pairs_n = 0
        self.ordered_n = 0

    def add(self, text: bytes, separator: bytes) -> None:
        """Count a block, whose first and last lines may begin and end elsewhere."""
        lines = text.split(separator)
        self.text_bytes += len(text)
        self.lines_n += len(lines) - 1
        self.longest = max(self.longest, *map(len, lines))
        whole = lines[1:-1]
        self.pairs_n += max(len(whole) - 1, 0)
        self.ordered_n += sum(a <= b for a, b in pairwise(whole))

    @property
    def line_bytes(self) -> float:
        """The mean length of a line with its separator."""
        return self.text_bytes / max(self.lines_n, 1)

    @property
    def ordered_share(self) -> float:
        """1 when every line seems to follow the one before it, some 0.5 when they lie by chance."""
        return self.ordered_n / self.pairs_n if self.pairs_n else 1.0


class SortPlan:
    """The ledger of -S: arena_bytes + out_bytes * (thread_n + 1) + what is mapped + what compression takes <=
    memory_bytes, save where memory_bytes is too little to divide.

    arena_bytes: sort buffer, then the windows of the runs under merge. thread_n: workers, 0 where one thread does
    everything. out_bytes: an output buffer. read_bytes: most that one read of an input asks for; run_read_bytes: of a
    run, None for as much as its window has room for. block_bytes: spill block. fan_in: runs merged at once;
    input_fan_in: the same where inputs are among them, each of which costs a descriptor. map_bytes: for mappings and
    aligned buffers, where inputs or runs are mapped or read directly: pages that they touch are this process's.
    free_bytes: memory that was available at the start, None if that is not known. dirty_bytes: of runs, that may wait
    to be written to the disk: less than what has Linux start to write by itself, a tenth of it. input_bytes: the size
    of all inputs, and the most that their runs take, None if that is not known.
    runs_expected: about as many, rather more, as are made out of sampled inputs, else None. prefetch_n: blocks that a
    merge asks for ahead of each run, None where the user left it open; ahead_bytes: most of all runs together. They
    wait in the kernel's page cache, which is not this process's memory but may be its control group's: so they take at
    most half of what is left beside -S, and are still there when they are read. top_n: lines that are wanted, None for
    all.
    """

    __slots__ = (
        "_window_n",
        "ahead_bytes",
        "arena_bytes",
        "block_bytes",
        "dirty_bytes",
        "fan_in",
        "free_bytes",
        "input_bytes",
        "input_fan_in",
        "map_bytes",
        "memory_bytes",
        "out_bytes",
        "prefetch_n",
        "read_bytes",
        "run_read_bytes",
        "runs_expected",
        "thread_n",
        "top_n",
    )

    def __init__(
        self,
        memory_bytes: int,
        *,
        batch_size: int | None = None,
        input_bytes: int | None = None,
        input_mapped: bool = False,
        runs_mapped: bool = False,
        descriptor_n: int | None = None,
        thread_n: int = 1,
        read_size: int | None = None,
        free_bytes: int | None = None,
        prefetch_n: int | None = None,
        parallel_reads_n: int = 1,
        sample: InputSample | None = None,
        top_n: int | None = None,
        codec_bytes: int | None = None,
    ) -> None:
        """memory_bytes: what -S grants, or the default. batch_size: a cap on the fan-in, if the user gave one.
        input_bytes: the size of all inputs, None if not known. descriptor_n: inputs that may be open at once, None
        without a limit. thread_n: threads that may work. read_size: bytes that one read should ask for; prefetch_n,
        parallel_reads_n: blocks and threads; all three if the user gave them. sample: of the inputs. codec_bytes: what
        it takes to compress or expand one block, None where runs are not compressed."""
        memory = max(memory_bytes, LEAST_MEMORY_BYTES)
        out = min(max(memory // 16, LEAST_OUT_BYTES), LARGEST_OUT_BYTES)
        if input_bytes is not None:  # zeroing 1 MiB for a small file would take a millisecond
            out = min(out, max(input_bytes, LEAST_OUT_BYTES))
        small = memory < PARALLEL_MEMORY_BYTES or (input_bytes is not None and input_bytes < PARALLEL_INPUT_BYTES)
        self.thread_n = 0 if thread_n == 1 or small else thread_n
        outs = out * (self.thread_n + 1)
        arena = memory - outs if memory > 4 * outs else memory
        maps = memory // 4 if input_mapped or runs_mapped else 0
        arena -= maps
        if codec_bytes is not None:  # in each thread, with the block; and what is on its way to the disk
            packing = (self.thread_n + 1) * (codec_bytes + LARGEST_BLOCK_BYTES) + out
            arena -= packing if arena > 2 * packing else 0
        if input_bytes is not None:
            arena = min(arena, input_bytes * WORST_COST + 64 * KIBI)
        arena = max(min(arena, LARGEST_ARENA_BYTES), LEAST_MEMORY_BYTES)
        self.memory_bytes = memory
        self.free_bytes = free_bytes
        self.input_bytes = input_bytes
        self.out_bytes = out
        self.arena_bytes = arena - arena % ALIGN_BYTES
        # A window is four blocks at least: half of it text, the rest records and keys. Small blocks mean many windows,
        # and so fewer passes; a block is only the unit of the checksum, reads take as many as there is room for. Where
        # there are workers a window has two such halves, of which they fill one while the other is merged.
        self._window_n = 8 if self.thread_n else 4
        least, largest = self.arena_bytes // (64 * self._window_n), 4 * LARGEST_BLOCK_BYTES // self._window_n
        self.block_bytes = min(max(least, 64), largest)
        self.runs_expected = None
        if sample is not None and input_bytes is not None:
            self.runs_expected = self.expect_runs(input_bytes, sample)
            self._fit_blocks(self.runs_expected, sample.longest)
        self.read_bytes = min(max(self.arena_bytes // 16, 64), LARGEST_READ_BYTES)
        self.run_read_bytes = None
        if read_size is not None:
            self.read_bytes = self.run_read_bytes = read_size + -read_size % self.block_bytes
        elif parallel_reads_n > 1:  # a piece for each thread
            self.read_bytes = min(parallel_reads_n * self.read_bytes, self.arena_bytes // 4)
        self.prefetch_n = prefetch_n
        self.dirty_bytes = (free_bytes or 0) // DIRTY_SHARE
        self.ahead_bytes = memory if free_bytes is None else min(memory, max(free_bytes - memory, 0) // 2)
        fan_in = self.arena_bytes // (self._window_n * self.block_bytes)
        if runs_mapped:
            fan_in = min(fan_in, maps // LEAST_WINDOW_BYTES)
        self.fan_in = max(min(fan_in, batch_size or fan_in), 2)
        self.input_fan_in = self.fan_in if descriptor_n is None else max(min(self.fan_in, descriptor_n), 2)
        self.map_bytes = max(maps, LEAST_WINDOW_BYTES)
        self.top_n = top_n

    def expect_runs(self, input_bytes: int, sample: InputSample, keyed: bool = True) -> int:
        """Rather more than will be made. keyed: whether keys take room beside the lines."""
        line_bytes = sample.line_bytes + SORT_RECORD_BYTES
        if keyed:  # nobody knows yet how long they are: as long as lines
            line_bytes += sample.line_bytes + HEADER_BYTES
        needed_bytes = int(input_bytes / sample.line_bytes * line_bytes)
        if needed_bytes <= self.arena_bytes:
            return 1
        return needed_bytes // (self.arena_bytes // 2 if self.thread_n else self.arena_bytes) + 1

    def _fit_blocks(self, run_n: int, longest_line: int) -> None:
        """Make blocks smaller where that lets run_n runs be merged at once. 246 MB in 4 MiB, 98 runs: 2.8-2.9 s with
        blocks of 4 or 8 KiB, 3.4 s in two passes with blocks of 16 KiB."""
        window = self.arena_bytes // run_n
        size = min(window // self._window_n, (window - 4 * longest_line) // 2)
        if self.thread_n:
            size = min(size, window // 8 - longest_line)
        size -= size % ALIGN_BYTES
        if LEAST_BLOCK_BYTES <= size < self.block_bytes:
            self.block_bytes = size

    def top_fits(self, line_n: int, longest_line: int) -> bool:
        """Whether the lines that are wanted may stay in a sort buffer that has room for line_n, of up to so many bytes,
        and leave most of it to others."""
        if self.top_n is None:
            return False
        return 4 * self.top_n <= line_n and self.top_n * (longest_line + 1) <= self.arena_bytes // 4

    def fan_in_for(self, longest_line: int) -> int:
        """The runs that can be merged at once when their lines are up to so long: half a window holds an incomplete
        line, the line that -u keeps, and a block."""
        window = 4 * longest_line + 2 * self.block_bytes
        return max(min(self.fan_in, self.arena_bytes // window), 2)

    def run_ahead_bytes(self, held_bytes: int) -> int:
        """How far to read ahead of each run when the spill files hold so much. Unless the user said so it is not done
        where the page cache will have kept them: with windows of 40 KiB a sort took 3.6 s instead of 3.1 s there
        (medians of 12 on a busy machine), with the same CPU time."""
        n = self.prefetch_n
        if n is None:
            kept = self.free_bytes is not None and held_bytes <= self.free_bytes // 2
            n = 0 if kept else PREFETCH_N
        return n * self.block_bytes

    def excess_bytes(self, arena_peak_bytes: int) -> int:
        """By how much memory_bytes was exceeded when a long line has made the arena outgrow its plan."""
        if arena_peak_bytes <= self.arena_bytes:
            return 0
        return max(arena_peak_bytes + self.out_bytes - self.memory_bytes, 0)

    def window_bytes(self, run_n: int) -> int:
        """The window of each of run_n <= fan_in runs under merge."""
        # Large ones where threads share the merge: of 1 GB in 20 runs they had 59 % of the lines in parts with windows
        # of 1 MiB, 91 % with 4 MiB.
        largest = LARGEST_WINDOW_BYTES * (4 if self.thread_n > 1 else 1)
        wanted = max(largest, 4 * self.block_bytes, 2 * (self.run_read_bytes or 0))
        size = min(self.arena_bytes // run_n, wanted)
        return size - size % ALIGN_BYTES


def merge_pass(run_n: int, fan_in: int) -> list[tuple[int, int]]:
    """The merges of the next pass, as (first run, number of runs), in order and not overlapping.

    Runs that no merge names stay as they are; what is merged takes its runs' place, so that equal lines keep their
    order. Nothing more is merged than needed to end with a merge of fan_in runs; one merge of everything is the last
    pass. (With equal runs this moves the least bytes: Knuth, The Art of Computer Programming 3, 5.4.9.)
    """
    if run_n <= fan_in:
        return [(0, run_n)]
    merges = []
    first = 0
    surplus = run_n - fan_in
    if run_n > fan_in * fan_in:
        surplus = run_n  # more passes follow: merge everything once
    while surplus > 0 and first < run_n:
        count = min(fan_in, surplus + 1, run_n - first)
        if count > 1:
            merges.append((first, count))
        first += count
        surplus -= count - 1
    return merges
