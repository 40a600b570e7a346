"""Settings that must hold before anything imports a kernel."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest

# The script that made the golden records needs mpmath, and takes minutes.
collect_ignore = ["golden/make_golden.py"]

# numba does not notice an edit of a helper in another file, so each state of the sources has its own cache.
_SOURCES = sorted(Path(__file__).parent.parent.glob("fastgate/**/*.py"))
_KERNELS = [path for path in _SOURCES if path.parent.name == "kernels" or path.name == "jit.py"]
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in _KERNELS)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"fastgate-kernels-{_DIGEST}"))


@pytest.fixture
def data() -> Path:
    """The folder of real samples that the repository ships."""
    return Path(__file__).parent.parent / "data"
