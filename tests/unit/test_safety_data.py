"""The safety gate on the real data of this repository: what it finds is what was published, and what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fastgate.gates.policy import check_policy
from fastgate.gates.safety import compare_manifests, safety_gate


def rows(result: Any, *columns: str) -> dict[Any, Any]:
    table = result.suites.with_columns(pl.selectors.by_dtype(pl.Enum).cast(pl.String))
    return {
        (row["candidate"], row["suite"]): tuple(row[name] for name in columns)
        if len(columns) > 1
        else row[columns[0]]
        for row in table.to_dicts()
    }


class TestJailbreakBench:
    """Published attack success rates: 95, 80, 90, 69, 89 of 100 on vicuna; 94, 3, 0, 0, 90 on llama-2."""

    def judge(self, data: Path, baseline: str, **options: Any) -> Any:
        files = data / "safety_jailbreakbench.parquet", data / "safety_jailbreakbench_manifests.json"
        return safety_gate(
            *files, options.pop("policy", data / "safety_policy.toml"), baseline=baseline, **options
        )

    def test_llama_resists_three_attacks_more(self, data: Path) -> None:
        result = self.judge(data, "vicuna-13b-v1.5")
        new = "llama-2-7b-chat-hf"
        assert result[new] == "pass"
        assert rows(result, "outcome", "passes_baseline", "passes_candidate") == {
            (new, "jbb_DSN"): ("no_signal", 5, 6),
            (new, "jbb_GCG"): ("improvement", 20, 97),
            (new, "jbb_JBC"): ("improvement", 10, 100),
            (new, "jbb_PAIR"): ("improvement", 31, 100),
            (new, "jbb_PromptRS"): ("no_signal", 11, 10),
        }

    def test_the_other_way_round_it_is_blocked(self, data: Path) -> None:
        result = self.judge(data, "llama-2-7b-chat-hf")
        (verdict,) = result.verdicts.to_dicts()
        assert (verdict["verdict"], verdict["worst_suites"]) == ("block", ["jbb_GCG", "jbb_JBC", "jbb_PAIR"])
        flips = result.flips.filter(pl.col("suite") == "jbb_JBC")
        assert flips["change"].cast(pl.String).to_list() == ["regressed"] * 90

    def test_prompts_that_were_never_tried_show_nothing(self, data: Path) -> None:
        """96 of the 100 passes of one suite are attacks that were not made."""
        result = self.judge(data, "vicuna-13b-v1.5", columns={"error": "not_attempted"})
        reasons = rows(result, "reasons", "errors_candidate", "errors_baseline")
        assert reasons["llama-2-7b-chat-hf", "jbb_PAIR"] == (["too_many_errors", "n_lt_min"], 96, 18)
        assert reasons["llama-2-7b-chat-hf", "jbb_GCG"] == ([], 0, 0)
        assert result["llama-2-7b-chat-hf"] == "refused"

    def test_what_the_attack_aimed_at_is_a_condition_unless_ignored(self, data: Path) -> None:
        policy = {"gate": "safety", "name": "n", "comparability": {"required": ["suite_hash"]}}
        result = self.judge(data, "vicuna-13b-v1.5", policy=policy)
        assert result.differences.select("suite", "field").rows() == [
            ("jbb_PromptRS", "attack.parameters.target_model")
        ]
        table = compare_manifests(
            *[data / "safety_jailbreakbench_manifests.json"] * 2,
            required=["suite_hash"],
            baseline_build="vicuna-13b-v1.5",
            candidate_build="llama-2-7b-chat-hf",
        )
        assert table.filter(~pl.col("agrees"))["suite"].to_list() == ["jbb_PromptRS"]

    def test_the_policy_owns_up_to_what_it_leaves_out(self, data: Path) -> None:
        found = check_policy(data / "safety_policy.toml")
        assert [remark.split(":")[0] for remark in found] == [
            "comparability.required",
            "comparability.ignored",
        ]


class TestXSTest:
    """Published: 101 of 250 safe prompts answered in full with the old system prompt, 176 without it."""

    def judge(self, data: Path, passed: str, baseline: str = "llama2orig") -> Any:
        files = data / "safety_xstest.parquet", data / "safety_xstest_manifests.json"
        required = ["suite_hash", "grader_version"]
        policy = {"gate": "safety", "name": "n", "comparability": {"required": required}}
        return safety_gate(*files, policy, baseline=baseline, columns={"passed": passed})

    def test_suites_that_move_apart(self, data: Path) -> None:
        found = rows(
            self.judge(data, "passed"), "outcome", "passes_baseline", "passes_candidate", "regressed", "fixed"
        )
        assert found == {
            ("llama2new", "xstest_safe"): ("improvement", 101, 176, 5, 80),
            ("llama2new", "xstest_unsafe"): ("no_signal", 200, 200, 0, 0),
        }
        back = self.judge(data, "passed", "llama2new")
        assert (back["llama2orig"], back.exit_code()) == ("block", 1)

    def test_all_passed_on_both_sides(self, data: Path) -> None:
        """No pair is discordant and the rate is 1; there is a noise floor all the same."""
        row = self.judge(data, "passed").suites.filter(pl.col("suite") == "xstest_unsafe").to_dicts()[0]
        assert row["noise_floor"] == pytest.approx(0.0094, abs=5e-5)
        assert (row["mcnemar_pvalue"], row["pvalue"], row["false_alarm"]) == (1.0, None, None)
        assert row["paired_ci_low"] == pytest.approx(-0.0188, abs=5e-5)

    def test_another_grader_sees_another_thing(self, data: Path) -> None:
        """Which is why the grader's version is a comparability field."""
        for passed, counts in (("passed_gpt4", (170, 146)), ("passed_strmatch", (196, 191))):
            found = rows(self.judge(data, passed), "outcome", "passes_baseline", "passes_candidate")
            assert found["llama2new", "xstest_unsafe"] == ("regression", *counts)

    def test_a_regression_by_the_rule_that_pairs_do_not_show(self, data: Path) -> None:
        """7 cases broken, 2 repaired: beyond the floor, and within what replays give by chance."""
        row = (
            self.judge(data, "passed_strmatch")
            .suites.filter(pl.col("suite") == "xstest_unsafe")
            .to_dicts()[0]
        )
        assert (row["regressed"], row["fixed"], row["outcome"]) == (7, 2, "regression")
        assert row["mcnemar_pvalue"] == pytest.approx(0.18, abs=0.005)
        assert row["ci_low"] < 0 < row["ci_high"]
        assert row["false_alarm"] == pytest.approx(0.114, abs=5e-4)


class TestPastTense:
    """Published: 26 of 100 requests refused 20 times by gpt-3.5-turbo, 73 by llama3, 18 by phi3."""

    def judge(self, data: Path, frame: Any = None, **options: Any) -> Any:
        source = data / "safety_pasttense.parquet" if frame is None else frame
        policy = options.pop("policy", data / "safety_trials_policy.toml")
        return safety_gate(
            source, data / "safety_pasttense_manifests.json", policy, baseline="gpt-3.5-turbo", **options
        )

    def test_coverage_speaks_first(self, data: Path) -> None:
        """The fine-tuned builds ran half of the cases: whatever their rates, they are refused."""
        result = self.judge(data)
        found = rows(result, "verdict", "indicated", "reasons")
        for build in ("10_90", "2_98", "30_70", "5_95"):
            assert found[f"gpt-3.5-turbo-ft-{build}", "refusal_past_tense"] == (
                "refused",
                "improvement",
                ["differing_field", "unpaired_cases"],
            )
        assert found["llama3-8b", "refusal_past_tense"] == ("pass", "improvement", [])
        assert found["gemma2-9b", "refusal_past_tense"] == ("pass", "no_signal", [])
        assert found["phi3", "refusal_past_tense"] == ("pass", "no_signal", [])
        assert result.faults.group_by("build", "fault").len()["len"].to_list() == [50] * 4
        assert result.evidence["ignored"] == {"suites": ["refusal_future_tense"]}

    def test_trials_stop_at_the_first_failure(self, data: Path) -> None:
        """So pooled trials say little: gpt-3.5-turbo refused 91 % of its attempts and gave in to 74 % of requests."""
        result = self.judge(data)
        run = result.runs.filter(
            (pl.col("build") == "gpt-3.5-turbo") & (pl.col("suite") == "refusal_past_tense")
        ).to_dicts()[0]
        assert (run["passed_cases"], run["failed_cases"]) == (26, 74)
        assert run["passed_trials"] / run["trials"] == pytest.approx(0.906, abs=5e-4)
        assert run["flake_rate"] is None
        strict = {"gate": "safety", "name": "n", "suites": ["refusal_past_tense"], "unlisted": "ignore"}
        refused = self.judge(data, policy={**strict, "comparability": {"required": []}}, candidates=["phi3"])
        assert rows(refused, "reasons")["phi3", "refusal_past_tense"] == ["unpaired_trials"]

    def test_on_the_shared_cases_fine_tuning_helps(self, data: Path) -> None:
        frame = pl.read_parquet(data / "safety_pasttense.parquet")
        shared = frame.filter(pl.col("build") == "gpt-3.5-turbo-ft-2_98")["case"].unique().implode()
        policy = {
            "gate": "safety",
            "name": "n",
            "suites": ["refusal_past_tense"],
            "unlisted": "ignore",
            "trial_sets": "first-failure",
            "comparability": {"required": ["temperature"], "ignored": ["suite_hash"]},
        }
        result = self.judge(data, frame.filter(pl.col("case").is_in(shared)), policy=policy)
        found = rows(result, "outcome", "rate_candidate")
        rates = {"10_90": 0.98, "2_98": 0.76, "30_70": 1.0, "5_95": 1.0}  # published: 2, 24, 0, 0 % give in
        for build, rate in rates.items():
            assert found[f"gpt-3.5-turbo-ft-{build}", "refusal_past_tense"] == ("improvement", rate)


class TestMetr:
    """Agents' runs on tasks, 1 to 88 of each; some builds did not try every task."""

    def judge(self, data: Path, **policy: Any) -> Any:
        frame = pl.read_parquet(data / "safety_metr.parquet").with_columns(suite=pl.lit("tasks"))
        policy = {
            "gate": "safety",
            "name": "n",
            "comparability": {"required": []},
            "trial_sets": "any",
            **policy,
        }
        return safety_gate(frame, None, policy, baseline="Claude 3.5 Sonnet (Old)")

    @pytest.mark.parametrize("trials", ["share", "majority", "all"])
    def test_cases_are_what_counts(self, data: Path, trials: str) -> None:
        result = self.judge(data, trials=trials)
        assert {name: result[name] for name in result} == {
            "Claude 3 Opus": "block",
            "GPT-4 0314": "block",
            "GPT-4 Turbo": "block",
            "GPT-4o": "pass",
            "davinci-002": "refused",
        }
        assert result.suites["n_baseline"].to_list() == [83] * 4 + [16]

    @pytest.mark.parametrize(
        ("name", "baseline", "verdicts"),
        [
            ("metr", "GPT-4 0314", {"Claude 3.5 Sonnet (Old)": "pass", "davinci-002": "refused"}),
            ("xstest", "llama2orig", {"llama2new": "pass"}),
            ("xstest", "llama2new", {"llama2orig": "block"}),
        ],
    )
    def test_with_the_policies_that_are_shipped(
        self, data: Path, name: str, baseline: str, verdicts: dict[str, str]
    ) -> None:
        files = (data / f"safety_{name}{end}" for end in (".parquet", "_manifests.json", "_policy.toml"))
        result = safety_gate(*files, baseline=baseline)
        assert {build: result[build] for build in verdicts} == verdicts

    def test_counting_trials_narrows_the_floor(self, data: Path) -> None:
        """10 trials of one task are not 10 tasks: by trials the floor is a third, and one verdict turns."""
        by_case, by_trial = self.judge(data, trials="share"), self.judge(data, trials="each")
        floors = [result.suites["noise_floor"][0] for result in (by_case, by_trial)]
        assert floors == pytest.approx([0.104, 0.032], abs=5e-4)
        assert (by_case["GPT-4o"], by_trial["GPT-4o"]) == ("pass", "block")

    def test_seeds_disagree_in_a_third_of_the_tasks(self, data: Path) -> None:
        result = self.judge(data, trials="share")
        flake = dict(result.runs.select(pl.col("build").cast(pl.String), "flake_rate").rows())
        assert flake["Claude 3.5 Sonnet (Old)"] == pytest.approx(33 / 83)
        assert flake["davinci-002"] == 0.0
        row = result.suites.filter(pl.col("candidate") == "GPT-4 Turbo").to_dicts()[0]
        assert row["repeated_cases"] == 83
        assert row["sampling_share"] == pytest.approx(0.29, abs=0.005)
        assert (row["regressed_every_trial"], row["fixed_every_trial"]) == (2, 0)

    def test_families_of_tasks_are_too_small_to_gate_on(self, data: Path) -> None:
        policy = {"gate": "safety", "name": "n", "comparability": {"required": []}, "trial_sets": "any"}
        families = pl.read_parquet(data / "safety_metr.parquet").drop("suite").rename({"family": "suite"})
        result = safety_gate(
            families,
            None,
            {**policy, "unlisted": "ignore", "trials": "share"},
            baseline="GPT-4o",
            candidates=["GPT-4 Turbo"],
        )
        reasons = {tuple(codes) for codes in result.suites["reasons"].to_list()}
        assert ("n_lt_min",) in reasons
        assert result["GPT-4 Turbo"] == "refused"


class TestTheExample:
    def test_it_is_refused(self, data: Path) -> None:
        files = data / "safety_example.csv", data / "safety_example_manifests.toml"
        result = safety_gate(*files, "litmus", baseline="baseline")
        row = result.suites.to_dicts()[0]
        assert (result.exit_code(), row["outcome"], row["indicated"]) == (4, "undefined", "regression")
        assert row["differing_fields"] == ["temperature"]
        assert row["false_alarm"] == pytest.approx(0.101, abs=1e-3)
