"""Adjusted p-values: against scipy, shapes, NaN policies, arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fastgate.cells import Cells
from fastgate.errors import ArgumentError
from fastgate.stats import adjust

METHODS = ("holm", "hochberg", "bh", "by", "bonferroni", "none")


@pytest.mark.parametrize("method", ["bh", "by"])
@pytest.mark.parametrize("size", [1, 2, 1000, 100_000])
def test_false_discovery_rates_agree_with_scipy(method: str, size: int) -> None:
    p = np.random.default_rng(size).random(size) ** 3
    np.testing.assert_allclose(
        adjust(p, method), scipy_stats.false_discovery_control(p, method=method), rtol=1e-12
    )


def test_the_order_of_strictness() -> None:
    p = np.random.default_rng(3).random(500) ** 6
    adjusted = {method: adjust(p, method) for method in METHODS}
    assert adjusted["none"].tolist() == p.tolist()
    for looser, stricter in (
        ("none", "bh"),
        ("bh", "hochberg"),
        ("hochberg", "holm"),
        ("holm", "bonferroni"),
        ("bh", "by"),
    ):
        assert (adjusted[looser] <= adjusted[stricter] * (1.0 + 1e-15)).all()
    order = np.argsort(p)
    for values in adjusted.values():
        assert (np.diff(values[order]) >= 0.0).all()
        assert values.max() <= 1.0


def test_a_broken_test_cannot_loosen_its_neighbours() -> None:
    p = [0.01, 0.02, 0.04]
    for method in METHODS[:-1]:
        whole = adjust([*p, 1.0], method)
        broken = adjust([*p, math.nan], method)
        assert broken[:3].tolist() == whole[:3].tolist()
        assert math.isnan(broken[3])
        assert adjust([*p, math.nan], method, nan="omit")[:3].tolist() == adjust(p, method).tolist()


def test_rows_and_cells_are_families() -> None:
    p = np.random.default_rng(5).random((40, 7))
    rows = adjust(p, "holm")
    assert rows.shape == (40, 7)
    for row in range(40):
        assert rows[row].tolist() == adjust(p[row], "holm").tolist()
    flat = p.ravel()
    cells = Cells(flat, np.array([7, 14, 14, 30]))
    parts = [adjust(flat[7:14], "bh"), adjust(flat[14:30], "bh")]
    assert adjust(cells, "bh").tolist() == np.concatenate(parts).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_adjust(method: str) -> None:
    assert adjust([], method).shape == (0,)
    assert adjust(np.empty((0, 5)), method).shape == (0, 5)
    assert adjust(np.empty((5, 0)), method).shape == (5, 0)
    assert np.isnan(adjust([math.nan, math.nan], method)).all()


def test_the_argument_is_left_alone() -> None:
    p = np.array([0.04, 0.01])
    adjust(p, "none")[0] = 7.0
    assert p.tolist() == [0.04, 0.01]
    p.flags.writeable = False
    assert adjust(p, "holm").tolist() == [0.04, 0.02]


def test_arguments() -> None:
    for wrong in (1.5, -0.1, math.inf):
        with pytest.raises(ArgumentError, match="out of range") as caught:
            adjust([0.1, wrong])
        assert caught.value.where == "argument pvalues, test 1"
    with pytest.raises(ArgumentError, match="not numbers"):
        adjust(["a"])
    with pytest.raises(ArgumentError, match="dimensions"):
        adjust(0.5)
    with pytest.raises(ArgumentError, match="dimensions"):
        adjust(np.zeros((2, 2, 2)))
    with pytest.raises(ArgumentError, match="method is not known") as caught:
        adjust([0.1], "fdr")
    assert "'bh'" in str(caught.value.expected)
    with pytest.raises(ArgumentError, match="nan is not known"):
        adjust([0.1], nan="drop")
