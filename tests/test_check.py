"""-c and -C: the same answer, the same message and the same status as the system's sort."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import Text, Worker, ask_gnu, in_locale
from orders import LOCALES, orders, texts, ways
from test_cli_errors import Twins

pytestmark = [
    support.needs_gnu,
    pytest.mark.skipif(support.testing_gnu_itself(), reason="the jobs use pysort's own options"),
]
LINES_N = 3000


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


@st.composite
def disturbances(draw: st.DrawFn) -> tuple[str, int]:
    """What happens to a sorted text, and where: a seed."""
    return draw(st.sampled_from(["nothing", "nothing", "repeat", "swap", "move"])), draw(st.integers(0, 2**32))


def disturbed(text: bytes, separator: bytes, how: str, seed: int) -> bytes:
    lines = text.split(separator)[:-1]
    if how == "nothing" or len(lines) < 2:
        return text
    rng = random.Random(seed)
    i, j = sorted(rng.sample(range(len(lines)), 2))
    if how == "repeat":
        lines.insert(i, lines[i])
    elif how == "swap":
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.append(lines.pop(i))
    return separator.join(lines) + separator * rng.randrange(2)


@given(
    data=st.data(),
    order=orders,
    zero=st.sampled_from([[], [], [b"-z"]]),
    locale=st.sampled_from(LOCALES),
    disturbance=disturbances(),
    is_sorted=st.booleans(),
    check=st.sampled_from([b"-c", b"-c", b"-C", b"--check=quiet"]),
    operands=st.sampled_from([[b"odd\n'name"], [b"-"], []]),
    way=ways,
    pipe=st.booleans(),
)
def test_the_same_answer_as_gnu_sort(
    worker: Worker,
    data: st.DataObject,
    order: list[bytes],
    zero: list[bytes],
    locale: str,
    disturbance: tuple[str, int],
    is_sorted: bool,
    check: bytes,
    operands: list[bytes],
    way: list[bytes],
    pipe: bool,
) -> None:
    separator = b"\0" if zero else b"\n"
    env = in_locale(locale)
    text = data.draw(texts(separator))
    if is_sorted:
        text = Text(disturbed(ask_gnu([*order, *zero], stdin=text, env=env).stdout, separator, *disturbance))
    words = [check, *order, *zero, *operands]
    files = {b"odd\n'name": text}
    ours = worker.run([*way, *words], files, stdin=text, pipe=pipe, env=env)
    gnus = ask_gnu(words, files, stdin=text, env=env)
    assert (ours.status, ours.stdout) == (gnus.status, b"")
    assert support.normalized(ours.stderr) == support.normalized(gnus.stderr)


@settings(max_examples=50)
@given(
    at=st.integers(1, LINES_N - 1),
    lengths=st.sampled_from([0, 1, 30, 300]),
    options=st.sampled_from([[], [b"-u"], [b"-k1,1n"], [b"-r"], [b"-k2", b"-u"]]),
    memory=st.sampled_from([b"-S1b", b"-S1K", b"-S64K", b"-S10M"]),
    has_disorder=st.sampled_from([True] * 9 + [False]),
    pipe=st.booleans(),
)
def test_disorder_is_found_wherever_it_is(
    worker: Worker, at: int, lengths: int, options: list[bytes], memory: bytes, has_disorder: bool, pipe: bool
) -> None:
    """The text is many times the buffer, so that the pair lies at any place in it, or across its refill."""
    rng = random.Random(at)
    numbers = list(range(LINES_N, 0, -1) if b"-r" in options else range(LINES_N))
    if has_disorder:
        numbers[at] = numbers[at - 1] if b"-u" in options else numbers[at - 1] + (1 if b"-r" in options else -1)
    lines = [b"%06d" % number + b"x" * rng.randint(0, lengths) * (b"-k1,1n" in options) for number in numbers]
    if b"-k2" in options:
        lines = [b"key " + line for line in lines]
    answer = worker.run([b"-c", memory, *options, b"-"], stdin=b"\n".join(lines), pipe=pipe)
    assert answer.status == has_disorder
    assert answer.stderr == (b"pysort: -:%d: disorder: %b\n" % (at + 1, lines[at]) if has_disorder else b"")


@pytest.mark.parametrize("options", [[], ["-u"], ["-k1,1"], ["-f", "-u"]], ids=str)
@pytest.mark.parametrize("length", [10_000, 300_000])
@pytest.mark.parametrize("second", [b"", b"x", b"y"], ids=["equal", "longer", "greater"])
def test_lines_longer_than_the_buffer(twins: Twins, options: list[str], length: int, second: bytes) -> None:
    long = b"x" * length
    for data in (long + b"\n" + long + second, b"a\n" * 100 + long + second + b"\n" + long + b"\na\n"):
        twins.compare(["-c", "-S1b", *options], data=data)


@pytest.mark.parametrize(
    "script",
    [
        '"$@" -c f',
        '"$@" -C f',
        '"$@" -c < f',
        '"$@" -c empty',
        '"$@" -c d',
        '"$@" -C d',
        '"$@" -c missing',
        '"$@" -C missing',
        '"$@" -c /proc/self/mem',
        '"$@" -c <&-',
        '"$@" -C - <&-',
        '"$@" -c f <&-',
        '"$@" -c f >&-',
        '"$@" -c f 2>&-',
        '"$@" -c f 2> /dev/full',
        '"$@" -C f 2>&-',
        '"$@" -c empty >&- 2>&-',
        '"$@" -c f > /dev/full',
        '"$@" -c f g',
        '"$@" -C f -',
        '"$@" -c -o new f',
        '"$@" -c -o new f g',
        '"$@" -C -o new missing',
        '"$@" -cm f',
        '"$@" -mC f',
        '"$@" -mc f g',
        '"$@" -c --debug f',
        '"$@" -c -k1,1 -s bytes',
        '"$@" -c -nd missing',
        '"$@" -cC f',
        'printf "f\\0" | "$@" -c --files0-from=-',
        'printf "f\\0g" | "$@" -c --files0-from=-',
        'cp f "a b"; "$@" -c "a b"',
        'cp f "a:b"; "$@" -c "a:b"',
        "cp f $'a\\nb'; \"$@\" -c $'a\\nb'",
        '{ "$@" -c; cat; } < f',
        'printf "b a\\nb b\\na" | "$@" -c',
        'printf "a b\\na a\\n" | "$@" -c -k1,1',
        'printf "a b\\na a\\n" | "$@" -cs -k1,1',
        'printf "b\\0a" | "$@" -cz',
    ],
)
def test_a_shell_script_sees_no_difference(twins: Twins, script: str) -> None:
    twins.compare_scripts(script)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"a\n")
    (tmp_path / "secret").chmod(0)
    for command in (support.CONTENDER, support.GNU):
        result = support.run(command, ["-C", "secret"], tmp_path, unprivileged=True)
        assert support.normalized(result.stderr) == b"sort: open failed: secret: Permission denied\n"
        assert result.status == 2
