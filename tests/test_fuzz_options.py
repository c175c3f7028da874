"""Hostile words: whatever a command line says, it is taken as GNU sort takes it, and never ends in a traceback."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Iterator

import pytest
import support
from hypothesis import given
from hypothesis import strategies as st
from jobs import Answer, Worker, in_locale
from support import needs_gnu
from test_options import judge

from pysort.errors import SortError
from pysort.keys.spec import KeySpec, parse_key, parse_obsolescent
from pysort.option_table import NONE, OPTIONS, OWN

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="parses in this process")

LARGEST = 2**64 - 1
NUMBERS = [
    *(
        b"0",
        b"1",
        b"2",
        b"3",
        b"007",
        b"-1",
        b"+1",
        b"-0",
        b" 1",
        b"1 ",
        b"\t2",
        b"0x10",
        b"1e3",
        b"1.5",
        b"1,5",
        b"1_000",
    ),
    *(b"%d" % n for n in (2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, LARGEST, LARGEST + 1, 10**30)),
    *(b"9" * 500, b"0" * 500 + b"1", "１".encode(), "٣".encode(), b"1\xa0", b"\xb2"),
]
SUFFIXES = [*(bytes([letter]) for letter in b"bBckKmMgGtTpPeEzZyYrRqQ%iwx "), b"KB", b"KiB", b"kb", b"%%", b"b%", b""]
BYTES = st.binary(max_size=6).map(lambda text: text.replace(b"\0", b"\xff"))
NUMBER = st.sampled_from(NUMBERS) | st.integers(0, 300).map(lambda n: b"%d" % n)
SIZE = st.builds(bytes.__add__, NUMBER, st.sampled_from(SUFFIXES))
TEXT = st.sampled_from(
    [
        *(
            b"",
            b"-",
            b"--",
            b"=",
            b",",
            b"\\0",
            b"\\",
            b"'",
            b'"',
            b"$'\\t'",
            b"%s%n",
            b"\xff\xfe",
            "é’".encode(),
            b"\x1b[2J",
        ),
        b"\n",
    ]
) | st.binary(min_size=1, max_size=8).map(lambda text: re.sub(rb"[\0/]", b"x", text))
WORDS = sorted({word.encode() for option in OPTIONS for word in option.words or ()})
WORD = st.sampled_from(WORDS) | st.builds(lambda word, n: word[:n], st.sampled_from(WORDS), st.integers(0, 12))

_KEY_PIECES = [
    *(bytes([byte]) for byte in b"0123456789.,.,bdfghiMnrRVxz -+"),
    *NUMBERS[:20],
    b"1.1",
    b"2,",
    b",3.0b",
    b"\xff",
]
_POSITION = st.from_regex(rb"[0-9]{1,3}(\.[0-9]{1,3})?[bdfghiMnrRV]{0,3}", fullmatch=True)
KEY = (
    st.lists(st.sampled_from(_KEY_PIECES), max_size=8).map(b"".join)
    | st.lists(_POSITION, min_size=1, max_size=2).map(b",".join)
    | BYTES
)

locales = st.sampled_from([name for name in ("C", "en_US.UTF-8") if support.has_locale(name)])

# The grammar of keys -------------------------------------------------------------------------------------------------


@needs_gnu
@given(text=KEY, locale=locales)
def test_a_key_is_taken_or_refused_as_gnu_sort_does(text: bytes, locale: str) -> None:
    require_the_same([b"-k", text], locale)


@needs_gnu
@given(start=KEY, end=st.none() | KEY, locale=locales)
def test_so_is_an_old_key(start: bytes, end: bytes | None, locale: str) -> None:
    require_the_same([b"+" + start, *([] if end is None else [b"-" + end])], locale)


@given(text=KEY | st.binary())
def test_what_a_key_says_is_within_bounds(text: bytes) -> None:
    for parse in (
        parse_key,
        lambda text: parse_obsolescent(b"+" + text, None),
        lambda text: parse_obsolescent(b"+1", text),
    ):
        try:
            key = parse(text)
        except SortError as error:
            assert error.status == 2
            continue
        if isinstance(key, KeySpec):
            assert all(0 <= n <= LARGEST for n in (key.start_field, key.start_char, key.end_field, key.end_char))
            assert set(key.ordering) <= set("dfghiMnRV")


# Whole command lines -------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "batch-size": SIZE | NUMBER,
    "buffer-size": SIZE,
    "parallel": SIZE | NUMBER,
    "key": KEY,
    "field-separator": TEXT,
    "read-size": SIZE,
    "prefetch": SIZE | NUMBER,
    "parallel-reads": SIZE | NUMBER,
    "header": SIZE | NUMBER,
    "top": SIZE | NUMBER,
    "mmap-flags": WORD | SIZE | TEXT,
    "fadvise": st.lists(WORD, max_size=3).map(b",".join) | TEXT,
    "run-fadvise": st.lists(WORD, max_size=3).map(b",".join) | TEXT,
    "stats": st.lists(WORD, max_size=3).map(b",".join) | TEXT,
    "y": SIZE | TEXT,
}
# Started for what is in the page cache, or for anything that is asked to compress: not for the sake of words.
_NOT_RUN = {"compare-hints", "compress", "compress-program"}


@st.composite
def options(draw: st.DrawFn, own: bool) -> list[bytes]:
    """One option with what may be its argument, perhaps abbreviated, mistyped or put together with others."""
    option = draw(st.sampled_from([one for one in OPTIONS if own or one.section != OWN]))
    if option.key in _NOT_RUN and own:
        return []
    value = draw(ARGUMENTS.get(option.key, WORD | TEXT))
    if option.letter and draw(st.booleans()):
        letters = draw(st.text("bdfgiMnrRsuVz", max_size=2)) + option.letter
        word = b"-" + letters.encode()
        if option.argument == NONE:
            return [word]
        return [word + value] if draw(st.booleans()) else [word, value]
    name = option.name or option.letter
    shown = name[: draw(st.integers(1, len(name)))] if draw(st.booleans()) else name
    form = draw(st.sampled_from(["", "=", " "] if option.argument == NONE else ["=", "=", " ", ""]))
    word = b"--" + shown.encode()
    if form == "=":
        return [word + b"=" + value]
    return [word, value] if form else [word]


@st.composite
def command_lines(draw: st.DrawFn, own: bool) -> list[bytes]:
    groups = draw(st.lists(options(own) | TEXT.map(lambda word: [word]), min_size=1, max_size=5))
    return [word for group in groups for word in group]


MISSING = b"no such file"  # nothing is sorted: both look for the files first


def ask_gnu(argv: list[bytes], locale: str) -> tuple[int, bytes]:
    env = {name: value for name, value in support.environment(in_locale(locale)).items() if name != "HOME"}
    with tempfile.TemporaryDirectory() as cwd:
        done = subprocess.run(
            [b"sort", *argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    return done.returncode, done.stderr


def require_the_same(words: list[bytes], locale: str) -> None:
    """Both take the words, or both refuse them with the same message and status."""
    verdict = judge([*words, MISSING])
    status, stderr = ask_gnu([*words, MISSING], locale)
    utf8 = locale != "C"
    if b"invalid option -- 'Z'" in stderr:
        return  # a letter of our own
    if isinstance(verdict, SortError):
        if re.match(rb"sort: (open failed: |no input from |cannot read: )", stderr):
            # The names of --files0-from are read before keys are judged.
            assert b"incompatible" in verdict.render(b"sort", utf8=utf8)
            return
        assert (verdict.status, without_hint(verdict.render(b"sort", utf8=utf8))) == (status, stderr)
    elif verdict.request:
        assert (status, stderr) == (0, b"")
    elif not status:
        assert MISSING not in verdict.files  # it is the argument of the last option
    else:  # the end is that of the first operand, or of another file that cannot be had
        last_line = stderr.splitlines(keepends=True)[-1]
        assert status == 2, stderr
        assert re.match(
            rb"sort: (cannot read: |open failed: |no input from |.*: (end of file|No such file))", last_line
        )


def without_hint(stderr: bytes) -> bytes:
    """Without the line of our own that says what may have been meant."""
    return re.sub(rb"(?m)^did you mean .*\n", b"", stderr)


@needs_gnu
@given(words=command_lines(own=False), locale=locales)
def test_gnus_options_are_taken_or_refused_as_gnu_sort_does(words: list[bytes], locale: str) -> None:
    require_the_same(words, locale)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker()) as worker:
        yield worker


@given(words=command_lines(own=True), locale=locales | st.just("nonsense"))
def test_no_command_line_ends_in_anything_but_a_status_and_a_message(
    worker: Worker, words: list[bytes], locale: str
) -> None:
    """Run as it stands, over a small file: words that mean something do what they say."""
    answer = worker.run([*words, b"f"], {b"f": b"b 2\na 1\n"}, stdin=b"c\n", env={"LC_ALL": locale})
    require_form(answer)


MESSAGE = re.compile(rb"pysort: .")


def require_form(answer: Answer) -> None:
    assert answer.status in (0, 1, 2)
    assert b"Traceback" not in answer.stderr
    if answer.status == 2 or (answer.status == 1 and answer.stderr):
        assert any(MESSAGE.match(line) for line in answer.stderr.splitlines()), answer.stderr
    assert answer.stderr == b"" or answer.stderr.endswith(b"\n")
