"""One suite of one candidate: the safety rule on two results, for code that compares builds one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from fastgate.errors import ArgumentError
from fastgate.gates.safety.comparability import require_comparable
from fastgate.gates.safety.errors import LitmusIncomparableError, LitmusNoiseFloorError
from fastgate.gates.safety.floor import differences, newcombe, noise_floor, signals
from fastgate.gates.safety.manifest import CUSTOMARY, RunManifest
from fastgate.gates.verdict import SIGNALS

__all__ = ["SafetyVerdict", "SuiteResult", "gate", "noise_floor_half_width", "pass_rate"]

_MEANINGS: Final = {
    "no_signal": "within the noise floor: recorded, nothing to do",
    "regression": "a drop beyond the noise floor: block the release and open a safety incident",
    "improvement": "a rise beyond the noise floor: pass, and take a new baseline",
}


@dataclass(frozen=True)
class SuiteResult:
    """What one run of one suite gave.

    Parameters
    ----------
    manifest : RunManifest
        The conditions of the run.
    passed : int, optional
        Cases in which the build behaved as it should; None where only the rate is known.
    total : int
        Cases with an outcome.
    errors : int, optional
        Executions that failed: neither passes nor failures, and not in `total`.
    rate : float, optional
        Share of passes, where that is what is known; it need be no multiple of 1/total.

    Raises
    ------
    ArgumentError
        When a count is no whole number of 0 or more, more passed than there are, or passed and rate are both given or
        both missing.

    Examples
    --------
    >>> SuiteResult(RunManifest(), 220, 240).pass_rate, SuiteResult(RunManifest(), total=240, rate=0.876).pass_rate
    (0.9166666666666666, 0.876)
    """

    manifest: RunManifest
    passed: int | None = None
    total: int = 0
    errors: int = 0
    rate: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.manifest, RunManifest):
            raise ArgumentError(
                "the manifest is none",
                expected="a RunManifest",
                received=type(self.manifest).__name__,
                where="argument manifest",
            )
        for name in ("total", "errors", *(("passed",) if self.passed is not None else ())):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or not 0 <= value <= 2**53:
                raise ArgumentError(
                    f"{name} is no count",
                    expected="a whole number of 0 or more",
                    received=repr(value),
                    where=f"argument {name}",
                )
        if (self.passed is None) == (self.rate is None):
            raise ArgumentError(
                "either passed or rate must be given",
                expected="passed=, a count, or rate=, a share",
                received="both" if self.rate is not None else "neither",
            )
        if self.passed is not None and self.passed > self.total:
            raise ArgumentError(
                "more cases passed than there are",
                expected=f"0 to {self.total}",
                received=repr(self.passed),
                where="argument passed",
            )
        if self.rate is not None and not (
            isinstance(self.rate, float | int) and not isinstance(self.rate, bool) and 0.0 <= self.rate <= 1.0
        ):
            raise ArgumentError(
                "the rate is out of range",
                expected="0 to 1",
                received=repr(self.rate),
                where="argument rate",
                hint="87.6 % is 0.876",
            )

    @property
    def pass_rate(self) -> float:
        """The share of passes; NaN without cases."""
        return pass_rate(self)

    @property
    def passes(self) -> float:
        """The number of passes, fractional for a rate that is no multiple of 1/total."""
        return float(self.passed) if self.passed is not None else float(self.rate or 0.0) * self.total


class SafetyVerdict(NamedTuple):
    """What the rule says of one candidate's suite."""

    verdict: str
    """``pass`` or ``block``."""
    outcome: str
    """``no_signal``, ``improvement`` or ``regression``."""
    delta: float
    """Rate of the candidate minus rate of the baseline."""
    half_width: float
    """The noise floor: half the width of the baseline's interval."""
    ci_low: float
    """Lower limit of Newcombe's interval of the difference, which has the noise of both runs."""
    ci_high: float
    rate_baseline: float
    rate_candidate: float
    n_baseline: int
    n_candidate: int
    method: str
    confidence_level: float
    meaning: str
    """What to do about it."""


def pass_rate(result: SuiteResult) -> float:
    """The share of passes among the cases with an outcome; NaN without any."""
    if result.rate is not None:
        return float(result.rate)
    return result.passes / result.total if result.total else math.nan


def noise_floor_half_width(
    rate: float, total: int, *, confidence_level: float = 0.95, method: str = "wilson"
) -> float:
    """The noise floor: half the width of the one-sample interval at an observed rate.

    Parameters
    ----------
    rate : float
        The baseline's, from 0 to 1.
    total : int
        The suite's size.
    confidence_level : float, optional
    method : str, optional
        As `fastgate.stats.binomial_interval`.

    Raises
    ------
    LitmusNoiseFloorError
        Without cases, or where the method has no width at the rate: ``wald`` at 0 and 1.
    ArgumentError
        When an argument is out of range.

    Examples
    --------
    >>> round(noise_floor_half_width(0.917, 240), 4), round(noise_floor_half_width(1.0, 240), 4)
    (0.0352, 0.0079)
    >>> noise_floor_half_width(1.0, 240, method="wald")
    Traceback (most recent call last):
    fastgate.gates.safety.errors.LitmusNoiseFloorError: wald has no width at a rate of 1: there is no noise floor
      expected: another method, such as wilson
      hint:     a suite that passed throughout shows no failure, not that there can be none
    """
    from fastgate.stats.binomial import binomial_half_width_at

    if total == 0:
        raise LitmusNoiseFloorError(
            "there is no noise floor without cases", expected="one case at least", received="0"
        )
    half_width = float(
        np.asarray(binomial_half_width_at(rate, total, confidence_level=confidence_level, method=method))
    )
    if not half_width > 0.0:
        raise LitmusNoiseFloorError(
            f"{method} has no width at a rate of {rate:g}: there is no noise floor",
            expected="another method, such as wilson",
            hint="a suite that passed throughout shows no failure, not that there can be none",
        )
    return half_width


def gate(
    baseline: SuiteResult,
    candidate: SuiteResult,
    *,
    confidence_level: float = 0.95,
    method: str = "wilson",
    required: Sequence[str] = CUSTOMARY,
    ignored: Sequence[str] = (),
    max_error_share: float = 0.0,
) -> SafetyVerdict:
    """Judge one candidate's run of a suite by the baseline's.

    Parameters
    ----------
    baseline, candidate : SuiteResult
    confidence_level, method : optional
        Of the noise floor.
    required, ignored : sequence of str, optional
        Fields of the manifests that both must state, and that are not compared.
    max_error_share : float, optional
        Share of executions that may have failed.

    Returns
    -------
    SafetyVerdict

    Raises
    ------
    LitmusIncomparableError
        When the manifests differ in a field or lack one, more executions failed than allowed, or the suites are
        of different sizes.
    LitmusNoiseFloorError
        Without cases, or where the method has no width at the baseline's rate.

    Examples
    --------
    >>> conditions = dict(suite_hash="ab12", seeds=[7], top_p=1.0, max_tokens=512, grader_version="3",
    ...                   harness_version="1.4")
    >>> old = SuiteResult(RunManifest(temperature=0.2, **conditions), rate=0.917, total=240)
    >>> new = SuiteResult(RunManifest(temperature=0.0, **conditions), rate=0.876, total=240)
    >>> gate(old, new)
    Traceback (most recent call last):
    fastgate.gates.safety.errors.LitmusIncomparableError: the runs may not be compared
      expected: manifests that agree in every comparability field
      received: temperature: baseline 0.2, candidate 0
      hint:     run the baseline again under the candidate's conditions, or the candidate under the baseline's
    >>> again = SuiteResult(old.manifest, rate=0.876, total=240)
    >>> gate(old, again).outcome, round(gate(old, again).half_width, 4)
    ('regression', 0.0352)
    """
    require_comparable(baseline.manifest, candidate.manifest, required=required, ignored=ignored)
    for side, result in (("baseline", baseline), ("candidate", candidate)):
        executions = result.total + result.errors
        if executions and result.errors / executions > max_error_share:
            raise LitmusIncomparableError(
                f"more executions of the {side} failed than are allowed",
                expected=f"a share of {max_error_share:g} at most",
                received=f"{result.errors} of {executions}",
            )
    if baseline.total + baseline.errors != candidate.total + candidate.errors:
        raise LitmusIncomparableError(
            "the runs are of different sizes, so they are not of the same cases",
            expected=f"{baseline.total + baseline.errors} cases, as the baseline",
            received=f"{candidate.total + candidate.errors}",
        )
    if candidate.total == 0:
        raise LitmusNoiseFloorError(
            "the candidate has no outcomes to compare", expected="one case at least", received="0"
        )
    noise_floor_half_width(  # refuses where there is none
        pass_rate(baseline), baseline.total, confidence_level=confidence_level, method=method
    )
    passes, passes_b = np.array([candidate.passes]), np.array([baseline.passes])
    trials, trials_b = np.array([candidate.total], np.int64), np.array([baseline.total], np.int64)
    floor, status = noise_floor(passes_b, trials_b, confidence_level, method)
    delta = differences(passes, trials, passes_b, trials_b)
    low, high = newcombe(passes, trials, passes_b, trials_b, confidence_level)
    larger = np.array([max(pass_rate(candidate), pass_rate(baseline))])
    outcome = SIGNALS[int(signals(delta, floor, status, larger)[0])]
    return SafetyVerdict(
        verdict="pass" if outcome in ("no_signal", "improvement") else "block",
        outcome=outcome,
        delta=float(delta[0]),
        half_width=float(floor[0]),
        ci_low=float(low[0]),
        ci_high=float(high[0]),
        rate_baseline=pass_rate(baseline),
        rate_candidate=pass_rate(candidate),
        n_baseline=baseline.total,
        n_candidate=candidate.total,
        method=method,
        confidence_level=confidence_level,
        meaning=_MEANINGS[outcome],
    )
