"""--files0-from: names out of a file, and everything that can be wrong with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cli_errors import Twins

pytestmark = support.needs_gnu

NAMES = [b"f", b"g", b"sp ace", b"new\nline", b"\xff"]


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


def today(stderr: bytes) -> bytes:
    """Up to 9.1 at least GNU sort wrote stdin where it means standard input."""
    return support.normalized(stderr).replace(b"names from stdin,", b"names from standard input,")


@settings(max_examples=40)
@given(
    names=st.lists(st.sampled_from([*NAMES, *NAMES, b"", b"-", b"missing", b"d"]), max_size=5),
    complete=st.booleans(),
    source=st.sampled_from([b"-", b"list", b"the list"]),
    options=st.sampled_from([[], ["-m"], ["-u"], ["-r"]]),
)
def test_any_list_of_names(
    tmp_path_factory: pytest.TempPathFactory, names: list[bytes], complete: bool, source: bytes, options: list[str]
) -> None:
    cwd = tmp_path_factory.getbasetemp()
    for number, name in enumerate(NAMES):
        (cwd / os.fsdecode(name)).write_bytes(b"%d\n7\n" % number)
    (cwd / "d").mkdir(exist_ok=True)
    listing = b"\0".join(names) + b"\0" * (complete and bool(names))
    (cwd / os.fsdecode(source)).write_bytes(listing)
    words = [*options, b"--files0-from=" + source]
    ours = support.run(support.CONTENDER, words, cwd, data=listing)
    gnus = support.run(support.GNU, words, cwd, data=listing)
    assert today(ours.stderr) == today(gnus.stderr)
    assert ours[:2] == gnus[:2]


@pytest.mark.parametrize(
    "script",
    [
        '"$@" --files0-from=missing',
        '"$@" --files0-from=d',
        '"$@" --files0-from=empty',
        '"$@" --files0-from=/dev/null',
        '"$@" --files0-from=- < empty',
        '"$@" --files0-from=- <&-',
        '"$@" --files0-from=/proc/self/mem',
        '"$@" --files0-from=',
        '"$@" --files0-from="a b"',
        '"$@" --files0-from=empty f',
        '"$@" --files0-from=empty f g "h i"',
        '"$@" f --files0-from=missing -nd',
        '"$@" --files0-from=missing -nd',
        '"$@" --files0-from=empty --debug -o new',
        '"$@" --files0-from=empty -k0',
        '"$@" --files0-from=missing --files0-from=empty',
        'printf f > n; "$@" --files0-from=n -o new; cat new',
        'printf "f\\0\\0" > n; "$@" --files0-from=n -o new',
        'printf "f\\0missing" > n; "$@" --files0-from=n -o new',
        'printf "f\\0g" > n; "$@" --files0-from=n -o f; cat f',
        'printf "\\0f" | "$@" --files0-from=-',
        'printf "f\\0missing" | "$@" --files0-from=- -o keep; cat keep',
    ],
)
def test_a_shell_script_sees_no_difference(twins: Twins, script: str) -> None:
    twins.compare_scripts(script)


def test_thousands_of_names(twins: Twins) -> None:
    listing = b"f\0g\0" * 5000
    result = twins.compare(["--files0-from=-", "-u"], data=listing, limits={"NOFILE": 16})
    assert result.stdout == b"a\nb\nc\nd\ne\nhead\nno newline\n"
