"""What a careful reviewer would question in a stability policy that is valid."""

from __future__ import annotations

from msgspec import structs

from fastgate.gates.stability.policy import FLOORS, PROFILES, StabilityPolicy, StabilityRules
from fastgate.gates.stability.rules import effective

__all__ = ["remarks"]

_CUSTOMARY_WIDTH = 0.20
_CUSTOMARY_MASS = 0.95
_CUSTOMARY_DROP = 0.05
# Wilson's 95 % interval of 24 agreements in 30 probes, just at a floor of 0.80, reaches from 0.63 to 0.90.
_FEW_PROBES = 30
_WIDE_PRIOR = 5.0


def remarks(policy: StabilityPolicy, source: str) -> list[str]:
    """What is questionable in a valid policy, each remark beginning with the key it is about.

    Parameters
    ----------
    policy : StabilityPolicy
        As `fastgate.gates.stability.rules.parse` returns it.
    source : str
        Where it comes from, for messages.

    Returns
    -------
    list of str
        Empty when there is nothing to question.
    """
    rules = effective(policy, None, source)
    found = [f"omit: {kind}; nobody then knows whether choices survive it" for kind in policy.omit]
    for kind, floor in rules.min_agreement.items():
        if floor < FLOORS.get(kind, 0.0):
            found.append(f"min_agreement.{kind}: {floor:g} is below the customary {FLOORS[kind]:g}")
    found += _on_the_posterior(rules)
    found += _on_evidence(rules)
    for name in policy.profiles:
        without = structs.replace(policy, profiles={})
        if (
            name in PROFILES
            and effective(policy, None, source, name) == effective(without, None, source, name)
        ) or structs.replace(effective(policy, None, source, name), profile=None) == rules:
            found.append(f"profiles.{name}: it changes nothing")
    found += [
        f"tenants.{name}: it changes nothing"
        for name in policy.tenants
        if structs.replace(effective(policy, name, source), tenant=None) == rules
    ]
    return found


def _on_the_posterior(rules: StabilityRules) -> list[str]:
    found = []
    if rules.max_ci_width > _CUSTOMARY_WIDTH:
        found.append(f"max_ci_width: {rules.max_ci_width:g} is above the customary {_CUSTOMARY_WIDTH:g}")
    if rules.mass < _CUSTOMARY_MASS:
        found.append(
            f"mass: {rules.mass:g} is below the customary {_CUSTOMARY_MASS:g}; intervals of less mass are narrower"
        )
    if rules.prior_sd > _WIDE_PRIOR:
        found.append(
            f"prior_sd: {rules.prior_sd:g} logits; an alternative that never loses is then taken to win all but always"
        )
    if rules.accept_separation:
        found.append(
            "accept_separation: the prior alone bounds a separated alternative, and on the unit scale its interval "
            "may look narrow"
        )
    return found


def _on_evidence(rules: StabilityRules) -> list[str]:
    found = []
    if rules.min_probes < _FEW_PROBES:
        found.append(
            f"min_probes: {rules.min_probes} may decide; even with {_FEW_PROBES}, agreement is known to 14 points"
        )
    if rules.max_missing_share > 0:
        found.append("max_missing_share: runs seldom fail at random; those missing may be the unstable ones")
    if rules.max_drop > _CUSTOMARY_DROP:
        found.append(f"max_drop: {rules.max_drop:g} is above the customary {_CUSTOMARY_DROP:g}")
    if rules.unlisted == "ignore":
        found.append("unlisted: ignore leaves kinds out that nobody then judges")
    return found
