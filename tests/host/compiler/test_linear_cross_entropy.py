"""The loss of a linear layer's logits, a block of rows at a time: the same loss and gradients."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from tests.host.compiler.test_training import HEAD, TAIL, cache_folder, pair, trained
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.compiler.capture.linear_cross_entropy import linear_cross_entropy

__all__ = ["cache_folder"]

N_ROWS, WIDTH, CLASSES = 4104, 8, 4100
LOSS = """
    def __init__(self, width, classes):
        super().__init__()
        self.head = nn.Linear(width, classes, bias={bias})

    def forward(self, x, target):
        return {loss}
"""
LOSSES = {
    "of a layer": "F.cross_entropy(self.head(x), target)",
    "of a language model": "F.cross_entropy(self.head(x).view(-1, self.head.out_features).float(),"
    " target.view(-1), ignore_index=7)",
    "of logarithms": "F.nll_loss(F.log_softmax(self.head(x), -1), target, reduction='sum')",
}


def source(name: str, bias: bool = False) -> str:
    inputs = f"torch.randn({N_ROWS}, {WIDTH}), torch.randint(0, {CLASSES}, ({N_ROWS},))"
    body = LOSS.format(bias=bias, loss=LOSSES[name])
    return HEAD + body + TAIL.format(inputs=inputs, init=f"{WIDTH}, {CLASSES}")


class Largest(TorchDispatchMode):
    """The number of elements of the largest result of an operator."""

    n_elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for value in torch.utils._pytree.tree_leaves(result):
            if isinstance(value, torch.Tensor):
                self.n_elements = max(self.n_elements, value.numel())
        return result


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_kernels_never_have_all_logits(tmp_path, name, bias) -> None:
    built, module, (x, target) = pair(tmp_path, source(name, bias))
    built.on_miss = "raise"
    target[:5] = 7
    for ours, theirs in zip(
        trained(built, [x, target], 0), trained(module, [x, target], 0), strict=True
    ):
        scale = float(theirs.detach().abs().max())
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5 * scale)
    with Largest() as seen:
        trained(built, [x, target], 0)
    assert seen.n_elements <= (N_ROWS // 2 + 1) * CLASSES


def test_a_class_out_of_range_is_refused(tmp_path) -> None:
    built, _, (x, target) = pair(tmp_path, source("of a layer"))
    target[3] = CLASSES
    with pytest.raises(IndexError, match="out of range"):
        built(x, target)


@pytest.mark.parametrize(
    "loss",
    [
        "(y := self.head(x)).amax(), F.cross_entropy(y, target)",
        "F.cross_entropy(self.head(x).view(2 * len(x), -1), target.repeat(2) // 2)",
        "F.cross_entropy(self.head(x), target, label_smoothing=0.1)",
    ],
)
def test_logits_of_other_uses_stay_whole(tmp_path, loss) -> None:
    text = source("of a layer").replace(LOSSES["of a layer"], loss)
    built, module, inputs = pair(tmp_path, text)
    with Largest() as seen:
        found = trained(built, inputs, 0)
    assert seen.n_elements == N_ROWS * CLASSES
    for ours, theirs in zip(found, trained(module, inputs, 0), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_mean", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_the_function_of_blocks_has_the_losses_gradients(is_mean, has_bias) -> None:
    draw = torch.Generator().manual_seed(0)
    shapes = [(3, 7, 5), (11, 5), (11,)][: 3 if has_bias else 2]
    given = [
        torch.randn(shape, dtype=torch.float64, generator=draw).requires_grad_() for shape in shapes
    ]
    target = torch.randint(0, 11, (3, 7), generator=draw)
    target[0, 2] = target[2] = -100

    def loss(x, weight, bias=None):
        options = {"ignored": -100, "is_mean": is_mean, "block_rows": 4, "dtype": x.dtype}
        return linear_cross_entropy(x, weight, bias, target, **options)

    wanted = F.cross_entropy(
        F.linear(*given).view(-1, 11), target.view(-1), reduction="mean" if is_mean else "sum"
    )
    torch.testing.assert_close(loss(*given), wanted)
    assert torch.autograd.gradcheck(loss, given)
