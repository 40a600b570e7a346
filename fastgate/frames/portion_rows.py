"""The rows of measurements as they are read: builds as they are complete, or sorted apart by way of temporary files."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.intake import samples_of
from fastgate.frames.placement import Placement
from fastgate.frames.samples import Samples
from fastgate.frames.shapes import Layout
from fastgate.frames.sources import Source, translated

__all__ = ["Opened", "builds_apart", "cases_apart", "changed", "in_order", "lock_file"]

_BATCHES_A_PORTION: Final = 4
_LOCK: Final = "lock"
_SETTLED: Final = 60.0  # seconds


class Opened(NamedTuple):
    """A source, what its columns are, and how much of it to read at a time."""

    source: Source
    layout: Layout
    trials: str
    portion_rows: int

    @property
    def build(self) -> str:
        """The column that names what is judged."""
        return self.layout.columns[self.layout.shape.keys[0]]

    @property
    def batch_rows(self) -> int:
        """How many rows to read at once."""
        return max(1, self.portion_rows // _BATCHES_A_PORTION)

    def batches(self) -> Iterator[pl.DataFrame]:
        """All rows, some at a time."""
        return self.source.batches(list(self.layout.columns.values()), self.batch_rows)

    def rows_of(self, builds: Sequence[str]) -> pl.DataFrame:
        """The rows of some builds, in the order of the table."""
        wanted = list(self.layout.columns.values())
        source, column = self.source, self.build
        chosen = pl.col(column).cast(pl.String).is_in(list(builds))
        if source.query is None:
            return source.read(wanted).filter(chosen)
        with translated("the data cannot be read", source.where):
            query = source.query(wanted)
            if query.collect_schema()[column] == pl.String:
                chosen = pl.col(column).is_in(list(builds))  # which Parquet's statistics can answer
            # Optimisations may move the filter into the file; the order of rows is kept.
            return query.filter(chosen).collect(engine="streaming")

    def samples(self, frames: Sequence[pl.DataFrame]) -> Samples:
        """The samples in some rows."""
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)
        return samples_of(frame, self.layout, self.trials, self.source)


def changed(where: str, expected: int, received: int) -> DataError:
    """What to raise where the number of rows is another one than at first."""
    return DataError(
        "the data changed while they were read",
        expected=f"{expected:,} rows, as at first",
        received=f"{received:,} rows",
        where=where,
        hint="wait until the step that writes them has ended",
    )


def in_order(
    opened: Opened, placement: Placement, left_out: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """The rows of builds as they are complete; those of builds `left_out` are dropped."""
    runs, ends, last = placement.runs, placement.ends, placement.last_rows
    if runs is None:
        raise AssertionError("builds that do not stand together")
    skipped = np.isin(np.array(placement.builds), list(left_out))[runs]
    starts = np.concatenate([[0], ends[:-1]])
    waiting: list[tuple[int, pl.DataFrame]] = []  # the first row of each, and its rows
    first = held = position = 0  # the first run that is not handed on whole; rows that are held; rows read
    for batch in opened.batches():
        waiting.append((position, batch))
        position += batch.height
        held += batch.height
        if position > placement.n_rows:
            raise changed(opened.source.where, placement.n_rows, position)
        if held < opened.portion_rows and position < placement.n_rows:
            continue
        stop = int(np.searchsorted(starts, position))
        here = np.arange(first, stop)
        ready = (last[runs[here]] <= position) & ~skipped[here]
        rest = (last[runs[here]] > position) & ~skipped[here]
        builds = sorted({placement.builds[run] for run in np.unique(runs[here[ready]])}, key=str.encode)
        frame = _rows(waiting, starts[here[ready]], ends[here[ready]])
        kept = _pieces(waiting, starts[here[rest]], ends[here[rest]])
        first = int(here[rest][0]) if rest.any() else stop
        # Runs before `first` that were kept, or handed on, must not be met again.
        skipped[here[ready]] = True
        waiting = kept
        held = sum(part.height for _, part in waiting)
        if frame is not None:
            yield frame, builds


def _pieces(
    waiting: list[tuple[int, pl.DataFrame]], starts: Any, ends: Any
) -> list[tuple[int, pl.DataFrame]]:
    """The rows start … end − 1 of each range, as far as they have been read; ranges that touch as one."""
    if starts.size == 0:
        return []
    breaks = np.flatnonzero(starts[1:] != ends[:-1])
    lows = starts[np.append(0, breaks + 1)]
    highs = ends[np.append(breaks, starts.size - 1)]
    found = []
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        for origin, frame in waiting:
            start, stop = max(low, origin), min(high, origin + frame.height)
            if start < stop:
                found.append((start, frame.slice(start - origin, stop - start)))
    return found


def _rows(waiting: list[tuple[int, pl.DataFrame]], starts: Any, ends: Any) -> pl.DataFrame | None:
    frames = [frame for _, frame in _pieces(waiting, starts, ends)]
    return pl.concat(frames, rechunk=False) if frames else None


def builds_apart(
    opened: Opened, placement: Placement, left_out: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """The rows of builds that stand anywhere, by way of temporary files."""
    builds = [name for name in placement.builds if name not in set(left_out)]
    counts = placement.counts[~np.isin(np.array(placement.builds), list(left_out))]
    # Builds in the order of their names, as many in each part as make a portion.
    parts = (np.cumsum(counts) - counts) // opened.portion_rows
    of_build = (
        pl.col(opened.build)
        .cast(pl.String)
        .replace_strict(
            pl.Series(builds, dtype=pl.String),
            pl.Series(parts, dtype=pl.Int64),
            default=None,
            return_dtype=pl.Int64,
        )
    )
    for part, frame in _apart(opened, of_build):
        yield frame, [builds[index] for index in np.flatnonzero(parts == part)]


def cases_apart(opened: Opened, n_parts: int) -> Iterator[pl.DataFrame]:
    """All rows of some cases at a time, in so many parts of about equal size."""
    case = pl.col(opened.layout.columns["case"]).cast(pl.String)
    for _, frame in _apart(opened, (case.hash(0) % n_parts).cast(pl.Int64)):
        yield frame


@contextmanager
def _spare_folder() -> Iterator[str]:
    """A temporary folder; those that killed processes have left are removed."""
    for left in Path(tempfile.gettempdir()).glob("fastgate-rows-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime < _SETTLED:
                continue  # its process may not have locked it yet
        with suppress(OSError), (left / _LOCK).open("ab") as lock:
            lock_file(lock)  # which a living process holds
            shutil.rmtree(left, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix="fastgate-rows-") as folder,
        Path(folder, _LOCK).open("ab") as lock,
    ):
        lock_file(lock)
        yield folder


def lock_file(file: IO[bytes]) -> None:
    """Lock an open file until it is closed, or the process ends; where the system has no such locks, do nothing.

    Raises
    ------
    BlockingIOError
        When another process has it locked.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _apart(opened: Opened, number: pl.Expr) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each part, part by part; those without a number are dropped."""
    with _spare_folder() as folder:
        hint = f"set TMPDIR to a folder with more room than {folder}, or allow more memory"
        for count, batch in enumerate(opened.batches()):
            with translated("the rows cannot be sorted apart", opened.source.where, hint):
                split = batch.with_columns(number.alias("")).drop_nulls("")
                for key, rows in split.partition_by("", as_dict=True, include_key=False).items():
                    rows.write_ipc(Path(folder) / f"{key[0]:06d}-{count:06d}.arrow", compression="lz4")
        files = sorted(Path(folder).glob("*.arrow"))
        for part in sorted({int(file.name[:6]) for file in files}):
            with translated("the rows sorted apart cannot be read", opened.source.where, hint):
                mine = [pl.read_ipc(file) for file in files if int(file.name[:6]) == part]
                frame = pl.concat(mine, rechunk=True)
            yield part, frame
