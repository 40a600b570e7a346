"""The words for the kernels' status codes, and results as arrays for many cells or scalars for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastgate.kernels.status import NAMES

__all__ = ["fields", "status_names"]

_WORDS = np.array(NAMES, dtype=object)


def status_names(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.object_]:
    """The status words of `codes`.

    Parameters
    ----------
    codes : ndarray of int8
        As kernels write them.

    Returns
    -------
    ndarray of object (str)
        Of the same shape; equal words are one object.

    Examples
    --------
    >>> status_names(np.array([0, 1, 5], np.int8)).tolist()
    ['ok', 'too_few', 'precision_loss']
    """
    return _WORDS[codes]


def fields(arrays: Iterable[npt.NDArray[Any]], single: bool) -> list[Any]:
    """The arrays as they are, or, for a single cell, their only elements as Python scalars."""
    if not single:
        return list(arrays)
    return [array[0].item() if isinstance(array[0], np.generic) else array[0] for array in arrays]
