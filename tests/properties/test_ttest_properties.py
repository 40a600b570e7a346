"""What must hold for any data: order, scale, shift, swapped arms, shards, neighbours, threads, processes."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastgate.cells import Cells
from fastgate.stats import (
    adjust,
    merge_moments,
    merge_pair_moments,
    moments,
    pair_moments,
    paired,
    paired_from_moments,
    welch,
    welch_from_moments,
)

EPSILON = 2.0**-52

unhurried = settings(deadline=None)  # the first call of a kernel compiles it

scores = st.floats(-100.0, 100.0, allow_subnormal=False).map(lambda x: round(x, 6))
missing = st.one_of(scores, st.just(math.nan))
samples = st.lists(scores, min_size=2, max_size=60)
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=60)


def opposite(one: float, other: float) -> bool:
    """Whether one is −other to the last bit, both NaN or both zero."""
    return one == -other or (math.isnan(one) and math.isnan(other))


def spread(sample: list[float]) -> float:
    present = [value for value in sample if not math.isnan(value)]
    return max(present) - min(present) if present else 0.0


def same_test(one: Any, other: Any, rel: float = 1e-9) -> None:
    """Equal statuses and, where they are ok, numbers that agree."""
    assert one.status == other.status
    if one.status != "ok":
        return
    for name in one._fields:
        if name not in ("status", "n", "n_missing", "n_candidate", "n_baseline"):
            ours, theirs = getattr(one, name), getattr(other, name)
            assert ours == pytest.approx(theirs, rel=rel, abs=rel, nan_ok=True), name


def well_conditioned(result: Any, *arms: list[float]) -> bool:
    """Whether the noise is well above the rounding of the largest value, which the tolerances suppose."""
    largest = max(abs(value) for arm in arms for value in arm)
    return result.status != "ok" or result.standard_error > 1e-5 * largest


@unhurried
@given(st.data(), st.lists(missing, max_size=60))
def test_row_order_does_not_matter(data: st.DataObject, sample: list[float]) -> None:
    shuffled = data.draw(st.permutations(sample))
    one, other = moments(sample), moments(shuffled)
    assert (one.n, one.n_missing, one.constant, one.status) == (
        other.n,
        other.n_missing,
        other.constant,
        other.status,
    )
    width, n = spread(sample), max(one.n, 1)
    assert one.mean == pytest.approx(other.mean, abs=4 * EPSILON * 100.0, nan_ok=True)
    assert one.m2 == pytest.approx(other.m2, rel=8 * n * EPSILON)
    assert one.m3 == pytest.approx(other.m3, abs=16 * n * n * EPSILON * width**3)


@unhurried
@given(samples, samples)
def test_swapping_the_arms_flips_the_sign(candidate: list[float], baseline: list[float]) -> None:
    one, other = welch(candidate, baseline), welch(baseline, candidate)
    assert one.status == other.status
    assert one.df == pytest.approx(other.df, rel=4 * EPSILON, nan_ok=True)
    assert opposite(one.statistic, other.statistic)
    assert opposite(one.delta, other.delta)
    assert opposite(one.ci_low, other.ci_high)
    assert opposite(one.cohens_d, other.cohens_d)
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-12, nan_ok=True)
    less, greater = (
        welch(candidate, baseline, alternative="less"),
        welch(baseline, candidate, alternative="greater"),
    )
    assert less.pvalue == pytest.approx(greater.pvalue, rel=1e-12, nan_ok=True)
    assert less.ci_high == pytest.approx(-greater.ci_low, rel=1e-12, nan_ok=True)


@unhurried
@given(pairs)
def test_swapping_the_sides_of_pairs_flips_the_sign(cases: list[tuple[float, float]]) -> None:
    candidate, baseline = zip(*cases, strict=True)
    one, other = paired(candidate, baseline), paired(baseline, candidate)
    assert one.status == other.status
    assert opposite(one.statistic, other.statistic)
    assert opposite(one.cohens_dz, other.cohens_dz)
    np.testing.assert_equal(one.pvalue, other.pvalue)
    assert one.correlation == pytest.approx(other.correlation, abs=4 * EPSILON, nan_ok=True)


@unhurried
@given(samples, samples, st.integers(-60, 60))
def test_scaling_by_a_power_of_two_scales_exactly(
    candidate: list[float], baseline: list[float], power: int
) -> None:
    factor = 2.0**power
    one = welch(candidate, baseline)
    other = welch(np.array(candidate) * factor, np.array(baseline) * factor)
    for name in ("statistic", "df", "pvalue", "cohens_d", "hedges_g", "status"):
        np.testing.assert_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("delta", "ci_low", "ci_high", "standard_error"):
        np.testing.assert_equal(getattr(one, name) * factor, getattr(other, name), err_msg=name)


@unhurried
@given(pairs, st.floats(-50.0, 50.0), st.floats(0.1, 10.0))
def test_shifting_and_scaling(cases: list[tuple[float, float]], shift: float, scale: float) -> None:
    candidate, baseline = (list(side) for side in zip(*cases, strict=True))
    moved, other = ([scale * value + shift for value in side] for side in (candidate, baseline))
    for test in (welch, paired):
        one, two = test(candidate, baseline), test(moved, other)
        if "ok" in (one.status, two.status) and well_conditioned(one, candidate, baseline, [50.0]):
            assert one.status == two.status == "ok"
            assert two.statistic == pytest.approx(one.statistic, rel=1e-8, abs=1e-8)
            assert two.delta == pytest.approx(scale * one.delta, rel=1e-8, abs=1e-8)
            assert two.hedges_g == pytest.approx(one.hedges_g, rel=1e-8, abs=1e-8, nan_ok=True)


@unhurried
@given(st.lists(missing, min_size=1, max_size=120), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_merged_shards_equal_the_whole(sample: list[float], sizes: list[int]) -> None:
    bounds = [0, *np.cumsum(sizes).tolist(), len(sample)]
    parts = [sample[low:high] for low, high in pairwise(bounds)]
    whole, merged = moments(sample), reduce(merge_moments, map(moments, parts))
    assert (merged.n, merged.n_missing, merged.constant, merged.status) == (
        whole.n,
        whole.n_missing,
        whole.constant,
        whole.status,
    )
    width, n = spread(sample), max(whole.n, 1)
    assert merged.mean == pytest.approx(whole.mean, rel=1e-14, abs=1e-14 * width, nan_ok=True)
    assert merged.m2 == pytest.approx(whole.m2, rel=1e-14)
    assert merged.m3 == pytest.approx(whole.m3, abs=1e-14 * n * width**3)


@unhurried
@given(pairs, st.integers(0, 60))
def test_merged_shards_of_pairs_equal_the_whole(cases: list[tuple[float, float]], cut: int) -> None:
    candidate, baseline = (list(side) for side in zip(*cases, strict=True))
    whole = paired(candidate, baseline)
    parts = pair_moments(candidate[:cut], baseline[:cut]), pair_moments(candidate[cut:], baseline[cut:])
    merged = merge_pair_moments(*parts)
    assert merged.comoment == pytest.approx(
        pair_moments(candidate, baseline).comoment, abs=1e-14 * len(cases) * 200.0 * 200.0
    )
    if well_conditioned(whole, candidate, baseline):
        same_test(paired_from_moments(merged), whole)


@unhurried
@given(
    st.lists(
        st.tuples(st.lists(missing, max_size=12), st.lists(missing, max_size=12)), min_size=1, max_size=12
    )
)
def test_neighbours_do_not_matter(cells: list[tuple[list[float], list[float]]]) -> None:
    candidates, baselines = (Cells.from_samples(side) for side in zip(*cells, strict=True))
    together = welch(candidates, baselines)
    for cell, (candidate, baseline) in enumerate(cells):
        alone = welch(candidate, baseline)
        for name, column in together._asdict().items():
            np.testing.assert_equal(column[cell], getattr(alone, name), err_msg=name)


@unhurried
@given(samples, samples)
def test_moments_suffice(candidate: list[float], baseline: list[float]) -> None:
    same_test(welch_from_moments(moments(candidate), moments(baseline)), welch(candidate, baseline), 1e-14)


@unhurried
@given(samples, samples, st.floats(0.5, 0.99))
def test_the_interval_excludes_zero_exactly_when_p_is_small(
    candidate: list[float], baseline: list[float], level: float
) -> None:
    for alternative in ("two-sided", "less", "greater"):
        result = welch(candidate, baseline, confidence_level=level, alternative=alternative)
        if result.status == "ok" and abs(result.pvalue - (1.0 - level)) > 1e-9:
            excluded = not result.ci_low <= 0.0 <= result.ci_high
            assert excluded == (result.pvalue < 1.0 - level)


@unhurried
@given(
    st.data(), st.lists(st.floats(0.0, 1.0), max_size=40), st.sampled_from(["holm", "hochberg", "bh", "by"])
)
def test_adjustment_ignores_order(data: st.DataObject, p: list[float], method: str) -> None:
    order = data.draw(st.permutations(range(len(p))))
    shuffled = adjust(np.array(p)[order], method)
    assert shuffled.tolist() == adjust(p, method)[order].tolist()


def ragged(n_cells: int, seed: int) -> tuple[Cells, Cells]:
    """Cells of 0 … 400 values, some of them missing, infinite, constant or huge; the same sizes on both sides."""
    generator = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(generator.integers(0, 401, n_cells))))
    sides = []
    for _ in range(2):
        values = generator.normal(size=offsets[-1])
        values[generator.random(values.size) < 0.001] = np.nan
        values[generator.random(values.size) < 0.0001] = np.inf
        for cell in generator.choice(n_cells, n_cells // 20, replace=False):
            values[offsets[cell] : offsets[cell + 1]] = 0.1
        for cell in generator.choice(n_cells, n_cells // 20, replace=False):
            values[offsets[cell] : offsets[cell + 1]] *= 1e200
        sides.append(Cells(values, offsets))
    return sides[0], sides[1]


def everything(candidate: Cells, baseline: Cells) -> list[np.ndarray[Any, Any]]:
    results = (moments(candidate), welch(candidate, baseline), paired(candidate, baseline))
    p = results[1].pvalue
    return [*(column for result in results for column in result), adjust(np.tile(p, 20), "holm")]


def assert_same_bits(one: list[np.ndarray[Any, Any]], other: list[np.ndarray[Any, Any]]) -> None:
    for ours, theirs in zip(one, other, strict=True):
        if ours.dtype == object:
            assert ours.tolist() == theirs.tolist()
        else:
            assert ours.tobytes() == theirs.tobytes()


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ragged(4000, 1)
    results = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
        results.append(everything(*cells))
    assert set(results[0][9]) >= {"ok", "too_few", "nonfinite"}
    assert_same_bits(results[0], results[1])
    assert_same_bits(results[0], results[2])


def test_cells_in_any_order_give_the_same_bits() -> None:
    candidate, baseline = ragged(500, 2)
    order = np.random.default_rng(3).permutation(500)
    shuffled = [Cells.from_samples([side[int(cell)] for cell in order]) for side in (candidate, baseline)]
    one, other = welch(candidate, baseline), welch(*shuffled)
    for name, column in one._asdict().items():
        np.testing.assert_array_equal(column[order], getattr(other, name), err_msg=name)


def test_concurrent_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "3")
    data = [ragged(1500, seed) for seed in range(4)]
    alone = [everything(*cells) for cells in data]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            for one, other in zip(alone, pool.map(lambda cells: everything(*cells), data), strict=True):
                assert_same_bits(one, other)


FORK = """
import multiprocessing, os, sys
import numpy as np
from fastgate.stats import welch

def test(_=None):
    generator = np.random.default_rng(7)
    result = welch(generator.normal(size=(5000, 60)), generator.normal(size=(5000, 60)), interval=False)
    return result.pvalue.tobytes()

parent = test()                      # the thread pool exists now
child = os.fork()
if child == 0:
    os._exit(0 if test() == parent else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(test, range(4)) == [parent] * 4
assert test() == parent
print("same")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_after_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTGATE_NUM_THREADS", "2")
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "same"), done.stderr
