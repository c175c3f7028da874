"""Every system call of a job goes wrong once, at every place: the right bytes, or status 2 and the reason.

By default each call fails in one of the ways in which it can, another way at each place; PYSORT_FAULTS=all tries every
way at every place (several minutes).
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import support
from fault_worker import DEAD, KINDS, SHORT, ZERO

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to tell files apart")

OLD = b"precious\n"
GZIP = "/usr/bin/gzip"
LINES_N = {False: 560, True: 420}  # with threads the second and third run have half the memory each
JOBS: dict[str, list[str]] = {
    "plain": [],
    "keyed": ["-k2n", "-u", "--fadvise=dontneed,willneed-chunked", "--run-fadvise=dontneed"],
    "mmap": ["--reader=mmap", "--input-reader=mmap", "--mmap-flags=populate"],
    "direct": ["--reader=direct", "--input-reader=direct"],
    "parallel": ["--parallel-reads=3", "--run-fadvise=willneed"],
    "compressed": [f"--compress-program={GZIP}"],
    "packed": ["--compress=zlib", "-u"],
}


class Faults:
    """Runs one job again and again; see fault_worker.py."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        (cwd / "tmp").mkdir()
        worker = str(Path(__file__).parent / "fault_worker.py")
        self._process = subprocess.Popen(
            [sys.executable, worker], env=support.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(
        self, argv: Sequence[str], threads: bool, fault: Sequence[Any] | None = None, named: bool = False
    ) -> dict[str, Any]:
        (self.cwd / "out").write_bytes(OLD)
        request = {"argv": argv, "cwd": str(self.cwd), "threads": threads, "fault": fault, "named": named}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        reply["stderr"] = (self.cwd / ".stderr").read_bytes()
        reply["out"] = (self.cwd / "out").read_bytes()
        return reply

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    runner = Faults(tmp_path)
    yield runner
    runner.close()


def text(lines_n: int) -> bytes:
    chance = random.Random(lines_n)
    return b"".join(b"%d %d\n" % (chance.randrange(300), chance.randrange(lines_n)) for _ in range(lines_n))


def cases(calls: Sequence[Sequence[str]]) -> Iterator[tuple[int, str, bool]]:
    for n, (name, _) in enumerate(calls):
        kinds = list(KINDS[name])
        if os.environ.get("PYSORT_FAULTS") != "all":
            kinds = [kinds[n % len(kinds)]]
        for kind in kinds:
            yield n, kind, False
            if kind in (ZERO, "ENOSPC", "EIO"):
                yield n, kind, True


def judge(reply: dict[str, Any], kind: str, expected: bytes, cwd: Path) -> None:
    """What every job promises, whatever goes wrong."""
    stderr, out = reply["stderr"], reply["out"]
    assert b"internal error" not in stderr, stderr
    assert b"Traceback" not in stderr, stderr
    assert reply["status"] in (0, 2), f"status {reply['status']}, {stderr!r}"
    assert os.listdir(cwd / "tmp") == [], "tmp is not empty"
    assert sorted(os.listdir(cwd)) == [".stderr", ".stdout", "in", "out", "tmp"], os.listdir(cwd)
    assert reply["threads"] == 0, "a thread was left"
    assert reply["descriptors"] <= 0, "a descriptor was left open"  # fewer: standard input may be closed
    if reply["status"] == 0:
        assert out == expected, f"wrong output, {len(out)} bytes"
        assert stderr == b"" or stderr.startswith(b"pysort: could not run compress program")
        return
    assert stderr.startswith(b"pysort: ")
    if kind not in (SHORT, ZERO, DEAD):
        number = getattr(errno, kind)
        assert os.fsencode(os.strerror(number)) in stderr or b"memory exhausted" in stderr, stderr
    if ["ftruncate", "out"] in reply["calls"] and reply["hit"] != ["ftruncate", "out"]:
        assert expected.startswith(out), "wrong partial output"  # so far as it came
    else:
        assert out == OLD, "old output lost"


@pytest.mark.parametrize("threads", [False, True], ids=["alone", "threads"])
@pytest.mark.parametrize("name", JOBS)
def test_each_system_call_may_fail_at_each_place(name: str, threads: bool, faults: Faults) -> None:
    if name == "compressed" and not Path(GZIP).exists():
        pytest.skip("there is no gzip")
    (faults.cwd / "in").write_bytes(text(LINES_N[threads]))
    # One run is merged less than there are at once, and the rest in a second pass.
    argv = ["-S8K", "-Ttmp", "--batch-size=2", "--parallel=2", *JOBS[name], "-oout", "in"]
    clean = faults.run(argv, threads)
    assert (clean["status"], clean["stderr"]) == (0, b"")
    expected = clean["out"]
    gnu = [word for word in argv if not re.match("--(.*reader|.*fadvise|mmap|parallel|compress)", word)]
    assert expected == support.run(support.GNU, [*gnu[:-2], "in"], faults.cwd).stdout
    survived = injected = 0
    for n, kind, persists in cases(clean["calls"]):
        reply = faults.run(argv, threads, [n, kind, persists])
        try:
            judge(reply, kind, expected, faults.cwd)
        except AssertionError as error:
            raise AssertionError(
                f"{kind} {'from' if persists else 'at'} call {n}, {reply.get('hit')}: {error}"
            ) from error
        injected += reply["hit"] is not None
        survived += reply["hit"] is not None and reply["status"] == 0
    print(f"{name}, {'with' if threads else 'no'} threads: {injected} faults, {survived} survived")
    assert injected > len(clean["calls"]) // 2
