"""Plans for the benchmark gate: figures against the formulas, what a pilot gives, and what cannot be planned."""

from __future__ import annotations

import json
import math
import tomllib

import numpy as np
import polars as pl
import pytest
from example_results import POLICY_TOML, runs

import fastgate
from fastgate import ArgumentError, DataError, benchmark_plan
from fastgate.stats import rule_cases, rule_power, ttest_cases, ttest_power

SUITES = [f"s{number}" for number in range(4)]


def policy(**changes):
    return {
        "gate": "benchmark",
        "name": "demo",
        "baselines": ["old", "older"],
        "min_suite_wins": 3,
        "kpis": {"score": {"direction": "higher"}, "cost": {"direction": "lower"}},
        "suite_defaults": {"decided_by": "score"},
        "suites": SUITES,
        **changes,
    }


def pilot(n=30, builds=("new", "old", "older"), noise=1.0, shared=1.0, gain=0.3, kpis=("score",), seed=1):
    """Cases of which all builds share the difficulty; builds have noise of their own."""
    generator = np.random.default_rng(seed)
    rows = []
    for suite in SUITES:
        for kpi in kpis:
            difficulty = shared * generator.standard_normal(n)
            for build in builds:
                values = difficulty + noise * generator.standard_normal(n) + (gain if build == "new" else 0.0)
                rows.append(
                    pl.DataFrame(
                        {
                            "build": build,
                            "suite": suite,
                            "kpi": kpi,
                            "case": [f"c{i}" for i in range(n)],
                            "value": values,
                        }
                    )
                )
    return pl.concat(rows)


def one(table, **keys):
    return table.filter(*[pl.col(name) == value for name, value in keys.items()]).row(0, named=True)


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_stated_figures(test):
    found = benchmark_plan(policy(test=test), standardised_effect=0.4, correlation=0.6, power=0.9, cases=50)

    def wins(n):
        return np.full((4, 2), ttest_power(0.4, 1.0, n, correlation=0.6, test=test))

    expected = rule_cases(wins, 3, power=0.9)
    rule = found.rule
    assert (rule["cases"], rule["cases_at_least"], rule["cases_at_most"]) == (
        expected.cases,
        expected.at_least,
        expected.at_most,
    )
    assert rule["total_cases"] == 4 * expected.cases
    assert rule["power_planned"] == expected.power.power >= 0.9
    assert rule["power_now"] == rule_power(wins(50), 3).power
    assert rule["power_limit"] == pytest.approx(1.0)
    alone = ttest_cases(0.4, 1.0, correlation=0.6, test=test, power=0.9).cases
    assert (
        found.suites["cases_needed"].to_list() == found.comparisons["cases_needed"].to_list() == [alone] * 8
    )
    assert found.comparisons["power_now"].to_list() == wins(50).ravel().tolist()
    single = rule_cases(lambda n: wins(n)[:, 0], 3, power=0.9).cases
    assert found.baselines["cases_needed"].to_list() == [single] * 2
    assert single == expected.at_least


def test_an_effect_in_the_unit_of_the_kpi():
    whole = benchmark_plan(policy(), effect=2.0, sd=5.0)
    assert whole.rule == benchmark_plan(policy(), standardised_effect=0.4).rule
    assert one(whole.comparisons, suite="s0", baseline="old")["standardised_effect"] == pytest.approx(0.4)
    lower = policy(suite_defaults={"decided_by": "cost"}, kpis={"cost": {"direction": "lower"}})
    assert benchmark_plan(lower, effect={"cost": 2.0}, sd={"cost": 5.0}).rule == whole.rule


def test_the_policy_states_the_power_unless_the_caller_does():
    assert benchmark_plan(policy(power=0.9), standardised_effect=0.4).rule["power"] == 0.9
    assert benchmark_plan(policy(power=0.9), standardised_effect=0.4, power=0.7).rule["power"] == 0.7


def test_alpha_and_alternative_and_correction():
    def cases(**changes):
        return benchmark_plan(policy(**changes), standardised_effect=0.4)

    two, one_sided = cases(), cases(alternative="one-sided")
    assert one_sided.rule["cases"] < two.rule["cases"] < cases(alpha=0.01).rule["cases"]
    assert one_sided.rule == cases(alpha=0.1).rule | {}
    corrected = cases(correction={"method": "holm"})
    assert corrected.rule["cases"] == cases(alpha=0.05 / 8).rule["cases"]
    assert "0.0063" in corrected.assumptions[-1] or "0.0062" in corrected.assumptions[-1]
    sweep = policy(correction={"method": "bonferroni", "family": "sweep"})
    many = benchmark_plan(sweep, standardised_effect=0.4, n_candidates=10)
    assert many.rule["cases"] == cases(alpha=0.05 / 80).rule["cases"]


def test_min_cases_are_kept():
    found = benchmark_plan(
        policy(suites={"s0": {"min_cases": 500}, "s1": {}, "s2": {}, "s3": {}}), standardised_effect=0.5
    )
    assert found.rule["total_cases"] == 500 + 3 * found.rule["cases"]
    assert found.suites.filter(suite="s0")["cases_needed"].to_list() == [500, 500]
    few = benchmark_plan(policy(min_cases=300), standardised_effect=0.5, cases=299)
    assert few.rule["cases"] == 300
    assert few.rule["power_now"] == 0.0


def test_a_pilot_gives_noise_and_correlation():
    data = pilot()
    found = benchmark_plan(policy(test="paired"), data, effect=0.3)
    wide = data.filter(suite="s1").pivot("build", index="case", values="value")
    row = one(found.comparisons, suite="s1", baseline="old")
    assert row["sd_candidate"] == pytest.approx(wide["new"].std(), rel=1e-13)
    assert row["sd_baseline"] == pytest.approx(wide["old"].std(), rel=1e-13)
    assert row["correlation"] == pytest.approx(np.corrcoef(wide["new"], wide["old"])[0, 1], rel=1e-12)
    assert row["observed_effect"] == pytest.approx(wide["new"].mean() - wide["old"].mean(), rel=1e-10)
    assert (row["cases_now"], row["effect"], row["reason"]) == (30, 0.3, None)
    power = ttest_power(
        0.3,
        row["sd_candidate"],
        30,
        baseline_sd=row["sd_baseline"],
        correlation=row["correlation"],
        test="paired",
    )
    assert row["power_now"] == pytest.approx(power, rel=1e-12)
    assert found.settings["pilot"]["rows"] == data.height
    assert found.settings["candidates"] == ["new"]


@pytest.mark.parametrize("shape", ["pairs", "packed", "moments"])
def test_every_shape_gives_the_same_plan(shape):
    data = pilot()
    whole = benchmark_plan(policy(), data, effect=0.3)
    if shape == "packed":
        other = fastgate.pack(data)
    elif shape == "moments":
        cells = data.group_by("build", "suite", "kpi").agg(
            pl.len().alias("n"), pl.col("value").mean().alias("mean"), pl.col("value").var().alias("variance")
        )
        other = cells
    else:
        left = data.filter(build="new").rename({"build": "candidate", "value": "candidate_value"})
        right = data.filter(pl.col("build") != "new").rename({"build": "baseline", "value": "baseline_value"})
        other = left.join(right, on=["suite", "kpi", "case"])
    found = benchmark_plan(policy(require_same_cases=False), other, effect=0.3)
    sds = ["sd", "sd_candidate", "sd_baseline"]
    for name in sds:
        assert found.comparisons[name].to_list() == pytest.approx(
            whole.comparisons[name].to_list(), rel=1e-12
        )
    if shape == "moments":
        assert "taken to be 0" in " ".join(found.assumptions)
        paired = benchmark_plan(policy(test="paired", require_same_cases=False), other, effect=0.3)
        assert paired.suites["reason"].to_list() == ["no_correlation"] * 8
        stated = benchmark_plan(
            policy(test="paired", require_same_cases=False), other, effect=0.3, correlation=0.5
        )
        assert stated.suites["reason"].null_count() == 8
    else:
        assert found.rule["cases"] == whole.rule["cases"]


def test_candidates_of_a_pilot_are_pooled():
    first, second = (
        pilot(seed=1),
        pilot(seed=1, noise=2.0).filter(build="new").with_columns(build=pl.lit("newer")),
    )
    both = pl.concat([first, second])
    found = one(benchmark_plan(policy(), both, effect=0.3).comparisons, suite="s0", baseline="old")
    apart = [
        one(
            benchmark_plan(policy(), both, effect=0.3, candidates=[name]).comparisons,
            suite="s0",
            baseline="old",
        )
        for name in ("new", "newer")
    ]
    variance = np.mean([row["sd_candidate"] ** 2 for row in apart])
    assert found["sd_candidate"] == pytest.approx(math.sqrt(variance), rel=1e-12)
    covariance = np.mean([row["correlation"] * row["sd_candidate"] * row["sd_baseline"] for row in apart])
    assert found["correlation"] == pytest.approx(
        covariance / found["sd_candidate"] / found["sd_baseline"], rel=1e-12
    )
    with pytest.raises(ArgumentError, match="several candidates"):
        benchmark_plan(policy(), both, pilot_effect=True)


def test_the_pilots_own_effect_is_an_option_and_questioned():
    found = benchmark_plan(policy(), pilot(n=60, gain=1.0), pilot_effect=True)
    assert found.comparisons["effect"].to_list() == found.comparisons["observed_effect"].to_list()
    assert "overstate" in found.assumptions[0]
    lost = benchmark_plan(policy(), pilot(n=60, gain=-1.0), pilot_effect=True)
    assert set(lost.suites["reason"]) == {"no_gain"}
    assert lost.rule["cases"] is None
    assert lost.rule["power_limit"] == pytest.approx(0.0, abs=1e-12)


def test_what_is_stated_goes_before_the_pilot():
    found = benchmark_plan(policy(), pilot(), effect=0.3, sd=2.0, correlation=0.25)
    assert set(found.comparisons["sd"]) == {2.0}
    assert set(found.comparisons["correlation"]) == {0.25}


def test_guards_take_power():
    guarded = policy(suite_defaults={"decided_by": "score", "guards": {"cost": {"margin": 0.5}}})
    found = benchmark_plan(guarded, effect=0.4, sd={"score": 1.0, "cost": 1.5}, cases=80)
    within = ttest_power(0.5, 1.5, 80, alternative="one-sided")
    win = ttest_power(0.4, 1.0, 80)
    row = one(found.suites, suite="s0", baseline="old")
    assert row["power_now"] == pytest.approx(win * within, rel=1e-12)
    guard = one(found.comparisons, suite="s0", kpi="cost", baseline="old")
    assert (guard["effect"], guard["margin"]) == (0.0, 0.5)
    assert guard["power_now"] == pytest.approx(within)
    assert guard["cases_needed"] == ttest_cases(0.5, 1.5, alternative="one-sided").cases
    needed = row["cases_needed"]

    def suite(n):
        return ttest_power(0.5, 1.5, n, alternative="one-sided") * ttest_power(0.4, 1.0, n)

    assert suite(needed) >= 0.8 > suite(needed - 1)
    unknown = benchmark_plan(guarded, effect=0.4, sd={"score": 1.0})
    assert set(unknown.suites["reason"]) == {"no_sd"}


def test_guards_without_a_margin_fail_by_chance():
    guarded = policy(suite_defaults={"decided_by": "score", "guards": {"cost": {}}})
    found = benchmark_plan(guarded, standardised_effect=0.4, cases=80)
    row = one(found.suites, suite="s0", baseline="old")
    chance = ttest_power(0.0, 1.0, 80, alternative="one-sided")
    assert row["power_now"] == pytest.approx(ttest_power(0.4, 1.0, 80) * (1 - chance), rel=1e-12)
    assert chance == pytest.approx(0.05, abs=1e-3)
    sure = benchmark_plan(guarded | {"min_suite_wins": 4}, standardised_effect=0.4, power=0.999)
    assert sure.rule["cases"] is None
    assert sure.rule["power_limit"] < 0.95**4 + 0.1
    assert set(sure.suites["reason"]) == {"guard_limit"}


def test_suites_of_several_kpis():
    def plan(decided_by):
        both = policy(suite_defaults={"decided_by": decided_by, "kpis": ["score", "cost"]})
        return benchmark_plan(both, standardised_effect={"score": 0.4, "cost": 0.6}, cases=60)

    powers = ttest_power([0.4, 0.6], 1.0, 60)
    assert plan("all").suites["power_now"][0] == pytest.approx(powers.prod(), rel=1e-12)
    assert plan("any").suites["power_now"][0] == pytest.approx(powers.max(), rel=1e-12)


def test_tenants_may_raise():
    raised = policy(tenants={"strict": {"min_suite_wins": 4}})
    base, strict = (benchmark_plan(raised, standardised_effect=0.4, tenant=name) for name in (None, "strict"))
    assert strict.rule["required"] == 4
    assert strict.rule["cases"] > base.rule["cases"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda frame: frame.filter(pl.col("suite") != "s2"), "missing_cell"),
        (
            lambda frame: frame.with_columns(value=pl.when(suite="s2").then(1.0).otherwise("value")),
            "zero_var_equal",
        ),
        (
            lambda frame: frame.with_columns(
                value=pl.when(pl.col("suite") == "s2", pl.col("build") == "old")
                .then(math.inf)
                .otherwise("value")
            ),
            "nonfinite",
        ),
        (lambda frame: pl.concat([frame, frame.filter(suite="s2", build="old")]), "duplicate_case"),
        (lambda frame: frame.filter((pl.col("suite") != "s2") | (pl.col("case") == "c1")), "too_few"),
    ],
)
def test_a_faulty_suite_is_named_and_counts_as_not_won(change, reason):
    found = benchmark_plan(policy(), change(pilot()), standardised_effect=0.8)
    rows = found.suites.filter(suite="s2")
    assert reason in rows["reason"].to_list()
    assert rows.filter(reason=reason)["cases_needed"].null_count() == rows.filter(reason=reason).height
    assert found.suites.filter(pl.col("suite") != "s2")["reason"].null_count() == 6
    assert found.rule["suites_planned"] == 3
    sound = benchmark_plan(policy(), pilot(), standardised_effect=0.8)
    assert found.rule["cases"] > sound.rule["cases"]  # all three others must be won
    every = benchmark_plan(policy(min_suite_wins=4), change(pilot()), standardised_effect=0.8)
    assert every.rule["cases"] is None


def test_pairs_need_the_same_cases():
    odd = pilot().filter((pl.col("suite") != "s2") | (pl.col("build") != "old") | (pl.col("case") != "c1"))
    paired = benchmark_plan(policy(test="paired"), odd, effect=0.8)
    assert one(paired.suites, suite="s2", baseline="old")["reason"] == "unpaired_cases"
    assert one(paired.suites, suite="s2", baseline="older")["reason"] is None
    stated = benchmark_plan(policy(test="paired"), odd, effect=0.8, correlation=0.5)
    assert stated.suites["reason"].null_count() == 8
    assert benchmark_plan(policy(), odd, effect=0.8).suites["reason"].null_count() == 8


def test_a_small_pilot_may_be_smaller_than_the_policy_asks_for():
    found = benchmark_plan(policy(min_cases=100), pilot(n=8), effect=0.8)
    assert found.suites["reason"].null_count() == 8
    assert found.rule["power_now"] == 0.0
    assert "8 cases" in " ".join(found.assumptions)


def test_a_constant_baseline_has_no_covariance():
    flat = pilot().with_columns(value=pl.when(build="old").then(0.0).otherwise("value"))
    row = one(benchmark_plan(policy(), flat, effect=0.8).comparisons, suite="s0", baseline="old")
    assert (row["sd_baseline"], row["correlation"], row["reason"]) == (0.0, 0.0, None)


def test_the_shared_noise_comes_from_the_noise():
    """A candidate much noisier than its baselines meets all with the same noise."""
    quiet = pilot(n=4000, shared=0.0, noise=1.0, seed=3).with_columns(
        value=pl.col("value") * pl.when(build="new").then(10.0).otherwise(1.0)
    )
    found = benchmark_plan(policy(), quiet, standardised_effect=0.4).rule
    assert found["cases_at_most"] > found["cases"]
    assert found["cases"] - found["cases_at_least"] < 0.4 * (found["cases_at_most"] - found["cases_at_least"])


def test_plain_data_are_json():
    found = benchmark_plan(tomllib.loads(POLICY_TOML), runs({"good": (6.0, 6.0, 6.0)}), effect={"score": 2.0})
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["rule"]["suites"] == 3
    assert one(found.suites, suite="prose", baseline="old")["reason"] == "no_effect"


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"test": "bootstrap"}, {"standardised_effect": 0.4}, "no formula"),
        ({}, {}, "not stated"),
        ({}, {"effect": 1.0, "standardised_effect": 1.0}, "several effects"),
        ({}, {"pilot_effect": True}, "no pilot"),
        ({}, {"effect": 1.0}, "without the noise"),
        ({}, {"effect": -1.0, "sd": 1.0}, "above 0"),
        ({}, {"effect": True, "sd": 1.0}, "not usable"),
        ({}, {"effect": math.nan, "sd": 1.0}, "not usable"),
        ({}, {"effect": {"scor": 1.0}, "sd": 1.0}, "did you mean 'score'"),
        ({}, {"effect": 1.0, "sd": 0.0}, "above 0"),
        ({}, {"standardised_effect": 0.4, "power": 1.0}, "power is out of range"),
        ({}, {"standardised_effect": 0.4, "correlation": 1.0}, "above -1 and below 1"),
        ({}, {"standardised_effect": 0.4, "cases": 1}, "2 or more"),
        ({}, {"standardised_effect": 0.4, "candidates": ["new"]}, "without a pilot"),
        ({}, {"standardised_effect": 0.4, "n_candidates": 0}, "1 or more"),
        ({"test": "paired"}, {"standardised_effect": 0.4}, "correlation of the pairs"),
    ],
)
def test_bad_arguments(changes, options, words):
    with pytest.raises(ArgumentError) as caught:
        benchmark_plan(policy(**changes), **options)
    assert words in str(caught.value)


def test_a_pilot_without_a_baseline_or_candidate():
    with pytest.raises(DataError, match="'older'"):
        benchmark_plan(policy(), pilot(builds=("new", "old")), effect=1.0)
    with pytest.raises(DataError, match="no candidate"):
        benchmark_plan(policy(), pilot(builds=("old", "older")), effect=1.0)
    with pytest.raises(ArgumentError, match="did you mean 'new'"):
        benchmark_plan(policy(), pilot(), effect=1.0, candidates=["nwe"])
