"""Arguments that are alike, row by row."""

import pytest
import torch

from kernelwright.judge.perturb.distributions import MATCHED, MATCHED_SHARES, can_match, transform


@pytest.mark.parametrize(("seed", "share"), enumerate(MATCHED_SHARES))
def test_rows_of_one_width_become_alike_whatever_their_number(seed, share):
    x, longer, other = torch.rand(8, 16), torch.rand(3, 4, 16), torch.rand(8, 5)
    first, near, same = transform([x, longer, other], MATCHED, seed)
    assert torch.equal(first, x) and torch.equal(same, other)
    rows = x[torch.arange(12) % 8].view(3, 4, 16)
    assert torch.allclose(near - rows, share * (longer - rows), atol=1e-6)
    assert can_match([x, longer]) and not can_match([x, other])
