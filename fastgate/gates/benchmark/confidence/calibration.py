"""How a rule behaves on a user's own data: false alarms of identical builds, and power for stated improvements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate.errors import ArgumentError, DataError
from fastgate.gates.benchmark.confidence.drawing_setting import Setting, setting
from fastgate.gates.benchmark.confidence.drawings import chunks, drawn_states, outcomes
from fastgate.gates.benchmark.confidence.improvements import Improvement, improvement
from fastgate.gates.benchmark.confidence.loss_chances import loss_chances
from fastgate.gates.benchmark.confidence.replicates import multinomial_draw, require_drawable, verdict_counts
from fastgate.gates.benchmark.confidence.rule_states import FAULTY, tally, verdicts_of
from fastgate.gates.benchmark.confidence.swaps import swapped_states
from fastgate.gates.benchmark.inventory import inventory, require_cases, require_listed, require_measured
from fastgate.gates.evidence import evidence
from fastgate.gates.names import chosen_candidates
from fastgate.gates.policy import PolicySource, effective, to_dict
from fastgate.gates.verdict import OUTCOMES, VERDICTS
from fastgate.progress import Listener, Step, unheard

__all__ = ["EVENTS", "IMPROVEMENTS", "SCENARIOS", "Calibration", "calibrate"]

SCENARIOS: Final = ("identical", "rebuild", "improved")
EVENTS: Final = ("pass", "review", "block", "one_lost", "one_or_more_lost", "two_or_more_lost")
IMPROVEMENTS: Final = ("0.2sd", "0.5sd", "0.8sd")
MOST_DRAWS: Final = 10_000_000
MOST_CANDIDATES: Final = 20

Flags = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

_WIN: Final = OUTCOMES.index("win")
_LOSS: Final = OUTCOMES.index("loss")
_SCHEMA: Final[dict[str, Any]] = {
    "candidate": pl.String,
    "scenario": pl.Enum(SCENARIOS),
    "improvement": pl.String,
    "event": pl.Enum(EVENTS),
    "share": pl.Float64,
    "standard_error": pl.Float64,
    "expected": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often a rule passes, reviews and blocks builds that are known to be identical or better.

    Attributes
    ----------
    table : DataFrame
        A row per candidate, scenario and event: candidate, scenario, improvement (null but where the scenario is
        ``improved``), event, share (of the draws in which it happened), standard_error (of the share, from the number
        of draws), expected (by arithmetic; null where there is none).

        Scenarios: ``identical``, labels swapped at random; ``rebuild``, a drawing of the candidate's data judged
        against another as its previous release; ``improved``, identical and then better. Events: ``pass``,
        ``review``, ``block``; of ``identical`` also ``one_or_more_lost`` and ``two_or_more_lost``, suites that are
        significantly lost to a baseline; of ``rebuild`` also ``one_lost`` and ``two_or_more_lost``, suites won by the
        previous and not won now.
    policy : dict
        The policy as applied.
    evidence : dict
        Versions, policy hash, input fingerprint, counts; the number of draws and the seed; the number of comparisons at
        fault of each candidate that has any: such a candidate is blocked in every draw.
    """

    table: pl.DataFrame
    policy: dict[str, Any]
    evidence: dict[str, Any]

    @property
    def candidates(self) -> list[str]:
        """The candidates, in the order shown."""
        return self.table["candidate"].unique(maintain_order=True).to_list()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data without NaN or infinity."""
        return {"table": self.table.to_dicts(), "policy": self.policy, "evidence": self.evidence}


def calibrate(
    samples: Any,
    policy: PolicySource,
    *,
    candidates: Sequence[str] | None = None,
    improvements: Sequence[str] = IMPROVEMENTS,
    draws: int = 2000,
    seed: int = 0,
    tenant: str | None = None,
    columns: Mapping[str, str] | None = None,
    shape: str | None = None,
    listener: Listener = unheard,
) -> Calibration:
    """How often the benchmark gate would be wrong, and how often right, on data like these.

    Parameters
    ----------
    samples : frame, path, glob, list of paths, or Samples
        Measurements with case ids, as `fastgate.benchmark_gate` takes them.
    policy : path, preset name, dict or BenchmarkPolicy
        The rule, whose test is ``welch`` or ``paired``.
    candidates : sequence of str, optional
        The builds whose data are used; all but the baselines, 20 at most, unless given.
    improvements : sequence of str, optional
        By how much a candidate is made better: ``"0.02"`` in the KPI's unit, ``"0.5sd"`` in standard deviations, of
        every deciding KPI; or of some, ``"auc=0.01,cost=0.2sd"``. Always above 0: better, whichever direction that is.
    draws : int, optional
        How often each scenario is tried.
    seed : int, optional
        Of the draws, 0 or more.
    tenant, columns, shape
        As in `fastgate.benchmark_gate`.
    listener : callable, optional
        Told how many draws are done: see `fastgate.progress`.

    Returns
    -------
    Calibration

    Raises
    ------
    ArgumentError
        When a number is out of range, an improvement cannot be read, a candidate is unknown, or the policy's test is
        the bootstrap.
    DataError
        As `fastgate.benchmark_gate`; and when cases have no ids or only moments are known.
    PolicyError
        When the policy is not valid or the tenant unknown.

    Notes
    -----
    *Identical*: the baseline's values are moved to the candidate's mean, then in each case both values are set apart
    from their middle by the factor √(n / (n − 1)), n the cases, and swap places with chance 1/2, for all KPIs and
    baselines alike, and the whole rule is applied. Whatever differs between the builds is then chance, while the noise,
    its correlation between the sides, the KPIs and the baselines, and whatever is missing stay those of the data. Were
    the means not made equal, a difference that the builds do have would count as noise; and once they are, the
    differences add up to 0, and without the factor their mean square would be short by a share of 1/n. With it the
    mean of the squared difference of means, that of the squared standard error and, over several baselines, the mean
    products of the differences are those of fresh data, whatever the correlation, if no value is missing; Welch's test
    of 8 cases then loses as many suites to one baseline, or to any of four, as on fresh data within 5 %. Each baseline
    is set apart from the candidate by itself, so that a candidate's value is not quite the same against each. Where
    the test pairs cases, those without both values are left out beforehand, as the test leaves them out.

    By arithmetic independent suites are lost as often as `expected` says; Welch's test on the same cases, positively
    correlated, loses fewer.

    *Improved*: the same, and the candidate's values are then better by the improvement in every KPI that decides;
    guards stay equal. A standard deviation is that over the cases which the test uses, the root of the mean of both
    sides' variances, in each suite and against each baseline.

    *Rebuild*: cases are drawn with replacement twice over, independently, for all builds; the first drawing stands
    for the released build, the second is judged against it. This takes new cases for each release; where a release
    and its rebuild run the same cases, less varies, and such alarms are fewer.

    The standard error of a share s of N draws is √(s (1 − s) / N). Draws depend on the seed, the suites' names and the
    case ids alone. Cost: 0.6 to 0.8 µs a comparison of 100 cases and draw, for each scenario.

    References
    ----------
    Fisher, R. A. (1935). The Design of Experiments, section 21. Efron, B., Tibshirani, R. (1993). An Introduction to
    the Bootstrap, chapters 15 and 25.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "build": ["new"] * 6 + ["old"] * 6, "suite": "chess", "kpi": "score", "case": [1, 2, 3, 4, 5, 6] * 2,
    ...     "value": [0.9, 0.6, 0.8, 0.5, 0.7, 0.3, 0.5, 0.4, 0.6, 0.5, 0.3, 0.8]})
    >>> policy = {"gate": "benchmark", "name": "demo", "baselines": ["old"], "min_suite_wins": 1,
    ...           "kpis": {"score": {"direction": "higher"}}, "suites": ["chess"]}
    >>> found = calibrate(runs, policy, improvements=["0.5"], draws=400)
    >>> found.table.filter(event="pass").select("scenario", "improvement", "share").rows()
    [('identical', None, 0.085), ('rebuild', None, 0.2825), ('improved', '0.5', 1.0)]
    """
    from fastgate.frames import Samples, read_samples
    from fastgate.frames.forks import require_working_process

    require_working_process()
    rules = effective(policy, tenant, gate="benchmark")
    _require_count("draws", draws, 1, MOST_DRAWS)
    _require_count("seed", seed, 0, 2**63 - 1)
    deciding = list(dict.fromkeys(kpi for suite in rules.suites.values() for kpi in suite.deciding_kpis))
    better = [improvement(text, deciding) for text in improvements]
    if not isinstance(samples, Samples):
        samples = read_samples(samples, columns=columns, shape=shape, trials=rules.trials)
    require_drawable(samples, rules)
    runs = samples.shape == "runs"
    found = inventory(samples)
    require_measured(found, rules, "build" if runs else "baseline")
    ignored = require_listed(found, rules)
    require_cases(samples, rules)
    if runs and samples.cases is None:
        raise DataError(
            "labels cannot be swapped between builds whose cases have no ids",
            expected="a case id for every value (a column 'case' or 'cases')",
            received="values without",
            hint="give the case ids, so that the values of a case can swap places",
        )
    side = "build" if runs else "candidate"
    names = samples.index[side].unique().cast(pl.String).sort().to_list()
    judged = chosen_candidates(
        [name for name in names if not runs or name not in rules.baselines], rules.baselines, candidates, side
    )
    if candidates is None and len(judged) > MOST_CANDIDATES:
        raise ArgumentError(
            "these are many candidates to calibrate the rule on",
            expected=f"the names of those that matter, or {MOST_CANDIDATES} at most",
            received=f"{len(judged):,} candidates",
            hint="a typical build says how the rule fares on such data: --candidate NAME, in Python candidates=[...]",
        )
    at = setting(samples, rules, judged)
    table = _table(at, better, draws, seed, listener)
    faulty = {
        name: int(sum(plan.faulty[place].sum() for plan in at.suites)) for place, name in enumerate(judged)
    }
    record = {"shape": samples.shape, "rows": samples.n_rows, "fingerprint": samples.fingerprint}
    counts = {
        "candidates": len(judged),
        "baselines": len(rules.baselines),
        "suites": len(rules.suites),
        "draws": draws,
    }
    return Calibration(
        table,
        to_dict(rules),
        evidence(
            rules,
            record,
            counts,
            ignored=ignored or None,
            seed=seed,
            faulty={name: n for name, n in faulty.items() if n} or None,
        ),
    )


def _require_count(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArgumentError(
            f"{name} is out of range",
            expected=f"a whole number from {least} to {most}",
            received=repr(value),
            where=f"argument {name}",
        )


def _table(
    at: Setting, better: Sequence[Improvement], draws: int, seed: int, listener: Listener
) -> pl.DataFrame:
    """All scenarios, candidate by candidate."""
    chances = loss_chances(at.rules)
    expected = (
        {} if chances is None else {f"{event}_lost": chance for event, chance in chances._asdict().items()}
    )
    scenarios: list[tuple[str, str | None, dict[str, Any], dict[str, float]]] = []
    total = (2 + len(better)) * draws
    done = 0

    def heard(count: int) -> None:
        nonlocal done
        done += count
        listener(Step("calibrating", done, total, "draws"))

    scenarios.append(("identical", None, _swapped(at, None, draws, seed, heard), expected))
    scenarios.append(("rebuild", None, _rebuilt(at, draws, seed, heard), {}))
    for one in better:
        found = _swapped(at, one, draws, seed, heard)
        events = {event: found[event] for event in EVENTS[:3]}
        scenarios.append(("improved", one.text, events, {}))
    rows = [
        (name, scenario, text, event, share, (share * (1 - share) / draws) ** 0.5, chance.get(event))
        for place, name in enumerate(at.candidates)
        for scenario, text, events, chance in scenarios
        for event, counted in events.items()
        for share in (int(counted[place]) / draws,)
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _swapped(at: Setting, better: Improvement | None, draws: int, seed: int, heard: Any) -> dict[str, Counts]:
    """How often each event happens to identical builds, or to one that is then made better."""
    states_of = swapped_states(seed, better)
    verdicts = np.zeros((len(at.candidates), len(VERDICTS)), np.int64)
    lost = np.zeros((2, len(at.candidates)), np.int64)
    known = np.zeros(len(at.candidates), np.bool_)
    for first, count in chunks(at, draws):
        suites_lost = np.zeros((len(at.candidates), count), np.int32)
        counted = tally(
            _counting(outcomes(at, states_of, first, count), suites_lost), None, (*at.shape, count)
        )
        verdicts += verdict_counts(verdicts_of(counted, at.tables, at.rules.min_suite_wins, known))
        lost += np.stack([(suites_lost > 0).sum(axis=1), (suites_lost > 1).sum(axis=1)])
        heard(count)
    return {**_by_verdict(verdicts), "one_or_more_lost": lost[0], "two_or_more_lost": lost[1]}


def _counting(found: Iterator[Flags], suites_lost: npt.NDArray[np.int32]) -> Iterator[Flags]:
    """The outcomes as they are; adds up the suites that are lost to a baseline."""
    for outcome in found:
        suites_lost += ((outcome & (FAULTY - 1)) == _LOSS).any(axis=1)
        yield outcome


def _rebuilt(at: Setting, draws: int, seed: int, heard: Any) -> dict[str, Counts]:
    """How often each event happens to a drawing that is compared with another of the same build."""
    earlier, later = (drawn_states(multinomial_draw(seed, side)) for side in (1, 2))
    verdicts = np.zeros((len(at.candidates), len(VERDICTS)), np.int64)
    lost = np.zeros((2, len(at.candidates)), np.int64)
    known = np.zeros(len(at.candidates), np.bool_)
    for first, count in chunks(at, draws):
        before = np.stack(
            [(found & (FAULTY - 1)) == _WIN for found in outcomes(at, earlier, first, count)]
        ).reshape(-1, *at.shape, count)
        counted = tally(outcomes(at, later, first, count), before, (*at.shape, count))
        verdicts += verdict_counts(verdicts_of(counted, at.tables, at.rules.min_suite_wins, known))
        lost += np.stack([(counted.distinct == 1).sum(axis=1), (counted.distinct > 1).sum(axis=1)])
        heard(count)
    return {**_by_verdict(verdicts), "one_lost": lost[0], "two_or_more_lost": lost[1]}


def _by_verdict(verdicts: Counts) -> dict[str, Counts]:
    return {name: verdicts[:, VERDICTS.index(name)] for name in EVENTS[:3]}
