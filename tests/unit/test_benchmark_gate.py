"""The benchmark gate: its rule line by line, its faults, its previous release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

import fastgate
from fastgate.errors import ArgumentError, DataError, PolicyError

SUITES = [f"s{i}" for i in range(8)]


def policy(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "gate": "benchmark",
        "name": "test",
        "baselines": ["old"],
        "kpis": {"score": {"direction": "higher"}},
        "suites": SUITES,
    }
    return {**base, **changes}


def sample(mean: float, seed: int = 0, n: int = 10, spread: float = 1.0) -> np.ndarray:
    """n values of exactly this mean and standard deviation, of random shape."""
    values = np.random.default_rng(seed).normal(size=n)
    return mean + spread * (values - values.mean()) / values.std(ddof=1)


def runs(cells: dict[tuple[str, str, str], Any]) -> pl.DataFrame:
    """A long frame from {(build, suite, kpi): values}."""
    rows = [
        (build, suite, kpi, f"c{case}", None if value is None else float(value))
        for (build, suite, kpi), values in cells.items()
        for case, value in enumerate(values)
    ]
    columns = ["build", "suite", "kpi", "case", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row", schema_overrides={"value": pl.Float64})


def suites_won(
    *won: int, build: str = "new", kpi: str = "score", lost: tuple[int, ...] = ()
) -> dict[Any, Any]:
    """Cells in which `build` beats the baseline clearly in some suites, loses in others, ties in the rest."""
    cells: dict[Any, Any] = {}
    for i, suite in enumerate(SUITES):
        shift = 5.0 if i in won else -5.0 if i in lost else 0.1
        cells["old", suite, kpi] = sample(10.0, seed=i)
        cells[build, suite, kpi] = sample(10.0 + shift, seed=100 + i)
    return cells


def cell(
    result: Any, candidate: str, suite: str, kpi: str = "score", baseline: str = "old"
) -> dict[str, Any]:
    text = pl.col("candidate", "baseline", "suite", "kpi").cast(pl.String)
    rows = result.cells.with_columns(text).filter(
        candidate=candidate, suite=suite, kpi=kpi, baseline=baseline
    )
    assert rows.height == 1
    return rows.to_dicts()[0]


class TestRule:
    @pytest.mark.parametrize(
        ("won", "verdict"), [(8, "pass"), (7, "pass"), (6, "pass"), (5, "block"), (0, "block")]
    )
    def test_six_of_eight(self, won: int, verdict: str) -> None:
        result = fastgate.benchmark_gate(runs(suites_won(*range(won))), policy())
        assert result["new"] == verdict
        row = result.baselines.to_dicts()[0]
        assert (row["wins"], row["ties"], row["required"]) == (won, 8 - won, 6)
        assert ("too_few_wins" in row["reasons"]) == (won < 6)

    def test_losses_are_counted_but_six_wins_pass(self) -> None:
        result = fastgate.benchmark_gate(runs(suites_won(*range(6), lost=(6, 7))), policy())
        assert result["new"] == "pass"
        assert result.baselines["losses"][0] == 2

    def test_every_baseline_must_be_beaten(self) -> None:
        cells = suites_won(*range(8))
        cells |= {("strong", suite, "score"): sample(20.0, seed=9) for suite in SUITES}
        result = fastgate.benchmark_gate(runs(cells), policy(baselines=["old", "strong"]))
        assert result["new"] == "block"
        assert result.verdicts.row(0, named=True)["baselines_beaten"] == 1

    def test_lower_is_better(self) -> None:
        low = policy(kpis={"score": {"direction": "lower"}})
        assert fastgate.benchmark_gate(runs(suites_won(lost=tuple(range(8)))), low)["new"] == "pass"
        assert fastgate.benchmark_gate(runs(suites_won(*range(8))), low)["new"] == "block"

    def test_a_suite_may_turn_a_direction(self) -> None:
        turned = policy(suites={name: {} for name in SUITES[1:]} | {"s0": {"directions": {"score": "lower"}}})
        result = fastgate.benchmark_gate(runs(suites_won(*range(1, 6), lost=(0,))), turned)
        assert cell(result, "new", "s0")["outcome"] == "win"
        assert result["new"] == "pass"

    def test_figures_are_scipys(self) -> None:
        cells = suites_won(0)
        result = fastgate.benchmark_gate(runs(cells), policy())
        new, old = cells["new", "s0", "score"], cells["old", "s0", "score"]
        welch = scipy_stats.ttest_ind(new, old, equal_var=False)
        interval = welch.confidence_interval(0.95)
        mine = cell(result, "new", "s0")
        assert mine["statistic"] == pytest.approx(welch.statistic, rel=1e-12)
        assert mine["df"] == pytest.approx(welch.df, rel=1e-12)
        assert mine["pvalue"] == pytest.approx(welch.pvalue, rel=1e-11)
        assert (mine["ci_low"], mine["ci_high"]) == pytest.approx(interval, rel=1e-11)
        assert mine["delta"] == pytest.approx(new.mean() - old.mean(), rel=1e-12)
        assert mine["paired_pvalue"] == pytest.approx(scipy_stats.ttest_rel(new, old).pvalue, rel=1e-11)
        assert mine["correlation"] == pytest.approx(np.corrcoef(new, old)[0, 1], rel=1e-10)

    def test_the_paired_test_decides_where_the_policy_says_so(self) -> None:
        base = sample(10.0, seed=1, spread=3.0)
        cells = {
            (build, s, "score"): base + (build == "new") * (1 + 0.1 * sample(0.0, seed=2))
            for s in SUITES
            for build in ("new", "old")
        }
        assert fastgate.benchmark_gate(runs(cells), policy())["new"] == "block"
        result = fastgate.benchmark_gate(runs(cells), policy(test="paired"))
        assert result["new"] == "pass"
        mine = cell(result, "new", "s0")
        expected = scipy_stats.ttest_rel(cells["new", "s0", "score"], cells["old", "s0", "score"])
        assert mine["pvalue"] == mine["paired_pvalue"] == pytest.approx(expected.pvalue, rel=1e-10)
        assert mine["welch_pvalue"] > 0.05
        assert result.suites["tests_disagree"].all()

    @pytest.mark.parametrize("gain", [0.5, 0.9, -0.9])
    def test_disagreement_is_about_the_policys_alternative(self, gain: float) -> None:
        base = sample(10.0, seed=1)
        cells = {("old", s, "score"): base for s in SUITES}
        cells |= {("new", s, "score"): base + sample(gain, seed=9, spread=1.2) for s in SUITES}
        result = fastgate.benchmark_gate(runs(cells), policy(alternative="one-sided"))
        new, old = cells["new", "s0", "score"], base
        tests = [
            scipy_stats.ttest_ind(new, old, equal_var=False, alternative="greater").pvalue < 0.05,
            scipy_stats.ttest_rel(new, old, alternative="greater").pvalue < 0.05,
        ]
        assert cell(result, "new", "s0")["tests_disagree"] == (tests[0] != tests[1])

    def test_one_sided(self) -> None:
        cells = {
            (b, s, "score"): sample(10.0 + 0.85 * (b == "new"), seed=3 + (b == "new"))
            for s in SUITES
            for b in ("new", "old")
        }
        two = fastgate.benchmark_gate(runs(cells), policy())
        one = fastgate.benchmark_gate(runs(cells), policy(alternative="one-sided"))
        assert cell(one, "new", "s0")["pvalue"] == pytest.approx(
            cell(two, "new", "s0")["pvalue"] / 2, rel=1e-12
        )
        assert (two["new"], one["new"]) == ("block", "pass")
        worse = fastgate.benchmark_gate(runs(suites_won(lost=(0,))), policy(alternative="one-sided"))
        assert cell(worse, "new", "s0")["outcome"] == "loss"

    def test_a_correction_leaves_guards_and_shown_kpis_their_own_p(self) -> None:
        cells = suites_won(*range(8))
        for i, s in enumerate(SUITES):
            cells["old", s, "cost"], cells["new", s, "cost"] = sample(5.0, seed=i), sample(1.0, seed=40 + i)
        kpis = {"score": {"direction": "higher"}, "cost": {"direction": "lower"}}
        rule = policy(kpis=kpis, suite_defaults={"decided_by": "score"}, correction={"method": "holm"})
        result = fastgate.benchmark_gate(runs(cells), rule)
        assert cell(result, "new", "s0", "cost")["outcome"] == "win"

    @pytest.mark.parametrize("family", ["candidate", "sweep"])
    @pytest.mark.parametrize("method", ["holm", "hochberg", "bonferroni", "bh", "by"])
    def test_correction_decides_and_is_of_its_family(self, method: str, family: str) -> None:
        cells = suites_won(0, 1) | suites_won(0, 1, 2, build="other")
        rule = policy(correction={"method": method, "family": family})
        result = fastgate.benchmark_gate(runs(cells), rule)
        frame = result.cells.with_columns(pl.col("candidate").cast(pl.String))
        groups = [frame] if family == "sweep" else frame.partition_by("candidate")
        for group in groups:
            expected = fastgate.stats.adjust(group["pvalue"].to_numpy(), method)
            assert group["pvalue_adjusted"].to_list() == expected.tolist()
            wins = (group["pvalue_adjusted"] < 0.05) & (group["delta"] > 0)
            assert (group["outcome"] == "win").to_list() == wins.to_list()

    def test_adjusted_p_is_shown_but_does_not_decide_without_correction(self) -> None:
        result = fastgate.benchmark_gate(runs(suites_won(0)), policy())
        expected = fastgate.stats.adjust(result.cells["pvalue"].to_numpy(), "holm")
        assert result.cells["pvalue_adjusted"].to_list() == expected.tolist()

    @pytest.mark.parametrize(
        ("decided_by", "outcomes", "expected"),
        [
            ("all", ("win", "win"), "win"),
            ("all", ("win", "tie"), "tie"),
            ("all", ("win", "loss"), "loss"),
            ("all", ("win", "undefined"), "undefined"),
            ("any", ("win", "loss"), "win"),
            ("any", ("win", "undefined"), "win"),
            ("any", ("tie", "loss"), "loss"),
            ("any", ("tie", "tie"), "tie"),
            ("any", ("tie", "undefined"), "undefined"),
            ("score", ("win", "loss"), "win"),
            ("score", ("tie", "win"), "tie"),
        ],
    )
    def test_which_kpis_decide_a_suite(
        self, decided_by: str, outcomes: tuple[str, str], expected: str
    ) -> None:
        shift = {"win": 5.0, "tie": 0.1, "loss": -5.0, "undefined": 0.0}
        cells = {}
        for kpi, outcome in zip(("score", "speed"), outcomes, strict=True):
            cells["old", "s0", kpi] = sample(10.0, seed=1)
            cells["new", "s0", kpi] = (
                np.full(10, 3.0) if outcome == "undefined" else sample(10.0 + shift[outcome], seed=2)
            )
            if outcome == "undefined":
                cells["old", "s0", kpi] = np.full(10, 3.0)
        rule = policy(
            suites={"s0": {"decided_by": decided_by}},
            kpis={"score": {"direction": "higher"}, "speed": {"direction": "higher"}},
            min_suite_wins=1,
        )
        result = fastgate.benchmark_gate(runs(cells), rule)
        assert result.suites["outcome"][0] == expected
        assert result["new"] == ("pass" if expected == "win" else "block")

    def test_min_suite_wins_of_tenants(self) -> None:
        rule = policy(tenants={"bank": {"min_suite_wins": 8}})
        data = runs(suites_won(*range(7)))
        assert fastgate.benchmark_gate(data, rule)["new"] == "pass"
        strict = fastgate.benchmark_gate(data, rule, tenant="bank")
        assert strict["new"] == "block"
        assert strict.evidence["tenant"] == "bank"


class TestGuards:
    def result(self, shift: float, guard: dict[str, Any], **changes: Any) -> Any:
        cells = suites_won(*range(8))
        for i, suite in enumerate(SUITES):
            cells["old", suite, "latency_ms"] = sample(100.0, seed=50 + i)
            cells["new", suite, "latency_ms"] = sample(100.0 + shift, seed=70 + i)
        rule = policy(
            kpis={"score": {"direction": "higher"}, "latency_ms": {"direction": "lower"}},
            suite_defaults={"guards": {"latency_ms": guard}, "decided_by": "score"},
            **changes,
        )
        return fastgate.benchmark_gate(runs(cells), rule)

    def test_a_win_may_not_be_bought_with_a_guard(self) -> None:
        result = self.result(+3.0, {})
        assert result["new"] == "block"
        assert set(result.suites["outcome"]) == {"loss"}
        assert result.suites["failed_guards"].to_list() == [["latency_ms"]] * 8
        assert "guard_worse" in result.verdicts["reasons"][0]

    def test_better_or_unclear_guards_hold(self) -> None:
        assert self.result(-3.0, {})["new"] == "pass"
        assert self.result(0.2, {})["new"] == "pass"

    def test_with_a_margin_non_inferiority_must_be_shown(self) -> None:
        assert self.result(0.2, {"margin": 3.0})["new"] == "pass"
        unclear = self.result(0.2, {"margin": 0.5})
        assert unclear["new"] == "block"
        assert set(unclear.suites["outcome"]) == {"tie"}
        guard = cell(unclear, "new", "s0", "latency_ms")
        assert guard["guard"] == "not_shown"
        t = (0.5 - guard["delta"]) / guard["standard_error"]
        assert guard["margin_pvalue"] == pytest.approx(scipy_stats.t.sf(t, guard["df"]), rel=1e-10)

    def test_a_tenants_smaller_alpha_does_not_loosen_a_guard(self) -> None:
        tenants = {"bank": {"alpha": 1e-9}}
        shift = 1.2  # worse at 0.05, not at 1e-9
        assert self.result(shift, {}, tenants=tenants)["new"] == "block"
        cells = self.result(shift, {}).cells.filter(pl.col("role") == "guard")
        assert (cells["guard"] == "worse").any()

    @pytest.mark.parametrize(("rule", "verdict"), [("undefined", "block"), ("decide", "pass")])
    def test_a_guard_without_a_result_fails_closed(self, rule: str, verdict: str) -> None:
        cells = suites_won(*range(8))
        for suite in SUITES:
            for build in ("old", "new"):
                cells[build, suite, "disputes"] = np.zeros(10)
        kpis = {"score": {"direction": "higher"}, "disputes": {"direction": "lower"}}
        defaults = {"guards": {"disputes": {}}, "decided_by": "score"}
        result = fastgate.benchmark_gate(
            runs(cells), policy(kpis=kpis, suite_defaults=defaults, zero_variance=rule)
        )
        assert result["new"] == verdict


class TestFaults:
    """Each fault blocks its candidate, with its reason, and leaves the other as it was."""

    @pytest.mark.parametrize(
        ("reason", "values"),
        [
            ("missing_values", [np.nan, *range(2, 11)]),
            ("missing_values", [None, *range(2, 11)]),
            ("nonfinite", [np.inf, *range(2, 11)]),
            ("nonfinite", [-np.inf, *range(2, 11)]),
            ("unpaired_cases", range(1, 10)),
            ("unpaired_cases", range(1, 12)),
            ("too_few", [1.0, *[None] * 9]),
            ("missing_cell", []),
        ],
    )
    @pytest.mark.parametrize("test", ["welch", "paired"])
    def test_fault(self, test: str, reason: str, values: Any) -> None:
        good = suites_won(*range(8), build="good")
        cells = suites_won(*range(8), build="bad") | good
        cells["bad", "s3", "score"] = values
        result = fastgate.benchmark_gate(runs(cells), policy(test=test))
        assert result["bad"] == "block"
        assert reason in result.verdicts.filter(pl.col("candidate") == "bad")["reasons"][0]
        broken = cell(result, "bad", "s3")
        assert broken["outcome"] == "undefined"
        assert reason in broken["reasons"]
        alone = fastgate.benchmark_gate(runs(good), policy(test=test))
        mine = result.cells.filter(pl.col("candidate").cast(pl.String) == "good")
        for column in ("pvalue", "pvalue_adjusted", "outcome", "delta", "ci_low"):
            assert mine[column].to_list() == alone.cells[column].to_list()
        assert result["good"] == alone["good"] == "pass"

    def test_duplicate_cases(self) -> None:
        data = runs(suites_won(*range(8)) | suites_won(*range(8), build="good"))
        twice = pl.concat([data, data.filter(build="new", suite="s0", case="c4")])
        result = fastgate.benchmark_gate(twice, policy())
        assert (result["new"], result["good"]) == ("block", "pass")
        assert result.faults.to_dicts() == [
            {
                "build": "new",
                "suite": "s0",
                "kpi": "score",
                "case": "c4",
                "fault": "duplicate_case",
                "against": "",
            }
        ]

    def test_mismatch_is_reported_case_by_case(self) -> None:
        data = runs(suites_won(*range(8)))
        renamed = data.with_columns(
            case=pl.when((pl.col("build") == "new") & (pl.col("suite") == "s1") & (pl.col("case") == "c2"))
            .then(pl.lit("c99"))
            .otherwise("case")
        )
        result = fastgate.benchmark_gate(renamed, policy())
        assert result["new"] == "block"
        assert set(result.faults.select("build", "case", "fault", "against").rows()) == {
            ("new", "c2", "missing_case", "old"),
            ("old", "c99", "missing_case", "new"),
        }

    def test_a_share_of_missing_values_may_be_allowed(self) -> None:
        cells = suites_won(*range(8))
        cells["new", "s0", "score"] = [None, *cells["new", "s0", "score"][1:]]
        allowed = fastgate.benchmark_gate(runs(cells), policy(max_missing_share=0.1))
        assert allowed["new"] == "pass"
        assert (
            cell(allowed, "new", "s0")["n_candidate"],
            cell(allowed, "new", "s0")["n_missing_candidate"],
        ) == (9, 1)
        assert fastgate.benchmark_gate(runs(cells), policy(max_missing_share=0.09))["new"] == "block"

    def test_fewer_cases_than_the_policy_asks_for(self) -> None:
        result = fastgate.benchmark_gate(runs(suites_won(*range(8))), policy(min_cases=11))
        assert result["new"] == "block"
        assert result.verdicts["reasons"].to_list() == [["n_lt_min", "too_few_wins"]]

    def test_cases_in_common_where_the_policy_allows_it(self) -> None:
        cells = suites_won(*range(8))
        cells["new", "s0", "score"] = [*cells["new", "s0", "score"], 15.0]
        for test in ("welch", "paired"):
            result = fastgate.benchmark_gate(runs(cells), policy(require_same_cases=False, test=test))
            assert result["new"] == "pass"
            new, old = cells["new", "s0", "score"], cells["old", "s0", "score"]
            expected = scipy_stats.ttest_rel(new[:10], old).pvalue
            mine = cell(result, "new", "s0")
            assert mine["paired_pvalue"] == pytest.approx(expected, rel=1e-11)
            # What is shown is what the decision rests on: ten pairs, or all eleven values.
            assert mine["n_candidate"] == (10 if test == "paired" else 11)
            assert mine["mean_candidate"] - mine["mean_baseline"] == pytest.approx(mine["delta"], rel=1e-12)
            assert fastgate.benchmark_gate(runs(cells), policy(test=test))["new"] == "block"

    def test_a_faulty_baseline_blocks_all(self) -> None:
        cells = suites_won(*range(8)) | suites_won(*range(8), build="other")
        cells["old", "s0", "score"] = [np.nan] * 10
        result = fastgate.benchmark_gate(runs(cells), policy())
        assert result.verdicts["verdict"].to_list() == ["block", "block"]

    def test_a_kpi_that_is_only_shown_decides_nothing(self) -> None:
        cells = suites_won(*range(8))
        cells |= {(b, s, "cost"): [np.nan] * 10 for b in ("new", "old") for s in SUITES}
        kpis = {"score": {"direction": "higher"}, "cost": {"direction": "lower"}}
        result = fastgate.benchmark_gate(
            runs(cells), policy(kpis=kpis, suite_defaults={"decided_by": "score"})
        )
        assert result["new"] == "pass"
        assert cell(result, "new", "s0", "cost")["outcome"] == "undefined"

    def test_constant_samples(self) -> None:
        cells = suites_won(*range(8))
        # Ten times 0.7 and ten times 0.5 have variances of rounding noise: t would be 4e15.
        cells["new", "s0", "score"], cells["old", "s0", "score"] = [0.7] * 10, [0.5] * 10
        undefined = fastgate.benchmark_gate(runs(cells), policy())
        assert cell(undefined, "new", "s0")["outcome"] == "undefined"
        assert cell(undefined, "new", "s0")["status"] == "zero_var_diff"
        assert cell(undefined, "new", "s0")["reasons"] == ["zero_var_diff"]
        assert undefined["new"] == "pass"  # seven other suites are won
        decided = fastgate.benchmark_gate(runs(cells), policy(zero_variance="decide"))
        assert cell(decided, "new", "s0")["outcome"] == "win"
        cells["old", "s0", "score"] = [0.7] * 10
        equal = fastgate.benchmark_gate(runs(cells), policy(zero_variance="decide"))
        assert cell(equal, "new", "s0")["outcome"] == "tie"

    def test_a_difference_beyond_float64_is_a_fault(self) -> None:
        cells = suites_won(*range(8))
        cells["new", "s0", "score"] = [1.7e308, 1.6e308] * 5
        cells["old", "s0", "score"] = [-1.7e308, -1.6e308] * 5
        result = fastgate.benchmark_gate(runs(cells), policy())
        assert cell(result, "new", "s0")["reasons"] == ["nonfinite"]
        assert result["new"] == "block"

    def test_precision_loss(self) -> None:
        cells = suites_won(*range(8))
        cells["old", "s0", "score"] = [1e16 + 2 * (i % 2) for i in range(10)]
        cells["new", "s0", "score"] = [1e16 + 8 + 2 * (i % 2) for i in range(10)]
        result = fastgate.benchmark_gate(runs(cells), policy())
        assert cell(result, "new", "s0")["status"] == "precision_loss"
        assert cell(result, "new", "s0")["outcome"] == "undefined"


class TestPrevious:
    @pytest.mark.parametrize(
        ("won", "verdict"),
        [
            ((0, 1, 2, 3, 4, 5, 6, 7), "pass"),
            ((0, 1, 2, 3, 4, 5, 6), "review"),
            ((0, 1, 2, 3, 4, 5), "block"),
        ],
    )
    def test_lost_suites(self, tmp_path: Path, won: tuple[int, ...], verdict: str) -> None:
        before = fastgate.benchmark_gate(runs(suites_won(*range(8), build="release-1")), policy())
        after = runs(suites_won(*won, build="release-2"))
        for name in ("before.json", "before-folder"):
            before.save(tmp_path / name)
            result = fastgate.benchmark_gate(after, policy(), previous=tmp_path / name)
            assert result["release-2"] == verdict
            assert result.verdicts["lost_suites"][0].to_list() == [
                s for i, s in enumerate(SUITES) if i not in won
            ]
            assert result.evidence["previous"]["candidate"] == "release-1"

    def test_two_suites_lost_to_two_baselines_are_two(self) -> None:
        cells = suites_won(*range(8))
        cells |= {("older", s, "score"): sample(10.0, seed=i) for i, s in enumerate(SUITES)}
        rule = policy(baselines=["old", "older"])
        before = fastgate.benchmark_gate(runs(cells), rule)
        cells["old", "s0", "score"] = cells["new", "s0", "score"]
        cells["older", "s1", "score"] = cells["new", "s1", "score"]
        result = fastgate.benchmark_gate(runs(cells), rule, previous=before)
        assert result.baselines["verdict"].to_list() == ["review", "review"]
        assert result["new"] == "block"

    def test_one_suite_lost_to_two_baselines_is_one(self) -> None:
        cells = suites_won(*range(8))
        cells |= {("older", s, "score"): sample(10.0, seed=i) for i, s in enumerate(SUITES)}
        rule = policy(baselines=["old", "older"])
        before = fastgate.benchmark_gate(runs(cells), rule)
        cells["old", "s0", "score"] = cells["older", "s0", "score"] = cells["new", "s0", "score"]
        assert fastgate.benchmark_gate(runs(cells), rule, previous=before)["new"] == "review"

    def test_candidates_are_matched_by_name_or_by_choice(self) -> None:
        cells = suites_won(*range(8), build="a") | suites_won(*range(7), build="b")
        before = fastgate.benchmark_gate(runs(cells), policy())
        today = runs(suites_won(*range(7), build="a") | suites_won(*range(7), build="c"))
        result = fastgate.benchmark_gate(today, policy(), previous=before)
        assert (result["a"], result["c"]) == ("review", "review")
        assert result.verdicts["reasons"].to_list() == [["lost_suite"], ["no_previous_result"]]
        chosen = fastgate.benchmark_gate(today, policy(), previous=before, previous_candidate="b")
        assert (chosen["a"], chosen["c"]) == ("pass", "pass")
        with pytest.raises(ArgumentError, match="no candidate 'x'"):
            fastgate.benchmark_gate(today, policy(), previous=before, previous_candidate="x")
        with pytest.raises(ArgumentError, match="without a previous result"):
            fastgate.benchmark_gate(today, policy(), previous_candidate="a")

    def test_another_policy_is_refused(self) -> None:
        data = runs(suites_won(*range(8)))
        before = fastgate.benchmark_gate(data, policy())
        with pytest.raises(PolicyError, match="another policy") as caught:
            fastgate.benchmark_gate(data, policy(alpha=0.01), previous=before)
        assert "alpha" in str(caught.value)
        assert fastgate.benchmark_gate(data, policy(name="renamed"), previous=before)["new"] == "pass"


class TestCalls:
    def test_unknown_names(self) -> None:
        data = runs(suites_won(*range(8)))
        with pytest.raises(ArgumentError, match="no candidate 'nwe'") as caught:
            fastgate.benchmark_gate(data, policy(), candidates=["nwe"])
        assert "'new'" in str(caught.value)
        with pytest.raises(ArgumentError, match="is a baseline"):
            fastgate.benchmark_gate(data, policy(), candidates=["old"])
        with pytest.raises(DataError, match="baseline 'olld'"):
            fastgate.benchmark_gate(data, policy(baselines=["olld"]))
        with pytest.raises(DataError, match="suite 's9'"):
            fastgate.benchmark_gate(data, policy(suites=[*SUITES, "s9"]))
        with pytest.raises(DataError, match="does not name"):
            fastgate.benchmark_gate(data, policy(suites=SUITES[:7]))
        ignoring = fastgate.benchmark_gate(data, policy(suites=SUITES[:7], unlisted="ignore"))
        assert ignoring.evidence["ignored"] == {"suites": ["s7"]}
        with pytest.raises(DataError, match="no candidate to judge"):
            fastgate.benchmark_gate(data.filter(pl.col("build") == "old"), policy())

    def test_candidates_are_chosen_and_ordered(self) -> None:
        data = runs(suites_won(build="b") | suites_won(build="a") | suites_won(build="c"))
        assert list(fastgate.benchmark_gate(data, policy())) == ["a", "b", "c"]
        assert list(fastgate.benchmark_gate(data, policy(), candidates=["c", "a"])) == ["c", "a"]

    def test_every_shape_gives_the_same_verdicts(self) -> None:
        data = runs(suites_won(0, 1, 2) | suites_won(*range(8), build="other"))
        wanted = fastgate.benchmark_gate(data, policy())
        packed = fastgate.pack(data)
        pairs = (
            data.filter(pl.col("build") != "old")
            .join(data.filter(pl.col("build") == "old"), on=["suite", "kpi", "case"], suffix="_old")
            .rename(
                {
                    "build": "candidate",
                    "build_old": "baseline",
                    "value": "candidate_value",
                    "value_old": "baseline_value",
                }
            )
            .sample(fraction=1.0, shuffle=True, seed=3)
        )
        for given in (packed, pairs, fastgate.pack(pairs), data.sample(fraction=1.0, shuffle=True, seed=1)):
            result = fastgate.benchmark_gate(given, policy())
            for name in ("verdicts", "baselines", "suites", "cells"):
                assert result.tables[name].equals(wanted.tables[name]), name

    def test_moments_give_the_same_verdicts(self) -> None:
        data = runs(suites_won(0, 1, 2))
        value = pl.col("value")
        moments = data.group_by("build", "suite", "kpi").agg(
            n=value.count(), mean=value.mean(), variance=value.var(), min=value.min(), max=value.max()
        )
        unchecked = policy(require_same_cases=False)
        wanted = fastgate.benchmark_gate(data, unchecked)
        result = fastgate.benchmark_gate(moments, unchecked)
        assert result.verdicts.equals(wanted.verdicts)
        assert np.allclose(result.cells["pvalue"], wanted.cells["pvalue"], rtol=1e-9)
        assert result.cells["paired_pvalue"].null_count() == result.cells.height
        for rule in (policy(), policy(test="paired", require_same_cases=False)):
            with pytest.raises(DataError, match="do not say which cases"):
                fastgate.benchmark_gate(moments, rule)

    def test_kpis_that_only_another_suite_names(self) -> None:
        cells = suites_won(*range(8)) | {(b, "s0", "cost"): sample(1.0) for b in ("new", "old")}
        kpis = {"score": {"direction": "higher"}, "cost": {"direction": "lower"}}
        suites = {s: {"kpis": ["score"]} for s in SUITES}
        with pytest.raises(DataError, match="does not name"):
            fastgate.benchmark_gate(runs(cells), policy(kpis=kpis, suites=suites))
        suites["s0"] = {"kpis": ["score", "cost"], "decided_by": "score"}
        assert fastgate.benchmark_gate(runs(cells), policy(kpis=kpis, suites=suites))["new"] == "pass"

    def test_integers_name_builds(self) -> None:
        data = runs(suites_won(*range(8), build="7"))
        assert list(fastgate.benchmark_gate(data, policy(), candidates=[7])) == ["7"]  # type: ignore[list-item]
        with pytest.raises(ArgumentError, match="is a text"):
            fastgate.benchmark_gate(data, policy(), candidates=[None])  # type: ignore[list-item]


class TestResult:
    def test_round_trips(self, tmp_path: Path) -> None:
        cells = suites_won(0, 1, 2)
        cells["new", "s4", "score"] = [np.inf, *range(9)]
        result = fastgate.benchmark_gate(runs(cells), policy())
        for name in ("r.json", "folder", "r.arrow", "r.parquet"):
            result.save(tmp_path / name)
            back = fastgate.load(tmp_path / name)
            for table, frame in result.tables.items():
                assert back.tables[table].equals(frame), (name, table)
                assert back.tables[table].schema == frame.schema, (name, table)
            assert (back.policy, back.evidence, back.verdict) == (result.policy, result.evidence, "block")

    def test_json_is_plain(self) -> None:
        cells = suites_won(0)
        cells["new", "s4", "score"] = [0.5] * 10
        cells["old", "s4", "score"] = [0.7] * 10
        text = json.dumps(fastgate.benchmark_gate(runs(cells), policy()).to_dict(), allow_nan=False)
        assert "NaN" not in text
        assert "Infinity" not in text

    def test_equal_inputs_give_equal_bits(self) -> None:
        data = runs(suites_won(0, 1, 2))
        one = fastgate.benchmark_gate(data, policy()).to_dict()
        assert one == fastgate.benchmark_gate(data.reverse(), policy()).to_dict()

    def test_tables_have_their_schema(self) -> None:
        from fastgate.gates.benchmark.result import TABLES

        result = fastgate.benchmark_gate(runs(suites_won(0)), policy())
        for name, columns in TABLES.items():
            frame = result.tables[name]
            assert frame.columns == list(columns)
            for column, dtype in columns.items():
                assert dtype is None or frame.schema[column] == dtype, (name, column)

    @pytest.mark.parametrize(
        "content",
        [b"", b"{}", b"[]", b"{", b'{"gate": "benchmark"}', b'{"gate":"benchmark","schema_version":99}'],
    )
    def test_what_is_no_result(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(DataError):
            fastgate.load(tmp_path / "x.json")
        with pytest.raises(DataError, match="no saved result"):
            fastgate.load(tmp_path / "nothing.json")
        with pytest.raises(DataError, match="no saved result"):
            fastgate.load(tmp_path)


class TestExplanation:
    def test_what_is_nearest(self) -> None:
        result = fastgate.benchmark_gate(runs(suites_won(0, 1, 2, 3, 4)), policy())
        told = result.explain("new")
        against = told["baselines"][0]
        assert (told["verdict"], against["to_change"]) == ("block", 1)
        assert {row["suite"] for row in against["nearest"]} == {"s5", "s6", "s7"}
        assert all(row["cases_needed"] > 10 for row in against["nearest"])
        with pytest.raises(ArgumentError, match="no candidate"):
            result.explain("nwe")

    @pytest.mark.parametrize("method", ["bonferroni", "holm", "hochberg", "bh", "by"])
    def test_the_cases_that_suffice_under_a_correction(self, method: str) -> None:
        cells = {("old", s, "score"): sample(10.0, seed=i) for i, s in enumerate(SUITES)}
        cells |= {("new", s, "score"): sample(10.7 + i / 20, seed=50 + i) for i, s in enumerate(SUITES)}
        rule = policy(correction={"method": method}, min_suite_wins=8)
        told = fastgate.benchmark_gate(runs(cells), rule).explain("new")["baselines"][0]
        adjusted = [row["pvalue_adjusted"] for row in told["nearest"]]
        assert adjusted == sorted(adjusted)
        for row in told["nearest"]:
            assert row["cases_needed"] > row["n"]
        level = {"by": 0.05 / (8 * sum(1 / i for i in range(1, 9)))}.get(method, 0.05 / 8)
        one = fastgate.benchmark_gate(runs(cells), rule).cells.to_dicts()[0]
        factor = scipy_stats.t.isf(level / 2, one["df"]) + scipy_stats.t.isf(0.2, one["df"])
        assert one["detectable_effect"] == pytest.approx(factor * one["standard_error"], rel=1e-10)

    def test_the_cases_that_would_have_sufficed(self) -> None:
        from fastgate.gates.benchmark.explanation import cases_needed

        for statistic, n in ((1.9, 10), (0.7, 25), (0.05, 8)):
            needed = cases_needed(statistic, 2.0 * (n - 1), n, 0.05)
            assert needed is not None

            def p(m: int, statistic: float = statistic, n: int = n) -> float:
                return float(2 * scipy_stats.t.sf(statistic * np.sqrt(m / n), 2.0 * (m - 1)))

            assert p(needed) <= 0.05 < p(needed - 1)
        assert cases_needed(-1.0, 18.0, 10, 0.05) is None
        assert cases_needed(1e-9, 18.0, 10, 0.05) is None


def test_the_real_sweep(data: Path) -> None:
    """The AutoML benchmark: no framework beats the tuned forest everywhere, Auto-WEKA loses to it."""
    result = fastgate.benchmark_gate(data / "automl_1h.parquet", data / "automl_policy.toml")
    counts = {
        (row["candidate"], row["baseline"]): (row["wins"], row["losses"], row["undefined"])
        for row in result.baselines.to_dicts()
    }
    assert counts["autoweka", "tunedrandomforest"][1] >= 20
    assert all(wins < 35 for (_, baseline), (wins, _, _) in counts.items() if baseline == "tunedrandomforest")
    assert counts["h2oautoml", "randomforest"][:2] == (22, 0)
