from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastgate.kernels
from fastgate.cli.warming import Warm
from fastgate.cli.warmup import _report
from fastgate.kernels import catalogue

KERNELS = Path(fastgate.kernels.__file__).parent


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=900,
    )


def files(folder):
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def decorated(path):
    """The functions of a module that say for which types they are compiled, as its text has them."""
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") in {"kernel", "reduction"}
    }


def test_the_catalogue_holds_every_kernel():
    found = {module.rpartition(".")[2]: set(catalogue.kernels(module)) for module in catalogue.modules()}
    named = {path.stem: decorated(path) for path in KERNELS.glob("*.py")}
    assert {name: kernels for name, kernels in found.items() if kernels} == {
        name: kernels for name, kernels in named.items() if kernels
    }
    assert sum(map(len, found.values())) > 90


@pytest.fixture(scope="module")
def warmed():
    done = run("-m", "fastgate", "warmup", "--json", "--progress", "json")
    assert done.returncode == 0, done.stderr
    return done


def test_warmup_says_what_it_did(warmed):
    told = json.loads(warmed.stdout)
    assert list(told) == ["folder", "kernels", "compiled", "seconds", "bytes"]
    assert told["kernels"] == sum(len(catalogue.kernels(module)) for module in catalogue.modules())
    assert 0 <= told["compiled"] <= told["kernels"]
    assert Path(told["folder"]).is_relative_to(os.environ["NUMBA_CACHE_DIR"])
    held = [file.stat().st_size for file in Path(told["folder"]).glob("*.nb[ic]")]
    assert told["bytes"] == sum(held)
    last = [json.loads(line) for line in warmed.stderr.splitlines()][-2:]
    assert last[0]["done"] == last[0]["total"] == told["kernels"]
    assert last[1]["event"] == "done"


def test_a_second_warmup_has_nothing_to_do(warmed):
    folder = Path(json.loads(warmed.stdout)["folder"])
    before = files(folder)
    done = run("-m", "fastgate", "warmup")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing to do: all ")
    assert str(folder) in done.stdout
    assert files(folder) == before


GATES = """
import contextlib, io, sys
from fastgate.cli import main
data, work = sys.argv[1:]
wide = f"{work}/wide.csv"
with open(wide, "w") as file:
    file.write("build,suite,kpi,case,value\\n")
    for case in range(40):
        for build in ("a", "b"):
            file.write(f"{build},s,k,c{case},{case * case % 17 + len(build) * 0.37 + (build == 'b')}\\n")
for line in (
    f"benchmark {data}/automl_1h.parquet --policy {data}/automl_policy.toml",
    f"benchmark {data}/automl_1h.parquet --policy {data}/automl_policy.toml --replicates 50",
    f"safety {data}/safety_example.csv --manifest {data}/safety_example_manifests.toml --policy litmus"
    " --baseline baseline",
    f"safety {data}/safety_jailbreakbench.parquet --manifest {data}/safety_jailbreakbench_manifests.json"
    f" --policy {data}/safety_policy.toml --baseline llama-2-7b-chat-hf",
    f"stability {data}/pref_llmbar.parquet --preferences {data}/pairwise_llmbar.parquet"
    f" --policy {data}/llmbar_policy.toml",
    f"plan {data}/automl_1h.parquet --policy {data}/automl_policy.toml --effect 0.02",
    f"calibrate {data}/automl_1h.parquet --policy {data}/automl_policy.toml --draws 100",
    f"interval {data}/automl_1h.parquet",
    f"interval {wide} --statistic p95 --method percentile",
    f"interval {wide} --engine resample --n-resamples 199 --baseline a",
    f"interval {wide} --method studentised --n-resamples 199 --baseline a --paired",
):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main(line.split())
        except SystemExit as ended:
            assert ended.code in (0, 1, 3, 4), (line, ended.code)
"""


def test_after_warmup_no_gate_compiles_anything(warmed, data, tmp_path):
    folder = Path(json.loads(warmed.stdout)["folder"])
    kernels = {
        f"{module.rpartition('.')[2]}.{name}"
        for module in catalogue.modules()
        for name in catalogue.kernels(module)
    }
    # Helpers that other tests compiled are left behind, as they are by a warm-up of an empty folder.
    copy = tmp_path / "cache" / folder.name
    copy.mkdir(parents=True)
    for file in folder.iterdir():
        if file.name.partition("-")[0] in kernels:
            shutil.copy2(file, copy)
    before = files(copy.parent)
    assert {Path(name).name.partition("-")[0] for name in before} == kernels
    done = run("-c", GATES, data, tmp_path, NUMBA_CACHE_DIR=str(copy.parent))
    assert done.returncode == 0, done.stderr
    after = files(copy.parent)
    assert sorted(after.keys() - before.keys()) == []
    assert after == before


WARM = """
import sys
from fastgate.cli.warming import warm
steps = []
done = warm(["fastgate.kernels.adjust", "fastgate.kernels.matching", "fastgate.kernels.status"], steps.append)
assert [step.done for step in steps] in ([0, 2, 4], [0, 4]), steps
assert {(step.stage, step.total, step.unit) for step in steps} == {("compiling", 4, "kernels")}
print(done.kernels, done.compiled, done.folder)
"""


def test_an_empty_folder_is_filled_and_only_what_is_missing_is_compiled(tmp_path):
    cache = tmp_path / "cache"
    first = run("-c", WARM, NUMBA_CACHE_DIR=str(cache))
    assert first.returncode == 0, first.stderr
    kernels, compiled, folder = first.stdout.split()
    assert (kernels, compiled) == ("4", "4")
    (held,) = cache.iterdir()
    assert held == Path(folder)
    names = {file.name.partition("-")[0] for file in held.iterdir()}
    assert names == {
        f"{module}.{name}"
        for module in ("adjust", "matching")
        for name in catalogue.kernels(f"fastgate.kernels.{module}")
    }
    (lost,) = held.glob("adjust.adjust_kernel-*.nbi")
    lost.unlink()
    second = run("-c", WARM, NUMBA_CACHE_DIR=str(cache))
    assert second.stdout.split() == ["4", "1", folder]
    assert lost.exists()
    assert [file.name for file in held.iterdir() if file.name.startswith(".")] == []


def test_where_nothing_can_be_kept_it_says_so(tmp_path):
    (tmp_path / "cache").write_text("no folder")
    done = run("-m", "fastgate", "warmup", NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "kernels cannot be kept where NUMBA_CACHE_DIR says" in done.stderr
    assert "or unset it: kernels are then kept in" in done.stderr
    assert str(tmp_path / "cache") in done.stderr


NO_ROOM = """
import resource, signal
from fastgate import DataError
from fastgate.cli.warming import warm
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
try:
    warm(["fastgate.kernels.adjust"])
except DataError as error:
    print(error.problem, "in", error.where)
"""


def test_a_full_disk_is_told(tmp_path):
    pytest.importorskip("resource")
    done = run("-c", NO_ROOM, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.startswith(f"the kernels cannot be kept in {tmp_path}"), done.stderr
    assert list(tmp_path.rglob("*.nbi")) == []


@pytest.mark.parametrize(
    ("compiled", "text"),
    [
        (0, "nothing to do: all 98 kernels are in the cache\n9.8 MB in /cache\n"),
        (98, "compiled 98 kernels in 61 s\n9.8 MB in /cache\n"),
        (5, "compiled 5 kernels in 61 s, 93 were in the cache already\n9.8 MB in /cache\n"),
    ],
)
def test_the_report(compiled, text):
    assert _report(Warm("/cache", 98, compiled, 61.2, 9_800_000)) == text
