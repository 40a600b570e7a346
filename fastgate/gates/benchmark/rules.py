"""From the benchmark policy as stated to the rules as applied: contradictions found, tenants raised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs, to_builtins

from fastgate.errors import PolicyError
from fastgate.gates.benchmark import bootstrap_rules
from fastgate.gates.benchmark.policy import (
    BenchmarkPolicy,
    BenchmarkRules,
    Correction,
    Direction,
    Suite,
    SuiteRules,
    TenantSuite,
)
from fastgate.gates.schema import Place, build, nearest, refuse_duplicates, require_known, suite_tables
from fastgate.gates.strictness import HIGHER, LOWER, Strictness, ordered, raise_only

__all__ = ["decisive", "effective", "parse"]

DEFAULT_SUITE_WINS = 6

# From bh (Benjamini–Hochberg) over Hochberg and Holm to Bonferroni the adjusted p-values only grow; by
# (Benjamini–Yekutieli) is a multiple of bh and compares with none of the others. A larger family raises the
# adjusted values under the last three. Under bh and by it may lower one's own: 0.03 as the least of ten
# becomes 0.3, and 0.033 beside ninety tiny ones of other candidates. There neither family is the stricter.
_NONE = ("none", "candidate")
_FAMILIES = ("candidate", "sweep")
_CORRECTIONS = ordered(
    *(
        (_NONE, *((method, family) for method in ("bh", "hochberg", "holm", "bonferroni")))
        for family in _FAMILIES
    ),
    *((("bh", family), ("by", family)) for family in _FAMILIES),
    *(((method, "candidate"), (method, "sweep")) for method in ("hochberg", "holm", "bonferroni")),
    words="none < bh < hochberg < holm < bonferroni, bh < by; candidate < sweep, but not under bh and by",
)

_STRICTNESS: dict[str, Strictness] = {
    "alpha": LOWER,
    "alternative": ordered(("one-sided", "two-sided")),
    "min_suite_wins": HIGHER,
    "min_cases": HIGHER,
    "max_missing_share": LOWER,
    "zero_variance": ordered(("decide", "undefined")),
    "require_same_cases": ordered((False, True)),
    "unlisted": ordered(("ignore", "error")),
    "correction": _CORRECTIONS,
}
_SUITE_STRICTNESS = {"min_cases": HIGHER}
_GUARD_STRICTNESS = {"margin": LOWER}


def parse(data: Mapping[str, Any], source: str) -> BenchmarkPolicy:
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
    place = Place(source, top=tuple(known.name for known in structs.fields(BenchmarkPolicy)))
    suites = data.get("suites")
    if isinstance(suites, list | tuple):
        data = {**data, "suites": suite_tables(suites, place.at("suites"))}
    policy = build(BenchmarkPolicy, data, place)
    for tenant in (None, *policy.tenants):
        effective(policy, tenant, source)
    return policy


def effective(policy: BenchmarkPolicy, tenant: str | None, source: str) -> BenchmarkRules:
    """The rules that a policy makes for one tenant, or for none.

    Parameters
    ----------
    policy : BenchmarkPolicy
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


def _base(policy: BenchmarkPolicy, place: Place) -> BenchmarkRules:
    for key in ("baselines", "kpis", "suites"):
        if not getattr(policy, key):
            raise PolicyError(f"{key} is empty", expected="one at least", where=str(place.at(key)))
    refuse_duplicates(policy.baselines, place.at("baselines"))
    for word in ("all", "any"):
        if word in policy.kpis:
            raise PolicyError(
                f"a KPI may not be called {word!r}",
                expected='a name that decided_by = "all" or "any" cannot be confused with',
                where=str(place.at("kpis", word)),
            )
    # Defaults must be right even where every suite replaces them.
    _known_kpis(policy.suite_defaults, policy, place.at("suite_defaults"))
    suites = {
        name: _suite(name, suite, policy, place.at("suites", name)) for name, suite in policy.suites.items()
    }
    wins = _suite_wins(policy, place)
    method, family = _pair(policy.correction)
    rules = BenchmarkRules(
        name=policy.name,
        tenant=None,
        baselines=policy.baselines,
        alpha=policy.alpha,
        guard_alpha=policy.alpha,
        test=policy.test,
        alternative=policy.alternative,
        confidence_level=policy.confidence_level,
        power=policy.power,
        min_suite_wins=wins,
        max_missing_share=policy.max_missing_share,
        zero_variance=policy.zero_variance,
        require_same_cases=policy.require_same_cases,
        trials=policy.trials,
        unlisted=policy.unlisted,
        correction=Correction(method, family),
        suites=suites,
    )
    bootstrap_rules.refuse_idle(policy, place)
    return bootstrap_rules.completed(rules, policy, place)


def _pair(correction: Correction) -> tuple[Any, Any]:
    """A correction as it takes effect: without a method the family means nothing."""
    return (correction.method, correction.family) if correction.method != "none" else ("none", "candidate")


def _suite_wins(policy: BenchmarkPolicy, place: Place) -> int:
    n_suites = len(policy.suites)
    if policy.min_suite_wins is None and n_suites < DEFAULT_SUITE_WINS:
        raise PolicyError(
            f"min_suite_wins must be stated: its default is {DEFAULT_SUITE_WINS}, and there are fewer suites",
            expected=f"a whole number from 1 to {n_suites}",
            where=str(place.at("min_suite_wins")),
        )
    wins = DEFAULT_SUITE_WINS if policy.min_suite_wins is None else policy.min_suite_wins
    return _possible_wins(wins, n_suites, place)


def _possible_wins(wins: int, n_suites: int, place: Place) -> int:
    if wins > n_suites:
        raise PolicyError(
            "min_suite_wins is more than there are suites: no build could pass",
            expected=f"a whole number from 1 to {n_suites}",
            received=str(wins),
            where=str(place.at("min_suite_wins")),
        )
    return wins


def _known(kpi: str, policy: BenchmarkPolicy, place: Place) -> None:
    if kpi not in policy.kpis:
        similar = nearest(kpi, policy.kpis)
        raise PolicyError(
            f"the KPI {kpi!r} has no direction",
            expected=f"one of the KPIs declared: {', '.join(policy.kpis)}",
            where=str(place),
            hint=f'declare [{Place("").at("kpis", kpi).key}] with direction = "higher" or "lower"'
            + ("" if similar is None else f"; or did you mean {similar!r}?"),
        )


def _known_kpis(suite: Suite, policy: BenchmarkPolicy, place: Place) -> None:
    if suite.kpis is not None:
        if not suite.kpis:
            raise PolicyError("kpis is empty", expected="one KPI at least", where=str(place.at("kpis")))
        refuse_duplicates(suite.kpis, place.at("kpis"))
        for position, kpi in enumerate(suite.kpis):
            _known(kpi, policy, place.at("kpis", position))
    for key in ("directions", "guards", "statistics"):
        for kpi in getattr(suite, key) or {}:
            _known(kpi, policy, place.at(key, kpi))
    if suite.decided_by is not None and suite.decided_by not in ("all", "any"):
        _known(suite.decided_by, policy, place.at("decided_by"))


def _suite(name: str, stated: Suite, policy: BenchmarkPolicy, place: Place) -> SuiteRules:
    _known_kpis(stated, policy, place)
    default = policy.suite_defaults
    guards = (default.guards if stated.guards is None else stated.guards) or {}
    named = default.kpis if stated.kpis is None else stated.kpis
    shown = tuple(policy.kpis) if named is None else named
    kpis = tuple(dict.fromkeys((*shown, *guards)))
    candidates = tuple(kpi for kpi in shown if kpi not in guards)
    decided_by = default.decided_by if stated.decided_by is None else stated.decided_by
    if decided_by is None:
        decided_by = candidates[0] if len(candidates) == 1 else "all"
    if decided_by not in ("all", "any"):
        if decided_by in guards:
            raise _decides_and_guards(decided_by, place.at("guards", decided_by))
        if decided_by not in shown:
            raise PolicyError(
                f"the deciding KPI {decided_by!r} is not among the suite's kpis",
                expected=f"one of {', '.join(shown)}",
                where=str(place.at("decided_by")),
                hint=f"add {decided_by!r} to kpis, or let another KPI decide",
            )
        candidates = (decided_by,)
    if not candidates:
        raise PolicyError(
            "every KPI of the suite is a guard: none is left to decide it",
            expected="a KPI in kpis that is no guard",
            where=str(place.at("guards")),
        )
    for key in ("directions", "statistics"):
        for kpi in getattr(stated, key) or {}:
            if kpi not in kpis:
                raise PolicyError(
                    f"a {key[:-1]} is given for {kpi!r}, which the suite does not compute",
                    expected=f"one of {', '.join(kpis)}",
                    where=str(place.at(key, kpi)),
                )
    cases = default.min_cases if stated.min_cases is None else stated.min_cases
    return SuiteRules(
        name=name,
        decided_by=decided_by if len(candidates) > 1 else candidates[0],
        deciding_kpis=candidates,
        kpis=kpis,
        directions={kpi: _direction(kpi, stated, policy) for kpi in kpis},
        guards={kpi: guard.margin for kpi, guard in guards.items()},
        not_worse=tuple(kpi for kpi, guard in guards.items() if guard.margin is None),
        min_cases=policy.min_cases if cases is None else cases,
    )


def _direction(kpi: str, stated: Suite, policy: BenchmarkPolicy) -> Direction:
    directions = policy.suite_defaults.directions if stated.directions is None else stated.directions
    return (directions or {}).get(kpi, policy.kpis[kpi].direction)


def _raised(rules: BenchmarkRules, policy: BenchmarkPolicy, name: str, place: Place) -> BenchmarkRules:
    tenant = policy.tenants[name]
    base = {key: getattr(rules, key) for key in _STRICTNESS if key not in ("min_cases", "correction")}
    base |= {"min_cases": policy.min_cases, "correction": _pair(rules.correction)}
    stated = {key: getattr(tenant, key) for key in _STRICTNESS if getattr(tenant, key) is not None}
    if tenant.correction is not None:
        stated["correction"] = _pair(
            Correction(
                tenant.correction.method or policy.correction.method,
                tenant.correction.family or policy.correction.family,
            )
        )
    raised = raise_only(base, stated, _STRICTNESS, place)
    _possible_wins(raised["min_suite_wins"], len(rules.suites), place)
    for suite in tenant.suites:
        if suite not in rules.suites:
            similar = nearest(suite, rules.suites)
            raise PolicyError(
                f"the policy has no suite {suite!r}",
                expected=f"one of {', '.join(rules.suites)}",
                where=str(place.at("suites", suite)),
                hint=None if similar is None else f"did you mean {similar!r}?",
            )
    suites = {}
    for key, suite_rules in rules.suites.items():
        own = tenant.suites.get(key, TenantSuite())
        suite_rules = _raised_suite(suite_rules, own, policy, place.at("suites", key))
        # The tenant's own floor holds in every suite.
        cases = max(suite_rules.min_cases, tenant.min_cases or 0)
        suites[key] = structs.replace(suite_rules, min_cases=cases)
    raised.pop("min_cases")
    method, family = raised.pop("correction")
    mine = structs.replace(rules, tenant=name, suites=suites, correction=Correction(method, family), **raised)
    return bootstrap_rules.completed(mine, policy, place)


def _raised_suite(rules: SuiteRules, own: TenantSuite, policy: BenchmarkPolicy, place: Place) -> SuiteRules:
    stated = {} if own.min_cases is None else {"min_cases": own.min_cases}
    cases = raise_only({"min_cases": rules.min_cases}, stated, _SUITE_STRICTNESS, place)["min_cases"]
    guards, not_worse = dict(rules.guards), list(rules.not_worse)
    for kpi, guard in own.guards.items():
        here = place.at("guards", kpi)
        _known(kpi, policy, here)
        if kpi in rules.deciding_kpis:
            raise _decides_and_guards(kpi, here)
        # "Not significantly worse" and "shown non-inferior" do not imply one another (a small loss, measured
        # well, is inside a margin), so a tenant's guard is required beside the policy's, not instead of it.
        if guard.margin is None:
            guards.setdefault(kpi, None)
            not_worse.append(kpi)
        else:
            margin = guards.get(kpi)
            base = {} if margin is None else {"margin": margin}
            override = {"margin": guard.margin}
            guards[kpi] = (
                raise_only(base, override, _GUARD_STRICTNESS, here)["margin"] if base else guard.margin
            )
    added = [kpi for kpi in guards if kpi not in rules.kpis]
    suite = policy.suites[rules.name]
    return structs.replace(
        rules,
        min_cases=cases,
        kpis=(*rules.kpis, *added),
        directions={**rules.directions, **{kpi: _direction(kpi, suite, policy) for kpi in added}},
        guards=guards,
        not_worse=tuple(dict.fromkeys(not_worse)),
    )


def _decides_and_guards(kpi: str, place: Place) -> PolicyError:
    return PolicyError(
        f"the KPI {kpi!r} both decides the suite and guards it",
        expected="a guard other than the deciding KPIs: a win is more than a guard asks",
        where=str(place),
    )


def decisive(rules: BenchmarkRules) -> dict[str, Any]:
    """What of the rules can change a verdict, in an order that does not depend on the file's.

    Left out: `name`, `tenant`, `confidence_level` and `power`, which are shown and decide nothing (the level of a
    bootstrap interval follows from alpha), and `unlisted`, which decides whether there is a verdict, not which.
    Names of suites, KPIs and baselines are data, so they stay, sorted.
    """
    plain: dict[str, Any] = to_builtins(rules)
    for cosmetic in ("name", "tenant", "confidence_level", "power", "unlisted"):
        del plain[cosmetic]
    plain["baselines"] = sorted(plain["baselines"])
    if rules.bootstrap is None:  # policies of the t tests keep the hash that they always had
        del plain["bootstrap"]
    for suite in plain["suites"].values():
        del suite["name"]
        if rules.bootstrap is None:
            del suite["statistics"]
        for key in ("kpis", "deciding_kpis", "not_worse"):
            suite[key] = sorted(suite[key])
    return plain
