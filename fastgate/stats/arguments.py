"""What callers pass to the statistics of draws, preferences and probes, checked, as typed arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastgate.errors import ArgumentError

__all__ = ["check_length", "check_share", "codes", "numbers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def numbers(argument: Any, name: str) -> Floats:
    """The argument as float64 of its own shape; None becomes NaN.

    Raises
    ------
    ArgumentError
        When it holds anything but real numbers.
    """
    try:
        array = np.asarray(argument)
        if array.dtype.kind == "O":
            flat = [np.nan if value is None else value for value in array.reshape(-1)]
            array = np.array(flat).reshape(array.shape)
        if array.dtype.kind not in "fiub" and array.size:
            raise TypeError(f"dtype {array.dtype}")
        return np.ascontiguousarray(array.astype(np.float64, copy=False)).reshape(array.shape)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{name} does not hold numbers",
            expected="a real number or an array of them; NaN for a missing value",
            received=str(error),
            where=f"argument {name}",
        ) from None


def codes(argument: Any, name: str, stop: int | None = None) -> Integers:
    """The argument as a one-dimensional int64 array of codes, from 0 to `stop` − 1 where that is given.

    Raises
    ------
    ArgumentError
        When it holds anything but whole numbers, has other than one dimension, or a code is out of range.
    """
    try:
        array = np.asarray(argument)
    except ValueError as error:
        raise ArgumentError(f"{name} is no array", received=str(error), where=f"argument {name}") from None
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise ArgumentError(
            f"{name} does not hold codes",
            expected="a one-dimensional array of whole numbers from 0 on",
            received=f"{array.dtype}, {array.ndim} dimensions",
            where=f"argument {name}",
            hint="number the distinct values, for instance with numpy.unique(..., return_inverse=True)",
        )
    array = np.ascontiguousarray(array, np.int64)
    if array.size and (array.min() < 0 or (stop is not None and array.max() >= stop)):
        wrong = array < 0 if stop is None else (array < 0) | (array >= stop)
        row = int(np.argmax(wrong))
        raise ArgumentError(
            f"{name} holds a code that is out of range",
            expected="0 or more" if stop is None else f"0 to {stop - 1}",
            received=str(array[row]),
            where=f"argument {name}, element {row}",
        )
    return array


def check_length(size: int, expected: int, name: str, like: str) -> None:
    """Raise an ArgumentError unless an argument has as many elements as another."""
    if size != expected:
        raise ArgumentError(
            f"{name} and {like} differ in length",
            expected=f"{expected} elements, as in {like}",
            received=f"{size}",
            where=f"argument {name}",
        )


def check_share(value: float, name: str) -> None:
    """Raise an ArgumentError unless a mass or confidence level lies between 0 and 1, both excluded."""
    if not (isinstance(value, int | float | np.floating) and 0.0 < value < 1.0):
        raise ArgumentError(
            f"{name} is out of range",
            expected="a number between 0 and 1, both excluded",
            received=repr(value),
            where=f"argument {name}",
            hint="95 % is 0.95",
        )
