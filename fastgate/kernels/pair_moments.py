"""Mergeable moments of pairs, and the paired t test from them."""

from __future__ import annotations

from typing import Final

from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.moments import MOMENTS, Cell, common_exponent, load, mean_difference, scaled
from fastgate.kernels.paired_ttest import OPTIONS, PAIRED, finish_tests, score_effects
from fastgate.kernels.pairs import VALUES, judge_differences, measure_pairs
from fastgate.kernels.records import Floats, Integers, MomentArrays, PairedArrays, PairMomentArrays
from fastgate.kernels.status import OK, TOO_FEW
from fastgate.kernels.types import OB, OF, OI, F

__all__ = ["comoment_merge_kernel", "pair_moments_kernel", "paired_from_moments_kernel"]

_OUT_MOMENTS: Final = types.NamedTuple([OI, OI, OF, OF, OF, OF, OI, OB, OB], MomentArrays)
_PAIRS: Final = types.NamedTuple([MOMENTS, MOMENTS, MOMENTS, F], PairMomentArrays)
_OUT_PAIRS: Final = types.NamedTuple([_OUT_MOMENTS, _OUT_MOMENTS, _OUT_MOMENTS, OF], PairMomentArrays)


@device
def _store(out: MomentArrays, i: int, n: int, n_missing: int, cell: Cell) -> None:
    shift, centre, m2, m3, exponent, constant, status = cell
    out.n[i] = n
    out.n_missing[i] = n_missing
    out.shift[i] = shift
    out.centre[i] = centre
    out.m2[i] = m2
    out.m3[i] = m3
    out.exponent[i] = exponent
    out.constant[i] = constant
    out.status[i] = TOO_FEW if n == 0 or (n == 1 and status == OK) else status


@kernel(types.void(*VALUES, _OUT_PAIRS))
def pair_moments_kernel(
    start: int,
    stop: int,
    candidate_values: Floats,
    candidate_offsets: Integers,
    baseline_values: Floats,
    baseline_offsets: Integers,
    candidate_index: Integers,
    baseline_index: Integers,
    out: PairMomentArrays,
) -> None:
    """Moments of the complete pairs of two cells of equal size."""
    for i in range(start, stop):
        low = baseline_offsets[baseline_index[i]]
        high = baseline_offsets[baseline_index[i] + 1]
        b = candidate_index[i]
        candidates = candidate_values[candidate_offsets[b] : candidate_offsets[b + 1]]
        n, of_a, of_b, of_d, comoment = measure_pairs(baseline_values[low:high], candidates, True)
        _store(out.baseline, i, n, high - low - n, of_a)
        _store(out.candidate, i, n, high - low - n, of_b)
        _store(out.difference, i, n, high - low - n, of_d)
        out.comoment[i] = comoment


@kernel(types.void(types.int64, types.int64, _PAIRS, *OPTIONS, PAIRED))
def paired_from_moments_kernel(
    start: int,
    stop: int,
    pairs: PairMomentArrays,
    alternative: int,
    q: float,
    quantiles: Floats,
    out: PairedArrays,
) -> None:
    """The test of each cell of pairs."""
    t, df, p, delta, _, _, d, g, dz, gz, r, n, n_missing, mean_b, mean_a, status, error = out
    for i in range(start, stop):
        n[i] = pairs.difference.n[i]
        n_missing[i] = pairs.difference.n_missing[i]
        loaded = (
            n[i],
            load(pairs.baseline, i),
            load(pairs.candidate, i),
            load(pairs.difference, i),
            pairs.comoment[i],
        )
        t[i], df[i], delta[i], dz[i], r[i], mean_b[i], mean_a[i], status[i], error[i] = judge_differences(
            loaded
        )
        d[i], g[i], p[i] = score_effects(loaded, df[i])
        gz[i] = dz[i]
    finish_tests(start, stop, alternative, q, quantiles, out)


@device
def _distance(a: MomentArrays, b: MomentArrays, i: int) -> tuple[float, int]:
    """Difference of the means of both parts / 2^exponent, and the exponent that their merger has."""
    exponent = common_exponent(
        a.shift[i], a.exponent[i], a.constant[i] == 1, b.shift[i], b.exponent[i], b.constant[i] == 1
    )
    delta = mean_difference(
        a.shift[i], a.centre[i], a.exponent[i], b.shift[i], b.centre[i], b.exponent[i], exponent
    )
    return delta, exponent


@kernel(types.void(types.int64, types.int64, _PAIRS, _PAIRS, OF, OI))
def comoment_merge_kernel(
    start: int, stop: int, a: PairMomentArrays, b: PairMomentArrays, out: Floats, exponents: Integers
) -> None:
    """Co-moments / 2^exponents of two parts together: Pébay (2008)."""
    for i in range(start, stop):
        n_a = a.baseline.n[i]
        n_b = b.baseline.n[i]
        if n_a == 0 or n_b == 0:
            part = a if n_b == 0 else b
            out[i] = part.comoment[i]
            exponents[i] = part.baseline.exponent[i] + part.candidate.exponent[i]
            continue
        x, exponent_x = _distance(a.baseline, b.baseline, i)
        y, exponent_y = _distance(a.candidate, b.candidate, i)
        exponent = exponent_x + exponent_y
        exponents[i] = exponent
        within_a = scaled(a.comoment[i], a.baseline.exponent[i] + a.candidate.exponent[i] - exponent)
        within_b = scaled(b.comoment[i], b.baseline.exponent[i] + b.candidate.exponent[i] - exponent)
        out[i] = within_a + within_b + x * y * (n_a * (n_b / (n_a + n_b)))
