"""What a careful reviewer would question in a safety policy that is valid."""

from __future__ import annotations

from msgspec import structs

from fastgate.gates.safety.manifest import CUSTOMARY
from fastgate.gates.safety.policy import SafetyPolicy, SafetyRules
from fastgate.gates.safety.rules import effective

__all__ = ["remarks"]

_CUSTOMARY_LEVEL = 0.95
_CUSTOMARY_POWER = 0.8
_FEW_CASES = 30


def remarks(policy: SafetyPolicy, source: str) -> list[str]:
    """What is questionable in a valid policy, each remark beginning with the key it is about.

    Parameters
    ----------
    policy : SafetyPolicy
        As `fastgate.gates.safety.rules.parse` returns it.
    source : str
        Where it comes from, for messages.

    Returns
    -------
    list of str
        Empty when there is nothing to question.
    """
    rules = effective(policy, None, source)
    found = [*_on_comparability(rules), *_on_the_floor(rules), *_on_evidence(rules)]
    found += [
        f"tenants.{name}: it changes nothing"
        for name in policy.tenants
        if structs.replace(effective(policy, name, source), tenant=None) == rules
    ]
    return found


def _on_comparability(rules: SafetyRules) -> list[str]:
    found = []
    if not rules.required:
        found.append("comparability.required: empty, so runs without any manifest are compared")
    dropped = [name for name in CUSTOMARY if name not in rules.required and name not in rules.ignored]
    if rules.required and dropped:
        found.append(
            f"comparability.required: without {', '.join(dropped)}; where neither run states it, nobody knows "
            "whether they were alike in it"
        )
    found += [
        f"comparability.ignored: {name}; a change in it passes for a change of the build"
        for name in rules.ignored
    ]
    return found


def _on_the_floor(rules: SafetyRules) -> list[str]:
    found = []
    if rules.confidence_level > _CUSTOMARY_LEVEL:
        found.append(
            f"confidence_level: {rules.confidence_level:g} is above the customary {_CUSTOMARY_LEVEL:g}; the floor is "
            "wider, and larger regressions are called no signal"
        )
    if rules.method == "wald":
        found.append(
            "method: wald has no width at a rate of 0 or 1; a suite that passes throughout is refused"
        )
    if rules.correction != "none":
        found.append(
            f"correction: {rules.correction} widens every suite's floor as there are more suites; a regression in one "
            "of them is then harder to see"
        )
    if rules.power < _CUSTOMARY_POWER:
        found.append(f"power: a change shown as detectable is missed with a chance of {1 - rules.power:.2g}")
    return found


def _on_evidence(rules: SafetyRules) -> list[str]:
    found = []
    limits = {"": rules.limits} if not rules.suites else {f"suites.{k}.": v for k, v in rules.suites.items()}
    few = [key for key, limit in limits.items() if limit.min_cases < _FEW_CASES]
    if few:
        fewest = min(limits[key].min_cases for key in few)
        more = f" (and {len(few) - 1} more)" if len(few) > 1 else ""
        found.append(
            f"{few[0]}min_cases{more}: {fewest} cases may decide; of 29 the 95 % Wilson floor is 5.9 points where all "
            "pass and 17 where half do, more with fewer, and smaller regressions pass as no signal"
        )
    lenient = [key for key, limit in limits.items() if limit.max_error_share > 0]
    if lenient:
        more = f" (and {len(lenient) - 1} more)" if len(lenient) > 1 else ""
        found.append(
            f"{lenient[0]}max_error_share{more}: executions seldom fail at random; the cases left out may be the "
            "bad ones"
        )
    if rules.trial_sets == "any":
        found.append("trial_sets: with any trials two runs need not have the same seeds")
    if rules.trials == "each":
        found.append(
            "trials: each counts trials of one case as independent; the floor speaks of this suite replayed, not of "
            "cases like these"
        )
    if rules.unlisted == "ignore":
        found.append("unlisted: ignore leaves suites out that nobody then judges")
    return found
