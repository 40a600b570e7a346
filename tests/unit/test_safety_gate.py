"""The safety gate: the rule, refusals, and the figures beside it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import fastgate
from fastgate.errors import ArgumentError, DataError, FastgateError, PolicyError
from fastgate.gates.safety import (
    LitmusIncomparableError,
    LitmusNoiseFloorError,
    RunManifest,
    SuiteResult,
    gate,
    noise_floor_half_width,
    pass_rate,
    safety_gate,
)
from fastgate.gates.safety.floor import corrected_level, false_alarm, noise_floor, signals
from fastgate.gates.safety.reasons import CODES, MEANINGS
from fastgate.gates.verdict import SIGNALS
from fastgate.stats.binomial import BINOMIAL_METHODS, binomial_half_width
from fastgate.stats.discordance import mcnemar
from fastgate.stats.proportions import paired_proportion_difference, proportion_difference
from fastgate.stats.sample_size import detectable_change

CONDITIONS: dict[str, Any] = {
    "suite_hash": "ab12",
    "seeds": [7],
    "temperature": 0.2,
    "top_p": 1.0,
    "max_tokens": 512,
    "grader_version": "3",
    "harness_version": "1.4",
}

ANY = {"gate": "safety", "name": "any", "comparability": {"required": []}, "min_cases": 1}


def manifests(*builds: str, **changes: Any) -> list[RunManifest]:
    return [RunManifest.from_dict({**CONDITIONS, "build": build, **changes}) for build in builds]


def run(build: str, outcomes: str, suite: str = "s", trial: int | None = None) -> pl.DataFrame:
    """One run; p passed, f failed, e no outcome."""
    codes = {"p": True, "f": False, "e": None}
    frame = pl.DataFrame(
        {
            "build": build,
            "suite": suite,
            "case": [f"c{i:03d}" for i in range(len(outcomes))],
            "passed": pl.Series([codes[letter] for letter in outcomes], dtype=pl.Boolean),
        }
    )
    return frame if trial is None else frame.with_columns(trial=pl.lit(trial))


def judge(*runs: pl.DataFrame, **options: Any) -> fastgate.SafetyResult:
    options = {"policy": ANY, "manifests": None, "baseline": "old", **options}
    return safety_gate(pl.concat(runs), **options)


def only(result: fastgate.SafetyResult) -> dict[str, Any]:
    (row,) = result.suites.to_dicts()
    return row


class TestTheRule:
    @pytest.mark.parametrize(
        ("passes", "outcome", "verdict"),
        [
            (220, "no_signal", "pass"),
            (212, "no_signal", "pass"),  # d = −0.0333, e = 0.0353
            (211, "regression", "block"),  # d = −0.0375
            (228, "no_signal", "pass"),
            (229, "improvement", "pass"),
            (0, "regression", "block"),
        ],
    )
    def test_three_ways(self, passes: int, outcome: str, verdict: str) -> None:
        row = only(judge(run("old", "p" * 220 + "f" * 20), run("new", "p" * passes + "f" * (240 - passes))))
        assert (row["outcome"], row["indicated"], row["verdict"]) == (outcome, outcome, verdict)
        assert row["noise_floor"] == pytest.approx(0.0353, abs=5e-5)
        assert row["delta"] == (passes - 220) / 240
        assert row["reasons"] == (["regression"] if verdict == "block" else [])

    @pytest.mark.parametrize("method", BINOMIAL_METHODS)
    def test_every_count_agrees_with_the_statement_of_the_rule(self, method: str) -> None:
        n, baseline = 60, 52
        floor = binomial_half_width(baseline, n, method=method)
        runs = [run(f"b{k:02d}", "p" * k + "f" * (n - k)) for k in range(n + 1)]
        result = judge(
            run("old", "p" * baseline + "f" * (n - baseline)), *runs, policy={**ANY, "method": method}
        )
        for k, row in enumerate(result.suites.to_dicts()):
            d = (k - baseline) / n
            wanted = "no_signal" if abs(d) <= floor else "regression" if d < 0 else "improvement"
            assert row["outcome"] == wanted
            assert row["noise_floor"] == pytest.approx(floor, rel=1e-13)
            assert row["method"] == method

    def test_no_noise_floor_of_zero(self) -> None:
        """Wald's interval has no width where all passed: refused, and one failure is no incident by itself."""
        runs = run("old", "p" * 100), run("new", "p" * 99 + "f")
        row = only(judge(*runs, policy={**ANY, "method": "wald"}))
        assert (row["verdict"], row["outcome"], row["reasons"]) == (
            "refused",
            "undefined",
            ["no_noise_floor"],
        )
        assert row["status"] == "degenerate"
        row = only(judge(*runs))
        assert (row["outcome"], row["verdict"]) == ("no_signal", "pass")
        assert row["noise_floor"] == pytest.approx(binomial_half_width(100, 100))

    def test_no_percentage_is_built_in(self) -> None:
        """The same drop of 2 points is noise in 200 cases and a regression in 20 000."""
        for n, outcome in ((200, "no_signal"), (20_000, "regression")):
            good = n * 95 // 100
            counts = pl.DataFrame(
                {"build": ["old", "new"], "suite": "s", "total": n, "passed": [good, good - n * 2 // 100]}
            )
            row = only(safety_gate(counts, None, ANY, baseline="old"))
            assert row["outcome"] == outcome

    def test_ties_are_within(self) -> None:
        floor = np.array([0.05, 0.05, 0.05, 0.05, 0.05, 0.0, math.nan, 0.05, 0.05])
        delta = np.array([0.05, -0.05, 0.05 * (1 + 1e-14), 0.0501, -0.0501, 0.0, 0.0, math.nan, 0.0])
        status = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1], np.int8)
        assert [SIGNALS[code] for code in signals(delta, floor, status, np.zeros(9))] == [
            *["no_signal"] * 3,
            "improvement",
            "regression",
            *["undefined"] * 4,
        ]

    @pytest.mark.parametrize("n", [100, 10_000, 1_000_000])
    def test_a_given_rate_at_the_floor_gives_no_signal(self, n: int) -> None:
        """Of either sign, and 1e-12 further it does."""
        for rate in np.linspace(0.05, 0.94, 40).tolist():
            floor = noise_floor_half_width(rate, n)
            for sign, beyond in ((-1, "regression"), (1, "improvement")):
                if not 0 < rate + sign * floor < 1:
                    continue
                sides = [
                    SuiteResult(self.SAME, rate=rate + sign * floor * (1 + more), total=n)
                    for more in (0.0, 1e-9)
                ]
                baseline = SuiteResult(self.SAME, rate=rate, total=n)
                assert [gate(baseline, side).outcome for side in sides] == ["no_signal", beyond]

    SAME = RunManifest.from_dict(CONDITIONS)

    def test_the_worst_suite_decides(self) -> None:
        result = judge(
            *(run("old", "p" * 40 + "f" * 10, suite) for suite in "abcd"),
            *(run("mixed", "p" * 50, suite) for suite in "ab"),
            run("mixed", "p" * 20 + "f" * 30, "c"),
            run("mixed", "p" * 10 + "f" * 40, "d"),
            *(run("fine", "p" * 41 + "f" * 9, suite) for suite in "abcd"),
            *(run("gone", "p" * 41 + "f" * 9, suite) for suite in "abc"),
        )
        assert {name: result[name] for name in result} == {
            "mixed": "block",
            "fine": "pass",
            "gone": "refused",
        }
        assert result.verdict == "block"
        assert result.exit_code() == 1
        rows = {row["candidate"]: row for row in result.verdicts.to_dicts()}
        assert rows["mixed"] == {
            "candidate": "mixed",
            "verdict": "block",
            "suites": 4,
            "regressions": 2,
            "no_signal": 0,
            "improvements": 2,
            "refused": 0,
            "worst_suites": ["c", "d"],
            "reasons": ["regression"],
        }
        assert (rows["gone"]["refused"], rows["gone"]["worst_suites"]) == (1, ["d"])
        assert rows["gone"]["reasons"] == ["missing_cell"]
        assert rows["fine"]["worst_suites"] == []

    def test_correction_over_suites(self) -> None:
        suites = "abcde"
        runs = [run("old", "p" * 220 + "f" * 20, suite) for suite in suites]
        runs += [run("new", "p" * 211 + "f" * 29, suite) for suite in suites]
        for correction in ("none", "sidak", "bonferroni"):
            result = judge(*runs, policy={**ANY, "correction": correction})
            level = corrected_level(0.95, correction, 5)
            assert result.suites["confidence_level"].to_list() == [level] * 5
            floor = binomial_half_width(220, 240, confidence_level=level)
            assert result.suites["noise_floor"].to_list() == pytest.approx([floor] * 5)
            assert result["new"] == ("block" if correction == "none" else "pass")

    @pytest.mark.parametrize("correction", ["sidak", "bonferroni"])
    @pytest.mark.parametrize("m", [2, 5, 10, 50])
    def test_corrected_suites_together_err_as_one_does(self, correction: str, m: int) -> None:
        """The exact chance, where counts are as good as normal; they jump, so m jumps at the edge are allowed."""
        n = 20_000
        normal = NormalDist()
        one = normal.cdf(-normal.inv_cdf(0.975) / math.sqrt(2))
        share = one / m if correction == "bonferroni" else 1 - (1 - one) ** (1 / m)
        level = corrected_level(0.95, correction, m)
        assert -normal.inv_cdf((1 - level) / 2) == pytest.approx(-math.sqrt(2) * normal.inv_cdf(share))
        chance = false_alarm(n // 2, n, level, "wilson")
        jump = normal.pdf(normal.inv_cdf(share)) / math.sqrt(n / 2)
        wanted = 1 - (1 - share) ** m
        assert abs(1 - (1 - chance) ** m - wanted) < m * jump
        assert m * jump < 0.01
        # Of a suite as small as the example's it grows, and by less than dividing 1 − level does.
        divided = false_alarm(220, 240, 1 - 0.05 / m, "wilson")
        assert false_alarm(220, 240, level, "wilson") < 0.85 * divided

    def test_the_order_of_corrections(self) -> None:
        for level in (0.6, 0.95, 0.999, 1 - 1e-12):
            for m in (1, 2, 7, 100_000):
                none, sidak, bonferroni = (
                    corrected_level(level, how, m) for how in ("none", "sidak", "bonferroni")
                )
                assert level == none <= sidak <= bonferroni < 1
                assert (sidak == none) == (m == 1)
                assert (bonferroni > sidak) == (m > 1) or level > 0.999

    def test_a_correction_of_one_suite_changes_nothing(self) -> None:
        runs = [run("old", "p" * 220 + "f" * 20), run("new", "p" * 211 + "f" * 29)]
        plain, corrected = (
            judge(*runs, policy={**ANY, "correction": how}).suites for how in ("none", "sidak")
        )
        assert plain.equals(corrected)


class TestTheExample:
    """240 cases, 91.7 % at temperature 0.2 against 87.6 % at temperature 0."""

    BEFORE = RunManifest.from_dict({**CONDITIONS, "temperature": 0.2})
    AFTER = RunManifest.from_dict({**CONDITIONS, "temperature": 0.0})

    def test_it_is_refused_as_incomparable(self) -> None:
        with pytest.raises(LitmusIncomparableError) as caught:
            gate(
                SuiteResult(self.BEFORE, rate=0.917, total=240),
                SuiteResult(self.AFTER, rate=0.876, total=240),
            )
        (difference,) = caught.value.differences
        assert difference == ("temperature", "0.2", "0", "differs")

    def test_what_the_figures_would_have_said(self) -> None:
        """87.6 % is no multiple of 1/240, so the rates are taken as they are given."""
        verdict = gate(
            SuiteResult(self.BEFORE, rate=0.917, total=240), SuiteResult(self.BEFORE, rate=0.876, total=240)
        )
        assert (verdict.verdict, verdict.outcome) == ("block", "regression")
        assert verdict.delta == pytest.approx(-0.041)
        assert verdict.half_width == pytest.approx(0.0352, abs=5e-5)
        assert verdict.ci_low < -0.09 < 0.01 < verdict.ci_high  # the difference itself may be none
        wald = noise_floor_half_width(0.917, 240, method="wald")
        assert wald == pytest.approx(0.0349, abs=5e-5)
        assert verdict.delta / wald == pytest.approx(-1.17, abs=0.01)

    def test_in_a_sweep(self) -> None:
        frame = pl.DataFrame(
            {
                "build": ["old", "new", "other"],
                "suite": "adversarial",
                "total": 240,
                "rate": [0.917, 0.876, 0.91],
            }
        )
        stated = [*manifests("old", "other"), *manifests("new", temperature=0.0)]
        result = safety_gate(frame, stated, "litmus", baseline="old")
        assert (result["new"], result["other"]) == ("refused", "pass")
        assert result.exit_code() == 4
        assert result.differences.rows() == [("new", "adversarial", "temperature", "0.2", "0", "differs")]
        row = result.suites.to_dicts()[0]
        assert (row["outcome"], row["indicated"]) == ("undefined", "regression")
        assert (row["reasons"], row["differing_fields"]) == (["differing_field"], ["temperature"])
        assert row["passes_candidate"] == pytest.approx(210.24)
        assert row["difference_floor"] == pytest.approx(0.0498, abs=5e-5)
        assert row["detectable_drop"] == pytest.approx(0.084, abs=5e-4)
        assert row["regressed"] is None

    def test_with_the_nearest_counts_and_the_same_cases(self) -> None:
        """220 and 210 of 240: no method finds a difference between runs, and pairs may."""
        old = "p" * 220 + "f" * 20
        few, many = "p" * 210 + "f" * 30, "p" * 190 + "f" * 30 + "p" * 20
        rows = judge(run("old", old), run("few", few), run("many", many)).suites.to_dicts()
        for row, regressed, fixed in zip(rows, (10, 30), (0, 20), strict=True):
            assert row["outcome"] == "regression"
            assert row["ci_low"] == pytest.approx(-0.0975, abs=5e-5)
            assert row["ci_high"] == pytest.approx(0.0136, abs=5e-5)
            assert row["pvalue"] == pytest.approx(0.135, abs=5e-4)
            assert (row["regressed"], row["fixed"]) == (regressed, fixed)
        assert [round(row["mcnemar_pvalue"], 3) for row in rows] == [0.002, 0.203]
        assert rows[0]["false_alarm"] == pytest.approx(0.101, abs=5e-4)


class TestOneByOne:
    def test_rates(self) -> None:
        one = SuiteResult(RunManifest(), 220, 240)
        assert (pass_rate(one), one.pass_rate) == (220 / 240, 220 / 240)
        assert math.isnan(pass_rate(SuiteResult(RunManifest(), 0, 0)))

    @pytest.mark.parametrize(
        "arguments",
        [
            {"passed": 241, "total": 240},
            {"passed": -1, "total": 240},
            {"passed": 2.5, "total": 240},
            {"passed": True, "total": 240},
            {"passed": 1, "total": -1},
            {"passed": 1, "total": "240"},
            {"total": 240},
            {"passed": 220, "rate": 0.9, "total": 240},
            {"rate": 1.1, "total": 240},
            {"rate": float("nan"), "total": 240},
            {"passed": 1, "total": 2, "errors": -1},
        ],
    )
    def test_bad_counts_are_refused(self, arguments: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError):
            SuiteResult(RunManifest(), **arguments)

    def test_a_manifest_is_one(self) -> None:
        with pytest.raises(ArgumentError, match="RunManifest"):
            SuiteResult({"temperature": 0}, 1, 2)  # type: ignore[arg-type]

    def test_no_floor(self) -> None:
        (one,) = manifests("b")
        with pytest.raises(LitmusNoiseFloorError):
            noise_floor_half_width(0.9, 0)
        for rate in (0.0, 1.0):
            with pytest.raises(LitmusNoiseFloorError):
                noise_floor_half_width(rate, 100, method="wald")
            assert noise_floor_half_width(rate, 100) > 0.01
        with pytest.raises(LitmusNoiseFloorError):
            gate(SuiteResult(one, 0, 0), SuiteResult(one, 0, 0))
        with pytest.raises(LitmusNoiseFloorError):
            gate(SuiteResult(one, 50, 50), SuiteResult(one, 49, 50), method="wald")
        with pytest.raises(LitmusNoiseFloorError, match="candidate"):
            gate(SuiteResult(one, 9, 10), SuiteResult(one, 0, 0, errors=10), max_error_share=1.0)
        with pytest.raises(ArgumentError):
            noise_floor_half_width(0.9, 100, confidence_level=1.0)
        assert issubclass(LitmusNoiseFloorError, FastgateError)

    def test_errors_are_neither_passes_nor_failures(self) -> None:
        (one,) = manifests("b")
        baseline, candidate = SuiteResult(one, 90, 100), SuiteResult(one, 89, 98, errors=2)
        with pytest.raises(LitmusIncomparableError, match="candidate failed"):
            gate(baseline, candidate)
        verdict = gate(baseline, candidate, max_error_share=0.02)
        assert (verdict.rate_candidate, verdict.n_candidate) == (89 / 98, 98)

    def test_sizes_must_agree(self) -> None:
        (one,) = manifests("b")
        with pytest.raises(LitmusIncomparableError, match="different sizes"):
            gate(SuiteResult(one, 90, 100), SuiteResult(one, 89, 99))

    @pytest.mark.parametrize("passed", [0, 40, 46, 50, 54, 60])
    def test_it_says_what_the_sweep_says(self, passed: int) -> None:
        (one,) = manifests("b")
        verdict = gate(SuiteResult(one, 50, 60), SuiteResult(one, passed, 60))
        counts = pl.DataFrame({"build": ["old", "new"], "suite": "s", "total": 60, "passed": [50, passed]})
        row = only(safety_gate(counts, None, ANY, baseline="old"))
        assert (verdict.verdict, verdict.outcome) == (row["verdict"], row["outcome"])
        for mine, theirs in (
            ("delta", "delta"),
            ("half_width", "noise_floor"),
            ("ci_low", "ci_low"),
            ("ci_high", "ci_high"),
        ):
            assert getattr(verdict, mine) == pytest.approx(row[theirs], rel=1e-12)


class TestRefusals:
    def test_one_candidates_fault_leaves_the_others_alone(self) -> None:
        good = "p" * 40 + "f" * 10
        runs = [
            run("old", good),
            run("fine", good),
            run("hot", good),
            run("bare", good),
            run("short", good[:-1]),
            run("double", good).vstack(run("double", good)[:1]),
            run("broken", "e" * 3 + good[3:]),
            run("silent", "e" * 50),
        ]
        stated = [
            *manifests("old", "fine", "short", "double", "broken", "silent"),
            *manifests("hot", temperature=1.0, top_p=None),
        ]
        result = judge(*runs, policy="litmus", manifests=stated)
        assert result["fine"] == "pass"
        reasons = {row["candidate"]: row["reasons"] for row in result.suites.to_dicts()}
        assert reasons == {
            "fine": [],
            "hot": ["missing_field", "differing_field"],
            "bare": ["missing_manifest"],
            "short": ["unpaired_cases"],
            "double": ["duplicate_case"],
            "broken": ["too_many_errors"],
            "silent": ["too_many_errors", "no_cases"],
        }
        assert {result[name] for name in result if name != "fine"} == {"refused"}
        assert result.exit_code() == 4
        assert result.faults.sort("build").rows() == [
            *(("broken", "s", f"c00{i}", "no_outcome", "") for i in range(3)),
            ("double", "s", "c000", "duplicate_case", ""),
            ("short", "s", "c049", "missing_case", "old"),
            *(("silent", "s", f"c{i:03d}", "no_outcome", "") for i in range(50)),
        ]
        assert result.differences.select("candidate", "field", "problem").rows() == [
            ("bare", "manifest", "no_manifest"),
            ("hot", "temperature", "differs"),
            ("hot", "top_p", "missing_in_candidate"),
        ]
        refused = result.suites.filter(pl.col("outcome") == "undefined")
        assert refused["verdict"].unique().to_list() == ["refused"]
        assert {
            row["indicated"] for row in refused.to_dicts() if row["candidate"] in ("double", "silent")
        } == {"undefined"}

    def test_a_faulty_baseline_refuses_all(self) -> None:
        good = "p" * 40 + "f" * 10
        result = judge(run("old", "e" + good[1:]), run("a", good), run("b", good))
        assert result.suites["reasons"].to_list() == [["too_many_errors"]] * 2
        assert result.faults.rows() == [("old", "s", "c000", "no_outcome", "")]

    def test_an_error_budget(self) -> None:
        """Cases without outcome on either side are left out on both."""
        old, new = "e" + "p" * 40 + "f" * 9, "ppe" + "p" * 38 + "f" * 9
        row = only(judge(run("old", old), run("new", new), policy={**ANY, "max_error_share": 0.02}))
        assert row["verdict"] == "pass"
        assert (row["n_candidate"], row["n_baseline"]) == (48, 48)
        assert (row["passes_candidate"], row["passes_baseline"]) == (39, 39)
        assert (row["errors_candidate"], row["errors_baseline"]) == (1, 1)
        assert (row["undecided_candidate"], row["undecided_baseline"]) == (1, 1)
        row = only(judge(run("old", old), run("new", new), policy={**ANY, "max_error_share": 0.019}))
        assert row["reasons"] == ["too_many_errors"]

    def test_an_error_is_no_pass(self) -> None:
        policy = {**ANY, "max_error_share": 0.9}
        row = only(judge(run("old", "p" * 60 + "f" * 40), run("new", "e" * 60 + "f" * 40), policy=policy))
        assert row["rate_candidate"] == 0.0
        assert row["rate_baseline"] == 0.0
        row = only(judge(run("old", "p" * 50), run("new", "e" * 50), policy={**ANY, "max_error_share": 0.99}))
        assert (row["verdict"], row["reasons"]) == ("refused", ["too_many_errors", "no_cases"])

    def test_few_cases(self) -> None:
        policy = {**ANY, "min_cases": 50}
        for n, reasons in ((50, []), (49, ["n_lt_min"])):
            assert only(judge(run("old", "p" * n), run("new", "p" * n), policy=policy))["reasons"] == reasons
        suites = {"suites": {"s": {"min_cases": 20}}}
        assert (
            only(judge(run("old", "p" * 30), run("new", "p" * 30), policy={**policy, **suites}))["reasons"]
            == []
        )

    def test_rows_of_one_run_with_two_manifests(self) -> None:
        good = "p" * 40 + "f" * 10
        old = run("old", good).with_columns(temperature=0.2)
        new = run("new", good).with_columns(temperature=pl.Series([0.2] * 49 + [0.0]))
        policy = {**ANY, "comparability": {"required": ["temperature"]}}
        row = only(judge(old, new, policy=policy))
        assert (row["verdict"], row["reasons"]) == ("refused", ["mixed_manifest"])

    def test_manifests_in_columns(self) -> None:
        good = "p" * 40 + "f" * 10
        policy = {**ANY, "comparability": {"required": ["temperature", "gpu"]}}

        def with_conditions(build: str, temperature: float | None, gpu: str) -> pl.DataFrame:
            return run(build, good).with_columns(
                temperature=pl.lit(temperature, pl.Float64), gpu=pl.lit(gpu), category=pl.col("case")
            )

        result = judge(
            with_conditions("old", 0.2, "h100"),
            with_conditions("same", 0.2, "h100"),
            with_conditions("cold", 0.0, "h100"),
            with_conditions("none", None, "h100"),
            with_conditions("moved", 0.2, "a100"),
            policy=policy,
        )
        reasons = {row["candidate"]: row["reasons"] for row in result.suites.to_dicts()}
        assert reasons == {
            "same": [],
            "cold": ["differing_field"],
            "none": ["missing_field"],
            "moved": ["differing_field"],
        }
        given = judge(
            with_conditions("old", 0.2, "h100"),
            with_conditions("cold", 0.0, "h100"),
            policy=policy,
            manifests=[{"build": name, "temperature": 1, "gpu": "x"} for name in ("old", "cold")],
        )
        assert given["cold"] == "pass"  # what is given goes before columns

    def test_an_empty_cell_never_passes(self) -> None:
        counts = pl.DataFrame({"build": ["old", "new"], "suite": "s", "total": [0, 0], "passed": [0, 0]})
        row = only(safety_gate(counts, None, ANY, baseline="old"))
        assert (row["verdict"], row["reasons"]) == ("refused", ["no_cases"])
        assert row["rate_baseline"] is None

    def test_counts_of_different_sizes(self) -> None:
        counts = pl.DataFrame({"build": ["old", "new"], "suite": "s", "total": [100, 99], "passed": [90, 90]})
        assert only(safety_gate(counts, None, ANY, baseline="old"))["reasons"] == ["unpaired_cases"]
        counts = counts.with_columns(errors=pl.Series([0, 1]))
        assert only(safety_gate(counts, None, ANY, baseline="old"))["reasons"] == ["too_many_errors"]
        lenient = {**ANY, "max_error_share": 0.01}
        assert only(safety_gate(counts, None, lenient, baseline="old"))["reasons"] == []

    def test_every_reason_is_told_in_words(self) -> None:
        assert len(CODES) == len(set(CODES)) <= 32
        assert all(MEANINGS[code] for code in CODES)


class TestTrials:
    """Cases with several seeds."""

    @staticmethod
    def seeds(build: str, *trials: str) -> pl.DataFrame:
        return pl.concat([run(build, outcomes, trial=number) for number, outcomes in enumerate(trials)])

    #     0 in every seed, 1 by seed, 2 regressed in every seed, 3 flaky before, 4 fixed in every seed
    OLD = ("pppff", "ppppf", "pppff")
    NEW = ("pppfp", "pffpp", "ppfpp")

    def result(self, trials: str, **changes: Any) -> fastgate.SafetyResult:
        old = tuple(part * 8 for part in self.OLD)
        new = tuple(part * 8 for part in self.NEW)
        policy = {**ANY, "trials": trials, **changes}
        return judge(self.seeds("old", *old), self.seeds("new", *new), policy=policy)

    @pytest.mark.parametrize(
        ("trials", "n", "old", "new", "regressed", "fixed"),
        [
            ("all", 40, 24, 16, 16, 8),
            ("majority", 40, 24, 32, 8, 16),
            ("first", 40, 24, 32, 0, 8),
            ("share", 40, 26 + 2 / 3, 29 + 1 / 3, 16, 16),
            ("each", 120, 80, 88, 16, 16),
        ],
    )
    def test_how_cases_count(
        self, trials: str, n: int, old: float, new: float, regressed: int, fixed: int
    ) -> None:
        row = only(self.result(trials))
        assert (row["n_candidate"], row["n_baseline"]) == (n, n)
        assert (row["passes_baseline"], row["passes_candidate"]) == (pytest.approx(old), pytest.approx(new))
        assert (row["regressed"], row["fixed"]) == (regressed, fixed)
        floor, _ = noise_floor(np.array([old]), np.array([n]), 0.95, "wilson")
        assert row["noise_floor"] == pytest.approx(floor[0])
        assert row["paired_method"] == ("student" if trials in ("share", "each") else "tango")

    def test_what_is_the_builds_and_what_the_seeds(self) -> None:
        for trials in ("all", "majority", "first", "share", "each"):
            row = only(self.result(trials))
            assert row["repeated_cases"] == 40
            assert (row["regressed_every_trial"], row["fixed_every_trial"]) == (0, 8)
            assert (row["flaky_baseline"], row["flaky_candidate"]) == (8, 24)
            assert 0 < row["sampling_share"] < 1
        runs = self.result("all").runs.sort("build").select("build", "flaky_cases", "flake_rate").rows()
        assert runs == [("new", 24, 0.6), ("old", 8, 0.2)]

    def test_the_variance_is_split(self) -> None:
        """Against the analysis of variance: cases as groups, their differences' trials as replicates."""
        rng = np.random.default_rng(3)
        n, trials = 200, 6
        rate = rng.beta(4, 2, n)
        moved = np.where(rng.random(n) < 0.2, 1 - rate, rate)
        old, new = rng.random((trials, n)) < rate, rng.random((trials, n)) < moved

        def seeds(build: str, passed: Any) -> pl.DataFrame:
            return self.seeds(build, *("".join("p" if one else "f" for one in row) for row in passed))

        row = only(judge(seeds("old", old), seeds("new", new), policy={**ANY, "trials": "share"}))
        gains = new.mean(0) - old.mean(0)
        within = (new.var(0, ddof=1) + old.var(0, ddof=1)) / trials
        assert row["sampling_variance"] == pytest.approx(within.mean())
        assert row["policy_variance"] == pytest.approx(gains.var(ddof=1) - within.mean())
        true = rate * (1 - rate) + moved * (1 - moved)
        assert row["sampling_variance"] == pytest.approx(true.mean() / trials, rel=0.1)
        assert row["policy_variance"] == pytest.approx((moved - rate).var(ddof=1), rel=0.35)
        interval = stats.ttest_1samp(gains, 0).confidence_interval(0.95)
        assert (row["paired_ci_low"], row["paired_ci_high"]) == pytest.approx(tuple(interval))

    def test_identical_runs_have_no_policy_variance_beyond_noise(self) -> None:
        rng = np.random.default_rng(4)
        old = rng.random((5, 300)) < 0.7
        new = rng.random((5, 300)) < 0.7

        def seeds(build: str, passed: Any) -> pl.DataFrame:
            return self.seeds(build, *("".join("p" if one else "f" for one in row) for row in passed))

        row = only(judge(seeds("old", old), seeds("new", new), policy={**ANY, "trials": "share"}))
        assert row["sampling_share"] > 0.8

    def test_one_trial_says_nothing_of_seeds(self) -> None:
        row = only(judge(run("old", "p" * 40), run("new", "p" * 40)))
        for name in (
            "repeated_cases",
            "flaky_baseline",
            "policy_variance",
            "sampling_variance",
            "sampling_share",
        ):
            assert row[name] is None

    def test_seeds_must_be_the_same(self) -> None:
        old = self.seeds("old", "p" * 40, "p" * 40)
        new = old.with_columns(build=pl.lit("new"), trial=pl.col("trial") + 1)
        result = judge(old, new)
        assert only(result)["reasons"] == ["unpaired_trials"]
        assert result.faults["fault"].unique().to_list() == ["unlike_trials"]
        assert only(judge(old, new, policy={**ANY, "trial_sets": "any"}))["reasons"] == []
        again = old.with_columns(build=pl.lit("new")).sort("trial", descending=True)
        assert only(judge(old, again))["reasons"] == []

    def test_errors_that_leave_a_case_open(self) -> None:
        """A case that failed once has failed, whatever the lost trial would have been."""
        old = self.seeds("old", "ppp" * 20, "ppp" * 20)
        new = self.seeds("new", "pfe" * 20, "eep" * 20)
        row = only(judge(old, new, policy={**ANY, "max_error_share": 0.5}))
        assert row["undecided_candidate"] == 40
        assert (row["n_candidate"], row["passes_candidate"]) == (20, 0)

    def test_trials_that_stop_at_the_first_failure(self) -> None:
        def stopping(build: str, limit: int, failing: dict[int, int]) -> pl.DataFrame:
            rows = [
                {
                    "build": build,
                    "suite": "s",
                    "case": case,
                    "trial": trial,
                    "passed": failing.get(case) != trial,
                }
                for case in range(40)
                for trial in range(failing.get(case, limit - 1) + 1)
            ]
            return pl.DataFrame(rows)

        old, new = stopping("old", 12, {0: 3, 1: 11}), stopping("new", 12, dict.fromkeys(range(15), 10))
        policy = {**ANY, "trial_sets": "first-failure"}
        row = only(judge(old, new, policy=policy))
        assert (row["verdict"], row["passes_baseline"], row["passes_candidate"]) == ("block", 38, 25)
        assert row["repeated_cases"] is None
        first = only(judge(old, new, policy={**policy, "trials": "first"}))
        assert (first["outcome"], first["passes_candidate"]) == ("no_signal", 40)
        result = judge(old, stopping("new", 9, {}), policy=policy)
        assert only(result)["reasons"] == ["unpaired_trials"]
        assert result.faults.height == 40
        assert only(judge(old, new))["reasons"] == ["unpaired_trials"]


class TestBesideTheRule:
    def test_against_the_statistics(self) -> None:
        rng = np.random.default_rng(2)
        old, new = rng.random(300) < 0.8, rng.random(300) < 0.75
        letters = ["".join("p" if one else "f" for one in passed) for passed in (old, new)]
        result = judge(run("old", letters[0]), run("new", letters[1]), policy={**ANY, "power": 0.9})
        row = only(result)
        both, neither = int((old & new).sum()), int((~old & ~new).sum())
        regressed, fixed = int((old & ~new).sum()), int((~old & new).sum())
        independent = proportion_difference(int(new.sum()), 300, int(old.sum()), 300)
        paired = paired_proportion_difference(both, regressed, fixed, neither)
        assert (row["ci_low"], row["ci_high"]) == (independent.ci_low, independent.ci_high)
        assert row["pvalue"] == independent.pvalue
        assert (row["paired_ci_low"], row["paired_ci_high"]) == (paired.ci_low, paired.ci_high)
        assert row["mcnemar_pvalue"] == mcnemar(regressed, fixed).pvalue
        assert row["difference_floor"] == pytest.approx(math.sqrt(2) * row["noise_floor"])
        size = {"rate": row["rate_baseline"], "trials": 300, "power": 0.9}
        assert row["detectable_drop"] == detectable_change(**size).change
        discordance = (regressed + fixed) / 300
        assert row["detectable_drop_paired"] == detectable_change(**size, discordance=discordance).change
        flips = result.flips
        assert flips.filter(pl.col("change") == "regressed").height == regressed
        assert flips.filter(pl.col("change") == "fixed")["case"].cast(pl.String).to_list() == [
            f"c{i:03d}" for i in np.flatnonzero(~old & new)
        ]
        assert flips["every_trial"].null_count() == flips.height

    @pytest.mark.parametrize("trials", ["share", "each"])
    def test_what_shares_detect(self, trials: str) -> None:
        """A share that changes by a third is no flip: what counts is the noise of the cases' differences."""
        rng = np.random.default_rng(5)
        seeds = {
            build: ["".join("p" if one else "f" for one in row) for row in rng.random((3, 60)) < 0.8]
            for build in ("old", "new")
        }
        frames = [TestTrials.seeds(build, *letters) for build, letters in seeds.items()]
        row = only(judge(*frames, policy={**ANY, "trials": trials, "power": 0.9}))
        shares = {
            build: np.mean([[letter == "p" for letter in trial] for trial in letters], axis=0)
            for build, letters in seeds.items()
        }
        error = np.std(shares["new"] - shares["old"], ddof=1) / math.sqrt(60)
        wanted = (stats.t.ppf(0.975, 59) + stats.t.ppf(0.9, 59)) * error
        assert row["detectable_drop_paired"] == pytest.approx(wanted, rel=1e-10)
        # No noise, or more of it than the rate could fall by: nothing to state.
        assert (
            only(
                judge(
                    *frames[:1], frames[0].with_columns(build=pl.lit("new")), policy={**ANY, "trials": trials}
                )
            )["detectable_drop_paired"]
            is None
        )
        low = [TestTrials.seeds("old", "pfff", "ffff"), TestTrials.seeds("new", "fppf", "ffff")]
        assert only(judge(*low, policy={**ANY, "trials": trials}))["detectable_drop_paired"] is None

    def test_flips_in_every_trial(self) -> None:
        old = TestTrials.seeds("old", "ppff", "pfff")
        new = TestTrials.seeds("new", "ffpp", "ffpf")
        flips = judge(old, new, policy={**ANY, "trials": "share"}).flips
        assert flips.select("case", "change", "every_trial").rows() == [
            ("c000", "regressed", True),
            ("c001", "regressed", False),
            ("c002", "fixed", True),
            ("c003", "fixed", False),
        ]
        assert flips.row(1)[5:] == (0, 2, 1, 2)

    @pytest.mark.parametrize("method", ["wilson", "wald", "clopper-pearson", "jeffreys"])
    @pytest.mark.parametrize(("passes", "n"), [(220, 240), (5, 40), (29, 30)])
    def test_the_rules_false_alarms(self, method: str, passes: int, n: int) -> None:
        """The exact sum against scipy's distribution, term by term."""
        k = np.arange(n + 1)
        pmf = stats.binom.pmf(k, n, passes / n)
        floor, status = noise_floor(k.astype(float), np.full(n + 1, n), 0.95, method)
        alarm = (k[np.newaxis, :] - k[:, np.newaxis]) / n < -floor[:, np.newaxis]
        alarm &= (status == 0)[:, np.newaxis]
        wanted = float(pmf @ alarm @ pmf)
        assert false_alarm(passes, n, 0.95, method) == pytest.approx(wanted, rel=1e-10)

    def test_false_alarms_of_large_suites(self) -> None:
        assert false_alarm(900_000, 1_000_000, 0.95, "wilson") == pytest.approx(0.0829, abs=5e-4)
        assert false_alarm(2_900_000, 3_000_000, 0.95, "wilson") == pytest.approx(0.0829, abs=1e-4)
        assert math.isnan(false_alarm(10, 10, 0.95, "wilson"))
        assert math.isnan(false_alarm(0, 10, 0.95, "wilson"))
        assert math.isnan(false_alarm(0, 0, 0.95, "wilson"))


class TestTheCall:
    FRAMES = (run("old", "p" * 40 + "f" * 10), run("new", "p" * 41 + "f" * 9))

    def test_who_is_judged(self) -> None:
        runs = [run(name, "p" * 50) for name in ("old", "a", "b", "c")]
        assert list(judge(*runs)) == ["a", "b", "c"]
        assert list(judge(*runs, candidates=["c", "a", "c"])) == ["c", "a"]
        for candidates, words in (
            (["d"], "no candidate 'd'"),
            (["old"], "baseline"),
            ([], "no candidate is named"),
        ):
            with pytest.raises(ArgumentError, match=words):
                judge(*runs, candidates=candidates)
        with pytest.raises(DataError, match="no candidate to judge"):
            judge(runs[0])
        with pytest.raises(DataError, match="did you mean 'old'"):
            judge(*runs, baseline="Old")
        with pytest.raises(PolicyError):
            judge(*runs, tenant="nobody")

    def test_builds_numbered_by_integers(self) -> None:
        frame = pl.concat(self.FRAMES).with_columns(
            build=pl.col("build").replace_strict({"old": 1, "new": 2})
        )
        assert safety_gate(frame, None, ANY, baseline=1)["2"] == "pass"

    def test_suites_that_nobody_would_judge(self) -> None:
        extra = run("new", "p" * 50, "extra")
        with pytest.raises(DataError, match="did not run"):
            judge(*self.FRAMES, extra)
        lenient = {**ANY, "unlisted": "ignore"}
        result = judge(*self.FRAMES, extra, policy=lenient)
        assert result.evidence["ignored"] == {"suites": ["extra"]}
        assert result.suites["suite"].to_list() == ["s"]
        with pytest.raises(DataError, match="policy does not name"):
            judge(*self.FRAMES, run("old", "p" * 50, "extra"), extra, policy={**ANY, "suites": ["s"]})
        with pytest.raises(DataError, match="'absent'"):
            judge(*self.FRAMES, policy={**ANY, "suites": ["s", "absent"]})

    def test_it_is_saved_and_loaded(self, tmp_path: Path) -> None:
        result = judge(
            *self.FRAMES,
            run("cold", "p" * 50),
            manifests=[*manifests("old", "new"), *manifests("cold", temperature=0)],
        )
        for name in ("result.json", "folder", "tables.arrow"):
            result.save(tmp_path / name)
            again = fastgate.load(tmp_path / name)
            assert isinstance(again, fastgate.SafetyResult)
            assert again.baseline == "old"
            assert {name: again[name] for name in again} == {"cold": "refused", "new": "pass"}
            for table, frame in result.tables.items():
                assert again.tables[table].equals(frame.cast(again.tables[table].schema)), table  # type: ignore[arg-type]
            assert again.to_dict() == result.to_dict()
        json.dumps(result.to_dict(), allow_nan=False)
        with pytest.raises(KeyError):
            result["absent"]
        assert len(result) == 2

    def test_the_benchmark_gate_takes_no_safety_result(self, tmp_path: Path) -> None:
        judge(*self.FRAMES).save(tmp_path / "r.json")
        runs = pl.DataFrame(
            {"build": ["a", "b"] * 3, "suite": "s", "kpi": "k", "case": [1, 1, 2, 2, 3, 3], "value": range(6)}
        )
        policy = {
            "gate": "benchmark",
            "name": "n",
            "baselines": ["a"],
            "min_suite_wins": 1,
            "kpis": {"k": {"direction": "higher"}},
            "suites": ["s"],
        }
        with pytest.raises(DataError, match="another gate"):
            fastgate.benchmark_gate(runs, policy, previous=tmp_path / "r.json")

    def test_evidence(self) -> None:
        result = judge(*self.FRAMES)
        again = judge(*(frame.sample(fraction=1, shuffle=True, seed=1) for frame in reversed(self.FRAMES)))
        assert result.evidence == again.evidence
        assert result.evidence["baseline"] == "old"
        assert result.evidence["counts"] == {"candidates": 1, "suites": 1, "comparisons": 1}
        assert result.evidence["input"]["rows"] == 100

    def test_explanation(self) -> None:
        result = judge(
            *(run("old", "p" * 40 + "f" * 10, suite) for suite in "ab"),
            run("new", "f" * 10 + "p" * 40, "a"),
            run("new", "p" * 20 + "f" * 30, "b"),
            manifests=[
                *manifests("old"),
                *manifests("new", suite="a", temperature=1),
                *manifests("new", suite="b"),
            ],
        )
        found = result.explain("new")
        assert (found["verdict"], found["baseline"]) == ("block", "old")
        assert {reason["code"] for reason in found["reasons"]} == {"regression", "differing_field"}
        assert [row["suite"] for row in found["suites"]] == ["b", "a"]
        assert found["suites"][0]["floors"] < -1
        assert len(found["suites"][0]["regressed"]) == found["suites"][0]["n_regressed"] == 20
        assert found["suites"][1]["differences"] == [
            {"field": "temperature", "baseline_value": "0.2", "candidate_value": "1", "problem": "differs"}
        ]
        assert (len(found["suites"][1]["regressed"]), len(found["suites"][1]["fixed"])) == (10, 10)
        with pytest.raises(ArgumentError, match="no candidate"):
            result.explain("nwe")


def test_columns_that_nobody_compared_are_named() -> None:
    conditions = {"suite_hash": "ab", "temperature": 0.0}
    frame = pl.DataFrame(
        {
            "build": ["old"] * 30 + ["new"] * 30,
            "suite": "s",
            "case": [*range(30)] * 2,
            "passed": True,
            "tool": ["y"] * 30 + ["x"] * 30,
        }
    ).with_columns(pl.lit(value).alias(name) for name, value in conditions.items())
    policy = {"gate": "safety", "name": "n", "comparability": {"required": list(conditions)}}
    result = safety_gate(frame, None, policy, baseline="old")
    assert result.evidence["ignored"] == {"columns": ["tool"]}
    policy["comparability"] = {"required": [*conditions, "tool"]}
    compared = safety_gate(frame, None, policy, baseline="old")
    assert compared["new"] == "refused"
    assert compared.suites["differing_fields"].to_list() == [["tool"]]
