"""-Z: compressed inputs give what decompressing them first would."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import support

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="GNU sort has no -Z")

TEXT = b"".join(b"%d word\n" % (i * 7919 % 1_000_003) for i in range(20_000)) + b"x" * 3_000_000 + b"\nlast"


def with_package(name: str, function: str) -> Callable[[bytes], bytes]:
    def compress(data: bytes) -> bytes:
        made: bytes = getattr(pytest.importorskip(name), function)(data)
        return made

    return compress


FORMATS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": with_package("zstandard", "compress"),
    "lz4": with_package("lz4.frame", "compress"),
}
formats = pytest.mark.parametrize("compress", FORMATS.values(), ids=FORMATS)


def sort_z(cwd: Path, *args: str, data: bytes = b"") -> support.Result:
    return support.run(support.CONTENDER, ["-Z", *args], cwd, data=data)


@formats
@pytest.mark.parametrize("options", [[], ["-S", "64K"], ["--input-reader=mmap"], ["-m"]], ids=str)
def test_what_was_compressed_is_sorted(tmp_path: Path, compress: Callable[[bytes], bytes], options: list[str]) -> None:
    text = b"\n".join(sorted(TEXT.split(b"\n"))) if options == ["-m"] else TEXT
    (tmp_path / "packed").write_bytes(compress(text))
    (tmp_path / "plain").write_bytes(b"0\n5\n")
    expected = b"\n".join(sorted([*TEXT.split(b"\n"), b"0", b"5"])) + b"\n"
    assert sort_z(tmp_path, *options, "packed", "plain") == (0, expected, b"")


@formats
def test_several_streams_and_none(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    assert sort_z(tmp_path, data=compress(b"b\n") + compress(b"") + compress(b"a")).stdout == b"a\nb\n"
    assert sort_z(tmp_path, data=compress(b"")) == (0, b"", b"")
    assert sort_z(tmp_path, "-c", data=compress(b"b\na\n")).status == 1


@formats
def test_a_damaged_input_is_named(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    packed = compress(b"%d\n" * 1000 % tuple(range(1000)))
    (tmp_path / "short").write_bytes(packed[:-5])
    result = sort_z(tmp_path, "short")
    assert (result.status, result.stdout) == (2, b"")
    assert support.normalized(result.stderr) == b"sort: cannot decompress short: it ends too early\n"
    middle = len(packed) // 2
    (tmp_path / "bad").write_bytes(packed[:middle] + bytes(byte ^ 255 for byte in packed[middle:]))
    result = sort_z(tmp_path, "bad")
    assert (result.status, result.stdout) == (2, b"")
    assert support.normalized(result.stderr).startswith(b"sort: cannot decompress bad: ")


def test_zeros_behind_a_stream_are_filling(tmp_path: Path) -> None:
    assert sort_z(tmp_path, data=gzip.compress(b"b\na\n") + bytes(70_000)).stdout == b"a\nb\n"


def test_what_is_not_compressed_is_sorted_as_it_is(tmp_path: Path) -> None:
    for text in (b"", b"\x1f", b"BZ", b"b\na\n", b"\x04\x22\n"):
        expected = b"".join(sorted(line + b"\n" for line in text.splitlines()))
        assert sort_z(tmp_path, data=text) == (0, expected, b"")


def test_a_small_file_may_hold_much(tmp_path: Path) -> None:
    """100 MB of one line in 400 KB, of which one MiB is there at a time."""
    (tmp_path / "packed").write_bytes(gzip.compress(b"line\n" * 20_000_000, 1))
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    argv = [*support.CONTENDER, "-Z", "-u", "-S", "4M", "-o", "out", "packed"]
    done = subprocess.run([sys.executable, "-c", code, *argv], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "out").read_bytes() == b"line\n"
    assert int(done.stdout) < 40_000  # KiB


@pytest.mark.parametrize(("name", "magic"), [("zstandard", b"\x28\xb5\x2f\xfd"), ("lz4", b"\x04\x22\x4d\x18")])
def test_a_package_that_is_missing_is_named(tmp_path: Path, name: str, magic: bytes) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise ImportError")
    result = support.run(support.CONTENDER, ["-Z"], tmp_path, data=magic + b"rest", env={"PYTHONPATH": str(tmp_path)})
    assert (result.status, support.normalized(result.stderr)) == (
        2,
        f"sort: cannot decompress -: the Python package {name} is needed to decompress it\n".encode(),
    )
