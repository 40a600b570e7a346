"""The intake of outcomes, and the totals and tallies of runs, against plain Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fastgate.errors import ArgumentError, DataError
from fastgate.frames import outcomes as outcomes_module
from fastgate.frames.outcome_rows import runs_anyhow, runs_as_they_stand
from fastgate.frames.outcomes import read_outcomes
from fastgate.frames.tallies import TRIAL_COUNTS, compare_runs, find_flips, total_runs


def outcomes_frame(
    builds: int, suites: int, cases: int, trials: int = 1, errors: float = 0.0, seed: int = 1
) -> pl.DataFrame:
    """Outcomes of every build on every suite, build by build, as programs write them."""
    rng = np.random.default_rng(seed)
    n = builds * suites * cases * trials
    rows = np.arange(n)
    frame = pl.DataFrame(
        {
            "build": rows // (suites * cases * trials),
            "suite": rows // (cases * trials) % suites,
            "case": rows // trials % cases,
            "trial": rows % trials,
            "passed": pl.Series(rng.random(n) < 0.7)
            .to_frame("p")
            .select(pl.when(pl.Series(rng.random(n) >= errors)).then("p"))["p"],
        }
    ).with_columns(
        pl.format("build-{}", "build").alias("build"),
        pl.format("s{}", "suite").alias("suite"),
        pl.format("case {} of a long name", "case").alias("case"),
    )
    return frame if trials > 1 else frame.drop("trial")


def plain(frame: pl.DataFrame) -> dict[tuple[str, str], dict[str, list[tuple[Any, bool | None]]]]:
    """Run → case → its trials in order, each with its outcome."""
    runs: dict[tuple[str, str], dict[str, list[tuple[Any, bool | None]]]] = {}
    for row in frame.iter_rows(named=True):
        run = runs.setdefault((row["build"], row["suite"]), {})
        run.setdefault(str(row["case"]), []).append((row.get("trial"), row["passed"]))
    for run in runs.values():
        for trials in run.values():
            trials.sort(key=lambda pair: pair[0] if pair[0] is not None else 0)
    return runs


def decided(trials: list[tuple[Any, bool | None]], rule: str) -> bool | None:
    """Whether a case passed; None where the failed executions leave it open."""
    outcomes = [outcome for _, outcome in trials]
    passes, fails = outcomes.count(True), outcomes.count(False)
    if rule == "first":
        return outcomes[0]
    if rule == "all":
        return False if fails else None if None in outcomes else True
    if rule == "majority":
        if 2 * passes > len(outcomes):
            return True
        return False if 2 * (len(outcomes) - fails) <= len(outcomes) else None
    return None if None in outcomes else fails == 0


CODES = {False: 0, True: 1, None: 2}


def contents(outcomes: Any) -> dict[tuple[str, str], list[tuple[str, str, int]]]:
    """Run → (case, trial, code), as the intake holds them."""
    runs, names = outcomes.runs, outcomes.index.select(pl.all().cast(pl.String)).rows()
    found = {}
    for run, key in enumerate(names):
        keys = outcomes.run_keys(run)
        case = runs.case_names.gather(keys >> runs.trial_bits).to_list()
        trial = runs.trial_names.gather(keys & ((1 << runs.trial_bits) - 1)).to_list()
        found[key] = list(zip(case, trial, outcomes.run_codes(run).tolist(), strict=True))
    return found


LAYOUTS = {
    "as it stands": lambda frame: frame,
    "shuffled": lambda frame: frame.sample(fraction=1, shuffle=True, seed=5),
    "case by case": lambda frame: frame.sort("case", "build"),
    "backwards": lambda frame: frame.reverse(),
    "in chunks": lambda frame: pl.concat([frame[:333], frame[333:1000], frame[1000:]], rechunk=False),
    "suite by suite": lambda frame: frame.sort("suite", maintain_order=True),
    "a gap": lambda frame: frame.filter(pl.int_range(pl.len()) != 777),
}


class TestIntake:
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("trials", "errors"), [(1, 0.0), (1, 0.1), (3, 0.0), (3, 0.2), (12, 0.05)])
    def test_any_layout_gives_the_rows_content(self, layout: str, trials: int, errors: float) -> None:
        frame = LAYOUTS[layout](outcomes_frame(12, 3, 70, trials, errors))
        outcomes = read_outcomes(frame)
        wanted = {
            run: sorted(
                (case, "" if trial is None else str(trial), CODES[outcome])
                for case, pairs in cases.items()
                for trial, outcome in pairs
            )
            for run, cases in plain(frame).items()
        }
        found = contents(outcomes)
        assert {run: sorted(rows) for run, rows in found.items()} == wanted
        assert list(found) == sorted(found)

    @pytest.mark.parametrize("trials", [1, 4])
    def test_both_ways_of_reading_agree(self, trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """The way for runs that stand together is taken, and gives what the general way gives."""
        frame = LAYOUTS["in chunks"](outcomes_frame(30, 3, 80, trials, 0.1))
        taken = []

        def quick(*arguments: Any) -> Any:
            taken.append(runs_as_they_stand(*arguments))
            return taken[-1]

        monkeypatch.setattr(outcomes_module, "runs_as_they_stand", quick)
        first = read_outcomes(frame)
        assert taken[0] is not None
        monkeypatch.setattr(outcomes_module, "runs_as_they_stand", lambda *arguments: None)
        second = read_outcomes(frame)
        assert contents(first) == contents(second)
        assert first.fingerprint == second.fingerprint

    def test_runs_of_one_suite_share_a_list(self) -> None:
        for frame in (outcomes_frame(40, 2, 64), LAYOUTS["shuffled"](outcomes_frame(40, 2, 64))):
            runs = read_outcomes(frame).runs
            assert runs.list_offsets.size - 1 == 1  # both suites have cases of the same names
            assert runs.list_keys.size == 64
            assert runs.plane_offsets[-1] == 80

    def test_the_general_way_is_imported_whole(self) -> None:
        assert callable(runs_anyhow)

    def test_the_fingerprint_is_one_of_content(self) -> None:
        frame = outcomes_frame(5, 2, 40, 2, 0.1)
        prints = {
            read_outcomes(LAYOUTS[layout](frame)).fingerprint for layout in LAYOUTS if layout != "a gap"
        }
        assert len(prints) == 1
        flipped = frame.with_columns(
            passed=pl.when(pl.int_range(pl.len()) == 7).then(~pl.col("passed")).otherwise("passed")
        )
        renamed = frame.with_columns(case=pl.col("case").str.replace("case 7 ", "case seven "))
        for other in (
            flipped,
            renamed,
            LAYOUTS["a gap"](frame.vstack(frame[:0]))[1:],
            frame.with_columns(trial=1 - pl.col("trial")),
        ):
            assert read_outcomes(other).fingerprint not in prints

    def test_trials_named_by_numbers_are_in_their_order(self) -> None:
        frame = pl.DataFrame(
            {"build": "b", "suite": "s", "case": "c", "trial": [11, 2, 1, 10, 9], "passed": True}
        )
        outcomes = read_outcomes(frame)
        assert [trial for _, trial, _ in contents(outcomes)["b", "s"]] == ["1", "2", "9", "10", "11"]
        texts = read_outcomes(frame.with_columns(trial=pl.Series(["b", "aa", "a", "10", "c"])))
        assert [trial for _, trial, _ in contents(texts)["b", "s"]] == ["10", "a", "aa", "b", "c"]

    def test_other_columns_are_kept_on_request(self) -> None:
        frame = outcomes_frame(2, 1, 20).with_columns(temperature=0.5, other=1)
        kept = read_outcomes(frame, further=["temperature", "absent", "build"]).attributes
        assert kept.sort("build").rows() == [("build-0", "s0", 0.5), ("build-1", "s0", 0.5)]
        mapped = read_outcomes(
            frame.rename({"temperature": "T"}), {"temperature": "T"}, further=["temperature"]
        ).attributes
        assert mapped.columns == ["build", "suite", "temperature"]

    def test_files_and_renamed_columns(self, tmp_path: Path) -> None:
        frame = outcomes_frame(3, 2, 30, 2, 0.1)
        wanted = read_outcomes(frame).fingerprint
        frame.write_parquet(tmp_path / "a.parquet")
        frame.write_csv(tmp_path / "a.csv")
        frame.write_ndjson(tmp_path / "a.ndjson")
        for name in ("a.parquet", "a.csv", "a.ndjson"):
            assert read_outcomes(tmp_path / name).fingerprint == wanted, name
        frame[:100].write_parquet(tmp_path / "b1.parquet")
        frame[100:].write_parquet(tmp_path / "b2.parquet")
        assert read_outcomes(tmp_path / "b*.parquet").fingerprint == wanted
        renamed = frame.rename({"passed": "is_safe", "case": "prompt"})
        assert read_outcomes(renamed, {"passed": "is_safe", "case": "prompt"}).fingerprint == wanted

    @pytest.mark.parametrize(
        ("passed", "words"),
        [
            ([1, 0], "booleans"),
            ([1.0, 0.0], "booleans"),
            (["true", "false"], "passed == 'true'"),
            (["yes", "no"], "booleans"),
        ],
    )
    def test_what_is_no_boolean_is_refused(self, passed: list[Any], words: str) -> None:
        frame = pl.DataFrame({"build": ["a", "b"], "suite": "s", "case": "c", "passed": passed})
        with pytest.raises(DataError) as caught:
            read_outcomes(frame)
        assert "'passed'" in str(caught.value)
        assert words in str(caught.value)

    def test_csv_spells_booleans(self, tmp_path: Path) -> None:
        file = tmp_path / "o.csv"
        file.write_text(
            "build,suite,case,passed,error\na,s,1,TRUE,\na,s,2,false,\na,s,3,,timeout\na,s,4,true,timeout\n"
        )
        outcomes = read_outcomes(file)
        assert outcomes.run_codes(0).tolist() == [1, 0, 2, 2]
        file.write_text("build,suite,case,passed\na,s,1,1\n")
        with pytest.raises(DataError, match="neither true nor false"):
            read_outcomes(file)

    @pytest.mark.parametrize(
        "error",
        [[None, "boom", "", None], [False, True, False, None], ["", "x", " ", ""]],
    )
    def test_an_error_voids_the_outcome(self, error: list[Any]) -> None:
        frame = pl.DataFrame(
            {
                "build": "b",
                "suite": "s",
                "case": [1, 2, 3, 4],
                "passed": [True, True, False, None],
                "error": error,
            }
        )
        assert read_outcomes(frame).run_codes(0).tolist() == [1, 2, 0, 2]

    def test_an_error_column_of_numbers_is_refused(self) -> None:
        frame = pl.DataFrame({"build": "b", "suite": "s", "case": [1], "passed": [True], "error": [0]})
        with pytest.raises(DataError, match="'error'"):
            read_outcomes(frame)

    def test_missing_columns_are_named(self) -> None:
        with pytest.raises(DataError, match="passed"):
            read_outcomes(pl.DataFrame({"build": "b", "suite": "s", "case": [1], "ok": [True]}))
        with pytest.raises(ArgumentError):
            read_outcomes(pl.DataFrame({"build": ["b"]}), shape="runs")

    def test_there_is_no_run_out_of_range(self) -> None:
        with pytest.raises(IndexError):
            read_outcomes(outcomes_frame(1, 1, 20)).run_keys(1)


class TestCounts:
    def test_counts_and_rates(self) -> None:
        outcomes = read_outcomes(
            pl.DataFrame({"build": ["b", "a"], "suite": "s", "total": [240, 240], "rate": [0.876, 220 / 240]})
        )
        assert outcomes.shape == "counts"
        assert outcomes.counts is not None
        assert outcomes.counts.passes.tolist() == [220.0, 0.876 * 240]
        assert outcomes.counts.totals.tolist() == [240, 240]

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            ({"total": [10], "passed": [11]}, "more cases passed"),
            ({"total": [10], "passed": [-1]}, "'passed' does not hold counts"),
            ({"total": [10], "passed": [1.5]}, "'passed' does not hold counts"),
            ({"total": [10], "passed": [None]}, "'passed' does not hold"),
            ({"total": [10.5], "passed": [1]}, "'total' does not hold counts"),
            ({"total": [10], "passed": [True]}, "'passed' does not hold counts"),
            ({"total": [10], "rate": [1.5]}, "'rate' does not hold rates"),
            ({"total": [10], "rate": [float("nan")]}, "'rate' does not hold rates"),
            ({"total": [10, 10], "passed": [1, 1]}, "counted twice"),
        ],
    )
    def test_what_is_no_count_is_refused(self, columns: dict[str, Any], words: str) -> None:
        frame = pl.DataFrame(columns).with_columns(build=pl.lit("b"), suite=pl.lit("s"))
        with pytest.raises(DataError) as caught:
            read_outcomes(frame)
        assert words in str(caught.value)


@pytest.mark.parametrize("rule", TRIAL_COUNTS)
@pytest.mark.parametrize(("trials", "errors"), [(1, 0.0), (1, 0.2), (4, 0.0), (4, 0.2)])
class TestTallies:
    def test_totals(self, rule: str, trials: int, errors: float) -> None:
        frame = outcomes_frame(4, 2, 90, trials, errors)
        outcomes = read_outcomes(frame)
        totals = total_runs(outcomes, rule)
        for run, (_, cases) in enumerate(sorted(plain(frame).items())):
            codes = Counter(outcome for pairs in cases.values() for _, outcome in pairs)
            verdicts = Counter(decided(pairs, rule) for pairs in cases.values())
            assert totals.passes[run] == codes[True]
            assert totals.fails[run] == codes[False]
            assert totals.errors[run] == codes[None]
            assert totals.passed_cases[run] == verdicts[True]
            assert totals.failed_cases[run] == verdicts[False]
            assert totals.undecided_cases[run] == verdicts[None]
            mixed = [{outcome for _, outcome in pairs} >= {True, False} for pairs in cases.values()]
            assert totals.flaky_cases[run] == sum(mixed)
            assert (totals.cases[run], totals.repeats[run], totals.most_trials[run]) == (90, 0, trials)

    def test_comparisons(self, rule: str, trials: int, errors: float) -> None:
        """Also of runs with other cases and other trials."""
        whole = outcomes_frame(3, 2, 90, trials, errors)
        gone = (pl.col("build") == "build-2") & (pl.col("case").str.contains("case [1-4] "))
        frame = whole.filter(~gone)
        if trials > 1:
            frame = frame.filter(
                ~(
                    (pl.col("build") == "build-1")
                    & (pl.col("case") == "case 9 of a long name")
                    & (pl.col("trial") == 2)
                )
            )
        outcomes, runs = read_outcomes(frame), plain(frame)
        names = outcomes.index.select(pl.all().cast(pl.String)).rows()
        candidate = np.array([names.index((f"build-{b}", s)) for b in (1, 2) for s in ("s0", "s1")])
        baseline = np.array([names.index(("build-0", s)) for b in (1, 2) for s in ("s0", "s1")])
        totals = total_runs(outcomes, rule)
        tallies = compare_runs(outcomes, candidate, baseline, rule, "same", totals)
        flips = find_flips(outcomes, candidate, baseline, rule, tallies.regressed + tallies.fixed)
        listed = []
        for i, (one, other) in enumerate(zip(candidate, baseline, strict=True)):
            mine, theirs = runs[names[one]], runs[names[other]]
            shared = sorted(set(mine) & set(theirs))
            used = [
                c
                for c in shared
                if decided(mine[c], rule) is not None and decided(theirs[c], rule) is not None
            ]
            counts: Counter[str] = Counter()
            sums: Counter[str] = Counter()
            for case in used:
                a = [outcome for _, outcome in mine[case] if outcome is not None]
                b = [outcome for _, outcome in theirs[case] if outcome is not None]
                share, share_b = sum(a) / len(a), sum(b) / len(b)
                gain = (
                    share - share_b
                    if rule in ("share", "each")
                    else decided(mine[case], rule) - decided(theirs[case], rule)
                )  # type: ignore[operator]
                both = share > 0 if rule in ("share", "each") else decided(mine[case], rule)
                counts[
                    "fixed" if gain > 0 else "regressed" if gain < 0 else "both" if both else "neither"
                ] += 1
                if gain:
                    listed.append((i, case, int(gain < 0), sum(a), len(a), sum(b), len(b)))
                counts["passes_candidate"] += sum(a)
                counts["trials_candidate"] += len(a)
                counts["passes_baseline"] += sum(b)
                counts["trials_baseline"] += len(b)
                sums["shares_candidate"] += share  # type: ignore[assignment]
                sums["shares_baseline"] += share_b  # type: ignore[assignment]
                sums["squares"] += (share - share_b) ** 2  # type: ignore[assignment]
                if len(a) > 1 and len(b) > 1:
                    counts["repeated"] += 1
                    counts["regressed_every"] += share == 0 and share_b == 1
                    counts["fixed_every"] += share == 1 and share_b == 0
                    counts["flaky_candidate"] += 0 < share < 1
                    counts["flaky_baseline"] += 0 < share_b < 1
                    sums["repeated_gains"] += share - share_b  # type: ignore[assignment]
                    sums["repeated_squares"] += (share - share_b) ** 2  # type: ignore[assignment]
                    within = np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)
                    sums["within"] += within  # type: ignore[assignment]
            counts["undecided_candidate"] = sum(decided(mine[c], rule) is None for c in shared)
            counts["undecided_baseline"] = sum(decided(theirs[c], rule) is None for c in shared)
            counts["missing_candidate"] = len(set(theirs) - set(mine))
            counts["missing_baseline"] = len(set(mine) - set(theirs))
            counts["unlike_trials"] = sum(
                [trial for trial, _ in mine[c]] != [trial for trial, _ in theirs[c]] for c in shared
            )
            for name, column in tallies._asdict().items():
                if column.dtype == np.int64:
                    assert column[i] == counts[name], name
                else:
                    assert column[i] == pytest.approx(sums[name], rel=1e-12, abs=1e-12), name
        names_of = outcomes.runs.case_names
        found = [
            (i, names_of[case], *rest)
            for i, case, *rest in zip(*(column.tolist() for column in flips), strict=True)
        ]
        assert found == listed


class TestStoppedTrials:
    """Trials that stop at the first failure."""

    @staticmethod
    def tally(mine: list[str], theirs: list[str]) -> int:
        rows = [
            {
                "build": build,
                "suite": "s",
                "case": case,
                "trial": trial,
                "passed": {"p": True, "f": False, "e": None}[letter],
            }
            for build, cases in (("new", mine), ("old", theirs))
            for case, letters in enumerate(cases)
            for trial, letter in enumerate(letters)
        ]
        outcomes = read_outcomes(pl.DataFrame(rows))
        totals = total_runs(outcomes, "all")
        one, other = np.array([0]), np.array([1])
        return int(compare_runs(outcomes, one, other, "all", "first-failure", totals).unlike_trials[0])

    @pytest.mark.parametrize(
        ("mine", "theirs", "unlike"),
        [
            (["pf", "ppp"], ["ppp", "f"], 0),
            (["pf", "ppp"], ["ppp", "ff"], 1),  # went on after a failure
            (["pp", "ppp"], ["ppp", "f"], 1),  # stopped without one
            (["pfp", "ppp"], ["ppp", "f"], 1),  # the failure is not the last
            (["pef", "ppp"], ["pep", "f"], 0),  # an execution that failed is no failure
            (["p", "p"], ["p", "f"], 0),
            (["f", "pf"], ["f", "ppf"], 0),  # nobody passed throughout: the limit is not known to be more
        ],
    )
    def test_a_case_stops_at_its_only_failure(self, mine: list[str], theirs: list[str], unlike: int) -> None:
        assert self.tally(mine, theirs) == unlike
