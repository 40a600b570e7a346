"""After a fork Polars waits forever for threads that stayed with the parent: fastgate says so at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

HEAD = """
import os, sys

def read():
    import polars as pl
    from fastgate.frames import pack, read_samples
    frame = pl.DataFrame({
        "build": ["a", "b"], "suite": ["s", "s"], "kpi": ["k", "k"], "case": ["x", "x"], "value": [1.0, 2.0]})
    frame.lazy().sort("value").collect()
    read_samples(frame)
    return pack(frame)["values"].to_list() == [[1.0], [2.0]]

def refused(task):
    from fastgate import DataError
    try:
        task()
    except DataError as error:
        return all(part in str(error) for part in ("forked after Polars", '"spawn"', "fastgate.stats"))
    return False

def in_child(task):
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = 0 if task() else 4
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def run(script: str, *, folder: Path | None = None) -> None:
    command = [sys.executable, "-W", "ignore", "-c", HEAD + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr


def test_a_child_of_a_process_that_read_data_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("build,value\na,1\n")
    run(
        """
import polars as pl
from fastgate.frames import pack, read_frame, read_samples
from fastgate.frames.forks import require_working_process
assert read()
samples = read_samples(pl.DataFrame({"build": ["a"], "suite": ["s"], "kpi": ["k"], "values": [[1.0]]}))
table = pl.DataFrame({"build": ["a"]})
for task in (lambda: read_frame("x.csv"), lambda: read_frame(table), lambda: pack(samples), require_working_process):
    assert in_child(lambda: refused(task)) == 0
assert in_child(lambda: in_child(lambda: refused(lambda: read_frame(table))) == 0) == 0, "nor does a grandchild"
def statistics():
    from fastgate.stats import welch
    return 0 < float(welch([1.0, 2.0, 3.0], [2.0, 3.0, 5.0]).pvalue) < 1
assert in_child(statistics) == 0
print("done")
""",
        folder=tmp_path,
    )


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list threads")
def test_a_child_of_a_process_that_used_polars_without_fastgate_is_told_so() -> None:
    run(
        """
import polars as pl
import fastgate.frames
pl.DataFrame({"a": [2, 1]}).lazy().sort("a").collect()
assert in_child(lambda: refused(lambda: fastgate.frames.read_frame(pl.DataFrame({"a": [1]})))) == 0
print("done")
"""
    )


@pytest.mark.parametrize("imported", ["fastgate", "fastgate.frames", "fastgate, polars, pyarrow"])
def test_a_child_of_a_process_that_only_imported_works(imported: str) -> None:
    run(
        f"""
import {imported}
assert in_child(read) == 0
print("done")
"""
    )


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_start_methods_that_the_message_names_work(method: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        HEAD
        + f"""
import multiprocessing
import polars as pl
import fastgate.frames

if __name__ == "__main__":
    pl.DataFrame({{"a": [2, 1]}}).lazy().sort("a").collect()
    with multiprocessing.get_context("{method}").Pool(1) as pool:
        assert pool.apply(read)
    print("done")
"""
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
