"""For processes that fork a child for each job: what a job imports when it comes to need it is imported beforehand,
once and not in each of thousands of children."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil

import pysort
from pysort import kernel
from pysort.storage import syscalls


def preload() -> None:
    for module in pkgutil.walk_packages(pysort.__path__, "pysort."):
        if not module.name.startswith(("pysort.__main__", "pysort._kernel")):
            importlib.import_module(module.name)
    kernel.load(os.environb.get(b"PYSORT_KERNEL"))
    syscalls.punch_hole(-1, 0, 0)  # imports ctypes
    gc.collect()
    gc.freeze()  # a collection in the child would write to, and so copy, what it has from here
