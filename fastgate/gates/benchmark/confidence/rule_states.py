"""The rule as tables over the finitely many states that it tells apart, for judging without frames.

The tables are what `fastgate.gates.benchmark.judgement` itself says of one example of each state: nothing of the rule
is stated here a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates import reasons
from fastgate.gates.benchmark.comparisons import rule_table
from fastgate.gates.benchmark.judgement import (
    baseline_verdicts,
    candidate_verdicts,
    suite_outcomes,
    with_outcomes,
)
from fastgate.gates.verdict import OUTCOMES, VERDICTS, Guard, Outcome, Role, Status, Verdict
from fastgate.kernels import drawing_records as states

if TYPE_CHECKING:
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["FAULTY", "RuleTables", "Tally", "rule_tables", "tally", "verdicts_of"]

Flags = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]

# What the KPIs of a suite add up to, as the bits of a byte.
_WON: Final = 1
_NOT_WON: Final = 2
_LOST: Final = 4
_UNDEFINED: Final = 8
_GUARD_WORSE: Final = 16
_GUARD_UNDEFINED: Final = 32
_GUARD_NOT_SHOWN: Final = 64
_FAULT: Final = 128
# An outcome's place in `OUTCOMES`, and whether the data of the suite are at fault.
FAULTY: Final = 4

_OF_OUTCOME: Final = {
    "win": _WON,
    "loss": _LOST | _NOT_WON,
    "tie": _NOT_WON,
    "undefined": _UNDEFINED | _NOT_WON,
}
_OF_GUARD: Final = {
    "holds": 0,
    "worse": _GUARD_WORSE,
    "not_shown": _GUARD_NOT_SHOWN,
    "undefined": _GUARD_UNDEFINED,
}
_ANY_FAULT: Final = reasons.mask_of(reasons.FAULTS)
_A_FAULT: Final = reasons.bit(reasons.FAULTS[0])
_BASELINE_VERDICTS: Final = ("pass", "review", "block")
_MOST_LOST: Final = 2


class RuleTables(NamedTuple):
    """The rule over its states."""

    marks: list[Flags]
    """Per suite, (n_kpis, 256), of the KPIs that count: what each state of a comparison adds to the suite."""
    outcome_of: list[Flags]
    """Per suite, (256,): the outcome of what was added, with `FAULTY`."""
    baseline: Flags
    """(2, 2, 3): the place in `VERDICTS`, by wins enough, data at fault, and suites lost: 0, 1, 2 or more."""
    candidate: Flags
    """(3, 3, 2): the same of a candidate, by its worst baseline, distinct suites lost, and no previous result."""


class Tally(NamedTuple):
    """What a candidate's suites add up to in each replicate."""

    wins: Counts
    """(n_candidates, n_baselines, n_replicates)"""
    faulty: npt.NDArray[np.bool_]
    """Of the same shape: whether data are at fault."""
    lost: Counts
    """Of the same shape: suites that the previous release won and that are not won."""
    distinct: Counts
    """(n_candidates, n_replicates): these suites, each once, against whichever baselines."""


def rule_tables(rules: BenchmarkRules) -> RuleTables:
    """The tables of a policy as applied; the KPIs of a suite are those that count, in the policy's order."""
    table = rule_table(rules).filter(pl.col("role") != "shown")
    marks = _marks(table, rules)
    rows = table["suite"].cast(pl.String).to_numpy()
    kinds = {suite.decided_by == "any": name for name, suite in rules.suites.items()}
    outcome_of = {kind: _outcome_of(name, rules) for kind, name in kinds.items()}
    return RuleTables(
        [marks[rows == name] for name in rules.suites],
        [outcome_of[suite.decided_by == "any"] for suite in rules.suites.values()],
        _baseline_table(rules),
        _candidate_table(),
    )


def _marks(table: pl.DataFrame, rules: BenchmarkRules) -> Flags:
    """What each state of each KPI adds to its suite."""
    byte = np.tile(np.arange(states.STATES, dtype=np.int64), table.height)
    kpi = np.repeat(np.arange(table.height), states.STATES)
    kind = byte & states.KIND
    direction = np.where(byte & states.WINNING, 1.0, np.where(byte & states.LOSING, -1.0, 0.0))
    margin = table["margin"].fill_null(np.nan).to_numpy()[kpi]
    within = (byte & states.WITHIN) != 0
    # Worse by more or by less than the margin.
    distance = np.where(np.isnan(margin), 1.0, margin) * np.where(within, 0.5, 2.0)
    statuses = np.array(["ok", "zero_var_equal", "zero_var_diff", "precision_loss", "too_few"])

    def pvalue(flag: int) -> npt.NDArray[np.float64]:
        return np.where(byte & flag, 0.0, 1.0)

    cells = pl.DataFrame(
        {
            "role": table["role"].gather(kpi).cast(Role),
            "not_worse": table["not_worse"].gather(kpi),
            "margin": table["margin"].gather(kpi),
            "status": pl.Series(statuses[np.minimum(kind, states.FAULT)]).cast(Status),
            "faults": np.where(kind == states.FAULT, _A_FAULT, 0).astype(np.uint32),
            "_gain": direction * distance,
            "_pvalue_win": pvalue(states.SIGNIFICANT),
            "_pvalue_loss": pvalue(states.SIGNIFICANT),
            "_pvalue_worse": pvalue(states.WORSE),
            "margin_pvalue": pvalue(states.WITHIN),
            "welch_pvalue": 1.0,
            "paired_pvalue": 1.0,
        }
    )
    judged = with_outcomes(cells, rules)
    decides = (judged["role"] == "decides").to_numpy()
    of_outcome = _codes(judged["outcome"], _OF_OUTCOME)
    of_guard = _codes(judged["guard"].fill_null("holds"), _OF_GUARD)
    fault = (judged["_mask"].to_numpy() & _ANY_FAULT) != 0
    marks = np.where(decides, of_outcome, of_guard) | np.where(fault, _FAULT, 0)
    return marks.astype(np.uint8).reshape(table.height, states.STATES)


def _codes(column: pl.Series, codes: dict[str, int]) -> npt.NDArray[np.int64]:
    return column.cast(pl.String).replace_strict(codes, return_dtype=pl.Int64).to_numpy()


def _outcome_of(suite: str, rules: BenchmarkRules) -> Flags:
    """A suite's outcome for every sum of marks, by a suite with one KPI for each mark."""
    examples: Any = {"_suite_row": [], "role": [], "outcome": [], "guard": []}
    for marks in range(_FAULT):
        if not marks & (_WON | _NOT_WON):
            continue  # no suite without a deciding KPI
        for name, bits in _OF_OUTCOME.items():
            if marks & bits == bits:
                _add(examples, marks, "decides", name, None)
        for name, bits in _OF_GUARD.items():
            if bits and marks & bits:
                _add(examples, marks, "guard", "tie", name)
    cells = pl.DataFrame(
        examples,
        schema={"_suite_row": pl.Int64, "role": Role, "outcome": Outcome, "guard": Guard},
    ).with_columns(
        pl.lit("").alias("candidate"),
        pl.lit("").alias("baseline"),
        pl.lit(suite, pl.Enum(list(rules.suites))).alias("suite"),
        pl.lit("").alias("kpi"),
        pl.lit(0, pl.UInt32).alias("_mask"),
        pl.lit(False).alias("tests_disagree"),
    )
    found = suite_outcomes(cells, rules)["outcome"].to_physical().to_numpy()
    outcome_of = np.full(states.STATES, OUTCOMES.index("undefined"), np.uint8)
    outcome_of[cells["_suite_row"].unique(maintain_order=True).to_numpy()] = found
    outcome_of[_FAULT:] = outcome_of[:_FAULT] | FAULTY
    return outcome_of


def _add(examples: Any, row: int, role: str, outcome: str, guard: str | None) -> None:
    for column, value in zip(examples, (row, role, outcome, guard), strict=True):
        examples[column].append(value)


def _baseline_table(rules: BenchmarkRules) -> Flags:
    required = rules.min_suite_wins
    rows: list[tuple[str, str, str, str, bool, int]] = []
    cases = list(product((False, True), (False, True), range(_MOST_LOST + 1)))
    for number, (enough, faulty, lost) in enumerate(cases):
        wins = required if enough else required - 1
        suites = [("win", False, 0)] * wins + [("tie", True, 0)] * lost + [("tie", False, _A_FAULT * faulty)]
        rows += [
            (str(number), "", f"{place}", outcome, is_lost, mask)
            for place, (outcome, is_lost, mask) in enumerate(suites)
        ]
    schema: dict[str, Any] = {
        "candidate": pl.String,
        "baseline": pl.String,
        "suite": pl.String,
        "outcome": Outcome,
        "lost": pl.Boolean,
        "_mask": pl.UInt32,
    }
    found = baseline_verdicts(pl.DataFrame(rows, schema=schema, orient="row"), rules)["verdict"]
    return _places(found).reshape(2, 2, _MOST_LOST + 1)


def _candidate_table() -> Flags:
    rows: list[tuple[str, str, str, int, int, list[str], int]] = []
    cases = list(product(_BASELINE_VERDICTS, range(_MOST_LOST + 1), (False, True)))
    unmatched = []
    for number, (worst, lost, unknown) in enumerate(cases):
        name = str(number)
        unmatched += [name] if unknown else []
        rows.append((name, "", worst, 1, 1, [f"s{place}" for place in range(lost)], 0))
        rows.append((name, "other", "pass", 1, 1, [], 0))
    schema: dict[str, Any] = {
        "candidate": pl.String,
        "baseline": pl.String,
        "verdict": Verdict,
        "wins": pl.UInt32,
        "required": pl.UInt32,
        "lost_suites": pl.List(pl.String),
        "_mask": pl.UInt32,
    }
    found = candidate_verdicts(pl.DataFrame(rows, schema=schema, orient="row"), unmatched)["verdict"]
    return _places(found).reshape(len(_BASELINE_VERDICTS), _MOST_LOST + 1, 2)


def _places(verdicts: pl.Series) -> Flags:
    return verdicts.to_physical().to_numpy().astype(np.uint8)


def tally(
    outcomes: Iterable[Flags], won_before: npt.NDArray[np.bool_] | None, shape: tuple[int, int, int]
) -> Tally:
    """What the suites of each candidate add up to.

    Parameters
    ----------
    outcomes : iterable of ndarray of uint8
        Per suite, of this shape: its outcome in each replicate, with `FAULTY`.
    won_before : ndarray of bool, shape (n_suites, n_candidates, n_baselines) or (…, n_replicates), optional
        Whether the previous release won each suite.
    shape : tuple of int
        Candidates, baselines, replicates.
    """
    counted = Tally(
        np.zeros(shape, np.int32),
        np.zeros(shape, np.bool_),
        np.zeros(shape, np.int32),
        np.zeros((shape[0], shape[2]), np.int32),
    )
    for suite, found in enumerate(outcomes):
        found = found.reshape(shape)
        won = (found & (FAULTY - 1)) == OUTCOMES.index("win")
        counted.wins[...] += won
        counted.faulty[...] |= (found & FAULTY) != 0
        if won_before is not None:
            before = won_before[suite]
            lost = (before if before.ndim == len(shape) else before[:, :, None]) & ~won
            counted.lost[...] += lost
            counted.distinct[...] += lost.any(axis=1)
    return counted


def verdicts_of(counted: Tally, tables: RuleTables, required: int, unmatched: npt.NDArray[np.bool_]) -> Flags:
    """The verdict of each candidate in each replicate, as its place in `VERDICTS`; (n_candidates, n_replicates).

    Parameters
    ----------
    counted : Tally
    tables : RuleTables
    required : int
        Suites to win against each baseline.
    unmatched : ndarray of bool, shape (n_candidates,)
        The candidates that the previous result does not hold.
    """
    most = np.int32(_MOST_LOST)
    of_baselines = tables.baseline[
        (counted.wins >= required).astype(np.intp),
        counted.faulty.astype(np.intp),
        np.minimum(counted.lost, most),
    ]
    places = np.full(len(VERDICTS), len(_BASELINE_VERDICTS), np.intp)
    for place, verdict in enumerate(_BASELINE_VERDICTS):
        places[VERDICTS.index(verdict)] = place
    worst = places[of_baselines].max(axis=1)
    verdicts: Flags = tables.candidate[
        worst, np.minimum(counted.distinct, most), unmatched.astype(np.intp)[:, None]
    ]
    return verdicts
