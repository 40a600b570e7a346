"""Rows to cells: dense codes for keys, and every row's place, by hashing and counting, never by sorting rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads

__all__ = [
    "Coded",
    "Grouped",
    "Pieces",
    "code_names",
    "encode_piece",
    "for_each",
    "group",
    "pieces_of",
    "place_rows",
    "rank_texts",
    "words_of",
]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Pieces = list[tuple[int, int]]

# Rows a piece: enough to bury what a piece costs (about 20 µs), few enough to stay in a core's cache.
_PIECE_ROWS = 1 << 18
_KEY_LIMIT = 2**62
# Bytes of text that Arrow keeps in a string view itself.
_VIEW_BYTES = 12
_PROBE_ROWS = 4096
_NO_TEXT = pl.Series(dtype=pl.String)
_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of names as numbers.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_rows,)
        Codes that mean something within a piece only.
    ranks : list of ndarray of int64
        For each piece: from code to rank.
    size : int
        Ranks are 0 … size − 1, in the order of the names.
    """

    codes: npt.NDArray[np.int32]
    ranks: list[Integers]
    size: int

    def every(self, pieces: Pieces) -> Integers:
        """The ranks of all rows."""
        from fastgate.kernels import grouping

        ranks = np.zeros(self.codes.size, np.int64)

        def fold(number: int) -> None:
            start, stop = pieces[number]
            grouping.fold(ranks[start:stop], self.codes[start:stop], self.ranks[number], self.size)

        for_each(fold, len(pieces), ranks.size)
        return ranks


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows grouped by a combination of keys, the groups in the order of their names.

    Parameters
    ----------
    coded : Coded
        The group of each row.
    first_rows : ndarray of int64, shape (n_groups,)
        A row of each group.
    keys : dict of str to polars.Series of Enum
        For each key its name in each group.
    """

    coded: Coded
    first_rows: Integers
    keys: dict[str, pl.Series]

    def __len__(self) -> int:
        return self.coded.size


def pieces_of(columns: Sequence[pl.Series]) -> Pieces:
    """Ranges of rows that lie in one chunk of every column and are not too long."""
    n = len(columns[0])
    cuts = {0, n}
    for column in columns:
        cuts.update(np.cumsum(column.chunk_lengths()).tolist())
    pieces: Pieces = []
    for start, stop in pairwise(sorted(cuts)):
        parts = -(-(stop - start) // _PIECE_ROWS)
        bounds = np.linspace(start, stop, parts + 1).astype(np.int64).tolist()
        pieces.extend(pairwise(bounds))
    return pieces


def for_each(task: Callable[[int], None], n_tasks: int, n_rows: int) -> None:
    """Run a task for each of its numbers, on all threads where there are many rows."""

    def run(start: int, stop: int) -> None:
        for number in range(start, stop):
            task(number)

    threads.run(run, n_tasks, work=5.0 * n_rows / max(n_tasks, 1))


def words_of(piece: pl.Series) -> tuple[npt.NDArray[np.int64], int, Any]:
    """One chunk of a key column as machine words, the words per row, and what keeps them alive."""
    if piece.dtype == pl.String:
        array = piece.to_arrow(compat_level=pl.CompatLevel.newest())
        words = np.frombuffer(array.buffers()[1], np.int64)
        return words[2 * array.offset : 2 * (array.offset + len(array))], 2, array
    numbers = piece.to_physical().to_numpy()
    if numbers.dtype == np.uint64:
        numbers = numbers.view(np.int64)
    return np.ascontiguousarray(numbers, np.int64), 1, numbers


def code_names(column: pl.Series, pieces: Pieces) -> tuple[Coded, pl.Series]:
    """The column in codes, and its names, sorted by their bytes; a rank is a position among them.

    Parameters
    ----------
    column : polars.Series
        As `key_column` returns it.
    pieces : list of (int, int)
        Ranges of rows, as `pieces_of` this column and others.
    """
    codes = np.empty(len(column), np.int32)
    texts = [_NO_TEXT] * len(pieces)

    def encode(number: int) -> None:
        start, stop = pieces[number]
        texts[number] = encode_piece(column.slice(start, stop - start), codes[start:stop])

    for_each(encode, len(pieces), codes.size)
    ranks, names = rank_texts(texts)
    return Coded(codes, ranks, len(names)), names


def encode_piece(piece: pl.Series, codes: npt.NDArray[np.int32]) -> pl.Series:
    """Write the piece's codes; its distinct names, by code."""
    from fastgate.kernels import grouping

    words, width, _owner = words_of(piece)
    firsts = np.empty(codes.size, np.int64)
    # A view begins with the length of its text, as an int32.
    long = width == 2 and bool(words.view(np.int32)[::4].max() > _VIEW_BYTES)
    if long:
        probe = min(codes.size, _PROBE_ROWS)
        if grouping.encode(words[: 2 * probe], 2, codes[:probe], firsts) > probe // 2:
            # Every row has a text of its own, though perhaps a repeated one: 13 ns a row against 50.
            words, width, long = _categories(piece), 1, False
    distinct = grouping.encode(words, width, codes, firsts)
    names = piece.gather(firsts[:distinct])
    if long:
        merged = np.empty(distinct, np.int32)
        fewer = grouping.encode(_categories(names), 1, merged, firsts)
        if fewer < distinct:
            np.take(merged, codes, out=codes)
            names = names.gather(firsts[:fewer])
    return names.cast(pl.String)


def _categories(texts: pl.Series) -> Integers:
    """A number for each text, by its content; a string view tells only where a longer text lies."""
    return texts.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)


def rank_texts(texts: list[pl.Series]) -> tuple[list[Integers], pl.Series]:
    """For each list of names their ranks among all, and all names in order."""
    every = pl.concat([text.rename("name") for text in texts])
    names = every.unique().sort()
    numbered = pl.DataFrame({"name": names, "rank": np.arange(len(names))})
    ranks = every.to_frame().join(numbered, on="name", how="left", maintain_order="left")["rank"].to_numpy()
    return _split(ranks, [len(text) for text in texts]), names


def _split(array: Integers, sizes: list[int]) -> list[Integers]:
    return [np.ascontiguousarray(part) for part in np.split(array, np.cumsum(sizes)[:-1])]


def group(columns: dict[str, pl.Series], shared: Sequence[Sequence[str]], pieces: Pieces) -> Grouped:
    """The groups of rows that agree in every column, in the order of the first, then the second, … column.

    Parameters
    ----------
    columns : dict of str to polars.Series
        As `key_column` returns them, of equal lengths.
    shared : sequence of sequence of str
        The names of the columns, those together that name the same kind of thing, and so share an Enum.
    pieces : list of (int, int)
        Ranges of rows, as `pieces_of` the columns.
    """
    from fastgate.kernels import grouping

    n_rows = pieces[-1][1]
    codes = np.empty(n_rows, np.int32)
    texts = {name: [_NO_TEXT] * len(pieces) for name in columns}
    parts = {name: [_NO_ROWS] * len(pieces) for name in columns}
    rows = [_NO_ROWS] * len(pieces)

    def encode(number: int) -> None:
        # Keys are encoded and combined while the piece is in the cache; of its rows only the group is kept.
        start, stop = pieces[number]
        local = {name: np.empty(stop - start, np.int32) for name in columns}
        for name, column in columns.items():
            texts[name][number] = encode_piece(column.slice(start, stop - start), local[name])
        key = np.zeros(stop - start, np.int64)
        firsts = np.empty(stop - start, np.int64)
        size = 1
        for name in columns:
            distinct = len(texts[name][number])
            if size * distinct > _KEY_LIMIT:
                size = grouping.encode(key, 1, codes[start:stop], firsts)
                key = codes[start:stop].astype(np.int64)
            grouping.append(key, local[name], distinct)
            size *= distinct
        firsts = firsts[: grouping.encode(key, 1, codes[start:stop], firsts)]
        for name in columns:
            parts[name][number] = local[name][firsts].astype(np.int64)
        rows[number] = firsts + start

    for_each(encode, len(pieces), n_rows * (1 + len(columns)))
    every = np.concatenate(rows)
    keys: dict[str, tuple[Integers, pl.Series]] = {}
    for names in shared:
        ranks, known = rank_texts([text for name in names for text in texts[name]])
        for name in names:
            ours, ranks = ranks[: len(pieces)], ranks[len(pieces) :]
            rank = np.concatenate([rank[part] for rank, part in zip(ours, parts[name], strict=True)])
            keys[name] = rank, known
    order, merged = _distinct([keys[name] for name in columns])
    chosen = {
        name: known.cast(pl.Enum(known)).gather(rank[order]).alias(name)
        for name, (rank, known) in keys.items()
    }
    ranks = _split(merged, [part.size for part in rows])
    return Grouped(Coded(codes, ranks, order.size), every[order], {name: chosen[name] for name in columns})


def _distinct(keys: Sequence[tuple[Integers, pl.Series]]) -> tuple[Integers, Integers]:
    """Where each distinct combination of ranks stands first, in their order; and which one each is."""
    from fastgate.kernels import grouping

    key = np.zeros(keys[0][0].size, np.int64)
    size = 1
    for rank, known in keys:
        if size * len(known) > _KEY_LIMIT:
            unique, key = np.unique(key, return_inverse=True)
            size = unique.size
        key = key * len(known) + rank
        size *= len(known)
    if np.all(key[1:] > key[:-1]):
        return np.arange(key.size), np.arange(key.size)
    codes = np.empty(key.size, np.int32)
    firsts = np.empty(key.size, np.int64)
    firsts = firsts[: grouping.encode(key, 1, codes, firsts)]
    order = np.argsort(key[firsts])
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return firsts[order], place[codes]


def place_rows(
    groups: Coded, keys: Sequence[Coded], columns: Sequence[pl.Series], pieces: Pieces
) -> tuple[Integers, Integers, Floats]:
    """Rows put together by group, within a group in the order in which they stand.

    Parameters
    ----------
    groups : Coded
        The group of each row.
    keys : sequence of Coded
        Combined into one number a row: with two, ``first * size of the second + second``.
    columns : sequence of polars.Series of Float64
    pieces : list of (int, int)

    Returns
    -------
    offsets : ndarray of int64, shape (n_groups + 1,)
        Where each group begins.
    entries : ndarray of int64, shape (n_rows,)
        The combined key of each placed row.
    values : ndarray of float64, shape (n_columns, n_rows)
        NaN where the column is null.
    """
    from fastgate.kernels import grouping

    n_rows = groups.codes.size
    counts = [np.zeros(ranks.size, np.int64) for ranks in groups.ranks]

    def tally(number: int) -> None:
        start, stop = pieces[number]
        grouping.tally(groups.codes[start:stop], counts[number])

    for_each(tally, len(pieces), n_rows)
    offsets = np.zeros(groups.size + 1, np.int64)
    for ranks, count in zip(groups.ranks, counts, strict=True):
        offsets[1:][ranks] += count
    np.cumsum(offsets, out=offsets)
    # A piece's rows of a group come after those of the pieces before it: this keeps their order, on any thread.
    running = offsets[:-1].copy()
    begins = []
    for ranks, count in zip(groups.ranks, counts, strict=True):
        begins.append(running[ranks])
        running[ranks] += count
    entries = np.empty(n_rows, np.int64)
    values = np.empty((len(columns), n_rows), np.float64)

    def place(number: int) -> None:
        start, stop = pieces[number]
        codes = groups.codes[start:stop]
        key = np.zeros(stop - start, np.int64)
        for coded in keys:
            grouping.fold(key, coded.codes[start:stop], coded.ranks[number], coded.size)
        grouping.place(codes, begins[number].copy(), key, entries)
        for index, column in enumerate(columns):
            numbers = np.ascontiguousarray(column.slice(start, stop - start).to_numpy(), np.float64)
            grouping.place(codes, begins[number].copy(), numbers, values[index])

    for_each(place, len(pieces), 2 * n_rows)
    return offsets, entries, values
