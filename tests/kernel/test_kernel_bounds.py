"""What a kernel refuses: damaged programs, arguments that reach outside their buffers."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from types import ModuleType

import pytest
from kernel_support import (
    BARE,
    COUNT,
    CURSOR,
    NO_BYTE,
    NUMERIC,
    PART,
    SEGMENT_REVERSE,
    TEXT,
    TO_LINE_END,
    UNIQUE,
    pack_program,
    pack_segment,
    pack_table,
    sort_all,
)

SIZE = 1024
PLAIN = pack_program()
KEYED = pack_program(segments=[pack_segment()])
TABLE = pack_table("f")
BIG = 1 << 62
DIGITS_BYTES = 256 * 8

BROKEN_PROGRAMS = {
    "empty": b"",
    "cut header": PLAIN[:-1],
    "trailing byte": PLAIN + b"\0",
    "trailing word": PLAIN + bytes(8),
    "cut segment": KEYED[:-8],
    "one segment too many": KEYED + pack_segment(),
    "missing table": pack_program(tables=[TABLE])[:-512],
    "cut table": pack_program(segments=[pack_segment()], tables=[TABLE])[:-8],
    "one table too many": KEYED + TABLE,
    "separator": pack_program(separator=256),
    "separator that is a digit of counts": pack_program(COUNT, separator=64),
    "kind": pack_program(segments=[pack_segment(kind=8)]),
    "table index": pack_program(segments=[pack_segment(table=0)]),
    "table index after the last": pack_program(segments=[pack_segment(table=1)], tables=[TABLE]),
    "field separator": pack_program(segments=[pack_segment(field_separator=NO_BYTE + 1)]),
    "point": pack_program(segments=[pack_segment(NUMERIC, point=NO_BYTE + 1)]),
    "grouping": pack_program(segments=[pack_segment(NUMERIC, grouping=NO_BYTE + 1)]),
    "bare before the last": pack_program(segments=[pack_segment(TEXT, TO_LINE_END | BARE), pack_segment()]),
    "bare number": pack_program(segments=[pack_segment(NUMERIC, TO_LINE_END | BARE)]),
    "bare and reversed, not alone": pack_program(
        segments=[pack_segment(), pack_segment(TEXT, TO_LINE_END | BARE | SEGMENT_REVERSE)]
    ),
}

GOOD_PROGRAMS = [
    PLAIN,
    KEYED,
    pack_program(tables=[TABLE]),
    pack_program(segments=[pack_segment(table=1), pack_segment(NUMERIC)], tables=[TABLE, TABLE]),
    pack_program(segments=[pack_segment(), pack_segment(TEXT, TO_LINE_END | BARE)]),
    pack_program(COUNT, separator=63),
    pack_program(segments=[pack_segment(TEXT, TO_LINE_END | BARE | SEGMENT_REVERSE)]),
]


def cursors(*fields: tuple[int, int, int, int, int]) -> bytearray:
    return bytearray(b"".join(CURSOR.pack(*cursor) for cursor in fields))


def merge(
    kernel: ModuleType,
    *fields: tuple[int, int, int, int, int],
    program: bytes = PLAIN,
    state: bytearray | None = None,
    cursor_n: int | None = None,
) -> tuple[int, int]:
    if state is None:
        state = bytearray(kernel.merge_state_bytes(len(fields)))
    count = len(fields) if cursor_n is None else cursor_n
    result: tuple[int, int] = kernel.merge(
        program, None, bytearray(SIZE), cursors(*fields), count, state, bytearray(99)
    )
    return result


@pytest.mark.parametrize("program", BROKEN_PROGRAMS.values(), ids=BROKEN_PROGRAMS.keys())
def test_a_damaged_program_is_refused_by_every_function(kernel: ModuleType, program: bytes) -> None:
    arena = bytearray(SIZE)
    calls: list[Callable[[], object]] = [
        lambda: kernel.scan(program, arena, 0, 0, SIZE, 0, 0),
        lambda: kernel.encode(program, None, arena, SIZE, 0, 0, 0, 0),
        lambda: kernel.sort_part(program, None, arena, SIZE, 0, PART.pack(0, 0, 0, 56, 1)),
        lambda: kernel.split(program, None, arena, SIZE, 0, PART.pack(0, 0, 0, 56, 1), bytearray(256 * PART.size)),
        lambda: kernel.differing(program, arena, SIZE, 0, 0),
        lambda: kernel.count_digits(program, arena, SIZE, 0, 1, bytearray(DIGITS_BYTES)),
        lambda: kernel.distribute(program, arena, SIZE, 0, 1, SIZE, 0, bytes(DIGITS_BYTES)),
        lambda: kernel.drop(program, arena, SIZE, 0),
        lambda: kernel.check_text(program, arena, 0, 0),
        lambda: kernel.line(program, arena, SIZE, 0),
        lambda: kernel.gather(program, arena, 0, 0, 0, 0, bytearray(9)),
        lambda: kernel.show_counts(program, b"", bytearray(9)),
        lambda: merge(kernel, (0, SIZE, 0, 0, 1), program=program),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("program", GOOD_PROGRAMS)
def test_a_whole_program_is_accepted(kernel: ModuleType, program: bytes) -> None:
    sort_all(kernel, program, None, bytearray(SIZE), SIZE, 0)
    assert kernel.drop(program, bytearray(SIZE), SIZE, 0) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (-1, 0, SIZE, 0, 1),
        (5, 4, SIZE, 0, 1),
        (0, SIZE + 1, SIZE, 0, 1),
        (0, BIG, SIZE, 0, 1),
        (0, 9, SIZE - 8, 0, 1),
        (0, 9, SIZE + 16, 0, 1),
        (0, 9, -16, 0, 0),
        (0, 9, 32, 0, 3),
        (0, 9, SIZE, 2, 1),
        (0, 9, SIZE, -1, 1),
        (0, 9, SIZE, 0, -1),
        (0, 9, SIZE, 0, BIG),
    ],
)
def test_scan_stays_in_the_arena(kernel: ModuleType, arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        kernel.scan(PLAIN, bytearray(SIZE), *arguments)


@pytest.mark.parametrize("arguments", [(-1, 0), (5, 4), (0, SIZE + 1), (0, BIG), (-BIG, 0)])
def test_checked_text_stays_in_the_arena(kernel: ModuleType, arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        kernel.check_text(PLAIN, bytearray(SIZE), *arguments)


def test_text_is_checked_in_plain_order_alone(kernel: ModuleType) -> None:
    with pytest.raises(ValueError):
        kernel.check_text(KEYED, bytearray(SIZE), 0, 0)


@pytest.mark.parametrize(
    "arguments",
    [
        (SIZE, 0, SIZE // 16 + 1, 0, 9),
        (SIZE, 2, 1, 0, 9),
        (SIZE, -1, 1, 0, 9),
        (SIZE, 0, BIG, 0, 9),
        (SIZE, 0, 1, -1, 9),
        (SIZE, 0, 1, 0, SIZE + 1),
        (SIZE - 8, 0, 1, 0, 9),
        (SIZE + 16, 0, 1, 0, 9),
    ],
)
def test_encode_stays_in_the_arena(kernel: ModuleType, arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        kernel.encode(KEYED, None, bytearray(SIZE), *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (SIZE, SIZE // 32 + 1),
        (SIZE, -1),
        (SIZE, BIG),
        (SIZE + 16, 1),
        (SIZE - 8, 1),
        (-16, 0),
    ],
)
def test_sort_stays_in_the_arena(kernel: ModuleType, arguments: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        kernel.sort_part(PLAIN, None, bytearray(SIZE), *arguments, PART.pack(0, max(arguments[1], 0), 0, 56, 1))
    with pytest.raises(ValueError):
        kernel.drop(PLAIN, bytearray(SIZE), arguments[0], min(2 * arguments[1], BIG))


@pytest.mark.parametrize(
    "part",
    [
        (0, 5, 0, 56, 1),  # more than there are
        (1, 4, 0, 56, 2),
        (5, 0, 0, 56, 2),
        (BIG, 1, 0, 56, 0),
        (1, BIG, 0, 56, 0),
        (0, 4, 0, 64, 1),
        (0, 4, 0, 55, 1),
        (0, 3, 0, 56, 1),  # in input order, and not all
    ],
)
def test_parts_are_parts_of_the_records(kernel: ModuleType, part: tuple[int, ...]) -> None:
    at = PLAIN, None, bytearray(SIZE), SIZE, 4
    with pytest.raises(ValueError):
        kernel.sort_part(*at, PART.pack(*part))
    with pytest.raises(ValueError):
        kernel.split(*at, PART.pack(*part), bytearray(256 * PART.size))
    with pytest.raises(ValueError):
        kernel.sort_part(*at, PART.pack(0, 4, 0, 56, 1)[:-1])


@pytest.mark.parametrize(("top", "n"), [(SIZE, -1), (SIZE, SIZE // 16 + 1), (SIZE + 16, 0), (SIZE - 8, 1), (-16, 0)])
def test_records_with_digits_are_in_the_arena(kernel: ModuleType, top: int, n: int) -> None:
    with pytest.raises(ValueError):
        kernel.differing(PLAIN, bytearray(SIZE), top, n, 0)
    with pytest.raises(ValueError):
        kernel.count_digits(PLAIN, bytearray(SIZE), top, n, 1, bytearray(DIGITS_BYTES))
    with pytest.raises(ValueError):
        kernel.distribute(PLAIN, bytearray(SIZE), top, n, 1, SIZE, 0, bytes(DIGITS_BYTES))
    with pytest.raises(ValueError):
        kernel.distribute(PLAIN, bytearray(SIZE), SIZE, 0, 1, top, n, bytes(DIGITS_BYTES))


def test_digits_have_places(kernel: ModuleType) -> None:
    arena = bytearray(SIZE)
    for difference, room, places in [
        (0, 4, bytes(DIGITS_BYTES)),
        (1, 4, bytes(DIGITS_BYTES - 8)),
        (1, 4, struct.pack("=256Q", *[0] * 255, 5)),
    ]:
        with pytest.raises(ValueError):
            kernel.distribute(PLAIN, arena, SIZE, 0, difference, SIZE, room, places)
    for difference, counts in [(0, bytearray(DIGITS_BYTES)), (1, bytearray(DIGITS_BYTES - 8))]:
        with pytest.raises(ValueError):
            kernel.count_digits(PLAIN, arena, SIZE, 0, difference, counts)
    kernel.distribute(PLAIN, arena, SIZE, 0, 1, SIZE, 4, struct.pack("=256Q", *[4] * 256))


@pytest.mark.parametrize(
    "arguments",
    [
        (-16, 1, 0, 0),
        (8, 1, 0, 0),
        (0, SIZE // 16 + 1, 0, 0),
        (SIZE, 1, 0, 0),
        (SIZE + 16, 0, 0, 0),
        (0, -1, 0, 0),
        (0, BIG, 0, 0),
        (0, 1, 2, 0),
        (0, 1, -1, 0),
        (0, 1, 0, -1),
        (0, 1, 0, 1),
        (0, 1, 1, 1),
    ],
)
def test_gather_stays_in_the_arena(kernel: ModuleType, arguments: tuple[int, ...]) -> None:
    """The records are all zeros: empty lines, of which nothing can be skipped."""
    with pytest.raises(ValueError):
        kernel.gather(PLAIN, bytearray(SIZE), *arguments, bytearray(9))


@pytest.mark.parametrize(
    "cursor",
    [
        (0, SIZE + 16, 0, 0, 1),
        (SIZE, 16, 0, 0, 1),
        (SIZE + 16, 0, 0, 0, 1),
        (4, 16, 1, 0, 1),
        (0, SIZE, SIZE // 16 + 1, 0, 1),
        (0, SIZE, 1, 2, 1),
        (1 << 63, 1 << 63, 0, 0, 1),
    ],
)
def test_merge_stays_in_the_arena(kernel: ModuleType, cursor: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(ValueError):
        merge(kernel, (0, SIZE, 0, 0, 1), cursor)


def test_merge_wants_as_many_cursors_as_it_is_told(kernel: ModuleType) -> None:
    for cursor_n in (-1, 0, 2, BIG):
        with pytest.raises(ValueError):
            merge(kernel, (0, SIZE, 0, 0, 1), cursor_n=cursor_n)


def test_merge_wants_the_state_of_so_many_cursors(kernel: ModuleType) -> None:
    for size in (0, 16, kernel.merge_state_bytes(1) - 8, kernel.merge_state_bytes(2)):
        with pytest.raises(ValueError):
            merge(kernel, (0, SIZE, 0, 0, 1), state=bytearray(size))


def test_merge_wants_the_line_read_last_under_unique(kernel: ModuleType) -> None:
    order = pack_program(UNIQUE)
    arena, out = bytearray(b"a\n".ljust(SIZE)), bytearray(9)
    kernel.scan(order, arena, 0, 2, SIZE, 0, 1)
    state = bytearray(kernel.merge_state_bytes(1))
    assert kernel.merge(order, None, arena, cursors((0, SIZE, 1, 0, 0)), 1, state, out) == (0, 2)
    with pytest.raises(ValueError):
        kernel.merge(order, None, arena, cursors((0, SIZE, 1, 0, 1)), 1, state, out)


def test_buffers_that_cannot_be_written_are_refused(kernel: ModuleType) -> None:
    batch = bytes(b"a\n".ljust(SIZE))
    with pytest.raises((TypeError, BufferError)):
        kernel.scan(PLAIN, batch, 0, 2, SIZE, 0, 1)


def test_an_arena_is_shorter_than_four_gib(kernel: ModuleType) -> None:
    try:
        huge = mmap.mmap(-1, 1 << 32, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        pytest.skip(f"4 GiB of addresses are not to be had: {error}")
    with huge:
        calls: list[Callable[[], object]] = [
            lambda: kernel.scan(PLAIN, huge, 0, 0, 16, 0, 0),
            lambda: kernel.encode(KEYED, None, huge, 16, 0, 0, 0, 0),
            lambda: sort_all(kernel, PLAIN, None, huge, 16, 0),
        ]
        for call in calls:
            with pytest.raises(ValueError):
                call()
