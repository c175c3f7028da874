"""The figures of --stats: what each is called in JSON and in text, and what it means."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# (key in JSON, label in text, definition in the markup of manpage_text). Times are left out, key and all, when nothing
# was timed.
SIDES = (
    ("inputs", "inputs", "All inputs together."),
    ("runs", "runs", "The runs in temporary files: written, and read back."),
    ("output", "output", "Standard output, or the file of `-o`."),
)

SIDE_FIGURES = (
    ("read_calls", "reads", "System calls that read, those that found the end too, and copies out of mapped files."),
    ("read_bytes", "bytes read", "What they brought, from the page cache or from a device."),
    ("read_request_bytes", "average request", "Bytes read, divided by reads."),
    ("blocks", "blocks asked", "Blocks of 4096 bytes that were read; each read counts the one it ends in as whole."),
    (
        "hit_blocks",
        "blocks hit",
        "Those of them that were in the page cache. Only `--stats=hits` makes files ask; where nobody asked, or it "
        "cannot be told, this is not known (null in JSON).",
    ),
    ("read_blocks", "blocks read", "Those that were not. Hit and read make up what was asked."),
    (
        "read_seconds",
        "read time",
        "Time inside these reads. Reads of several threads at once count each, so this may exceed what elapsed.",
    ),
    (
        "read_mib_per_second",
        "average read rate",
        "Bytes of the blocks read, all bytes read where that is not known, divided by the time elapsed; in MB (1024 * "
        "1024 bytes) per second, and 0 when no time elapsed.",
    ),
    ("write_calls", "writes", "System calls that write."),
    ("write_bytes", "bytes written", "What they took, on disk yet or not."),
    (
        "line_bytes",
        "before compression",
        "What that was before `--compress` or `--compress-program`. Not shown in text where it is the same.",
    ),
    ("write_request_bytes", "average write", "Bytes written, divided by writes."),
    (
        "write_seconds",
        "write time",
        "Time inside these writes. For runs this includes waiting for the disk when much is not written out yet.",
    ),
    ("write_mib_per_second", "average write rate", "Bytes written, divided by the time elapsed."),
    ("syncs", "syncs", "Calls that wait until data are on the disk."),
    ("sync_seconds", "sync time", "Time inside these calls."),
    ("hints", "hints", "How many times each hint was given and taken, and how many times it ended with which error."),
    (
        "hint_residency",
        "in page cache",
        "Bytes of the files that were in the page cache before and after each hint, over all times that it was given.",
    ),
    ("hint_seconds", "hint time", "Time inside the calls that give hints."),
    ("notes", "note", "What was done otherwise than asked for and why, with the number of times."),
)

JOB_FIGURES = (
    (
        "status",
        "exit status",
        "0, or 1 when `-c` or `-C` found disorder. 2 after an error; the rest is then as far as the job got.",
    ),
    ("kernel", "kernel", "Which one ran: `c` or `python`."),
    ("runs_generated", "runs", "Sorted buffers, one even if nothing was spilled. 0 under `-m` and `-c`."),
    ("merge_passes", "merge passes", "How many times lines were merged on their way, the last time to the output."),
    ("merges", "merges", "In all passes together."),
    ("longest_line_bytes", "longest line", "Length of the longest line, without its end."),
    ("temporary_peak_bytes", "temporary files", "The most space that temporary files took at one time."),
    (
        "memory_peak_bytes",
        "peak memory",
        "The most memory that the process had resident at one time, Python's own and mapped files included.",
    ),
    (
        "excess_bytes",
        "over -S",
        "By how much the buffers exceeded `-S` for a line that is too long for it. Not shown in text when 0.",
    ),
    ("minor_faults", "minor faults", "Pages that were touched for the first time and could be had at once."),
    ("major_faults", "major faults", "Pages that had to be waited for until a device delivered them."),
    (
        "user_seconds",
        "CPU user",
        "Processor time in the program, all threads and the programs of `--compress-program` together.",
    ),
    ("system_seconds", "CPU system", "Processor time in the operating system for it."),
    (
        "elapsed_seconds",
        "elapsed",
        "Time from the beginning of the program, the start of Python left out, to the end of the job.",
    ),
)

PLAN_FIGURES = (
    ("mode", "mode", "sort, merge or check."),
    ("kernel", "kernel", "Which one runs: `c` or `python`."),
    ("threads", "threads", "That sort and merge, beside the one that reads and writes."),
    ("memory_bytes", "memory", "What the job keeps to."),
    ("memory_from", "chosen by", "`-S`, or which limit it was that decided."),
    ("sort_buffer_bytes", "sort buffer", "The part of it for lines and keys; the rest is for output and mapped files."),
    ("input_bytes", "inputs", "Size of all inputs. It is not known where one of them is a pipe or a device."),
    (
        "runs",
        "runs",
        "About as many will be made, rather fewer, by what a few blocks of the inputs tell. 1 means that everything "
        "fits the sort buffer. Under `-m` these are the inputs, under `-c` there are none.",
    ),
    ("fan_in", "fan-in", "Runs that are merged at once, most."),
    ("merge_passes", "merge passes", "How many times lines will be merged on their way, the last time to the output."),
    ("temporary_bytes", "temporary space", "That is needed at one time, where space can be given back by holes."),
    ("temporary_directories", "temporary files", "A directory for them, and what is free there for you."),
    ("enough_space", "enough space", "Whether all of them together have room for that."),
    ("input_reader", "inputs read by", "pread, mmap or direct; what is no regular file is always read."),
    ("input_hints", "hints on inputs", "Those of `--fadvise`."),
    ("parallel_reads", "parallel reads", "Threads that read one large input."),
    ("read_bytes", "bytes per read", "Most that is asked of an input at once."),
    ("run_reader", "runs read by", "pread, mmap or direct."),
    ("run_hints", "hints on runs", "Those of `--run-fadvise`."),
    (
        "compression",
        "runs compressed by",
        "`none`, the method of `--compress`, or the program of `--compress-program`.",
    ),
    ("prefetch_blocks", "prefetch", "Blocks of each run that are asked for before a merge needs them."),
    ("block_bytes", "spill block", "Size of these blocks."),
)


def prose(figures: Sequence[tuple[str, str, str]]) -> str:
    """The definitions, in the markup of manpage_text."""
    return "\n".join(
        f"- `{label}`" + (f" (`{key}`)" if key != label else "") + f"\n{text}" for key, label, text in figures
    )
