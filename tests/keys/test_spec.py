"""Key definitions: what they mean, their errors against GNU sort's, and what keys inherit."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import needs_gnu

from pysort.errors import SortError
from pysort.keys.spec import KeySpec, check_compatible, inherit, parse_key, parse_obsolescent

INFINITE = 2**64 - 1


def gnu(*argv: bytes) -> bytes:
    env = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
    run = subprocess.run([b"sort", *argv], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return run.stderr


def verdict(text: bytes) -> bytes:
    """What `sort -k TEXT` writes to stderr."""
    try:
        check_compatible([parse_key(text)])
    except SortError as error:
        return error.render(b"sort", utf8=False)
    return b""


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", KeySpec(0, to_line_end=True)),
        ("2.3", KeySpec(1, 2, to_line_end=True)),
        ("2,4", KeySpec(1, 0, 3, 0)),
        ("2.2,3.5", KeySpec(1, 1, 2, 5)),
        ("1,1.0", KeySpec(0, 0, 0, 0)),
        ("2b,2", KeySpec(1, 0, 1, 0, start_blanks=True)),
        ("2,2b", KeySpec(1, 0, 1, 0, end_blanks=True)),
        ("2Vr,3fRMnihgd", KeySpec(1, 0, 2, 0, ordering="dfghiMnRV", reverse=True)),
        ("1nn,1n", KeySpec(0, 0, 0, 0, ordering="n")),
        (" 1, +2", KeySpec(0, 0, 1, 0)),
        (f"{2**70}.{2**70},{2**70}.{2**70}", KeySpec(INFINITE - 1, INFINITE - 1, INFINITE - 1, INFINITE)),
    ],
)
def test_a_key(text: str, key: KeySpec) -> None:
    assert parse_key(text.encode()) == key
    assert gnu(b"-k", text.encode()) == verdict(text.encode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "invalid number at field start: invalid count at start of 'x'"),
        ("", "invalid number at field start: invalid count at start of ''"),
        ("-1", "invalid number at field start: invalid count at start of '-1'"),
        (".1", "invalid number at field start: invalid count at start of '.1'"),
        ("0", "field number is zero: invalid field specification '0'"),
        ("0x", "field number is zero: invalid field specification '0x'"),
        ("1.0", "character offset is zero: invalid field specification '1.0'"),
        ("1.", "invalid number after '.': invalid count at start of ''"),
        ("2.,3", "invalid number after '.': invalid count at start of ',3'"),
        ("1,", "invalid number after ',': invalid count at start of ''"),
        ("1,x", "invalid number after ',': invalid count at start of 'x'"),
        ("1.1,-k0", "invalid number after ',': invalid count at start of '-k0'"),
        ("1,0", "field number is zero: invalid field specification '1,0'"),
        ("1,2.", "invalid number after '.': invalid count at start of ''"),
        ("1x", "stray character in field spec: invalid field specification '1x'"),
        ("1,2,3", "stray character in field spec: invalid field specification '1,2,3'"),
        ("1.2.3", "stray character in field spec: invalid field specification '1.2.3'"),
        ("1 ,2", "stray character in field spec: invalid field specification '1 ,2'"),
        ("1,1bdfghiMnRrV", "options '-dfghMnRV' are incompatible"),
    ],
)
def test_a_key_that_is_none(text: str, message: str) -> None:
    assert verdict(text.encode()) == f"sort: {message}\n".encode()
    assert gnu(b"-k", text.encode()) == f"sort: {message}\n".encode()


@needs_gnu
@given(st.lists(st.sampled_from([*"0129.,bdfghiMnRrVx +-'", "é"]), max_size=8).map("".join))
def test_keys_are_judged_as_gnu_sort_judges_them(text: str) -> None:
    assert verdict(text.encode()) == gnu(b"-k", text.encode())


@pytest.mark.parametrize(
    ("start", "end", "key"),
    [
        ("+1", None, KeySpec(1, to_line_end=True, obsolescent=True)),
        (
            "+1.2nb",
            None,
            KeySpec(1, 2, to_line_end=True, start_blanks=True, ordering="n", obsolescent=True),
        ),
        ("+1", "-2", KeySpec(1, 0, 1, 0, obsolescent=True)),
        ("+1", "-2.0", KeySpec(1, 0, 1, 0, obsolescent=True)),
        ("+1.3", "-2.4rb", KeySpec(1, 3, 2, 4, end_blanks=True, reverse=True, obsolescent=True)),
        ("+0", "-0", KeySpec(0, 0, 0, 0, obsolescent=True)),
        ("+0", "-0.2", KeySpec(0, 0, 0, 2, obsolescent=True)),
        ("+" + "9" * 30, None, KeySpec(INFINITE, to_line_end=True, obsolescent=True)),
        ("+", None, None),
        ("+x", None, None),
        ("+1x", "-2x", None),
        ("+1.", None, None),
        ("+1.x", None, None),
        ("+1.1.1", None, None),
        ("+-1", None, None),
    ],
)
def test_an_old_key(start: str, end: str | None, key: KeySpec | None) -> None:
    assert parse_obsolescent(start.encode(), end.encode() if end else None) == key


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("-2x", "stray character in field spec: invalid field specification '-2x'"),
        ("-2,3", "stray character in field spec: invalid field specification '-2,3'"),
        ("-2.x", "invalid number after '.': invalid count at start of 'x'"),
        ("-2.", "invalid number after '.': invalid count at start of ''"),
    ],
)
def test_an_old_key_with_a_bad_end(end: str, message: str) -> None:
    with pytest.raises(SortError) as raised:
        parse_obsolescent(b"+1", end.encode())
    assert raised.value.render(b"sort", utf8=False) == f"sort: {message}\n".encode()
    assert gnu(b"+1", end.encode()) == f"sort: {message}\n".encode()


@needs_gnu
@given(
    fields=st.tuples(*[st.integers(0, 3)] * 4),
    with_end=st.booleans(),
    lines=st.lists(st.text(" \tab01", max_size=8), max_size=6),
)
def test_an_old_key_means_what_gnu_sort_makes_of_it(
    fields: tuple[int, int, int, int], with_end: bool, lines: list[str]
) -> None:
    """-s -u shows which lines have equal keys: the old form and the new one must agree for GNU."""
    a, x, b, y = fields
    old = [f"+{a}.{x}", f"-{b}.{y}"] if with_end else [f"+{a}.{x}"]
    key = parse_obsolescent(old[0].encode(), old[1].encode() if with_end else None)
    assert key is not None
    new = f"{key.start_field + 1}.{key.start_char + 1}"
    if not key.to_line_end:
        new += f",{key.end_field + 1}.{key.end_char}"
    data = "".join(f"{line}\n" for line in lines).encode()
    results = [
        subprocess.run(
            ["sort", "-s", "-u", *args],
            input=data,
            env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
            capture_output=True,
            check=True,
        ).stdout
        for args in (old, [f"-k{new}"])
    ]
    assert results[0] == results[1]


def test_a_key_without_options_takes_all_global_ones() -> None:
    bare, blank, reverse, own = (parse_key(text) for text in (b"1,2", b"2b", b"3r", b"4n"))
    first, *others = inherit([bare, blank, reverse, own], "bfM", reverse=True)
    assert first == KeySpec(0, 0, 1, 0, start_blanks=True, end_blanks=True, ordering="fM", reverse=True)
    assert others == [blank, reverse, own]


def test_global_options_alone_make_a_key_of_the_line() -> None:
    whole = KeySpec(to_line_end=True, ordering="dn", reverse=True)
    assert inherit([], "nd", reverse=True) == [whole]
    blanks = KeySpec(to_line_end=True, start_blanks=True, end_blanks=True)
    assert inherit([], "b", reverse=False) == [blanks]
    assert inherit([], "", reverse=True) == []
    assert inherit([], "", reverse=False) == []


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        ("-in", "in"),
        ("-nR", "nR"),
        ("-nV", "nV"),
        ("-dg", "dg"),
        ("-hn", "hn"),
        ("-Mn", "Mn"),
        ("-dfgiMnR", "dfgMnR"),
        ("-diRVf", ""),
        ("-nf", ""),
        ("-nbr", ""),
        ("-n -d -k1,1f", ""),
        ("-d -k1n -k2 -k3hg", "gh"),
        ("-g -k1,1di -k2ing", "gin"),
    ],
)
def test_ordering_options_that_exclude_each_other(argv: str, shown: str) -> None:
    message = f"sort: options '-{shown}' are incompatible\n" if shown else ""
    words = argv.split()
    keys = [parse_key(word[2:].encode()) for word in words if word.startswith("-k")]
    letters = "".join(word[1:] for word in words if not word.startswith("-k"))
    found = ""
    try:
        check_compatible(inherit(keys, letters.replace("r", ""), "r" in letters))
    except SortError as error:
        found = f"sort: {error}\n"
    assert found == message
    assert gnu(*(word.encode() for word in words)) == message.encode()


def test_keys_compare_by_what_they_say() -> None:
    assert hash(parse_key(b"1n,2")) == hash(parse_key(b"1,2n"))
    assert repr(parse_key(b"2r")).startswith("KeySpec(")
    assert parse_key(b"2") != parse_key(b"2,2")
