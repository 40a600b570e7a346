"""The faults of the data case by case: which case is missing, repeated, without a value, or infinite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fastgate.gates.benchmark.result import TABLES

if TYPE_CHECKING:
    from fastgate.frames import Samples

__all__ = ["case_faults"]


def case_faults(samples: Samples, cells: pl.DataFrame) -> pl.DataFrame:
    """Every case that made a comparison undefined.

    Parameters
    ----------
    samples : Samples
        The measurements.
    cells : DataFrame
        The gate's comparisons with their reasons.

    Returns
    -------
    DataFrame
        build, suite, kpi, case, fault, against, sorted. The fault is ``duplicate_case``, ``missing_value``,
        ``nonfinite``, or ``missing_case``: the build has no such case, but the one it is compared with (`against`) has.
        Where cases have no ids the case is the value's position in its list, from 1.
    """
    if not samples.parts:
        return pl.DataFrame(schema=TABLES["faults"])
    reason = pl.col("reasons").list
    broken = cells.filter(
        reason.set_intersection(
            ["duplicate_case", "unpaired_cases", "missing_values", "nonfinite"]
        ).list.len()
        > 0
    )
    rows = sorted(set(_rows(samples, broken))) if broken.height else []
    return pl.DataFrame(rows, schema=TABLES["faults"], orient="row")


def _rows(samples: Samples, broken: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    numbers = _cell_numbers(samples)
    seen: set[int] = set()
    differing: dict[tuple[int, int], tuple[list[str], list[str]]] = {}
    columns = ("candidate", "baseline", "suite", "kpi", "reasons")
    for candidate, baseline, suite, kpi, codes in broken.select(columns).iter_rows():
        if samples.shape == "pairs":
            pair = numbers[candidate, baseline, suite, kpi]
        else:
            pair = numbers[candidate, suite, kpi], numbers[baseline, suite, kpi]
        for build, cell in zip((candidate, baseline), pair, strict=True):
            if cell not in seen:
                seen.add(cell)
                for case, fault in _of_cell(samples, cell):
                    yield build, suite, kpi, case, fault, ""
        if "unpaired_cases" in codes and samples.cases is not None:
            lacking = _lacking(samples, pair[0], pair[1], differing)
            for build, other, cases in ((candidate, baseline, lacking[0]), (baseline, candidate, lacking[1])):
                for case in cases:
                    yield build, suite, kpi, case, "missing_case", other


def _cell_numbers(samples: Samples) -> dict[Any, Any]:
    if samples.shape == "pairs":
        keys = samples.index.select(
            pl.col("candidate", "baseline", "suite", "kpi").cast(pl.String)
        ).iter_rows()
        cells = samples.index.select("candidate_cell", "baseline_cell").iter_rows()
        return dict(zip(keys, cells, strict=True))
    keys = samples.index.select(pl.col("build", "suite", "kpi").cast(pl.String)).iter_rows()
    return {key: cell for cell, key in enumerate(keys)}


def _of_cell(samples: Samples, cell: int) -> Iterator[tuple[str, str]]:
    """The cases of one cell that are repeated, without a value, or infinite."""
    part, row = divmod(cell, samples.index.height)
    values, codes = samples.parts[part][row], samples.cell_cases(cell)

    def names(positions: Any) -> Sequence[str]:
        if samples.cases is None:
            return [str(position + 1) for position in positions]
        return samples.case_names.gather(codes[positions]).to_list() if len(positions) else []

    for fault, flags in (
        ("missing_value", np.isnan(values)),
        ("nonfinite", np.isinf(values)),
        ("duplicate_case", np.append(codes[1:] == codes[:-1], False) if codes.size else np.zeros(0, bool)),
    ):
        for case in names(np.flatnonzero(flags)):
            yield case, fault


def _lacking(
    samples: Samples, candidate: int, baseline: int, known: dict[tuple[int, int], tuple[list[str], list[str]]]
) -> tuple[list[str], list[str]]:
    """The cases that the candidate lacks and those that the baseline lacks; equal case sets are compared once."""
    fingerprints = samples.index["case_fingerprint"]
    rows = candidate % samples.index.height, baseline % samples.index.height
    key = (fingerprints[rows[0]], fingerprints[rows[1]])
    if key not in known:
        first, second = samples.cell_cases(candidate), samples.cell_cases(baseline)
        gone = np.setdiff1d(second, first), np.setdiff1d(first, second)
        known[key] = tuple(  # type: ignore[assignment]
            samples.case_names.gather(codes).to_list() if codes.size else [] for codes in gone
        )
    return known[key]
