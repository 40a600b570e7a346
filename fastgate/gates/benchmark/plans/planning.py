"""How many cases a suite needs for a candidate to pass the benchmark gate as often as wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fastgate.errors import ArgumentError
from fastgate.gates.benchmark.plans.design import PerKpi, design, pilot_noise
from fastgate.gates.benchmark.plans.power import SuitePowers
from fastgate.gates.benchmark.plans.tables import (
    assumptions,
    baseline_table,
    comparison_table,
    suite_table,
    with_least,
)
from fastgate.gates.benchmark.significance import sufficient_alpha
from fastgate.gates.names import chosen_candidates
from fastgate.gates.policy import PolicySource, effective, policy_hash, to_dict

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules
    from fastgate.stats.planning import RulePower

__all__ = ["BenchmarkPlan", "benchmark_plan"]


@dataclass(frozen=True, eq=False)
class BenchmarkPlan:
    """Cases per suite for the rule and for each of its parts. Figures that do not exist are null.

    Attributes
    ----------
    rule : dict
        ``power`` (wanted), ``required`` of ``suites`` suites against each of ``baselines`` baselines; ``cases``, the
        least number per suite with which a candidate of the effect passes as often as wanted (a suite whose own
        ``min_cases`` are more gets those), with ``cases_at_least`` and ``cases_at_most`` (were the comparisons with the
        baselines as dependent as can be, and were they independent), ``total_cases`` over all suites;
        ``power_planned``, ``power_planned_low``, ``power_planned_high``, ``standard_error`` at ``cases``;
        ``power_now``, ``power_now_low``, ``power_now_high`` with the present cases; ``power_limit``, which no number of
        cases exceeds; ``suites_planned``, how many suites have figures against every baseline.
    baselines : DataFrame
        A row per baseline, to be beaten alone: baseline, power_now, power_planned (at the rule's cases), cases_needed.
    suites : DataFrame
        A row per suite and baseline: suite, baseline, decided_by, cases_now, power_now, cases_needed (of the whole
        suite, guards included), reason.
    comparisons : DataFrame
        A row per suite, KPI that counts and baseline: suite, kpi, baseline, role, direction, sd (the root of the mean
        of both variances), sd_candidate, sd_baseline, correlation, effect (the gain planned for; of guards 0),
        standardised_effect (effect / sd), observed_effect (the pilot's gain), margin, cases_now, power_now, min_cases,
        cases_needed, reason: a code of `fastgate.gates.benchmark.plans.design.MEANINGS`, or null.
    assumptions : tuple of str
        What the numbers take for granted, in sentences.
    policy : dict
        The policy as applied.
    settings : dict
        What was asked for, the pilot's fingerprint included.
    """

    rule: dict[str, Any]
    baselines: pl.DataFrame
    suites: pl.DataFrame
    comparisons: pl.DataFrame
    assumptions: tuple[str, ...]
    policy: dict[str, Any]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The whole plan as plain data without NaN or infinity."""
        return {
            "rule": self.rule,
            "baselines": self.baselines.to_dicts(),
            "suites": self.suites.to_dicts(),
            "comparisons": self.comparisons.to_dicts(),
            "assumptions": list(self.assumptions),
            "settings": self.settings,
            "policy": self.policy,
        }


def benchmark_plan(
    policy: PolicySource,
    pilot: Any = None,
    *,
    effect: PerKpi = None,
    standardised_effect: PerKpi = None,
    pilot_effect: bool = False,
    sd: PerKpi = None,
    correlation: float | None = None,
    power: float | None = None,
    cases: int | None = None,
    n_candidates: int | None = None,
    candidates: Sequence[str] | None = None,
    tenant: str | None = None,
    columns: Mapping[str, str] | None = None,
    shape: str | None = None,
) -> BenchmarkPlan:
    """The cases per suite with which a candidate that is better by a stated effect passes the benchmark gate.

    Parameters
    ----------
    policy : path, preset name, dict or BenchmarkPolicy
        The rule, whose test is ``welch`` or ``paired``.
    pilot : frame, path, glob, list of paths, or Samples, optional
        Measurements of the baselines and one or more builds like the candidate, in any shape that
        `fastgate.benchmark_gate` takes: they give the noise, the correlation and the present number of cases.
    effect : float or dict of KPI to float, optional
        The smallest gain worth detecting, in the KPI's unit and above 0 whichever direction is better: what the
        candidate is taken to be better by, in every suite and against every baseline.
    standardised_effect : float or dict of KPI to float, optional
        The same in standard deviations of the values over the cases, for either test.
    pilot_effect : bool, optional
        Plan for the differences that the pilot happens to show. A pilot that was chosen because it looked good
        overstates them, and the plan is then too small; state an effect instead where you can.
    sd : float or dict of KPI to float, optional
        Standard deviation of the values over the cases, of either side, in place of the pilot's; for guards too.
    correlation : float, optional
        Between candidate and baseline over the same cases, above -1 and below 1, in place of the pilot's.
    power : float, optional
        Wanted, between 0 and 1; the policy's own ``power`` unless given.
    cases : int, optional
        The number of cases per suite of which the present power is shown; the pilot's unless given.
    n_candidates : int, optional
        How many candidates will be judged together, where p-values are corrected over the sweep; the pilot's
        candidates, or 1, unless given.
    candidates : sequence of str, optional
        The builds of the pilot to take as like the candidate; all but the baselines unless given.
    tenant, columns, shape
        As in `fastgate.benchmark_gate`.

    Returns
    -------
    BenchmarkPlan
        For the rule, each baseline, each suite and each comparison. What cannot be planned has a reason in place of a
        number and counts as not won.

    Raises
    ------
    ArgumentError
        When not exactly one effect is given, a figure is missing or out of range, or the policy's test is the
        bootstrap.
    DataError, PolicyError
        As `fastgate.benchmark_gate`.

    Notes
    -----
    A suite is won with the probability `fastgate.stats.ttest_power` at the policy's alpha; under a correction at the
    alpha that suffices whatever the other comparisons show (Bonferroni's). Guards are taken to be equal on both sides:
    one with a margin has to show it (the power of the non-inferiority test), one without fails by chance as often
    as its test allows. Under Welch's test that is less often with very few cases, so that its part of the power falls a
    little as cases are added; the search takes power to rise with them, which errs to the safe side: the number
    found suffices, but a smaller one may too, even where none is found. Several KPIs of a suite, guards included, are
    taken as independent;
    KPIs that rise and fall together do better, opposed ones (a gain bought with cost) worse, by (1 - p)(1 - q) at
    most for two of power p and q. A suite that any of several KPIs decides is won at least as often as by the strongest
    alone, which is what is counted. The rule is `fastgate.stats.rule_power`, in which the share of a comparison's noise
    that is the candidate's own comes
    from the standard deviations and the correlation: (σ² - rσσ_b) / (σ² + σ_b² - 2rσσ_b), one half where both sides
    are alike. Data are taken to be complete, and no previous release to be compared with.

    Examples
    --------
    >>> policy = {"gate": "benchmark", "name": "demo", "baselines": ["old", "older"], "min_suite_wins": 6,
    ...           "kpis": {"score": {"direction": "higher"}}, "suites": [f"suite-{i}" for i in range(8)]}
    >>> found = benchmark_plan(policy, standardised_effect=0.5)
    >>> found.rule["cases"], found.rule["cases_at_least"], found.rule["cases_at_most"]
    (72, 65, 73)
    >>> benchmark_plan(policy | {"test": "paired"}, standardised_effect=0.5, correlation=0.8).rule["cases"]
    17
    """
    from fastgate.frames import Samples, read_samples

    rules = effective(policy, tenant, gate="benchmark")
    _check(rules, pilot, effect, standardised_effect, pilot_effect, sd, correlation)
    wanted = _share(rules.power if power is None else power)
    if cases is not None and not (isinstance(cases, int) and cases >= 2):
        raise ArgumentError(
            "cases is no number of cases", expected="a whole number of 2 or more", received=repr(cases)
        )
    noise, judged, record = None, None, None
    if pilot is not None:
        samples = pilot
        if not isinstance(samples, Samples):
            samples = read_samples(samples, columns=columns, shape=shape, trials=rules.trials)
        judged = _candidates(samples, rules, candidates)
        if pilot_effect and len(judged) > 1:
            raise ArgumentError(
                "the pilot holds several candidates, whose effects differ",
                expected="one candidate",
                received=", ".join(judged[:10]),
                where="argument candidates",
                hint="name one, or state an effect",
            )
        noise = pilot_noise(samples, rules, judged)
        record = {"shape": samples.shape, "rows": samples.n_rows, "fingerprint": samples.fingerprint}
    elif candidates is not None:
        raise ArgumentError("candidates are named without a pilot", expected="pilot=", received="none")
    table = design(
        rules,
        noise,
        effect=effect,
        standardised_effect=standardised_effect,
        pilot_effect=pilot_effect,
        sd=sd,
        correlation=correlation,
    )
    if cases is not None:
        table = table.with_columns(cases_now=pl.lit(cases, pl.Int64))
    sweep = n_candidates if n_candidates is not None else len(judged or "1")
    settings = {
        "effect": effect if not isinstance(effect, Mapping) else dict(effect),
        "standardised_effect": standardised_effect
        if not isinstance(standardised_effect, Mapping)
        else dict(standardised_effect),
        "pilot_effect": pilot_effect,
        "sd": sd if not isinstance(sd, Mapping) else dict(sd),
        "correlation": correlation,
        "cases": cases,
        "n_candidates": sweep,
        "candidates": judged,
        "pilot": record,
        "policy_hash": policy_hash(rules),
    }
    return _planned(rules, table, wanted, _level(rules, sweep), settings)


def _check(
    rules: BenchmarkRules,
    pilot: Any,
    effect: PerKpi,
    standardised_effect: PerKpi,
    pilot_effect: bool,
    sd: PerKpi,
    correlation: float | None,
) -> None:
    if rules.test == "bootstrap":
        raise ArgumentError(
            "the policy decides by bootstrap intervals, of whose power there is no formula",
            expected='a policy whose test is "welch" or "paired"',
            received='test = "bootstrap"',
            hint="of means the t tests' plan comes near from 50 cases on: set the test in a copy of the policy; of "
            "other statistics it says nothing",
        )
    given = (effect is not None) + (standardised_effect is not None) + bool(pilot_effect)
    if given != 1:
        raise ArgumentError(
            "the effect to plan for is not stated" if not given else "several effects are stated",
            expected="one of effect (in the KPI's unit), standardised_effect (in standard deviations), pilot_effect",
            received="none" if not given else f"{given} of them",
            hint="state the smallest gain that is worth detecting" if not given else None,
        )
    if pilot is None and pilot_effect:
        raise ArgumentError("there is no pilot to take effects from", expected="pilot=", received="none")
    if pilot is None and effect is not None and sd is None:
        raise ArgumentError(
            "an effect in the KPI's unit says nothing without the noise",
            expected="sd (the standard deviation over the cases), or a pilot",
            received="neither",
            hint="or state a standardised_effect, in standard deviations",
        )
    if correlation is not None and not (isinstance(correlation, int | float) and -1.0 < correlation < 1.0):
        raise ArgumentError(
            "correlation is out of range",
            expected="a number above -1 and below 1",
            received=repr(correlation),
            where="argument correlation",
        )
    if pilot is None and rules.test == "paired" and correlation is None:
        raise ArgumentError(
            "the paired test's power depends on the correlation of the pairs",
            expected="correlation, or a pilot",
            received="neither",
            hint="with equal noise on both sides, a correlation r leaves the difference 2 (1 - r) of the variance",
        )


def _share(power: float) -> float:
    from fastgate.stats.arguments import check_share

    check_share(power, "power")
    return float(power)


def _candidates(samples: Any, rules: BenchmarkRules, wanted: Sequence[str] | None) -> list[str]:
    column = "build" if samples.shape == "runs" else "candidate"
    found = samples.index[column].unique().cast(pl.String).sort().to_list()
    others = [name for name in found if samples.shape == "pairs" or name not in rules.baselines]
    return chosen_candidates(others, rules.baselines, wanted, column)


def _level(rules: BenchmarkRules, n_candidates: int) -> float:
    """The alpha that suffices for a deciding comparison, whatever the others show."""
    if not (isinstance(n_candidates, int) and n_candidates >= 1):
        raise ArgumentError(
            "n_candidates is no number of candidates",
            expected="a whole number of 1 or more",
            received=repr(n_candidates),
        )
    family = len(rules.baselines) * sum(len(suite.deciding_kpis) for suite in rules.suites.values())
    if rules.correction.family == "sweep":
        family *= n_candidates
    return sufficient_alpha(rules.alpha, rules.correction.method, family)


def _planned(
    rules: BenchmarkRules, table: pl.DataFrame, wanted: float, level: float, settings: dict[str, Any]
) -> BenchmarkPlan:
    from fastgate.stats.planning import LARGEST, rule_cases, rule_power

    powers = SuitePowers(rules, table, level)
    shares, required = powers.shares(), rules.min_suite_wins
    found = rule_cases(powers.suites, required, power=wanted, shared=shares)
    now = table["cases_now"].fill_null(0).to_numpy()
    present = None
    if settings["pilot"] is not None or settings["cases"] is not None:
        rows_now = np.where(now >= 2, powers.rows(np.maximum(now, 2)), np.nan)
        rows_now[now < powers.least] = 0.0  # fewer than the policy asks for decide nothing
        suites_now = powers.combined(np.where(powers.planned, rows_now, np.nan))
        present = rule_power(suites_now, required, shared=shares)
    limit = rule_power(powers.suites(LARGEST), required, shared=shares)
    at = None if found.cases is None else found.power
    whole = {"power": wanted, "required": required, "suites": len(rules.suites)}
    rule = {
        **whole,
        "baselines": len(rules.baselines),
        "suites_planned": int((~np.isnan(powers.suites(2))).all(axis=1).sum()),
        "cases": with_least(found.cases, rules),
        "cases_at_least": with_least(found.at_least, rules),
        "cases_at_most": with_least(found.at_most, rules),
        "total_cases": None
        if found.cases is None
        else sum(max(found.cases, s.min_cases) for s in rules.suites.values()),
        **_figures("power_planned", at),
        "standard_error": None if at is None else at.standard_error,
        **_figures("power_now", present),
        "power_limit": limit.power,
    }
    return BenchmarkPlan(
        rule=rule,
        baselines=baseline_table(powers, wanted, present, at),
        suites=suite_table(powers, wanted, None if present is None else suites_now),
        comparisons=comparison_table(powers, wanted, None if present is None else rows_now),
        assumptions=assumptions(rules, table, level, settings),
        policy=to_dict(rules),
        settings=settings,
    )


def _figures(name: str, power: RulePower | None) -> dict[str, float | None]:
    if power is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: power.power, f"{name}_low": power.low, f"{name}_high": power.high}
