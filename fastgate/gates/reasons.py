"""Reason codes: what kept a cell, suite, baseline or candidate from passing, and what each means in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

__all__ = ["CODES", "FAULTS", "MEANINGS", "bit", "listed", "mask_of"]

MEANINGS: Final = {
    "missing_cell": "the data have no such cell",
    "duplicate_case": "a case stands twice",
    "unpaired_cases": "candidate and baseline ran different cases",
    "missing_values": "more values are missing than the policy allows",
    "nonfinite": "a value is infinite",
    "too_few": "fewer than two cases",
    "n_lt_min": "fewer cases than the policy asks for",
    "invalid_values": "a value is neither 0 nor 1, which a proportion takes",
    "zero_var_equal": "both samples are constant and equal: no estimate of noise",
    "zero_var_diff": "both samples are constant and differ: no estimate of noise",
    "precision_loss": "the difference is lost in the rounding of the values",
    "no_interval": "the bootstrap, as the policy asks for it, has no interval for these values",
    "guard_worse": "a guard KPI is significantly worse",
    "guard_not_shown": "a guard KPI is not shown to be within its margin",
    "guard_undefined": "a guard KPI has no result",
    "too_few_wins": "fewer suites won than required",
    "lost_suite": "a suite won by the previous release is no longer won",
    "no_previous_result": "the previous result does not hold this candidate",
}
CODES: Final = tuple(MEANINGS)

# Faults of the data: a deciding comparison with one of these says nothing about the build, so the candidate
# fails closed. Statuses such as zero_var_equal are no faults: the data are whole, and the test has no answer.
FAULTS: Final = CODES[:8]

_DTYPE: Final = pl.List(pl.String)


def bit(code: str, codes: Sequence[str] = CODES) -> int:
    """The bit of a reason in a mask of `codes`, which are a gate's own; the benchmark gate's unless given."""
    return 1 << codes.index(code)


def mask_of(codes: tuple[str, ...]) -> int:
    """The mask of several reasons."""
    return sum(bit(code) for code in codes)


def listed(mask: pl.Series, codes: Sequence[str] = CODES) -> pl.Series:
    """The reasons of each mask, as lists of codes in the order of `codes`.

    Examples
    --------
    >>> listed(pl.Series([0, bit("too_few") | bit("missing_values")], dtype=pl.UInt32)).to_list()
    [[], ['missing_values', 'too_few']]
    """
    # A sweep of a million cells has a few dozen different masks: each becomes a list once.
    distinct = mask.unique().sort()
    lists = pl.Series(
        [[code for code in codes if value & bit(code, codes)] for value in distinct.to_list()], dtype=_DTYPE
    )
    return lists[distinct.search_sorted(mask)].alias("reasons")
