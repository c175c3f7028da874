"""Text in a locale's order: stages of keys, strcoll behind each of them, the twins against each other and a model."""

from __future__ import annotations

import functools
import random
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from types import ModuleType

import pytest
from collation import Texts, collation, is_installed
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, comparison, filtered, key_text, merged_lines, sorted_lines
from kernel_support import (
    COLLATE,
    COLLATE_LINES,
    HEADER,
    IN_LINE,
    RECORD,
    Batch,
    Merge,
    key_definitions,
    may_be_short,
    open_locale,
    pack_program,
    pack_segment,
    sort_all,
    sort_lines,
)

Twins = tuple[ModuleType, ModuleType]

# Ties by the thousand (English), contractions (Czech, Welsh, Hungarian, Danish), accents read backwards (Canadian
# French), vowels that change places (Thai), several bytes to a letter without being UTF-8, and order of bytes.
_INTERESTING = [
    *(b"en_US.utf8", b"cs_CZ.utf8", b"cy_GB.utf8", b"hu_HU.utf8", b"da_DK.utf8", b"fr_CA.utf8", b"th_TH.utf8"),
    *(b"ja_JP.utf8", b"zh_CN.gbk", b"ja_JP.eucjp", b"de_DE.iso88591", b"tr_TR.utf8", b"C.utf8", b"C"),
]
LOCALES = [name for name in _INTERESTING if is_installed(name)]
COMPLEMENT = bytes(range(255, -1, -1))
ENGLISH = pytest.mark.skipif(b"en_US.utf8" not in LOCALES, reason="the locale en_US.UTF-8 is not installed")


@st.composite
def locale_lines(draw: st.DrawFn, locale: bytes | None, max_size: int = 60) -> list[bytes]:
    """Lines near to one another, of no, one or a few fields, some with NULs."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, max_size))
    texts = Texts(rng, collation(locale or b"C").codeset, nul=True).some(n + 1)
    joints = [b"", b"", b" ", b",", b"\t ", b"1 ", b" 10,"]
    lines = [b"".join(rng.choice(texts) + rng.choice(joints) for _ in range(rng.randrange(4))) for _ in range(n)]
    return [line.replace(b"\n", b"") for line in lines]


@st.composite
def collated_orders(draw: st.DrawFn, letters: Sequence[str] = ("", "", "f", "d", "i", "df", "n")) -> Order:
    return Order(
        keys=tuple(draw(st.lists(key_definitions(letters), min_size=1, max_size=3))),
        reverse=draw(st.booleans()),
        stable=draw(st.booleans()),
        unique=draw(st.booleans()),
        field_separator=draw(st.sampled_from([None, None, b",", b" "])),
        locale=draw(st.sampled_from(LOCALES)),
        coarse=draw(st.sampled_from([True, True, True, False])),
    )


@st.composite
def jobs(draw: st.DrawFn, max_size: int = 60) -> tuple[Order, list[bytes]]:
    order = draw(collated_orders())
    return order, draw(locale_lines(order.locale, max_size))


def check_sorted(kernel: ModuleType, order: Order, lines: list[bytes]) -> None:
    """The right lines in the right order, and the very ones: those that compare equal in input order."""
    compare = functools.cmp_to_key(comparison(order))
    expected: list[tuple[int, int]] = []
    previous = None
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    for line, start in sorted(zip(lines, starts, strict=False), key=lambda item: compare(item[0])):
        if not (order.unique and previous is not None and compare(previous) == compare(line)):
            expected.append((start, len(line)))
            previous = line
    assert Batch(kernel, order, lines).sort() == expected
    assert Batch(kernel, order, lines).sort_in_parts([False, False, True]) == expected


# Encoding -------------------------------------------------------------------------------------------------------------


def expected_stages(kernel: ModuleType, order: Order, line: bytes) -> list[bytes]:
    """A key that collates ends its stage; its encoding is the first level of the first NUL-separated piece, ended."""
    assert order.locale is not None
    found = [b""]
    for index, key in enumerate(order.keys, 1):
        if "n" in key.letters:
            number = Order(keys=(key,), field_separator=order.field_separator)
            found[-1] += Batch(kernel, number, [line]).encoded_keys()[0]
            continue
        piece = filtered(key_text(line, key, order.field_separator), key.letters).partition(b"\0")[0]
        level = collation(order.locale).first_level(piece) if order.coarse else b""
        found[-1] += (level + b"\0").translate(COMPLEMENT if key.reverse else None)
        if index < len(order.keys):
            found.append(b"")
    return found


@given(job=jobs(12))
def test_stages_follow_one_another_each_behind_the_lines_header(
    kernel: ModuleType, job: tuple[Order, list[bytes]]
) -> None:
    order, lines = job
    batch = Batch(kernel, order, lines)
    spans = [batch.record(index)[1:] for index in range(batch.n)]
    headers = [HEADER.pack(*span) for span in spans]
    batch.encode()
    expected = b""
    for index, (line, header) in enumerate(zip(lines, headers, strict=True)):
        first, *later = expected_stages(kernel, order, line)
        at = batch.text_bytes + len(expected) + HEADER.size
        prefix = int.from_bytes(first[:8].ljust(8, b"\0"), "big")
        if may_be_short(batch.program) and len(first) <= 8:
            assert batch.record(index) == (prefix, spans[index][0], spans[index][1] | IN_LINE)
            continue
        assert batch.record(index) == (prefix, at, len(first))
        expected += header + first
        expected += b"".join(struct.pack("=I", len(stage)) + header + stage for stage in later)
    assert batch.arena[batch.text_bytes : batch.keys_end] == expected


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("length", [1, 1000, 1023, 1024, 1025, 4096, 20000])
def test_a_text_of_any_length_is_encoded(kernel: ModuleType, locale: bytes, length: int) -> None:
    rng = random.Random(length)
    ascii_text = bytes(rng.choices(b"abcXYZ019 -_.", k=length))
    others = Texts(rng, collation(locale).codeset).some(length)
    any_text = b"".join(others)[:length].replace(b"\n", b"")
    lines = [ascii_text, any_text, ascii_text + b"\0" + any_text]
    order = Order(keys=(Key(),), locale=locale)
    levels = [collation(locale).first_level(line.partition(b"\0")[0]) for line in lines]
    assert Batch(kernel, order, lines).encoded_keys() == [level + b"\0" for level in levels]


@given(job=jobs(6), data=st.data())
def test_keys_that_find_no_room_are_not_started(
    kernel: ModuleType, job: tuple[Order, list[bytes]], data: st.DataObject
) -> None:
    order, lines = job
    whole, batch = Batch(kernel, order, lines), Batch(kernel, order, lines)
    whole.encode()
    limit = data.draw(st.integers(whole.text_bytes, whole.keys_end), label="limit")
    args = (batch.program, batch.locale, batch.arena, batch.top)
    beyond = bytes(batch.arena[limit : batch.top - RECORD.size * batch.n])
    done, at = kernel.encode(*args, 0, batch.n, batch.text_bytes, limit)
    assert at <= limit
    assert batch.arena[batch.text_bytes : at] == whole.arena[whole.text_bytes : at]
    assert batch.arena[limit : batch.top - RECORD.size * batch.n] == beyond
    enough = batch.top - 2 * RECORD.size * batch.n
    assert kernel.encode(*args, done, batch.n, at, enough) == (batch.n, whole.keys_end)
    assert batch.arena[: whole.keys_end] == whole.arena[: whole.keys_end]
    assert [batch.record(i) for i in range(batch.n)] == [whole.record(i) for i in range(batch.n)]


@given(job=jobs(30))
def test_twins_lay_out_the_same_arena(twins: Twins, job: tuple[Order, list[bytes]]) -> None:
    arenas = []
    for kernel in twins:
        batch = Batch(kernel, *job)
        batch.encode()
        records = [batch.record(index) for index in range(batch.n)]
        arenas.append((batch.keys_end, batch.arena[: batch.keys_end], records))
    assert arenas[0] == arenas[1]


# Sorting --------------------------------------------------------------------------------------------------------------


@given(job=jobs())
def test_sorting_agrees_with_the_model(kernel: ModuleType, job: tuple[Order, list[bytes]]) -> None:
    check_sorted(kernel, *job)


@given(job=jobs(150))
def test_twins_sort_the_same(twins: Twins, job: tuple[Order, list[bytes]]) -> None:
    python, c = (Batch(kernel, *job).sort() for kernel in twins)
    assert python == c


@given(job=jobs(100))
def test_the_order_does_not_depend_on_first_levels(kernel: ModuleType, job: tuple[Order, list[bytes]]) -> None:
    """Where they are not known to be right, strcoll alone sorts."""
    order, lines = job
    with_levels, without = (Batch(kernel, order._replace(coarse=coarse), lines).sort() for coarse in (True, False))
    assert with_levels == without


# Lines whose first key has few first levels: the letters' case, punctuation and accents come after it in English.
_GROUPED = [
    Order(keys=(Key(end_field=1),)),
    Order(keys=(Key(end_field=1),), reverse=True),
    Order(keys=(Key(end_field=1, reverse=True),), stable=True),
    Order(keys=(Key(end_field=1),), unique=True),
    Order(keys=(Key(end_field=1), Key(2, letters="n"))),
    Order(keys=(Key(end_field=1), Key(2, letters="n", reverse=True), Key(3, reverse=True)), stable=True),
    Order(keys=(Key(2, end_field=2, letters="n"), Key(end_field=1, letters="f"), Key(3))),
    Order(keys=(Key(3, end_field=3), Key(2, end_field=2), Key(end_field=1)), unique=True, reverse=True),
    Order(keys=(Key(end_field=1, letters="d"), Key(2, end_field=2), Key(letters="i", reverse=True))),
]


def spellings(rng: random.Random, word: str) -> str:
    """The word in mixed case with punctuation in it."""
    letters = [letter.upper() if rng.random() < 0.4 else letter for letter in word]
    for _ in range(rng.randrange(4)):
        letters.insert(rng.randrange(len(letters) + 1), rng.choice("-_.,'"))
    return "".join(letters)


@ENGLISH
@pytest.mark.parametrize("order", _GROUPED)
@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("group", [1, 2, 3, 31, 32, 33, 34, 64, 65, 200])
def test_groups_of_one_first_level(kernel: ModuleType, order: Order, coarse: bool, group: int) -> None:
    rng = random.Random(group)
    words = ["sort", "sorted", "résumé"]
    lines = [
        f"{spellings(rng, word)} {rng.randrange(3)} {spellings(rng, 'tie')}".encode()
        for word in words
        for _ in range(group)
    ]
    rng.shuffle(lines)
    check_sorted(kernel, order._replace(locale=b"en_US.utf8", coarse=coarse), lines)


@ENGLISH
@pytest.mark.parametrize("order", _GROUPED)
@pytest.mark.parametrize("group", [2, 33, 200])
def test_lines_that_differ_and_compare_equal_keep_their_input_order(
    kernel: ModuleType, order: Order, group: int
) -> None:
    """English collation knows no syllables of Korean, no private characters and no bytes that are not UTF-8."""
    rng = random.Random(group)
    ties = ["가", "각", "힣", "\ue000", "\uf8ff"]
    texts = [text.encode() for text in ties] + [b"\xff", b"\xfe"]
    language = collation(b"en_US.utf8")
    equal = [text for text in texts if language.order(text, texts[0]) == 0]
    assert len(equal) >= 2, "no ties: this C library has other tables"
    lines = [b"%s %d %s" % (rng.choice(equal), rng.randrange(2), rng.choice(equal)) for _ in range(group)]
    order = order._replace(locale=b"en_US.utf8")
    check_sorted(kernel, order, lines)
    ties_only = [rng.choice(equal) for _ in range(group)]
    kept = ties_only[:1] if order.unique else ties_only
    assert sort_lines(kernel, order._replace(keys=(Key(),)), ties_only) == kept


@pytest.mark.parametrize("locale", LOCALES)
def test_many_lines(kernel: ModuleType, locale: bytes) -> None:
    rng = random.Random(3)
    words = Texts(rng, collation(locale).codeset).some(300)
    lines = [b" ".join(rng.choices(words, k=rng.randrange(4))).replace(b"\n", b"") for _ in range(4000)]
    check_sorted(kernel, Order(keys=(Key(end_field=1), Key(2, reverse=True)), locale=locale), lines)


# Checking -------------------------------------------------------------------------------------------------------------


@st.composite
def checked_jobs(draw: st.DrawFn) -> tuple[Order, list[bytes]]:
    """Lines in order, but for one that may have been moved."""
    order = draw(collated_orders())
    order = order._replace(locale=draw(st.sampled_from([None, *LOCALES])))
    lines = sorted_lines(order, draw(locale_lines(order.locale, 40)))
    if lines and draw(st.booleans()):
        moved = lines.pop(draw(st.integers(0, len(lines) - 1)))
        lines.insert(draw(st.integers(0, len(lines))), moved)
    return order, lines


@given(job=checked_jobs(), is_plain=st.booleans())
def test_checking_finds_the_first_line_out_of_order(
    kernel: ModuleType, job: tuple[Order, list[bytes]], is_plain: bool
) -> None:
    order, lines = job
    if is_plain:
        order = order._replace(keys=(), locale=None)
    compare = comparison(order)
    least = 0 if order.unique else 1
    disorder = (i for i in range(1, len(lines)) if compare(lines[i - 1], lines[i]) >= least)
    batch = Batch(kernel, order, lines)
    if order.keys:
        batch.encode()
    before = bytes(batch.arena)
    found = kernel.check(batch.program, batch.locale, batch.arena, batch.top, batch.n)
    assert found == next(disorder, len(lines))
    assert batch.arena == before


# Merging --------------------------------------------------------------------------------------------------------------


@st.composite
def merges(draw: st.DrawFn) -> tuple[Order, list[list[bytes]]]:
    order = draw(collated_orders())
    runs = draw(st.lists(locale_lines(order.locale, 8), min_size=1, max_size=6))
    if draw(st.sampled_from([True, True, False])):
        runs = [sorted_lines(order, run) for run in runs]
    return order, runs


refills = st.lists(st.integers(1, 5), min_size=1)
out_sizes = st.lists(st.integers(1, 50), min_size=1)


@given(job=merges(), refills=refills, out_sizes=out_sizes)
def test_merging_agrees_with_the_model(
    kernel: ModuleType, job: tuple[Order, list[list[bytes]]], refills: list[int], out_sizes: list[int]
) -> None:
    order, runs = job
    steps = list(Merge(kernel, order, runs, refills).steps(out_sizes))
    assert b"".join(step.written for step in steps) == b"".join(line + b"\n" for line in merged_lines(order, runs))


@given(job=merges(), refills=refills, out_sizes=out_sizes)
def test_twins_merge_in_the_same_steps(
    twins: Twins, job: tuple[Order, list[list[bytes]]], refills: list[int], out_sizes: list[int]
) -> None:
    python, c = (list(Merge(kernel, *job, refills).steps(out_sizes)) for kernel in twins)
    assert python == c


# Handles --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program",
    [pack_program(0, [pack_segment(COLLATE)]), pack_program(COLLATE_LINES, [pack_segment()])],
    ids=["a segment", "the last resort"],
)
def test_a_program_that_collates_is_refused_without_a_locale(kernel: ModuleType, program: bytes) -> None:
    size = 4096
    cursors = struct.pack("=5Q", 0, size, 0, 0, 1)
    state = bytearray(kernel.merge_state_bytes(1))
    calls: list[Callable[[object], object]] = [
        lambda locale: kernel.encode(program, locale, bytearray(size), size, 0, 0, 0, 0),
        lambda locale: sort_all(kernel, program, locale, bytearray(size), size, 0),
        lambda locale: kernel.check(program, locale, bytearray(size), size, 0),
        lambda locale: kernel.merge(program, locale, bytearray(size), bytearray(cursors), 1, state, bytearray(9)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="needs a locale"):
            call(None)
        call(open_locale(kernel, b"C"))


def test_a_locale_that_is_not_installed_is_an_error(kernel: ModuleType) -> None:
    for names in ((b"xx_XX.UTF-8", b"C"), (b"C", b"xx_XX.UTF-8")):
        with pytest.raises(OSError):
            kernel.open_locale(*names, True)
    for place in range(3):
        categories = [b"C"] * 3
        categories[place] = b"xx_XX.UTF-8"
        with pytest.raises(OSError):
            kernel.locale_facts(*categories)


def test_a_bare_text_before_a_collated_last_resort(kernel: ModuleType) -> None:
    """Bytes decide the key, the locale the rest."""
    order = Order(locale=b"C" if b"en_US.utf8" not in LOCALES else b"en_US.utf8")
    program = pack_program(COLLATE_LINES, [pack_segment(flags=0)])
    lines = [b"b 1", b"B 2", b"a c", b"a B", b"a b", b"A z"]
    batch = Batch(kernel, order, lines, program=program)
    result = [batch.line(span) for span in batch.sort()]
    ties = sorted([b"a c", b"a B", b"a b"], key=functools.cmp_to_key(collation(order.locale or b"C").order))
    assert result == [b"A z", b"B 2", *ties, b"b 1"]


def test_plain_order_is_that_of_bytes_and_has_no_last_resort(kernel: ModuleType) -> None:
    lines = [b"b", b"A", b"a", b"B"]
    for locale in LOCALES:
        batch = Batch(kernel, Order(locale=locale), lines, program=pack_program(COLLATE_LINES))
        assert [batch.line(span) for span in batch.sort()] == sorted(lines)
