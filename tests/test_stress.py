"""A few of the jobs of stress.py, which goes on for as long as one likes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import stress
import support
from hypothesis import settings

JOBS_N = 40
SEED = 0 if settings.default.derandomize else random.SystemRandom().randrange(2**32)

pytestmark = pytest.mark.skipif(support.testing_gnu_itself(), reason="the jobs use pysort's own options and statistics")


@support.needs_gnu
def test_random_jobs_under_random_limits_are_gnu_sorts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tally, fault = stress.stress(SEED, range(JOBS_N), tmp_path)
    with capsys.disabled():
        print(f"\nseed {SEED}: {tally}")
    assert fault == ""
    assert tally.spilled_n > JOBS_N // 8
    assert tally.threaded_n > JOBS_N // 8
