"""What judges many comparisons at once gives each the same bits as what judges it alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import fastgate
from fastgate.cells import Cells
from fastgate.frames import read_samples
from fastgate.gates.benchmark.groups import summed_up
from fastgate.kernels.records import MomentArrays
from fastgate.kernels.special import hedges_correction, hedges_of_cells
from fastgate.stats.distributions import student_t_isf
from fastgate.stats.paired_ttest import paired_arrays, paired_shown
from fastgate.stats.pairs import pair_moments, paired_from_moments
from fastgate.stats.summary import moments_arrays

Floats = npt.NDArray[np.float64]


def bits(array: Any) -> npt.NDArray[np.int64]:
    """The bits of float64, all NaN alike."""
    numbers = np.atleast_1d(np.asarray(array, np.float64))
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)


def hostile_cells(seed: int, n: int = 240, longest: int = 40) -> Cells:
    """Cells of ordinary values, and of all that needs care: missing, infinite, constant, huge, tiny, few."""
    rng = np.random.default_rng(seed)
    samples = []
    for cell in range(n):
        size = (0, 1, 2, longest)[cell % 4] if cell % 5 == 0 else longest
        values = rng.normal(0.5, 0.1, size)
        kind = cell % 11
        if size and kind == 1:
            values[rng.random(size) < 0.3] = np.nan
        elif size and kind == 2:
            values[-1] = np.inf
        elif kind == 3:
            values[:] = 0.25
        elif kind == 4:
            values *= 1e200
        elif kind == 5:
            values *= 1e-200
        elif kind == 6:
            values = np.where(values > 0.5, 1.7e308, -1.7e308)
        elif kind == 7:
            values = np.round(values, 1) * 1e-4 + 1e12
        elif kind == 8:
            values[:] = np.nan
        samples.append(values)
    return Cells.from_samples(samples)


@pytest.fixture(scope="module")
def setting() -> tuple[Cells, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    cells = hostile_cells(1)
    rng = np.random.default_rng(2)
    candidate, baseline = rng.integers(-1, len(cells), (2, 3000))
    return cells, candidate, baseline


@pytest.fixture(scope="module")
def alone(setting: Any) -> Any:
    """The test of two cells that are given as samples of their own, and whose moments nobody knows."""
    cells, candidate, baseline = setting
    columns: list[list[Any]] = []
    for c, b in zip(candidate, baseline, strict=True):
        one = np.empty(0) if c < 0 else cells[int(c)].copy()
        two = np.empty(0) if b < 0 else cells[int(b)].copy()
        sides = [(side, np.array([0, side.size])) for side in (one, two)]
        place = np.zeros(1, np.int64) - (c < 0 or b < 0)
        columns.append([column[0] for column in paired_arrays(*sides, place, place)])
    return list(zip(*columns, strict=True))


class TestPairs:
    """Of known moments, and of what is shown only, against the test of each two cells by themselves."""

    def test_known_moments_give_the_same_bits(self, setting: Any, alone: Any) -> None:
        cells, candidate, baseline = setting
        values = cells.values, cells.offsets
        moments = moments_arrays(*values)
        for known in (None, (moments, moments)):
            result = paired_arrays(values, values, candidate, baseline, moments=known)
            for name, column, expected in zip(result._fields, result, alone, strict=True):
                assert np.array_equal(bits(column), bits(expected)), name
        assert np.unique(result.status).size == 6

    def test_moments_of_the_pairs_themselves_give_the_same_bits(self) -> None:
        rng = np.random.default_rng(8)
        sides = rng.normal(0.5, 0.1, (2, 300, 25))
        sides[0, ::3, 4] = np.nan  # these cells are measured with care
        values = [(side.reshape(-1), np.arange(301) * 25) for side in sides]
        row = np.arange(300)
        result = paired_arrays(*values, row, row)
        again = paired_from_moments(pair_moments(*sides))
        for name in (
            "statistic",
            "pvalue",
            "hedges_g",
            "cohens_d",
            "cohens_dz",
            "hedges_gz",
            "correlation",
            "n",
        ):
            assert np.array_equal(bits(getattr(result, name)), bits(getattr(again, name))), name

    def test_what_is_shown_is_what_the_test_says(self, setting: Any, alone: Any) -> None:
        cells, candidate, baseline = setting
        values = cells.values, cells.offsets
        fields = paired_arrays(values, values, candidate[:1], baseline[:1])._fields
        shown = paired_shown(values, values, candidate, baseline)
        for name, column in shown._asdict().items():
            assert np.array_equal(bits(column), bits(alone[fields.index(name)])), name

    def test_any_number_of_threads(self, setting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        cells, candidate, baseline = setting
        values = cells.values, cells.offsets
        found = []
        for threads in ("1", "3"):
            monkeypatch.setenv("FASTGATE_NUM_THREADS", threads)
            found.append(paired_shown(values, values, candidate, baseline))
        for one, three in zip(*found, strict=True):
            assert np.array_equal(bits(one), bits(three))

    def test_moments_of_one_side_may_be_a_part_of_an_array(self) -> None:
        first, second = hostile_cells(3), hostile_cells(4)
        both = [moments_arrays(cells.values, cells.offsets) for cells in (first, second)]
        joined = MomentArrays._make(map(np.concatenate, zip(*both, strict=True)))
        parts = (
            MomentArrays._make(column[: len(first)] for column in joined),
            MomentArrays._make(column[len(first) :] for column in joined),
        )
        sides = (first.values, first.offsets), (second.values, second.offsets)
        row = np.arange(len(first))
        for one, other in zip(
            paired_shown(*sides, row, row, parts), paired_shown(*sides, row, row), strict=True
        ):
            assert np.array_equal(bits(one), bits(other))


def test_hedges_correction_of_many_effects_has_the_bits_of_each() -> None:
    rng = np.random.default_rng(5)
    df = np.concatenate([rng.uniform(1, 60, 500), [np.nan, 1.0, 0.5, 21.5, 1e17, 1e18, np.inf]])
    effects = rng.normal(size=df.size)
    many = effects.copy()
    hedges_of_cells(df, many)
    each = [hedges_correction(m) * effect for m, effect in zip(df.tolist(), effects.tolist(), strict=True)]
    assert np.array_equal(bits(many), bits(each))


@pytest.mark.parametrize(
    "q", [0.2, 0.025, 0.2499999, 1e-3, 1e-9, 1e-200, 0.25, 0.31, 0.5, 0.8, 0.0, 1.0, -1.0]
)
def test_a_quantile_at_many_df_has_the_bits_of_each(q: float) -> None:
    rng = np.random.default_rng(7)
    df = np.concatenate(
        [rng.uniform(1, 60, 700), np.exp(rng.uniform(-3, 30, 700)), [np.nan, 0.0, -1.0, np.inf, 20.5, 1e7]]
    )
    many = student_t_isf(q, df)
    each = student_t_isf(np.full(df.size, q), df)
    assert np.array_equal(bits(many), bits(each))
    assert student_t_isf(q, df[:6].reshape(2, 3)).shape == (2, 3)  # type: ignore[union-attr]


class TestSums:
    @pytest.mark.parametrize("seed", range(4))
    def test_a_group_by_says_the_same(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 5, 60)
        rows = pl.DataFrame(
            {
                "group": np.repeat(np.arange(60) * 3, sizes),
                "name": [f"n{i % 7}" for i in range(sizes.sum())],
                "mask": rng.integers(0, 2**32, sizes.sum(), dtype=np.uint32),
                "flag": pl.Series(rng.choice([True, False, None], sizes.sum()).tolist(), dtype=pl.Boolean),
            }
        )
        flag, mask = pl.col("flag"), pl.when(pl.col("mask") % 3 > 0).then(pl.col("mask"))
        found = summed_up(
            rows,
            ["group"],
            kept=["group"],
            counts={"n": flag, "none": flag & ~flag},
            unions={"all": mask, "nothing": pl.lit(None, pl.UInt32)},
            names={"flagged": ("name", flag), "nobody": ("name", flag & ~flag)},
        )
        expected = rows.group_by("group", maintain_order=True).agg(
            flag.sum().cast(pl.UInt32).alias("n"),
            pl.lit(0, pl.UInt32).alias("none"),
            mask.bitwise_or().fill_null(0).alias("all"),
            pl.lit(0, pl.UInt32).alias("nothing"),
            pl.col("name").filter(flag).alias("flagged"),
            pl.col("name").head(0).alias("nobody"),
        )
        assert found.equals(expected)
        assert found.schema == expected.schema

    def test_equal_keys_apart_are_two_groups(self) -> None:
        rows = pl.DataFrame({"a": ["x", "x", "y", "x"], "b": [1, 2, 2, 2]})
        every = pl.col("b") > 0
        for by, counts in ((["a"], [2, 1, 1]), (["a", "b"], [1, 1, 1, 1]), (["b"], [1, 3])):
            found = summed_up(rows, by, kept=by, counts={"n": every}, unions={}, names={})
            assert found["n"].to_list() == counts


def sweep(builds: list[str], *, scale: float = 1.0) -> pl.DataFrame:
    """Two suites, a deciding and a guard KPI, twelve cases: each build's values are its own whoever else is there."""
    frames = []
    for build in builds:
        rng = np.random.default_rng(int.from_bytes(build.encode()[-4:], "big"))
        for suite in ("chess", "go"):
            for kpi in ("score", "cost"):
                values = scale * rng.normal(0.5 + 0.1 * (build > "c1"), 0.1, 12)
                frames.append(
                    pl.DataFrame(
                        {"suite": suite, "kpi": kpi, "case": range(12), "value": values}
                    ).with_columns(build=pl.lit(build))
                )
    return pl.concat(frames)


POLICY = {
    "gate": "benchmark",
    "name": "sweep",
    "baselines": ["a0", "a1"],
    "min_suite_wins": 1,
    "kpis": {"score": {"direction": "higher"}, "cost": {"direction": "lower"}},
    "suites": {
        "chess": {"decided_by": "score", "guards": {"cost": {"margin": 0.1}}},
        "go": {"decided_by": "score", "kpis": ["score", "cost"]},
    },
}


@pytest.mark.parametrize("test", ["welch", "paired"])
def test_candidates_judged_in_portions_have_the_rows_of_the_whole(test: str) -> None:
    names = [f"c{i}" for i in range(9)]
    policy = {**POLICY, "test": test}
    whole = fastgate.benchmark_gate(sweep(["a0", "a1", *names]), policy)
    for portion in (names[:2], names[2:]):
        part = fastgate.benchmark_gate(sweep(["a0", "a1", *portion]), policy)
        for name in ("cells", "suites", "baselines", "verdicts"):
            text = pl.col("candidate").cast(pl.String)
            expected = whole.tables[name].with_columns(text).filter(pl.col("candidate").is_in(portion))
            assert part.tables[name].with_columns(text).equals(expected), name


def test_values_near_the_largest_float_give_no_warning() -> None:
    result = fastgate.benchmark_gate(sweep(["a0", "a1", "c0"], scale=2e308), POLICY)
    assert result["c0"] == "block"


def test_columns_that_no_row_fills_are_columns_all_the_same(tmp_path: Any) -> None:
    result = fastgate.benchmark_gate(
        sweep(["a0", "a1", "c0", "c9"]),
        {
            **POLICY,
            "suites": ["chess", "go"],
            "kpis": {"score": {"direction": "higher"}},
            "unlisted": "ignore",
        },
    )
    cells = result.cells
    assert cells["margin"].null_count() == cells["margin_pvalue"].null_count() == cells.height
    assert cells["n_missing_candidate"].to_list() == [0] * cells.height
    assert cells["reasons"].to_list() == [[]] * cells.height
    for place in ("result.json", "folder/"):
        result.save(str(tmp_path / place) + ("/" if place.endswith("/") else ""))
        assert fastgate.load(tmp_path / place).cells.equals(cells)


def test_names_of_the_samples_that_the_policy_does_not_have_are_no_candidates_cells() -> None:
    samples = read_samples(sweep(["a0", "a1", "c0", "c9"]))
    only = fastgate.benchmark_gate(samples, POLICY, candidates=["c9"])
    both = fastgate.benchmark_gate(samples, POLICY, candidates=["c9", "c0"])
    assert only.cells["delta"].equals(both.cells["delta"].head(only.cells.height))
