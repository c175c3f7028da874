"""--stats: what a sort did, as text or as a line of JSON. Both say the same; figures.py defines it."""

from __future__ import annotations

import errno
import resource
import sys

from pysort.figures import JOB_FIGURES, SIDE_FIGURES, SIDES
from pysort.units import MEBI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pysort.stats import SortStats
    from pysort.storage.iostats import IoStats

_LABEL_COLUMN = 20
_SIDE_COLUMN = 18
_SHOWN_APART = ("hints", "hint_residency", "notes")  # lines of their own, not rows of the table


class Usage:
    """What the system says of this process: CPU and faults those of the programs it has waited for included."""

    __slots__ = ("major_faults", "minor_faults", "peak_bytes", "system_seconds", "user_seconds")

    def __init__(
        self, user_seconds: float, system_seconds: float, minor_faults: int, major_faults: int, peak_bytes: int
    ) -> None:
        self.user_seconds = user_seconds
        self.system_seconds = system_seconds
        self.minor_faults = minor_faults
        self.major_faults = major_faults
        self.peak_bytes = peak_bytes

    @classmethod
    def now(cls) -> Usage:
        own = resource.getrusage(resource.RUSAGE_SELF)
        programs = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(
            own.ru_utime + programs.ru_utime,
            own.ru_stime + programs.ru_stime,
            own.ru_minflt + programs.ru_minflt,
            own.ru_majflt + programs.ru_majflt,
            _peak_bytes(own.ru_maxrss),
        )


def _peak_bytes(maxrss: int) -> int:
    """ru_maxrss also knows what the process was before exec(2); VmHWM begins there."""
    try:
        with open("/proc/self/status", "rb") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration):
        return maxrss if sys.platform == "darwin" else maxrss * 1024


def facts(stats: SortStats, usage: Usage, elapsed_ns: int, *, timed: bool, status: int = 0) -> dict[str, Any]:
    """What the JSON says. timed: whether a clock ran for the I/O."""
    job = {
        "status": status,
        "kernel": stats.kernel,
        "runs_generated": stats.runs_n,
        "merge_passes": stats.merge_passes_n,
        "merges": stats.merges_n,
        "longest_line_bytes": stats.longest_line_bytes,
        "temporary_peak_bytes": stats.temporary_bytes_peak,
        "memory_peak_bytes": usage.peak_bytes,
        "excess_bytes": stats.excess_bytes,
        "minor_faults": usage.minor_faults,
        "major_faults": usage.major_faults,
        "user_seconds": usage.user_seconds,
        "system_seconds": usage.system_seconds,
        "elapsed_seconds": elapsed_ns / 1e9,
    }
    return job | {key: _side(getattr(stats, key), elapsed_ns, timed) for key, _, _ in SIDES}


def _side(io: IoStats, elapsed_ns: int, timed: bool) -> dict[str, Any]:
    missed_bytes = io.read_bytes if io.missed_bytes is None else io.missed_bytes
    side = {
        "read_calls": io.read_calls,
        "read_bytes": io.read_bytes,
        "read_request_bytes": _ratio(io.read_bytes, io.read_calls),
        "blocks": io.blocks_n,
        "hit_blocks": io.hit_blocks_n,
        "read_blocks": io.read_blocks_n,
        "read_seconds": io.read_ns / 1e9,
        "read_mib_per_second": _ratio(missed_bytes / MEBI, elapsed_ns / 1e9),
        "write_calls": io.write_calls,
        "write_bytes": io.write_bytes,
        "line_bytes": io.line_bytes or io.write_bytes,
        "write_request_bytes": _ratio(io.write_bytes, io.write_calls),
        "write_seconds": io.write_ns / 1e9,
        "write_mib_per_second": _ratio(io.write_bytes / MEBI, elapsed_ns / 1e9),
        "syncs": io.sync_calls,
        "sync_seconds": io.sync_ns / 1e9,
        "hints": _hints(io),
        "hint_residency": {
            name: {"before_bytes": before, "after_bytes": after} for name, (before, after) in io.hint_residency.items()
        },
        "hint_seconds": io.hint_ns / 1e9,
        "notes": {text.decode("utf-8", "surrogateescape"): n for text, n in io.notes.items()},
    }
    return side if timed else {key: value for key, value in side.items() if not key.endswith("_seconds")}


def _ratio(amount: float, whole: float) -> float:
    return amount / whole if whole else 0.0


def _hints(io: IoStats) -> dict[str, dict[str, int]]:
    """{"willneed": {"taken": 3, "EINVAL": 1}}"""
    hints: dict[str, dict[str, int]] = {}
    for (name, number), n in io.hints.items():
        hints.setdefault(name, {})[errno.errorcode.get(number, str(number)) if number else "taken"] = n
    return hints


def as_json(found: dict[str, Any]) -> bytes:
    import json

    return json.dumps(found).encode() + b"\n"


def as_text(found: dict[str, Any]) -> bytes:
    """The job's figures, a table of what was read and written on each side, then hints and notes."""
    lines = [*_job_lines(found), "", *_table(found), *_hint_lines(found), *_note_lines(found)]
    return "".join(line.rstrip() + "\n" for line in lines).encode("utf-8", "surrogateescape")


def _job_lines(found: dict[str, Any]) -> list[str]:
    labels = {key: label for key, label, _ in JOB_FIGURES}
    if not found["excess_bytes"]:
        del labels["excess_bytes"]
    cells = [label.ljust(_LABEL_COLUMN - 2) + _cell(key, found[key]) for key, label in labels.items()]
    left = cells[: -(-len(cells) // 2)]
    right = [*cells[len(left) :], ""]
    return [first.ljust(2 * _SIDE_COLUMN + 4) + second for first, second in zip(left, right, strict=False)]


def _table(found: dict[str, Any]) -> list[str]:
    """A row for each figure that says anything about any side."""
    sides = [found[key] for key, _, _ in SIDES]
    head = "".join(label.rjust(_SIDE_COLUMN) for _, label, _ in SIDES)
    rows = [" " * _LABEL_COLUMN + head]
    for key, label, _ in SIDE_FIGURES:
        if key in sides[0] and key not in _SHOWN_APART and any(_concerns(key, side) for side in sides):
            cells = [_cell(key, side[key]) if _concerns(key, side) else "-" for side in sides]
            rows.append(label.ljust(_LABEL_COLUMN) + "".join(cell.rjust(_SIDE_COLUMN) for cell in cells))
    return rows


def _concerns(key: str, side: dict[str, Any]) -> bool:
    """Whether the figure says anything about a side that did not read, write, or sync."""
    if key == "line_bytes":
        return bool(side["line_bytes"] != side["write_bytes"])
    if key.startswith("write"):
        return bool(side["write_calls"])
    if key.startswith("sync"):
        return bool(side["syncs"])
    return bool(side["hints"] if key.startswith("hint") else side["read_calls"])


def _cell(key: str, value: float | str | None) -> str:
    if value is None:
        return "not known"
    if key.endswith("_seconds"):
        return f"{value:.3f} s"
    if key.endswith("_per_second"):
        return f"{value:.3f} MB/s"
    if key.endswith("_bytes"):
        return f"{value:.0f} bytes"
    return str(value)


def _hint_lines(found: dict[str, Any]) -> list[str]:
    lines = []
    for side, label, _ in SIDES:
        given = [
            f"{name}: " + ", ".join(f"{n} {how}" for how, n in ends.items())
            for name, ends in found[side]["hints"].items()
        ]
        if given:
            lines.append(f"hints on {label}".ljust(_LABEL_COLUMN - 2) + "; ".join(given))
        lines += [
            f"  {name}: {seen['before_bytes']} bytes in page cache before, {seen['after_bytes']} after"
            for name, seen in found[side]["hint_residency"].items()
        ]
    return ["", *lines] if lines else []


def _note_lines(found: dict[str, Any]) -> list[str]:
    return [
        f"note on {label}".ljust(_LABEL_COLUMN - 2) + text + (f" ({n} times)" if n > 1 else "")
        for side, label, _ in SIDES
        for text, n in found[side]["notes"].items()
    ]
