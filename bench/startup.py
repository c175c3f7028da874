"""`python -m bench startup`: what an installed pysort costs before it sorts anything."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.contenders import BenchError
from bench.machine import load_warning
from bench.process import run
from bench.results import SPREAD_WARNING, Spread

CLONE = Path(__file__).resolve().parent.parent
LIMIT_MS = 10.0
LEAST_ROUNDS_N = 50

_EMPTY_PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "empty-console-script"
version = "1"
[project.scripts]
empty-console-script = "empty_console_script:main"
[tool.setuptools]
py-modules = ["empty_console_script"]
"""


def _pip_install(python: Path, source: Path) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, str(source)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"pip cannot install {source.name}:\n{done.stderr.strip()[-2000:]}")


def install(work: Path) -> Path:
    """A fresh environment with pysort and an empty console script; its bin directory."""
    empty = work / "empty"
    empty.mkdir()
    (empty / "pyproject.toml").write_text(_EMPTY_PROJECT)
    (empty / "empty_console_script.py").write_text("def main():\n    pass\n")
    # pip builds inside the source tree: a copy keeps the clone clean.
    ignored = shutil.ignore_patterns(".git", "build", "dist", "*.egg-info", "*.so", "__pycache__")
    shutil.copytree(CLONE, work / "pysort", ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True)
    bin_directory = work / "venv" / "bin"
    for source in (empty, work / "pysort"):
        _pip_install(bin_directory / "python", source)
    return bin_directory


def measure(work: Path, rounds_n: int) -> dict[str, list[float]]:
    """Milliseconds of each run by program, interleaved, after one untimed run each."""
    bin_directory = install(work)
    line = work / "line.txt"
    line.write_text("one line\n")
    commands = {
        "pysort": [str(bin_directory / "pysort"), str(line)],
        "empty": [str(bin_directory / "empty-console-script")],
    }
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(work)}
    environment.pop("PYTHONPATH", None)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for round_n in range(rounds_n + 1):
        names = list(commands) if round_n % 2 == 0 else list(commands)[::-1]
        for name in names:
            finished = run(commands[name], environment)
            if finished.status != 0:
                raise BenchError(f"{name} failed: {finished.failure}")
            if round_n > 0:
                times[name].append(finished.wall_s * 1000)
    return times


def main(arguments: argparse.Namespace) -> int:
    """Exit status: 0, or 1 when pysort's start costs more than LIMIT_MS."""
    rounds_n = arguments.rounds or LEAST_ROUNDS_N
    if rounds_n < LEAST_ROUNDS_N:
        raise BenchError(f"start-up needs at least {LEAST_ROUNDS_N} rounds")
    warnings = [warning] if (warning := load_warning()) else []
    with tempfile.TemporaryDirectory(
        prefix="pysort-bench-", dir=arguments.dir, ignore_cleanup_errors=True
    ) as directory:
        spreads = {name: Spread.of(ms) for name, ms in measure(Path(directory), rounds_n).items()}
    difference = spreads["pysort"].median - spreads["empty"].median
    verdict = "ok" if difference <= LIMIT_MS else "SLOW"
    print(f"difference {difference:.1f} ms (at most {LIMIT_MS:.0f} ms wanted): {verdict}")
    for name, spread in spreads.items():
        print(f"{name:<8}{spread.median:6.1f} ms ({spread.low:.1f}-{spread.high:.1f})")
        if spread.relative > SPREAD_WARNING:
            warnings.append(f"{name}'s times spread over {spread.relative:.0%} of their median")
    print(f"medians of {rounds_n} interleaved rounds, Python {sys.version.split()[0]}")
    for text in warnings:
        print(f"warning: {text}")
    return 0 if verdict == "ok" else 1
