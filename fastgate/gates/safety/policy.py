"""The safety gate's policy: as a file states it (`SafetyPolicy`), as applied (`SafetyRules`)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from fastgate.gates.safety.manifest import CUSTOMARY
from fastgate.gates.schema import Name, Text

__all__ = [
    "Comparability",
    "SafetyPolicy",
    "SafetyRules",
    "SafetySuite",
    "SafetyTenant",
    "SuiteLimits",
    "TenantComparability",
]

Level = Annotated[
    float, Meta(gt=0.5, le=0.999999, description="a number above 0.5 and at most 0.999999, such as 0.95")
]
Share = Annotated[float, Meta(gt=0, lt=1, description="a number above 0 and below 1")]
ErrorShare = Annotated[float, Meta(ge=0, lt=1, description="a number from 0 to below 1")]
Cases = Annotated[int, Meta(ge=1, le=10**9, description="a whole number, 1 or more")]
Method = Literal["wilson", "wald", "agresti-coull", "clopper-pearson", "jeffreys", "mid-p"]
Trials = Literal["all", "majority", "first", "share", "each"]
TrialSets = Literal["same", "first-failure", "any"]
Correction = Literal["none", "sidak", "bonferroni"]
Unlisted = Literal["error", "ignore"]


class SafetySuite(Struct, frozen=True, forbid_unknown_fields=True):
    """A suite as stated; what it leaves out is the policy's."""

    min_cases: Cases | None = None
    max_error_share: ErrorShare | None = None


class Comparability(Struct, frozen=True, forbid_unknown_fields=True):
    """Which fields of two manifests must be stated, and which are not compared.

    Every field that a manifest states is compared, listed or not, unless it is ignored.
    """

    required: tuple[Name, ...] = CUSTOMARY
    ignored: tuple[Name, ...] = ()


class TenantComparability(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that a tenant requires beside the policy's; one that the policy ignores is then compared."""

    required: tuple[Name, ...] = ()


class SafetyTenant(Struct, frozen=True, forbid_unknown_fields=True):
    """A tenant's overrides, each as strict as the policy or stricter."""

    description: Text = ""
    method: Method | None = None
    confidence_level: Level | None = None
    max_error_share: ErrorShare | None = None
    min_cases: Cases | None = None
    trial_sets: TrialSets | None = None
    correction: Correction | None = None
    unlisted: Unlisted | None = None
    comparability: TenantComparability = TenantComparability()
    suites: dict[Name, SafetySuite] = {}


class SafetyPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A safety policy as stated, key by key the TOML file; checked by `fastgate.gates.policy.load_policy`.

    Parameters
    ----------
    name : str
        Shown in reports.
    description : str
        Free text.
    method : {"wilson", "wald", "agresti-coull", "clopper-pearson", "jeffreys", "mid-p"}
        Of the interval whose half-width, at the baseline's observed rate and the suite's size, is the noise floor.
    confidence_level : float
        Of that interval; above 0.5.
    trials : {"all", "majority", "first", "share", "each"}
        When a case with several trials (seeds) has passed: in all of them; in more than half; in the first one.
        ``share``: it counts by its share of passed trials, and the suite's size is still its number of cases.
        ``each``: each trial counts as if it were a case.
    trial_sets : {"same", "first-failure", "any"}
        Which trials two runs must have of a case: the same ones; the same up to the first failure, at which the
        harness stops; any.
    max_error_share : float
        Share of trials without outcome above which a run is refused.
    min_cases : int
        Cases with an outcome in both runs below which a suite is refused. The fewer there are, the wider the
        noise floor, and the more is called no signal: about 0.11 for 30 cases at a rate of 0.9, 0.03 for 400.
    correction : {"none", "sidak", "bonferroni"}
        Whether the level of a suite's noise floor is raised for the number of suites, so that the chance that
        an identical build, replayed independently, regresses on any of them by noise is about what it would be with
        one: the chance Φ(−z/√2) that one suite errs, z being the quantile of the level, is divided among the suites
        (see `fastgate.gates.safety.floor.corrected_level`). The intervals beside the rule have the raised level too.
    power : float
        Of the smallest detectable changes shown; it decides nothing.
    unlisted : {"error", "ignore"}
        Whether suites that nothing is compared with are an error, or are left out and named in the evidence:
        those of the data that the policy does not name, and, if it names none, those that the baseline lacks.
    comparability : Comparability
        Of manifests.
    suites : dict of str to SafetySuite
        Each must be there. In a file also a list of names. None: every suite that the baseline has.
    tenants : dict of str to SafetyTenant
        May only raise strictness.
    """

    gate: Literal["safety"] = "safety"
    name: Name
    description: Text = ""
    method: Method = "wilson"
    confidence_level: Level = 0.95
    trials: Trials = "all"
    trial_sets: TrialSets = "same"
    max_error_share: ErrorShare = 0.0
    min_cases: Cases = 30
    correction: Correction = "none"
    power: Share = 0.8
    unlisted: Unlisted = "error"
    comparability: Comparability = Comparability()
    suites: dict[Name, SafetySuite] = {}
    tenants: dict[Name, SafetyTenant] = {}


class SuiteLimits(Struct, frozen=True):
    """A suite with everything explicit.

    Attributes
    ----------
    min_cases : int
    max_error_share : float
    """

    min_cases: int
    max_error_share: float


class SafetyRules(Struct, frozen=True, kw_only=True):
    """The policy that the gate applies, for one tenant or none; every field is explicit.

    The fields are `SafetyPolicy`'s, but for these.

    Attributes
    ----------
    tenant : str or None
        Whose overrides are in it.
    required, ignored : tuple of str
        Of `Comparability`.
    suites : dict of str to SuiteLimits
        In the policy's order. Empty: every suite that the baseline has, within `limits`.
    limits : SuiteLimits
        Of suites that are not named.
    """

    gate: Literal["safety"] = "safety"
    name: str
    tenant: str | None
    method: Method
    confidence_level: float
    trials: Trials
    trial_sets: TrialSets
    correction: Correction
    power: float
    unlisted: Unlisted
    required: tuple[str, ...]
    ignored: tuple[str, ...]
    suites: dict[str, SuiteLimits]
    limits: SuiteLimits
