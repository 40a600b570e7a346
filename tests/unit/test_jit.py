from __future__ import annotations

import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest
from numba import types

from fastgate import jit

F = types.Array(types.float64, 1, "C", readonly=True)
OF = types.Array(types.float64, 1, "C")


@jit.device
def _halved(x):
    return 0.5 * x


@jit.inlined
def _doubled(x):
    return 2.0 * x


@jit.reduction(types.float64(F))
def _sum(values):
    total = 0.0
    for value in values:
        total += value
    return total


@jit.kernel(types.void(types.int64, types.int64, F, OF))
def _write(start, stop, values, out):
    for cell in range(start, stop):
        out[cell] = _halved(_doubled(_doubled(values[cell]))) + _sum(values)


def readonly(values):
    array = np.array(values, float)
    array.flags.writeable = False
    return array


def test_a_kernel_calls_helpers_and_other_kernels():
    out = np.empty(3)
    _write(0, 3, readonly([1.0, 2.0, 3.0]), out)
    assert out.tolist() == [8.0, 10.0, 12.0]
    expected = np.empty(3)
    _write.py_func(0, 3, readonly([1.0, 2.0, 3.0]), expected)  # the same, interpreted
    assert out.tolist() == expected.tolist()


def test_a_kernel_takes_the_types_it_was_compiled_for_and_no_others():
    with pytest.raises(TypeError, match="No matching definition"):
        _write(0, 1, readonly([1.0]), np.empty(1, np.float32))


def test_a_kernel_keeps_its_name_and_text():
    assert jit.kernel(types.void(OF))(readonly).__name__ == "readonly"
    assert _write.__module__ == __name__


def test_importing_kernels_compiles_none():
    code = (
        "import fastgate.kernels.ttest as one, fastgate.kernels.bootstrap_resample as two\n"
        "from fastgate.jit import Compiled\n"
        "made = [value for module in (one, two) for value in vars(module).values() if isinstance(value, Compiled)]\n"
        "assert len(made) > 10\n"
        "print(sum(value._dispatcher is not None for value in made))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_threads_that_need_a_kernel_at_once_get_the_same():
    kernel = jit.kernel(types.float64(F))(lambda values: values.sum())
    found = []
    start = threading.Barrier(6)

    def need():
        start.wait()
        found.append(kernel.dispatcher())

    threads = [threading.Thread(target=need) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(map(id, found))) == 1


def no_folder(monkeypatch):
    whole = numba.njit

    def njit(*arguments, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")
        return whole(*arguments, **options)

    monkeypatch.setattr(numba, "njit", njit)
    monkeypatch.setattr(jit._compilations, "kept", True)  # set back afterwards


def test_without_a_folder_for_the_cache_kernels_work_all_the_same(monkeypatch):
    no_folder(monkeypatch)
    kernel = jit.kernel(types.float64(F))(lambda values: values.max())
    assert kernel.cache_folder() is None
    assert kernel(readonly([1.0, 4.0, 2.0])) == 4.0


FULL = """
import numpy as np
from numba import types
from fastgate import jit

@jit.device
def once(x): return x + 1.0
@jit.device
def twice(x): return once(once(x))
@jit.kernel(types.float64(types.float64))
def first(x): return twice(x)
@jit.kernel(types.float64(types.float64))
def second(x): return once(twice(x)) * first(x)

import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
print(second(1.0), first(1.0), jit._compilations.kept)
"""


def test_a_full_disk_ends_nothing(tmp_path):
    pytest.importorskip("resource")
    (tmp_path / "script.py").write_text(FULL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "12.0 3.0 False\n", done.stderr


def test_another_error_is_not_taken_for_a_missing_folder(monkeypatch):
    def njit(*arguments, **options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", njit)
    kernel = jit.kernel(types.float64(F))(lambda values: values.max())
    for call in (kernel.dispatcher, kernel.cache_folder):
        with pytest.raises(RuntimeError, match="something else"):
            call()


@pytest.mark.parametrize("kept", [True, False])
def test_compiling_is_seen_while_it_goes_on_and_not_after(kept, monkeypatch):
    monkeypatch.setattr(jit._compilations, "kept", True)
    if not kept:
        no_folder(monkeypatch)
        jit.device(lambda x: x).dispatcher()
    seen = []

    # The value of a global is asked for in the middle of compiling what uses it.
    class Witness(jit.Compiled):
        def dispatcher(self):
            seen.append(jit.compiling())
            return super().dispatcher()

    witness = Witness(lambda x: x + 1.0, None, {"nogil": True})
    before = jit.compiling()
    assert numba.njit(lambda x: witness(x))(1.0) == 2.0
    assert before is None
    assert jit.compiling() is None
    assert seen
    assert all(now is not None and now.kept is kept for now in seen)
