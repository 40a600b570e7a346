"""Posteriors to what the rule reads: the interval of each alternative, the mean width of each build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import DataError
from fastgate.frames.preferences import UNKNOWN_OUTCOME
from fastgate.gates.stability.agreement import looked_up
from fastgate.gates.stability.reasons import CODES, bit
from fastgate.kernels.status import NAMES, OK, SEPARATION, TOO_FEW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastgate.frames.posteriors import Posteriors
    from fastgate.frames.preferences import Preferences
    from fastgate.frames.probes import Probes
    from fastgate.gates.stability.agreement import Agreements
    from fastgate.gates.stability.policy import StabilityRules

__all__ = ["Widths", "fitted", "given", "none"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]

# The reason that each status of a posterior is.
_REASONS: Final = np.array(
    [0 if name == "ok" else bit(name if name in CODES else "invalid") for name in NAMES], np.uint32
)


@dataclass(frozen=True, eq=False)
class Widths:
    """The widths of some builds.

    Parameters
    ----------
    alternatives : DataFrame
        build, alternative, estimate, ci_low, ci_high, width, status (code); in the order of builds and alternatives.
    builds : list of str
        Those that have a posterior.
    mean, n, status, mask : ndarray, shape (n_builds,)
        The mean width, the number of alternatives, the status code of the mean, the mask of reasons.
    faults : DataFrame
        build, fault, alternative (or suite and pair): what is at fault.
    record : dict
        For the evidence.
    """

    alternatives: pl.DataFrame
    builds: list[str]
    mean: Floats
    n: Integers
    status: Codes
    mask: npt.NDArray[np.uint32]
    faults: pl.DataFrame
    record: dict[str, Any]


def none() -> Widths:
    """The widths where nothing is known of any posterior."""
    nothing = np.empty(0)
    return _widths(
        [], np.zeros(1, np.int64), [], nothing, nothing, nothing, nothing, np.empty(0, np.int8), {}
    )


def _widths(
    builds: list[str],
    offsets: Integers,
    alternatives: Sequence[str],
    estimate: Floats,
    low: Floats,
    high: Floats,
    width: Floats,
    status: Codes,
    record: dict[str, Any],
    accepted: Codes | None = None,
) -> Widths:
    from fastgate.stats.posterior import mean_width_arrays

    mean, n, found = mean_width_arrays(width, status if accepted is None else accepted, offsets)
    build = np.repeat(np.arange(len(builds)), np.diff(offsets))
    mask = np.zeros(len(builds), np.uint32)
    np.bitwise_or.at(mask, build, _REASONS[status if accepted is None else accepted])
    mask[n == 1] |= np.uint32(bit("one_alternative"))
    frame = pl.DataFrame(
        {
            "build": pl.Series(builds, dtype=pl.String).gather(build),
            "alternative": pl.Series(alternatives, dtype=pl.String),
            "estimate": estimate,
            "ci_low": low,
            "ci_high": high,
            "width": width,
            "status": status,
        }
    )
    return Widths(frame, builds, mean, n, found, mask, pl.DataFrame(), record)


def given(posteriors: Posteriors, rules: StabilityRules) -> Widths:
    """The widths of posteriors that are given as draws, normal or beta distributions."""
    from fastgate.stats.draws import credible_interval_arrays
    from fastgate.stats.posterior import beta_width_arrays, normal_width_arrays

    first, second = posteriors.first, posteriors.second
    if posteriors.draws is not None:
        values, starts = posteriors.draws.values, posteriors.draws.offsets
        low, high, width, status = credible_interval_arrays(values, starts, mass=rules.mass)
        estimate = np.full(width.size, np.nan)
        sizes = np.diff(starts)
        # The 2.5 % tail of a few draws is the least of them: such a width says nothing.
        status = np.where((status == OK) & (sizes < rules.min_draws), np.int8(TOO_FEW), status)
        some = np.flatnonzero(sizes)
        if some.size:
            with np.errstate(invalid="ignore", over="ignore"):
                estimate[some] = np.add.reduceat(values, starts[:-1][some]) / sizes[some]
    elif posteriors.kind == "normal":
        low, high, width, status = normal_width_arrays(first, second, mass=rules.mass)
        estimate = first
    else:
        low, high, _, _, width, status = beta_width_arrays(first, second, mass=rules.mass)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            estimate = first / (first + second)
    index = posteriors.index
    counts = index.group_by("build", maintain_order=True).len()
    offsets = np.concatenate(([0], np.cumsum(counts["len"].to_numpy()))).astype(np.int64)
    record = {"shape": posteriors.kind, "rows": posteriors.n_rows, "fingerprint": posteriors.fingerprint}
    names = index["alternative"].to_list()
    widths = _widths(counts["build"].to_list(), offsets, names, estimate, low, high, width, status, record)
    twice = index.filter(index.is_duplicated()).unique(maintain_order=True)
    if twice.is_empty():
        return widths
    at_fault = pl.Series(widths.builds, dtype=pl.String).is_in(twice["build"].unique().implode()).to_numpy()
    widths.mask[at_fault] |= np.uint32(bit("duplicate_alternative"))
    faults = twice.select("build", pl.lit("duplicate_alternative").alias("fault"), "alternative")
    return _with_faults(widths, faults)


def _with_faults(widths: Widths, faults: pl.DataFrame) -> Widths:
    fields = {name: getattr(widths, name) for name in Widths.__dataclass_fields__}
    return Widths(**{**fields, "faults": faults})


def fitted(preferences: Preferences, rules: StabilityRules, probes: Probes, measured: Agreements) -> Widths:
    """The widths of utilities fitted to preferences, those of unstable pairs counting less.

    A preference whose build and pair (and suite, where both tables have it) were probed counts as its weight times
    the pair's observation weight; one that was not probed, or that names no pair, as its weight.
    """
    from fastgate.stats.utilities import fit_utilities_arrays, group_preferences

    factor, record = _observation_weights(preferences, probes, measured)
    weight = preferences.weight * factor
    sizes = np.array([len(names) for names in preferences.alternatives], np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows, order = group_preferences(preferences.build, sizes.size)
    fit = fit_utilities_arrays(
        preferences.left,
        preferences.right,
        preferences.outcome,
        weight,
        rows,
        order,
        offsets,
        np.full(sizes.size, float(rules.prior_sd)),
        mass=rules.mass,
        scale=rules.scale,
    )
    status = np.repeat(fit.status, sizes)
    accepted = None
    if rules.accept_separation:
        accepted = np.where(status == SEPARATION, np.int8(OK), status)
    estimate = 1.0 / (1.0 + np.exp(-fit.utilities)) if rules.scale == "unit" else fit.utilities
    widths = _widths(
        preferences.builds,
        offsets,
        [name for names in preferences.alternatives for name in names],
        estimate,
        fit.ci_low,
        fit.ci_high,
        fit.width,
        status,
        {
            "shape": "preferences",
            "rows": preferences.n_rows,
            "fingerprint": preferences.fingerprint,
            "used": int(fit.n.sum()),
            **record,
        },
        accepted,
    )
    return _with_row_faults(widths, preferences)


def _with_row_faults(widths: Widths, preferences: Preferences) -> Widths:
    """The widths with the reasons that single preferences are; they say more than that a fit is invalid."""
    bad = ~((preferences.weight >= 0) & (preferences.weight < np.inf))
    rows_at_fault = {
        "self_comparison": preferences.left == preferences.right,
        "bad_weight": bad,
        "unknown_outcome": preferences.outcome == UNKNOWN_OUTCOME,
    }
    parts = []
    for code, at_fault in rows_at_fault.items():
        rows = np.flatnonzero(at_fault)
        if not rows.size:
            continue
        builds = np.unique(preferences.build[rows])
        vague = np.uint32(bit("invalid") | bit("nonfinite"))
        widths.mask[builds] = (widths.mask[builds] & ~vague) | np.uint32(bit(code))
        # Without a suite or pair there are no keys, and a frame without columns has no rows either.
        keys = {name: column.gather(rows) for name, column in preferences.keys.to_dict().items()}
        found = pl.DataFrame(
            {"build": pl.Series(preferences.builds, dtype=pl.String).gather(preferences.build[rows]), **keys}
        ).with_columns(
            fault=pl.lit(code),
            alternative=pl.Series(
                [
                    preferences.alternatives[build][left]
                    for build, left in zip(
                        preferences.build[rows].tolist(), preferences.left[rows].tolist(), strict=True
                    )
                ],
                dtype=pl.String,
            ),
        )
        parts.append(found.group_by("build", maintain_order=True).head(100))
    return _with_faults(widths, pl.concat(parts)) if parts else widths


def _observation_weights(
    preferences: Preferences, probes: Probes, measured: Agreements
) -> tuple[Floats, dict[str, Any]]:
    """The observation weight of each preference's pair, and how many were probed."""
    from fastgate.stats.probes import observation_weight

    ones = np.ones(preferences.n_rows)
    if "pair" not in preferences.keys.columns:
        return ones, {"probed": 0}
    names = [
        name
        for name in ("suite", "pair")
        if name in preferences.keys.columns and name in probes.pairs.columns
    ]
    pairs = probes.pairs.select(pl.col(names).cast(pl.String)).with_row_index("_place")
    if pairs.select(names).is_duplicated().any():
        raise DataError(
            "the preferences' pairs are not clear without their suite",
            expected="a column 'suite' beside 'pair' in the preferences, as in the probes",
            received="pairs of the same name in several suites",
        )
    build_names = probes.names("build")
    build = np.array([build_names.index(name) if name in build_names else -1 for name in preferences.builds])
    build = build[preferences.build]
    joined = preferences.keys.join(pairs, on=names, how="left", maintain_order="left")["_place"]
    pair = joined.fill_null(0).to_numpy().astype(np.int64)
    known = joined.is_not_null().to_numpy() & (build >= 0)
    if not known.any() and (build >= 0).any():
        raise DataError(
            "no preference is of a pair that was probed, so none could count less for being unstable",
            expected=f"pairs such as {probes.pairs['pair'][0]!r}",
            received=f"pairs such as {preferences.keys['pair'][0]!r}",
            where="column 'pair' of the preferences",
            hint="name pairs alike in both tables, or leave the column out where they are different pairs",
        )
    place = looked_up(measured.looks, build * probes.pairs.height + pair)
    known &= place >= 0
    place = place[known]
    ones[known] = observation_weight(measured.looks.flipped[place], measured.looks.probed[place])
    return ones, {"probed": int(np.count_nonzero(measured.looks.probed[place]))}
