"""The states of comparisons in drawings of their cases."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import types

from fastgate.jit import device, kernel
from fastgate.kernels.drawing_records import (
    EQUAL,
    FAULT,
    LOSING,
    SHOWN,
    SIGNIFICANT,
    WINNING,
    WITHIN,
    WORSE,
    DrawnRows,
    Flags,
    Grid,
    Levels,
    RuleRows,
    Sides,
    Statistics,
)
from fastgate.kernels.drawn_judgement import (
    LEVELS,
    OUT_STATES,
    RULES,
    SIDES,
    STATISTICS,
    judge_samples,
    judged,
)
from fastgate.kernels.drawn_moments import ROWS, row_moments
from fastgate.kernels.records import Floats
from fastgate.kernels.student_t import t_sf, t_two_sided
from fastgate.kernels.ttest import NOISE, constant_status

__all__ = ["paired_states", "welch_states"]

# t² from moments of drawings is exact to some 1e-11; nearer than this to the critical value the p-value decides.
_UNSURE: Final = 1e-9
# Standard errors below this share of a row's reach may have lost digits to the row's own mean.
_FINE: Final = 1e-5


@device
def _floor(bound: float, reach: float) -> float:
    """The square of the standard error above which the moments of drawings are as good as the values' own."""
    error = max(1.01 * NOISE * bound, _FINE * reach)
    return error * error


@device
def _exceeds(size: float, square: float, low: int, high: int, critical: Floats) -> int:
    """Whether t = size / √square is significant for every df from low to high: 1; for none: 0; else -1.

    The critical value falls with df, and Welch's df lies between the smaller n - 1 and both n - 1 together: of
    samples of 100 only t between 1.972 and 1.984 needs a p-value, 50 ns each.
    """
    last = critical.size - 1
    above = critical[min(low, last)]
    below = critical[high if high <= last else 0]
    scaled = size * size
    if scaled > above * square * (1.0 + _UNSURE):
        return 1
    if scaled < below * square * (1.0 - _UNSURE):
        return 0
    return -1


@device
def _shown(
    gain: float,
    square: float,
    parts: tuple[float, float, float, float],
    k: int,
    rules: RuleRows,
    levels: Levels,
) -> int:
    """The state of a comparison with a result: its gain, and the standard error's square and what it is made of.

    `parts`: the variances of both means and their n; of pairs those of the difference, and 0 and 1.
    """
    _, n_b, _, n_c = parts
    low = int(min(n_b, n_c)) - 1
    high = int(n_b + n_c) - 2
    if n_c == 1.0:
        low = high
    state = SHOWN
    size = gain
    if gain > 0.0:
        state |= WINNING
    elif gain < 0.0:
        state |= LOSING
        size = -gain
    margin = rules.margin[k]
    df = 0.0
    if rules.decides[k] == 1:
        sure = _exceeds(size, square, low, high, levels.deciding)
        if sure < 0:
            df = _df(parts, square)
            t = size / math.sqrt(square)
            sure = (t_two_sided(t, df) if levels.two_sided else t_sf(t, df)) < levels.alpha
        if sure == 1:
            state |= SIGNIFICANT
        return state
    if rules.not_worse[k] == 1 and gain < 0.0:
        sure = _exceeds(size, square, low, high, levels.guard)
        if sure < 0:
            df = _df(parts, square)
            sure = t_sf(size / math.sqrt(square), df) < levels.guard_alpha
        if sure == 1:
            state |= WORSE
    if margin == margin and gain + margin > 0.0:
        sure = _exceeds(gain + margin, square, low, high, levels.margin)
        if sure < 0:
            df = _df(parts, square)
            sure = t_sf((gain + margin) / math.sqrt(square), df) < levels.alpha
        if sure == 1:
            state |= WITHIN
    return state


@device
def _df(parts: tuple[float, float, float, float], square: float) -> float:
    """Welch's degrees of freedom; of pairs n - 1."""
    v_b, n_b, v_c, n_c = parts
    if n_c == 1.0:
        return n_b - 1.0
    share_b = v_b / square
    share_c = v_c / square
    return 1.0 / (share_b * share_b / (n_b - 1.0) + share_c * share_c / (n_c - 1.0))


@device
def _first_drawn(values: Floats, weights: Grid, r: int) -> float:
    for i in range(values.size):
        if weights[i, r] > 0.0 and values[i] == values[i]:
            value: float = values[i]
            return value
    return math.nan


@device
def _drawn(values: Floats, other: Floats, weights: Grid, r: int) -> Floats:
    """The values drawn, each as often as it was, of cases that `other` has, too."""
    size = 0.0
    for i in range(values.size):
        size += weights[i, r]
    out = np.empty(int(size))
    n = 0
    for i in range(values.size):
        if values[i] == values[i] and other[i] == other[i]:
            for _ in range(int(weights[i, r])):
                out[n] = values[i]
                n += 1
    return out[:n]


@device
def _welch_with_care(
    candidates: DrawnRows,
    c: int,
    baselines: DrawnRows,
    b: int,
    r: int,
    k: int,
    rules: RuleRows,
    levels: Levels,
) -> tuple[int, float, float]:
    if not (candidates.n[c, r] > 1.0 and baselines.n[b, r] > 1.0):
        return FAULT, math.nan, math.nan
    of_c, of_b = candidates.values[c], baselines.values[b]
    weights_c, weights_b = candidates.weights[candidates.stratum[c]], baselines.weights[baselines.stratum[b]]
    if candidates.variance[c, r] == 0.0 and baselines.variance[b, r] == 0.0:
        first = _first_drawn(of_c, weights_c, r)
        second = _first_drawn(of_b, weights_b, r)
        delta = first - second
        status, t = constant_status(delta, max(abs(first), abs(second)))
        return judged(status, t, math.nan, delta, 0.0, k, rules, levels), math.nan, math.nan
    sample, against = _drawn(of_c, of_c, weights_c, r), _drawn(of_b, of_b, weights_b, r)
    return judge_samples(sample, against, False, k, rules, levels)


# Not a state: one that phase two of a kernel has still to find.
_OPEN: Final = 255


@device
def _steady(n: Floats) -> bool:
    """Whether all replicates have as many values."""
    differ = 0
    for r in range(n.size):
        differ += n[r] != n[0]
    return differ == 0


@device
def _plain_states(
    gain: Floats,
    square: Floats,
    floor: float,
    low: int,
    high: int,
    k: int,
    rules: RuleRows,
    levels: Levels,
    states: Flags,
) -> None:
    """The states that need no p-value and no care, by SIMD: 1 ns each; `_OPEN` for all others.

    `gain` and `square` of the standard error in each replicate, whose df are between `low` and `high` in all.
    """
    critical = levels.deciding if rules.decides[k] == 1 else levels.guard
    above, below = _range(low, high, critical)
    if rules.decides[k] == 1:
        for r in range(gain.size):
            size = gain[r] * gain[r]
            shown = size > above * square[r]
            sure = shown | (size < below * square[r])
            state = (WINNING if gain[r] > 0.0 else 0) + (LOSING if gain[r] < 0.0 else 0)
            state += SIGNIFICANT if shown else 0
            # Not so where a figure is NaN or infinite.
            plain = (square[r] > floor) & sure & (size < math.inf)
            states[r] = state if plain else _OPEN
        return
    margin = rules.margin[k]
    looks = rules.not_worse[k] == 1
    bounded = margin == margin
    reserve = margin if bounded else 0.0
    above_margin, below_margin = _range(low, high, levels.margin)
    for r in range(gain.size):
        size = gain[r] * gain[r]
        worse = looks & (gain[r] < 0.0) & (size > above * square[r])
        sure = worse | (not looks) | (gain[r] >= 0.0) | (size < below * square[r])
        kept = gain[r] + reserve
        held = kept * kept
        within = bounded & (kept > 0.0) & (held > above_margin * square[r])
        sure &= within | (not bounded) | (kept <= 0.0) | (held < below_margin * square[r])
        state = (WINNING if gain[r] > 0.0 else 0) + (LOSING if gain[r] < 0.0 else 0)
        state += (WORSE if worse else 0) + (WITHIN if within else 0)
        plain = (square[r] > floor) & sure & (size < math.inf)
        states[r] = state if plain else _OPEN


@device
def _range(low: int, high: int, critical: Floats) -> tuple[float, float]:
    """The squares of the critical values, `_UNSURE` added, for the fewest and the most degrees of freedom."""
    last = critical.size - 1
    return critical[min(low, last)] * (1.0 + _UNSURE), critical[high if high <= last else 0] * (1.0 - _UNSURE)


@device
def _begin(j: int, sides: Sides, states: Flags, tests: Statistics) -> bool:
    """Whether comparison j has something to compare; if not, its states are written."""
    if tests.statistic.size > 0:
        tests.statistic[j, :] = math.nan
        tests.df[j, :] = math.nan
    if sides.faulty[j] == 1:
        states[j, :] = FAULT
        return False
    return True


_STATES: Final = types.void(
    types.int64, types.int64, ROWS, ROWS, SIDES, RULES, LEVELS, OUT_STATES, STATISTICS
)


@kernel(_STATES)
def welch_states(
    start: int,
    stop: int,
    candidates: DrawnRows,
    baselines: DrawnRows,
    sides: Sides,
    rules: RuleRows,
    levels: Levels,
    states: Flags,
    tests: Statistics,
) -> None:
    """The states of the comparisons start … stop - 1 in all replicates, by Welch's test of their moments."""
    columns = states.shape[1]
    gain, square = np.empty(columns), np.empty(columns)
    for j in range(start, stop):
        if not _begin(j, sides, states, tests):
            continue
        c, b, k = sides.candidate[j], sides.baseline[j], sides.kpi[j]
        keeps = tests.statistic.size > 0 and rules.decides[k] == 1
        sign = rules.sign[k]
        shift = candidates.shift[c] - baselines.shift[b]
        floor = _floor(
            max(candidates.bound[c], baselines.bound[b]), max(candidates.reach[c], baselines.reach[b])
        )
        centre_c, centre_b = candidates.centre[c], baselines.centre[b]
        v_c, v_b = candidates.variance[c], baselines.variance[b]
        n_c, n_b = candidates.n[c], baselines.n[b]
        out = states[j]
        for r in range(columns):
            gain[r] = sign * (shift + (centre_c[r] - centre_b[r]))
            square[r] = v_c[r] + v_b[r]
        if not keeps and _steady(n_c) and _steady(n_b) and min(n_c[0], n_b[0]) > 1.0:
            low, high = int(min(n_c[0], n_b[0])) - 1, int(n_c[0] + n_b[0]) - 2
            _plain_states(gain, square, floor, low, high, k, rules, levels, out)
        else:
            out[:] = _OPEN
        for r in range(columns):
            if out[r] != _OPEN:
                continue
            if square[r] > floor and math.isfinite(gain[r]):
                parts = v_b[r], n_b[r], v_c[r], n_c[r]
                out[r] = _shown(gain[r], square[r], parts, k, rules, levels)
                if keeps:
                    tests.statistic[j, r] = gain[r] / math.sqrt(square[r])
                    tests.df[j, r] = _df(parts, square[r])
            else:
                state, t, df = _welch_with_care(candidates, c, baselines, b, r, k, rules, levels)
                out[r] = state
                if keeps:
                    tests.statistic[j, r] = t
                    tests.df[j, r] = df


@kernel(_STATES)
def paired_states(
    start: int,
    stop: int,
    candidates: DrawnRows,
    baselines: DrawnRows,
    sides: Sides,
    rules: RuleRows,
    levels: Levels,
    states: Flags,
    tests: Statistics,
) -> None:
    """The states of the comparisons start … stop - 1 in all replicates, by the paired test of the cases of both.

    Of the rows only values and weights are read.
    """
    columns = states.shape[1]
    gain, square, n = np.empty(columns), np.empty(columns), np.empty(columns)
    differences = np.empty(candidates.values.shape[1])
    for j in range(start, stop):
        if not _begin(j, sides, states, tests):
            continue
        c, b, k = sides.candidate[j], sides.baseline[j], sides.kpi[j]
        keeps = tests.statistic.size > 0 and rules.decides[k] == 1
        of_c, of_b = candidates.values[c], baselines.values[b]
        weights = candidates.weights[candidates.stratum[c]]
        bound = 0.0
        for i in range(of_c.size):
            differences[i] = of_c[i] - of_b[i]
            if differences[i] == differences[i]:
                bound = max(bound, max(abs(of_c[i]), abs(of_b[i])))
        shift, _, reach = row_moments(differences, weights, gain, square, n)
        floor = _floor(bound, reach)
        sign = rules.sign[k]
        equal = EQUAL | WITHIN if rules.margin[k] > 0.0 else EQUAL
        out = states[j]
        for r in range(columns):
            gain[r] = sign * (shift + gain[r])
        if not keeps and _steady(n) and n[0] > 1.0:
            df = int(n[0]) - 1
            _plain_states(gain, square, floor, df, df, k, rules, levels, out)
        else:
            out[:] = _OPEN
        for r in range(columns):
            if out[r] != _OPEN:
                continue
            if square[r] > floor and math.isfinite(gain[r]):
                out[r] = _shown(gain[r], square[r], (square[r], n[r], 0.0, 1.0), k, rules, levels)
                if keeps:
                    tests.statistic[j, r] = gain[r] / math.sqrt(square[r])
                    tests.df[j, r] = n[r] - 1.0
            elif not n[r] > 1.0:
                out[r] = FAULT
            elif square[r] == 0.0 and gain[r] == 0.0:
                out[r] = equal
            else:
                sample, against = _drawn(of_c, of_b, weights, r), _drawn(of_b, of_c, weights, r)
                state, t, freedom = judge_samples(sample, against, True, k, rules, levels)
                out[r] = state
                if keeps:
                    tests.statistic[j, r] = t
                    tests.df[j, r] = freedom
