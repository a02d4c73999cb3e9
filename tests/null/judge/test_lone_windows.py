"""Large calls on a GPU have a window each: a call that is waited for has the host's time in it."""

from types import SimpleNamespace

import pytest

from kernelwright.judge.timing.stopwatch import LONE_SHARE, MOST_CALLS, RING_SHARE, Stopwatch

MEMORY_BYTES = 1 << 37


def stopwatch(call_bytes: float, *, kind: str = "cuda", cache: str = "cold") -> Stopwatch:
    backend = SimpleNamespace(
        kind=kind,
        name="cpu",  # where the buffer lies that makes caches cold
        times_windows=True,
        memory_bytes=lambda: MEMORY_BYTES,
        last_level_cache_bytes=lambda: 1 << 16,
    )
    form = SimpleNamespace(input_bytes=int(call_bytes) // 4, output_bytes=3 * int(call_bytes) // 4)
    inputs = SimpleNamespace(form=form, may_share_windows=True)
    return Stopwatch(backend, cache=cache, limit_s=1.0, inputs=inputs)


@pytest.mark.parametrize(
    ("share", "n_calls"),
    [
        (RING_SHARE / 1000, MOST_CALLS),
        (RING_SHARE / 4, 4),
        (RING_SHARE * 1.5, 1),
        (LONE_SHARE * 0.99, 1),
        (LONE_SHARE * 1.01, 0),
    ],
)
def test_windows_have_as_many_calls_as_memory_allows(share, n_calls):
    assert stopwatch(MEMORY_BYTES * share).most_calls == n_calls


def test_large_calls_are_timed_one_by_one_on_a_cpu_and_with_warm_caches():
    large_bytes = MEMORY_BYTES * RING_SHARE * 2
    assert stopwatch(large_bytes, kind="cpu").most_calls == 0
    assert stopwatch(large_bytes, cache="warm").most_calls == 0
