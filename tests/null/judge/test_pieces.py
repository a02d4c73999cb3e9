"""Large results are compared a piece at a time, so that a judge's memory stays small."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare import pieces
from kernelwright.judge.compare.expected import expect
from kernelwright.judge.compare.measures import same_but_where
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.compare.specials import require_specials
from kernelwright.judge.refusal import WrongValues

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


class LargestResult(TorchDispatchMode):
    """Records the bytes of the largest tensor that an operator returns."""

    n_bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        sizes = [t.untyped_storage().nbytes() for t in tree_leaves(found) if torch.is_tensor(t)]
        if not func.is_view:
            self.n_bytes = max(self.n_bytes, *sizes, 0)
        return found


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", dict.fromkeys(pieces.PIECE, 64))


@given(shape=SHAPES, seed=st.integers(0, 1 << 30))
def test_masks_are_those_of_whole_tensors(shape, seed):
    draw = torch.Generator().manual_seed(seed)
    x = torch.rand(shape, generator=draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", dict.fromkeys(pieces.PIECE, 4))
        mask = pieces.mask_of(lambda x: x < 0.3, x)
        assert torch.equal(mask, x < 0.3)
        assert same_but_where(mask, torch.where(mask, 2.0, x), x)
        assert not same_but_where(mask, torch.where(mask, x, 2.0), x) or bool(mask.all())
    if mask.any():
        assert pieces.first_of(mask) == tuple(mask.nonzero()[0].tolist())


@pytest.mark.parametrize("is_right", [True, False])
def test_nothing_larger_than_a_result_is_made_where_no_number_is_finite(small_pieces, is_right):
    own = torch.full((8, 4, 8, 16), float("nan"))
    wanted = expect([own], [own.double()], [8.0])
    value = own if is_right else torch.ones_like(own)
    with LargestResult() as largest:
        if is_right:
            require_specials([value], wanted)
            compare([value], wanted)
        else:
            with pytest.raises(WrongValues, match=r"instead of nan at \[0, 0, 0, 0\]"):
                require_specials([value], wanted)
    assert 0 < largest.n_bytes <= own.nbytes
