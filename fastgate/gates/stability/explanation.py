"""Why a build got its verdict from the stability gate, and how far it is from another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.errors import ArgumentError
from fastgate.gates.names import some
from fastgate.gates.schema import nearest
from fastgate.gates.stability.reasons import MEANINGS

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["explain"]

_SHOWN: Final = 10


def explain(result: StabilityResult, build: str) -> dict[str, Any]:
    """Why a build got its verdict.

    Parameters
    ----------
    result : StabilityResult
    build : str
        One of its builds.

    Returns
    -------
    dict
        ``build``, ``verdict``, ``reasons`` (each a code and its meaning); ``metrics``, the rest of its row of the
        verdicts; ``kinds``: for each its row, ``short`` (how many more probes had to agree, 0 where enough did),
        ``to_change`` (the same, negative for those to spare; null without probes), ``likely_above`` (whether
        Wilson's interval lies above the threshold, so that more probes would hardly change that it holds),
        ``flips`` by variant, drop and reasons; ``posterior``: ci_width, max_ci_width, status, and the ``widest``
        alternatives; ``unstable_pairs``: those that most kinds flipped; ``pairs`` and ``flipped_pairs``, their
        numbers; ``alternatives`` and ``flips``, all rows of these tables.

    Raises
    ------
    ArgumentError
        When there is no such build.
    """
    names = list(result)
    if build not in names:
        similar = nearest(build, names)
        raise ArgumentError(
            f"there is no build {build!r}",
            expected=some(names),
            hint=None if similar is None else f"did you mean {similar!r}?",
        )
    mine = pl.col("build").cast(pl.String) == build
    verdict = result.verdicts.filter(mine).row(0, named=True)
    flips = result.flips.filter(mine)
    return {
        "build": build,
        "verdict": verdict["verdict"],
        "reasons": [{"code": code, "meaning": MEANINGS[code]} for code in verdict["reasons"]],
        "metrics": {
            name: value for name, value in verdict.items() if name not in ("build", "verdict", "reasons")
        },
        "kinds": [_kind(row, flips) for row in result.kinds.filter(mine).to_dicts()],
        "posterior": {
            "ci_width": verdict["ci_width"],
            "max_ci_width": verdict["max_ci_width"],
            "status": verdict["width_status"],
            "widest": result.alternatives.filter(mine)
            .drop("build")
            .sort("width", descending=True, nulls_last=False)
            .head(_SHOWN)
            .to_dicts(),
        },
        "unstable_pairs": _unstable_pairs(flips),
        "pairs": verdict["pairs"],
        "flipped_pairs": verdict["flipped_pairs"],
        "alternatives": result.alternatives.filter(mine).drop("build").to_dicts(),
        "flips": flips.drop("build").to_dicts(),
    }


def _kind(row: dict[str, Any], flips: pl.DataFrame) -> dict[str, Any]:
    by_variant = flips.filter(kind=row["kind"]).group_by("variant").len()
    counted = by_variant.sort(["len", "variant"], descending=[True, False])
    low = row["ci_low"]
    return {
        **{name: value for name, value in row.items() if name != "build"},
        "short": max(0, row["required"] - row["agree"]),
        "to_change": row["required"] - row["agree"] if row["n"] else None,
        "likely_above": low is not None and low >= row["threshold"],
        "flips": [{"variant": variant, "n": n} for variant, n in counted.head(_SHOWN).rows()],
        "reasons": [{"code": code, "meaning": MEANINGS[code]} for code in row["reasons"]],
    }


def _unstable_pairs(flips: pl.DataFrame) -> list[dict[str, Any]]:
    """The pairs that most kinds flipped, of these the ones that most probes did."""
    pairs = flips.group_by("suite", "pair", maintain_order=True).agg(
        pl.len().alias("flips"), pl.col("stability_flags").first(), pl.col("observation_weight").first()
    )
    ranked = pairs.with_columns(_kinds=pl.col("stability_flags").list.len())
    ranked = ranked.sort(["_kinds", "flips"], descending=True, maintain_order=True).drop("_kinds")
    return ranked.head(_SHOWN).to_dicts()
