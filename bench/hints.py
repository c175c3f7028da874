"""`python -m bench hints`: published claims about read hints, measured here, on this disk and on a slow one.

The slow disk takes root (see slowdisk.py); where it is not to be had, the reason is shown and the native disk is all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench import (
    hints_advice,
    hints_compress,
    hints_mapped,
    hints_merge,
    hints_parallel,
    hints_report,
    hints_sample,
    plots,
)
from bench.contenders import BenchError, Contender, pysort_program, sort_like
from bench.hints_report import Measured
from bench.hints_table import Claim, NotHere, Place, Table, measure
from bench.machine import load_warning, machine_facts
from bench.slowdisk import SlowDiskError, slow_disk

CLAIMS = (
    hints_mapped.CLAIM,
    hints_advice.SCAN,
    hints_advice.SORT,
    hints_sample.CLAIM,
    hints_parallel.CLAIM,
    hints_merge.CLAIM,
    hints_compress.CLAIM,
)
ROUNDS_N = 5
LEAST_ROUNDS_N = 3
SMOKE_SCALE = 1 / 64
SLOW_DISK_BYTES = 1 << 30  # sparse: what is not written takes no room


def chosen_claims(names: Sequence[str]) -> list[Claim]:
    unknown = set(names).difference(claim.name for claim in CLAIMS)
    if unknown:
        raise BenchError(f"no case named {', '.join(sorted(unknown))} in hints; see --list")
    return [claim for claim in CLAIMS if not names or claim.name in names]


def _places(work: Path, smoke: bool, undo: ExitStack) -> tuple[list[Place], str | None]:
    """Where to measure, and why not on a slow disk if there is none."""
    directory = work / "native"
    directory.mkdir()
    places = [Place("native", directory, work)]
    if smoke:
        return places, "a smoke run does without"
    try:
        slow = undo.enter_context(slow_disk(work, SLOW_DISK_BYTES))
    except SlowDiskError as error:
        return places, str(error)
    return [*places, Place("slow", slow.directory, work, slow)], None


def _measured(claim: Claim, place: Place, scale: float, rounds_n: int) -> Iterator[Measured]:
    """Each table of the claim at the place."""
    try:
        for table in claim.tables(place, scale):
            print(f"{claim.name}, {place.name} disk: {table.title} ...", file=sys.stderr, flush=True)
            yield _one(claim, place, table, rounds_n)
    except NotHere as error:
        yield Measured(claim, place.name, skipped=str(error))


def _one(claim: Claim, place: Place, table: Table, rounds_n: int) -> Measured:
    measured = Measured(claim, place.name, measure(place, table, rounds_n))
    for text in measured.judgements():
        print(f"  {text}", file=sys.stderr)
    return measured


def main(arguments: argparse.Namespace, command_line: str) -> int:
    """Exit status 0: what the numbers say is for the reader."""
    if arguments.list:
        for claim in CLAIMS:
            print(f"{claim.name:<12}{claim.source}")
        return 0
    claims = chosen_claims(arguments.case)
    judged = not arguments.smoke
    rounds_n = arguments.rounds or (ROUNDS_N if judged else 1)
    if judged and rounds_n < LEAST_ROUNDS_N:
        raise BenchError(f"a judgement needs at least {LEAST_ROUNDS_N} rounds")
    if arguments.dir is not None:
        arguments.dir.mkdir(parents=True, exist_ok=True)
    subject: Contender = sort_like("pysort", *pysort_program())
    report = hints_report.Report(
        command_line,
        1.0 if judged else SMOKE_SCALE,
        judged,
        machine_facts(),
        {"pysort": subject.version()},
        {},
        None,
        [],
        [warning] if (warning := load_warning()) else [],
    )
    with ExitStack() as undo:
        directory = tempfile.TemporaryDirectory(prefix="pysort-bench-", dir=arguments.dir, ignore_cleanup_errors=True)
        places, report.missing = _places(Path(undo.enter_context(directory)), arguments.smoke, undo)
        if report.missing is not None:
            print(f"no slow disk: {report.missing}", file=sys.stderr)
        report.places = {place.name: place.describe() for place in places}
        for claim in claims:
            for place in places:
                report.measured += _measured(claim, place, report.scale, rounds_n)
    print(report.text())
    if arguments.out is not None:
        report.write(arguments.out)
        if (why := plots.draw(arguments.out)) is not None:
            print(f"bench: no plots: {why}", file=sys.stderr)
    return 0
