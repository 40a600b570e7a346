"""Counts that callers pass, checked, as int64 cells of a common shape; and results given back in that shape."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fastgate.errors import ArgumentError
from fastgate.stats.status import status_names

__all__ = ["ALTERNATIVES", "broadcast", "choice", "count_cells", "in_shape", "refuse", "words"]

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Shape = tuple[int, ...]

ALTERNATIVES: Final = {"two-sided": 0, "less": 1, "greater": 2}
"""The kernels' codes: is the candidate's rate different from, less than or greater than the baseline's?"""


def _counts(argument: npt.ArrayLike, name: str) -> Integers:
    try:
        array = np.asarray(argument)
    except ValueError as error:
        raise ArgumentError(f"{name} is no array", received=str(error), where=f"argument {name}") from None
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "b":
        raise ArgumentError(
            f"{name} holds booleans, not counts",
            expected="whole numbers of 0 or more",
            received="bool",
            where=f"argument {name}",
            hint="count the outcomes first, for instance with passed.sum()",
        )
    if array.dtype.kind not in "uf":
        if array.size == 0:
            return array.astype(np.int64)
        raise ArgumentError(
            f"{name} does not hold counts",
            expected="whole numbers of 0 or more",
            received=f"dtype {array.dtype}",
            where=f"argument {name}",
            hint="a missing count is no zero: drop such cells or fill them on purpose",
        )
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    wrong = (whole != array) | (whole < 0) | (array > 2**53)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ArgumentError(
            f"{name} holds a number that is no count",
            expected="whole numbers of 0 or more",
            received=repr(array.reshape(-1)[place].item()),
            where=f"argument {name}, element {place}",
            hint="for a rate that is given as such use binomial_half_width_at",
        )
    return whole


def count_cells(**arguments: npt.ArrayLike) -> tuple[list[Integers], Shape]:
    """The counts as contiguous one-dimensional int64 arrays of one size, and the shape they broadcast to.

    Raises
    ------
    ArgumentError
        When an argument holds anything but whole numbers of 0 or more, or the shapes do not broadcast.
    """
    arrays = {name: _counts(argument, name) for name, argument in arguments.items()}
    return broadcast(arrays)


def broadcast(arrays: dict[str, npt.NDArray[Any]]) -> tuple[list[npt.NDArray[Any]], Shape]:
    """The arrays as contiguous one-dimensional ones of one size, and the shape they broadcast to."""
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        raise ArgumentError(
            f"{', '.join(arrays)} do not fit together",
            expected="shapes that broadcast",
            received=", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items()),
        ) from None
    return [np.ascontiguousarray(array).reshape(-1) for array in together], together[0].shape


def refuse(status: Codes, code: int, problem: str, expected: str, **cells: npt.NDArray[Any]) -> None:
    """Raise an ArgumentError that shows the first cell whose status is `code`, if there is one."""
    if status.size and status.max() >= code:
        wrong = status == code
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ArgumentError(
                problem,
                expected=expected,
                received=", ".join(f"{name} {values[place].item()}" for name, values in cells.items()),
                where=f"element {place}",
            )


def words(status: Codes) -> npt.NDArray[np.object_]:
    """The status words, as `status_names` gives them.

    Where every cell is ok they are one word seen through all cells, where few are not they are filled in: looking
    a million words up costs 4 ms, which is more than a closed-form interval of each.
    """
    if not status.any():
        return np.broadcast_to(np.array("ok", dtype=object), status.shape)
    result = np.empty(status.shape, dtype=object)
    result.fill("ok")
    others = np.flatnonzero(status != 0)
    result[others] = status_names(status[others])
    return result


def in_shape(array: npt.NDArray[Any], shape: Shape) -> Any:
    """The cells in the shape of the arguments; for scalar arguments the one value as a Python scalar."""
    if shape:
        return array.reshape(shape)
    value = array[0]
    return value.item() if isinstance(value, np.generic) else value


def choice(value: str, options: dict[str, int], name: str) -> int:
    """The kernels' code for one of the words that an argument may be."""
    if isinstance(value, str) and value in options:
        return options[value]
    raise ArgumentError(
        f"{name} is unknown",
        expected=", ".join(repr(option) for option in options),
        received=repr(value),
        where=f"argument {name}",
    )
