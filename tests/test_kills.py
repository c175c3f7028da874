"""A signal at any moment of a job that spills with threads: nothing is left, and the output is old, or a beginning.

PYSORT_KILLS=N kills N jobs instead of some forty.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
import support

OLD = b"precious\n"
KILLS_N = int(os.environ.get("PYSORT_KILLS", "40"))
SIGNALS = ["KILL", "TERM", "INT", "HUP", "PIPE"]
OUTPUTS = ["-oout", "--atomic", ""]
ARGUMENTS = ["-S8M", "-Ttmp1", "-Ttmp2", "--parallel=2", "--batch-size=3"]


def start(cwd: Path, output: str) -> support.subprocess.Popen[bytes]:
    words = [*ARGUMENTS, *([output] if output else []), *(["-oout"] if output == "--atomic" else []), "in"]
    with (cwd / ".stdout").open("wb") as stdout:
        return support.start(support.CONTENDER, words, cwd, stdout=stdout, stdin=support.subprocess.DEVNULL)


def wait_for_input(process: support.subprocess.Popen[bytes]) -> None:
    """Until it has opened the input: before that it is the interpreter that starts."""
    while process.poll() is None:
        for descriptor in Path(f"/proc/{process.pid}/fd").glob("*"):
            try:
                if os.readlink(descriptor).endswith("/in"):
                    return
            except OSError:
                pass
        time.sleep(0.002)


def others_in(cwd: Path) -> list[str]:
    """Processes that work in the directory, once those that are ending have had the time to."""
    for _ in range(500):
        found = []
        for link in Path("/proc").glob("[0-9]*/cwd"):
            try:
                if os.readlink(link) == str(cwd):
                    found.append(link.parent.name)
            except OSError:
                pass
        if not found:
            break
        time.sleep(0.02)
    return found


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, float]:
    """Directory, the right output, and seconds from the first read to the end."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to see when the job has begun")
    cwd = tmp_path_factory.mktemp("kills")
    for name in ("tmp1", "tmp2"):
        (cwd / name).mkdir()
    chance = random.Random(1)
    (cwd / "in").write_bytes(b"".join(b"%07d\n" % chance.randrange(10**7) for _ in range(600_000)))
    durations = []
    for _ in range(3):
        process = start(cwd, "-oout")
        wait_for_input(process)
        started = time.monotonic()
        assert support.finish(process) == (0, b"", b"")
        durations.append(time.monotonic() - started)
    return cwd, (cwd / "out").read_bytes(), min(durations)


@pytest.mark.parametrize("output", OUTPUTS, ids=["file", "atomic", "stdout"])
@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_at_any_moment(name: str, output: str, job: tuple[Path, bytes, float]) -> None:
    cwd, expected, duration = job
    number = getattr(signal, f"SIG{name}")
    chance = random.Random(f"{name} {output}")
    killed = 0
    for _ in range(-(-KILLS_N // (len(SIGNALS) * len(OUTPUTS)))):
        (cwd / "out").write_bytes(OLD)
        process = start(cwd, output)
        wait_for_input(process)
        time.sleep(chance.random() * duration)
        process.send_signal(number)
        result = support.finish(process, timeout_s=30)
        assert result.stderr == b""
        found = (cwd / ("out" if output else ".stdout")).read_bytes()
        if result.status == 0:  # it was faster, or does not mind
            assert found == expected
        else:
            killed += 1
            assert result.status == -number
            whole = output == "--atomic"
            assert found in (OLD, expected) if whole else found == OLD or expected.startswith(found)
            assert not (name == "PIPE" and output), "with -o SIGPIPE is ignored"
        assert others_in(cwd) == []
        assert sorted(os.listdir(cwd)) == [".stdout", "in", "out", "tmp1", "tmp2"]
        assert os.listdir(cwd / "tmp1") == os.listdir(cwd / "tmp2") == []
    print(f"SIG{name}, {output or 'standard output'}: {killed} killed")


@pytest.mark.skipif(shutil.which("gzip") is None, reason="there is no gzip")
@pytest.mark.parametrize("name", ["KILL", "TERM", "HUP"])
def test_programs_that_compress_end_with_the_sort(name: str, job: tuple[Path, bytes, float]) -> None:
    cwd, expected, duration = job
    chance = random.Random(name)
    for _ in range(-(-KILLS_N // 20)):
        (cwd / "out").write_bytes(OLD)
        process = support.start(support.CONTENDER, [*ARGUMENTS, "--compress-program=gzip", "-oout", "in"], cwd)
        wait_for_input(process)
        time.sleep(chance.random() * 2 * duration)
        process.send_signal(getattr(signal, f"SIG{name}"))
        result = support.finish(process, timeout_s=30)
        assert others_in(cwd) == []
        assert (result.stdout, result.stderr) == (b"", b"")
        found = (cwd / "out").read_bytes()
        assert found == OLD or expected.startswith(found)
        assert (result.status == 0) <= (found == expected)
        assert os.listdir(cwd / "tmp1") == os.listdir(cwd / "tmp2") == []
