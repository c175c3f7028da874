"""Settings of the property tests. Choose with `--hypothesis-profile=NAME` or HYPOTHESIS_PROFILE.

default: fresh examples on every run, few enough to run after each change.
ci:       the same examples every time, so that a red build is the change's own doing.
thorough: many more, for a night or before a release.
"""

from __future__ import annotations

import compileall
import os
import signal
from importlib.util import find_spec

from hypothesis import HealthCheck, settings

# A shell without job control has its background jobs ignore these, and with them all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) == signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# Thousands of processes import the package. Where no bytecode is kept (an editable install does not compile, and under
# PYTHONDONTWRITEBYTECODE nobody does later) each of them would compile all of it: 60 ms more than the 40 of a start.
_spec = find_spec("pysort")
if _spec is not None:
    for _directory in _spec.submodule_search_locations or ():
        compileall.compile_dir(_directory, quiet=2)

# Examples start processes and write files: an honest one may be slow, and says nothing about the others.
_COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow], max_examples=100)

settings.register_profile("default", _COMMON)
settings.register_profile("ci", _COMMON, derandomize=True)
settings.register_profile("thorough", _COMMON, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
