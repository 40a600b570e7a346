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

NAMES: Final = (
    "ok",
    "too_few",
    "nonfinite",
    "zero_var_equal",
    "zero_var_diff",
    "precision_loss",
    "no_discordant",
    "no_root",
)
