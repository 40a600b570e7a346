"""What a caller of the bootstrap asks for, checked and put into the kernels' terms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fastgate.errors import ArgumentError
from fastgate.kernels import bootstrap_codes as codes

__all__ = ["BootstrapRequest", "bootstrap_request", "key_numbers"]

Keys = npt.NDArray[np.uint64]

_STATISTICS: Final = {
    "mean": codes.MEAN,
    "proportion": codes.MEAN,
    "ratio_of_means": codes.RATIO,
    "std": codes.STD,
    "trimmed_mean": codes.TRIMMED,
}
_NAMES: Final = (
    "'mean', 'median', 'p95' (any percentile), a quantile in (0, 1), 'std', 'trimmed_mean', 'proportion' "
    "or 'ratio_of_means'"
)
_MOST_RESAMPLES: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    """A checked request, from `bootstrap_request`.

    Parameters
    ----------
    statistic : int
        The kernels' code.
    q : float
        The quantile, or the share that a trimmed mean cuts at each end; else 0.
    binary : bool
        Whether the values must be 0 or 1.
    method, engine : int
        The kernels' codes.
    alpha : float
        1 − the confidence level.
    n_resamples : int
    seed : int
        Below 2**64.
    shared : bool
        Whether cells of one size share their resamples.
    """

    statistic: int
    q: float
    binary: bool
    method: int
    engine: int
    alpha: float
    n_resamples: int
    seed: int
    shared: bool


def _quantile(statistic: str | float) -> float | None:
    """The quantile that `statistic` names, or None where it names none."""
    if statistic == "median":
        return 0.5
    if isinstance(statistic, str):
        digits = statistic[1:]
        if statistic[:1] != "p" or not digits.replace(".", "", 1).isdecimal() or not digits.isascii():
            return None
        return float(Decimal(digits) / 100)
    if isinstance(statistic, int | float | np.floating | np.integer) and not isinstance(statistic, bool):
        return float(statistic)
    return None


def _choice(value: Any, choices: Sequence[str], name: str) -> int:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(
            f"the bootstrap's {name} is not known",
            expected=" or ".join(repr(choice) for choice in choices),
            received=repr(value),
            where=f"argument {name}",
        )
    return choices.index(value)


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        raise ArgumentError(
            f"{name} is out of range",
            expected=f"a whole number from {least} to {most}",
            received=repr(value),
            where=f"argument {name}",
        )
    return int(value)


def bootstrap_request(
    statistic: str | float = "mean",
    *,
    samples: int = 1,
    confidence_level: float = 0.95,
    method: str = "bca",
    engine: str = "auto",
    n_resamples: int = 9999,
    seed: int = 0,
    shared: bool = False,
    trim: float = 0.1,
) -> BootstrapRequest:
    """A checked request for the bootstrap of cells of one or two samples.

    Parameters
    ----------
    statistic, confidence_level, method, engine, n_resamples, seed, shared, trim
        As in `fastgate.stats.bootstrap`.
    samples : int, optional
        1, or 2 where the statistic is of two.

    Raises
    ------
    ArgumentError
        For an unknown statistic, method or engine; a quantile, level, number or trim out of range; combinations
        that do not exist; and too few resamples for the level.

    Examples
    --------
    >>> bootstrap_request("p99.9", confidence_level=0.9).q
    0.999
    """
    q = _quantile(statistic)
    if q is None and (not isinstance(statistic, str) or statistic not in _STATISTICS):
        raise ArgumentError(
            "the statistic is not known",
            expected=_NAMES,
            received=repr(statistic),
            where="argument statistic",
        )
    if q is not None and not 0.0 < q < 1.0:
        raise ArgumentError(
            "the quantile is out of range",
            expected="between 0 and 1 (p0 and p100), both excluded",
            received=repr(statistic),
            where="argument statistic",
            hint="the 95th percentile is 'p95' or 0.95",
        )
    code = codes.QUANTILE if q is not None else _STATISTICS[str(statistic)]
    if not (isinstance(confidence_level, int | float | np.floating) and 0.0 < confidence_level < 1.0):
        raise ArgumentError(
            "the confidence level is out of range",
            expected="a number between 0 and 1, both excluded",
            received=repr(confidence_level),
            where="argument confidence_level",
            hint="95 % is 0.95",
        )
    if not (isinstance(trim, int | float | np.floating) and 0.0 <= trim < 0.5):
        raise ArgumentError(
            "trim is out of range",
            expected="the share to cut at each end: 0 or more, below 0.5",
            received=repr(trim),
            where="argument trim",
        )
    how = _choice(method, codes.METHODS, "method")
    by = _choice(engine, codes.ENGINES, "engine")
    alpha = 1.0 - float(confidence_level)
    count = _whole(n_resamples, "n_resamples", 1, _MOST_RESAMPLES)
    number = _whole(seed, "seed", 0, 2**64 - 1)
    if by in (codes.AUTO, codes.RESAMPLE) and (count + 1) * alpha / 2.0 < 1.0 - 1e-9:
        raise ArgumentError(
            "there are too few resamples for the confidence level",
            expected=f"{int(np.ceil(2.0 / alpha - 1.0 - 1e-9))} or more, so that a limit lies between two of them",
            received=f"{count}",
            where="argument n_resamples",
            hint="9999 is usual; 99999 for limits to a quarter of a percent of the width",
        )
    if code == codes.RATIO and samples != 2:
        raise ArgumentError(
            "a ratio of means needs two samples",
            expected="the numerator in sample, the denominator in other",
            received="no other",
            where="argument other",
        )
    if how == codes.STUDENTISED and code not in (codes.MEAN, codes.RATIO):
        raise ArgumentError(
            "the studentised method needs a standard error for each resample",
            expected="a mean, proportion, difference or ratio of means",
            received=repr(statistic),
            where="argument method",
            hint="'bca' suits quantiles, standard deviations and trimmed means",
        )
    if by == codes.SADDLEPOINT and (
        code != codes.MEAN or how not in (codes.PERCENTILE, codes.BASIC, codes.BCA)
    ):
        raise ArgumentError(
            "the saddlepoint engine does not have this interval",
            expected="a mean, proportion or their difference; method 'percentile', 'basic' or 'bca'",
            received=f"statistic {statistic!r}, method {method!r}",
            where="argument engine",
            hint="engine='auto' takes the best engine there is for each cell",
        )
    if shared and (code not in (codes.MEAN, codes.RATIO) or how == codes.STUDENTISED):
        raise ArgumentError(
            "only means can share their resamples",
            expected="a mean, proportion, difference or ratio of means; any method but 'studentised'",
            received=f"statistic {statistic!r}, method {method!r}",
            where="argument shared",
        )
    share = q if q is not None else float(trim) if code == codes.TRIMMED else 0.0
    binary = statistic == "proportion"
    return BootstrapRequest(code, share, binary, how, by, alpha, count, number, bool(shared))


def key_numbers(keys: Any, n_cells: int) -> Keys | None:
    """The cells' keys as uint64; text by its BLAKE2b digest, None as None.

    Raises
    ------
    ArgumentError
        When there is not one whole number or text for each cell.
    """
    if keys is None:
        return None
    array = np.asarray(keys)
    if array.ndim != 1 or array.size != n_cells:
        raise ArgumentError(
            "keys do not fit the cells",
            expected=f"{n_cells} keys, one a cell",
            received=f"shape {array.shape}",
            where="argument keys",
        )
    if array.dtype.kind == "u":
        return np.ascontiguousarray(array, np.uint64)
    if array.dtype.kind == "i":
        return np.ascontiguousarray(array, np.int64).view(np.uint64)
    texts = array.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise ArgumentError(
            "keys are of the wrong type",
            expected="whole numbers or text",
            received=str(array.dtype),
            where="argument keys",
        )
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), np.dtype("<u8")).astype(np.uint64)
