"""What every report of the stability gate says, before it is laid out: builds in order, their kinds, their flips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.reports import words
from fastgate.reports.overview import provenance

if TYPE_CHECKING:
    from fastgate.gates.stability.result import StabilityResult

__all__ = ["NAMED_FLIPS", "Build", "builds", "headline", "ranked"]

# Pairs that flipped are named, of each build.
NAMED_FLIPS: Final = 5
# Builds whose tables are turned into Python rows at a time.
_CHUNK: Final = 500


@dataclass(frozen=True)
class Build:
    """One build with everything a report shows of it.

    Attributes
    ----------
    name, verdict : str
    row : dict
        Of the table of verdicts.
    kinds, alternatives : list of dict
        The rows of the tables of this name; the widest alternative first.
    flips : list of dict
        The first few pairs that flipped, those that flipped under most kinds first; each with the number of probes
        that flipped it.
    """

    name: str
    verdict: str
    row: dict[str, Any]
    kinds: list[dict[str, Any]]
    alternatives: list[dict[str, Any]]
    flips: list[dict[str, Any]]


def headline(result: StabilityResult) -> list[str]:
    """What was judged by which rule, in three short lines."""
    policy = result.policy
    posterior = result.evidence.get("posterior")
    source = {
        "preferences": "fitted to preferences",
        "normal": "given as normal distributions",
        "beta": "given as beta distributions",
    }
    which = (
        "no posterior"
        if posterior is None
        else f"posterior {source.get(posterior['shape'], 'given as draws')}"
    )
    return [
        provenance(result),
        f"{words.plural(len(result), 'build')}, {words.plural(len(policy['min_agreement']), 'kind')} of perturbation: "
        f"each kind must hold by itself, with {words.plural(policy['min_probes'], 'probe')} or more",
        f"{which}; mean width of the central {words.percent(policy['mass'])} intervals at most "
        f"{words.number(policy['max_ci_width'])}",
    ]


def ranked(result: StabilityResult) -> pl.DataFrame:
    """The verdicts, the best build first: by verdict, fewest failed kinds, narrowest posterior."""
    return result.verdicts.sort(
        pl.col("verdict").to_physical(),
        pl.col("failed_kinds").list.len(),
        pl.col("ci_width"),
        nulls_last=True,
        maintain_order=True,
    )


def builds(result: StabilityResult, names: Sequence[str]) -> Iterator[Build]:
    """The builds `names`, in this order."""
    for start in range(0, len(names), _CHUNK):
        yield from _chunk(result, names[start : start + _CHUNK])


def _chunk(result: StabilityResult, names: Sequence[str]) -> Iterator[Build]:
    mine = pl.col("build").cast(pl.String).is_in(names)
    widest = result.alternatives.sort("width", descending=True, nulls_last=False, maintain_order=True)
    pairs = (
        result.flips.filter(mine)
        .group_by("build", "suite", "pair", maintain_order=True)
        .agg(
            pl.first(
                "kind", "variant", "primary_choice", "probe_choice", "stability_flags", "observation_weight"
            ),
            pl.len().alias("probes"),
        )
        .sort(pl.col("stability_flags").list.len(), "probes", descending=True, maintain_order=True)
        .group_by("build", maintain_order=True)
        .head(NAMED_FLIPS)
    )
    tables = {
        "kinds": result.kinds.filter(mine),
        "alternatives": widest.filter(mine),
        "flips": pairs,
    }
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table, frame in tables.items():
        rows[table] = {name: [] for name in names}
        for row in frame.iter_rows(named=True):
            rows[table][row["build"]].append(row)
    verdicts = {row["build"]: row for row in result.verdicts.filter(mine).iter_rows(named=True)}
    for name in names:
        yield Build(
            name,
            verdicts[name]["verdict"],
            verdicts[name],
            rows["kinds"][name],
            rows["alternatives"][name],
            rows["flips"][name],
        )
