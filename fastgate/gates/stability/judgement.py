"""The stability gate: choices must survive every kind of perturbation, and the posterior must be narrow.

The rule, as its functions read from top to bottom: a kind holds when enough whole probes of it make the primary run's
choice, and drops when its agreement fell too far since the previous release (`_kinds`); the posterior is narrow
when every alternative has a sound interval and their mean width is within the cap (`_widths`); a build passes when
every kind holds, the posterior is narrow and nothing dropped (`_verdicts`). There is no averaging over kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.gates import reasons as masks
from fastgate.gates.stability.agreement import Agreements, faults, flips, measure
from fastgate.gates.stability.exact import falls_by_more, least_count, most_count
from fastgate.gates.stability.reasons import CODES, REVIEW, bit
from fastgate.gates.stability.result import METRICS, TABLES
from fastgate.gates.verdict import STATUSES, Status, Verdict

if TYPE_CHECKING:
    from fastgate.frames.probes import Probes
    from fastgate.gates.stability.policy import StabilityRules
    from fastgate.gates.stability.widths import Widths

__all__ = ["judge"]

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# A mean of n widths is off by one rounding for each of them, and by a few more in the widths themselves.
_WIDTH_ROUNDINGS: Final = 8

_BLOCKS = sum(bit(code) for code in CODES if code not in REVIEW)


def _flags(conditions: dict[str, Flags]) -> npt.NDArray[np.uint32]:
    """The mask of the reasons whose condition is true."""
    masked = [flag.astype(np.uint32) * np.uint32(bit(code)) for code, flag in conditions.items()]
    return np.asarray(np.bitwise_or.reduce(masked), np.uint32)


def _cells(probes: Probes, builds: Sequence[str], kinds: Sequence[str]) -> Integers:
    """The cell of each build and kind, build by build; -1 where there are no probes."""
    row = {name: number for number, name in enumerate(builds)}
    column = {name: number for number, name in enumerate(kinds)}
    cells = np.full((len(builds), len(kinds)), -1, np.int64)
    index = probes.index.select(pl.col("build", "kind").cast(pl.String))
    for cell, (build, kind) in enumerate(index.iter_rows()):
        if build in row and kind in column:
            cells[row[build], column[kind]] = cell
    return cells.reshape(-1)


def _kinds(
    probes: Probes,
    measured: Agreements,
    rules: StabilityRules,
    builds: Sequence[str],
    before: pl.DataFrame | None,
    unmatched: Sequence[str],
) -> pl.DataFrame:
    """Whether each kind of each build holds, and whether it dropped."""
    kinds = list(rules.min_agreement)
    cell = _cells(probes, builds, kinds)
    found = cell >= 0

    def of_cells(values: npt.NDArray[np.generic], nothing: float) -> npt.NDArray[np.generic]:
        out = np.full(cell.size, nothing, values.dtype)
        out[found] = values[cell[found]]
        return out

    n, agree, missing = (
        of_cells(values, 0).astype(np.int64) for values in (measured.n, measured.agree, measured.missing)
    )
    share = of_cells(measured.agreement, np.nan).astype(np.float64)
    row_faults = of_cells(measured.faults, 0).astype(np.uint32)
    floors = [rules.min_agreement[kind] for kind in kinds]
    required = np.empty(n.size, np.int64)
    for number, floor in enumerate(floors):
        required[number :: len(kinds)] = least_count(n[number :: len(kinds)], floor)

    enough_runs = missing <= most_count(n + missing, rules.max_missing_share)
    enough_probes = n >= rules.min_probes
    agrees = (n > 0) & (agree >= required) & np.isfinite(share)
    holds = found & (row_faults == 0) & enough_runs & enough_probes & agrees
    mask = row_faults | _flags(
        {
            "no_probes": n == 0,
            "missing_runs": ~enough_runs,
            "n_lt_min": (n > 0) & ~enough_probes,
            "low_agreement": (n > 0) & ~agrees & np.isfinite(share),
        }
    )
    frame = pl.DataFrame(
        {
            "build": pl.Series(list(builds), dtype=pl.String).gather(
                np.repeat(np.arange(len(builds)), len(kinds))
            ),
            "kind": kinds * len(builds),
            "holds": holds,
            "n": n,
            "agree": agree,
            "required": required,
            "missing": missing,
            "agreement": share,
            "ci_low": of_cells(measured.ci_low, np.nan),
            "ci_high": of_cells(measured.ci_high, np.nan),
            "kappa": of_cells(measured.kappa, np.nan),
            "threshold": floors * len(builds),
        }
    )
    frame, dropped = _with_previous(frame, rules, before, unmatched)
    return frame.with_columns(_mask=pl.Series(mask | dropped)).with_columns(pl.col(pl.Float64).fill_nan(None))


def _with_previous(
    frame: pl.DataFrame, rules: StabilityRules, before: pl.DataFrame | None, unmatched: Sequence[str]
) -> tuple[pl.DataFrame, npt.NDArray[np.uint32]]:
    """The kinds with what they were in the previous release, and the mask of what follows from that."""
    if before is None:
        nothing = frame.with_columns(
            pl.lit(None, pl.Int64).alias("previous_n"),
            pl.lit(None, pl.Int64).alias("previous_agree"),
            pl.lit(None, pl.Float64).alias("previous_agreement"),
            pl.lit(None, pl.Float64).alias("drop"),
        )
        return nothing, np.zeros(frame.height, np.uint32)
    frame = frame.join(before, on=["build", "kind"], how="left", maintain_order="left")
    counts = [frame[name].fill_null(0).to_numpy() for name in ("previous_agree", "previous_n", "agree", "n")]
    known = counts[1] > 0
    unknown_build = frame["build"].is_in(list(unmatched)).to_numpy()
    mask = _flags(
        {
            "agreement_drop": falls_by_more(counts[0], counts[1], counts[2], counts[3], rules.max_drop),
            "no_previous_agreement": ~known & ~unknown_build,
            "no_previous_result": unknown_build,
        }
    )
    frame = frame.with_columns(
        previous_agreement=pl.col("previous_agree") / pl.col("previous_n"),
        # One rounding: from integers, so that equal shares give 0.
        drop=(pl.col("previous_agree") * pl.col("n") - pl.col("agree") * pl.col("previous_n"))
        / (pl.col("previous_n") * pl.col("n")),
    )
    return frame, mask


def _widths(widths: Widths, rules: StabilityRules, builds: Sequence[str]) -> pl.DataFrame:
    """Whether the posterior of each build is sound and narrow.

    A mean width that exceeds the cap by no more than the rounding of its sum, (n + 8)·2⁻⁵³ of the cap, is at the cap:
    else any number of alternatives of a width equal to the cap would pass or block by how their sum rounds.
    """
    place = {name: number for number, name in enumerate(widths.builds)}
    row = np.array([place.get(name, -1) for name in builds], np.int64)
    found = row >= 0
    mean, n = np.full(row.size, np.nan), np.zeros(row.size, np.int64)
    status, mask = np.full(row.size, -1, np.int64), np.full(row.size, bit("no_posterior"), np.uint32)
    for out, values in ((mean, widths.mean), (n, widths.n), (status, widths.status), (mask, widths.mask)):
        out[found] = values[row[found]]
    narrow = mean <= rules.max_ci_width * (1.0 + (n + _WIDTH_ROUNDINGS) * 2.0**-53)
    # A width that is not sound is no knowledge, neither of a narrow nor of a wide posterior.
    wide = found & (status == 0) & ~narrow
    mask = mask | _flags({"wide_posterior": wide})
    words = [STATUSES[code] if code >= 0 else None for code in status.tolist()]
    return pl.DataFrame(
        {
            "ci_width": pl.Series(mean).fill_nan(None),
            "max_ci_width": np.full(row.size, float(rules.max_ci_width)),
            "width_status": pl.Series(words, dtype=Status),
            "alternatives": n.astype(np.uint32),
            "_width_mask": mask,
            "_narrow": found & (mask == 0) & (status == 0) & (n >= 2) & narrow,
        }
    )


def _pairs(probes: Probes, measured: Agreements, builds: Sequence[str]) -> pl.DataFrame:
    """How many pairs of each build were probed, and how many of them flipped."""
    names = probes.names("build")
    looks = measured.looks
    counts = [
        np.bincount(looks.builds[bits != 0], minlength=len(names))[[names.index(name) for name in builds]]
        for bits in (looks.probed, looks.flipped)
    ]
    return pl.DataFrame({"pairs": counts[0].astype(np.uint32), "flipped_pairs": counts[1].astype(np.uint32)})


def _verdicts(kinds: pl.DataFrame, widths: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Pass, review or block: each build."""
    fell = pl.col("_mask") & bit("agreement_drop") != 0
    builds = kinds.group_by("build", maintain_order=True).agg(
        pl.col("holds").all().alias("_holds"),
        *(
            pl.col("agreement").filter(pl.col("kind") == kind).first().alias(name)
            for kind, name in METRICS.items()
        ),
        pl.col("kind").filter(~pl.col("holds")).alias("failed_kinds"),
        pl.col("kind").filter(fell).alias("dropped_kinds"),
        pl.col("_mask").bitwise_or(),
    )
    mask = pl.col("_mask") | pl.col("_width_mask")
    sound = pl.col("_holds") & pl.col("_narrow")
    verdict = (
        pl.when(sound & (mask == 0))
        .then(pl.lit("pass", Verdict))
        .when(sound & ((mask & _BLOCKS) == 0))
        .then(pl.lit("review", Verdict))
        .otherwise(pl.lit("block", Verdict))
    )
    return pl.concat([builds, widths, pairs], how="horizontal").with_columns(verdict=verdict, _mask=mask)


def judge(
    probes: Probes,
    rules: StabilityRules,
    builds: Sequence[str],
    letters: str,
    widths: Widths | None = None,
    *,
    measured: Agreements | None = None,
    before: pl.DataFrame | None = None,
    unmatched: Sequence[str] = (),
) -> dict[str, pl.DataFrame]:
    """The rule applied to probes and posteriors: the gate without files, policies and evidence.

    Parameters
    ----------
    probes : Probes
    rules : StabilityRules
        The policy as applied.
    builds : sequence of str
        The builds to judge, in the order shown.
    letters : {"raw", "unswapped"}
        What the choices of swapped runs are.
    widths : Widths, optional
        Of the posteriors; without it no build has one.
    measured : Agreements, optional
        Of these probes, where it is known already.
    before : DataFrame, optional
        The previous release: build, kind, previous_n, previous_agree.
    unmatched : sequence of str, optional
        Builds of which the previous result says nothing.

    Returns
    -------
    dict of str to DataFrame
        The tables of a `StabilityResult`.
    """
    from fastgate.gates.stability.widths import none

    names = list(rules.min_agreement)
    if measured is None:
        measured = measure(probes, names, letters)
    widths = none() if widths is None else widths
    kinds = _kinds(probes, measured, rules, builds, before, unmatched)
    verdicts = _verdicts(kinds, _widths(widths, rules, builds), _pairs(probes, measured, builds))
    shown = pl.col("build").is_in(list(builds))
    alternatives = (
        widths.alternatives.filter(shown)
        .with_columns(pl.col(pl.Float64).fill_nan(None))
        .with_columns(pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64)))
        .with_columns(
            status=pl.Series(STATUSES, dtype=Status).gather(widths.alternatives.filter(shown)["status"])
        )
    )
    at_fault = [
        frame.filter(shown)
        for frame in (faults(probes, measured, names, builds), widths.faults)
        if not frame.is_empty()
    ]
    listed = {
        "verdicts": verdicts.with_columns(masks.listed(verdicts["_mask"], CODES)),
        "kinds": kinds.with_columns(masks.listed(kinds["_mask"], CODES)),
        "alternatives": alternatives,
        "flips": flips(probes, measured, names, builds),
        "faults": pl.concat(at_fault, how="diagonal") if at_fault else pl.DataFrame(),
    }
    return {name: _typed(name, frame) for name, frame in listed.items()}


def _typed(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table's columns in their order and types, those that are lacking null."""
    columns = []
    for column, dtype in TABLES[name].items():
        if column not in frame.columns:
            columns.append(
                pl.Series(column, [None], dtype=dtype or pl.String).new_from_index(0, frame.height)
            )
        elif dtype is None:
            text = frame[column]
            columns.append(text.cast(pl.Enum(text.unique(maintain_order=True))))
        else:
            columns.append(frame[column].cast(dtype))
    return pl.DataFrame(columns)
