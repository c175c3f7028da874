"""Drives a kernel through whole jobs, over buffers laid out as csrc/kernel.h says."""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

from hypothesis import strategies as st
from kernel_model import Key, Order

REVERSE, STABLE, UNIQUE, COLLATE_LINES, COUNT = 1, 2, 4, 8, 16
TEXT, NUMERIC, COLLATE = 0, 1, 7
SEGMENT_REVERSE, START_BLANKS, END_BLANKS, TO_LINE_END, BARE = 1, 2, 4, 8, 16
NO_TABLE, NO_BYTE = 0xFFFFFFFF, 256
IN_LINE, SLICE_BITS, SLICE_MAX = 1 << 31, 10, 1023  # of a record whose key was not stored
RECORD = struct.Struct("=QII")
PART = struct.Struct("=3QqQ")  # struct ps_part
HEADER = struct.Struct("=II")
CURSOR = struct.Struct("=5Q")
BLANK = bytes(byte in b" \t\n" for byte in range(256))


def pack_program(
    flags: int = 0,
    segments: Sequence[bytes] = (),
    tables: Sequence[bytes] = (),
    separator: int = ord("\n"),
    plain_blanks: int = 1,
) -> bytes:
    head = struct.pack("=6I16s256s", flags, len(segments), len(tables), separator, 0, plain_blanks, b"", BLANK)
    return head + b"".join(segments) + b"".join(tables)


def pack_segment(
    kind: int = TEXT,
    flags: int = TO_LINE_END,
    *,
    field_separator: int = NO_BYTE,
    table: int = NO_TABLE,
    point: int = ord("."),
    grouping: int = NO_BYTE,
    counts: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> bytes:
    return struct.pack("=6I4Q", kind, flags, field_separator, table, point, grouping, *counts)


def pack_table(letters: str) -> bytes:
    every = range(256)
    keep = [True] * 256
    if "d" in letters:
        keep = [bytes([byte]).isalnum() or byte in b" \t\n" for byte in every]
    elif "i" in letters:
        keep = [chr(byte).isascii() and chr(byte).isprintable() for byte in every]
    mapped = bytes(every).upper() if "f" in letters else bytes(every)
    return bytes(keep) + mapped


def program_of(order: Order, *, bare: bool = True) -> bytes:
    """The key program of an order; `bare` leaves the last text as it is where that is allowed."""
    collated = order.locale is not None
    flags = REVERSE * order.reverse | STABLE * order.stable | UNIQUE * order.unique | COLLATE_LINES * collated
    flags |= COUNT * order.count
    segments: list[bytes] = []
    tables: list[bytes] = []
    for index, key in enumerate(order.keys, 1):
        kind = NUMERIC if "n" in key.letters else COLLATE if collated else TEXT
        segment_flags = (
            SEGMENT_REVERSE * key.reverse
            | START_BLANKS * key.start_blanks
            | END_BLANKS * key.end_blanks
            | TO_LINE_END * (key.end_field is None)
            | BARE
            * (bare and kind == TEXT and (len(order.keys) == 1 or (index == len(order.keys) and not key.reverse)))
        )
        table = NO_TABLE
        if set(key.letters) & set("dfi"):
            table = len(tables)
            tables.append(pack_table(key.letters))
        segments.append(
            pack_segment(
                kind,
                segment_flags,
                field_separator=order.field_separator[0] if order.field_separator else NO_BYTE,
                table=table,
                grouping=order.grouping[0] if order.grouping else NO_BYTE,
                counts=(
                    key.start_field - 1,
                    key.start_char - 1,
                    (key.end_field or 1) - 1,
                    key.end_char,
                ),
            )
        )
    return pack_program(flags, segments, tables, order.separator[0])


def storing(program: bytes) -> bytes:
    """The program whose keys are the same, but stored however short they are: an empty one, bare, comes last."""
    segment_n = int.from_bytes(program[4:8], sys.byteorder)
    at = 24 + 16 + 256 + segment_n * 56
    nothing = pack_segment(TEXT, TO_LINE_END | BARE, counts=(1 << 62, 0, 0, 0))
    return program[:4] + struct.pack("=I", segment_n + 1) + program[8:at] + nothing + program[at:]


def segment_kinds(program: bytes) -> list[tuple[int, int]]:
    """Kind and flags of each segment."""
    segment_n = int.from_bytes(program[4:8], sys.byteorder)
    return [struct.unpack_from("=2I", program, 24 + 16 + 256 + 56 * index) for index in range(segment_n)]


def may_be_short(program: bytes) -> bool:
    """Whether keys of up to 8 bytes are not stored."""
    kinds = segment_kinds(program)
    return bool(kinds) and not kinds[-1][1] & BARE and all(kind != COLLATE for kind, _ in kinds)


def is_whole_line(program: bytes) -> bool:
    """Whether the only segment takes all of the line."""
    (flags,) = [flags for _, flags in segment_kinds(program)]
    start = struct.unpack_from("=2Q", program, 24 + 16 + 256 + 24)
    return start == (0, 0) and flags & (TO_LINE_END | START_BLANKS) == TO_LINE_END


def prefix_of(key: bytes) -> int:
    return int.from_bytes(key[:8].ljust(8, b"\0"), "big")


@functools.cache
def open_locale(kernel: ModuleType, name: bytes | None, coarse: bool = True) -> Any:
    """The kernel's handle, None for byte order."""
    return None if name is None else kernel.open_locale(name, name, coarse)


def keys_bytes(segment_n: int, lines: Sequence[bytes], collated: bool = False) -> int:
    """Room that the encoded keys of these lines surely fit in. One character may stand for a dozen in a locale, with
    several bytes for each."""
    longer = 40 if collated else 2
    return sum(8 + segment_n * (longer * len(line) + 40) for line in lines)


def sort_all(kernel: ModuleType, program: bytes, locale: Any, arena: bytearray | memoryview, top: int, n: int) -> None:
    kernel.sort_part(program, locale, arena, top, n, PART.pack(0, n, 0, 56, 1))


class Batch:
    """Lines in an arena of their own, as run generation keeps them."""

    def __init__(
        self,
        kernel: ModuleType,
        order: Order,
        lines: Sequence[bytes],
        *,
        bare: bool = True,
        program: bytes | None = None,
    ) -> None:
        self.kernel = kernel
        self.order = order
        self.program = program or program_of(order, bare=bare)
        self.locale = open_locale(kernel, order.locale, order.coarse)
        self.segment_n = int.from_bytes(self.program[4:8], sys.byteorder)
        text = b"".join(line + order.separator for line in lines)
        self.text_bytes = self.keys_end = len(text)
        keys = keys_bytes(self.segment_n, lines, self.locale is not None)
        room = len(text) + keys + 2 * RECORD.size * len(lines)
        self.top = room + -room % RECORD.size
        self.arena = bytearray(self.top)
        self.arena[: len(text)] = text
        self.n = len(lines)
        scanned = kernel.scan(self.program, self.arena, 0, len(text), self.top, 0, self.n)
        assert scanned == (self.n, len(text), max(map(len, lines), default=0))

    def encode(self) -> None:
        done, self.keys_end = self.kernel.encode(
            self.program,
            self.locale,
            self.arena,
            self.top,
            0,
            self.n,
            self.text_bytes,
            self.top - 2 * RECORD.size * self.n,
        )
        assert done == self.n

    def record(self, index: int) -> tuple[int, int, int]:
        """Prefix, offset and length of record `index`, counted from the top."""
        return RECORD.unpack_from(self.arena, self.top - RECORD.size * (index + 1))

    def used(self) -> tuple[bytes, bytes]:
        """Text and keys, and the records; what is free between them may have been written over."""
        return bytes(self.arena[: self.keys_end]), bytes(self.arena[self.top - RECORD.size * self.n :])

    def key(self, index: int) -> bytes:
        """The bytes of its line or arena that a record addresses as its key."""
        _, offset, length = self.record(index)
        if length & IN_LINE:
            length ^= IN_LINE
            if not is_whole_line(self.program):
                before, length = length & SLICE_MAX, length >> SLICE_BITS & SLICE_MAX
                offset += before
        return bytes(self.arena[offset : offset + length])

    def encoded_keys(self) -> list[bytes]:
        """All of them stored, or parts of their lines."""
        if may_be_short(self.program):
            batch = Batch(self.kernel, self.order, self.lines_scanned(), program=storing(self.program))
            return batch.encoded_keys()
        self.encode()
        return [self.key(index) for index in range(self.n)]

    def lines_scanned(self) -> list[bytes]:
        """Those of the records, as long as they have no keys."""
        return [self.line(self.record(index)[1:]) for index in range(self.n)]

    def sort(self) -> list[tuple[int, int]]:
        """Offset and length of the lines in their order."""
        if self.segment_n:
            self.encode()
        sort_all(self.kernel, self.program, self.locale, self.arena, self.top, self.n)
        return self.sorted()

    def sorted(self) -> list[tuple[int, int]]:
        self.records_at = self.top - RECORD.size * self.n
        self.n = self.kernel.drop(self.program, self.arena, self.top, self.n)
        return [RECORD.unpack_from(self.arena, self.records_at + RECORD.size * index)[1:] for index in range(self.n)]

    def split_together(self, range_n: int) -> list[bytes]:
        """Parts, the first step of sorting having been made for so many ranges of the records, the last one first."""
        whole = [PART.pack(0, self.n, 0, 56, 1)]
        bounds = [self.n * i // range_n for i in range(range_n + 1)]
        ranges = [(self.top - RECORD.size * start, stop - start) for start, stop in pairwise(bounds)]
        at = self.program, self.arena
        prefix = self.record(0)[0] if self.n else 0
        difference = 0
        for each in ranges:
            difference |= self.kernel.differing(*at, *each, prefix)
        if not difference:
            return whole
        counts = [bytearray(256 * 8) for _ in ranges]
        shifts = {
            self.kernel.count_digits(*at, *each, difference, count) for each, count in zip(ranges, counts, strict=True)
        }
        places = [memoryview(bytearray(256 * 8)).cast("Q") for _ in ranges]
        starts, start = [], 0
        for digit in range(256):
            starts.append(start)
            for count, place in zip(counts, places, strict=True):
                place[digit] = start
                start += memoryview(count).cast("Q")[digit]
        assert start == self.n
        to = self.top - RECORD.size * self.n
        for each, place in reversed(list(zip(ranges, places, strict=True))):
            self.kernel.distribute(*at, *each, difference, to, self.n, place)
        (shift,) = shifts
        return [PART.pack(a, b - a, 0, shift, 2) for a, b in pairwise([*starts, start]) if a < b]

    def sort_in_parts(self, steps: Sequence[bool], range_n: int = 0) -> list[tuple[int, int]]:
        """As sort(), part by part, the last ones first: split or, where `steps` (over and over) say so, sorted. The
        first step is made for range_n ranges, if there are to be any."""
        if self.segment_n:
            self.encode()
        at = self.program, self.locale, self.arena, self.top, self.n
        parts = self.split_together(range_n) if range_n else [PART.pack(0, self.n, 0, 56, 1)]
        made = bytearray(256 * self.kernel.PART_BYTES)
        step_n = 0
        while parts:
            part = parts.pop()
            step_n += 1
            if steps[step_n % len(steps)]:
                self.kernel.sort_part(*at, part)
                continue
            part_n = self.kernel.split(*at, part, made)
            parts += [bytes(made[PART.size * i :][: PART.size]) for i in range(part_n)]
        return self.sorted()

    def line(self, span: tuple[int, int]) -> bytes:
        return bytes(self.arena[span[0] : sum(span)])


def sort_lines(kernel: ModuleType, order: Order, lines: Sequence[bytes]) -> list[bytes]:
    batch = Batch(kernel, order, lines)
    return [batch.line(span) for span in batch.sort()]


class Step(NamedTuple):
    """One return of merge()."""

    status: int
    written: bytes
    next: tuple[int, ...]


class Merge:
    """Runs under merge, their windows refilled with `refills` lines, time after time. counted: whether these have their
    counts."""

    def __init__(
        self,
        kernel: ModuleType,
        order: Order,
        runs: Sequence[Sequence[bytes]],
        refills: Sequence[int],
        *,
        counted: bool = False,
    ) -> None:
        self.kernel = kernel
        self.counted = counted
        self.order = order
        self.program = program_of(order)
        self.locale = open_locale(kernel, order.locale, order.coarse)
        self.runs = runs
        self.read_n = [0] * len(runs)
        self.refills = [refills[i % len(refills)] for i in range(sum(map(len, runs)) + len(runs))]
        longest = max((len(line) for run in runs for line in run), default=0)
        lines_n = max(self.refills) + 1
        one_key = keys_bytes(len(order.keys), [b"x" * longest], self.locale is not None)
        window = lines_n * (longest + 1 + one_key + RECORD.size)
        self.window_bytes = window + -window % RECORD.size
        self.arena = bytearray(self.window_bytes * len(runs))
        self.cursors = bytearray(CURSOR.size * len(runs))
        self.state = bytearray(kernel.merge_state_bytes(len(runs)))

    def refill(self, index: int) -> None:
        """Put the run's next lines into its window, after the line read last where equal ones are folded."""
        run, at = self.runs[index], self.read_n[index]
        end = min(at + self.refills.pop(), len(run))
        kept = 1 if self.order.folds and at > 0 else 0
        lines = run[at - kept : end]
        text = b"".join(line + self.order.separator for line in lines)
        base = self.window_bytes * index
        with memoryview(self.arena) as whole:
            window = whole[base : base + self.window_bytes]
            window[: len(text)] = text
            top, n = self.window_bytes, len(lines)
            scanned = self.kernel.scan(self.program, window, 0, len(text), top, 0, n, self.counted)
            assert scanned[:2] == (n, len(text))
            if self.order.keys:
                limit = top - RECORD.size * n
                done, _ = self.kernel.encode(self.program, self.locale, window, top, 0, n, len(text), limit)
                assert done == n
            window.release()
        self.read_n[index] = end
        last = int(end == len(run))
        CURSOR.pack_into(self.cursors, CURSOR.size * index, base, top, n, kept, last)

    def cursor(self, index: int) -> tuple[int, int, int, int, int]:
        return CURSOR.unpack_from(self.cursors, CURSOR.size * index)

    def step(self, out_bytes: int) -> Step:
        out = bytearray(out_bytes)
        status, used = self.kernel.merge(
            self.program, self.locale, self.arena, self.cursors, len(self.runs), self.state, out
        )
        assert not any(out[used:])
        positions = tuple(self.cursor(index)[3] for index in range(len(self.runs)))
        return Step(status, bytes(out[:used]), positions)

    def steps(self, out_sizes: Sequence[int]) -> Iterator[Step]:
        """Fill the windows and merge to the end, with outputs of these sizes in turn."""
        for index in range(len(self.runs)):
            self.refill(index)
        turn = 0
        while True:
            step = self.step(out_sizes[turn % len(out_sizes)])
            turn += 1
            yield step
            if step.status == self.kernel.MERGE_DONE:
                return
            if step.status != self.kernel.MERGE_FULL:
                _, _, n, position, last = self.cursor(step.status)
                assert (position, last) == (n, 0)
                self.refill(step.status)


ALPHABET = b"abAB019 \t,.-_\x00\x01\x02\xfe\xff"


def texts(alphabet: bytes = ALPHABET, max_size: int = 30) -> st.SearchStrategy[bytes]:
    """Drawn as one value each: byte by byte takes most of a test's time."""
    letters = bytes(alphabet[i * len(alphabet) // 256] for i in range(256))
    return st.binary(max_size=max_size).map(lambda text: text.translate(letters))


NUMBERS = st.from_regex(rb"[ \t]{0,2}-?[0-9,]{0,25}(\.[0-9]{0,12})?[a-z0.,-]?", fullmatch=True)


def line_lists(max_size: int = 40, separator: bytes = b"\n") -> st.SearchStrategy[list[bytes]]:
    text = texts() | texts(b"a", 24) | texts(b"\x00\x01", 24) | texts(b"a 1,", 24) | NUMBERS
    other = b"\0" if separator == b"\n" else b"\n"
    return st.lists(text.map(lambda line: line.replace(separator, other)), max_size=max_size)


@st.composite
def key_definitions(draw: st.DrawFn, letters: Sequence[str] = ("", "f", "d", "i", "df", "n")) -> Key:
    end_field = draw(st.none() | st.integers(1, 4))
    return Key(
        start_field=draw(st.integers(1, 4)),
        start_char=draw(st.integers(1, 5)),
        start_blanks=draw(st.booleans()),
        end_field=end_field,
        end_char=0 if end_field is None else draw(st.integers(0, 5)),
        end_blanks=end_field is not None and draw(st.booleans()),
        letters=draw(st.sampled_from(letters)),
        reverse=draw(st.booleans()),
    )


@st.composite
def orders(draw: st.DrawFn, min_keys: int = 0, max_keys: int = 3) -> Order:
    return Order(
        keys=tuple(draw(st.lists(key_definitions(), min_size=min_keys, max_size=max_keys))),
        reverse=draw(st.booleans()),
        stable=draw(st.booleans()),
        unique=draw(st.booleans()),
        field_separator=draw(st.sampled_from([None, None, b",", b" ", b"a", b"\0"])),
    )
