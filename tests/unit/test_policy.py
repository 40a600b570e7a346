from __future__ import annotations

import copy
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from fastgate.errors import ArgumentError, PolicyError
from fastgate.gates import presets
from fastgate.gates.benchmark.policy import (
    BenchmarkPolicy,
    BenchmarkRules,
    Correction,
    Guard,
    Kpi,
    Suite,
    Tenant,
    TenantCorrection,
    TenantSuite,
)
from fastgate.gates.policy import canonical_json, check_policy, effective, load_policy, policy_hash, to_dict
from fastgate.gates.schema import Name, Place, build, nearest, show
from fastgate.gates.strictness import HIGHER, LOWER, ordered, raise_only

SMALL = """
gate = "benchmark"
name = "small"
baselines = ["old", "older"]
min_suite_wins = 2

[kpis.acc]
direction = "higher"
[kpis.duration_s]
direction = "lower"
[kpis.cost]
direction = "lower"

[suites.a]
decided_by = "acc"
guards = { duration_s = { margin = 5.0 }, cost = {} }
[suites.b]
kpis = ["acc", "duration_s"]
min_cases = 10
[suites.c]
kpis = ["acc"]
directions = { acc = "lower" }

[tenants.bank]
min_suite_wins = 3
"""


def small(**changes: Any) -> dict[str, Any]:
    """The small policy as a dict, with keys at the top replaced; None removes one."""
    import tomllib

    data = {**tomllib.loads(SMALL), **changes}
    return {key: value for key, value in data.items() if value is not None}


def tenant(**overrides: Any) -> dict[str, Any]:
    return {"tenants": {"bank": overrides}}


def refusal(data: Any, **options: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load_policy(data, **options)
    return caught.value


class TestSources:
    def test_path_text_dict_and_struct_give_the_same_policy(self, tmp_path: Path) -> None:
        path = tmp_path / "small.toml"
        path.write_text(SMALL, encoding="utf-8")
        policy = load_policy(path)
        assert policy.name == "small"
        assert list(policy.suites) == ["a", "b", "c"]
        for source in (str(path), small(), policy, to_dict(policy)):
            assert load_policy(source) == policy
            assert policy_hash(source) == policy_hash(policy)

    def test_byte_order_mark_and_windows_line_ends_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "small.toml"
        path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
        assert load_policy(path) == load_policy(small())

    def test_struct_with_wrong_values_is_refused_like_a_file(self) -> None:
        policy = BenchmarkPolicy(
            name="p",
            baselines=("old",),
            alpha="0.05",  # type: ignore[arg-type]
            kpis={"acc": Kpi("higher")},
            suites={"a": Suite()},
            min_suite_wins=1,
        )
        assert "alpha" in str(refusal(policy))
        assert refusal(policy).received == 'the text "0.05"'
        unwritable = msgspec.structs.replace(policy, alpha=object())
        assert "no file could" in str(refusal(unwritable))

    def test_struct_written_in_python_is_read(self) -> None:
        policy = BenchmarkPolicy(
            name="p",
            baselines=("old",),
            kpis={"acc": Kpi("higher"), "cost": Kpi("lower", "US dollars")},
            suites={"a": Suite(decided_by="acc", guards={"cost": Guard(0.1)})},
            correction=Correction("holm", "sweep"),
            min_suite_wins=1,
            tenants={"t": Tenant(suites={"a": TenantSuite(guards={"cost": Guard(0.05)})})},
        )
        assert load_policy(policy) == policy
        assert effective(policy, "t").suites["a"].guards == {"cost": 0.05}

    def test_numbers_out_of_arrays_are_numbers(self) -> None:
        policy = load_policy(
            small(alpha=np.float64(0.01), min_cases=np.int64(3), require_same_cases=np.bool_(False))
        )
        assert (policy.alpha, policy.min_cases, policy.require_same_cases) == (0.01, 3, False)

    @pytest.mark.parametrize("source", ["concordai", "nowhere/policy.toml", Path("concordia.tml")])
    def test_missing_policy_names_the_presets(self, source: str | Path) -> None:
        error = refusal(source)
        assert "concordia" in str(error.expected)
        assert str(source) in str(error.received)

    def test_misspelt_preset_is_suggested(self) -> None:
        assert refusal("concordai").hint == "did you mean the preset 'concordia'?"

    @pytest.mark.parametrize("source", [None, 5, ["a"], object()])
    def test_other_objects_are_no_policy(self, source: object) -> None:
        assert "path" in str(refusal(source).expected)

    def test_folder_and_impossible_path_are_refused(self, tmp_path: Path) -> None:
        assert "cannot be read" in str(refusal(tmp_path))
        assert "cannot be read" in str(refusal("a\0b"))

    def test_binary_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "policy.toml"
        path.write_bytes(b"\xff\xfe\x00")
        assert "UTF-8" in str(refusal(path))

    def test_syntax_error_names_line_column_and_text(self, tmp_path: Path) -> None:
        path = tmp_path / "policy.toml"
        path.write_text('gate = "benchmark"\nname = mine\n', encoding="utf-8")
        error = refusal(path)
        assert error.where == f"{path}, line 2, column 8"
        assert error.received == "name = mine"
        assert "line" not in error.problem

    @pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 5_000, 'a = """'])
    def test_malicious_toml_is_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        refusal(path)

    def test_gate_is_required_and_of_the_asking_gate(self) -> None:
        assert "which gate" in str(refusal(small(gate=None)))
        assert refusal(small(gate="bencmark")).hint == "did you mean 'benchmark'?"
        assert refusal(small(gate=3)).received == "3"
        assert "the benchmark gate" in str(refusal(small(), gate="safety"))
        assert load_policy(small(), gate="benchmark").gate == "benchmark"


class TestValidation:
    @pytest.mark.parametrize(
        ("changes", "where", "words"),
        [
            ({"alhpa": 0.05}, "alhpa", "did you mean 'alpha'?"),
            ({"minSuiteWins": 2}, "minSuiteWins", "did you mean 'min_suite_wins'?"),
            ({"zzz": 2}, "zzz", "unknown"),
            ({"name": None}, "name", "missing"),
            ({"name": ""}, "name", 'the text ""'),
            ({"name": "two\nlines"}, "name", "on one line"),
            ({"name": "ends with\n"}, "name", "on one line"),
            ({"name": " blank"}, "name", "no blank at either end"),
            ({"name": "\ud800"}, "name", "a name"),
            ({"name": 5}, "name", "received: 5"),
            ({"baselines": None}, "baselines", "missing"),
            ({"baselines": []}, "baselines", "empty"),
            ({"baselines": "old"}, "baselines", "must be a list"),
            ({"baselines": ["old", "old"]}, "baselines", "twice"),
            ({"baselines": ["old", 5]}, "baselines[1]", "received: 5"),
            ({"baselines": ["old", ""]}, "baselines[1]", "a name"),
            ({"alpha": 0}, "alpha", "above 0"),
            ({"alpha": 0.5}, "alpha", "below 0.5"),
            ({"alpha": -0.1}, "alpha", "received: -0.1"),
            ({"alpha": "0.05"}, "alpha", 'the text "0.05"'),
            ({"alpha": True}, "alpha", "the boolean true"),
            ({"alpha": float("nan")}, "alpha", "received: nan"),
            ({"alpha": 10**5000}, "alpha", "thousands of digits"),
            ({"alpha": [0.05]}, "alpha", "a list of 1"),
            ({"alpha": {}}, "alpha", "an empty table"),
            ({"confidence_level": 1}, "confidence_level", "below 1"),
            ({"confidence_level": 95}, "confidence_level", "received: 95"),
            ({"power": 0.0}, "power", "above 0"),
            ({"test": "wlech"}, "test", "did you mean 'welch'?"),
            ({"test": 1}, "test", '"welch" or "paired"'),
            ({"alternative": "greater"}, "alternative", '"two-sided" or "one-sided"'),
            ({"min_suite_wins": 0}, "min_suite_wins", "1 or more"),
            ({"min_suite_wins": 4}, "min_suite_wins", "from 1 to 3"),
            ({"min_suite_wins": 2.0}, "min_suite_wins", "a whole number"),
            ({"min_suite_wins": True}, "min_suite_wins", "the boolean true"),
            ({"min_suite_wins": 10**30}, "min_suite_wins", "a whole number"),
            ({"min_suite_wins": None, "tenants": {}}, "min_suite_wins", "must be stated"),
            ({"min_cases": 1}, "min_cases", "2 or more"),
            ({"max_missing_share": 1}, "max_missing_share", "below 1"),
            ({"max_missing_share": -0.0001}, "max_missing_share", "from 0"),
            ({"max_missing_share": float("-inf")}, "max_missing_share", "received: -inf"),
            ({"zero_variance": "undefind"}, "zero_variance", "did you mean 'undefined'?"),
            ({"require_same_cases": "true"}, "require_same_cases", "true or false"),
            ({"require_same_cases": 1}, "require_same_cases", "true or false"),
            ({"trials": "median"}, "trials", '"mean" or "refuse"'),
            ({"correction": "holm"}, "correction", "a table"),
            ({"correction": {"method": "hom"}}, "correction.method", "did you mean 'holm'?"),
            ({"correction": {"methud": "holm"}}, "correction.methud", "did you mean 'method'?"),
            ({"kpis": {}}, "kpis", "empty"),
            ({"kpis": {"acc": {}}}, "kpis.acc.direction", '"higher" or "lower"'),
            ({"kpis": {"acc": {"direction": "up"}}}, "kpis.acc.direction", '"higher" or "lower"'),
            ({"kpis": {"acc": "higher"}}, "kpis.acc", "a table"),
            ({"kpis": {"acc": {"direction": "higher", "alpha": 0.1}}}, "kpis.acc.alpha", "before the first"),
            ({"kpis": {"acc ": {"direction": "higher"}}}, 'kpis."acc "', "a name"),
            ({"kpis": {"any": {"direction": "higher"}}}, "kpis.any", "may not be called"),
            ({"suites": {}}, "suites", "empty"),
            ({"suites": []}, "suites", "empty"),
            ({"suites": ["a", "a"]}, "suites", "twice"),
            ({"suites": ["a", 5]}, "suites", "no text"),
            ({"suites": "a"}, "suites", "a table"),
            ({"suites": {"a": None}}, "suites.a", "nothing (null)"),
            ({"suites": {5: {}}}, "suites", "no text"),
            ({"tenants": {"": {}}}, 'tenants.""', "a name"),
        ],
    )
    def test_fault_is_named_with_its_place(self, changes: dict[str, Any], where: str, words: str) -> None:
        error = refusal(small(**changes))
        assert error.where == f"policy given as a dict: {where}"
        assert words in str(error)

    @pytest.mark.parametrize(
        ("suite", "where", "words"),
        [
            ({"decided_by": "speed"}, "decided_by", "has no direction"),
            ({"decided_by": "ac"}, "decided_by", "did you mean 'acc'?"),
            ({"decided_by": "cost", "kpis": ["acc"]}, "decided_by", "not among the suite's kpis"),
            ({"decided_by": "acc", "guards": {"acc": {}}}, "guards.acc", "both decides"),
            ({"kpis": ["acc"], "guards": {"acc": {}}}, "guards", "none is left"),
            ({"kpis": []}, "kpis", "empty"),
            ({"kpis": ["acc", "acc"]}, "kpis", "twice"),
            ({"kpis": ["acc", "accuracy"]}, "kpis[1]", "[kpis.accuracy]"),
            ({"kpis": ["top.1"]}, "kpis[0]", '[kpis."top.1"]'),
            ({"guards": {"latency": {}}}, "guards.latency", "has no direction"),
            ({"guards": {"cost": {"margin": 0}}}, "guards.cost.margin", "above 0"),
            ({"guards": {"cost": {"margin": float("inf")}}}, "guards.cost.margin", "received: inf"),
            ({"guards": {"cost": {"margn": 1}}}, "guards.cost.margn", "did you mean 'margin'?"),
            ({"guards": {"cost": 5.0}}, "guards.cost", "a table"),
            ({"guards": ["cost"]}, "guards", "a table"),
            ({"directions": {"acc": "up"}}, "directions.acc", '"higher" or "lower"'),
            ({"directions": {"speed": "lower"}}, "directions.speed", "has no direction"),
            ({"directions": {"cost": "lower"}, "kpis": ["acc"]}, "directions.cost", "does not compute"),
            ({"min_cases": 1}, "min_cases", "2 or more"),
        ],
    )
    def test_fault_of_a_suite(self, suite: dict[str, Any], where: str, words: str) -> None:
        error = refusal(small(suites={"numerai28.6": suite, "b": {}}))
        assert error.where == f'policy given as a dict: suites."numerai28.6".{where}'
        assert words in str(error)

    def test_defaults_of_suites_are_checked_even_where_replaced(self) -> None:
        error = refusal(small(suite_defaults={"kpis": ["speed"]}))
        assert error.where == "policy given as a dict: suite_defaults.kpis[0]"

    def test_six_suites_need_no_statement_of_wins(self) -> None:
        assert effective(small(suites=list("abcdefg"), min_suite_wins=None, tenants=None)).min_suite_wins == 6


class TestRules:
    def test_suites_are_explicit(self) -> None:
        rules = effective(small())
        a, b, c = rules.suites.values()
        assert (a.name, a.decided_by, a.deciding_kpis) == ("a", "acc", ("acc",))
        assert a.kpis == ("acc", "duration_s", "cost")
        assert a.guards == {"duration_s": 5.0, "cost": None}
        assert a.not_worse == ("cost",)
        assert (a.min_cases, b.min_cases, c.min_cases) == (2, 10, 2)
        assert (b.decided_by, b.deciding_kpis) == ("all", ("acc", "duration_s"))
        assert b.directions == {"acc": "higher", "duration_s": "lower"}
        assert (c.decided_by, c.directions) == ("acc", {"acc": "lower"})
        assert (rules.tenant, rules.alpha, rules.guard_alpha) == (None, 0.05, 0.05)

    def test_all_and_any_range_over_the_kpis_that_are_no_guards(self) -> None:
        for word in ("all", "any"):
            rules = effective(
                small(suites={"a": {"decided_by": word, "guards": {"cost": {}}}, "b": {}}, tenants={})
            )
            assert rules.suites["a"].decided_by == word
            assert rules.suites["a"].deciding_kpis == ("acc", "duration_s")
            assert rules.suites["b"].deciding_kpis == ("acc", "duration_s", "cost")

    def test_any_of_one_kpi_is_that_kpi(self) -> None:
        rules = effective(
            small(suites={"a": {"decided_by": "any", "kpis": ["cost"]}}, min_suite_wins=1, tenants={})
        )
        assert rules.suites["a"].decided_by == "cost"

    def test_guard_outside_the_kpis_is_computed_too(self) -> None:
        suite = {"kpis": ["acc"], "guards": {"cost": {"margin": 1}}, "directions": {"cost": "higher"}}
        rules = effective(small(suites={"a": suite, "b": {}}, tenants={}))
        assert rules.suites["a"].kpis == ("acc", "cost")
        assert rules.suites["a"].deciding_kpis == ("acc",)
        assert rules.suites["a"].directions == {"acc": "higher", "cost": "higher"}
        assert rules.suites["a"].not_worse == ()

    def test_list_of_suites_takes_the_defaults(self) -> None:
        defaults = {
            "decided_by": "acc",
            "kpis": ["acc", "cost"],
            "guards": {"cost": {}},
            "min_cases": 5,
            "directions": {"cost": "higher", "duration_s": "higher"},
        }
        rules = effective(small(suites=["x", "y", "z"], suite_defaults=defaults))
        assert list(rules.suites) == ["x", "y", "z"]
        for suite in rules.suites.values():
            assert (suite.decided_by, suite.min_cases) == ("acc", 5)
            assert suite.directions == {"acc": "higher", "cost": "higher"}
            assert suite.guards == {"cost": None}

    def test_key_of_a_suite_replaces_the_default_whole(self) -> None:
        defaults = {"decided_by": "acc", "guards": {"cost": {}}, "directions": {"acc": "lower"}}
        suites = {"x": {"guards": {"duration_s": {}}}, "y": {"guards": {}, "directions": {"cost": "higher"}}}
        rules = effective(small(suites=suites, suite_defaults=defaults, tenants={}))
        assert list(rules.suites["x"].guards) == ["duration_s"]
        assert rules.suites["x"].directions["acc"] == "lower"
        assert rules.suites["y"].guards == {}
        assert rules.suites["y"].directions == {"acc": "higher", "duration_s": "lower", "cost": "higher"}

    def test_family_without_a_method_means_nothing(self) -> None:
        rules = effective(small(correction={"family": "sweep"}))
        assert rules.correction == Correction("none", "candidate")
        assert policy_hash(rules) == policy_hash(small())

    def test_rules_survive_json(self) -> None:
        rules = effective(small(), "bank")
        again = msgspec.convert(json.loads(json.dumps(to_dict(rules))), BenchmarkRules)
        assert again == rules
        assert policy_hash(again) == policy_hash(rules)


class TestTenants:
    @pytest.mark.parametrize(
        ("base", "override"),
        [
            ({}, {"alpha": 0.01}),
            ({}, {"alpha": 0.05}),
            ({"alternative": "one-sided"}, {"alternative": "two-sided"}),
            ({}, {"min_suite_wins": 3}),
            ({"max_missing_share": 0.1}, {"max_missing_share": 0.0}),
            ({"zero_variance": "decide"}, {"zero_variance": "undefined"}),
            ({"require_same_cases": False}, {"require_same_cases": True}),
        ],
    )
    def test_raising_takes_effect(self, base: dict[str, Any], override: dict[str, Any]) -> None:
        rules = effective(small(**base, **tenant(**override)), "bank")
        for key, value in override.items():
            assert getattr(rules, key) == value
        assert rules.tenant == "bank"
        assert effective(small(**base, **tenant(**override))).tenant is None

    @pytest.mark.parametrize(
        ("base", "override", "place", "words"),
        [
            ({}, {"alpha": 0.1}, "alpha", "0.1 is looser than the policy's 0.05"),
            (
                {},
                {"alternative": "one-sided"},
                "alternative",
                "one-sided is looser than the policy's two-sided",
            ),
            ({}, {"min_suite_wins": 1}, "min_suite_wins", "1 is looser than the policy's 2"),
            ({}, {"min_suite_wins": 4}, "min_suite_wins", "no build could pass"),
            ({"min_cases": 5}, {"min_cases": 4}, "min_cases", "4 is looser than the policy's 5"),
            ({}, {"max_missing_share": 0.1}, "max_missing_share", "may only lower this value"),
            ({}, {"zero_variance": "decide"}, "zero_variance", "decide < undefined"),
            (
                {},
                {"require_same_cases": False},
                "require_same_cases",
                "false is looser than the policy's true",
            ),
            ({}, {"test": "paired"}, "test", "belongs to the policy itself"),
            ({}, {"suites": {"z": {}}}, "suites.z", "no suite 'z'"),
            (
                {},
                {"suites": {"b": {"min_cases": 9}}},
                "suites.b.min_cases",
                "9 is looser than the policy's 10",
            ),
            ({}, {"suites": {"b": {"kpis": ["acc"]}}}, "suites.b.kpis", "unknown"),
            ({}, {"suites": {"a": {"guards": {"acc": {}}}}}, "suites.a.guards.acc", "both decides"),
            ({}, {"suites": {"a": {"guards": {"speed": {}}}}}, "suites.a.guards.speed", "has no direction"),
            (
                {},
                {"suites": {"a": {"guards": {"duration_s": {"margin": 6}}}}},
                "suites.a.guards.duration_s.margin",
                "6.0 is looser than the policy's 5.0",
            ),
        ],
    )
    def test_lowering_is_refused_when_the_policy_loads(
        self, base: dict[str, Any], override: dict[str, Any], place: str, words: str
    ) -> None:
        error = refusal(small(**base, **tenant(**override)))
        assert error.where == f"policy given as a dict: tenants.bank.{place}"
        assert words in str(error)

    def test_tenants_floor_of_cases_holds_in_every_suite(self) -> None:
        rules = effective(small(**tenant(min_cases=7, suites={"c": {"min_cases": 12}})), "bank")
        assert [suite.min_cases for suite in rules.suites.values()] == [7, 10, 12]

    @pytest.mark.parametrize(
        ("base", "override", "result"),
        [
            ("none candidate", "holm", "holm candidate"),
            ("none sweep", "bh", "bh sweep"),
            ("bh candidate", "by", "by candidate"),
            ("bh candidate", "hochberg sweep", "hochberg sweep"),
            ("bh sweep", "bonferroni", "bonferroni sweep"),
            ("holm candidate", "holm sweep", "holm sweep"),
            ("holm sweep", "bonferroni", "bonferroni sweep"),
            ("by sweep", "by", "by sweep"),
            ("bh candidate", "bh sweep", None),  # a larger family may lower the adjusted p-values
            ("by candidate", "by sweep", None),
            ("by candidate", "holm", None),
            ("holm candidate", "by", None),
            ("holm candidate", "hochberg", None),
            ("holm sweep", "holm candidate", None),
            ("holm sweep", "bonferroni candidate", None),
            ("bonferroni candidate", "none", None),
        ],
    )
    def test_corrections_are_partly_ordered(self, base: str, override: str, result: str | None) -> None:
        def parts(text: str) -> dict[str, str]:
            return dict(zip(("method", "family"), text.split(), strict=False))

        data = small(correction=parts(base), **tenant(correction=parts(override)))
        if result is None:
            error = refusal(data)
            assert error.where == "policy given as a dict: tenants.bank.correction"
            assert base.replace(" ", " per ") in str(error)
        else:
            assert effective(data, "bank").correction == Correction(**parts(result))

    def test_family_alone_keeps_the_method(self) -> None:
        data = small(correction={"method": "holm"}, **tenant(correction={"family": "sweep"}))
        assert effective(data, "bank").correction == Correction("holm", "sweep")
        assert TenantCorrection() == load_policy(small(**tenant(correction={}))).tenants["bank"].correction

    def test_guards_are_required_beside_the_policys(self) -> None:
        guards = {"duration_s": {}, "cost": {"margin": 2}}
        suite = effective(small(**tenant(suites={"a": {"guards": guards}})), "bank").suites["a"]
        assert suite.guards == {"duration_s": 5.0, "cost": 2.0}
        assert suite.not_worse == ("cost", "duration_s")

    def test_new_guard_is_computed_with_its_direction(self) -> None:
        data = small(suite_defaults={"directions": {"cost": "higher"}})
        data["tenants"] = {"bank": {"suites": {"b": {"guards": {"cost": {"margin": 2}}}}}}
        suite = effective(data, "bank").suites["b"]
        assert suite.kpis == ("acc", "duration_s", "cost")
        assert suite.directions["cost"] == "higher"
        assert suite.guards == {"cost": 2.0}
        assert suite.not_worse == ()
        assert suite.deciding_kpis == ("acc", "duration_s")

    def test_smaller_alpha_does_not_loosen_guards(self) -> None:
        rules = effective(small(**tenant(alpha=0.01)), "bank")
        assert (rules.alpha, rules.guard_alpha) == (0.01, 0.05)

    def test_unknown_tenant_lists_those_there_are(self) -> None:
        with pytest.raises(PolicyError, match="no tenant 'bnak'") as caught:
            effective(small(), "bnak")
        assert caught.value.expected == "one of bank"
        assert caught.value.hint == "did you mean 'bank'?"
        with pytest.raises(PolicyError, match="no tenant: the policy has none"):
            effective(small(tenants={}), "bank")


class TestHash:
    def test_text_order_and_numbers_do_not_matter(self, tmp_path: Path) -> None:
        head, *tables = SMALL.split("\n\n")
        shuffled = "\n\n".join(
            [
                "\n".join(reversed(head.strip().splitlines())).replace(
                    '["old", "older"]', '["older", "old"]'
                ),
                *reversed(tables),
            ]
        )
        path = tmp_path / "policy.toml"
        path.write_text(shuffled.replace("5.0", "5").replace("min_cases", "alpha = 5e-2\nmin_cases", 0))
        assert policy_hash(path) == policy_hash(small())
        assert policy_hash(small(alpha=5e-2, trials="mean", min_cases=2)) == policy_hash(small())

    def test_what_is_only_shown_does_not_matter(self) -> None:
        cosmetic = small(name="other", description="text", confidence_level=0.9, power=0.9)
        cosmetic["kpis"]["acc"]["description"] = "accuracy"
        assert policy_hash(cosmetic) == policy_hash(small())
        assert policy_hash(small(tenants={})) == policy_hash(small())

    @pytest.mark.parametrize(
        "changes",
        [
            {"baselines": ["old"]},
            {"alpha": 0.04},
            {"test": "paired"},
            {"alternative": "one-sided"},
            {"min_suite_wins": 3},
            {"min_cases": 3},
            {"max_missing_share": 0.1},
            {"zero_variance": "decide"},
            {"require_same_cases": False},
            {"trials": "refuse"},
            {"correction": {"method": "holm"}},
            {"suite_defaults": {"decided_by": "acc"}},
        ],
    )
    def test_what_decides_matters(self, changes: dict[str, Any]) -> None:
        assert policy_hash(small(**changes)) != policy_hash(small())

    def test_tenants_have_their_own(self) -> None:
        same_as_bank = small(min_suite_wins=3)
        assert policy_hash(effective(small(), "bank")) == policy_hash(same_as_bank)

    def test_is_the_same_in_every_version(self) -> None:
        assert policy_hash("concordia") == "3bd06c10c1d6f2ccb3c7bb5e4bc7df72d251cc2db77d795909172b0d192336b7"

    def test_canonical_json_has_one_spelling(self) -> None:
        assert (
            canonical_json({"b": (1.0, -0.0, 1e20), "a": "é"})
            == '{"a":"\\u00e9","b":[1,0,100000000000000000000]}'
        )
        for value in (float("nan"), float("inf")):
            with pytest.raises(ArgumentError):
                canonical_json([value])


class TestReview:
    def test_sound_policy_gets_no_remark(self, data: Path) -> None:
        text = (data / "automl_policy.toml").read_text()
        assert [remark.split(":")[0] for remark in check_policy(data / "automl_policy.toml")] == [
            "max_missing_share"
        ]
        strict = text.replace("max_missing_share = 0.1", "max_missing_share = 0.0")
        assert check_policy(tomllib.loads(strict)) == []

    @pytest.mark.parametrize(
        ("changes", "key"),
        [
            ({"alpha": 0.1, "confidence_level": 0.9}, "alpha:"),
            ({"alternative": "one-sided", "confidence_level": 0.9}, "alternative:"),
            ({"min_suite_wins": 1}, "min_suite_wins:"),
            ({"confidence_level": 0.99}, "confidence_level:"),
            ({"power": 0.5}, "power:"),
            ({"min_cases": 4}, "suites.a (and 1 more).min_cases:"),
            ({"max_missing_share": 0.1}, "max_missing_share:"),
            ({"zero_variance": "decide"}, "zero_variance:"),
            ({"require_same_cases": False}, "require_same_cases:"),
            ({"require_same_cases": False, "test": "paired"}, "require_same_cases:"),
            (
                {
                    "kpis": {**small()["kpis"], "idle": {"direction": "lower"}},
                    "suite_defaults": {"kpis": ["acc"]},
                },
                "kpis.idle:",
            ),
            ({"tenants": {"idle": {"alpha": 0.05}}}, "tenants.idle:"),
        ],
    )
    def test_questionable_setting_gets_one(self, changes: dict[str, Any], key: str) -> None:
        sound = small(min_cases=10)
        sound["suites"]["a"]["guards"] = {"duration_s": {"margin": 5}, "cost": {"margin": 1}}
        assert check_policy(sound) == []
        (remark,) = [remark for remark in check_policy({**sound, **changes}) if remark.startswith(key)]
        assert len(remark) > len(key) + 10

    def test_guard_without_margin_and_any_get_one_each(self) -> None:
        suites = {"a": {"decided_by": "any", "guards": {"cost": {}}}, "b": {"guards": {"cost": {}}}}
        remarks = check_policy(small(suites=suites, tenants={}))
        assert any(remark.startswith("suites.a (and 1 more).guards.cost:") for remark in remarks)
        assert any(remark.startswith("suites.a.decided_by:") for remark in remarks)

    def test_chance_of_passing_is_binomial(self) -> None:
        from scipy.stats import binom

        def chance(**changes: Any) -> str:
            remarks = check_policy(small(suites=list("abcdefgh"), tenants={}, **changes))
            return next((remark for remark in remarks if remark.startswith("correction:")), "")

        assert f"a chance of {binom.sf(0, 8, 0.025):.2g}" in chance(min_suite_wins=1)
        assert f"a chance of {binom.sf(1, 8, 0.05):.2g}" in chance(min_suite_wins=2, alternative="one-sided")
        any_of_three = {"decided_by": "any"}
        p = 1 - 0.975**3
        assert f"a chance of {binom.sf(1, 8, p):.2g}" in chance(min_suite_wins=2, suite_defaults=any_of_three)
        assert chance(min_suite_wins=6) == ""
        assert chance(min_suite_wins=1, correction={"method": "holm"}) == ""

    def test_error_is_no_remark(self) -> None:
        with pytest.raises(PolicyError):
            check_policy(small(alpha=1))


class TestShipped:
    def test_preset_is_the_gate_it_describes(self) -> None:
        assert presets.names() == ("concordia", "litmus", "stability")
        rules = effective("concordia")
        assert list(rules.suites) == [
            "two_party",
            "multi_party",
            "procurement",
            "legal_low_stakes",
            "dao",
            "creative",
            "restorative",
            "agent_to_agent",
        ]
        assert len(rules.baselines) == 4
        assert (rules.alpha, rules.test, rules.min_suite_wins) == (0.05, "welch", 6)
        higher = {"nash_product", "max_min_utility", "agreement_rate"}
        for suite in rules.suites.values():
            assert len(suite.deciding_kpis) == 1
            assert {kpi for kpi, direction in suite.directions.items() if direction == "higher"} == higher
            assert len(suite.kpis) == 6
        assert effective("concordia", "strict-7").min_suite_wins == 7
        assert effective("concordia", "strict-8").min_suite_wins == 8

    def test_automl_policy_fits_its_data(self, data: Path) -> None:
        import polars as pl

        runs = pl.read_parquet(data / "automl_1h.parquet")
        assert runs.schema == {
            "build": pl.String,
            "suite": pl.String,
            "kpi": pl.String,
            "case": pl.String,
            "value": pl.Float64,
        }
        assert not runs.select("build", "suite", "kpi", "case").is_duplicated().any()
        rules = effective(data / "automl_policy.toml")
        assert set(rules.baselines) < set(runs["build"].unique())
        measured = {
            suite: set(kpis) for suite, kpis in runs.group_by("suite").agg(pl.col("kpi").unique()).iter_rows()
        }
        assert {name: set(suite.kpis) for name, suite in rules.suites.items()} == measured
        assert (data / "automl_1h.parquet").stat().st_size < 100_000
        assert "OpenML" in (data / "LICENSES" / "automlbenchmark-MIT.txt").read_text()


class TestMachinery:
    def test_import_is_light(self) -> None:
        code = (
            "import sys, fastgate.gates.policy as p; p.effective('concordia')\n"
            "heavy = {'numba', 'scipy', 'numpy', 'polars', 'pyarrow'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_orders(self) -> None:
        assert HIGHER.holds(2, 1)
        assert not LOWER.holds(2, 1)
        order = ordered(("a", "b", "d"), ("a", "c", "d"), ("d", "e"))
        assert order.holds("e", "a")
        assert not order.holds("b", "c")
        assert not order.holds("c", "b")
        assert not order.holds("unheard of", "a")
        assert not order.holds("a", "unheard of")
        assert order.words == "may only move to a stricter value (a < b < d; a < c < d; d < e)"

    def test_raise_only_serves_other_thresholds(self) -> None:
        rules = {"order_swap": HIGHER, "max_ci_width": LOWER}
        base = {"order_swap": 0.85, "max_ci_width": 0.2}
        assert raise_only(base, {"max_ci_width": 0.15}, rules, Place("p")) == {
            "order_swap": 0.85,
            "max_ci_width": 0.15,
        }
        with pytest.raises(PolicyError, match="profiles may only raise strictness"):
            raise_only(base, {"order_swap": 0.8}, rules, Place("p"), who="profiles")
        with pytest.raises(PolicyError, match="may not set mass"):
            raise_only(base, {"mass": 0.8}, rules, Place("p"))
        assert base == {"order_swap": 0.85, "max_ci_width": 0.2}

    def test_build_does_not_change_its_input(self) -> None:
        data = small()
        before = copy.deepcopy(data)
        load_policy(data)
        assert data == before

    def test_words_of_values(self) -> None:
        assert show("x" * 100) == 'the text "' + "x" * 57 + '..."'
        assert show(10**80) == "1" + "0" * 56 + "..."
        assert show([]) == "an empty list"
        assert show({"a": 1}) == "a table of 1 keys"
        assert show(object()) == "a value of type object"

    def test_nearest(self) -> None:
        assert nearest("Min-Cases", ["min_cases"]) == "min_cases"
        assert nearest("xyz", ["min_cases"]) is None
        assert nearest("x", []) is None

    def test_places(self) -> None:
        assert str(Place("file")) == "file"
        assert Place("file").at("a", 'b"c', 2).key == 'a."b\\"c"[2]'

    def test_build_needs_a_table(self) -> None:
        with pytest.raises(PolicyError, match="must be a table"):
            build(Kpi, ["higher"], Place("file"))
        assert msgspec.convert("a b", Name) == "a b"
