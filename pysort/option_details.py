"""What the man page says of single options, in the markup of manpage_text.py."""

from __future__ import annotations

# By Option.key: what the line of --help has no room for.
DETAILS = {
    "dictionary-order": "Other bytes in the keys are passed over.",
    "ignore-case": "This means the letters `a` to `z`.",
    "numeric-sort": "A number is blanks, an optional `-`, digits, and perhaps a `.` and more digits. It may have any "
    "length and is compared exactly. What does not begin with a number counts as 0.",
    "reverse": "This holds for keys that have no ordering options of their own, and for the comparison of whole lines "
    "that decides when all keys are equal. What compares equal keeps its order.",
    "stable": "Without it lines with equal keys are compared as whole lines.",
    "unique": "The first is the one that was read first. When there are keys, lines are equal if all keys are.",
    "atomic": "The lines are written to a new file in the same directory, which is synced and then renamed to the "
    "name of `-o`, so that whoever looks there finds the old content or the new one, whole. Until then it has no name, "
    "where the file system knows files without one. Mode and owner are kept, which may need privileges; other names of "
    "the file (hard links) keep the old content, and access control lists are not kept. A symbolic link is followed. "
    "What is no regular file is written as without this option.",
    "output": "The file is opened before anything is read, and emptied only when the first line is ready: when an "
    "input cannot be opened its old content is still there.",
    "zero-terminated": "A newline is then an ordinary byte, and a blank where keys are looked for.",
    "merge": "What is not sorted is merged all the same: of the next lines of all inputs the least goes first, among "
    "equals that of the earlier input. An input that is the output as well is copied before anything is written.",
    "check": "A line is out of order when a sort would put it before the one that it follows, also when only the whole "
    "lines say so; with `-u` equal ones are as well. What follows in the input is not read, but for a few MiB of "
    "a regular file.",
    "files0-from": "There must be no operand then, and no `-` among the names.",
    "batch-size": "Without it the memory alone decides, and for the inputs of `-m` the limit on open files. There "
    "must be two at least, and no more than there may be open files.",
    "buffer-size": "Of several sizes the largest counts.",
    "parallel": "By default as many as there are processors, 8 at most. The output is the same for every _N_.",
    "temporary-directory": "They take turns, and none is touched before something has to be put into it. Where one is "
    "full the next one takes the rest.",
    "y": "A following word is taken for _N_ only if it is empty or all digits.",
    "header": "They are written before everything else, once. A later input whose first lines are others is named in a "
    "warning, unless it is empty. With `-c` they are not looked at.",
    "header-prefix": "However many they are. With `--header` these are the lines behind its own.",
    "top": "These are the lines that `head -n` _N_ would leave, for every order and with `-u`; but where they fit a "
    "quarter of the memory no temporary file is made, and in every run there are no more than that. A header is not "
    "counted.",
    "count": "Only lines that come one after the other are counted together: with keys and `-s` equal lines may be "
    "apart. With `-u` all that compare equal count for the first. In each temporary run a line is there once, with its "
    "count: where many are equal, runs are small.",
    "Z": "Their first bytes tell; others are read as they are. zstd and lz4 take the packages zstandard and lz4. "
    "A damaged input ends the sort with a message and status 2.",
    "crlf": "The one right before the end of a line, that is.",
    "compress": "Each block of a run is compressed by itself, and one that does not become smaller is stored as it is. "
    "zstd and lz4 take the packages zstandard and lz4. This saves temporary space; it saves time only where the disk "
    "is slower than the processor compresses. Not together with `--compress-program`, for which any other word is the "
    "_PROG_: GNU `sort` lets one shorten that name so.",
    "fadvise": "See Hints below.",
    "run-fadvise": "All runs in one directory share one file, and so the hints that are given when it is opened.",
    "reader": "mmap copies out of mapped parts of the file, direct reads past the page cache (`O_DIRECT`). Both keep "
    "to the memory that `-S` grants, and both leave it to pread where the system refuses; `--stats` tells the reason.",
    "input-reader": "This is for regular files. Standard input, pipes and devices are always read. A file that "
    "somebody shortens while it is mapped ends `pysort` with a message and status 2; for pread it just ends. Without "
    "the C kernel inputs are not mapped.",
    "mmap-flags": "The names are populate, nonblock, locked and noreserve; see `mmap`(2). A file that is larger than "
    "the memory that is available is not populated.",
    "madvise": "See `madvise`(2). It is given for each part of a file that is mapped.",
    "read-size": "This is rounded up to whole blocks, which are at most 64 KiB, and never more than there is room for. "
    "Without it inputs are read by at most 1 MiB.",
    "stats": "See Statistics below.",
    "progress": "`--progress` alone means auto. See Progress below.",
    "plan": "See The plan below.",
    "completions": 'bash: put `eval "$(pysort --completions=bash)"` into `~/.bashrc`. zsh: the same into `~/.zshrc`, '
    "behind `compinit`. fish: put `pysort --completions=fish | source` into `~/.config/fish/config.fish`.",
    "compare-hints": "See Comparing strategies below. By default they are `none`, `sequential`, `willneed`, "
    "`willneed-chunked`, `mmap` and `direct`.",
    "version": "This also tells which kernel runs, C or Python.",
}
