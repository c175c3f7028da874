"""The plot of the results of `python -m bench peers`: how many times as fast pysort is, and what was wanted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figure import LINES, new_figure, panel, prepare, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_IN = 0.27
_AXIS_IN = 0.9
_REACHED, _MISSED, _NOT_JUDGED = LINES[0], LINES[1], "#a9b4c2"
_TICKS = (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)

Bar = tuple[str, dict[str, float], float | None]


def draw(directory: Path, group: str) -> str | None:
    """Draw GROUP.svg from GROUP.json. Returns why there is no plot, if there is none."""
    if reason := prepare():
        return reason
    result = json.loads((directory / f"{group}.json").read_text())
    bars = [bar for case in result["cases"] for bar in _bars(case)]
    if not bars:
        return "nothing was compared"
    figure = new_figure(len(bars) * _ROW_IN + _AXIS_IN)
    _draw_bars(figure.subplots(), bars)
    save(figure, directory / f"{group}.svg")
    return None


def _bars(case: dict[str, Any]) -> list[Bar]:
    reference = case["reference"]
    return [
        (case["name"], ratio, case["floor"])
        if name == reference
        else (f"{case['name']}, {name}", ratio, case["rival_floor"])
        for name, ratio in case["ratios"].items()
    ]


def _colour(bar: Bar) -> str:
    _, ratio, floor = bar
    return _NOT_JUDGED if floor is None else _REACHED if ratio["median"] >= floor else _MISSED


def _draw_bars(axes: Axes, bars: list[Bar]) -> None:
    places = range(len(bars))
    ratios = [ratio for _, ratio, _ in bars]
    medians = [ratio["median"] for ratio in ratios]
    errors = [
        [max(0.0, ratio["median"] - ratio["low"]) for ratio in ratios],
        [max(0.0, ratio["high"] - ratio["median"]) for ratio in ratios],
    ]
    low, high = min(1.0, *medians), max(ratio["high"] for ratio in ratios)
    axes.set_xscale("log")
    axes.barh(
        places,
        medians,
        color=list(map(_colour, bars)),
        xerr=errors,
        error_kw={"elinewidth": 1, "ecolor": "#444444", "capsize": 2},
    )
    for place, (_, ratio, floor) in enumerate(bars):
        if floor is not None:
            axes.plot([floor, floor], [place - 0.42, place + 0.42], color="black", linewidth=1.8)
        axes.annotate(
            f"{ratio['median']:.1f}",
            (ratio["high"], place),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.axvline(1, color="#444444", linewidth=0.8)
    axes.set_yticks(places, [name for name, _, _ in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0.8 * low, 1.35 * high)
    ticks = [tick for tick in _TICKS if 0.8 * low <= tick <= 1.35 * high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("times as fast (logarithmic), with the range over the rounds; the black mark is what was wanted")
    panel(axes, "pysort against GNU sort, and against others where they are named")
