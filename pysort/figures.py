"""The figures of --stats: what each is called in JSON and in text, and what it means."""

from __future__ import annotations

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


def prose() -> str:
    """The definitions, in the markup of manpage_text."""
    return "\n".join(
        f"- `{label}`" + (f" (`{key}`)" if key != label else "") + f"\n{text}"
        for key, label, text in (*JOB_FIGURES, *SIDE_FIGURES)
    )
