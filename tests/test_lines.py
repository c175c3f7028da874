"""sort_lines(): what comes back, and in which order, against sorted() and the system's sort."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from jobs import ask_gnu

import pysort
from pysort.linekeys import KeyEncoder, encode_number

MEMORY = [1, 2000, "8K", "1M"]  # with the first ones tens of runs are merged in several passes
memories = st.sampled_from(MEMORY)
seeds = st.integers(0, 2**32)

surrogates = st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF)
characters = st.one_of(
    st.sampled_from("\0\t\x0b\x0c\r \x1c\x85\u2028aA1é€\U0001f600\udc0a\udcff"), surrogates, st.characters()
)
texts = st.text(characters.filter(lambda c: c != "\n"), max_size=12)
byte_lines = st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"\x0b"))


@st.composite
def lines_of(draw: st.DrawFn, contents: st.SearchStrategy[Any]) -> list[Any]:
    """Up to some hundred lines, few of them different, some with a newline, a carriage return, or both."""
    pool = draw(st.lists(contents, min_size=1, max_size=20))
    ends: list[Any] = ["\n", "\r\n", "\r"] if isinstance(pool[0], str) else [b"\n", b"\r\n", b"\r"]
    pool += [line + draw(st.sampled_from(ends)) for line in draw(st.lists(st.sampled_from(pool)))]
    rng = random.Random(draw(seeds))
    return rng.choices(pool, k=draw(st.sampled_from([0, 1, 2, 10, 100, 600])))


lines = lines_of(texts) | lines_of(byte_lines)


def bare(line: Any) -> Any:
    return line.removesuffix("\n" if isinstance(line, str) else b"\n")


def bare_of_both(line: Any) -> Any:
    return bare(line).removesuffix("\r" if isinstance(line, str) else b"\r")


def same(ours: list[Any], expected: list[Any]) -> None:
    assert ours == expected
    assert [type(line) for line in ours] == [type(line) for line in expected]


def first_of_equal(ordered: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    return [next(group) for _, group in itertools.groupby(ordered, key)]


@given(
    lines,
    memories,
    st.fixed_dictionaries({name: st.booleans() for name in ("reverse", "unique", "crlf")}),
    st.sampled_from([{}, {"threads": 1}, {"threads": 3}]),
)
def test_without_a_key_lines_are_in_the_order_of_sorted(
    items: list[Any], memory: Any, way: dict[str, bool], threads: dict[str, int]
) -> None:
    ours = list(pysort.sort_lines(iter(items), memory=memory, **way, **threads))
    key = bare_of_both if way["crlf"] else bare
    expected = sorted(items, key=key, reverse=way["reverse"])
    same(ours, first_of_equal(expected, key) if way["unique"] else expected)


@given(
    lines,
    memories,
    st.fixed_dictionaries({name: st.booleans() for name in ("reverse", "unique", "crlf")}),
    st.sampled_from([None, len]),
    st.integers(0, 3),
)
def test_counted_lines_are_pairs_of_a_line_and_its_number(
    items: list[Any], memory: Any, way: dict[str, bool], key: Any, header: int
) -> None:
    ours = list(pysort.sort_lines(items, key=key, memory=memory, count=True, header=header, **way))
    content = bare_of_both if way["crlf"] else bare
    ordered = sorted(items[header:], key=key or content, reverse=way["reverse"])
    expected = [(line, 1) for line in items[:header]]
    for _, equal in itertools.groupby(ordered, (way["unique"] and key) or content):
        first, *others = equal
        expected.append((first, 1 + len(others)))
    same(ours, expected)
    same([line for line, _ in ours], [line for line, _ in expected])


@given(lines, st.integers(0, 3), st.booleans(), st.booleans(), memories)
def test_the_header_comes_first(items: list[Any], header: int, has_prefix: bool, unique: bool, memory: Any) -> None:
    """The prefix is how the first line behind the header begins, unless that is no character of a file."""
    prefix = items[header][:1] if has_prefix and len(items) > header else ""
    prefix = "" if isinstance(prefix, str) and "\ud800" <= prefix <= "\udfff" else prefix
    n = header
    while prefix and n < len(items) and items[n].startswith(prefix):
        n += 1
    ours = pysort.sort_lines(iter(items), header=header, header_prefix=prefix, unique=unique, memory=memory, top=10)
    expected = sorted(items[n:], key=bare)
    same(list(ours), items[:n] + (first_of_equal(expected, bare) if unique else expected)[:10])


def test_a_header_of_strange_lines() -> None:
    for items, error in (([1, "a"], TypeError), (["a", b"b"], TypeError), (["a\nb", "c"], ValueError)):
        with pytest.raises(error, match="line"):
            pysort.sort_lines(items, header=1)  # type: ignore[type-var]
    seen: list[str] = []
    key: Callable[[str], int] = lambda line: seen.append(line) or int(line)  # noqa: E731
    assert list(pysort.sort_lines(["n", "10", "9"], header=1, key=key)) == ["n", "9", "10"]
    assert seen == ["10", "9"]


integers = st.integers() | st.integers(-(2**70), 2**70) | st.integers(-3, 3)
near = st.integers(-1100, 1100).flatmap(lambda e: st.sampled_from([2.0 ** min(max(e, -1074), 1023), 2 ** max(e, 0)]))
floats = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, math.inf, -math.inf, 5e-324, 1e308])
numbers = st.one_of(integers, floats, near, near.map(lambda x: -x), near.map(lambda x: x + 1), st.booleans())


@given(st.lists(numbers, min_size=2, max_size=8))
def test_encoded_numbers_compare_as_the_numbers(keys: list[int | float]) -> None:
    encoded = [encode_number(key) for key in keys]
    for (a, x), (b, y) in itertools.combinations(zip(keys, encoded, strict=True), 2):
        assert (a < b, a == b) == (x < y, x == y)
    assert all(encode_number(key) <= encode_number(math.inf) < encode_number(math.nan) for key in keys)


def test_numbers_of_thousands_of_digits() -> None:
    keys = [
        10**5000,
        10**5000 + 1,
        -(10**5000),
        -(10**5000) + 1,
        2**0x7EFF - 1,
        2**0x7EFF,
        2**0x7F00,
        math.inf,
        -math.inf,
    ]
    assert sorted(keys, key=encode_number) == sorted(keys)


@given(
    lines,
    st.one_of(
        *(st.lists(kind, min_size=1, max_size=20) for kind in (st.binary(max_size=9), st.text(characters), numbers))
    ),
    memories,
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_a_key_function_orders_as_in_sorted(
    items: list[Any], keys: list[Any], memory: Any, reverse: bool, unique: bool, seed: int
) -> None:
    rng = random.Random(seed)
    table = {item: rng.choice(keys) for item in items}
    ours = list(pysort.sort_lines(items, key=table.__getitem__, memory=memory, reverse=reverse, unique=unique))
    expected = sorted(items, key=table.__getitem__, reverse=reverse)
    same(ours, first_of_equal(expected, table.__getitem__) if unique else expected)


def test_nan_is_behind_all_other_numbers() -> None:
    items = ["nan", "1", "inf", "-nan", "-inf"]
    assert list(pysort.sort_lines(items, key=float)) == ["-inf", "1", "inf", "nan", "-nan"]
    assert list(pysort.sort_lines(items, key=float, reverse=True)) == ["nan", "-nan", "inf", "1", "-inf"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (lambda line: None, "not NoneType"),
        (lambda line: (1, 2), "not tuple"),
        (lambda line: bytearray(b"x"), "not bytearray"),
        (lambda line: line if line > "b" else b"", "type str does not compare with one of type bytes"),
        (lambda line: 1.5 if line < "b" else "", "type str does not compare with one of type float"),
    ],
)
def test_keys_of_no_order_are_a_type_error(key: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        pysort.sort_lines(["a", "b", "c"], key=key)


def test_the_function_gets_the_line_as_it_is_once() -> None:
    seen: list[str] = []
    items = ["b\n", "a", "c\n"]

    def key(line: str) -> str:
        seen.append(line)
        return line

    assert list(pysort.sort_lines(items, key=key)) == ["a", "b\n", "c\n"]
    assert seen == items


ORDERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"key": "2,2n"}, ["-k2,2n"]),
    ({"key": "2"}, ["-k2"]),
    ({"key": ["2.2,2.3", "1"], "reverse": True}, ["-k2.2,2.3", "-k1", "-r"]),
    ({"key": "1.2,1.3"}, ["-k1.2,1.3"]),
    ({"key": "1.2b,1.3b"}, ["-k1.2b,1.3b"]),
    ({"key": "1.2b,1.3"}, ["-k1.2b,1.3"]),
    ({"key": "1.2,1.3b"}, ["-k1.2,1.3b"]),
    ({"key": "2b,3"}, ["-k2b,3"]),
    ({"key": "3,1"}, ["-k3,1"]),
    ({"key": "1,1r", "stable": True}, ["-k1,1r", "-s"]),
    ({"key": "2.2b,3.1b", "unique": True}, ["-k2.2b,3.1b", "-u"]),
    ({"key": "1bf,1"}, ["-k1bf,1"]),
    ({"numeric": True, "reverse": True}, ["-n", "-r"]),
    ({"general_numeric": True}, ["-g"]),
    ({"ignore_case": True, "dictionary_order": True}, ["-df"]),
    ({"ignore_leading_blanks": True}, ["-b"]),
    ({"version": True, "unique": True}, ["-V", "-u"]),
    ({"human_numeric": True, "stable": True}, ["-h", "-s"]),
    ({"month": True}, ["-M"]),
    ({"stable": True, "reverse": True}, ["-s", "-r"]),
    ({"top": 3}, []),
    ({"top": 0, "numeric": True}, ["-n"]),
]
SEPARATORS = [None, None, "\t", " ", "0", "1", "a", b"\xe9", "\0"]
fielded = st.text(st.sampled_from(" \t0a1b.-\0é9KJ"), max_size=14).map(str.encode)


@support.needs_gnu
@given(
    lines_of(fielded),
    st.sampled_from(ORDERS),
    st.sampled_from(SEPARATORS),
    st.sampled_from([None, None, "en_US.UTF-8"]),
    memories,
    st.booleans(),
)
def test_keys_given_as_text_order_as_the_system_s_sort(
    items: list[bytes],
    order: tuple[dict[str, Any], list[str]],
    separator: str | bytes | None,
    locale: str | None,
    memory: Any,
    crlf: bool,
) -> None:
    """Of lines that differ in nothing but their ends the first ones come first."""
    setting, words = order
    setting = {**setting, "memory": memory, "crlf": crlf}
    content = bare_of_both if crlf else bare
    argv = [os.fsencode(word) for word in words]
    if separator is not None:
        setting["field_separator"] = separator
        argv.append(b"-t" + (os.fsencode(separator) if separator != "\0" else b"\\0"))
    if locale is not None and support.has_locale(locale):
        setting["locale"] = locale
    env = {"LC_ALL": setting.get("locale", "C")}
    text = b"".join(content(item) + b"\n" for item in items)
    contents = ask_gnu(argv, stdin=text, env=env).stdout.split(b"\n")[:-1][: setting.get("top")]
    ours = list(pysort.sort_lines(items, **setting))
    assert [content(item) for item in ours] == contents
    for line in set(contents):
        mine = [item for item in ours if content(item) == line]
        assert mine == [item for item in items if content(item) == line][: len(mine)]


@support.needs_gnu
@given(lines_of(fielded), st.sampled_from(ORDERS[:-2]), st.sampled_from(SEPARATORS[:-1]), memories, st.booleans())
def test_counts_with_keys_given_as_text(
    items: list[bytes], order: tuple[dict[str, Any], list[str]], separator: str | None, memory: Any, crlf: bool
) -> None:
    setting, words = order
    argv = [os.fsencode(word) for word in words]
    if separator is not None:
        setting = {**setting, "field_separator": separator}
        argv.append(b"-t" + os.fsencode(separator))
    content = bare_of_both if crlf else bare
    text = b"".join(content(item) + b"\n" for item in items)
    contents = ask_gnu(argv, stdin=text).stdout.split(b"\n")[:-1]
    ours = list(pysort.sort_lines(items, count=True, memory=memory, crlf=crlf, **setting))
    assert sum(n for _, n in ours) == len(items)
    if "unique" in setting:
        assert [content(line) for line, _ in ours] == contents
    else:
        expected = [(line, len(list(group))) for line, group in itertools.groupby(contents)]
        assert [(content(line), n) for line, n in ours] == expected


def test_long_lines_and_long_keys() -> None:
    items = [b"x" * n + b"\n" for n in (300_000, 5, 70_000, 65_535, 65_536, 1_000_000)]
    assert list(pysort.sort_lines(items, memory="16K")) == sorted(items)
    assert list(pysort.sort_lines(items, memory="16K", key=lambda line: line[::-1])) == sorted(
        items, key=lambda x: x[::-1]
    )


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("key", [None, "2n", int], ids=str)
def test_many_lines_and_threads(threads: int, key: Any) -> None:
    """10 MB in 8 MiB, the least that is shared between threads, as some runs."""
    rng = random.Random(5)
    items = [b"%070d" % rng.randrange(10**12) + b"\n" * (i % 3 > 0) for i in range(150_000)]
    ours = pysort.sort_lines(items, memory="8M", threads=threads, key=key)
    assert list(ours) == sorted(items, key=bare)


@pytest.mark.parametrize("item", ["a\nb", "\n\n", "\na", b"a\nb", b"\n\n"])
@pytest.mark.parametrize("before", [0, 1, 5000])
def test_a_newline_inside_of_a_line_is_an_error(item: Any, before: int) -> None:
    with pytest.raises(ValueError, match="a newline inside of a line"):
        pysort.sort_lines([item[:0], *[item[:0]] * before, item], memory=1)


@pytest.mark.parametrize(
    "items", [["a", b"a"], [b"a", "a"], [1], [None], [bytearray(b"a")], ["a", 1], [type("Text", (str,), {})("a")]]
)
def test_lines_of_other_types_are_an_error(items: list[Any]) -> None:
    with pytest.raises(TypeError, match="line"):
        pysort.sort_lines(items)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"zero_terminated": True}, TypeError),
        ({"decompress": True}, TypeError),
        ({"warn": print}, TypeError),
        ({"keys": "1"}, TypeError),
        ({"count": True, "top": 1}, ValueError),
        ({"header": -1}, ValueError),
        ({"key": "0"}, ValueError),
        ({"key": 1}, TypeError),
        ({"key": len, "numeric": True}, TypeError),
        ({"key": len, "locale": "C"}, TypeError),
        ({"key": len, "field_separator": ","}, TypeError),
        ({"numeric": True, "month": True}, ValueError),
        ({"threads": 0}, ValueError),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_for_lines(settings: dict[str, Any], error: type[Exception]) -> None:
    def items() -> Iterator[str]:
        pytest.fail("read")
        yield ""

    with pytest.raises(error):
        pysort.sort_lines(items(), **settings)


@pytest.mark.parametrize("end", [0, ord("\n")])
def test_keys_escape_what_would_end_them(end: int) -> None:
    keys = [bytes(pair) for pair in itertools.product(range(16), repeat=2)] + [bytes((i,)) for i in range(16)] + [b""]
    encoders = [KeyEncoder(lambda _, key=key: key, end) for key in sorted(keys)]  # type: ignore[misc]
    encoded = [encoder(b"") for encoder in encoders]
    assert encoded == sorted(encoded)
    assert not {end, encoders[0].separator}.intersection(b"".join(encoded))
