"""The registry of corpora: seeded files whose bytes depend on nothing but the corpus name and its number of lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import realistic
from bench.randomness import ALPHABET, TO_LOWERCASE, Generator, Lines, Source, chunks

# In the file name of every corpus: raise it when a generator changes, or a kept one goes stale.
FORMAT = 1


def random_lines(label: str, lines_n: int) -> Iterator[Lines]:
    """Lines of 0 to 100 bytes, lengths and bytes uniform."""
    for source, _, n in chunks(label, lines_n):
        yield source.tokens(0, 100, n)


def records(label: str, lines_n: int) -> Iterator[Lines]:
    """100 bytes with the newline: a random key of 10 bytes, the record's number, filler."""
    for source, first, n in chunks(label, lines_n):
        keys = source.tokens(10, 10, n)
        yield [
            b"%b  %032X  %b" % (key, number, ALPHABET[number % 26 :][:1] * 53) for number, key in enumerate(keys, first)
        ]


def urls(label: str, lines_n: int) -> Iterator[Lines]:
    """URLs of one site: 29 bytes in common, one of 16 sections, a random page name."""
    sections = [b"https://www.example.com/path/section-%02d/" % number for number in range(16)]
    for source, _, n in chunks(label, lines_n):
        chosen = map(sections.__getitem__, source.below(len(sections), n))
        yield list(map(bytes.__add__, chosen, source.tokens(8, 60, n)))


def integers(label: str, lines_n: int) -> Iterator[Lines]:
    """Signed integers of 1 to 10 digits, all magnitudes about equally common."""
    for source, _, n in chunks(label, lines_n):
        words, shifts = source.below(2**32, n), source.below(64, n)
        yield [
            b"%d" % ((word >> (shift >> 1)) * (-1 if shift & 1 else 1))
            for word, shift in zip(words, shifts, strict=True)
        ]


def table(label: str, lines_n: int) -> Iterator[Lines]:
    """word TAB count TAB payload; counts repeat, so that the word decides often."""
    for source, _, n in chunks(label, lines_n):
        words = source.tokens(1, 12, n, TO_LOWERCASE)
        columns = zip(words, source.below(20_000, n), source.tokens(0, 40, n), strict=True)
        yield [b"%b\t%d\t%b" % row for row in columns]


def intervals(label: str, lines_n: int) -> Iterator[Lines]:
    """Chromosome, start, end and name, as in a BED file."""
    names = [b"chr%d" % number for number in range(1, 23)] + [b"chrX", b"chrY"]
    for source, first, n in chunks(label, lines_n):
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
    for source, _, n in chunks(label, lines_n):
        yield source.picks(pool, n)


def presorted(label: str, lines_n: int) -> Iterator[Lines]:
    """Ascending already: a number of ten digits, then random text."""
    for source, first, n in chunks(label, lines_n):
        tails = source.tokens(0, 78, n)
        yield [b"%010d %b" % (number, tail) for number, tail in enumerate(tails, first)]


def reversed_lines(label: str, lines_n: int) -> Iterator[Lines]:
    """Strictly descending."""
    for source, first, n in chunks(label, lines_n):
        tails = source.tokens(0, 78, n)
        yield [b"%010d %b" % (10**10 - 1 - number, tail) for number, tail in enumerate(tails, first)]


def equal(label: str, lines_n: int) -> Iterator[Lines]:
    """One line over and over."""
    line = Source(label).tokens(50, 50, 1)[0]
    for _, _, n in chunks(label, lines_n):
        yield [line] * n


def mostly_empty(label: str, lines_n: int) -> Iterator[Lines]:
    """Nine lines in ten are empty, the others have 0 to 100 bytes."""
    for source, _, n in chunks(label, lines_n):
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


def _two_million(generate: Generator, mean_line_bytes: float) -> Corpus:
    """A corpus of 2,000,000 lines at scale 1."""
    return Corpus(generate, round(2_000_000 * mean_line_bytes), mean_line_bytes)


CORPORA: dict[str, Corpus] = {
    "random": Corpus(random_lines, 200_000_000, 51),
    "records": Corpus(records, 200_000_000, 100),
    "gigabyte": Corpus(records, 1_000_000_000, 100),
    "urls": Corpus(urls, 200_000_000, 75),
    "integers": Corpus(integers, 50_000_000, 6.55),
    "table": Corpus(table, 100_000_000, 34),
    "intervals": Corpus(intervals, 100_000_000, 36.2),
    "duplicates": Corpus(duplicates, 100_000_000, 51),
    "presorted": Corpus(presorted, 100_000_000, 51),
    "presorted-gigabyte": Corpus(presorted, 1_000_000_000, 51),
    "reversed": Corpus(reversed_lines, 100_000_000, 51),
    "equal": Corpus(equal, 100_000_000, 51),
    "empty": Corpus(mostly_empty, 50_000_000, 6),
    "prose": _two_million(realistic.prose, 47.8),
    "amounts": _two_million(realistic.amounts, 7.7),
    "measurements": _two_million(realistic.measurements, 12.2),
    "releases": _two_million(realistic.releases, 23.1),
    "links": _two_million(urls, 75),
    "usage": _two_million(realistic.usage, 32.7),
    "logs": _two_million(realistic.logs, 62.5),
    "accounts": _two_million(realistic.accounts, 30.9),
    "checksums": _two_million(realistic.checksums, 58),
}


def corpus_path(name: str, scale: float, directory: Path) -> Path:
    return directory / f"{name}-v{FORMAT}-{CORPORA[name].lines_n(scale)}.txt"


def ensure_corpus(name: str, scale: float, directory: Path) -> Path:
    """The corpus's path; made now unless the directory has it. Half a file never gets the name."""
    path = corpus_path(name, scale, directory)
    if not path.exists():
        write_lines(path, CORPORA[name].generate(name, CORPORA[name].lines_n(scale)))
    return path


def write_lines(path: Path, chunks_of_lines: Iterable[Lines]) -> None:
    """Make the file, on the disk: half a file never gets the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            for lines in chunks_of_lines:
                file.write(b"\n".join(lines) + b"\n")
            file.flush()
            os.fsync(file.fileno())  # or its write-back would fall into the first timed run
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def ensure_pieces(corpus: Path, n: int) -> list[Path]:
    """The corpus dealt out to n files beside it, each sorted by bytes; made now unless they are there."""
    paths = [corpus.with_suffix(f".{n}-{number:03d}.txt") for number in range(n)]
    if not all(path.exists() for path in paths):
        lines = corpus.read_bytes().removesuffix(b"\n").split(b"\n")
        for number, path in enumerate(paths):
            write_lines(path, [sorted(lines[number::n])])
    return paths


def remove_corpus(name: str, scale: float, directory: Path) -> None:
    """The corpus and its pieces, if they are there."""
    path = corpus_path(name, scale, directory)
    for made in directory.glob(f"{path.stem}.*"):
        made.unlink()
