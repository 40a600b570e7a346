"""Measurements a portion of builds at a time, so that any number of builds takes no more memory than some."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.frames.intake import samples_of
from fastgate.frames.packing import check_trials
from fastgate.frames.placement import Placement, find_placement
from fastgate.frames.reading import open_source
from fastgate.frames.samples import Content, Samples
from fastgate.frames.shapes import Layout, recognise
from fastgate.frames.sources import Source, translated
from fastgate.progress import Listener, Step, unheard

__all__ = ["MEMORY", "Portion", "Portions", "open_portions"]

MEMORY: Final = 2 << 30
"""Bytes that reading takes at most unless told otherwise."""

# What a row takes at the peak, with everything that is made of it (measured: 210 to 330 bytes, the rows of one batch in
# flight included); and, without being read in batches, in random order (110 to 130).
_BYTES_A_ROW: Final = 512
_BYTES_A_ROW_AT_ONCE: Final = 128
# What a value of a packed row takes.
_BYTES_A_VALUE: Final = 64
# A file that is smaller is read at once: batches have nothing to save.
_SMALL_FILE: Final = 32 << 20
_BATCHES_A_PORTION: Final = 4


class Portion(NamedTuple):
    """Some builds, with everything that was measured of them and of the baselines."""

    samples: Samples
    builds: list[str]
    """Without the baselines, sorted."""
    content: Content
    """What the samples hold, without the baselines."""


@dataclass(frozen=True, eq=False)
class Portions:
    """Measurements that can be had build by build.

    Parameters
    ----------
    shape : {"runs", "pairs"}
        As of `Samples`.
    builds : list of str
        Every build (of pairs: every candidate), sorted.
    n_rows : int
        The number of rows of the source.
    whole : Samples or None
        All of them, where they are in memory already.
    """

    shape: Literal["runs", "pairs"]
    builds: list[str]
    n_rows: int
    whole: Samples | None
    _opened: _Opened | None = None
    _placement: Placement | None = None

    def baselines(self, names: Sequence[str]) -> Samples | None:
        """The measurements of some builds; of `whole` all there is. None where none of them was measured.

        Of pairs, a row of which has its own measurement of the baseline, there is nothing to know beforehand.
        """
        if self.whole is not None:
            return self.whole
        found = [name for name in names if name in set(self.builds)]
        if self.shape == "pairs" or not found or self._opened is None:
            return None
        return self._opened.samples([self._opened.rows_of(found)])

    def read(self, names: Sequence[str] = (), listener: Listener = unheard) -> Iterator[Portion]:
        """All measurements, portion by portion, each build in one of them.

        Parameters
        ----------
        names : sequence of str, optional
            The baselines, which every portion has besides its builds; of pairs none.
        listener : callable, optional
            Told of the rows read.

        Raises
        ------
        DataError
            As `read_samples`; also when the table changes while it is read.
        """
        if self.whole is not None or self._opened is None or self._placement is None:
            assert self.whole is not None
            builds = [name for name in self.builds if name not in set(names)]
            listener(Step("reading", self.n_rows, self.n_rows, "rows"))
            yield Portion(self.whole, builds, self.whole.content)
            return
        opened, placement = self._opened, self._placement
        found = [name for name in names if name in set(self.builds)] if self.shape == "runs" else []
        beside = opened.rows_of(found) if found else None
        without = opened.samples([beside]).content if beside is not None else None
        held = placement.most_held()
        in_order = held is not None and held <= max(opened.portion_rows, int(placement.counts.max()))
        frames = _in_order(opened, placement, found) if in_order else _sorted_apart(opened, placement, found)
        done = 0 if beside is None else beside.height
        for frame, builds in frames:
            samples = opened.samples([*([] if beside is None else [beside]), frame])
            content = samples.content if without is None else samples.content.plus(without, -1)
            done += frame.height
            listener(Step("reading", done, placement.n_rows, "rows"))
            yield Portion(samples, builds, content)
        if done != placement.n_rows:
            raise _changed(opened.source.where, placement.n_rows, done)


class _Opened(NamedTuple):
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
        return max(1, self.portion_rows // _BATCHES_A_PORTION)

    def batches(self) -> Iterator[pl.DataFrame]:
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
        frame = frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)
        return samples_of(frame, self.layout, self.trials, self.source)


def open_portions(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    shape: str | None = None,
    trials: str = "mean",
    memory: int | None = None,
) -> Portions:
    """Measurements to be read portion by portion where they are many, at once where they are few.

    Parameters
    ----------
    source, columns, shape, trials
        As `read_samples` takes them; or `Samples`.
    memory : int, optional
        Bytes that reading may take, 2 GiB unless given. A portion has at least one build: a build that alone
        takes more, or baselines that do, take what they take.

    Raises
    ------
    ArgumentError, DataError
        As `read_samples`.

    Notes
    -----
    Of a file larger than 32 MiB the column of builds is read first. Where the rows of a build stand near one another,
    the file is then read from begin to end, in batches, and its builds handed on as they are complete. Otherwise
    its rows are sorted apart into temporary files (in `tempfile.gettempdir()`, about 16 bytes a row), unless
    they fit into memory.
    """
    if isinstance(source, Samples):
        return _whole(source)
    check_trials(trials)
    budget = MEMORY if memory is None else memory
    if not isinstance(budget, int) or budget < 1 << 20:
        raise ArgumentError(
            "that is not enough memory",
            expected="bytes, 1 MiB at least",
            received=repr(memory),
            where="memory",
        )
    opened = open_source(source)
    layout = recognise(opened.columns, columns, shape, opened.where)
    at_once = layout.shape.name == "moments" or (
        memory is None and opened.query is not None and opened.n_bytes < _SMALL_FILE
    )
    if opened.query is None and not at_once:
        frame = opened.read(list(layout.columns.values()))
        opened = Source(opened.where, tuple(frame.columns), opened.textual, frame.select)
        at_once = memory is None and frame.height * _BYTES_A_ROW <= budget and not _packed(layout)
    if at_once:
        return _whole(_all(opened, layout, trials))
    rows = max(1, budget // _bytes_a_row(opened, layout))
    made = _Opened(opened, layout, trials, rows)
    placement = find_placement(opened, made.build, layout.shape.keys[0], 4 * rows)
    held = placement.most_held()
    fits = placement.n_rows <= rows
    # Rows of builds that do not stand together would have to be sorted apart.
    scattered = held is None or held > max(rows, int(placement.counts.max()))
    if fits or (scattered and not _packed(layout) and placement.n_rows * _BYTES_A_ROW_AT_ONCE <= budget):
        return _whole(_all(opened, layout, trials))
    kind: Literal["runs", "pairs"] = "pairs" if "candidate" in layout.shape.keys else "runs"
    return Portions(kind, placement.builds, placement.n_rows, None, made, placement)


def _packed(layout: Layout) -> bool:
    return layout.shape.name.startswith("packed")


def _bytes_a_row(source: Source, layout: Layout) -> int:
    if not _packed(layout):
        return _BYTES_A_ROW
    lists = [layout.columns[name] for name in layout.shape.data]
    first = next(source.batches(lists, 1000))
    with translated("the lists cannot be read", source.where):
        lengths = first.select(pl.col(name).list.len().mean() for name in lists).row(0)
    return _BYTES_A_ROW + int(_BYTES_A_VALUE * sum(length or 0 for length in lengths))


def _all(source: Source, layout: Layout, trials: str) -> Samples:
    return samples_of(source.read(list(layout.columns.values())), layout, trials, source)


def _whole(samples: Samples) -> Portions:
    column = "build" if samples.shape == "runs" else "candidate"
    builds = samples.index[column].unique().cast(pl.String).to_list()
    return Portions(samples.shape, sorted(builds, key=str.encode), samples.n_rows, samples)


def _changed(where: str, expected: int, received: int) -> DataError:
    return DataError(
        "the data changed while they were read",
        expected=f"{expected:,} rows, as at first",
        received=f"{received:,} rows",
        where=where,
        hint="wait until the step that writes them has ended",
    )


def _in_order(
    opened: _Opened, placement: Placement, left_out: Sequence[str]
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
            raise _changed(opened.source.where, placement.n_rows, position)
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


def _sorted_apart(
    opened: _Opened, placement: Placement, left_out: Sequence[str]
) -> Iterator[tuple[pl.DataFrame, list[str]]]:
    """The rows of builds that stand anywhere, by way of temporary files."""
    builds = [name for name in placement.builds if name not in set(left_out)]
    counts = placement.counts[~np.isin(np.array(placement.builds), list(left_out))]
    # Builds in the order of their names, as many in each part as make a portion.
    parts = (np.cumsum(counts) - counts) // opened.portion_rows
    part_of = pl.Series(parts, dtype=pl.Int64)
    known = pl.Series(builds, dtype=pl.String)
    column = pl.col(opened.build).cast(pl.String)
    with tempfile.TemporaryDirectory(prefix="fastgate-") as folder:
        hint = f"set TMPDIR to a folder with more room than {folder}, or allow more memory"
        for number, batch in enumerate(opened.batches()):
            with translated("the rows cannot be sorted apart", opened.source.where, hint):
                where = column.replace_strict(known, part_of, default=None, return_dtype=pl.Int64)
                split = batch.with_columns(where.alias("")).drop_nulls("")
                for key, rows in split.partition_by("", as_dict=True, include_key=False).items():
                    name = f"{key[0]:06d}-{number:06d}.arrow"
                    rows.write_ipc(Path(folder) / name, compression="lz4")
        for part in np.unique(parts).tolist():
            mine = [builds[index] for index in np.flatnonzero(parts == part)]
            with translated("the rows sorted apart cannot be read", opened.source.where, hint):
                files = sorted(Path(folder).glob(f"{part:06d}-*.arrow"))
                frame = pl.concat([pl.read_ipc(file) for file in files], rechunk=True)
            yield frame, mine
