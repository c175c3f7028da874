"""progress=: what a function is told, when, by which thread, and what happens when it raises."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pysort
from pysort import gauge

LINES = [b"%070d\n" % (i * 7919 % 100_003) for i in range(100_003)]
Call = tuple[str, int, int | None]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every time that it could be called, the function is."""
    monkeypatch.setattr(gauge, "INTERVAL_SECONDS", -1.0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    directory = tmp_path_factory.mktemp("progress")
    for i in range(2):
        (directory / f"f{i}").write_bytes(b"".join(LINES[i::2]))
        (directory / f"s{i}").write_bytes(b"".join(sorted(LINES[i::2])))
    return [directory / "f0", directory / "f1", directory / "s0", directory / "s1"]


class Listener:
    """A progress function. fails: whether the call raises, of its number, its phase, and whether all is done."""

    def __init__(self, fails: Callable[[int, str, bool], bool] = lambda *_: False) -> None:
        self.calls: list[Call] = []
        self.threads: set[int] = set()
        self.fails = fails

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if self.fails(len(self.calls), phase, done == total):
            raise InterruptedError("enough")
        self.calls.append((phase, done, total))
        self.threads.add(threading.get_ident())

    def phases(self) -> list[str]:
        return [phase for i, (phase, *_) in enumerate(self.calls) if not i or self.calls[i - 1][0] != phase]

    def check(self) -> None:
        assert self.threads == {threading.get_ident()}
        done = [n for _, n, _ in self.calls]
        assert done == sorted(done)
        assert all(total is None or n <= total for _, n, total in self.calls)
        assert self.calls[-1][1] == self.calls[-1][2]


def generated() -> Iterator[bytes]:
    yield from LINES


Job = Callable[[list[Path], Path, Any], object]
JOBS: dict[str, tuple[Job, list[str]]] = {
    "file in memory": (
        lambda files, out, progress: pysort.sort_file(files[:2], out, memory="64M", threads=2, progress=progress),
        ["reading", "writing"],
    ),
    "file that spills": (
        lambda files, out, progress: pysort.sort_file(files[:2], out, memory="1M", progress=progress),
        ["reading", "making runs", "merging"],
    ),
    "with threads": (
        lambda files, out, progress: pysort.sort_file(files[0], out, memory="8M", threads=3, progress=progress),
        ["reading", "writing"],
    ),
    "merge": (lambda files, out, progress: pysort.merge(files[2:], out, progress=progress), ["merging"]),
    "lines in memory": (
        lambda files, out, progress: out.write_bytes(b"".join(pysort.sort_lines(generated(), progress=progress))),
        ["reading", "writing"],
    ),
    "lines that spill": (
        lambda files, out, progress: out.write_bytes(
            b"".join(pysort.sort_lines(generated(), memory="8M", threads=3, progress=progress))
        ),
        ["reading", "making runs", "merging"],
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_the_function_is_told_how_far_it_is(files: list[Path], tmp_path: Path, name: str) -> None:
    job, phases = JOBS[name]
    listener = Listener()
    job(files, tmp_path / "out", listener)
    text = (tmp_path / "out").read_bytes()
    assert text == b"".join(sorted(text.splitlines(keepends=True)))
    listener.check()
    told = listener.phases()
    assert [phase for phase in told if phase in phases] == phases
    assert len(listener.calls) > 5
    size = 2 * len(text) if "merge" not in name else len(text)
    assert size <= listener.calls[-1][1] <= 2.2 * size + 1000


def test_lines_have_a_total_when_they_have_been_read() -> None:
    listener = Listener()
    with pysort.sort_lines(generated(), memory="1M", progress=listener) as lines:
        assert {total for _, _, total in listener.calls} == {None}
        next(lines)
        before = len(listener.calls)
        assert sum(1 for _ in lines) == len(LINES) - 1
        assert len({total for _, _, total in listener.calls[before:]}) == 1
    listener.check()


def test_calls_are_seldom(files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauge, "INTERVAL_SECONDS", 3600.0)
    listener = Listener()
    pysort.sort_file(files[:2], tmp_path / "out", memory="1M", progress=listener)
    assert len(listener.calls) == 2  # the first, and when all is done


MOMENTS: dict[str, Callable[[int, str, bool], bool]] = {
    "first": lambda n, phase, is_done: n == 0,
    "fourth": lambda n, phase, is_done: n == 3,
    "output": lambda n, phase, is_done: phase in ("writing", "merging"),
    "end": lambda n, phase, is_done: is_done,
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_what_it_raises_ends_the_job(files: list[Path], tmp_path: Path, name: str, moment: str) -> None:
    job, _ = JOBS[name]
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    with pytest.raises(InterruptedError, match="enough"):
        job(files, tmp_path / "out", Listener(MOMENTS[moment]))
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before


def test_an_output_keeps_its_content_until_lines_are_ready(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(InterruptedError):
        pysort.sort_file(files[0], tmp_path / "out", progress=Listener(lambda n, *_: n == 1))
    assert (tmp_path / "out").read_bytes() == b"old"


@given(st.lists(st.text("ab", max_size=3), max_size=5), st.booleans())
def test_few_lines_end_at_all_bytes(lines: list[str], unique: bool) -> None:
    listener = Listener()
    assert list(pysort.sort_lines(lines, unique=unique, progress=listener)) == sorted(set(lines) if unique else lines)
    listener.check()
