"""What a gate returns: the verdicts, the tables behind them, and the evidence of how they came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

import polars as pl

from fastgate.gates import tables
from fastgate.gates.tables import SCHEMA_VERSION
from fastgate.gates.verdict import Direction, Engine, Guard, Outcome, Role, Status, Verdict, exit_code, worst

__all__ = ["LATER", "SCHEMA_VERSION", "TABLES", "BenchmarkResult"]

_CODES: Final = pl.List(pl.String)
_NUMBERS: Final = pl.Float64

# The columns of each table and their types; None is a name: of a candidate, baseline, suite or KPI.
TABLES: Final[dict[str, dict[str, Any]]] = {
    "verdicts": {
        "candidate": None,
        "verdict": Verdict,
        "baselines_beaten": pl.UInt32,
        "baselines": pl.UInt32,
        "fewest_wins": pl.UInt32,
        "required": pl.UInt32,
        "lost_suites": _CODES,
        "reasons": _CODES,
        "replicates": pl.UInt32,
        "share_pass": _NUMBERS,
        "share_review": _NUMBERS,
        "share_block": _NUMBERS,
    },
    "baselines": {
        "candidate": None,
        "baseline": None,
        "wins": pl.UInt32,
        "losses": pl.UInt32,
        "ties": pl.UInt32,
        "undefined": pl.UInt32,
        "required": pl.UInt32,
        "verdict": Verdict,
        "lost_suites": _CODES,
        "reasons": _CODES,
    },
    "suites": {
        "candidate": None,
        "baseline": None,
        "suite": None,
        "decided_by": pl.String,
        "outcome": Outcome,
        "won_before": pl.Boolean,
        "lost": pl.Boolean,
        "failed_guards": _CODES,
        "tests_disagree": pl.Boolean,
        "reasons": _CODES,
    },
    "cells": {
        "candidate": None,
        "baseline": None,
        "suite": None,
        "kpi": None,
        "direction": Direction,
        "role": Role,
        "outcome": Outcome,
        "guard": Guard,
        "status": Status,
        "reasons": _CODES,
        "n_candidate": pl.Int64,
        "n_baseline": pl.Int64,
        "n_missing_candidate": pl.Int64,
        "n_missing_baseline": pl.Int64,
        "mean_candidate": _NUMBERS,
        "mean_baseline": _NUMBERS,
        "measure": pl.String,
        "delta": _NUMBERS,
        "ci_low": _NUMBERS,
        "ci_high": _NUMBERS,
        "half_width": _NUMBERS,
        "confidence_level": _NUMBERS,
        "engine": Engine,
        "standard_error": _NUMBERS,
        "statistic": _NUMBERS,
        "df": _NUMBERS,
        "pvalue": _NUMBERS,
        "pvalue_adjusted": _NUMBERS,
        "welch_pvalue": _NUMBERS,
        "paired_pvalue": _NUMBERS,
        "correlation": _NUMBERS,
        "cohens_d": _NUMBERS,
        "hedges_g": _NUMBERS,
        "cohens_dz": _NUMBERS,
        "detectable_effect": _NUMBERS,
        "margin": _NUMBERS,
        "margin_pvalue": _NUMBERS,
        "tests_disagree": pl.Boolean,
    },
    "faults": {
        "build": pl.String,
        "suite": pl.String,
        "kpi": pl.String,
        "case": pl.String,
        "fault": pl.String,
        "against": pl.String,
    },
}

# Columns that results saved by earlier releases lack: read as null.
LATER: Final[dict[str, tuple[str, ...]]] = {
    "verdicts": ("replicates", "share_pass", "share_review", "share_block")
}


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """The verdicts of the benchmark gate, with all figures behind them.

    Attributes
    ----------
    verdicts : DataFrame
        A row per candidate: candidate, verdict, baselines_beaten, baselines, fewest_wins, required, lost_suites,
        reasons; and, where they were asked for, the number of `replicates` and the shares of them with each verdict,
        share_pass, share_review and share_block (see `fastgate.gates.benchmark.confidence.replicates.replicate`), else
        null.
    baselines : DataFrame
        A row per candidate and baseline: wins, losses, ties, undefined, required, verdict, lost_suites, reasons.
    suites : DataFrame
        A row per candidate, baseline and suite: decided_by, outcome, won_before and lost (against the previous
        release), failed_guards, tests_disagree (whether Welch's and the paired test differ about the
        significance of a deciding KPI; never with the bootstrap), reasons.
    cells : DataFrame
        A row per candidate, baseline, suite and KPI: direction, role (decides, guard, shown), outcome, guard,
        status, reasons, and the figures. `delta` is candidate − baseline of the `measure`: ``mean``, or what the
        bootstrap compares; its interval (ci_low, ci_high, half_width) is at `confidence_level`, a bootstrap one
        found by `engine`. With the bootstrap the intervals decide, a guard's by the end of its own one-sided level,
        and there are no p-values but those of means (welch_pvalue, paired_pvalue), which are shown only, as is
        what stands on means: mean_candidate, mean_baseline, correlation, effect sizes. A figure that does not
        exist is null.
    faults : DataFrame
        A row per case of the data that made a comparison undefined: build, suite, kpi, case, fault
        (``duplicate_case``, ``missing_value``, ``nonfinite``, ``missing_case``), against (the build that has the
        missing case).
    policy : dict
        The policy as applied, tenant's overrides included.
    evidence : dict
        Versions, policy hash, input fingerprint, counts.
    """

    verdicts: pl.DataFrame
    baselines: pl.DataFrame
    suites: pl.DataFrame
    cells: pl.DataFrame
    faults: pl.DataFrame
    policy: dict[str, Any]
    evidence: dict[str, Any]

    gate = "benchmark"

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The frames by name, from the verdicts down to the faults."""
        return {name: getattr(self, name) for name in TABLES}

    def scan(self, table: str) -> pl.LazyFrame:
        """One of the tables as a query, as the result of a sweep has it."""
        return self.tables[table].lazy()

    def load(self) -> BenchmarkResult:
        """The whole result in memory: itself, where that of a sweep has to be read."""
        return self

    @property
    def verdict(self) -> str:
        """The worst of the candidates' verdicts: ``pass``, ``review``, ``refused`` or ``block``."""
        return worst(self.verdicts["verdict"].to_list())

    def __getitem__(self, candidate: str) -> str:
        """The verdict of one candidate."""
        return tables.verdict_of(self.verdicts, candidate)

    def __iter__(self) -> Iterator[str]:
        """The candidates, in the order shown."""
        return iter(self.verdicts["candidate"].cast(pl.String).to_list())

    def __len__(self) -> int:
        return self.verdicts.height

    def exit_code(self, *, review_ok: bool = False) -> int:
        """0 pass, 1 block, 3 review (0 with `review_ok`), 4 refused."""
        return exit_code(self.verdict, review_ok=review_ok)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain data without NaN or infinity; `fastgate.load` reads it back from JSON."""
        return tables.to_dict(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result so that `fastgate.load` reads it back: ``.json``, or a folder of Parquet files.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.json``, or a folder (made where it is not there). Files are written
            aside and renamed, so that none is ever half written.

        Raises
        ------
        DataError
            When the place cannot be written to.
        """
        from fastgate.gates.storage import save

        save(self, path)

    def explain(self, candidate: str) -> dict[str, Any]:
        """Why a candidate got its verdict, and what stands nearest to another one.

        Parameters
        ----------
        candidate : str
            One of the candidates.

        Returns
        -------
        dict
            See `fastgate.gates.benchmark.explanation.explain`.

        Raises
        ------
        ArgumentError
            When there is no such candidate.
        """
        from fastgate.gates.benchmark.explanation import explain

        return explain(self, candidate)
