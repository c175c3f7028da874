"""Finding keys and encoding them, against the model."""

from __future__ import annotations

from decimal import Decimal
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, comparison, filtered, key_text, number
from kernel_support import (
    BARE,
    HEADER,
    IN_LINE,
    NUMBERS,
    PART,
    RECORD,
    SLICE_MAX,
    Batch,
    key_definitions,
    line_lists,
    orders,
    prefix_of,
    program_of,
    segment_kinds,
    storing,
    texts,
)

HUGE = (1 << 64) - 1
COMPLEMENT = bytes(range(255, -1, -1))


def encoded(kernel: ModuleType, key: Key, line: bytes, **order: object) -> bytes:
    """The line's encoded key, not bare, the line a single one."""
    return Batch(kernel, Order(keys=(key,), **order), [line], bare=False).encoded_keys()[0]  # type: ignore[arg-type]


def sign(a: object, b: object) -> int:
    return int(a > b) - int(a < b)  # type: ignore[operator]


@given(
    key=key_definitions(letters=[""]).map(lambda key: key._replace(reverse=False)),
    lines=st.lists(texts(b"ab \t,\x00", 20), min_size=1, max_size=20),
    field_separator=st.sampled_from([None, b",", b" ", b"\0"]),
)
def test_a_bare_key_is_the_part_of_the_line_that_it_is_about(
    kernel: ModuleType, key: Key, lines: list[bytes], field_separator: bytes | None
) -> None:
    batch = Batch(kernel, Order(keys=(key,), field_separator=field_separator), lines)
    assert batch.encoded_keys() == [key_text(line, key, field_separator) for line in lines]


@given(
    field=st.integers(1, 4),
    lines=st.lists(texts(b"aa \t\n\x08\x0b\x1f!\x88\x89\x8a\xa0\x01\xff", 60), min_size=1, max_size=20),
)
def test_no_byte_beside_a_blank_is_taken_for_one(kernel: ModuleType, field: int, lines: list[bytes]) -> None:
    """Blanks are looked for 8 bytes at a time where they are the plain ones."""
    key = Key(field, end_field=field)
    batch = Batch(kernel, Order(keys=(key,), separator=b"\0"), lines)
    assert batch.encoded_keys() == [key_text(line, key, None) for line in lines]


@pytest.mark.parametrize(
    ("line", "key", "field_separator", "expected"),
    [
        (b"  abc  def", Key(2), None, b"  def"),
        (b"  abc  def", Key(1, end_field=1), None, b"  abc"),
        (b"  abc  def", Key(2, 2, start_blanks=True, end_field=2, end_char=3), None, b""),
        (b"  abc  def", Key(2, start_blanks=True), None, b"def"),
        (b"ab,c", Key(1, 2, end_field=1, end_char=9), b",", b"b,c"),
        (b"ab,", Key(2), b",", b""),
        (b"a,,c", Key(2, end_field=2), b",", b""),
        (b"a,,c", Key(2, end_field=3), b",", b",c"),
        (b"a,  c", Key(2, start_blanks=True), b",", b"c"),
        (b"a b c", Key(3, end_field=1), None, b""),
        (b"a b c", Key(7), None, b""),
        (b"a b c", Key(1, 4), None, b" c"),
        (b"a\nb c", Key(2, end_field=2), None, b"\nb"),
        (b"a\rb\x0bc", Key(2), None, b""),
        (b"a b c", Key(HUGE), None, b""),
        (b"a b c", Key(1, HUGE), None, b""),
        (b"a b c", Key(2, end_field=HUGE), None, b" b c"),
        (b"a b c", Key(2, end_field=2, end_char=HUGE), None, b" b c"),
        (b"a,b,c", Key(HUGE, HUGE, end_field=HUGE, end_char=HUGE), b",", b""),
        (b"", Key(), None, b""),
    ],
)
def test_keys_start_and_end_where_gnu_sort_says(
    kernel: ModuleType, line: bytes, key: Key, field_separator: bytes | None, expected: bytes
) -> None:
    order = Order(keys=(key,), field_separator=field_separator, separator=b"\0")
    assert Batch(kernel, order, [line]).encoded_keys() == [expected]


@given(text=texts(max_size=40), letters=st.sampled_from(["", "d", "i", "f", "df", "if", "di"]))
def test_text_is_filtered_then_escaped_then_ended(kernel: ModuleType, text: bytes, letters: str) -> None:
    escapes = {0: b"\x01\x01", 1: b"\x01\x02"}
    expected = filtered(text, letters)
    expected = b"".join(escapes.get(byte, bytes([byte])) for byte in expected) + b"\0"
    assert encoded(kernel, Key(letters=letters), text, separator=b"\n") == expected
    assert encoded(kernel, Key(letters=letters, reverse=True), text) == expected.translate(COMPLEMENT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "80"),
        (b"-0.00", "80"),
        (b"abc", "80"),
        (b"+7", "80"),
        (b"- 5", "80"),
        (b"--5", "80"),
        (b".", "80"),
        (b"5", "82 06 00"),
        (b"\t 05.50x", "82 06 33 00"),
        (b"12", "83 0d 00"),
        (b"120", "84 02 15 00"),
        (b".5", "81 33 00"),
        (b".05", "81 06 00"),
        (b"1.005", "82 02 01 33 00"),
        (b"-5", "7d f9 ff"),
        (b"-.5", "7e cc ff"),
        (b"1\x002", "82 02 00"),
        (b"1,000", "82 02 00"),
        (b"0x10", "80"),
        (b"1e9", "82 02 00"),
        (b"1.2.3", "82 02 15 00"),
        (b"\x0b7", "80"),
        (b"9" * 100, "e5" + " 64" * 50 + " 00"),
        (b"9" * 101, "e6 0000000000000065 0a" + " 64" * 50 + " 00"),
    ],
)
def test_numbers_are_encoded_as_specified(kernel: ModuleType, text: bytes, expected: str) -> None:
    code = bytes.fromhex(expected)
    assert encoded(kernel, Key(letters="n"), text) == code
    assert encoded(kernel, Key(letters="n", reverse=True), text) == code.translate(COMPLEMENT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1,,001", b"1001"),
        (b",5", b"5"),
        (b"-,5", b"-5"),
        (b"0,9", b"9"),
        (b"1,2,", b"12"),
        (b"1,2.3,4", b"12.3"),
        (b",-5", b"0"),
        (b",,", b"0"),
        (b",0,0", b"0"),
    ],
)
def test_grouping_bytes_may_stand_anywhere_before_the_point(kernel: ModuleType, text: bytes, value: bytes) -> None:
    key = Key(letters="n")
    assert encoded(kernel, key, text, grouping=b",") == encoded(kernel, key, value)


@given(a=NUMBERS, b=NUMBERS, grouping=st.sampled_from([None, b","]))
def test_encoded_numbers_are_ordered_as_their_values(
    kernel: ModuleType, a: bytes, b: bytes, grouping: bytes | None
) -> None:
    codes = [encoded(kernel, Key(letters="n"), text, grouping=grouping) for text in (a, b)]
    values = [number(text, grouping) for text in (a, b)]
    assert sign(*codes) == sign(*values)
    if values[0] != values[1]:
        assert not codes[0].startswith(codes[1])
        assert not codes[1].startswith(codes[0])


@given(
    lengths=st.lists(st.sampled_from([1, 2, 99, 100, 101, 102, 255, 256, 4000]), min_size=2, max_size=6),
    seed=st.randoms(use_true_random=False),
)
def test_numbers_of_any_length_are_exact(kernel: ModuleType, lengths: list[int], seed: object) -> None:
    def digits(count: int) -> str:
        return "".join(seed.choice("0019") for _ in range(count))  # type: ignore[attr-defined]

    numbers = [seed.choice(["", "-"]) + digits(n) + "." + digits(n % 7) for n in lengths]  # type: ignore[attr-defined]
    order = Order(keys=(Key(letters="n"),), stable=True)
    batch = Batch(kernel, order, [text.encode() for text in numbers])
    coded = sorted(range(len(numbers)), key=batch.encoded_keys().__getitem__)
    assert coded == sorted(range(len(numbers)), key=lambda i: Decimal(numbers[i]))


@given(order=orders(min_keys=1), lines=line_lists(12))
def test_encoded_keys_are_ordered_as_lines_compare(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    order = order._replace(stable=True)
    compare = comparison(order)
    keys = Batch(kernel, order, lines, bare=False).encoded_keys()
    for line_a, key_a in zip(lines, keys, strict=True):
        for line_b, key_b in zip(lines, keys, strict=True):
            assert sign(key_a, key_b) == compare(line_a, line_b), (line_a, line_b)


@given(order=orders(min_keys=1), lines=line_lists(12))
def test_encodings_that_are_not_bare_are_free_of_prefixes(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    keys = set(Batch(kernel, order, lines, bare=False).encoded_keys())
    assert not [(a, b) for a in keys for b in keys if a != b and b.startswith(a)]


def form_of(program: bytes) -> str:
    """See enum ps_form; a line that is short enough may be its key's slice."""
    kinds = segment_kinds(program)
    if not kinds[-1][1] & BARE:
        return "short"
    return "slice" if len(kinds) == 1 and b"\0" not in program[24 + 16 + 256 + 56 :][:256] else "stored"


@given(order=orders(min_keys=1), lines=line_lists(), bare=st.booleans())
def test_a_record_addresses_its_line_or_its_key_and_the_header_before_it_the_line(
    kernel: ModuleType, order: Order, lines: list[bytes], bare: bool
) -> None:
    batch = Batch(kernel, order, lines, bare=bare)
    form = form_of(batch.program)
    mask = (1 << 64) - 1 if form != "short" and order.keys[-1].reverse else 0
    before = [batch.record(index)[1:] for index in range(batch.n)]
    keys = Batch(kernel, order, lines, bare=bare).encoded_keys()
    batch.encode()
    at = batch.text_bytes
    for index, (key, line_span) in enumerate(zip(keys, before, strict=True)):
        seen = filtered(key, order.keys[-1].letters) if form == "slice" else key
        prefix, offset, length = batch.record(index)
        assert prefix == prefix_of(seen) ^ mask
        assert kernel.line(batch.program, batch.arena, batch.top, index) == line_span
        if form == "stored" or (form == "short" and len(key) > 8):
            assert (offset, length) == (at + HEADER.size, len(key))
            assert HEADER.unpack_from(batch.arena, at) == line_span
            at += HEADER.size + len(key)
        else:
            assert offset == line_span[0]
            assert length & IN_LINE
    assert batch.keys_end == at


@pytest.mark.parametrize("before_n", [0, 1, SLICE_MAX, SLICE_MAX + 1])
@pytest.mark.parametrize("key_n", [0, 1, 8, 9, SLICE_MAX, SLICE_MAX + 1])
@pytest.mark.parametrize("behind_n", [0, 1, 2 * SLICE_MAX, 2 * SLICE_MAX + 1])
@pytest.mark.parametrize("letters", ["", "f"])
def test_a_key_is_part_of_its_line_up_to_certain_lengths(
    kernel: ModuleType, before_n: int, key_n: int, behind_n: int, letters: str
) -> None:
    key, end = b"k" * key_n, b"," + b"e" * (behind_n - 1) if behind_n else b""
    line = b"b" * (before_n - 1) + b"," * (before_n > 0) + key + end
    number = 2 if before_n else 1
    order = Order(keys=(Key(number, end_field=number, letters=letters),), field_separator=b",")
    batch = Batch(kernel, order, [b"first", line])
    assert batch.encoded_keys()[1] == key
    is_stored = max(before_n, key_n) > SLICE_MAX or behind_n > 2 * SLICE_MAX
    assert batch.keys_end - batch.text_bytes == (HEADER.size + key_n if is_stored else 0)
    assert batch.record(1)[0] == prefix_of(key.upper() if letters else key)
    assert kernel.line(batch.program, batch.arena, batch.top, 1) == (6, len(line))


@pytest.mark.parametrize("letters", ["", "f"])
@pytest.mark.parametrize("length", [0, 9, 5000])
def test_a_whole_line_of_any_length_is_its_own_key(kernel: ModuleType, letters: str, length: int) -> None:
    batch = Batch(kernel, Order(keys=(Key(letters=letters),)), [b"x" * length])
    batch.encode()
    assert batch.keys_end == batch.text_bytes
    assert batch.record(0) == (prefix_of(b"Xx"[not letters :][:1] * min(length, 8)), 0, length | IN_LINE)


@given(order=orders(min_keys=1), lines=line_lists(6), data=st.data())
def test_a_record_that_does_not_fit_is_not_started(
    kernel: ModuleType, order: Order, lines: list[bytes], data: st.DataObject
) -> None:
    whole = Batch(kernel, order, lines, program=storing(program_of(order, bare=False)))
    keys = whole.encoded_keys()
    ends = [whole.text_bytes]
    for key in keys:
        ends.append(ends[-1] + HEADER.size + len(key))
    limit = data.draw(st.integers(whole.text_bytes, ends[-1]), label="limit")
    batch = Batch(kernel, order, lines, program=whole.program)
    untouched = bytes(batch.arena[limit:])
    first = 0
    done, at = kernel.encode(batch.program, None, batch.arena, batch.top, first, batch.n, batch.text_bytes, limit)
    assert done == sum(end <= limit for end in ends[1:])
    assert at == ends[done]
    assert batch.arena[batch.text_bytes : at] == whole.arena[whole.text_bytes : at]
    boundary = batch.top - RECORD.size * done - limit
    assert batch.arena[limit:][:boundary] == untouched[:boundary]
    assert kernel.encode(batch.program, None, batch.arena, batch.top, done, batch.n, at, ends[-1]) == (
        batch.n,
        ends[-1],
    )
    assert batch.arena[: ends[-1]] == whole.arena[: ends[-1]]
    assert [batch.record(i) for i in range(batch.n)] == [whole.record(i) for i in range(batch.n)]


def test_the_limit_is_exact_to_the_byte(kernel: ModuleType) -> None:
    order = Order(keys=(Key(),))
    program = storing(program_of(order, bare=False))
    for length in range(20):
        line = b"x" * length
        need = len(line) + 1 + HEADER.size + length + 1
        for limit in range(length + 1, need + 1):
            batch = Batch(kernel, order, [line], program=program)
            args = (batch.program, None, batch.arena, batch.top, 0, 1, length + 1, limit)
            assert kernel.encode(*args) == ((1, need) if limit == need else (0, length + 1))


def test_a_long_text_finds_no_room_and_leaves_the_record_alone(kernel: ModuleType) -> None:
    line = b"\x01" * 1000
    for key in (Key(), Key(reverse=True), Key(letters="f")):
        batch = Batch(kernel, Order(keys=(key,)), [line], bare=False)
        record = batch.record(0)
        args = (batch.program, None, batch.arena, batch.top, 0, 1, 1001, 1001 + 8 + 2000)
        assert kernel.encode(*args) == (0, 1001)
        assert batch.record(0) == record
        assert kernel.encode(*args[:-1], 1001 + 8 + 2001) == (1, 1001 + 8 + 2001)


def test_the_model_program_is_what_the_layout_says() -> None:
    assert len(program_of(Order(keys=(Key(), Key(letters="f"))))) == 24 + 16 + 256 + 2 * 56 + 512


@pytest.mark.parametrize("stored", [{0}, {1}, {0, 2}, {0, 1, 2, 3}, set(range(0, 60, 7))], ids=str)
@pytest.mark.parametrize("n", [4, 60])
def test_a_short_key_that_is_stored_equals_one_that_is_not(kernel: ModuleType, stored: set[int], n: int) -> None:
    """As it is behind a line of 2 GiB, whose length leaves no room for the mark."""
    order = Order(keys=(Key(letters="n"),), stable=True)
    batch = Batch(kernel, order, [b"%d %d" % (i % 2, i) for i in range(n)])
    spans = [batch.record(index)[1:] for index in range(n)]
    batch.encode()
    at = batch.text_bytes
    for index in stored & set(range(n)):
        prefix, _, length = batch.record(index)
        assert length & IN_LINE
        key = prefix.to_bytes(8, "big").rstrip(b"\0") + b"\0" if prefix & 0x7F << 56 else b"\x80"
        batch.arena[at : at + HEADER.size + len(key)] = HEADER.pack(*spans[index]) + key
        RECORD.pack_into(batch.arena, batch.top - RECORD.size * (index + 1), prefix, at + HEADER.size, len(key))
        at += HEADER.size + len(key)
    at_all = batch.program, batch.locale, batch.arena, batch.top, n
    assert kernel.check(*at_all) == 2
    kernel.sort_part(*at_all, PART.pack(0, n, 0, 56, 1))
    assert batch.sorted() == [spans[i] for i in [*range(0, n, 2), *range(1, n, 2)]]
