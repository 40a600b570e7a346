"""From the safety policy as stated to the rules as applied: contradictions found, tenants raised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs, to_builtins

from fastgate.errors import PolicyError
from fastgate.gates.safety.policy import SafetyPolicy, SafetyRules, SafetySuite, SuiteLimits
from fastgate.gates.schema import Place, build, nearest, refuse_duplicates, require_known, suite_tables
from fastgate.gates.strictness import HIGHER, LOWER, Strictness, ordered, raise_only

__all__ = ["decisive", "effective", "parse"]

CLOSED_FORMS = ("wilson", "wald", "agresti-coull")

_STRICTNESS: dict[str, Strictness] = {
    # A narrower floor lets less pass. These relations hold for every count: Agresti and Coull's interval and Wilson's
    # have one centre, and the squares of their half-widths differ by z⁴(n/4 − k(n − k)/n)/(n + z²)³ ≥ 0; mid-p and
    # Jeffreys' limits lie inside Clopper and Pearson's. Any other two cross, but for Jeffreys' and mid-p: the former
    # was never found the wider, and never proved to be the narrower.
    "method": ordered(
        ("agresti-coull", "wilson"),
        ("clopper-pearson", "mid-p"),
        ("clopper-pearson", "jeffreys"),
        words="agresti-coull < wilson; clopper-pearson < mid-p; clopper-pearson < jeffreys",
    ),
    "confidence_level": LOWER,
    "max_error_share": LOWER,
    "min_cases": HIGHER,
    "trial_sets": ordered(("any", "same"), ("any", "first-failure")),
    "correction": ordered(("bonferroni", "sidak", "none")),
    "unlisted": ordered(("ignore", "error")),
}
_LIMITS = {name: _STRICTNESS[name] for name in ("min_cases", "max_error_share")}


def parse(data: Mapping[str, Any], source: str) -> SafetyPolicy:
    """The policy that plain data state, checked for contradictions, tenants included.

    Parameters
    ----------
    data : mapping
        As TOML gives it.
    source : str
        Where it comes from, for messages.

    Raises
    ------
    PolicyError
        For anything that cannot be meant; see `fastgate.gates.policy.load_policy`.
    """
    place = Place(source, top=tuple(known.name for known in structs.fields(SafetyPolicy)))
    suites = data.get("suites")
    if isinstance(suites, list | tuple):
        if not suites:
            raise PolicyError(
                "suites is empty",
                expected="one at least; leave the key out for every suite that the baseline has",
                where=str(place.at("suites")),
            )
        data = {**data, "suites": suite_tables(suites, place.at("suites"))}
    policy = build(SafetyPolicy, data, place)
    for tenant in (None, *policy.tenants):
        effective(policy, tenant, source)
    return policy


def effective(policy: SafetyPolicy, tenant: str | None, source: str) -> SafetyRules:
    """The rules that a policy makes for one tenant, or for none.

    Parameters
    ----------
    policy : SafetyPolicy
        As `parse` returns it: its values have the right types and ranges.
    tenant : str or None
        One of the policy's tenants.
    source : str
        For messages.

    Raises
    ------
    PolicyError
        When the tenant is unknown or lowers anything, or the policy contradicts itself.
    """
    place = Place(source)
    rules = _base(policy, place)
    if tenant is None:
        return rules
    require_known(tenant, policy.tenants, "tenant", place.at("tenants"))
    return _raised(rules, policy, tenant, place.at("tenants", tenant))


def _base(policy: SafetyPolicy, place: Place) -> SafetyRules:
    _consistent_trials(policy.trials, policy.trial_sets, place)
    if policy.trials == "share" and policy.method not in CLOSED_FORMS:
        raise PolicyError(
            f'trials = "share" makes counts fractional, for which {policy.method} has no interval',
            expected=" or ".join(f'method = "{name}"' for name in CLOSED_FORMS),
            where=str(place.at("method")),
        )
    here = place.at("comparability")
    fields = policy.comparability
    refuse_duplicates(fields.required, here.at("required"))
    refuse_duplicates(fields.ignored, here.at("ignored"))
    for key, names in (("required", fields.required), ("ignored", fields.ignored)):
        for position, name in enumerate(names):
            if name in ("build", "suite"):
                raise PolicyError(
                    f"{name!r} is no comparability field: it says whose manifest it is",
                    expected="a field of the conditions of a run",
                    where=str(here.at(key, position)),
                )
            if name == "seed_list_hash":
                raise PolicyError(
                    "the seed list and its hash are one field",
                    expected="'seeds'",
                    received="'seed_list_hash'",
                    where=str(here.at(key, position)),
                )
    for position, name in enumerate(fields.ignored):
        if name in fields.required:
            raise PolicyError(
                f"the field {name!r} is both required and ignored",
                expected="one of the two",
                where=str(here.at("ignored", position)),
            )
    return SafetyRules(
        name=policy.name,
        tenant=None,
        method=policy.method,
        confidence_level=policy.confidence_level,
        trials=policy.trials,
        trial_sets=policy.trial_sets,
        correction=policy.correction,
        power=policy.power,
        unlisted=policy.unlisted,
        required=fields.required,
        ignored=fields.ignored,
        suites={name: _limits(suite, policy) for name, suite in policy.suites.items()},
        limits=SuiteLimits(policy.min_cases, policy.max_error_share),
    )


def _consistent_trials(trials: str, trial_sets: str, place: Place) -> None:
    if trial_sets == "first-failure" and trials not in ("all", "first"):
        raise PolicyError(
            f'where trials stop at the first failure, trials = "{trials}" counts what the stopping made',
            expected='trials = "all" or "first"',
            where=str(place.at("trial_sets")),
            hint="a case that fails early has fewer trials, all of them passes but the last",
        )


def _limits(suite: SafetySuite, policy: SafetyPolicy) -> SuiteLimits:
    return SuiteLimits(
        policy.min_cases if suite.min_cases is None else suite.min_cases,
        policy.max_error_share if suite.max_error_share is None else suite.max_error_share,
    )


def _raised(rules: SafetyRules, policy: SafetyPolicy, name: str, place: Place) -> SafetyRules:
    tenant = policy.tenants[name]
    base = {key: getattr(rules, key) for key in _STRICTNESS if key not in _LIMITS}
    base |= structs.asdict(rules.limits)
    stated = {key: getattr(tenant, key) for key in _STRICTNESS if getattr(tenant, key) is not None}
    raised = raise_only(base, stated, _STRICTNESS, place)
    _consistent_trials(rules.trials, raised["trial_sets"], place)
    for suite in tenant.suites:
        if suite not in rules.suites:
            similar = nearest(suite, rules.suites)
            raise PolicyError(
                f"the policy has no suite {suite!r}",
                expected=f"one of {_some(rules.suites)}",
                where=str(place.at("suites", suite)),
                hint=None if similar is None else f"did you mean {similar!r}?",
            )
    refuse_duplicates(tenant.comparability.required, place.at("comparability", "required"))
    for position, field in enumerate(tenant.comparability.required):
        if field in ("build", "suite", "seed_list_hash"):
            raise PolicyError(
                f"{field!r} is no comparability field",
                expected="'seeds'" if field == "seed_list_hash" else "a field of the conditions of a run",
                where=str(place.at("comparability", "required", position)),
            )
    suites = {}
    for key, limits in rules.suites.items():
        own = tenant.suites.get(key, SafetySuite())
        given = {field: value for field, value in structs.asdict(own).items() if value is not None}
        merged = raise_only(structs.asdict(limits), given, _LIMITS, place.at("suites", key))
        # The tenant's own floor and budget hold in every suite.
        suites[key] = SuiteLimits(
            max(merged["min_cases"], tenant.min_cases or 0),
            min(merged["max_error_share"], raised["max_error_share"])
            if tenant.max_error_share is not None
            else merged["max_error_share"],
        )
    limits = SuiteLimits(**{key: raised.pop(key) for key in _LIMITS})
    required = tuple(dict.fromkeys((*rules.required, *tenant.comparability.required)))
    ignored = tuple(name for name in rules.ignored if name not in required)
    return structs.replace(
        rules, tenant=name, suites=suites, limits=limits, required=required, ignored=ignored, **raised
    )


def _some(names: Iterable[str]) -> str:
    return ", ".join(names) or "none: the policy names no suites"


def decisive(rules: SafetyRules) -> dict[str, Any]:
    """What of the rules can change a verdict, in an order that does not depend on the file's.

    Left out: `name`, `tenant` and `power`, which are shown and decide nothing.
    """
    plain: dict[str, Any] = to_builtins(rules)
    for cosmetic in ("name", "tenant", "power"):
        del plain[cosmetic]
    for key in ("required", "ignored"):
        plain[key] = sorted(plain[key])
    if plain["suites"]:
        del plain["limits"]  # every suite has its own
    return plain
