"""--parallel-reads, --prefetch and the sample before a sort: whichever way the bytes come, the output is the same."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

PYSORT = [sys.executable, "-m", "pysort"]
MIB = 1 << 20
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """6 MB of lines; the last one has no end."""
    chance = random.Random(11)
    path = tmp_path_factory.mktemp("lines") / "lines"
    path.write_bytes(b"\n".join(b"%x" % chance.getrandbits(chance.randrange(8, 400)) for _ in range(120_000)))
    return path


@pytest.fixture(scope="module")
def expected(lines: Path) -> bytes:
    return subprocess.run(["sort", lines], capture_output=True, check=True, env=ENVIRONMENT).stdout


def run(*arguments: str | Path, stdin=None, cwd: Path | None = None) -> bytes:
    result = subprocess.run(
        [*PYSORT, *arguments], stdin=stdin, cwd=cwd, capture_output=True, check=False, env=ENVIRONMENT
    )
    assert (result.returncode, result.stderr) == (0, b"")
    return result.stdout


@pytest.mark.parametrize("threads_n", ["1", "2", "4", "9"])
@pytest.mark.parametrize("memory", ["1M", "64M"])
def test_any_number_of_threads_reads_the_same(lines: Path, expected: bytes, threads_n: str, memory: str) -> None:
    assert run(f"--parallel-reads={threads_n}", "-S", memory, lines) == expected


@pytest.mark.parametrize("threads_n", ["1", "4"])
def test_standard_input_is_read_from_where_it_stands_and_left_where_reading_ended(
    lines: Path, threads_n: str, tmp_path: Path
) -> None:
    content = lines.read_bytes()
    with lines.open("rb") as file:
        os.lseek(file.fileno(), 1_000_000, os.SEEK_SET)
        output = run(f"--parallel-reads={threads_n}", "-S", "64M", stdin=file)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len(content)
    rest = tmp_path / "rest"
    rest.write_bytes(content[1_000_000:])
    sorted_rest = subprocess.run(["sort", rest], capture_output=True, check=True, env=ENVIRONMENT).stdout
    assert output == sorted_rest


def test_standard_input_named_twice_is_read_once(lines: Path, expected: bytes) -> None:
    with lines.open("rb") as file:
        assert run("--parallel-reads=3", "-S", "64M", "-", "-", stdin=file) == expected


def test_a_pipe_a_file_of_unknown_size_and_an_empty_file_are_read_as_ever(expected: bytes, lines: Path) -> None:
    with subprocess.Popen(["cat", lines], stdout=subprocess.PIPE) as cat:
        assert run("--parallel-reads=3", "/dev/null", "-", stdin=cat.stdout) == expected
    if Path("/proc/cpuinfo").exists():
        run("--parallel-reads=3", "/proc/cpuinfo")


def test_a_directory_is_refused_as_ever(tmp_path: Path) -> None:
    result = subprocess.run(
        [*PYSORT, "--parallel-reads=3", "."], cwd=tmp_path, capture_output=True, check=False, env=ENVIRONMENT
    )
    assert (result.returncode, result.stderr) == (2, b"pysort: read failed: .: Is a directory\n")


def test_a_sort_with_every_kind_of_threads_imports_no_threading(lines: Path) -> None:
    script = """if True:
        import os, sys
        sys.path.insert(0, sys.argv[2])
        from pysort.cli import main
        options = b"-S 16M -o /dev/null --parallel=2 --parallel-reads=2".split()
        status = main([b"pysort", *options, os.fsencode(sys.argv[1])])
        assert "threading" not in sys.modules
        sys.exit(status)
    """
    package = Path(__file__).parent.parent
    subprocess.run([sys.executable, "-I", "-S", "-c", script, lines, package], check=True, env=ENVIRONMENT)


@pytest.mark.parametrize("prefetch", ["0", "1", "16", "100000"])
@pytest.mark.parametrize("options", [[], ["-r"], ["-k1.2n"], ["-u"], ["--reader=mmap"], ["--batch-size=3"]])
def test_prefetch_changes_no_byte(lines: Path, prefetch: str, options: list[str], tmp_path: Path) -> None:
    known = [option for option in options if option != "--reader=mmap"]
    expected = subprocess.run(["sort", *known, lines], capture_output=True, check=True, env=ENVIRONMENT).stdout
    output = run("-S", "300K", "-T", tmp_path, f"--prefetch={prefetch}", *options, lines)
    assert hashlib.sha256(output).digest() == hashlib.sha256(expected).digest()


def test_prefetch_shows_in_the_statistics(lines: Path, tmp_path: Path) -> None:
    def hints(*options: str) -> bytes:
        command = [*PYSORT, "-S", "1M", "-T", tmp_path, "--stats", "-o", "/dev/null", *options, lines]
        return subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT).stderr

    assert b"prefetch: " in hints("--prefetch=1")
    assert b"prefetch: " not in hints()  # a few MB stay in the page cache
    assert b"prefetch: " not in hints("--prefetch=0")
    assert b"prefetch: " not in hints("--prefetch=1", "--reader=direct")
