"""-S is a promise: what the process touches at its peak stays within it, beside the interpreter itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import support

MIB = 1 << 20
BUFFER_MIB = 8
INPUT_BYTES = 24 * MIB
SHORT_INPUT_BYTES = 5 * MIB  # of lines that take more room for their records; enough for workers to take part
# The peak of the resident set of this very program, not of the one that started it: ru_maxrss would count that too.
MEASURED = """
import os, sys
from pysort.cli import main
status = main([b"pysort", *map(os.fsencode, sys.argv[1:])])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(status, peak)
"""


def peak_bytes(*arguments: str, cwd: Path, piped: Path | None = None) -> int:
    """piped: what comes through a pipe."""
    words = [sys.executable, "-c", MEASURED, *arguments]
    if piped is not None:
        words = ["sh", "-c", 'cat "$0" | "$@"', str(piped), *words]
    result = subprocess.run(words, cwd=cwd, capture_output=True, check=True, text=True)
    assert result.stderr == ""
    status, peak_kib = result.stdout.split()
    assert status == "0"
    return int(peak_kib) * 1024


@pytest.fixture(scope="module")
def interpreter_bytes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a sort of nothing takes."""
    return peak_bytes("-o", "out", "/dev/null", cwd=tmp_path_factory.mktemp("nothing"))


@pytest.fixture(scope="module")
def lines_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Makes a file of lines that are all so long."""
    directory = tmp_path_factory.mktemp("inputs")
    digits = "".join(str(i * i * 7919) for i in range(300_000)).encode()

    def make(line_bytes: int) -> Path:
        path = directory / f"{line_bytes}"
        if not path.exists():
            lines = [digits[at : at + line_bytes - 1][::-1] + b"\n" for at in range(0, 1000, max(line_bytes, 16))]
            text = b"".join(lines)
            size = SHORT_INPUT_BYTES if line_bytes < 16 else INPUT_BYTES
            path.write_bytes(text * (size // len(text)))
        return path

    return make


WAYS: dict[str, list[str]] = {
    "plain": [],
    "keyed": ["-k1.2n", "-k1,1"],
    "mapped": ["--reader=mmap", "--input-reader=mmap", "--mmap-flags=populate"],
    "direct": ["--reader=direct", "--input-reader=direct"],
    "unique": ["-u", "--batch-size=2"],
    "one thread": ["--parallel=1"],
    "ahead": ["--prefetch=16", "--run-fadvise=willneed-chunked"],
    "parallel reads": ["--parallel-reads=3"],
    "piped": [],
    **{f"compressed by {param.values[0]}": [f"--compress={param.values[0]}"] for param in support.METHODS},
}
LENGTHS = [1, 2, 60, 5000, 300_000, 1_000_000]


@pytest.mark.parametrize(
    ("way", "line_bytes"),
    [
        *((way, n) for way in ("plain", "keyed", "one thread") for n in LENGTHS),
        *(
            (way, n)
            for way in ("mapped", "direct", "unique", "ahead", "parallel reads", "piped")
            for n in (1, 60, 300_000)
        ),
        *(
            pytest.param(f"compressed by {param.values[0]}", n, marks=param.marks)
            for param in support.METHODS
            for n in (1, 60, 300_000)
        ),
    ],
)
def test_the_peak_stays_within_the_buffer_that_was_granted(
    tmp_path: Path, interpreter_bytes: int, lines_of: Callable[[int], Path], way: str, line_bytes: int
) -> None:
    source = lines_of(line_bytes)
    piped = source if way == "piped" else None
    operands = ["-" if piped else str(source)]
    peak = peak_bytes("-S", f"{BUFFER_MIB}M", "-T", ".", *WAYS[way], "-o", "out", *operands, cwd=tmp_path, piped=piped)
    assert peak <= interpreter_bytes + BUFFER_MIB * MIB + 2 * MIB  # lists of runs and their checksums, ctypes
    assert peak > BUFFER_MIB * MIB // 4  # it was worth measuring
    size = (tmp_path / "out").stat().st_size
    assert size == source.stat().st_size or (way == "unique" and size)


def test_what_waits_for_the_next_run_is_not_in_memory_twice(tmp_path: Path, interpreter_bytes: int) -> None:
    """A large first buffer of short lines is full with megabytes of text that has no room for its records."""
    (tmp_path / "in").write_bytes(b"".join(b"%d\n" % (i * i % 10) for i in range(1000)) * 6000)
    peak = peak_bytes("-S64M", "-T.", "--parallel=2", "-o", "out", "in", cwd=tmp_path)
    assert peak <= interpreter_bytes + 66 * MIB


def test_a_line_longer_than_the_buffer_takes_what_it_needs_and_no_more(tmp_path: Path, interpreter_bytes: int) -> None:
    long = 40 * MIB
    with (tmp_path / "in").open("wb") as file:
        file.write(b"y" * long + b"\nb\na\n" + b"x" * long + b"\n")
    peak = peak_bytes("-S", "1M", "-T", ".", "-o", "out", "in", cwd=tmp_path)
    # Two such lines under merge: a window of each, doubled until half of it holds the line.
    assert peak <= interpreter_bytes + 6 * long
    with (tmp_path / "out").open("rb") as file:
        assert file.readline() == b"a\n"
        assert file.readline() == b"b\n"
        assert file.readline() == b"x" * long + b"\n"
        assert file.readline() == b"y" * long + b"\n"
        assert file.read() == b""


@pytest.mark.parametrize("limit_mib", [150, 200, 300])
@pytest.mark.parametrize("options", [[], ["-S1M"], ["-k2"], ["-m"], ["--input-reader=mmap"]], ids=str)
def test_a_line_longer_than_the_address_space_is_a_clear_error(
    tmp_path: Path, options: list[str], limit_mib: int
) -> None:
    with (tmp_path / "in").open("wb") as file:
        file.write(b"b\na\n")
        file.truncate(400 * MIB)  # a line of NULs
    (tmp_path / "out").write_bytes(b"precious\n")
    limits = {"AS": limit_mib * MIB}
    result = support.run(support.CONTENDER, [*options, "-T.", "-oout", "in"], tmp_path, limits=limits)
    assert result == (2, b"", b"pysort: memory exhausted\n")
    assert (tmp_path / "out").read_bytes() == b"precious\n"
