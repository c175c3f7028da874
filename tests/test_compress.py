"""--compress: the bytes of a sort without it, in less temporary space."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jobs
import pytest
import support
from support import CONTENDER, METHODS, run

import pysort

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no such option")

READERS = ("pread", "mmap", "direct")
CHANCE = random.Random(8)
# A log, some lines twice, and some that nothing makes smaller.
LINES = [b"10.0.%d.7 GET /page/%d 200 %d\n" % (i % 7, CHANCE.randrange(300), i % 50) for i in range(20_000)]
LINES += [CHANCE.randbytes(90).translate(None, b"\n") + b"\n" for _ in range(1000)]
CHANCE.shuffle(LINES)
TEXT = b"".join(LINES)


@pytest.fixture(scope="module")
def worker() -> Iterator[jobs.Worker]:
    made = jobs.Worker()
    yield made
    made.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "in").write_bytes(TEXT)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def stats_of(cwd: Path, *args: str) -> dict[str, Any]:
    result = run(CONTENDER, ["--stats=json", "-Ttmp", "-oout", *args, "in"], cwd)
    assert result.status == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stderr)
    return found


@support.needs_gnu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("reader", READERS)
def test_the_output_is_gnus(method: str, reader: str, worker: jobs.Worker) -> None:
    files = {b"in": b"".join(LINES[:6000])}
    argv = [b"-S32K", b"-Ttmp", b"--batch-size=3", b"in"]
    for keys in ([], [b"-u"], [b"-s", b"-k2,2"]):
        ours = worker.run([f"--compress={method}".encode(), f"--reader={reader}".encode(), *keys, *argv], files)
        assert ours.stats["merge_passes_n"] > 1
        gnus = jobs.ask_gnu([*keys, *argv], files)
        assert (ours.status, ours.stdout, ours.stderr) == (gnus.status, gnus.stdout, gnus.stderr)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", ["100K", "8M"])
def test_less_temporary_space_for_the_same_output(method: str, size: str, directory: Path) -> None:
    (directory / "in").write_bytes(TEXT * (1 if size == "100K" else 20))
    plain = stats_of(directory, "-S", size, "--parallel=2")
    output = (directory / "out").read_bytes()
    packed = stats_of(directory, "-S", size, "--parallel=2", f"--compress={method}")
    assert (directory / "out").read_bytes() == output
    assert plain["runs_generated"] > 1
    assert packed["temporary_peak_bytes"] < 0.7 * plain["temporary_peak_bytes"]
    runs = packed["runs"]
    assert runs["write_bytes"] == runs["read_bytes"] < 0.7 * runs["line_bytes"]
    assert runs["line_bytes"] >= len(output)
    assert plain["runs"]["line_bytes"] == plain["runs"]["write_bytes"]


@pytest.mark.parametrize("method", METHODS)
def test_the_report_shows_both_and_the_plan_an_upper_bound(method: str, directory: Path) -> None:
    args = ["-S128K", "-Ttmp", f"--compress={method}", "in"]
    result = run(CONTENDER, ["--stats", "-oout", *args], directory)
    rows = {line[:20].strip(): line[20:].split() for line in result.stderr.decode().splitlines()}
    assert int(rows["before compression"][1]) >= len(TEXT) > int(rows["bytes written"][1])
    plan = json.loads(run(CONTENDER, ["--plan=json", *args], directory).stdout)
    assert plan["compression"] == method
    assert plan["temporary_bytes"] >= len(TEXT) > stats_of(directory, *args[:-1])["temporary_peak_bytes"]
    assert b"before compression" not in run(CONTENDER, ["--stats", "-S128K", "-oout", "in"], directory).stderr


@pytest.mark.parametrize("method", METHODS)
def test_what_does_not_become_smaller_takes_no_more_space(method: str, directory: Path) -> None:
    noise = b"".join(random.Random(i).randbytes(60).translate(None, b"\n") + b"\n" for i in range(20_000))
    (directory / "in").write_bytes(noise)
    found = stats_of(directory, "-S300K", f"--compress={method}")
    assert found["merge_passes"] == 1
    assert found["temporary_peak_bytes"] <= len(noise)


def test_zlib_takes_no_package_and_few_descriptors(directory: Path) -> None:
    for reader in READERS:
        args = ["-S200K", "-Ttmp", "--compress=zlib", f"--reader={reader}", "in"]
        result = run(CONTENDER, args, directory, limits={"NOFILE": 7})
        assert (result.status, result.stderr) == (0, b"")
        assert result.stdout == b"".join(sorted(LINES))


def test_a_full_disk_is_told_and_another_one_takes_the_rest(directory: Path) -> None:
    args = ["-S128K", "-Tfull", "--compress=zlib", "in"]
    with support.small_filesystem(directory / "full", "64k"):
        result = run(CONTENDER, args, directory)
        assert result.status == 2
        assert b"write failed: full: No space left on device (run " in result.stderr
        assert run(CONTENDER, ["-Ttmp", *args], directory) == (0, b"".join(sorted(LINES)), b"")


@pytest.mark.parametrize("method", ["zstd", "lz4"])
@pytest.mark.parametrize("args", [[], ["-o", "out"], ["--plan"], ["-m"]], ids=" ".join)
def test_a_package_that_is_missing_is_named_before_anything_is_read(
    method: str, args: list[str], directory: Path
) -> None:
    package = "zstandard" if method == "zstd" else method
    for name in ("compression", package):
        (directory / name).mkdir()
        (directory / name / "__init__.py").write_text("raise ImportError")
    result = run(CONTENDER, [f"--compress={method}", *args, "in"], directory, env={"PYTHONPATH": os.fspath(directory)})
    words = f"option '--compress={method}' needs the Python package {package}: pip install 'pysort[{method}]'"
    assert (result.status, result.stdout) == (2, b"")
    assert support.normalized(result.stderr) == f"sort: {words}\n".encode()
    assert not (directory / "out").exists()


def test_not_twice(directory: Path) -> None:
    result = run(CONTENDER, ["--compress=zlib", "--compress-program=gzip", "in"], directory)
    assert result.status == 2
    assert support.normalized(result.stderr) == b"sort: options '--compress --compress-program' are incompatible\n"
    assert run(CONTENDER, ["--compress=none", "--compress-program=gzip", "in"], directory).status == 0


def test_other_words_name_a_program_as_gnu_sort_has_it(directory: Path) -> None:
    for option in (["--compress=missing"], ["--compress", "missing"]):
        result = run(CONTENDER, ["-S128K", *option, "in"], directory)
        assert (result.status, result.stdout) == (0, b"".join(sorted(LINES)))
        assert support.normalized(result.stderr) == (
            b"sort: could not run compress program 'missing': No such file or directory\n"
        )


def test_from_python(directory: Path) -> None:
    made = directory / "out"
    for method in ("none", "zlib"):
        pysort.sort_file(directory / "in", made, compress=method, memory="128K", temporary_directories=[directory])
        assert made.read_bytes() == b"".join(sorted(LINES))
    lines = pysort.sort_lines(LINES, compress="zlib", memory="128K", temporary_directories=[directory])
    assert list(lines) == sorted(LINES)
    with pytest.raises(ValueError, match="none, zlib, zstd, lz4"):
        pysort.sort_file(directory / "in", made, compress="gzip")
