"""Every kind of source gives the same rows; every unusable one a DataError that says what to do."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest

from fastgate.errors import ArgumentError, DataError
from fastgate.frames import read_frame
from fastgate.frames.reading import open_source

FRAME = pl.DataFrame({"build": ["a", "b", "a"], "case": ["1", "2", "3"], "value": [0.5, 1.0, 2.5]})


COMPRESS: dict[str, Any] = {
    ".gz": gzip.compress,
    ".zst": lambda text: pa.compress(text, "zstd", asbytes=True),
}


def write(frame: pl.DataFrame, path: Path) -> Path:
    kind = path.suffixes[0]
    if path.suffix == ".gz":
        plain = write(frame, path.with_suffix(""))
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        return path
    if kind in (".parquet", ".pq"):
        frame.write_parquet(path)
    elif kind in (".arrow", ".feather", ".ipc"):
        frame.write_ipc(path)
    elif kind == ".arrows":
        frame.write_ipc_stream(path)
    elif kind in (".csv", ".tsv"):
        frame.write_csv(path, separator="\t" if kind == ".tsv" else ",")
    elif kind == ".json":
        frame.write_json(path)
    else:
        frame.write_ndjson(path)
    return path


def frames() -> dict[str, Any]:
    table = FRAME.to_arrow()
    connection = duckdb.connect()
    connection.register("rows_of_the_test", table)
    return {
        "polars": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": FRAME.to_pandas(),
        "pandas index": FRAME.to_pandas().set_index("build"),
        "table": table,
        "batch": table.combine_chunks().to_batches()[0],
        "reader": table.to_reader(),
        "dictionary": pa.table(
            {**{n: table[n] for n in table.column_names}, "build": table["build"].dictionary_encode()}
        ),
        "duckdb": connection.sql('select *, 1 as "another ""column""" from rows_of_the_test'),
        "series": pl.Series(FRAME.to_struct("s")),
    }


@pytest.mark.parametrize("kind", list(frames()))
def test_every_frame_gives_the_same_rows(kind: str) -> None:
    read = read_frame(frames()[kind], ["value", "build", "case"])
    assert read.columns == ["value", "build", "case"]
    assert read.with_columns(pl.col("build").cast(pl.String)).equals(FRAME.select("value", "build", "case"))


FILES = """x.parquet x.pq x.arrow x.feather x.ipc x.arrows x.csv x.tsv x.csv.gz x.ndjson x.jsonl x.json
x.ndjson.gz X.PARQUET"""


@pytest.mark.parametrize("name", FILES.split())
def test_every_file_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write(FRAME, tmp_path / name.lower())
    (tmp_path / name.lower()).rename(path)
    read = read_frame(path, ["build", "value"])
    assert read.cast({"value": pl.Float64}).equals(FRAME.select("build", "value"))
    assert read_frame(str(path)).columns == FRAME.columns


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.arrows"])
def test_content_tells_the_format_where_the_name_does_not(name: str, tmp_path: Path) -> None:
    path = write(FRAME, tmp_path / name).rename(tmp_path / "nameless")
    assert read_frame(path).equals(FRAME)


def test_csv_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("build,value\n007,1\n1.10,\n", encoding="utf-8")
    assert read_frame(path).to_dict(as_series=False) == {"build": ["007", "1.10"], "value": ["1", None]}


def test_several_files_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    paths = [write(FRAME, tmp_path / "a.parquet"), write(FRAME.reverse(), tmp_path / "deep" / "b.parquet")]
    both = pl.concat([FRAME, FRAME.reverse()])
    assert read_frame(paths).equals(both)
    assert read_frame([str(path) for path in paths]).equals(both)
    assert read_frame(tmp_path).equals(both)
    assert read_frame(f"{tmp_path}/**/*.parquet").height == 6
    assert read_frame(f"{tmp_path}/*.parquet").height == 3
    assert read_frame(f"{tmp_path}/dee?").height == 3, "a pattern may match folders"
    assert read_frame([*paths, *paths]).height == 6, "the same file is read once"


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "csv", "ndjson"])
def test_a_name_with_pattern_characters_is_a_name(kind: str, tmp_path: Path) -> None:
    path = write(FRAME, tmp_path / f"x.{kind}").rename(tmp_path / f"x[1]*?.{kind}")
    write(FRAME.head(1), tmp_path / f"x1yz.{kind}")
    assert read_frame(path).height == 3


def test_files_may_differ_in_width_of_types_and_in_other_columns(tmp_path: Path) -> None:
    first = FRAME.with_columns(case=pl.col("case").cast(pl.Int32), extra=pl.lit(1))
    second = FRAME.with_columns(
        case=pl.col("case").cast(pl.Int64),
        value=pl.col("value").cast(pl.Float32),
        build=pl.col("build").cast(pl.Categorical),
    )
    paths = [write(first, tmp_path / "a.parquet"), write(second, tmp_path / "b.parquet")]
    read = read_frame(paths, ["build", "case", "value"])
    assert read.schema == {"build": pl.String, "case": pl.Int64, "value": pl.Float64}
    assert read["value"].to_list() == FRAME["value"].to_list() * 2


def test_only_the_columns_asked_for_are_converted() -> None:
    # pyarrow cannot convert the column `junk`; it is nobody's business.
    frame = FRAME.to_pandas().assign(junk=[1, "x", object()])
    assert read_frame(frame, ["build", "case", "value"]).equals(FRAME)


def test_list_views_are_read() -> None:
    views = pa.ListViewArray.from_arrays([2, 0, 1], [1, 2, 0], pa.array([1.0, 2.0, 3.0]))
    nullable = pa.array([[1.0], None, [3.0, None]], pa.large_list_view(pa.float64()))
    read = read_frame(pa.table({"views": views, "nullable": nullable}))
    assert read["views"].to_list() == [[3.0], [1.0, 2.0], []]
    assert read["nullable"].to_list() == [[1.0], None, [3.0, None]]
    assert read_frame(pa.table({"views": views}).slice(1))["views"].to_list() == [[1.0, 2.0], []]


class Broken:
    """Announces a stream and fails to give it."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError("no stream today")


def unreadable(folder: Path) -> dict[str, tuple[Any, str]]:
    """Sources with what the message must contain."""
    (folder / "empty.parquet").touch()
    (folder / "torn.parquet").write_bytes(write(FRAME, folder / "whole.parquet").read_bytes()[:-20])
    (folder / "noise.csv").write_bytes(b"build,value\n\xff\xfe,1\n")
    (folder / "ragged.csv").write_text("build,value\na,1,2,3\n")
    (folder / "header.csv").write_text("build,value\n")
    (folder / "nan.ndjson").write_text('{"value": NaN}\n')
    (folder / "actually.csv").write_bytes((folder / "whole.parquet").read_bytes())
    (folder / "notes.txt").write_text("hello")
    (folder / "text.xlsx").write_text("hello")
    (folder / "nothing").mkdir()
    (folder / "useless").mkdir()
    (folder / "useless" / "readme.txt").write_text("hello")
    other = write(FRAME.rename({"value": "score"}), folder / "other.parquet")
    typed = write(FRAME.with_columns(pl.col("value").cast(pl.String)), folder / "typed.parquet")
    whole = folder / "whole.parquet"
    return {
        "missing": (folder / "hole.parquet", "did you mean"),
        "missing folder": (folder / "absent" / "x.parquet", "there is no folder"),
        "remote": ("s3://bucket/x.parquet", "scan_parquet"),
        "no match": (f"{folder}/*.nothing", "no file matches"),
        "empty": (folder / "empty.parquet", "0 bytes"),
        "torn": (folder / "torn.parquet", "cannot be read as parquet"),
        "noise": (folder / "noise.csv", "cannot be read as csv"),
        "ragged": (folder / "ragged.csv", "cannot be read as csv"),
        "header only": (folder / "header.csv", "no rows"),
        "nan": (folder / "nan.ndjson", "JSON has no NaN"),
        "misnamed": (folder / "actually.csv", "the first bytes of parquet"),
        "unknown format": (folder / "text.xlsx", ".ndjson"),
        "empty folder": (folder / "nothing", "an empty folder"),
        "folder without data": (folder / "useless", "readme.txt"),
        "other columns": ([whole, other], "other.parquet"),
        "other types": ([whole, typed], "typed.parquet"),
        "empty list": ([], "an empty list"),
        "number": (3, "an object of type int"),
        "rows": ([{"value": 1}], "a list of dict"),
        "none": (None, "an object of type NoneType"),
        "zero rows": (FRAME.clear(), "no rows"),
        "zero rows, lazy": (FRAME.lazy().filter(pl.col("build") == "z"), "no rows"),
        "bad query": (FRAME.lazy().select("absent"), "absent"),
        "bad plan": (FRAME.lazy().with_columns(value=pl.col("build").cast(pl.Int64)), "cannot be read"),
        "broken stream": (Broken(), "no stream today"),
        "not a struct": (pl.Series([1, 2]), "cannot be opened"),
        "nul": ("a\0b*.csv", "expected"),
    }


UNUSABLE = """missing; missing folder; remote; no match; empty; torn; noise; ragged; header only; nan; misnamed;
unknown format; empty folder; folder without data; other columns; other types; empty list; number; rows; none;
zero rows; zero rows, lazy; bad query; bad plan; broken stream; not a struct; nul"""


@pytest.mark.parametrize("case", [" ".join(name.split()) for name in UNUSABLE.split(";")])
def test_an_unusable_source_is_explained(case: str, tmp_path: Path) -> None:
    source, part = unreadable(tmp_path)[case]
    with pytest.raises(DataError) as caught:
        read_frame(source, ["value"] if case == "nan" else ["build", "value"])
    assert part in str(caught.value)
    assert caught.value.received
    assert caught.value.where or case in ("empty list", "number", "rows", "none")


@pytest.mark.parametrize(
    "source", [np.arange(3.0), np.zeros((2, 2)), np.float64(1.0), object(), {"a": [1]}, b"x"]
)
def test_what_is_no_table_is_explained(source: Any) -> None:
    with pytest.raises(DataError, match="not a source of data") as caught:
        read_frame(source)
    assert ("numpy" in str(caught.value.received)) == (type(source).__module__ == "numpy")


def test_a_list_of_frames_is_told_what_to_do() -> None:
    with pytest.raises(DataError, match=r"polars\.concat"):
        read_frame([FRAME, FRAME])


@pytest.mark.parametrize("columns", ["value", {"value": 1}, 3, [3]])
def test_the_columns_to_read_are_a_list_of_names(columns: Any) -> None:
    with pytest.raises(ArgumentError, match="no list of names"):
        read_frame(FRAME, columns)


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "csv.zst", "ndjson", "ndjson.gz", "json"])
def test_a_column_that_a_text_has_twice_is_refused_where_it_is_wanted(kind: str, tmp_path: Path) -> None:
    if "csv" in kind or "tsv" in kind:
        text = b"note,value,build,value,note\n1,2,a,3,4\n"
        text = text.replace(b",", b"\t") if "tsv" in kind else text
    else:
        text = b'{"note":1,"value":2,"build":"a","value":3,"note":5,"x":{"build":1,"build":2}}\n'
        # Polars refuses an array in which an inner object has a key twice.
        text = (
            b" [" + text.replace(b',"x":{"build":1,"build":2}', b"") + b"]"
            if kind == "json"
            else b"\n" + text
        )
    path = tmp_path / f"x.{kind}"
    path.write_bytes(COMPRESS.get(path.suffix, bytes)(text))
    whole = write(FRAME.with_columns(note=pl.lit(1)), tmp_path / "whole.csv")
    for source in (path, [path, whole], [whole, path]):
        with pytest.raises(DataError, match="the column 'value' is there more than once") as caught:
            read_frame(source, ["build", "value"])
        assert caught.value.where == str(path)
    assert read_frame(path, ["build"]).rows() == [("a",)], "nobody wants the others"


def test_names_that_look_like_renamed_ones_are_names(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("value_duplicated_0,value,,\n1,2,,\n")
    assert read_frame(path, ["value", "value_duplicated_0"]).rows() == [("2", "1")]


def test_a_column_that_only_some_files_have_is_named_with_both(tmp_path: Path) -> None:
    paths = [write(FRAME, tmp_path / "a.csv"), write(FRAME.with_columns(trial=1), tmp_path / "b.csv")]
    for order in (paths, paths[::-1]):
        assert open_source(order).columns == ("build", "case", "value", "trial")
        with pytest.raises(DataError, match="'trial' is only in some") as caught:
            read_frame(order, ["build", "trial"])
        assert caught.value.where == str(paths[0])
        assert "b.csv" in caught.value.expected
        assert read_frame(order, ["build"]).height == 6


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 2], ["x", "2"], ["1", "2", "x", "2"]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), [-1], [2**64 - 1, -1]),
        (pl.Series([2**64 - 1], dtype=pl.UInt64), ["x"], [str(2**64 - 1), "x"]),
        ([[1]], [["x"]], [["1"], ["x"]]),
        ([[1]], [[0.5]], [[1.0], [0.5]]),
        (pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2)), [[0.5]], [[1.0, 2.0], [0.5]]),
        ([None], [["x"]], [None, ["x"]]),
        (pl.Series(["2024-05-01"]).str.to_date(), ["x"], ["2024-05-01", "x"]),
        ([1.5], ["x"], None),
        ([1.5], [["x"]], None),
        ([True], ["x"], None),
    ],
)
def test_types_of_files_have_a_common_one_or_are_refused(
    one: Any, other: Any, expected: list[Any] | None, tmp_path: Path
) -> None:
    frames = [pl.DataFrame({"x": one}), pl.DataFrame({"x": other})]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path)
    if expected is None:
        for order in (paths, paths[::-1]):
            with pytest.raises(DataError, match="same types"):
                read_frame(order)
        return
    assert read_frame(paths)["x"].to_list() == expected
    assert sorted(map(str, read_frame(paths[::-1])["x"].to_list())) == sorted(map(str, expected))


def test_a_textual_file_beside_a_typed_one(tmp_path: Path) -> None:
    third = float(np.float32(1) / 3)
    typed = pl.DataFrame({"key": [1], "real": [third], "flag": [True], "none": [None]}).with_columns(
        pl.col("real").cast(pl.Float32)
    )
    paths = [write(typed, tmp_path / "a.parquet"), tmp_path / "b.csv"]
    paths[1].write_text("key,real,flag,none\n1.10,NA,false,7\n")
    for order in (paths, paths[::-1]):
        source = open_source(order)
        assert source.textual
        rows = source.read(source.columns).rows()
        assert set(rows) == {("1", third, "true", None), ("1.10", None, "false", "7")}
    paths[1].write_text("key,real,flag,none\n1,fast,true,7\n")
    with pytest.raises(DataError, match="no number") as caught:
        read_frame(paths)
    assert "b.csv" in caught.value.where
    write(pl.DataFrame({"key": [[1]]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match="same types"):
        read_frame([paths[1], tmp_path / "c.parquet"], ["key"])


@pytest.mark.parametrize("path", ["", "  "])
def test_an_empty_path_is_not_the_working_folder(path: str) -> None:
    for source in (path, [path]):
        with pytest.raises(DataError, match="the path is empty"):
            read_frame(source)


@pytest.mark.parametrize("kind", ["folder", "pattern", "missing"])
def test_a_folder_that_changes_while_it_is_searched_is_explained(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(*_: object, **__: object) -> object:
        raise FileNotFoundError(2, "No such file or directory", str(tmp_path / "gone"))

    for name in ("rglob", "iterdir"):
        monkeypatch.setattr(Path, name, vanish)
    source = {
        "folder": tmp_path,
        "pattern": f"{tmp_path.parent}/{tmp_path.name}*",
        "missing": tmp_path / "x.csv",
    }
    with pytest.raises(DataError, match="the path cannot be searched") as caught:
        read_frame(source[kind])
    assert "gone" in caught.value.received


@pytest.mark.parametrize("name", ["~nobody_of_this_name/x.csv", "x" * 5000])
def test_a_path_that_the_system_refuses_is_explained(name: str) -> None:
    with pytest.raises(DataError):
        read_frame(name)


def foreign() -> dict[str, pa.Array]:
    large = pa.array([Decimal("1.5"), None], pa.decimal256(50, 2))
    interval = pa.array([pa.MonthDayNano([1, 2, 3]), None])
    return {
        "decimal256": large,
        "list of decimal256": pa.array([[Decimal("1.5")], None], pa.list_(pa.decimal256(50, 2))),
        "interval": interval,
        "list of intervals": pa.array([[pa.MonthDayNano([1, 2, 3])], None]),
        "run ends": pa.RunEndEncodedArray.from_arrays([2], [1.0]),
        "union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
        "struct": pa.StructArray.from_arrays([large], ["x"]),
    }


@pytest.mark.parametrize("how", ["table", "reader", "arrow", "arrows"])
@pytest.mark.parametrize("kind", list(foreign()))
def test_types_at_which_polars_panics_never_reach_it(
    kind: str, how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"odd": foreign()[kind], "value": [1, 2]})
    path = tmp_path / f"x.{how}"
    if how in ("arrow", "arrows"):
        write_to = pa.ipc.new_file if how == "arrow" else pa.ipc.new_stream
        with write_to(path, table.schema) as writer:
            writer.write_table(table)

    def source() -> Any:
        return {"table": table, "reader": table.to_reader()}.get(how, path)

    with pytest.raises(DataError, match="the column 'odd' has a type that Polars does not read"):
        read_frame(source(), ["odd"])
    assert read_frame(source(), ["value"])["value"].to_list() == [1, 2], "nobody wants the other"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_list_views_in_files_are_read(kind: str, tmp_path: Path) -> None:
    table = pa.table({"views": pa.ListViewArray.from_arrays([2, 0], [1, 2], pa.array([1.0, 2.0, 3.0]))})
    with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(
        tmp_path / f"x.{kind}", table.schema
    ) as writer:
        writer.write_table(table)
    assert read_frame(tmp_path / f"x.{kind}")["views"].to_list() == [[3.0], [1.0, 2.0]]


def test_a_missing_or_doubled_column_is_named() -> None:
    with pytest.raises(DataError, match="'score' is missing"):
        read_frame(FRAME, ["score"])
    twice = pa.table([pa.array([1]), pa.array([2])], names=["value", "value"])
    with pytest.raises(DataError, match="'value' is there more than once"):
        read_frame(twice, ["value"])


def test_opening_reads_no_rows() -> None:
    def fail(frame: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("read")

    lazy = FRAME.lazy().map_batches(fail, schema=FRAME.schema)
    assert open_source(lazy).columns == ("build", "case", "value")


def test_interruptions_are_not_swallowed() -> None:
    class Interrupted:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_frame(Interrupted())
