"""The status codes that kernels write, one a cell; the order is the order of `NAMES`."""

from __future__ import annotations

from typing import Final

__all__ = ["NAMES"]

OK: Final = 0
TOO_FEW: Final = 1
NONFINITE: Final = 2
ZERO_VAR_EQUAL: Final = 3
ZERO_VAR_DIFF: Final = 4
PRECISION_LOSS: Final = 5
NO_DISCORDANT: Final = 6
NO_ROOT: Final = 7
INVALID: Final = 8
DEGENERATE: Final = 9
SEPARATION: Final = 10
DISCONNECTED: Final = 11
PRIOR_DRIVEN: Final = 12
NOT_CONVERGED: Final = 13
DOUBTFUL: Final = 14
NO_EXACT_LAW: Final = 15
ZERO_DENOMINATOR: Final = 16
FEW_RESAMPLES: Final = 17
UNBOUNDED: Final = 18

NAMES: Final = (
    "ok",
    "too_few",
    "nonfinite",
    "zero_var_equal",
    "zero_var_diff",
    "precision_loss",
    "no_discordant",
    "no_root",
    "invalid",
    "degenerate",
    "separation",
    "disconnected",
    "prior_driven",
    "not_converged",
    "doubtful",
    "no_exact_law",
    "zero_denominator",
    "few_resamples",
    "unbounded",
)
