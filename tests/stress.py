"""Random jobs against the system's sort, for as long as one likes: `python tests/stress.py SECONDS [SEED]`.

Words, sizes, memory, limits, threads and readers are drawn by the seed and the number of the job, so that any job can
be had again: `python tests/stress.py 0 SEED NUMBER`. The first difference ends it; the job's files, its words and what
came out of both are left in stress-SEED-NUMBER.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import support
from jobs import Answer, Worker, ask_gnu, in_locale
from test_differential import LETTERS, LOCALES, ORDERING_LETTERS, SEPARATORS, as_now, letters_of, pieces_for

LINES_N = [0, 1, 2, 30, 300, 300, 3000, 3000, 20_000, 60_000]
RUNS_N = [1, 1, 3, 10, 30, 100]  # about so many, by -S
HINTS = ["none", "random", "sequential,noreuse", "willneed", "random,noreuse,willneed-chunked,dontneed", "dontcache"]
READERS = ["pread", "mmap", "direct"]
ADDRESSES_MIB = [24, 48, 96, 300]  # of memory beyond what the interpreter has
DESCRIPTORS = [7, 8, 10, 20, 40]


class Job(NamedTuple):
    """words: what both get; own_words: what pysort alone gets; the rest as jobs.Worker.run has it."""

    task: str
    locale: str
    files: dict[bytes, bytes]
    stdin: bytes
    words: list[bytes]
    own_words: list[bytes]
    pipe: bool
    descriptors: int | None
    addresses: int | None


def draw_text(rng: random.Random, pieces: list[bytes], separator: bytes) -> bytes:
    """Lines of a few that are drawn first, with tails or without."""
    lines_n = rng.choice(LINES_N)
    pool = [b"".join(rng.choices(pieces, k=rng.randrange(7))) for _ in range(rng.choice([1, 3, 30, 300]))]
    tails_n = rng.choice([1, 1, 100, 10**9])
    forms = rng.choice([[b"%d"], [b" %d", b"\t%d"], [b",%d", b"%d"], [b".%d"]])
    lines = [rng.choice(pool) for _ in range(lines_n)]
    if tails_n > 1:
        lines = [line + rng.choice(forms) % rng.randrange(tails_n) for line in lines]
    if rng.random() < 0.1:
        lines.append(rng.choice([b"x", b"\xc3\xa9", b"0"]) * rng.randrange(100_000))
    if rng.random() < 0.2:
        lines.sort(reverse=rng.random() < 0.3)
    text = separator.join(lines)
    return text + separator if lines and rng.random() < 0.7 else text


def draw_order(rng: random.Random) -> list[bytes]:
    def position(first_char: int) -> str:
        field = rng.choice([1, 1, 2, 2, 3, 9])
        return f"{field}.{rng.randint(first_char, 9)}" if rng.random() < 0.4 else f"{field}"

    letters = LETTERS + 3 * ORDERING_LETTERS[rng.choice(list(ORDERING_LETTERS))]
    words = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        spec = position(1) + rng.choice(letters) + rng.choice(["", "", "r"])
        if rng.random() < 0.5:
            spec += "," + position(0) + rng.choice(["", "", "b"])
        words.append(b"-k" + spec.encode())
    given = rng.choice(letters) + "".join(letter for letter in "rsu" if rng.random() < 0.3)
    words += [b"-" + given.encode()] if given else []
    if "R" in letters_of(words):  # else the order is a new one every time
        words.append(b"--random-source=" + rng.choice([b"/dev/zero", b"/proc/version"]))
    if rng.random() < 0.4:
        words.append(b"-t" + rng.choice(SEPARATORS))
    return words


def draw_way(rng: random.Random, size: int, descriptors: int | None, limited: bool) -> list[bytes]:
    """How the work is done on so many bytes, within a limit or two."""
    fan_ins = [n for n in (2, 2, 3, 5, 16) if n <= (descriptors or 1000) - 3]
    choices = {
        "-S": ["50%", *(f"{4 * size // n + 1}b" for n in RUNS_N)] if size > 5000 else ["1b", "600b", "1K", "3K"],
        "--batch-size=": [*map(str, fan_ins)],
        "--parallel=": ["1", "2", "3", "8"],
        "--fadvise=": HINTS,
        "--run-fadvise=": HINTS,
        "--reader=": READERS,
        "--input-reader=": READERS,
        "--madvise=": ["sequential", "random", "willneed"],
        "--read-size=": ["1", "1K", "64K", "1M"],
        "--prefetch=": ["0", "1", "9"],
        "--parallel-reads=": ["2", "3"],
        "--compress": [*["=zlib"] * 9, "-program=gzip"],
    }
    share = {"-S": 0.95, "--parallel=": 0.7, "--compress": 0.2}
    drawn = [name + rng.choice(values) for name, values in choices.items() if rng.random() < share.get(name, 0.3)]
    if limited:  # a program that cannot be started is a message more
        drawn = [word for word in drawn if not word.startswith("--compress")]
    return [b"-Ttmp", *map(str.encode, drawn)]


def draw_job(seed: int, number: int) -> Job:
    rng = random.Random(f"{seed} {number}")
    task = rng.choice([*["sort"] * 8, "-m", "-c"])
    locale = rng.choice(LOCALES)
    order = draw_order(rng)
    separator = b"\n"
    if rng.random() < 0.2:
        order.append(b"-z")
        separator = b"\0"
    pieces = pieces_for(letters_of(order), locale)
    names = [b"f", b"g", b"odd\xff name"][: 1 if task == "-c" else rng.randrange(4)]
    files = {name: draw_text(rng, pieces, separator) for name in names}
    operands = [*names, *([b"-"] if task != "-c" and names and rng.random() < 0.3 else [])]
    stdin = draw_text(rng, pieces, separator) if b"-" in operands or not operands else b""
    if task == "-m":  # what comes out of unsorted inputs depends on which are merged first
        ordered = [word for word in order if word != b"-u"]
        files = {name: in_order(ordered, text, locale) for name, text in files.items()}
        stdin = in_order(ordered, stdin, locale)
    size = len(stdin) + sum(map(len, files.values()))
    descriptors = rng.choice(DESCRIPTORS) if rng.random() < 0.2 else None
    addresses = rng.choice(ADDRESSES_MIB) << 20 if rng.random() < 0.1 else None
    words = order + ([] if task == "sort" else [task.encode()])
    if task != "-c" and rng.random() < 0.3:
        words.append(b"-o" + rng.choice([b"out", *names]))
    rng.shuffle(words)
    own_words = draw_way(rng, size, descriptors, limited=bool(descriptors or addresses))
    pipe = rng.random() < 0.4
    to_stdout = task != "-c" and not any(word.startswith(b"-o") for word in words)
    if to_stdout and not is_unique(order) and rng.random() < 0.3:
        own_words.append(b"--count")
    return Job(task, locale, files, stdin, words + operands, own_words, pipe, descriptors, addresses)


def is_unique(order: list[bytes]) -> bool:
    return any(b"u" in word for word in order if not word.startswith((b"-k", b"-t", b"--")))


def counted(text: bytes, separator: bytes) -> bytes:
    """What uniq -c makes of sorted lines."""
    return b"".join(
        b"%7d %b%b" % (len(list(group)), line, separator) for line, group in groupby(text.split(separator)[:-1])
    )


def in_order(order: list[bytes], text: bytes, locale: str) -> bytes:
    answer = ask_gnu(order, stdin=text, env=in_locale(locale))
    return text if answer.status else answer.stdout


def judge(job: Job, ours: Answer, gnus: Answer) -> str:
    """What is wrong with our answer, "" if nothing is."""
    if job.addresses is not None and ours.status == 2 and b"memory exhausted" in ours.stderr:
        return ""
    if ours.status != gnus.status or as_now(ours.stderr) != as_now(gnus.stderr):
        return f"status {ours.status}, {ours.stderr!r}, not {gnus.status}, {gnus.stderr!r}"
    if ours.stdout != gnus.stdout:
        return f"{len(ours.stdout)} bytes of output, not these {len(gnus.stdout)}"
    different = [name for name in {*ours.files, *gnus.files} if ours.files.get(name) != gnus.files.get(name)]
    return f"the files {different} differ" if different else ""


class Tally:
    def __init__(self) -> None:
        self.job_n = self.byte_n = self.spilled_n = self.threaded_n = self.counted_n = 0
        self.exhausted_n = self.skipped_n = 0
        self.tasks: Counter[str] = Counter()

    def add(self, job: Job, answer: Answer) -> None:
        self.job_n += 1
        self.byte_n += len(job.stdin) + sum(map(len, job.files.values()))
        self.spilled_n += bool(answer.stats) and answer.stats["runs_n"] > 1
        self.threaded_n += any(word in (b"--parallel=2", b"--parallel=3", b"--parallel=8") for word in job.own_words)
        self.counted_n += b"--count" in job.own_words
        self.exhausted_n += b"memory exhausted" in answer.stderr
        self.tasks[job.task] += 1

    def __str__(self) -> str:
        tasks = ", ".join(f"{n} {task}" for task, n in sorted(self.tasks.items()))
        return (
            f"{self.job_n} jobs ({tasks}) over {self.byte_n / 1e6:.0f} MB, {self.spilled_n} with several runs,"
            f" {self.threaded_n} with threads, {self.counted_n} counted,"
            f" {self.exhausted_n} out of memory as their limit had it, and"
            f" {self.skipped_n} that took GNU sort more than a minute"
        )


def attempt(worker: Worker, job: Job) -> tuple[Answer, Answer, str]:
    ours = worker.run(
        [*job.own_words, *job.words],
        job.files,
        stdin=job.stdin,
        pipe=job.pipe,
        descriptors=job.descriptors,
        addresses=job.addresses,
        env=in_locale(job.locale),
    )
    gnus = ask_gnu(job.words, job.files, stdin=job.stdin, env=in_locale(job.locale))
    if b"--count" in job.own_words:
        gnus = gnus._replace(stdout=counted(gnus.stdout, b"\0" if b"-z" in job.words else b"\n"))
    return ours, gnus, judge(job, ours, gnus)


def keep(job: Job, ours: Answer, gnus: Answer, directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    for name, data in {**job.files, b"stdin": job.stdin, b"ours": ours.stdout, b"gnus": gnus.stdout}.items():
        (directory / os.fsdecode(name)).write_bytes(data)
    facts = {**job._asdict(), "files": [repr(name) for name in job.files], "stdin": len(job.stdin)}
    facts |= {"words": [repr(word) for word in job.words], "own_words": [repr(word) for word in job.own_words]}
    (directory / "job.json").write_text(json.dumps(facts, indent=2) + "\n")


def stress(seed: int, numbers: Iterable[int], place: Path) -> tuple[Tally, str]:
    """Run these jobs. Returns what they were like, and what is wrong with the last one if that ended it: its directory
    is below `place`."""
    tally = Tally()
    with contextlib.closing(Worker()) as worker:
        for number in numbers:
            job = draw_job(seed, number)
            try:
                ours, gnus, fault = attempt(worker, job)
            except subprocess.TimeoutExpired:
                tally.skipped_n += 1
                continue
            tally.add(job, ours)
            if fault:
                directory = place / f"stress-{seed}-{number}"
                keep(job, ours, gnus, directory)
                return tally, f"seed {seed}, job {number}: {fault}; kept in {directory}"
    return tally, ""


def numbers_for(seconds: float, first: int) -> Iterator[int]:
    """One at least."""
    end = time.monotonic() + seconds
    yield first
    while time.monotonic() < end:
        first += 1
        yield first


def main(argv: Sequence[str]) -> int:
    seconds = float(argv[0])
    seed = int(argv[1]) if len(argv) > 1 else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    tally, fault = stress(seed, numbers_for(seconds, int(argv[2]) if len(argv) > 2 else 0), Path())
    print(f"{tally}\n{fault or 'no difference'}")
    return 1 if fault else 0


if __name__ == "__main__":
    if not support.system_sort_is_gnu() or len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
