"""Pairwise preferences between alternatives, per build: what utilities are fitted to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.columns import holds_numbers, key_column, number_column
from fastgate.frames.probes import relevant_columns
from fastgate.frames.reading import open_source
from fastgate.frames.shapes import Shape, recognise
from fastgate.kernels.choices import ABSENT, ABSTAIN, FIRST, SECOND, TIE

__all__ = ["PREFERENCE_SHAPES", "UNKNOWN_OUTCOME", "Preferences", "read_preferences"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]

PREFERENCE_SHAPES: Final = (
    Shape("preferences", ("build",), ("left", "right", "outcome"), ("weight", "suite", "pair")),
)
UNKNOWN_OUTCOME: Final = ABSTAIN + 1
"""The code of an outcome whose word is not known."""

_WORDS: Final[dict[str, int]] = {
    "left": FIRST,
    "right": SECOND,
    "A": FIRST,
    "B": SECOND,
    "tie": TIE,
    "abstain": ABSTAIN,
    **dict.fromkeys(("", "na", "n/a", "nan", "null", "none", "NA", "N/A", "NaN", "None"), ABSENT),
}
_NUMBERS: Final = {1.0: FIRST, 0.0: SECOND, 0.5: TIE}


@dataclass(frozen=True, eq=False)
class Preferences:
    """Preferences, one a row of the source, put together by build.

    Parameters
    ----------
    builds : list of str
        Sorted.
    build : ndarray of int64, shape (n_rows,)
        Position in `builds`, increasing.
    alternatives : list of list of str
        Of each build, sorted.
    left, right : ndarray of int64, shape (n_rows,)
        Positions among the build's alternatives.
    outcome : ndarray of int8, shape (n_rows,)
        0 left, 1 right, 2 tie, 3 abstain, -1 none, `UNKNOWN_OUTCOME` for any other word or number.
    weight : ndarray of float64, shape (n_rows,)
        1 where the source has no weights; NaN where one is null.
    keys : polars.DataFrame
        ``suite`` and ``pair`` of each preference as text, as far as the source has them.
    fingerprint : str
        A digest of everything, whatever the order of rows.
    """

    builds: list[str]
    build: Integers
    alternatives: list[list[str]]
    left: Integers
    right: Integers
    outcome: Codes
    weight: Floats
    keys: pl.DataFrame
    fingerprint: str

    @property
    def n_rows(self) -> int:
        """The number of preferences."""
        return self.build.size


def read_preferences(source: Any, columns: Mapping[str, str] | None = None) -> Preferences:
    """Preferences from a file, several files or a frame, whatever the order of its rows.

    Parameters
    ----------
    source : path, list of paths, glob, or a frame
        As `fastgate.frames.read_frame` takes it: build, left, right (names of alternatives) and outcome; perhaps
        weight, suite and pair.
    columns : mapping of str to str, optional
        From fastgate's column names to yours; those that are none of this table's are not looked at.

    Returns
    -------
    Preferences

    Raises
    ------
    DataError
        When the source cannot be read, a column is missing or has an unusable type.

    Notes
    -----
    Outcomes are left (or A), right (or B), tie, abstain, or the left alternative's share of the win: 1, 0, 0.5.
    Null is no outcome.

    Examples
    --------
    >>> import polars as pl
    >>> given = read_preferences(pl.DataFrame(
    ...     {"build": "judge", "left": ["x", "y"], "right": ["y", "z"], "outcome": ["left", "tie"]}))
    >>> given.alternatives, given.left.tolist(), given.outcome.tolist()
    ([['x', 'y', 'z']], [0, 1], [0, 2])
    """
    opened = open_source(source)
    mapping = relevant_columns(columns, opened.columns, PREFERENCE_SHAPES[0])
    layout = recognise(opened.columns, mapping, None, opened.where, PREFERENCE_SHAPES)
    read = opened.read(list(layout.columns.values()))
    frame = read.select(pl.col(theirs).alias(ours) for ours, theirs in layout.columns.items())
    keys = {
        name: key_column(frame[name], name, opened.where).cast(pl.String)
        for name in ("build", "left", "right", "suite", "pair")
        if name in frame.columns
    }
    outcome = _outcomes(frame["outcome"], opened.where, opened.textual)
    weight = (
        number_column(frame["weight"], "weight", opened.where, textual=opened.textual).fill_null(np.nan)
        if "weight" in frame.columns
        else pl.Series(np.ones(frame.height))
    )
    table = pl.DataFrame(
        [
            *(column.alias(name) for name, column in keys.items()),
            pl.Series("outcome", outcome),
            weight.alias("weight"),
        ]
    )
    # One order for one content: sums of weights then round alike, whatever order brought them.
    table = table.sort(pl.all(), maintain_order=True)
    return _coded(table)


def _coded(table: pl.DataFrame) -> Preferences:
    builds = table["build"].unique().sort()
    sides = [table.select("build", pl.col(side).alias("alternative")) for side in ("left", "right")]
    known = (
        pl.concat(sides)
        .unique()
        .sort("build", "alternative")
        .with_columns(number=pl.int_range(pl.len()).over("build").cast(pl.Int64))
    )
    numbers = {
        side: table.select("build", pl.col(side).alias("alternative"))
        .join(known, on=["build", "alternative"], how="left", maintain_order="left")["number"]
        .to_numpy()
        .astype(np.int64)
        for side in ("left", "right")
    }
    lists = known.group_by("build", maintain_order=True).agg("alternative")["alternative"].to_list()
    digest = hashlib.sha256(b"fastgate preferences 1")
    for column in table.iter_columns():
        digest.update(column.name.encode())
        if column.dtype == pl.String:
            digest.update(column.str.len_bytes().to_numpy().tobytes())
            digest.update("".join(column.to_list()).encode())
        else:
            digest.update(np.ascontiguousarray(column.to_numpy()).tobytes())
    return Preferences(
        builds.to_list(),
        builds.search_sorted(table["build"]).to_numpy().astype(np.int64),
        lists,
        numbers["left"],
        numbers["right"],
        table["outcome"].to_numpy().copy(),
        table["weight"].to_numpy().astype(np.float64),
        table.select(name for name in ("suite", "pair") if name in table.columns),
        digest.hexdigest(),
    )


def _outcomes(column: pl.Series, where: str, textual: bool) -> Codes:
    if column.dtype == pl.Null:
        return np.full(len(column), ABSENT, np.int8)
    if holds_numbers(column.dtype):
        found = column.cast(pl.Float64).fill_nan(None)
        codes = found.replace_strict(_NUMBERS, default=UNKNOWN_OUTCOME, return_dtype=pl.Int8)
        missing = found.is_null()
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
        found = column.cast(pl.String).str.strip_chars()
        words = dict(_WORDS)
        if textual:
            words |= {str(number): code for number, code in _NUMBERS.items()} | {"1": FIRST, "0": SECOND}
        codes = found.replace_strict(words, default=UNKNOWN_OUTCOME, return_dtype=pl.Int8)
        missing = found.is_null()
    else:
        raise DataError(
            "the column 'outcome' does not hold outcomes",
            expected="left, right, tie, abstain; or the left alternative's share of the win, 1, 0, 0.5",
            received=str(column.dtype),
            where=f"column 'outcome' of {where}",
        )
    array: Codes = (
        codes.to_numpy().astype(np.int8)
        if not missing.any()
        else np.where(missing.to_numpy(), ABSENT, codes.fill_null(ABSENT).to_numpy()).astype(np.int8)
    )
    if (array == UNKNOWN_OUTCOME).all():
        words_found = found.unique().sort().cast(pl.String).to_list()
        raise DataError(
            "none of the outcomes is known",
            expected="left, right, tie, abstain; or the left alternative's share of the win, 1, 0, 0.5",
            received=", ".join(str(word)[:40] for word in words_found[:10]),
            where=f"column 'outcome' of {where}",
        )
    return array
