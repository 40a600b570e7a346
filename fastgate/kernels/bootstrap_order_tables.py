"""Laws of a resample's order statistics from binomial probabilities: they depend on the size and the rank alone.

A resample's K-th order statistic is at most the sample's i-th with probability P(Bin(n, i/n) ≥ K), and
P(K-th = i, (K+1)-th > j) = C(n,K)[(i/n)^K − ((i−1)/n)^K](1 − j/n)^{n−K} for i ≤ j.
"""

from __future__ import annotations

import math
from typing import Final

from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.records import Floats, Integers
from fastgate.kernels.types import OF, OI, I

__all__ = ["COLUMNS", "order_of", "order_tables", "order_windows"]

# Ranks whose probability is below e^−46 = 1e−20 are left out of a table.
_NEGLIGIBLE: Final = 46.0
# Of a table: P(K-th ≤ i), P((K+1)-th ≤ i), and the two scaled factors of the joint law.
COLUMNS: Final = 4


@device
def order_of(n: int, q: float) -> tuple[int, float]:
    """K (from 1) and the fraction between the K-th and (K+1)-th order statistic of the type-7 quantile."""
    h = (n - 1) * q
    k = int(h)
    if k >= n - 1:
        return n, 0.0
    return k + 1, h - k


@device
def _divergence(k: int, n: int, i: int) -> float:
    """N times the Kullback-Leibler divergence of k/n from i/n."""
    total = 0.0
    if k > 0:
        total += k * math.log(k / i)
    if k < n:
        total += (n - k) * math.log((n - k) / (n - i)) if i < n else math.inf
    return total


@kernel(types.void(types.int64, types.int64, I, types.float64, OI, OI))
def order_windows(
    start: int, stop: int, sizes: Integers, q: float, first: Integers, length: Integers
) -> None:
    """The ranks (from 1) that a quantile of a resample of each size can have with a probability above 1e−20."""
    for t in range(start, stop):
        n = sizes[t]
        k, _ = order_of(n, q)
        low = k
        while low > 1 and _divergence(k, n, low - 1) < _NEGLIGIBLE:
            low -= 1
        top = min(k + 1, n)
        high = top
        while high < n and _divergence(top - 1, n, high) < _NEGLIGIBLE:
            high += 1
        first[t] = low
        length[t] = high - low + 1


@device
def _stirling_error(n: float) -> float:
    """Log n! − (log √(2πn) + n·log n − n)."""
    if n < 16.0:
        total = 0.0
        for k in range(2, int(n) + 1):
            total += math.log(k)
        return total - (0.5 * math.log(2.0 * math.pi * n) + n * math.log(n) - n)
    square = 1.0 / (n * n)
    return (
        1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - square / 1188.0) * square) * square) * square
    ) / n


@device
def _deviance(x: float, mean: float) -> float:
    """x·log(x/mean) + mean − x, without cancellation (Loader 2000)."""
    d = x - mean
    if abs(d) < 0.1 * (x + mean):
        v = d / (x + mean)
        total = d * v
        term = 2.0 * x * v
        for j in range(1, 30):
            term *= v * v
            following = total + term / (2 * j + 1)
            if following == total:
                break
            total = following
        return total
    return x * math.log(x / mean) + mean - x


@device
def _binomial_mass(k: int, n: int, p: float) -> float:
    """P(Bin(n, p) = k), by Loader's saddle-point form."""
    if p >= 1.0:
        return 1.0 if k == n else 0.0
    if k == 0:
        return math.exp(n * math.log1p(-p))
    if k == n:
        return math.exp(n * math.log(p))
    logarithm = _stirling_error(float(n)) - _stirling_error(float(k)) - _stirling_error(float(n - k))
    logarithm -= _deviance(float(k), n * p) + _deviance(float(n - k), n * (1.0 - p))
    return math.exp(logarithm) * math.sqrt(n / (2.0 * math.pi * k * (n - k)))


@device
def _at_least(k: int, n: int, p: float, mass: float) -> float:
    """P(Bin(n, p) ≥ k), summed outwards from k over the smaller tail; `mass` is P(Bin = k)."""
    if p >= 1.0:
        return 1.0
    odds = p / (1.0 - p)
    if k > n * p:
        total = 0.0
        term = mass
        for j in range(k, n + 1):
            total += term
            if term < 1e-18 * total:
                break
            term *= odds * (n - j) / (j + 1.0)
        return total
    total = 0.0
    term = mass
    for j in range(k, 0, -1):
        term *= j / ((n - j + 1.0) * odds)
        total += term
        if term < 1e-18 * total:
            break
    return 1.0 - total


@kernel(types.void(types.int64, types.int64, I, types.float64, I, I, I, OF))
def order_tables(
    start: int,
    stop: int,
    sizes: Integers,
    q: float,
    first: Integers,
    length: Integers,
    places: Integers,
    tables: Floats,
) -> None:
    """Fill the table of each size: `length` rows of 4 columns from ``4·places[t]``."""
    for t in range(start, stop):
        n = sizes[t]
        k, fraction = order_of(n, q)
        table = tables[COLUMNS * places[t] : COLUMNS * (places[t] + length[t])]
        scale = _binomial_mass(k, n, k / n) if k < n else 1.0
        for row in range(length[t]):
            i = first[t] + row
            p = i / n
            mass = _binomial_mass(k, n, p)
            table[COLUMNS * row] = _at_least(k, n, p, mass)
            table[COLUMNS * row + 1] = table[COLUMNS * row]
            if fraction > 0.0:
                table[COLUMNS * row + 1] = _at_least(k + 1, n, p, _binomial_mass(k + 1, n, p))
            # (i/K)^K − ((i−1)/K)^K and ((n−i)/(n−K))^{n−K}, each without its factor e^{±(i−K)}.
            power = k * math.log1p((i - k) / k) - (i - k)
            table[COLUMNS * row + 2] = (
                scale * math.exp(power) * (-math.expm1(k * math.log1p(-1.0 / i)) if i > 1 else 1.0)
            )
            rest = 0.0
            if i < n:
                rest = math.exp((n - k) * math.log1p((k - i) / (n - k)) + (i - k))
            table[COLUMNS * row + 3] = rest
