"""The power of k of m suites against every baseline, against enumeration and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from fastgate import ArgumentError
from fastgate.stats import planning, rule_cases, rule_power, ttest_cases, ttest_power, wins_distribution


def enumerated(wins):
    law = np.zeros(len(wins) + 1)
    for outcome in itertools.product((0, 1), repeat=len(wins)):
        law[sum(outcome)] += np.prod([p if won else 1 - p for p, won in zip(wins, outcome, strict=True)])
    return law


def test_counts_of_wins_are_enumerated():
    wins = np.random.default_rng(1).uniform(size=8)
    law = enumerated(wins)
    assert wins_distribution(wins) == pytest.approx(law, abs=1e-15)
    capped = wins_distribution(wins, 3)
    assert capped == pytest.approx([*law[:3], law[3:].sum()], abs=1e-15)
    assert wins_distribution([0.3] * 40) == pytest.approx(stats.binom.pmf(range(41), 40, 0.3), abs=1e-15)
    assert wins_distribution([0.5, math.nan]).tolist() == [0.5, 0.5, 0.0]
    assert wins_distribution(np.full((4, 2, 5), 0.5)).shape == (4, 2, 6)
    assert wins_distribution([0.5, 0.5], 0).tolist() == [1.0]


def test_one_baseline_is_exact():
    wins = np.random.default_rng(2).uniform(0.4, 1.0, size=8)
    found = rule_power(wins, 6)
    expected = enumerated(wins)[6:].sum()
    assert found.power == pytest.approx(expected, abs=1e-15)
    assert (found.low, found.high, found.standard_error) == (found.power, found.power, 0.0)
    assert rule_power(np.full((8, 1), 0.5), 8).power == pytest.approx(0.5**8)


def joint(wins, shared, required):
    """By enumerating all outcomes of all suites; the law of one suite's outcomes by adaptive quadrature."""
    suites, baselines = wins.shape
    patterns = list(itertools.product((0, 1), repeat=baselines))
    laws = []
    for p, s in zip(wins, shared, strict=True):
        z = stats.norm.ppf(p)

        def given(u, pattern, z=z, s=s):
            won = stats.norm.cdf((z + math.sqrt(s) * u) / math.sqrt(1 - s))
            return stats.norm.pdf(u) * np.prod(np.where(pattern, won, 1 - won))

        laws.append([integrate.quad(given, -9, 9, args=(pattern,), epsabs=1e-12)[0] for pattern in patterns])
    total = 0.0
    for outcome in itertools.product(range(len(patterns)), repeat=suites):
        counts = np.sum([patterns[one] for one in outcome], axis=0)
        if (counts >= required).all():
            total += np.prod([law[one] for law, one in zip(laws, outcome, strict=True)])
    return total


@pytest.mark.parametrize("required", [1, 2, 4])
def test_several_baselines_are_enumerated(required):
    generator = np.random.default_rng(3)
    wins, shared = generator.uniform(0.2, 0.95, (4, 3)), generator.uniform(0.0, 0.9, 4)
    found = rule_power(wins, required, shared=shared[:, None])
    assert found.power == pytest.approx(joint(wins, shared, required), abs=1e-9)
    assert found.standard_error == 0.0
    each = [enumerated(column)[required:].sum() for column in wins.T]
    assert found.baselines == pytest.approx(each, abs=1e-14)
    assert found.low == pytest.approx(np.prod(each))
    assert found.high == min(found.baselines)
    assert found.low <= found.power <= found.high


def test_the_ends_of_dependence():
    wins = np.full((5, 3), 0.7)
    apart, together = rule_power(wins, 4, shared=0.0), rule_power(wins, 4, shared=1.0)
    assert apart.power == pytest.approx(apart.low, abs=1e-12)
    assert together.power == pytest.approx(together.high, abs=0.01)
    assert together.power <= together.high
    between = [rule_power(wins, 4, shared=share).power for share in np.linspace(0, 1, 9)]
    assert (np.diff(between) > 0).all()
    unknown = rule_power(wins, 4, shared=math.nan)
    assert unknown.power == pytest.approx(apart.power, abs=1e-12)


def test_simulation_agrees_with_the_exact_law(monkeypatch):
    generator = np.random.default_rng(4)
    for required in (2, 5):
        wins = generator.uniform(0.4, 0.95, (8, 3))
        exact = rule_power(wins, required)
        with monkeypatch.context() as patched:
            patched.setattr(planning, "_EXACT_STEPS", 0.0)
            drawn = rule_power(wins, required, seed=7)
            again = rule_power(wins, required, seed=7)
        assert 0.0 < drawn.standard_error < 0.004
        assert abs(drawn.power - exact.power) < 4 * drawn.standard_error
        assert drawn.power == again.power
        assert (drawn.low, drawn.high) == (exact.low, exact.high)


def test_many_baselines_are_simulated():
    found = rule_power(np.full((35, 6), 0.6), 18)
    assert 0.0 < found.standard_error < 0.004
    assert found.low < found.power < found.high


def test_what_is_certain_or_unknown():
    assert rule_power(np.ones((3, 2)), 3).power == pytest.approx(1.0)
    assert rule_power(np.zeros((3, 2)), 1).power == 0.0
    wins = np.array([[1.0, 1.0], [1.0, math.nan], [1.0, 1.0]])
    assert rule_power(wins, 3).power == 0.0
    assert rule_power(wins, 2).power == pytest.approx(1.0)


def test_more_wins_give_more_power():
    generator = np.random.default_rng(5)
    wins = generator.uniform(0.3, 0.9, (6, 2))
    better = wins + (1 - wins) * generator.uniform(0, 0.5, wins.shape)
    assert rule_power(better, 4).power > rule_power(wins, 4).power
    assert rule_power(wins, 3).power > rule_power(wins, 4).power


def test_rule_cases_are_the_least():
    sd = np.array([1.0, 1.0, 1.5, 0.8])[:, None]
    effect = np.array([0.5, 0.4, 0.5, 0.3])[:, None] * np.array([1.0, 1.2])

    def wins(n):
        return ttest_power(effect, sd, n, correlation=0.5, test="paired")

    found = rule_cases(wins, 3, power=0.9)
    assert found.power.power == rule_power(wins(found.cases), 3).power
    assert found.power.power >= 0.9 > rule_power(wins(found.cases - 1), 3).power
    assert rule_power(wins(found.at_most), 3).low >= 0.9 > rule_power(wins(found.at_most - 1), 3).low
    assert rule_power(wins(found.at_least), 3).high >= 0.9 > rule_power(wins(found.at_least - 1), 3).high
    assert found.at_least <= found.cases <= found.at_most
    assert rule_cases(lambda n: [ttest_power(0.5, 1.0, n)], 1).cases == ttest_cases(0.5, 1.0).cases


def test_rules_that_no_number_of_cases_passes():
    found = rule_cases(lambda n: [[0.5, 0.9]] * 4, 3)
    assert (found.cases, found.at_least, found.at_most) == (None, None, None)
    assert found.power.power == rule_power([[0.5, 0.9]] * 4, 3).power
    assert rule_cases(lambda n: [1.0], 1).cases == 2


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([0.5, 1.5], 1), {}, "no probability"),
        (([0.5, 0.5], 3), {}, "from 1 to 2"),
        (([0.5, 0.5], 0), {}, "from 1 to 2"),
        (([0.5, 0.5], 1.5), {}, "from 1 to 2"),
        ((np.zeros((2, 2, 2)), 1), {}, "no table"),
        ((np.zeros((0, 2)), 1), {}, "no table"),
        (([0.5, 0.5], 1), {"shared": 2.0}, "no share"),
        ((np.full((2, 2), 0.5), 1), {"shared": [0.1, 0.2, 0.3]}, "do not fit"),
    ],
)
def test_bad_arguments(arguments, options, words):
    with pytest.raises(ArgumentError) as caught:
        rule_power(*arguments, **options)
    assert words in str(caught.value)


def test_bad_counts():
    with pytest.raises(ArgumentError, match="most is no count"):
        wins_distribution([0.5], -1)
    with pytest.raises(ArgumentError, match="no list"):
        wins_distribution(0.5)
    with pytest.raises(ArgumentError, match="power is out of range"):
        rule_cases(lambda n: [0.5], 1, power=0.0)
