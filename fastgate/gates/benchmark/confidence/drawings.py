"""Drawings: the outcomes of every suite on cases drawn anew, many times, without a frame on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from fastgate import threads
from fastgate.gates.benchmark.confidence.case_sets import Group, Stratum
from fastgate.gates.benchmark.confidence.drawing_setting import Setting, SuitePlan, frozen
from fastgate.kernels.drawing_records import SIGNIFICANT, DrawnRows, Sides, Statistics

__all__ = [
    "Block",
    "Draw",
    "aligned",
    "chunks",
    "drawn_states",
    "outcomes",
]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.uint8]

Draw = Callable[[Stratum, int, int], Floats]
"""From a stratum and the first and number of replicates to weights, of shape (n_cases, n_replicates)."""

# Replicates done at once, and bytes that they may take: a block of rows should stay in the second cache.
_CHUNK: Final = 256
_CHUNK_BYTES: Final = 2**27
_BLOCK_BYTES: Final = 2**23
# P-values that are sorted at once.
_SORTED: Final = 2**16


class Block(NamedTuple):
    """Some members of a group: what a kernel of states is called for."""

    plan: SuitePlan
    group: Group
    part: slice
    """Of the group's members."""
    first: int
    n_replicates: int
    """From `first`, so many."""


States = Callable[[Setting, Block, bool], tuple[Flags, Statistics]]
"""The states of a block's comparisons, (n_members * n_baselines * n_kpis, n_replicates), and their t if asked for."""


def chunks(at: Setting, n_replicates: int) -> Iterator[tuple[int, int]]:
    """The first and the number of the replicates that are done at once."""
    n_candidates, n_baselines = at.shape
    kpis = sum(plan.kpis.sign.size for plan in at.suites)
    # Corrections need the p-values of a family together.
    each = 16 + (kpis * 60 if at.rules.correction.method != "none" else 0)
    most = max(1, min(_CHUNK, _CHUNK_BYTES // max(n_candidates * n_baselines * each, 1)))
    for first in range(0, n_replicates, most):
        yield first, min(most, n_replicates - first)


def outcomes(at: Setting, states_of: States, first: int, count: int) -> Iterator[Flags]:
    """The outcome of each suite in some replicates.

    Parameters
    ----------
    at : Setting
    states_of : callable
    first, count : int
        The replicates.

    Yields
    ------
    ndarray of uint8, shape (n_candidates, n_baselines, count)
        Per suite: places in `OUTCOMES`, with `FAULTY`.
    """
    if at.rules.correction.method == "none":
        for plan, marks, outcome_of in zip(at.suites, at.tables.marks, at.tables.outcome_of, strict=True):
            out = np.empty((*at.shape, count), np.uint8)
            for block in _blocks(at, plan, first, count):
                states, _ = states_of(at, block, False)
                members = block.group.members[block.part]
                out[members] = _reduced(states, marks, outcome_of, (members.size, at.shape[1], count))
            yield out
        return
    everything = [_suite_states(at, plan, states_of, first, count) for plan in at.suites]
    _correct(at, everything)
    for (states, _), marks, outcome_of in zip(everything, at.tables.marks, at.tables.outcome_of, strict=True):
        yield _reduced(states, marks, outcome_of, (*at.shape, count))


def _blocks(at: Setting, plan: SuitePlan, first: int, count: int) -> Iterator[Block]:
    kpis = plan.kpis.sign.size
    n_baselines = at.shape[1]
    for group in plan.groups:
        rows = kpis * (n_baselines if at.samples.shape == "pairs" else 1)
        each = count * (24 * rows + n_baselines * kpis)
        if len(group.strata) > 1:
            each += 8 * count * max(stratum.n_cases for stratum in group.strata)
        most = max(1, _BLOCK_BYTES // max(each, 1))
        for start in range(0, group.members.size, most):
            yield Block(plan, group, slice(start, min(start + most, group.members.size)), first, count)


def _reduced(states: Flags, marks: Flags, outcome_of: Flags, shape: tuple[int, int, int]) -> Flags:
    from fastgate.kernels.drawn_suites import suite_outcomes

    out = np.empty((shape[0] * shape[1], shape[2]), np.uint8)
    threads.run(
        suite_outcomes, out.shape[0], states, marks, outcome_of, out, work=float(marks.shape[0] * shape[2])
    )
    return out.reshape(shape)


def _suite_states(
    at: Setting, plan: SuitePlan, states_of: States, first: int, count: int
) -> tuple[Flags, Statistics]:
    """The states and tests of all candidates in one suite."""
    size = at.shape[1] * plan.kpis.sign.size
    states = np.empty((at.shape[0], size, count), np.uint8)
    tests = Statistics(np.empty(states.shape), np.empty(states.shape))
    for block in _blocks(at, plan, first, count):
        members = block.group.members[block.part]
        found, own = states_of(at, block, True)
        states[members] = found.reshape(members.size, size, count)
        for whole, part in zip(tests, own, strict=True):
            whole[members] = part.reshape(members.size, size, count)
    flat = (-1, count)
    return states.reshape(flat), Statistics(*(array.reshape(flat) for array in tests))


def _correct(at: Setting, suites: list[tuple[Flags, Statistics]]) -> None:
    """Let the adjusted p-values of the deciding comparisons say what is significant."""
    from fastgate.stats.distributions import student_t_sf, student_t_two_sided
    from fastgate.stats.multiplicity import adjust_arrays

    n_candidates, n_baselines = at.shape
    count = suites[0][0].shape[1]
    rules = at.rules

    def deciding(plan: SuitePlan, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        shaped = array.reshape(n_candidates, n_baselines, plan.kpis.sign.size, count)
        return shaped[:, :, plan.kpis.decides == 1]

    def family(part: int) -> Floats:
        """(candidate, replicate, comparison), or with the sweep for a family (replicate, candidate, comparison)."""
        found = [
            deciding(plan, tests[part]).reshape(n_candidates, -1, count)
            for plan, (_, tests) in zip(at.suites, suites, strict=True)
        ]
        axes = (2, 0, 1) if rules.correction.family == "sweep" else (0, 2, 1)
        return np.ascontiguousarray(np.concatenate(found, axis=1).transpose(axes))

    t, df = family(0), family(1)
    n_families = count if rules.correction.family == "sweep" else n_candidates * count
    size = t.size // n_families

    def is_shown(t: Floats, df: Floats) -> npt.NDArray[np.bool_]:
        offsets = np.arange(t.size // size + 1, dtype=np.int64) * size

        def below(pvalue: Any) -> Any:
            return adjust_arrays(pvalue, offsets, rules.correction.method, "count") < rules.alpha

        if rules.alternative == "two-sided":
            return np.asarray(below(student_t_two_sided(t, df)) & (t != 0))
        better, worse = below(student_t_sf(t, df)), below(student_t_sf(-t, df))
        return np.asarray((better & (t > 0)) | (worse & (t < 0)))

    # Families are sorted within the cache: 25 million p-values at once take twice as long.
    flat_t, flat_df, shown = t.ravel(), df.ravel(), np.empty(t.size, np.bool_)
    step = max(1, _SORTED // size) * size
    for start in range(0, t.size, step):
        part = slice(start, start + step)
        shown[part] = is_shown(flat_t[part], flat_df[part])
    back = (1, 2, 0) if rules.correction.family == "sweep" else (0, 2, 1)
    significant = shown.reshape(t.shape).transpose(back)
    done = 0
    for plan, (states, _) in zip(at.suites, suites, strict=True):
        decides = np.flatnonzero(plan.kpis.decides == 1)
        size = n_baselines * decides.size
        mine = significant[:, done : done + size].reshape(n_candidates, n_baselines, decides.size, count)
        done += size
        shaped = states.reshape(n_candidates, n_baselines, -1, count)
        shaped[:, :, decides] = (shaped[:, :, decides] & np.uint8(255 - SIGNIFICANT)) | (
            mine * np.uint8(SIGNIFICANT)
        )


def aligned(at: Setting, group: Group, cells: Integers) -> Floats:
    """The values of some cells over the cases of their group: (n_cells, n_cases), NaN where there is none."""
    from fastgate.kernels.drawn_moments import align_rows

    rows = np.empty((cells.size, max(stratum.n_cases for stratum in group.strata)))
    flat = np.ascontiguousarray(cells.ravel())
    threads.run(
        align_rows,
        flat.size,
        at.values,
        at.offsets,
        at.cases,
        flat,
        group.universe,
        rows,
        work=2.0 * rows.shape[1],
    )
    return rows


def drawn_states(draw: Draw) -> States:
    """The states of comparisons on cases drawn anew, by the policy's test."""
    baselines: dict[tuple[int, int, int], DrawnRows] = {}

    def states_of(at: Setting, block: Block, with_tests: bool) -> tuple[Flags, Statistics]:
        from fastgate.kernels.drawn_states import paired_states, welch_states

        plan, group = block.plan, block.group
        members = group.members[block.part]
        n_baselines, kpis = at.shape[1], plan.kpis.sign.size
        pairs = at.samples.shape == "pairs"
        paired = at.rules.pairs_cases
        of_members = group.of_members[block.part]
        if pairs:
            candidate_cell, of_rows = plan.candidate_cell[members], np.repeat(of_members, n_baselines * kpis)
            against = _rows(at, block, draw, plan.baseline_cell[members], of_rows, not paired)
        else:
            candidate_cell, of_rows = plan.candidate_cell[members, 0], np.repeat(of_members, kpis)
            key = (id(group), block.first, block.n_replicates)
            if key not in baselines:
                baselines.clear()
                of_baselines = np.repeat(group.of_baselines, kpis)
                baselines[key] = _rows(at, block, draw, plan.baseline_cell[0], of_baselines, not paired)
            against = baselines[key]
        mine = _rows(at, block, draw, candidate_cell, of_rows, not paired)
        n = members.size * n_baselines * kpis
        number = np.arange(n)
        kpi = number % kpis
        sides = frozen(
            Sides(
                number if pairs else number // (n_baselines * kpis) * kpis + kpi,
                number if pairs else number % (n_baselines * kpis),
                kpi,
                plan.faulty[members].ravel(),
            )
        )
        states = np.empty((n, block.n_replicates), np.uint8)
        tests = Statistics(*(np.empty(states.shape if with_tests else (0, 0)) for _ in range(2)))
        kernel, cost = (paired_states, 1.0 + mine.values.shape[1] / 9) if paired else (welch_states, 6.0)
        threads.run(
            kernel,
            n,
            mine,
            against,
            sides,
            plan.kpis,
            at.levels,
            states,
            tests,
            work=cost * block.n_replicates,
        )
        return states, tests

    return states_of


def _rows(
    at: Setting, block: Block, draw: Draw, cells: Integers, stratum: Integers, with_moments: bool
) -> DrawnRows:
    """Rows with their weights, and their moments in each replicate unless only pairs will be compared."""
    from fastgate.kernels.drawn_moments import drawn_moments

    group = block.group
    used, of_row = np.unique(stratum, return_inverse=True)
    n_cases = max(one.n_cases for one in group.strata)
    weights = np.zeros((used.size, n_cases, block.n_replicates))
    for place, number in enumerate(used):
        own = group.strata[number]
        weights[place, : own.n_cases] = draw(own, block.first, block.n_replicates)
    values = aligned(at, group, cells)
    n = values.shape[0]
    shape = (n, block.n_replicates) if with_moments else (0, 0)
    rows = DrawnRows(
        values,
        of_row.ravel().astype(np.int64),
        weights,
        *(np.empty(n) for _ in range(3)),
        *(np.empty(shape) for _ in range(3)),
    )
    frozen(rows, slice(3))
    if with_moments:
        threads.run(drawn_moments, n, rows, work=float(block.n_replicates * (2 + n_cases // 8)))
    return frozen(rows)
