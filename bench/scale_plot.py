"""The plots of the results of `python -m bench scale`, one a series, drawn from scale.json alone."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.figure import LINES, new_figure, panel, plain, prepare, save
from bench.scale_report import GROUP
from bench.scale_series import FIT_FROM_BYTES, MB

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT_IN = 3.8
_MARKERS = "osD^v"


def draw(directory: Path) -> str | None:
    """Draw scale-SERIES.svg for every series. Returns why there are no plots, if there are none."""
    if reason := prepare():
        return reason
    result = json.loads((directory / f"{GROUP}.json").read_text())
    for series in result["series"]:
        figure = new_figure(_HEIGHT_IN)
        _series(figure.subplots(), series)
        save(figure, directory / f"{GROUP}-{series['name']}.svg")
    return None


def _series(axes: Axes, series: dict[str, Any]) -> None:
    of_size = series["exponent_limit"] is not None
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks: set[float] = set()
    for position, curve in enumerate(series["curves"]):
        _curve(axes, curve, of_size, position)
        ticks.update(point["x"] for point in curve["points"])
    if of_size:
        _proportional(axes, series["curves"][0])
    axes.set_xticks(sorted(ticks), [_tick(tick, of_size) for tick in sorted(ticks)])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(lambda value, position: plain(value, position) if _is_minor(value) else "")
    axes.grid(True, axis="y", which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"{series['x_label']} (logarithmic)")
    axes.set_ylabel("seconds (logarithmic)")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    panel(axes, series["title"])


def _curve(axes: Axes, curve: dict[str, Any], of_size: bool, position: int) -> None:
    points = curve["points"]
    medians = [statistics.median(point["seconds"]) for point in points]
    errors = [
        [median - min(point["seconds"]) for median, point in zip(medians, points, strict=True)],
        [max(point["seconds"]) - median for median, point in zip(medians, points, strict=True)],
    ]
    power = "" if curve["exponent"] is None else f"\nsize to the power {curve['exponent']:.2f}"
    axes.errorbar(
        [point["x"] for point in points],
        medians,
        errors,
        label=curve["name"] + power * of_size,
        color=LINES[position % len(LINES)],
        marker=_MARKERS[position % len(_MARKERS)],
        markersize=4,
        linewidth=1.4,
        capsize=2,
    )


def _proportional(axes: Axes, curve: dict[str, Any]) -> None:
    """A line as time would run in proportion to size, through where exponents begin."""
    points = [point for point in curve["points"] if point["x"] >= FIT_FROM_BYTES] or curve["points"]
    start = points[0]
    seconds = statistics.median(start["seconds"])
    ends = [start["x"], points[-1]["x"]]
    axes.plot(
        ends,
        [seconds * x / start["x"] for x in ends],
        color="#888888",
        linestyle=":",
        linewidth=1.2,
        label="proportional",
    )


def _is_minor(value: float) -> bool:
    """Whether 2, 3 or 5 is its first digit: enough marks where an axis spans less than a power of ten."""
    return f"{value:e}"[0] in "235"


def _tick(value: float, of_size: bool) -> str:
    if of_size:
        return f"{value / MB:,.0f} MB" if value >= MB else f"{value / 1000:,.0f} kB"
    return f"{value:,.0f}" if value >= 1 else f"1/{round(1 / value)}"
