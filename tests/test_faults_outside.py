"""The same from outside: strace makes the kernel's calls fail under a real process."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import support


def strace_works() -> bool:
    if shutil.which("strace") is None:
        return False
    command = ["strace", "-qq", "-e", "inject=getuid:error=EPERM", "-e", "trace=none", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not strace_works(), reason="needs strace that may inject faults")

LITTLE_DIRTY = [
    *(sys.executable, "-c"),
    "import sys; from pysort import cli, plan; from pysort.storage import spill; sys.argv[0] = 'pysort'; "
    "plan.DIRTY_SHARE, spill.LEAST_DIRTY_BYTES = 1 << 40, 0; cli.run()",
]
ARGUMENTS = ["-S8M", "-Ttmp", "--parallel=2", "--batch-size=3", "-oout", "in"]


@pytest.mark.parametrize(
    ("call", "error", "when", "text"),
    [
        ("pwrite64", "EIO", "2", b"write failed: tmp: Input/output error (run "),
        ("pwrite64", "ENOSPC", "3+", b"write failed: tmp: No space left on device (run "),
        ("pwrite64", "EINTR", "2+2", None),  # tried again
        ("preadv,preadv2", "EIO", "5", b"read failed: "),
        ("preadv,preadv2", "EINTR", "1+3", None),
        ("ftruncate", "EIO", "1", b"out: error truncating: Input/output error"),
        ("write", "EINTR", "1+2", None),
        ("fadvise64", "EIO", "1+", None),
        (
            "sync_file_range",
            "EIO",
            "1+",
            b"write failed: tmp: Input/output error (run ",
        ),  # with little that may be dirty
        ("sync_file_range", "ENOSYS", "1+", None),
        ("fallocate", "EOPNOTSUPP", "1+", None),
        ("clone,clone3", "EAGAIN", "1+", None),  # no threads
    ],
)
def test_a_call_that_fails(call: str, error: str, when: str, text: bytes | None, tmp_path: Path) -> None:
    chance = random.Random(1)
    lines = [b"%07d\n" % chance.randrange(10**7) for _ in range(600_000)]
    (tmp_path / "in").write_bytes(b"".join(lines))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "out").write_bytes(b"precious\n")
    fault = f"inject={call}:error={error}:when={when}"
    program = LITTLE_DIRTY if call == "sync_file_range" else support.CONTENDER
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", fault, *program]
    result = support.run(command, ARGUMENTS, tmp_path)
    if text is None:
        assert result == (0, b"", b"")
        assert (tmp_path / "out").read_bytes() == b"".join(sorted(lines))
    else:
        assert result.status == 2
        assert result.stderr.startswith(b"pysort: " + text), result.stderr
        assert (tmp_path / "out").read_bytes() == b"precious\n"
    assert os.listdir(tmp_path / "tmp") == []
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "tmp"]
