"""Where a result was measured."""

from __future__ import annotations

import importlib.metadata
import json
import locale
import os
import platform
from pathlib import Path


def _field(path: str, name: str) -> str:
    """The value of the first `name: value` line, or "unknown"."""
    try:
        for line in Path(path).read_text().splitlines():
            label, _, value = line.partition(":")
            if label.strip() == name:
                return value.strip()
    except OSError:
        pass
    return "unknown"


def machine_facts() -> dict[str, str]:
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_bytes / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def has_locale(name: str) -> bool:
    kept = locale.setlocale(locale.LC_COLLATE)
    try:
        locale.setlocale(locale.LC_COLLATE, name)
    except locale.Error:
        return False
    locale.setlocale(locale.LC_COLLATE, kept)
    return True


def load_warning() -> str | None:
    """A busy machine makes any time here an upper bound at best."""
    load, cores_n = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load <= cores_n / 2:
        return None
    return f"the machine was busy at the start: load {load:.1f} on {cores_n} cores"


def install_warning() -> str | None:
    """What finds the modules of an editable install loads pathlib and re first: 50 ms before pysort's own first line
    instead of 22 ms, where a plain install was measured beside it."""
    try:
        found = importlib.metadata.distribution("pysort").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    if found is None or not json.loads(found).get("dir_info", {}).get("editable"):
        return None
    return "pysort is installed to be edited, which takes longer to start: pip install . for what users have"
