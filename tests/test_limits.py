"""Limits of the process, and disks that are full: GNU sort's words and status, and nothing left.

Where GNU sort cannot go on and pysort can (a limit on the size of a file, which ends in another temporary file), the
output is right.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from test_cli_errors import Twins

LINES = [b"%06d\n" % (i * 7919 % 30_000) for i in range(30_000)]
TEXT = b"".join(LINES)
SORTED = b"".join(sorted(LINES))
SPILL = ["-S64K", "-Ttmp"]
OLD = b"precious\n"
NAMED = "import os, sys; del os.O_TMPFILE; from pysort.cli import main; sys.exit(main())"


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    twins = Twins(tmp_path)
    for directory in (twins.ours, twins.gnus):
        (directory / "in").write_bytes(TEXT)
    return twins


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "in").write_bytes(TEXT)
    (tmp_path / "out").write_bytes(OLD)
    return tmp_path


def nothing_is_left(cwd: Path) -> None:
    assert sorted(os.listdir(cwd)) == ["in", "out", "tmp"]
    assert os.listdir(cwd / "tmp") == []


# The size of a file -----------------------------------------------------------------------------------------------


@support.needs_gnu
@pytest.mark.parametrize("limit", [0, 1, 4096, 100_000, len(TEXT) - 1, len(TEXT)])
@pytest.mark.parametrize("args", [["-o", "keep"], ["-u", "-o", "keep"], ["-o", "new"]], ids=" ".join)
def test_an_output_that_may_not_grow(args: list[str], limit: int, twins: Twins) -> None:
    """Death by the signal that says so, when the file has got all that it may have."""
    result = twins.compare([*args, "in"], limits={"FSIZE": limit, "CORE": 0})
    assert result.status == (0 if limit == len(TEXT) else -signal.SIGXFSZ)


@support.needs_gnu
def test_a_standard_output_that_may_not_grow(twins: Twins) -> None:
    twins.compare_scripts('ulimit -c 0; ulimit -f 100; ("$@" in; exit $?) > out 2> /dev/null')
    assert (twins.ours / "out").read_bytes() == SORTED[: 100 << 10]


@pytest.mark.parametrize("limit", [100_000, 1 << 20])
def test_temporary_files_that_may_not_grow_are_several(limit: int, cwd: Path) -> None:
    result = support.run(support.CONTENDER, [*SPILL, "in"], cwd, limits={"FSIZE": limit, "CORE": 0})
    assert result == (0, SORTED, b"")
    nothing_is_left(cwd)


def test_temporary_files_that_may_not_have_a_byte(cwd: Path) -> None:
    result = support.run(support.CONTENDER, [*SPILL, "-oout", "in"], cwd, limits={"FSIZE": 0, "CORE": 0})
    assert (result.status, result.stdout) == (2, b"")
    assert result.stderr == b"pysort: write failed: tmp: File too large (run 0, offset 0)\n"
    assert (cwd / "out").read_bytes() == OLD
    nothing_is_left(cwd)


def test_more_temporary_files_than_descriptors(cwd: Path) -> None:
    limits = {"FSIZE": 4096, "NOFILE": 20, "CORE": 0}
    result = support.run(support.CONTENDER, [*SPILL, "-oout", "in"], cwd, limits=limits)
    assert result == (2, b"", b"pysort: cannot create temporary file in 'tmp': Too many open files\n")
    assert (cwd / "out").read_bytes() == OLD
    nothing_is_left(cwd)


@pytest.mark.parametrize("command", [support.CONTENDER, [sys.executable, "-c", NAMED]], ids=["unnamed", "named"])
@pytest.mark.parametrize("args", [[], SPILL], ids=["in memory", "spilling"])
def test_atomic_and_a_file_that_may_not_grow(args: list[str], command: list[str], cwd: Path) -> None:
    limits = {"FSIZE": 100_000, "CORE": 0}
    result = support.run(command, [*args, "--atomic", "-oout", "in"], cwd, limits=limits)
    assert result == (-signal.SIGXFSZ, b"", b"")
    assert (cwd / "out").read_bytes() == OLD
    nothing_is_left(cwd)


def test_the_python_interface_raises_instead(cwd: Path) -> None:
    script = """if True:
        import errno, pysort, resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            pysort.sort_file("in", "out", memory="64K", temporary_directories=["tmp"])
        except pysort.SortError as error:
            assert (error.errno, error.filename) == (errno.EFBIG, b"out")
            print(error)
    """
    result = support.run([sys.executable, "-c", script], [], cwd)
    assert result == (0, b"write failed: out: File too large\nwrite error\n", b"")
    assert SORTED.startswith((cwd / "out").read_bytes())
    nothing_is_left(cwd)


# Descriptors ------------------------------------------------------------------------------------------------------

JOBS = [
    ["in"],
    [*SPILL, "--batch-size=2", "in"],
    [*SPILL, "-o", "keep", "in", "in"],
    [*SPILL, "-Td", "-o", "keep", "in"],
    ["-m", "-u", *["f"] * 12],
    ["-m", "-u", *SPILL, "-o", "keep", *["keep"] * 12],
]


@support.needs_gnu
@pytest.mark.parametrize("args", JOBS, ids=" ".join)
def test_as_few_descriptors_as_gnu_sort_works_with(args: list[str], twins: Twins) -> None:
    """From the least with which it brings its output; with 3 or 4 no interpreter starts."""
    worked = False
    for limit in (5, 6, 7, 11):
        (twins.ours / "keep").write_bytes(b"a\nc\n")
        (twins.gnus / "keep").write_bytes(b"a\nc\n")
        gnus = support.run(support.GNU, args, twins.gnus, limits={"NOFILE": limit})
        ours = support.run(support.CONTENDER, args, twins.ours, limits={"NOFILE": limit})
        assert os.listdir(twins.ours / "tmp") == []
        if gnus.status == 0:
            worked = True
            assert ours == gnus, limit
            assert (twins.ours / "keep").read_bytes() == (twins.gnus / "keep").read_bytes()
    assert worked


# Address space ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [[], SPILL, ["-S1G", "-k1.1n"]], ids=" ".join)
def test_little_address_space(args: list[str], cwd: Path) -> None:
    """The right output, or a message; below what an interpreter needs to start there is nothing of ours."""
    statuses = set()
    for limit_mib in (60, 150, 800):
        (cwd / "out").write_bytes(OLD)
        limits = {"AS": limit_mib << 20}
        if support.run([sys.executable, "-c", "import pysort.cli"], [], cwd, limits=limits).status:
            continue
        result = support.run(support.CONTENDER, [*args, "-oout", "in"], cwd, limits=limits)
        statuses.add(result.status)
        if result.status == 0:
            assert result.stderr == b""
            assert (cwd / "out").read_bytes() == SORTED
        else:
            assert result == (2, b"", b"pysort: memory exhausted\n"), limit_mib
            assert (cwd / "out").read_bytes() == OLD
        nothing_is_left(cwd)
    assert 0 in statuses


@support.needs_gnu
@pytest.mark.parametrize("limit", ["AS", "DATA"])
@pytest.mark.parametrize("size", ["-S2G", "-S90%", "-S1T"])
def test_more_memory_asked_for_than_a_limit_allows(size: str, limit: str, twins: Twins) -> None:
    """Of a pipe nobody knows how little it will bring."""
    limits = {limit: 500 << 20}
    assert twins.compare([size, "-T", "tmp"], data=TEXT, limits=limits) == (0, SORTED, b"")


# Disks that are full ----------------------------------------------------------------------------------------------


@pytest.fixture
def full(twins: Twins) -> Iterator[Twins]:
    """Two directories `small` with room for 64 KiB."""
    with (
        support.small_filesystem(twins.ours / "small", "64k"),
        support.small_filesystem(twins.gnus / "small", "64k"),
    ):
        for directory in (twins.ours, twins.gnus):
            (directory / "small" / "out").write_bytes(OLD)
        yield twins


@support.needs_gnu
@pytest.mark.parametrize("args", [[], SPILL, ["-u"], ["-r", *SPILL]], ids=" ".join)
@pytest.mark.parametrize("output", ["-o small/out", "> small/out", "| cat > small/out"])
def test_an_output_on_a_full_disk(args: list[str], output: str, full: Twins) -> None:
    full.compare_scripts(f'"$@" {" ".join(args)} in {output}')
    written = (full.ours / "small/out").read_bytes()
    assert len(written) == 64 << 10
    assert (SORTED if "-r" not in args else b"".join(sorted(LINES, reverse=True))).startswith(written)
    assert os.listdir(full.ours / "small") == ["out"]


@support.needs_gnu
def test_an_output_that_has_room_once_its_old_content_is_gone(full: Twins) -> None:
    for directory in (full.ours, full.gnus):
        (directory / "small/out").write_bytes(b"x" * (60 << 10))
        (directory / "in").write_bytes(TEXT[: 8000 * 7])
    assert full.compare(["-o", "small/out", "in"]) == (0, b"", b"")


@support.needs_gnu
@pytest.mark.parametrize("args", [["-S64K"], ["-S64K", "-u"], ["-S64K", "-m", "small/out"]], ids=" ".join)
@pytest.mark.parametrize("output", ["small/out", "keep"])
def test_temporary_files_on_a_full_disk_and_the_output_too(args: list[str], output: str, full: Twins) -> None:
    """The old content stays, and it is clear which of the two was the one that had no room."""
    argv = [*args, "-T", "small", "-o", output, "in"]
    if "-m" in args:
        argv = ["-m", "-S64K", "-T", "small", "-o", "in", "in", "small/out"]  # the output, an input, is copied first
    ours = support.run(support.CONTENDER, argv, full.ours)
    gnus = support.run(support.GNU, argv, full.gnus)
    assert ours.status == gnus.status == 2
    assert ours.stderr.startswith(b"pysort: write failed: small: No space left on device (run ")
    assert ours.stderr.endswith(b" free in small\n")
    for name in ("small/out", "keep", "in"):
        assert (full.ours / name).read_bytes() == (full.gnus / name).read_bytes()
    assert (full.ours / "small/out").read_bytes() == OLD
    assert os.listdir(full.ours / "small") == ["out"]


@pytest.mark.parametrize("args", [[], SPILL, ["-S64K", "-T", "small"]], ids=" ".join)
def test_atomic_on_a_full_disk(args: list[str], full: Twins) -> None:
    result = support.run(support.CONTENDER, [*args, "--atomic", "-o", "small/out", "in"], full.ours)
    assert (result.status, result.stdout) == (2, b"")
    assert b"No space left on device" in result.stderr
    assert (full.ours / "small/out").read_bytes() == OLD
    assert os.listdir(full.ours / "small") == ["out"]


# Control groups ---------------------------------------------------------------------------------------------------

GROUP_BYTES = 64 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A directory with a file of twice the memory, and the digest of its lines in order."""
    cwd = tmp_path_factory.mktemp("large")
    lines = [b"%07d%s\n" % (i * 7919 % 800_000, b"x" * 150) for i in range(800_000)]
    (cwd / "in").write_bytes(b"".join(lines))
    lines.sort()
    return cwd, hashlib.sha256(b"".join(lines)).hexdigest()


@pytest.mark.parametrize(
    "args",
    [[], ["-S50%", "--parallel=1"], ["--reader=direct", "--input-reader=direct"], ["-k1,1", "--prefetch=16"]],
    ids=" ".join,
)
def test_a_control_group_that_is_smaller_than_the_input(args: list[str], large: tuple[Path, str]) -> None:
    """Nobody is killed, though spilled runs and output are pages of the group until they are on the disk."""
    cwd, expected = large
    with support.memory_group(GROUP_BYTES) as command:
        plan = json.loads(support.run([*command, *support.CONTENDER], ["--plan=json", *args, "in"], cwd).stdout)
        assert plan["memory_bytes"] < GROUP_BYTES
        assert plan["runs"] > 1
        result = support.run([*command, *support.CONTENDER], [*args, "-T.", "-oout", "in"], cwd)
    assert result == (0, b"", b"")
    with (cwd / "out").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == expected
    assert sorted(os.listdir(cwd)) == ["in", "out"]


@pytest.mark.parametrize("args", [["-S1M"], ["-k2"], ["-m"]], ids=" ".join)
def test_a_line_longer_than_the_control_group_is_a_clear_error(args: list[str], cwd: Path) -> None:
    """Who just went on would be killed."""
    with (cwd / "in").open("wb") as file:
        file.write(b"a\nb\n")
        file.truncate(200 << 20)  # a line of NULs
    with support.memory_group(GROUP_BYTES) as command:
        result = support.run([*command, *support.CONTENDER], [*args, "-Ttmp", "-oout", "in"], cwd)
    assert (result.status, result.stdout) == (2, b"")
    assert re.fullmatch(rb"pysort: memory exhausted: a line needs more than \d+ bytes\n", result.stderr), result.stderr
    assert (cwd / "out").read_bytes() == OLD
    nothing_is_left(cwd)


@pytest.mark.parametrize("args", [["-S1M", "-u"], ["-S32M", "-k1,1"]], ids=" ".join)
def test_lines_that_are_long_and_fit_the_control_group(args: list[str], cwd: Path) -> None:
    lines = [letter * (4 << 20) + b"\n" for letter in (b"c", b"a", b"d", b"b")]
    (cwd / "in").write_bytes(b"".join(lines))
    with support.memory_group(GROUP_BYTES) as command:
        result = support.run([*command, *support.CONTENDER], [*args, "-Ttmp", "-oout", "in"], cwd)
    assert result == (0, b"", b"")
    assert (cwd / "out").read_bytes() == b"".join(sorted(lines))
    nothing_is_left(cwd)
