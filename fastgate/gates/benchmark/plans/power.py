"""The probability that a suite is won, by the policy's test, as a function of its cases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["SuitePowers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SuitePowers:
    """The probabilities that suites are won, as functions of the number of cases.

    Parameters
    ----------
    rules : BenchmarkRules
        The policy as applied.
    table : DataFrame
        From `fastgate.gates.benchmark.plans.design.design`.
    level : float
        The alpha of a deciding comparison.
    """

    rules: BenchmarkRules
    table: pl.DataFrame
    level: float

    @cached_property
    def suite(self) -> Integers:
        """The number of each row's suite."""
        numbers = {name: number for number, name in enumerate(self.rules.suites)}
        return np.array([numbers[name] for name in self.table["suite"]])

    @cached_property
    def baseline(self) -> Integers:
        """The number of each row's baseline."""
        return np.array([self.rules.baselines.index(name) for name in self.table["baseline"]])

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of suites and baselines."""
        return len(self.rules.suites), len(self.rules.baselines)

    @cached_property
    def planned(self) -> Flags:
        """Which rows have all figures."""
        return self.table["reason"].is_null().to_numpy()

    @cached_property
    def decides(self) -> Flags:
        """Which rows decide; the others are guards."""
        return (self.table["role"] == "decides").to_numpy()

    @cached_property
    def least(self) -> Integers:
        """The cases that the policy asks for in each row."""
        return self.table["min_cases"].to_numpy()

    def number(self, name: str) -> Floats:
        """A column of the table, NaN where it is null."""
        return self.table[name].fill_null(np.nan).to_numpy()

    def _of(self, rows: Flags, effect: Floats, n: Integers, alpha: float, sides: str) -> Floats:
        """The power of one test of some rows; NaN in the others."""
        from fastgate.stats.power import ttest_power

        found = np.full(rows.size, np.nan)
        if rows.any():
            found[rows] = ttest_power(
                effect[rows],
                self.number("sd_candidate")[rows],
                n[rows],
                baseline_sd=self.number("sd_baseline")[rows],
                correlation=self.number("correlation")[rows],
                test=self.rules.test,
                alpha=alpha,
                alternative=sides,
            )
        return found

    def rows(self, n: Integers) -> Floats:
        """The power of every comparison at n cases, one number a row: to win, or of a guard to hold."""
        n = np.maximum(n, self.least)
        win = self._of(
            self.planned & self.decides, self.number("effect"), n, self.level, self.rules.alternative
        )
        guards, margin = self.planned & ~self.decides, self.number("margin")
        not_worse = self.table["not_worse"].to_numpy()
        within = self._of(guards & ~np.isnan(margin), margin, n, self.rules.alpha, "one-sided")
        # A candidate that is worse is the mirror image of one that is better.
        zero = np.zeros(n.size)
        worse = self._of(guards & not_worse, zero, n, self.rules.guard_alpha, "one-sided")
        holds = np.where(np.isnan(margin), 1.0, within) * np.where(not_worse, 1.0 - worse, 1.0)
        return np.where(self.decides, win, np.where(guards, holds, np.nan))

    def suites(self, n: Integers | int) -> Floats:
        """The probability that each suite is won against each baseline."""
        matrix = np.broadcast_to(np.asarray(n, np.int64), self.shape)
        power = self.rows(matrix[self.suite, self.baseline])
        return self.combined(power)

    def combined(self, power: Floats) -> Floats:
        """From the power of each row to that of each suite; NaN where one of its rows has none."""
        place = (self.suite, self.baseline)
        every, best, guards = np.ones(self.shape), np.zeros(self.shape), np.ones(self.shape)
        np.multiply.at(every, place, np.where(self.decides, power, 1.0))
        np.maximum.at(best, place, np.where(self.decides, power, 0.0))
        np.multiply.at(guards, place, np.where(self.decides, 1.0, power))
        any_of = np.array([suite.decided_by == "any" for suite in self.rules.suites.values()])[:, None]
        return np.where(np.isnan(every), np.nan, np.where(any_of, best, every) * guards)

    def shares(self) -> Floats:
        """The share of the noise that is the candidate's own, of each suite and baseline: the smallest of its KPIs."""
        ours, theirs, r = (self.number(name) for name in ("sd_candidate", "sd_baseline", "correlation"))
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (ours * ours - r * ours * theirs) / (
                (ours - theirs) ** 2 + 2.0 * (1.0 - r) * ours * theirs
            )
        smallest = np.full(self.shape, 1.0)
        share = np.where(np.isnan(share), 0.0, np.clip(share, 0.0, 1.0))
        np.minimum.at(smallest, (self.suite, self.baseline), np.where(self.decides, share, 1.0))
        return smallest

    def cases(self, wanted: float) -> Integers:
        """The least cases of each suite against each baseline, 0 where there are none."""
        from fastgate.stats.planning import LARGEST

        reachable = self.suites(LARGEST) >= wanted
        low, high = np.ones(self.shape, np.int64), np.full(self.shape, 2, np.int64)
        while True:
            short = reachable & ~(self.suites(high) >= wanted)
            if not short.any():
                break
            low, high = np.where(short, high, low), np.where(short, 2 * high, high)
        while (high - low > 1).any():
            middle = (low + high) // 2
            enough = self.suites(middle) >= wanted
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        least = np.array([suite.min_cases for suite in self.rules.suites.values()])[:, None]
        return np.where(reachable, np.maximum(high, least), 0)
