"""What all plots of the bench have in common. matplotlib comes with the extra `bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 9.0
LINES = ("#3b7dd8", "#c8553d", "#2e8b57", "#8a63d2", "#b8860b")


def prepare() -> str | None:
    """Set matplotlib up. Returns why there can be no plots, if there can be none."""
    try:
        import matplotlib
    except ImportError:
        return "matplotlib is not installed: pip install '.[bench]'"
    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "pysort",  # the same results make the same bytes
            "font.size": 9,
            "axes.titlesize": 9,
            "axes.titlelocation": "left",
        }
    )
    return None


def new_figure(height_in: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained")


def panel(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)


def plain(value: float, position: float) -> str:
    """A number on an axis, without powers of ten."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path, format="svg", metadata={"Date": None})
