"""The bootstrap's named groups as numba types."""

from __future__ import annotations

from typing import Final

from numba import types

from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask, OrderTables
from fastgate.kernels.types import OB, OF, F, I

__all__ = ["LIMITS", "ORDER_TABLES", "SAMPLES", "TASK"]

SAMPLES: Final = types.NamedTuple([F, I, I, F, I, I, F, types.boolean, types.boolean], BootstrapSamples)
TASK: Final = types.NamedTuple(
    [types.int64, types.float64, types.int64, types.int64, types.float64, types.float64], BootstrapTask
)
LIMITS: Final = types.NamedTuple([OF, OF, OF, OF, OF, OB], BootstrapLimits)
ORDER_TABLES: Final = types.NamedTuple([I, I, I, F], OrderTables)
