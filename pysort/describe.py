"""--plan: what a job would do, as text or as a line of JSON. Both say the same; figures.py defines it."""

from __future__ import annotations

import os

from pysort.figures import PLAN_FIGURES
from pysort.storage.access import accesses
from pysort.storage.readers import check_readable
from pysort.storage.space import free_bytes
from pysort.units import MEBI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pysort.environ import Environment
    from pysort.options import Options
    from pysort.outlook import Outlook
    from pysort.plan import SortPlan

_LABEL_COLUMN = 20


def describe(
    plan: SortPlan,
    outlook: Outlook | None,
    options: Options,
    names: Sequence[bytes],
    environment: Environment,
    kernel: str,
) -> dict[str, Any]:
    """What the JSON says; None for what cannot be known. outlook: None where the inputs' size is not known. Raises
    SortError where the job would before it reads anything."""
    inputs, runs = accesses(options, plan.map_bytes, plan.run_read_bytes, plan.free_bytes)
    check_readable(names)
    needed = outlook.temporary_bytes if outlook is not None else None
    directories = list(map(_space, options.temporary_directories or (environment.temporary_directory,)))
    return {
        "mode": options.mode,
        "kernel": kernel,
        "threads": max(plan.thread_n, 1),
        "memory_bytes": plan.memory_bytes,
        "memory_from": _memory_from(options, environment),
        "sort_buffer_bytes": plan.arena_bytes,
        "input_bytes": outlook and outlook.input_bytes,
        "runs": outlook and outlook.runs_n,
        "fan_in": outlook.fan_in if outlook is not None else plan.input_fan_in if options.merge else plan.fan_in,
        "merge_passes": outlook and len(outlook.passes),
        "temporary_bytes": needed,
        "temporary_directories": [{"directory": name, "free_bytes": free} for name, _, free in directories],
        "enough_space": None if needed is None else _is_enough(needed, directories),
        "input_reader": inputs.kind,
        "input_hints": str(inputs.strategy),
        "parallel_reads": inputs.threads_n,
        "read_bytes": plan.read_bytes,
        "run_reader": runs.kind,
        "run_hints": str(runs.strategy),
        "compression": os.fsdecode(options.compress_program or options.compress.encode()),
        "prefetch_blocks": plan.run_ahead_bytes(needed or 0) // plan.block_bytes,
        "block_bytes": plan.block_bytes,
    }


def _memory_from(options: Options, environment: Environment) -> str:
    if options.buffer_size is None:
        return min(environment.memory_shares())[1]
    return environment.granted_memory(options.buffer_size)[1]


def _space(directory: bytes) -> tuple[str, int | None, int | None]:
    """Its name, the device it is on, and the bytes that are free there for this user; None where it cannot be asked."""
    name = os.fsdecode(directory)
    try:
        return name, os.stat(directory or b"/").st_dev, free_bytes(directory)
    except OSError:
        return name, None, None


def _is_enough(needed_bytes: int, directories: Sequence[tuple[str, int | None, int | None]]) -> bool | None:
    """Whether the runs will find room, an equal share of them in each directory. None where one cannot be asked."""
    room: dict[int | None, int] = {}
    for _, device, free in directories:
        if free is None:
            return None if needed_bytes else True
        room[device] = room.get(device, free) - needed_bytes // len(directories)
    return min(room.values()) >= 0


def as_json(found: dict[str, Any]) -> bytes:
    import json

    return json.dumps(found).encode() + b"\n"


def as_text(found: dict[str, Any]) -> bytes:
    lines = []
    for key, label, _ in PLAN_FIGURES:
        if key == "temporary_directories":
            for entry in found[key]:
                lines.append((label, f"{entry['directory']}: {_cell('free_bytes', entry['free_bytes'])} free"))
        else:
            lines.append((label, _cell(key, found[key])))
    return "".join(f"{label.ljust(_LABEL_COLUMN)}{cell}\n" for label, cell in lines).encode("utf-8", "surrogateescape")


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes"):
        return f"{value} bytes" + (f" ({value / MEBI:.1f} MB)" if value >= MEBI else "")
    return str(value)
