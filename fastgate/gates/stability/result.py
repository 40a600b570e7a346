"""What the stability gate returns: the verdicts, the tables behind them, and the evidence of how they came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

import polars as pl

from fastgate.gates.tables import to_dict, verdict_of
from fastgate.gates.verdict import Status, Verdict, exit_code, worst

__all__ = ["METRICS", "TABLES", "StabilityResult"]

_CODES: Final = pl.List(pl.String)
_NUMBERS: Final = pl.Float64

METRICS: Final = {
    kind: f"{kind}_agreement"
    for kind in ("paraphrase", "template", "model_version", "order_swap", "adversarial_framing")
}
"""The customary kinds and the columns of the verdicts that hold their agreement."""

# The columns of each table and their types; None is a name: of a build.
TABLES: Final[dict[str, dict[str, Any]]] = {
    "verdicts": {
        "build": None,
        "verdict": Verdict,
        **dict.fromkeys(METRICS.values(), _NUMBERS),
        "ci_width": _NUMBERS,
        "max_ci_width": _NUMBERS,
        "width_status": Status,
        "alternatives": pl.UInt32,
        "pairs": pl.UInt32,
        "flipped_pairs": pl.UInt32,
        "failed_kinds": _CODES,
        "dropped_kinds": _CODES,
        "reasons": _CODES,
    },
    "kinds": {
        "build": None,
        "kind": None,
        "holds": pl.Boolean,
        "n": pl.Int64,
        "agree": pl.Int64,
        "required": pl.Int64,
        "missing": pl.Int64,
        "agreement": _NUMBERS,
        "ci_low": _NUMBERS,
        "ci_high": _NUMBERS,
        "kappa": _NUMBERS,
        "threshold": _NUMBERS,
        "previous_n": pl.Int64,
        "previous_agree": pl.Int64,
        "previous_agreement": _NUMBERS,
        "drop": _NUMBERS,
        "reasons": _CODES,
    },
    "alternatives": {
        "build": None,
        "alternative": pl.String,
        "estimate": _NUMBERS,
        "ci_low": _NUMBERS,
        "ci_high": _NUMBERS,
        "width": _NUMBERS,
        "status": Status,
    },
    "flips": {
        "build": None,
        "suite": pl.String,
        "pair": pl.String,
        "kind": pl.String,
        "variant": pl.String,
        "trial": pl.String,
        "primary_choice": pl.String,
        "probe_choice": pl.String,
        "stability_flags": _CODES,
        "observation_weight": _NUMBERS,
    },
    "faults": {
        "build": pl.String,
        "fault": pl.String,
        "kind": pl.String,
        "suite": pl.String,
        "pair": pl.String,
        "variant": pl.String,
        "alternative": pl.String,
    },
}


@dataclass(frozen=True, eq=False)
class StabilityResult:
    """The verdicts of the stability gate, with all figures behind them.

    Attributes
    ----------
    verdicts : DataFrame
        A row per build: build, verdict, the agreement of each customary kind (null where the policy does not ask
        for it or there is none), ci_width (the mean), max_ci_width, width_status (null without a posterior),
        alternatives, pairs (probed), flipped_pairs, failed_kinds, dropped_kinds, reasons.
    kinds : DataFrame
        A row per build and kind: holds, n (probes compared), agree, required (how many of n had to agree),
        missing (probes left out because a run is missing), agreement with Wilson's 95 % interval, Cohen's kappa,
        threshold, previous_n, previous_agree, previous_agreement, drop (previous − current), reasons.
    alternatives : DataFrame
        A row per build and alternative: estimate (median of draws, mean, or fitted utility, on the scale of the
        interval), ci_low, ci_high, width, status.
    flips : DataFrame
        A row per probe that made another choice: build, suite, pair, kind, variant, trial, the two choices in
        the primary's terms, stability_flags (all kinds that flipped the pair), observation_weight (what the
        pair's preferences count in a fit).
    faults : DataFrame
        Rows of the data that are at fault, at most 100 per build and fault: build, fault (a reason code), kind,
        suite, pair, variant, alternative.
    policy : dict
        The policy as applied, tenant's and profile's overrides included.
    evidence : dict
        Versions, policy hash, inputs' fingerprints, counts.
    """

    verdicts: pl.DataFrame
    kinds: pl.DataFrame
    alternatives: pl.DataFrame
    flips: pl.DataFrame
    faults: pl.DataFrame
    policy: dict[str, Any]
    evidence: dict[str, Any]

    gate = "stability"

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The frames by name, from the verdicts down to the faults."""
        return {name: getattr(self, name) for name in TABLES}

    def load(self) -> StabilityResult:
        """The whole result in memory: itself, where that of a sweep has to be read."""
        return self

    @property
    def verdict(self) -> str:
        """The worst of the builds' verdicts: ``pass``, ``review`` or ``block``."""
        return worst(self.verdicts["verdict"].to_list())

    def __getitem__(self, build: str) -> str:
        """The verdict of one build."""
        return verdict_of(self.verdicts, build, "build")

    def __iter__(self) -> Iterator[str]:
        """The builds, in the order shown."""
        return iter(self.verdicts["build"].cast(pl.String).to_list())

    def __len__(self) -> int:
        return self.verdicts.height

    def exit_code(self, *, review_ok: bool = False) -> int:
        """0 pass, 1 block, 3 review (0 with `review_ok`)."""
        return exit_code(self.verdict, review_ok=review_ok)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain data without NaN or infinity; `fastgate.load` reads it back from JSON."""
        return to_dict(self)

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

    def explain(self, build: str) -> dict[str, Any]:
        """Why a build got its verdict, kind by kind, and what is missing for another one.

        Parameters
        ----------
        build : str
            One of the builds.

        Returns
        -------
        dict
            See `fastgate.gates.stability.explanation.explain`.

        Raises
        ------
        ArgumentError
            When there is no such build.
        """
        from fastgate.gates.stability.explanation import explain

        return explain(self, build)
