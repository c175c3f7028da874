"""Compiling keys, and what users write sorted as GNU sort sorts it."""

from __future__ import annotations

import subprocess
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Order
from kernel_support import BARE, Batch, line_lists, pack_program, pack_segment, pack_table
from support import GNU, environment, needs_gnu

from pysort.keys import locale, program
from pysort.keys.spec import KeySpec, inherit, parse_key

KEY = KeySpec(to_line_end=True)


def compiled(*keys: KeySpec, **settings: object) -> bytes:
    given: dict[str, object] = {
        "reverse": False,
        "stable": False,
        "unique": False,
        "zero_terminated": False,
        "field_separator": None,
        "tables": locale.C_TABLES,
    }
    return program.compile(keys, **{**given, **settings})  # type: ignore[arg-type]


def key(letters: str = "", **settings: object) -> KeySpec:
    return KeySpec(to_line_end=True, ordering=letters, **settings)  # type: ignore[arg-type]


def bare() -> bytes:
    return pack_segment(flags=program.TO_LINE_END | BARE)


def test_plain_order_is_a_program_without_segments() -> None:
    assert compiled() == pack_program()
    assert compiled(reverse=True) == pack_program(program.REVERSE)
    assert compiled(unique=True, zero_terminated=True) == pack_program(program.UNIQUE, separator=0)


def test_only_a_last_text_is_bare_and_if_reversed_an_only_one() -> None:
    ended, reversed_flags = pack_segment(), program.TO_LINE_END | program.SEGMENT_REVERSE
    number = pack_segment(program.NUMERIC)
    assert compiled(KEY) == pack_program(segments=[bare()])
    assert compiled(KEY, KEY) == pack_program(segments=[ended, bare()])
    backwards = pack_segment(flags=reversed_flags | program.BARE)
    assert compiled(key(reverse=True)) == pack_program(segments=[backwards])
    assert compiled(KEY, key(reverse=True)) == pack_program(segments=[ended, pack_segment(flags=reversed_flags)])
    assert compiled(KEY, key("n")) == pack_program(segments=[ended, number])


def test_equal_filters_share_a_table() -> None:
    flags = program.TO_LINE_END
    segments = [
        pack_segment(flags=flags, table=0),
        pack_segment(flags=flags, table=1),
        pack_segment(flags=flags | BARE, table=0),
    ]
    tables = [pack_table("df"), pack_table("i")]
    assert compiled(key("df"), key("i"), key("dfi")) == pack_program(segments=segments, tables=tables)


def test_a_number_has_no_table_and_the_spelling_of_the_locale() -> None:
    spelling = locale.CharacterTables(
        blank=locale.C_TABLES.blank,
        alnum=locale.C_TABLES.alnum,
        print=locale.C_TABLES.print,
        upper=locale.C_TABLES.upper,
        point=ord(","),
        grouping=ord("."),
        months=locale.C_TABLES.months,
    )
    segment = pack_segment(program.NUMERIC, point=ord(","), grouping=ord("."))
    assert compiled(key("fn"), tables=spelling) == pack_program(segments=[segment])


def test_positions_and_blanks_go_over_unchanged() -> None:
    largest = (1 << 64) - 1
    spec = KeySpec(1, 2, 3, largest, start_blanks=True, end_blanks=True)
    flags = program.START_BLANKS | program.END_BLANKS | BARE
    segment = pack_segment(flags=flags, field_separator=ord(","), counts=(1, 2, 3, largest))
    assert compiled(spec, field_separator=ord(",")) == pack_program(segments=[segment])


def test_an_ordering_without_a_kind_of_segment_is_refused() -> None:
    with pytest.raises(ValueError, match="'x'"):
        compiled(key("fx"))


@st.composite
def key_arguments(draw: st.DrawFn) -> str:
    def position(letters: list[str]) -> str:
        text = str(draw(st.integers(1, 4)))
        if draw(st.booleans()):
            text += f".{draw(st.integers(1, 4))}"
        return text + draw(st.sampled_from(letters))

    letters = draw(st.sampled_from([["", "b", "f", "d", "dfr"], ["", "n", "nr", "bn"], ["i", "r"]]))
    end = "," + position(letters) if draw(st.booleans()) else ""
    return "-k" + position(letters) + end


@needs_gnu
@given(
    key_options=st.lists(key_arguments(), max_size=3),
    global_ordering=st.sampled_from(["", "b", "f", "n", "d", "bf", "i"]),
    flags=st.sets(st.sampled_from("rsu")),
    field_separator=st.sampled_from([None, ",", " "]),
    zero_terminated=st.booleans(),
    data=st.data(),
)
def test_options_sort_as_gnu_sort_does(
    kernel: ModuleType,
    key_options: list[str],
    global_ordering: str,
    flags: set[str],
    field_separator: str | None,
    zero_terminated: bool,
    data: st.DataObject,
) -> None:
    separator = b"\0" if zero_terminated else b"\n"
    lines = data.draw(line_lists(40, separator))
    keys = inherit([parse_key(option[2:].encode()) for option in key_options], global_ordering, "r" in flags)
    order = compiled(
        *keys,
        reverse="r" in flags,
        stable="s" in flags,
        unique="u" in flags,
        zero_terminated=zero_terminated,
        field_separator=ord(field_separator) if field_separator else None,
    )
    batch = Batch(kernel, Order(separator=separator), lines, program=order)
    options = [f"-{letter}" for letter in sorted(flags) + list(global_ordering)] + key_options
    options += ["-z"] * zero_terminated + (["-t", field_separator] if field_separator else [])
    expected = subprocess.run(
        [*GNU, *options],
        input=b"".join(line + separator for line in lines),
        env=environment(),
        capture_output=True,
        check=True,
    ).stdout
    assert b"".join(batch.line(span) + separator for span in batch.sort()) == expected
