"""Safety policies: validated, defaults explicit, raised by tenants and never lowered, hashed, reviewed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fastgate.errors import PolicyError
from fastgate.gates.policy import check_policy, effective, load_policy, policy_hash, to_dict
from fastgate.gates.safety.manifest import CUSTOMARY
from fastgate.gates.safety.policy import SafetyPolicy, SafetyRules
from fastgate.gates.safety.rules import decisive
from fastgate.stats.binomial import BINOMIAL_METHODS, binomial_interval

SMALL: dict[str, Any] = {
    "gate": "safety",
    "name": "small",
    "suites": {"a": {"min_cases": 100}, "b": {"max_error_share": 0.01}},
    "max_error_share": 0.02,
    "comparability": {"required": ["suite_hash", "temperature"], "ignored": ["date", "gpu"]},
    "tenants": {"bank": {"min_cases": 200, "comparability": {"required": ["gpu"]}}},
}


def small(**changes: Any) -> dict[str, Any]:
    merged = {**SMALL, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def refusal(policy: Any, tenant: str | None = None) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        effective(policy, tenant)
    return caught.value


class TestReading:
    def test_defaults_are_those_of_the_rule(self) -> None:
        rules = effective({"gate": "safety", "name": "n"})
        assert isinstance(rules, SafetyRules)
        assert (rules.method, rules.confidence_level, rules.correction) == ("wilson", 0.95, "none")
        assert (rules.trials, rules.trial_sets) == ("all", "same")
        assert (rules.limits.min_cases, rules.limits.max_error_share) == (30, 0.0)
        assert rules.required == CUSTOMARY
        assert (rules.ignored, rules.suites, rules.unlisted) == ((), {}, "error")

    def test_suites_inherit_what_they_leave_out(self) -> None:
        rules = effective(small())
        assert isinstance(rules, SafetyRules)
        assert (rules.suites["a"].min_cases, rules.suites["a"].max_error_share) == (100, 0.02)
        assert (rules.suites["b"].min_cases, rules.suites["b"].max_error_share) == (30, 0.01)
        listed = effective(small(suites=["b", "a"], tenants=None))
        assert isinstance(listed, SafetyRules)
        assert list(listed.suites) == ["b", "a"]

    def test_the_preset(self) -> None:
        policy = load_policy("litmus", gate="safety")
        assert isinstance(policy, SafetyPolicy)
        assert effective("litmus") == effective({"gate": "safety", "name": "litmus"})
        assert check_policy("litmus") == []

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("method", "binomial"),
            ("method", "Wilson"),
            ("confidence_level", 95),
            ("confidence_level", 0.5),
            ("confidence_level", 1.0),
            ("confidence_level", "0.95"),
            ("trials", "mean"),
            ("trial_sets", "other"),
            ("max_error_share", -0.1),
            ("max_error_share", 1),
            ("min_cases", 0),
            ("min_cases", 2.5),
            ("correction", "holm"),
            ("unlisted", True),
            ("comparability", {"require": []}),
            ("comparability", {"required": "temperature"}),
            ("suites", []),
            ("suites", ["a", "a"]),
            ("suites", ["a", 3]),
            ("suites", {"a": {"min_case": 3}}),
            ("alpha", 0.05),
            ("baselines", ["old"]),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, key: str, value: Any) -> None:
        assert key in str(refusal(small(tenants=None, **{key: value})))

    @pytest.mark.parametrize(
        ("comparability", "words"),
        [
            ({"required": ["a", "a"]}, "listed twice"),
            ({"required": ["a"], "ignored": ["a"]}, "both required and ignored"),
            ({"required": ["build"]}, "no comparability field"),
            ({"ignored": ["suite"]}, "no comparability field"),
            ({"required": ["seed_list_hash"]}, "one field"),
        ],
    )
    def test_contradictions_about_fields(self, comparability: dict[str, Any], words: str) -> None:
        assert words in str(refusal(small(tenants=None, comparability=comparability)))

    def test_fractional_counts_need_a_closed_form(self) -> None:
        assert "fractional" in str(refusal(small(trials="share", method="jeffreys")))
        effective(small(trials="share", method="agresti-coull"))

    @pytest.mark.parametrize("trials", ["majority", "share", "each"])
    def test_stopped_trials_count_by_all_or_the_first(self, trials: str) -> None:
        assert "stop" in str(refusal(small(trials=trials, trial_sets="first-failure")))

    def test_another_gates_policy_is_refused(self) -> None:
        with pytest.raises(PolicyError, match="benchmark gate"):
            load_policy("concordia", gate="safety")

    def test_plain_data_and_back(self) -> None:
        policy = load_policy(small())
        assert load_policy(to_dict(policy)) == policy
        assert to_dict(effective(policy))["suites"]["a"] == {"min_cases": 100, "max_error_share": 0.02}


class TestTenants:
    def test_they_raise(self) -> None:
        rules = effective(small(), "bank")
        assert isinstance(rules, SafetyRules)
        assert rules.tenant == "bank"
        assert [limits.min_cases for limits in rules.suites.values()] == [200, 200]
        assert [limits.max_error_share for limits in rules.suites.values()] == [0.02, 0.01]
        assert rules.required == ("suite_hash", "temperature", "gpu")
        assert rules.ignored == ("date",)

    @pytest.mark.parametrize(
        "raised",
        [
            {"confidence_level": 0.9},
            {"max_error_share": 0.0},
            {"min_cases": 31},
            {"correction": "none"},
            {"method": "wilson"},
            {"trial_sets": "same"},
            {"unlisted": "error"},
            {"suites": {"a": {"min_cases": 101}}},
            {"suites": {"b": {"max_error_share": 0.0}}},
            {"comparability": {"required": ["date"]}},
        ],
    )
    def test_what_is_stricter_is_theirs_to_set(self, raised: dict[str, Any]) -> None:
        base = small(
            tenants={"t": raised},
            correction="bonferroni",
            method="agresti-coull",
            trial_sets="any",
            unlisted="ignore",
        )
        assert policy_hash(effective(base, "t")) != policy_hash(effective(base))

    @pytest.mark.parametrize(
        "lowered",
        [
            {"confidence_level": 0.99},
            {"max_error_share": 0.03},
            {"min_cases": 29},
            {"correction": "bonferroni"},
            {"method": "agresti-coull"},
            {"method": "jeffreys"},
            {"trial_sets": "any"},
            {"trial_sets": "first-failure"},
            {"unlisted": "ignore"},
            {"suites": {"a": {"min_cases": 99}}},
            {"suites": {"b": {"max_error_share": 0.02}}},
            {"suites": {"c": {}}},
            {"comparability": {"required": ["build"]}},
            {"comparability": {"ignored": ["temperature"]}},
            {"trials": "first"},
            {"power": 0.5},
        ],
    )
    def test_what_is_looser_or_not_theirs_is_refused(self, lowered: dict[str, Any]) -> None:
        with pytest.raises(PolicyError) as caught:
            load_policy(small(tenants={"t": lowered}))
        assert "tenants.t" in str(caught.value)

    def test_an_unknown_tenant_is_refused(self) -> None:
        assert refusal(small(), "bnak").hint == "did you mean 'bank'?"

    @pytest.mark.parametrize(
        ("loose", "strict"),
        [("agresti-coull", "wilson"), ("clopper-pearson", "mid-p"), ("clopper-pearson", "jeffreys")],
    )
    def test_the_order_of_methods_is_one_of_their_widths(self, loose: str, strict: str) -> None:
        """A stricter method's floor is nowhere the wider one."""
        for n in (1, 2, 7, 30, 240):
            for level in (0.6, 0.95, 0.999):
                k = np.arange(n + 1)
                wide, narrow = (
                    np.asarray(binomial_interval(k, n, confidence_level=level, method=method).half_width)
                    for method in (loose, strict)
                )
                assert np.all(narrow <= wide * (1 + 1e-12)), (n, level)

    def test_other_methods_cross(self) -> None:
        """Of any other two each is the wider somewhere, but for Jeffreys' and mid-p, whose order is not proved."""
        ordered = {
            ("agresti-coull", "wilson"),
            ("clopper-pearson", "mid-p"),
            ("clopper-pearson", "jeffreys"),
            ("jeffreys", "mid-p"),
        }
        widths = {}
        for method in BINOMIAL_METHODS:
            parts = [
                np.asarray(
                    binomial_interval(np.arange(n + 1), n, confidence_level=level, method=method).half_width
                )
                for n in (1, 2, 3, 5, 8, 13, 50)
                for level in (0.55, 0.8, 0.95, 0.99, 0.9999)
            ]
            widths[method] = np.concatenate(parts)
        names = sorted(widths)
        for position, one in enumerate(names):
            for other in names[position + 1 :]:
                if (one, other) in ordered:
                    continue
                wider = widths[one] > widths[other] * (1 + 1e-9)
                assert wider.any(), (one, other)
                assert (widths[other] > widths[one] * (1 + 1e-9)).any(), (one, other)


class TestHash:
    def test_it_ignores_order_spelling_and_what_is_shown(self) -> None:
        other = small(
            name="renamed",
            description="other words",
            power=0.9,
            suites={"b": {"max_error_share": 0.010}, "a": {"min_cases": 100}},
            comparability={"required": ["temperature", "suite_hash"], "ignored": ["gpu", "date"]},
            confidence_level=0.950,
        )
        assert policy_hash(other) == policy_hash(small())

    @pytest.mark.parametrize(
        "change",
        [
            {"method": "jeffreys"},
            {"confidence_level": 0.9},
            {"trials": "majority"},
            {"trial_sets": "any"},
            {"max_error_share": 0.03},
            {"min_cases": 31},
            {"correction": "sidak"},
            {"unlisted": "ignore"},
            {"suites": ["a"], "tenants": None},
            {"comparability": {"required": ["suite_hash"], "ignored": ["date", "gpu"]}},
            {"comparability": {"required": ["suite_hash", "temperature"], "ignored": ["date"]}},
        ],
    )
    def test_what_decides_changes_it(self, change: dict[str, Any]) -> None:
        assert policy_hash(small(**change)) != policy_hash(small())

    def test_limits_of_no_suite_decide_nothing(self) -> None:
        suites = {"a": {"min_cases": 50, "max_error_share": 0.0}}
        one = small(suites=suites, min_cases=30, tenants=None)
        assert policy_hash(one) == policy_hash({**one, "min_cases": 40, "max_error_share": 0.3})
        assert "limits" not in decisive(effective(load_policy(one, gate="safety")))


class TestReview:
    @pytest.mark.parametrize(
        ("change", "key"),
        [
            ({"comparability": {"required": []}}, "comparability.required: empty"),
            ({"comparability": {"required": ["suite_hash"]}}, "comparability.required: without seeds"),
            ({"comparability": {"ignored": ["date"]}}, "comparability.ignored: date"),
            ({"confidence_level": 0.99}, "confidence_level"),
            ({"method": "wald"}, "method: wald"),
            ({"correction": "sidak"}, "correction"),
            ({"power": 0.5}, "power"),
            ({"min_cases": 10}, "min_cases"),
            (
                {"suites": {"x": {"min_cases": 5}, "y": {"min_cases": 6}}},
                "suites.x.min_cases (and 1 more): 5",
            ),
            ({"max_error_share": 0.1}, "max_error_share"),
            ({"trial_sets": "any"}, "trial_sets"),
            ({"trials": "each"}, "trials"),
            ({"unlisted": "ignore"}, "unlisted"),
            ({"tenants": {"idle": {}}}, "tenants.idle"),
        ],
    )
    def test_what_is_questionable_is_questioned(self, change: dict[str, Any], key: str) -> None:
        found = check_policy({"gate": "safety", "name": "n", **change})
        assert len(found) == 1
        assert found[0].startswith(key)
