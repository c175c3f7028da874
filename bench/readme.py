"""`python -m bench readme`: the tables in README.md, made from the results in bench/results.

A table stands between `<!-- bench: GROUP -->` and `<!-- /bench -->`, each on a line of its own; `headline` is one too.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
from pathlib import Path
from typing import Any

from bench import hints_readme, hints_report, scale_report
from bench.cases import SUBJECT
from bench.contenders import BenchError
from bench.roofline import ROOFLINE

CLONE = Path(__file__).resolve().parent.parent
README = CLONE / "README.md"
RESULTS = CLONE / "bench" / "results"

_SECTION = re.compile(r"^<!-- bench: (\w+) -->\n.*?^<!-- /bench -->$", re.MULTILINE | re.DOTALL)
_COLUMNS = (
    "case",
    "command",
    "MB",
    "times as fast (range)",
    "wanted",
    "s, other / pysort",
    "peak MiB, other / pysort",
    "s, copying alone",
)


def _command(case: dict[str, Any]) -> str:
    """The command as a user would type it, without what all cases have in common."""
    variables = [f"{name}={value}" for name, value in case["environment"].items() if value != "C"]
    options = shlex.join(case["options"]).replace("'\t'", r"$'\t'")
    inputs = f"{case['pieces']} files" if case["pieces"] > 1 else ""
    command = " ".join([*variables, "sort", *filter(None, [options, inputs])])
    return f"`{command}{' < pipe' * case['piped']}`"


def _median_s(runs: list[dict[str, Any]]) -> float:
    return statistics.median(float(run["wall_s"]) for run in runs)


def _rows(case: dict[str, Any]) -> list[list[str]]:
    """The comparison with GNU sort, then one with each rival who took part."""
    first = [case["name"], _command(case), f"{case['corpus_bytes'] / 1e6:.0f}"]
    wanted = _wanted(case["floor"])
    if case["skipped"] is not None:
        return [[*first[:2], "", f"skipped: {case['skipped']}", wanted, "", "", ""]]
    if case["reference"] not in case["ratios"]:
        return [[*first, "wrong", wanted, "", "", ""]]
    bound = f"{_median_s(case['runs'][ROOFLINE]):.2f}"
    rows = []
    for name in case["commands"]:
        if name == case["reference"]:
            rows.append([*first, *_compared(case, name, wanted), bound])
        elif name not in (SUBJECT, ROOFLINE):
            rows.append([f"{case['name']}, {name}", "", "", *_compared(case, name, _wanted(case["rival_floor"])), ""])
    return rows


def _wanted(floor: float | None) -> str:
    return "" if floor is None else f"{floor:g}"


def _compared(case: dict[str, Any], name: str, wanted: str) -> list[str]:
    if name not in case["ratios"]:
        return [f"its output was wrong: {case['faults'][name]}", wanted, "", ""]
    ratio = case["ratios"][name]
    runs = [case["runs"][name], case["runs"][SUBJECT]]
    seconds = (f"{_median_s(rounds):.2f}" for rounds in runs)
    peaks = (f"{max(run['peak_bytes'] for run in rounds) / 2**20:.0f}" for rounds in runs)
    shown = f"**{ratio['median']:.1f}** ({ratio['low']:.1f}-{ratio['high']:.1f})"
    return [shown, wanted, " / ".join(seconds), " / ".join(peaks)]


def _table(result: dict[str, Any]) -> str:
    if not result["judged"]:
        raise BenchError(f"the results of {result['group']} are those of a smoke run")
    if result["group"] == hints_report.GROUP:
        return hints_readme.tables(result)
    if result["group"] == scale_report.GROUP:
        return scale_report.readme_table(result)
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(row for case in result["cases"] for row in _rows(case))]
    machine = result["machine"]
    threads = "; ".join({f"`--parallel={case['threads'][SUBJECT]}`" for case in result["cases"]})
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, {machine['libc']}, "
        f"load {machine['load']} at the start",
        *(f"{name}: {version}" for name, version in result["versions"].items()),
        f"Python {machine['python']}",
        f"medians of {result['rounds']} interleaved rounds; `LC_ALL=C` unless shown; pysort with {threads},"
        " the others with two threads; free memory touched before each run; copying alone: `cat in > out`, with `-S` by"
        " way of a file",
        f"`{result['command']}`; [all numbers](bench/results/{result['group']}.md),"
        f" [plot](bench/results/{result['group']}.svg)",
    ]
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", "; ".join(facts) + "."])


_HEADLINE = "headline"
_HEADLINE_CASES = {
    "lines": "200 MB of random lines in memory",
    "records-128M": "1 GB of 100-byte records with -S 128M",
}


def _headline(result: dict[str, Any]) -> str:
    """What the first lines of README.md say. result: that of the peers."""
    ratios = {case["name"]: case["ratios"].get(case["reference"]) for case in result["cases"]}
    return "\n".join(
        f"    {text}: {ratio['median']:.1f} times as fast as GNU sort"
        for name, text in _HEADLINE_CASES.items()
        if (ratio := ratios.get(name))
    )


def rewritten(text: str, results: Path) -> str:
    """The text with every table made anew from GROUP.json in `results`.

    Raises BenchError when a result is of a smoke run.
    """

    def section(match: re.Match[str]) -> str:
        group = match[1]
        path = results / f"{'peers' if group == _HEADLINE else group}.json"
        make = _headline if group == _HEADLINE else _table
        body = make(json.loads(path.read_text())) if path.exists() else "Not measured yet."
        return f"<!-- bench: {group} -->\n{body}\n<!-- /bench -->"

    return _SECTION.sub(section, text)


def main() -> int:
    README.write_text(rewritten(README.read_text("utf-8"), RESULTS), "utf-8")
    return 0
