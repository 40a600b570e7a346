"""What a careful reviewer would question in a benchmark policy that is valid."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fastgate.gates.benchmark.bootstrap_rules import least_cases
from fastgate.gates.benchmark.policy import BenchmarkPolicy, BenchmarkRules
from fastgate.gates.benchmark.rules import effective

__all__ = ["remarks"]

_CUSTOMARY_ALPHA = 0.05
_CUSTOMARY_POWER = 0.8
# Five cases a side detect 2.0 standard deviations with a power of 0.8, two cases 5.7 (two-sided, alpha 0.05).
_FEW_CASES = 5
_RARE_CHANCE = 0.01
_USUAL_RESAMPLES = 9999


def remarks(policy: BenchmarkPolicy, source: str) -> list[str]:
    """What is questionable in a valid policy, each remark beginning with the key it is about.

    Parameters
    ----------
    policy : BenchmarkPolicy
        As `fastgate.gates.benchmark.rules.parse` returns it.
    source : str
        Where it comes from, for messages.

    Returns
    -------
    list of str
        Empty when there is nothing to question.
    """
    rules = effective(policy, None, source)
    found = [*_on_chance(rules), *_on_evidence(rules), *_on_bootstrap(rules, policy)]
    used = {kpi for suite in rules.suites.values() for kpi in suite.kpis}
    used |= {
        kpi for tenant in policy.tenants.values() for suite in tenant.suites.values() for kpi in suite.guards
    }
    found += [f"kpis.{kpi}: no suite uses it" for kpi in policy.kpis if kpi not in used]
    for name in policy.tenants:
        if structs.replace(effective(policy, name, source), tenant=None) == rules:
            found.append(f"tenants.{name}: it changes nothing")
    return found


def _on_chance(rules: BenchmarkRules) -> list[str]:
    found = []
    n_suites, wins, alpha = len(rules.suites), rules.min_suite_wins, rules.alpha
    two_sided = alpha if rules.alternative == "two-sided" else 2 * alpha
    if alpha > _CUSTOMARY_ALPHA:
        found.append(
            f"alpha: {alpha:g} is above the customary {_CUSTOMARY_ALPHA:g}; more wins will be chance"
        )
    if rules.alternative == "one-sided":
        found.append(
            f"alternative: one-sided at {alpha:g} asks of a win what two-sided at {two_sided:g} does"
        )
    if 2 * wins < n_suites:
        found.append(
            f"min_suite_wins: {wins} of {n_suites} suites are less than half; the others may be lost"
        )
    chance = _chance_of_passing(rules)
    if rules.correction.method == "none" and chance > _RARE_CHANCE:
        key = "correction: none, and" if rules.bootstrap is None else "alpha:"
        found.append(
            f"{key} a build no better than a baseline wins {wins} of {n_suites} independent "
            f"suites against it with a chance of {chance:.2g}"
        )
    lenient = [name for name, suite in rules.suites.items() if suite.decided_by == "any"]
    if lenient:
        found.append(f"suites.{_some(lenient)}.decided_by: any of several KPIs is as many chances to win")
    if abs(1 - two_sided - rules.confidence_level) > 1e-9:
        found.append(
            f"confidence_level: intervals at {rules.confidence_level:g} and a test at {two_sided:g} "
            f"(two-sided) may disagree about 0; intervals at {1 - two_sided:g} would not"
        )
    return found


def _on_evidence(rules: BenchmarkRules) -> list[str]:
    found = []
    if rules.power < _CUSTOMARY_POWER and rules.bootstrap is None:
        found.append(f"power: an effect shown as detectable is missed with a chance of {1 - rules.power:.2g}")
    few = [name for name, suite in rules.suites.items() if suite.min_cases < _FEW_CASES]
    if few and rules.bootstrap is None:
        fewest = min(rules.suites[name].min_cases for name in few)
        found.append(
            f"suites.{_some(few)}.min_cases: {fewest} cases may decide; with under {_FEW_CASES} a t test "
            "finds only effects of several standard deviations"
        )
    if rules.max_missing_share > 0:
        found.append("max_missing_share: failures are seldom random; the values dropped may be the bad ones")
    if rules.zero_variance == "decide":
        found.append("zero_variance: two constant samples show no noise, which is not to say there is none")
    if not rules.require_same_cases:
        name = {"welch": "Welch's test", "paired": "the paired test", "bootstrap": "the bootstrap"}[
            rules.test
        ]
        what = f"{name} {'drops' if rules.pairs_cases else 'counts'}"
        found.append(
            f"require_same_cases: {what} cases that only one side has, which may differ in difficulty"
        )
    bare: dict[str, list[str]] = {}
    for name, suite in rules.suites.items():
        for kpi, margin in suite.guards.items():
            if margin is None:
                bare.setdefault(kpi, []).append(name)
    for kpi, names in bare.items():
        found.append(
            f"suites.{_some(names)}.guards.{kpi}: without a margin, too few cases hold it too; "
            "that no regression is significant does not show that there is none"
        )
    return found


def _on_bootstrap(rules: BenchmarkRules, policy: BenchmarkPolicy) -> list[str]:
    bootstrap = rules.bootstrap
    if bootstrap is None:
        return []
    found = []
    if policy.confidence_level not in (0.95, rules.confidence_level):
        found.append(
            f"confidence_level: not used; the intervals shown are those that decide, at {rules.confidence_level:g}"
        )
    raised: dict[str, list[str]] = {}
    for name, suite in rules.suites.items():
        for statistic in dict.fromkeys(suite.statistics.get(kpi, "mean") for kpi in suite.kpis):
            if suite.min_cases < least_cases(statistic):
                raised.setdefault(statistic, []).append(name)
    for statistic, names in raised.items():
        found.append(
            f"suites.{_some(names)}.min_cases: a bootstrap of {statistic} takes {least_cases(statistic)} cases at "
            "least, whatever is stated here"
        )
    if bootstrap.engine in ("exact", "saddlepoint"):
        found.append(
            f"bootstrap.engine: where {bootstrap.engine} has no interval, the comparison is undefined; auto has one"
        )
    if bootstrap.n_resamples < _USUAL_RESAMPLES:
        share = 0.7 * (1e4 / bootstrap.n_resamples) ** 0.5
        found.append(
            f"bootstrap.n_resamples: with {bootstrap.n_resamples} the ends of resampled intervals are uncertain "
            f"by some {share:.1f} % of their width"
        )
    return found


def _some(names: Iterable[str]) -> str:
    """One name as it is, of several the first and how many more."""
    first, *more = names
    return f"{first} (and {len(more)} more)" if more else first


def _chance_of_passing(rules: BenchmarkRules) -> float:
    """P(at least `min_suite_wins` wins) of a build equal to a baseline, with independent suites."""
    one = rules.alpha if rules.alternative == "one-sided" else rules.alpha / 2
    enough = rules.min_suite_wins
    chances = [1.0] + [0.0] * enough  # of 0, 1, … wins in the suites so far; the last is "enough or more"
    for suite in rules.suites.values():
        win = 1 - (1 - one) ** len(suite.deciding_kpis) if suite.decided_by == "any" else one
        chances[enough] += chances[enough - 1] * win
        for wins in range(enough - 1, 0, -1):
            chances[wins] = chances[wins] * (1 - win) + chances[wins - 1] * win
        chances[0] *= 1 - win
    return chances[enough]
