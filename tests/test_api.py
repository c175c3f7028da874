"""The Python API: what the command line writes, and nothing done to the process that calls it."""

from __future__ import annotations

import contextlib
import doctest
import errno
import gzip
import io
import locale
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import support
import typed_use
from jobs import ask_gnu

import pysort
from pysort import api

LINES = [b"%d\t%d word\n" % (random.Random(i).randrange(500), i % 7) for i in range(5000)]
TEXT = b"".join(LINES)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    return path


def test_the_examples() -> None:
    assert doctest.testmod(api) == (0, doctest.testmod(api).attempted)
    assert doctest.testmod(api).attempted > 10


def test_the_readme_s_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    code = text.partition("<!-- python example -->\n```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    Path("big.tsv").write_bytes(b"name\tn\nb\t1\na\t2\nc\t2\n")
    Path("a.log.gz").write_bytes(gzip.compress(b"3\n1\n"))
    Path("b.log").write_bytes(b"2\n")
    Path("big.json").write_text('{"age": 30.5}\n{"age": 4}\n{"age": 30}')
    for name, day in (("mon", b"a\nd\n"), ("tue", b"b\n"), ("wed", b"c\n")):
        Path(name).write_bytes(day)
    found: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, found)
    assert Path("sorted.tsv").read_bytes() == b"name\tn\na\t2\nc\t2\nb\t1\n"
    assert Path("top").read_bytes() == b"3\n2\n1\n"
    assert printed.getvalue().endswith('\n{"age": 4}\n{"age": 30}{"age": 30.5}\n')
    assert Path("by-age").read_text() == '{"age": 4}\n{"age": 30}\n{"age": 30.5}\n'
    assert found["tally"] == {"a": 1, "b": 2}
    assert Path("week").read_bytes() == b"a\nb\nc\nd\n"
    assert found["first"] is None


def test_the_code_that_mypy_reads(tmp_path: Path) -> None:
    typed_use.use(tmp_path)


@support.needs_gnu
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"reverse": True, "memory": 16384}, ["-r"]),
        ({"numeric": True, "stable": True, "memory": "16K", "threads": 2}, ["-n", "-s"]),
        ({"key": "2,2n", "unique": True}, ["-k2,2n", "-u"]),
        ({"key": ["2,2nr", "1,1"], "field_separator": "\t"}, ["-k2,2nr", "-k1,1", "-t\t"]),
        ({"zero_terminated": True, "ignore_case": True}, ["-z", "-f"]),
        ({"version": True, "dictionary_order": False}, ["-V"]),
    ],
    ids=str,
)
def test_settings_mean_what_the_options_mean(
    text: Path, tmp_path: Path, settings: dict[str, Any], words: list[str]
) -> None:
    pysort.sort_file(text, tmp_path / "out", **settings)
    argv = [word.encode() for word in words]
    expected = ask_gnu(argv, stdin=TEXT).stdout
    assert (tmp_path / "out").read_bytes() == expected
    assert pysort.check(tmp_path / "out", **settings) is None
    pysort.sort_file([tmp_path / "out", os.fsencode(text)], text, **settings)  # in place
    assert text.read_bytes() == ask_gnu([*argv, b"-"], stdin=expected + TEXT).stdout


def test_what_goes_beyond_the_system_s_sort(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(gzip.compress(b"#head\r\nb\r\na\r\nb\r\n"))
    pysort.sort_file(
        tmp_path / "in", tmp_path / "out", decompress=True, crlf=True, header_prefix="#", header=1, count=True
    )
    assert (tmp_path / "out").read_bytes() == b"#head\n      1 a\n      2 b\n"
    pysort.sort_file(tmp_path / "out", tmp_path / "out", top=1)
    assert (tmp_path / "out").read_bytes() == b"      1 a\n"
    pysort.sort_file(tmp_path / "out", tmp_path / "out", top=0)
    assert (tmp_path / "out").read_bytes() == b""


def test_merging_and_warnings(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"h\n1\n10\n")
    (tmp_path / "g").write_bytes(b"H\n2\n")
    warnings: list[pysort.SortError] = []
    pysort.merge([tmp_path / "f", str(tmp_path / "g")], tmp_path / "f", numeric=True, header=1, warn=warnings.append)
    assert (tmp_path / "f").read_bytes() == b"h\n1\n2\n10\n"
    assert [str(warning) for warning in warnings] == [f"{tmp_path}/g: the header is not that of the first input"]


def test_the_line_that_is_out_of_order(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"2\n10\n10\n9\n")
    assert pysort.check(tmp_path / "f", numeric=True) == 4
    assert pysort.check(tmp_path / "f", numeric=True, unique=True) == 3
    assert pysort.check(tmp_path / "f") == 2
    assert pysort.check(tmp_path / "f", header=1) is None
    assert pysort.check(tmp_path / "f", header=2, numeric=True) == 4
    with pytest.raises(ValueError, match="incompatible"):
        pysort.check(tmp_path / "f", top=1)


@pytest.mark.skipif(not support.has_locale("en_US.UTF-8"), reason="no locale en_US.UTF-8")
def test_the_locale_is_a_setting_and_not_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"a\nB\n")
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    before = locale.setlocale(locale.LC_ALL)
    pysort.sort_file(tmp_path / "f", tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"B\na\n"
    pysort.sort_file(tmp_path / "f", tmp_path / "out", locale="en_US.UTF-8")
    assert (tmp_path / "out").read_bytes() == b"a\nB\n"
    assert locale.setlocale(locale.LC_ALL) == before


def test_errors_have_errno_and_filename(tmp_path: Path, text: Path) -> None:
    with pytest.raises(pysort.SortError) as caught:
        pysort.sort_file(tmp_path / "missing", tmp_path / "out")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, os.fsencode(tmp_path / "missing"))
    with pytest.raises(pysort.SortError) as caught:
        pysort.sort_file(text, tmp_path / "no" / "out")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, os.fsencode(tmp_path / "no" / "out"))
    with pytest.raises(pysort.SortError) as caught:
        pysort.sort_file(text, tmp_path / "out", memory="8K", temporary_directories=[tmp_path / "no"])
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, os.fsencode(tmp_path / "no"))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"keys": "1"}, TypeError),
        ({"numeric": True, "version": True}, ValueError),
        ({"locale": "xx_XX"}, ValueError),
        ({"top": -1}, ValueError),
        ({"count": True, "top": 1}, ValueError),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(text: Path, settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        pysort.sort_file(text, text, **settings)
    assert text.read_bytes() == TEXT
    with pytest.raises(ValueError, match="no input"):
        pysort.sort_file([], text)


def test_a_file_may_be_named_like_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_bytes(b"b\na\n")
    pysort.sort_file("-", "-")
    assert Path("-").read_bytes() == b"a\nb\n"


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in signal.valid_signals()]


def test_the_process_is_left_as_it_was(text: Path, tmp_path: Path) -> None:
    before = handlers(), len(os.listdir("/dev/fd")), threading.active_count(), dict(os.environ), os.umask(0o22)
    for _ in range(3):
        pysort.sort_file(text, tmp_path / "out", memory="64K", threads=4)
        with pytest.raises(pysort.SortError):
            pysort.sort_file([text, tmp_path], tmp_path / "out", memory="64K")
    after = handlers(), len(os.listdir("/dev/fd")), threading.active_count(), dict(os.environ), os.umask(before[4])
    assert (*after[:4], before[4]) == before


def test_several_threads_and_a_child(text: Path, tmp_path: Path) -> None:
    expected = b"".join(sorted(LINES))
    jobs = [
        threading.Thread(
            target=pysort.sort_file, args=(text, tmp_path / f"out{i}"), kwargs={"memory": "64K", "threads": i % 3 + 1}
        )
        for i in range(6)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert all((tmp_path / f"out{i}").read_bytes() == expected for i in range(6))
    pid = os.fork()
    if not pid:
        try:
            pysort.sort_file(text, tmp_path / "child", memory="64K", threads=2)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (tmp_path / "child").read_bytes() == expected


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_memory_is_bounded(tmp_path: Path) -> None:
    """16 MB in 2 MB."""
    with (tmp_path / "big").open("wb") as file:
        for i in range(64):
            file.write(b"".join(b"%d %059d\n" % ((i * j) % 1009, j) for j in range(4_000)))
    code = (
        "import sys, pysort; pysort.sort_file(sys.argv[1], sys.argv[2], memory='2M', key='2,2r');"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "big"), str(tmp_path / "out")]
    done = subprocess.run(argv, capture_output=True, check=True)
    assert (tmp_path / "out").stat().st_size == (tmp_path / "big").stat().st_size
    assert int(done.stdout) < 40_000  # KiB; the interpreter takes some 20,000
    assert pysort.check(tmp_path / "out", key="2,2r") is None


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys, pysort; print([name for name in sys.modules if name.startswith('pysort.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"
    with pytest.raises(AttributeError):
        pysort.nothing  # type: ignore[attr-defined] # noqa: B018


def test_only_an_output_with_content_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a file has been cut, ext4 writes all of it to the disk before close() returns."""
    cut, ftruncate = [], os.ftruncate
    monkeypatch.setattr(os, "ftruncate", lambda fd, size: (cut.append(size), ftruncate(fd, size)))
    (tmp_path / "in").write_bytes(b"b\na\n")
    for output in ("new", "empty", "old"):
        if output != "new":
            (tmp_path / output).write_bytes(b"longer than that\n" * (output == "old"))
        pysort.sort_file(tmp_path / "in", tmp_path / output)
        assert (tmp_path / output).read_bytes() == b"a\nb\n"
        assert cut == [0] * (output == "old")
