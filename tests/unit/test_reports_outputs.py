from __future__ import annotations

import pytest
from example_results import judged

import fastgate
from fastgate import ArgumentError
from fastgate.reports.outputs import FORMATS, check_outputs, loadable, write_output


def test_the_ending_says_the_format(tmp_path):
    result = judged(good=(6.0, 6.0, 6.0))
    paths = [f"{tmp_path}/deep/result{ending}" for ending in FORMATS]
    outputs = check_outputs(paths)
    assert [output.ending for output in outputs] == list(FORMATS)
    assert loadable(outputs) == paths[0]
    for output in outputs:
        write_output(result, output)
        assert output.path.exists()
    for ending in (".json", ".parquet", ".arrow", "/"):
        again = fastgate.load(tmp_path / "deep" / f"result{ending}")
        assert again.cells.equals(result.cells)
    assert (tmp_path / "deep" / "result.md").read_text().startswith("<!-- fastgate -->\n")
    assert list(tmp_path.rglob(".*")) == []  # nothing written aside is left


def test_only_what_can_be_read_back_is_loadable(tmp_path):
    assert loadable(check_outputs([str(tmp_path / "a.md"), str(tmp_path / "b.junit.xml")])) is None


@pytest.mark.parametrize(
    "path", ["result.txt", "result", "result.xml", ".json", "junit.xml", "folder", "", ".", "r.JSON"]
)
def test_a_name_without_a_known_ending_is_refused(path):
    with pytest.raises(ArgumentError, match="does not say its format") as caught:
        check_outputs([path])
    assert caught.value.expected == "a name ending in .json, .md, .junit.xml, .parquet, .arrow, /"


def test_a_path_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="twice"):
        check_outputs(["r.json", str(tmp_path / "r.json")])


def test_an_input_is_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples.json").write_text("[]")
    with pytest.raises(ArgumentError, match="overwrite an input"):
        check_outputs(["samples.json"], inputs=[str(tmp_path / "samples.json")])


def test_a_file_does_not_become_a_folder_nor_a_folder_a_file(tmp_path):
    (tmp_path / "r.json").mkdir()
    (tmp_path / "r.parquet").touch()
    for name in ("r.json", "r.parquet"):
        with pytest.raises(ArgumentError, match="something else stands"):
            check_outputs([str(tmp_path / name)])
    with pytest.raises(ArgumentError, match="cannot be written"):
        check_outputs([str(tmp_path / "r.parquet" / "r.md")])


def test_a_folder_that_may_not_be_written_to_is_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(ArgumentError, match="cannot be written") as caught:
        check_outputs([str(tmp_path / "new" / "r.json")])
    assert caught.value.where == str(tmp_path)


def test_a_result_may_be_written_over_itself(tmp_path):
    outputs = check_outputs([str(tmp_path / "r.json"), str(tmp_path / "r.parquet")])
    for name in ("good", "even"):
        result = judged(**{name: (6.0, 6.0, 6.0)})
        for output in outputs:
            write_output(result, output)
            assert list(fastgate.load(output.path)) == [name]
