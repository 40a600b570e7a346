"""The command line run in this process, and files for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from example_results import POLICY_TOML, runs

from fastgate.cli import main, progress


class Run(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Command = Callable[..., Run]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    for name in ("COLUMNS", "FASTGATE_DEBUG", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    # Whether kernels were compiled before depends on the tests that ran before.
    monkeypatch.setattr(progress, "COMPILING", math.inf)

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert isinstance(ended.value.code, int)
        return Run(ended.value.code, out, err)

    return run


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, made the current one, with samples of each verdict and a policy."""
    good, lost = (6.0, 6.0, 6.0), (6.0, 6.0, 0.0)
    runs({"good": good}).write_parquet(tmp_path / "good.parquet")
    runs({"good": lost}).write_parquet(tmp_path / "lost.parquet")
    runs({"good": good, "even": (0.5, 0.0, 0.0)}).write_csv(tmp_path / "both.csv")
    (tmp_path / "demo.toml").write_text(POLICY_TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path
