"""The drivers of tests/fuzz, as far as they take no more than seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parent / "fuzz" / "run"

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the drivers are compiled by gcc")


def run(cwd: Path, *args: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CFLAGS", "KEPT")}
    done = subprocess.run([RUN, *args], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_fuzzer_has_found_does_no_harm(tmp_path: Path) -> None:
    assert "no failure" in run(tmp_path, "kernel", "0", "1")
    assert list(tmp_path.iterdir()) == []


def test_twice_the_text_is_no_more_than_two_and_a_half_times_the_work(tmp_path: Path) -> None:
    told = run(tmp_path, "work").splitlines()
    assert len(told) > 30
    assert told[-1].startswith("no work grows faster than 2.5 ")
