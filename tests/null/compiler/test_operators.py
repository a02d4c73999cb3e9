"""Operators of an emitted file: two files with the same launches are imported side by side."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import torch

from kernelwright.compiler.candidate.operators import _REGISTER


def test_files_that_are_imported_side_by_side_share_their_operators() -> None:
    names = {"torch": torch, "functools": functools, "threading": threading}
    exec(_REGISTER.format(device="cpu", key="CPU"), names)
    together = threading.Barrier(8)
    rows = [(f"launch_{n}", "(Tensor x) -> Tensor", lambda: ()) for n in range(5)]
    launches = SimpleNamespace(operators=rows, **{name: torch.clone for name, *_ in rows})

    def register(number: int) -> object:
        together.wait()
        return names["_operators"](f"kernels_of_a_test_{number // 8}", launches)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(register, range(16)))
    assert len(set(map(id, found))) == 2
