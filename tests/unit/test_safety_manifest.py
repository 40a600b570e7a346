"""Manifests: what they may state, how they are hashed, read and compared."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fastgate.errors import ArgumentError, DataError, FastgateError
from fastgate.gates.safety import (
    LitmusIncomparableError,
    RunManifest,
    compare_manifests,
    manifest_hash,
    read_manifests,
    require_comparable,
    seed_hash,
)
from fastgate.gates.safety.comparability import agreement, differences
from fastgate.gates.safety.manifest import CUSTOMARY

CONDITIONS: dict[str, Any] = {
    "suite_hash": "ab12",
    "seeds": [11, 12, 13],
    "temperature": 0.2,
    "top_p": 1.0,
    "max_tokens": 512,
    "grader_version": "judge-3",
    "harness_version": "1.10",
}


def manifest(**changes: Any) -> RunManifest:
    stated = {**CONDITIONS, **changes}
    return RunManifest.from_dict({name: value for name, value in stated.items() if value is not None})


class TestFields:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("temperature", -0.1),
            ("temperature", float("nan")),
            ("temperature", float("inf")),
            ("temperature", True),
            ("temperature", "0.2"),
            ("top_p", 0),
            ("top_p", 1.01),
            ("max_tokens", 0),
            ("max_tokens", 2.5),
            ("suite_hash", ""),
            ("suite_hash", 7),
            ("grader_version", 1.1),
            ("grader_version", " "),
            ("harness_version", True),
            ("seeds", []),
            ("seeds", "11"),
            ("seeds", [1.5]),
            ("seeds", [True]),
            ("seeds", {"a": 1}),
            ("extra", 3),
            ("gpu", float("nan")),
            ("gpu", object()),
            ("gpu", {1: "a"}),
        ],
    )
    def test_unusable_values_are_refused_by_name(self, field: str, value: Any) -> None:
        with pytest.raises(ArgumentError) as caught:
            RunManifest.from_dict({field: value})
        assert field in str(caught.value) or "extra" in str(caught.value)

    def test_a_field_may_not_stand_twice(self) -> None:
        with pytest.raises(ArgumentError, match="stands twice"):
            RunManifest.from_dict({"temperature": 0.2, "sampling": {"temperature": 0.0}})
        with pytest.raises(ArgumentError, match=r"'gpu.kind' stands twice"):
            RunManifest.from_dict({"gpu.kind": "h100", "gpu": {"kind": "a100"}})

    def test_own_fields_are_no_extra(self) -> None:
        with pytest.raises(ArgumentError):
            RunManifest(extra={"temperature": 0.2})

    def test_plain_data_and_back(self) -> None:
        one = manifest(
            build="b", suite="s", gpu={"kind": "h100", "count": 8}, when=date(2026, 11, 12), stop=("a",)
        )
        again = RunManifest.from_dict(json.loads(json.dumps(one.to_dict())))
        assert again == one
        assert hash(again) == hash(one)
        assert one.to_dict()["when"] == "2026-11-12"

    def test_null_is_not_stated(self) -> None:
        assert RunManifest.from_dict({"temperature": None, "gpu": None}) == RunManifest()

    def test_it_cannot_be_changed(self) -> None:
        one = manifest(gpu="h100")
        with pytest.raises(AttributeError):
            one.temperature = 0.0  # type: ignore[misc]
        with pytest.raises(TypeError):
            one.extra["gpu"] = "a100"  # type: ignore[index]


class TestHash:
    def test_it_is_stable_over_order_and_spelling(self) -> None:
        one = manifest(temperature=0, gpu={"a": 1, "b": [1.0, 2]})
        texts = (
            '{"suite_hash": "ab12", "temperature": 0.0, "top_p": 1, "max_tokens": 5.12e2, "seeds": [11, 12, 13],'
            ' "grader_version": "judge-3", "harness_version": "1.10", "gpu": {"b": [1, 2.0], "a": 1.0}}',
            '{"gpu": {"a": 1, "b": [1, 2]}, "harness_version": "1.10", "grader_version": "judge-3",'
            ' "sampling": {"max_tokens": 512, "top_p": 1.00, "temperature": -0.0}, "seeds": [11, 12, 13],'
            ' "suite_hash": "ab12"}',
        )
        hashes = {manifest_hash(RunManifest.from_dict(json.loads(text))) for text in texts}
        assert hashes == {manifest_hash(one)}

    def test_it_is_what_it_was(self) -> None:
        """A baseline's hash, once recorded, must be found again by every later version."""
        wanted = "07c88967ec92b4d5b9ba92a431a04f8b226675a1acaea701e1344e61eea763b9"
        assert manifest_hash(manifest()) == wanted

    @pytest.mark.parametrize(
        "change",
        [
            {"suite_hash": "ab13"},
            {"seeds": [12, 11, 13]},
            {"seeds": ["11", 12, 13]},
            {"temperature": 0.0},
            {"top_p": None},
            {"max_tokens": 513},
            {"grader_version": "judge-4"},
            {"harness_version": "1.1"},
            {"gpu": "h100"},
        ],
    )
    def test_any_condition_changes_it(self, change: dict[str, Any]) -> None:
        assert manifest_hash(manifest(**change)) != manifest_hash(manifest())

    def test_labels_do_not(self) -> None:
        assert manifest_hash(manifest(build="a", suite="s")) == manifest_hash(manifest(build="b"))

    def test_a_list_of_seeds_is_its_hash(self) -> None:
        by_hash = manifest(seeds=None, seed_list_hash=seed_hash([11, 12, 13]))
        assert manifest_hash(by_hash) == manifest_hash(manifest())
        both = manifest(seed_list_hash=seed_hash([11, 12, 13]))
        assert manifest_hash(both) == manifest_hash(manifest())

    def test_only_manifests_have_one(self) -> None:
        with pytest.raises(DataError, match="no manifest"):
            manifest_hash({"suite_hash": "ab"})  # type: ignore[arg-type]


class TestComparability:
    def test_equal_conditions_are_comparable(self) -> None:
        require_comparable(manifest(build="old", suite="s"), manifest(build="new", suite="s"))

    def test_the_refusal_lists_every_field_with_both_values(self) -> None:
        with pytest.raises(LitmusIncomparableError) as caught:
            require_comparable(
                manifest(gpu="h100", temperature=0.2),
                manifest(temperature=0.0, top_p=None, seeds=[13, 12, 11]),
            )
        found = {difference.field: difference for difference in caught.value.differences}
        assert {name: difference.problem for name, difference in found.items()} == {
            "temperature": "differs",
            "top_p": "missing_in_candidate",
            "seeds": "other_order",
            "gpu": "missing_in_candidate",
        }
        assert (found["temperature"].baseline, found["temperature"].candidate) == ("0.2", "0")
        assert (found["top_p"].baseline, found["top_p"].candidate) == ("1", None)
        text = str(caught.value)
        assert "temperature: baseline 0.2, candidate 0" in text
        assert "the same seeds in another order" in text
        assert isinstance(caught.value, FastgateError)

    @pytest.mark.parametrize("field", CUSTOMARY)
    def test_a_field_that_both_lack_is_a_refusal(self, field: str) -> None:
        one = manifest(**{field: None})
        assert [(d.field, d.problem) for d in differences(one, one)] == [(field, "missing_in_both")]
        assert differences(one, one, required=[name for name in CUSTOMARY if name != field]) == []

    def test_further_fields_are_compared_unless_ignored(self) -> None:
        one, other = (
            manifest(gpu={"kind": "h100", "n": 8}, when="mon"),
            manifest(gpu={"kind": "a100", "n": 8}, when="tue"),
        )
        assert [d.field for d in differences(one, other)] == ["gpu.kind", "when"]
        assert [d.field for d in differences(one, other, ignored=["when"])] == ["gpu.kind"]
        assert differences(one, other, ignored=["gpu", "when"]) == []
        assert differences(one, other, ignored=["gpu.kind", "when"]) == []
        required = [*CUSTOMARY, "gpu.kind"]
        assert [d.field for d in differences(one, other, required=required, ignored=["gpu", "when"])] == [
            "gpu.kind"
        ]

    def test_a_required_table_is_compared_field_by_field(self) -> None:
        one, other = manifest(gpu={"kind": "h100"}), manifest()
        required = [*CUSTOMARY, "gpu"]
        assert [(d.field, d.problem) for d in differences(one, other, required=required)] == [
            ("gpu.kind", "missing_in_candidate")
        ]
        assert [(d.field, d.problem) for d in differences(other, other, required=required)] == [
            ("gpu", "missing_in_both")
        ]

    def test_numbers_are_numbers_and_texts_texts(self) -> None:
        assert differences(manifest(n=1), manifest(n=1.0)) == []
        for other in ("1", True, [1]):
            assert [d.problem for d in differences(manifest(n=1), manifest(n=other))] == ["differs"]

    def test_seeds_and_their_hash(self) -> None:
        listed = manifest()
        hashed = manifest(seeds=None, seed_list_hash=seed_hash([11, 12, 13]))
        own_rule = manifest(seeds=None, seed_list_hash="f00d")
        both = manifest(seed_list_hash="f00d")
        assert differences(listed, hashed) == []
        assert [d.field for d in differences(listed, own_rule)] == ["seeds"]
        assert differences(both, own_rule) == []  # the harness's own hash is stated by both
        assert differences(both, listed) == []
        other_hash = manifest(seed_list_hash="beef")
        assert [d.field for d in differences(both, other_hash)] == ["seed_list_hash"]
        assert differences(both, other_hash, required=["suite_hash"], ignored=["seeds"]) == []

    def test_long_lists_are_shown_short(self) -> None:
        (found,) = differences(manifest(seeds=list(range(240))), manifest(seeds=list(range(1, 241))))
        assert found.problem == "differs"
        assert found.baseline is not None
        assert len(found.baseline) < 80
        assert "240 in all" in found.baseline

    def test_no_manifest_is_a_refusal(self) -> None:
        assert differences(None, manifest())[0].problem == "no_manifest"
        assert differences(None, None)[0].problem == "no_manifest"
        assert differences(None, None, required=[]) == []

    def test_other_suites_are_not_compared(self) -> None:
        assert [d.field for d in differences(manifest(suite="a"), manifest(suite="b"))] == ["suite"]

    def test_all_fields_side_by_side(self) -> None:
        table = agreement(manifest(gpu="h100"), manifest(temperature=0.0))
        assert table.columns == ["field", "baseline", "candidate", "agrees", "problem"]
        assert set(table["field"]) == {*CUSTOMARY, "gpu"}
        assert table.filter(~pl.col("agrees"))["field"].to_list() == ["temperature", "gpu"]


RUNS = {
    "defaults": {name: value for name, value in CONDITIONS.items() if name != "temperature"},
    "runs": [
        {"build": "old", "temperature": 0.2},
        {"build": "new", "suite": "a", "temperature": 0.2},
        {"build": "new", "suite": "b", "temperature": 0.0, "top_p": 0.9},
    ],
}

TOML = """
[defaults]
suite_hash = "ab12"
seeds = [11, 12, 13]
top_p = 1
max_tokens = 512
grader_version = "judge-3"
harness_version = "1.10"
[[runs]]
build = "old"
temperature = 0.2
[[runs]]
build = "new"
suite = "a"
temperature = 0.20
[[runs]]
build = "new"
suite = "b"
temperature = 0
top_p = 0.9
"""


class TestReading:
    def sources(self, folder: Path) -> dict[str, Any]:
        json_file, toml_file, list_file = folder / "m.json", folder / "m.toml", folder / "l.json"
        json_file.write_text(json.dumps(RUNS))
        toml_file.write_text(TOML)
        runs = [{**RUNS["defaults"], **run} for run in RUNS["runs"]]  # type: ignore[dict-item]
        list_file.write_text(json.dumps(runs))
        one_each = []
        for position, run in enumerate(runs):
            one_each.append(folder / f"run{position}.json")
            one_each[-1].write_text(json.dumps(run))
        frame = pl.DataFrame(runs, infer_schema_length=None)
        frame.write_parquet(folder / "m.parquet")
        flat = frame.with_columns(seed_list_hash=pl.lit(seed_hash([11, 12, 13]))).drop("seeds")
        flat.write_csv(folder / "m.csv")
        return {
            "json": json_file,
            "toml": str(toml_file),
            "list": list_file,
            "one file a run": one_each,
            "dict": RUNS,
            "dicts": runs,
            "manifests": [RunManifest.from_dict(run) for run in runs],
            "frame": frame,
            "pandas": frame.drop("seeds")
            .with_columns(seed_list_hash=pl.lit(seed_hash([11, 12, 13])))
            .to_pandas(),
            "parquet": folder / "m.parquet",
            "csv": folder / "m.csv",
        }

    def test_every_source_says_the_same(self, tmp_path: Path) -> None:
        for name, source in self.sources(tmp_path).items():
            read = read_manifests(source)
            table = read.table(["old", "new", "none"], ["a", "b", "c"])
            hashes = {
                (build, suite): manifest_hash(read.distinct[table[row, column]])
                for row, build in enumerate(("old", "new"))
                for column, suite in enumerate(("a", "b"))
            }
            assert hashes == {
                ("old", "a"): manifest_hash(manifest()),
                ("old", "b"): manifest_hash(manifest()),
                ("new", "a"): manifest_hash(manifest()),
                ("new", "b"): manifest_hash(manifest(temperature=0, top_p=0.9)),
            }, name
            assert table[1, 2] == -1
            assert table[2].tolist() == [-1, -1, -1]

    def test_the_particular_goes_before_the_general(self) -> None:
        read = read_manifests(
            [
                manifest(build="b", suite="a", temperature=0.7),
                manifest(build="b"),
                manifest(build="c", suite="a"),
            ]
        )
        assert read.table(["b", "c", "d"], ["a", "z"]).tolist() == [[0, 1], [1, -1], [-1, -1]]

    def test_nothing_is_no_manifest(self) -> None:
        assert read_manifests(None).numbers == {}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("{", "cannot be read"),
            ('{"build": "b", "temperature": 1, "temperature": 0}', "stands twice"),
            ('{"build": "b", "temperature": NaN}', "NaN"),
            ('{"temperature": 0.2}', "which build"),
            ('{"build": 3}', "which build"),
            ('{"build": "b", "suite": ""}', "suite is no name"),
            ('{"build": "b", "temperature": "0.2"}', "temperature"),
            ('{"runs": {"b": 1}}', "a list of tables"),
            ('{"runs": [], "temperature": 1}', "outside the runs"),
            ("3", "no manifest"),
            ('[{"build": "b", "temperature": 1}, {"build": "b", "temperature": 0}]', "two manifests"),
        ],
    )
    def test_faults_are_named_with_the_file(self, text: str, words: str, tmp_path: Path) -> None:
        file = tmp_path / "m.json"
        file.write_text(text)
        with pytest.raises(FastgateError) as caught:
            read_manifests(file)
        assert words in str(caught.value)
        assert "m.json" in str(caught.value)

    def test_the_same_manifest_twice_is_none_too_many(self) -> None:
        read = read_manifests([manifest(build="b"), {**CONDITIONS, "build": "b", "top_p": 1}])
        assert len(read.numbers) == 1

    def test_files_that_are_not_there(self, tmp_path: Path) -> None:
        for name in ("m.json", "m.parquet"):
            with pytest.raises(DataError, match="does not exist"):
                read_manifests(tmp_path / name)
        with pytest.raises(DataError, match="'build'"):
            read_manifests(pl.DataFrame({"temperature": [0.1]}))
        (tmp_path / "m.csv").write_text("build,temperature\nb,warm\n")
        with pytest.raises(DataError, match="no number"):
            read_manifests(tmp_path / "m.csv")


class TestDiff:
    def test_suite_by_suite(self) -> None:
        table = compare_manifests(RUNS, RUNS, baseline_build="old", candidate_build="new")
        assert table.columns == ["suite", "field", "baseline", "candidate", "agrees", "problem"]
        assert table["suite"].unique().sort().to_list() == ["a", "b"]
        assert table.filter(~pl.col("agrees")).select("suite", "field", "baseline", "candidate").rows() == [
            ("b", "temperature", "0.2", "0"),
            ("b", "top_p", "1", "0.9"),
        ]

    def test_a_suite_that_one_side_lacks(self) -> None:
        table = compare_manifests(manifest(build="x", suite="a"), manifest(build="y", suite="b"))
        assert table.select("suite", "baseline", "candidate", "problem").rows() == [
            ("a", "a manifest", None, "no_manifest"),
            ("b", None, "a manifest", "no_manifest"),
        ]

    def test_a_manifest_needs_no_build_of_its_own(self) -> None:
        table = compare_manifests(manifest(), manifest(temperature=0.0))
        assert table.filter(~pl.col("agrees"))["field"].to_list() == ["temperature"]

    def test_several_builds_must_be_told_apart(self) -> None:
        with pytest.raises(ArgumentError, match="several builds"):
            compare_manifests(RUNS, RUNS)
        with pytest.raises(ArgumentError, match="no manifest of 'never'"):
            compare_manifests(RUNS, RUNS, baseline_build="never", candidate_build="new")
