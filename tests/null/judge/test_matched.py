"""Arguments that are alike, row by row."""

import pytest
import torch
from tests.null.judge.perturbing import transform

from kernelwright.judge.perturb.values import MATCHED_SHARES


@pytest.mark.parametrize(("seed", "share"), enumerate(MATCHED_SHARES))
def test_rows_of_one_width_become_alike_whatever_their_number(seed, share):
    x, longer, other = torch.rand(8, 16), torch.rand(3, 4, 16), torch.rand(8, 5)
    first, near, same = transform([x, longer, other], "matched", seed)
    assert torch.equal(first, x) and torch.equal(same, other)
    rows = x[torch.arange(12) % 8].view(3, 4, 16)
    assert torch.allclose(near - rows, share * (longer - rows), atol=1e-6)
