"""What is printed beside sorted lines: help and version, plan and statistics."""

from __future__ import annotations

from pysort import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pysort.environ import Environment
    from pysort.options import Options
    from pysort.outlook import Outlook
    from pysort.plan import SortPlan
    from pysort.stats import SortStats


def stats_text(stats: SortStats, options: Options, elapsed_ns: int, status: int) -> bytes:
    from pysort import report

    found = report.facts(stats, report.Usage.now(), elapsed_ns, timed=options.stats_timing, status=status)
    return report.as_json(found) if options.stats == "json" else report.as_text(found)


def plan_text(
    plan: SortPlan,
    outlook: Outlook | None,
    options: Options,
    files: Sequence[bytes],
    environment: Environment,
    implementation: Any,
) -> bytes:
    from pysort.describe import as_json, as_text, describe

    found = describe(plan, outlook, options, files, environment, implementation.NAME)
    return as_json(found) if options.plan == "json" else as_text(found)


def requested_text(options: Options, program: bytes, implementation: Any) -> bytes:
    if options.request == "help":
        from pysort.help import help_text

        return help_text(program)
    if options.request == "version":
        return version_text(implementation)
    from pysort.completions import completions

    return completions(options.shell)


def version_text(implementation: Any) -> bytes:
    return (
        f"pysort (pysort) {__version__}\n"
        f"Kernel: {implementation.NAME}\n"
        "License MIT. There is no warranty, to the extent permitted by law.\n"
    ).encode()
