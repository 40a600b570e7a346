"""How often identical builds lose suites, by arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules, SuiteRules

__all__ = ["LossChances", "loss_chances"]

_NODES = 120


class LossChances(NamedTuple):
    """The chance that suites are lost although nothing differs."""

    one_or_more: float
    two_or_more: float


def loss_chances(rules: BenchmarkRules) -> LossChances | None:
    """The chance that a candidate identical to every baseline loses suites, each to whichever baseline.

    Parameters
    ----------
    rules : BenchmarkRules
        Of a t test.

    Returns
    -------
    LossChances or None
        None where no formula is known: with a correction, or where any of several KPIs decides against several
        baselines.

    Notes
    -----
    For suites, KPIs and builds whose values are independent, and tests whose level is exact. A comparison is then
    lost with chance a = alpha / 2 two-sided, alpha one-sided; a guard is called worse at its own alpha. Against one
    baseline a KPI is lost with chance a. Against B baselines the candidate's own noise is in every comparison, so
    that their differences are correlated by 1/2: none is lost with chance E[Φ(√2 z + U)^B], U standard normal and z
    the normal quantile of 1 − a (Dunnett 1955, for many cases). A suite that all of its KPIs decide is kept if no KPI
    is lost and no guard worse; with ``any`` and one baseline, if in addition a KPI is won or none lost. Of m such
    suites of chance q, one or more are lost with 1 − (1 − q)^m, two or more with that less m q (1 − q)^(m−1).

    Welch's test of the same cases, positively correlated, has a level below alpha, and identical builds lose fewer;
    where the correlation is negative, more. KPIs that go together are lost together: one suite less often, all else
    equal.

    References
    ----------
    Dunnett, C. W. (1955). A multiple comparison procedure for comparing several treatments with a control. J. American
    Statistical Association 50, 1096–1121.

    Examples
    --------
    >>> from fastgate.gates.policy import effective
    >>> policy = {"gate": "benchmark", "name": "demo", "kpis": {"score": {"direction": "higher"}},
    ...           "suites": list("abcdefgh"), "baselines": ["old"]}
    >>> [round(chance, 4) for chance in loss_chances(effective(policy, None, gate="benchmark"))]
    [0.1833, 0.0158]
    >>> four = policy | {"baselines": ["old", "plain", "cheap", "fast"]}
    >>> [round(chance, 4) for chance in loss_chances(effective(four, None, gate="benchmark"))]
    [0.4774, 0.1242]
    """
    if rules.bootstrap is not None or rules.correction.method != "none":
        return None
    chances = [_suite(suite, rules) for suite in rules.suites.values()]
    known = [chance for chance in chances if chance is not None]
    return _several(known) if len(known) == len(chances) else None


def _several(chances: Sequence[float]) -> LossChances:
    """One or more, two or more, of independent events of these chances."""
    none, one = 1.0, 0.0
    for chance in chances:
        none, one = none * (1.0 - chance), one * (1.0 - chance) + none * chance
    return LossChances(1.0 - none, max(1.0 - none - one, 0.0))


def _suite(suite: SuiteRules, rules: BenchmarkRules) -> float | None:
    """The chance that a suite is lost to one baseline or more."""
    level = rules.alpha / 2 if rules.alternative == "two-sided" else rules.alpha
    n_baselines, deciding = len(rules.baselines), len(suite.deciding_kpis)
    guards = _kept(rules.guard_alpha, n_baselines) ** len(suite.not_worse)
    if suite.decided_by != "any" or deciding == 1:
        return 1.0 - _kept(level, n_baselines) ** deciding * guards
    if n_baselines > 1:
        return None
    lost = (1.0 - level) ** deciding - (1.0 - 2.0 * level) ** deciding
    return 1.0 - (1.0 - lost) * guards


def _kept(level: float, n_baselines: int) -> float:
    """The chance that a KPI is lost to none of the baselines."""
    if n_baselines == 1:
        return 1.0 - level
    z = NormalDist().inv_cdf(1.0 - level)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    kept = [0.5 * math.erfc(-(math.sqrt(2.0) * z + node) / math.sqrt(2.0)) for node in nodes]
    return float(np.sum(weights * np.power(kept, n_baselines)) / np.sum(weights))
