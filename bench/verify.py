"""Checks on an output: its bytes against the reference's, its order, its lines."""

from __future__ import annotations

import hashlib
import itertools
import operator
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.cases import Order

_BLOCK_BYTES = 4 << 20
_CACHE_SAMPLES_N = 256

Fingerprint = tuple[int, int]


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _keys(path: Path, order: Order) -> Iterator[list[Any]]:
    """The file's keys, some MB of lines at a time."""
    with path.open("rb") as file:
        rest = b""
        while block := file.read(_BLOCK_BYTES):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            if lines:
                yield lines if order.key is None else list(map(order.key, lines))
        if rest:
            yield [rest if order.key is None else order.key(rest)]


def fingerprint(path: Path, order: Order) -> Fingerprint:
    """(number of lines, sum of their keys' hashes): equal for equal multisets, in any order.

    Under `unique` each key counts once. Comparable within one process only (hash seeds).
    """
    if order.unique:
        distinct = {key for keys in _keys(path, order) for key in keys}
        return len(distinct), sum(map(hash, distinct))
    lines_n = total = 0
    for keys in _keys(path, order):
        lines_n += len(keys)
        total += sum(map(hash, keys))
    return lines_n, total


def first_disorder(path: Path, order: Order) -> int | None:
    """Number of the first line, from 1, that may not follow the one before; None: all in order."""
    if order.unique:
        in_order = operator.gt if order.reverse else operator.lt
    else:
        in_order = operator.ge if order.reverse else operator.le
    before: list[Any] = []
    seen_n = 0
    for keys in _keys(path, order):
        joined = before + keys
        if not all(map(in_order, joined, joined[1:])):
            pairs = enumerate(itertools.pairwise(joined))
            bad = next(index for index, pair in pairs if not in_order(*pair))
            return seen_n - len(before) + bad + 2
        seen_n += len(keys)
        before = keys[-1:]
    return None


class OutputCheck:
    """Order and lines of the first output of a job; all others must have the same bytes."""

    def __init__(self, order: Order, corpus: Path) -> None:
        self._order = order
        self._expected = fingerprint(corpus, order)
        self._digest: str | None = None

    def problem(self, output: Path) -> str | None:
        found = digest(output)
        if self._digest is not None:
            return None if found == self._digest else "the output differs from the first one"
        disorder = first_disorder(output, self._order) if self._order.checked else None
        if disorder is not None:
            return f"line {disorder} is out of order"
        if fingerprint(output, self._order) != self._expected:
            return "the output's lines are not the input's"
        self._digest = found
        return None


def read_once(path: Path) -> None:
    """Bring the file into the page cache."""
    with path.open("rb", buffering=0) as file:
        while file.read(_BLOCK_BYTES):
            pass


def is_cached(path: Path) -> bool | None:
    """Whether sampled pages are in the page cache; None where the system cannot say."""
    if not hasattr(os, "RWF_NOWAIT"):
        return None
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        for sample in range(_CACHE_SAMPLES_N):
            offset = size * sample // _CACHE_SAMPLES_N
            try:
                os.preadv(file.fileno(), [bytearray(1)], offset, os.RWF_NOWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return None  # tmpfs and others do not know the flag
    return True
