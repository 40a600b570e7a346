"""The stability gate: its rule line by line, its previous release, its faults, its orders of alternatives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fastgate
from fastgate.errors import ArgumentError, DataError, PolicyError
from fastgate.gates.policy import check_policy, effective, load_policy, policy_hash, to_dict
from fastgate.gates.stability.gate import stability_gate

FLOORS = {
    "paraphrase": (80, 100),
    "template": (80, 100),
    "model_version": (85, 100),
    "order_swap": (85, 100),
    "adversarial_framing": (70, 100),
}
KINDS = tuple(FLOORS)


def policy(**changes: Any) -> dict[str, Any]:
    return {"gate": "stability", "name": "test", "letters": "unswapped", **changes}


def only(kind: str = "paraphrase", **changes: Any) -> dict[str, Any]:
    """A policy that asks for one kind alone."""
    return policy(omit=[name for name in KINDS if name != kind], **changes)


def probes(agree: dict[str, tuple[int, int]] | None = None, build: str = "judge") -> pl.DataFrame:
    """Probes of each kind, `agree` of n with the primary's choice."""
    rows = []
    for kind, (same, n) in (FLOORS if agree is None else agree).items():
        for i in range(n):
            choice = "AB"[i % 2]
            rows.append((build, f"p{i}", kind, choice, choice if i < same else "BA"[i % 2]))
    return pl.DataFrame(rows, ["build", "pair", "kind", "primary_choice", "probe_choice"], orient="row")


def normal(sd: float = 0.02, build: str = "judge", n: int = 3) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "build": build,
            "alternative": [f"x{i}" for i in range(n)],
            "mean": [i / n for i in range(n)],
            "sd": sd,
        }
    )


def judged(frame: pl.DataFrame | None = None, rule: Any = None, **more: Any) -> Any:
    more = {"posterior": normal(), **more} if "preferences" not in more else more
    return stability_gate(probes() if frame is None else frame, policy() if rule is None else rule, **more)


def reasons(result: Any, build: str = "judge") -> list[str]:
    return list(result.verdicts.filter(pl.col("build").cast(pl.String) == build)["reasons"][0])


def kind_row(result: Any, kind: str, build: str = "judge") -> dict[str, Any]:
    found = result.kinds.filter(
        pl.col("kind").cast(pl.String) == kind, pl.col("build").cast(pl.String) == build
    )
    assert found.height == 1
    return dict(found.row(0, named=True))


class TestRule:
    def test_at_every_floor_exactly_it_passes(self) -> None:
        result = judged()
        assert result["judge"] == result.verdict == "pass"
        assert result.exit_code() == 0
        assert reasons(result) == []
        row = result.verdicts.row(0, named=True)
        assert [row[f"{kind}_agreement"] for kind in KINDS] == [0.8, 0.8, 0.85, 0.85, 0.7]
        assert row["ci_width"] == pytest.approx(2 * 1.959963984540054 * 0.02, rel=1e-14)
        assert result.kinds["required"].to_list() == [80, 80, 85, 85, 70]

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_probe_below_any_floor_blocks(self, kind: str) -> None:
        same, n = FLOORS[kind]
        result = judged(probes(dict.fromkeys(KINDS, (n, n)) | {kind: (same - 1, n)}))
        assert result["judge"] == "block"
        assert result.exit_code(review_ok=True) == 1
        assert reasons(result) == ["low_agreement"]
        assert result.verdicts["failed_kinds"].to_list() == [[kind]]
        assert [row["holds"] for row in result.kinds.to_dicts()] == [name != kind for name in KINDS]

    @pytest.mark.parametrize(
        ("floor", "same", "n"),
        [(0.8, 4, 5), (0.7, 7, 10), (0.85, 17, 20), (0.29, 29, 100), (0.55, 11, 20), (1, 7, 7)],
    )
    def test_floors_are_compared_as_fractions(self, floor: float, same: int, n: int) -> None:
        rule = only(min_agreement={"paraphrase": floor}, min_probes=1)
        assert judged(probes({"paraphrase": (same, n)}), rule)["judge"] == "pass"
        assert judged(probes({"paraphrase": (same - 1, n)}), rule)["judge"] == "block"

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_kind_without_probes_blocks(self, kind: str) -> None:
        result = judged(probes({name: (100, 100) for name in KINDS if name != kind}))
        assert (result["judge"], reasons(result)) == ("block", ["no_probes"])
        assert kind_row(result, kind)["agreement"] is None

    def test_too_few_probes_block_however_well_they_agree(self) -> None:
        assert judged(probes({"paraphrase": (30, 30)}), only())["judge"] == "pass"
        result = judged(probes({"paraphrase": (29, 29)}), only())
        assert (result["judge"], reasons(result)) == ("block", ["n_lt_min"])

    def test_missing_runs_within_the_share_are_left_out_and_counted(self) -> None:
        frame = probes({"paraphrase": (100, 100)}).with_columns(
            probe_choice=pl.when(pl.int_range(pl.len()) < 7).then(None).otherwise(pl.col("probe_choice"))
        )
        assert reasons(judged(frame, only())) == ["missing_runs"]
        assert reasons(judged(frame, only(max_missing_share=0.06))) == ["missing_runs"]
        result = judged(frame, only(max_missing_share=0.07))
        assert result["judge"] == "pass"
        assert (kind_row(result, "paraphrase")["n"], kind_row(result, "paraphrase")["missing"]) == (93, 7)

    def test_all_runs_missing_is_no_probe(self) -> None:
        frame = pl.concat(
            [
                probes({"paraphrase": (40, 40)}).with_columns(probe_choice=pl.lit(None, pl.String)),
                probes({"paraphrase": (40, 40)}, build="other"),
            ]
        )
        result = judged(
            frame, only(max_missing_share=0.99), posterior=pl.concat([normal(), normal(build="other")])
        )
        assert result["judge"] == "block"
        assert "no_probes" in reasons(result)
        assert result["other"] == "pass"

    def test_the_mean_width_at_the_cap_passes_and_above_it_blocks(self) -> None:
        width = float(judged().verdicts["ci_width"][0])
        assert judged(rule=policy(max_ci_width=width))["judge"] == "pass"
        result = judged(rule=policy(max_ci_width=width * (1 - 1e-12)))
        assert (result["judge"], reasons(result)) == ("block", ["wide_posterior"])
        assert reasons(judged(posterior=normal(0.0511))) == ["wide_posterior"]
        assert judged(posterior=normal(0.0510))["judge"] == "pass"

    @pytest.mark.parametrize("n", [2, 3, 6, 10, 49, 1000])
    def test_any_number_of_alternatives_at_the_cap_passes(self, n: int) -> None:
        """However their sum rounds."""
        sd = 0.1 / 1.959963984540054
        assert judged(posterior=normal(sd, n=n))["judge"] == "pass"
        wide = judged(posterior=normal(sd * (1 + 1e-12), n=n))
        assert (wide["judge"], reasons(wide)) == ("block", ["wide_posterior"])

    def test_no_posterior_blocks(self) -> None:
        result = judged(posterior=None)
        assert (result["judge"], reasons(result)) == ("block", ["no_posterior"])
        result = judged(posterior=normal(build="other"))
        assert (result["judge"], reasons(result)) == ("block", ["no_posterior"])

    def test_every_build_is_judged_by_itself(self) -> None:
        frame = pl.concat([probes(), probes(dict.fromkeys(KINDS, (10, 100)), build="bad")])
        result = judged(frame, posterior=pl.concat([normal(), normal(build="bad")]))
        assert (result["judge"], result["bad"], result.verdict) == ("pass", "block", "block")
        assert list(result) == ["bad", "judge"]
        assert list(judged(frame, candidates=["judge"])) == ["judge"]
        with pytest.raises(KeyError):
            result["nobody"]
        with pytest.raises(ArgumentError, match="no candidate 'jugde'"):
            judged(frame, candidates=["jugde"])

    def test_other_kinds_may_be_added(self) -> None:
        rule = only(min_agreement={"rerun": 0.95})
        frame = probes({"paraphrase": (100, 100), "rerun": (94, 100)})
        result = judged(frame, rule)
        assert result.verdicts["failed_kinds"].to_list() == [["rerun"]]
        assert judged(probes({"paraphrase": (100, 100), "rerun": (95, 100)}), rule)["judge"] == "pass"

    def test_the_preset_is_the_default_rule(self) -> None:
        stated, plain = (
            to_dict(effective("stability")),
            to_dict(effective({"gate": "stability", "name": "x"})),
        )
        assert {**stated, "name": "x"} == plain
        assert check_policy("stability") == []


class TestProfilesAndTenants:
    @pytest.mark.parametrize(
        "profile",
        [
            "legal_claim",
            "medical_sensitive",
            "regulated_financial",
            "family_sensitive",
            "employment_sensitive",
        ],
    )
    def test_customary_profiles_raise_model_version_and_the_cap(self, profile: str) -> None:
        result = judged(profile=profile)
        assert reasons(result) == ["low_agreement"]
        assert result.verdicts["failed_kinds"].to_list() == [["model_version"]]
        better = probes(FLOORS | {"model_version": (90, 100)})
        assert judged(better, profile=profile)["judge"] == "pass"
        assert reasons(judged(better, profile=profile, posterior=normal(0.039))) == ["wide_posterior"]
        assert judged(better, posterior=normal(0.039))["judge"] == "pass"
        assert result.evidence["profile"] == result.policy["profile"] == profile

    def test_a_profile_never_lowers_a_stricter_policy(self) -> None:
        strict = policy(min_agreement={"model_version": 0.95}, max_ci_width=0.1)
        rules = effective(strict, profile="legal_claim")
        assert (rules.min_agreement["model_version"], rules.max_ci_width) == (0.95, 0.1)

    def test_a_profile_asks_for_an_omitted_kind_again(self) -> None:
        assert effective(only(), profile="legal_claim").min_agreement == {
            "paraphrase": 0.8,
            "model_version": 0.9,
        }

    def test_policies_add_and_raise_profiles(self) -> None:
        rule = policy(
            profiles={
                "legal_claim": {"max_ci_width": 0.1},
                "toys": {"min_agreement": {"adversarial_framing": 0.9}},
            }
        )
        legal = effective(rule, profile="legal_claim")
        assert (legal.min_agreement["model_version"], legal.max_ci_width) == (0.9, 0.1)
        assert effective(rule, profile="toys").min_agreement["adversarial_framing"] == 0.9
        for lower in (
            {"legal_claim": {"max_ci_width": 0.18}},
            {"legal_claim": {"min_agreement": {"model_version": 0.88}}},
            {"toys": {"min_agreement": {"paraphrase": 0.7}}},
            {"toys": {"max_missing_share": 0.1}},
        ):
            with pytest.raises(PolicyError, match="looser"):
                load_policy(policy(profiles=lower))

    @pytest.mark.parametrize(
        "raised",
        [
            {"min_agreement": {"paraphrase": 0.81}},
            {"max_ci_width": 0.07},
            {"min_probes": 101},
            {"mass": 0.999999999},
            {"min_agreement": {"rerun": 0.5}},
        ],
    )
    def test_tenants_raise(self, raised: dict[str, Any]) -> None:
        rule = policy(tenants={"acme": raised})
        assert judged(rule=rule)["judge"] == "pass"
        assert judged(rule=rule, tenant="acme")["judge"] == "block"

    @pytest.mark.parametrize(
        "lowered",
        [
            {"min_agreement": {"paraphrase": 0.79}},
            {"max_ci_width": 0.21},
            {"min_probes": 29},
            {"mass": 0.9},
            {"max_drop": 0.06},
            {"max_missing_share": 0.01},
            {"accept_separation": True},
            {"unlisted": "ignore"},
        ],
    )
    def test_tenants_never_lower(self, lowered: dict[str, Any]) -> None:
        with pytest.raises(PolicyError, match="looser"):
            judged(rule=policy(tenants={"acme": lowered}))

    def test_of_tenant_and_profile_the_stricter_holds(self) -> None:
        rule = policy(tenants={"acme": {"min_agreement": {"model_version": 0.87}, "max_ci_width": 0.1}})
        rules = effective(rule, "acme", profile="legal_claim")
        assert (rules.min_agreement["model_version"], rules.max_ci_width) == (0.9, 0.1)
        assert (rules.tenant, rules.profile) == ("acme", "legal_claim")

    def test_unknown_names(self) -> None:
        with pytest.raises(PolicyError, match="no profile 'legal_clam'") as error:
            judged(profile="legal_clam")
        assert error.value.hint == "did you mean 'legal_claim'?"
        with pytest.raises(PolicyError, match="no tenant"):
            judged(tenant="nobody")
        with pytest.raises(PolicyError, match="have no profiles"):
            effective("concordia", profile="legal_claim")

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"omit": ["paraphrases"]}, "unless omitted"),
            ({"omit": ["paraphrase"], "min_agreement": {"paraphrase": 0.8}}, "both omitted"),
            ({"omit": list(KINDS)}, "every kind"),
            ({"min_agreement": {"paraphrase": 0}}, "cannot be used"),
            ({"min_agreement": {"paraphrase": 1.1}}, "cannot be used"),
            ({"min_agreement": {f"k{i}": 0.5 for i in range(60)}}, "too many kinds"),
            ({"mass": 1.0}, "cannot be used"),
            ({"mass": 0}, "cannot be used"),
            ({"prior_sd": 0}, "cannot be used"),
            ({"max_ci_width": float("nan")}, "cannot be used"),
            ({"scale": "probit"}, "cannot be used"),
            ({"max_cl_width": 0.2}, "unknown"),
        ],
    )
    def test_policies_that_cannot_be_meant(self, changes: dict[str, Any], problem: str) -> None:
        with pytest.raises(PolicyError, match=problem):
            load_policy(policy(**changes))

    def test_the_hash_is_of_what_decides(self) -> None:
        assert policy_hash(policy()) == policy_hash(policy(name="other", description="…", max_drop=0.050))
        assert policy_hash(policy()) != policy_hash(policy(max_drop=0.051))
        assert policy_hash(effective(policy(), profile="legal_claim")) != policy_hash(policy())

    def test_remarks(self) -> None:
        doubtful = policy(
            omit=["template"],
            min_agreement={"paraphrase": 0.5},
            max_ci_width=0.5,
            mass=0.5,
            min_probes=5,
            max_missing_share=0.1,
            max_drop=0.2,
            prior_sd=10.0,
            accept_separation=True,
            unlisted="ignore",
            tenants={"idle": {}},
            profiles={"idle": {}, "legal_claim": {}},
        )
        keys = [remark.split(":")[0] for remark in check_policy(doubtful)]
        assert keys == [
            "omit",
            "min_agreement.paraphrase",
            "max_ci_width",
            "mass",
            "prior_sd",
            "accept_separation",
            "min_probes",
            "max_missing_share",
            "max_drop",
            "unlisted",
            "profiles.idle",
            "profiles.legal_claim",
            "tenants.idle",
        ]


class TestPrevious:
    @pytest.mark.parametrize(
        ("before", "now", "verdict"),
        [
            ((90, 100), (85, 100), "pass"),
            ((90, 100), (84, 100), "review"),
            ((95, 100), (180, 200), "pass"),
            ((95, 100), (179, 200), "review"),
            ((18, 20), (17, 20), "pass"),
            ((83, 100), (90, 100), "pass"),
            ((95, 100), (270, 300), "pass"),
            ((95, 100), (269, 300), "review"),
        ],
    )
    def test_a_drop_of_more_than_five_hundredths_is_for_review(
        self, before: tuple[int, int], now: tuple[int, int], verdict: str
    ) -> None:
        rule = only(min_probes=10)
        previous = judged(probes({"paraphrase": before}), rule)
        result = judged(probes({"paraphrase": now}), rule, previous=previous)
        assert result["judge"] == verdict
        dropped = verdict == "review"
        assert reasons(result) == (["agreement_drop"] if dropped else [])
        assert result.verdicts["dropped_kinds"].to_list() == [["paraphrase"] if dropped else []]
        assert (result.exit_code(), result.exit_code(review_ok=True)) == ((3, 0) if dropped else (0, 0))
        row = kind_row(result, "paraphrase")
        assert row["drop"] == pytest.approx(before[0] / before[1] - now[0] / now[1], abs=1e-15)
        assert (row["previous_agree"], row["previous_n"]) == before

    def test_a_drop_does_not_soften_a_block(self) -> None:
        previous = judged(probes({"paraphrase": (100, 100)}), only())
        result = judged(probes({"paraphrase": (70, 100)}), only(), previous=previous)
        assert (result["judge"], reasons(result)) == ("block", ["low_agreement", "agreement_drop"])

    def test_the_drop_is_the_policys(self) -> None:
        previous = judged(probes({"paraphrase": (90, 100)}), only())
        frame = probes({"paraphrase": (88, 100)})
        assert judged(frame, only(max_drop=0.02), previous=previous)["judge"] == "pass"
        assert judged(frame, only(max_drop=0.019), previous=previous)["judge"] == "review"

    def test_kinds_and_builds_without_a_past_are_for_review(self) -> None:
        previous = judged(probes({"paraphrase": (90, 100)}), only())
        rule = only(min_agreement={"rerun": 0.5})
        frame = probes({"paraphrase": (90, 100), "rerun": (90, 100)})
        result = judged(frame, rule, previous=previous)
        assert (result["judge"], reasons(result)) == ("review", ["no_previous_agreement"])
        both = judged(
            pl.concat([probes(), probes(build="other")]),
            posterior=pl.concat([normal(), normal(build="other")]),
        )
        third = judged(probes(build="third"), posterior=normal(build="third"), previous=both)
        assert (third["third"], reasons(third, "third")) == ("review", ["no_previous_result"])
        named = judged(
            probes(build="third"), posterior=normal(build="third"), previous=both, previous_candidate="other"
        )
        assert named["third"] == "pass"
        with pytest.raises(ArgumentError, match="no build 'fourth'"):
            judged(previous=both, previous_candidate="fourth")
        with pytest.raises(ArgumentError, match="without a previous"):
            judged(previous_candidate="other")

    def test_counts_at_fault_are_no_past(self) -> None:
        frame = probes({"paraphrase": (90, 100)})
        previous = judged(pl.concat([frame, frame.head(1)]), only())
        assert reasons(judged(frame, only(), previous=previous)) == ["no_previous_agreement"]

    def test_from_files(self, tmp_path: Path) -> None:
        previous = judged(probes({"paraphrase": (100, 100)}), only())
        for name in ("previous.json", "previous", "previous.arrow"):
            previous.save(tmp_path / name)
            loaded = fastgate.load(tmp_path / name)
            assert type(loaded) is type(previous)
            assert (loaded.policy, loaded.evidence, loaded.verdict) == (
                previous.policy,
                previous.evidence,
                "pass",
            )
            for table, frame in previous.tables.items():
                assert loaded.tables[table].equals(frame, null_equal=True), table
                assert loaded.tables[table].schema == frame.schema
            result = judged(probes({"paraphrase": (94, 100)}), only(), previous=tmp_path / name)
            assert result["judge"] == "review"
            assert result.evidence["previous"]["policy_hash"] == previous.evidence["policy_hash"]
        assert json.loads((tmp_path / "previous.json").read_text())["gate"] == "stability"

    def test_of_another_gate(self) -> None:
        with pytest.raises(DataError, match="none of the stability gate"):
            judged(previous=object())


class TestOrderSwaps:
    @pytest.fixture
    def raw(self) -> pl.DataFrame:
        """A ranker that keeps its choice 90 times of 100, in the letters as shown."""
        stable = probes({"order_swap": (90, 100)})
        return stable.with_columns(probe_choice=pl.col("probe_choice").replace({"A": "B", "B": "A"}))

    def rule(self, **changes: Any) -> dict[str, Any]:
        return {key: value for key, value in only("order_swap", **changes).items() if key != "letters"}

    def test_raw_letters_are_unswapped(self, raw: pl.DataFrame) -> None:
        result = judged(raw, self.rule(), letters="raw")
        assert kind_row(result, "order_swap")["agree"] == 90
        assert result.evidence["input"]["letters"] == "raw"
        assert judged(raw, {**self.rule(), "letters": "raw"})["judge"] == "pass"
        assert kind_row(judged(raw, self.rule(), letters="unswapped"), "order_swap")["agree"] == 10

    def test_only_order_swaps_are_unswapped(self, raw: pl.DataFrame) -> None:
        rule = {key: value for key, value in policy().items() if key != "letters"}
        both = pl.concat([probes(FLOORS | {"order_swap": (0, 0)}), raw])
        assert judged(both, rule, letters="raw")["judge"] == "pass"

    def test_the_columns_name_says_it(self, raw: pl.DataFrame) -> None:
        result = judged(raw.rename({"probe_choice": "probe_choice_raw"}), self.rule())
        assert kind_row(result, "order_swap")["agree"] == 90
        result = judged(raw.rename({"probe_choice": "probe_choice_unswapped"}), self.rule())
        assert kind_row(result, "order_swap")["agree"] == 10

    def test_nothing_is_guessed(self, raw: pl.DataFrame) -> None:
        with pytest.raises(ArgumentError, match="not clear what the choices"):
            judged(raw, self.rule())
        flags = raw.with_columns(kind=pl.lit("paraphrase"), probe_swapped=True)
        rule = {key: value for key, value in only().items() if key != "letters"}
        with pytest.raises(ArgumentError, match="not clear what the choices"):
            judged(flags, rule)
        assert judged(flags.drop("probe_swapped"), rule)["judge"] == "block"
        with pytest.raises(ArgumentError, match="no such letters"):
            judged(raw, self.rule(), letters="swapped")
        for mapping in ({"probe_choice": "probe_choice_raw"}, {"probe_choice": "probe_choice_unswapped"}):
            other = "unswapped" if "probe_choice_raw" in mapping.values() else "raw"
            with pytest.raises(ArgumentError, match="not clear") as error:
                judged(raw.rename(mapping), self.rule(), letters=other)
            assert "the argument letters says" in str(error.value)
        with pytest.raises(ArgumentError, match="not clear"):
            judged(raw, {**self.rule(), "letters": "unswapped"}, letters="raw")

    def test_both_columns(self, raw: pl.DataFrame) -> None:
        twice = raw.with_columns(probe_choice_raw="probe_choice")
        with pytest.raises(DataError, match="stand twice"):
            judged(twice, self.rule())
        with pytest.raises(DataError, match="stand twice"):
            judged(twice.rename({"probe_choice": "probe_choice_unswapped"}), self.rule())

    def test_flags_say_which_run_was_swapped(self) -> None:
        """Each run in an order of its own: letters that differ may be one choice, and equal ones two."""
        frame = probes({"paraphrase": (100, 100)}).with_columns(
            primary_swapped=pl.int_range(pl.len()) % 3 == 0, probe_swapped=pl.int_range(pl.len()) % 5 == 0
        )
        shown = frame.with_columns(
            pl.when(f"{run}_swapped")
            .then(pl.col(f"{run}_choice").replace({"A": "B", "B": "A"}))
            .otherwise(f"{run}_choice")
            .alias(f"{run}_choice")
            for run in ("primary", "probe")
        )
        rule = {key: value for key, value in only().items() if key != "letters"}
        assert kind_row(judged(shown, rule, letters="raw"), "paraphrase")["agree"] == 100
        assert kind_row(judged(frame, rule, letters="unswapped"), "paraphrase")["agree"] == 100
        assert kind_row(judged(shown, rule, letters="unswapped"), "paraphrase")["agree"] < 100

    def test_an_order_swap_that_swaps_nothing_is_a_fault(self, raw: pl.DataFrame) -> None:
        flags = raw.with_columns(probe_swapped=True)
        assert judged(flags, self.rule(), letters="raw")["judge"] == "pass"
        one = flags.with_columns(probe_swapped=pl.int_range(pl.len()) > 0)
        result = judged(one, self.rule(), letters="raw")
        assert (result["judge"], reasons(result)) == ("block", ["unknown_order"])
        assert result.faults.select("fault", "pair").rows() == [("unknown_order", "p0")]
        null = flags.with_columns(probe_swapped=pl.when(pl.int_range(pl.len()) > 0).then(True))
        assert reasons(judged(null, self.rule(), letters="raw")) == ["unknown_order"]
        with pytest.raises(DataError, match="does not hold flags"):
            judged(raw.with_columns(probe_swapped=pl.lit("yes")), self.rule(), letters="raw")


class TestChoices:
    @pytest.mark.parametrize(
        ("primary", "probe", "classes", "same"),
        [
            ("tie", "tie", (None, None), True),
            ("tie", "A", (None, None), False),
            ("A", "tie", (None, None), False),
            ("abstain", "abstain", ("unsafe", "unsafe"), True),
            ("abstain", "abstain", ("unsafe", "unsure"), False),
            ("abstain", "abstain", (None, None), False),
            ("abstain", "abstain", ("unsafe", None), False),
            ("abstain", "A", ("unsafe", "unsafe"), False),
            ("A", "abstain", ("unsafe", "unsafe"), False),
            ("A", "A", ("x", "y"), True),
        ],
    )
    def test_ties_and_abstentions(
        self, primary: str, probe: str, classes: tuple[str | None, str | None], same: bool
    ) -> None:
        frame = probes({"paraphrase": (39, 39)}).with_columns(
            primary_reason=pl.lit(None, pl.String), probe_reason=pl.lit(None, pl.String)
        )
        one = pl.DataFrame(
            [("judge", "one", "paraphrase", primary, probe, *classes)], frame.columns, orient="row"
        ).cast(frame.schema)
        result = judged(pl.concat([frame, one]), only())
        assert kind_row(result, "paraphrase")["agree"] == 39 + same
        assert result.flips.height == 1 - same
        if not same:
            row = result.flips.row(0, named=True)
            assert (row["pair"], row["primary_choice"], row["probe_choice"]) == ("one", primary, probe)

    def test_flips_name_all_kinds_that_flipped_the_pair(self) -> None:
        frame = probes(dict.fromkeys(KINDS, (100, 100)))
        turned = pl.col("pair").is_in(["p3"]) & pl.col("kind").is_in(["template", "order_swap"])
        frame = frame.with_columns(
            probe_choice=pl.when(turned)
            .then(pl.col("primary_choice").replace({"A": "B", "B": "A"}))
            .otherwise("probe_choice")
        )
        result = judged(frame)
        assert result.flips.select("pair", "kind").rows() == [("p3", "template"), ("p3", "order_swap")]
        assert result.flips["stability_flags"].to_list() == [["template", "order_swap"]] * 2
        assert result.flips["observation_weight"].to_list() == [4 / 6] * 2
        assert result.verdicts.select("pairs", "flipped_pairs").row(0) == (100, 1)

    def test_pairs_of_two_suites_are_two(self) -> None:
        frame = probes({"paraphrase": (40, 40)})
        both = pl.concat([frame.with_columns(suite=pl.lit(name)) for name in ("s", "t")])
        assert judged(both, only()).verdicts["pairs"].to_list() == [80]
        assert reasons(judged(both.drop("suite"), only())) == ["duplicate_probe"]

    def test_variants_and_trials_are_probes_of_their_own(self) -> None:
        frame = probes({"paraphrase": (40, 40)})
        for column in ("variant", "trial"):
            both = pl.concat([frame.with_columns(pl.lit(name).alias(column)) for name in (1, 2)])
            result = judged(both, only())
            assert (result["judge"], kind_row(result, "paraphrase")["n"]) == ("pass", 80)
            some = both.with_columns(pl.when(pl.col(column) == 2).then(column))
            assert judged(some, only())["judge"] == "pass"


class TestFaults:
    """One build's fault blocks that build, says why, and leaves the other alone."""

    @staticmethod
    def beside(frame: pl.DataFrame, rule: dict[str, Any] | None = None) -> Any:
        other = probes({"paraphrase": (40, 40)}, build="other")
        other = other.with_columns(
            pl.lit(None, frame.schema[name]).alias(name)
            for name in frame.columns
            if name not in other.columns
        )
        posterior = pl.concat([normal(), normal(build="other")])
        result = judged(pl.concat([frame, other.select(frame.columns)]), rule or only(), posterior=posterior)
        assert result["other"] == "pass"
        assert reasons(result, "other") == []
        assert result["judge"] == "block"
        return result

    def test_a_probe_that_stands_twice(self) -> None:
        frame = probes({"paraphrase": (40, 40)})
        result = self.beside(pl.concat([frame, frame[7:8]]))
        assert reasons(result) == ["duplicate_probe"]
        assert (
            result.faults.select("build", "fault", "kind", "pair").rows()
            == [("judge", "duplicate_probe", "paraphrase", "p7")] * 2
        )

    def test_a_probe_without_its_primary(self) -> None:
        frame = probes({"paraphrase": (40, 40)})
        null = frame.with_columns(primary_choice=pl.when(pl.col("pair") != "p5").then("primary_choice"))
        result = self.beside(null, only(max_missing_share=0.5))
        assert reasons(result) == ["no_primary"]
        assert result.faults["pair"].to_list() == ["p5"]

    @pytest.mark.parametrize("word", ["a", "C", "A ", "Tie", "left", "1"])
    @pytest.mark.parametrize("column", ["primary_choice", "probe_choice"])
    def test_an_unknown_choice(self, word: str, column: str) -> None:
        frame = probes({"paraphrase": (40, 40)}).with_columns(
            pl.when(pl.col("pair") == "p5").then(pl.lit(word)).otherwise(column).alias(column)
        )
        result = self.beside(frame)
        assert reasons(result) == ["unknown_choice"]
        assert kind_row(result, "paraphrase")["agreement"] is None
        assert result.faults["pair"].to_list() == ["p5"]

    def test_an_alternative_compared_with_itself(self) -> None:
        frame = probes({"paraphrase": (40, 40)}).with_columns(
            left=pl.lit("x"), right=pl.when(pl.col("pair") == "p5").then(pl.lit("x")).otherwise(pl.lit("y"))
        )
        assert reasons(self.beside(frame)) == ["self_comparison"]

    def test_a_column_of_unknown_words_is_an_error(self) -> None:
        frame = probes({"paraphrase": (40, 40)}).with_columns(
            pl.col("primary_choice", "probe_choice").replace({"A": "first", "B": "second"})
        )
        with pytest.raises(DataError, match="none of the choices is known") as error:
            judged(frame, only())
        assert error.value.received == "first, second"
        with pytest.raises(DataError, match="no run made any choice"):
            judged(
                frame.with_columns(
                    pl.lit(None, pl.String).alias(name) for name in ("primary_choice", "probe_choice")
                ),
                only(),
            )
        with pytest.raises(DataError, match="does not hold choices"):
            judged(frame.with_columns(probe_choice=pl.lit(1)), only())

    def test_an_unknown_kind_is_an_error_unless_ignored(self) -> None:
        frame = probes({"paraphrase": (40, 40), "paraphrases": (0, 40)})
        with pytest.raises(DataError, match="does not name") as error:
            judged(frame, only())
        assert error.value.hint == "did you mean 'paraphrase'?"
        result = judged(frame, only(unlisted="ignore"))
        assert result["judge"] == "pass"
        assert result.evidence["ignored"] == {"kinds": ["paraphrases"]}
        assert result.flips.is_empty()
        assert result.verdicts["flipped_pairs"].to_list() == [0]

    def test_missing_columns(self) -> None:
        with pytest.raises(DataError, match="columns are missing: primary_choice"):
            judged(probes().drop("primary_choice"))
        with pytest.raises(DataError, match="missing in some rows"):
            judged(probes().with_columns(pair=pl.lit(None, pl.String)))


class TestPosteriors:
    @staticmethod
    def beside(posterior: pl.DataFrame, reason: str, rule: Any = None) -> Any:
        """A posterior at fault beside a sound one of the same shape."""
        frame = pl.concat([probes({"paraphrase": (40, 40)}), probes({"paraphrase": (40, 40)}, build="other")])
        result = judged(frame, rule or only(), posterior=posterior)
        assert (result["judge"], result["other"]) == ("block", "pass")
        assert reasons(result) == [reason]
        return result

    @staticmethod
    def both(column: str, judge: list[Any], other: list[Any], **more: Any) -> pl.DataFrame:
        names = ["x", "y"]
        frames = [
            pl.DataFrame({"build": build, "alternative": names[: len(values)], column: values})
            for build, values in (("judge", judge), ("other", other))
        ]
        return pl.concat(frames).with_columns(pl.lit(value).alias(name) for name, value in more.items())

    @pytest.mark.parametrize(
        ("sd", "reason"),
        [
            (0.0, "degenerate"),
            (-0.1, "invalid"),
            (float("nan"), "nonfinite"),
            (float("inf"), "nonfinite"),
            (None, "nonfinite"),
        ],
    )
    def test_standard_deviations(self, sd: float | None, reason: str) -> None:
        result = self.beside(self.both("sd", [0.02, sd], [0.02, 0.02], mean=0.5), reason)
        assert result.verdicts["ci_width"].to_list()[0] in (None, pytest.approx(0.0392, abs=1e-4))
        assert result.alternatives["status"].to_list() == ["ok", reason, "ok", "ok"]

    @pytest.mark.parametrize("name", ["alpha", "beta"])
    @pytest.mark.parametrize(
        ("shape", "reason"), [(0.0, "invalid"), (-1.0, "invalid"), (float("nan"), "nonfinite")]
    )
    def test_beta_shapes(self, name: str, shape: float, reason: str) -> None:
        other = "beta" if name == "alpha" else "alpha"
        self.beside(self.both(name, [200.0, shape], [200.0, 200.0], **{other: 200.0}), reason)

    @pytest.mark.parametrize(
        ("draws", "reason"),
        [
            ([], "too_few"),
            (None, "too_few"),
            ([0.5], "too_few"),
            (np.linspace(0.5, 0.53, 399).tolist(), "too_few"),
            ([0.5, float("nan"), 0.4], "nonfinite"),
            ([0.5, None, 0.4], "nonfinite"),
            ([0.5, float("inf")], "nonfinite"),
            ([0.5, 0.5, 0.5], "degenerate"),
        ],
    )
    def test_draws(self, draws: list[Any] | None, reason: str) -> None:
        good = np.linspace(0.5, 0.53, 400).tolist()
        result = self.beside(self.both("draws", [good, draws], [good, good]), reason)
        assert result.evidence["posterior"]["shape"] == "draws"

    def test_one_alternative_says_nothing(self) -> None:
        self.beside(self.both("sd", [0.02], [0.02, 0.02], mean=0.5), "one_alternative")

    def test_an_alternative_that_stands_twice(self) -> None:
        frame = self.both("sd", [0.02, 0.02], [0.02, 0.02], mean=0.5)
        result = self.beside(pl.concat([frame, frame.head(1)]), "duplicate_alternative")
        assert result.faults.select("build", "fault", "alternative").rows() == [
            ("judge", "duplicate_alternative", "x")
        ]

    def test_shapes_agree(self, tmp_path: Path) -> None:
        draws = [np.linspace(0.4, 0.5, 201).tolist(), np.linspace(0.5, 0.6, 101).tolist()]
        packed = pl.DataFrame({"build": "judge", "alternative": ["x", "y"], "draws": draws})
        expected = [0.095, 0.095]
        result = judged(posterior=packed)
        assert result.alternatives["width"].to_list() == pytest.approx(expected, rel=1e-12)
        assert result.alternatives["estimate"].to_list() == pytest.approx([0.45, 0.55], rel=1e-12)
        long = packed.explode("draws").rename({"draws": "draw"})
        long.write_csv(tmp_path / "draws.csv")
        for source in (long, tmp_path / "draws.csv"):
            assert judged(posterior=source).alternatives.equals(result.alternatives)
        assert judged(posterior=packed.reverse()).evidence["posterior"] == result.evidence["posterior"]
        beta = pl.DataFrame(
            {"build": "judge", "alternative": ["x", "y"], "alpha": [18, 180], "beta": [4, 40]}
        )
        assert judged(posterior=beta, rule=policy(max_ci_width=0.4)).alternatives[
            "width"
        ].to_list() == pytest.approx(fastgate.stats.beta_width([18, 180], [4, 40]).width.tolist(), rel=1e-15)

    def test_the_mass_is_the_policys(self) -> None:
        assert float(judged(rule=policy(mass=0.5)).verdicts["ci_width"][0]) == pytest.approx(
            fastgate.stats.normal_width(0.02, 0.5).width, rel=1e-14
        )

    def test_posterior_and_preferences(self) -> None:
        with pytest.raises(ArgumentError, match="both a posterior and preferences"):
            stability_gate(probes(), policy(), posterior=normal(), preferences=normal())

    def test_ambiguous_columns(self) -> None:
        with pytest.raises(DataError, match="more than one shape"):
            judged(posterior=normal().with_columns(alpha=1.0, beta=1.0))
        with pytest.raises(DataError, match="columns are missing"):
            judged(posterior=normal().drop("sd"))


class TestPreferences:
    RULE = only(max_ci_width=0.5)

    @staticmethod
    def preferences(build: str = "judge", n: int = 60, seed: int = 0) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        left, right = rng.integers(0, 3, n), rng.integers(1, 3, n)
        right = (left + right) % 3
        wins = rng.random(n) < 1 / (1 + np.exp(0.5 * (left - right)))
        return pl.DataFrame(
            {
                "build": build,
                "pair": [f"p{i}" for i in range(n)],
                "left": [f"x{i}" for i in left],
                "right": [f"x{i}" for i in right],
                "outcome": np.where(wins, "left", "right"),
                "weight": 1.0,
            }
        )

    def gate(self, preferences: Any, rule: Any = None, frame: pl.DataFrame | None = None, **more: Any) -> Any:
        if frame is None:
            frame = pl.concat([probes({"paraphrase": (60, 60)}, build=build) for build in ("judge", "other")])
        return stability_gate(frame, rule or self.RULE, preferences=preferences, **more)

    def beside(self, changed: pl.DataFrame, *expected: str) -> Any:
        result = self.gate(pl.concat([changed, self.preferences("other")], how="vertical_relaxed"))
        assert (result["judge"], result["other"]) == ("block", "pass")
        assert reasons(result) == list(expected)
        return result

    def test_utilities_are_fitted(self) -> None:
        given = self.preferences()
        result = self.gate(given, frame=probes({"paraphrase": (60, 60)}))
        codes = [given[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("left", "right")]
        fit = fastgate.stats.fit_utilities(*codes, given["outcome"].to_list(), prior_sd=2.0)
        assert result.alternatives["width"].to_list() == pytest.approx(fit.width.tolist(), rel=1e-12)
        assert result.alternatives["alternative"].to_list() == ["x0", "x1", "x2"]
        assert result.alternatives["estimate"].to_list() == pytest.approx(
            1 / (1 + np.exp(-fit.utilities)), rel=1e-12
        )
        assert result["judge"] == "pass"
        logit = self.gate(
            given, only(max_ci_width=5, scale="logit", prior_sd=1.0), probes({"paraphrase": (60, 60)})
        )
        again = fastgate.stats.fit_utilities(*codes, given["outcome"].to_list(), prior_sd=1.0, scale="logit")
        assert logit.alternatives["width"].to_list() == pytest.approx(again.width.tolist(), rel=1e-12)
        assert logit.alternatives["estimate"].to_list() == pytest.approx(
            again.utilities.tolist(), rel=1e-9, abs=1e-12
        )

    def test_preferences_of_unstable_pairs_count_less(self) -> None:
        given = self.preferences()
        frame = probes({"paraphrase": (50, 60)})
        result = self.gate(given, frame=frame)
        weights = [1.0] * 50 + [0.5] * 10
        codes = [given[side].str.slice(1).cast(pl.Int64).to_numpy() for side in ("left", "right")]
        fit = fastgate.stats.fit_utilities(*codes, given["outcome"].to_list(), weights, prior_sd=2.0)
        assert result.alternatives["width"].to_list() == pytest.approx(fit.width.tolist(), rel=1e-12)
        assert result.evidence["posterior"]["probed"] == 60
        unpaired = self.gate(given.drop("pair"), frame=frame)
        plain = fastgate.stats.fit_utilities(*codes, given["outcome"].to_list(), prior_sd=2.0)
        assert unpaired.alternatives["width"].to_list() == pytest.approx(plain.width.tolist(), rel=1e-12)
        assert unpaired.evidence["posterior"]["probed"] == 0
        half = self.gate(given.with_columns(weight=0.5), frame=frame)
        halved = fastgate.stats.fit_utilities(
            *codes, given["outcome"].to_list(), [0.5 * weight for weight in weights], prior_sd=2.0
        )
        assert half.alternatives["width"].to_list() == pytest.approx(halved.width.tolist(), rel=1e-12)

    def test_pairs_that_fit_nothing_are_an_error(self) -> None:
        given = self.preferences().with_columns(pair=pl.col("pair").str.replace("p", "case-"))
        with pytest.raises(DataError, match="no preference is of a pair"):
            self.gate(given)
        frame = pl.concat(
            [probes({"paraphrase": (60, 60)}).with_columns(suite=pl.lit(name)) for name in ("s", "t")]
        )
        with pytest.raises(DataError, match="without their suite"):
            self.gate(self.preferences(), frame=frame)
        assert self.gate(self.preferences().with_columns(suite=pl.lit("s")), frame=frame)["judge"] == "pass"

    def test_an_alternative_against_itself(self) -> None:
        changed = self.preferences().with_columns(
            right=pl.when(pl.col("pair") == "p4").then("left").otherwise("right")
        )
        result = self.beside(changed, "self_comparison")
        assert result.faults.select("build", "fault", "pair").rows() == [("judge", "self_comparison", "p4")]

    @pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), None])
    def test_bad_weights(self, weight: float | None) -> None:
        changed = self.preferences().with_columns(
            weight=pl.when(pl.col("pair") == "p4").then(weight).otherwise("weight")
        )
        self.beside(changed, "bad_weight")

    def test_no_weight_at_all(self) -> None:
        self.beside(self.preferences().with_columns(weight=0.0), "too_few")
        self.beside(self.preferences().with_columns(outcome=pl.lit("abstain")), "too_few")
        self.beside(self.preferences().with_columns(outcome=pl.lit(None, pl.String)), "too_few")

    def test_an_unknown_outcome(self) -> None:
        changed = self.preferences().with_columns(
            outcome=pl.when(pl.col("pair") == "p4").then(pl.lit("Left")).otherwise("outcome")
        )
        self.beside(changed, "unknown_outcome")

    def test_only_one_alternative(self) -> None:
        changed = self.preferences().with_columns(left=pl.lit("x"), right=pl.lit("x"))
        result = self.gate(pl.concat([changed, self.preferences("other")]))
        assert result["judge"] == "block"
        assert {"self_comparison", "one_alternative"} <= set(reasons(result))

    def test_separation_blocks_unless_accepted(self) -> None:
        changed = self.preferences().with_columns(
            outcome=pl.when(pl.col("left") < pl.col("right")).then(pl.lit("left")).otherwise(pl.lit("right"))
        )
        result = self.beside(changed, "separation")
        assert result.alternatives["status"][0] == "separation"
        accepted = self.gate(
            changed, only(max_ci_width=0.5, accept_separation=True), probes({"paraphrase": (60, 60)})
        )
        assert (accepted["judge"], accepted.alternatives["status"][0]) == ("pass", "separation")

    def test_groups_that_were_never_compared(self) -> None:
        apart = self.preferences().with_columns(pl.col("left", "right").str.replace("x", "z"))
        changed = pl.concat([self.preferences(), apart.with_columns(pair=pl.col("pair") + "z")])
        self.beside(changed, "disconnected")

    def test_outcomes_as_numbers(self, tmp_path: Path) -> None:
        words = self.preferences().with_columns(
            outcome=pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit("tie")).otherwise("outcome")
        )
        numbers = words.with_columns(
            outcome=pl.col("outcome").replace_strict({"left": 1.0, "right": 0.0, "tie": 0.5})
        )
        numbers.write_csv(tmp_path / "numbers.csv")
        frame = probes({"paraphrase": (60, 60)})
        expected = self.gate(words, frame=frame)
        for source in (numbers, tmp_path / "numbers.csv", words.sample(fraction=1.0, shuffle=True, seed=1)):
            result = self.gate(source, frame=frame)
            assert result.alternatives.equals(expected.alternatives)
            assert (
                result.evidence["posterior"]["fingerprint"] == expected.evidence["posterior"]["fingerprint"]
            )


class TestInputs:
    def test_files_and_names_of_columns(self, tmp_path: Path) -> None:
        expected = judged()
        renamed = probes().rename({"build": "model", "probe_choice": "answer"})
        mapping = {"build": "model", "probe_choice": "answer"}
        assert judged(renamed, columns=mapping).kinds.equals(expected.kinds)
        renamed.write_csv(tmp_path / "probes.csv")
        renamed.write_parquet(tmp_path / "probes.parquet")
        for name in ("probes.csv", "probes.parquet"):
            result = stability_gate(
                tmp_path / name, policy(), posterior=normal().rename({"build": "model"}), columns=mapping
            )
            assert result.kinds.equals(expected.kinds)
            assert result.evidence["input"]["fingerprint"] == expected.evidence["input"]["fingerprint"]
        with pytest.raises(ArgumentError, match="none of fastgate's column names"):
            judged(columns={"judge": "build"})

    def test_csv_has_empty_fields_for_missing_runs(self, tmp_path: Path) -> None:
        frame = probes({"paraphrase": (40, 40)}).with_columns(
            probe_choice=pl.when(pl.col("pair") != "p1").then("probe_choice")
        )
        for null in ("", "NA", "null"):
            frame.write_csv(tmp_path / "probes.csv", null_value=null)
            assert kind_row(judged(tmp_path / "probes.csv", only()), "paraphrase")["missing"] == 1

    def test_fingerprints_are_of_content(self) -> None:
        frame = probes()
        fingerprint = judged(frame).evidence["input"]["fingerprint"]
        assert (
            judged(frame.sample(fraction=1.0, shuffle=True, seed=3)).evidence["input"]["fingerprint"]
            == fingerprint
        )
        for changed in (
            frame.head(-1),
            frame.with_columns(pair=pl.col("pair").replace({"p3": "p_3"})),
            frame.with_columns(
                probe_choice=pl.when(pl.int_range(pl.len()) == 9)
                .then(pl.lit("tie"))
                .otherwise("probe_choice")
            ),
            frame.with_columns(variant=pl.lit("v")),
        ):
            assert judged(changed).evidence["input"]["fingerprint"] != fingerprint

    def test_categories_as_good_as_text(self) -> None:
        frame = probes()
        for dtype in (pl.Categorical, pl.Enum(["A", "B", "tie", "abstain"])):
            typed = frame.with_columns(
                pl.col("primary_choice", "probe_choice").cast(dtype), pl.col("build").cast(pl.Categorical)
            )
            assert judged(typed).kinds.equals(judged(frame).kinds)

    def test_plain_data(self) -> None:
        plain = judged(posterior=None).to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert plain["schema_version"] == 1

    def test_policy_by_keyword_and_by_path(self, tmp_path: Path) -> None:
        (tmp_path / "policy.toml").write_text('gate = "stability"\nname = "x"\nletters = "unswapped"\n')
        result = stability_gate(probes(), policy=tmp_path / "policy.toml", posterior=normal())
        assert result["judge"] == "pass"
        with pytest.raises(PolicyError, match="policy of the benchmark gate"):
            stability_gate(probes(), "concordia", posterior=normal())


class TestExplanation:
    def test_it_says_what_is_missing(self) -> None:
        frame = probes(FLOORS | {"template": (77, 100)})
        told = judged(frame, posterior=normal(0.06)).explain("judge")
        assert [reason["code"] for reason in told["reasons"]] == ["low_agreement", "wide_posterior"]
        kinds = {row["kind"]: row for row in told["kinds"]}
        assert (kinds["template"]["short"], kinds["paraphrase"]["short"]) == (3, 0)
        assert kinds["template"]["flips"] == [{"variant": None, "n": 23}]
        assert not kinds["paraphrase"]["likely_above"]
        assert told["posterior"]["widest"][0]["status"] == "ok"
        assert told["unstable_pairs"][0]["stability_flags"] == list(KINDS)
        assert {name: row["to_change"] for name, row in kinds.items() if row["to_change"]} == {"template": 3}
        assert told["metrics"]["ci_width"] == told["posterior"]["ci_width"]
        assert [row["alternative"] for row in told["alternatives"]] == ["x0", "x1", "x2"]
        assert len(told["flips"]) == sum(row["n"] - row["agree"] for row in told["kinds"])
        with pytest.raises(ArgumentError, match="no build 'jugde'"):
            judged().explain("jugde")
        assert json.loads(json.dumps(told, allow_nan=False)) == told

    def test_an_interval_above_the_threshold_is_likely_to_stay(self) -> None:
        told = judged(probes(dict.fromkeys(KINDS, (100, 100)))).explain("judge")
        assert all(row["likely_above"] for row in told["kinds"])
        assert told["unstable_pairs"] == []
