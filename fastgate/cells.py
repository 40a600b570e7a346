"""Cells: many samples of different sizes in two flat arrays, which is Arrow's ``list<double>`` layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastgate.errors import ArgumentError

__all__ = ["Cells", "as_cells"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """A ragged matrix: cell ``c`` holds ``values[offsets[c]:offsets[c + 1]]``.

    Parameters
    ----------
    values : ndarray of float64, shape (n_values,)
        The measurements, cell after cell. NaN stands for a missing value.
    offsets : ndarray of int64, shape (n_cells + 1,)
        Where each cell begins and the last one ends; never decreasing. The first need not be 0, so that a
        slice of a larger table is used without a copy.

    Raises
    ------
    ArgumentError
        When the arrays are not of these types and shapes or the offsets leave the values.

    Examples
    --------
    >>> cells = Cells.from_samples([[1.0, 2.0, 3.0], [], [4.0]])
    >>> len(cells), cells.sizes.tolist(), cells[2].tolist()
    (3, [3, 0, 1], [4.0])
    """

    values: Floats
    offsets: Integers

    def __post_init__(self) -> None:
        for name, kind in (("values", np.float64), ("offsets", np.int64)):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
                received = (
                    f"{array.dtype}, shape {array.shape}"
                    if isinstance(array, np.ndarray)
                    else type(array).__name__
                )
                raise ArgumentError(
                    f"Cells.{name} has the wrong type",
                    expected=f"a one-dimensional array of {np.dtype(kind).name}",
                    received=received,
                    hint="Cells.from_samples and fastgate.stats functions convert other inputs",
                )
        offsets = self.offsets
        inside = offsets.size > 0 and offsets[0] >= 0 and offsets[-1] <= self.values.size
        if not inside or np.any(offsets[1:] < offsets[:-1]):
            raise ArgumentError(
                "Cells.offsets does not describe the values",
                expected=f"n_cells + 1 numbers, never decreasing, from 0 or more to at most {self.values.size}",
                received=f"{offsets.size} numbers"
                + (f" from {offsets[0]} to {offsets[-1]}" if offsets.size else ""),
            )
        if not self.values.flags.c_contiguous or not offsets.flags.c_contiguous:
            object.__setattr__(self, "values", np.ascontiguousarray(self.values))
            object.__setattr__(self, "offsets", np.ascontiguousarray(offsets))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, cell: int) -> Floats:
        if not -len(self) <= cell < len(self):
            raise IndexError(f"cell {cell} of {len(self)}")
        cell %= len(self)
        return self.values[self.offsets[cell] : self.offsets[cell + 1]]

    @property
    def sizes(self) -> Integers:
        """The number of values of each cell, missing ones included; int64, shape (n_cells,)."""
        return np.diff(self.offsets)

    @classmethod
    def from_samples(cls, samples: Iterable[npt.ArrayLike]) -> Cells:
        """Cells from one sequence of numbers a cell."""
        arrays = [_numbers(sample, f"sample {index}") for index, sample in enumerate(samples)]
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([array.size for array in arrays], out=offsets[1:])
        return cls(np.concatenate(arrays) if arrays else np.empty(0), offsets)

    @classmethod
    def from_arrow(cls, column: Any) -> Cells:
        """Cells from an Arrow or Polars list column, without a copy where it holds float64 without nulls.

        Parameters
        ----------
        column : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
            A list, large list, list view or fixed-size list of numbers or booleans; or a plain numeric column, which
            is one cell. Null values become NaN; a null list is an empty cell. Integers and decimals of more
            than 53 bits are rounded to the nearest float64.

        Raises
        ------
        ArgumentError
            When the column holds anything but (lists of) numbers.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        array: Any = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.chunked_array(column)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
        kind = array.type
        nested = isinstance(
            kind,
            pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType,
        )
        if not nested:
            return cls.from_arrow(pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), array))
        element = kind.value_type
        if not (
            pa.types.is_floating(element)
            or pa.types.is_integer(element)
            or pa.types.is_boolean(element)
            or pa.types.is_decimal(element)
            or pa.types.is_null(element)
        ):
            raise ArgumentError(
                "the column does not hold numbers",
                expected="a list of floats, integers, decimals or booleans per row",
                received=str(kind),
            )
        if array.null_count or not isinstance(kind, pa.LargeListType | pa.ListType):
            # The span behind a null may hold anything; rebuilding leaves it empty. Views may overlap, and
            # pyarrow's cast (26.0) makes invalid lists of them.
            lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
            offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
            flat = array.flatten()
        else:
            offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
            flat = array.values
        return cls(_arrow_numbers(flat), offsets)


def _arrow_numbers(flat: Any) -> Floats:
    import pyarrow as pa

    if flat.type == pa.float64() and flat.null_count == 0:
        return np.asarray(flat.to_numpy(), np.float64)
    if pa.types.is_boolean(flat.type):
        flat = flat.cast(pa.uint8())
    numbers = flat.cast(pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.float64)


def _numbers(sample: npt.ArrayLike, where: str) -> Floats:
    try:
        if isinstance(sample, np.ma.MaskedArray):
            sample = np.where(np.ma.getmaskarray(sample), np.nan, np.ma.getdata(sample))
        array = np.asarray(sample)
        if array.dtype.kind == "O":
            array = np.array([np.nan if value is None else value for value in array.tolist()], np.float64)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"dtype {array.dtype}")
        return np.ascontiguousarray(array, np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            "a sample does not hold numbers",
            expected="real numbers; None or NaN for a missing value",
            received=str(error),
            where=where,
        ) from None


def as_cells(sample: Any, name: str = "sample") -> tuple[Cells, bool]:
    """The sample as cells, and whether it was a single one-dimensional sample.

    Parameters
    ----------
    sample : array_like or Cells or Arrow column
        One dimension: one cell. Two dimensions: each row a cell. `Cells`: as they are. An Arrow or Polars list
        column: each row a cell; a numeric one: one cell. A list of unequal sequences: each a cell.
    name : str, optional
        The argument's name, for messages.

    Returns
    -------
    cells : Cells
    single : bool
        Whether results should be scalars.

    Raises
    ------
    ArgumentError
        When the sample holds anything but numbers, or has no or more than two dimensions.
    """
    if isinstance(sample, Cells):
        return sample, False
    if hasattr(sample, "__arrow_c_stream__") or hasattr(sample, "__arrow_c_array__"):
        cells = Cells.from_arrow(sample)
        dtype = str(getattr(sample, "dtype", getattr(sample, "type", ""))).lower()
        return cells, "list" not in dtype and "array" not in dtype
    if isinstance(sample, Sequence) and any(np.ndim(part) for part in sample):
        return Cells.from_samples(sample), False
    if np.ndim(sample) == 2:
        rows = sample if isinstance(sample, np.ma.MaskedArray) else np.asarray(sample)
        values = _numbers(rows.reshape(-1), name)
        return Cells(values, np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]), False
    if np.ndim(sample) != 1:
        raise ArgumentError(
            f"{name} has the wrong number of dimensions",
            expected="one (a sample) or two (a sample a row)",
            received=f"{np.ndim(sample)}",
            hint="reshape it, or pass Cells for samples of unequal sizes",
        )
    values = _numbers(sample, name)
    return Cells(values, np.array([0, values.size], np.int64)), True
