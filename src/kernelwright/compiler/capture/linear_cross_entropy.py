"""A linear layer and the cross entropy of its logits, a block of rows at a time.

The logits of a language model take far more memory than all else in its last layer, and again as
much for their gradient. Here only those of one block exist at a time: the forward computes the
gradients of a block as soon as it has its logits, and the backward multiplies by the gradient of
the loss. So a step has as many products as before, and none twice.

Source:
    Hsu et al., "Liger Kernel: Efficient Triton Kernels for LLM Training", 2024, section 3.2
    (fused linear cross entropy).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten
LEAST_LOGITS = 1 << 24
"""Number of logits below which they stay whole: 32 MB in half precision."""
BLOCK_ROWS = 2048
"""Least number of rows of a block: fewer would leave a GPU's matrix units idle, and add the
weight's gradient up more often."""
N_BLOCKS = 16
"""Most blocks."""


@dataclass(frozen=True)
class Found:
    """A loss in a graph: nodes of its operands, and how it is computed."""

    loss: fx.Node
    x: fx.Node
    weight: fx.Node
    bias: fx.Node | None
    target: fx.Node
    ignored: int
    """The class of rows that do not count."""
    is_mean: bool
    """Whether the loss is the mean of the rows that count; else their sum."""

    @property
    def block_rows(self) -> int:
        """Rows of a block: its logits are no larger than ``x``, as far as the limits allow."""
        n_classes, width = self.weight.meta["val"].shape
        n_rows = self.target.meta["val"].numel()
        return max(BLOCK_ROWS, n_rows * width // n_classes, -(-n_rows // N_BLOCKS))

    @property
    def is_large(self) -> bool:
        """Whether the logits are worth blocks, and have several."""
        n_rows, n_classes = self.target.meta["val"].numel(), len(self.weight.meta["val"])
        return n_rows * n_classes >= LEAST_LOGITS and n_rows > self.block_rows


def replaced(graph: fx.Graph) -> None:
    """Replace every large loss of a linear layer's logits in ``graph`` by the function of blocks,
    where nothing else reads the logits."""
    for node in reversed(list(graph.nodes)):  # a mean before the sum that it divides
        found = None if node._erased else _found(node)
        if found is None or not found.is_large:
            continue
        operands = (found.x, found.weight, found.bias, found.target)
        options = {
            "ignored": found.ignored,
            "is_mean": found.is_mean,
            "block_rows": found.block_rows,
            "dtype": node.meta["val"].dtype,
        }
        with graph.inserting_after(node):
            new = graph.call_function(linear_cross_entropy, operands, options)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.eliminate_dead_code(lambda node: node.op != "call_function")


def linear_cross_entropy(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    target: torch.Tensor,
    *,
    ignored: int,
    is_mean: bool,
    block_rows: int,
    dtype: torch.dtype,
) -> torch.Tensor:
    """Return ``cross_entropy(linear(x, weight, bias), target)`` as a number of ``dtype``.

    Shapes:
        x [..., width], weight [classes, width], bias [classes], target [...] of classes.
    """
    rows, targets = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    counts = _BlockedLoss.apply(rows, weight, bias, targets, ignored, is_mean, block_rows)
    loss: torch.Tensor = counts.to(dtype)
    return loss


class _BlockedLoss(torch.autograd.Function):
    """The loss in float32, and the gradients that its forward has computed."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        target: torch.Tensor,
        ignored: int,
        is_mean: bool,
        block_rows: int,
    ) -> torch.Tensor:
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        counts = target != ignored
        n_counting = counts.sum().to(wide)
        safe = torch.where(counts, target, 0)
        losses, of_x = [], []
        of_weight = of_bias = None
        for begin in range(0, len(x), block_rows):
            part = slice(begin, begin + block_rows)
            logits = torch.nn.functional.linear(x[part], weight, bias).to(wide)
            shifted = logits - logits.amax(1, keepdim=True)
            normaliser = shifted.exp().sum(1, keepdim=True).log()
            is_target = torch.arange(len(weight), device=x.device) == safe[part, None]
            losses.append(normaliser - torch.where(is_target, shifted, 0).sum(1, keepdim=True))
            slope = (shifted - normaliser).exp() - is_target.to(wide)
            slope = slope / n_counting if is_mean else slope
            slope = torch.where(counts[part, None], slope, 0).to(x.dtype)
            if ctx.needs_input_grad[0]:
                of_x.append(slope @ weight)
            if ctx.needs_input_grad[1]:
                of_weight = _added(of_weight, slope.t(), x[part])
            if ctx.needs_input_grad[2]:
                of_block = slope.to(wide).sum(0)
                of_bias = of_block if of_bias is None else of_bias + of_block
        loss = torch.where(counts, torch.cat(losses).squeeze(1), 0)
        # Reading a number of every target's row refuses classes that there are none of.
        read = weight[:, 0].gather(0, safe)
        loss = torch.where(read == read, loss, read).sum()
        found = [torch.cat(of_x) if of_x else None, of_weight, of_bias]
        ctx.dtypes = [None if value is None else value.dtype for value in (x, weight, bias)]
        ctx.places = [place for place, value in enumerate(found) if value is not None]
        ctx.save_for_backward(*(value for value in found if value is not None))
        return loss / n_counting if is_mean else loss

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        results: list[torch.Tensor | None] = [None] * 7
        for place, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            results[place] = (gradient * value).to(ctx.dtypes[place])
        return tuple(results)


def _added(total: torch.Tensor | None, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b if total is None else torch.addmm(total, a, b)


def add_in_place(graph: fx.Graph) -> None:
    """Let products add to the memory of a product that nothing else reads."""
    products = (aten.mm.default, aten.addmm.default, aten.addmm_.default)
    for node in graph.nodes:
        if node.target is aten.addmm.default and not node.kwargs:
            sum_before = node.args[0]
            is_free = sum_before.target in products and len(sum_before.users) == 1
            if is_free and sum_before.meta["val"].shape == node.meta["val"].shape:
                node.target = aten.addmm_.default


def _found(loss: fx.Node) -> Found | None:
    """The loss that this node is, as torch.export takes F.cross_entropy apart."""
    count, is_mean = None, loss.target is aten.div.Tensor
    total = loss
    if is_mean:
        total, count = loss.args[:2]
        count = _through(count, aten._to_copy.default)
    if not (_is(total, aten.sum.default) and len(total.args) == 1):
        return None
    masked = total.args[0]
    if not _is(masked, aten.where.ScalarOther) or masked.args[2] != 0:
        return None
    mask, picked = masked.args[:2]
    for target in (aten.neg.default, aten.squeeze.dim):
        if not _is(picked, target):
            return None
        picked = picked.args[0]
    if not (_is(picked, aten.gather.default) and picked.args[1] == 1):
        return None
    counted = _counted(mask)
    index = _through(picked.args[2], aten.unsqueeze.default)
    is_safe = _is(index, aten.where.ScalarOther) and _counted(index.args[0]) == counted
    if counted is None or not is_safe or index.args[1:] != (counted[0], 0):
        return None
    if is_mean and not (_is(count, aten.sum.default) and _counted(count.args[0]) == counted):
        return None
    operands = _linear_before(picked.args[0])
    return Found(loss, *operands, *counted, is_mean) if operands else None


def _counted(mask: Any) -> tuple[fx.Node, int] | None:
    """The classes of which ``mask`` says where they are not an ignored one, and that one."""
    return mask.args[:2] if _is(mask, aten.ne.Scalar) else None


_PASSED = (aten.view.default, aten._unsafe_view.default, aten.clone.default)


def _linear_before(logarithms: Any) -> tuple[fx.Node, fx.Node, fx.Node | None] | None:
    """Operands of the linear layer whose logits alone ``logarithms`` normalises."""
    if not _is(logarithms, aten.log_softmax.int) or logarithms.args[1] not in (1, -1):
        return None
    if len(logarithms.meta["val"].shape) != 2 or _n_readers(logarithms) != 1:
        return None
    node = logarithms.args[0]
    while (_is(node, *_PASSED) or _is_widened(node)) and _n_readers(node) == 1:
        node = node.args[0]
    if not _is(node, aten.linear.default) or _n_readers(node) != 1:
        return None
    x, weight, *bias = node.args
    if len(weight.meta["val"]) != logarithms.meta["val"].shape[1]:
        return None  # a view has cut rows of logits in pieces
    return x, weight, bias[0] if bias else None


def _is_widened(node: Any) -> bool:
    is_float = _is(node, aten._to_copy.default) and node.meta["val"].dtype is torch.float32
    return is_float and node.args[0].meta["val"].is_floating_point()


def _n_readers(node: fx.Node) -> int:
    asserts = aten._assert_tensor_metadata.default
    return sum(user.target is not asserts for user in node.users)


def _is(node: Any, *targets: Any) -> bool:
    return isinstance(node, fx.Node) and node.target in targets


def _through(node: Any, target: Any) -> Any:
    return node.args[0] if _is(node, target) else node
