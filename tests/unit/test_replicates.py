from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from drawn_sweeps import CANDIDATES, random_policy, random_previous, random_runs

import fastgate
from fastgate.errors import ArgumentError, DataError
from fastgate.frames import read_samples
from fastgate.gates.benchmark.confidence.drawing_setting import setting
from fastgate.gates.benchmark.confidence.drawings import drawn_states, outcomes
from fastgate.gates.benchmark.confidence.replicates import multinomial_draw, replicate, wins_before
from fastgate.gates.benchmark.confidence.rule_states import FAULTY, tally, verdicts_of
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.policy import effective
from fastgate.gates.verdict import OUTCOMES, VERDICTS


def once(stratum: Any, first: int, count: int) -> Any:
    """Every case exactly once: the data as they are."""
    return np.ones((stratum.n_cases, count))


def rules_of(policy: dict[str, Any], tenant: str | None = None) -> Any:
    return effective(policy, tenant, gate="benchmark")


def drawn(samples, rules, candidates, draw, count, won_before=None, unmatched=()):
    """The suites' outcomes (suite, candidate, baseline, replicate) and the verdicts, in words."""
    at = setting(samples, rules, candidates)
    found = list(outcomes(at, drawn_states(draw), 0, count))
    before = None if won_before is None else wins_before(won_before, at)
    counted = tally(found, before, (*at.shape, count))
    unknown = np.isin(candidates, list(unmatched))
    verdicts = verdicts_of(counted, at.tables, rules.min_suite_wins, unknown)
    suites = np.array(OUTCOMES)[np.stack(found) & (FAULTY - 1)]
    return suites, np.array(VERDICTS)[verdicts]


def judged(samples, rules, candidates, won_before=None, unmatched=()):
    tables = judge(samples, rules, candidates, won_before=won_before, unmatched=unmatched)
    suites = tables["suites"]["outcome"].cast(pl.String).to_numpy()
    shape = (len(candidates), len(rules.baselines), len(rules.suites))
    return suites.reshape(shape).transpose(2, 0, 1), tables["verdicts"]["verdict"].cast(pl.String).to_numpy()


@pytest.mark.parametrize("seed", range(150))
def test_each_case_drawn_once_is_the_gate_itself(seed: int) -> None:
    """Whatever the policy asks for and the data lack: the same outcome of each suite, and the same verdict."""
    rng = np.random.default_rng([1, seed])
    policy = random_policy(rng)
    samples = read_samples(random_runs(rng, policy, calm=seed % 5 < 3), trials="refuse")
    rules = rules_of(policy, "strict" if seed % 3 == 0 else None)
    before, unmatched = (random_previous(rng, policy), ("c",)) if seed % 4 == 1 else (None, ())
    candidates = list(CANDIDATES)
    ours = drawn(samples, rules, candidates, once, 2, before, unmatched)
    gate = judged(samples, rules, candidates, before, unmatched)
    for replicate_number in range(2):
        assert ours[0][..., replicate_number].tolist() == gate[0].tolist()
        assert ours[1][:, replicate_number].tolist() == gate[1].tolist()


def resampled(runs: pl.DataFrame, weights: dict[str, dict[str, int]]) -> pl.DataFrame:
    """The measurements of the cases drawn, each under as many names as it was drawn."""
    counts = pl.DataFrame(
        [(suite, case, int(n)) for suite, cases in weights.items() for case, n in cases.items()],
        schema={"suite": pl.String, "case": pl.String, "times": pl.Int64},
        orient="row",
    )
    return (
        runs.join(counts, on=["suite", "case"])
        .with_columns(copy=pl.int_ranges(pl.col("times")))
        .filter(pl.col("times") > 0)
        .explode("copy")
        .with_columns(pl.format("{}#{}", "case", "copy").alias("case"))
        .drop("times", "copy")
    )


def weights_of(samples, rules, candidates, draw, count) -> list[dict[str, dict[str, int]]]:
    """Suite → case → how often it was drawn, of each replicate; all candidates being drawn together."""
    found: list[dict[str, dict[str, int]]] = [{} for _ in range(count)]
    for plan in setting(samples, rules, candidates).suites:
        (group,) = plan.groups
        (stratum,) = group.strata
        names = samples.case_names.gather(group.universe).to_list()
        for place, column in enumerate(draw(stratum, 0, count).T):
            found[place][plan.name] = dict(zip(names, column, strict=True))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_a_replicate_is_the_gate_on_the_cases_drawn(seed: int) -> None:
    """The same drawings as data with new case ids, judged by the gate: the naive way, and slow."""
    rng = np.random.default_rng([2, seed])
    policy = {**random_policy(rng), "min_cases": 2}
    runs = random_runs(rng, policy, calm=seed % 2 == 0, faults=False, n_cases=12)
    samples, rules, candidates = read_samples(runs), rules_of(policy), list(CANDIDATES)
    before = random_previous(rng, policy) if seed % 4 == 1 else None
    draw = multinomial_draw(seed)
    count = 8
    suites, verdicts = drawn(samples, rules, candidates, draw, count, before)
    for place, weights in enumerate(weights_of(samples, rules, candidates, draw, count)):
        again = read_samples(resampled(runs, weights))
        expected = judged(again, rules, candidates, before)
        assert suites[..., place].tolist() == expected[0].tolist()
        assert verdicts[:, place].tolist() == expected[1].tolist()
        assert all(sum(cases.values()) == len(cases) for cases in weights.values())


@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize("method", ["none", "holm"])
def test_missing_values_are_dropped_with_their_weights(test: str, method: str) -> None:
    rng = np.random.default_rng(5)
    policy = {
        "gate": "benchmark", "name": "gaps", "baselines": ["old"], "suites": ["s", "t"], "min_suite_wins": 2,
        "kpis": {"score": {"direction": "higher"}}, "max_missing_share": 0.9, "test": test,
        "correction": {"method": method},
    }  # fmt: skip
    runs = pl.DataFrame(
        [
            (
                build,
                suite,
                "score",
                f"{case:02}",
                None if rng.random() < 0.25 else rng.normal(0.5 * (build == "new")),
            )
            for build in ("new", "old")
            for suite in ("s", "t")
            for case in range(20)
        ],
        schema=["build", "suite", "kpi", "case", "value"],
        orient="row",
    )
    samples, rules, draw = read_samples(runs), rules_of(policy), multinomial_draw(3)
    suites, verdicts = drawn(samples, rules, ["new"], draw, 60)
    for place, weights in enumerate(weights_of(samples, rules, ["new"], draw, 60)):
        expected = judged(read_samples(resampled(runs, weights)), rules, ["new"])
        assert suites[..., place].tolist() == expected[0].tolist()
        assert verdicts[:, place].tolist() == expected[1].tolist()
    assert len(set(verdicts[0])) == 2


def test_a_drawing_that_leaves_one_value_is_at_fault() -> None:
    policy = {
        "gate": "benchmark", "name": "gaps", "baselines": ["old"], "suites": ["s"], "min_suite_wins": 1,
        "kpis": {"score": {"direction": "higher"}}, "max_missing_share": 0.9,
    }  # fmt: skip
    values = {"new": [9.0, 8.0, 9.5, None], "old": [1.0, 2.0, None, None]}
    runs = pl.DataFrame(
        [
            (build, "s", "score", str(i), value)
            for build, own in values.items()
            for i, value in enumerate(own)
        ],
        schema=["build", "suite", "kpi", "case", "value"],
        orient="row",
    )

    def draw(stratum, first, count):
        return (
            np.array([[1, 2, 1, 0], [3, 0, 1, 0], [1, 1, 1, 1], [1, 0, 3, 0], [0, 0, 0, 4]], np.float64)
            .T[:, :count]
            .copy()
        )

    suites, verdicts = drawn(read_samples(runs), rules_of(policy), ["new"], draw, 5)
    # Two cases of the baseline and more; twice its first, a constant; as they are; a single value; none.
    assert suites[0, 0, 0].tolist() == ["win", "win", "win", "undefined", "undefined"]
    assert verdicts[0].tolist() == ["pass", "pass", "pass", "block", "block"]


@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize("alternative", ["two-sided", "one-sided"])
@pytest.mark.parametrize("n", [2, 3, 11, 100])
def test_significance_is_p_below_alpha_however_near(test: str, alternative: str, n: int) -> None:
    """Candidates whose t is within a billionth to a hundredth of the critical value, on either side."""
    policy = {
        "gate": "benchmark", "name": "near", "baselines": ["old"], "suites": ["s"], "min_suite_wins": 1,
        "kpis": {"score": {"direction": "higher"}}, "test": test, "alternative": alternative,
    }  # fmt: skip
    rng = np.random.default_rng(n)
    old = rng.normal(size=n)
    columns = {"old": old}
    for number, nearness in enumerate([*np.geomspace(1e-9, 1e-2, 40), *-np.geomspace(1e-9, 1e-2, 40)]):
        new = rng.normal(size=n) * rng.choice([0.1, 1.0, 3.0])
        pair = fastgate.stats.paired(new, old) if test == "paired" else fastgate.stats.welch(new, old)
        critical = fastgate.stats.student_t_isf(0.025 if alternative == "two-sided" else 0.05, pair.df)
        columns[f"c{number:02}"] = new + (critical * (1 + nearness) * pair.standard_error - pair.delta)
    runs = pl.DataFrame(columns).with_columns(case=pl.int_range(n), suite=pl.lit("s"), kpi=pl.lit("score"))
    runs = runs.unpivot(index=["case", "suite", "kpi"], variable_name="build", value_name="value")
    samples, rules = read_samples(runs), rules_of(policy)
    names = sorted(set(columns) - {"old"})
    suites, _ = drawn(samples, rules, names, once, 1)
    expected, _ = judged(samples, rules, names)
    assert suites[0, :, 0, 0].tolist() == expected[0, :, 0].tolist()
    assert set(expected[0, :, 0]) == {"win", "tie"}


def sweep(n_candidates: int = 12, n_cases: int = 25) -> tuple[pl.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(9)
    rows = [
        (build, suite, kpi, f"{case:03}", rng.normal() + 0.12 * number * (number < n_candidates))
        for number, build in enumerate([*(f"c{i:02}" for i in range(n_candidates)), "old", "plain"])
        for suite in ("s", "t", "u")
        for kpi in ("one", "two", "three")
        for case in range(n_cases)
    ]
    frame = pl.DataFrame(rows, schema=["build", "suite", "kpi", "case", "value"], orient="row")
    kpis = {kpi: {"direction": "higher"} for kpi in ("one", "two", "three")}
    policy = {
        "gate": "benchmark", "name": "sweep", "baselines": ["old", "plain"], "suites": ["s", "t", "u"],
        "min_suite_wins": 2, "kpis": kpis, "suite_defaults": {"decided_by": "any", "guards": {"two": {}}},
    }  # fmt: skip
    return frame, policy


@pytest.mark.parametrize("change", [{}, {"test": "paired"}, {"correction": {"method": "holm"}}])
def test_nothing_but_data_policy_and_seed_changes_a_share(change: dict[str, Any], monkeypatch) -> None:
    frame, policy = sweep()
    policy |= change
    rules = rules_of(policy)
    samples = read_samples(frame)
    names = sorted(set(frame["build"]) - {"old", "plain"})
    how: Any = {"n_replicates": 300, "seed": 4}
    whole = replicate(samples, rules, names, **how)
    assert whole["share_pass"].n_unique() > 4
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "1")
    assert replicate(samples, rules, names, **how).equals(whole)
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "3")
    shuffled = read_samples(frame.sample(fraction=1.0, shuffle=True, seed=1))
    assert replicate(shuffled, rules, names[::-1], **how).equals(whole[::-1])
    few = frame.filter(pl.col("build").is_in(["c03", "c07", "old", "plain"]))
    extra = few.filter(pl.col("build") == "old").with_columns(
        build=pl.lit("zz"), case=pl.concat_str("case", pl.lit("x"))
    )
    for data in (few, pl.concat([few, extra])):
        alone = replicate(read_samples(data), rules, ["c03", "c07"], **how)
        assert alone.equals(whole.filter(pl.col("candidate").is_in(["c03", "c07"])))
    from fastgate.gates.benchmark.confidence import drawings

    for chunk in (1, 7, 64):
        monkeypatch.setattr(drawings, "_CHUNK", chunk)
        monkeypatch.setattr(drawings, "_BLOCK_BYTES", 1000 * chunk)
        assert replicate(samples, rules, names, **how).equals(whole)
    assert not replicate(samples, rules, names, n_replicates=300, seed=5).equals(whole)


def test_more_replicates_begin_with_the_same_ones() -> None:
    frame, policy = sweep(2)
    samples, rules = read_samples(frame), rules_of(policy)
    draw = multinomial_draw(0)
    _, few = drawn(samples, rules, ["c00", "c01"], draw, 20)
    _, many = drawn(samples, rules, ["c00", "c01"], draw, 90)
    assert few.tolist() == many[:, :20].tolist()


def test_a_correction_over_the_sweep_is_one_in_each_replicate() -> None:
    frame, policy = sweep(4)
    rules = rules_of(policy | {"correction": {"method": "holm", "family": "sweep"}})
    samples, names, draw = read_samples(frame), [f"c{i:02}" for i in range(4)], multinomial_draw(2)
    suites, _ = drawn(samples, rules, names, draw, 10)
    for place, weights in enumerate(weights_of(samples, rules, names, draw, 10)):
        expected, _ = judged(read_samples(resampled(frame, weights)), rules, names)
        assert suites[..., place].tolist() == expected.tolist()


@pytest.mark.parametrize("ids", [True, False])
def test_pairs_are_drawn_as_pairs(ids: bool) -> None:
    """Rows of candidate and baseline values, with cases or without, as the same data in runs."""
    frame, policy = sweep(3)
    rules = rules_of(policy | {"test": "paired"})
    names = ["c00", "c01", "c02"]
    whole = replicate(read_samples(frame), rules, names, n_replicates=100, seed=1)
    ours = frame.filter(pl.col("build").is_in(names)).rename(
        {"build": "candidate", "value": "candidate_value"}
    )
    theirs = frame.filter(~pl.col("build").is_in(names)).rename(
        {"build": "baseline", "value": "baseline_value"}
    )
    pairs = ours.join(theirs, on=["suite", "kpi", "case"])
    if ids:
        assert replicate(read_samples(pairs), rules, names, n_replicates=100, seed=1).equals(whole)
        return
    keys = ["candidate", "baseline", "suite", "kpi"]
    packed = (
        pairs.sort(*keys, "case")
        .group_by(keys, maintain_order=True)
        .agg("candidate_value", "baseline_value")
        .rename({"candidate_value": "candidate_values", "baseline_value": "baseline_values"})
    )
    found = replicate(read_samples(packed), rules, names, n_replicates=4000, seed=1)
    other = replicate(read_samples(frame), rules, names, n_replicates=4000, seed=1)
    # Other drawings of the same law: within four standard errors.
    difference = (found["share_pass"] - other["share_pass"]).abs().max()
    assert difference < 4 * (2 * 0.25 / 4000) ** 0.5


def test_builds_without_case_ids_are_drawn_by_themselves() -> None:
    rng = np.random.default_rng(3)
    shared = 3 * rng.normal(size=30)
    rows = [
        (build, "s", "score", shared + rng.normal(size=30) + gain)
        for build, gain in (("new", 2.4), ("old", 0.0))
    ]
    packed = pl.DataFrame(
        {name: [row[place] for row in rows] for place, name in enumerate(["build", "suite", "kpi", "values"])}
    )
    policy = {
        "gate": "benchmark", "name": "loose", "baselines": ["old"], "suites": ["s"], "min_suite_wins": 1,
        "kpis": {"score": {"direction": "higher"}}, "require_same_cases": False,
    }  # fmt: skip
    rules = rules_of(policy)
    with_ids = packed.with_columns(cases=pl.lit([f"{i:02}" for i in range(30)]))
    alone, together = (
        replicate(read_samples(frame), rules, ["new"], n_replicates=3000, seed=0)["share_pass"][0]
        for frame in (packed, with_ids)
    )
    # The gain hardly varies where the same cases are drawn for both, so that nearly all replicates agree.
    assert abs(together - 0.5) > abs(alone - 0.5) + 0.1


def gate(frame: pl.DataFrame, policy: dict[str, Any], **how: Any) -> fastgate.BenchmarkResult:
    return fastgate.benchmark_gate(frame, policy, **how)


def test_the_gate_says_how_many_and_how_often(tmp_path) -> None:
    frame, policy = sweep()
    result = gate(frame, policy, replicates=250, replicates_seed=7)
    verdicts = result.verdicts
    assert verdicts["replicates"].to_list() == [250] * 12
    total = verdicts.select(pl.sum_horizontal("share_pass", "share_review", "share_block")).to_series()
    assert total.to_list() == pytest.approx([1.0] * 12, abs=1e-12)
    assert result.evidence["replicates"] == {"n": 250, "seed": 7}
    plain = gate(frame, policy)
    assert "replicates" not in plain.evidence
    assert (
        plain.verdicts.select("replicates", "share_pass", "share_review", "share_block").null_count().row(0)
        == (12,) * 4
    )
    assert plain.verdicts["verdict"].to_list() == verdicts["verdict"].to_list()
    for name in ("r.json", "r.parquet", "r.arrow"):
        result.save(tmp_path / name)
        assert fastgate.load(tmp_path / name).verdicts.equals(verdicts)


def test_a_lost_suite_sends_replicates_to_review() -> None:
    frame, policy = sweep(3)
    better = frame.with_columns(
        value=pl.when(pl.col("build") == "c02").then(pl.col("value") + 3).otherwise("value")
    )
    before = gate(better, policy, candidates=["c02"])
    suite = (pl.col("build") == "c02") & (pl.col("suite") == "s")
    worse = better.with_columns(value=pl.when(suite).then(pl.col("value") - 3.6).otherwise("value"))
    found = gate(worse, policy, candidates=["c02"], previous=before, replicates=200).verdicts.row(
        0, named=True
    )
    assert found["verdict"] == "review"
    assert found["share_review"] > 0.9
    assert gate(worse, policy, candidates=["c02"], replicates=200).verdicts["share_pass"][0] > 0.9


@pytest.mark.parametrize("n", [0, -1, 1.5, "many", True, 10**7])
def test_a_number_that_is_none_is_refused(n: Any) -> None:
    frame, policy = sweep(1)
    with pytest.raises(ArgumentError, match="replicates"):
        gate(frame, policy, replicates=n)


def test_a_seed_that_is_none_is_refused() -> None:
    frame, policy = sweep(1)
    with pytest.raises(ArgumentError, match="replicates_seed"):
        gate(frame, policy, replicates=10, replicates_seed=-1)
    with pytest.raises(ArgumentError, match="without replicates"):
        gate(frame, policy, replicates_seed=3)


def test_the_bootstrap_and_moments_are_refused() -> None:
    frame, policy = sweep(1)
    with pytest.raises(ArgumentError, match="bootstrap within each drawing"):
        gate(frame, policy | {"test": "bootstrap"}, replicates=10)
    keys = ["build", "suite", "kpi"]
    moments = frame.group_by(keys).agg(
        n=pl.len(),
        mean=pl.col("value").mean(),
        variance=pl.col("value").var(),
        case_fingerprint=pl.lit(1, pl.UInt64),
    )
    assert gate(moments, policy).verdicts.height == 1
    with pytest.raises(DataError, match="moments"):
        gate(moments, policy, replicates=10)


def test_results_of_earlier_releases_are_read(tmp_path) -> None:
    """Saved before there were shares: the columns are null, and a new release may be compared with it."""
    import json

    from fastgate.gates.tables import digest
    from fastgate.reports.json_schema import result_schema

    frame, policy = sweep(2)
    result = gate(frame, policy)
    plain = result.to_dict()
    later = ("replicates", "share_pass", "share_review", "share_block")
    for row in plain["verdicts"]:
        for column in later:
            del row[column]
    plain["sha256"] = digest(plain)
    (tmp_path / "old.json").write_text(json.dumps(plain))
    folder = tmp_path / "old.parquet"
    result.save(folder)
    table = folder / "verdicts.parquet"
    pl.read_parquet(table).drop(later).write_parquet(table)
    manifest = json.loads((folder / "result.json").read_text())
    import hashlib

    manifest["tables"]["verdicts"]["sha256"] = hashlib.sha256(table.read_bytes()).hexdigest()
    manifest["sha256"] = digest(manifest)
    (folder / "result.json").write_text(json.dumps(manifest))
    for name in ("old.json", "old.parquet"):
        assert fastgate.load(tmp_path / name).verdicts.equals(result.verdicts)
        assert gate(frame, policy, previous=tmp_path / name)["c00"] == result["c00"]
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(plain, result_schema())


def test_other_columns_are_still_needed(tmp_path) -> None:
    frame, policy = sweep(1)
    plain = gate(frame, policy).to_dict()
    for row in plain["verdicts"]:
        del row["fewest_wins"]
    from fastgate.reports.json_schema import result_schema

    required = result_schema()["properties"]["verdicts"]["items"]["required"]
    assert "fewest_wins" in required
    assert "share_pass" not in required
