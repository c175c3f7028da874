"""Numbers and sizes, checked against GNU sort where it knows them."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import needs_gnu

from pysort.errors import SortError
from pysort.units import (
    TOO_LARGE,
    SizeSpec,
    parse_batch_size,
    parse_count,
    parse_size,
    scan_count,
)

KIB = 1024


def verdict(text: bytes) -> bytes:
    """What `sort -S TEXT` writes to stderr."""
    try:
        parse_size(text, b"-S")
    except SortError as error:
        return error.render(b"sort", utf8=False)
    return b""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,3", (12, b",3")),
        (" \t\n\v\f\r+007x", (7, b"x")),
        ("0", (0, b"")),
        ("18446744073709551615", (2**64 - 1, b"")),
        ("18446744073709551616", (TOO_LARGE, b"")),
        ("000000000000000000000000000000000000005", (5, b"")),
        ("9" * 5000 + ".", (TOO_LARGE, b".")),
        ("", None),
        ("-1", None),
        ("+-1", None),
        ("++1", None),
        ("+ 1", None),
        ("x1", None),
        ("\u0661", None),
    ],
)
def test_a_number_at_the_start(text: str, value: tuple[int, bytes] | None) -> None:
    assert scan_count(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64", SizeSpec(64 * KIB)),
        ("0", SizeSpec(0)),
        ("512b", SizeSpec(512)),
        ("3k", SizeSpec(3 * KIB)),
        ("3K", SizeSpec(3 * KIB)),
        ("M", SizeSpec(KIB**2)),
        ("2m", SizeSpec(2 * KIB**2)),
        ("2g", SizeSpec(2 * KIB**3)),
        ("1t", SizeSpec(KIB**4)),
        ("1P", SizeSpec(KIB**5)),
        ("15E", SizeSpec(15 * KIB**6)),
        ("0Q", SizeSpec(0)),
        ("50%", SizeSpec(percent=50)),
        ("101%", SizeSpec(percent=101)),
        (" +1b", SizeSpec(1)),
    ],
)
def test_a_size(text: str, size: SizeSpec) -> None:
    assert parse_size(text.encode(), b"-S") == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "sort: invalid -S argument 'a'\n"),
        ("", "sort: invalid -S argument ''\n"),
        ("-1", "sort: invalid -S argument '-1'\n"),
        ("b", "sort: invalid -S argument 'b'\n"),
        (" K", "sort: invalid -S argument ' K'\n"),
        ("1x", "sort: invalid suffix in -S argument '1x'\n"),
        ("1KB", "sort: invalid suffix in -S argument '1KB'\n"),
        ("1KiB", "sort: invalid suffix in -S argument '1KiB'\n"),
        ("1p", "sort: invalid suffix in -S argument '1p'\n"),
        ("K5", "sort: invalid suffix in -S argument 'K5'\n"),
        ("1.5", "sort: invalid suffix in -S argument '1.5'\n"),
        ("1Zx", "sort: invalid suffix in -S argument '1Zx'\n"),
        ("99999999999999999999b", "sort: invalid suffix in -S argument '99999999999999999999b'\n"),
        ("99999999999999999999%", "sort: invalid suffix in -S argument '99999999999999999999%'\n"),
        ("1Z", "sort: -S argument '1Z' too large\n"),
        ("16E", "sort: -S argument '16E' too large\n"),
        ("18014398509481984", "sort: -S argument '18014398509481984' too large\n"),
    ],
)
def test_a_size_that_is_none(text: str, message: str) -> None:
    assert verdict(text.encode()) == message.encode()
    assert gnu_verdict(text.encode()) == message.encode()


def test_units_that_only_newer_gnu_sorts_have() -> None:
    assert verdict(b"1R") == b"sort: -S argument '1R' too large\n"
    assert verdict(b"1Q") == b"sort: -S argument '1Q' too large\n"


def gnu_verdict(text: bytes) -> bytes:
    env = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
    run = subprocess.run([b"sort", b"-S", text], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (run.returncode == 0) == (run.stderr == b"")
    return run.stderr


@needs_gnu
@given(
    st.lists(
        st.sampled_from([*"019 +-kKmMgGtTpPEZYbB%.x", "1844674407370955161", "18014398509481984"]),
        max_size=4,
    ).map("".join)
)
def test_sizes_are_judged_as_gnu_sort_judges_them(text: str) -> None:
    digits = text.strip(" +").rstrip("%")
    if text.endswith("%") and digits.isdigit() and int(digits) > 10**6:
        return  # GNU sort compares the product with its own address space
    assert verdict(text.encode()) == gnu_verdict(text.encode())


def test_the_largest_of_several_sizes_counts() -> None:
    size = SizeSpec(100).largest(SizeSpec(percent=50)).largest(SizeSpec(10, 5))
    assert size == SizeSpec(100, 50)
    assert size.resolve(1000) == 500
    assert size.resolve(50) == 100
    assert SizeSpec(percent=2**64 - 1).resolve(2**40) == 2**64 - 1


def test_counts_name_the_option() -> None:
    assert parse_count(b"+5", b"--parallel") == 5
    assert parse_count(b"9" * 30, b"--parallel") == TOO_LARGE
    with pytest.raises(SortError, match=r"^invalid --parallel argument 'a'$"):
        parse_count(b"a", b"--parallel")
    with pytest.raises(SortError, match=r"^invalid suffix in --parallel argument '1k'$"):
        parse_count(b"1k", b"--parallel")


def test_a_batch_leaves_room_for_the_standard_descriptors() -> None:
    assert parse_batch_size(b"17", b"--batch-size", 20) == 17
    assert parse_batch_size(b"4294967295", b"--batch-size", None) == 2**32 - 1
    with pytest.raises(SortError, match=r"maximum --batch-size argument with current rlimit is 17$"):
        parse_batch_size(b"18", b"--batch-size", 20)
    with pytest.raises(SortError, match=r"^--batch-size argument '4294967296' too large\n"):
        parse_batch_size(b"4294967296", b"--batch-size", None)


@needs_gnu
@pytest.mark.parametrize("text", [b"\xff'", b"1\\\xff", b"1Z"])
def test_what_is_no_size_is_shown_as_it_is_in_every_locale(text: bytes) -> None:
    with pytest.raises(SortError) as raised:
        parse_size(text, b"-S")
    message = raised.value.render(b"sort", utf8=True)
    assert b"argument '" + text + b"'" in message
    env = {"LANG": "en_US.UTF-8", "LC_MESSAGES": "C", "PATH": os.environ["PATH"]}
    done = subprocess.run([b"sort", b"-S" + text], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.stderr == message
