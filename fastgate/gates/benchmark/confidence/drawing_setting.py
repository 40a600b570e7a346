"""What drawings of the cases have in common: the comparisons of each suite, the rule's tables, the critical values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates.benchmark.cell_grids import cell_numbers
from fastgate.gates.benchmark.comparisons import compare, rule_table
from fastgate.gates.benchmark.confidence.case_sets import Group, case_sets, groups
from fastgate.gates.benchmark.confidence.rule_states import RuleTables, rule_tables
from fastgate.kernels.drawing_records import Levels, RuleRows

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["Setting", "SuitePlan", "frozen", "setting"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]
T = TypeVar("T", bound=tuple[Any, ...])

# Critical values are kept for so many degrees of freedom; beyond, they are those of infinitely many within 1e-3.
_MOST_DF: Final = 2048


@dataclass(frozen=True, eq=False)
class SuitePlan:
    """A suite with its comparisons: of the KPIs that decide or guard it, in the policy's order.

    Attributes
    ----------
    name : str
    kpis : RuleRows
    candidate_cell, baseline_cell : ndarray of int64, shape (n_candidates, n_baselines, n_kpis)
    faulty : ndarray of uint8
        Of the same shape: whether the data of a comparison are at fault, as the gate found them.
    groups : list of Group
    """

    name: str
    kpis: RuleRows
    candidate_cell: Integers
    baseline_cell: Integers
    faulty: Flags
    groups: list[Group]


@dataclass(frozen=True, eq=False)
class Setting:
    """All that does not change from replicate to replicate.

    Attributes
    ----------
    samples : Samples
    rules : BenchmarkRules
    candidates : list of str
    tables : RuleTables
    suites : list of SuitePlan
    levels : Levels
    values, offsets, cases : ndarray
        Of all cells; `cases` is empty where they have no ids.
    """

    samples: Samples
    rules: BenchmarkRules
    candidates: list[str]
    tables: RuleTables
    suites: list[SuitePlan]
    levels: Levels
    values: Floats
    offsets: Integers
    cases: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """Candidates and baselines."""
        return len(self.candidates), len(self.rules.baselines)


def setting(samples: Samples, rules: BenchmarkRules, candidates: Sequence[str]) -> Setting:
    """What replicates have in common.

    Parameters
    ----------
    samples : Samples
        With values.
    rules : BenchmarkRules
        Of a t test.
    candidates : sequence of str
    """
    cells = samples.values
    assert cells is not None
    table = rule_table(rules)
    shape = (len(candidates), len(rules.baselines), table.height)
    both = cell_numbers(samples, table, candidates, rules.baselines)
    candidate_cell, baseline_cell = (numbers.reshape(shape) for numbers in both)
    faults = compare(samples, rules, candidates)["faults"].to_numpy().reshape(shape) != 0
    counts = (table["role"] != "shown").to_numpy()
    suite_of = table["suite"].cast(pl.String).to_numpy()
    suites = []
    sets = case_sets(samples)
    for name in rules.suites:
        mine = np.flatnonzero(counts & (suite_of == name))
        own = (
            np.ascontiguousarray(candidate_cell[:, :, mine]),
            np.ascontiguousarray(baseline_cell[:, :, mine]),
        )
        suites.append(
            SuitePlan(
                name,
                _rule_rows(table[mine.tolist()]),
                *own,
                np.ascontiguousarray(faults[:, :, mine]).astype(np.uint8),
                list(groups(samples, sets, name, list(candidates), rules.baselines, *own)),
            )
        )
    cases = np.empty(0, np.int64) if samples.cases is None else np.tile(samples.cases, len(samples.parts))
    return Setting(
        samples,
        rules,
        list(candidates),
        rule_tables(rules),
        suites,
        _levels(rules, suites),
        cells.values,
        cells.offsets,
        cases,
    )


def _rule_rows(table: pl.DataFrame) -> RuleRows:
    return frozen(
        RuleRows(
            np.where(table["direction"].to_physical().to_numpy() == 0, 1.0, -1.0),
            (table["role"] == "decides").to_numpy().astype(np.uint8),
            table["not_worse"].to_numpy().astype(np.uint8),
            table["margin"].fill_null(np.nan).to_numpy().copy(),
        )
    )


def frozen(arrays: T, only: slice = slice(None)) -> T:
    """The arrays, or some of them, as kernels that do not write into them take them."""
    for array in arrays[only]:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return arrays


def _levels(rules: BenchmarkRules, suites: list[SuitePlan]) -> Levels:
    from fastgate.stats.distributions import student_t_isf

    most = max(
        (stratum.n_cases for plan in suites for group in plan.groups for stratum in group.strata), default=0
    )
    df = np.concatenate([[np.inf], np.arange(1.0, min(2 * most, _MOST_DF) + 1)])

    def squares(q: float) -> Floats:
        critical: Any = student_t_isf(q, df)
        return np.asarray(np.square(critical), np.float64)

    two_sided = rules.alternative == "two-sided"
    return frozen(
        Levels(
            rules.alpha,
            rules.guard_alpha,
            two_sided,
            squares(rules.alpha / 2 if two_sided else rules.alpha),
            squares(rules.guard_alpha),
            squares(rules.alpha),
        )
    )
