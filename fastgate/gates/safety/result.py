"""What the safety gate returns: the verdicts, the tables behind them, and the evidence of how they came about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Final

import polars as pl

from fastgate.gates import tables
from fastgate.gates.verdict import Signal, Status, Verdict, exit_code, worst

__all__ = ["TABLES", "SafetyResult", "from_tables"]

_CODES: Final = pl.List(pl.String)
_NUMBER: Final = pl.Float64
_COUNT: Final = pl.Int64

# The columns of each table and their types; None is a name: of a candidate, build or suite.
TABLES: Final[dict[str, dict[str, Any]]] = {
    "verdicts": {
        "candidate": None,
        "verdict": Verdict,
        "suites": pl.UInt32,
        "regressions": pl.UInt32,
        "no_signal": pl.UInt32,
        "improvements": pl.UInt32,
        "refused": pl.UInt32,
        "worst_suites": _CODES,
        "reasons": _CODES,
    },
    "suites": {
        "candidate": None,
        "suite": None,
        "verdict": Verdict,
        "outcome": Signal,
        "indicated": Signal,
        "reasons": _CODES,
        "differing_fields": _CODES,
        "status": Status,
        "n_candidate": _COUNT,
        "n_baseline": _COUNT,
        "passes_candidate": _NUMBER,
        "passes_baseline": _NUMBER,
        "rate_candidate": _NUMBER,
        "rate_baseline": _NUMBER,
        "delta": _NUMBER,
        "noise_floor": _NUMBER,
        "method": pl.String,
        "confidence_level": _NUMBER,
        "difference_floor": _NUMBER,
        "ci_low": _NUMBER,
        "ci_high": _NUMBER,
        "pvalue": _NUMBER,
        "regressed": _COUNT,
        "fixed": _COUNT,
        "paired_method": pl.String,
        "paired_ci_low": _NUMBER,
        "paired_ci_high": _NUMBER,
        "mcnemar_pvalue": _NUMBER,
        "detectable_drop": _NUMBER,
        "detectable_drop_paired": _NUMBER,
        "false_alarm": _NUMBER,
        "errors_candidate": _COUNT,
        "errors_baseline": _COUNT,
        "undecided_candidate": _COUNT,
        "undecided_baseline": _COUNT,
        "repeated_cases": _COUNT,
        "regressed_every_trial": _COUNT,
        "fixed_every_trial": _COUNT,
        "flaky_candidate": _COUNT,
        "flaky_baseline": _COUNT,
        "policy_variance": _NUMBER,
        "sampling_variance": _NUMBER,
        "sampling_share": _NUMBER,
    },
    "runs": {
        "build": None,
        "suite": None,
        "cases": _COUNT,
        "passed_cases": _COUNT,
        "failed_cases": _COUNT,
        "undecided_cases": _COUNT,
        "trials": _COUNT,
        "passed_trials": _COUNT,
        "errors": _COUNT,
        "flaky_cases": _COUNT,
        "flake_rate": _NUMBER,
        "manifest_hash": pl.String,
    },
    "differences": {
        "candidate": None,
        "suite": None,
        "field": pl.String,
        "baseline_value": pl.String,
        "candidate_value": pl.String,
        "problem": pl.String,
    },
    "flips": {
        "candidate": None,
        "suite": None,
        "case": None,
        "change": pl.Enum(["regressed", "fixed"]),
        "every_trial": pl.Boolean,
        "passes_candidate": pl.Int32,
        "trials_candidate": pl.Int32,
        "passes_baseline": pl.Int32,
        "trials_baseline": pl.Int32,
    },
    "faults": {
        "build": pl.String,
        "suite": pl.String,
        "case": pl.String,
        "fault": pl.String,
        "against": pl.String,
    },
}


@dataclass(frozen=True, eq=False)
class SafetyResult:
    """The verdicts of the safety gate, with all figures behind them.

    Attributes
    ----------
    verdicts : DataFrame
        A row per candidate: verdict, how many suites, and how many of them regressed, gave no signal, improved,
        were refused; worst_suites, those that the verdict is due to (none for a pass); reasons.
    suites : DataFrame
        A row per candidate and suite. `delta`, the rate of the candidate minus that of the baseline, is compared
        with `noise_floor`, the half-width of the one-sample interval by `method` at `confidence_level`, at the
        baseline's rate. `indicated` is what these figures alone say, `outcome` what follows from them: undefined
        where anything in `reasons` forbids it. Beside the rule: difference_floor (√2 times the floor), Newcombe's
        interval of the difference of independent samples (ci_low, ci_high) and its pooled p-value; of the same
        cases, how many regressed and were fixed, the paired interval (Tango's, or where cases count by share,
        Student's of the cases' differences), McNemar's exact p-value (of shares, the sign test's: those that rose
        against those that fell); the smallest drops that this suite detects at the policy's power; false_alarm, how
        often the rule calls an identical build, replayed independently, a regression on this suite (null at a rate
        of 0 or 1, where the noise is not seen). Of the cases with several trials in both runs: how many passed in
        every trial of the baseline and in none of the candidate (a change of the build, not of the seed) or the
        other way round, how many have trials that disagree within a build (flaky), and the variance of a case's
        difference in two parts: what the disagreement of its trials explains (sampling_variance) and the rest
        (policy_variance). A figure that does not exist is null.
    runs : DataFrame
        A row per build and suite: cases, trials, errors, the share of cases whose trials disagree, the hash
        of the manifest.
    differences : DataFrame
        A row per candidate, suite and field on account of which the runs may not be compared.
    flips : DataFrame
        A row per candidate, suite and case that regressed or was fixed; `every_trial`, whether all trials of the one
        run passed and all of the other failed (null where there are not several in both).
    faults : DataFrame
        A row per case of the data that kept suites from being judged: build, suite, case, fault
        (``duplicate_case``, ``missing_case``, ``unlike_trials``, ``no_outcome``), against.
    policy : dict
        The policy as applied, tenant's overrides included.
    evidence : dict
        Versions, policy hash, input fingerprint, the baseline, counts.
    list_runs, list_flips : callable
        Make the tables `runs` and `flips`.
    """

    verdicts: pl.DataFrame
    suites: pl.DataFrame
    differences: pl.DataFrame
    faults: pl.DataFrame
    policy: dict[str, Any]
    evidence: dict[str, Any]
    list_runs: Callable[[], pl.DataFrame]
    list_flips: Callable[[], pl.DataFrame]

    gate = "safety"

    # Of a sweep, rows by the million that few look at: these tables are made when they are first read.

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The table of runs."""
        return self.list_runs()

    @cached_property
    def flips(self) -> pl.DataFrame:
        """The table of flipped cases."""
        return self.list_flips()

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The frames by name, from the verdicts down to the faults."""
        return {name: getattr(self, name) for name in TABLES}

    @property
    def baseline(self) -> str:
        """The build that candidates are compared with."""
        return str(self.evidence["baseline"])

    def load(self) -> SafetyResult:
        """The whole result in memory: itself, where that of a sweep has to be read."""
        return self

    @property
    def verdict(self) -> str:
        """The worst of the candidates' verdicts: ``pass``, ``refused`` or ``block``."""
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
        """0 pass, 1 block, 4 refused."""
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
        """Why a candidate got its verdict, suite by suite.

        Parameters
        ----------
        candidate : str
            One of the candidates.

        Returns
        -------
        dict
            See `fastgate.gates.safety.explanation.explain`.

        Raises
        ------
        ArgumentError
            When there is no such candidate.
        """
        from fastgate.gates.safety.explanation import explain

        return explain(self, candidate)


def from_tables(
    *,
    runs: pl.DataFrame,
    flips: pl.DataFrame,
    policy: dict[str, Any],
    evidence: dict[str, Any],
    **tables: pl.DataFrame,
) -> SafetyResult:
    """A result from its tables, as they were saved."""
    return SafetyResult(
        verdicts=tables["verdicts"],
        suites=tables["suites"],
        differences=tables["differences"],
        faults=tables["faults"],
        policy=policy,
        evidence=evidence,
        list_runs=lambda: runs,
        list_flips=lambda: flips,
    )
