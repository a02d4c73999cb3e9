"""The suite of operators of models: what the rules propose first for each is right."""

from __future__ import annotations

import pytest
import torch
from tests.host.compiler.test_candidates import built, cache_folder, first_proposal

from kernelwright.loaders import open_reference
from kernelwright.suites.suite import MODELS, SuiteEntry, builtin_suite

__all__ = ["cache_folder"]

LEFT = {"attention_prefill", "attention_sliding_window"}
"""Nothing is proposed for these on a CPU: they are one call of the library."""
LARGEST_ERROR = {torch.float8_e4m3fn: 0.13}
"""The largest error that passes, as a share of the largest number: two steps of the output's type.
Otherwise two of bfloat16, since the operators round to it on the way."""
ENTRIES = builtin_suite(size="small", suite=MODELS)


def test_there_are_thirty_in_ten_families() -> None:
    assert len(ENTRIES) >= 30 and len({entry.level for entry in ENTRIES}) >= 10


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_first_kernel_is_right(entry: SuiteEntry) -> None:
    proposal = first_proposal(entry.task)
    assert (proposal is None) == (entry.name in LEFT)
    if proposal is None:
        return
    candidate, module = built(entry.task, proposal)
    inputs = open_reference(entry.task).inputs(1)
    found, expected = candidate(*inputs), module(*inputs)
    for one, other in zip(_listed(found), _listed(expected), strict=True):
        if other.is_floating_point():
            off = (one.double() - other.double()).abs().max() / other.double().abs().max()
            assert off <= LARGEST_ERROR.get(other.dtype, 0.016)
        else:
            assert torch.equal(one, other)


def _listed(value: object) -> list[torch.Tensor]:
    return list(value) if isinstance(value, tuple) else [value]
