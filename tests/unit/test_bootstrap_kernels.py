"""The bootstrap's parts: random numbers, sorting and selection, lattices, jackknife, order-statistic laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

from fastgate.kernels import bootstrap_codes as codes
from fastgate.kernels import order_statistics, rng
from fastgate.kernels.bootstrap_jackknife import influences, point_estimate
from fastgate.kernels.bootstrap_order_tables import order_of, order_tables, order_windows
from fastgate.kernels.bootstrap_supports import lattice_step, multisets

RNG = np.random.default_rng(11)


def state(seed: int, key: int, side: int, replicate: int) -> np.uint64:
    # numba hands 64 unsigned bits back as a Python number, which it would take for a signed one.
    base = rng.cell_stream(np.uint64(seed), np.uint64(key), np.uint64(side))
    return np.uint64(rng.replicate_stream(np.uint64(base), np.uint64(replicate)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 255, 256, 257, 1001, 65536, 65537, 100_000])
def test_indices_are_uniform(n: int) -> None:
    size = 400_003
    indices = np.empty(size, np.uint64)
    rng.draw_indices(state(5, 77, 0, 3), n, indices)
    assert indices.max() < n
    groups = min(n, 50)
    counts = np.bincount((indices * np.uint64(groups) // np.uint64(n)).astype(np.int64), minlength=groups)
    shares = np.bincount(np.arange(n) * groups // n, minlength=groups) / n
    # Fixed draws: the p-value is what it is, and a broken generator's is 0.
    assert scipy.stats.chisquare(counts, size * shares).pvalue > 1e-4 if groups > 1 else counts[0] == size
    if n > 1:
        step = indices.astype(np.int64)
        for lag in (1, 2, 3, 4):
            moved = np.corrcoef(step[:-lag], step[lag:])[0, 1]
            assert abs(moved) < 5.0 / np.sqrt(size)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 255, 256])
def test_pairs_are_uniform(n: int) -> None:
    pairs = np.empty(100_000, np.uint64)
    last = rng.draw_pairs(state(5, 78, 1, 0), n, pairs)
    assert 0 <= last < n
    assert pairs.max() < n * n
    counts = np.bincount((pairs * np.uint64(64) // np.uint64(n * n)).astype(np.int64), minlength=64)
    shares = np.bincount(np.arange(n * n) * 64 // (n * n), minlength=64) / (n * n)
    assert scipy.stats.chisquare(counts[shares > 0], pairs.size * shares[shares > 0]).pvalue > 1e-4
    lasts = [int(rng.draw_pairs(state(5, 78, 1, r), n, pairs[:2])) for r in range(2000)]
    assert np.bincount(lasts, minlength=n).min() >= (0 if n > 10 else 1)
    assert abs(np.mean(lasts) - (n - 1) / 2.0) < 5.0 * n / np.sqrt(12.0 * 2000)


def test_streams_differ_by_seed_key_side_and_replicate() -> None:
    states = {
        int(state(seed, key, side, replicate))
        for seed in range(4)
        for key in range(4)
        for side in range(2)
        for replicate in range(100)
    }
    assert len(states) == 4 * 4 * 2 * 100


def test_weights_are_the_draws_counted() -> None:
    weights = np.full((50, 30), np.nan)
    rng.multinomial_weights(0, 50, np.uint64(3), 10, np.uint64(30), np.uint64(1), weights)
    indices = np.empty(30, np.uint64)
    for row in range(50):
        rng.draw_indices(state(3, 30, 1, 10 + row), 30, indices)
        assert weights[row].tolist() == np.bincount(indices.astype(np.int64), minlength=30).tolist()


ARRAYS = {
    "normal": RNG.normal(size=3000),
    "ties": RNG.integers(0, 5, 3000).astype(float),
    "sorted": np.arange(3000.0),
    "reversed": -np.arange(3000.0),
    "equal": np.ones(3000),
    "cauchy": RNG.standard_cauchy(3000),
    "infinite": np.r_[RNG.normal(size=700), [np.inf] * 5, [-np.inf] * 7],
    "short": RNG.normal(size=9),
    "two": np.array([2.0, 1.0]),
}


@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS.keys())
def test_sorting_and_selection(values: Any) -> None:
    ordered = np.sort(values)
    mine = values.copy()
    order_statistics.sort(mine)
    assert mine.tolist() == ordered.tolist()
    mine, weights = values.copy(), np.arange(float(values.size))
    order_statistics.sort_weighted(mine, weights)
    assert mine.tolist() == ordered.tolist()
    assert values[weights.astype(int)].tolist() == ordered.tolist()
    for k in sorted({0, 1, values.size // 3, values.size - 1}):
        assert order_statistics.select(values.copy(), 0, values.size - 1, k) == ordered[k]
    if not np.isfinite(values).all():
        return
    for low, high in ((0.025, 0.975), (0.1, 0.1), (0.4, 0.99), (0.0, 1.0)):
        expected = pytest.approx(tuple(np.quantile(values, [low, high])), rel=1e-13)
        assert order_statistics.type7_pair(values.copy(), low, high) == expected
        for t_low, t_high in (
            (-1.2, 1.2),
            (-9.0, 9.0),
            (0.0, 0.0),
            (1.0, -1.0),
            tuple(np.quantile(values, [low, high])),
        ):
            room = np.empty(values.size)
            assert order_statistics.tail_pair(values, room, low, high, t_low, t_high) == expected
    assert order_statistics.type7(ordered, ordered.size, 0.37) == pytest.approx(
        np.quantile(values, 0.37), rel=1e-13
    )


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.0, 1.0, 1.0], 1.0),
        ([3.0, 5.0, 9.0], 2.0),
        ([0.1, 0.2, 0.7, 1.3], 0.1),
        ([12.01, 13.37, 12.5], 0.01),
        ([1 / 3, 2 / 3, 1.0], 1 / 3),
        ([1e9 + 0.1, 1e9 + 0.3, 1e9 + 0.4], 0.1),
        ([-0.25, 0.5, 7.25], 0.75),
        ([1e-100, 3e-100, 4e-100], 1e-100),
        ([0.0, np.pi, np.e], 0.0),
        ([0.0, 1.0, 1.0 + 1e-9], 0.0),
        ([0.0, 1.0, 1e7], 0.0),
        (RNG.normal(size=50).tolist(), 0.0),
    ],
)
def test_lattices_are_found(values: list[float], step: float) -> None:
    cell = np.array(values)
    largest = np.abs(cell).max()
    found = lattice_step(cell, cell[:0], cell.min(), cell.max(), 0.0, 0.0, largest)
    assert found == pytest.approx(step, rel=1e-6, abs=0.0)
    shuffled = cell[::-1].copy()
    again = lattice_step(shuffled, shuffled[:0], cell.min(), cell.max(), 0.0, 0.0, largest)
    assert again == pytest.approx(found, rel=1e-12)


def test_two_samples_share_a_lattice() -> None:
    a, b = np.array([0.5, 1.0, 2.0]), np.array([0.2, 0.5, 1.1])
    assert lattice_step(a, b, 0.5, 2.0, 0.2, 1.1, 2.0) == pytest.approx(0.1)


def test_multisets_are_counted() -> None:
    assert multisets(np.arange(6.0), 1e5) == pytest.approx(462)
    assert multisets(np.arange(10.0), 1e5) == pytest.approx(92_378)
    assert multisets(np.array([1.0, 1.0, 2.0, 2.0]), 1e5) == 5
    assert multisets(np.arange(50.0), 1e5) > 1e5
    assert multisets(np.ones(50), 1e5) == 1


@pytest.mark.parametrize("n", [2, 3, 4, 7, 20, 21])
@pytest.mark.parametrize(
    ("statistic", "q"),
    [(codes.MEAN, 0.0), (codes.STD, 0.0), (codes.QUANTILE, 0.5), (codes.QUANTILE, 0.95), (codes.QUANTILE, 0.02),
     (codes.TRIMMED, 0.0), (codes.TRIMMED, 0.1), (codes.TRIMMED, 0.3), (codes.TRIMMED, 0.45)],
)  # fmt: skip
def test_jackknife_equals_leaving_out(n: int, statistic: int, q: float) -> None:
    ordered = np.sort(RNG.exponential(size=n))
    mine = np.empty(n)
    influences(ordered, statistic, q, mine)
    if n == 2 and statistic == codes.STD:
        assert mine.tolist() == [0.0, 0.0]
        return
    left_out = np.array([point_estimate(np.delete(ordered, i), statistic, q) for i in range(n)])
    assert mine == pytest.approx((n - 1) * (left_out.mean() - left_out), rel=1e-11, abs=1e-13)


def test_point_estimates() -> None:
    values = np.sort(RNG.exponential(size=31))
    assert point_estimate(values, codes.MEAN, 0.0) == pytest.approx(values.mean(), rel=1e-15)
    assert point_estimate(values, codes.STD, 0.0) == pytest.approx(values.std(ddof=1), rel=1e-14)
    assert point_estimate(values, codes.QUANTILE, 0.9) == pytest.approx(np.quantile(values, 0.9), rel=1e-15)
    assert point_estimate(values, codes.TRIMMED, 0.1) == pytest.approx(
        scipy.stats.trim_mean(values, 0.1), rel=1e-15
    )


@pytest.mark.parametrize(
    ("n", "q"), [(2, 0.5), (20, 0.9), (100, 0.95), (500, 0.5), (3000, 0.99), (20_000, 0.5)]
)
def test_order_statistics_have_binomial_laws(n: int, q: float) -> None:
    sizes, first, length = np.array([n]), np.empty(1, np.int64), np.empty(1, np.int64)
    order_windows(0, 1, sizes, q, first, length)
    tables = np.empty(4 * length[0])
    order_tables(0, 1, sizes, q, first, length, np.zeros(1, np.int64), tables)
    table = tables.reshape(-1, 4)
    rank, fraction = order_of(n, q)
    p = (first[0] + np.arange(length[0])) / n
    assert table[:, 0] == pytest.approx(scipy.stats.binom.sf(rank - 1, n, p), rel=1e-11, abs=1e-14)
    assert table[:, 1] == pytest.approx(
        scipy.stats.binom.sf(rank if fraction else rank - 1, n, p), rel=1e-11, abs=1e-14
    )
    assert table[0, 0] < 1e-12 or first[0] == 1
    assert table[-1, 0] > 1.0 - 1e-12
    if fraction:
        # Summed over all later ranks, the joint law is that of the K-th alone being at i and the next one beyond.
        joint = table[:, 2] * table[:, 3]
        mass = np.diff(table[:, 0], prepend=0.0)
        assert np.all(joint <= mass + 1e-14)
        assert np.sum(joint) == pytest.approx(1.0 - np.sum(mass - joint), abs=1e-12)
