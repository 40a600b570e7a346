"""Sorting and selection inside a cell, and quantiles of sorted or partly sorted values."""

from __future__ import annotations

import math

import numpy as np

from fastgate.jit import device
from fastgate.kernels.records import Floats

__all__ = ["interpolated", "select", "sort", "sort_weighted", "tail_pair", "type7", "type7_pair"]

_INSERTION = 24
_BUCKETED = 512


@device
def _pivot(values: Floats, low: int, high: int) -> float:
    """The median of three values at pseudo-random places: no order of the input makes sorting quadratic."""
    span = np.uint64(high - low + 1)
    word = (np.uint64(low) * np.uint64(0x9E3779B97F4A7C15) + span) * np.uint64(0xD1B54A32D192ED03)
    a = values[low + np.int64(((word >> np.uint64(32)) * span) >> np.uint64(32))]
    word *= np.uint64(0xBF58476D1CE4E5B9)
    b = values[low + np.int64(((word >> np.uint64(32)) * span) >> np.uint64(32))]
    word *= np.uint64(0x94D049BB133111EB)
    c = values[low + np.int64(((word >> np.uint64(32)) * span) >> np.uint64(32))]
    middle: float = max(min(a, b), min(max(a, b), c))
    return middle


@device
def sort(values: Floats) -> None:
    """Sort in place, ascending; the values hold no NaN."""
    stack = np.empty(128, np.int64)
    stack[0] = 0
    stack[1] = values.size - 1
    top = 2
    while top > 0:
        top -= 2
        low = stack[top]
        high = stack[top + 1]
        while high - low >= _INSERTION:
            pivot = _pivot(values, low, high)
            i = low
            j = high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            # The longer part waits: the stack stays within log2(n) entries.
            if j - low > high - i:
                stack[top] = low
                stack[top + 1] = j
                low = i
            else:
                stack[top] = i
                stack[top + 1] = high
                high = j
            top += 2
        for k in range(low + 1, high + 1):
            value = values[k]
            m = k - 1
            while m >= low and values[m] > value:
                values[m + 1] = values[m]
                m -= 1
            values[m + 1] = value


@device
def _quicksort_weighted(values: Floats, weights: Floats) -> None:
    stack = np.empty(128 if values.size > _INSERTION else 2, np.int64)
    stack[0] = 0
    stack[1] = values.size - 1
    top = 2
    while top > 0:
        top -= 2
        low = stack[top]
        high = stack[top + 1]
        while high - low >= _INSERTION:
            pivot = _pivot(values, low, high)
            i = low
            j = high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    weights[i], weights[j] = weights[j], weights[i]
                    i += 1
                    j -= 1
            if j - low > high - i:
                stack[top] = low
                stack[top + 1] = j
                low = i
            else:
                stack[top] = i
                stack[top + 1] = high
                high = j
            top += 2
        for k in range(low + 1, high + 1):
            value = values[k]
            weight = weights[k]
            m = k - 1
            while m >= low and values[m] > value:
                values[m + 1] = values[m]
                weights[m + 1] = weights[m]
                m -= 1
            values[m + 1] = value
            weights[m + 1] = weight


@device
def sort_weighted(values: Floats, weights: Floats) -> None:
    """Sort `values` in place, ascending, and carry `weights` along.

    Large arrays are first spread over buckets of equal width, which leaves little to compare: 92 378 values take
    3 ms, against 20 ms without.
    """
    n = values.size
    if n < _BUCKETED:
        _quicksort_weighted(values, weights)
        return
    low = values[0]
    high = values[0]
    for value in values:
        low = min(low, value)
        high = max(high, value)
    buckets = n // 4
    scale = buckets / (high - low)
    if not (scale > 0.0 and scale < math.inf):
        _quicksort_weighted(values, weights)
        return
    ends = np.zeros(buckets + 2, np.int64)
    for value in values:
        ends[min(int((value - low) * scale), buckets) + 1] += 1
    for k in range(1, buckets + 2):
        ends[k] += ends[k - 1]
    old_values = values.copy()
    old_weights = weights.copy()
    for i in range(n):
        bucket = min(int((old_values[i] - low) * scale), buckets)
        place = ends[bucket]
        ends[bucket] += 1
        values[place] = old_values[i]
        weights[place] = old_weights[i]
    begin = 0
    for k in range(buckets + 1):
        end = ends[k]
        if end - begin > 1:
            _quicksort_weighted(values[begin:end], weights[begin:end])
        begin = end


@device
def select(values: Floats, low: int, high: int, k: int) -> float:
    """Reorder ``values[low … high]`` so that place k holds what sorting would put there; returns it.

    Afterwards no value before k is above it and no value after k below it.
    """
    while high > low:
        pivot = _pivot(values, low, high)
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    found: float = values[k]
    return found


@device
def interpolated(left: float, right: float, fraction: float) -> float:
    """Left + fraction·(right − left), which is left exactly where both are equal (also if infinite)."""
    if fraction == 0.0 or left == right:
        return left
    return left + fraction * (right - left)


@device
def type7(ordered: Floats, n: int, q: float) -> float:
    """The type-7 quantile of the first n sorted values (Hyndman and Fan 1996)."""
    h = (n - 1) * q
    k = int(h)
    if k >= n - 1:
        k, h = n - 1, n - 1.0
    return interpolated(ordered[k], ordered[min(k + 1, n - 1)], h - k)


@device
def _following(values: Floats, first: int, stop: int) -> float:
    smallest: float = values[first]
    for value in values[first + 1 : stop]:
        smallest = min(smallest, value)
    return smallest


@device
def type7_pair(values: Floats, p_low: float, p_high: float) -> tuple[float, float]:
    """The type-7 quantiles at p_low <= p_high, by selection; reorders the values."""
    n = values.size
    h = (n - 1) * p_low
    k = min(int(h), n - 1)
    low = select(values, 0, n - 1, k)
    if h > k:
        low = interpolated(low, _following(values, k + 1, n), h - k)
    g = (n - 1) * p_high
    m = min(int(g), n - 1)
    high = select(values, min(k, m), n - 1, m)
    if g > m:
        high = interpolated(high, _following(values, m + 1, n), g - m)
    return low, high


@device
def tail_pair(
    values: Floats, room: Floats, p_low: float, p_high: float, t_low: float, t_high: float
) -> tuple[float, float]:
    """The type-7 quantiles at p_low <= p_high of values of which few should lie below t_low or above t_high.

    One pass copies those few to `room` (of the same size), and selection goes on there: 15 µs for the 2.5 % tails of
    10 000 values, against 80 µs by selection among all. Where the thresholds turn out to be too far out, all are taken.
    """
    n = values.size
    h = (n - 1) * p_low
    k = int(h)
    g = (n - 1) * p_high
    m = int(g)
    below = 0
    above = 0
    if t_low < t_high:
        for i in range(n):
            value = values[i]
            # Both stores always happen, so that nothing has to be predicted; a value counts on one side at most.
            room[below] = value
            below += value < t_low
            room[n - 1 - above] = value
            above += value > t_high
    if below < k + 2 or above < n - m or below + above >= n:
        room[:] = values
        return type7_pair(room, p_low, p_high)
    low = select(room, 0, below - 1, k)
    if h > k:
        low = interpolated(low, _following(room, k + 1, below), h - k)
    start = n - above
    high = select(room, start, n - 1, m)
    if g > m:
        high = interpolated(high, _following(room, m + 1, n), g - m)
    return low, high
