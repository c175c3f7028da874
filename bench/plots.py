"""Plots of the results of `python -m bench hints`, as SVG beside them, drawn from hints.json alone.

matplotlib comes with the extra `bench`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figure import LINES, new_figure, panel, plain, prepare, save
from bench.hints_report import GROUP, number, times
from bench.hints_sample import CLAIMED_PERCENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table = dict[str, Any]

_ROW_IN = 0.27  # of one bar
_PANEL_IN = 1.1  # title and axis of a panel
_BETTER, _WORSE, _SAME = LINES[0], LINES[1], "#a9b4c2"
# Ratios whose panel spans more than this are drawn on a logarithmic axis.
_LINEAR_SPAN = 12.0


def draw(directory: Path) -> str | None:
    """Draw everything that directory/hints.json has. Returns why there are no plots, if there are none."""
    if reason := prepare():
        return reason
    result = json.loads((directory / f"{GROUP}.json").read_text())
    tables = [table for table in result["tables"] if table["skipped"] is None]
    for claim in result["claims"]:
        own = [table for table in tables if table["claim"] == claim["name"]]
        for suffix, drawn in _FIGURES.get(claim["name"], {"": _bars}).items():
            if own and (figure := drawn(own)) is not None:
                path = directory / f"{GROUP}-{claim['name']}{suffix}.svg"
                save(figure, path)
    return None


def _heading(table: Table) -> str:
    return f"{table['place']} disk: {table['title']}"


def _bars(tables: list[Table]) -> Figure | None:
    """Every variant's ratio to the first baseline, with the range over the rounds."""
    heights = [len(table["variants"]) * _ROW_IN + _PANEL_IN for table in tables]
    figure = new_figure(sum(heights))
    panels = figure.subplots(len(tables), 1, squeeze=False, height_ratios=heights)
    for axes, table in zip(panels[:, 0], tables, strict=True):
        _ratios(axes, table)
    return figure


def _ratios(axes: Axes, table: Table) -> None:
    base = table["baselines"][0]
    variants = table["variants"]
    ratios = [variant["ratios"][base] for variant in variants]
    medians = [ratio["median"] for ratio in ratios]
    errors = [
        [max(0.0, ratio["median"] - ratio["low"]) for ratio in ratios],
        [max(0.0, ratio["high"] - ratio["median"]) for ratio in ratios],
    ]
    colours = [_BETTER if ratio["low"] > 1 else _WORSE if ratio["high"] < 1 else _SAME for ratio in ratios]
    places = range(len(variants))
    span = max(medians) / min(medians) > _LINEAR_SPAN
    axes.barh(
        places, medians, color=colours, xerr=errors, error_kw={"elinewidth": 1, "ecolor": "#444444", "capsize": 2}
    )
    axes.set_yticks(places, [variant["name"] for variant in variants])
    axes.invert_yaxis()
    if span:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
    high = max(ratio["high"] for ratio in ratios)
    axes.set_xlim(right=high * (high / min(medians)) ** 0.3 if span else high * 1.3)
    axes.axvline(1, color="#444444", linewidth=0.8)
    for place, ratio, variant in zip(places, ratios, variants, strict=True):
        value = f"{times(ratio['median'])}x, {number(variant['median'])} {table['unit']}"
        text = axes.annotate(value, (ratio["high"], place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})
    axes.set_xlabel(f"times as good as {base}{' (logarithmic)' * span}; coloured where it was so in every round")
    panel(axes, _heading(table))


def _cpu(tables: list[Table]) -> Figure | None:
    """Use of the CPU over the time of the median run, a panel a strategy; on the slow disk if there is one."""
    table = next(table for table in tables if table["place"] == tables[-1]["place"])
    variants = table["variants"]
    figure = new_figure(0.85 * len(variants) + 0.8)
    panels = figure.subplots(len(variants), 1, squeeze=False, sharex=True)[:, 0]
    for axes, variant in zip(panels, variants, strict=True):
        points = [[0.0, 0.0], *variant["timeline"]]
        axes.fill_between([p[0] for p in points], [p[1] for p in points], step="pre", color=_BETTER, alpha=0.75)
        axes.set_ylim(0, 115)
        axes.set_yticks([0, 50, 100])
        panel(axes, f"{variant['name']}: {variant['median']:.2f} s")
    panels[-1].set_xlabel("seconds since the start")
    figure.supylabel("CPU, % of one core", fontsize=9)
    figure.suptitle(_heading(table), fontsize=10)
    return figure


def _readers(tables: list[Table]) -> Figure | None:
    """Reads a second by the number of readers, a line for each way to share the file."""
    swept = [table for table in tables if table["place"] == "native" and "readers" in table["at"]]
    if len(swept) < 2:
        return None
    figure = new_figure(3.6)
    axes = figure.subplots()
    readers = [table["at"]["readers"] for table in swept]
    for position, variant in enumerate(swept[0]["variants"]):
        points = [table["variants"][position] for table in swept]
        _line(axes, readers, points, variant["name"], position)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plain)
    axes.set_xticks(readers)
    axes.set_xlabel("threads that read, beside one that appends and syncs")
    axes.set_ylabel("reads/s (logarithmic)")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    panel(axes, "native disk: reads of 8 KiB from the page cache")
    return figure


def _line(axes: Axes, xs: Sequence[float], points: list[dict[str, Any]], label: str, position: int) -> None:
    medians = [point["median"] for point in points]
    errors = [[p["median"] - p["low"] for p in points], [p["high"] - p["median"] for p in points]]
    colour = LINES[position % len(LINES)]
    axes.errorbar(xs, medians, errors, label=label, color=colour, marker="o", markersize=4, linewidth=1.4, capsize=2)


def _distances(tables: list[Table]) -> Figure | None:
    """Times as fast as without prefetch, by its distance; a line for each share of the blocks, a panel a disk."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(table["place"] + " disk" + table["title"].partition("% of the blocks")[2], []).append(table)
    figure = new_figure(3.2 * len(groups))
    panels = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
    for axes, (title, group) in zip(panels, groups.items(), strict=True):
        highest = 1.0
        for position, table in enumerate(group):
            swept = [variant for variant in table["variants"] if _DISTANCE.fullmatch(variant["name"])]
            names = [variant["name"].split()[1] for variant in swept]
            points = [variant["ratios"][table["baselines"][0]] for variant in swept]
            _line(axes, range(len(names)), points, f"{table['at']['percent']:g} % of the blocks", position)
            axes.set_xticks(range(len(names)), names)
            highest = max(highest, *(point["median"] for point in points))
        axes.set_ylim(0, 1.3 * highest)  # ranges may go on above: one hiccup of distance 0 makes them large
        axes.axhline(1, color="#444444", linewidth=0.8)
        axes.set_ylabel("times as fast as distance 0")
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        panel(axes, title)
    panels[-1].set_xlabel("blocks asked for ahead")
    return figure


def _shared(tables: list[Table]) -> Figure | None:
    """The bars of four readers, and of one without a writer."""
    return _bars([table for table in tables if table["at"].get("readers", 4) == 4])


def _typical(tables: list[Table]) -> Figure | None:
    """The bars of the claim's own share of the blocks."""
    return _bars([table for table in tables if table["at"]["percent"] == CLAIMED_PERCENT])


_DISTANCE = re.compile(r"distance \d+")
_FIGURES: dict[str, dict[str, Callable[[list[Table]], Figure | None]]] = {
    "sort": {"": _bars, "-cpu": _cpu},
    "sample": {"": _typical, "-distance": _distances},
    "parallel": {"": _shared, "-readers": _readers},
}
