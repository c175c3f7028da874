"""A byte of a spilled run that changes on the disk is an error that names run and offset, never wrong output.

Every byte of a small run, one bit of it, under every reader, with threads and without, and under each compression: the
sort itself runs, and the bit is flipped between run generation and the merge.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import support

from pysort import plan, sorting
from pysort.cli import Messages, execute
from pysort.errors import SortError
from pysort.storage.spill import SpillSpace
from pysort.storage.spillfile import SpilledRun

GZIP = shutil.which("gzip")
READERS = ["pread", "mmap", "direct"]
TEXT = b"".join(b"%d line %d\n" % (i * 7919 % 1000, i) for i in range(150))


class Job:
    """One sort, spilling into `tmp`. flip: called with each run that has been written, before it is read."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: bytes = TEXT
    ) -> None:
        (directory / "tmp").mkdir()
        (directory / "in").write_bytes(text)
        self.expected = b"".join(sorted(text.splitlines(keepends=True)))
        self.out = directory / "out"
        self._arguments = [*arguments, "-S4K", f"-T{directory}/tmp", f"-o{self.out}", f"{directory}/in"]
        self.flip: Callable[[SpilledRun], None] = lambda run: None
        real = SpillSpace.open_run

        def open_run(space: SpillSpace, run: SpilledRun, readers_n: int = 1):  # type: ignore[no-untyped-def]
            self.flip(run)
            return real(space, run, readers_n)

        monkeypatch.setattr(SpillSpace, "open_run", open_run)

    def run(self) -> None:
        """Raises SortError."""
        execute(b"pysort", [os.fsencode(word) for word in self._arguments], Messages(b"pysort"))


@pytest.fixture(autouse=True)
def byte_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")


def use_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PARALLEL_INPUT_BYTES", 0)
    monkeypatch.setattr(plan, "PARALLEL_MEMORY_BYTES", 0)
    monkeypatch.setattr(sorting, "LEAST_LEAF_N", 5)


def block_offset(run: SpilledRun, at: int) -> int:
    """Where in the run the block begins that byte `at` of what is stored belongs to."""
    n = at // run.block_bytes if run.packing is None else sum(end <= at for end in run.packing.ends)
    return n * run.block_bytes


def sweep(job: Job, step: int) -> list[tuple[int, int, str]]:
    """Flip one bit of each stored byte of run 1 in turn, or of each step-th. Returns the byte, the offset of its block
    in the run, and the message, "" where the sort succeeded; output that is neither right nor the beginning of what is
    right fails here."""
    sizes: list[int] = []
    job.flip = lambda run: sizes.append(run.stored_bytes) if run.index == 1 else None
    job.run()
    expected = job.expected
    assert job.out.read_bytes() == expected
    found = []
    for at in range(0, sizes[0], step):
        left = [at]
        blocks: list[int] = []

        def flip(run: SpilledRun, left: list[int] = left, blocks: list[int] = blocks) -> None:
            if run.index == 1 and left:
                blocks.append(block_offset(run, left[0]))
                extent = run.extents[0]
                place = extent.offset + left[0]
                fd = extent.file.handle.fd
                os.pwrite(fd, bytes([os.pread(fd, 1, place)[0] ^ 1 << left.pop() % 8]), place)

        job.flip = flip
        try:
            job.run()
            assert job.out.read_bytes() == expected
            found.append((at, *blocks, ""))
        except SortError as error:
            assert expected.startswith(job.out.read_bytes()), at
            found.append((at, *blocks, str(error)))
        job.out.write_bytes(b"")
        assert not left
    return found


@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
@pytest.mark.parametrize("reader", READERS)
def test_every_byte_of_a_run(reader: str, threads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if threads:
        use_threads(monkeypatch)
    found = sweep(Job(tmp_path, monkeypatch, [f"--reader={reader}", "--parallel=2"]), 1)
    assert len(found) > 300
    for at, block, message in found:
        assert message == f"read failed: {tmp_path}/tmp: checksum mismatch (run 1, offset {block})", at


@pytest.mark.parametrize("method", support.METHODS)
def test_every_byte_of_a_packed_run(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under one of the readers each; tests/storage has all of them."""
    reader = {"zlib": "pread", "zstd": "mmap", "lz4": "direct"}[method]
    if reader != "mmap":
        use_threads(monkeypatch)
    text = TEXT.replace(b" line ", b" long line ")
    found = sweep(Job(tmp_path, monkeypatch, [f"--compress={method}", f"--reader={reader}", "--parallel=2"], text), 1)
    assert len(found) > 300
    for at, block, message in found:
        assert message == f"read failed: {tmp_path}/tmp: checksum mismatch (run 1, offset {block})", at


@pytest.mark.skipif(GZIP is None, reason="there is no gzip")
@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
def test_what_a_program_compressed(threads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program notices it, or the checksum does, or it does not matter: gzip skips a few bytes of its header."""
    if threads:
        use_threads(monkeypatch)
    found = sweep(Job(tmp_path, monkeypatch, [f"--compress-program={GZIP}", "--parallel=2"]), 5)
    harmless = [at for at, _, message in found if not message]
    assert all(at < 10 for at in harmless), harmless
    for at, _, message in found:
        assert at in harmless or re.search(r"\(run 1, offset \d+\)$|terminated abnormally$", message), (at, message)
