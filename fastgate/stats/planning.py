"""The power of a rule that asks for k of m suites against every baseline, and the cases per suite that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate.errors import ArgumentError
from fastgate.stats.arguments import check_share, numbers

__all__ = ["LARGEST", "RuleCases", "RulePower", "rule_cases", "rule_power", "wins_distribution"]

Floats = npt.NDArray[np.float64]

LARGEST: Final = 2**40
"""The most cases per suite that are looked for."""
# Up to so many steps the counts of wins against all baselines are followed exactly, which takes 0.1 s.
_EXACT_STEPS: Final = 2e7
_DRAWS: Final = 16_384
# A share of 1 would make a step of what is integrated. This one errs towards less power, by less than 0.01.
_MOST_SHARED: Final = 0.9999
_GRID: Final = np.linspace(-8.4, 8.4, 3361)  # half the width of the steepest ascent apart


class RulePower(NamedTuple):
    """The probability that the rule is passed."""

    power: float
    """With the baselines' comparisons correlated as stated."""
    low: float
    """Were they independent: the product over the baselines."""
    high: float
    """Were the weakest baseline the only one."""
    standard_error: float
    """Of `power`: 0 where it was found exactly, else that of the simulation."""
    baselines: Floats
    """Of winning enough suites against each baseline, shape (n_baselines,)."""


class RuleCases(NamedTuple):
    """Cases per suite with which the rule is passed with the power wanted; None where no number suffices."""

    cases: int | None
    """By `RulePower.power`."""
    at_least: int | None
    """By `RulePower.high`: with fewer, not even the weakest baseline alone is beaten as often as wanted."""
    at_most: int | None
    """By `RulePower.low`: with so many the power is there though the comparisons be independent."""
    power: RulePower
    """With `cases`; with the most that are looked for, 2^40, where none suffice."""


def wins_distribution(wins: npt.ArrayLike, most: int | None = None) -> Floats:
    """The probabilities of 0, 1, 2, ... wins in independent trials, each with a probability of its own.

    Parameters
    ----------
    wins : array_like of float, shape (..., n_trials)
        Probabilities. NaN counts as 0: what is unknown is not won.
    most : int, optional
        Counts above it are counted as it; the number of trials unless given.

    Returns
    -------
    ndarray of float64, shape (..., most + 1)
        The Poisson-binomial law, by adding one trial at a time: n · most operations, no cancellation.

    Raises
    ------
    ArgumentError
        When a probability is out of range, or `most` below 0.

    Examples
    --------
    >>> wins_distribution([0.5, 0.5, 1.0]).tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    probabilities = _probabilities(wins)
    if not probabilities.ndim:
        raise ArgumentError(
            "wins is no list of trials", expected="one dimension or more", received="a number"
        )
    trials = probabilities.shape[-1]
    top = trials if most is None else most
    if not (isinstance(top, int | np.integer) and top >= 0):
        raise ArgumentError(
            "most is no count",
            expected="a whole number of 0 or more",
            received=repr(most),
            where="argument most",
        )
    law = np.zeros((*probabilities.shape[:-1], top + 1))
    law[..., 0] = 1.0
    for trial in range(trials):
        won = law * probabilities[..., trial, None]
        law -= won
        law[..., 1:] += won[..., :-1]
        law[..., top] += won[..., top]
    return law


def rule_power(
    wins: npt.ArrayLike, required: int, *, shared: npt.ArrayLike = 0.5, seed: int = 0
) -> RulePower:
    """The probability of winning at least `required` suites against each of several baselines.

    Parameters
    ----------
    wins : array_like of float, shape (n_suites,) or (n_suites, n_baselines)
        The probability that a suite is won against a baseline. NaN counts as 0: what is unknown is not won.
    required : int
        Suites to win against each baseline, from 1 to n_suites.
    shared : array_like of float, broadcast to the shape of `wins`, optional
        The share of a comparison's noise that is the candidate's own and so enters its comparisons with all
        baselines, from 0 to 1: the share of the variance of the difference. One half where all builds are equally
        noisy: of the difference of two builds, measured on the same cases or not, either brings half the noise
        that does not cancel. NaN counts as 0.
    seed : int, optional
        Of the simulation, where there is one.

    Returns
    -------
    RulePower
        power, low, high, standard_error, baselines.

    Raises
    ------
    ArgumentError
        When an argument is out of range or the shapes do not fit.

    Notes
    -----
    Suites are taken as independent: they have other cases. Against one baseline the number of suites won then follows
    the Poisson-binomial law, exactly. Against several, the comparisons of one suite share the candidate's noise.
    For given sample variances a test statistic rises with the candidate's noise and falls with the baseline's; what
    is monotone in independent variables in the same direction is associated (Esary, Proschan, Walkup 1967), and so
    is what rises with it, such as the event that enough suites are won; the candidate's sample variance, too, is
    common to its comparisons. Hence

        product of the baselines' probabilities <= power <= the smallest of them,

    `low` and `high`. In between, `power` takes the statistics of a suite to be u√ρ + e√(1 − ρ), with one standard
    normal u for all baselines, an e for each, and ρ the share: a Gaussian copula of one factor which keeps every
    probability in `wins`. Given the probabilities of all 2^b patterns of wins in a suite (an integral over u) the
    law of the counts of wins against all baselines together is found exactly, by adding one suite at a time. Where
    that would take more than 2e7 steps (as with 6 baselines and 18 required wins of 35), u is drawn 16 384
    times, the probability given the u of all suites is exact, and `standard_error` states what is left: below
    0.004.

    References
    ----------
    Esary, J. D., Proschan, F., Walkup, D. W. (1967). Association of random variables, with applications. Annals of
    Mathematical Statistics 38, 1466-1474.

    Examples
    --------
    >>> found = rule_power([[0.9, 0.8]] * 8, 6)
    >>> f"{found.low:.3f} < {found.power:.3f} < {found.high:.3f}"
    '0.767 < 0.776 < 0.797'
    """
    probabilities, shares = _matrix(wins, shared)
    suites, baselines = probabilities.shape
    if not (isinstance(required, int | np.integer) and 1 <= required <= suites):
        raise ArgumentError(
            "required is no number of suites",
            expected=f"a whole number from 1 to {suites}, the suites there are",
            received=repr(required),
            where="argument required",
        )
    each = wins_distribution(probabilities.T, int(required))[:, -1]
    low, high = float(each.prod()), float(each.min())
    if baselines == 1 or low == high:
        return RulePower(high, low, high, 0.0, each)
    if (required + 1.0) ** baselines * 2.0**baselines * suites <= _EXACT_STEPS:
        power, error = _counted(probabilities, shares, int(required)), 0.0
    else:
        power, error = _simulated(probabilities, shares, int(required), seed)
    # Rounding, or the simulation's error, may leave the bounds that hold.
    return RulePower(min(max(power, low), high), low, high, error, each)


def rule_cases(
    wins: Callable[[int], npt.ArrayLike],
    required: int,
    *,
    power: float = 0.8,
    shared: npt.ArrayLike = 0.5,
    seed: int = 0,
) -> RuleCases:
    """The least number of cases per suite with which the rule is passed with the power wanted.

    Parameters
    ----------
    wins : callable
        From a number of cases per suite to the probabilities that `rule_power` takes, which must not fall as it
        rises. Suites may differ in everything, and some may take more cases than the number says.
    required, shared, seed
        As in `rule_power`.
    power : float, optional
        Wanted, between 0 and 1.

    Returns
    -------
    RuleCases
        cases, at_least, at_most, power.

    Raises
    ------
    ArgumentError
        As in `rule_power`.

    Notes
    -----
    Numbers are doubled until one suffices, and the gap is then halved. Should a probability fall all the same, as that
    of keeping a guard does, which Welch's test of very few cases calls worse by chance less often, the number found
    suffices, but a smaller one may too, even where none is found.

    Examples
    --------
    Eight suites, four baselines, a difference of half a standard deviation everywhere:

    >>> from fastgate.stats import ttest_power
    >>> found = rule_cases(lambda n: [[ttest_power(0.5, 1.0, n)] * 4] * 8, 6, power=0.8)
    >>> found.cases, found.at_least, found.at_most
    (79, 65, 81)
    """
    check_share(power, "power")
    known: dict[int, RulePower] = {}

    def at(n: int) -> RulePower:
        if n not in known:
            known[n] = rule_power(wins(n), required, shared=shared, seed=seed)
        return known[n]

    cases = _least(lambda n: at(n).power >= power)
    at_most = _least(lambda n: at(n).low >= power)
    at_least = _least(lambda n: at(n).high >= power)
    return RuleCases(cases, at_least, at_most, at(LARGEST if cases is None else cases))


def _least(enough: Callable[[int], bool]) -> int | None:
    """The smallest n from 2 on that is enough, if more is always enough; None where 2^40 is not."""
    if not enough(LARGEST):
        return None
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _probabilities(wins: Any) -> Floats:
    array = numbers(wins, "wins")
    wrong = (array < 0.0) | (array > 1.0)
    if wrong.any():
        raise ArgumentError(
            "a value of wins is no probability",
            expected="from 0 to 1",
            received=repr(float(array[wrong][0])),
            where="argument wins",
        )
    return np.where(np.isnan(array), 0.0, array)


def _matrix(wins: Any, shared: Any) -> tuple[Floats, Floats]:
    probabilities = _probabilities(wins)
    shares = numbers(shared, "shared")
    if probabilities.ndim == 1:
        probabilities = probabilities[:, None]
        shares = shares[:, None] if shares.ndim == 1 else shares
    if probabilities.ndim != 2 or 0 in probabilities.shape:
        raise ArgumentError(
            "wins is no table of suites and baselines",
            expected="shape (n_suites,) or (n_suites, n_baselines), none of them 0",
            received=f"shape {np.shape(wins)}",
            where="argument wins",
        )
    wrong = (shares < 0.0) | (shares > 1.0)
    if wrong.any():
        raise ArgumentError(
            "a value of shared is no share",
            expected="from 0 to 1",
            received=repr(float(shares[wrong].reshape(-1)[0])),
            where="argument shared",
        )
    try:
        shares = np.broadcast_to(np.where(np.isnan(shares), 0.0, shares), probabilities.shape)
    except ValueError:
        raise ArgumentError(
            "shared and wins do not fit together",
            expected=f"a shape that broadcasts to {probabilities.shape}",
            received=f"shape {shares.shape}",
            where="argument shared",
        ) from None
    return probabilities, np.minimum(shares, _MOST_SHARED)


def _given(probabilities: Floats, shares: Floats, u: Floats) -> Floats:
    """The probabilities of wins given the shared noise: of the shape of all three broadcast."""
    from fastgate.stats.distributions import student_t_ppf, student_t_sf

    ranks = np.asarray(student_t_ppf(probabilities, np.inf))
    with np.errstate(invalid="ignore"):
        z = (ranks + np.sqrt(shares) * u) / np.sqrt(1.0 - shares)
    return np.asarray(student_t_sf(-z, np.inf))


def _counted(probabilities: Floats, shares: Floats, required: int) -> float:
    """The power, from the joint law of the counts of wins, each up to `required`."""
    suites, baselines = probabilities.shape
    weights = np.exp(-0.5 * _GRID * _GRID)
    weights /= weights.sum()
    counts = np.zeros((required + 1,) * baselines)
    counts[(0,) * baselines] = 1.0
    for suite in range(suites):
        won = _given(probabilities[suite], shares[suite], _GRID[:, None])
        patterns = weights[:, None]
        for baseline in range(baselines):
            one = won[:, baseline, None]
            patterns = np.concatenate([patterns * (1.0 - one), patterns * one], axis=1)
        after = np.zeros_like(counts)
        for pattern, mass in enumerate(patterns.sum(axis=0)):
            moved = counts * mass
            for baseline in range(baselines):
                if pattern >> baseline & 1:
                    moved = _one_more(moved, baseline)
            after += moved
        counts = after
    return float(counts[(-1,) * baselines])


def _one_more(counts: Floats, axis: int) -> Floats:
    """The law after one more win against a baseline; the last count stands for itself and all above."""
    moved = np.roll(counts, 1, axis)
    first, last = [slice(None)] * counts.ndim, [slice(None)] * counts.ndim
    first[axis], last[axis] = slice(0, 1), slice(-1, None)
    moved[tuple(last)] += moved[tuple(first)]
    moved[tuple(first)] = 0.0
    return moved


def _simulated(probabilities: Floats, shares: Floats, required: int, seed: int) -> tuple[float, float]:
    """The power and its standard error, from draws of the noise that the baselines of each suite share."""
    suites, baselines = probabilities.shape
    u = np.random.default_rng(seed).standard_normal((_DRAWS, suites))
    passed = np.ones(_DRAWS)
    for baseline in range(baselines):
        given = _given(probabilities[:, baseline], shares[:, baseline], u)
        passed *= wins_distribution(given, required)[:, -1]
    return float(passed.mean()), float(passed.std() / np.sqrt(_DRAWS))
