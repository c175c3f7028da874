"""--header, --header-prefix, --top, --count and --crlf, held to what the system's sort, head and uniq make together."""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import Text, Worker, ask_gnu, in_locale
from orders import LOCALES, orders, texts, ways

pytestmark = [
    support.needs_gnu,
    pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has none of this"),
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def lines_of(text: bytes, separator: bytes = b"\n") -> list[bytes]:
    """Its lines, each with its end."""
    lines = [line + separator for line in text.split(separator)]
    last = lines.pop()[: -len(separator)]
    return [*lines, last + separator] if last else lines


def pysort(cwd: Path, *args: str, data: bytes = b"", status: int = 0) -> bytes:
    result = support.run(support.CONTENDER, args, cwd, data=data)
    assert (result.status, result.stderr) == (status, b"")
    return result.stdout


# --top ----------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    data=st.data(),
    order=orders,
    zero=st.sampled_from([[], [], [b"-z"]]),
    locale=st.sampled_from(LOCALES),
    top=st.integers(0, 40) | st.integers(0, 1000),
    way=ways,
    pipe=st.booleans(),
)
def test_top_is_what_head_would_leave(
    worker: Worker,
    data: st.DataObject,
    order: list[bytes],
    zero: list[bytes],
    locale: str,
    top: int,
    way: list[bytes],
    pipe: bool,
) -> None:
    separator = b"\0" if zero else b"\n"
    text = data.draw(texts(separator))
    env = in_locale(locale)
    sorted_lines = lines_of(ask_gnu([*order, *zero], stdin=text, env=env).stdout, separator)
    ours = worker.run([*way, *order, *zero, b"--top=%d" % top], stdin=text, pipe=pipe, env=env)
    assert (ours.status, ours.stdout, ours.stderr) == (0, b"".join(sorted_lines[:top]), b"")


@settings(max_examples=30)
@given(texts=st.lists(texts(b"\n"), min_size=1, max_size=5), order=orders, top=st.integers(0, 30), way=ways)
def test_top_of_a_merge(worker: Worker, texts: list[Text], order: list[bytes], top: int, way: list[bytes]) -> None:
    files = {b"f%d" % i: ask_gnu(order, stdin=text).stdout for i, text in enumerate(texts)}
    merged = lines_of(ask_gnu([b"-m", *order, *files], files).stdout)
    ours = worker.run([*way, b"-m", *order, b"--top=%d" % top, *files], files)
    assert (ours.status, ours.stdout, ours.stderr) == (0, b"".join(merged[:top]), b"")


def numbers(n: int, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    return b"".join(b"%d %d\n" % (rng.randrange(n), i) for i in range(n))


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_few_lines_of_many_buffers_take_no_temporary_file(worker: Worker, threads: str) -> None:
    text = numbers(150_000)
    argv = [b"-S8M" if threads == "2" else b"-S1M", b"--parallel=" + threads.encode(), b"-n", b"-s"]
    ours = worker.run([*argv, b"--top=1000"], stdin=text, pipe=True)
    assert ours.stdout == b"".join(lines_of(ask_gnu([b"-n", b"-s"], stdin=text).stdout)[:1000])
    assert (ours.stats["runs_n"], ours.stats["spilled_bytes"]) == (1, 0)


def test_runs_hold_no_more_lines_than_are_wanted(worker: Worker) -> None:
    text = numbers(100_000)
    ours = worker.run([b"-S256K", b"-n", b"--top=1500"], stdin=text, pipe=True)
    assert ours.stdout == b"".join(lines_of(ask_gnu([b"-n"], stdin=text).stdout)[:1500])
    assert ours.stats["runs_n"] > 4
    assert ours.stats["spilled_bytes"] < len(text)


# --count --------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    data=st.data(),
    order=orders.filter(lambda order: b"-u" not in order),
    zero=st.sampled_from([[], [], [b"-z"]]),
    locale=st.sampled_from(LOCALES),
    way=ways,
)
def test_lines_are_counted_as_uniq_counts_them(
    worker: Worker, data: st.DataObject, order: list[bytes], zero: list[bytes], locale: str, way: list[bytes]
) -> None:
    separator = b"\0" if zero else b"\n"
    text = data.draw(texts(separator))
    env = in_locale(locale)
    gnus = lines_of(ask_gnu([*order, *zero], stdin=text, env=env).stdout, separator)
    counted = [b"%7d %b" % (len(list(group)), line) for line, group in itertools.groupby(gnus)]
    ours = worker.run([*way, *order, *zero, b"--count"], stdin=text, env=env)
    assert (ours.status, ours.stdout, ours.stderr) == (0, b"".join(counted), b"")


def test_the_same_bytes_as_uniq(tmp_path: Path) -> None:
    rng = random.Random(3)
    lines = [b"%d" % rng.randrange(10**6) for _ in range(50_000)] + [b"", b"x" * 500_000, b"x" * 500_001] * 3
    text = b"\n".join(lines + rng.choices(lines[:-6], k=5000) + lines[-6:])
    (tmp_path / "f").write_bytes(text)
    expected = support.shell('"$@" f | uniq -c', tmp_path, support.GNU).stdout
    assert pysort(tmp_path, "--count", "f") == expected
    assert pysort(tmp_path, "--count", "-S", "64K", "f") == expected


GROUPS: dict[str, Callable[[bytes], object]] = {
    "-n": lambda line: int(line.split()[0]),
    "-k1,1": lambda line: line.split()[0],
    "-f": bytes.upper,
    "-k2,2r": lambda line: line.split()[1],
}


@pytest.mark.parametrize("memory", ["1K", "1M"])
@pytest.mark.parametrize("order", GROUPS)
def test_with_u_the_lines_of_each_key_are_counted(tmp_path: Path, order: str, memory: str) -> None:
    rng = random.Random(4)
    lines = [b"%d %b\n" % (rng.randrange(40), rng.choice([b"a", b"A", b"b"])) for _ in range(3000)]
    sizes = Counter(map(GROUPS[order], lines))
    kept = lines_of(ask_gnu([b"-u", order.encode()], stdin=b"".join(lines)).stdout)
    expected = b"".join(b"%7d %b" % (sizes[GROUPS[order](line)], line) for line in kept)
    assert pysort(tmp_path, "--count", "-u", order, "-S", memory, data=b"".join(lines)) == expected


SPILLED: dict[str, list[bytes]] = {
    "lines": [],
    "lines, backwards": [b"-r"],
    "numbers": [b"-n"],
    "two keys": [b"-k2,2n", b"-k1,1r"],
    "stable": [b"-s", b"-k2,2"],
    "NUL": [b"-z", b"-s", b"-f"],
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("merge", [[], [b"-m"]], ids=["sort", "merge"])
@pytest.mark.parametrize("words", SPILLED.values(), ids=SPILLED.keys())
def test_runs_and_passes_change_no_count(worker: Worker, words: list[bytes], merge: list[bytes], threads: int) -> None:
    rng = random.Random(5)
    pool = [b"%b %d" % (rng.choice([b"a", b"A", b"b"]), rng.randrange(30)) for _ in range(70)]
    ends = b"\0" if b"-z" in words else b"\n"
    files = {b"f%d" % i: ends.join(rng.choices(pool, k=4000)) + ends for i in range(10)}
    if merge:
        files = {name: ask_gnu([*words], stdin=text).stdout for name, text in files.items()}
    gnus = lines_of(ask_gnu([*merge, *words, *files], files).stdout, ends)
    expected = b"".join(b"%7d %b" % (len(list(group)), line) for line, group in itertools.groupby(gnus))
    way = [b"-S24K", b"--batch-size=3", b"--parallel=%d" % threads]
    ours = worker.run([*way, *merge, *words, b"--count", *files], files)
    assert (ours.status, ours.stdout) == (0, expected)
    assert ours.stats["merge_passes_n"] >= 3


@pytest.mark.parametrize("words", [[], [b"-u"], [b"-n"], [b"-u", b"-n"]], ids=str)
def test_temporary_files_hold_each_line_once_in_every_run(worker: Worker, words: list[bytes]) -> None:
    rng = random.Random(6)
    pool = [b"%d %b\n" % (i, b"x" * 60) for i in range(100)]
    text = b"".join(rng.choices(pool, k=30_000))
    ours = worker.run([b"-S64K", b"--batch-size=4", *words, b"--count"], stdin=text, pipe=True)
    sizes = Counter(lines_of(text))
    assert dict(reversed(line[:-1].split(None, 1)) for line in lines_of(ours.stdout)) == {
        line[:-1]: b"%d" % n for line, n in sizes.items()
    }
    runs_n = ours.stats["runs_n"] + ours.stats["merges_n"] - 1
    assert ours.stats["runs_n"] > 20
    assert ours.stats["spilled_bytes"] <= runs_n * sum(len(line) + 3 for line in pool)
    assert ours.stats["temporary_bytes_peak"] < len(text) / 3


def test_what_is_merged_unsorted_is_counted_where_it_is_equal(tmp_path: Path) -> None:
    assert pysort(tmp_path, "-m", "--count", data=b"b\nb\na\nb\n") == b"      2 b\n      1 a\n      1 b\n"
    assert pysort(tmp_path, "-m", "-n", "-u", "--count", data=b"2\n02\n1\n") == b"      2 2\n      1 1\n"


# --header -------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    data=st.data(),
    order=orders,
    zero=st.sampled_from([[], [], [b"-z"]]),
    header=st.sampled_from([0, 1, 1, 2, 5, 50]),
    way=ways,
    pipe=st.booleans(),
)
def test_the_header_comes_first_and_the_rest_is_sorted(
    worker: Worker,
    data: st.DataObject,
    order: list[bytes],
    zero: list[bytes],
    header: int,
    way: list[bytes],
    pipe: bool,
) -> None:
    separator = b"\0" if zero else b"\n"
    lines = lines_of(data.draw(texts(separator)), separator)
    expected = b"".join(lines[:header]) + ask_gnu([*order, *zero], stdin=b"".join(lines[header:])).stdout
    argv = [*way, *order, *zero, b"--header" if header == 1 else b"--header=%d" % header]
    text = Text(b"".join(lines)[: -1 if data.draw(st.booleans()) else None])
    if lines and lines[-1] == separator:
        text = Text(b"".join(lines))
    ours = worker.run(argv, stdin=text, pipe=pipe)
    assert (ours.status, ours.stdout, ours.stderr) == (0, expected, b"")


@settings(max_examples=30)
@given(
    texts=st.lists(texts(b"\n"), min_size=2, max_size=5),
    order=orders,
    merge=st.sampled_from([[], [b"-m"]]),
    output=st.sampled_from([None, 0, 1]),
    way=ways,
)
def test_every_input_has_the_header(
    worker: Worker, texts: list[Text], order: list[bytes], merge: list[bytes], output: int | None, way: list[bytes]
) -> None:
    bodies = {b"f%d" % i: ask_gnu(order, stdin=text).stdout for i, text in enumerate(texts)}
    files = {name: b"the header\n" + body for name, body in bodies.items()}
    words = [*merge, *order]
    expected = b"the header\n" + ask_gnu([*words, *bodies], bodies).stdout
    to = [] if output is None else [b"-o", b"f%d" % output]
    ours = worker.run([*way, *words, b"--header", *to, *files], files)
    assert (ours.status, ours.stderr) == (0, b"")
    assert (ours.stdout if output is None else ours.files[f"f{output}"]) == expected


@pytest.mark.parametrize("merge", [[], ["-m"], ["-m", "-o", "g"]], ids=str)
def test_another_header_is_a_warning(tmp_path: Path, merge: list[str]) -> None:
    (tmp_path / "f").write_bytes(b"id,n\n3,x\n")
    (tmp_path / "g").write_bytes(b"id,m\n1,y\n")
    (tmp_path / "empty").write_bytes(b"")
    result = support.run(support.CONTENDER, [*merge, "--header", "f", "g", "empty"], tmp_path)
    assert (result.status, support.normalized(result.stderr)) == (
        0,
        b"sort: g: the header is not that of the first input\n",
    )
    assert ((tmp_path / "g").read_bytes() if "-o" in merge else result.stdout) == b"id,n\n1,y\n3,x\n"


def test_lines_that_begin_with_the_prefix(tmp_path: Path) -> None:
    head = b"".join(b"##contig=%d\n" % i for i in range(100_000, 0, -1))
    body = b"chr10\t1\nchr2\t7\n#not a header\n"
    text = head + b"#CHROM\tPOS\n" + body
    expected = head + b"#CHROM\tPOS\n" + ask_gnu([b"-k1,1V"], stdin=body).stdout
    assert pysort(tmp_path, "--header-prefix=#", "-k1,1V", data=text) == expected
    assert pysort(tmp_path, "--header-prefix=##", "--header=0", data=text) == head + b"".join(
        sorted(lines_of(b"#CHROM\tPOS\n" + body))
    )
    assert pysort(tmp_path, "--header-prefix=#", "--header=2", data=b"z\ny\n#\nb\na\n") == b"z\ny\n#\na\nb\n"
    assert pysort(tmp_path, "--header-prefix=##", data=b"##b\n#") == b"##b\n#\n"
    assert pysort(tmp_path, "--header-prefix=##", data=b"##b") == b"##b\n"


def test_a_check_does_not_look_at_the_header(tmp_path: Path) -> None:
    assert pysort(tmp_path, "-c", "--header", data=b"z\na\nb\n") == b""
    result = support.run(support.CONTENDER, ["-c", "--header=2"], tmp_path, data=b"z\ny\nb\na\n")
    assert (result.status, support.normalized(result.stderr)) == (1, b"sort: -:4: disorder: a\n")


def test_the_header_is_neither_counted_nor_among_the_first(tmp_path: Path) -> None:
    assert pysort(tmp_path, "--header", "--count", data=b"h\nb\nh\nb\n") == b"h\n      2 b\n      1 h\n"
    assert pysort(tmp_path, "--header", "--top=1", data=b"h\nb\na\n") == b"h\na\n"


def test_the_output_keeps_its_content_until_the_first_line_is_ready(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"h\n" + numbers(20_000))
    (tmp_path / "bad").mkdir()
    old = (tmp_path / "f").read_bytes()
    result = support.run(support.CONTENDER, ["--header", "-S16K", "-o", "f", "f", "bad"], tmp_path)
    assert (result.status, (tmp_path / "f").read_bytes()) == (2, old)


# --crlf ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(data=st.data(), order=orders, zero=st.sampled_from([[], [], [b"-z"]]), way=ways, pipe=st.booleans())
def test_a_carriage_return_before_the_end_of_a_line_is_left_out(
    worker: Worker, data: st.DataObject, order: list[bytes], zero: list[bytes], way: list[bytes], pipe: bool
) -> None:
    separator = b"\0" if zero else b"\n"
    plain = lines_of(data.draw(texts(separator)), separator)
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    kept = [line[:-1] + b"\r" * rng.choice([0, 0, 1]) for line in plain]  # one that is followed by another
    text = separator.join(line + b"\r" * (1 if line.endswith(b"\r") else rng.randrange(2)) for line in kept)
    if text and not text.endswith(b"\r"):
        text += rng.choice([b"\r", b"\r" + separator, separator])
    elif kept:
        text += rng.choice([b"", separator])
    expected = ask_gnu([*order, *zero], stdin=b"".join(line + separator for line in kept)).stdout
    if not kept:
        expected = b""
    ours = worker.run([*way, *order, *zero, b"--crlf"], stdin=text, pipe=pipe)
    assert (ours.status, ours.stdout, ours.stderr) == (0, expected, b"")


def test_carriage_returns_at_the_ends_of_reads(tmp_path: Path) -> None:
    """A pipe brings whatever was written at once."""
    code = "import os, time\nfor byte in b'b\\r\\n\\ra\\r\\r\\n\\r': os.write(1, bytes([byte])); time.sleep(0.01)"
    (tmp_path / "slow.py").write_text(code)
    script = f'{os.environ.get("PYTHON", "python3")} slow.py | "$@" --crlf'
    assert support.shell(script, tmp_path, support.CONTENDER).stdout == b"\n\ra\r\nb\n"


def test_the_header_loses_it_too(tmp_path: Path) -> None:
    assert pysort(tmp_path, "--crlf", "--header", data=b"h\r\nb\r\na\r\n") == b"h\na\nb\n"


# What does not go together --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-c", "--top=1"], "options '-c --top' are incompatible"),
        (["-C", "--count"], "options '-C --count' are incompatible"),
        (["--top=1", "--count"], "options '--top --count' are incompatible"),
        (["--debug", "--count"], "options '--debug --count' are incompatible"),
        (["--header-prefix="], "empty header prefix"),
        (["--top=x"], "invalid --top argument 'x'"),
        (["--header=1x"], "invalid suffix in --header argument '1x'"),
    ],
    ids=str,
)
def test_what_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    result = support.run(support.CONTENDER, words, tmp_path)
    assert (result.status, support.normalized(result.stderr)) == (2, f"sort: {message}\n".encode())
