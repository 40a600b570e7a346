"""The cost curves as an SVG, a panel a question: small, text as text, readable on light and on dark ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from benchmarks.curves import Panel, Points

# Middle tones: each has a contrast of about 4 to 1 with white and with near-black.
GREY = "#7a7a7a"
COLOURS = {
    "moments": "#0a7fd0",
    "Welch": "#d0570a",
    "bootstrap": "#0c8f66",
    "resampled": "#a45cc0",
    "shared": "#c94f7c",
    "benchmark gate": "#a07a10",
    "safety gate": "#0c8798",
    "stability gate": "#c94f7c",
}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "fastgate",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
SECONDS = {-9: "1 ns", -8: "10 ns", -7: "100 ns", -6: "1 µs", -5: "10 µs", -4: "100 µs", -3: "1 ms",
           -2: "10 ms", -1: "100 ms", 0: "1 s", 1: "10 s", 2: "100 s"}  # fmt: skip
NOTE = """solid: fastgate
dashed: its peers

Sizes and times are logarithmic: where twice
the work takes twice the time, a line climbs
a decade in a decade."""
LINE = 12.5  # points between the middles of two labels

End = tuple[float, float, str, str]
"""Where a series ends, what it is called, its colour."""


def _label_ends(axes: Any, ends: list[End]) -> None:
    """Name each series where it ends, labels moved apart where lines end close together."""
    to_points = 72.0 / axes.figure.dpi
    wanted = sorted((axes.transData.transform((x, y))[1] * to_points, x, y, *rest) for x, y, *rest in ends)
    placed: list[float] = []
    for height, *_ in wanted:
        placed.append(max(height, placed[-1] + LINE) if placed else height)
    # Pushed up only: shift every run of touching labels down by half of what it was pushed.
    first = 0
    for last in range(1, len(placed) + 1):
        if last == len(placed) or placed[last] - placed[last - 1] > LINE + 1e-6:
            pushed = sum(placed[i] - wanted[i][0] for i in range(first, last)) / (last - first)
            placed[first:last] = [height - pushed for height in placed[first:last]]
            first = last
    for height, (own, x, y, text, colour) in zip(placed, wanted, strict=True):
        axes.annotate(
            text, (x, y), xytext=(7, height - own), textcoords="offset points", color=colour, va="center",
            annotation_clip=False,
        )  # fmt: skip


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _draw_times(axes: Any, panel: Panel, series: Sequence[Points]) -> list[End]:
    """Time against size, both logarithmic; the ends to be labelled."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[End] = []
    for points in series:
        peer = points.curve.is_peer
        colour = GREY if peer else COLOURS[points.curve.short]
        axes.plot(
            points.sizes, points.seconds, color=colour, lw=1.3 if peer else 2.2, ls=(0, (4, 2)) if peer else "-",
            marker="o", ms=2.5 if peer else 3.5, clip_on=False,
        )  # fmt: skip
        ends.append((points.sizes[-1], points.seconds[-1], points.curve.short, colour))
    axes.xaxis.set_major_locator(LogLocator(10))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(10))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: SECONDS.get(round(math.log10(value)), "")))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel(panel.time)
    return ends


def _draw_gains(axes: Any, series: Sequence[Points]) -> list[End]:
    """Threads: how many times as fast as one."""
    most = series[0].sizes[-1]
    axes.plot([1, most], [1, most], color=GREY, lw=1, ls=":")
    ends: list[End] = [(most, float(most), "ideal", GREY)]
    for points in series:
        colour = COLOURS[points.curve.short]
        gains = [points.seconds[0] / seconds for seconds in points.seconds]
        axes.plot(points.sizes, gains, color=colour, lw=2.2, marker="o", ms=3.5, clip_on=False)
        ends.append((most, gains[-1], points.curve.short, colour))
    axes.set_xticks(series[0].sizes)
    axes.set_ylim(min(0.9, *(height - 0.05 for _, height, *_ in ends)), None)
    axes.set_ylabel("times as fast as one thread")
    return ends


def draw(measured: Sequence[tuple[Panel, Sequence[Points]]], path: Path, threads: str = "threads") -> None:
    """Write the picture of all panels."""
    mpl.use("svg")
    from matplotlib import pyplot as plt

    with mpl.rc_context(STYLE):
        figure, grid = plt.subplots(2, 3, figsize=(12.6, 6.6))
        figure.subplots_adjust(left=0.08, right=0.9, top=0.94, bottom=0.085, wspace=0.78, hspace=0.42)
        cells = list(grid.flat)
        for axes, (panel, series) in zip(cells, measured, strict=False):
            axes.set_title(panel.question, loc="left", color=GREY, fontweight="bold", fontsize=11)
            axes.set_xlabel(panel.axis)
            axes.grid(axis="y", color=GREY, alpha=0.2, lw=0.6)
            ends = _draw_gains(axes, series) if panel.axis == threads else _draw_times(axes, panel, series)
            figure.canvas.draw()
            _label_ends(axes, ends)
        for axes in cells[len(measured) :]:
            axes.axis("off")
        note = cells[len(measured)] if len(measured) < len(cells) else None
        if note is not None:
            note.text(0.0, 0.95, NOTE, va="top", color=GREY, transform=note.transAxes, linespacing=1.5)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
