"""Exact bootstrap limits of means whose values lie on a lattice: pass/fail, grades, counts, fixed decimals.

The law of the sum of the draws is the n-fold convolution of the empirical one: its discrete Fourier transform is
the n-th power of the empirical one's. Only some 30 of its frequencies differ from 0 by more than rounding, so the
cumulative law is summed from those at the few points where a limit is looked for, and no transform back is needed.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.bootstrap_codes import BASIC, BCA, JUMP, LATTICE, MEAN
from fastgate.kernels.bootstrap_jackknife import cell_acceleration
from fastgate.kernels.bootstrap_limits import adjusted_probability
from fastgate.kernels.bootstrap_records import BootstrapLimits, BootstrapSamples, BootstrapTask
from fastgate.kernels.bootstrap_types import LIMITS, SAMPLES, TASK
from fastgate.kernels.records import Codes, Floats, Integers
from fastgate.kernels.special import normal_isf
from fastgate.kernels.status import NO_ROOT
from fastgate.kernels.types import B, F

__all__ = ["lattice_limits"]

# Mass outside the window, which wraps around: e^−37 = 8.5e−17 a side.
_OUTSIDE: Final = 37.0
# Frequencies with a modulus below e^−42 = 6e−19 are left out.
_NEGLIGIBLE: Final = -42.0


@device
def _points(
    values: Floats, origin: float, step: float, points: Integers, counts: Integers, histogram: Integers
) -> int:
    """The different lattice points of the values (steps from `origin`) and how often each occurs; returns how many."""
    top = 0
    for value in values:
        k = round((value - origin) / step)
        histogram[k] += 1
        top = max(top, k)
    different = 0
    for k in range(top + 1):
        if histogram[k] > 0:
            points[different] = k
            counts[different] = histogram[k]
            histogram[k] = 0
            different += 1
    return different


@device
def _log_moment(points: Integers, counts: Integers, n: int, mean: float, s: float) -> float:
    """n·log E e^{s(k − mean)} over the points."""
    top = max(s * (points[0] - mean), s * (points[points.size - 1] - mean))
    total = 0.0
    for i in range(points.size):
        total += counts[i] * math.exp(s * (points[i] - mean) - top)
    return float(n * (top + math.log(total / n)))


@device
def _reach(
    pa: Integers,
    ca: Integers,
    n_a: int,
    mean_a: float,
    factor_a: int,
    pb: Integers,
    cb: Integers,
    n_b: int,
    mean_b: float,
    factor_b: int,
    sd: float,
    sign: float,
) -> float:
    """A distance that sign·(T − E T) exceeds with a probability below e^−37 (Chernoff's bound)."""
    best = math.inf
    t = 8.6
    for _ in range(8):
        s = sign * t / sd
        exponent = _log_moment(pa, ca, n_a, mean_a, s * factor_a)
        if n_b > 0:
            exponent += _log_moment(pb, cb, n_b, mean_b, -s * factor_b)
        best = min(best, (exponent + _OUTSIDE) / (t / sd))
        t *= 0.75
    return best


@device
def _moments(points: Integers, counts: Integers, n: int) -> tuple[float, float]:
    mean = 0.0
    for i in range(points.size):
        mean += counts[i] * float(points[i])
    mean /= n
    squares = 0.0
    for i in range(points.size):
        d = points[i] - mean
        squares += counts[i] * d * d
    return mean, squares


@device
def _accumulate(
    points: Integers,
    counts: Integers,
    n: int,
    factor: int,
    shift: int,
    period: int,
    sine: Floats,
    versine: Floats,
    real: Floats,
    imaginary: Floats,
) -> None:
    """Add Σ p(e^{iωf(k − shift)} − 1) at every frequency ω of the period to real and imaginary parts."""
    for i in range(points.size):
        weight = counts[i] / n
        stride = (factor * (points[i] - shift)) % period
        place = 0
        for k in range(real.size):
            place += stride
            if place >= period:
                place -= period
            real[k] -= weight * versine[place]
            imaginary[k] += weight * sine[place]


@device
def _cumulative(
    x: int,
    base: int,
    period: int,
    frequencies: Integers,
    used: int,
    psi_real: Floats,
    psi_imaginary: Floats,
    sine: Floats,
    versine: Floats,
    start_sum: float,
) -> float:
    """P(T − centre <= x), for x in the window that begins at `base`."""
    total = 0.0
    place_of = (x + 1) % period
    for i in range(used):
        place = (frequencies[i] * place_of) % period
        total += psi_real[i] * (1.0 - versine[place]) + psi_imaginary[i] * sine[place]
    return (x + 1 - base) / period + (start_sum - total) * (2.0 / period)


@device
def _round_up(size: int) -> int:
    """An odd period of at least this size, from a coarse set, so that cells share their tables of sines."""
    power = 64
    while power < size:
        power *= 2
    for part in (5, 6, 7):
        candidate = power // 8 * part
        if candidate >= size:
            return candidate + 1
    return power + 1


@kernel(types.void(types.int64, types.int64, SAMPLES, TASK, B, F, LIMITS))
def lattice_limits(
    start: int,
    stop: int,
    samples: BootstrapSamples,
    task: BootstrapTask,
    route: Codes,
    steps: Floats,
    limits: BootstrapLimits,
) -> None:
    """Percentile, basic or BCa limits of each cell whose route is LATTICE.

    Parameters
    ----------
    samples, task : BootstrapSamples, BootstrapTask
        Of a mean, or a difference of means.
    route : int8, shape (n_cells,)
    steps : float64, shape (n_cells,)
        The lattices' steps.
    limits : BootstrapLimits, output
        NO_ROOT where BCa has no limit.
    """
    a, starts_a, n_a, b, starts_b, n_b, _, two, _ = samples
    method, alpha, z = task.method, task.alpha, task.z
    estimate, low, high, error, bias, status = limits
    period = 0
    sine = np.empty(0)
    versine = np.empty(0)
    histogram = np.zeros(65537, np.int64)
    room = np.empty(0, np.int64)
    psi_real = np.empty(0)
    psi_imaginary = np.empty(0)
    frequencies = np.empty(0, np.int64)
    for c in range(start, stop):
        if route[c] != LATTICE:
            continue
        step = steps[c]
        first = a[starts_a[c] : starts_a[c] + n_a[c]]
        second = b[:0]
        if two:
            second = b[starts_b[c] : starts_b[c] + n_b[c]]
        count_a = first.size
        count_b = second.size
        if room.size < 2 * (count_a + count_b):
            room = np.empty(2 * (count_a + count_b), np.int64)
        origin_a = np.min(first)
        different = _points(first, origin_a, step, room, room[count_a:], histogram)
        pa = room[:different]
        ca = room[count_a : count_a + different]
        mean_a, squares_a = _moments(pa, ca, count_a)
        shift_a = round(mean_a)
        factor_a = 1
        factor_b = 0
        divisor = count_a
        origin_b = 0.0
        pb = room[:0]
        cb = room[:0]
        mean_b = 0.0
        squares_b = 0.0
        shift_b = 0
        if two:
            rest = room[2 * count_a :]
            origin_b = np.min(second)
            different = _points(second, origin_b, step, rest, rest[count_b:], histogram)
            pb = rest[:different]
            cb = rest[count_b : count_b + different]
            mean_b, squares_b = _moments(pb, cb, count_b)
            shift_b = round(mean_b)
            divisor = math.gcd(count_a, count_b)
            factor_a = count_b // divisor
            factor_b = count_a // divisor
            divisor = factor_a * count_a  # mean = T·step / divisor
        # T = factor_a·(sum of a's draws) − factor_b·(sum of b's), in steps, about `centre`.
        sd = math.sqrt(float(factor_a) * factor_a * squares_a + float(factor_b) * factor_b * squares_b)
        offset = factor_a * count_a * (mean_a - shift_a) - factor_b * count_b * (mean_b - shift_b)
        observed = round(offset)
        bottom = factor_a * count_a * (pa[0] - shift_a)
        ceiling = factor_a * count_a * (pa[pa.size - 1] - shift_a)
        if two:
            bottom -= factor_b * count_b * (pb[pb.size - 1] - shift_b)
            ceiling -= factor_b * count_b * (pb[0] - shift_b)
        if ceiling - bottom > 96:
            up = _reach(pa, ca, count_a, mean_a, factor_a, pb, cb, count_b, mean_b, factor_b, sd, 1.0)
            down = _reach(pa, ca, count_a, mean_a, factor_a, pb, cb, count_b, mean_b, factor_b, sd, -1.0)
            if offset + up < ceiling:
                ceiling = math.ceil(offset + up)
            if offset - down > bottom:
                bottom = math.floor(offset - down)

        needed = _round_up(ceiling - bottom + 1)
        if needed != period:
            period = needed
            sine = np.empty(period)
            versine = np.empty(period)
            for k in range(period // 2 + 1):
                half = math.sin(math.pi * k / period)
                versine[k] = 2.0 * half * half
                sine[k] = 2.0 * half * math.cos(math.pi * k / period)
                if k > 0:
                    versine[period - k] = versine[k]
                    sine[period - k] = -sine[k]
            psi_real = np.empty(period // 2)
            psi_imaginary = np.empty(period // 2)
            frequencies = np.empty(period // 2, np.int64)
        real_a = np.zeros(period // 2)
        imaginary_a = np.zeros(period // 2)
        _accumulate(pa, ca, count_a, factor_a, shift_a, period, sine, versine, real_a, imaginary_a)
        real_b = np.zeros(period // 2 if two else 0)
        imaginary_b = np.zeros(period // 2 if two else 0)
        if two:
            _accumulate(pb, cb, count_b, -factor_b, shift_b, period, sine, versine, real_b, imaginary_b)

        # psi = φ(ω)/(1 − e^{−iω}): with it, sums of the law over a range are differences of two terms a frequency.
        used = 0
        start_sum = 0.0
        faintest = 2.0 * _NEGLIGIBLE / count_a
        faintest = math.expm1(faintest)
        for k in range(period // 2):
            u = 2.0 * real_a[k] + (real_a[k] * real_a[k] + imaginary_a[k] * imaginary_a[k])
            if u < faintest:
                continue
            modulus = 0.5 * count_a * math.log1p(u)
            angle = count_a * math.atan2(imaginary_a[k], 1.0 + real_a[k])
            if two:
                u = 2.0 * real_b[k] + (real_b[k] * real_b[k] + imaginary_b[k] * imaginary_b[k])
                modulus += 0.5 * count_b * math.log1p(max(u, -1.0))
                angle += count_b * math.atan2(imaginary_b[k], 1.0 + real_b[k])
            if modulus < _NEGLIGIBLE:
                continue
            modulus = math.exp(modulus)
            # 1/(1 − e^{−iω}) = ½ − ½i·cot(ω/2), and cot(ω/2) = sin ω/(1 − cos ω).
            cotangent = sine[k + 1] / versine[k + 1]
            x = 0.5 * modulus * math.cos(angle)
            y = 0.5 * modulus * math.sin(angle)
            psi_real[used] = x + y * cotangent
            psi_imaginary[used] = y - x * cotangent
            frequencies[used] = k + 1
            place = ((k + 1) * (bottom % period)) % period
            start_sum += psi_real[used] * (1.0 - versine[place]) + psi_imaginary[used] * sine[place]
            used += 1

        level_low = 0.5 * alpha
        level_high = 1.0 - 0.5 * alpha
        if method == BCA:
            below = 0.0
            if observed > bottom:
                below = _cumulative(
                    observed - 1,
                    bottom,
                    period,
                    frequencies,
                    used,
                    psi_real,
                    psi_imaginary,
                    sine,
                    versine,
                    start_sum,
                )
            upto = _cumulative(
                observed, bottom, period, frequencies, used, psi_real, psi_imaginary, sine, versine, start_sum
            )
            z0 = -normal_isf(0.5 * (below + upto))
            influence = np.empty(count_a + count_b)
            skew = cell_acceleration(first, second, 0.0, 0.0, MEAN, 0.0, False, influence)
            level_low = adjusted_probability(z0, skew, -z)
            level_high = adjusted_probability(z0, skew, z)
        unit = step / divisor
        whole = factor_a * count_a * shift_a - factor_b * count_b * shift_b
        theta = (origin_a - origin_b) + step * (mean_a - mean_b)
        estimate[c] = theta
        error[c] = unit * sd
        bias[c] = 0.0
        if not (level_low > 0.0 and level_high < 1.0):
            status[c] = NO_ROOT
            low[c] = math.nan
            high[c] = math.nan
            continue
        ends = np.empty(2)
        for side in range(2):
            target = (level_low if side == 0 else level_high) - JUMP
            left = bottom
            right = ceiling
            while left < right:
                middle = left + (right - left) // 2
                value = _cumulative(
                    middle,
                    bottom,
                    period,
                    frequencies,
                    used,
                    psi_real,
                    psi_imaginary,
                    sine,
                    versine,
                    start_sum,
                )
                if value >= target:
                    right = middle
                else:
                    left = middle + 1
            ends[side] = (origin_a - origin_b) + step * ((left + whole) / divisor)
        if method == BASIC:
            low[c] = 2.0 * theta - ends[1]
            high[c] = 2.0 * theta - ends[0]
        else:
            low[c] = ends[0]
            high[c] = ends[1]
