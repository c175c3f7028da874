"""Touch free memory and give it back: `python bench/warm.py`, a process of its own, or warm_memory().

The host of a virtual machine may take away what its guest leaves free for some seconds (free page reporting). Who
touches it next waits for the host: 328 MB in huge pages took 0.42 s instead of 0.04 s, in small ones 0.15 s. So a run
paid for how long the one before it had taken. Memory is warmed for every contender, as the page cache is.
"""

from __future__ import annotations

import mmap
import subprocess
import sys

BYTES = 1 << 30  # more than any contender takes: 743 MiB at most were seen
PAGE_BYTES = 4096
LEAST_INPUT_BYTES = 4 << 20


def warm_memory(input_bytes: int) -> None:
    """Before a job with so much input; for a small one it is not worth while. Where there is too little memory for it
    nothing is lost."""
    if input_bytes >= LEAST_INPUT_BYTES:
        subprocess.run([sys.executable, "-I", "-S", __file__], check=False, stderr=subprocess.DEVNULL)


def main() -> None:
    """Both kinds of pages: what is free is split and joined as it is asked for."""
    for huge in (True, False):
        with mmap.mmap(-1, BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            if huge and hasattr(mmap, "MADV_HUGEPAGE"):
                memory.madvise(mmap.MADV_HUGEPAGE)
            memory[::PAGE_BYTES] = bytes(BYTES // PAGE_BYTES)


if __name__ == "__main__":
    main()
