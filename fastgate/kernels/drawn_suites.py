"""The outcomes of suites from the states of their comparisons."""

from __future__ import annotations

from typing import Final

from numba import types

from fastgate.jit import kernel
from fastgate.kernels.drawing_records import Flags
from fastgate.kernels.drawn_judgement import OUT_STATES

__all__ = ["suite_outcomes"]

_BYTES: Final = types.Array(types.uint8, 1, "C", readonly=True)
_BYTE_GRID: Final = types.Array(types.uint8, 2, "C", readonly=True)


@kernel(types.void(types.int64, types.int64, _BYTE_GRID, _BYTE_GRID, _BYTES, OUT_STATES))
def suite_outcomes(
    start: int, stop: int, states: Flags, marks: Flags, outcome_of: Flags, outcomes: Flags
) -> None:
    """The outcome of a suite for each pair of builds and replicate, from the states of its KPIs.

    Parameters
    ----------
    states : uint8, shape (n_pairs * n_kpis, n_replicates)
    marks : uint8, shape (n_kpis, 256)
        What each state of a KPI adds to the suite.
    outcome_of : uint8, shape (256,)
        The outcome for all that its KPIs add.
    outcomes : uint8, shape (n_pairs, n_replicates), output
    """
    n_kpis = marks.shape[0]
    for pair in range(start, stop):
        row = outcomes[pair]
        row[:] = 0
        for k in range(n_kpis):
            mine = marks[k]
            of_kpi = states[pair * n_kpis + k]
            for r in range(row.size):
                row[r] |= mine[of_kpi[r]]
        for r in range(row.size):
            row[r] = outcome_of[row[r]]
