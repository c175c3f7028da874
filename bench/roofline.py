"""What the machine needs to move a job's bytes when nothing is sorted: no sort can be faster by much.

In memory that is `cat in > out`; where the buffer is too small, what pysort spills is written and read back besides.
A check of the order only reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from bench.contenders import Job
from bench.process import run

ROOFLINE = "roofline"


def copy_command(job: Job, copies_n: int) -> list[str]:
    """cat the inputs, standard input where there are none, to the output, by way of copies_n files beside it."""
    if job.output is None:
        return ["cat", *map(str, job.inputs)]
    sources = ['"$@"', *(f'"$0".{number}' for number in range(copies_n))]
    steps = [f"cat {source} > {target}" for source, target in zip(sources, [*sources[1:], '"$0"'], strict=True)]
    return ["sh", "-c", " && ".join(steps), str(job.output), *map(str, job.inputs)]


def spilled_bytes(argv: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """What this pysort command writes to runs, by its own account; None where it gives none."""
    finished = run([*argv, "--stats=json,notiming"], environment)
    try:
        return int(json.loads(finished.message)["runs"]["write_bytes"])
    except (ValueError, KeyError):
        return None
