"""The noise floor of a suite, the rule that compares a change with it, and how often the rule errs."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from fastgate.gates.verdict import SIGNALS

__all__ = ["corrected_level", "differences", "false_alarm", "newcombe", "noise_floor", "signals"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

# The half-width is within 1e-14 of the exact one, and so is a difference of rates of more than a hundredth.
ROUNDING: Final = 2e-14
# Above this the distribution of the counts is as good as normal, and its sum would take seconds.
_MOST_TRIALS: Final = 1_000_000
# What two rates and their difference may be off by, as a share of the larger rate.
_RATE_ROUNDING: Final = 4 * 2.0**-52
# A level closer to 1 has no quantile that can be told from infinity.
_HIGHEST_LEVEL: Final = 1.0 - 2.0**-50


def corrected_level(confidence_level: float, correction: str, n_suites: int) -> float:
    """The level of one suite's noise floor.

    Parameters
    ----------
    confidence_level : float
        The policy's.
    correction : {"none", "sidak", "bonferroni"}
    n_suites : int
        How many suites a candidate is judged by.

    Returns
    -------
    float
        With the correction, the chance that an identical build, replayed independently, is called a regression on any
        suite is at most (bonferroni, whatever their dependence), or is (sidak, if suites are independent),
        what it is for one suite without correction, to the accuracy of the normal approximation.

    Notes
    -----
    The floor e = z·s is that of one sample, while the difference of two has the standard deviation √2·s: one suite
    errs with the chance t = Φ(−z/√2), 8.3 % at a level of 95 %, and not with (1 − level)/2. So it is t that is
    divided: each of m suites may err with t/m (bonferroni) or 1 − (1 − t)^(1/m) (sidak), which the floor z'·s does
    for z' = −√2·Φ⁻¹ of that chance. Its level as that of one sample is 2Φ(z') − 1. Dividing 1 − level instead would
    leave 5 suites together at 16 %. Where the rate is near 0 or 1 and the suite small, the exact chance strays from
    the normal one further out in the tail: for 1, 5 and 10 suites of 240 cases at 91.7 % it is 10, 13 and 16 %. The
    level is at most 1 − 2⁻⁵⁰, or the policy's.

    Examples
    --------
    >>> [round(corrected_level(0.95, how, 5), 6) for how in ("none", "sidak", "bonferroni")]
    [0.95, 0.997238, 0.997409]
    """
    if correction == "none" or n_suites < 2:
        return confidence_level
    normal = NormalDist()
    chance = normal.cdf(normal.inv_cdf((1.0 - confidence_level) / 2) / math.sqrt(2.0))
    independent = -math.expm1(math.log1p(-chance) / n_suites)
    share = independent if correction == "sidak" else chance / n_suites
    # 2Φ(z') − 1 is erf(z'/√2), and z'/√2 = −Φ⁻¹(share).
    level = math.erf(-normal.inv_cdf(share))
    return max(confidence_level, min(level, _HIGHEST_LEVEL))


def noise_floor(
    passes: Floats, trials: Integers, confidence_level: float, method: str
) -> tuple[Floats, Codes]:
    """The half-width of the one-sample interval at the observed rate, and its status code (0 is ok).

    Parameters
    ----------
    passes : ndarray of float64, shape (n,)
        Fractional where a rate was given that is no multiple of 1/trials.
    trials : ndarray of int64, shape (n,)
    confidence_level : float
    method : str
        A key of `fastgate.stats.binomial.BINOMIAL_METHODS`.
    """
    from fastgate.stats.binomial import BINOMIAL_METHODS, binomial_interval_arrays

    # A half-width is the same for passes and failures; the rarer of the two keeps its digits.
    rarer = np.minimum(passes, trials - passes)
    *_, half_width, status = binomial_interval_arrays(
        rarer, trials, confidence_level, BINOMIAL_METHODS[method]
    )
    return half_width, status


def differences(
    passes_candidate: Floats, trials_candidate: Integers, passes_baseline: Floats, trials_baseline: Integers
) -> Floats:
    """Rate of the candidate minus rate of the baseline; NaN without trials on a side.

    Of whole counts below 2^26 the difference is exact but for one rounding, so that two equal rates, of whichever
    sizes, differ by zero.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        cross = passes_candidate * trials_baseline - passes_baseline * trials_candidate
        return np.asarray(cross / trials_candidate / trials_baseline)


def signals(delta: Floats, floor: Floats, status: Codes, rate: Floats) -> npt.NDArray[np.uint8]:
    """The rule: no signal where |d| ≤ e, a regression where d < −e, an improvement where d > e.

    Parameters
    ----------
    delta : ndarray of float64, shape (n,)
        d: rate of the candidate minus rate of the baseline.
    floor : ndarray of float64, shape (n,)
        e: the noise floor.
    status : ndarray of int8, shape (n,)
        Of the floor; 0 is ok.
    rate : ndarray of float64, shape (n,)
        The larger of the two rates.

    Returns
    -------
    ndarray of uint8
        Positions in `fastgate.gates.verdict.SIGNALS`; ``undefined`` where the floor is not ok or zero, or d is NaN.

    Notes
    -----
    A difference that equals e to within rounding is within the floor, as the rule's ≤ says. Rounding is 2e-14·e,
    that of the half-width, and 4ε times the larger rate (ε = 2⁻⁵²): two rates that are given carry half an ulp
    each, and so do the passes and the products that their difference is taken from. So a rate given as the
    baseline's ± e gives no signal at any size of the suite.
    """
    sound = (status == 0) & (floor > 0.0) & np.isfinite(floor)
    edge = floor * (1.0 + ROUNDING) + _RATE_ROUNDING * rate
    found = np.full(delta.size, SIGNALS.index("undefined"), np.uint8)
    for name, holds in (
        ("no_signal", np.abs(delta) <= edge),
        ("regression", delta < -edge),
        ("improvement", delta > edge),
    ):
        found[sound & holds] = SIGNALS.index(name)
    return found


def newcombe(
    passes_candidate: Floats,
    trials_candidate: Integers,
    passes_baseline: Floats,
    trials_baseline: Integers,
    confidence_level: float,
) -> tuple[Floats, Floats]:
    """Newcombe's interval of the difference of two independent rates, also where these are no multiples of 1/trials."""
    from fastgate.stats.binomial import BINOMIAL_METHODS, binomial_interval_arrays

    sides = [
        binomial_interval_arrays(passes, trials, confidence_level, BINOMIAL_METHODS["wilson"])[:3]
        for passes, trials in ((passes_candidate, trials_candidate), (passes_baseline, trials_baseline))
    ]
    (rate, low, high), (rate_b, low_b, high_b) = sides
    delta = rate - rate_b
    return delta - np.hypot(rate - low, high_b - rate_b), delta + np.hypot(high - rate, rate_b - low_b)


@lru_cache(maxsize=4096)
def false_alarm(passes: float, trials: int, confidence_level: float, method: str) -> float:
    """How often the rule calls an identical build, replayed independently, a regression.

    Parameters
    ----------
    passes : float
    trials : int
        Of the baseline; its rate is taken for the true one of both builds.
    confidence_level : float
    method : str

    Returns
    -------
    float
        P(K'/n − K/n < −e(K)) with K and K' independent and binomial (n, passes/trials), summed over all K. NaN
        where all or none passed, since such a rate says nothing about the noise, and without trials.

    Notes
    -----
    The floor is that of one sample, the difference has the noise of two: about Φ(−z/√2), 8.3 % for a level of 95 %,
    where e were known; usually more because it is estimated (16.5 % at 8 of 10, 12.4 % at 99 % of 240). Every case is
    taken to pass with the same chance: cases that never vary make a suite less noisy than that, and so do replays
    with the same seeds.

    Examples
    --------
    >>> round(false_alarm(220, 240, 0.95, "wilson"), 3)
    0.101
    """
    if trials == 0:
        return math.nan
    rate = passes / trials
    if rate in (0.0, 1.0):
        return math.nan
    if trials > _MOST_TRIALS:
        return 0.5 * math.erfc(NormalDist().inv_cdf(0.5 + confidence_level / 2) / 2.0)
    counts = np.arange(trials + 1, dtype=np.float64)
    logs = np.zeros(trials + 1)
    np.cumsum(np.log(counts[1:]), out=logs[1:])
    weights = np.exp(
        logs[-1] - logs - logs[::-1] + counts * math.log(rate) + (trials - counts) * math.log1p(-rate)
    )
    floor, status = noise_floor(counts, np.full(trials + 1, trials), confidence_level, method)
    # The candidate's counts below K − n·e(K), with no floor for the sums to cross where the status is not ok.
    line = np.ceil(counts * (1.0 - _RATE_ROUNDING) - trials * floor * (1.0 + ROUNDING)) - 1.0
    line[(status != 0) | ~(floor > 0.0)] = -1.0
    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    below = cumulative[np.clip(line, -1, trials).astype(np.int64) + 1]
    return float(np.sum(weights * below))
