"""`python -m bench.cold_runs ARGUMENT...`: pysort, but before runs are merged they are written out and dropped from
memory, as if there had been more of them than it holds."""

from __future__ import annotations

import os
import sys

from pysort import cli, sorter


def main() -> int:
    real = sorter.sort
    cli.sort = lambda *args: real(*args, before_pass=lambda spill: spill.drop_cache())
    return cli.main([b"pysort", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
