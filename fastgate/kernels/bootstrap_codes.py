"""The numbers by which the bootstrap's kernels name statistics, methods, engines and routes."""

from __future__ import annotations

from typing import Final

__all__ = ["ENGINES", "METHODS"]

MEAN: Final = 0
RATIO: Final = 1
STD: Final = 2
QUANTILE: Final = 3
TRIMMED: Final = 4

PERCENTILE: Final = 0
BASIC: Final = 1
NORMAL: Final = 2
BCA: Final = 3
STUDENTISED: Final = 4
METHODS: Final = ("percentile", "basic", "normal", "bca", "studentised")

AUTO: Final = 0
EXACT: Final = 1
SADDLEPOINT: Final = 2
RESAMPLE: Final = 3
ENGINES: Final = ("auto", "exact", "saddlepoint", "resample")

# What is to be done with a cell.
DONE: Final = 0  # nothing more: its status says why, or its values are all equal
CLOSED: Final = 1  # mean and standard error in closed form
QUANTILE_LAW: Final = 2  # law of order statistics
LATTICE: Final = 3  # convolution over a lattice
MULTISETS: Final = 4  # every multiset of the cell's values
TILTED: Final = 5  # saddlepoint
DRAWN: Final = 6  # resampling
QUANTILE_PAIR: Final = 7  # difference of two quantiles' laws

# A cumulative probability this close below its target counts as having reached it: exact laws have jumps at
# decimal fractions, and their float64 sums may fall on either side.
JUMP: Final = 1e-13
