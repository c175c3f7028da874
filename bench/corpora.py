"""Seeded corpora whose bytes depend on nothing but the corpus name and its number of lines.

All randomness is SHAKE-128 output, fixed by a standard, so that no Python version, platform or
byte order can change a corpus. Lines are written in chunks: memory stays small at any size.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# In the file name of every corpus: raise it when a generator changes, or a kept one goes stale.
FORMAT = 1
CHUNK_LINES_N = 100_000
# 64 symbols, so that the low six bits of a random byte pick one without bias.
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_TO_ALPHABET = bytes(ALPHABET[byte & 63] for byte in range(256))
_TO_LOWERCASE = bytes(97 + byte % 26 for byte in range(256))

Lines = list[bytes]
Generator = Callable[[str, int], Iterator[Lines]]


class Source:
    """The random stream of one chunk; each draw hashes the label and the draw's number."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._draws_n = 0

    def data(self, size_bytes: int) -> bytes:
        self._draws_n += 1
        return hashlib.shake_128(f"{self._label}/{self._draws_n}".encode()).digest(size_bytes)

    def below(self, limit: int, n: int) -> list[int]:
        """n integers in [0, limit), limit <= 2**32; the bias is below limit / 2**32."""
        return [word % limit for word in struct.unpack(f"<{n}I", self.data(4 * n))]

    def tokens(self, shortest: int, longest: int, n: int, table: bytes = _TO_ALPHABET) -> Lines:
        """n strings whose lengths are uniform over shortest..longest."""
        lengths = [shortest + extra for extra in self.below(longest - shortest + 1, n)]
        text = self.data(sum(lengths)).translate(table)
        ends = itertools.accumulate(lengths)
        return [text[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def _chunks(label: str, lines_n: int) -> Iterator[tuple[Source, int, int]]:
    """(random stream, number of the first line, number of lines) of each chunk."""
    for first in range(0, lines_n, CHUNK_LINES_N):
        yield Source(f"{label}/{first}"), first, min(CHUNK_LINES_N, lines_n - first)


def random_lines(label: str, lines_n: int) -> Iterator[Lines]:
    """Lines of 0 to 100 bytes, lengths and bytes uniform."""
    for source, _, n in _chunks(label, lines_n):
        yield source.tokens(0, 100, n)


def records(label: str, lines_n: int) -> Iterator[Lines]:
    """100 bytes with the newline: a random key of 10 bytes, the record's number, filler."""
    for source, first, n in _chunks(label, lines_n):
        keys = source.tokens(10, 10, n)
        yield [
            b"%b  %032X  %b" % (key, number, ALPHABET[number % 26 :][:1] * 53) for number, key in enumerate(keys, first)
        ]


def urls(label: str, lines_n: int) -> Iterator[Lines]:
    """URLs of one site: 29 bytes in common, one of 16 sections, a random page name."""
    sections = [b"https://www.example.com/path/section-%02d/" % number for number in range(16)]
    for source, _, n in _chunks(label, lines_n):
        chosen = map(sections.__getitem__, source.below(len(sections), n))
        yield list(map(bytes.__add__, chosen, source.tokens(8, 60, n)))


def integers(label: str, lines_n: int) -> Iterator[Lines]:
    """Signed integers of 1 to 10 digits, all magnitudes about equally common."""
    for source, _, n in _chunks(label, lines_n):
        words, shifts = source.below(2**32, n), source.below(64, n)
        yield [
            b"%d" % ((word >> (shift >> 1)) * (-1 if shift & 1 else 1))
            for word, shift in zip(words, shifts, strict=True)
        ]


def table(label: str, lines_n: int) -> Iterator[Lines]:
    """word TAB count TAB payload; counts repeat, so that the word decides often."""
    for source, _, n in _chunks(label, lines_n):
        words = source.tokens(1, 12, n, _TO_LOWERCASE)
        columns = zip(words, source.below(20_000, n), source.tokens(0, 40, n), strict=True)
        yield [b"%b\t%d\t%b" % row for row in columns]


def intervals(label: str, lines_n: int) -> Iterator[Lines]:
    """Chromosome, start, end and name, as in a BED file."""
    names = [b"chr%d" % number for number in range(1, 23)] + [b"chrX", b"chrY"]
    for source, first, n in _chunks(label, lines_n):
        columns = zip(
            source.below(len(names), n),
            source.below(240_000_000, n),
            source.below(5_000, n),
            range(first, first + n),
            strict=True,
        )
        yield [
            b"%b\t%d\t%d\tpeak%d" % (names[which], start, start + length, number)
            for which, start, length, number in columns
        ]


def duplicates(label: str, lines_n: int) -> Iterator[Lines]:
    """Lines drawn from a pool a tenth as large as the file: 90 % repeat another line."""
    pool = Source(f"{label}/pool").tokens(20, 80, max(1, lines_n // 10))
    for source, _, n in _chunks(label, lines_n):
        yield list(map(pool.__getitem__, source.below(len(pool), n)))


def presorted(label: str, lines_n: int) -> Iterator[Lines]:
    """Ascending already: a number of ten digits, then random text."""
    for source, first, n in _chunks(label, lines_n):
        tails = source.tokens(0, 78, n)
        yield [b"%010d %b" % (number, tail) for number, tail in enumerate(tails, first)]


def reversed_lines(label: str, lines_n: int) -> Iterator[Lines]:
    """Strictly descending."""
    for source, first, n in _chunks(label, lines_n):
        tails = source.tokens(0, 78, n)
        yield [b"%010d %b" % (10**10 - 1 - number, tail) for number, tail in enumerate(tails, first)]


def equal(label: str, lines_n: int) -> Iterator[Lines]:
    """One line over and over."""
    line = Source(label).tokens(50, 50, 1)[0]
    for _, _, n in _chunks(label, lines_n):
        yield [line] * n


def mostly_empty(label: str, lines_n: int) -> Iterator[Lines]:
    """Nine lines in ten are empty, the others have 0 to 100 bytes."""
    for source, _, n in _chunks(label, lines_n):
        full = iter(source.tokens(0, 100, n // 10 + 1))
        yield [next(full) if number % 10 == 0 else b"" for number in range(n)]


@dataclass(frozen=True)
class Corpus:
    """A generator, the file's size in bytes at scale 1, and a line's mean bytes with newline."""

    generate: Generator
    size_bytes: int
    mean_line_bytes: float

    def lines_n(self, scale: float) -> int:
        return max(1, round(self.size_bytes * scale / self.mean_line_bytes))


CORPORA: dict[str, Corpus] = {
    "random": Corpus(random_lines, 200_000_000, 51),
    "records": Corpus(records, 200_000_000, 100),
    "urls": Corpus(urls, 200_000_000, 75),
    "integers": Corpus(integers, 50_000_000, 6.55),
    "table": Corpus(table, 100_000_000, 34),
    "intervals": Corpus(intervals, 100_000_000, 36.2),
    "duplicates": Corpus(duplicates, 100_000_000, 51),
    "presorted": Corpus(presorted, 100_000_000, 51),
    "reversed": Corpus(reversed_lines, 100_000_000, 51),
    "equal": Corpus(equal, 100_000_000, 51),
    "empty": Corpus(mostly_empty, 50_000_000, 6),
}


def corpus_path(name: str, scale: float, directory: Path) -> Path:
    return directory / f"{name}-v{FORMAT}-{CORPORA[name].lines_n(scale)}.txt"


def ensure_corpus(name: str, scale: float, directory: Path) -> Path:
    """The corpus's path; made now unless the directory has it. Half a file never gets the name."""
    path = corpus_path(name, scale, directory)
    if path.exists():
        return path
    directory.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            for lines in CORPORA[name].generate(name, CORPORA[name].lines_n(scale)):
                file.write(b"\n".join(lines) + b"\n")
            file.flush()
            os.fsync(file.fileno())  # or its write-back would fall into the first timed run
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
