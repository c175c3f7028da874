"""What --compare-hints compares: named sets of options that decide how inputs and runs are read."""

from __future__ import annotations

from pysort.comparison import BASELINE
from pysort.errors import SortError, quote
from pysort.storage.hints import HINTS, parse_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPTION = b"--compare-hints"
DEFAULT = b"none:sequential:willneed:willneed-chunked:mmap:direct"
# A word for a way of reading -> the Options that it stands for.
READERS: dict[str, dict[str, object]] = {
    "pread": {},
    "mmap": {"reader": "mmap"},
    "populate": {"reader": "mmap", "mmap_flags": b"populate"},
    "direct": {"reader": "direct"},
}


class Strategy:
    """name: as the user typed it. changes: the Options that it stands for."""

    __slots__ = ("changes", "name")

    def __init__(self, name: str, changes: dict[str, Any]) -> None:
        self.name = name
        self.changes = changes


def parse_strategies(text: bytes) -> list[Strategy]:
    """Strategies separated by colons, BASELINE put before them if it is not among them. Each is hints as --fadvise
    takes them, and at most one of READERS, separated by commas. Raises SortError, which lists what there is."""
    names = dict.fromkeys([BASELINE.encode(), *(text or DEFAULT).split(b":")])
    return [_parse_strategy(name) for name in names]


def _parse_strategy(text: bytes) -> Strategy:
    words = [word.decode("ascii", "replace") for word in text.split(b",")]
    readers = [word for word in words if word in READERS]
    hints = [word for word in words if word not in READERS]
    if len(readers) > 1 or any(word not in HINTS for word in hints):
        listed = [part for word in (*HINTS, *READERS) for part in (b"\n  - ", quote(word.encode()))]
        raise SortError(
            b"invalid argument ",
            quote(text),
            b" for ",
            quote(OPTION),
            b"\nValid arguments are strategies separated by ':', each one or more, separated by ',', of:",
            *listed,
            usage=True,
        )
    advice = ",".join(hints).encode() or b"sequential"
    parse_hints(advice, OPTION)
    changes: dict[str, Any] = {"fadvise": advice, "run_fadvise": advice, "reader": "pread", "mmap_flags": b""}
    changes |= READERS[readers[0]] if readers else {}
    return Strategy(text.decode(), changes | {"input_reader": changes["reader"]})
