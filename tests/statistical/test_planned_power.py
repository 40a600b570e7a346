"""Simulated releases pass as often as the plan says: whole samples, drawn, tested and counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fastgate.stats import rule_cases, ttest_cases, ttest_power


def significant(candidate, baselines, test, alpha=0.05):
    """Whether the candidate is significantly better than each baseline: samples along the last axis."""
    other = candidate[..., None, :]
    if test == "paired":
        found = stats.ttest_rel(other, baselines, axis=-1)
    else:
        found = stats.ttest_ind(other, baselines, axis=-1, equal_var=False)
    return (found.pvalue < alpha) & (found.statistic > 0)


def builds(generator, shape, n, sds, difficulty):
    """Values of a candidate and its baselines: the cases' difficulty, common to all, and noise of each build's own."""
    common = difficulty * generator.standard_normal((*shape, 1, n))
    own = np.asarray(sds)[:, None] * generator.standard_normal((*shape, len(sds), n))
    values = common + own
    return values[..., 0, :], values[..., 1:, :]


@pytest.mark.slow
@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize(
    ("effect", "own", "difficulty"),
    [
        (0.5, (1.0, 1.0), 0.0),
        (0.6, (1.0, 1.0), 1.0),
        (2.5, (1.0, 1.0), 0.5),
        (1.0, (0.5, 2.0), 0.7),
        (0.3, (0.3, 0.3), 1.0),
    ],
)
def test_planned_cases_give_the_power(test, effect, own, difficulty):
    sd, other = (float(np.hypot(noise, difficulty)) for noise in own)
    r = difficulty**2 / (sd * other)
    plan = ttest_cases(effect, sd, baseline_sd=other, correlation=r, test=test, power=0.8)
    draws = 200_000 // max(1, plan.cases // 20)
    generator = np.random.default_rng([plan.cases, int(10 * difficulty)])
    candidate, baselines = builds(generator, (draws,), plan.cases, own, difficulty)
    share = significant(candidate + effect, baselines, test).mean()
    error = np.sqrt(plan.power * (1 - plan.power) / draws)
    # Welch's power with correlation is an approximation, good to 0.01 from 4 cases on and 0.002 from 10.
    slack = 0.0 if test == "paired" or not difficulty else 0.01 if plan.cases < 10 else 0.002
    assert abs(share - plan.power) < 4 * error + slack


@pytest.mark.slow
@pytest.mark.parametrize("test", ["welch", "paired"])
@pytest.mark.parametrize(
    ("own", "difficulty"), [((1.0, 1.0, 1.0, 1.0), 0.7), ((1.0, 0.4, 0.8, 1.5), 1.0), ((0.5, 0.5, 0.5), 0.0)]
)
def test_the_whole_rule_passes_as_often_as_planned(test, own, difficulty):
    """Six of eight suites against every baseline, of unequal noise and effects that differ by suite."""
    effects = np.array([0.5, 0.6, 0.7, 0.8, 0.5, 0.6, 0.7, 0.8])
    sds = np.hypot(own, difficulty)
    ours, theirs = sds[0], sds[1:]
    r = difficulty**2 / (ours * theirs)

    def wins(n):
        return ttest_power(effects[:, None], ours, n, baseline_sd=theirs, correlation=r, test=test)

    shared = own[0] ** 2 / (own[0] ** 2 + np.square(own[1:]))
    plan = rule_cases(wins, 6, power=0.8, shared=shared)
    draws, passed = 20_000, 0
    generator = np.random.default_rng([len(own), plan.cases])
    for _ in range(20):
        candidate, baselines = builds(generator, (draws // 20, 8), plan.cases, own, difficulty)
        won = significant(candidate + effects[:, None], baselines, test)
        passed += int((won.sum(axis=1) >= 6).all(axis=-1).sum())
    share = passed / draws
    error = np.sqrt(share * (1 - share) / draws)
    assert plan.power.low - 4 * error < share < plan.power.high + 4 * error
    # What is left is the dependence between baselines beyond the one factor: their tests share sample variances too.
    assert abs(share - plan.power.power) < 4 * error + 0.01


@pytest.mark.slow
def test_fewer_cases_are_not_enough():
    """The power that is wanted is really missed with a fifth fewer cases."""
    plan = ttest_cases(0.5, 1.0, correlation=0.5, test="paired", power=0.8)
    generator = np.random.default_rng(5)
    own = (np.sqrt(0.5), np.sqrt(0.5))
    candidate, baselines = builds(generator, (100_000,), int(0.8 * plan.cases), own, np.sqrt(0.5))
    assert significant(candidate + 0.5, baselines, "paired").mean() < 0.75
