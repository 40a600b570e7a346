"""Samples: measurements as cells with keys, in one canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.kernels.records import MomentArrays

__all__ = [
    "CaseFaults",
    "CaseLists",
    "CellMoments",
    "Content",
    "Samples",
    "case_faults",
    "cell_digests",
    "content_of",
    "text_hashes",
]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class CellMoments(NamedTuple):
    """The moments of each cell, as they were given.

    Attributes
    ----------
    n : ndarray of int64
        The number of values.
    n_missing : ndarray of int64
        The number of missing values beside them.
    mean : ndarray of float64
        NaN where unknown.
    m2 : ndarray of float64
        The sum of squared deviations from the mean; NaN where unknown.
    constant : ndarray of bool
        Whether all values are the same: smallest equals largest where these were given, else ``m2 == 0``.
    """

    n: Integers
    n_missing: Integers
    mean: Floats
    m2: Floats
    constant: npt.NDArray[np.bool_]


class CaseLists(NamedTuple):
    """The cases of cells, of which many have the same ones.

    Attributes
    ----------
    lists : ndarray of int64, shape (n_cells,)
        The list of each cell.
    offsets : ndarray of int64, shape (n_lists + 1,)
        Where each list begins, and the last one ends.
    codes : ndarray of int64
        The cases of each list, positions among their names.
    """

    lists: Integers
    offsets: Integers
    codes: Integers

    @classmethod
    def of_each(cls, offsets: Integers, codes: Integers) -> CaseLists:
        """A list of its own for each cell."""
        return cls(np.arange(offsets.size - 1), offsets, codes)

    @property
    def starts(self) -> Integers:
        """Where the cases of each cell begin among `codes`."""
        return self.offsets[:-1][self.lists]

    def expanded(self, cell_offsets: Integers) -> Integers:
        """The case of each value of cells that begin at `cell_offsets`."""
        from fastgate.kernels.runs import copy_lists

        if self.offsets is cell_offsets:
            return self.codes
        cases = np.empty(cell_offsets[-1], np.int64)
        copy_lists(cell_offsets[:-1], self.lists, self.offsets, self.codes, cases)
        return cases


@dataclass(frozen=True, eq=False)
class Samples:
    """Cells with their keys.

    Parameters
    ----------
    shape : {"runs", "pairs"}
        How cells are keyed: ``"runs"``, each build was measured once and row i of `index` is cell i; ``"pairs"``, a
        row is a candidate with its own measurement of the baseline: two cells.
    index : polars.DataFrame
        Sorted by its keys. Keys are ``Enum`` columns whose categories are the names in sorted order. Runs: ``build,
        suite, kpi``; pairs: ``candidate, baseline, suite, kpi`` and the numbers of their cells, ``candidate_cell`` and
        ``baseline_cell`` (Int64). Then ``n_duplicates`` (UInt32): entries that repeat a case of the cell, which make it
        useless; and ``case_fingerprint`` (UInt64): the sum modulo 2⁶⁴ of the XXH64 of the case ids' UTF-8, null
        where cases have no ids. Two cells have the same cases if it and their numbers of entries agree.
    parts : tuple of Cells
        The values; NaN is a missing value. Runs: one, parallel to `index`. Pairs: two, the candidates' and the
        baselines', each parallel to `index`; cells are numbered through both, so that ``baseline_cell`` begins at
        the number of rows. Empty when only moments are known.
    case_lists : CaseLists or None
        The cases of each cell, parallel to its values in each part. Strictly increasing within a cell except where
        a case is repeated. None when cases have no ids.
    case_names : polars.Series of String
        The ids of the cases, sorted.
    moments : CellMoments or None
        Parallel to `index`, when only moments are known.
    n_rows : int
        The number of rows of the source.
    merged : MomentArrays or None
        With `moments`, the same to all digits, where they were merged from the values of parts of the cases.
    """

    shape: Literal["runs", "pairs"]
    index: pl.DataFrame
    parts: tuple[Cells, ...]
    case_lists: CaseLists | None
    case_names: pl.Series
    moments: CellMoments | None
    n_rows: int
    merged: MomentArrays | None = None

    @property
    def n_cells(self) -> int:
        """The number of cells: the rows of `index`, twice that for pairs."""
        return self.index.height * (2 if self.shape == "pairs" else 1)

    @cached_property
    def values(self) -> Cells | None:
        """All cells in one; for pairs this copies them, once."""
        if len(self.parts) < 2:
            return self.parts[0] if self.parts else None
        first, second = self.parts
        lengths = np.concatenate([first.sizes, second.sizes])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Cells(np.concatenate([first.values, second.values]), offsets)

    @cached_property
    def cases(self) -> Integers | None:
        """The case of each value of each part, a position in `case_names`; None when cases have no ids."""
        return None if self.case_lists is None else self.case_lists.expanded(self.parts[0].offsets)

    def cell_cases(self, cell: int) -> Integers:
        """The case codes of one cell, parallel to its values; none where cases have no ids."""
        if not 0 <= cell < self.n_cells:
            raise ArgumentError(
                "there is no such cell", expected=f"0 to {self.n_cells - 1}", received=str(cell)
            )
        if self.case_lists is None:
            return np.empty(0, np.int64)
        lists, offsets, codes = self.case_lists
        number = lists[cell % self.index.height]
        return codes[offsets[number] : offsets[number + 1]]

    @property
    def fingerprint(self) -> str:
        """A digest of all keys, cases and values, as 64 hexadecimal digits.

        Whatever order, file format or shape (long or packed) brings the same content, brings the same fingerprint. A
        cell enters it by 128 bits that no accident, but an adversary could, keep.
        """
        return self.content.fingerprint

    @cached_property
    def content(self) -> Content:
        """What the fingerprint is made of: of two sets of cells together, it is their sum."""
        columns = []
        for part in self.parts:
            columns += [part.sizes.view(np.uint64), cell_digests(self, part)]
        for array in self.moments or ():
            if array.dtype.kind == "f":
                columns.append(np.where(np.isnan(array), np.nan, array).view(np.uint64))
            else:
                columns.append(array.astype(np.int64).view(np.uint64))
        return content_of(self.shape, self.index, columns)


def cell_digests(samples: Samples, part: Cells) -> npt.NDArray[np.uint64]:
    """A hash of each cell's values with their cases; of two parts of a cell's cases, they add up to the cell's."""
    from fastgate.kernels.fingerprint import digest_cells

    known = samples.case_lists
    starts, codes, hashes = np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(0, np.uint64)
    if known is not None:
        starts, codes, hashes = known.starts, known.codes, text_hashes(samples.case_names)
    digests = np.empty(len(part), np.uint64)
    arguments = (part.offsets, part.values, starts, codes, hashes, digests)
    threads.run(digest_cells, len(part), *arguments, work=part.offsets)
    return digests


def content_of(shape: str, index: pl.DataFrame, figures: Sequence[npt.NDArray[np.uint64]]) -> Content:
    """What cells hold, from their keys and further figures of each of them."""
    columns = []
    for name in index.columns:
        column = index[name]
        if isinstance(column.dtype, pl.Enum):
            columns.append(text_hashes(column.dtype.categories)[column.to_physical().to_numpy()])
        elif name in ("n_duplicates", "case_fingerprint"):
            columns.append(column.fill_null(0).cast(pl.UInt64).to_numpy())
    columns += figures
    return Content(shape, index.height, _total(columns, _SEEDS[0]), _total(columns, _SEEDS[1]))


_SEEDS: Final = (0x243F6A8885A308D3, 0x13198A2E03707344)


def _total(columns: Sequence[npt.NDArray[np.uint64]], seed: int) -> int:
    """The sum, modulo 2⁶⁴, of a hash of each row."""
    word = np.full(columns[0].size, seed, np.uint64)
    for column in columns:
        # The finaliser of SplitMix64, after each column.
        word = word * np.uint64(0x9E3779B185EBCA87) + column
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
    return int(word.sum(dtype=np.uint64))


class Content(NamedTuple):
    """A sum over cells of what each of them holds."""

    shape: str
    n_cells: int
    first: int
    second: int

    @property
    def fingerprint(self) -> str:
        """SHA-256, as 64 hexadecimal digits."""
        text = f"fastgate samples 2 {self.shape} {self.n_cells} {self.first:016x} {self.second:016x}"
        return hashlib.sha256(text.encode()).hexdigest()

    def plus(self, other: Content, sign: int = 1) -> Content:
        """With the cells of `other` beside these (−1: without them)."""
        first, second = (mine + sign * theirs for mine, theirs in zip(self[2:], other[2:], strict=True))
        return Content(self.shape, self.n_cells + sign * other.n_cells, first % 2**64, second % 2**64)


def _utf8(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], Integers]:
    """The bytes of all texts, one after the other, and where each begins."""
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    starts = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    everything = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return everything[starts[0] : starts[-1]], starts - starts[0]


def text_hashes(texts: pl.Series) -> npt.NDArray[np.uint64]:
    """XXH64 (seed 0) of each text's UTF-8: the same in every process, partition and version."""
    from fastgate.kernels.fingerprint import hash_texts

    hashes = np.empty(len(texts), np.uint64)
    if len(texts):
        data, offsets = _utf8(texts)
        threads.run(hash_texts, len(texts), data, offsets, hashes, work=30.0)
    return hashes


class CaseFaults(NamedTuple):
    """What keeps two cells from being compared case by case; the ids are sorted.

    Attributes
    ----------
    missing_in_candidate : list of str
        Cases that only the baseline has.
    missing_in_baseline : list of str
        Cases that only the candidate has.
    duplicated_in_candidate, duplicated_in_baseline : list of str
        Cases that the cell has more than once.
    """

    missing_in_candidate: list[str]
    missing_in_baseline: list[str]
    duplicated_in_candidate: list[str]
    duplicated_in_baseline: list[str]


def case_faults(samples: Samples, candidate_cell: int, baseline_cell: int) -> CaseFaults:
    """The cases that two cells do not share or have more than once.

    Parameters
    ----------
    samples : Samples
    candidate_cell, baseline_cell : int
        Numbers of cells: for runs, rows of ``samples.index``; for pairs, as in its columns of these names.

    Returns
    -------
    CaseFaults
        Empty lists where there is no fault, or where cases have no ids.

    Raises
    ------
    ArgumentError
        When there is no such cell.

    Examples
    --------
    >>> import polars as pl
    >>> from fastgate.frames import read_samples
    >>> samples = read_samples(pl.DataFrame({
    ...     "build": ["base", "base", "new", "new"], "suite": "s", "kpi": "k",
    ...     "case": ["a", "b", "b", "c"], "value": [1.0, 2.0, 3.0, 4.0]}))
    >>> case_faults(samples, 1, 0)
    CaseFaults(missing_in_candidate=['a'], missing_in_baseline=['c'],
               duplicated_in_candidate=[], duplicated_in_baseline=[])
    """
    candidate = samples.cell_cases(candidate_cell)
    baseline = samples.cell_cases(baseline_cell)

    def ids(codes: Integers) -> list[str]:
        return samples.case_names.gather(codes).to_list() if codes.size else []

    return CaseFaults(
        ids(np.setdiff1d(baseline, candidate)),
        ids(np.setdiff1d(candidate, baseline)),
        ids(np.unique(candidate[1:][candidate[1:] == candidate[:-1]])),
        ids(np.unique(baseline[1:][baseline[1:] == baseline[:-1]])),
    )
