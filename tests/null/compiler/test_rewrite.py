"""Every rule, on a module that it was made for: it is applied, and the values stay."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.fuse.assemble import assemble
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.lower.graph import to_flow
from kernelwright.compiler.rewrite import (
    BIASES,
    CAPPED,
    IMAGES_TOO,
    LAYOUTS,
    ORDINARY,
    ROUNDED,
    RULES,
    STEPS,
    rewrite,
)

R = torch.randn
LINEAR = nn.Linear(6, 8)
WIDEN = nn.Linear(4, 64)
NARROW = nn.Linear(64, 2)
DECONV = nn.ConvTranspose2d(3, 5, 3, stride=2)
DECONV3 = nn.ConvTranspose3d(2, 3, 2)
CROPPED = nn.ConvTranspose2d(3, 5, 3, 2, 1, 1, dilation=3)
PADDED3 = nn.ConvTranspose3d(3, 4, 3, 2, 1)
CONV = nn.Conv2d(3, 4, 3)
DROP = nn.Dropout(0.0)
QKV = (R(2, 3, 5, 4), R(2, 3, 6, 4), R(2, 3, 6, 7))
MASK = torch.rand(5, 6) < 0.4
MASK[:, 0] = False
CAP = "softmax(cap·tanh(Q·Kᵀ·s/cap))·V is capped attention"


class Causal(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(6, 6, dtype=torch.bool).triu(1))


CAUSAL = Causal()
EXAMPLES = {
    "softmax(mask(Q·Kᵀ·s))·V with a causal mask is causal attention": [
        (
            lambda k, v: torch.softmax((k @ k.mT).masked_fill(CAUSAL.mask, -math.inf), -1) @ v,
            QKV[1:],
        ),
        (
            lambda k, v: (
                torch.softmax((k @ k.mT / 3).masked_fill(~CAUSAL.mask.mT.mT == 0, -math.inf), -1)
                @ v
            ),
            QKV[1:],
        ),
    ],
    "the mean of a shifted linear map is shifted by the mean of the shift": [
        (lambda x, p: torch.mean(LINEAR(x) - p, 1, keepdim=True), (R(5, 6), R(8))),
        (lambda x, p: torch.mean(p + LINEAR(x), -1), (R(5, 6), R(8))),
    ],
    "the sum of a shifted linear map is shifted by the sum of the shift": [
        (lambda x, p: torch.sum(LINEAR(x) + p, 1), (R(5, 6), R(8))),
    ],
    "softmax(Q·Kᵀ)·V over three dimensions is scaled dot product attention": [
        (
            lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1), -1) @ v,
            (R(3, 5, 4), R(3, 6, 4), R(3, 6, 7)),
        ),
    ],
    "a copy is the value that it copies": [(lambda x: DROP(x.exp()) + 1, (R(3, 4),))],
    "softmax(Q·Kᵀ·s)·V is scaled dot product attention": [
        (lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 2.0, -1) @ v, QKV),
        (lambda q, k, v: torch.softmax(0.5 * (q @ k.mT), -1) @ v, QKV),
        (lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v, QKV),
        (lambda q, k, v, m: torch.softmax(q @ k.mT * 0.3 + m, -1) @ v, (*QKV, R(5, 6))),
        (
            lambda q, k, v, m: torch.softmax((q @ k.mT / 2).masked_fill(m, -math.inf), -1) @ v,
            (*QKV, MASK),
        ),
    ],
    "a number leaves a sum": [
        (lambda x: (LINEAR(x) * 3.0).sum(1), (R(5, 6),)),
        (lambda x: (LINEAR(x) / 3.0).sum(1, keepdim=True) * 2, (R(5, 6),)),
    ],
    "the sum over a linear map's outputs is one output": [
        (lambda x: LINEAR(x).sum(-1), (R(2, 5, 6),)),
        (lambda x: LINEAR(x).sum(1, keepdim=True), (R(5, 6),)),
    ],
    "the mean over a linear map's outputs is one output": [
        (lambda x: LINEAR(x).mean(-1), (R(5, 6),))
    ],
    "the sum over a product's columns is a product with summed columns": [
        (lambda a, b: (a @ b).sum(-1), (R(2, 5, 6), R(2, 6, 7)))
    ],
    "the sum over a product's rows is a product with summed rows": [
        (lambda a, b: (a @ b).sum(-2, keepdim=True), (R(5, 6), R(6, 7)))
    ],
    "the mean of pooled outputs of a linear map is a linear map of pooled weights": [
        (lambda x: F.avg_pool1d(LINEAR(x).unsqueeze(1), 4).squeeze(1), (R(5, 6),))
    ],
    "the mean over all positions of a transposed convolution is a product of sums": [
        (lambda x: DECONV(x).mean((2, 3), keepdim=True), (R(2, 3, 4, 5),)),
        (lambda x: DECONV3(x).mean((2, 3, 4)), (R(2, 2, 3, 4, 5),)),
        (lambda x: CROPPED(x).mean((2, 3)), (R(2, 3, 4, 5),)),
    ],
    "a factor leaves a mean": [
        (lambda x: (CROPPED(x) * 0.5).mean((2, 3)), (R(2, 3, 4, 5),)),
    ],
    "a factor leaves an average pool": [
        (lambda x: F.avg_pool2d(CONV(x) * 0.5, 2), (R(2, 3, 8, 9),)),
    ],
    "an average over the strides of a transposed convolution is a convolution": [
        (lambda x: F.avg_pool3d(PADDED3(x), 2), (R(2, 3, 3, 4, 5),)),
    ],
    "an average over a convolution of one tap is that convolution of the average": [
        (lambda x, w, b: F.avg_pool2d(F.conv2d(x, w, b), 2), (R(2, 4, 8, 9), R(6, 4, 1, 1), R(6))),
        (
            lambda x, w: F.avg_pool3d(F.conv3d(x, w, None, groups=2), 2),
            (R(2, 4, 4, 5, 6), R(6, 2, 1, 1, 1)),
        ),
    ],
    "an average over a convolution is a convolution of wider stride": [
        (lambda x: F.avg_pool2d(CONV(x), 4), (R(2, 3, 18, 19),)),
    ],
    "the mean over one dimension of a transposed convolution is one of fewer dimensions": [
        (lambda x: PADDED3(x).mean(2, keepdim=True), (R(2, 3, 3, 4, 5),)),
    ],
    "a product with a diagonal matrix scales rows": [
        (lambda a, b: torch.diag(a) @ b, (R(5), R(5, 3)))
    ],
    "a product with a diagonal matrix scales columns": [
        (lambda a, b: a @ torch.diag(b), (R(3, 5), R(5)))
    ],
    "two transpositions are none": [(lambda x: x.mT.transpose(-1, -2).exp(), (R(3, 5),))],
    "two factors are one": [(lambda x: x * 2.0 * 0.3, (R(3, 5),))],
    "relu of what is never negative is the identity": [
        (lambda x: torch.relu(torch.sigmoid(x)), (R(3, 5),)),
        (lambda x: torch.relu(x.clamp(0.0, 1.0)), (R(3, 5),)),
    ],
    "the softmax of a clamped value needs no maximum": [
        (lambda x: F.softmax((9 * x).clamp(-30.0, 30.0), 1), (R(3, 5),)),
        (lambda x: F.softmax(F.hardtanh(x, 0.0, 1.0).view(3, 4, -1), 2), (R(3, 4, 2, 5),)),
    ],
    "a clamp of a clamp is one clamp": [
        (lambda x: x.clamp(-1.0, 0.5).clamp(-0.5, 2.0), (R(3, 5),))
    ],
    "what is at most c and raised to at least c is constant": [
        (lambda x: torch.clamp(torch.min(x, torch.tensor(0.0)), min=0.0, max=1.0), (R(3, 5),))
    ],
    "a value less itself is zero": [(lambda x: x - x.mean(1, keepdim=True), (R(5, 1),))],
    "two linear maps in a row are one": [(lambda x: NARROW(WIDEN(x)), (R(5, 4),))],
}
CASES = [
    pytest.param(name, function, inputs, id=f"{name} {number}")
    for name, examples in EXAMPLES.items()
    for number, (function, inputs) in enumerate(examples)
]


class Wrapped(nn.Module):
    """A function as a module that owns the weights used here."""

    def __init__(self, function) -> None:
        super().__init__()
        self.function = function
        parts = [LINEAR, NARROW, WIDEN, DECONV, DECONV3, DROP, CAUSAL, CROPPED, PADDED3, CONV]
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


@pytest.mark.parametrize(("name", "function", "inputs"), CASES)
def test_a_rule_is_applied_and_keeps_the_values(name, function, inputs) -> None:
    module = Wrapped(function)
    rewritten, applied = rewrite(capture(module, inputs))
    assert name in applied
    program = assemble(to_flow(rewritten), Fusion())
    state = module.state_dict()
    with torch.no_grad():
        torch.testing.assert_close(
            interpret(program, list(inputs), state), function(*inputs), rtol=2e-5, atol=2e-5
        )


@pytest.mark.parametrize(
    ("rules", "layer", "shape"),
    [
        (ORDINARY, nn.ConvTranspose1d(3, 4, 3, padding=1, dilation=2), (2, 3, 9)),
        (ORDINARY, nn.ConvTranspose3d(3, 4, (3, 2, 1), bias=False), (2, 3, 4, 5, 3)),
        (BIASES, nn.ConvTranspose2d(3, 4, 3, 2, 1), (2, 3, 4, 5)),
        (LAYOUTS, nn.Conv2d(3, 4, 3), (2, 3, 4, 5)),
        (IMAGES_TOO, nn.Conv2d(3, 4, 3), (2, 3, 4, 5)),
        (IMAGES_TOO, nn.ConvTranspose3d(3, 4, 3, 2), (2, 3, 4, 5, 3)),
        (STEPS, nn.Conv2d(3, 4, 11, 4, 2), (2, 3, 20, 23)),
        (STEPS, nn.Conv1d(2, 4, 3, 3), (2, 2, 17)),
    ],
)
def test_rules_of_variants_keep_the_values(rules, layer, shape) -> None:
    module, x = nn.Sequential(layer, nn.Tanh()), R(shape)
    rewritten, applied = rewrite(capture(module, (x,)), rules)
    assert applied
    program = assemble(to_flow(rewritten), Fusion())
    with torch.no_grad():
        seen = interpret(program, [x], module.state_dict())
        torch.testing.assert_close(seen, module(x), rtol=2e-5, atol=2e-5)
    assert seen.is_contiguous()


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("softmax(Q·Kᵀ·s)·V is scaled dot product", lambda s, m: s.softmax(-1, torch.float32)),
        (CAP, lambda s, m: torch.softmax(torch.tanh(s * 0.5 / 3) * 3, -1)),
        (CAP, lambda s, m: torch.softmax((3 * torch.tanh(s / 6)).masked_fill(m, -math.inf), -1)),
        (CAP, lambda s, m: torch.softmax(torch.tanh(s / 2 * 0.2) * 3 + m.to(s.dtype), -1)),
        (CAP, lambda s, m: torch.softmax(torch.tanh(s / 2 * 0.2) * 3, -1, torch.float32)),
    ],
)
def test_attention_in_16_bits_is_one_operator(name, weights) -> None:
    inputs = [*(x.half() for x in (*QKV[:2], R(2, 3, 6, 4))), MASK]
    module = Wrapped(lambda q, k, v, m: weights(q @ k.mT, m).to(v.dtype) @ v)
    rewritten, applied = rewrite(capture(module, inputs), (*CAPPED, *RULES))
    assert [rule for rule in applied if rule.startswith(name)]
    seen = interpret(assemble(to_flow(rewritten), Fusion()), inputs, {})
    exact = module(*(x.double() for x in inputs[:3]), MASK)
    torch.testing.assert_close(seen.double(), exact, rtol=4e-3, atol=4e-3)


def test_a_factor_that_has_more_dimensions_than_the_mean_stays_where_it_is() -> None:
    inputs = (R(2, 3, 4, 5), R(1, 1, 1, 1))
    _, applied = rewrite(capture(Wrapped(lambda x, c: (CROPPED(x) * c).mean((2, 3))), inputs))
    assert applied == ()


def test_sums_over_ranges_of_other_lengths_do_not_share_a_loop() -> None:
    module, x = Wrapped(lambda x: (x[:, 1:].sum(1), x.sum(1))), R(4, 9)
    seen = interpret(assemble(to_flow(capture(module, (x,))), Fusion()), [x], {})
    torch.testing.assert_close(seen, (x[:, 1:].sum(1), x.sum(1)))


def test_every_rule_has_an_example() -> None:
    assert {rule.name for rule in RULES} == set(EXAMPLES)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: DROP(x).relu(),
        lambda x: x.clone(),
        lambda x: x.clamp(0.0, -1.0).relu(),
        lambda x: torch.softmax((x * 1e12).clamp(1000000028650.0, 1000000028690.0), 1),
        lambda x: LINEAR(x).relu().sum(1),
        lambda x: LINEAR(x).sum(1, dtype=torch.float64),
        lambda x: torch.relu(torch.tanh(x)),
        lambda x: x.clamp(-1.0, 0.0).clamp(0.5, 1.0),
        lambda x: torch.clamp(torch.min(x, torch.tensor(0.5)), min=0.0, max=1.0),
        lambda x: x - x.mean(1, keepdim=True),
    ],
)
def test_a_rule_whose_condition_fails_is_not_applied(function) -> None:
    _, applied = rewrite(capture(Wrapped(function), (R(5, 6),)))
    assert set(applied) <= {"a copy is the value that it copies"}


def _attention_in_float(q, k, v, **options):
    q, k, v = (x.transpose(0, 1)[None].float() for x in (q, k, v))
    k, v = (x.repeat_interleave(2, dim=1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, **options)[0].transpose(0, 1)


NARROW_QKV = tuple(R(5, heads, 8).bfloat16() for heads in (4, 2, 2))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_attention_between_narrow_values_runs_in_their_type(options) -> None:
    module = Wrapped(lambda q, k, v: _attention_in_float(q, k, v, **options).bfloat16())
    rewritten, applied = rewrite(capture(module, NARROW_QKV), (*RULES, *ROUNDED))
    assert "attention between values of a narrow type is attention in that type" in applied
    (attention,) = (n for n in rewritten.graph.nodes if "attention" in n.name)
    assert {x.meta["val"].dtype for x in attention.all_input_nodes} == {torch.bfloat16}
    seen = interpret(assemble(to_flow(rewritten), Fusion()), list(NARROW_QKV), {})
    torch.testing.assert_close(seen, module(*NARROW_QKV), rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    "function",
    [
        _attention_in_float,
        lambda q, k, v: _attention_in_float(q * 1.5, k, v).half(),
        lambda q, k, v: _attention_in_float(q.float().exp(), k, v).bfloat16(),
        lambda q, k, v: _attention_in_float(q, k, v, attn_mask=R(5, 5)).bfloat16(),
    ],
    ids=["result in float32", "another type", "computed in float32", "mask that is added"],
)
def test_attention_that_needs_float32_keeps_it(function) -> None:
    _, applied = rewrite(capture(Wrapped(function), NARROW_QKV), (*RULES, *ROUNDED))
    assert "attention between values of a narrow type is attention in that type" not in applied
