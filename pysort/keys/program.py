"""Compiling keys to the key program that the kernel runs, in the layout of csrc/kernel.h."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.keys.locale import CharacterTables
    from pysort.keys.spec import KeySpec

REVERSE = 1
STABLE = 2
UNIQUE = 4

TEXT = 0
NUMERIC = 1

SEGMENT_REVERSE = 1
START_BLANKS = 2
END_BLANKS = 4
TO_LINE_END = 8
BARE = 16

NO_TABLE = 0xFFFFFFFF
NO_BYTE = 256

_PROGRAM = struct.Struct("=4I256s")
_SEGMENT = struct.Struct("=6I4Q")
_LARGEST_COUNT = (1 << 64) - 1  # no line has as many fields: as good as infinite
_EVERY_BYTE = b"\x01" * 256
_SAME_BYTE = bytes(range(256))


def compile(
    keys: Sequence[KeySpec],
    *,
    reverse: bool,
    stable: bool,
    unique: bool,
    zero_terminated: bool,
    field_separator: int | None,
    tables: CharacterTables,
) -> bytes:
    """The order of lines, complete, as bytes for the kernel.

    keys: the effective ones (they have taken the global ordering options); none for plain order.
    reverse: whole lines compare backwards. Raises ValueError for an ordering letter without a
    kind of segment.
    """
    flags = REVERSE * reverse | STABLE * stable | UNIQUE * unique
    filters: list[bytes] = []
    segments = [
        _segment(key, index == len(keys), field_separator, tables, filters) for index, key in enumerate(keys, 1)
    ]
    separator = 0 if zero_terminated else ord("\n")
    header = _PROGRAM.pack(flags, len(segments), len(filters), separator, tables.blank)
    return b"".join((header, *segments, *filters))


def _segment(
    key: KeySpec,
    is_last: bool,
    field_separator: int | None,
    tables: CharacterTables,
    filters: list[bytes],
) -> bytes:
    """struct ps_segment; a table it needs joins `filters` unless it is there already."""
    unknown = set(key.ordering) - set("dfin")
    if unknown:
        raise ValueError(f"no kind of segment for the ordering {''.join(sorted(unknown))!r}")
    kind = NUMERIC if "n" in key.ordering else TEXT
    flags = (
        SEGMENT_REVERSE * key.reverse
        | START_BLANKS * key.start_blanks
        | END_BLANKS * key.end_blanks
        | TO_LINE_END * key.to_line_end
        | BARE * (is_last and kind == TEXT and not key.reverse)
    )
    table = NO_TABLE
    if kind == TEXT and key.ordering:
        content = _filter(key.ordering, tables)
        if content not in filters:
            filters.append(content)
        table = filters.index(content)
    counts = (key.start_field, key.start_char, key.end_field, key.end_char)
    return _SEGMENT.pack(
        kind,
        flags,
        NO_BYTE if field_separator is None else field_separator,
        table,
        tables.point,
        NO_BYTE if tables.grouping is None else tables.grouping,
        *(min(count, _LARGEST_COUNT) for count in counts),
    )


def _filter(ordering: str, tables: CharacterTables) -> bytes:
    """struct ps_table for -d, -i and -f; -d outweighs -i."""
    keep = _EVERY_BYTE
    if "d" in ordering:
        keep = bytes(a | b for a, b in zip(tables.alnum, tables.blank, strict=True))
    elif "i" in ordering:
        keep = tables.print
    return keep + (tables.upper if "f" in ordering else _SAME_BYTE)
