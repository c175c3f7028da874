"""The table of cases: one row is one comparison with GNU sort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The contender whom floors and limits are about.
SUBJECT = "pysort"

Key = Callable[[bytes], Any]


@dataclass(frozen=True)
class Order:
    """What a sorted output must look like, in Python, so that no sort program vouches for itself.

    `key` must include the last-resort comparison of whole lines, except where `unique` is set:
    there, lines with equal keys are the same line to the sort.
    """

    key: Key | None = None  # None: the line itself
    reverse: bool = False
    unique: bool = False


@dataclass(frozen=True)
class Case:
    name: str
    corpus: str
    options: tuple[str, ...] = ()
    order: Order = Order()
    environment: Mapping[str, str] = field(default_factory=lambda: {"LC_ALL": "C"})
    threads: int = 2
    buffer_mib: int | None = None  # -S; None: each program's own default
    piped: bool = False  # the input comes from `cat` through a pipe
    floor: float | None = None  # least (GNU's time / pysort's time) wanted
    rss_limit_mib: int | None = None  # pysort's highest peak wanted

    def sort_options(self, scale: float) -> list[str]:
        """The options every contender gets. Below scale 1 the buffer shrinks with the corpus,
        so that a small run spills as a full one does."""
        options = [f"--parallel={self.threads}", *self.options]
        if self.buffer_mib is not None:
            options.append(f"-S{max(64, round(self.buffer_mib * 1024 * min(1.0, scale)))}K")
        return options


def _integer(line: bytes) -> Any:
    return int(line), line


def _folded(line: bytes) -> Any:
    return line.upper(), line


def _count_then_word(line: bytes) -> Any:
    word, count, _ = line.split(b"\t", 2)
    return int(count), word, line


def _chromosome_then_start(line: bytes) -> Any:
    chromosome, start, _ = line.split(b"\t", 2)
    return chromosome, int(start), line


CASES: tuple[Case, ...] = (
    Case("lines", "random", floor=3.0),
    Case("lines-25M", "random", buffer_mib=25, floor=2.0, rss_limit_mib=25 + 64),
    Case("records-25M", "records", buffer_mib=25, rss_limit_mib=25 + 64),
    Case("urls", "urls"),
    Case("numeric", "integers", ("-n",), Order(_integer)),
    Case("tab-2n-1", "table", ("-t", "\t", "-k2,2n", "-k1,1"), Order(_count_then_word)),
    Case("intervals", "intervals", ("-k1,1", "-k2,2n"), Order(_chromosome_then_start)),
    Case("unique", "duplicates", ("-u",), Order(unique=True)),
    Case("fold-case", "random", ("-f",), Order(_folded)),
    Case("reverse", "random", ("-r",), Order(reverse=True)),
    Case("presorted", "presorted"),
    Case("reversed", "reversed"),
    Case("equal", "equal"),
    Case("empty-lines", "empty"),
    # GNU sort 9.1 cannot know a pipe's size: its default buffer stays small and it spills.
    Case("pipe", "random", piped=True),
)
