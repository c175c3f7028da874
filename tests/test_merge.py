"""-m: what the system's sort makes of the same inputs, however few may be open or in memory at once."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import Text, Worker, ask_gnu, in_locale
from orders import LOCALES, orders, texts, ways
from test_cli_errors import Twins

from pysort.inputrun import InputRun
from pysort.plan import SortPlan
from pysort.stats import SortStats
from pysort.storage.access import Access
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input

pytestmark = [
    support.needs_gnu,
    pytest.mark.skipif(support.testing_gnu_itself(), reason="the jobs use pysort's own options"),
]
GNU_FAN_IN = 16


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    return Twins(tmp_path)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def shared_out(text: bytes, separator: bytes, file_n: int, rng: random.Random) -> list[bytes]:
    """The lines in file_n files, in their order in each; some lack the last separator."""
    files: list[list[bytes]] = [[] for _ in range(file_n)]
    lines = text.split(separator)
    for line in lines if lines[-1] else lines[:-1]:
        rng.choice(files).append(line)
    return [separator.join(file) + separator * bool(file and (rng.random() < 0.7 or not file[-1])) for file in files]


@given(
    data=st.data(),
    order=orders,
    zero=st.sampled_from([[], [], [b"-z"]]),
    locale=st.sampled_from(LOCALES),
    file_n=st.sampled_from([1, 2, 3, 5, 8, 16, 17, 25, 40]),
    is_sorted=st.sampled_from([True, True, False]),
    has_stdin=st.booleans(),
    output=st.sampled_from([[], [], [b"-of1"], [b"-onew"]]),
    way=ways,
    descriptors=st.sampled_from([None, None, 8, 9]),
    pipe=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_the_same_bytes_as_gnu_sort(
    worker: Worker,
    data: st.DataObject,
    order: list[bytes],
    zero: list[bytes],
    locale: str,
    file_n: int,
    is_sorted: bool,
    has_stdin: bool,
    output: list[bytes],
    way: list[bytes],
    descriptors: int | None,
    pipe: bool,
    seed: int,
) -> None:
    """Inputs that are not sorted come out by turns of their heads, whose order depends on how many are merged at once:
    those are compared where a single merge takes all of them."""
    separator = b"\0" if zero else b"\n"
    env = in_locale(locale)
    text: bytes = data.draw(texts(separator))
    if is_sorted:
        in_order = [b"-s" if word == b"-u" else word for word in order]
        text = ask_gnu([*in_order, *zero], stdin=text, env=env).stdout
    else:
        file_n = min(file_n, GNU_FAN_IN)
        way, descriptors = [], None
    rng = random.Random(seed)
    files = {b"f%d" % i: Text(content) for i, content in enumerate(shared_out(text, separator, file_n, rng))}
    operands = [*([b"-"] if has_stdin else [b"f0"]), *list(files)[1:], *([b"-"] if has_stdin else [])]
    words = [b"-m", *order, *zero, *output, *operands]
    ours = worker.run([*way, *words], files, stdin=files[b"f0"], pipe=pipe, descriptors=descriptors, env=env)
    gnus = ask_gnu(words, files, stdin=files[b"f0"], env=env)
    assert support.normalized(ours.stderr) == support.normalized(gnus.stderr)
    assert ours[:2] == gnus[:2]
    assert ours.files == gnus.files


@settings(max_examples=50)
@given(
    file_n=st.integers(1, 40),
    fan_in=st.integers(2, 5),
    memory=st.sampled_from([b"-S1b", b"-S1K", b"-S16K"]),
    descriptors=st.sampled_from([8, 9, 20, None]),
    reader=st.sampled_from([[], [b"--reader=mmap"], [b"--input-reader=mmap"], [b"--reader=direct"]]),
    unique=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_equal_lines_keep_the_order_of_their_files(
    worker: Worker,
    file_n: int,
    fan_in: int,
    memory: bytes,
    descriptors: int | None,
    reader: list[bytes],
    unique: bool,
    seed: int,
) -> None:
    rng = random.Random(seed)
    texts = [sorted(rng.choices(b"abcdefgh", k=rng.randrange(60))) for _ in range(file_n)]
    files = {
        b"f%02d" % i: b"".join(b"%c %d %d\n" % (key, i, j) for j, key in enumerate(text))
        for i, text in enumerate(texts)
    }
    expected = sorted((line for text in files.values() for line in text.splitlines(True)), key=lambda line: line[0])
    if unique:
        expected = list({line[0]: line for line in reversed(expected)}.values())[::-1]
    words = [b"-m", b"-s", b"-k1,1", b"-Ttmp", memory, b"--batch-size=%d" % fan_in, *reader, *[b"-u"] * unique]
    answer = worker.run([*words, *files], files, descriptors=descriptors)
    assert answer[:3] == (0, b"".join(expected), b"")
    assert answer.stats["input_bytes"] == sum(map(len, files.values()))
    if file_n > fan_in:
        assert answer.stats["merge_passes_n"] >= 2
        assert answer.stats["merges_n"] >= (file_n - 1) / (fan_in - 1)
    if memory == b"-S16K" and not reader and file_n <= min(fan_in, (descriptors or 20) - 4):
        assert answer.stats["merge_passes_n"] == 1
        assert answer.stats["spilled_bytes"] == 0


@pytest.mark.parametrize("options", [[], ["-u"], ["-k1,1"], ["-f", "-u"], ["-r"]], ids=str)
@pytest.mark.parametrize("length", [1_000, 300_000])
def test_lines_longer_than_the_windows(twins: Twins, options: list[str], length: int) -> None:
    for directory in (twins.ours, twins.gnus):
        for name, letters in (("f", b"abab"), ("g", b"abb"), ("h", b"")):
            (directory / name).write_bytes(b"\n".join(bytes([letter]) * length + b"z" for letter in letters))
    twins.compare(["-m", "-S1b", *options, "f", "g", "h", "f"])


@pytest.mark.parametrize(
    "script",
    [
        '(ulimit -n 7; "$@" -m in* - < stdin)',
        '(ulimit -n 7; "$@" -mu -o in7 in* - in7 < stdin); cat in7',
        '(ulimit -n 6; "$@" -m in* - < stdin)',
        '(ulimit -n 7; "$@" -m in1 in2 in3)',
        '(ulimit -n 7; "$@" -m in1 in2 in3 -o new); cat new',
        '(ulimit -n 5; "$@" -m in1 in2)',
        'exec 3<&- 4<&- 5<&- 6<&- 7< f 8< f 9< f; (ulimit -n 10; "$@" -m in* - < stdin)',
        'exec 20< f 21< f 22< f; (ulimit -n 9; "$@" -m in* - < stdin)',
        '"$@" -m --batch-size=2 in* - < stdin',
        '"$@" -m --batch-size=2 <(cat in1) <(cat in2) <(cat in3) in4 <(cat in5)',
    ],
)
def test_few_descriptors(twins: Twins, script: str) -> None:
    twins.compare_scripts(f"for i in $(seq 31); do seq -w $i 13 999 > in$i; done; seq -w 7 11 999 > stdin; {script}")


@pytest.mark.parametrize(
    "script",
    [
        '"$@" -m f',
        '"$@" -m f g',
        '"$@" -m g f g',
        '"$@" -m',
        '"$@" -m < f',
        '"$@" -m - f - - < g',
        '"$@" -mu f f f',
        '"$@" -mr f g',
        '"$@" -m empty empty',
        '"$@" -m empty f empty',
        '"$@" -mz bytes f',
        '"$@" -m <&-',
        '"$@" -m f <&-',
        '"$@" -m f >&-',
        '"$@" -m empty >&-',
        '"$@" -m f > /dev/full',
        '"$@" -m d',
        '"$@" -m -o keep f missing',
        '"$@" -m -o new missing f',
        '"$@" -m -o new f g',
        '"$@" -m -o f f',
        '"$@" -m -o f f g f',
        '"$@" -mu -o f f g f --batch-size=2',
        '"$@" -m -o ./f f g',
        '"$@" -m -o f f - < f',
        '"$@" -m -o f - < f',
        '"$@" -m -o empty empty',
        'ln -s f link; "$@" -m -o link f g',
        'ln f link; "$@" -m -o link f g',
        '"$@" -m f g 1<> f',
        '"$@" -m f g >> f',
        '"$@" -m f - < g 1<> g',
        '"$@" -m f g >> keep',
        '"$@" -m -o /dev/stdout f | cat',
        '"$@" -m <(cat f) <(cat g)',
        'mkfifo p q; cat f > p & cat g > q & "$@" -m p q; wait',
        '{ read -r header; "$@" -m; } < f',
        '"$@" -m -T missing f g',
        '"$@" -m -T missing -o f f g',
        '"$@" -m -T missing --batch-size=2 f f f',
        '"$@" -m --parallel=4 f g',
        '"$@" -mnd f missing',
    ],
)
def test_a_shell_script_sees_no_difference(twins: Twins, script: str) -> None:
    twins.compare_scripts(script)


def test_an_output_is_kept_until_the_first_line_is_ready(twins: Twins) -> None:
    """GNU sort has emptied it by then."""
    result = support.run(support.CONTENDER, ["-m", "-o", "keep", "f", "d"], twins.ours)
    assert support.normalized(result.stderr) == b"sort: read failed: d: Is a directory\n"
    assert (twins.ours / "keep").read_bytes() == b"precious\n"


def test_inputs_that_are_not_sorted_lose_nothing_in_many_passes(worker: Worker) -> None:
    rng = random.Random(1)
    lines = [b"%d\n" % rng.randrange(1000) for _ in range(2000)]
    files = {b"f%d" % i: b"".join(lines[i::37]) for i in range(37)}
    answer = worker.run([b"-m", b"-S16K", b"--batch-size=3", b"-Ttmp", *files], files)
    assert sorted(answer.stdout.splitlines(keepends=True)) == sorted(lines)
    assert answer.stats["merge_passes_n"] == 4


def test_a_fifo_is_opened_once(tmp_path: Path) -> None:
    """Its writer is gone after the first reader: a second one would wait for ever."""
    names = [f"p{i}" for i in range(9)]
    for name in names:
        os.mkfifo(tmp_path / name)
    process = support.start(support.CONTENDER, ["-m", "--batch-size=2", *names], tmp_path, limits={"NOFILE": 7})
    writers = [threading.Thread(target=(tmp_path / name).write_bytes, args=(f"{name}\n".encode(),)) for name in names]
    for writer in writers:
        writer.start()
    assert support.finish(process, timeout_s=20) == (0, "".join(f"{name}\n" for name in names).encode(), b"")
    for writer in writers:
        writer.join()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_advice_comes_before_the_first_read_of_each_input(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"%c\n" % ord(name))
    command = ["strace", "-y", "-e", "trace=/fadvise|read", "-o", "log", *support.CONTENDER]
    result = support.run(command, ["-m", "--fadvise=random", "a", "b", "c"], tmp_path)
    assert result == (0, b"a\nb\nc\n", b"")
    calls = re.findall(r"^(\w+)\(\d+<\S+/([abc])>(.*)", (tmp_path / "log").read_text(), re.MULTILINE)
    for name in "abc":
        of_this = [(call, rest) for call, other, rest in calls if other == name]
        assert of_this[0][0] == "fadvise64"
        assert "POSIX_FADV_RANDOM" in of_this[0][1]
        assert [call for call, _ in of_this].count("fadvise64") == 1
        assert of_this[1:]


def test_the_end_of_an_input_is_looked_for_once(tmp_path: Path) -> None:
    """Who ends a terminal's input by a key does not want to do it again for each question."""
    path = tmp_path / "f"
    path.write_bytes(b"a\nb")
    stats, io = SortStats("c"), IoStats()
    run = InputRun(open_input(os.fsencode(path), Access(), io), io, ord("\n"), 64, stats)
    view = memoryview(bytearray(64))
    assert (run.readinto(view), run.remaining > 0) == (3, True)
    assert (run.readinto(view), view[0], run.remaining) == (1, ord("\n"), 0)
    with path.open("ab") as file:
        file.write(b"more")
    assert run.readinto(view) == 0
    run.close()
    assert (stats.input_bytes, stats.inputs.read_bytes) == (4, 3)


@pytest.mark.parametrize(
    ("descriptor_n", "batch_size", "expected"), [(None, None, 64), (5, None, 5), (5, 3, 3), (0, None, 2), (-3, 9, 2)]
)
def test_fan_in_of_inputs(descriptor_n: int | None, batch_size: int | None, expected: int) -> None:
    plan = SortPlan(1 << 20, batch_size=batch_size, descriptor_n=descriptor_n)
    assert plan.input_fan_in == min(expected, plan.fan_in)
    assert plan.input_fan_in <= plan.fan_in
