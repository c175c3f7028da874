"""Lines as people sort them by each ordering: prose, amounts, measurements, releases, disk usage, logs, tables."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator

from bench.randomness import Lines, Source, chunks

# The most frequent first; everything after them is made of syllables.
_COMMON = (
    "the of and a to in is was he for it with as his on be at by I had not are but from or have an they which one you"
    " were her all she there would their we him been has when who will no more if out so said what up its about into"
    " than them can only other time new some could these may then do first any my now such like our over man me even"
    " most made after also did many before must well don't it's well-known 1984 2nd 1,500 o'clock London Paris"
)
_ACCENTED = (
    "café naïve über déjà Zürich façade résumé señor Málaga crème Ångström Øresund piñata élan São Kraków garçon œuvre"
    " Dvořák straße"
)
_ACCENTED_EVERY_N = 25
_VOCABULARY_N = 1500
_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]
_ENDINGS = (b"", b"", b"", b".", b".", b",", b"!", b"?")
_EXTENSIONS = [b".tar.gz", b".tar.xz", b".tar.gz", b".deb", b".zip", b"-x86_64.rpm"]
_STAGES = [*[b""] * 12, b"~rc1", b"-beta2", b"a1", b"-rc.3"]
MONTHS = [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"]
_EVENTS = [b"connection from %d closed", b"session %d opened for user root", b"job %d started", b"retry %d: timed out"]


def _made_words(label: str, n: int) -> Lines:
    """Words of two to four syllables; a few come twice."""
    source = Source(f"{label}/words")
    lengths = source.below(3, n)
    syllables = iter(source.below(len(_SYLLABLES), 4 * n))
    return ["".join(_SYLLABLES[next(syllables)] for _ in range(2 + extra)).encode() for extra in lengths]


def _by_rank(words: Lines) -> Lines:
    """Each word as often as in a natural text: in inverse proportion to its rank."""
    return [word for rank, word in enumerate(words, 1) for _ in range(len(words) // rank)]


def _prose_words(label: str) -> Lines:
    words = [word.encode() for word in _COMMON.split()] + _made_words(label, _VOCABULARY_N)
    for position, word in enumerate(_ACCENTED.split(), 1):
        words.insert(position * _ACCENTED_EVERY_N, word.encode())
    spoken = _by_rank(words)
    for step, form in ((13, b"%b,"), (101, b"%b;"), (157, b'"%b"'), (211, b"(%b)"), (307, b"%b -")):
        spoken[::step] = [form % word for word in spoken[::step]]
    return spoken


def prose(label: str, lines_n: int) -> Iterator[Lines]:
    """Text in UTF-8, 5 to 14 words a line: capitals, punctuation, some accents. Half the lines begin a sentence."""
    spoken = _prose_words(label)
    for source, _, n in chunks(label, lines_n):
        lengths = [5 + extra for extra in source.below(10, n)]
        words, styles = source.picks(spoken, sum(lengths)), source.below(16, n)
        lines = []
        for length, end, style in zip(lengths, itertools.accumulate(lengths), styles, strict=True):
            line = b" ".join(words[end - length : end]) + _ENDINGS[style & 7]
            lines.append(line[:1].upper() + line[1:] if style & 8 else line)
        yield lines


def amounts(label: str, lines_n: int) -> Iterator[Lines]:
    """Numbers of 1 to 10 digits before the point; every other one has two after it, every eighth is negative."""
    for source, _, n in chunks(label, lines_n):
        draws = zip(source.below(2**32, n), source.below(32, n), source.below(16, n), strict=True)
        yield [
            b"%b%d%b" % (b"-" if style >> 1 == 0 else b"", word >> shift, b".%02d" % (word % 100) if style & 1 else b"")
            for word, shift, style in draws
        ]


def measurements(label: str, lines_n: int) -> Iterator[Lines]:
    """Numbers as programs print them: three in four with an exponent, others plain; 1 % are NA, a quarter negative."""
    for source, _, n in chunks(label, lines_n):
        draws = zip(source.below(9 * 10**6, n), source.below(41, n), source.below(400, n), strict=True)
        lines = []
        for word, shift, style in draws:
            whole, fraction = divmod(word + 10**6, 10**6)
            sign = b"-" if style & 3 == 0 else b""
            if style < 4:
                lines.append(b"NA")
            elif style >> 2 & 3:
                lines.append(b"%b%d.%06de%+03d" % (sign, whole, fraction, shift - 30))
            else:
                lines.append(b"%b%d.%06d" % (sign, whole, fraction))
        yield lines


def releases(label: str, lines_n: int) -> Iterator[Lines]:
    """File names of releases: name, version, sometimes a stage such as ~rc1, extension."""
    names = _by_rank([*_made_words(label, 400), *(b"lib" + word for word in _made_words(f"{label}/lib", 200))])
    for source, _, n in chunks(label, lines_n):
        columns = zip(
            source.picks(names, n),
            source.below(12, n),
            source.below(30, n),
            source.below(200, n),
            source.picks(_STAGES, n),
            source.picks(_EXTENSIONS, n),
            strict=True,
        )
        yield [b"%b-%d.%d.%d%b%b" % row for row in columns]


def _usage(value: int, style: int) -> bytes:
    """A size as `du -h` prints it: one decimal below 10, none above; value < 1014."""
    if style == 0:
        return b"0"
    unit = b"G" if style == 1 else b"M" if style < 12 else b"K"
    if style & 1:
        return b"%d.%d%b" % (1 + value % 9, value % 10, unit)
    return b"%d%b" % (10 + value, unit)


def usage(label: str, lines_n: int) -> Iterator[Lines]:
    """The output of `du -ah`: size TAB path."""
    words = _by_rank(_made_words(label, 1000))
    for source, first, n in chunks(label, lines_n):
        columns = zip(
            map(_usage, source.below(1014, n), source.below(32, n)),
            source.picks(words, n),
            source.picks(words, n),
            range(first, first + n),
            strict=True,
        )
        yield [b"%b\t./%b/%b/%07d.dat" % row for row in columns]


def logs(label: str, lines_n: int) -> Iterator[Lines]:
    """System log lines of a year, out of order: month, day, time, host, program, message."""
    hosts, programs = _made_words(f"{label}/hosts", 40), _by_rank(_made_words(label, 100))
    for source, _, n in chunks(label, lines_n):
        columns = zip(
            source.picks(MONTHS, n),
            source.below(28, n),
            source.below(86_400, n),
            source.picks(hosts, n),
            source.picks(programs, n),
            source.below(30_000, n),
            source.picks(_EVENTS, n),
            strict=True,
        )
        yield [
            b"%b %2d %02d:%02d:%02d %b %b[%d]: %b"
            % (month, day + 1, second // 3600, second // 60 % 60, second % 60, host, program, pid, event % (pid >> 3))
            for month, day, second, host, program, pid, event in columns
        ]


def accounts(label: str, lines_n: int) -> Iterator[Lines]:
    """number, name, town, amount, with one blank between; names repeat, so that the whole line decides often."""
    names = _by_rank(_made_words(label, 5000))
    towns = _made_words(f"{label}/towns", 300)
    for source, first, n in chunks(label, lines_n):
        columns = zip(
            range(first, first + n),
            source.picks(names, n),
            source.picks(towns, n),
            source.below(100_000, n),
            source.below(100, n),
            strict=True,
        )
        yield [b"%07d %b %b %d.%02d" % row for row in columns]


def checksums(label: str, lines_n: int) -> Iterator[Lines]:
    """Checksum and path: every other line is a new one, the line after it repeats any of the new ones."""

    def line(number: int) -> bytes:
        digest = hashlib.shake_128(f"{label}/line/{number}".encode()).hexdigest(16)
        return b"%b  archive/%03d/%07d.jpg" % (digest.encode(), number % 1000, number)

    new_n = (lines_n + 1) // 2
    for source, first, n in chunks(label, lines_n):
        repeated = source.below(new_n, n)
        yield [line(number // 2 if number % 2 == 0 else repeated[number - first]) for number in range(first, first + n)]
