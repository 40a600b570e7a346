"""The stability gate on real judgements: what it finds is what their authors published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fastgate.gates.stability.gate import stability_gate

# Pairs judged alike in both orders, from the statistics that LLMBar's authors publish beside their results.
POSITION_AGREEMENT = {
    ("GPT-4", "Natural", "Vanilla"): (95, 100),
    ("GPT-4", "Adv-GPTInst", "Vanilla"): (87, 92),
    ("GPT-4", "Adv-GPTInst", "CoT"): (83, 92),
    ("ChatGPT", "Adv-GPTInst", "Vanilla"): (57, 92),
    ("ChatGPT", "Adv-GPTInst", "CoT"): (54, 92),
    ("LLaMA2", "Adv-GPTInst", "Vanilla"): (67, 92),
    ("LLaMA2", "Adv-GPTInst", "CoT"): (48, 92),
}


@pytest.fixture
def llmbar(data: Path) -> Any:
    return stability_gate(
        data / "pref_llmbar.parquet",
        data / "llmbar_policy.toml",
        preferences=data / "pairwise_llmbar.parquet",
    )


def test_only_gpt_4_keeps_its_choice_when_the_answers_trade_places(llmbar: Any) -> None:
    assert {build: llmbar[build] for build in llmbar} == {
        "ChatGPT": "block",
        "GPT-4": "pass",
        "LLaMA2": "block",
    }
    rows = {
        (row["build"], row["kind"]): (row["agree"], row["n"], row["holds"]) for row in llmbar.kinds.to_dicts()
    }
    assert rows == {
        ("ChatGPT", "template"): (3094, 3563, True),
        ("ChatGPT", "order_swap"): (821, 1468, False),
        ("GPT-4", "template"): (3236, 3563, True),
        ("GPT-4", "order_swap"): (1264, 1468, True),
        ("LLaMA2", "template"): (2984, 3563, True),
        ("LLaMA2", "order_swap"): (898, 1468, False),
    }
    assert llmbar.verdicts["failed_kinds"].to_list() == [["order_swap"], [], ["order_swap"]]


def test_position_agreement_is_the_published_one(data: Path) -> None:
    probes = pl.read_parquet(data / "pref_llmbar.parquet").filter(kind="order_swap")
    omit = ["paraphrase", "template", "model_version", "adversarial_framing"]
    policy = {"gate": "stability", "name": "one", "omit": omit, "letters": "raw", "min_probes": 1}
    for (judge, suite, variant), published in POSITION_AGREEMENT.items():
        part = probes.filter(build=judge, suite=suite, variant=variant)
        row = stability_gate(part, policy).kinds.row(0, named=True)
        assert (row["agree"], row["n"]) == published, (judge, suite, variant)


def test_taking_the_raw_letters_for_unswapped_ones_turns_the_finding_around(data: Path) -> None:
    policy = {
        "gate": "stability",
        "name": "wrong",
        "omit": ["paraphrase", "model_version", "adversarial_framing"],
    }
    wrong = stability_gate(data / "pref_llmbar.parquet", policy, letters="unswapped")
    shares = wrong.verdicts["order_swap_agreement"].to_list()
    assert [share < 0.5 for share in shares] == [True, True, True]


def test_only_gpt_4_prefers_what_people_prefer(llmbar: Any) -> None:
    low = llmbar.alternatives.filter(alternative="better")["ci_low"].to_list()
    assert [end > 0.5 for end in low] == [False, True, False]
    assert llmbar.evidence["posterior"]["probed"] == 2202
    assert llmbar.verdicts["ci_width"].max() < 0.05


def test_a_tenant_asks_for_more_than_gpt_4_has(data: Path) -> None:
    result = stability_gate(
        data / "pref_llmbar.parquet",
        data / "llmbar_policy.toml",
        preferences=data / "pairwise_llmbar.parquet",
        tenant="appeals",
    )
    assert result["GPT-4"] == "block"


def test_raters_agree_as_published(data: Path) -> None:
    probes = pl.read_parquet(data / "pref_pandalm.parquet").drop("kind")
    names = probes["variant"].unique().sort().to_list()
    omit = ["paraphrase", "template", "model_version", "order_swap", "adversarial_framing"]
    policy = {"gate": "stability", "name": "raters", "omit": omit, "min_agreement": dict.fromkeys(names, 0.9)}
    result = stability_gate(probes, policy, columns={"kind": "variant"})
    kappas = result.kinds.filter(pl.col("n") > 0).select(
        pl.col("kind").cast(pl.String), pl.col("kappa").round(2)
    )
    assert dict(kappas.rows()) == {
        "annotator_1->annotator_2": 0.85,
        "annotator_1->annotator_3": 0.88,
        "annotator_2->annotator_3": 0.86,
    }


def test_raters_pass_and_rank_the_models_as_published(data: Path) -> None:
    result = stability_gate(
        data / "pref_pandalm.parquet",
        data / "pandalm_policy.toml",
        preferences=data / "pairwise_pandalm.parquet",
    )
    assert {build: result[build] for build in result} == {"annotator_1": "pass", "annotator_2": "pass"}
    for build in result:
        ranked = result.alternatives.filter(pl.col("build").cast(pl.String) == build).sort("estimate")
        assert ranked["alternative"].to_list()[::4] == ["cerebras-gpt-6.7B", "llama-7b"]
    assert result.verdicts["ci_width"].to_list() == pytest.approx([0.0816, 0.0807], abs=1e-4)
