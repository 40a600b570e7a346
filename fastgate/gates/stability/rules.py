"""From the stability policy as stated to the rules as applied: contradictions found, tenants and profiles raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs, to_builtins

from fastgate.errors import PolicyError
from fastgate.gates.schema import Place, build, nearest, refuse_duplicates, require_known
from fastgate.gates.stability.policy import FLOORS, PROFILES, Override, StabilityPolicy, StabilityRules
from fastgate.gates.strictness import HIGHER, LOWER, Strictness, ordered, raise_only

__all__ = ["MOST_KINDS", "decisive", "effective", "parse"]

MOST_KINDS = 63
"""A pair's flipped kinds are kept as the bits of one number."""

_STRICTNESS: dict[str, Strictness] = {
    "max_ci_width": LOWER,
    "max_drop": LOWER,
    # Of one posterior a central interval of more mass holds those of less, so its width only grows.
    "mass": HIGHER,
    "min_probes": HIGHER,
    "max_missing_share": LOWER,
    "accept_separation": ordered((True, False)),
    "unlisted": ordered(("ignore", "error")),
}


def parse(data: Mapping[str, Any], source: str) -> StabilityPolicy:
    """The policy that plain data state, checked for contradictions, tenants and profiles included.

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
    place = Place(source, top=tuple(known.name for known in structs.fields(StabilityPolicy)))
    policy = build(StabilityPolicy, data, place)
    for tenant in (None, *policy.tenants):
        effective(policy, tenant, source)
    for profile in (*PROFILES, *policy.profiles):
        effective(policy, None, source, profile)
    return policy


def effective(
    policy: StabilityPolicy, tenant: str | None, source: str, profile: str | None = None
) -> StabilityRules:
    """The rules that a policy makes for one tenant and one use-case profile, or for none.

    Parameters
    ----------
    policy : StabilityPolicy
        As `parse` returns it: its values have the right types and ranges.
    tenant : str or None
        One of the policy's tenants.
    source : str
        For messages.
    profile : str, optional
        One of `PROFILES` or of the policy's own.

    Returns
    -------
    StabilityRules
        Of policy, profile and tenant the strictest value each.

    Raises
    ------
    PolicyError
        When tenant or profile is unknown or lowers anything, or the policy contradicts itself.
    """
    place = Place(source)
    rules = base = _base(policy, place)
    if profile is not None:
        require_known(profile, {**PROFILES, **policy.profiles}, "profile", place.at("profiles"))
        if profile in PROFILES:
            rules = _strictest(rules, PROFILES[profile])
        if profile in policy.profiles:
            # What a policy states for a customary profile is held against that profile, not only the policy.
            here = place.at("profiles", profile)
            rules = _raised(rules, policy.profiles[profile], here, "profiles")
        rules = structs.replace(rules, profile=profile)
    if tenant is not None:
        require_known(tenant, policy.tenants, "tenant", place.at("tenants"))
        own = policy.tenants[tenant]
        _raised(base, own, place.at("tenants", tenant), "tenants")
        rules = structs.replace(_strictest(rules, own), tenant=tenant)
    return rules


def _base(policy: StabilityPolicy, place: Place) -> StabilityRules:
    refuse_duplicates(policy.omit, place.at("omit"))
    for position, kind in enumerate(policy.omit):
        if kind not in FLOORS:
            similar = nearest(kind, FLOORS)
            raise PolicyError(
                f"the kind {kind!r} is not one that is asked for unless omitted",
                expected=f"one of {', '.join(FLOORS)}",
                where=str(place.at("omit", position)),
                hint=None if similar is None else f"did you mean {similar!r}?",
            )
        if kind in policy.min_agreement:
            raise PolicyError(
                f"the kind {kind!r} is both omitted and given a floor",
                expected="one of the two",
                where=str(place.at("min_agreement", kind)),
            )
    floors = {kind: floor for kind, floor in FLOORS.items() if kind not in policy.omit} | policy.min_agreement
    if not floors:
        raise PolicyError(
            "every kind of perturbation is omitted: nothing would be judged",
            expected="one kind at least in min_agreement",
            where=str(place.at("omit")),
        )
    return StabilityRules(
        name=policy.name,
        tenant=None,
        profile=None,
        min_agreement=_few_kinds(floors, place.at("min_agreement")),
        min_probes=policy.min_probes,
        min_draws=policy.min_draws,
        max_missing_share=policy.max_missing_share,
        max_drop=policy.max_drop,
        max_ci_width=policy.max_ci_width,
        mass=policy.mass,
        letters=policy.letters,
        scale=policy.scale,
        prior_sd=policy.prior_sd,
        accept_separation=policy.accept_separation,
        unlisted=policy.unlisted,
    )


def _few_kinds(floors: dict[str, float], place: Place) -> dict[str, float]:
    if len(floors) > MOST_KINDS:
        raise PolicyError(
            "there are too many kinds of perturbation",
            expected=f"{MOST_KINDS} at most",
            received=str(len(floors)),
            where=str(place),
        )
    return floors


def _stated(override: Override) -> dict[str, Any]:
    return {key: getattr(override, key) for key in _STRICTNESS if getattr(override, key) is not None}


def _raised(rules: StabilityRules, override: Override, place: Place, who: str) -> StabilityRules:
    """The rules with an override that may only raise them; a kind that they lack is one more to hold."""
    raised = raise_only(
        {key: getattr(rules, key) for key in _STRICTNESS}, _stated(override), _STRICTNESS, place, who=who
    )
    here = place.at("min_agreement")
    known = {kind: floor for kind, floor in override.min_agreement.items() if kind in rules.min_agreement}
    floors = raise_only(rules.min_agreement, known, dict.fromkeys(known, HIGHER), here, who=who)
    return structs.replace(rules, min_agreement=_few_kinds(floors | override.min_agreement, here), **raised)


def _strictest(rules: StabilityRules, override: Override) -> StabilityRules:
    """The stricter of two values, one by one."""
    values = {
        key: value
        for key, value in _stated(override).items()
        if _STRICTNESS[key].holds(value, getattr(rules, key))
    }
    floors = dict(rules.min_agreement)
    for kind, floor in override.min_agreement.items():
        floors[kind] = max(floor, floors.get(kind, floor))
    return structs.replace(rules, min_agreement=floors, **values)


def decisive(rules: StabilityRules) -> dict[str, Any]:
    """What of the rules can change a verdict; names of policy, tenant and profile cannot."""
    plain: dict[str, Any] = to_builtins(rules)
    for cosmetic in ("name", "tenant", "profile", "unlisted"):
        del plain[cosmetic]
    return plain
