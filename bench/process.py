"""Timed runs of a command through the launcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class Run:
    """One finished run: exit status (negative: the signal), seconds, peak resident bytes, and the
    first line written to standard error.

    The feeder of a piped run is not counted in CPU or memory.
    """

    status: int
    wall_s: float
    user_s: float
    system_s: float
    peak_bytes: int
    message: str = ""

    @property
    def cpu_s(self) -> float:
        return self.user_s + self.system_s

    @property
    def failure(self) -> str:
        return f"exit status {self.status}" + (f": {self.message}" if self.message else "")


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    stdin: str = os.devnull,
    piped: bool = False,
    stdout: str = os.devnull,
) -> Run:
    """Run argv and wait. The launcher leads a process group of its own, so that Ctrl-C reaches
    the bench alone, which then ends the group: no sort is left writing into a removed directory.
    """
    spec = {
        "argv": list(argv),
        "environment": dict(environment),
        "stdin": stdin,
        "piped": piped,
        "stdout": stdout,
    }
    launcher = subprocess.Popen(
        [sys.executable, "-I", "-S", str(LAUNCHER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,  # the command inherits it
        process_group=0,
    )
    try:
        reply, messages = launcher.communicate(json.dumps(spec).encode())
    except BaseException:
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()
        raise
    if launcher.returncode != 0:
        raise OSError(f"cannot run {argv[0]}")
    first, _, _ = messages.decode(errors="replace").partition("\n")
    return Run(**json.loads(reply), message=first)
