"""Memory and CPU time: what is measured is what was used, whichever way."""

import ctypes
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from cascadeforest.baselines.tuned import TunedClassifier
from cascadeforest.experiments import measure as module
from cascadeforest.experiments.fitting import make_tiny
from cascadeforest.experiments.measure import measure, read_by_profiler

SIZE_MIB = 64


def touch_memory():
    return np.ones(SIZE_MIB * 2**20 // 8).sum()


def allocate_outside_numpy():
    """As compiled libraries do: tracemalloc would not see it."""
    buffer = ctypes.create_string_buffer(SIZE_MIB * 2**20)
    ctypes.memset(buffer, 1, len(buffer))


def in_fresh_process(function):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return executor.submit(function).result()


def measure_after_a_larger_peak():
    touch_memory()
    touch_memory()
    np.ones(3 * SIZE_MIB * 2**20 // 8).sum()
    return measure(touch_memory)[1]


def measure_numpy():
    return measure(touch_memory)[1]


def measure_foreign():
    return measure(allocate_outside_numpy)[1]


@pytest.mark.parametrize("job", [measure_numpy, measure_foreign, measure_after_a_larger_peak])
def test_the_peak_is_what_the_call_needs_whatever_came_before(job):
    cost = in_fresh_process(job)
    assert cost.peak_mib == pytest.approx(SIZE_MIB, abs=4)


def test_memory_profiler_agrees_with_the_high_water_mark():
    """memory-profiler samples, so it may miss the top of a short peak, but never sees more than there was."""
    cost = in_fresh_process(measure_slowly)
    assert cost.profiler_peak_mib == pytest.approx(cost.peak_mib, abs=4)


def measure_slowly():
    def hold():
        data = np.ones(SIZE_MIB * 2**20 // 8)
        time.sleep(0.2)
        return data.sum()

    context = multiprocessing.get_context("spawn")
    profiler, other = context.Pipe()
    process = context.Process(target=read_by_profiler, args=(other,))
    process.start()
    other.close()
    measure(lambda: None, profiler=profiler)  # it can be asked more than once
    cost = measure(hold, profiler=profiler)[1]
    profiler.close()
    process.join(30)
    assert process.exitcode == 0, "it ends with the process that asks"
    return cost


def test_the_function_is_called_once_and_its_value_returned():
    calls = []
    value, cost = measure(lambda: calls.append(1) or "value")
    assert (value, calls) == ("value", [1])
    assert cost.cpu_seconds >= 0


def test_cpu_time_leaves_out_waiting():
    _, cost = measure(lambda: time.sleep(0.2))
    assert cost.wall_seconds >= 0.2
    assert cost.cpu_seconds < 0.1


@pytest.mark.skipif(sys.platform != "linux", reason="the exact way exists on Linux only")
def test_linux_measures_exactly_and_says_so():
    assert measure(lambda: None)[1].method == "VmHWM"


def measure_by_sampling():
    module._reset_high_water_mark = lambda: False
    return measure_slowly()


def test_other_systems_sample_and_say_so():
    cost = in_fresh_process(measure_by_sampling)
    assert cost.method == "psutil samples"
    assert cost.peak_mib == pytest.approx(SIZE_MIB, abs=4)


def test_a_warm_up_searches_no_parameters():
    learner = {"estimator": "sklearn.ensemble:RandomForestClassifier", "params": {"max_depth": 3}}
    search = TunedClassifier(learner, {"min_samples_leaf": {"choice": [1, 5]}}, n_candidates=20)
    X = np.arange(60.0).reshape(-1, 1)
    tiny = make_tiny(search).fit(X, np.arange(60) % 3)
    assert tiny.candidates_ == [{}]
    assert (tiny.learner_.n_estimators, tiny.learner_.max_depth) == (2, 3)
    assert "n_estimators" not in learner["params"]
