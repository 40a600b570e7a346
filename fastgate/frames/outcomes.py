"""Pass, fail and error outcomes as runs with keys, in one canonical order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.errors import DataError
from fastgate.frames.codes import group, pieces_of
from fastgate.frames.columns import key_column, number_column
from fastgate.frames.outcome_rows import Marks, Runs, runs_anyhow, runs_as_they_stand
from fastgate.frames.reading import open_source
from fastgate.frames.samples import text_hashes
from fastgate.frames.shapes import Layout, Shape, recognise

__all__ = ["OUTCOME_SHAPES", "OutcomeCounts", "Outcomes", "read_outcomes"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OUTCOME_SHAPES: Final = (
    Shape("outcomes", ("build", "suite"), ("case", "passed"), ("trial", "error")),
    Shape("counts", ("build", "suite"), ("total", "passed|rate"), ("errors",)),
)

_NO_ERROR: Final = ("", "false", "na", "n/a", "nan", "null", "none")
_CHUNK_ROWS: Final = 1 << 14


class OutcomeCounts(NamedTuple):
    """What is known of each run when its cases are not.

    Attributes
    ----------
    passes : ndarray of float64
        Passed cases; whole, unless a rate was given that is no multiple of 1/total.
    totals : ndarray of int64
        Cases with an outcome.
    errors : ndarray of int64
        Failed executions beside them.
    """

    passes: Floats
    totals: Integers
    errors: Integers


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Runs, each of one build on one suite, with the outcomes of their cases.

    Parameters
    ----------
    index : polars.DataFrame
        Sorted by its keys ``build`` and ``suite``, ``Enum`` columns whose categories are the names in sorted
        order; row i is run i.
    runs : Runs
        The cases and outcomes of each run; empty where only counts are known.
    counts : OutcomeCounts or None
        Parallel to `index`, when only counts are known; then there are no entries.
    attributes : polars.DataFrame or None
        The distinct combinations of ``build``, ``suite`` and the further columns that were asked for and found.
    n_rows : int
        The number of rows of the source.
    unread : tuple of str
        Columns of the source that nobody asked for.
    """

    index: pl.DataFrame
    runs: Runs
    counts: OutcomeCounts | None
    attributes: pl.DataFrame | None
    n_rows: int
    unread: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        """The shape of the input: ``"outcomes"`` or ``"counts"``."""
        return "outcomes" if self.counts is None else "counts"

    @cached_property
    def builds(self) -> list[str]:
        """Sorted."""
        return _categories(self.index["build"])

    @cached_property
    def suites(self) -> list[str]:
        """Sorted."""
        return _categories(self.index["suite"])

    def run_keys(self, run: int) -> Integers:
        """The keys of one run, sorted; none where only counts are known."""
        number = self.runs.run_lists[run]
        start, stop = self.runs.list_offsets[number : number + 2]
        return self.runs.list_keys[start:stop]

    def run_codes(self, run: int) -> npt.NDArray[np.uint8]:
        """For each key of a run 0 for a failure, 1 for a pass, 2 for an execution without outcome."""
        words = slice(self.runs.plane_offsets[run], self.runs.plane_offsets[run + 1])
        planes = (
            np.unpackbits(plane[words].view(np.uint8), bitorder="little")
            for plane in (self.runs.passed, self.runs.errors)
        )
        passed, failed = planes
        codes: npt.NDArray[np.uint8] = (passed + 2 * failed)[: self.run_keys(run).size]
        return codes

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all keys, cases, trials and outcomes, as 64 hexadecimal digits, whatever the order of rows."""
        from fastgate.kernels.outcomes import digest_lists, digest_runs

        digest = hashlib.sha256(f"fastgate outcomes 1 {self.shape}".encode())
        for name, names in (("build", self.builds), ("suite", self.suites)):
            digest.update(text_hashes(pl.Series(names)).tobytes())
            digest.update(self.index[name].to_physical().cast(pl.UInt64).to_numpy().tobytes())
        if self.counts is not None:
            for array in self.counts:
                digest.update(array.tobytes())
            return digest.hexdigest()
        runs = self.runs
        lists = np.empty(runs.list_offsets.size - 1, np.uint64)
        hashes = text_hashes(runs.case_names), text_hashes(runs.trial_names)
        arguments = (runs.list_offsets, runs.list_keys, runs.trial_bits, *hashes, lists)
        threads.run(digest_lists, lists.size, *arguments, work=3 * runs.list_offsets)
        digests = np.empty(self.index.height, np.uint64)
        planes = (runs.plane_offsets, runs.passed, runs.errors)
        threads.run(digest_runs, digests.size, runs.run_lists, lists, *planes, digests, work=5 * planes[0])
        digest.update(digests.tobytes())
        return digest.hexdigest()


def _categories(column: pl.Series) -> list[str]:
    categories: list[str] = column.dtype.categories.to_list()  # type: ignore[attr-defined]
    return categories


def read_outcomes(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    shape: str | None = None,
    further: Sequence[str] = (),
) -> Outcomes:
    """Outcomes from a file, several files or a frame, whatever the order of its rows.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it.
    columns : mapping of str to str, optional
        From fastgate's column names to yours: ``{"passed": "is_safe"}``.
    shape : {"outcomes", "counts"}, optional
        ``outcomes``: a row per case (and trial), with build, suite, case, perhaps trial, passed, perhaps error.
        ``counts``: a row per run, with build, suite, total, and passed (a count) or rate, perhaps errors. Told by
        the columns by default.
    further : sequence of str, optional
        Other columns to keep the distinct values of, where the source has them.

    Returns
    -------
    Outcomes

    Raises
    ------
    ArgumentError
        When an argument is not one of the above.
    DataError
        When the source cannot be read, fits no shape, a key has no name, ``passed`` is not boolean, or a count
        is no count.

    Notes
    -----
    ``passed`` is a boolean; null is an execution without outcome, neither a pass nor a failure. 0 and 1 are refused: in
    a column of integers nobody can tell an outcome from a score. In CSV, where all is text, it is true or
    false in any case, empty where there is none. ``error`` says why there is no outcome: a text, or true; such a
    row has none whatever ``passed`` says. A case that a run has twice (the same trial twice, where there are
    trials) is kept twice, and found when runs are totalled.

    Examples
    --------
    >>> import polars as pl
    >>> outcomes = read_outcomes(pl.DataFrame({
    ...     "build": ["new", "old"] * 2, "suite": "s", "case": [1, 1, 2, 2], "passed": [True, True, None, False]}))
    >>> outcomes.index.rows(), [outcomes.run_codes(run).tolist() for run in (0, 1)]
    ([('new', 's'), ('old', 's')], [[1, 2], [1, 0]])
    """
    opened = open_source(source)
    mapping = dict(columns or {})
    kept = {name: mapping.pop(name, name) for name in further if name not in ("build", "suite")}
    layout = recognise(opened.columns, mapping, shape, opened.where, OUTCOME_SHAPES)
    kept = {name: theirs for name, theirs in kept.items() if theirs in opened.columns}
    read = opened.read([*layout.columns.values(), *kept.values()])
    frame = read.select(pl.col(theirs).alias(ours) for ours, theirs in layout.columns.items())
    if max(frame.n_chunks("all")) > 16 + frame.height // _CHUNK_ROWS:
        frame = frame.rechunk()
    if layout.shape.name == "counts":
        outcomes = _from_counts(frame, layout, opened.where, opened.textual)
    else:
        outcomes = _from_rows(frame, opened.where, opened.textual)
    used = {*layout.columns.values(), *kept.values()}
    outcomes = replace(outcomes, unread=tuple(name for name in opened.columns if name not in used))
    if not kept:
        return outcomes
    keys = [pl.col(layout.columns[name]).cast(pl.String).alias(name) for name in ("build", "suite")]
    others = [pl.col(theirs).alias(ours) for ours, theirs in kept.items()]
    return replace(outcomes, attributes=read.select(*keys, *others).unique(maintain_order=True))


def _keys(frame: pl.DataFrame, names: Sequence[str], where: str) -> dict[str, pl.Series]:
    return {name: key_column(frame[name], name, where) for name in names if name in frame.columns}


def _from_rows(frame: pl.DataFrame, where: str, textual: bool) -> Outcomes:
    columns = _keys(frame, ("build", "suite", "case", "trial"), where)
    marks = _marks(frame, where, textual)
    pieces = pieces_of([*columns.values(), marks.passed, *([] if marks.failed is None else [marks.failed])])
    runs = runs_as_they_stand(columns, marks, pieces) or runs_anyhow(columns, marks, pieces)
    index = pl.DataFrame(list(runs.keys.values()))
    return Outcomes(index, runs, None, None, frame.height)


def _marks(frame: pl.DataFrame, where: str, textual: bool) -> Marks:
    passed = _booleans(frame["passed"], where, textual)
    failed = passed.is_null() if passed.null_count() else None
    if "error" in frame.columns:
        errors = _errors(frame["error"], where, textual)
        failed = errors if failed is None else failed | errors
    if failed is None or not failed.any():
        return Marks(passed, None)
    return Marks(passed.fill_null(False) & ~failed, failed)


def _booleans(column: pl.Series, where: str, textual: bool) -> pl.Series:
    if column.dtype == pl.Boolean:
        return column
    if column.dtype == pl.Null:
        return column.cast(pl.Boolean)
    if column.dtype == pl.String and textual:
        text = column.str.strip_chars().str.to_lowercase().replace(["", "na", "n/a", "null", "none"], None)
        words = text.replace_strict(["true", "false"], [True, False], default=None, return_dtype=pl.Boolean)
        unread = words.is_null() & text.is_not_null()
        if not unread.any():
            return words
        row = int(unread.arg_true()[0])
        raise DataError(
            "the column 'passed' holds text that is neither true nor false",
            expected="true or false; empty for an execution without outcome",
            received=f"{column[row][:40]!r} in row {row + 1}"
            + (f", and {n} more" if (n := unread.sum() - 1) else ""),
            where=f"column 'passed' of {where}",
            hint="rows are counted from 1 after the header",
        )
    first = column.drop_nulls().head(1).to_list()
    hint = "convert it, for instance with passed == 1: a number may as well be a score or a count"
    if column.dtype == pl.String:
        hint = "convert it, for instance with passed == 'true'"
    raise DataError(
        "the column 'passed' does not hold outcomes",
        expected="booleans; null for an execution without outcome",
        received=f"{column.dtype}" + (f", e.g. {first[0]!r}" if first else ""),
        where=f"column 'passed' of {where}",
        hint=hint,
    )


def _errors(column: pl.Series, where: str, textual: bool) -> pl.Series:
    if column.dtype == pl.Boolean:
        return column.fill_null(False)
    if column.dtype == pl.Null:
        return pl.Series(np.zeros(len(column), np.bool_))
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String).fill_null("").str.strip_chars()
        if textual:
            return ~text.str.to_lowercase().is_in(list(_NO_ERROR))
        return text != ""
    raise DataError(
        "the column 'error' does not hold errors",
        expected="texts, null or empty where there was no error; or booleans",
        received=str(column.dtype),
        where=f"column 'error' of {where}",
    )


def _from_counts(frame: pl.DataFrame, layout: Layout, where: str, textual: bool) -> Outcomes:
    columns = _keys(frame, ("build", "suite"), where)
    pieces = pieces_of(list(columns.values()))
    groups = group(columns, [("build",), ("suite",)], pieces)
    rows = groups.coded.every(pieces)
    if len(groups) < rows.size:
        row = int(np.flatnonzero(np.bincount(rows)[rows] > 1)[1])
        raise DataError(
            "a run is counted twice",
            expected="one row for each build and suite",
            received=f"{frame['build'][row]}, {frame['suite'][row]} again in row {row + 1}",
            where=where,
            hint="add the counts up if the rows are parts of one run",
        )
    totals = _counts(frame["total"], where, textual)
    if "rate" in layout.columns:
        passes = _rates(frame["rate"], where, textual) * totals
        # A rate of k/n that was rounded to a float is the count k.
        whole = np.rint(passes)
        passes = np.where(np.abs(passes - whole) <= 1e-12 * totals, whole, passes)
    else:
        passes = _counts(frame["passed"], where, textual).astype(np.float64)
        over = passes > totals
        if over.any():
            row = int(np.argmax(over))
            raise DataError(
                "more cases passed than there are",
                expected="passed ≤ total",
                received=f"{passes[row]:.0f} of {totals[row]} in row {row + 1}",
                where=where,
                hint="total counts the cases with an outcome, errors not among them",
            )
    errors = np.zeros_like(totals)
    if "errors" in frame.columns:
        errors = _counts(frame["errors"], where, textual)
    first = groups.first_rows
    index = pl.DataFrame(list(groups.keys.values()))
    nothing = np.zeros(0, np.int64)
    zeros = np.zeros(index.height + 1, np.int64)
    no_names = pl.Series(dtype=pl.String)
    runs = Runs(
        groups.keys, zeros[1:], zeros[:2], nothing, zeros, nothing, nothing, 0, no_names, pl.Series([""])
    )
    return Outcomes(
        index,
        runs,
        OutcomeCounts(passes[first], totals[first], errors[first]),
        None,
        frame.height,
    )


def _counts(column: pl.Series, where: str, textual: bool) -> Integers:
    if column.dtype == pl.Boolean:
        raise _no_counts(
            column, where, "booleans", "a row per case is the shape outcomes: give its column 'case'"
        )
    numbers = number_column(column, column.name, where, textual=textual)
    values = np.asarray(numbers.fill_null(float("nan")).to_numpy(), np.float64)
    good = (values >= 0) & (values <= 2**53) & (values == np.floor(values))
    if not good.all():
        row = int(np.argmin(good))
        raise _no_counts(column, where, f"{column[row]} in row {row + 1}", None)
    return values.astype(np.int64)


def _no_counts(column: pl.Series, where: str, received: str, hint: str | None) -> DataError:
    return DataError(
        f"the column {column.name!r} does not hold counts",
        expected="whole numbers of 0 or more",
        received=received,
        where=f"column {column.name!r} of {where}",
        hint=hint,
    )


def _rates(column: pl.Series, where: str, textual: bool) -> Floats:
    numbers = number_column(column, "rate", where, textual=textual)
    values = np.asarray(numbers.fill_null(float("nan")).to_numpy(), np.float64)
    good = (values >= 0) & (values <= 1)
    if column.dtype == pl.Boolean or not good.all():
        row = int(np.argmin(good))
        raise DataError(
            "the column 'rate' does not hold rates",
            expected="numbers from 0 to 1",
            received=f"{column[row]} in row {row + 1}",
            where=f"column 'rate' of {where}",
            hint="87.6 % is 0.876",
        )
    return values
