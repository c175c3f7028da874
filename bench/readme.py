"""`python -m bench readme`: the tables in README.md, made from the results in bench/results.

A table stands between `<!-- bench: GROUP -->` and `<!-- /bench -->`, each on a line of its own.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
from pathlib import Path
from typing import Any

from bench import hints_readme, hints_report
from bench.cases import SUBJECT
from bench.contenders import BenchError

CLONE = Path(__file__).resolve().parent.parent
README = CLONE / "README.md"
RESULTS = CLONE / "bench" / "results"

_SECTION = re.compile(r"^<!-- bench: (\w+) -->\n.*?^<!-- /bench -->$", re.MULTILINE | re.DOTALL)
_COLUMNS = ("case", "command", "MB", "times as fast (range)", "wanted", "s, GNU / pysort", "peak MiB, GNU / pysort")


def _command(case: dict[str, Any]) -> str:
    """The command as a user would type it, without what all cases have in common."""
    variables = [f"{name}={value}" for name, value in case["environment"].items() if value != "C"]
    options = shlex.join(case["options"]).replace("'\t'", r"$'\t'")
    command = " ".join([*variables, "sort", *filter(None, [options])])
    return f"`{command}{' < pipe' * case['piped']}`"


def _row(case: dict[str, Any], reference: str) -> list[str]:
    wanted = "" if case["floor"] is None else f"{case['floor']:g}"
    first = [case["name"], _command(case), f"{case['corpus_bytes'] / 1e6:.0f}"]
    if case["skipped"] is not None:
        return [*first[:2], "", f"skipped: {case['skipped']}", wanted, "", ""]
    if case["faults"]:
        return [*first, "wrong", wanted, "", ""]
    ratio = case["ratios"][SUBJECT]
    runs = [case["runs"][name] for name in (reference, SUBJECT)]
    seconds = (f"{statistics.median(run['wall_s'] for run in rounds):.2f}" for rounds in runs)
    peaks = (f"{max(run['peak_bytes'] for run in rounds) / 2**20:.0f}" for rounds in runs)
    shown = f"**{ratio['median']:.1f}** ({ratio['low']:.1f}-{ratio['high']:.1f})"
    return [*first, shown, wanted, " / ".join(seconds), " / ".join(peaks)]


def _table(result: dict[str, Any]) -> str:
    if not result["judged"]:
        raise BenchError(f"the results of {result['group']} are those of a smoke run")
    if result["group"] == hints_report.GROUP:
        return hints_readme.tables(result)
    [reference] = set(result["versions"]) - {SUBJECT}
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(_row(case, reference) for case in result["cases"])]
    machine = result["machine"]
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, {machine['libc']}, "
        f"load {machine['load']} at the start",
        *result["versions"].values(),
        f"Python {machine['python']}",
        f"medians of {result['rounds']} interleaved rounds; `LC_ALL=C` and `--parallel=2` unless shown",
        f"`{result['command']}`; [all numbers](bench/results/{result['group']}.md)",
    ]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", "; ".join(facts) + "."])


def rewritten(text: str, results: Path) -> str:
    """The text with every table made anew from GROUP.json in `results`.

    Raises BenchError when a result is of a smoke run.
    """

    def section(match: re.Match[str]) -> str:
        group = match[1]
        path = results / f"{group}.json"
        body = _table(json.loads(path.read_text())) if path.exists() else "Not measured yet."
        return f"<!-- bench: {group} -->\n{body}\n<!-- /bench -->"

    return _SECTION.sub(section, text)


def main() -> int:
    README.write_text(rewritten(README.read_text("utf-8"), RESULTS), "utf-8")
    return 0
