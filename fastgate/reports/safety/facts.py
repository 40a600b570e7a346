"""What every report of the safety gate says, before it is laid out: candidates in order, their suites, their flips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fastgate.gates.verdict import VERDICTS
from fastgate.reports import words
from fastgate.reports.overview import provenance

if TYPE_CHECKING:
    from fastgate.gates.safety.result import SafetyResult

__all__ = ["Candidate", "Difference", "candidates", "floor_words", "headline", "ranked"]

# Cases that flipped are named, in each direction.
NAMED_FLIPS: Final = 3
# Candidates whose tables are turned into Python rows at a time.
_CHUNK: Final = 500
# Beyond so many flipped cases in a result, making the table only to name a few takes seconds.
_MOST_FLIPS: Final = 1_000_000

METHODS: Final = {
    "wald": "Wald",
    "wilson": "Wilson",
    "agresti-coull": "Agresti-Coull",
    "clopper-pearson": "Clopper-Pearson",
    "jeffreys": "Jeffreys",
    "mid-p": "mid-p",
    "tango": "Tango",
    "student": "Student",
}


@dataclass(frozen=True)
class Difference:
    """A field on account of which runs may not be compared, and the suites where that is so."""

    field: str
    baseline: str | None
    candidate: str | None
    problem: str
    suites: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """One candidate with everything a report shows of it.

    Attributes
    ----------
    name, verdict : str
    baseline : str
    row : dict
        Of the table of verdicts.
    suites : list of dict
        The rows of the table of suites, the worst first; with ``flips``, from change to the first few cases, and
        the two builds' ``flake_rate_candidate`` and ``flake_rate_baseline``.
    differences : list of Difference
    """

    name: str
    verdict: str
    baseline: str
    row: dict[str, Any]
    suites: list[dict[str, Any]]
    differences: list[Difference]


def headline(result: SafetyResult) -> list[str]:
    """What was judged by which rule, in three short lines."""
    suites = result.suites["suite"].n_unique()
    return [
        provenance(result),
        f"{words.plural(len(result), 'candidate')} against {words.name(result.baseline)}, "
        f"{words.plural(suites, 'suite')}: no pass rate may fall by more than e",
        floor_words(result.policy, result.suites["confidence_level"].head(1).to_list()),
    ]


def floor_words(policy: Mapping[str, Any], levels: Sequence[float] = ()) -> str:
    """``e: half-width of the 95 % Wilson interval at the baseline's rate and n``."""
    stated = policy["confidence_level"]
    level = levels[0] if levels else stated
    which = f"{words.percent(level)} {METHODS[policy['method']]} interval"
    text = f"e, the noise floor: half-width of the {which} at the baseline's rate and n"
    if level != stated:
        text += f" ({words.percent(stated)} over all suites, {policy['correction']} correction)"
    return text


def ranked(result: SafetyResult) -> pl.DataFrame:
    """The verdicts, the best candidate first: by verdict, fewest regressions, fewest refusals, most improvements."""
    return result.verdicts.sort(
        pl.col("verdict").to_physical(),
        "regressions",
        "refused",
        -pl.col("improvements").cast(pl.Int64),
        maintain_order=True,
    )


def candidates(result: SafetyResult, names: Sequence[str]) -> Iterator[Candidate]:
    """The candidates `names`, in this order."""
    flake = {
        (row["build"], row["suite"]): row["flake_rate"]
        for row in result.runs.filter(pl.col("flake_rate").is_not_null())
        .select("build", "suite", "flake_rate")
        .iter_rows(named=True)
    }
    for start in range(0, len(names), _CHUNK):
        yield from _chunk(result, names[start : start + _CHUNK], flake)


def _chunk(
    result: SafetyResult, names: Sequence[str], flake: Mapping[tuple[str, str], float]
) -> Iterator[Candidate]:
    mine = pl.col("candidate").cast(pl.String).is_in(names)
    flips = _flips(result, mine)
    suites: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for row in result.suites.filter(mine).iter_rows(named=True):
        name, suite = row["candidate"], row["suite"]
        row["flips"] = {change: flips.get((name, suite, change), []) for change in ("regressed", "fixed")}
        row["flake_rate_candidate"] = flake.get((name, suite))
        row["flake_rate_baseline"] = flake.get((result.baseline, suite))
        suites[name].append(row)
    found: dict[str, dict[tuple[str, str | None, str | None, str], list[str]]] = {name: {} for name in names}
    for row in result.differences.filter(mine).iter_rows(named=True):
        key = row["field"], row["baseline_value"], row["candidate_value"], row["problem"]
        found[row["candidate"]].setdefault(key, []).append(row["suite"])
    verdicts = {row["candidate"]: row for row in result.verdicts.filter(mine).iter_rows(named=True)}
    for name in names:
        yield Candidate(
            name,
            verdicts[name]["verdict"],
            result.baseline,
            verdicts[name],
            sorted(suites[name], key=_badness),
            [Difference(*key, tuple(where)) for key, where in found[name].items()],
        )


def _badness(row: Mapping[str, Any]) -> tuple[int, float]:
    """The worst first: by verdict, then the largest drop in noise floors."""
    floor, delta = row["noise_floor"], row["delta"]
    return -VERDICTS.index(row["verdict"]), delta / floor if floor and delta is not None else 0.0


def _flips(result: SafetyResult, mine: pl.Expr) -> dict[tuple[str, str, str], list[str]]:
    """The first few cases that flipped, by candidate, suite and direction; those that did in every trial first."""
    total = result.suites.select(pl.col("regressed").sum() + pl.col("fixed").sum()).item()
    if not total or total > _MOST_FLIPS:
        return {}
    keys = ["candidate", "suite", "change"]
    groups = (
        result.flips.filter(mine)
        .sort(pl.col("every_trial").fill_null(False), descending=True, maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("case").head(NAMED_FLIPS))
    )
    return {(row[0], row[1], row[2]): row[3] for row in groups.iter_rows()}
