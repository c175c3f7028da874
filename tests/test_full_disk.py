"""A disk that is full: a real file system, which gives out blocks late and takes them back later still."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import support

MIB = 1 << 20
DISK_BYTES = 8 * MIB  # some of which the file system has for itself
OLD = b"precious\n"


@contextlib.contextmanager
def empty_disk(path: Path, size_bytes: int) -> Iterator[Path]:
    with support.small_disk(path, size_bytes):
        (path / "lost+found").rmdir()
        yield path


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with empty_disk(tmp_path / "disk", DISK_BYTES) as path:
        yield path


def lines(size_bytes: int) -> list[bytes]:
    chance = random.Random(1)
    return [b"%099d\n" % chance.randrange(10**9) for _ in range(size_bytes // 100)]


def test_temporary_files_that_do_not_fit(disk: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(lines(DISK_BYTES)))
    (disk / "out").write_bytes(OLD)
    result = support.run(support.CONTENDER, ["-S1M", "-Tdisk", "-odisk/out", "in"], tmp_path)
    assert (result.status, result.stdout) == (2, b"")
    assert re.fullmatch(
        rb"pysort: write failed: disk: No space left on device \(run \d+, offset \d+\)\n"
        rb"pysort: temporary space: up to \d+ bytes needed, \d+ written, \d+ free in disk\n",
        result.stderr,
    ), result.stderr
    assert os.listdir(disk) == ["out"]
    assert (disk / "out").read_bytes() == OLD


@pytest.mark.parametrize("args", [[], ["-S1M", "-T."]], ids=["in memory", "spilling"])
def test_an_output_that_does_not_fit(args: list[str], disk: Path, tmp_path: Path) -> None:
    expected = lines(DISK_BYTES)
    (tmp_path / "in").write_bytes(b"".join(expected))
    result = support.run(support.CONTENDER, [*args, "-odisk/out", "in"], tmp_path)
    assert result == (2, b"", b"pysort: write failed: disk/out: No space left on device\npysort: write error\n")
    written = (disk / "out").read_bytes()
    assert len(written) > DISK_BYTES // 2
    assert b"".join(sorted(expected)).startswith(written)
    (disk / "out").write_bytes(OLD)
    result = support.run(support.CONTENDER, [*args, "--atomic", "-odisk/out", "in"], tmp_path)
    assert result.status == 2
    assert b"No space left on device" in result.stderr
    assert (disk / "out").read_bytes() == OLD
    assert os.listdir(disk) == ["out"]


def test_space_that_merge_passes_give_back_is_used_again(tmp_path: Path) -> None:
    """Three times as much is written to it as there is, and it holds less than twice that: as the plan says."""
    given = lines(16 * MIB)
    (tmp_path / "in").write_bytes(b"".join(given))
    args = ["-S1M", "--batch-size=3", "-Tdisk", "-oout", "in"]
    with empty_disk(tmp_path / "disk", 32 * MIB) as disk:
        plan = json.loads(support.run(support.CONTENDER, ["--plan=json", *args], tmp_path).stdout)
        assert (plan["merge_passes"], plan["enough_space"]) == (3, True)
        result = support.run(support.CONTENDER, ["--stats=json", *args], tmp_path)
        assert result.status == 0, result.stderr
        assert os.listdir(disk) == []
    held_bytes = json.loads(result.stderr)["temporary_peak_bytes"]
    assert len(b"".join(given)) < held_bytes <= plan["temporary_bytes"]
    assert (tmp_path / "out").read_bytes() == b"".join(sorted(given))
