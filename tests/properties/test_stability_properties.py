"""Laws that agreement, credible intervals and utility fits obey whatever the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastgate.stats.posterior import credible_interval, mean_width
from fastgate.stats.probes import agreement, observation_weight, stability_flags
from fastgate.stats.utilities import UtilityFit, fit_utilities

# The first call compiles or loads kernels, which takes seconds.
lawful = settings(deadline=None)

CHOICES = st.sampled_from(["A", "B", "tie", "abstain", None])
REASONS = st.sampled_from(["policy", "parse", None])
PROBES = st.lists(
    st.tuples(st.integers(0, 3), CHOICES, CHOICES, REASONS, REASONS, st.booleans()), max_size=60
)
SWAP = {"A": "B", "B": "A"}
DRAWS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=400)


def measure(probes: list[tuple[Any, ...]], **options: Any) -> Any:
    return agreement(
        [row[1] for row in probes],
        [row[2] for row in probes],
        cell=[row[0] for row in probes] or np.empty(0, np.int64),
        n_cells=4,
        primary_reason=[row[3] for row in probes],
        probe_reason=[row[4] for row in probes],
        **options,
    )


def same(one: Any, other: Any) -> bool:
    return all(
        a.tolist() == b.tolist() if a.dtype == object else np.array_equal(a, b, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


@lawful
@given(PROBES, st.randoms(use_true_random=False))
def test_the_order_of_probes_does_not_matter(probes: list[tuple[Any, ...]], random: Any) -> None:
    shuffled = probes.copy()
    random.shuffle(shuffled)
    assert same(measure(probes), measure(shuffled))


@lawful
@given(PROBES)
def test_every_probe_is_counted_once_and_intervals_hold_the_rate(probes: list[tuple[Any, ...]]) -> None:
    result = measure(probes)
    assert (result.n + result.missing).tolist() == [sum(row[0] == c for row in probes) for c in range(4)]
    for c in range(4):
        if result.status[c] == "ok":
            assert 0 <= result.ci_low[c] <= result.agreement[c] <= result.ci_high[c] <= 1
            assert result.ci_low[c] < result.ci_high[c]
            assert not result.kappa[c] > 1
        else:
            assert np.isnan(result.agreement[c])


@lawful
@given(PROBES)
def test_raw_letters_with_flags_equal_letters_swapped_by_hand(probes: list[tuple[Any, ...]]) -> None:
    shown = [(c, p, SWAP.get(q, q) if flag else q, r, s, flag) for c, p, q, r, s, flag in probes]
    flags = np.array([row[5] for row in probes], np.bool_)
    raw = measure(shown, probe_swapped=flags, letters="raw")
    assert same(raw, measure(probes))
    assert same(raw, measure(probes, probe_swapped=flags, letters="unswapped"))


@lawful
@given(PROBES)
def test_renaming_the_alternatives_on_both_sides_changes_nothing(probes: list[tuple[Any, ...]]) -> None:
    renamed = [(c, SWAP.get(p, p), SWAP.get(q, q), r, s, flag) for c, p, q, r, s, flag in probes]
    assert same(measure(probes), measure(renamed))


@lawful
@given(PROBES)
def test_flags_are_what_agreement_per_pair_and_kind_says(probes: list[tuple[Any, ...]]) -> None:
    if not probes:
        return
    kinds = [index % 3 for index in range(len(probes))]
    flags = stability_flags(
        [row[0] for row in probes],
        kinds,
        [row[1] for row in probes],
        [row[2] for row in probes],
        n_pairs=4,
        primary_reason=[row[3] for row in probes],
        probe_reason=[row[4] for row in probes],
    )
    for kind in range(3):
        result = measure([row for row, k in zip(probes, kinds, strict=True) if k == kind])
        assert ((flags.probed >> kind & 1) == (result.n > 0)).all()
        assert ((flags.flipped >> kind & 1) == (result.agree < result.n)).all()
    assert (flags.flipped & ~flags.probed).tolist() == [0] * 4
    assert ((flags.observation_weight > 0) & (flags.observation_weight <= 1)).all()


@lawful
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_further_flip_lowers_the_weight(probed: int, flipped: int) -> None:
    flipped &= probed
    weight = observation_weight([flipped], [probed])[0]
    for kind in range(63):
        bit = 1 << kind
        if probed & bit and not flipped & bit:
            assert observation_weight([flipped | bit], [probed])[0] < weight


@lawful
@given(DRAWS, st.floats(0.05, 0.99), st.sampled_from(["central", "hdi"]), st.randoms(use_true_random=False))
def test_draws_are_exchangeable(draws: list[float], mass: float, kind: str, random: Any) -> None:
    shuffled = draws.copy()
    random.shuffle(shuffled)
    assert credible_interval(draws, mass=mass, kind=kind) == credible_interval(shuffled, mass=mass, kind=kind)


@lawful
@given(DRAWS, st.floats(0.05, 0.99), st.integers(-20, 20))
def test_scaling_draws_scales_intervals(draws: list[float], mass: float, exponent: int) -> None:
    factor = 2.0**exponent
    scaled = [factor * value for value in draws]
    if any(value != 0 and abs(value) < 1e-290 for value in draws):
        return
    for kind in ("central", "hdi"):
        one, other = (credible_interval(x, mass=mass, kind=kind) for x in (draws, scaled))
        assert other.width == factor * one.width
        assert other.ci_low == factor * one.ci_low


@lawful
@given(DRAWS, st.floats(0.05, 0.99))
def test_mirroring_draws_mirrors_the_central_interval(draws: list[float], mass: float) -> None:
    one = credible_interval(draws, mass=mass)
    other = credible_interval([-value for value in draws], mass=mass)
    assert (other.ci_low, other.ci_high, other.width) == (-one.ci_high, -one.ci_low, one.width)


@lawful
@given(DRAWS, st.floats(0.05, 0.95))
def test_more_mass_is_no_narrower(draws: list[float], mass: float) -> None:
    for kind in ("central", "hdi"):
        narrow = credible_interval(draws, mass=mass, kind=kind)
        wide = credible_interval(draws, mass=mass + 0.04, kind=kind)
        assert wide.width >= narrow.width * (1 - 1e-12)
        assert min(draws) <= narrow.ci_low <= narrow.ci_high <= max(draws)


@lawful
@given(st.lists(DRAWS, min_size=2, max_size=5), st.sampled_from(["central", "hdi"]))
def test_a_posterior_does_not_see_its_neighbours(cells: list[list[float]], kind: str) -> None:
    together = credible_interval(cells, kind=kind)
    assert [credible_interval(cell, kind=kind).width for cell in cells] == together.width.tolist()
    mean = mean_width(together.width, together.status)
    assert mean.width == pytest.approx(np.mean(together.width), rel=1e-14)


@st.composite
def contests(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, float, float]]]:
    m = draw(st.integers(2, 7))
    pair = st.tuples(st.integers(0, m - 1), st.integers(1, m - 1)).map(lambda x: (x[0], (x[0] + x[1]) % m))
    row = st.tuples(pair, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.25, 0.5, 1.0, 3.0]))
    rows = draw(st.lists(row, min_size=1, max_size=40))
    return m, [(i, j, y, w) for (i, j), y, w in rows]


def fit_rows(m: int, rows: list[tuple[int, int, float, float]], **options: Any) -> UtilityFit:
    columns = [list(column) for column in zip(*rows, strict=True)]
    return fit_utilities(*columns, prior_sd=1.5, n_alternatives=m, covariance=True, **options)


@lawful
@given(contests())
def test_identities_of_a_fit(contest: tuple[int, Any]) -> None:
    m, rows = contest
    fit = fit_rows(m, rows)
    assert fit.converged
    assert abs(fit.utilities.sum()) <= 1e-14 * m
    assert np.abs(fit.covariance.sum(axis=1)).max() <= 1e-13
    assert np.allclose((fit.covariance + 1.5**2 / m).sum(axis=1), 1.5**2, rtol=1e-13, atol=0)
    assert (np.linalg.eigvalsh(fit.covariance) >= -1e-12).all()
    assert (fit.sd <= 1.5 * np.sqrt(1 - 1 / m) * (1 + 1e-12)).all()


@lawful
@given(contests())
def test_sides_and_row_order_do_not_matter(contest: tuple[int, Any]) -> None:
    m, rows = contest
    fit = fit_rows(m, rows)
    mirrored = fit_rows(m, [(j, i, 1 - y, w) for i, j, y, w in reversed(rows)])
    assert np.allclose(mirrored.utilities, fit.utilities, rtol=0, atol=1e-13)
    assert np.allclose(mirrored.covariance, fit.covariance, rtol=0, atol=1e-13)
    assert mirrored.status == fit.status


@lawful
@given(contests())
def test_reversing_every_outcome_reverses_the_utilities(contest: tuple[int, Any]) -> None:
    m, rows = contest
    fit = fit_rows(m, rows)
    reverse = fit_rows(m, [(i, j, 1 - y, w) for i, j, y, w in rows])
    assert np.allclose(reverse.utilities, -fit.utilities, rtol=0, atol=1e-13)
    assert np.allclose(reverse.sd, fit.sd, rtol=1e-12, atol=0)
    assert reverse.log_posterior == pytest.approx(fit.log_posterior, rel=1e-12)


@lawful
@given(contests(), st.randoms(use_true_random=False))
def test_renumbering_alternatives_renumbers_results(contest: tuple[int, Any], random: Any) -> None:
    m, rows = contest
    new = list(range(m))
    random.shuffle(new)
    fit = fit_rows(m, rows)
    renumbered = fit_rows(m, [(new[i], new[j], y, w) for i, j, y, w in rows])
    assert np.allclose(renumbered.utilities[new], fit.utilities, rtol=0, atol=1e-13)
    assert np.allclose(renumbered.sd[new], fit.sd, rtol=1e-12, atol=0)
    assert (renumbered.status, renumbered.components) == (fit.status, fit.components)


@lawful
@given(contests())
def test_a_row_may_be_split_into_parts_of_its_weight(contest: tuple[int, Any]) -> None:
    m, rows = contest
    fit = fit_rows(m, rows)
    split = fit_rows(m, [(i, j, y, w / 2) for i, j, y, w in rows for _ in range(2)])
    assert np.allclose(split.utilities, fit.utilities, rtol=0, atol=1e-13)
    assert split.n == 2 * fit.n


@lawful
@given(contests(), contests())
def test_a_fit_does_not_see_its_neighbours(one: tuple[int, Any], other: tuple[int, Any]) -> None:
    rows = [*one[1], *other[1]]
    columns = [list(column) for column in zip(*rows, strict=True)]
    both = fit_utilities(
        *columns,
        fit=[0] * len(one[1]) + [1] * len(other[1]),
        n_alternatives=[one[0], other[0]],
        prior_sd=1.5,
    )
    assert both.utilities[: one[0]].tolist() == fit_rows(*one).utilities.tolist()
    assert both.sd[one[0] :].tolist() == fit_rows(*other).sd.tolist()
