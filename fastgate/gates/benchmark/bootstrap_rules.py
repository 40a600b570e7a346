"""What a benchmark policy says of the bootstrap: statistics, levels, and what does not go together."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from fastgate.errors import ArgumentError, PolicyError
from fastgate.gates.benchmark.policy import BenchmarkPolicy, BenchmarkRules, Bootstrap, Suite
from fastgate.gates.schema import Place, show

__all__ = ["completed", "levels", "refuse_idle"]

_STATISTICS: Final = '"mean", "median", a percentile such as "p95", "std", "trimmed_mean" or "proportion"'
# Of differences that are symmetric about 0 these are 0; their 95th percentile and standard deviation are not.
_OF_DIFFERENCES: Final = ("mean", "trimmed_mean", "median", "p50", "proportion")


_LEAST_CASES = 20


def levels(rules: BenchmarkRules) -> tuple[float, float, float]:
    """The levels of the two-sided intervals whose ends decide.

    Returns
    -------
    tuple of float
        For wins and losses; for a guard's margin, whose one bound is at `alpha`; and for a guard that must not be
        significantly worse, whose one bound is at `guard_alpha`.
    """
    sides = 1 if rules.alternative == "two-sided" else 2
    return 1 - sides * rules.alpha, 1 - 2 * rules.alpha, 1 - 2 * rules.guard_alpha


def least_cases(statistic: str) -> int:
    """The cases below which a bootstrap interval of a statistic decides nothing, whatever the policy asks for.

    20, and for a quantile as many as put five beyond it on either side: p95 takes 100. Of two normal samples of 2
    cases an interval of the mean excludes 0 on one side in 18 % of trials, of 10 cases in 4 %, where 2.5 % is meant;
    and beyond the sample's own extremes a bootstrap knows nothing.

    Examples
    --------
    >>> least_cases("mean"), least_cases("median"), least_cases("p95"), least_cases("p99")
    (20, 20, 100, 500)
    """
    from math import ceil

    from fastgate.stats.bootstrap_request import bootstrap_request

    if statistic == "trimmed_mean":
        return _LEAST_CASES
    q = bootstrap_request(statistic, samples=2).q
    if not 0 < q < 1:
        return _LEAST_CASES
    return max(_LEAST_CASES, ceil(5 / min(q, 1 - q) - 1e-9))


def refuse_idle(policy: BenchmarkPolicy, place: Place) -> None:
    """Refuse what only the bootstrap reads where another test decides.

    Raises
    ------
    PolicyError
        For a table ``bootstrap`` or a statistic other than the mean: ignored, it would seem to be in force.
    """
    if policy.test == "bootstrap":
        return
    wants = 'test = "bootstrap"'
    if policy.bootstrap is not None:
        raise PolicyError(
            f"the test is {policy.test}, which does not use the bootstrap",
            expected=f"{wants}, or no table bootstrap",
            where=str(place.at("bootstrap")),
        )
    stated: dict[tuple[str, ...], str] = {
        ("kpis", name, "statistic"): kpi.statistic for name, kpi in policy.kpis.items()
    }
    for path, suite in _suites(policy).items():
        stated |= {(*path, "statistics", kpi): word for kpi, word in (suite.statistics or {}).items()}
    for where, statistic in stated.items():
        if statistic != "mean":
            raise PolicyError(
                f"the test is {policy.test}, which compares means",
                expected=f'statistic = "mean", or {wants}',
                received=show(statistic),
                where=str(place.at(*where)),
            )


def _suites(policy: BenchmarkPolicy) -> dict[tuple[str, ...], Suite]:
    """Where statistics may be stated for single suites."""
    return {
        ("suite_defaults",): policy.suite_defaults,
        **{("suites", name): suite for name, suite in policy.suites.items()},
    }


def completed(rules: BenchmarkRules, policy: BenchmarkPolicy, place: Place) -> BenchmarkRules:
    """The rules with the bootstrap's settings, where it decides: statistics of all KPIs and the deciding level.

    Parameters
    ----------
    rules : BenchmarkRules
        Without them, or with those from before a tenant's overrides.
    policy : BenchmarkPolicy
    place : Place
        Of the policy, or of the tenant.

    Raises
    ------
    PolicyError
        When p-values are to be corrected, a statistic is unknown or none of differences, or the settings do not
        go together.
    """
    if rules.test != "bootstrap":
        return rules
    if rules.correction.method != "none":
        raise PolicyError(
            "an interval cannot be corrected for the number of comparisons: the bootstrap has no p-values here",
            expected='method = "none"',
            received=show(rules.correction.method),
            where=str(place.at("correction", "method")),
            hint="a smaller alpha makes every interval wider: alpha / m for m comparisons is Bonferroni's",
        )
    bootstrap = policy.bootstrap or Bootstrap()
    suites = {}
    for name, suite in rules.suites.items():
        statistics = {kpi: _statistic(kpi, name, policy) for kpi in suite.kpis}
        suites[name] = structs.replace(suite, statistics=statistics)
    completed = structs.replace(rules, suites=suites, bootstrap=bootstrap, confidence_level=levels(rules)[0])
    _check(completed, place)
    return completed


def _statistic(kpi: str, suite: str, policy: BenchmarkPolicy) -> str:
    """The suite's own statistic, or the default's, or the KPI's."""
    stated, default = policy.suites[suite].statistics, policy.suite_defaults.statistics
    return ((default if stated is None else stated) or {}).get(kpi, policy.kpis[kpi].statistic)


def _check(rules: BenchmarkRules, place: Place) -> None:
    from fastgate.stats.bootstrap_request import bootstrap_request

    bootstrap = rules.bootstrap
    assert bootstrap is not None
    used = {
        (word, kpi): name for name, suite in rules.suites.items() for kpi, word in suite.statistics.items()
    }
    for (statistic, kpi), suite in used.items():
        where = f"{place}, statistic of {kpi!r} in suite {suite!r}"
        if statistic == "ratio_of_means":
            raise PolicyError(
                "a ratio has no difference that could exclude 0",
                expected=_STATISTICS,
                received=show(statistic),
                where=where,
            )
        if bootstrap.paired and statistic not in _OF_DIFFERENCES:
            raise PolicyError(
                f"the {statistic} of the cases' differences does not say which build is better",
                expected=f"paired = false, or one of {', '.join(_OF_DIFFERENCES)}",
                received=show(statistic),
                where=where,
                hint="two builds that are equally good differ from case to case, so that it is not 0 for them",
            )
        for level in dict.fromkeys(levels(rules)):
            try:
                bootstrap_request(
                    statistic,
                    samples=2,
                    confidence_level=level,
                    method=bootstrap.method,
                    engine=bootstrap.engine,
                    n_resamples=bootstrap.n_resamples,
                    seed=bootstrap.seed,
                )
            except ArgumentError as error:
                raise _refused(error, where, place) from None


def _refused(error: ArgumentError, where: str, place: Place) -> PolicyError:
    key = (error.where or "").removeprefix("argument ")
    expected = _STATISTICS if key == "statistic" else error.expected
    if key in Bootstrap.__struct_fields__:
        where = str(place._replace(path=()).at("bootstrap", key)) + (
            f", for {place.key}" if place.path else ""
        )
    return PolicyError(
        error.problem, expected=expected, received=error.received, where=where, hint=error.hint
    )
