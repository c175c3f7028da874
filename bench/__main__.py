"""The bench's command line."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from bench import hints, memory, peers, readme, scale, startup
from bench.contenders import BenchError


def _scale(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks of pysort.")
    commands = parser.add_subparsers(dest="command", required=True)
    against = commands.add_parser("peers", help="time pysort against GNU sort and its rivals")
    growth = commands.add_parser("scale", help="how cost grows with size, memory, length of lines and fan-in")
    peaks = commands.add_parser("memory", help="peak memory of jobs that spill, against -S")
    start = commands.add_parser("startup", help="time the start of an installed pysort")
    advice = commands.add_parser("hints", help="measure what read hints do, on this disk and on a slow one")
    commands.add_parser("readme", help="rewrite the tables in README.md from bench/results")
    peaks.add_argument("--dir", type=Path, help="where to work (default: the system's)")
    peaks.add_argument("--smoke", action="store_true", help="a few tiny inputs")
    peaks.add_argument("--out", type=Path, metavar="DIR", help="write memory.json and memory.md")
    for command in (against, growth, start, advice):
        command.add_argument("--rounds", type=_count, metavar="N", help="rounds of every contender")
        command.add_argument("--dir", type=Path, help="where to work (default: the system's)")
    against.add_argument("--orderings", action="store_true", help="the cases of the orderings, not the others")
    for command in (against, growth, advice):
        command.add_argument("--case", action="append", default=[], metavar="NAME")
        command.add_argument("--list", action="store_true", help="list the cases and do nothing else")
    for command in (against, growth):
        command.add_argument("--size", type=_scale, metavar="X", help="scale of the inputs")
    growth.add_argument(
        "--largest", type=_count, metavar="MB", help=f"no inputs above this size (default: {scale.LARGEST_MB})"
    )
    growth.add_argument("--smoke", action="store_true", help="tiny inputs, 1 round, no judgement")
    against.add_argument(
        "--smoke", action="store_true", help="tiny corpora, 1 round, both groups, no judgement of speed"
    )
    advice.add_argument("--smoke", action="store_true", help="tiny files, 1 round, no slow disk, no judgement of speed")
    against.add_argument("--out", type=Path, metavar="DIR", help="write GROUP.json, GROUP.md and the plot")
    growth.add_argument("--out", type=Path, metavar="DIR", help="write scale.json, scale.md and the plots")
    advice.add_argument("--out", type=Path, metavar="DIR", help="write hints.json, hints.md and the plots")
    return parser


def _shown(argv: Sequence[str]) -> str:
    """The command line as it goes into results: without --dir, which is about this machine."""
    kept = list(argv)
    while "--dir" in kept:
        position = kept.index("--dir")
        del kept[position : position + 2]
    return f"python -m bench {shlex.join(kept)}"


def _end(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def main(argv: Sequence[str]) -> int:
    """Exit status: 0; 1 a wrong output or a missed demand; 2 trouble; 130 Ctrl-C."""
    arguments = _parser().parse_args(argv)
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _end)  # an exception, so that temporary directories are removed
    try:
        if arguments.command == "startup":
            return startup.main(arguments)
        if arguments.command == "readme":
            return readme.main()
        run = {"hints": hints.main, "memory": memory.main, "peers": peers.main, "scale": scale.main}[arguments.command]
        return run(arguments, _shown(argv))
    except (BenchError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
