"""How sure a verdict is: the whole rule judged anew on cases drawn with replacement, many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fastgate import threads
from fastgate.errors import ArgumentError, DataError
from fastgate.gates.benchmark.confidence.drawing_setting import Setting, setting
from fastgate.gates.benchmark.confidence.drawings import Draw, chunks, drawn_states, outcomes
from fastgate.gates.benchmark.confidence.rule_states import tally, verdicts_of
from fastgate.gates.benchmark.result import TABLES
from fastgate.gates.verdict import VERDICTS

if TYPE_CHECKING:
    from fastgate.frames.samples import Samples
    from fastgate.gates.benchmark.confidence.case_sets import Stratum
    from fastgate.gates.benchmark.policy import BenchmarkRules

__all__ = [
    "MOST_REPLICATES",
    "Replicates",
    "multinomial_draw",
    "replicate",
    "requested",
    "require_drawable",
    "verdict_counts",
    "wins_before",
    "with_shares",
]

MOST_REPLICATES: Final = 1_000_000


class Replicates(NamedTuple):
    """What replicates are asked for."""

    n: int
    """How many."""
    seed: int
    """Of the drawings."""


def requested(
    n_replicates: int | None, seed: int, samples: Samples | None, rules: BenchmarkRules
) -> Replicates | None:
    """The replicates that a call asks for, found possible; None where it asks for none.

    Raises
    ------
    ArgumentError
        When the numbers are no numbers of replicates and no seed, or the policy's test is the bootstrap.
    DataError
        When only moments are known.
    """
    if n_replicates is None:
        if seed != 0:
            raise ArgumentError(
                "a seed of replicates is given without replicates",
                expected="replicates=, how often the cases are drawn anew",
                received=f"replicates_seed={seed!r}",
            )
        return None
    for name, value, least, most in (
        ("replicates", n_replicates, 1, MOST_REPLICATES),
        ("replicates_seed", seed, 0, 2**63 - 1),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ArgumentError(
                f"{name} is out of range",
                expected=f"a whole number from {least} to {most}",
                received=repr(value),
                where=f"argument {name}",
            )
    require_drawable(samples, rules)
    return Replicates(n_replicates, seed)


def require_drawable(samples: Samples | None, rules: BenchmarkRules) -> None:
    """Refuse samples (None: not read yet, with values) and policies of which no cases can be drawn anew."""
    if rules.bootstrap is not None:
        raise ArgumentError(
            "a policy of the bootstrap cannot be judged on cases drawn anew",
            expected='test = "welch" or test = "paired"',
            received='test = "bootstrap", which would take a bootstrap within each drawing',
            where="policy, test",
            hint="leave the replicates out; or state a t test in a copy of the policy, which decides about means",
        )
    if samples is not None and not samples.parts:
        raise DataError(
            "cases cannot be drawn from moments",
            expected="a row per case, or the values of each cell in a list",
            received="n, mean and variance of each cell",
            hint="give the values, or leave the replicates out",
        )


def with_shares(
    verdicts: pl.DataFrame,
    samples: Samples,
    rules: BenchmarkRules,
    replicates: Replicates,
    *,
    won_before: pl.DataFrame | None = None,
    unmatched: Sequence[str] = (),
) -> pl.DataFrame:
    """The verdicts with the shares of replicates in which they come out.

    Parameters
    ----------
    verdicts : DataFrame
        From `fastgate.gates.benchmark.judgement.judge`.
    samples, rules, won_before, unmatched
        As there.
    replicates : Replicates
        From `requested`.
    """
    shares = replicate(
        samples,
        rules,
        verdicts["candidate"].cast(pl.String).to_list(),
        n_replicates=replicates.n,
        seed=replicates.seed,
        won_before=won_before,
        unmatched=unmatched,
    )
    return verdicts.with_columns(
        pl.lit(replicates.n, TABLES["verdicts"]["replicates"]).alias("replicates"), *shares.drop("candidate")
    )


def replicate(
    samples: Samples,
    rules: BenchmarkRules,
    candidates: Sequence[str],
    *,
    n_replicates: int,
    seed: int,
    won_before: pl.DataFrame | None = None,
    unmatched: Sequence[str] = (),
) -> pl.DataFrame:
    """The shares of replicates in which each candidate passes, needs review and is blocked.

    A replicate draws the cases of each suite anew, with replacement and as many as there are, the same ones for all
    builds and KPIs, and judges the whole rule by them.

    Parameters
    ----------
    samples : Samples
        With values.
    rules : BenchmarkRules
        Of a t test.
    candidates : sequence of str
        The builds to judge, in the order shown.
    n_replicates : int
    seed : int
        Of the drawings, 0 or more, below 2⁶³.
    won_before, unmatched
        As in `fastgate.gates.benchmark.judgement.judge`.

    Returns
    -------
    DataFrame
        candidate, share_pass, share_review, share_block.

    Raises
    ------
    ArgumentError
        When the policy's test is the bootstrap.
    DataError
        When only moments are known.

    Notes
    -----
    A share is a bootstrap estimate of how often the verdict would have come out so had other cases been drawn from
    where these came from. It is not the probability that the build is better, nor that the verdict is right: a build
    that is worse, measured on few cases, may pass in many replicates. Where the rule asks for a significant
    difference, a candidate that has just reached it passes in about half of them. The drawings add their noise to
    that of the data, so that a share tends to be nearer to one half than the rate at which fresh data would have that
    verdict. The Monte Carlo error of a share s of R replicates is √(s (1 − s) / R), 2.2 percentage points at most
    with 500.

    Each case counts as often as it was drawn, and n in the tests is the number of values drawn: that of the cases,
    unless some have no value; these are drawn like others and leave n smaller. Faults are facts of the data: a
    comparison in which cases or values are missing, repeated or too few stays so in every replicate. One that a
    drawing leaves with fewer than two values is at fault in it. A suite's cases are those that the candidate or a
    baseline has in it; where they have no ids, each build's are drawn by themselves, since nobody knows which are the
    same. Of two drawings with equal multiplicities t is the same within 1e-11.

    The drawings depend on the seed, the suite's name and the ids of its cases alone, so that neither other candidates
    nor the order of rows nor the number of threads changes a share. Only a correction over the sweep ties candidates
    together, as it does in the rule.

    Cost, on two cores and 100 cases: about 15 ns a comparison and replicate, the paired test 30 ns, 150 ns under a
    correction, which sorts p-values. Without one a p-value is computed only where t is within the range of critical
    values that its degrees of freedom can have.

    References
    ----------
    Efron, B., Tibshirani, R. (1998). The problem of regions. Annals of Statistics 26, 1687–1718.

    Examples
    --------
    >>> import polars as pl
    >>> from fastgate.frames import read_samples
    >>> from fastgate.gates.policy import effective
    >>> rules = effective({
    ...     "gate": "benchmark", "name": "demo", "baselines": ["old"], "min_suite_wins": 1, "suites": ["chess"],
    ...     "kpis": {"score": {"direction": "higher"}}}, None, gate="benchmark")
    >>> runs = pl.DataFrame({
    ...     "build": ["new"] * 5 + ["old"] * 5, "suite": "chess", "kpi": "score", "case": [1, 2, 3, 4, 5] * 2,
    ...     "value": [0.9, 0.6, 0.8, 0.5, 0.7, 0.5, 0.4, 0.6, 0.5, 0.3]})
    >>> replicate(read_samples(runs), rules, ["new"], n_replicates=400, seed=0).row(0)
    ('new', 0.74, 0.0, 0.26)
    """
    require_drawable(samples, rules)
    at = setting(samples, rules, candidates)
    states_of = drawn_states(multinomial_draw(seed))
    before = None if won_before is None else wins_before(won_before, at)
    unknown = np.isin(list(candidates), list(unmatched))
    counts = np.zeros((len(candidates), len(VERDICTS)), np.int64)
    for first, count in chunks(at, n_replicates):
        counted = tally(outcomes(at, states_of, first, count), before, (*at.shape, count))
        counts += verdict_counts(verdicts_of(counted, at.tables, rules.min_suite_wins, unknown))
    return pl.DataFrame(
        {
            "candidate": list(candidates),
            **{
                f"share_{name}": counts[:, VERDICTS.index(name)] / n_replicates
                for name in ("pass", "review", "block")
            },
        },
        schema_overrides={"candidate": pl.String},
    )


def multinomial_draw(seed: int, side: int = 0) -> Draw:
    """How often each case of a stratum is drawn in each replicate; `side` tells independent drawings apart."""

    def draw(stratum: Stratum, first: int, count: int) -> npt.NDArray[np.float64]:
        from fastgate.kernels.rng import multinomial_weights

        weights = np.empty((count, stratum.n_cases))
        if stratum.n_cases:
            threads.run(
                multinomial_weights,
                count,
                np.uint64(seed),
                first,
                np.uint64(stratum.key),
                np.uint64(side),
                weights,
                work=2.0 * stratum.n_cases,
            )
        return np.ascontiguousarray(weights.T)

    return draw


def wins_before(won_before: pl.DataFrame, at: Setting) -> npt.NDArray[np.bool_]:
    """Whether the previous release won each suite: (n_suites, n_candidates, n_baselines)."""
    places = [
        {name: place for place, name in enumerate(names)}
        for names in (at.rules.suites, at.candidates, at.rules.baselines)
    ]
    won = np.zeros([len(names) for names in places], np.bool_)
    for *names, yes in won_before.select("suite", "candidate", "baseline", "won_before").iter_rows():
        if yes and all(name in known for name, known in zip(names, places, strict=True)):
            won[tuple(known[name] for name, known in zip(names, places, strict=True))] = True
    return won


def verdict_counts(verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """How often each of `VERDICTS` comes out, of each candidate: (n_candidates, n_verdicts)."""
    return np.stack([(verdicts == place).sum(axis=1) for place in range(len(VERDICTS))], axis=1)
