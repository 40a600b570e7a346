"""Properties of the stability gate: what must not matter, does not; what a rule says, holds for any probes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastgate.gates.stability.exact import falls_by_more, least_count, most_count
from fastgate.gates.stability.gate import stability_gate

KINDS = ("paraphrase", "order_swap")
POLICY = {
    "gate": "stability",
    "name": "property",
    "omit": ["template", "model_version", "adversarial_framing"],
    "min_probes": 2,
    "max_missing_share": 0.3,
    "letters": "raw",
    "min_agreement": {"paraphrase": 0.5, "order_swap": 0.5},
}
CHOICES = st.sampled_from(["A", "A", "A", "B", "B", "B", "tie", "abstain", None])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["p", "q", "r"]),
        st.sampled_from(KINDS),
        st.sampled_from(["v", "w", None]),
        st.sampled_from(["A", "B", "tie", "abstain", "A", "B", None, "odd"]),
        CHOICES,
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([None, "x", "y"]),
    ),
    min_size=1,
    max_size=40,
).filter(lambda rows: any(row[5] is not None for row in rows))
KEYS = ("build", "pair", "kind", "variant")
RUNS = ("primary_choice", "probe_choice", "primary_reason", "probe_reason")
SCHEMA = dict.fromkeys((*KEYS, *RUNS), pl.String)
POSTERIOR = pl.DataFrame(
    {"build": ["a", "a", "b", "b"], "alternative": ["x", "y"] * 2, "mean": 0.5, "sd": [0.01, 0.02, 0.3, 0.01]}
)
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def frame(rows: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def gate(table: pl.DataFrame, **more: Any) -> Any:
    return stability_gate(table, POLICY, **{"posterior": POSTERIOR, **more})


def by_hand(rows: list[tuple[Any, ...]], build: str, kind: str) -> tuple[int, int, int]:
    """Probes compared, alike and missing, by the definition."""
    n = same = missing = 0
    for name, _, its_kind, _, primary, probe, primary_reason, probe_reason in rows:
        if (name, its_kind) != (build, kind) or primary == "odd":
            continue
        if primary is None or probe is None:
            missing += 1
            continue
        if kind == "order_swap":
            probe = {"A": "B", "B": "A"}.get(probe, probe)
        n += 1
        if primary == probe and (primary != "abstain" or (primary_reason == probe_reason and primary_reason)):
            same += 1
    return n, same, missing


@quick
@given(ROWS)
def test_counts_and_verdicts_are_those_of_the_definition(rows: list[tuple[Any, ...]]) -> None:
    result = gate(frame(rows))
    verdicts = dict(result.verdicts.select(pl.col("build", "verdict").cast(pl.String)).rows())
    for build in verdicts:
        holds = []
        for kind in KINDS:
            n, same, missing = by_hand(rows, build, kind)
            row = result.kinds.filter(
                pl.col("build").cast(pl.String) == build, pl.col("kind").cast(pl.String) == kind
            ).row(0, named=True)
            assert (row["n"], row["agree"], row["missing"]) == (n, same, missing)
            mine = [row for row in rows if (row[0], row[2]) == (build, kind)]
            whole = len({row[:4] for row in mine}) == len(mine) and all(
                row[4] not in (None, "odd") for row in mine
            )
            share = Fraction(missing, max(n + missing, 1))
            holds.append(whole and n >= 2 and 2 * same >= n and share <= Fraction(3, 10))
            assert row["holds"] == holds[-1]
            assert (row["reasons"] == []) == row["holds"]
        assert verdicts[build] == ("pass" if all(holds) and build == "a" else "block")
    for row in result.verdicts.to_dicts():
        assert (row["verdict"] == "pass") == (row["reasons"] == [])


@quick
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[tuple[Any, ...]], random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    first, second = gate(frame(rows)), gate(frame(shuffled))
    assert first.evidence == second.evidence
    for name in ("verdicts", "kinds", "alternatives", "faults"):
        assert first.tables[name].equals(second.tables[name]), name
    columns = first.flips.columns[:-2]
    assert first.flips.sort(columns).equals(second.flips.sort(columns))


@quick
@given(ROWS)
def test_a_build_is_judged_alike_alone(rows: list[tuple[Any, ...]]) -> None:
    together = gate(frame(rows))
    for build in together:
        mine = [row for row in rows if row[0] == build]
        if not any(row[4] not in (None, "odd") or row[5] is not None for row in mine):
            continue
        alone = stability_gate(frame(mine), {**POLICY}, posterior=POSTERIOR)
        for name in ("verdicts", "kinds", "flips", "faults"):
            whole = together.tables[name].filter(pl.col("build").cast(pl.String) == build).to_dicts()
            assert whole == alone.tables[name].to_dicts(), name


@quick
@given(ROWS)
def test_results_survive_as_plain_data(rows: list[tuple[Any, ...]]) -> None:
    import json

    plain = gate(frame(rows)).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.decimals(0, 1, places=6, allow_nan=False),
)
def test_counts_are_compared_as_fractions(a: int, b: int, c: int, d: int, threshold: Any) -> None:
    share = float(threshold)
    exact = Fraction(str(share))
    n = np.array([a, b])
    for total, least, most in zip((a, b), least_count(n, share), most_count(n, share), strict=True):
        assert least - 1 < exact * total <= least
        assert most <= exact * total < most + 1
    a, c = min(a, b), min(c, d)  # no more agree than there are
    counts = [np.array([x]) for x in (a, b, c, d)]
    falls = b > 0 and d > 0 and Fraction(a, b) - Fraction(c, d) > exact
    assert falls_by_more(counts[0], counts[1], counts[2], counts[3], share).item() == falls
