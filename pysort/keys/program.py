"""Compiling keys to the key program that the kernel runs, in the layout of csrc/program.h."""

from __future__ import annotations

import struct

from pysort.keys.spec import KeySpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysort.keys.locale import CharacterTables

REVERSE = 1
STABLE = 2
UNIQUE = 4
COLLATE_LINES = 8
COUNT = 16

TEXT = 0
NUMERIC = 1
HUMAN = 2
MONTH = 3
GENERAL = 4
VERSION = 5
RANDOM = 6
COLLATE = 7

SEGMENT_REVERSE = 1
START_BLANKS = 2
END_BLANKS = 4
TO_LINE_END = 8
BARE = 16
COLLATED = 32

NO_TABLE = 0xFFFFFFFF
NO_BYTE = 256

_PROGRAM = struct.Struct("=6I16s256s")
_SEGMENT = struct.Struct("=6I4Q")
_LARGEST_COUNT = (1 << 64) - 1  # no line has as many fields: as good as infinite
_KINDS = {"n": NUMERIC, "h": HUMAN, "M": MONTH, "g": GENERAL, "R": RANDOM, "V": VERSION}  # R outweighs V
_FILTERED = (TEXT, COLLATE, VERSION, RANDOM, HUMAN)  # of a size only the unit, and by -f only
_EVERY_BYTE = b"\x01" * 256
_SAME_BYTE = bytes(range(256))
_PLAIN_BLANKS = bytes(byte in b"\t\n " for byte in range(256))


def compile(
    keys: Sequence[KeySpec],
    *,
    reverse: bool,
    stable: bool,
    unique: bool,
    zero_terminated: bool,
    count: bool = False,
    field_separator: int | None,
    tables: CharacterTables,
    collated: bool = False,
    transformed: bool = False,
    seed: bytes = bytes(16),
) -> bytes:
    """The order of lines, complete, as bytes for the kernel.

    keys: the effective ones (they have taken the global ordering options); none to compare whole lines.
    reverse: whole lines compare backwards. count: of lines that are equal one after the other the first is kept, with
    their number. collated: text is in the locale's order, not that of its bytes.
    seed: 16 bytes that -R digests with each key. transformed: it digests what the locale's strxfrm makes of the key,
    not its bytes. Raises ValueError for an ordering letter without a kind of segment.
    """
    if count and not (keys or collated):
        unique = True  # lines that compare equal are of the same bytes
    if collated and not keys:
        # Whole lines, which -s does not keep from being compared, are a key then: it can be encoded.
        keys, stable = [KeySpec(to_line_end=True, reverse=reverse)], True
    flags = REVERSE * reverse | STABLE * stable | UNIQUE * unique | COLLATE_LINES * collated | COUNT * count
    filters: list[bytes] = []
    kinds = [_kind(key, COLLATE if collated else TEXT) for key in keys]
    segments = [
        _segment(key, kind, index == len(keys), len(keys) == 1, field_separator, tables, filters, transformed)
        for index, (key, kind) in enumerate(zip(keys, kinds, strict=True), 1)
    ]
    months = _months(tables) if MONTH in kinds else b""
    separator = 0 if zero_terminated else ord("\n")
    plain_blanks = tables.blank == _PLAIN_BLANKS
    header = _PROGRAM.pack(flags, len(segments), len(filters), separator, len(months), plain_blanks, seed, tables.blank)
    return b"".join((header, *segments, *filters, months))


def _kind(key: KeySpec, text_kind: int) -> int:
    unknown = set(key.ordering).difference("dfi", _KINDS)
    if unknown:
        raise ValueError(f"no kind of segment for the ordering {''.join(sorted(unknown))!r}")
    return next((kind for letter, kind in _KINDS.items() if letter in key.ordering), text_kind)


def _segment(
    key: KeySpec,
    kind: int,
    is_last: bool,
    is_only: bool,
    field_separator: int | None,
    tables: CharacterTables,
    filters: list[bytes],
    transformed: bool,
) -> bytes:
    """struct ps_segment; a table it needs joins `filters` unless it is there already."""
    flags = (
        SEGMENT_REVERSE * key.reverse
        | START_BLANKS * key.start_blanks
        | END_BLANKS * key.end_blanks
        | TO_LINE_END * key.to_line_end
        | BARE * (kind == TEXT and (is_only or (is_last and not key.reverse)))
        | COLLATED * (transformed and kind == RANDOM)
    )
    table = NO_TABLE
    letters = "f" if kind == MONTH else key.ordering if kind in _FILTERED else ""
    if not set("dfi").isdisjoint(letters):
        content = _filter(letters, tables)
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


def _months(tables: CharacterTables) -> bytes:
    names = sorted((name, number) for number, name in enumerate(tables.months, 1))
    return b"".join(bytes([number, len(name)]) + name for name, number in names)


def _filter(ordering: str, tables: CharacterTables) -> bytes:
    """struct ps_table for -d, -i and -f; -d outweighs -i."""
    keep = _EVERY_BYTE
    if "d" in ordering:
        keep = bytes(a | b for a, b in zip(tables.alnum, tables.blank, strict=True))
    elif "i" in ordering:
        keep = tables.print
    return keep + (tables.upper if "f" in ordering else _SAME_BYTE)
