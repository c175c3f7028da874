"""Inputs of any size and shape, made fast: one block of seeded lines, then the block again in other letters.

Each further block is the first with its alphabet rotated, so that the lines of up to 64 blocks differ, and sizes and
lengths stay what they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.corpora import write_lines
from bench.randomness import ALPHABET, Lines, Source

_BLOCK_BYTES = 64 << 20
# No letters of the alphabet, so that blocks have them in common.
_PREFIX = b"/." * 100
_LINE = b"=" * 50


def _random(source: Source, n: int) -> Lines:
    return source.tokens(0, 100, n)


def _equal(source: Source, n: int) -> Lines:
    return [_LINE] * n


def _prefixed(source: Source, n: int) -> Lines:
    return [_PREFIX + token for token in source.tokens(16, 16, n)]


def _nested(source: Source, n: int) -> Lines:
    """Each line begins the longer ones."""
    return [b"=" * (number * 7919 % 400) for number in range(n)]


def _equal_keys(source: Source, n: int) -> Lines:
    return [_PREFIX[:4] + b" " + token for token in source.tokens(40, 40, n)]


def _deep_keys(source: Source, n: int) -> Lines:
    """A first field of 100 bytes that all have in common, and 100 bytes more before the second one differs."""
    return [_PREFIX[:100] + b" " + _PREFIX[:100] + token for token in source.tokens(16, 16, n)]


def _of_length(length_bytes: int, source: Source, n: int) -> Lines:
    return source.tokens(length_bytes, length_bytes, n)


# Kind → its lines, and a line's mean bytes with newline.
Kind = tuple[Callable[[Source, int], Lines], int]
KINDS: dict[str, Kind] = {
    "random": (_random, 51),
    "equal": (_equal, len(_LINE) + 1),
    "prefix": (_prefixed, len(_PREFIX) + 17),
    "nested": (_nested, 200),
    "equal-keys": (_equal_keys, 46),
    "deep-keys": (_deep_keys, 218),
    **{
        f"length-{n}": (functools.partial(_of_length, n), n + 1) for n in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
    },
}


def _blocks(kind: str, lines_n: int) -> Iterator[Lines]:
    generate, mean_bytes = KINDS[kind]
    block_lines_n = max(1, _BLOCK_BYTES // mean_bytes)
    text = b"\n".join(generate(Source(kind), min(lines_n, block_lines_n)))
    for number, first in enumerate(range(0, lines_n, block_lines_n)):
        turn = number % len(ALPHABET)
        turned = text.translate(bytes.maketrans(ALPHABET, ALPHABET[turn:] + ALPHABET[:turn]))
        n = lines_n - first
        yield [turned] if n >= block_lines_n else turned.split(b"\n")[:n]


def ensure_input(kind: str, size_bytes: int, directory: Path) -> Path:
    """A file of about that size, of the same bytes everywhere; made now unless the directory has it."""
    lines_n = max(1, size_bytes // KINDS[kind][1])
    path = directory / f"scale-{kind}-{lines_n}.txt"
    if not path.exists():
        write_lines(path, _blocks(kind, lines_n))
    return path
