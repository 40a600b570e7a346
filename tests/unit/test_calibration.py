from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import fastgate
from fastgate.errors import ArgumentError, DataError
from fastgate.frames import read_samples
from fastgate.gates.benchmark.confidence.calibration import IMPROVEMENTS
from fastgate.gates.benchmark.confidence.case_sets import Stratum
from fastgate.gates.benchmark.confidence.drawing_setting import setting
from fastgate.gates.benchmark.confidence.improvements import improvement
from fastgate.gates.benchmark.confidence.loss_chances import loss_chances
from fastgate.gates.benchmark.judgement import judge
from fastgate.gates.policy import effective

SUITES = ("s", "t", "u")


def runs(
    n_cases: int = 30, correlation: float = 0.0, builds: tuple[str, ...] = ("new", "old"), seed: int = 0
) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for suite in SUITES:
        shared = rng.normal(size=n_cases)
        for build in builds:
            for kpi in ("score", "cost"):
                own = rng.normal(size=n_cases)
                values = correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
                rows += [(build, suite, kpi, f"{case:04}", value) for case, value in enumerate(values)]
    return pl.DataFrame(rows, schema=["build", "suite", "kpi", "case", "value"], orient="row")


def policy(**change: Any) -> dict[str, Any]:
    return {
        "gate": "benchmark", "name": "demo", "baselines": ["old"], "suites": list(SUITES), "min_suite_wins": 2,
        "kpis": {"score": {"direction": "higher"}, "cost": {"direction": "lower"}},
        "suite_defaults": {"decided_by": "score", "guards": {"cost": {}}}, **change,
    }  # fmt: skip


def share(found: fastgate.Calibration, scenario: str, event: str, better: str | None = None) -> float:
    rows = found.table.filter(pl.col("scenario") == scenario, pl.col("event") == event)
    if better is not None:
        rows = rows.filter(pl.col("improvement") == better)
    assert rows.height == 1
    return float(rows["share"][0])


@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize("correction", ["none", "holm"])
def test_a_draw_is_the_gate_on_swapped_data(test: str, correction: str) -> None:
    """Swapped by hand, improved by hand and judged by the gate: the same shares of every event."""
    from fastgate.gates.benchmark.confidence.drawings import outcomes
    from fastgate.gates.benchmark.confidence.swaps import swapped_states
    from fastgate.gates.verdict import OUTCOMES
    from fastgate.kernels.swapped_states import swapped_cases

    frame = runs(12, 0.4, ("new", "next", "old", "plain"))
    gap = (pl.col("build") == "new") & (pl.col("case") == "0003") & (pl.col("suite") == "s")
    frame = frame.with_columns(value=pl.when(~gap).then("value"))
    how = policy(
        baselines=["old", "plain"], test=test, correction={"method": correction}, max_missing_share=0.3
    )
    rules, samples = effective(how, None, gate="benchmark"), read_samples(frame)
    at = setting(samples, rules, ["new", "next"])
    better = improvement("0.9", ["score"])
    found = np.stack(list(outcomes(at, swapped_states(5, better), 0, 6)))
    words = np.array(OUTCOMES)[found & 3]
    for draw in range(6):
        parts = []
        for plan in at.suites:
            ((stratum,),) = [group.strata for group in plan.groups]
            swaps = np.empty((6, stratum.n_cases), np.uint8)
            swapped_cases(0, 6, np.uint64(5), 0, np.uint64(stratum.key), swaps)
            names = samples.case_names.gather(plan.groups[0].universe)
            parts.append(pl.DataFrame({"suite": plan.name, "case": names, "swap": swaps[draw] == 1}))
        swaps_of = pl.concat(parts)
        ours = frame.filter(pl.col("build").is_in(["new", "next"])).rename(
            {"build": "candidate", "value": "candidate_value"}
        )
        theirs = frame.filter(pl.col("build").is_in(["old", "plain"])).rename(
            {"build": "baseline", "value": "baseline_value"}
        )
        pairs = ours.join(theirs, on=["suite", "kpi", "case"]).join(swaps_of, on=["suite", "case"])
        if test == "paired":
            whole = pl.col("candidate_value").is_not_null() & pl.col("baseline_value").is_not_null()
            both = [pl.when(whole).then(name) for name in ("candidate_value", "baseline_value")]
            pairs = pairs.with_columns(both)
        gain = pl.when(pl.col("kpi") == "score").then(0.9).otherwise(0.0)
        level = pl.col("candidate_value").mean() - pl.col("baseline_value").mean()
        lost = (1 / pl.col("candidate_value").count() + 1 / pl.col("baseline_value").count()) / 2
        comparison = ["candidate", "baseline", "suite", "kpi"]
        half = (pl.col("candidate_value") - pl.col("baseline_value")) / 2
        pairs = (
            pairs.with_columns(
                baseline_value=pl.col("baseline_value") + level.over(comparison), lost=lost.over(comparison)
            )
            .with_columns(apart=(half * (1 / (1 - pl.col("lost")).sqrt() - 1)).fill_null(0.0))
            .with_columns(
                candidate_value=pl.col("candidate_value") + pl.col("apart"),
                baseline_value=pl.col("baseline_value") - pl.col("apart"),
            )
            .with_columns(
                candidate_value=pl.when("swap").then("baseline_value").otherwise("candidate_value") + gain,
                baseline_value=pl.when("swap").then("candidate_value").otherwise("baseline_value"),
            )
            .drop("swap", "lost", "apart")
        )
        expected = judge(read_samples(pairs), rules, ["new", "next"])["suites"]["outcome"].cast(pl.String)
        assert words[..., draw].tolist() == expected.to_numpy().reshape(2, 2, 3).transpose(2, 0, 1).tolist()
    assert len(set(words.ravel())) > 1


def test_swaps_are_fair_coins_of_their_own() -> None:
    from fastgate.kernels.swapped_states import swapped_cases

    swaps = np.empty((4000, 37), np.uint8)
    swapped_cases(0, 4000, np.uint64(1), 0, np.uint64(9), swaps)
    assert set(np.unique(swaps)) == {0, 1}
    coins = swaps - 0.5
    assert np.abs(coins.mean(axis=0)).max() < 4.5 * 0.5 / 4000**0.5
    correlation = coins.T @ coins / (0.25 * 4000) - np.eye(37)
    assert np.abs(correlation).max() < 5 / 4000**0.5
    again = np.empty((10, 37), np.uint8)
    swapped_cases(0, 10, np.uint64(1), 100, np.uint64(9), again)
    assert np.array_equal(again, swaps[100:110])


def test_the_table_names_everything() -> None:
    found = fastgate.calibrate(runs(), policy(), draws=50)
    assert found.candidates == ["new"]
    stated = found.table.filter(scenario="improved")["improvement"]
    assert stated.unique(maintain_order=True).to_list() == list(IMPROVEMENTS)
    events = {
        name: rows["event"].to_list()
        for (name,), rows in found.table.group_by("scenario", maintain_order=True)
    }
    verdicts = ["pass", "review", "block"]
    assert events == {
        "identical": [*verdicts, "one_or_more_lost", "two_or_more_lost"],
        "rebuild": [*verdicts, "one_lost", "two_or_more_lost"],
        "improved": verdicts * len(IMPROVEMENTS),
    }
    for rows in found.table.filter(pl.col("event").is_in(verdicts)).partition_by("scenario", "improvement"):
        assert rows["share"].sum() == pytest.approx(1.0, abs=1e-12)
    shares, errors = found.table["share"].to_numpy(), found.table["standard_error"].to_numpy()
    assert errors == pytest.approx(np.sqrt(shares * (1 - shares) / 50), abs=1e-15)
    assert found.evidence["counts"]["draws"] == 50
    assert found.evidence["seed"] == 0
    assert set(found.to_dict()) == {"table", "policy", "evidence"}


def test_more_is_better_and_an_identical_build_is_blocked() -> None:
    found = fastgate.calibrate(runs(), policy(), improvements=["0.3sd", "0.8sd", "3sd", "3"], draws=300)
    passes = [share(found, "improved", "pass", better) for better in ("0.3sd", "0.8sd", "3sd", "3")]
    assert passes[0] < passes[1] < passes[2]
    assert passes[2] > 0.85  # not 1: two guards may be called worse by chance
    assert share(found, "identical", "block") > 0.98


def test_a_difference_that_is_there_is_no_noise() -> None:
    """The baseline far away: as many false alarms and as much power as with builds of the same level."""
    near = runs()
    far = near.with_columns(
        value=pl.when(pl.col("build") == "old").then(pl.col("value") - 50).otherwise("value")
    )
    tables = [
        fastgate.calibrate(frame, policy(), draws=200, improvements=["0.8sd"]).table for frame in (near, far)
    ]
    for kind in ("identical", "improved"):
        ours, theirs = (table.filter(scenario=kind)["share"].to_list() for table in tables)
        assert theirs == pytest.approx(ours, abs=1e-12)


@pytest.mark.parametrize("side", ["new", "old"])
def test_missing_hard_cases_leave_no_difference_behind(side: str) -> None:
    """Cases far apart, alike on both sides, one of which lacks the hardest: the paired test sees complete pairs."""
    rng = np.random.default_rng(0)
    hard = rng.normal(0.0, 10.0, 40)
    data = pl.DataFrame({
        "build": ["new"] * 40 + ["old"] * 40, "suite": "s", "kpi": "score", "case": list(range(40)) * 2,
        "value": np.concatenate([hard + rng.normal(0.0, 0.3, 40) for _ in range(2)]),
    })  # fmt: skip
    hardest = np.argsort(hard)[:12].tolist()
    lacking = (pl.col("build") == side) & pl.col("case").is_in(hardest)
    gaps = data.with_columns(value=pl.when(~lacking).then("value"))
    without = data.filter(~pl.col("case").is_in(hardest))
    rule = {
        "gate": "benchmark", "name": "gaps", "baselines": ["old"], "suites": ["s"], "min_suite_wins": 1,
        "kpis": {"score": {"direction": "higher"}}, "test": "paired", "max_missing_share": 0.5,
    }  # fmt: skip
    better = ["0.3", "0.5", "0.05sd"]
    found = fastgate.calibrate(gaps, rule, draws=300, improvements=better)
    assert share(found, "improved", "pass", "0.5") == 1.0
    assert "faulty" not in found.evidence
    # As often as of the complete cases alone, but for the swaps, which are those of other cases.
    alone = fastgate.calibrate(without, rule, draws=300, improvements=better)
    for text in better:
        both = [share(one, "improved", "pass", text) for one in (found, alone)]
        assert both[0] == pytest.approx(both[1], abs=4.5 * (0.5 / 300) ** 0.5)
    assert share(found, "identical", "one_or_more_lost") < 0.08
    # What is missing counts all the same.
    strict = fastgate.calibrate(gaps, rule | {"max_missing_share": 0.2}, draws=20, improvements=["0.5"])
    assert strict.evidence["faulty"] == {"new": 1}
    assert share(strict, "improved", "block", "0.5") == 1.0
    few = fastgate.calibrate(gaps, rule | {"suite_defaults": {"min_cases": 29}}, draws=20, improvements=["5"])
    assert share(few, "improved", "pass", "5") == 0.0


@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_standard_deviations_of_any_magnitude(test: str, scale: float) -> None:
    """Their squares leave float64, they do not."""
    plain = policy(test=test, suite_defaults={"decided_by": "score"})
    scaled = runs().with_columns(value=pl.col("value") * scale)
    tables = [
        fastgate.calibrate(frame, plain, draws=100, improvements=["0.6sd", "5sd"]).table
        for frame in (runs(), scaled)
    ]
    assert tables[1].equals(tables[0])
    found = tables[1].filter(scenario="improved", event="pass")["share"].to_list()
    assert 0.0 < found[0] < found[1] == 1.0


def test_a_huge_guard_is_no_warning() -> None:
    """Nothing is added to a guard, however large its standard deviation."""
    huge = runs().with_columns(
        value=pl.when(pl.col("kpi") == "cost").then(pl.col("value") * 1e200).otherwise("value")
    )
    tables = [
        fastgate.calibrate(frame, policy(), draws=50, improvements=["1sd"]).table for frame in (runs(), huge)
    ]
    assert tables[1].equals(tables[0])


@pytest.mark.parametrize("n_cases", [2, 5, 30])
@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.97])
def test_identical_builds_are_as_far_apart_as_fresh_ones(n_cases: int, correlation: float) -> None:
    """Over all swaps and many data sets: the squared difference of means, its squared error, and their products."""
    from fastgate.gates.benchmark.confidence.swaps import _made_identical

    rng = np.random.default_rng(3)
    n_sets = 40_000
    shared, own = rng.normal(size=(n_sets, n_cases)), rng.normal(size=(3, n_sets, n_cases))
    candidate, *baselines = correlation**0.5 * shared + (1 - correlation) ** 0.5 * own
    swap = rng.random((n_sets, n_cases)) < 0.5
    differences = []
    for baseline in baselines:
        ours, theirs = _made_identical(candidate, baseline)
        ours, theirs = np.where(swap, theirs, ours), np.where(swap, ours, theirs)
        differences.append((ours - theirs).mean(axis=1))
        for found, true in (
            (differences[-1] ** 2, 2 * (1 - correlation) / n_cases),
            (ours.var(axis=1, ddof=1) / n_cases + theirs.var(axis=1, ddof=1) / n_cases, 2 / n_cases),
        ):
            assert found.mean() == pytest.approx(true, abs=4.5 * found.std() / n_sets**0.5)
    product = differences[0] * differences[1]
    assert product.mean() == pytest.approx((1 - correlation) / n_cases, abs=4.5 * product.std() / n_sets**0.5)


def test_constant_builds_are_equal_and_no_one_wins() -> None:
    flat = runs().with_columns(value=pl.when(pl.col("build") == "old").then(0.3).otherwise(0.7))
    found = fastgate.calibrate(flat, policy(zero_variance="decide"), draws=20, improvements=["1"])
    assert share(found, "identical", "one_or_more_lost") == 0.0
    assert share(found, "identical", "block") == 1.0
    assert share(found, "improved", "pass", "1") == 1.0


def test_an_improvement_follows_the_kpis_direction() -> None:
    lower = policy(suite_defaults={"decided_by": "cost", "kpis": ["cost", "score"]})
    found = fastgate.calibrate(runs(), lower, improvements=["2", "cost=2sd"], draws=100)
    assert share(found, "improved", "pass", "2") == 1.0
    assert share(found, "improved", "pass", "cost=2sd") == 1.0


def test_the_same_seed_the_same_table(monkeypatch) -> None:
    frame = runs(20, 0.3, ("new", "next", "old"))
    one = fastgate.calibrate(frame, policy(), draws=300, improvements=["0.5sd"], seed=3)
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "1")
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=2)
    assert fastgate.calibrate(mixed, policy(), draws=300, improvements=["0.5sd"], seed=3).table.equals(
        one.table
    )
    from fastgate.gates.benchmark.confidence import drawings

    monkeypatch.setattr(drawings, "_CHUNK", 37)
    alone = fastgate.calibrate(
        frame, policy(), draws=300, improvements=["0.5sd"], seed=3, candidates=["next"]
    )
    assert alone.table.equals(one.table.filter(candidate="next"))
    other = fastgate.calibrate(frame, policy(), draws=300, improvements=["0.5sd"], seed=4)
    assert not other.table.equals(one.table)


def test_faults_block_and_are_named() -> None:
    frame = runs().filter(
        ~((pl.col("build") == "new") & (pl.col("suite") == "t") & (pl.col("case") == "0001"))
    )
    found = fastgate.calibrate(frame, policy(), draws=20, improvements=["5sd"])
    assert share(found, "improved", "block", "5sd") == 1.0
    assert found.evidence["faulty"] == {"new": 2}


def test_the_listener_hears_of_all_draws() -> None:
    heard: list[Any] = []
    fastgate.calibrate(runs(), policy(), draws=600, improvements=["1sd"], listener=heard.append)
    assert heard[-1].done == heard[-1].total == 1800
    assert [step.done for step in heard] == sorted(step.done for step in heard)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("much", "cannot be read"),
        ("0", "cannot be read"),
        ("-0.5sd", "cannot be read"),
        ("inf", "cannot be read"),
        ("", "cannot be read"),
        ("0.1,score=0.2", "cannot be read"),
        ("score=0.2,score=0.3", "cannot be read"),
        ("scoer=0.2", "decides no suite"),
        ("cost=0.2", "decides no suite"),
    ],
)
def test_an_improvement_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        fastgate.calibrate(runs(), policy(), improvements=[text], draws=5)


def test_an_improvement_is_read_as_stated() -> None:
    both = improvement(" a=b=0.2 , c=1.5sd", ["a=b", "c"])
    assert both.gains == {"a=b": (0.2, False), "c": (1.5, True)}


@pytest.mark.parametrize(
    ("name", "value"), [("draws", 0), ("draws", 2.0), ("draws", True), ("seed", -1), ("seed", 2**63)]
)
def test_numbers_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=name):
        fastgate.calibrate(runs(), policy(), **{name: value})


def test_what_cannot_be_swapped_is_refused() -> None:
    with pytest.raises(ArgumentError, match="bootstrap"):
        fastgate.calibrate(runs(), policy(test="bootstrap"))
    keys = ["build", "suite", "kpi"]
    packed = runs().group_by(keys, maintain_order=True).agg(values="value")
    with pytest.raises(DataError, match="no ids"):
        fastgate.calibrate(packed, policy(require_same_cases=False))
    with pytest.raises(ArgumentError, match="elder"):
        fastgate.calibrate(runs(), policy(), candidates=["elder"])


def rules(**change: Any) -> Any:
    return effective(policy(**change), None, gate="benchmark")


def test_arithmetic_of_one_baseline() -> None:
    """The chances of the rule's own words: eight suites, p < 0.05 two-sided, one lost or more, two or more."""
    plain = rules(suites=list("abcdefgh"), min_suite_wins=6, suite_defaults={"kpis": ["score"]})
    chances = loss_chances(plain)
    assert chances is not None
    assert chances.one_or_more == pytest.approx(1 - 0.975**8, abs=1e-14)
    assert chances.two_or_more == pytest.approx(1 - 0.975**8 - 8 * 0.025 * 0.975**7, abs=1e-14)
    one_sided = loss_chances(
        rules(suites=["a"], min_suite_wins=1, suite_defaults={"kpis": ["score"]}, alternative="one-sided")
    )
    assert one_sided is not None
    assert one_sided.one_or_more == pytest.approx(0.05, abs=1e-14)
    assert one_sided.two_or_more == 0.0


def test_no_arithmetic_is_no_number() -> None:
    either = {"kpis": ["score", "cost"], "decided_by": "any"}
    assert loss_chances(rules(correction={"method": "holm"})) is None
    assert loss_chances(rules(suite_defaults=either)) is not None
    assert loss_chances(rules(suite_defaults=either, baselines=["old", "plain"])) is None
    found = fastgate.calibrate(runs(), policy(correction={"method": "holm"}), draws=5)
    assert found.table["expected"].null_count() == found.table.height


@pytest.mark.parametrize(
    ("defaults", "n_baselines", "alternative"),
    [
        ({"kpis": ["score"]}, 1, "two-sided"),
        ({"kpis": ["score"]}, 4, "two-sided"),
        ({"kpis": ["score"]}, 3, "one-sided"),
        ({"decided_by": "score", "guards": {"cost": {}}}, 4, "two-sided"),
        ({"kpis": ["score", "cost"], "decided_by": "all"}, 3, "two-sided"),
        ({"kpis": ["score", "cost"], "decided_by": "any"}, 1, "two-sided"),
        ({"decided_by": "score", "guards": {"cost": {"margin": 0.1}}}, 2, "two-sided"),
    ],
)
def test_arithmetic_against_simulated_normal_builds(
    defaults: Any, n_baselines: int, alternative: str
) -> None:
    """Independent normal means of identical builds, of known noise, put through the rule's words by hand."""
    names = [f"b{number}" for number in range(n_baselines)]
    rule = rules(suite_defaults=defaults, baselines=names, alternative=alternative, alpha=0.2)
    chances = loss_chances(rule)
    assert chances is not None
    rng = np.random.default_rng(0)
    n = 200_000
    # Draws, suites, KPIs, builds; the candidate last.
    means = rng.normal(size=(n, 3, 2, n_baselines + 1))
    z = (means[..., -1:] - means[..., :-1]) / 2**0.5
    from statistics import NormalDist

    normal = NormalDist()
    critical = normal.inv_cdf(1 - (0.1 if alternative == "two-sided" else 0.2))
    suite = next(iter(rule.suites.values()))
    order = ["score", "cost"]
    mine = [order.index(kpi) for kpi in suite.deciding_kpis]
    lost, won = (z[:, :, mine] < -critical), (z[:, :, mine] > critical)
    is_won = won.any(axis=2) if suite.decided_by == "any" else won.all(axis=2)
    is_lost = ~is_won & lost.any(axis=2)
    for guard in suite.not_worse:
        is_lost |= z[:, :, order.index(guard)] < -normal.inv_cdf(1 - 0.2)
    suites_lost = is_lost.any(axis=2).sum(axis=1)
    for chance, least in ((chances.one_or_more, 1), (chances.two_or_more, 2)):
        assert np.mean(suites_lost >= least) == pytest.approx(chance, abs=4.5 * (0.25 / n) ** 0.5)


def test_a_stratum_has_the_key_of_its_suite_and_cases_alone() -> None:
    """So that drawings are the same wherever these are."""
    frame = runs(5)
    at = [
        setting(read_samples(data), effective(policy(), None, gate="benchmark"), ["new"])
        for data in (
            frame,
            frame.filter(pl.col("suite") != "u").vstack(frame.filter(pl.col("suite") == "u")[::-1]),
        )
    ]
    keys = [[group.strata for plan in one.suites for group in plan.groups] for one in at]
    assert keys[0] == keys[1]
    assert len({stratum.key for (stratum,) in keys[0]}) == 3
    assert all(isinstance(stratum, Stratum) and stratum.n_cases == 5 for (stratum,) in keys[0])


def test_many_candidates_are_to_be_named():
    builds = ["old", *(f"new{i:02}" for i in range(21))]
    runs = pl.DataFrame(
        {
            "build": np.repeat(builds, 5),
            "suite": "s",
            "kpi": "k",
            "case": np.tile(np.arange(5), len(builds)),
            "value": np.random.default_rng(1).normal(size=5 * len(builds)),
        }
    )
    policy = {
        "gate": "benchmark",
        "name": "many",
        "baselines": ["old"],
        "min_suite_wins": 1,
        "suites": ["s"],
        "kpis": {"k": {"direction": "higher"}},
    }
    with pytest.raises(ArgumentError, match="many candidates to calibrate"):
        fastgate.calibrate(runs, policy, draws=2)
    assert fastgate.calibrate(runs, policy, draws=2, candidates=["new03"]).candidates == ["new03"]
