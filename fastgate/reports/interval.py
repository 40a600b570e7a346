"""Bootstrap intervals for people, programs and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Final

from rich.console import RenderableType
from rich.text import Text

from fastgate.reports import words
from fastgate.reports.console import indented, new_table, rendered

if TYPE_CHECKING:
    import polars as pl

    from fastgate.reports.outputs import Output

__all__ = ["FORMATS", "interval_report", "to_dict", "write_intervals"]

FORMATS: Final = {
    ".parquet": "a Parquet file",
    ".csv": "a CSV file",
    ".json": "JSON: the settings, and a list of cells",
}
_ROWS: Final = 40


def to_dict(intervals: pl.DataFrame) -> dict[str, Any]:
    """The intervals as plain data without NaN: what all cells have in common, and the cells.

    Parameters
    ----------
    intervals : DataFrame
        From `fastgate.intervals`.
    """
    shared = ("measure", "method", "confidence_level")
    head = {name: intervals[name][0] if intervals.height else None for name in shared}
    return {**head, "cells": intervals.drop(shared).to_dicts()}


def write_intervals(intervals: pl.DataFrame, output: Output) -> None:
    """Write the intervals aside and rename the file.

    Raises
    ------
    DataError
        When it cannot be written.
    """
    from fastgate.reports.outputs import write_data

    write_data(output, lambda: to_dict(intervals), intervals)


def interval_report(intervals: pl.DataFrame, stream: IO[str], *, saved: bool = False) -> str:
    """The intervals as text for `stream`.

    Parameters
    ----------
    intervals : DataFrame
        From `fastgate.intervals`.
    stream : text file
        Where the text will be written: gives width, colours and encoding.
    saved : bool, optional
        Whether a file holds all of them.
    """
    return rendered(list(_parts(intervals, saved)), stream)


def _parts(intervals: pl.DataFrame, saved: bool) -> Iterator[RenderableType]:
    first = intervals.row(0, named=True)
    against = "baseline" in intervals.columns
    what = "the difference in " if against and first["measure"] != "ratio_of_means" else ""
    level = words.percent(first["confidence_level"])
    yield Text(
        f"{level} {words.INTERVALS[first['method']]} intervals of {what}{first['measure']}: {_engines(intervals)}"
    )
    yield ""
    keys = ["candidate", "baseline", "suite", "kpi"] if against else ["build", "suite", "kpi"]
    table = new_table()
    for key in keys:
        table.add_column(key, overflow="fold")
    for heading in ("estimate", "interval", "half width", "n"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    table.add_column("status", overflow="fold")
    for row in intervals.head(_ROWS).iter_rows(named=True):
        sound = row["status"] == "ok"
        sizes = [words.count(row[name]) for name in ("n", "n_baseline") if name in row]
        missing = f" ({words.count(row['n_missing'])} missing)" if row["n_missing"] else ""
        table.add_row(
            *(Text(words.name(row[key])) for key in keys),
            words.number(row["estimate"]),
            words.interval(row["ci_low"], row["ci_high"], 4),
            words.number(row["half_width"], 3),
            ", ".join(dict.fromkeys(sizes)) + missing,
            row["engine"],
            Text(row["status"].replace("_", " "), style="" if sound else "magenta"),
        )
    yield indented(table)
    more = intervals.height - _ROWS
    if more > 0:
        where = "; the file holds all" if saved else "; an output (-o) or --json holds all"
        yield indented(Text(f"and {words.plural(more, 'more cell')}{where}", style="dim"))
    dropped = intervals.filter(intervals["n_missing"] > 0)
    if dropped.height:
        total = words.plural(int(dropped["n_missing"].sum()), "missing value")
        yield ""
        yield Text(f"{words.plural(dropped.height, 'cell')} with missing values: {total}, dropped")
    unsound = intervals.filter(intervals["status"] != "ok")
    if unsound.height:
        counts = unsound["status"].value_counts(sort=True).iter_rows()
        kinds = words.listing([f"{words.count(n)} {status.replace('_', ' ')}" for status, n in counts])
        yield ""
        yield Text(f"{words.plural(unsound.height, 'cell')} without an interval to be trusted: {kinds}")


def _engines(intervals: pl.DataFrame) -> str:
    """``300 cells: 250 exact, 50 saddlepoint``."""
    counts = intervals["engine"].value_counts(sort=True).iter_rows()
    by = ", ".join(f"{words.count(n)} {engine}" for engine, n in counts)
    return f"{words.plural(intervals.height, 'cell')} ({by})"
