"""Moments of many cells, beside reading the same bytes from memory and what numpy and Polars take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import types

from benchmarks.peers import MOMENTS
from benchmarks.workloads import WORKLOADS, title
from fastgate import threads
from fastgate.jit import kernel, reduction
from fastgate.kernels.types import OF, F
from fastgate.stats.summary import mean_arrays, moments_arrays, variance_arrays

BLOCK = 65_536


@reduction(types.float64(F))
def _sum(values: Any) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@kernel(types.void(types.int64, types.int64, F, OF))
def _block_sums(start: int, stop: int, values: Any, out: Any) -> None:
    for block in range(start, stop):
        out[block] = _sum(values[block * BLOCK : (block + 1) * BLOCK])


def read_everything(values: Any) -> Any:
    """The sum of the values on all threads: as fast as memory is read."""
    out = np.empty(-(-values.size // BLOCK))
    threads.run(_block_sums, out.size, values, out, work=BLOCK * 0.1)
    return out


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("side", ["fastgate", "a parallel sum of the same bytes", *MOMENTS])
def test_moments(benchmark: Any, name: str, side: str) -> None:
    cells = WORKLOADS[name]()[0]
    benchmark.group = f"moments of {title(name)}"
    benchmark.extra_info |= {"side": side, "cells": len(cells), "bytes": cells.values.nbytes}
    if side == "fastgate":
        benchmark.pedantic(moments_arrays, (cells.values, cells.offsets), rounds=7, warmup_rounds=2)
        return
    if side not in MOMENTS:
        assert read_everything(cells.values).sum() == pytest.approx(cells.values.sum(), rel=1e-9)
        benchmark.pedantic(read_everything, (cells.values,), rounds=7, warmup_rounds=2)
        return
    if side == "numpy mean and var" and name != "equal":
        pytest.skip("a matrix needs cells of equal size")
    peer = MOMENTS[side](cells)
    ours = moments_arrays(cells.values, cells.offsets)
    mean, variance = peer()
    np.testing.assert_allclose(mean, mean_arrays(ours), rtol=1e-12)
    np.testing.assert_allclose(variance, variance_arrays(ours), rtol=1e-10)
    benchmark.pedantic(peer, rounds=3)
