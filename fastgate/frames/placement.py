"""Where the rows of each build stand in a table that is read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.frames.codes import encode_piece, words_of
from fastgate.frames.columns import key_column
from fastgate.frames.sources import Source
from fastgate.progress import Listener, Step, unheard

__all__ = ["Placement", "find_placement"]

Integers = npt.NDArray[np.int64]

_NOTHING: Final = np.empty(0, np.int64)
# Of a table in more runs only the builds and their numbers of rows are kept.
_MOST_RUNS: Final = 1 << 20
_CHUNK_ROWS: Final = 1 << 14


class Placement(NamedTuple):
    """Where builds stand."""

    builds: list[str]
    """Their names, sorted."""
    counts: Integers
    """The number of rows of each build."""
    runs: Integers | None
    """Which build each run of rows with the same build is of, in the order of the table; None for too many runs."""
    ends: Integers
    """The row after the last one of each run."""

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return int(self.counts.sum())

    def rows_of(self, builds: Sequence[str]) -> list[int]:
        """The numbers of rows of some builds, those that are there."""
        rows = dict(zip(self.builds, self.counts.tolist(), strict=True))
        return [rows[build] for build in builds if build in rows]

    @property
    def last_rows(self) -> Integers:
        """The row after the last one of each build."""
        ends = np.zeros(len(self.builds), np.int64)
        if self.runs is not None:
            ends[self.runs] = self.ends  # of equal indices the last one counts
        return ends

    def most_held(self) -> int | None:
        """The most rows of builds of which not all rows have been met, reading from the first row to the last.

        None where there are too many runs to tell.
        """
        if self.runs is None:
            return None
        whole = np.searchsorted(self.ends, np.sort(self.last_rows))
        complete = np.zeros(self.ends.size, np.int64)
        np.add.at(complete, whole, self.counts[np.argsort(self.last_rows, kind="stable")])
        before = np.concatenate([[0], np.cumsum(complete)[:-1]])
        return int(np.max(self.ends - before))


def find_placement(
    source: Source, column: str, name: str, n_rows: int, listener: Listener = unheard
) -> Placement:
    """Where the rows of each build stand, from a pass over one column.

    Parameters
    ----------
    source : Source
    column : str
        The column with the builds.
    name : str
        What messages call it.
    n_rows : int
        How many rows to read at a time.
    listener : callable, optional
        Told of the rows read.

    Raises
    ------
    DataError
        When the column cannot be read, or names nothing in some rows.
    """
    from fastgate.kernels.runs import run_starts

    known: dict[str, int] = {}
    counts: list[int] = []
    runs: list[Integers] | None = []
    ends: list[Integers] = []
    done = 0
    for series in _chunks(source, column, name, n_rows):
        words, width, _owner = words_of(series)
        starts = np.empty(max(len(series) // 4, 256), np.int64)
        found = run_starts(words, width, starts)
        starts = starts[:found] if found >= 0 else np.arange(len(series))
        sizes = np.diff(starts, append=len(series))
        codes, names = _codes(series.gather(starts))
        numbers = np.array([known.setdefault(build, len(known)) for build in names], np.int64)
        counts += [0] * (len(known) - len(counts))
        rows = np.bincount(codes, sizes, len(names)).astype(np.int64)
        for number, more in zip(numbers.tolist(), rows.tolist(), strict=True):
            counts[number] += more
        if runs is not None:
            runs.append(numbers[codes])
            ends.append(done + starts + sizes)
            if sum(part.size for part in runs) > _MOST_RUNS:
                runs, ends = None, []
        done += len(series)
        listener(Step("finding builds", done, None, "rows"))
    listener(Step("finding builds", done, done, "rows"))
    builds = sorted(known, key=str.encode)
    order = np.array([known[build] for build in builds])
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    merged = None if runs is None else ranks[np.concatenate(runs)]
    return Placement(builds, np.array(counts, np.int64)[order], *_merge(merged, ends))


def _chunks(source: Source, column: str, name: str, n_rows: int) -> Iterator[pl.Series]:
    """The column chunk by chunk: to put chunks of text together takes longer than all that is done with them."""
    for batch in source.batches([column], n_rows):
        series = key_column(batch.to_series(), name, source.where)
        if series.n_chunks() > 16 + len(series) // _CHUNK_ROWS:
            series = series.rechunk()
        yield from (chunk for chunk in series.get_chunks() if len(chunk))


def _codes(series: pl.Series) -> tuple[Integers, list[str]]:
    codes = np.empty(len(series), np.int32)
    names = encode_piece(series.rechunk(), codes).to_list()
    return codes.astype(np.int64), names


def _merge(runs: Integers | None, ends: list[Integers]) -> tuple[Integers | None, Integers]:
    """Runs of the same build that stand side by side as one: batches cut them, and so do buffers of long names."""
    if runs is None:
        return None, _NOTHING
    last = np.append(runs[1:] != runs[:-1], True)
    return runs[last], np.concatenate(ends)[last]
