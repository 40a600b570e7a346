"""Cells, and what becomes of each kind of sample."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fastgate.cells import Cells, as_cells
from fastgate.errors import ArgumentError

NAN = float("nan")


def lists(cells: Cells) -> list[list[float]]:
    return [cells[c].tolist() for c in range(len(cells))]


@pytest.mark.parametrize(
    ("sample", "expected", "single"),
    [
        ([1, 2, 3], [[1, 2, 3]], True),
        (np.array([1.5, 2.5], np.float32), [[1.5, 2.5]], True),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]], False),
        ([[1, 2], [], [3]], [[1, 2], [], [3]], False),
        (np.arange(6).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]], False),
        (np.zeros((2, 0)), [[], []], False),
        ([1, None, 2], [[1, NAN, 2]], True),
        ([True, False], [[1, 0]], True),
        ([], [[]], True),
        (np.ma.masked_array([9.0, 1, 2], [1, 0, 0]), [[NAN, 1, 2]], True),
        (np.ma.masked_array([[9, 1], [2, 3]], [[1, 0], [0, 0]]), [[NAN, 1], [2, 3]], False),
        (pl.Series([[1.0, 2.0], None, [3.0, None]]), [[1, 2], [], [3, NAN]], False),
        (pl.Series([1, 2, None]), [[1, 2, NAN]], True),
        (pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)), [[1, 2], [3, 4]], False),
        (pl.Series([[Decimal("1.50")], [Decimal("2.25")]]), [[1.5], [2.25]], False),
        (pl.Series([], dtype=pl.List(pl.Float64)), [], False),
        (pd.Series([1.0, None]), [[1, NAN]], True),
        (pa.array([[1.0], [2.0, 3.0], [4.0]])[1:], [[2, 3], [4]], False),
        (pa.chunked_array([[[1]], [[2, 3], None]]), [[1], [2, 3], []], False),
        (pa.array([[1.0, 2.0], None, [3.0]], pa.list_view(pa.float64())), [[1, 2], [], [3]], False),
        (pa.array([[True], [False, None]]), [[1], [0, NAN]], False),
        (pa.array([1, 2], pa.int8()), [[1, 2]], True),
    ],
)
def test_samples(sample: Any, expected: list[list[float]], single: bool) -> None:
    cells, is_single = as_cells(sample)
    assert is_single == single
    assert len(cells) == len(expected)
    for mine, wanted in zip(lists(cells), expected, strict=True):
        np.testing.assert_array_equal(mine, np.array(wanted, float))


@pytest.mark.parametrize(
    "sample",
    [["a"], "abc", [1 + 2j], np.zeros((2, 2, 2)), 3.0, pl.Series(["a"]), pa.array([["a"]]), [[1], ["b"]]],
)
def test_what_is_no_sample(sample: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        as_cells(sample)
    assert "expected" in str(caught.value)


def test_a_packed_column_is_not_copied() -> None:
    values = pa.array(np.arange(10.0))
    column = pa.LargeListArray.from_arrays(pa.array([0, 4, 10]), values)
    cells = Cells.from_arrow(column)
    assert np.shares_memory(cells.values, values.to_numpy())


@pytest.mark.parametrize(
    ("values", "offsets"),
    [
        (np.zeros(3), np.array([0, 4])),
        (np.zeros(3), np.array([2, 1])),
        (np.zeros(3), np.array([-1, 2])),
        (np.zeros(3), np.zeros(0, np.int64)),
        (np.zeros(3, np.float32), np.array([0, 3])),
        (np.zeros(3), np.array([0, 3], np.int32)),
        (np.zeros((3, 1)), np.array([0, 3])),
        ([0.0], np.array([0, 1])),
    ],
)
def test_cells_check_themselves(values: Any, offsets: Any) -> None:
    with pytest.raises(ArgumentError):
        Cells(values, offsets)


def test_cells_are_read_by_number() -> None:
    cells = Cells.from_samples([[1], [2, 3]])
    assert (cells[-1].tolist(), cells.sizes.tolist(), len(cells)) == ([2, 3], [1, 2], 2)
    with pytest.raises(IndexError):
        cells[2]
