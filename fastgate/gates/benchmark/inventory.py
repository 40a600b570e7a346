"""What the data and the policy name: all that the policy asks for must be there, and nothing beside it unnoticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from fastgate.errors import DataError
from fastgate.gates.names import some
from fastgate.gates.schema import nearest

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = ["Inventory", "inventory", "require_cases", "require_listed", "require_measured"]


class Inventory(NamedTuple):
    """The names that some measurements have."""

    baselines: frozenset[str]
    """Builds that may be baselines: of runs all, of pairs those that are one."""
    measured: frozenset[tuple[str, str]]
    """Suites with their KPIs."""

    def plus(self, other: Inventory) -> Inventory:
        """The names that either has."""
        return Inventory(self.baselines | other.baselines, self.measured | other.measured)

    @property
    def suites(self) -> list[str]:
        """The suites, sorted."""
        return _sorted({suite for suite, _ in self.measured})

    @property
    def kpis(self) -> list[str]:
        """The KPIs, sorted."""
        return _sorted({kpi for _, kpi in self.measured})


def _sorted(names: set[str] | frozenset[str]) -> list[str]:
    return sorted(names, key=str.encode)


def inventory(samples: Samples) -> Inventory:
    """The names that `samples` have."""
    side = "build" if samples.shape == "runs" else "baseline"
    builds = samples.index[side].unique().cast(pl.String).to_list()
    pairs = samples.index.select("suite", "kpi").unique().select(pl.all().cast(pl.String)).rows()
    return Inventory(frozenset(builds), frozenset((suite, kpi) for suite, kpi in pairs))


def _kpis(rules: BenchmarkRules) -> list[str]:
    return list(dict.fromkeys(kpi for suite in rules.suites.values() for kpi in suite.kpis))


def require_measured(found: Inventory, rules: BenchmarkRules, side: str) -> None:
    """Refuse data that lack a baseline, suite or KPI of the policy altogether.

    Parameters
    ----------
    found : Inventory
        Of all the data.
    rules : BenchmarkRules
    side : str
        The column in which baselines are named.

    Raises
    ------
    DataError
    """
    for kind, column, wanted, names in (
        ("baseline", side, rules.baselines, _sorted(found.baselines)),
        ("suite", "suite", tuple(rules.suites), found.suites),
        ("KPI", "kpi", tuple(_kpis(rules)), found.kpis),
    ):
        for name in wanted:
            if name not in set(names):
                similar = nearest(name, names)
                raise DataError(
                    f"the samples hold nothing of the policy's {kind} {name!r}",
                    expected=f"rows whose {column} is {name!r}",
                    received=some(names),
                    where=f"column {column!r}",
                    hint=f"did you mean {similar!r}? Correct the policy or the samples"
                    if similar
                    else "correct the policy or the samples",
                )


def require_listed(found: Inventory, rules: BenchmarkRules) -> dict[str, list[str]]:
    """The suites and KPIs that only the data have: an error, or what is ignored because the policy says so.

    Raises
    ------
    DataError
        When there are some, and the policy does not say ``unlisted = "ignore"``.
    """
    ignored = {
        "suites": [name for name in found.suites if name not in rules.suites],
        "kpis": _unlisted_kpis(found, rules),
    }
    ignored = {plural: names for plural, names in ignored.items() if names}
    if ignored and rules.unlisted == "error":
        plural, names = next(iter(ignored.items()))
        raise DataError(
            f"the samples hold {plural} that the policy does not name, so nobody would judge them",
            expected=some(list(rules.suites) if plural == "suites" else _kpis(rules)),
            received=some(names),
            hint='name them in the policy, or state unlisted = "ignore" there',
        )
    return ignored


def _unlisted_kpis(found: Inventory, rules: BenchmarkRules) -> list[str]:
    """KPIs that the data have for a suite of the policy which does not name them there."""
    known = set(_kpis(rules))
    names: dict[str, None] = {}
    for kpi, suite in sorted(((kpi, suite) for suite, kpi in found.measured), key=_bytes):
        if suite in rules.suites and kpi not in rules.suites[suite].kpis:
            names[f"{kpi} (suite {suite})" if kpi in known else kpi] = None
    return list(names)


def _bytes(names: tuple[str, str]) -> tuple[bytes, bytes]:
    return names[0].encode(), names[1].encode()


def require_cases(samples: Samples, rules: BenchmarkRules) -> None:
    """Refuse samples of which nobody can tell whether both sides ran the same cases, where that matters.

    Raises
    ------
    DataError
    """
    matters = rules.require_same_cases or rules.pairs_cases
    if not matters or samples.shape == "pairs" or samples.index["case_fingerprint"].null_count() == 0:
        return
    raise DataError(
        "the samples do not say which cases they hold, so nobody can tell whether both sides ran the same",
        expected="a case id for every value (a column 'case' or 'cases'), or with moments a 'case_fingerprint'",
        received=f"{samples.index['case_fingerprint'].null_count()} cells without",
        hint="give the case ids"
        + ("" if rules.pairs_cases else ", or state require_same_cases = false in the policy"),
    )
