"""NaN that whole numbers hide are seen, as others are."""

import pytest
import torch

from kernelwright.judge.compare.hidden import with_hidden
from kernelwright.judge.reference.expectations import is_finite_as_usual

HIDING = {
    "the largest": lambda x: x.log().argmax(-1),
    "a choice": lambda x: torch.where(x.log() < -1, x, 0.0),
    "a cast": lambda x: x.sqrt().long(),
    "a cast from 8 bits": lambda x: x.log().to(torch.float8_e5m2).long(),
    "a cast beyond a type": lambda x: (x * 100).to(torch.uint8),
    "a copy beyond a type": lambda x: torch.empty(x.shape, dtype=torch.uint8).copy_(x * 100),
    "indices beside values": lambda x: x.log().topk(2).indices,
}
OPEN = {
    "numbers": lambda x: x.exp().argmax(-1),
    "NaN among the results": lambda x: x.log(),
    "NaN behind a mask": lambda x: torch.where(x > 0, x.log(), 0.0),
    "asked for": lambda x: torch.where(x.log().isnan(), 0.0, x),
    "compared with itself": lambda x: x.masked_fill((y := x.log()) != y, 0.0),
    "finite or not": lambda x: x.log().isfinite(),
    "infinity": lambda x: torch.full((4,), torch.inf) > x.sum(),
    "never read": lambda x: torch.zeros_like(x.log(), dtype=torch.long),
    "where a sparse one has numbers": lambda x: x.log().to_sparse().coalesce().indices(),
    "the largest of a long": lambda x: (x * 1e15).long(),
}
BOTH = torch.randn(64, 64)


@pytest.mark.parametrize("run", HIDING.values(), ids=HIDING)
def test_a_hidden_nan_is_one_result_more(run):
    def given(arguments):
        return with_hidden(lambda given: [run(given[0])], arguments)

    found, usual = given([BOTH]), given([BOTH.abs().clamp(max=2)])
    assert len(found) == 2 and bool(found[1].isnan().any()) and len(usual) == 1
    assert not is_finite_as_usual(found, lambda: usual) and is_finite_as_usual(usual, lambda: usual)


@pytest.mark.parametrize("run", OPEN.values(), ids=OPEN)
def test_what_is_no_ones_secret_is_not(run):
    assert len(with_hidden(lambda given: [run(given[0])], [BOTH])) == 1
