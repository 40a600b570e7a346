"""Probes of preference rankers: choices of primary and perturbed runs, as codes with keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.choices import (
    UNKNOWN_CHOICE,
    UNKNOWN_FLAG,
    choice_codes,
    choice_text,
    flags,
    reason_codes,
    refuse_unknown_words,
)
from fastgate.frames.codes import Pieces, code_names, for_each, group, pieces_of
from fastgate.frames.columns import key_column
from fastgate.frames.reading import open_source
from fastgate.frames.samples import text_hashes
from fastgate.frames.shapes import Shape, recognise
from fastgate.kernels.choices import ABSTAIN

__all__ = [
    "PROBE_SHAPES",
    "UNKNOWN_CHOICE",
    "UNKNOWN_FLAG",
    "Probes",
    "combined",
    "read_probes",
    "relevant_columns",
]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Letters = Literal["raw", "unswapped"]

_CHOICES: Final = ("probe_choice", "probe_choice_raw", "probe_choice_unswapped")
_LETTERS: Final[dict[str, Letters]] = {
    "probe_choice_raw": "raw",
    "probe_choice_unswapped": "unswapped",
}
PROBE_SHAPES: Final = (
    Shape(
        "probes",
        ("build", "pair", "kind"),
        ("primary_choice", "|".join(_CHOICES)),
        (
            "suite",
            "variant",
            "trial",
            "primary_reason",
            "probe_reason",
            "primary_swapped",
            "probe_swapped",
            "left",
            "right",
        ),
    ),
)
_NO_CODES: Final = np.empty(0, np.int8)
_NO_NUMBERS: Final = np.empty(0, np.int64)
_CHUNK_ROWS: Final = 1 << 14
_CACHE_ROWS: Final = 1 << 16
# An odd multiplier that keeps the parts of a row apart in its digest, and those of SplitMix64's finaliser.
_SPREAD: Final = 0x9E3779B97F4A7C15
_MIX: Final = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes, one a row of the source and in its order.

    Parameters
    ----------
    index : polars.DataFrame
        The cells, sorted by their keys ``build`` and ``kind``, Enum columns whose categories are the names in
        sorted order.
    cell : ndarray of int64, shape (n_rows,)
        The row of `index` that each probe belongs to.
    pairs : polars.DataFrame
        The distinct pairs, sorted: ``suite`` where the source has it, ``pair``; Enum columns.
    pair : ndarray of int64, shape (n_rows,)
        The row of `pairs` of each probe.
    variants : polars.DataFrame
        The distinct variants of probes, sorted: ``variant`` and ``trial``, as far as the source has them.
    variant : ndarray of int64, shape (n_rows,)
        The row of `variants` of each probe.
    primary, probe : ndarray of int8, shape (n_rows,)
        0 A, 1 B, 2 tie, 3 abstain, -1 no run, `UNKNOWN_CHOICE` for any other word.
    reasons : polars.Series of String
        The reason classes of abstentions, sorted.
    primary_reason, probe_reason : ndarray of int64, shape (n_rows,) or (0,)
        Positions in `reasons`, -1 where there is none; empty where no abstention has one.
    primary_swapped, probe_swapped : ndarray of int8, shape (n_rows,) or (0,)
        1 where a run showed the alternatives in swapped order, `UNKNOWN_FLAG` where that is null; empty where
        the source does not say.
    letters : {"raw", "unswapped"} or None
        What the choices of swapped runs are, if the name of their column says so.
    same_alternatives : ndarray of int64
        Rows that compare an alternative with itself.
    n_rows : int
    """

    index: pl.DataFrame
    cell: Integers
    pairs: pl.DataFrame
    pair: Integers
    variants: pl.DataFrame
    variant: Integers
    primary: Codes
    probe: Codes
    reasons: pl.Series
    primary_reason: Integers
    probe_reason: Integers
    primary_swapped: Codes
    probe_swapped: Codes
    letters: Letters | None
    same_alternatives: Integers
    n_rows: int

    def names(self, column: str) -> list[str]:
        """The builds or the kinds, sorted."""
        categories: list[str] = self.index.schema[column].categories.to_list()  # type: ignore[attr-defined]
        return categories

    @cached_property
    def _keys(self) -> tuple[Integers, int]:
        """What names each probe (its cell, pair, variant and trial) as one number, and how many there may be."""
        n_variants = max(self.variants.height, 1)
        size = self.index.height * self.pairs.height * n_variants
        if size < 2**62:
            sized = [(self.pair, self.pairs.height)] + [(self.variant, n_variants)] * (n_variants > 1)
            return combined(self.cell, *sized), size
        distinct, key = np.unique(self.cell * self.pairs.height + self.pair, return_inverse=True)
        return key * n_variants + self.variant, distinct.size * n_variants

    def repeated_rows(self) -> Integers:
        """The rows of probes (build, pair, kind, variant and trial) that stand more than once, sorted."""
        key, size = self._keys
        # A byte for each possible probe, where these are not many more than there are, costs 3 ns a row; a hash 20.
        if size <= 8 * self.n_rows:
            seen = np.zeros(size, np.bool_)
            seen[key] = True
            distinct = int(np.count_nonzero(seen))
        else:
            from fastgate.kernels import grouping

            scratch = np.empty(self.n_rows, np.int32), np.empty(self.n_rows, np.int64)
            distinct = grouping.encode(key, 1, *scratch)
        if distinct == self.n_rows:
            return _NO_NUMBERS
        _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        return np.flatnonzero(counts[inverse] > 1)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all keys and choices, as 64 hexadecimal digits, whatever the order of rows.

        Rows enter it by the sum of 64 bits each, which no accident, but an adversary could, keep.
        """
        digest = hashlib.sha256(f"fastgate probes 1 {self.letters or ''}".encode())
        for keys in (self.index, self.pairs, self.variants):
            for column in keys.iter_columns():
                # The names are sorted, and positions among them are the same whatever brought them.
                digest.update(column.name.encode() + text_hashes(column.dtype.categories).tobytes())  # type: ignore[attr-defined]
                digest.update(column.to_physical().cast(pl.UInt32).to_numpy().tobytes())
        digest.update(text_hashes(self.reasons).tobytes())
        sums: list[int] = []

        def add(start: int, stop: int) -> None:
            rows = slice(start, stop)
            word = self._keys[0][rows].astype(np.uint64)
            for codes, bits in (
                (self.primary, 3),
                (self.probe, 3),
                (self.primary_swapped, 2),
                (self.probe_swapped, 2),
                (self.primary_reason, 0),
                (self.probe_reason, 0),
            ):
                if codes.size:
                    # Reasons have no limit, so they are spread instead of appended.
                    word *= np.uint64(1 << bits if bits else _SPREAD)
                    word += (codes[rows] + 1).view(f"u{codes.itemsize}")
            for multiplier, shift in zip(_MIX, (30, 27), strict=True):
                word ^= word >> np.uint64(shift)
                word *= np.uint64(multiplier)
            word ^= word >> np.uint64(31)
            sums.append(int(word.sum(dtype=np.uint64)))

        bounds = np.linspace(0, self.n_rows, 1 + -(-self.n_rows // _CACHE_ROWS)).astype(np.int64).tolist()
        for_each(lambda number: add(bounds[number], bounds[number + 1]), len(bounds) - 1, self.n_rows)
        digest.update(f"{self.n_rows} {sum(sums) % 2**64}".encode())
        return digest.hexdigest()


def combined(first: Integers, *sized: tuple[Integers, int], lookup: Integers | None = None) -> Integers:
    """Codes as the digits of one number a row; the first looked up in a table where one is given.

    Written a cache's worth at a time: whole columns between the steps cost five times as much in memory's own time.
    """
    out = np.empty(first.size, np.int64)
    bounds = np.linspace(0, first.size, 1 + -(-first.size // _CACHE_ROWS)).astype(np.int64).tolist()

    def combine(number: int) -> None:
        rows = slice(bounds[number], bounds[number + 1])
        part = out[rows]
        if lookup is None:
            part[:] = first[rows]
        else:
            np.take(lookup, first[rows], out=part, mode="clip")
        for codes, size in sized:
            part *= size
            part += codes[rows]

    for_each(combine, len(bounds) - 1, first.size)
    return out


def relevant_columns(
    columns: Mapping[str, str] | None, found: tuple[str, ...], shape: Shape
) -> dict[str, str]:
    """Of a mapping that speaks of several tables, what concerns this one."""
    return {
        ours: theirs for ours, theirs in (columns or {}).items() if ours in shape.names and theirs in found
    }


def read_probes(source: Any, columns: Mapping[str, str] | None = None) -> Probes:
    """Probes from a file, several files or a frame, whatever the order of its rows.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it, a row per probe: build, pair, kind, primary_choice and
        probe_choice; perhaps suite, variant, trial, primary_reason, probe_reason, primary_swapped,
        probe_swapped, left, right. Instead of probe_choice also probe_choice_raw or probe_choice_unswapped,
        which say what the letters of swapped runs are.
    columns : mapping of str to str, optional
        From fastgate's column names to yours.

    Returns
    -------
    Probes

    Raises
    ------
    ArgumentError
        When a mapped column is none of fastgate's.
    DataError
        When the source cannot be read, columns are missing or of the wrong type, the choices stand twice, a key
        has no name, or no word among the choices is known.

    Notes
    -----
    Choices are A, B, tie and abstain, exactly so; null (in CSV an empty field, NA or the like) is a run that is
    missing. Pairs of different suites are different pairs.

    Examples
    --------
    >>> import polars as pl
    >>> probes = read_probes(pl.DataFrame({
    ...     "build": "judge", "pair": [1, 2], "kind": "paraphrase",
    ...     "primary_choice": ["A", "tie"], "probe_choice": ["B", None]}))
    >>> probes.index.rows(), probes.primary.tolist(), probes.probe.tolist()
    ([('judge', 'paraphrase')], [0, 2], [1, -1])
    """
    opened = open_source(source)
    mapping = dict(columns or {})
    stated = [name for name in _CHOICES if mapping.get(name, name) in opened.columns]
    if len(stated) > 1:
        raise DataError(
            "the probes' choices stand twice",
            expected=f"one of the columns {', '.join(_CHOICES)}",
            received=", ".join(stated),
            where=opened.where,
            hint="leave one out: letters as shown in swapped order, or those that are un-swapped already",
        )
    layout = recognise(opened.columns, mapping, None, opened.where, PROBE_SHAPES)
    read = opened.read(list(layout.columns.values()))
    frame = read.select(
        pl.col(theirs).alias("probe_choice" if ours in _LETTERS else ours)
        for ours, theirs in layout.columns.items()
    )
    if max(frame.n_chunks("all")) > 16 + frame.height // _CHUNK_ROWS:
        frame = frame.rechunk()
    return _from_rows(frame, _LETTERS.get(stated[0]), opened.where, opened.textual)


def _from_rows(frame: pl.DataFrame, letters: Letters | None, where: str, textual: bool) -> Probes:
    present = set(frame.columns)
    keys = {
        name: key_column(frame[name], name, where)
        for name in ("build", "kind", "suite", "pair")
        if name in present
    }
    optional: dict[str, pl.Series] = {
        name: _filled_key(frame[name], name, where) for name in ("variant", "trial") if name in present
    }
    choices = {name: choice_text(frame[name], name, where) for name in ("primary_choice", "probe_choice")}
    pieces = pieces_of([*keys.values(), *optional.values(), *choices.values()])
    index, cell = _cells(keys["build"], keys["kind"], pieces)
    pair_index, pair = _group_keys({name: keys[name] for name in ("suite", "pair") if name in keys}, pieces)
    variants, variant = (
        _group_keys(optional, pieces) if optional else (pl.DataFrame(), np.zeros(frame.height, np.int64))
    )
    primary, probe = (choice_codes(column, pieces) for column in choices.values())
    if not (((primary >= 0) & (primary <= ABSTAIN)).any() or ((probe >= 0) & (probe <= ABSTAIN)).any()):
        refuse_unknown_words(choices, where)
    reasons, primary_reason, probe_reason = reason_codes(frame, primary, probe, where)
    swapped = {
        name: flags(frame[name], name, where, textual) if name in present else _NO_CODES
        for name in ("primary_swapped", "probe_swapped")
    }
    same = _NO_NUMBERS
    if {"left", "right"} <= present:
        texts = frame.select(pl.col("left", "right").cast(pl.String))
        same = (
            texts.select((pl.col("left") == pl.col("right")).arg_true())
            .to_series()
            .to_numpy()
            .astype(np.int64)
        )
    return Probes(
        index,
        cell,
        pair_index,
        pair,
        variants,
        variant,
        primary,
        probe,
        reasons,
        primary_reason,
        probe_reason,
        swapped["primary_swapped"],
        swapped["probe_swapped"],
        letters,
        same,
        frame.height,
    )


def _cells(build: pl.Series, kind: pl.Series, pieces: Pieces) -> tuple[pl.DataFrame, Integers]:
    """The combinations of build and kind that there are, sorted, and the one of each row."""
    (builds, build_names), (kinds, kind_names) = code_names(build, pieces), code_names(kind, pieces)
    size = len(build_names) * len(kind_names)
    if size > 8 * len(build) + 1024:
        return _group_keys({"build": build, "kind": kind}, pieces)
    # Both together are few: counting the combinations saves a third of the time that hashing them takes.
    key = builds.every(pieces)
    key *= len(kind_names)
    key += kinds.every(pieces)
    there = np.flatnonzero(np.bincount(key, minlength=size))
    index = pl.DataFrame(
        {
            name: names.cast(pl.Enum(names)).gather(codes)
            for name, names, codes in (
                ("build", build_names, there // len(kind_names)),
                ("kind", kind_names, there % len(kind_names)),
            )
        }
    )
    if there.size == size:
        return index, key
    place = np.zeros(size, np.int64)
    place[there] = np.arange(there.size)
    return index, place[key]


def _filled_key(column: pl.Series, name: str, where: str) -> pl.Series:
    """A key that may be null, as where only some kinds have variants."""
    if column.null_count() == 0:
        return key_column(column, name, where)
    if column.dtype == pl.Null:
        return pl.Series(name, [""], dtype=pl.String).new_from_index(0, len(column))
    key_column(column.drop_nulls().head(1), name, where)
    return column.cast(pl.String).fill_null("")


def _group_keys(columns: dict[str, pl.Series], pieces: Pieces) -> tuple[pl.DataFrame, Integers]:
    """The distinct combinations of some keys, sorted, and the combination of each row."""
    if len(columns) == 1:
        ((name, column),) = columns.items()
        coded, names = code_names(column, pieces)
        return pl.DataFrame({name: names.cast(pl.Enum(names))}), coded.every(pieces)
    grouped = group(columns, [[name] for name in columns], pieces)
    return pl.DataFrame(list(grouped.keys.values())), grouped.coded.every(pieces)
