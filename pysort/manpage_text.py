"""The prose of the man page, and what it says of single options.

Plain text with a little markup: `bold`, _italic_, paragraphs between empty lines. "# " begins a section, "= " a part of
one, "- " a tag whose text is on the next lines, four spaces an example that is set as it is.
"""

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
    "lines say so; with `-u` equal ones are as well. What follows in the input is not read.",
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

PROSE = """\
# NAME

pysort - sort lines of text files, also of files bigger than memory

# SYNOPSIS

`pysort` [_OPTION_]... [_FILE_]...

`pysort` [_OPTION_]... `--files0-from=`_F_

# DESCRIPTION

`pysort` reads the lines of all _FILE_s, puts them in order and writes them to standard output. Without a _FILE_, and
where a _FILE_ is `-`, it reads standard input. It takes the options of GNU `sort`, and its output is what GNU `sort`
writes in the same locale, to the byte. Where only the order of bytes is wanted, `--bytes` or `LC_ALL=C` gives it,
several times faster. A last line without a newline gets one, in each _FILE_.

= Files bigger than memory

Lines are collected in a buffer. If all of them fit, they are sorted there and written, and no temporary file is
made. If not, each full buffer is sorted and becomes a run in a temporary file, and in the end all runs are merged. One
merge takes as many runs as the memory has room for: 64 where it is small, thousands where it is 1 GiB. Only when there
are more, some are merged into larger runs first. While runs are merged their space goes back to the file system, if it
can punch holes into files, so that about as much temporary space is needed as the input has bytes. Blocks of runs have
checksums: a disk that returns other bytes than it was given ends the sort with a message.

= Memory

`-S` _SIZE_ is a promise. The lines, their records and keys, the windows of a merge, the output buffer and the mapped
parts of files are no larger than that, all together. The interpreter and the program are not counted; they take about
13 MiB. A single line that is longer than the buffer is sorted all the same: the buffer grows to what this line needs,
up to a few times its length, and by so much the promise is broken. A line of more than about 1 GiB may be refused, with
a message.

Without `-S` the memory is the smallest of these: three quarters of all memory; three quarters of what is available
now, but not less than an eighth of all; half of what `ulimit -d` and `ulimit -v` allow; 15/16 of what `ulimit -m`
allows. All memory is what the machine has or what the control groups of the process allow, whichever is less, and
likewise for what is available. For small inputs no more is reserved than they can need, and for now no sort uses more
than 4 GiB.

# OPTIONS

An argument that a long option must have, its letter must have too. Options may stand behind files; `--` ends them.
The long names that GNU `sort` has may be shortened as far as they stay clear, those in the last list may not.

{options}

= Keys

_KEYDEF_ is _F_[`.`_C_][_OPTS_][`,`_F_[`.`_C_][_OPTS_]]: where a key starts and, after the comma, where it ends. _F_ is
the number of a field and _C_ that of a byte in it, both counted from 1.
- `-k 2`
The key is everything from field 2 to the end of the line.
- `-k 2,2`
The key is field 2. An end without _C_, or with a _C_ of 0, is the end of the field.
- `-k 2.3,2.5`
The key is the third to the fifth byte of field 2. Such an end may lie behind the field, but not behind the line.

With `-t` fields are what is between the separators, and may be empty. Without it a field is a stretch of blanks and
what follows up to the next blank: the blanks count, both as part of the key and for _C_, unless `b` is given. A key
whose fields are missing, or whose end comes before its start, is empty. It is less than all others and counts as 0.

_OPTS_ are letters out of `bdfghiMnRrV`, the ordering options for this key. `b` belongs to the position at which it
stands, any other to the whole key. A key that has any of them takes none of the options that are given for all. At
most one of `n`, `g`, `h` and `M` can hold for a key, and none of `d`, `i`, `R` and `V` together with them.

The first key that differs decides. If none does, the whole lines are compared, unless `-s` or `-u` is given. With
ordering options and no `-k` the whole line is the key.

The old form `+`_F_[`.`_C_][_OPTS_] [`-`_F_[`.`_C_][_OPTS_]] counts from 0, and its end is the first field or byte that
does not belong to the key any more: `+1 -2` is `-k 2,2`.

= Sizes

_SIZE_ is a number with a unit right behind it: `%` of the memory that there is for this process (the machine's, its
control group's, what is available now or what `ulimit` allows, whichever is least), `b` for bytes, `K` for 1024 bytes,
and `M`, `G`, `T`, `P`, `E`, `Z`, `Y`, `R`, `Q` for 1024 times more each. `K`, `M`, `G` and `T` may be small letters. A
number alone counts in `K`, and `K` or a larger unit alone stands for one of it. Less than 544 bytes are taken for 544.

= Hints

_HINTS_ tell the operating system how a file is going to be read, see `posix_fadvise`(2). They change how fast bytes
arrive, never what is written, and a hint that is not taken is no error; `--stats` shows it. At most one of the first
three can be given:
- `none`
Say nothing; the system guesses.
- `sequential`
From the beginning to the end, once: the system reads further ahead. Without one of these three this is added.
- `random`
In no order: the system does not read ahead.
- `noreuse`
The pages will not be needed again, and may make room for others first. Linux ignores this before version 6.3.
- `willneed`
Start reading at once, in the background. Linux takes some MiB of the file's beginning, not all of it.
- `willneed-chunked`
The same again and again, 1 MiB at a time: up to 8 MiB ahead of what is read of an input, and as far as the next read
of a run. Not together with `willneed`.
- `dontneed`
Drop what has been read from the page cache, 2 MiB at a time, but for what was there before this job. Where the system
does not tell what was there nothing is dropped.
- `dontcache`
Read without leaving pages in the page cache (`RWF_DONTCACHE`, since Linux 6.14). Not together with `dontneed`, and only
for what is read by pread.

= Statistics

`--stats` reports on standard error what the job did, once it has ended, with an error or without. (Not when it is
killed.) `--stats=json` writes one line of JSON instead: an object with the figures of the job and, in `inputs`, `runs`
and `output`, objects with the figures of what was read or written there. `notiming` looks at no clock before and after
each read and write: their times are then missing. `hits` makes readers ask whether blocks are in the page cache
before they read them; this makes the system read ahead, so it changes what it measures. Each figure by its name in
text, and in JSON where that is another:
{figures}

= Progress

With `--progress` standard error shows a bar while the job goes on. It counts bytes: those read from the inputs, those
written to runs, and those that each merge writes, so that half of the bar is half of the bytes that have to be moved.
Runs and merges are foreseen as `--plan` shows them. When the size of an input is not known the bar shows bytes and no
part of a whole. It never goes back, and nothing of it is left when the job ends, also by an error or a signal.

With `--progress`, bar or not, the signal SIGUSR1 makes `pysort` write one line to standard error: how far it is, and
how long it may still take.

= The plan

`--plan` shows what a job would do, on standard output, and does nothing of it: it reads a few blocks of the inputs and
opens no output. `--plan=json` writes one line of JSON. Each figure by its name in text, and in JSON where that is
another:
{plan}

= Comparing strategies

`--compare-hints` answers which way of reading is fastest for these files on these disks, and by how much. It takes any
other options and sorts as they say, again and again, each time in a process of its own that throws its output away:
neither standard output nor the file of `-o` gets it. _STRATEGIES_ are separated by colons, and each is a list, by
commas, of _HINTS_ and at most one way of reading: `pread`, `mmap`, `populate` (`mmap` with `--mmap-flags=populate`) or
`direct`. They take the place of `--fadvise` and `--run-fadvise`, of `--reader` and `--input-reader`, and hold for
inputs and runs alike. `none` is always among them. Only regular files can be compared.

There are three rounds, and up to nine where jobs are short. Each round runs every strategy twice. When it is cold the
inputs' own pages have been dropped from the page cache before, and those of the runs before each merge, which is not
counted as time. The cache of other files is left as it is. When it is warm the inputs have been read before. Whether
they are in the cache is checked each time, and it is told where they cannot be had cold, as on tmpfs, or warm, as when
they do not fit the memory. The output of all jobs must be the same: it is an error if it is not.

The table shows medians over the rounds: the time; how many times as fast as `none` that is; the time inside reads;
bytes read from inputs and runs, divided by the time; reads that the devices served meanwhile, for others too, and n/a
where the file system has no single device that tells; processor time as a part of the time; page faults, minor and
major; and the most space that temporary files took.

The last sentence names the fastest strategy. One counts as faster than another only if their medians are further apart
than the slowest and the fastest round of either, where of more than three rounds the slowest and the fastest quarter
are left out: anything less is called noise.

# EXIT STATUS
- `0`
All went well.
- `1`
The lines that `-c` or `-C` looked at are not in order; or the _WORD_ of `--check` or `--sort` does not exist.
- `2`
Anything else went wrong, and a message tells what.

# ENVIRONMENT
- `LC_ALL`, `LC_COLLATE`, `LC_CTYPE`, `LC_NUMERIC`, `LC_TIME`, `LANG`
The locale, by the rules of POSIX: `LC_ALL`, else the category's own variable, else `LANG`. It decides the order of
text, which bytes are letters, blanks or printable, how numbers and months are written, and the quotation marks of
messages. If one of them names a locale that the system does not know, everything is as in the C locale.
- `TMPDIR`
Where temporary files are put if there is no `-T`. If it is not set they go to `/tmp`.
- `PYSORT_KERNEL`
The loops over bytes and lines exist in C and in Python. The one in C runs if it was built. `c` or `python` demands
one of them, and it is an error if it cannot be had.
- `POSIXLY_CORRECT`
If it is set, to whatever value, options end at the first _FILE_. A `-o` behind it still counts where `+`_F_ is a key.
- `_POSIX2_VERSION`
With a number from 200112 to 200808 a word such as `+1` is the name of a file. Otherwise it is a key in the old form.

# FILES

Each temporary directory gets one file, and another one when a limit on the size of files is reached. These files have
no names from the beginning, or lose them at once where a file system has no such files: they cannot be listed, nobody
else can open them, and nothing of them is left when `pysort` ends, by whatever signal or error, SIGKILL included.
`ls -lL /proc/`_PID_`/fd` shows how large they are.

# SIGNALS

Signals do what they do by default, or nothing if they were ignored at the start. There is nothing to tidy up.

With `--progress` SIGUSR1 asks how far the job is; without it SIGUSR1 ends the process like any other.

SIGPIPE and SIGXFSZ always get their default action at the start, since Python hides which one they had. So `pysort`
ends silently when nobody reads its output any more. With `-o` SIGPIPE is ignored instead: a FIFO whose reader has gone
ends in a message and status 2.

# DIFFERENCES FROM GNU SORT

Messages are in English. A merge is not held to 16 files: inputs of `-m`
that are not sorted may come out in another order when there are more. Of several `-` under `-m` the first gets all of
standard input. An output file keeps its content until the first line is ready, under `-m` too. The memory that is used
without `-S` respects control groups. Temporary files cannot be seen by name, so messages about them name the directory,
the run and the position in it.

# EXAMPLES

Sort users by their number:

    pysort -t : -k 3,3n /etc/passwd

Sort by the second column, largest numbers first, and where they are equal by the first:

    pysort -k 2,2nr -k 1,1 sales.txt

Sort a large file in 2 GiB of memory, with the runs on another disk:

    pysort -S 2G -T /mnt/scratch -o big.sorted big.txt

Sort a file in place and drop repeated lines:

    pysort -u -o words words

Sort file names, whatever is in them:

    find . -print0 | pysort -z | xargs -0 ls -d

See how this file is read fastest on this disk:

    pysort --compare-hints -S 1G -k 2,2n big.txt

Keep the page cache for others while runs are read back:

    pysort --run-fadvise=sequential,noreuse -o big.sorted big.txt

# SEE ALSO

`sort`(1), `comm`(1), `join`(1), `uniq`(1), `shuf`(1), `posix_fadvise`(2), `mmap`(2), `locale`(7), `cgroups`(7)
"""
