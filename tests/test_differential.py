"""Random jobs against the system's sort, and against what any sort has to be.

PYSORT_EXAMPLES is how many jobs are compared with the system's sort (150); the other tests run a third of that.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("PYSORT_EXAMPLES", "150"))
fewer = settings(max_examples=max(EXAMPLES // 3, 1))

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="the jobs use pysort's own options and statistics")

# No 0x80: GNU sort up to 9.1 at least takes that byte for a thousands separator under -n, where char is signed.
PIECES = [
    *(b"", b"\0", b"\n", b"\xff", b"\x81", b"\xc3\xa9", b"\x7f", b"\x01", b"\r", b"\x0b"),
    *(b" ", b"  ", b"\t", b" \t ", b",", b".", b"-", b"+", b"_", b"--", b"-.", b"0x1f", b"1e3"),
    *(b"0", b"00", b"1", b"9", b"10", b"99", b"007", b"123456789", b"9" * 25, b"0.5", b".50", b"-0"),
    *(b"a", b"A", b"b", b"B", b"z", b"Z", b"x", b"X", b"word", b"WORD"),
    *(b"common prefix of many lines", b"12345678", b"1234567", b"x" * 40, b"0" * 30),
]
SEPARATORS = [b",", b" ", b"\t", b".", b"x", b"0", b"-", b"\\0", b"\xff", b":"]
# Key letters and global ones. -n goes with no other filter than f; mixtures are for the tests of errors.
LETTERS = ["", "", "b", "f", "d", "i", "df", "bf", "di", "bdfi", "n", "bn", "nf"]
MEMORY = ["1b", "600b", "1K", "1K", "3K", "16K"]
HINTS = ["none", "random", "sequential,noreuse", "willneed", "random,noreuse,willneed"]
READERS = ["pread", "mmap"]


class Text(bytes):
    """An input whose failure report stays readable; the blob that Hypothesis prints brings it back whole."""

    def __repr__(self) -> str:
        return super().__repr__() if len(self) < 1000 else f"<{len(self)} bytes, {self[:200]!r}...>"


class Job(NamedTuple):
    """words: what both commands get; own_words: what pysort alone gets, none of which may change the output."""

    files: dict[bytes, bytes]
    stdin: bytes
    words: list[bytes]
    own_words: list[bytes]
    pipe: bool


class Answer(NamedTuple):
    """stats: the job's SortStats by name, empty if it failed. files: the directory afterwards."""

    status: int
    stdout: bytes
    stderr: bytes
    stats: dict[str, Any]
    files: dict[str, bytes]


class Worker:
    """Runs pysort jobs through stats_worker.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "stats_worker.py")],
            env=support.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(
        self,
        argv: Sequence[bytes],
        files: dict[bytes, bytes] | None = None,
        *,
        stdin: bytes = b"",
        pipe: bool = False,
        descriptors: int | None = None,
    ) -> Answer:
        with laid_out(files or {}) as cwd:
            request = {
                "argv": [word.hex() for word in argv],
                "cwd": str(cwd),
                "stdin": stdin.hex(),
                "pipe": pipe,
                "descriptors": descriptors,
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            reply = json.loads(self._process.stdout.readline())
            assert os.listdir(cwd / "tmp") == []
            stdout, stderr = (cwd / ".stdout").read_bytes(), (cwd / ".stderr").read_bytes()
            assert b"internal error" not in stderr, stderr
            return Answer(reply["status"], stdout, stderr, reply["stats"] or {}, contents(cwd))

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker()) as worker:
        yield worker


@contextlib.contextmanager
def laid_out(files: dict[bytes, bytes]) -> Iterator[Path]:
    """A directory with the files and an empty directory tmp."""
    cwd = Path(tempfile.mkdtemp(prefix="pysort-job-"))
    try:
        (cwd / "tmp").mkdir()
        for name, data in files.items():
            (cwd / os.fsdecode(name)).write_bytes(data)
        yield cwd
    finally:
        shutil.rmtree(cwd)


def contents(cwd: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in cwd.iterdir() if p.is_file() and p.name[0] != "."}


def ask_gnu(job: Job) -> Answer:
    with laid_out(job.files) as cwd:
        result = support.run(support.GNU, job.words, cwd, data=job.stdin)
        return Answer(*result, {}, contents(cwd))


# Strategies -----------------------------------------------------------------------------------------------------------

rarely = st.sampled_from([False] * 39 + [True])
lines = st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join)


@st.composite
def texts(draw: st.DrawFn, separator: bytes) -> bytes:
    """Lines drawn one by one, or thousands made of a few by a seeded generator; the last may lack its separator."""
    pool = draw(st.lists(lines, max_size=30))
    many = draw(st.sampled_from([False, True, True, True]))
    if pool and many:
        rng = random.Random(draw(st.integers(0, 2**32)))
        line_n = draw(st.sampled_from([60, 300, 300, 300, 300, 3000]))
        tails = [b"", b"", b"\t7", b" %d" % rng.randrange(100), b"%d" % rng.randrange(10**9)]
        pool = [rng.choice(pool) + rng.choice(tails) for _ in range(line_n)]
    complete = draw(st.booleans())
    return Text(separator.join(pool) + (separator if pool and complete else b""))


@st.composite
def positions(draw: st.DrawFn, first_char: int) -> str:
    field = draw(st.sampled_from([1, 1, 2, 2, 3, 5]))
    char = draw(st.sampled_from([None, None, None, first_char, 1, 2, 3, 8]))
    return f"{field}" if char is None else f"{field}.{char}"


@st.composite
def key_options(draw: st.DrawFn) -> bytes:
    letters = draw(st.sampled_from(LETTERS)) + draw(st.sampled_from(["", "", "r"]))
    spec = draw(positions(1)) + letters
    if draw(st.booleans()):
        spec += "," + draw(positions(0)) + draw(st.sampled_from(["", "", "b"]))
    return b"-k" + spec.encode()


def maybe(words: Sequence[str]) -> st.SearchStrategy[list[bytes]]:
    """One of the words or none, as arguments."""
    return st.sampled_from([[], *([word.encode()] for word in words)])


@st.composite
def orderings(draw: st.DrawFn) -> list[bytes]:
    """What decides the order. A few have a mistake in them."""
    words = draw(st.lists(key_options(), max_size=3))
    letters = draw(st.sampled_from(LETTERS))
    if draw(rarely):
        letters += draw(st.sampled_from(["nd", "in", "k0", "x"]))
    words += [b"-" + letters.encode()] if letters else []
    words += draw(maybe(["-r"])) + draw(maybe(["-s"])) + draw(maybe(["-u"]))
    if draw(st.booleans()):
        words.append(b"-t" + draw(st.sampled_from(SEPARATORS)))
    return words


@st.composite
def own_options(draw: st.DrawFn) -> list[bytes]:
    """How the work is done. Memory is tiny in most jobs, so that they spill."""
    return [
        b"-Ttmp",
        *draw(st.sampled_from([[b"-S" + size.encode()] for size in MEMORY] + [[]])),
        *draw(maybe([f"--batch-size={n}" for n in (2, 2, 3, 5, 16)])),
        *draw(maybe([f"--fadvise={hint}" for hint in HINTS])),
        *draw(maybe([f"--run-fadvise={hint}" for hint in HINTS])),
        *draw(maybe([f"--reader={reader}" for reader in READERS])),
        *draw(maybe([f"--input-reader={reader}" for reader in READERS])),
        *draw(maybe([f"--parallel={n}" for n in (1, 2, 4)])),
    ]


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    words = draw(orderings())
    separator = b"\n"
    if draw(st.sampled_from([False, False, False, True])):
        words.append(b"-z")
        separator = b"\0"
    names = draw(st.lists(st.sampled_from([b"f", b"g", b"odd\xff name"]), max_size=4))
    files = {name: draw(texts(separator)) for name in dict.fromkeys(names)}
    operands = names + draw(st.sampled_from([[], [b"-"], [b"-", b"-"]]))
    stdin = draw(texts(separator)) if b"-" in operands or not operands else b""
    has_missing = draw(rarely)
    if names and has_missing:
        operands.append(b"missing")
    words += draw(maybe(["-oout", *(f"-o{name.decode()}" for name in names if name in b"fg")]))
    mixed = draw(st.permutations(words + operands))
    return Job(files, stdin, list(mixed), draw(own_options()), draw(st.booleans()))


# Tests ----------------------------------------------------------------------------------------------------------------


class Tally:
    """What the jobs of one test were like, to show that they were worth running."""

    def __init__(self) -> None:
        self.job_n = self.deep_n = self.failed_n = 0

    def add(self, answer: Answer) -> None:
        self.job_n += 1
        self.failed_n += answer.status != 0
        stats = answer.stats
        self.deep_n += bool(stats) and stats["runs_n"] >= 3 and stats["merge_passes_n"] >= 2

    def judge(self, capsys: pytest.CaptureFixture[str]) -> None:
        with capsys.disabled():
            print(
                f"\n{self.job_n} jobs: {self.deep_n} with 3 runs and 2 passes or more,"
                f" {self.failed_n} ended in an error"
            )
        assert 3 * self.deep_n >= self.job_n
        assert 10 * self.failed_n <= self.job_n


@support.needs_gnu
def test_the_same_bytes_as_gnu_sort(worker: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()

    @settings(max_examples=EXAMPLES)
    @given(job=jobs())
    def check(job: Job) -> None:
        ours = worker.run([*job.own_words, *job.words], job.files, stdin=job.stdin, pipe=job.pipe)
        gnus = ask_gnu(job)
        tally.add(ours)
        assert support.normalized(ours.stderr) == support.normalized(gnus.stderr)
        assert ours[:2] == gnus[:2]
        assert ours.files == gnus.files

    check()
    tally.judge(capsys)


@fewer
@given(job=jobs(), ways=st.lists(own_options(), min_size=3, max_size=3))
def test_how_it_is_done_never_changes_a_byte(worker: Worker, job: Job, ways: list[list[bytes]]) -> None:
    """Memory, fan-in, readers, hints and threads: each way gives what a sort in memory gives."""
    in_memory = worker.run(job.words, job.files, stdin=job.stdin)
    for own_words in ways:
        other = worker.run([*own_words, *job.words], job.files, stdin=job.stdin, pipe=job.pipe)
        assert other[:3] == in_memory[:3]
        assert other.files == in_memory.files


numbers = st.integers(-(10**20), 10**20) | st.integers(-3, 3)


@fewer
@given(
    data=st.lists(numbers, min_size=1, max_size=200),
    copies=st.integers(1, 8),
    reverse=st.booleans(),
    unique=st.booleans(),
    own_words=own_options(),
)
def test_a_stable_sort_of_numbers_is_pythons(
    worker: Worker, data: list[int], copies: int, reverse: bool, unique: bool, own_words: list[bytes]
) -> None:
    """Python's sort is stable in both directions. The payload tells equal keys apart, and that each line is whole."""
    keyed = [(number, b"%d %d payload\n" % (number, i)) for i, number in enumerate(data * copies)]
    expected = sorted(keyed, key=lambda pair: pair[0], reverse=reverse)
    if unique:
        first_of = dict(reversed(expected))
        expected = [(n, first_of[n]) for n in dict.fromkeys(number for number, _ in expected)]
    words = [b"-s", b"-k1,1n" + b"r" * reverse, *([b"-u"] if unique else []), b"f"]
    answer = worker.run([*own_words, *words], {b"f": b"".join(line for _, line in keyed)})
    assert (answer.status, answer.stderr) == (0, b"")
    assert answer.stdout == b"".join(line for _, line in expected)


@fewer
@given(text=texts(b"\n"), other=texts(b"\n"), own_words=own_options())
def test_whole_lines_come_out_as_a_sorted_permutation(
    worker: Worker, text: bytes, other: bytes, own_words: list[bytes]
) -> None:
    complete = b"".join(part + b"\n" * (part[-1:] not in (b"", b"\n")) for part in (text, other))
    answer = worker.run([*own_words, b"f", b"-"], {b"f": text}, stdin=other)
    assert answer.stdout == b"".join(line + b"\n" for line in sorted(complete.split(b"\n")[:-1]))
    assert answer.status == 0


@fewer
@given(job=jobs(), seed=st.integers(0, 2**32))
def test_the_least_of_everything_is_enough(worker: Worker, job: Job, seed: int) -> None:
    """Fan-in 2, seven descriptors and next to no memory: many runs, many passes, the same bytes."""
    rng = random.Random(seed)
    text = b"".join(b"%d,%d\n" % (rng.randrange(50), i) for i in range(500))
    words = [word for word in job.words if word[:1] == b"-" and word != b"-" and word[:2] != b"-o"]
    usual = worker.run(words, stdin=text)
    least = worker.run([*words, b"-S1b", b"--batch-size=2", b"-Ttmp"], stdin=text, descriptors=7)
    assert least[:3] == usual[:3]
    if usual.status == 0 and b"-z" not in words:  # with -z it is all one line
        assert least.stats["runs_n"] >= 3
        assert least.stats["merge_passes_n"] >= 2
        assert least.stats["merges_n"] >= least.stats["runs_n"] - 1
        assert usual.stats["runs_n"] == 1
