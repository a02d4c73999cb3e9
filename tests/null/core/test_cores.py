"""The threads that a run may ask for: as many as there are cores, said wherever they are asked."""

import os

import pytest

from kernelwright.core.cores import fitting_threads, usable_cores
from kernelwright.core.errors import UsageError


def test_threads_are_at_most_the_cores_of_this_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 5})
    assert usable_cores() == 2
    assert [fitting_threads(n) for n in (0, 1, 2)] == [0, 1, 2]
    for n in (-3, 3, 10**30):
        with pytest.raises(UsageError, match="do not fit this machine") as error:
            fitting_threads(n)
        assert f"{n} threads, and 2 cores" in error.value.seen
        assert error.value.do == "give 1 to 2 threads, or 0 for all cores"


def test_where_the_system_does_not_tell_all_cores_are_meant(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == os.cpu_count()
