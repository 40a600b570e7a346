"""Measurements a portion of builds at a time, so that any number of builds takes no more memory than some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from fastgate import threads
from fastgate.errors import ArgumentError
from fastgate.frames.intake import samples_of
from fastgate.frames.merging import merged_samples
from fastgate.frames.packing import check_trials
from fastgate.frames.placement import Placement, find_placement
from fastgate.frames.portion_rows import Opened, builds_apart, cases_apart, changed, in_order
from fastgate.frames.reading import open_source
from fastgate.frames.samples import Content, Samples
from fastgate.frames.shapes import Layout, recognise
from fastgate.frames.sources import Source, translated
from fastgate.progress import Listener, Step, unheard

__all__ = ["MEMORY", "Portion", "Portions", "open_portions"]

MEMORY: Final = 2 << 30
"""Bytes that reading takes at most unless told otherwise."""

# What a row takes at the peak with everything that is made of it: in batches, of which some are in flight beside those
# of the portion (measured: 210 to 330 bytes), and at once (100 to 130).
_BYTES_A_ROW: Final = 512
_BYTES_A_ROW_AT_ONCE: Final = 128
# What a value of a packed row takes.
_BYTES_A_VALUE: Final = 64
# A file that is smaller is read at once: batches have nothing to save.
_SMALL_FILE: Final = 32 << 20


class Portion(NamedTuple):
    """Some builds, with everything that was measured of them and of the baselines."""

    samples: Samples
    builds: list[str]
    """Without the baselines, sorted."""
    content: Content
    """What the samples hold; the baselines count in the first portion alone, so that all add up to the whole."""


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
        All of them, where they are in memory already, or their moments where these are what fits into it.
    content : Content or None
        What `whole` holds.
    """

    shape: Literal["runs", "pairs"]
    builds: list[str]
    n_rows: int
    whole: Samples | None
    content: Content | None = None
    _opened: Opened | None = None
    _placement: Placement | None = None
    _beside: dict[tuple[str, ...], pl.DataFrame] = field(default_factory=dict)

    def baselines(self, names: Sequence[str]) -> Samples | None:
        """The measurements of some builds; of `whole` all there is. None where none of them was measured.

        Of pairs, a row of which has its own measurement of the baseline, there is nothing to know beforehand.
        """
        if self.whole is not None:
            return self.whole
        rows = self._rows_of(self._measured(names))
        return None if rows is None or self._opened is None else self._opened.samples([rows])

    def _measured(self, names: Sequence[str]) -> tuple[str, ...]:
        """The baselines that have rows of their own."""
        known = set(self.builds)
        return tuple(name for name in names if name in known) if self.shape == "runs" else ()

    def _rows_of(self, builds: tuple[str, ...]) -> pl.DataFrame | None:
        """The rows of the baselines, read once: in a table in any order that takes a pass over all of it."""
        if builds and builds not in self._beside and self._opened is not None:
            self._beside[builds] = self._opened.rows_of(builds)
        return self._beside.get(builds)

    def read(self, names: Sequence[str] = (), listener: Listener = unheard) -> Iterator[Portion]:
        """All measurements, portion by portion, each build in one of them; the next is read while one is in use.

        Parameters
        ----------
        names : sequence of str, optional
            The baselines, which every portion has besides its builds; of pairs none.
        listener : callable, optional
            Told of the rows read, in another thread.

        Raises
        ------
        DataError
            As `read_samples`; also when the table changes while it is read.
        """
        return threads.ahead(self._read(names, listener))

    def _read(self, names: Sequence[str], listener: Listener) -> Iterator[Portion]:
        if self.whole is not None and self.content is not None:
            builds = [name for name in self.builds if name not in set(names)]
            listener(Step("reading", self.n_rows, self.n_rows, "rows"))
            yield Portion(self.whole, builds, self.content)
            return
        if self._opened is None or self._placement is None:
            raise AssertionError("neither measurements nor where they are")
        opened, placement = self._opened, self._placement
        found = self._measured(names)
        beside = self._rows_of(found)
        known = opened.samples([beside]).content if beside is not None else None
        held = placement.most_held()
        stands = held is not None and held <= max(opened.portion_rows, int(placement.counts.max()))
        frames = in_order(opened, placement, found) if stands else builds_apart(opened, placement, found)
        done = 0 if beside is None else beside.height
        for number, (frame, builds) in enumerate(frames):
            samples = opened.samples([*([] if beside is None else [beside]), frame])
            content = samples.content
            if known is not None and number > 0:
                content = content.plus(known, -1)
            done += frame.height
            listener(Step("reading", done, placement.n_rows, "rows"))
            yield Portion(samples, builds, content)
        if done != placement.n_rows:
            raise changed(opened.source.where, placement.n_rows, done)


def open_portions(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    shape: str | None = None,
    trials: str = "mean",
    memory: int | None = None,
    beside: Sequence[str] = (),
    merge: bool = False,
    listener: Listener = unheard,
) -> Portions:
    """Measurements to be read portion by portion where they are many, at once where they are few.

    Parameters
    ----------
    source, columns, shape, trials
        As `read_samples` takes them; or `Samples`.
    memory : int, optional
        Bytes that reading may take, 2 GiB unless given. A portion has at least one build and the baselines: these
        take what they take, unless moments may take their place.
    beside : sequence of str, optional
        The baselines, which every portion has besides its builds.
    merge : bool, optional
        Whether moments suffice where one build and the baselines do not fit into memory.
    listener : callable, optional
        Told of the rows in which builds are looked for.

    Raises
    ------
    ArgumentError, DataError
        As `read_samples`.

    Notes
    -----
    Of a file larger than 32 MiB the column of builds is read first. Where the rows of a build stand near one another,
    the file is then read from begin to end, in batches, and its builds handed on as they are complete. Otherwise
    its rows are sorted apart into temporary files (in `tempfile.gettempdir()`, about 16 bytes a row), unless
    they fit into memory. With `merge`, rows of builds that are too large are sorted apart by case, and of each part of
    the cases only the moments are kept: then memory does not depend on the length of the file at all.
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
    listener(Step("reading", 0, None, "rows"))
    layout = recognise(opened.columns, columns, shape, opened.where)
    at_once = layout.shape.name == "moments" or (
        memory is None and opened.query is not None and opened.n_bytes < _SMALL_FILE
    )
    if opened.query is None and not at_once:
        frame = opened.read(list(layout.columns.values()))
        opened = Source(
            opened.where, tuple(frame.columns), opened.textual, frame.select, count=lambda: frame.height
        )
    if at_once:
        return _whole(_all(opened, layout, trials))
    bytes_a_row = _bytes_a_row(opened, layout)
    most = budget // (bytes_a_row if _packed(layout) else _BYTES_A_ROW_AT_ONCE)
    if opened.count is not None and opened.count() <= most:
        return _whole(_all(opened, layout, trials))
    made = Opened(opened, layout, trials, max(1, budget // bytes_a_row))
    placement = find_placement(opened, made.build, layout.shape.keys[0], 4 * made.portion_rows, listener)
    if placement.n_rows <= most:
        return _whole(_all(opened, layout, trials))
    together = sum(placement.rows_of(beside)) + int(placement.counts.max())
    if merge and together > most and layout.shape.name == "runs":
        parts = cases_apart(made, -(-placement.n_rows // most))
        return _whole(*merged_samples((made.samples([part]) for part in parts), placement.n_rows))
    kind: Literal["runs", "pairs"] = "pairs" if "candidate" in layout.shape.keys else "runs"
    return Portions(kind, placement.builds, placement.n_rows, None, None, made, placement)


def _packed(layout: Layout) -> bool:
    return layout.shape.name.startswith("packed")


def _bytes_a_row(source: Source, layout: Layout) -> int:
    if not _packed(layout):
        return _BYTES_A_ROW
    lists = [layout.columns[name] for name in layout.shape.data]
    source.require(lists)
    with translated("the lists cannot be read", source.where):
        if source.list_values is not None and source.count is not None:
            length = source.list_values(lists) / max(source.count(), 1)
        else:
            query = source.query(lists) if source.query is not None else source.fetch(lists).lazy()
            lengths = (
                query.head(1000).collect().select(pl.col(name).list.len().mean() for name in lists).row(0)
            )
            length = sum(mean or 0 for mean in lengths)
    return _BYTES_A_ROW + int(_BYTES_A_VALUE * length)


def _all(source: Source, layout: Layout, trials: str) -> Samples:
    return samples_of(source.read(list(layout.columns.values())), layout, trials, source)


def _whole(samples: Samples, content: Content | None = None) -> Portions:
    column = "build" if samples.shape == "runs" else "candidate"
    builds = samples.index[column].unique().cast(pl.String).to_list()
    known = samples.content if content is None else content
    return Portions(samples.shape, sorted(builds, key=str.encode), samples.n_rows, samples, known)
