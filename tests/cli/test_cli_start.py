"""What a command loads, since that is most of the time it takes."""

from __future__ import annotations

import subprocess
import sys

START = (
    "import sys; from fastgate.cli import main\n"
    "try: main()\n"
    "except SystemExit as ended: code = ended.code\n"
    "print(code, *sorted(name for name, module in sys.modules.items() if module is not None))"
)


def loaded(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", START, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    code, *names = done.stdout.splitlines()[-1].split()
    return int(code), set(names)


def test_a_verdict_loads_no_scipy_though_it_is_installed(data):
    code, names = loaded(
        "benchmark", data / "automl_1h.parquet", "--policy", data / "automl_policy.toml", "-q"
    )
    assert code == 1
    assert "numba" in names
    assert "scipy" not in names


def test_a_verdict_loads_the_kernels_it_needs(data):
    _, names = loaded("benchmark", data / "automl_1h.parquet", "--policy", data / "automl_policy.toml", "-q")
    kernels = {name.rpartition(".")[2] for name in names if name.startswith("fastgate.kernels.")}
    assert "ttest" in kernels
    assert not kernels & {
        "bootstrap_resample",
        "posterior",
        "preference",
        "outcomes",
        "agreement",
        "catalogue",
    }
    assert "rich.progress" not in names
