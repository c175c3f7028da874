"""The messages' bytes, checked against what GNU sort writes about the same text."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import needs_gnu

from pysort.errors import (
    NEXT_MESSAGE,
    Quoted,
    SortError,
    file_error,
    quote,
    shell_name,
    shell_quote,
)

LOCALES = {"C": False, "C.UTF-8": True, "en_US.UTF-8": True}

# What makes a difference to one of the three styles, and what should not.
PIECES = [
    *(bytes([byte]) for byte in range(1, 128) if byte not in b"/"),
    *(b"'", b'"', b"\\", b":", b" ", b"\n", b"\t", b"\x7f", b"#", b"~", b"{", b"}"),
    *(text.encode() for text in ("é", "\u2018", "\u2019", "日本", "\u200b", "\u00a0", "\u2028", "\u0085")),
    *(text.encode() for text in ("\U0001f600", "\ue000", "\u0378")),
    *(b"\xff", b"\x80", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"ab", b"1"),
]
hostile = st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join)


def gnu_message(argv: list[bytes], locale: str) -> bytes:
    env = {"LC_ALL": locale, "PATH": os.environ["PATH"]}
    run = subprocess.run([b"sort", *argv], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert run.returncode == 2
    return run.stderr


@needs_gnu
@pytest.mark.parametrize("locale", LOCALES)
@given(name=hostile)
def test_file_names_are_quoted_as_a_shell_needs_it(locale: str, name: bytes) -> None:
    # GNU sort 9.1 forgets to close $'...' when it starts over because of an apostrophe.
    assume(b"'" not in name or name[-1:].isalnum())
    name = b"no/" + name
    error = file_error(b"cannot read", name, OSError(errno.ENOENT, ""))
    assert error.render(b"sort", LOCALES[locale]) == gnu_message([b"--", name], locale)


@needs_gnu
@pytest.mark.parametrize("locale", LOCALES)
@given(name=hostile)
def test_short_file_names_are_quoted_as_a_shell_needs_it(locale: str, name: bytes) -> None:
    """The first character and the only character have rules of their own."""
    assume(name not in (b"-", b".", b".."))
    assume(b"'" not in name or name[-1:].isalnum())
    error = file_error(b"cannot read", name, OSError(errno.ENOENT, ""))
    assert error.render(b"sort", LOCALES[locale]) == gnu_message([b"--", name], locale)


@needs_gnu
@pytest.mark.parametrize("locale", LOCALES)
@given(name=hostile)
def test_operands_are_always_in_quotes(locale: str, name: bytes) -> None:
    assume(b"'" not in name or name[-1:].isalnum())
    error = SortError(b"extra operand ", shell_quote(name), b" not allowed with -c")
    assert error.render(b"sort", LOCALES[locale]) == gnu_message([b"-c", b"--", b"a", name], locale)


@needs_gnu
@pytest.mark.parametrize("locale", LOCALES)
@given(text=hostile)
def test_arguments_are_in_the_locales_quotes(locale: str, text: bytes) -> None:
    text = b"x" + text
    error = SortError(b"invalid number at field start: invalid count at start of ", quote(text))
    assert error.render(b"sort", LOCALES[locale]) == gnu_message([b"-k", text], locale)


@pytest.mark.parametrize(
    ("part", "in_c", "in_utf8"),
    [
        (quote(b"x"), "'x'", "\u2018x\u2019"),
        (
            quote("it's \u2019é\n\\".encode()),
            r"'it\'s \342\200\231\303\251\n\\'",
            "\u2018it's \\\u2019é\\n\\\\\u2019",
        ),
        (shell_name(b"plain"), "plain", "plain"),
        (shell_name(b""), "''", "''"),
        (shell_name(b"a:b"), "'a:b'", "'a:b'"),
        (shell_name(b"a'b"), '"a\'b"', '"a\'b"'),
        (shell_name(b"a'b$"), "'a'\\''b$'", "'a'\\''b$'"),
        (shell_name(b"a\n\tb"), r"'a'$'\n\t''b'", r"'a'$'\n\t''b'"),
        (shell_name("é".encode()), r"''$'\303\251'", "é"),
        (shell_name("a'é".encode()), r"'a'\'''$'\303\251'", '"a\'é"'),
        (shell_quote(b"plain"), "'plain'", "'plain'"),
    ],
)
def test_quoted_text(part: Quoted, in_c: str, in_utf8: str) -> None:
    error = SortError(part)
    assert error.render(b"p", utf8=False) == f"p: {in_c}\n".encode()
    assert error.render(b"p", utf8=True) == f"p: {in_utf8}\n".encode()
    assert str(error) == in_c


@given(text=hostile, utf8=st.booleans())
def test_a_shell_reads_a_name_back(text: bytes, utf8: bool) -> None:
    shown = SortError(shell_name(text)).render(b"", utf8)[2:-1]
    script = b"printf '%s.' " + (shown.replace(b":", b":") or b"''")
    run = subprocess.run(["bash", "-c", script], env={"LC_ALL": "C"}, capture_output=True, check=True)
    assert run.stdout == text + b"."


def test_a_usage_error_ends_with_a_hint() -> None:
    error = SortError(b"unrecognized option '--foo'", usage=True)
    expected = b"pysort: unrecognized option '--foo'\nTry 'pysort --help' for more information.\n"
    assert error.render(b"pysort", utf8=True) == expected
    assert str(error) == "unrecognized option '--foo'"


def test_a_message_may_have_more_lines_and_a_second_message() -> None:
    error = SortError(b"one\nline", NEXT_MESSAGE, b"two ", quote(b"x"))
    assert error.render(b"sort", utf8=False) == b"sort: one\nline\nsort: two 'x'\n"
    assert str(error) == "one\nline\ntwo 'x'"


def test_a_file_error_keeps_what_failed() -> None:
    error = file_error(b"read failed", b"a b", OSError(errno.EISDIR, ""))
    assert error.render(b"sort", utf8=True) == b"sort: read failed: 'a b': Is a directory\n"
    assert (error.errno, error.filename, error.status) == (errno.EISDIR, b"a b", 2)


def test_bytes_that_are_no_text_survive_in_str() -> None:
    assert os.fsencode(str(SortError(b"invalid option -- '\xe9'"))) == b"invalid option -- '\xe9'"


def test_errors_come_from_another_process_as_they_are() -> None:
    error = SortError(b"write failed: ", NEXT_MESSAGE, b"write error", errno=28, filename=b"out")
    same = pickle.loads(pickle.dumps(error))
    assert (str(same), same.errno, same.filename, same.status) == (str(error), 28, b"out", 2)
    assert same.render(b"sort", True) == error.render(b"sort", True) == b"sort: write failed: \nsort: write error\n"
