"""The tables of README.md that the results of `python -m bench hints` make."""

from __future__ import annotations

from typing import Any

from bench.hints_report import ratio
from bench.results import Spread

Table = dict[str, Any]


def tables(result: dict[str, Any]) -> str:
    """Which hint to use, and what became of each claim. result: hints.json of a full run."""
    measured = [table for table in result["tables"] if table["skipped"] is None]
    parts = [_hints(measured), _claims(result, measured), _facts(result)]
    return "\n\n".join(part for part in parts if part)


def _markdown(rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]])


def _shown(values: dict[str, float]) -> str:
    return ratio(Spread(**values))


def _hints(measured: list[Table]) -> str:
    """A row a strategy, a column a job: times as fast as without a hint."""
    columns = [table for table in measured if table["column"]]
    names = list(dict.fromkeys(variant["name"] for table in columns for variant in table["variants"]))
    head = ["times as fast as `none`", *(f"{table['place']} disk, {table['column']}" for table in columns)]
    return _markdown([head, *([f"`{name}`", *(_cell(table, name) for table in columns)] for name in names)])


def _cell(table: Table, name: str) -> str:
    [base] = table["baselines"]
    for variant in table["variants"]:
        if variant["name"] == name and variant["notes"]:
            return "refused"
        if variant["name"] == name:
            return f"{variant['median']:.2f} s" if name == base else _shown(variant["ratios"][base])
    return ""


def _claims(result: dict[str, Any], measured: list[Table]) -> str:
    """A row for each job of which something was expected: that, and what else answers the claim."""
    claimed = {claim["name"]: claim["claimed"] for claim in result["claims"]}
    rows = [["case", "claimed, times", "disk and job", "here, times as good"]]
    for table in measured:
        if any(expected["least"] is not None for expected in table["expected"]):
            found = "; ".join(map(_found, table["expected"]))
            rows.append([table["claim"], claimed[table["claim"]], f"{table['place']}: {table['title']}", found])
    return _markdown(rows)


def _found(expected: dict[str, Any]) -> str:
    wanted = "" if expected["least"] is None else f", wanted {expected['least']:g}"
    return f"{expected['variant']} over {expected['baseline']} **{_shown(expected['found'])}**{wanted}"


def _facts(result: dict[str, Any]) -> str:
    machine = result["machine"]
    facts = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory']}, {machine['kernel']}, load {machine['load']}"
        " at the start",
        *result["versions"].values(),
        *(f"{name} disk: {text}" for name, text in result["places"].items()),
        *([f"no slow disk: {result['missing']}"] if result["missing"] else []),
        f"`{result['command']}`; [all numbers](bench/results/hints.md)",
    ]
    return "; ".join(facts) + "."
