"""Bradley–Terry fits: the mode and its curvature against dense linear algebra, statuses, batches, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from fastgate.errors import ArgumentError
from fastgate.stats.utilities import UtilityFit, fit_utilities, fit_utilities_arrays, group_preferences

Array = np.ndarray[Any, Any]


def preferences(seed: int, m: int, n: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1.2, m)
    left = rng.integers(0, m, n)
    right = (left + rng.integers(1, m, n)) % m
    won = rng.random(n) < special.expit(strength[left] - strength[right])
    outcome = np.where(rng.random(n) < 0.15, 0.5, won.astype(float))
    return left, right, outcome, rng.choice([0.25, 1.0, 2.0], n)


def gradient_and_hessian(u: Array, rows: tuple[Array, ...], prior_sd: float) -> tuple[Array, Array]:
    left, right, outcome, weight = rows
    m = u.size
    p = special.expit(u[left] - u[right])
    gradient = -u / prior_sd**2
    np.add.at(gradient, left, weight * (outcome - p))
    np.add.at(gradient, right, -weight * (outcome - p))
    hessian = np.eye(m) / prior_sd**2
    for i, j, h in zip(left, right, weight * p * (1 - p), strict=True):
        hessian[[i, j], [i, j]] += h
        hessian[[i, j], [j, i]] -= h
    return gradient, hessian


def only(fit: UtilityFit) -> Array:
    assert isinstance(fit.covariance, np.ndarray)
    return fit.covariance


@pytest.mark.parametrize("m", [2, 3, 8, 33, 120])
@pytest.mark.parametrize("prior_sd", [0.1, 1.5, 20.0])
def test_mode_is_stationary_and_covariance_inverts_the_hessian(m: int, prior_sd: float) -> None:
    rows = preferences(m, m, 12 * m)
    fit = fit_utilities(*rows, prior_sd=prior_sd, n_alternatives=m, covariance=True)
    gradient, hessian = gradient_and_hessian(fit.utilities, rows, prior_sd)
    covariance = only(fit)
    assert np.abs(gradient).max() <= 1e-12 * max(1.0, 1.0 / prior_sd**2)
    assert np.allclose(
        hessian @ (covariance + prior_sd**2 / m), np.eye(m), atol=1e-10 * max(1.0, prior_sd**2)
    )
    assert abs(fit.utilities.sum()) <= 1e-14 * m
    assert np.allclose((covariance + prior_sd**2 / m).sum(axis=1), prior_sd**2, rtol=1e-12, atol=0)
    assert np.array_equal(covariance, covariance.T)
    assert np.allclose(np.diag(covariance), fit.sd**2, rtol=1e-14, atol=0)


def test_mode_equals_a_general_optimiser_s() -> None:
    rows = preferences(7, 6, 80)

    def objective(u: Array) -> float:
        left, right, outcome, weight = rows
        d = u[left] - u[right]
        likelihood = weight * (outcome * special.log_expit(d) + (1 - outcome) * special.log_expit(-d))
        return float(u @ u / 4.5 - likelihood.sum())

    found = optimize.minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    fit = fit_utilities(*rows, prior_sd=1.5)
    assert np.allclose(fit.utilities, found.x, atol=1e-6)
    assert fit.log_posterior == pytest.approx(-found.fun, rel=1e-12)


@pytest.mark.parametrize("prior_sd", [1e-3, 1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e9])
def test_two_separated_alternatives_have_a_closed_form(prior_sd: float, weight: float) -> None:
    fit = fit_utilities([0], [1], ["left"], [weight], prior_sd=prior_sd, covariance=True)
    u = fit.utilities[0]
    assert fit.status == "separation"
    assert fit.utilities[1] == -u
    # Stationary: weight σ(−2u) = u/s²; and the centred precision is that of one conductance.
    assert weight * special.expit(-2 * u) == pytest.approx(u / prior_sd**2, rel=1e-12)
    conductance = weight * special.expit(2 * u) * special.expit(-2 * u) + 0.5 / prior_sd**2
    assert fit.sd.tolist() == pytest.approx([0.5 / np.sqrt(conductance)] * 2, rel=1e-11)
    assert only(fit)[0, 1] == pytest.approx(-(fit.sd[0] ** 2), rel=1e-14)


@pytest.mark.parametrize("prior_sd", [1e4, 1e6])
def test_wide_priors_lose_no_digits(prior_sd: float) -> None:
    rows = preferences(3, 9, 400)
    fit = fit_utilities(*rows, prior_sd=prior_sd)
    _, hessian = gradient_and_hessian(fit.utilities, rows, np.inf)
    expected = np.sqrt(np.diag(np.linalg.pinv(hessian)))
    assert np.allclose(fit.sd, expected, rtol=4 / prior_sd**2 + 1e-12, atol=0)


def test_components_are_centred_each_and_levelled_by_the_prior() -> None:
    fit = fit_utilities(
        [0, 0, 2, 2, 2], [1, 1, 3, 3, 4], [1, 0, 1, 1, 0], prior_sd=1e5, n_alternatives=6, covariance=True
    )
    assert fit.status == "disconnected"
    assert fit.components == 3
    assert abs(fit.utilities[:2].sum()) <= 1e-15
    assert abs(fit.utilities[2:5].sum()) <= 1e-15 * np.abs(fit.utilities).max()
    assert fit.utilities[5] == 0.0
    assert fit.sd[5] == pytest.approx(1e5 * np.sqrt(5 / 6), rel=1e-12)


def test_a_tie_is_half_a_win_for_each() -> None:
    tied = fit_utilities([0, 0, 1], [1, 2, 2], ["tie", "left", "right"], [2.0, 1.0, 1.0], prior_sd=1.0)
    halves = fit_utilities(
        [0, 0, 0, 1], [1, 1, 2, 2], ["left", "right", "left", "right"], [1.0, 1.0, 1.0, 1.0], prior_sd=1.0
    )
    assert np.array_equal(tied.utilities, halves.utilities)
    assert np.array_equal(tied.sd, halves.sd)
    assert (tied.n, halves.n) == (3, 4)


def test_a_weight_is_a_number_of_observations_and_none_is_no_preference() -> None:
    weighted = fit_utilities([0, 1, 2], [1, 2, 0], ["left"] * 3, [3.0, 2.0, 1.0], prior_sd=2.0)
    rows = [0, 0, 0, 1, 1, 2]
    repeated = fit_utilities(rows, [(i + 1) % 3 for i in rows], ["left"] * 6, prior_sd=2.0)
    assert np.array_equal(weighted.utilities, repeated.utilities)
    empty = fit_utilities(
        [0, 1, 2, 0, 1, 2],
        [1, 2, 0, 2, 0, 1],
        ["left"] * 3 + ["abstain", None, "right"],
        [3.0, 2.0, 1.0, 5.0, 5.0, 0.0],
        prior_sd=2.0,
    )
    assert np.array_equal(empty.utilities, weighted.utilities)
    assert empty.n == 3


def test_scales_of_the_interval() -> None:
    rows = preferences(2, 5, 60)
    logit = fit_utilities(*rows, prior_sd=1.0, mass=0.9, scale="logit")
    unit = fit_utilities(*rows, prior_sd=1.0, mass=0.9, scale="unit")
    z = special.ndtri(0.95)
    assert np.allclose(logit.ci_low, logit.utilities - z * logit.sd, rtol=1e-13, atol=1e-15)
    assert np.allclose(logit.width, 2 * z * logit.sd, rtol=1e-13, atol=0)
    assert np.allclose(unit.ci_low, special.expit(logit.ci_low), rtol=1e-14, atol=0)
    assert np.allclose(unit.ci_high, special.expit(logit.ci_high), rtol=1e-14, atol=0)
    assert np.allclose(unit.width, unit.ci_high - unit.ci_low, rtol=1e-13, atol=0)


def test_unit_width_of_certain_utilities_keeps_its_digits() -> None:
    fit = fit_utilities([0, 0], [1, 1], ["left", "right"], [1e18, 1.0], prior_sd=30.0)
    low, high = fit.utilities[0] + np.array([-1, 1]) * 1.959963984540054 * fit.sd[0]
    with np.errstate(over="ignore"):
        expected = (np.exp(-low) - np.exp(-high)) / ((1 + np.exp(-low)) * (1 + np.exp(-high)))
    assert fit.width[0] == pytest.approx(expected, rel=1e-9)
    vague = fit_utilities([0], [1], ["left"], prior_sd=1e8)
    assert vague.width[0] == pytest.approx(1.0)


def test_separation_is_found_in_both_directions_and_a_cycle_is_none() -> None:
    chain = fit_utilities([0, 1, 0], [1, 2, 1], ["left", "left", "right"], prior_sd=1.0)
    assert chain.status == "separation"
    champion = fit_utilities([0, 1, 2, 0], [1, 2, 1, 2], ["left", "left", "left", "left"], prior_sd=1.0)
    assert champion.status == "separation"
    cycle = fit_utilities([0, 1, 2], [1, 2, 0], ["left"] * 3, [5.0] * 3, prior_sd=1.0)
    assert cycle.status == "ok"
    halves = fit_utilities([0, 1], [1, 2], ["tie", "tie"], [9.0, 9.0], prior_sd=1.0)
    assert halves.status == "ok"


def test_a_fit_that_says_no_more_than_its_prior_says_so() -> None:
    weak = fit_utilities([0, 1, 2], [1, 2, 0], ["left"] * 3, [0.2] * 3, prior_sd=1.0, covariance=True)
    raw = np.sqrt(np.diag(only(weak)) + 1.0 / 3.0)
    assert raw.min() > 0.9
    assert weak.status == "prior_driven"
    strong = fit_utilities([0, 1, 2], [1, 2, 0], ["left"] * 3, [2.0] * 3, prior_sd=1.0)
    assert strong.status == "ok"


def test_too_few_returns_the_prior() -> None:
    for outcome, weight in ((["abstain"], [1.0]), ([None], [1.0]), (["left"], [0.0])):
        fit = fit_utilities([0], [1], outcome, weight, prior_sd=2.0)
        assert (fit.status, fit.n) == ("too_few", 0)
        assert fit.utilities.tolist() == [0.0, 0.0]
        assert fit.sd.tolist() == pytest.approx([np.sqrt(2.0)] * 2, rel=1e-15)
    alone = fit_utilities([], [], [], prior_sd=2.0, n_alternatives=1)
    assert (alone.status, alone.sd.tolist(), alone.width.tolist()) == ("too_few", [0.0], [0.0])
    none = fit_utilities([], [], [], prior_sd=2.0)
    assert (none.status, none.utilities.size, none.converged) == ("too_few", 0, False)


def test_a_broken_fit_leaves_its_neighbours_alone() -> None:
    left, right, outcome, _ = preferences(1, 4, 40)
    clean = fit_utilities(left, right, outcome, prior_sd=1.0, n_alternatives=4)
    broken = {
        "itself": ("invalid", lambda rows: rows[1].__setitem__(5, rows[0][5])),
        "negative": ("invalid", lambda rows: rows[3].__setitem__(5, -0.5)),
        "nan": ("nonfinite", lambda rows: rows[3].__setitem__(5, np.nan)),
        "infinite": ("nonfinite", lambda rows: rows[3].__setitem__(5, np.inf)),
        "overflow": ("nonfinite", lambda rows: rows[3].__setitem__(slice(None), 1.7e308)),
    }
    fits = []
    for _, spoil in broken.values():
        rows = [left.copy(), right.copy(), outcome.copy(), np.ones(40)]
        spoil(rows)
        fits += [rows, [left, right, outcome, np.ones(40)]]
    columns = [np.concatenate(column) for column in zip(*fits, strict=True)]
    result = fit_utilities(*columns, fit=np.repeat(np.arange(len(fits)), 40), prior_sd=1.0, n_alternatives=4)
    for index, (name, (status, _)) in enumerate(broken.items()):
        assert result.status[2 * index] == status, name
        assert not result.converged[2 * index]
        assert np.isnan(result.utilities[8 * index : 8 * index + 4]).all()
        assert np.isnan(result.width[8 * index : 8 * index + 4]).all()
        assert result.status[2 * index + 1] == "ok"
        assert np.array_equal(result.utilities[8 * index + 4 : 8 * index + 8], clean.utilities)


def test_arrays_mark_codes_out_of_range_as_invalid() -> None:
    for left, right, outcome in ((0, 2, 0), (-1, 1, 0), (0, 1, 4), (0, 1, -2)):
        out = fit_utilities_arrays(
            np.array([left]),
            np.array([right]),
            np.array([outcome], np.int8),
            np.empty(0),
            np.array([0, 1]),
            np.empty(0, np.int64),
            np.array([0, 2]),
            np.ones(1),
        )
        assert out.status.tolist() == [8]


def test_too_few_iterations_are_reported() -> None:
    rows = preferences(4, 8, 100)
    fit = fit_utilities(*rows, prior_sd=3.0, max_iterations=1)
    assert (fit.status, fit.converged, fit.iterations) == ("not_converged", False, 1)
    assert np.isfinite(fit.utilities).all()
    assert fit_utilities(*rows, prior_sd=3.0).iterations <= 8


def batch() -> tuple[list[Array], Array, Array]:
    sizes = np.array([2, 7, 0, 20, 3, 50, 1])
    parts = [preferences(f, m, 15 * m) for f, m in enumerate(sizes) if m > 1]
    fits = [f for f, m in enumerate(sizes) if m > 1]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return columns, np.repeat(fits, [part[0].size for part in parts]), sizes


def test_rows_of_fits_may_come_in_any_order() -> None:
    columns, fit, sizes = batch()
    tidy = fit_utilities(*columns, fit=fit, n_alternatives=sizes, prior_sd=1.5)
    shuffled = np.random.default_rng(0).permutation(fit.size)
    order = shuffled[np.argsort(np.argsort(shuffled, kind="stable") % 3, kind="stable")]
    mixed = fit_utilities(
        *(column[order] for column in columns), fit=fit[order], n_alternatives=sizes, prior_sd=1.5
    )
    assert tidy.offsets.tolist() == [0, 2, 9, 9, 29, 32, 82, 83]
    assert np.allclose(tidy.utilities, mixed.utilities, rtol=0, atol=1e-13)
    assert tidy.status.tolist() == mixed.status.tolist()
    assert tidy.status[[2, 6]].tolist() == ["too_few", "too_few"]
    assert tidy.n.tolist() == [30, 105, 0, 300, 45, 750, 0]


def test_grouping_keeps_rows_that_are_in_order_where_they_are() -> None:
    offsets, order = group_preferences(np.array([0, 0, 2]), 4)
    assert (offsets.tolist(), order.tolist()) == ([0, 2, 2, 3, 3], [])
    offsets, order = group_preferences(np.array([2, 0, 2, 0]), 3)
    assert (offsets.tolist(), order.tolist()) == ([0, 2, 2, 4], [1, 3, 0, 2])


def test_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, fit, sizes = batch()
    results = []
    for threads in ("1", "4"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        results.append(fit_utilities(*columns, fit=fit, n_alternatives=sizes, prior_sd=1.5, covariance=True))
    assert np.array_equal(results[0].utilities, results[1].utilities)
    assert np.array_equal(results[0].sd, results[1].sd)
    for one, other in zip(results[0].covariance, results[1].covariance, strict=True):
        assert np.array_equal(one, other)
    assert [matrix.shape[0] for matrix in results[0].covariance] == sizes.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"prior_sd": 0.0},
        {"prior_sd": -1.0},
        {"prior_sd": np.nan},
        {"prior_sd": np.inf},
        {"prior_sd": [1.0, 1.0]},
        {"prior_sd": "wide"},
        {"mass": 1.0},
        {"mass": 0.0},
        {"scale": "probit"},
        {"max_iterations": 0},
        {"max_iterations": 2.5},
        {"n_alternatives": 1},
        {"n_alternatives": -1},
        {"n_alternatives": 2.0},
        {"n_alternatives": [2, 2]},
        {"weight": ["heavy"]},
        {"weight": [1.0, 1.0]},
        {"fit": [0, 1]},
        {"fit": [-1]},
        {"fit": [3], "n_alternatives": [2, 2]},
        {"left": [0.5]},
        {"left": [-1]},
        {"right": [[1]]},
        {"right": [1, 1]},
        {"outcome": ["won"]},
        {"outcome": [0.7]},
        {"outcome": ["left", "left"]},
    ],
)
def test_faults_of_the_call_are_refused(options: dict[str, Any]) -> None:
    arguments = {"left": [0], "right": [1], "outcome": ["left"], "prior_sd": 1.0, **options}
    with pytest.raises(ArgumentError):
        fit_utilities(**arguments)
