"""The benchmark gate where bootstrap intervals decide: rule, levels, guards, faults, draws, policies."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import fastgate
from fastgate.errors import DataError, PolicyError
from fastgate.gates.benchmark.policy import Bootstrap
from fastgate.gates.policy import check_policy, effective, load_policy, policy_hash, to_dict
from fastgate.reports.gates import junit, markdown, report
from fastgate.reports.json_schema import result_schema
from fastgate.stats import bootstrap


def policy(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "gate": "benchmark",
        "name": "test",
        "baselines": ["old"],
        "min_suite_wins": 1,
        "test": "bootstrap",
        "kpis": {"lat": {"direction": "lower", "statistic": "p90"}, "score": {"direction": "higher"}},
        "suites": {"a": {"kpis": ["score"]}},
    }
    return {**base, **changes}


def p90(**changes: Any) -> dict[str, Any]:
    return policy(suites={"a": {"kpis": ["lat"]}}, **changes)


def runs(cells: dict[tuple[str, str, str], Any]) -> pl.DataFrame:
    rows = [
        (build, suite, kpi, f"c{case}", None if value is None else float(value))
        for (build, suite, kpi), values in cells.items()
        for case, value in enumerate(values)
    ]
    columns = ["build", "suite", "kpi", "case", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row", schema_overrides={"value": pl.Float64})


def pair(new: Any, old: Any, kpi: str = "score", suite: str = "a") -> pl.DataFrame:
    return runs({("new", suite, kpi): new, ("old", suite, kpi): old})


def noise(seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(10.0, 1.0, n)


def only(result: Any, **keys: str) -> dict[str, Any]:
    text = pl.col("candidate", "baseline", "suite", "kpi").cast(pl.String)
    rows = result.cells.with_columns(text).filter(**keys).to_dicts()
    assert len(rows) == 1
    return rows[0]


class TestRule:
    def test_figures_are_those_of_the_statistics(self) -> None:
        new, old = np.random.default_rng(1).gamma(2.0, 8.0, (2, 60))
        cell = only(fastgate.benchmark_gate(pair(new, old, "lat"), p90()))
        expected = bootstrap(new, old, statistic="p90")
        assert (cell["delta"], cell["ci_low"], cell["ci_high"]) == (
            expected.estimate,
            expected.ci_low,
            expected.ci_high,
        )
        assert cell["half_width"] == pytest.approx(expected.half_width, rel=1e-15)
        assert cell["standard_error"] == expected.standard_error
        assert (cell["engine"], cell["measure"], cell["confidence_level"]) == ("exact", "p90", 0.95)
        assert cell["mean_candidate"] == pytest.approx(new.mean())
        assert 0 < cell["welch_pvalue"] <= 1
        assert 0 < cell["paired_pvalue"] <= 1
        assert -1 <= cell["correlation"] <= 1
        for name in ("statistic", "df", "pvalue", "pvalue_adjusted", "margin_pvalue", "detectable_effect"):
            assert cell[name] is None
        assert not cell["tests_disagree"]

    def test_the_t_tests_compare_means_by_no_engine(self) -> None:
        cell = only(fastgate.benchmark_gate(pair(noise(0), noise(1)), policy(test="welch", kpis=KPIS)))
        assert (cell["measure"], cell["engine"], cell["confidence_level"]) == ("mean", None, 0.95)

    @pytest.mark.parametrize(
        ("direction", "shift", "outcome"),
        [("higher", 2, "win"), ("higher", -2, "loss"), ("lower", -2, "win"), ("lower", 2, "loss")],
    )
    def test_an_interval_on_the_right_side_of_0_wins(
        self, direction: str, shift: float, outcome: str
    ) -> None:
        rule = policy(kpis={"score": {"direction": direction, "statistic": "median"}})
        cell = only(fastgate.benchmark_gate(pair(noise(0) + shift, noise(1)), rule))
        assert cell["outcome"] == outcome
        assert cell["ci_low"] * cell["ci_high"] > 0

    def test_an_interval_that_holds_0_ties(self) -> None:
        result = fastgate.benchmark_gate(pair(noise(0), noise(0)[::-1]), policy())
        assert only(result)["outcome"] == "tie"
        assert result["new"] == "block"
        assert result.verdicts["reasons"][0].to_list() == ["too_few_wins"]

    def test_an_end_at_0_does_not_exclude_it(self) -> None:
        """Medians of whole numbers: the ends of their interval are whole or half, and 0 is one of them."""
        rule = policy(kpis={"score": {"direction": "higher", "statistic": "median"}})
        old = [1] * 12 + [2] * 9
        touching = [1] * 9 + [2] * 12
        cell = only(fastgate.benchmark_gate(pair(touching, old), rule))
        assert (cell["delta"], cell["ci_low"], cell["outcome"]) == (1.0, 0.0, "tie")
        beyond = [value + 1 for value in touching]
        assert only(fastgate.benchmark_gate(pair(beyond, old), rule))["outcome"] == "win"

    @pytest.mark.parametrize(("alternative", "outcome"), [("two-sided", "tie"), ("one-sided", "win")])
    def test_one_sided_takes_the_level_of_two_alphas(self, alternative: str, outcome: str) -> None:
        new, old = noise(2), noise(3)
        low = [bootstrap(new, old, confidence_level=level).ci_low for level in (0.95, 0.9)]
        assert low[0] < low[1]
        shifted = new - sum(low) / 2  # 0 lies between the two lower ends
        cell = only(fastgate.benchmark_gate(pair(shifted, old), policy(alternative=alternative)))
        assert cell["outcome"] == outcome
        assert cell["confidence_level"] == pytest.approx(0.95 if alternative == "two-sided" else 0.9)

    def test_the_level_follows_alpha_whatever_is_stated(self) -> None:
        rules = effective(policy(alpha=0.01, confidence_level=0.8))
        assert rules.confidence_level == 0.99
        cell = only(fastgate.benchmark_gate(pair(noise(0), noise(1)), policy(alpha=0.01)))
        assert cell["ci_low"] == bootstrap(noise(0), noise(1), confidence_level=0.99).ci_low

    def test_paired_takes_the_cases_differences(self) -> None:
        base = noise(4) * 20
        new = base + 0.3 + 0.1 * noise(5)
        frame = pair(new, base)
        unpaired = only(fastgate.benchmark_gate(frame, policy()))
        paired = only(fastgate.benchmark_gate(frame, policy(bootstrap={"paired": True})))
        assert (unpaired["outcome"], paired["outcome"]) == ("tie", "win")
        expected = bootstrap(new, base, paired=True)
        assert (paired["ci_low"], paired["ci_high"]) == (expected.ci_low, expected.ci_high)

    def test_a_suite_may_have_its_own_statistic(self) -> None:
        suites = {"a": {"kpis": ["lat"]}, "b": {"kpis": ["lat"], "statistics": {"lat": "median"}}}
        frame = pl.concat([pair(noise(0), noise(1), "lat", suite) for suite in suites])
        cells = fastgate.benchmark_gate(frame, policy(suites=suites)).cells
        assert cells["measure"].to_list() == ["p90", "median"]
        assert cells["delta"][1] == pytest.approx(np.median(noise(0)) - np.median(noise(1)))

    def test_constant_samples_are_decided_where_the_policy_says_so(self) -> None:
        frame = pair([2.0] * 20, [1.0] * 20)
        cell = only(fastgate.benchmark_gate(frame, policy()))
        assert (cell["outcome"], cell["status"], cell["reasons"]) == (
            "undefined",
            "zero_var_diff",
            ["zero_var_diff"],
        )
        assert only(fastgate.benchmark_gate(frame, policy(zero_variance="decide")))["outcome"] == "win"


KPIS = {"lat": {"direction": "lower"}, "score": {"direction": "higher"}}
GUARDED = {"kpis": ["lat", "score"], "decided_by": "lat"}


def guarded(new: Any, old: Any, guard: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The guard's cell, where latency is won clearly."""
    frame = pl.concat([pair(new, old), pair(noise(8) - 9, noise(9), "lat")])
    rule = policy(kpis=KPIS, suites={"a": {**GUARDED, "guards": {"score": guard}}}, **changes)
    tenant = next(iter(changes.get("tenants", {})), None)
    result = fastgate.benchmark_gate(frame, rule, tenant=tenant)
    cell = only(result, kpi="score")
    assert (result["new"] == "pass") == (cell["guard"] == "holds")
    return cell


class TestGuards:
    def test_worse_is_judged_at_alpha_on_one_side(self) -> None:
        new, old = noise(2), noise(3)
        high = {level: bootstrap(new, old, confidence_level=level).ci_high for level in (0.95, 0.9)}
        assert guarded(new - high[0.9] - 0.001, old, {})["guard"] == "worse"
        cell = guarded(new - high[0.9] + 0.001, old, {})
        assert cell["guard"] == "holds"
        assert cell["confidence_level"] == pytest.approx(0.9)
        assert cell["ci_high"] == pytest.approx(0.001, abs=1e-9)

    def test_a_margin_must_be_beyond_the_lower_end(self) -> None:
        new, old = noise(2), noise(3)
        low = bootstrap(new, old, confidence_level=0.9).ci_low
        assert guarded(new - low - 0.499, old, {"margin": 0.5})["guard"] == "holds"
        assert guarded(new - low - 0.501, old, {"margin": 0.5})["guard"] == "not_shown"

    def test_two_requirements_of_different_levels_have_an_interval_each(self) -> None:
        """The policy's guard stays at its own alpha; a tenant's margin is shown at the tenant's."""
        tenants = {"t": {"alpha": 0.01, "suites": {"a": {"guards": {"score": {"margin": 5.0}}}}}}
        new, old = noise(2), noise(3)
        high = {level: bootstrap(new, old, confidence_level=level).ci_high for level in (0.98, 0.9)}
        worse = guarded(new - (high[0.98] + high[0.9]) / 2, old, {}, tenants=tenants)
        assert worse["ci_high"] > 0
        assert worse["guard"] == "worse"
        assert worse["confidence_level"] == pytest.approx(0.98)
        assert guarded(new - high[0.9] + 0.001, old, {}, tenants=tenants)["guard"] == "holds"

    def test_without_an_interval_a_guard_is_undefined(self) -> None:
        assert guarded([1.0] * 40, [2.0] * 40, {})["guard"] == "undefined"


class TestFaults:
    @pytest.mark.parametrize(
        ("new", "old", "changes", "reason"),
        [
            ([1.0, None, 3.0, 2.0], [1.0, 2.0, 2.5, 3.0], {}, "missing_values"),
            ([1.0, np.inf, 3.0], [1.0, 2.0, 3.0], {}, "nonfinite"),
            ([1.0], [2.0], {}, "too_few"),
            ([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], {"min_cases": 5}, "n_lt_min"),
            ([1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0], {}, "unpaired_cases"),
        ],
    )
    @pytest.mark.parametrize("paired", [False, True])
    def test_a_fault_of_the_data_blocks(
        self, new: Any, old: Any, changes: dict[str, Any], reason: str, paired: bool
    ) -> None:
        rule = policy(bootstrap={"paired": paired}, **changes)
        result = fastgate.benchmark_gate(pair(new, old), rule)
        cell = only(result)
        assert cell["outcome"] == "undefined"
        assert reason in cell["reasons"]
        assert result["new"] == "block"
        assert reason in result.verdicts["reasons"][0]

    def test_a_missing_cell(self) -> None:
        frame = pl.concat([pair(noise(0), noise(1)), runs({("other", "b", "score"): noise(2)})])
        suites = {"a": {"kpis": ["score"]}, "b": {"kpis": ["score"]}}
        cell = only(fastgate.benchmark_gate(frame, policy(suites=suites)), candidate="other", suite="a")
        assert (cell["status"], cell["reasons"]) == ("missing_cell", ["missing_cell"])
        assert (cell["outcome"], cell["delta"], cell["ci_low"]) == ("undefined", None, None)

    def test_a_case_that_stands_twice(self) -> None:
        frame = pair(noise(0), noise(1))
        result = fastgate.benchmark_gate(pl.concat([frame, frame.head(1)]), policy())
        assert only(result)["reasons"] == ["duplicate_case"]
        assert result.faults["fault"].to_list() == ["duplicate_case"]

    def test_values_that_are_no_proportion(self) -> None:
        rule = policy(kpis={"score": {"direction": "higher", "statistic": "proportion"}})
        result = fastgate.benchmark_gate(pair([0, 1, 0.5, 1] * 5, [0, 1, 1, 1] * 5), rule)
        assert only(result)["reasons"] == ["invalid_values"]
        assert result["new"] == "block"

    @pytest.mark.parametrize(
        ("statistic", "least"), [("mean", 20), ("median", 20), ("p90", 50), ("p95", 100)]
    )
    def test_too_few_cases_for_a_bootstrap_decide_nothing(self, statistic: str, least: int) -> None:
        rule = policy(kpis={"score": {"direction": "higher", "statistic": statistic}})
        for n, reasons in ((2, ["n_lt_min"]), (least - 1, ["n_lt_min"]), (least, [])):
            cell = only(fastgate.benchmark_gate(pair(noise(0, n) + 90, noise(1, n)), rule))
            assert cell["reasons"] == reasons
            assert cell["outcome"] == ("win" if not reasons else "undefined")

    def test_what_the_engine_cannot_do_is_undefined(self) -> None:
        rule = policy(
            kpis={"score": {"direction": "higher", "statistic": "std"}}, bootstrap={"engine": "exact"}
        )
        cell = only(fastgate.benchmark_gate(pair(noise(0), noise(1)), rule))
        assert (cell["outcome"], cell["status"], cell["reasons"]) == (
            "undefined",
            "no_exact_law",
            ["no_interval"],
        )

    def test_different_cases_where_the_policy_allows_them(self) -> None:
        new, old = noise(0, 40), noise(1, 30)
        frame = pair(new, old)
        loose = policy(require_same_cases=False)
        assert only(fastgate.benchmark_gate(frame, loose))["ci_low"] == bootstrap(new, old).ci_low
        paired = only(fastgate.benchmark_gate(frame, {**loose, "bootstrap": {"paired": True}}))
        common = [int(case) for case in sorted(map(str, range(30)))]
        expected = bootstrap(new[common], old[common], paired=True)
        assert paired["ci_low"] == pytest.approx(expected.ci_low, abs=1e-12)
        assert paired["outcome"] == "tie"

    def test_moments_are_refused(self) -> None:
        frame = pl.DataFrame(
            {"build": ["new", "old"], "suite": "a", "kpi": "score", "n": 9, "mean": [2.0, 1.0], "m2": 1.0}
        )
        with pytest.raises(DataError, match="needs the values"):
            fastgate.benchmark_gate(frame, policy(require_same_cases=False))

    def test_paired_needs_to_know_the_cases(self) -> None:
        frame = pl.DataFrame(
            {"build": ["new", "old"], "suite": "a", "kpi": "score", "values": [[1.0, 2.0], [2.0, 3.0]]}
        )
        loose = policy(require_same_cases=False)
        assert only(fastgate.benchmark_gate(frame, loose))["status"] == "ok"
        with pytest.raises(DataError, match="which cases they hold"):
            fastgate.benchmark_gate(frame, {**loose, "bootstrap": {"paired": True}})

    def test_pairs_are_compared_with_their_own_baseline(self) -> None:
        new, old = noise(0), noise(1)
        frame = pl.DataFrame(
            {"candidate": "new", "baseline": "old", "suite": "a", "kpi": "score"}
            | {"candidate_values": [list(new)], "baseline_values": [list(old)]}
        )
        cell = only(fastgate.benchmark_gate(frame, policy()))
        assert cell["ci_low"] == bootstrap(new, old).ci_low


DRAWN = {"engine": "resample", "n_resamples": 499}
STD = {"score": {"direction": "lower", "statistic": "std"}}


def ends(result: Any, **keys: str) -> tuple[float, float]:
    cell = only(result, **keys)
    assert cell["engine"] == "resample"
    return cell["ci_low"], cell["ci_high"]


class TestDraws:
    def test_other_cells_change_nothing(self) -> None:
        alone = fastgate.benchmark_gate(pair(noise(0), noise(1)), policy(kpis=STD, bootstrap=DRAWN))
        crowd = pl.concat(
            [
                pair(noise(0), noise(1)),
                pair(noise(2), noise(3), suite="b"),
                pair(noise(4), noise(5), "aaa"),
                runs(
                    {
                        (b, s, k): noise(6)
                        for b in ("aa", "zz", "base")
                        for s in "ab"
                        for k in ("score", "aaa")
                    }
                ),
                runs({(b, "b", "aaa"): noise(7) for b in ("new", "old")}),
            ]
        )
        rule = policy(
            baselines=["base", "old"],
            kpis={"aaa": {"direction": "higher", "statistic": "std"}, **STD},
            suites=["b", "a"],
            bootstrap=DRAWN,
        )
        among = fastgate.benchmark_gate(crowd.sample(fraction=1, shuffle=True, seed=1), rule)
        keys = {"candidate": "new", "baseline": "old", "suite": "a", "kpi": "score"}
        assert ends(among, **keys) == ends(alone)

    def test_draws_are_keyed_by_seed_and_names(self) -> None:
        rule = policy(kpis=STD, bootstrap=DRAWN)
        frame = pair(noise(0), noise(1))
        first = ends(fastgate.benchmark_gate(frame, rule))
        assert ends(fastgate.benchmark_gate(frame, rule)) == first
        expected = bootstrap(noise(0), noise(1), statistic="std", keys=["new\x1fold\x1fa\x1fscore"], **DRAWN)
        assert first == (expected.ci_low, expected.ci_high)
        assert ends(fastgate.benchmark_gate(frame, policy(kpis=STD, bootstrap={**DRAWN, "seed": 1}))) != first
        renamed = pair(noise(0), noise(1), suite="b")
        assert (
            ends(fastgate.benchmark_gate(renamed, policy(kpis=STD, bootstrap=DRAWN, suites=["b"]))) != first
        )


MEDIAN, P95 = {"statistics": {"score": "median"}}, {"statistics": {"score": "p95"}}


class TestPolicy:
    def test_hash_of_other_tests_does_not_know_the_bootstrap(self) -> None:
        rules = effective(policy(test="welch", kpis=KPIS))
        assert rules.bootstrap is None
        assert rules.suites["a"].statistics == {}

    @pytest.mark.parametrize(
        "changes",
        [
            {"bootstrap": {"method": "percentile"}},
            {"bootstrap": {"engine": "resample"}},
            {"bootstrap": {"n_resamples": 999}},
            {"bootstrap": {"seed": 1}},
            {"bootstrap": {"paired": True}},
            {"suite_defaults": {"statistics": {"score": "median"}}},
        ],
    )
    def test_every_setting_is_in_the_hash(self, changes: dict[str, Any]) -> None:
        assert policy_hash(policy(**changes)) != policy_hash(policy())
        assert policy_hash(load_policy(to_dict(load_policy(policy(**changes))))) == policy_hash(
            policy(**changes)
        )

    def test_defaults_and_what_is_not_used_are_not(self) -> None:
        assert policy_hash(policy(bootstrap=to_dict_of(Bootstrap()), confidence_level=0.8)) == policy_hash(
            policy()
        )

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"correction": {"method": "holm"}}, "cannot be corrected"),
            ({"tenants": {"t": {"correction": {"method": "holm"}}}}, "cannot be corrected"),
            ({"kpis": {"score": {"direction": "higher", "statistic": "p100"}}}, "out of range"),
            ({"kpis": {"score": {"direction": "higher", "statistic": "mode"}}}, "not known"),
            ({"kpis": {"score": {"direction": "higher", "statistic": "ratio_of_means"}}}, "no difference"),
            ({"bootstrap": {"method": "studentised"}, "suite_defaults": MEDIAN}, "studentised"),
            ({"bootstrap": {"n_resamples": 999}, "alpha": 0.001}, "too few resamples"),
            ({"bootstrap": {"n_resamples": 999}, "tenants": {"t": {"alpha": 0.001}}}, "too few resamples"),
            ({"bootstrap": {"n_resamples": 10}}, "cannot be used"),
            ({"bootstrap": {"method": "bayes"}}, "cannot be used"),
            ({"bootstrap": {"resamples": 10}}, "unknown"),
            ({"bootstrap": {"paired": True}, "suite_defaults": P95}, "which build is better"),
            ({"tenants": {"t": {"bootstrap": {"n_resamples": 99}}}}, "unknown"),
            ({"test": "welch"}, "compares means"),
            ({"test": "paired", "kpis": KPIS, "bootstrap": {}}, "does not use the bootstrap"),
            ({"suites": {"a": {"kpis": ["score"], "statistics": {"lat": "p95"}}}}, "does not compute"),
            ({"suites": {"a": {"kpis": ["score"], "statistics": {"speed": "p95"}}}}, "no direction"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_meant_is_refused(self, changes: dict[str, Any], words: str) -> None:
        with pytest.raises(PolicyError, match=words) as caught:
            load_policy(policy(**changes))
        assert caught.value.where is not None

    def test_review(self) -> None:
        found = check_policy(
            p90(min_cases=10, bootstrap={"engine": "exact", "n_resamples": 999}, confidence_level=0.8)
        )
        keys = [remark.split(":")[0] for remark in found]
        for key in ("confidence_level", "suites.a.min_cases", "bootstrap.engine", "bootstrap.n_resamples"):
            assert key in keys
        sound = policy(min_cases=60, kpis={"score": {"direction": "higher", "statistic": "p90"}}, alpha=0.01)
        assert check_policy(sound) == []

    def test_another_engine_is_another_policy_for_previous(self, tmp_path: Path) -> None:
        frame = pair(noise(0) + 2, noise(1))
        fastgate.benchmark_gate(frame, policy()).save(tmp_path / "before.json")
        again = fastgate.benchmark_gate(frame, policy(), previous=tmp_path / "before.json")
        assert again["new"] == "pass"
        with pytest.raises(PolicyError, match="another policy"):
            fastgate.benchmark_gate(
                frame, policy(bootstrap={"engine": "resample"}), previous=tmp_path / "before.json"
            )


def to_dict_of(settings: Bootstrap) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in settings.__struct_fields__}


class TestOutput:
    @pytest.fixture
    def result(self) -> Any:
        # The p90 of a sample takes 50 cases.
        frame = pl.concat([pair(noise(8, 50) - 9, noise(9, 50), "lat"), pair(noise(0, 50), noise(1, 50))])
        return fastgate.benchmark_gate(frame, policy(suites={"a": GUARDED}))

    @pytest.mark.parametrize("name", ["r.json", "r.parquet"])
    def test_saved_and_loaded(self, result: Any, name: str, tmp_path: Path) -> None:
        result.save(tmp_path / name)
        loaded = fastgate.load(tmp_path / name)
        assert loaded.cells.equals(result.cells)
        assert loaded.policy == result.policy

    def test_schema(self, result: Any) -> None:
        jsonschema.validate(result.to_dict(), result_schema())

    def test_reports_show_intervals_and_no_p(self, result: Any) -> None:
        low, high = only(result, kpi="lat")["ci_low"], only(result, kpi="lat")["ci_high"]
        shown = f"[{low:.3g}, {high:.3g}]"
        for text in (report(result, io.StringIO()), markdown(result), junit(result).decode()):
            assert shown in text
            assert "n/a" not in text
            assert "p-value" not in text
        assert "lat p90 ↓" in report(result, io.StringIO())

    def test_explanation_has_no_cases_needed(self, result: Any) -> None:
        nearest = result.explain("new")["baselines"][0]["nearest"]
        assert [item["kpi"] for item in nearest] == ["lat"]
        assert nearest[0]["cases_needed"] is None
        assert nearest[0]["pvalue"] is None

    def test_nearest_is_by_the_end_that_decides(self) -> None:
        suites = ["a", "b", "c"]
        frame = pl.concat(
            [pair(noise(0) + shift, noise(1), suite=s) for s, shift in zip(suites, (9, 1, 4), strict=True)]
        )
        result = fastgate.benchmark_gate(
            frame, policy(kpis={"score": {"direction": "higher"}}, suites=suites)
        )
        nearest = result.explain("new")["baselines"][0]["nearest"]
        assert [item["suite"] for item in nearest] == ["b", "c", "a"]


def test_policy_in_toml() -> None:
    text = """
gate = "benchmark"
name = "latency"
baselines = ["old"]
min_suite_wins = 1
test = "bootstrap"
[bootstrap]
method = "percentile"
seed = 7
[kpis.latency_ms]
direction = "lower"
statistic = "p95"
[suites.a]
[suites.b]
statistics = { latency_ms = "p99" }
"""
    rules = effective(tomllib.loads(text))
    assert rules.bootstrap == Bootstrap(method="percentile", seed=7)
    assert {name: suite.statistics["latency_ms"] for name, suite in rules.suites.items()} == {
        "a": "p95",
        "b": "p99",
    }
