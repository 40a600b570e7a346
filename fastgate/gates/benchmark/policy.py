"""The benchmark gate's policy: as a file states it (`BenchmarkPolicy`), as applied (`BenchmarkRules`)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from fastgate.gates.schema import Name, Text

__all__ = [
    "BenchmarkPolicy",
    "BenchmarkRules",
    "Bootstrap",
    "Correction",
    "Guard",
    "Kpi",
    "Suite",
    "SuiteRules",
    "Tenant",
    "TenantCorrection",
    "TenantSuite",
]

Share = Annotated[float, Meta(gt=0, lt=1, description="a number above 0 and below 1")]
Alpha = Annotated[float, Meta(gt=0, lt=0.5, description="a number above 0 and below 0.5, such as 0.05")]
MissingShare = Annotated[float, Meta(ge=0, lt=1, description="a number from 0 to below 1")]
Margin = Annotated[float, Meta(gt=0, description="a number above 0, in the KPI's unit")]
Count = Annotated[int, Meta(ge=1, le=10**9, description="a whole number, 1 or more")]
Cases = Annotated[int, Meta(ge=2, le=10**9, description="a whole number, 2 or more")]
Direction = Literal["higher", "lower"]
Alternative = Literal["two-sided", "one-sided"]
ZeroVariance = Literal["undefined", "decide"]
Test = Literal["welch", "paired", "bootstrap"]
Resamples = Annotated[int, Meta(ge=99, le=10**8, description="a whole number, 99 or more")]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number, 0 or more, below 2**63")]
Method = Literal["none", "bonferroni", "holm", "hochberg", "bh", "by"]
Family = Literal["candidate", "sweep"]
Unlisted = Literal["error", "ignore"]


class Kpi(Struct, frozen=True, forbid_unknown_fields=True):
    """A KPI: which direction is better, what it is (shown only), and what of it the bootstrap compares.

    The statistic is ``mean``, ``median``, a percentile such as ``p95``, ``std``, ``trimmed_mean`` (without a tenth of
    the values at each end) or ``proportion``. The t tests compare means.
    """

    direction: Direction
    description: Text = ""
    statistic: Name = "mean"


class Guard(Struct, frozen=True, forbid_unknown_fields=True):
    """A KPI that a suite's win may not be bought with.

    Without a margin the candidate must not be significantly worse; with one it must be shown to be no worse
    than the baseline by `margin` or more, in the KPI's unit. Noise alone meets the first, never the second.
    """

    margin: Margin | None = None


class Suite(Struct, frozen=True, forbid_unknown_fields=True):
    """A suite as stated; what it leaves out comes from ``suite_defaults``, then from the policy."""

    decided_by: Name | None = None
    kpis: tuple[Name, ...] | None = None
    min_cases: Cases | None = None
    directions: dict[Name, Direction] | None = None
    guards: dict[Name, Guard] | None = None
    statistics: dict[Name, Name] | None = None


class Bootstrap(Struct, frozen=True, forbid_unknown_fields=True):
    """How the intervals of ``test = "bootstrap"`` are found; see `fastgate.stats.bootstrap`.

    Parameters
    ----------
    method : {"bca", "percentile", "basic", "normal", "studentised"}
        Studentised intervals exist for means and proportions.
    engine : {"auto", "exact", "saddlepoint", "resample"}
        A comparison for which the engine has no interval is undefined; ``auto`` always finds one that has.
    n_resamples : int
        Where the engine resamples.
    seed : int
        With the names of candidate, baseline, suite and KPI it decides the draws of a comparison.
    paired : bool
        Whether the statistic is that of the cases' differences (a mean, trimmed mean, median or proportion), not
        the difference of two statistics.
    """

    method: Literal["bca", "percentile", "basic", "normal", "studentised"] = "bca"
    engine: Literal["auto", "exact", "saddlepoint", "resample"] = "auto"
    n_resamples: Resamples = 9999
    seed: Seed = 0
    paired: bool = False


class Correction(Struct, frozen=True, forbid_unknown_fields=True):
    """How the deciding KPIs' p-values are corrected, and over which family: a candidate's or the sweep's."""

    method: Method = "none"
    family: Family = "candidate"


class TenantCorrection(Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant's correction; what it leaves out is the policy's."""

    method: Method | None = None
    family: Family | None = None


class TenantSuite(Struct, frozen=True, forbid_unknown_fields=True):
    """What a tenant may raise in one suite: its cases, and guards, which are required beside the policy's."""

    min_cases: Cases | None = None
    guards: dict[Name, Guard] = {}


class Tenant(Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant's overrides, each as strict as the policy or stricter."""

    description: Text = ""
    alpha: Alpha | None = None
    alternative: Alternative | None = None
    min_suite_wins: Count | None = None
    min_cases: Cases | None = None
    max_missing_share: MissingShare | None = None
    zero_variance: ZeroVariance | None = None
    require_same_cases: bool | None = None
    unlisted: Unlisted | None = None
    correction: TenantCorrection | None = None
    suites: dict[Name, TenantSuite] = {}


class BenchmarkPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A benchmark policy as stated, key by key the TOML file; checked by `fastgate.gates.policy.load_policy`.

    Parameters
    ----------
    name : str
        Shown in reports.
    baselines : tuple of str
        The builds to beat, each of them.
    kpis : dict of str to Kpi
        Every KPI that is named anywhere, with the direction that is better.
    suites : dict of str to Suite
        In the order shown. In a file also a list of names.
    suite_defaults : Suite
        What suites leave out; a key that a suite states replaces the default whole.
    description : str
        Free text.
    alpha : float
        A win or loss is a difference at p < alpha; 0 < alpha < 0.5.
    test : {"welch", "paired", "bootstrap"}
        Welch's t test of two samples, the t test of the cases' differences, or whether the bootstrap interval
        of a KPI's statistic excludes 0.
    alternative : {"two-sided", "one-sided"}
        One-sided looks in the KPI's better direction for a win, in the other for a loss.
    confidence_level, power : float
        Of the intervals and the minimum detectable effects shown; they decide nothing. Bootstrap intervals do
        decide: their level is that of alpha, and neither number is used.
    min_suite_wins : int, optional
        Suites to win against every baseline; 6 unless stated, which then takes six suites at least.
    min_cases : int
        Cases below which a comparison is undefined.
    max_missing_share : float
        Share of missing values above which a comparison is undefined.
    zero_variance : {"undefined", "decide"}
        Whether a constant sample that differs from a constant baseline may be called better or worse.
    require_same_cases : bool
        Whether a case that only one side has makes the comparison undefined. Otherwise Welch's test takes
        all values and the paired test the cases in common.
    trials : {"mean", "refuse"}
        Repeated trials of one case are averaged, or are a fault.
    unlisted : {"error", "ignore"}
        Whether suites and KPIs that only the data name are an error, or are left out and named in the evidence.
    correction : Correction
        Of the deciding KPIs' p-values. Intervals have none: with the bootstrap, ``none``.
    bootstrap : Bootstrap, optional
        How intervals are found, where the test is ``bootstrap``; its defaults unless stated.
    tenants : dict of str to Tenant
        May only raise strictness.
    """

    gate: Literal["benchmark"] = "benchmark"
    name: Name
    description: Text = ""
    baselines: tuple[Name, ...]
    alpha: Alpha = 0.05
    test: Test = "welch"
    alternative: Alternative = "two-sided"
    confidence_level: Share = 0.95
    power: Share = 0.8
    min_suite_wins: Count | None = None
    min_cases: Cases = 2
    max_missing_share: MissingShare = 0.0
    zero_variance: ZeroVariance = "undefined"
    require_same_cases: bool = True
    trials: Literal["mean", "refuse"] = "mean"
    unlisted: Unlisted = "error"
    correction: Correction = Correction()
    bootstrap: Bootstrap | None = None
    kpis: dict[Name, Kpi]
    suite_defaults: Suite = Suite()
    suites: dict[Name, Suite]
    tenants: dict[Name, Tenant] = {}


class SuiteRules(Struct, frozen=True):
    """A suite with everything explicit.

    Attributes
    ----------
    name : str
    decided_by : str
        A KPI, or ``all`` or ``any`` of `deciding_kpis`.
    deciding_kpis : tuple of str
        The KPIs that decide; one where `decided_by` names it.
    kpis : tuple of str
        All KPIs computed, in the order shown: those that decide, guards, and those only shown.
    directions : dict of str to {"higher", "lower"}
        Of each KPI in `kpis`.
    guards : dict of str to float or None
        Guard KPI → the margin within which it must be shown non-inferior, or None.
    not_worse : tuple of str
        The guards that must not be significantly worse: those without a margin, and those where the policy
        and a tenant state one requirement each.
    min_cases : int
    statistics : dict of str to str
        What the bootstrap compares, of each KPI in `kpis`; empty for the t tests.
    """

    name: str
    decided_by: str
    deciding_kpis: tuple[str, ...]
    kpis: tuple[str, ...]
    directions: dict[str, Direction]
    guards: dict[str, float | None]
    not_worse: tuple[str, ...]
    min_cases: int
    statistics: dict[str, str] = {}


class BenchmarkRules(Struct, frozen=True, kw_only=True):
    """The policy that the gate applies, for one tenant or none; every field is explicit.

    The fields are `BenchmarkPolicy`'s, but for these.

    Attributes
    ----------
    tenant : str or None
        Whose overrides are in it.
    guard_alpha : float
        The level at which a guard is called significantly worse: the policy's own alpha. A tenant's smaller
        alpha would make that harder to establish, and so loosen the guard. For the same reason guards are
        tested one-sided, whatever `alternative` says, and are not corrected. Non-inferiority is shown at
        `alpha`.
    confidence_level : float
        Under the bootstrap that of the intervals that decide: 1 - alpha, or 1 - 2 alpha one-sided.
    bootstrap : Bootstrap or None
        Explicit where the test is ``bootstrap``, else None.
    suites : dict of str to SuiteRules
        In the policy's order.
    """

    gate: Literal["benchmark"] = "benchmark"
    name: str
    tenant: str | None
    baselines: tuple[str, ...]
    alpha: float
    guard_alpha: float
    test: Test
    alternative: Alternative
    confidence_level: float
    power: float
    min_suite_wins: int
    max_missing_share: float
    zero_variance: ZeroVariance
    require_same_cases: bool
    trials: Literal["mean", "refuse"]
    unlisted: Unlisted
    correction: Correction
    suites: dict[str, SuiteRules]
    bootstrap: Bootstrap | None = None

    @property
    def pairs_cases(self) -> bool:
        """Whether the deciding test is of the cases' differences."""
        return self.test == "paired" or (self.bootstrap is not None and self.bootstrap.paired)
