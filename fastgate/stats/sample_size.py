"""How many cases a suite needs, and how small a change of its pass rate a given number can show."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.errors import ArgumentError
from fastgate.stats.arguments import check_share, numbers
from fastgate.stats.counts import broadcast, choice, count_cells, in_shape, words

__all__ = [
    "DetectableChange",
    "TrialsNeeded",
    "detectable_change",
    "detection_power",
    "trials_for_half_width",
    "trials_needed",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SIDES: Final = {"two-sided": 2, "one-sided": 1}
_DIRECTIONS: Final = {"decrease": -1, "increase": 1}
_SCORE: Final = {"wilson": 1, "wald": 0}


class TrialsNeeded(NamedTuple):
    """Trials per run (cases, where they are replayed): arrays of the arguments' common shape, or scalars."""

    trials: int | Integers
    """The least whole number that suffices: `exact` rounded up, but for rounding errors of 1e-12."""
    exact: float | Floats
    """The solution of the formula."""


class DetectableChange(NamedTuple):
    """The least change that is detected with the power: arrays of the arguments' common shape, or scalars."""

    change: float | Floats
    """Its size, positive in either direction; NaN unless ok."""
    status: str | npt.NDArray[np.object_]
    """``ok``; ``too_few`` without trials; ``no_root`` where not even the largest possible change is detected."""


def trials_needed(
    rate: npt.ArrayLike,
    change: npt.ArrayLike,
    *,
    power: float = 0.8,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    discordance: npt.ArrayLike | None = None,
) -> TrialsNeeded:
    """Trials per run that detect a change of a proportion with the power, by the normal approximation.

    Parameters
    ----------
    rate : array_like of float
        The baseline's rate, from 0 to 1.
    change : array_like of float
        Candidate - baseline, not 0; ``rate + change`` is a rate too.
    power : float, optional
        The probability of finding the change, above that of finding one where there is none.
    confidence_level : float, optional
        1 - α of the test, between 0 and 1, both excluded.
    alternative : str, optional
        ``"two-sided"``, or ``"one-sided"`` in the direction of the change.
    discordance : array_like of float, optional
        Where the same cases are replayed: the share ψ of cases whose outcome differs between the runs, from
        ``abs(change)`` to 1. Without it the two runs are independent samples.

    Returns
    -------
    TrialsNeeded
        trials, exact.

    Raises
    ------
    ArgumentError
        When an argument is out of range, shapes do not broadcast, or more than 2^53 trials would be needed.

    Notes
    -----
    Independent: n = (z √(2p̄q̄) + z' √(p₁q₁ + p₂q₂))²/Δ², with p̄ the mean of the two rates, z the critical value
    and z' the normal quantile of the power (Fleiss, Levin and Paik 2003; also R's ``power.prop.test``).
    Replayed: n = (z √ψ + z' √(ψ − Δ²))²/Δ² (Connor 1987). Both are approximations: for small counts check the
    design by the exact test.

    References
    ----------
    Fleiss, J. L., Levin, B., Paik, M. C. (2003). Statistical Methods for Rates and Proportions, 3rd ed., ch. 4.
    Connor, R. J. (1987). Sample size for testing differences in proportions for the paired-sample design.
    Biometrics 43, 207-211.

    Examples
    --------
    >>> trials_needed(0.917, -0.041).trials
    866
    >>> trials_needed(0.917, -0.041, discordance=[0.05, 0.1, 0.2]).trials.tolist()
    [232, 465, 932]
    """
    from fastgate.kernels import sample_size

    tail = _tail(power, confidence_level, alternative)
    (p, delta, psi), shape = _design(rate, change, discordance)
    exact = np.empty(p.size)
    threads.run(sample_size.change_trials, p.size, p, delta, psi, tail, 1.0 - power, exact, work=20.0)
    return _rounded_up(exact, shape)


def detection_power(
    rate: npt.ArrayLike,
    change: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    discordance: npt.ArrayLike | None = None,
) -> float | Floats:
    """The probability that a change of a proportion is found significant in its direction with so many trials.

    Parameters
    ----------
    rate, change, confidence_level, alternative, discordance
        As `trials_needed`, whose inverse this is.
    trials : array_like of int
        Trials per run, 0 or more.

    Returns
    -------
    float or ndarray of float64
        NaN without trials.

    Raises
    ------
    ArgumentError
        When an argument is out of range or shapes do not broadcast.

    Examples
    --------
    >>> f"{detection_power(0.917, -0.041, 240):.2f}"
    '0.31'
    """
    from fastgate.kernels import sample_size

    tail = _tail(None, confidence_level, alternative)
    (counts,), counted = count_cells(trials=trials)
    sizes = counts.astype(np.float64).reshape(counted)
    (p, delta, psi, n), shape = _design(rate, change, discordance, trials=sizes)
    power = np.empty(p.size)
    threads.run(sample_size.detection_power, p.size, p, delta, n, psi, tail, power, work=40.0)
    result: float | Floats = in_shape(power, shape)
    return result


def detectable_change(
    rate: npt.ArrayLike,
    trials: npt.ArrayLike,
    *,
    power: float = 0.8,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    direction: str = "decrease",
    discordance: npt.ArrayLike | None = None,
) -> DetectableChange:
    """The least change of a proportion that so many trials detect with the power, by the normal approximation.

    Parameters
    ----------
    rate : array_like of float
        The baseline's rate, from 0 to 1.
    trials : array_like of int
        Trials per run, 0 or more.
    power : float, optional
        The probability of finding the change, above that of finding one where there is none.
    confidence_level : float, optional
        1 - α of the test, between 0 and 1, both excluded.
    alternative : str, optional
        ``"two-sided"``, or ``"one-sided"`` in the direction of the change.
    direction : str, optional
        ``"decrease"`` or ``"increase"``; they differ, for the variance grows towards a rate of one half.
    discordance : array_like of float, optional
        Where the same cases are replayed: the share of cases whose outcome differs between the runs, above 0.

    Returns
    -------
    DetectableChange
        change, status.

    Raises
    ------
    ArgumentError
        When an argument is out of range or shapes do not broadcast.

    Notes
    -----
    The root in Δ of the formulas of `trials_needed`; in closed form for replayed cases.

    Examples
    --------
    >>> f"{detectable_change(0.917, 240).change:.3f}"
    '0.084'
    >>> f"{detectable_change(0.917, 240, alternative='one-sided').change:.3f}"
    '0.074'
    >>> f"{detectable_change(0.917, 240, discordance=0.1).change:.3f}"
    '0.057'
    >>> detectable_change(0.05, [10, 1000]).status.tolist()
    ['no_root', 'ok']
    """
    from fastgate.kernels import sample_size

    tail = _tail(power, confidence_level, alternative)
    sign = choice(direction, _DIRECTIONS, "direction")
    (counts,), counted = count_cells(trials=trials)
    sizes = counts.astype(np.float64).reshape(counted)
    (p, psi, n), shape = _design(rate, None, discordance, trials=sizes)
    change = np.empty(p.size)
    status = np.empty(p.size, np.int8)
    threads.run(
        sample_size.detectable_change,
        p.size,
        p,
        n,
        psi,
        tail,
        1.0 - power,
        float(sign),
        change,
        status,
        work=150.0,
    )
    return DetectableChange(in_shape(change, shape), in_shape(words(status), shape))


def trials_for_half_width(
    rate: npt.ArrayLike,
    half_width: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: str = "wilson",
) -> TrialsNeeded:
    """Trials at which the confidence interval of a proportion is as narrow as wanted.

    Parameters
    ----------
    rate : array_like of float
        The rate that will be observed, from 0 to 1; above 0 and below 1 for ``wald``.
    half_width : array_like of float
        Half the width of the interval, above 0 and below 0.5.
    confidence_level : float, optional
        Between 0 and 1, both excluded.
    method : str, optional
        ``"wilson"`` or ``"wald"``.

    Returns
    -------
    TrialsNeeded
        trials, exact.

    Raises
    ------
    ArgumentError
        When an argument is out of range, shapes do not broadcast, or more than 2^53 trials would be needed.

    Notes
    -----
    Wald: z²pq/h². Wilson: the positive root n of h²(n + z²)² = z²(npq + z²/4).

    Examples
    --------
    >>> trials_for_half_width(0.917, 0.02).trials, trials_for_half_width(0.917, 0.02, method="wald").trials
    (736, 731)
    """
    from fastgate.kernels import sample_size

    score = choice(method, _SCORE, "method") == 1
    check_share(confidence_level, "confidence_level")
    (p, half), shape = broadcast(
        {"rate": numbers(rate, "rate"), "half_width": numbers(half_width, "half_width")}
    )
    _within("rate", p, p >= 0.0, p <= 1.0, "0 to 1")
    if not score:
        _within("rate", p, p > 0.0, p < 1.0, "above 0 and below 1: Wald's interval has no width there")
    _within("half_width", half, half > 0.0, half < 0.5, "above 0 and below 0.5")
    exact = np.empty(p.size)
    tail = 0.5 * (1.0 - confidence_level)
    threads.run(sample_size.half_width_trials, p.size, p, half, tail, score, exact, work=10.0)
    return _rounded_up(exact, shape)


def _tail(power: float | None, confidence_level: float, alternative: str) -> float:
    """The area beyond the critical value."""
    check_share(confidence_level, "confidence_level")
    tail = (1.0 - confidence_level) / choice(alternative, _SIDES, "alternative")
    if power is not None:
        check_share(power, "power")
        if not power > tail:
            raise ArgumentError(
                "power is too low to ask for",
                expected=f"above {tail:g}, the probability of finding a change where there is none",
                received=repr(power),
                where="argument power",
            )
    return tail


def _within(name: str, values: Floats, low: npt.NDArray[Any], high: npt.NDArray[Any], expected: str) -> None:
    inside = low & high
    if not inside.all():
        place = int(np.argmin(inside))
        raise ArgumentError(
            f"{name} is out of range",
            expected=expected,
            received=repr(values[place].item()),
            where=f"argument {name}, element {place}",
        )


def _design(
    rate: npt.ArrayLike, change: npt.ArrayLike | None, discordance: npt.ArrayLike | None, **others: Floats
) -> tuple[list[Floats], tuple[int, ...]]:
    """The checked arguments as cells, in the order rate, change where given, discordance (NaN: none), others."""
    given = {"rate": numbers(rate, "rate")}
    if change is not None:
        given["change"] = numbers(change, "change")
    given["discordance"] = numbers(np.nan if discordance is None else discordance, "discordance")
    cells, shape = broadcast(given | others)
    named = dict(zip(given, cells, strict=False))
    p, psi = named["rate"], named["discordance"]
    _within("rate", p, p >= 0.0, p <= 1.0, "0 to 1")
    if "trials" in others:
        _within("trials", cells[-1], cells[-1] >= 0.0, cells[-1] < np.inf, "0 or more")
    if discordance is not None:
        _within("discordance", psi, psi > 0.0, psi <= 1.0, "above 0 and at most 1")
    if change is not None:
        delta = named["change"]
        other = p + delta
        _within(
            "change",
            delta,
            delta != 0.0,
            (other >= -1e-15) & (other <= 1.0 + 1e-15),
            "not 0, from -rate to 1 - rate",
        )
        if discordance is not None:
            _within("discordance", psi, psi >= np.abs(delta), psi <= 1.0, "at least the size of the change")
    return cells, shape


def _rounded_up(exact: Floats, shape: tuple[int, ...]) -> TrialsNeeded:
    _within("the number of trials", exact, exact >= 0.0, exact <= 2.0**53, "at most 2^53: ask for less")
    trials = np.maximum(np.ceil(exact * (1.0 - 1e-12)), 1.0).astype(np.int64)
    return TrialsNeeded(in_shape(trials, shape), in_shape(exact, shape))
