"""Random jobs against the system's sort, and against what any sort has to be.

PYSORT_EXAMPLES is how many jobs are compared with the system's sort (150); the other tests run a third of that.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import Answer, Text, Worker, ask_gnu, in_locale

EXAMPLES = int(os.environ.get("PYSORT_EXAMPLES", "150"))
fewer = settings(max_examples=max(EXAMPLES // 3, 1))

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="the jobs use pysort's own options and statistics")

PIECES = [
    *(b"", b"\0", b"\n", b"\xff", b"\x81", b"\xc3\xa9", b"\x7f", b"\x01", b"\r", b"\x0b", b"\x80", b"\xa0"),
    *(b" ", b"  ", b"\t", b" \t ", b",", b".", b"-", b"+", b"_", b"--", b"-.", b"0x1f", b"1e3"),
    *(b"0", b"00", b"1", b"9", b"10", b"99", b"007", b"123456789", b"9" * 25, b"0.5", b".50", b"-0"),
    *(b"a", b"A", b"b", b"B", b"z", b"Z", b"x", b"X", b"word", b"WORD"),
    *(b"common prefix of many lines", b"12345678", b"1234567", b"x" * 40, b"0" * 30),
]
# What collation looks at late or not at all, takes for one letter or for none, and what is no text in the encoding.
_LETTERS = "é É è ê ä Ä ö ß ss ch Ch cH c h č ı İ i I ñ œ à a-b ab aB Ab co-op coop co_op が か ガ 亜 一 가 각 힣 ’"
LOCALE_PIECES = [
    *(text.encode() for text in [*_LETTERS.split(), "\u0301", "\u00ad", "\uf8ff", "\u0378"]),
    *(b"\xe9", b"\xc9", b"\xe8", b"\xdf", b"\xfc", b"\xfd", b"\xed\xa0\x81", b"\xe3\x81"),
]
ORDERING_PIECES = {
    "g": [b"1e", b"1e+", b"-1E-3", b"0x1p4", b"inf", b"-Infinity", b"nan", b"-nan", b"1e4000", b"-1e-4940", b"+5"],
    "h": [b"1K", b"1k", b"2M", b"-3G", b"1023M", b"0T", b"1.5K", b".5k", b"1KiB", b"4P", b"1R", b"R", b"Q"],
    "M": [b"JAN", b"feb", b"Mar", b"MAY", b"mayday", b"dec", b"JA", b"Dez", b"M\xc3\xa4r", b"janv.", b"led"],
    "V": [b"1.0", b"1.10", b".a", b".tar", b".gz", b"~", b"a01", b"a1", b"..", b"-1", b"~1", b".0", b"v2", b".x~"],
    "R": [b"R"],
}
SEPARATORS = [b",", b" ", b"\t", b".", b"x", b"0", b"-", b"\\0", b"\xff", b":"]
# Key letters and global ones. -n goes with no other filter than f; mixtures are for the tests of errors.
LETTERS = ["", "", "b", "f", "d", "i", "df", "bf", "di", "bdfi", "n", "bn", "nf"]
ORDERING_LETTERS = {
    "g": ["g", "bg", "gf"],
    "h": ["h", "bh", "hf"],
    "M": ["M", "bM", "Mf"],
    "V": ["V", "Vf", "dV", "bV", "iV"],
    "R": ["R", "Rf", "Rd", "RV", "bR"],
}
LOCALES = [
    name
    for name in [
        *("C", "C", "C", "C.UTF-8", "en_US.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "cs_CZ.UTF-8"),
        *("fr_FR.ISO-8859-1", "tr_TR.UTF-8", "ja_JP.UTF-8"),
    ]
    if support.has_locale(name)
]
TASKS = [*["sort"] * 9, "-m", "-c", "-C", "--debug"]
MEMORY = ["1b", *["600b"] * 5, *["1K"] * 5, "3K", "16K"]
BYTES = {b"-S1b": 1, b"-S600b": 600, b"-S1K": 1 << 10}  # the least of them
HINTS = ["none", "random", "sequential,noreuse", "willneed", "random,noreuse,willneed-chunked,dontneed", "dontcache"]
READERS = ["pread", "mmap", "direct"]


class OldGnu(NamedTuple):
    """Something that GNU sort has changed since 9.1. The system's may be older, so jobs with one of the letters have
    none of the pieces, and `wording` is how a message was put and how it is put now."""

    fact: str
    letters: str = ""
    pieces: re.Pattern[bytes] | None = None
    wording: tuple[bytes, bytes] | None = None


OLD_GNU = {
    "bytes that group": OldGnu(
        "where char is signed, 0x80 was taken for a thousands separator and one of 0xA0 was not known",
        "nh",
        re.compile(rb"[\x80\xa0]"),
    ),
    "units": OldGnu("R and Q were no units of -h", "h", re.compile(rb"^[RQ]|\dR")),
    "order of NaNs": OldGnu("NaNs were ordered by their bytes in memory", "g", re.compile(rb"(?i)nan")),
    "suffixes": OldGnu(
        ".A and .a went before .0, and a name that is all suffix had nothing before it", "V", re.compile(rb"\.")
    ),
    "names from stdin": OldGnu(
        "the message said stdin",
        wording=(b"when reading file names from stdin, ", b"when reading file names from standard input, "),
    ),
    "numbers use": OldGnu(
        "the message of --debug began with a word more", wording=(b"note numbers use ", b"numbers use ")
    ),
}


class Job(NamedTuple):
    """order: words about the order; words: all that both commands get; own_words: what pysort alone gets, none of which
    may change the output. env: changes to the environment. in_order: the inputs are sorted first."""

    task: str
    locale: str
    files: dict[bytes, bytes]
    stdin: bytes
    order: list[bytes]
    words: list[bytes]
    own_words: list[bytes]
    pipe: bool
    in_order: bool

    @property
    def env(self) -> dict[str, str | None]:
        return in_locale(self.locale)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker()) as worker:
        yield worker


def with_sorted_inputs(job: Job) -> Job:
    """As the system's sort sorts them under the same order; -u is left to the job."""
    order = [word for word in job.order if word != b"-u"]

    def in_order(text: bytes) -> bytes:
        answer = ask_gnu(order, stdin=text, env=job.env)
        return text if answer.status else Text(answer.stdout)

    files = {name: text if name == b"list" else in_order(text) for name, text in job.files.items()}
    return job._replace(files=files, stdin=in_order(job.stdin))


def as_now(stderr: bytes) -> bytes:
    """The message as today's GNU sort words it."""
    for old in OLD_GNU.values():
        if old.wording is not None:
            stderr = stderr.replace(*old.wording)
    return support.normalized(stderr)


# Strategies -----------------------------------------------------------------------------------------------------------

rarely = st.sampled_from([False] * 39 + [True])


def pieces_for(letters: set[str], locale: str) -> list[bytes]:
    pieces = list(PIECES)
    if locale != "C":
        pieces += LOCALE_PIECES
    for letter in letters & ORDERING_PIECES.keys():
        pieces += 2 * ORDERING_PIECES[letter]
    for old in OLD_GNU.values():
        if old.pieces is not None and letters.intersection(old.letters):
            pieces = [piece for piece in pieces if not old.pieces.search(piece)]
    return pieces


@st.composite
def texts(draw: st.DrawFn, separator: bytes, pieces: Sequence[bytes] = tuple(PIECES)) -> bytes:
    """Lines drawn one by one, or thousands made of a few by a seeded generator; the last may lack its separator."""
    pool = draw(st.lists(st.lists(st.sampled_from(pieces), max_size=6).map(b"".join), max_size=30))
    many = draw(st.sampled_from([False, True, True, True, True, True]))
    if pool and many:
        rng = random.Random(draw(st.integers(0, 2**32)))
        line_n = draw(st.sampled_from([60, 300, 300, 600, 600, 3000]))
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
def key_options(draw: st.DrawFn, letters: Sequence[str]) -> bytes:
    spec = draw(positions(1)) + draw(st.sampled_from(letters)) + draw(st.sampled_from(["", "", "r"]))
    if draw(st.booleans()):
        spec += "," + draw(positions(0)) + draw(st.sampled_from(["", "", "b"]))
    return b"-k" + spec.encode()


def maybe(words: Sequence[str]) -> st.SearchStrategy[list[bytes]]:
    """One of the words or none, as arguments."""
    return st.sampled_from([[], *([word.encode()] for word in words)])


@st.composite
def orderings(draw: st.DrawFn) -> list[bytes]:
    """What decides the order. A few have a mistake in them."""
    known = LETTERS + 3 * ORDERING_LETTERS[draw(st.sampled_from(list(ORDERING_LETTERS)))]
    words = draw(st.lists(key_options(known), max_size=3))
    letters = draw(st.sampled_from(known))
    if draw(rarely):
        letters += draw(st.sampled_from(["nd", "in", "k0", "x"]))
    words += [b"-" + letters.encode()] if letters else []
    words += draw(maybe(["-r"])) + draw(maybe(["-s"])) + draw(maybe(["-u"]))
    if "R" in letters_of(words):  # else the order is a new one every time
        words.append(b"--random-source=" + draw(st.sampled_from([b"/dev/zero", b"/proc/version"])))
    if draw(st.booleans()):
        words.append(b"-t" + draw(st.sampled_from(SEPARATORS)))
    return words


def letters_of(words: Sequence[bytes]) -> set[str]:
    short = [word for word in words if word[:2] not in (b"--", b"-t")]
    return set(b"".join(short).decode("latin-1"))


@st.composite
def own_options(draw: st.DrawFn) -> list[bytes]:
    """How the work is done. Memory is tiny in most jobs, so that they spill."""
    return [
        b"-Ttmp",
        *draw(st.sampled_from([[b"-S" + size.encode()] for size in MEMORY] + [[]])),
        *draw(maybe([f"--batch-size={n}" for n in (*[2] * 14, 3, 5, 16)])),
        *draw(maybe([f"--fadvise={hint}" for hint in HINTS])),
        *draw(maybe([f"--run-fadvise={hint}" for hint in HINTS])),
        *draw(maybe([f"--reader={reader}" for reader in READERS])),
        *draw(maybe([f"--input-reader={reader}" for reader in READERS])),
        *draw(maybe([f"--parallel={n}" for n in (1, 2, 4)])),
    ]


def spared(own_words: list[bytes], *texts: bytes) -> list[bytes]:
    """With memory for a thirtieth of texts, records and keys: a thousand runs show no more than fifty, in 10 s."""
    size = sum(len(text) + 64 * (text.count(b"\n") + text.count(b"\0")) for text in texts)
    return [b"-S%db" % (size // 30) if BYTES.get(word, size) < size // 30 else word for word in own_words]


@st.composite
def jobs(draw: st.DrawFn, tasks: Sequence[str] = tuple(TASKS)) -> Job:
    task, locale = draw(st.sampled_from(tasks)), draw(st.sampled_from(LOCALES))
    order = draw(orderings())
    separator = b"\n"
    if draw(st.sampled_from([False, False, False, True])):
        order.append(b"-z")
        separator = b"\0"
    words = order + ([] if task == "sort" else [task.encode()])
    pieces = pieces_for(letters_of(order), locale)
    checks = task in ("-c", "-C")
    names = draw(st.lists(st.sampled_from([b"f", b"g", b"odd\xff name"]), max_size=1 if checks else 4))
    files = {name: draw(texts(separator, pieces)) for name in dict.fromkeys(names)}
    operands = names + draw(st.sampled_from([[], [b"-"], [b"-", b"-"]]))
    if checks:
        operands = operands[: 2 if draw(rarely) else 1]
    stdin = draw(texts(separator, pieces)) if b"-" in operands or not operands else b""
    has_missing = draw(rarely)
    if names and has_missing:
        operands.append(b"missing")
    if names and draw(st.sampled_from([False] * 7 + [True])):
        listed = operands if draw(rarely) else [name for name in operands if name != b"-"]
        files[b"list"] = b"\0".join(listed) + draw(st.sampled_from([b"", b"\0"]))
        operands = [b"--files0-from=list"]
    if task in ("sort", "-m"):
        words += draw(maybe(["-oout", *(f"-o{name.decode()}" for name in names if name in b"fg")]))
    mixed = draw(st.permutations(words + operands))
    own_words, in_order = spared(draw(own_options()), stdin, *files.values()), draw(st.booleans())
    if task == "-m" and not in_order:  # what comes out depends on which inputs are merged first
        own_words = [b"-Ttmp"]
    return Job(
        task, locale, files, stdin, order, list(mixed), own_words, draw(st.booleans()), in_order and task != "sort"
    )


# Tests ----------------------------------------------------------------------------------------------------------------


class Tally:
    """What the jobs of one test were like, to show that they were worth running."""

    def __init__(self) -> None:
        self.job_n = self.sort_n = self.deep_n = self.failed_n = 0
        self.locales: Counter[str] = Counter()
        self.tasks: Counter[str] = Counter()
        self.orderings: Counter[str] = Counter()

    def add(self, job: Job, answer: Answer) -> None:
        self.job_n += 1
        self.failed_n += answer.status not in (0, 1)  # 1 is the answer of a check
        self.locales[job.locale] += 1
        self.tasks[job.task] += 1
        self.orderings.update(letters_of(job.order) & {"n", *ORDERING_LETTERS})
        stats = answer.stats
        if job.task == "sort":
            self.sort_n += 1
            self.deep_n += bool(stats) and stats["runs_n"] >= 3 and stats["merge_passes_n"] >= 2

    def judge(self, capsys: pytest.CaptureFixture[str]) -> None:
        with capsys.disabled():
            print(
                f"\n{self.job_n} jobs, {self.sort_n} of them sorts: {self.deep_n} with 3 runs and 2 passes or more,"
                f" {self.failed_n} ended in an error"
            )
            for kind in (self.locales, self.tasks, self.orderings):
                print(", ".join(f"{name} {n}" for name, n in kind.most_common()))
        assert 3 * self.deep_n >= self.sort_n
        assert 10 * self.failed_n <= self.job_n
        if self.job_n >= 1000:
            assert set(self.locales) == set(LOCALES)
            assert set(self.tasks) == set(TASKS)
            assert set(self.orderings) == {"n", *ORDERING_LETTERS}


@support.needs_gnu
def test_the_same_bytes_as_gnu_sort(worker: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()

    @settings(max_examples=EXAMPLES)
    @given(job=jobs())
    def check(job: Job) -> None:
        if job.in_order:
            job = with_sorted_inputs(job)
        ours = worker.run([*job.own_words, *job.words], job.files, stdin=job.stdin, pipe=job.pipe, env=job.env)
        gnus = ask_gnu(job.words, job.files, stdin=job.stdin, env=job.env)
        tally.add(job, ours)
        assert as_now(ours.stderr) == as_now(gnus.stderr)
        assert ours[:2] == gnus[:2]
        assert ours.files == gnus.files

    check()
    tally.judge(capsys)


@fewer
@given(job=jobs(["sort"]), ways=st.lists(own_options(), min_size=3, max_size=3))
def test_how_it_is_done_never_changes_a_byte(worker: Worker, job: Job, ways: list[list[bytes]]) -> None:
    """Memory, fan-in, readers, hints and threads: each way gives what a sort in memory gives."""
    in_memory = worker.run(job.words, job.files, stdin=job.stdin, env=job.env)
    for way in ways:
        own_words = spared(way, job.stdin, *job.files.values())
        other = worker.run([*own_words, *job.words], job.files, stdin=job.stdin, pipe=job.pipe, env=job.env)
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
    text = b"".join(line for _, line in keyed)
    answer = worker.run([*spared(own_words, text), *words], {b"f": text})
    assert (answer.status, answer.stderr) == (0, b"")
    assert answer.stdout == b"".join(line for _, line in expected)


@fewer
@given(text=texts(b"\n"), other=texts(b"\n"), own_words=own_options())
def test_whole_lines_come_out_as_a_sorted_permutation(
    worker: Worker, text: bytes, other: bytes, own_words: list[bytes]
) -> None:
    complete = b"".join(part + b"\n" * (part[-1:] not in (b"", b"\n")) for part in (text, other))
    answer = worker.run([*spared(own_words, complete), b"f", b"-"], {b"f": text}, stdin=other)
    assert answer.stdout == b"".join(line + b"\n" for line in sorted(complete.split(b"\n")[:-1]))
    assert answer.status == 0


@fewer
@given(order=orderings(), locale=st.sampled_from(LOCALES), seed=st.integers(0, 2**32))
def test_the_least_of_everything_is_enough(worker: Worker, order: list[bytes], locale: str, seed: int) -> None:
    """Fan-in 2, seven descriptors and next to no memory: many runs, many passes, the same bytes."""
    rng = random.Random(seed)
    text = b"".join(b"%d,%d\n" % (rng.randrange(20), i) for i in range(150))
    usual = worker.run(order, stdin=text, env=in_locale(locale))
    least_words = [*order, b"-S1b", b"--batch-size=2", b"-Ttmp"]
    least = worker.run(least_words, stdin=text, descriptors=7, env=in_locale(locale))
    assert least[:3] == usual[:3]
    if usual.stdout == text:  # in order already: each buffer goes on where the last one ended
        assert (least.stats["runs_n"], least.stats["merges_n"]) == (1, 0)
    elif usual.status == 0:
        assert least.stats["runs_n"] >= 3
        assert least.stats["merge_passes_n"] >= 2
        assert least.stats["merges_n"] >= least.stats["runs_n"] - 1
        assert usual.stats["runs_n"] == 1
